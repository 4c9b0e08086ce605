"""Principal components of rows z as they come: the covariance is followed by a few vectors and never written down.

Weng, Zhang, Hwang: Candid Covariance-Free Incremental Principal Component Analysis (2003). With c = 1 / W,

    d = z - m,  W <- forget W + 1,  m <- m + d / W,  u = sqrt(1 - 1 / W) d
    for i = 1, 2, ...:  v_i <- (1 - c) v_i + c (u'v_i / |v_i|) u,  u <- u - (u'v_i / |v_i|^2) v_i

so that v_i is near (variance * direction) of the i-th component of what those before it leave.

Remarks. The paper takes the mean as known; here the sum of all uu' is the scatter around the mean of the rows so far.
The paper's amnesic average is a mean in which older rows fade. A vector begins with the first u that those before it
leave something of, as v = c |u| u, which is what c uu' adds in that direction; the paper's v = u counts as a row of
variance |u|, which is felt for thousands of rows. The v_i are not quite orthogonal and near eigenvalues are mixed among
them: what is shown are the principal axes of sum_i v_i v_i' / |v_i|, the covariance that they tell of. EXTRA vectors
more than asked for are followed, which the axes that are shown are mixed with.
"""

from typing import NamedTuple

import numpy as np

from .compile import compiled, inlined, reduction
from .expansion import dot
from .linear import evaluate_linear
from .memory import aligned, one_blas_thread

EXTRA = 5
NOTHING = 1e-12  # of |u|^2, beside |z|^2 = 1: what rounding leaves of a row that the vectors explain
VANISHED = 1e-100  # of |v|^2: rows have been the same for so long that the direction is forgotten
FLAT = 1e-9  # of the largest variance: no direction


class Components(NamedTuple):
    """All in float64: what a row adds becomes small beside what there is."""

    mean: np.ndarray  # (D,)
    vectors: np.ndarray  # (k, D)
    total: np.ndarray  # 0-d: W, how many rows count
    variance: np.ndarray  # 0-d: of the rows, in all directions


class Axes(NamedTuple):
    """What a `Components` tells."""

    directions: np.ndarray  # (k, D) orthonormal; zero where the rows have no further direction
    variances: np.ndarray  # (k,) falling
    offset: np.ndarray  # (k,) of the mean


def no_components(n: int, length: int) -> Components:
    vectors = aligned(np.zeros((n + EXTRA, length)))
    return Components(np.zeros(length), vectors, np.zeros(()), np.zeros(()))


@reduction
def _move(v, keep, add, u):
    """v = keep * v + add * u; return |v|^2 and u'v."""
    square = product = 0.0
    for j in range(v.shape[0]):
        new = keep * v[j] + add * u[j]
        v[j] = new
        square += new * new
        product += u[j] * new
    return square, product


@inlined
def _follow_one(vectors, share, u):
    for i in range(vectors.shape[0]):
        v = vectors[i]
        square = dot(v, v)
        if square > VANISHED:
            square, product = _move(v, 1.0 - share, share * dot(u, v) / np.sqrt(square), u)
            along = product / square if square > VANISHED else 0.0
            for j in range(u.shape[0]):
                u[j] -= along * v[j]
        else:
            left = dot(u, u)
            if left > NOTHING:
                size = share * np.sqrt(left)
                for j in range(u.shape[0]):
                    v[j] = size * u[j]
                return


@compiled
def follow_components(components, z, n, forget, u):
    """Learn the rows z[:n], in their order. u (D,) is room."""
    mean, total, variance = components.mean, components.total, components.variance
    for t in range(n):
        before = total[()]
        total[()] = forget * before + 1.0
        share, row = 1.0 / total[()], z[t]
        root = np.sqrt(1.0 - share)
        for j in range(u.shape[0]):
            d = row[j] - mean[j]
            mean[j] += share * d
            u[j] = root * d
        if before > 0.0:
            variance[()] += (dot(u, u) - variance[()]) / before
            _follow_one(components.vectors, 1.0 / before, u)


@compiled
def project(directions, offset, z, n, u, scores, out):
    """out[t] = directions (z[t] - mean) for t < n. u (D,) and scores (k,) are room."""
    for t in range(n):
        for j in range(u.shape[0]):
            u[j] = z[t, j]
        evaluate_linear(directions, u, scores)
        for k in range(scores.shape[0]):
            out[t, k] = scores[k] - offset[k]


def axes(components: Components, n: int) -> Axes:
    """The n principal axes of what the vectors tell of the covariance; the largest entry of each is positive."""
    squares = np.einsum("ij,ij->i", components.vectors, components.vectors)
    roots = np.where(squares > VANISHED, squares, np.inf) ** 0.25
    A = components.vectors / roots[:, None]  # A'A is that covariance
    with one_blas_thread():
        values, left = np.linalg.eigh(A @ A.T)
        values, left = values[::-1][:n], left[:, ::-1][:, :n]
        there = values > FLAT * values[0]
        directions = (left * np.where(there, np.maximum(values, 0.0), np.inf) ** -0.5).T @ A
        offset = directions @ components.mean
    largest = np.take_along_axis(directions, np.argmax(np.abs(directions), axis=1)[:, None], axis=1)
    signs = np.where(largest < 0.0, -1.0, 1.0)
    return Axes(directions * signs, np.where(there, values, 0.0), offset * signs[:, 0])
