"""Clusters of rows z as they come: each row moves the nearest centre towards itself.

MacQueen: Some Methods for Classification and Analysis of Multivariate Observations (1967); with counts that fade it is
the step of Sculley, Web-Scale K-Means Clustering (2010), a row at a time.

    j = argmin_k |z - c_k|^2,  n <- forget n,  n_j <- n_j + 1,  c_j <- c_j + (z - c_j) / n_j

Centres begin on the first rows (`seeded`): k-means++ (Arthur, Vassilvitskii 2007) and Lloyd's iteration until nothing
changes, the best of TRIES. A centre without rows takes the next row that lies on no other: so there may be more
clusters than first rows.
"""

from typing import NamedTuple

import numpy as np

from . import rng
from .compile import compiled, inlined, reduction
from .expansion import dot
from .linear import evaluate_linear
from .memory import aligned, one_blas_thread

TRIES = 8
ROUNDS = 100  # of Lloyd's iteration, of which a few hundred rows need some ten
SAME = 1e-12  # of |z - c|^2, beside |z|^2 = 1


class Clusters(NamedTuple):
    """All in float64: what a row adds becomes small beside what there is."""

    centres: np.ndarray  # (k, D)
    squares: np.ndarray  # (k,) |c|^2
    counts: np.ndarray  # (k,) how many rows each stands for


class Room(NamedTuple):
    u: np.ndarray  # (D,)
    scores: np.ndarray  # (k,)


def no_clusters(n: int, length: int) -> Clusters:
    return Clusters(aligned(np.zeros((n, length))), np.zeros(n), np.zeros(n))


def room_for(clusters: Clusters) -> Room:
    return Room(np.zeros(clusters.centres.shape[1]), np.zeros(len(clusters.counts)))


@inlined
def _compare(clusters, z, room):
    """scores = |u - c_k|^2 for u = z, in float64."""
    u, scores = room.u, room.scores
    for j in range(u.shape[0]):
        u[j] = z[j]
    own = dot(u, u)
    evaluate_linear(clusters.centres, u, scores)
    for k in range(scores.shape[0]):
        scores[k] = max(own - 2.0 * scores[k] + clusters.squares[k], 0.0)


@inlined
def _nearest(counts, scores):
    """The nearest centre that has rows, the first of several; -1 where none has."""
    found = -1
    for k in range(scores.shape[0]):
        if counts[k] > 0.0 and (found < 0 or scores[k] < scores[found]):
            found = k
    return found


@inlined
def _without_rows(counts):
    for k in range(counts.shape[0]):
        if not counts[k] > 0.0:
            return k
    return -1


@reduction
def _approach(c, share, u):
    """c = c + share * (u - c); return |c|^2."""
    square = 0.0
    for j in range(c.shape[0]):
        new = c[j] + share * (u[j] - c[j])
        c[j] = new
        square += new * new
    return square


@compiled
def follow_clusters(clusters, z, n, forget, room):
    """Learn the rows z[:n], in their order."""
    counts = clusters.counts
    for t in range(n):
        _compare(clusters, z[t], room)
        chosen, free = _nearest(counts, room.scores), _without_rows(counts)
        if free >= 0 and (chosen < 0 or room.scores[chosen] > SAME):
            chosen = free
        for k in range(counts.shape[0]):
            counts[k] *= forget
        counts[chosen] += 1.0
        clusters.squares[chosen] = _approach(clusters.centres[chosen], 1.0 / counts[chosen], room.u)


@compiled
def assign(clusters, z, n, room, labels):
    """labels[t] = the nearest centre of z[t] for t < n."""
    for t in range(n):
        _compare(clusters, z[t], room)
        labels[t] = _nearest(clusters.counts, room.scores)


@compiled
def measure(clusters, z, n, room, out):
    """out[t, k] = |z[t] - c_k| for t < n."""
    for t in range(n):
        _compare(clusters, z[t], room)
        for k in range(room.scores.shape[0]):
            out[t, k] = np.sqrt(room.scores[k])


def seeded(Z: np.ndarray, n: int, seed: int) -> Clusters:
    """n clusters of the rows Z (float64), drawn by the seed; fewer have rows where fewer rows differ.

    All is computed from the rows' products: a centre is the mean that a column of `means` (rows, n) says.
    """
    clusters = no_clusters(n, Z.shape[1])
    with one_blas_thread():
        products = Z @ Z.T
        tries = [_converged(products, _drawn(products, n, seed, attempt)) for attempt in range(TRIES)]
        inertia = [_distances(products, means).min(axis=1).sum() for means in tries]
        means = tries[int(np.argmin(inertia))]
        nearest = np.argmin(_distances(products, means), axis=1)
        clusters.centres[: means.shape[1]] = means.T @ Z
    clusters.counts[: means.shape[1]] = np.bincount(nearest, minlength=means.shape[1])
    clusters.squares[:] = np.einsum("kj,kj->k", clusters.centres, clusters.centres)
    return clusters


def _distances(products: np.ndarray, means: np.ndarray) -> np.ndarray:
    """(rows, n) squared, of each row and the mean that each column of `means` is."""
    inner = products @ means
    return np.maximum(np.diag(products)[:, None] - 2.0 * inner + np.einsum("ik,ik->k", means, inner), 0.0)


def _drawn(products: np.ndarray, n: int, seed: int, attempt: int) -> np.ndarray:
    """k-means++: a row becomes a centre with a chance in proportion to its squared distance from those there are."""
    uniforms = rng.uniform(rng.key(seed, rng.SEEDS, attempt), np.arange(n))
    chosen = [int(uniforms[0] * len(products))]
    own = np.diag(products)
    left = np.full(len(products), np.inf)
    for uniform in uniforms[1:]:
        newest = chosen[-1]
        left = np.minimum(left, np.maximum(own - 2.0 * products[newest] + own[newest], 0.0))
        left[left <= SAME] = 0.0
        sums = np.cumsum(left)
        if sums[-1] == 0.0:
            break
        chosen.append(int(np.searchsorted(sums, uniform * sums[-1], side="right")))
    return np.asarray(np.eye(len(products))[:, chosen])


def _converged(products: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Lloyd's iteration; a centre that loses all rows stays where it is."""
    nearest = np.full(len(products), -1)
    for _ in range(ROUNDS):
        before, nearest = nearest, np.argmin(_distances(products, means), axis=1)
        if np.array_equal(before, nearest):
            break
        member = (nearest[:, None] == np.arange(means.shape[1])).astype(np.float64)
        sizes = member.sum(axis=0)
        means = np.where(sizes > 0.0, member / np.maximum(sizes, 1.0), means)
    return means
