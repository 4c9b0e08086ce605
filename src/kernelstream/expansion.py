"""f = sum_i coef_i k(point_i, .): the expansion that kernel learners keep, and the verbs on it.

Points are stored feature-major, (d, capacity): one loop over a row's (index, value) pairs, vectorised over the points,
serves dense and sparse rows. Coefficients are (K, capacity), outputs outermost.
"""

from typing import Any, NamedTuple

import numpy as np

from ._compile import call_for_effect, inlined, reduction
from .kernels import DOT, MANHATTAN, kernel_tile
from .rows import Row
from .state import ModelFileError

# Points are visited in tiles whose metric values, features and coefficients stay in the first-level cache.
TILE = 1024


class Expansion(NamedTuple):
    points: np.ndarray  # (d, capacity)
    norms: np.ndarray  # (capacity,) in float64: ||point||^2, or ||point||_1 for the Manhattan metric
    coef: np.ndarray  # (K, capacity)
    size: np.ndarray  # 0-d


class KernelRow(NamedTuple):
    """Scratch of `evaluate`: the kernel values of the row just seen, and room to sum a sparse row's distances."""

    values: np.ndarray
    wide: np.ndarray
    own: np.ndarray  # one number, where `own_value` works


def empty(n_features: int, capacity: int, n_outputs: int, dtype: Any) -> Expansion:
    return Expansion(
        np.zeros((n_features, capacity), dtype),
        np.zeros(capacity),
        np.zeros((n_outputs, capacity), dtype),
        np.zeros((), np.int64),
    )


def kernel_row(f: Expansion) -> KernelRow:
    dtype = f.points.dtype
    return KernelRow(np.zeros(f.points.shape[1], dtype), np.zeros(TILE), np.zeros(1, dtype))


def resized(f: Expansion, *, n_features: int = 0, capacity: int = 0, n_outputs: int = 0) -> Expansion:
    """The same function with more features, room or outputs; what is new is zero."""
    d, room = f.points.shape
    d, room, k = max(d, n_features), max(room, capacity), max(len(f.coef), n_outputs)
    if (d, room) == f.points.shape and k == len(f.coef):
        return f
    larger = empty(d, room, k, f.points.dtype)
    n = int(f.size)
    larger.points[: len(f.points), :n] = f.points[:, :n]
    larger.norms[:n] = f.norms[:n]
    larger.coef[: len(f.coef), :n] = f.coef[:, :n]
    larger.size[()] = n
    return larger


@reduction
def dot(a, b):
    total = a.dtype.type(0)
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@inlined
def kernel_values(kernel, f, x, row):
    """Write k(point_i, x) for every point into row.values."""
    n = f.size[()]
    for lo in range(0, n, TILE):
        kernel_tile(kernel, x, f.points, f.norms, lo, row.values[lo : min(lo + TILE, n)], row.wide)


@inlined
def evaluate(kernel, f, x, row, scores):
    """scores = f(x). Ensures: row.values[:size] are the kernel values of x."""
    n = f.size[()]
    scores[:] = 0
    for lo in range(0, n, TILE):
        hi = min(lo + TILE, n)
        tile = row.values[lo:hi]
        kernel_tile(kernel, x, f.points, f.norms, lo, tile, row.wide)
        for k in range(scores.shape[0]):
            scores[k] += dot(f.coef[k, lo:hi], tile)


@inlined
def own_value(kernel, x, row):
    """k(x, x)."""
    row.own[0] = 0
    if kernel.metric == DOT:
        for p in range(x.values.shape[0]):
            row.own[0] += x.values[p] * x.values[p]
    call_for_effect(kernel.formula, kernel.constants, row.own)
    return np.float64(row.own[0])


@inlined
def put(kernel, f, i, x, step, g):
    """Make term i step * g k(x, .). Requires: i <= size and i < capacity."""
    for a in range(f.points.shape[0]):
        f.points[a, i] = 0
    norm = 0.0
    for p in range(x.indices.shape[0]):
        v = np.float64(x.values[p])
        f.points[x.indices[p], i] = x.values[p]
        norm += abs(v) if kernel.metric == MANHATTAN else v * v
    f.norms[i] = norm
    for k in range(g.shape[0]):
        f.coef[k, i] = step * g[k]
    if i == f.size[()]:
        f.size[()] = i + 1


@inlined
def add(kernel, f, x, step, g):
    """Append the term step * g k(x, .). Requires: size < capacity."""
    put(kernel, f, f.size[()], x, step, g)


@inlined
def move(f, source, target):
    """Make term `target` a copy of term `source`."""
    for a in range(f.points.shape[0]):
        f.points[a, target] = f.points[a, source]
    f.norms[target] = f.norms[source]
    for k in range(f.coef.shape[0]):
        f.coef[k, target] = f.coef[k, source]


@inlined
def stored(f, i, spread):
    """Point i as a row; `spread` is where it is written out."""
    for a in range(f.points.shape[0]):
        spread.values[a] = f.points[a, i]
    return Row(spread.indices, spread.values, 0)


@inlined
def square(f, i):
    """||coef_i||^2, the squared size of term i."""
    total = 0.0
    for k in range(f.coef.shape[0]):
        total += np.float64(f.coef[k, i]) * np.float64(f.coef[k, i])
    return total


@inlined
def scale(f, factor):
    """f = factor * f."""
    n = f.size[()]
    for k in range(f.coef.shape[0]):
        coef = f.coef[k, :n]
        for i in range(n):
            coef[i] *= factor


def append(f: Expansion, other: Expansion, weight: float) -> Expansion:
    """f + weight * other, with the other's points after f's own. Requires: equal numbers of outputs."""
    n, m = int(f.size), int(other.size)
    joined = resized(f, n_features=len(other.points), capacity=n + m)
    if joined is f:
        joined = Expansion(*(part.copy() for part in f))
    joined.points[: len(other.points), n : n + m] = other.points[:, :m]
    joined.norms[n : n + m] = other.norms[:m]
    joined.coef[:, n : n + m] = weight * other.coef[:, :m]
    joined.size[()] = n + m
    return joined


def check_size(f: Expansion) -> Expansion:
    """Refuse a size that its arrays have no room for (a file can say anything)."""
    if not 0 <= f.size <= f.points.shape[1]:
        raise ModelFileError(
            f"The file says that {int(f.size)} points are stored; there is room for {f.points.shape[1]}."
        )
    return f


def taken(f: Expansion, terms: Any, capacity: int) -> Expansion:
    """The terms of f at these positions, in this order, with room for `capacity`."""
    part = Expansion(f.points[:, terms].copy(), f.norms[terms].copy(), f.coef[:, terms].copy(), np.array(len(terms)))
    return resized(part, capacity=capacity)
