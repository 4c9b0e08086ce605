"""Least squares on lifted rows: sums of outer products, and the systems that they make.

A = sum z z' is kept in float64. Rows are added by a product in their own precision, of which BLAS computes one half:
what is summed lies in the lower triangle of the arrays as NumPy sees them.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .blas import add_products, solve_positive
from .compile import compiled, inlined

TILE = 32


class Sums(NamedTuple):
    """What rows tell least squares: sums in float64, but for those of new rows, and rows that wait to go into them."""

    A: np.ndarray  # (D, D) sum of z z', its lower triangle
    newer: np.ndarray  # (D, D) the same of the rows since the last solution
    b: np.ndarray  # (K, D) sum of y z
    total: np.ndarray  # (D,) sum of z
    waiting: np.ndarray  # (piece, D) z of rows that are in none of them
    waiting_y: np.ndarray  # (piece, K)
    n_waiting: np.ndarray  # 0-d


def no_sums(length: int, n_outputs: int, dtype: Any, piece: int) -> Sums:
    """Before any row; `piece` is how many can wait."""
    sums = (
        np.zeros((length, length)),
        np.zeros((length, length), dtype),
        np.zeros((n_outputs, length)),
        np.zeros(length),
    )
    return Sums(*sums, np.zeros((piece, length), dtype), np.zeros((piece, n_outputs), dtype), np.zeros((), np.int64))


@inlined
def wait(sums, z, y, weight):
    """A row z with targets y waits to go into the sums. Requires: room for it."""
    n, root = sums.n_waiting[()], math.sqrt(weight)
    c = z.dtype.type(root)
    for j in range(z.shape[0]):
        sums.waiting[n, j] = c * z[j]
    for k in range(y.shape[0]):
        sums.waiting_y[n, k] = root * y[k]
    sums.n_waiting[()] = n + 1


def with_waiting(sums: Sums) -> Sums:
    """The rows that waited go into the sums, which change in place."""
    n = int(sums.n_waiting)
    if n > 0:
        add_rows(sums, sums.waiting[:n], sums.waiting_y[:n])
        sums.n_waiting[()] = 0
    return sums


def add_rows(sums: Sums, Z: np.ndarray, Y: np.ndarray) -> None:
    """Rows go into the sums, in place: z and targets, both times the root of the row's weight."""
    b, total = Y.T @ Z, np.abs(Y[:, 0]) @ Z  # what needs memory comes first; targets of classes are -1 and 1
    add_products(sums.newer, Z)
    sums.b[...] += b
    sums.total[...] += total


def solution(sums: Sums, ridge: float, dtype: Any = np.float64) -> np.ndarray:
    """(A + ridge)^-1 b', (K, D); new rows are no longer kept apart."""
    sums.A[...] += sums.newer
    sums.newer[...] = 0
    return solved(sums.A, sums.b, ridge, dtype)


def for_outputs(sums: Sums, n_outputs: int) -> Sums:
    """With more outputs, whose targets were -1 in all rows so far."""
    known = len(sums.b)
    new = np.repeat(-sums.total[None], n_outputs - known, axis=0)
    said = np.repeat(-np.abs(sums.waiting_y[:, :1]), n_outputs - known, axis=1)
    return sums._replace(b=np.concatenate([sums.b, new]), waiting_y=np.concatenate([sums.waiting_y, said], axis=1))


def of_both(mine: Sums, theirs: Sums) -> Sums:
    """Of the rows of both. Requires: no row waits."""
    return mine._replace(**{name: getattr(mine, name) + getattr(theirs, name) for name in ("A", "newer", "b", "total")})


def products(Z: np.ndarray) -> np.ndarray:
    """Z'Z, its lower triangle."""
    sums = np.zeros((Z.shape[1], Z.shape[1]), Z.dtype)
    add_products(sums, Z)
    return sums


@compiled
def _turn(A, ridge, M):
    """M = A' + ridge, the upper triangle, from the lower one of A; in tiles that stay in the first-level cache."""
    n = A.shape[0]
    for i in range(0, n, TILE):
        for j in range(0, i + 1, TILE):
            for p in range(j, min(j + TILE, n)):
                for q in range(max(i, p), min(i + TILE, n)):
                    M[p, q] = A[q, p]
    for i in range(n):
        M[i, i] += ridge


def solved(A: np.ndarray, b: np.ndarray, ridge: float, dtype: Any = np.float64) -> np.ndarray:
    """(A + ridge)^-1 b', (K, D). Requires: the lower triangle of A (D, D); b is (K, D)."""
    M, W = np.empty(A.shape, dtype), np.array(b, dtype, order="C")
    _turn(A, dtype(ridge), M)
    if solve_positive(M, W):
        return W
    if dtype == np.float32:
        return solved(A, b, ridge).astype(dtype)
    return solved(A, b, 10.0 * ridge)


def least_squares(
    Z: np.ndarray, Y: np.ndarray, ridges: tuple[float, ...], A: np.ndarray | None = None
) -> Iterator[tuple[float, np.ndarray]]:
    """Each ridge with its W, (K, D): of the rows Z (n, D) with targets Y (n, K), from the smaller of two systems.

    A: Z'Z, where it is known.
    """
    dtype = Z.dtype.type
    if A is None and len(Z) < Z.shape[1]:
        G = products(np.ascontiguousarray(Z.T))
        for ridge in ridges:
            yield ridge, solved(G, np.ascontiguousarray(Y.T), ridge, dtype) @ Z
    else:
        A, b = products(Z) if A is None else A, Y.T @ Z
        for ridge in ridges:
            yield ridge, solved(A, b, ridge, dtype)
