"""Neighbours that follow a changing dictionary, against looking at the whole Gram matrix anew."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from kernelstream import TVM, Binary, Learner
from kernelstream.kernels import Gaussian, Linear, Polynomial
from kernelstream.numerics.neighbours import (
    LOWEST,
    follow,
    look_around,
    nearest_pair,
    nearest_to,
    no_neighbours,
    raise_bounds,
    room_to_search,
    write_point,
    write_row,
)

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(0)) / X.std(0)
SIGN = 2 * Y - 1

DTYPES = ["float32", "float64"]
# How many different kernel values there may be: few of them make ties everywhere.
LEVELS = [2, 5, 10**6]


def symmetric(rng, n, levels, dtype):
    values = rng.integers(-levels, levels, (n, n))
    return (np.triu(values) + np.triu(values, 1).T).astype(dtype)


def others(gram):
    """The matrix with nothing on its diagonal."""
    return np.where(np.eye(len(gram)) == 1, -np.inf, gram)


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("n", [2, 3, 9, 64, 65, 130])
def test_the_nearest_is_the_lowest_of_equals_and_never_the_point_itself(n, levels):
    gram = symmetric(np.random.default_rng(n), n, levels, "float64")
    np.fill_diagonal(gram, 2 * levels)  # the largest of all
    before = gram.copy()
    assert [nearest_to(gram, n, i) for i in range(n)] == others(gram).argmax(axis=1).tolist()
    assert np.array_equal(gram, before)


class Dictionary:
    """Points of any kernel values that come and are replaced, and their neighbours."""

    def __init__(self, capacity, dtype):
        self.n, self.moves, self.searches = 0, 0, 0
        self.gram, self.own = np.zeros((capacity, capacity), dtype), np.zeros(capacity)
        self.near, self.search = no_neighbours(capacity, dtype), room_to_search(capacity)

    def put(self, r, values, own):
        n, self.moves = self.n, self.moves + 1
        self.n = max(n, r + 1)
        self.gram[r, :n] = self.gram[:n, r] = values
        self.own[r], self.near.born[r] = own, self.moves
        lost = follow(self.near, n, r, values, self.own, self.search)
        for i in [r, *self.search.lost[:lost]]:
            look_around(self.near, self.n, i, self.gram[i, : self.n].copy(), self.own, self.search)
        self.searches += lost

    def check(self):
        n, near, gram = self.n, self.near, others(self.gram[: self.n, : self.n])
        if n > 1:
            assert np.array_equal(near.slot[:n], gram.argmax(axis=1))
            assert np.array_equal(near.beside[:n], gram.max(axis=1))
            assert np.array_equal(near.own[:n], self.own[near.slot[:n]])
        for i in range(n):
            there = near.births[i] == near.born[near.slots[i]]
            listed = near.slots[i, there]
            assert np.array_equal(near.values[i, there], gram[i, listed])
            assert len({i, int(near.slot[i]), *listed.tolist()}) == len(listed) + (2 if n > 1 else 1)
            equal, distance = gram[i] == near.bound[i], np.arange(n) - near.last[i]
            assert not ((gram[i] < near.bound[i]) | (equal & (distance > 0)))[listed].any()
            assert np.delete((gram[i] < near.bound[i]) | (equal & (distance >= 0)), [i, near.slot[i], *listed]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("capacity", [1, 2, 3, 7, 8, 9, 70])
def test_neighbours_follow_points_that_come_and_are_replaced(capacity, levels, dtype):
    rng, points = np.random.default_rng(levels), Dictionary(capacity, dtype)
    for move in range(capacity + 300):
        r = move if move < capacity else int(rng.integers(capacity))
        points.put(r, rng.integers(-levels, levels, points.n).astype(dtype), rng.normal())
        points.check()


@pytest.mark.parametrize("dtype", DTYPES)
def test_neighbours_are_known_where_all_values_are_equal_or_new_points_are_ever_farther(dtype):
    equal, farther = Dictionary(40, dtype), Dictionary(40, dtype)
    rng = np.random.default_rng(0)
    for move in range(300):
        for points, value in ((equal, 0.0), (farther, -float(move))):
            r = min(move, int(rng.integers(40))) if move >= 40 else move
            points.put(r, np.full(points.n, value, dtype), 1.0)
            points.check()
    assert farther.searches > 0, "lists ran empty"


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_few_points_compute_their_kernel_values_anew(share):
    """Points drawn from one law, or from one that moves."""
    rng, points, capacity = np.random.default_rng(1), Dictionary(200, "float64"), 200
    X = np.zeros((capacity, 4))
    for move in range(1200):
        r = move if move < capacity else int(rng.integers(capacity))
        X[r] = rng.normal(size=4) + share * move / 400
        values = np.exp(-((X[: points.n] - X[r]) ** 2).sum(axis=1))
        points.put(r, values, 1.0)
    points.check()
    assert points.searches <= 0.2 * (points.moves - capacity)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("n", [2, 3, 70])
def test_the_nearest_pair_is_the_first_of_equals_while_points_come_and_go(n, levels, dtype):
    """As TVM does: the last point is new, one of the pair is replaced, and the last point takes the other's slot."""
    rng = np.random.default_rng(levels)
    last = n - 1
    gram, bounds = symmetric(rng, n, levels, dtype), np.full(n, LOWEST)
    for r in range(last):
        raise_bounds(bounds, last, np.where(np.arange(last) == r, -levels, gram[r, :last]))
    for _ in range(300):
        values = rng.integers(-levels, levels, last).astype(dtype)
        write_row(gram, last, last, values, 0)
        raise_bounds(bounds, last, values)
        bounds[last] = values.max()
        whole = others(gram)
        whole[:last, last] = values
        first, second = np.unravel_index(whole.argmax(), whole.shape)
        i, j = nearest_pair(gram, n, bounds)
        assert (i, j) == (first, second)
        assert (bounds >= whole.max(axis=1)).all()
        if j < last:
            write_point(gram, last, j, gram[last].copy(), 0)
            bounds[j] = bounds[last]
        values = rng.integers(-levels, levels, last).astype(dtype)
        write_point(gram, last, i, values, 0)
        raise_bounds(bounds, last, values)
        bounds[i] = others(gram[:last, :last])[i].max() if last > 1 else LOWEST


