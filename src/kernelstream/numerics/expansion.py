"""f = sum_i coef_i k(point_i, .): the expansion that kernel learners keep, and the verbs on it.

Points are stored feature-major, (d, capacity): one loop over a row's (index, value) pairs, vectorised over the points,
serves dense and sparse rows. Coefficients are (K, capacity), outputs outermost.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .compile import inlined, reduction
from .lists import COMPLETE, clear, copy_point, list_points, list_row, room_for_lists
from .rows import LARGEST, Row, row_of
from .tiles import ALONE, DOT, MANHATTAN, STRETCH, TILE, apply_formula, four_metrics, kernel_tile, metric_column

ROWS = 4  # dense rows whose metric values are computed together


class Expansion(NamedTuple):
    points: np.ndarray  # (d, capacity)
    norms: np.ndarray  # (capacity,) in float64: ||point||^2, or ||point||_1 for the Manhattan metric
    coef: np.ndarray  # (K, capacity)
    size: np.ndarray  # 0-d
    present: np.ndarray  # (capacity + 1, 1 + longest list): which features of each point are not 0, see `lists`


class KernelRow(NamedTuple):
    """Scratch of `evaluate`: the kernel values of the row just seen, and what is known of the rows behind it.

    The metric values of four dense rows are computed together, which reads the points once for them. Verbs that change
    a point correct what waits for its row, and nothing else.
    """

    values: np.ndarray
    wide: np.ndarray  # room to sum a sparse row's distances
    own: np.ndarray  # (2,) where `own_value` works; k(x, x) of a kernel of distances, NaN before it is asked for
    ranks: np.ndarray  # (capacity,) in float64: what a verb chooses a term by
    others: np.ndarray  # (capacity,) in float64: more room for that
    rows: np.ndarray  # the four rows, one after the other
    metrics: np.ndarray  # (4, capacity) their metric values
    next: np.ndarray  # 0-d: the row of the four that comes next, 4 when none waits


def empty(n_features: int, capacity: int, n_outputs: int, dtype: Any) -> Expansion:
    return Expansion(
        np.zeros((n_features, capacity), dtype),
        np.zeros(capacity),
        np.zeros((n_outputs, capacity), dtype),
        np.zeros((), np.int64),
        room_for_lists(n_features, capacity),
    )


def from_points(points: np.ndarray, norms: np.ndarray, coef: np.ndarray) -> Expansion:
    """The expansion that has these terms and no room for others."""
    f = Expansion(points, norms, coef, np.array(points.shape[1]), room_for_lists(*points.shape))
    list_points(f, points.shape[1])
    return f


def kernel_row(f: Expansion) -> KernelRow:
    (width, room), dtype = f.points.shape, f.points.dtype
    return KernelRow(
        np.zeros(room, dtype),
        np.zeros(TILE),
        np.array([0.0, np.nan], dtype),
        np.zeros(room),
        np.zeros(room),
        np.zeros(ROWS * width, dtype),
        np.zeros((ROWS, room), dtype),
        np.full((), ROWS),
    )


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
    if d == len(f.points):
        larger.present[:n] = f.present[:n]
    else:
        list_points(larger, n)
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
def kernel_rows(kernel, f, block, start, stop, dense, row, out):
    """out[t - start] = the kernel values of row t of a block."""
    n, d = f.size[()], f.points.shape[0]
    t = start
    if block.shared == 1 and block.indices.shape[0] == d and kernel.four != ALONE:
        t = stop - (stop - start) % ROWS
    for begin in range(0, d, STRETCH):
        for r in range(start, t, ROWS):
            values = block.values[block.indptr[r] : block.indptr[r + ROWS]]
            rows = out[r - start : r - start + ROWS]
            four_metrics(kernel, values, f.points, n, begin, min(begin + STRETCH, d), rows)
    for r in range(start, t):
        for lo in range(0, n, TILE):
            apply_formula(kernel, out[r - start, lo : min(lo + TILE, n)])
    while t < stop:
        x = row_of(block, t, t - start, dense)
        for lo in range(0, n, TILE):
            kernel_tile(kernel, x, f.points, f.norms, lo, out[t - start, lo : min(lo + TILE, n)], row.wide)
        t += 1


@inlined
def take_metrics(kernel, f, x, row):
    """Write the metric values of x into row.values where they are computed four rows at a time; say whether they are.

    The first of four rows computes them for all. A row's place tells which one it is.
    """
    if x.place < 0 or kernel.four == ALONE:
        return False
    if x.place % ROWS == 0:
        length = row.rows.shape[0]
        if length == ROWS * x.values.shape[0] and length <= x.onward.shape[0]:
            for p in range(length):
                row.rows[p] = x.onward[p]
            four_metrics(kernel, row.rows, f.points, f.size[()], 0, f.points.shape[0], row.metrics)
            row.next[()] = 0
        else:
            row.next[()] = ROWS
    known = row.next[()] < ROWS
    if known:
        metrics = row.metrics[row.next[()]]
        for j in range(f.size[()]):
            row.values[j] = metrics[j]
        row.next[()] += 1
    return known


@inlined
def find_tile(kernel, f, x, row, known, lo, hi):
    """Write k(point_i, x), lo <= i < hi, into row.values, from their metric values there where these are known."""
    if known:
        apply_formula(kernel, row.values[lo:hi])
    else:
        kernel_tile(kernel, x, f.points, f.norms, lo, row.values[lo:hi], row.wide)


@inlined
def find_values(kernel, f, x, row):
    """Write the kernel values of x, the row to be learned from next, into row.values."""
    n = f.size[()]
    known = take_metrics(kernel, f, x, row)
    for lo in range(0, n, TILE):
        find_tile(kernel, f, x, row, known, lo, min(lo + TILE, n))


@inlined
def evaluate(kernel, f, x, row, scores):
    """scores = f(x). Ensures: row.values[:size] are the kernel values of x."""
    n = f.size[()]
    known = take_metrics(kernel, f, x, row)
    scores[:] = 0
    for lo in range(0, n, TILE):
        hi = min(lo + TILE, n)
        find_tile(kernel, f, x, row, known, lo, hi)
        for k in range(scores.shape[0]):
            scores[k] += dot(f.coef[k, lo:hi], row.values[lo:hi])


@inlined
def own_value(kernel, x, row):
    """k(x, x)."""
    square = row.own.dtype.type(0)
    if kernel.metric == DOT:
        for p in range(x.values.shape[0]):
            square += x.values[p] * x.values[p]
    return value_of_square(kernel, square, row)


@inlined
def own_value_of(kernel, f, i, row):
    """k(point_i, point_i)."""
    return value_of_square(kernel, f.norms[i], row)


@inlined
def value_of_square(kernel, square, row):
    """k(x, x) for ||x||^2 = square; one number for all x where the kernel is one of distances."""
    place = 0 if kernel.metric == DOT else 1
    if place == 0 or np.isnan(row.own[place]):
        row.own[place] = square if place == 0 else 0
        apply_formula(kernel, row.own[place : place + 1])
    return np.float64(row.own[place])


@inlined
def store(kernel, f, i, x, step, g):
    """`put` where no row waits for f's values: f is not what is evaluated."""
    if x.indices.shape[0] < f.points.shape[0]:
        clear(f, i)
    norm = 0.0
    for p in range(x.indices.shape[0]):
        v = np.float64(x.values[p])
        f.points[x.indices[p], i] = x.values[p]
        norm += abs(v) if kernel.metric == MANHATTAN else v * v
    f.norms[i] = norm
    list_row(f, i, x)
    for k in range(g.shape[0]):
        f.coef[k, i] = step * g[k]
    if i == f.size[()]:
        f.size[()] = i + 1


