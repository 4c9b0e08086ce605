"""How sure a linear model is of each direction: a covariance S, whole or its diagonal, that shrinks as rows come.

A row z takes S to S - b (Sz)(Sz)'; with b = 1 / (z'Sz + r) that is (S^-1 + z z' / r)^-1, S^-1 being what rows have
told. S is float64, the whole one in its lower triangle.
"""

from typing import Any, NamedTuple

import numpy as np

from .compile import by_record, compiled, reduction

# The largest variance that a direction begins with: beyond, float64 has no digits left for what rows tell of others.
WIDEST = 1e6


class Full(NamedTuple):
    S: np.ndarray  # (D, D), its lower triangle


class Diagonal(NamedTuple):
    S: np.ndarray  # (D,)


def first_covariance(length: int, variance: float, *, full: bool) -> Full | Diagonal:
    diagonal = np.full(length, min(float(variance), WIDEST))
    return Full(np.diag(diagonal)) if full else Diagonal(diagonal)


def precision(covariance: Any) -> np.ndarray:
    """S^-1, (D, D) or (D,); np.linalg.LinAlgError where there is none."""
    S = covariance.S
    if S.ndim == 1:
        return np.asarray(1.0 / S)
    L = np.linalg.cholesky(np.tril(S) + np.tril(S, -1).T)
    half = np.linalg.solve(L, np.eye(len(L)))
    return np.asarray(half.T @ half)


def of_precision(told: np.ndarray) -> Any:
    """The covariance S of S^-1."""
    if told.ndim == 1:
        return Diagonal(1.0 / told)
    return Full(np.tril(precision(Full(told))))


@reduction
def _row_product(row, z, u, scale):
    """u = u + scale * row; return row'z."""
    total = 0.0
    for j in range(row.shape[0]):
        total += row[j] * z[j]
        u[j] += scale * row[j]
    return total


@compiled
def _whole_product(S, z, u):
    n = z.shape[0]
    for i in range(n):
        u[i] = 0.0
    for i in range(n):
        u[i] += _row_product(S[i, :i], z[:i], u[:i], z[i]) + S[i, i] * z[i]


@compiled
def _whole_update(S, u, b):
    for i in range(u.shape[0]):
        c, row, part = b * u[i], S[i, : i + 1], u[: i + 1]
        for j in range(row.shape[0]):
            row[j] -= c * part[j]


@reduction
def _product(a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@by_record
def spread_of(covariance, z, u):
    """u = Sz; return z'Sz, not less than 0. z and u are float64."""


@by_record
def learn_spread(covariance, u, b):
    """S = S - b u u'."""


@spread_of.register(Full)
def _(covariance, z, u):
    _whole_product(covariance.S, z, u)
    return max(_product(z, u), 0.0)


@learn_spread.register(Full)
def _(covariance, u, b):
    _whole_update(covariance.S, u, b)


@spread_of.register(Diagonal)
def _(covariance, z, u):
    S = covariance.S
    for j in range(z.shape[0]):
        u[j] = S[j] * z[j]
    return max(_product(z, u), 0.0)


@learn_spread.register(Diagonal)
def _(covariance, u, b):
    S = covariance.S
    for j in range(u.shape[0]):
        S[j] -= b * u[j] * u[j]