# What TVM keeps beside its points.


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.05), Linear(), Polynomial(degree=3)], ids=str)
@pytest.mark.parametrize("budget", [1, 2, 30])
def test_tvm_knows_f_at_its_points_and_bounds_on_their_neighbours(budget, kernel, dtype):
    learner = Learner(TVM(kernel=kernel, budget=budget, aggressiveness=0.5), Binary([-1, 1]), dtype=dtype)
    rng = np.random.default_rng(0)
    for _ in range(6):
        order = rng.permutation(len(X))
        learner.learn(X[order].astype(dtype), SIGN[order])
        state, n = learner._state, learner.size
        assert n == budget
        gram = state.gram[:n, :n].astype(np.float64)
        weights = state.dual[1, :n] - state.dual[0, :n]
        assert np.array_equal(gram, gram.T)
        np.testing.assert_array_equal(state.f.coef[0, :n], weights.astype(dtype))
        scale = np.abs(gram) @ np.abs(weights)
        assert (np.abs(state.at_points[:n] - gram @ weights) <= 1e-12 * (1.0 + scale.max())).all()
        assert (state.beside[:n] >= others(gram).max(axis=1, initial=-np.inf)).all()


def test_a_merged_tvm_goes_on_from_what_it_would_have_kept():
    spec = TVM(kernel=Gaussian(gamma=0.05), budget=30)
    first, second = (Learner(spec, Binary([-1, 1]), dtype="float64") for _ in range(2))
    first.learn(X[:250], SIGN[:250])
    second.learn(X[250:500], SIGN[250:500])
    first.merge(second)
    state, n = first._state, first.size
    gram, weights = state.gram[:n, :n], state.dual[1, :n] - state.dual[0, :n]
    np.testing.assert_allclose(state.at_points[:n], gram @ weights, atol=1e-12)
    assert np.array_equal(state.beside[:n], others(gram).max(axis=1))
    np.testing.assert_allclose(first.scores(X[:50])[:, 0], weights @ np.exp(-0.05 * distances(state, n)), atol=1e-9)


def distances(state, n):
    return ((state.f.points[:, :n].T[:, None] - X[None, :50]) ** 2).sum(axis=2)
