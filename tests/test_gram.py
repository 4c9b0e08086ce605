"""The Cholesky factor that follows a dictionary, against a fresh one at every step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelstream.kernels import KERNELS, Gaussian, Linear
from kernelstream.laws.examples import composite_kernels, example_kernels, sparse_rows
from kernelstream.laws.kernels import dictionary
from kernelstream.numerics import gram
from kernelstream.reference.kernels import matrix

CAPACITY = 14
KERNEL = Gaussian(gamma=0.4)

# A factor's backward error: n units in the last place of the largest entry (1 for a Gaussian), with some room.
FACTOR = 20 * CAPACITY * float(np.finfo(np.float64).eps)


class Follower:
    """Points, and the factor that was grown and shrunk along with them."""

    def __init__(self, kernel=KERNEL, width=3):
        self.kernel = kernel
        self.points = np.zeros((0, width))
        self.R = gram.factor(CAPACITY)

    def solve(self, x):
        """(half, residual) of a new point."""
        n = len(self.points)
        half = np.zeros(CAPACITY)
        captured = gram.forward(self.R, n, matrix(self.kernel, self.points, x)[:, 0] if n else np.zeros(0), half)
        return half, float(matrix(self.kernel, x, x)[0, 0]) - captured

    def grow(self, x):
        half, residual = self.solve(x)
        gram.extend_factor(self.R, len(self.points), half, residual)
        self.points = np.vstack([self.points, x])

    def shrink(self, i):
        gram.reduce_factor(self.R, len(self.points), i, np.zeros(CAPACITY), np.zeros(CAPACITY))
        self.points = np.delete(self.points, i, axis=0)

    def coordinates(self, x):
        half, residual = self.solve(x)
        out = np.zeros(CAPACITY)
        gram.backward(self.R, len(self.points), half, out)
        return out[: len(self.points)], residual

    def check(self, tolerance=FACTOR):
        n = len(self.points)
        K = matrix(self.kernel, self.points, self.points)
        R = self.R[:n, :n]
        assert np.abs(R.T @ R - K).max(initial=0.0) <= tolerance
        assert not np.tril(R, -1).any()
        assert (np.diag(R) > 0).all()


@given(st.lists(st.one_of(st.none(), st.integers(0, CAPACITY - 1)), min_size=1, max_size=60), st.integers(0, 2**32 - 1))
def test_the_factor_follows_any_sequence_of_growing_and_shrinking(moves, seed):
    """None grows by a random point; a number removes the point of that place (modulo the size)."""
    rng = np.random.default_rng(seed)
    follower = Follower()
    for move in moves:
        n = len(follower.points)
        if (move is None and n < CAPACITY) or n == 0:
            follower.grow(rng.normal(size=3))
        elif move is not None:
            follower.shrink(move % n)
        follower.check()
    if len(follower.points):
        fresh = np.linalg.cholesky(matrix(KERNEL, follower.points, follower.points))
        n = len(fresh)
        condition = np.linalg.cond(fresh) ** 2
        np.testing.assert_allclose(follower.R[:n, :n], fresh.T, atol=FACTOR * condition)


@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-5, 1e-6])
def test_nearly_equal_points_keep_the_factor_exact(distance):
    """The Gram matrix has a condition of 1 / distance^2; the factor still multiplies back to it in the last digits."""
    rng = np.random.default_rng(1)
    follower = Follower()
    for _ in range(5):
        x = rng.normal(size=3)
        follower.grow(x)
        follower.grow(x + distance * np.array([1.0, 0.0, 0.0]))
    follower.check()
    for i in (0, 6, 3, 2):
        follower.shrink(i)
        follower.check()
    follower.grow(rng.normal(size=3))
    follower.check()


@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-5, 1e-6])
def test_the_residual_of_a_nearly_equal_point_is_its_distance(distance):
    """1 - k(x, x + h)^2 = 1 - exp(-2 gamma h^2): to the rounding of k(x, x) = 1, not to that of an inverse."""
    follower = Follower()
    x = np.array([0.3, -1.0, 0.5])
    follower.grow(x)
    _, residual = follower.solve(x + [distance, 0.0, 0.0])
    assert residual == pytest.approx(-np.expm1(-2 * 0.4 * distance**2), abs=4 * np.finfo(float).eps)


def test_the_residual_of_a_stored_point_is_zero_and_its_coordinates_a_unit_vector():
    rng = np.random.default_rng(2)
    follower = Follower()
    for x in rng.normal(size=(8, 3)):
        follower.grow(x)
    for i, x in enumerate(follower.points):
        coordinates, residual = follower.coordinates(x)
        condition = np.linalg.cond(matrix(KERNEL, follower.points, follower.points))
        assert abs(residual) <= FACTOR
        np.testing.assert_allclose(coordinates, np.eye(8)[i], atol=FACTOR * condition)


def test_coordinates_and_residual_equal_the_projections():
    rng = np.random.default_rng(3)
    follower = Follower()
    for x in rng.normal(size=(CAPACITY, 3)):
        follower.grow(x)
    for i in (13, 0, 5):
        follower.shrink(i)
    K = matrix(KERNEL, follower.points, follower.points)
    for x in rng.normal(size=(20, 3)):
        k = matrix(KERNEL, follower.points, x)[:, 0]
        coordinates, residual = follower.coordinates(x)
        np.testing.assert_allclose(coordinates, np.linalg.solve(K, k), atol=FACTOR * np.linalg.cond(K))
        assert residual == pytest.approx(1.0 - k @ np.linalg.solve(K, k), abs=FACTOR * np.linalg.cond(K))
        assert residual >= 0.0


def test_coordinates_reproduce_the_point_even_from_a_singular_dictionary():
    """Coordinates themselves are arbitrary then; the function that they give is not."""
    rng = np.random.default_rng(4)
    follower = Follower()
    for x in rng.normal(size=(5, 3)):
        follower.grow(x)
        follower.grow(x + 1e-6)
    x = rng.normal(size=3)
    coordinates, residual = follower.coordinates(x)
    K = matrix(KERNEL, follower.points, follower.points)
    k = matrix(KERNEL, follower.points, x)[:, 0]
    np.testing.assert_allclose(K @ coordinates, k, atol=1e-8)
    assert 0.0 <= residual <= 1.0


def test_shrinking_leaves_no_trace_of_the_removed_point():
    follower = Follower()
    for x in np.random.default_rng(5).normal(size=(6, 3)):
        follower.grow(x)
    follower.shrink(2)
    assert not follower.R[5:].any() and not follower.R[:, 5:].any()
    while len(follower.points):
        follower.shrink(len(follower.points) - 1)
    assert not follower.R.any()


@pytest.mark.parametrize("kernel", [k for k in example_kernels() + composite_kernels() if k.evaluated], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gram_and_cross_matrices_equal_the_reference(kernel, dtype):
    A, B = (sparse_rows(n, seed=n).astype(np.float32).astype(np.float64) for n in (25, 11))
    f, g = dictionary(kernel, A, dtype), dictionary(kernel, B, dtype)
    np.testing.assert_allclose(gram.cross_matrix(kernel, f, g), matrix(kernel, A, B), rtol=1e-12, atol=1e-13)
    K = gram.gram_matrix(kernel, f)
    assert np.array_equal(K, K.T)
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, matrix(kernel, A, A), rtol=1e-12, atol=1e-13)


def test_cross_matrix_of_dictionaries_of_different_width_fills_with_zeros():
    A, B = sparse_rows(6), sparse_rows(5, seed=9)
    narrow = A[:, :30]
    A = np.where(np.arange(40) < 30, A, 0.0)
    for kind in (kind for kind in KERNELS.values() if kind.evaluated):
        kernel = kind() if kind is Linear else kind(gamma=0.2)
        wide, cut = dictionary(kernel, A, "float64"), dictionary(kernel, narrow, "float64")
        other = dictionary(kernel, B, "float64")
        np.testing.assert_allclose(gram.cross_matrix(kernel, cut, other), matrix(kernel, A, B), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(gram.cross_matrix(kernel, other, cut), matrix(kernel, B, A), rtol=1e-12, atol=1e-13)
        assert np.array_equal(gram.cross_matrix(kernel, wide, other), gram.cross_matrix(kernel, cut, other))


@pytest.mark.parametrize("i", [0, 4, 8])
def test_a_matrix_beside_the_factor_turns_with_it(i):
    """In coordinates half = R'^-1 k: values at the points that are left have the covariance that they had."""
    follower, draws = Follower(), np.random.default_rng(i)
    for x in draws.normal(size=(9, 3)):
        follower.grow(x)
    half = draws.normal(size=(9, 9))
    M, cosines, sines = np.zeros((CAPACITY, CAPACITY)), np.zeros(CAPACITY), np.zeros(CAPACITY)
    M[:9, :9] = half @ half.T
    R = follower.R[:9, :9].copy()
    before = np.delete(np.delete(R.T @ M[:9, :9] @ R, i, axis=0), i, axis=1)
    gram.reduce_factor(follower.R, 9, i, cosines, sines)
    gram.turn(M, 9, i, cosines, sines)
    left = follower.R[:8, :8]
    np.testing.assert_allclose(left.T @ M[:8, :8] @ left, before, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(M[:8, :8], M[:8, :8].T, rtol=1e-13, atol=1e-13)
