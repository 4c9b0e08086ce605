"""Products and solutions in place equal NumPy's, and leave Python's lock to others."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from kernelstream.numerics.blas import add_products, solve_lower, solve_positive

RNG = np.random.default_rng(0)
DTYPES = (np.float32, np.float64)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=100 * np.finfo(found.dtype).eps * np.abs(expected).max())


@pytest.fixture(params=DTYPES)
def Z(request):
    """Rows that do not lie beside each other."""
    return RNG.normal(size=(90, 40)).astype(request.param)[:, 8:32]


def test_products_are_added_to_what_fades(Z):
    sums = np.full((24, 24), 7, Z.dtype)
    add_products(sums, Z, 0.5)
    close(np.tril(sums), np.tril(3.5 + Z.T @ Z))
    assert (sums[np.triu_indices(24, 1)] == 7).all(), "the other triangle is left alone"
    before = sums.copy()
    add_products(sums, Z[:1])
    close(np.tril(sums), np.tril(before + np.outer(Z[0], Z[0])))


def test_systems_are_solved_row_by_row(Z):
    A, B = Z.T @ Z + np.eye(24, dtype=Z.dtype), RNG.normal(size=(3, 30)).astype(Z.dtype)
    expected, L = np.linalg.solve(A, B[:, :24].T).T, np.linalg.cholesky(A)
    found, rest = B.copy(), B[:, 24:].copy()
    assert solve_positive(np.triu(A), found[:, :24])
    close(found[:, :24], expected)
    assert np.array_equal(found[:, 24:], rest)
    found = B.copy()
    solve_lower(L, found[:, :24])
    close(found[:, :24], np.linalg.solve(L, B[:, :24].T).T)
    solve_lower(L, found[:, :24], transposed=True)
    close(found[:, :24], expected)


def test_what_is_not_positive_definite_is_said(Z):
    assert not solve_positive(-(Z.T @ Z), np.ones((1, 24), Z.dtype))


def test_other_threads_go_on_meanwhile():
    Z, sums = RNG.random((8192, 1024), np.float32), np.zeros((1024, 1024), np.float32)
    work = threading.Thread(target=add_products, args=(sums, Z))
    turns = 0
    work.start()
    while work.is_alive():
        time.sleep(1e-3)
        turns += 1
    assert turns > 20


THREADS = """
import numpy as np
from threadpoolctl import threadpool_info
from kernelstream.numerics.blas import add_products
from kernelstream.numerics.memory import one_blas_thread

def threads():
    return {one["filepath"]: one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

before = threads()
with one_blas_thread():
    assert set(threads().values()) == {1}
    add_products(np.zeros((4, 4)), np.ones((2, 4)))  # loads SciPy's
    assert set(threads().values()) == {1}, threads()
after = threads()
assert all(after[path] == n for path, n in before.items())
with one_blas_thread():
    assert set(threads().values()) == {1}
assert threads() == after

def entered():
    with one_blas_thread():
        return set(threads().values())

from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as helpers:
    for _ in range(3):
        assert helpers.submit(entered).result() == {1}, threads()
        assert threads() == after
        assert entered() == {1}
        assert threads() == after
    inside = one_blas_thread()
    inside.__enter__()
    assert helpers.submit(entered).result() == {1}
    assert set(threads().values()) == {1}
    helpers.submit(inside.__exit__, None, None, None).result()
    assert threads() == after
"""


def test_blas_has_one_thread_where_that_is_asked_for():
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    subprocess.run([sys.executable, "-c", THREADS], env=free, check=True)


LEARNING = """
import numpy as np
from threadpoolctl import threadpool_info
from kernelstream import Binary, Learner, Ridge
from kernelstream.numerics import blas

blas._modules()  # SciPy's BLAS is loaded

def watched(name):
    inner = getattr(Ridge, name)

    def outer(self, *given):
        threads = (one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        seen.setdefault(name, set()).update(threads)
        return inner(self, *given)

    setattr(Ridge, name, outer)

names, seen = ("folded", "solved", "grow", "split", "merge", "unmerge", "deviations", "spreads", "left_out"), {}
for name in names:
    watched(name)
X = np.random.default_rng(0).normal(size=(300, 3))
y = np.where(X[:, 0] > 0, 1.0, 2.0)
one, two = (Learner(Ridge(n_components=8), "regression", threads=1) for _ in range(2))
for learner in (one, two):
    learner.learn(X, y)
one.merge(two)
one.deviations(X), one.spreads(X), one.leave_one_out(X, y)
one.unmerge(two)
classes = Learner(Ridge(n_components=8), Binary([1.0, 2.0]), grow_classes=True, threads=1)
classes.learn(X, y)
classes.learn(X, y + 1.0)
assert seen == dict.fromkeys(names, {1}), seen
"""


def test_learning_takes_no_more_threads_of_blas_than_one():
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    subprocess.run([sys.executable, "-c", LEARNING], env=free, check=True)
