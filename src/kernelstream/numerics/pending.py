"""Least squares that every row sees at once: rows that are in no sum yet, and the solution with them.

For the rows before a piece let W solve (A + ridge) W = b, and R'R = (A + ridge)^-1. Then v = Rz is found for many rows
by one product, and in the piece's own rows V what is added to W is least squares with a ridge of 1. Its dual is no
larger than the piece: a Cholesky factor C'C = 1 + VV' follows the rows as they come (`gram`), and with it u = C'^-1 r,
r their residuals under W:

    f(x) = W'z + h'u,  h = C'^-1 Vv;    z'(A + ridge)^-1 z with all rows so far in A is v'v - h'h

Where V is not there, but a kernel k(x, x') = v'v', the same holds with k for the products, W = 0 and the ridge for 1.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .compile import inlined
from .expansion import dot
from .gram import extend_factor, factor, forward
from .second_order import Sums, with_waiting


class Pending(NamedTuple):
    """What is known of rows that wait (`Sums`), and of those before them."""

    whitening: np.ndarray  # (D, D) R
    rows: np.ndarray  # (room, D) V; no room where a kernel stands for it
    factor: np.ndarray  # (room, room) C
    u: np.ndarray  # (K, room)
    roots: np.ndarray  # (room,) of the rows' weights


class Found(NamedTuple):
    """Room for what `foresee` finds of a row, and `remember` reads."""

    products: np.ndarray  # (room,) Vv
    half: np.ndarray  # (room,) h
    scores: np.ndarray  # (K,) f(x)
    spread: np.ndarray  # (rows of a chunk,) v'v - h'h


def no_pending(length: int, n_outputs: int, dtype: Any, room: int, *, whitened: bool) -> Pending:
    """Before any row. whitened: whether V is there, or a kernel stands for it."""
    D = length if whitened else 0
    rows = np.zeros((D, D), dtype), np.zeros((room if whitened else 0, D), dtype)
    return Pending(*rows, factor(room), np.zeros((n_outputs, room)), np.zeros(room))


def no_findings(pending: Pending, chunk: int) -> Found:
    K, room = pending.u.shape
    return Found(np.zeros(room), np.zeros(room), np.zeros(K), np.zeros(chunk))


@inlined
def products_with(pending, n, v, products):
    """products = Vv; return v'v."""
    for i in range(n):
        products[i] = dot(pending.rows[i], v)
    return np.float64(dot(v, v))


@inlined
def foresee(pending, n, square, found, place, scores):
    """scores = W'z, as they are, + h'u. Requires: found.products = Vv, and v'v."""
    left = square - forward(pending.factor, n, found.products, found.half)
    found.spread[place] = max(left, 0.0)
    for k in range(scores.shape[0]):
        found.scores[k] = scores[k] + dot(pending.u[k, :n], found.half[:n])
        scores[k] = found.scores[k]


@inlined
def remember(pending, n, ridge, found, place, y, weight):
    """The row that `foresee` saw waits as row n, with targets y. ridge: that of V's least squares."""
    root = math.sqrt(weight)
    for i in range(n):
        found.half[i] *= root
    residual = ridge + weight * found.spread[place]
    extend_factor(pending.factor, n, found.half, residual)
    for k in range(y.shape[0]):
        pending.u[k, n] = root * (y[k] - found.scores[k]) / math.sqrt(residual)
    pending.roots[n] = root


@inlined
def keep_whitened(pending, n, v):
    """Row n of V. Requires: `remember` was told of it."""
    root = v.dtype.type(pending.roots[n])
    for j in range(v.shape[0]):
        pending.rows[n, j] = root * v[j]


def for_more_outputs(pending: Pending, residuals: np.ndarray) -> Pending:
    """With outputs of which the n rows that wait have these residuals (n, new) under W."""
    from scipy.linalg import solve_triangular

    n, new = residuals.shape
    u = np.zeros((new, pending.u.shape[1]))
    u[:, :n] = solve_triangular(pending.factor[:n, :n], residuals, trans="T").T
    return pending._replace(u=np.concatenate([pending.u, u]))


def folded(sums: Sums, fade: float) -> Sums:
    """The rows that waited go into the sums, which change in place, and all rows fade."""
    sums = with_waiting(sums)
    if fade < 1.0:
        for total in (sums.A, sums.newer, sums.b, sums.total):
            total *= fade
    return sums


def without(mine: Sums, theirs: Sums) -> Sums:
    """Of the rows of one that are not the other's. Requires: no row waits."""
    return mine._replace(**{name: getattr(mine, name) - getattr(theirs, name) for name in ("A", "newer", "b", "total")})


def inverse_root(A: np.ndarray, ridge: float) -> np.ndarray:
    """R, lower triangular, with R'R = (A + ridge)^-1; np.linalg.LinAlgError where there is none. Requires: the lower
    triangle of A.
    """
    from scipy.linalg.lapack import dpotrf, dtrtri

    M = A.astype(np.float64)
    M[np.diag_indices(len(M))] += ridge
    upper, failed = dpotrf(M.T, lower=0, overwrite_a=1)
    if failed != 0:
        raise np.linalg.LinAlgError("not positive definite")
    return np.tril(dtrtri(upper, lower=0, overwrite_c=1)[0].T)
