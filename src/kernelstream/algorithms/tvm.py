"""TVM: twin vector machine. A support vector machine of B points, each of which stands for the examples merged into it.

Wang, Vucetic: Twin Vector Machines for Online Learning on a Budget (2009).

A twin vector z carries the weight s+ of positive and s- of negative examples. The model minimises, over the twin
vectors,

    1/2 ||f||^2 + C sum_i (s+_i max(0, 1 - f(z_i)) + s-_i max(0, 1 + f(z_i)))

An example with y f(x) < 1 becomes a twin vector; over budget the two nearest ones become one, at their weighted mean,
with weights and dual variables added; then the dual is improved.

Remarks. Of the five papers LSOKL alone names TVM, in its Table 1; the idea of twin vectors is the authors', the
update is chosen here. They keep the optimality conditions exactly, by incremental and decremental learning; here
`sweeps` rounds of coordinate ascent on the dual follow each change, O(B) for each variable that changes. f at the twin
vectors is kept and moved with each of them. The nearest pair is that of the largest kernel value. Binary classification
only, without a bias. A sample weight enters s, as a bound on the dual variable.

Symbols: B budget, C aggressiveness, s share, alpha+ and alpha- dual, coef of f their difference.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, common, step
from ..engine.state import Limits, ModelFileError, tally
from ..kernels import KernelRecord
from ..losses import Hinge, LossRecord, slope, too_long
from ..numerics import expansion
from ..numerics.budgets import largest
from ..numerics.compile import inlined
from ..numerics.expansion import Expansion, KernelRow, dot
from ..numerics.gram import cross_matrix, gram_matrix
from ..numerics.neighbours import LOWEST, nearest_pair, nearest_to, raise_bounds, room_for_gram, write_point, write_row
from ..numerics.rows import DenseRow, dense_row
from ..parameters import positive, whole
from ..tasks import BINARY
from ._expansion import ExpansionAlgorithm, expansion_record, weighted_sum


@expansion_record
class TVMRecord(NamedTuple):
    kernel: KernelRecord
    loss: LossRecord
    aggressiveness: float
    sweeps: int


class TVMState(NamedTuple):
    f: Expansion  # one point more than the budget while a step runs
    t: np.ndarray  # rounds so far, 0-d
    share: np.ndarray  # (2, capacity): s- and s+
    dual: np.ndarray  # (2, capacity): alpha- and alpha+
    gram: np.ndarray  # Gram matrix of the points, in their precision
    inverse: np.ndarray  # (capacity,) 1 / k(z_i, z_i), 0 where that is not positive
    beside: np.ndarray  # (capacity,) no less than each point's largest kernel value with another
    at_points: np.ndarray  # (capacity,) f at the points, in float64


class TVMScratch(NamedTuple):
    common: Common
    row: KernelRow
    stored: DenseRow  # where a stored point is written out as a row
    weights: np.ndarray  # (capacity,) alpha+ - alpha-
    low: np.ndarray  # (capacity,) where f at a point is no lower ...
    high: np.ndarray  # (capacity,) ... and no higher, its dual variables stay


@dataclass
class TVM(ExpansionAlgorithm):
    """budget: B, the most twin vectors that are kept.
    aggressiveness: C, what an error costs beside the size of f.
    sweeps: rounds of coordinate ascent on the dual after each change.
    """

    budget: int = 100
    aggressiveness: float = 1.0
    sweeps: int = 1

    name: ClassVar[str] = "tvm"
    paper: ClassVar[str] = "Wang, Vucetic 2009"
    tasks: ClassVar[tuple[str, ...]] = (BINARY,)
    bounded: ClassVar[bool] = True
    exempt: ClassVar[dict[str, str]] = {"weight_scales_the_step": "a weight bounds its dual variable"}
    spare: ClassVar[int] = 1
    shorter_steps: ClassVar[str] = "lower aggressiveness"

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget, sweeps=self.sweeps)
        positive(aggressiveness=self.aggressiveness)

    @property
    def capacity(self) -> int:
        return self.budget + self.spare

    def losses(self, task: str) -> tuple[str, ...]:
        return ("hinge",)

    def lower(self, task: str, dtype: Any) -> TVMRecord:
        loss = Hinge().lower(task, dtype)
        return TVMRecord(self.kernel.lower(dtype), loss, float(self.aggressiveness), int(self.sweeps))

    def init(self, shape: Shape) -> TVMState:
        f, t = super().init(shape)
        room = self.capacity
        gram, vectors = room_for_gram(room, shape.dtype), (np.zeros(room) for _ in range(3))
        return TVMState(f, t, np.zeros((2, room)), np.zeros((2, room)), gram, *vectors)

    def scratch(self, state: TVMState, shape: Shape) -> TVMScratch:
        shared = common(shape.width, shape.n_outputs, shape.dtype)
        row, stored = expansion.kernel_row(state.f), dense_row(shape.width, shape.dtype)
        return TVMScratch(shared, row, stored, *(np.zeros(self.capacity) for _ in range(3)))

    def limits(self, state: TVMState) -> Limits:
        some = (0.0, math.inf)
        return {**super().limits(state), "share": some, "dual": some, "inverse": some}

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> TVMState:
        state: TVMState = super().restore(arrays, shape)
        n = int(state.f.size)
        gram = state.gram[:n, :n]
        nearest = np.max(gram.astype(np.float64), axis=1, where=np.eye(n) == 0.0, initial=LOWEST)
        if not (np.array_equal(gram, gram.T) and (state.beside[:n] >= nearest).all()):
            raise ModelFileError("The file's arrays gram and beside contradict each other.")
        return state

    def merge(
        self, record: Any, state: TVMState, other: TVMState, weight: float, since: TVMState | None = None
    ) -> TVMState:
        """Beyond the budget f is projected, and what a twin vector that goes stands for is added to the nearest one. A
        weight is raised where the dual variable of the projection asks for more.
        """
        n, m = int(state.f.size), int(other.f.size)
        joined = weighted_sum(1.0 - weight, state.f, weight, other.f)
        places, size = expansion.places_of(state.f, other.f), int(joined.size)
        rounds = tally(state, other, since, "t")
        share, dual = np.zeros((2, size)), np.zeros((2, size))
        share[:, :n], dual[:, :n] = state.share[:, :n], (1.0 - weight) * state.dual[:, :n]
        np.add.at(share.T, places, other.share[:, :m].T)
        np.add.at(dual.T, places, weight * other.dual[:, :m].T)
        share *= rounds["t"] / (state.t + other.t)  # rows of a common past are in both
        f = self.reduced(joined)
        k = int(f.size)
        if k < size:
            nearest = cross_matrix(self.kernel, f, joined).argmax(axis=0)
            share = np.stack([np.bincount(nearest, side, k) for side in share])
            coef = f.coef[0, :k].astype(np.float64)
            dual = np.stack([np.maximum(-coef, 0.0), np.maximum(coef, 0.0)])
            share = np.maximum(share, dual / self.aggressiveness)
        merged = self.init(Shape(len(f.points), 1, 0, f.points.dtype))._replace(f=f, **rounds)
        merged.share[:, :k], merged.dual[:, :k] = share, dual
        merged.gram[:k, :k] = gram_matrix(self.kernel, merged.f)
        gram = merged.gram[:k, :k].astype(np.float64)
        merged.inverse[:k] = [inverted(own) for own in np.diag(gram)]
        merged.at_points[:k] = gram @ (merged.dual[1, :k] - merged.dual[0, :k])
        merged.beside[:k] = np.max(gram, axis=1, where=np.eye(k) == 0.0, initial=LOWEST)
        return merged


@inlined
def inverted(own):
    """1 / own, finite; 0 where the dual variables of a point with k(z, z) = own do not move."""
    return min(1.0 / own, -LOWEST) if own > 0.0 else 0.0


@inlined
def fuse_nearest(record, state, scratch):
    """The two points of largest kernel value become one at their weighted mean; the last point, which is new and has no
    weight yet, takes the free slot.
    """
    f, K, share, dual, at_points = state.f, state.gram, state.share, state.dual, state.at_points
    row, weights = scratch.row, scratch.weights
    last = f.size[()] - 1
    i, j = nearest_pair(K, last + 1, state.beside)
    mine, theirs, first, second = weights[i], weights[j], K[i], K[j]
    for b in range(last):
        at_points[b] -= mine * first[b] + theirs * second[b]
    part = share[0, i] + share[1, i]
    part = part / (part + share[0, j] + share[1, j])
    expansion.blend(record.kernel, f, i, part, j, 1.0 - part, row)
    for side in range(2):
        share[side, i] += share[side, j]
        dual[side, i] += dual[side, j]
    weights[i] = dual[1, i] - dual[0, i]
    f.coef[0, i] = weights[i]
    if j < last:
        expansion.move(f, last, j, row)
        write_point(K, last, j, K[last], K[last, last])
        for side in range(2):
            share[side, j] = share[side, last]
            dual[side, j] = 0.0
        state.inverse[j], state.beside[j], weights[j] = state.inverse[last], state.beside[last], 0.0
    f.size[()] = last
    values = row.values
    expansion.kernel_values(record.kernel, f, expansion.stored(f, i, scratch.stored), row)
    state.inverse[i] = inverted(np.float64(values[i]))
    write_point(K, last, i, values, values[i])
    raise_bounds(state.beside, last, values)
    state.beside[i] = K[i, nearest_to(K, last, i)] if last > 1 else LOWEST
    both = weights[i]
    for b in range(last):
        at_points[b] += both * values[b]
    at_points[i] = dot(weights[:last], first[:last])
    if j < last:
        at_points[j] = dot(weights[:last], second[:last])


@inlined
def improve(state, C, i, here):
    """Move the dual variables of point i, where f is `here`, to their best values, alpha- first; return what its
    coefficient changes by.
    """
    dual, inverse, minus, plus = state.dual, state.inverse[i], C * state.share[0, i], C * state.share[1, i]
    first = min(max((1.0 + here) * inverse, -dual[0, i]), minus - dual[0, i])
    second = min(max((1.0 - here) * inverse + first, -dual[1, i]), plus - dual[1, i])
    # At its bound, a variable is exactly its bound.
    dual[0, i] = minus if first == minus - dual[0, i] else dual[0, i] + first
    dual[1, i] = plus if second == plus - dual[1, i] else dual[1, i] + second
    state.f.coef[0, i] = dual[1, i] - dual[0, i]
    return second - first


@inlined
def ascend(record, state, low, high):
    """One sweep over the dual variables, each to its best value with the others fixed.

    A variable below its bound rises where its margin is below 1, one above 0 falls where it is above: those of a point
    stay while f there is between `low` and `high`. f at all points follows two changes at a time: one waits.
    """
    n, at_points, C = state.f.size[()], state.at_points, record.aggressiveness
    share, dual = state.share, state.dual
    for i in range(n):
        rest = -1.0 if dual[0, i] > 0.0 else -math.inf
        low[i] = 1.0 if dual[1, i] < C * share[1, i] else rest
    for i in range(n):
        rest = 1.0 if dual[1, i] > 0.0 else math.inf
        high[i] = -1.0 if dual[0, i] < C * share[0, i] else rest
    row, change, waits = state.gram[0], 0.0, False
    for i in range(n):
        here = at_points[i] + change * row[i]
        if low[i] <= here <= high[i]:
            continue
        moved, other = improve(state, C, i, here), state.gram[i]
        if waits:
            for b in range(n):
                at_points[b] = at_points[b] + change * row[b] + moved * other[b]
            moved = 0.0
        row, change, waits = other, moved, not waits
    if waits:
        for b in range(n):
            at_points[b] += change * row[b]


@step.register(TVMRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, row = state.f, scratch.row
    loss = slope(record.loss, target, scores, g)
    if too_long(g, record.aggressiveness * weight):
        return np.nan
    state.t[()] += 1
    if loss == 0.0 or weight == 0.0:
        return loss
    n = f.size[()]
    own = expansion.own_value(record.kernel, x, row)
    g[0] = 0
    expansion.add(record.kernel, f, x, 1.0, g, row)
    write_row(state.gram, n, n, row.values, own)
    state.inverse[n] = inverted(own)
    state.beside[n] = largest(row.values, n) if n > 0 else LOWEST
    raise_bounds(state.beside, n, row.values)
    side = 1 if target > 0.0 else 0
    for other in range(2):
        state.share[other, n] = weight if other == side else 0.0
        state.dual[other, n] = 0.0
    for a in range(n + 1):
        scratch.weights[a] = state.dual[1, a] - state.dual[0, a]
    if expansion.full(f):
        fuse_nearest(record, state, scratch)
    else:
        write_point(state.gram, n, n, row.values, own)
        state.at_points[n] = dot(scratch.weights[:n], state.gram[n, :n])
    # What rounding adds up to in f at a point is forgotten in its turn.
    n = f.size[()]
    turn = state.t[()] % n
    state.at_points[turn] = dot(scratch.weights[:n], state.gram[turn, :n])
    for _ in range(record.sweeps):
        ascend(record, state, scratch.low, scratch.high)
    return loss
