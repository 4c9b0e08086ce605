"""TVM: twin vector machine. A support vector machine of B points, each of which stands for the examples merged into it.

Wang, Vucetic: Twin Vector Machines for Online Learning on a Budget (2009).

A twin vector z carries the weight s+ of positive and s- of negative examples. The model minimises, over the twin
vectors,

    1/2 ||f||^2 + C sum_i (s+_i max(0, 1 - f(z_i)) + s-_i max(0, 1 + f(z_i)))

An example with y f(x) < 1 becomes a twin vector; over budget the two nearest ones become one, at their weighted mean,
with weights and dual variables added; then the dual is improved.

Remarks. Of the five papers LSOKL alone names TVM, in its Table 1; the idea of twin vectors is the authors', the
update is chosen here. They keep the optimality conditions exactly, by incremental and decremental learning; here
`sweeps` rounds of coordinate ascent on the dual follow each change, O(B^2) each, the cost that Table 1 gives. The
nearest pair is that of the largest kernel value. Binary classification only, without a bias. A sample weight enters
s, as a bound on the dual variable.

Symbols: B budget, C aggressiveness, s share, alpha+ and alpha- dual, coef of f their difference.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import expansion
from .._compile import compiled, inlined
from ..budgets import first_largest
from ..engine import Common, Shape, common, evaluate, step
from ..expansion import Expansion, KernelRow, dot
from ..gram import gram_matrix
from ..kernels import KernelRecord
from ..losses import BINARY, Hinge, LossRecord, slope
from ..parameters import positive, whole
from ..rows import Spread, spread
from ._expansion import ExpansionAlgorithm


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
    gram: np.ndarray  # Gram matrix of the points


class TVMScratch(NamedTuple):
    common: Common
    row: KernelRow
    stored: Spread  # where a stored point is written out as a row
    at_points: np.ndarray  # (capacity,) f at the stored points


@dataclass
class TVM(ExpansionAlgorithm):
    budget: int = 100
    aggressiveness: float = 1.0
    sweeps: int = 1

    name: ClassVar[str] = "tvm"
    paper: ClassVar[str] = "Wang, Vucetic 2009"
    tasks: ClassVar[tuple[str, ...]] = (BINARY,)
    bounded: ClassVar[bool] = True

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget, sweeps=self.sweeps)
        positive(aggressiveness=self.aggressiveness)

    @property
    def capacity(self) -> int:
        return self.budget + 1

    def losses(self, task: str) -> tuple[str, ...]:
        return ("hinge",)

    def lower(self, task: str, dtype: Any) -> TVMRecord:
        loss = Hinge().lower(task, dtype)
        return TVMRecord(self.kernel.lower(dtype), loss, float(self.aggressiveness), int(self.sweeps))

    def init(self, shape: Shape) -> TVMState:
        f, t = super().init(shape)
        room = self.capacity
        return TVMState(f, t, np.zeros((2, room)), np.zeros((2, room)), np.zeros((room, room)))

    def scratch(self, state: TVMState, shape: Shape) -> TVMScratch:
        desk = common(shape.width, shape.n_outputs, shape.dtype)
        row, stored = expansion.kernel_row(state.f), spread(shape.width, shape.dtype)
        return TVMScratch(desk, row, stored, np.zeros(self.capacity))

    def merge(self, record: Any, state: TVMState, other: TVMState, weight: float) -> TVMState:
        """Twin vectors are joined; beyond the budget those of the smallest coefficients are dropped."""
        n, m = int(state.f.size), int(other.f.size)
        joined = expansion.append(state.f, other.f, weight)
        joined.coef[:, :n] *= 1.0 - weight
        share = np.concatenate([state.share[:, :n], other.share[:, :m]], axis=1)
        dual = np.concatenate([(1.0 - weight) * state.dual[:, :n], weight * other.dual[:, :m]], axis=1)
        kept = np.sort(np.argsort(-np.abs(joined.coef[0, : n + m]), kind="stable")[: self.budget])
        f = expansion.taken(joined, kept, self.capacity)
        merged = state._replace(f=f, t=state.t + other.t, gram=np.zeros_like(state.gram))
        merged = merged._replace(share=np.zeros_like(state.share), dual=np.zeros_like(state.dual))
        k = len(kept)
        merged.share[:, :k], merged.dual[:, :k] = share[:, kept], dual[:, kept]
        merged.gram[:k, :k] = gram_matrix(self.kernel, f)
        return merged


@compiled
def nearest_pair(K, n, row):
    """The places i < j of the largest entry above the diagonal, the first of equals."""
    largest = row.ranks  # of each row, right of the diagonal
    for a in range(n):
        largest[a] = -math.inf
    for b in range(1, n):
        column = K[b, :b]  # K is symmetric
        for a in range(b):
            largest[a] = column[a] if column[a] > largest[a] else largest[a]
    i = first_largest(largest, n, row.folded)
    j = i + 1
    while j < n - 1 and K[i, j] != largest[i]:
        j += 1
    return i, j


@inlined
def merge_nearest(record, state, scratch):
    """The two points of largest kernel value become one at their weighted mean; the last point takes the free slot."""
    f, K, share, dual = state.f, state.gram, state.share, state.dual
    n = f.size[()]
    i, j = nearest_pair(K, n, scratch.row)
    mine, theirs = share[0, i] + share[1, i], share[0, j] + share[1, j]
    part = mine / (mine + theirs)
    expansion.blend(record.kernel, f, i, part, j, 1.0 - part, scratch.row)
    for side in range(2):
        share[side, i] += share[side, j]
        dual[side, i] += dual[side, j]
    last = n - 1
    expansion.move(f, last, j, scratch.row)
    for side in range(2):
        share[side, j] = share[side, last]
        dual[side, j] = dual[side, last]
    for b in range(n):
        K[j, b] = K[last, b]
    for b in range(n):
        K[b, j] = K[b, last]
    K[j, j] = K[last, last]
    f.size[()] = last
    x = expansion.stored(f, i, scratch.stored)
    expansion.kernel_values(record.kernel, f, x, scratch.row)
    for b in range(last):
        K[i, b] = scratch.row.values[b]
        K[b, i] = scratch.row.values[b]


@inlined
def ascend(record, state, at_points):
    """One sweep over the dual variables, each to its best value with the others fixed. Requires: at_points[i] =
    f(z_i).
    """
    n = state.f.size[()]
    for i in range(n):
        own = state.gram[i, i]
        if own <= 0.0:
            continue
        for side in range(2):
            sign = 2.0 * side - 1.0
            bound = record.aggressiveness * state.share[side, i]
            before = state.dual[side, i]
            after = min(max(before + (1.0 - sign * at_points[i]) / own, 0.0), bound)
            state.dual[side, i] = after
            change = sign * (after - before)
            if change != 0.0:
                row = state.gram[i]
                for b in range(n):
                    at_points[b] += change * row[b]


@evaluate.register(TVMRecord)
def _(record, state, scratch, x, scores):
    expansion.evaluate(record.kernel, state.f, x, scratch.row, scores)


@step.register(TVMRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, K = state.f, state.gram
    state.t[()] += 1
    loss = slope(record.loss, target, scores, g)
    if loss == 0.0 or weight == 0.0:
        return loss
    n = f.size[()]
    g[0] = 0
    expansion.add(record.kernel, f, x, 1.0, g, scratch.row)
    for b in range(n):
        K[n, b] = scratch.row.values[b]
        K[b, n] = scratch.row.values[b]
    K[n, n] = expansion.own_value(record.kernel, x, scratch.row)
    side = 1 if target > 0.0 else 0
    for other in range(2):
        state.share[other, n] = weight if other == side else 0.0
        state.dual[other, n] = 0.0
    if n + 1 == f.points.shape[1]:
        merge_nearest(record, state, scratch)
    n = f.size[()]
    at_points = scratch.at_points
    weights = scratch.row.ranks
    for a in range(n):
        weights[a] = state.dual[1, a] - state.dual[0, a]
    for a in range(n):
        at_points[a] = dot(K[a, :n], weights[:n])
    for _ in range(record.sweeps):
        ascend(record, state, at_points)
    for a in range(n):
        f.coef[0, a] = state.dual[1, a] - state.dual[0, a]
    return loss