@inlined
def full(f):
    """Whether f has no room for another term."""
    return f.size[()] == f.points.shape[1]


@inlined
def put(kernel, f, i, x, step, g, row):
    """Make term i step * g k(x, .). Requires: i < size, or i = size and f is not full."""
    store(kernel, f, i, x, step, g)
    correct(kernel, f, i, row)


@inlined
def add(kernel, f, x, step, g, row):
    """Append the term step * g k(x, .). Requires: f is not full."""
    put(kernel, f, f.size[()], x, step, g, row)


@inlined
def move(f, source, target, row):
    """Make term `target` a copy of term `source`."""
    copy_point(f, source, target)
    f.norms[target] = f.norms[source]
    for k in range(f.coef.shape[0]):
        f.coef[k, target] = f.coef[k, source]
    for r in range(row.next[()], ROWS):
        row.metrics[r, target] = row.metrics[r, source]


@inlined
def blend(kernel, f, i, mine, j, theirs, row):
    """Make point i `mine` * point_i + `theirs` * point_j."""
    own, other, union = f.present[i], f.present[j], f.present[f.present.shape[0] - 1]
    every = own[0] == COMPLETE or other[0] == COMPLETE
    d, longest = f.points.shape[0], union.shape[0] - 1
    norm = 0.0
    n, a, p, q = 0, -1, 1, 1
    while True:
        if every:
            a += 1
        else:  # the lowest feature that is left in the two lists
            b = own[p] if p <= own[0] else d
            c = other[q] if q <= other[0] else d
            a = min(b, c)
            p += b == a
            q += c == a
        if a == d:
            break
        f.points[a, i] = mine * f.points[a, i] + theirs * f.points[a, j]
        v = np.float64(f.points[a, i])
        norm += abs(v) if kernel.metric == MANHATTAN else v * v
        if v != 0.0:
            n += 1
            if n <= longest:
                union[n] = a
    f.norms[i] = norm
    own[0] = n if longest > 0 and n <= longest else COMPLETE
    for p in range(1, own[0] + 1):
        own[p] = union[p]
    correct(kernel, f, i, row)


