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
from .memory import zeros

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
    sums = zeros((length, length)), zeros((length, length), dtype), np.zeros((n_outputs, length)), np.zeros(length)
    return Sums(*sums, zeros((piece, length), dtype), np.zeros((piece, n_outputs), dtype), np.zeros((), np.int64))


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
    M = np.empty(sums.A.shape, dtype)
    _turn(sums.A, sums.newer, dtype(ridge), M)
    return _factored(M, sums.A, sums.b, ridge)[1].astype(dtype, copy=False)


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
def fold(A, newer):
    """A <- A + newer, newer <- 0, the lower triangles."""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            A[i, j] += newer[i, j]
            newer[i, j] = 0


@compiled
def _turn(A, newer, ridge, M):
    """`fold` (newer may be empty), and M = A' + ridge, the upper triangle; in tiles that stay in the nearest cache."""
    n = A.shape[0]
    for i in range(0, n, TILE):
        for j in range(0, i + 1, TILE):
            if newer.shape[0] > 0:
                for q in range(i, min(i + TILE, n)):
                    for p in range(j, min(j + TILE, q + 1)):
                        A[q, p] += newer[q, p]
                        newer[q, p] = 0
            for p in range(j, min(j + TILE, n)):
                for q in range(max(i, p), min(i + TILE, n)):
                    M[p, q] = A[q, p]
    for i in range(n):
        M[i, i] += ridge


def solved(A: np.ndarray, b: np.ndarray, ridge: float, dtype: Any = np.float64) -> np.ndarray:
    """(A + ridge)^-1 b', (K, D). Requires: the lower triangle of A (D, D); b is (K, D)."""
    return factored(A, b, ridge, dtype)[1].astype(dtype, copy=False)


def factored(A: np.ndarray, b: np.ndarray, ridge: float, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """The factor of A + ridge, for `blas.solve_factored`, and the solution for b; in float64 where it takes that."""
    M = np.empty(A.shape, dtype)
    _turn(A, np.empty((0, 0), dtype), dtype(ridge), M)
    return _factored(M, A, b, ridge)


def _factored(M: np.ndarray, A: np.ndarray, b: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """M is A + ridge, its upper triangle, in the precision that is tried first; it becomes the factor."""
    W = np.array(b, M.dtype, order="C")
    if solve_positive(M, W):
        return M, W
    if M.dtype == np.float32:
        return factored(A, b, ridge)
    if not (0.0 < ridge < np.inf and np.isfinite(np.tril(A)).all()):
        raise FloatingPointError(
            f"Least squares with a ridge of {ridge:g} has no solution: what its rows add up to is not finite. Scale "
            "features and targets."
        )
    return factored(A, b, 10.0 * ridge)


def least_squares(
    Z: np.ndarray, Y: np.ndarray, ridges: tuple[float, ...], known: tuple[np.ndarray, np.ndarray] | None = None
) -> Iterator[np.ndarray]:
    """The W, (K, D), of each ridge: of the rows Z (n, D) with targets Y (n, K), from the smaller of two systems.

    known: Z'Z and Y'Z, where they are.
    """
    dtype = Z.dtype.type
    if known is None and len(Z) < Z.shape[1]:
        G, targets = products(np.ascontiguousarray(Z.T)), np.ascontiguousarray(Y.T)
        for ridge in ridges:
            yield solved(G, targets, ridge, dtype) @ Z
    else:
        A, b = (products(Z), Y.T @ Z) if known is None else known
        for ridge in ridges:
            yield solved(A, b, ridge, dtype)
