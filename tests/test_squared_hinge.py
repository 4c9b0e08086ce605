"""The squared hinge by least squares whose targets move is the least that there is, and few steps of it help."""

import numpy as np
import pytest
from scipy.optimize import minimize

from kernelstream import Learner, Multiclass
from kernelstream.numerics.second_order import products
from kernelstream.numerics.squared_hinge import MOST, squared_hinge
from kernelstream.numerics.stepwise import all_steps, some_steps

RIDGE = 0.1


def rows(n=400, noise=0.0, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 12))
    y = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 + noise * rng.normal(size=n) > 1.5, 1.0, -1.0)
    Z = np.hstack([X, X**2])
    return Z.astype(dtype), np.stack([y, -y], 1), rng.uniform(0.5, 2.0, n)


def total(w, Z, y, share):
    return (share * np.maximum(0.0, 1.0 - y * (Z @ w)) ** 2).sum() + RIDGE * (w**2).sum()


def found(Z, Y, share):
    root = np.sqrt(share)[:, None].astype(Z.dtype)
    return all_steps(squared_hinge(Z, Y, share, products(root * Z).astype(np.float64), RIDGE))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_sum_is_nearly_the_least(dtype, noise):
    Z, Y, share = rows(noise=noise, dtype=dtype)
    W = found(Z, Y, share)
    assert W.dtype == dtype and W.shape == (2, Z.shape[1])
    for w, y in zip(W, Y.T, strict=True):
        w, Z64 = w.astype(np.float64), Z.astype(np.float64)
        least = minimize(total, w, (Z64, y, share), method="BFGS").fun
        squares = np.linalg.solve((Z64.T * share) @ Z64 + RIDGE * np.eye(len(w)), Z64.T @ (share * y))
        assert least <= total(w, Z64, y, share) + 1e-9
        assert total(w, Z64, y, share) - least < 0.15 * (total(squares, Z64, y, share) - least)


def test_a_weight_counts_as_rows():
    Z, Y, _ = rows(100)
    twice = found(np.vstack([Z, Z[:50]]), np.vstack([Y, Y[:50]]), np.ones(150))
    np.testing.assert_allclose(found(Z, Y, np.where(np.arange(100) < 50, 2.0, 1.0)), twice, rtol=0, atol=1e-8)


def test_noisy_rows_take_few_steps():
    steps = {}
    for noise in (0.0, 20.0):
        Z, Y, share = rows(2000, noise)
        work = squared_hinge(Z, Y, share, products(np.sqrt(share)[:, None] * Z), RIDGE)
        steps[noise] = next(n for n in range(1, MOST + 2) if some_steps(work, 1) is not None)
    assert steps[20.0] <= 8 < steps[0.0]


def test_sums_without_a_solution_are_refused():
    Z, Y, share = rows(50)
    with pytest.raises(FloatingPointError, match="has no solution"):
        all_steps(squared_hinge(Z, Y, share, np.full((Z.shape[1],) * 2, -np.inf), RIDGE))


def test_auto_learns_classes_that_lie_within_each_other():
    """Least squares hardly sees the one between the others: without the squared hinge .132 are wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 8))
    squares = (X**2).sum(axis=1)
    y = np.digitize(squares, np.quantile(squares, (1 / 3, 2 / 3)))
    learner = Learner("auto", Multiclass([0, 1, 2]), threads=1)
    shown = np.concatenate([learner.learn(X[i : i + 500], y[i : i + 500]) for i in range(0, len(y), 500)])
    assert (shown[-4000:].argmax(axis=1) != y[-4000:]).mean() < 0.09
