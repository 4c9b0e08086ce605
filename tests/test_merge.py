"""Merging: what a budget does not hold is projected; the merged model of several shards is no worse than its parts."""

import numpy as np
import pandas as pd
import pytest
from benchmarks.merges import merges, rows_of

from kernelstream import ALGORITHMS, Learner, OnlineKernelRegressor, Regression
from kernelstream.kernels import Gaussian, Sigmoid
from kernelstream.numerics.expansion import from_points
from kernelstream.numerics.projection import projected
from kernelstream.reference.kernels import matrix


@pytest.fixture(scope="module", params=["cod-rna", "satimage", "cpusmall"])
def real(request, data_directory):
    return rows_of(request.param, 9 * 1500)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_merged_model_of_shards_is_no_worse_than_its_parts(name, real, request):
    X, y, task = real
    if name in ("auto", "stack") and "cod-rna" not in request.node.name:
        pytest.skip("takes as long as all others together; `python -m benchmarks.merges` does it")
    if task().name not in ALGORITHMS[name].tasks:
        pytest.skip(f"{name} does not do {task().name}")
    sizes = {"budget": 60} if hasattr(ALGORITHMS[name], "budget") else {}
    for n, parts, merged in merges(name, X, y, task, **sizes):
        assert merged <= 1.1 * parts, n


POINTS = np.random.default_rng(0).normal(size=(40, 3))
COEF = np.random.default_rng(1).normal(size=(2, 40))


def expansion():
    return from_points(POINTS.T.copy(), (POINTS**2).sum(axis=1), COEF.copy())


def test_a_projection_is_the_nearest_function_on_its_points():
    kernel, f = Gaussian(0.3), expansion()
    g = projected(kernel, f, 10, 12)
    assert int(g.size) == 10 and g.points.shape == (3, 12)
    gram, cross = (matrix(kernel, g.points[:, :10].T, other) for other in (g.points[:, :10].T, POINTS))
    np.testing.assert_allclose(g.coef[:, :10] @ gram, COEF @ cross.T, atol=1e-10)  # f - g is orthogonal to the span


def test_the_first_point_kept_is_the_one_that_comes_nearest_alone():
    kernel = Gaussian(0.3)
    gram = matrix(kernel, POINTS, POINTS)
    lost = [np.sum((COEF @ gram) * COEF) - np.sum((COEF @ gram[:, i]) ** 2) / gram[i, i] for i in range(40)]
    alone = projected(kernel, expansion(), 1, 1)
    np.testing.assert_array_equal(alone.points[:, 0], POINTS[np.argmin(lost)])


def test_points_twice_are_kept_once():
    f = from_points(np.tile(POINTS[:4].T, 5), np.tile((POINTS[:4] ** 2).sum(axis=1), 5), np.ones((1, 20)))
    g = projected(Gaussian(0.3), f, 10, 10)
    assert int(g.size) == 4
    np.testing.assert_allclose(g.coef[0, :4], 5.0)


def test_without_a_positive_definite_kernel_values_at_the_points_are_kept():
    kernel = Sigmoid(gamma=0.4, offset=-0.5)
    assert (np.linalg.eigvalsh(matrix(kernel, POINTS, POINTS)) < -0.1).any()
    g = projected(kernel, expansion(), 15, 15)
    n = int(g.size)
    kept = g.points[:, :n].T
    values = g.coef[:, :n] @ matrix(kernel, kept, kept)
    np.testing.assert_allclose(values, COEF @ matrix(kernel, POINTS, kept), atol=1e-8)


def test_the_names_of_a_table_are_saved_and_others_are_not_merged(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20.0)
    tables = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(X, columns=["b", "a"])
    one, two = (Learner("rbp", Regression()) for _ in tables)
    for learner, table in zip((one, two), tables, strict=True):
        learner.learn(table, y)
        learner.save(tmp_path / "m.ks")
        back = Learner.load(tmp_path / "m.ks")
        with pytest.raises(ValueError, match=r"The table's columns are .*; the learner learned"):
            back.scores(table[table.columns[::-1]])
        assert np.array_equal(back.scores(table), learner.scores(table))
    with pytest.raises(ValueError, match=r"cannot be merged: columns of the tables differs, \['a', 'b'\] here"):
        one.merge(back)
    assert one.n_seen == 20
    estimators = [OnlineKernelRegressor("rbp").fit(table, y) for table in tables]
    with pytest.raises(ValueError, match=r"feature_names_in_ differs, \['a', 'b'\] here"):
        estimators[0].merge(estimators[1])
    nameless = Learner("rbp", Regression()).merge(one)
    with pytest.raises(ValueError, match="columns of the tables differs"):
        nameless.merge(two)