@inlined
def correct(kernel, f, i, row):
    """Compute anew what waits for the rows behind the one just seen, after point i was written over."""
    if row.next[()] < ROWS:
        metric_column(kernel, row.rows, f.points, i, row.metrics)


@inlined
def stored(f, i, dense):
    """Point i as a row, a sparse one where its features are listed; `dense` is where its values are written out."""
    n = f.present[i, 0]
    indices = dense.indices
    if n == COMPLETE:
        n = f.points.shape[0]
        for a in range(n):
            dense.values[a] = f.points[a, i]
    else:
        indices = f.present[i, 1:]
        for p in range(n):
            dense.values[p] = f.points[indices[p], i]
    return Row(indices[:n], dense.values[:n], -1, dense.values[:0])


@inlined
def square(f, i):
    """||coef_i||^2, the squared size of term i."""
    total = 0.0
    for k in range(f.coef.shape[0]):
        total += np.float64(f.coef[k, i]) * np.float64(f.coef[k, i])
    return total


@inlined
def shrink(f, factor):
    """f = factor * f."""
    n = f.size[()]
    for k in range(f.coef.shape[0]):
        coef = f.coef[k, :n]
        for i in range(n):
            coef[i] *= factor


def append(f: Expansion, other: Expansion, weight: float) -> Expansion:
    """f + weight * other, with those of the other's points that are new after f's own. Requires: equal numbers of
    outputs.
    """
    n, places = int(f.size), places_of(f, other)
    size = max(n, int(places.max(initial=-1)) + 1)
    joined = resized(f, n_features=len(other.points), capacity=size)
    if joined is f:
        joined = Expansion(*(part.copy() for part in f))
    joined.coef[:, n:size] = 0.0
    joined.points[: len(other.points), places] = other.points[:, : len(places)]
    joined.norms[places] = other.norms[: len(places)]
    np.add.at(joined.coef.T, places, weight * other.coef[:, : len(places)].T)
    joined.size[()] = size
    list_points(joined, size)
    return joined


def places_of(f: Expansion, other: Expansion) -> np.ndarray:
    """Where each of the other's points is in ``append(f, other, ...)``: a point that f has is one term of both."""
    width, behind = max(len(f.points), len(other.points)), int(f.size)
    known: dict[bytes, int] = {}
    for place, point in enumerate(_as_bytes(f, width)):
        known.setdefault(point, place)
    places = np.empty(int(other.size), np.int64)
    for i, point in enumerate(_as_bytes(other, width)):
        places[i] = known.setdefault(point, behind)
        behind += places[i] == behind
    return places


def _as_bytes(f: Expansion, width: int) -> list[bytes]:
    """The points with so many features, by which equal ones are found."""
    points = np.zeros((int(f.size), width), f.points.dtype)
    points[:, : len(f.points)] += f.points[:, : int(f.size)].T  # -0 becomes 0
    return [point.tobytes() for point in points]


def limits(most: int) -> dict[str, tuple[float, float]]:
    """What the leaves of an expansion of at most so many terms may hold."""
    return {"points": (-LARGEST, LARGEST), "norms": (0.0, math.inf), "size": (0, most)}


def list_all(f: Expansion) -> None:
    """List the points of an expansion that comes from a file, also those that are in no term any more, which the next
    one writes over.
    """
    list_points(f, f.points.shape[1])


def taken(f: Expansion, terms: Any, capacity: int) -> Expansion:
    """The terms of f at these positions, in this order, with room for `capacity`."""
    part = from_points(f.points[:, terms].copy(), f.norms[terms].copy(), f.coef[:, terms].copy())
    return resized(part, capacity=capacity)
