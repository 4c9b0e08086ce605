"""BPA: passive-aggressive learning on a budget. The step and the removal are one problem.

Wang, Vucetic: Online Passive-Aggressive Algorithms on a Budget (2010).

    f <- argmin_g  1/2 ||g - f||^2 + C l(g(x), y)    over  g = f - a_r k(s_r, .) + V,    and over r

with V spanned by k(x, .) (simple), by k(x, .) and the nearest neighbour of s_r (nearest), or by k(x, .) and all
remaining terms (projection). In each, a_r k(s_r, .) is replaced by its projection P on V and tau u k(x, .) is added
with PA-I's tau: as k(x, .) lies in V, the projection does not change f(x), so tau and the loss do not depend on r,
and the best r is

    r = argmin ||a_r||^2 ||k(s_r, .) - P k(s_r, .)||^2

Remarks. The nearest neighbour is the stored point of largest kernel value. A Gram matrix (nearest) or its factor
(projection) is kept. With projection, a row in the span of the dictionary needs no removal: its coordinates are
added.

Symbols: B budget, C aggressiveness, tau as in `_passive_aggressive`.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import expansion
from ..budgets import project_out, within
from ..engine import Shape, evaluate, step
from ..expansion import Expansion
from ..gram import factor, gram_matrix, inverse_diagonal
from ..parameters import one_of, whole
from ._dictionary import (
    DictionaryScratch,
    add_or_spread,
    check_factor,
    check_positive_definite,
    dictionary_scratch,
    factor_of,
)
from ._passive_aggressive import AggressiveRecord, PassiveAggressive, take_aggressive_step

MAINTENANCE = {"simple": "bpa-s", "projection": "bpa-p", "nearest": "bpa-nn"}


class SimpleRecord(NamedTuple):
    aggressive: AggressiveRecord


class NearestRecord(NamedTuple):
    aggressive: AggressiveRecord


class BPAProjectionRecord(NamedTuple):
    aggressive: AggressiveRecord


class BPAState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    own: np.ndarray  # (capacity,) k(s_i, s_i)
    gram: np.ndarray  # Gram matrix of the points (nearest; else empty)
    factor: np.ndarray  # its Cholesky factor (projection; else empty)


@dataclass
class BPA(PassiveAggressive):
    budget: int = 200
    maintenance: str = "simple"

    paper: ClassVar[str] = "Wang, Vucetic 2010"
    bounded: ClassVar[bool] = True
    parent: ClassVar[str | None] = "pa-1"

    @property
    def name(self) -> str:  # type: ignore[override]
        return MAINTENANCE[self.maintenance]

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget)
        one_of(tuple(MAINTENANCE), maintenance=self.maintenance)
        if self.maintenance == "projection":
            check_positive_definite(self.kernel)
        if self.maintenance == "nearest" and self.budget < 2:
            raise ValueError(f"budget={self.budget} leaves no neighbour to project on; maintenance='nearest' needs 2.")

    @property
    def capacity(self) -> int:
        return self.budget + 1 if self.maintenance == "projection" else self.budget

    def lower(self, task: str, dtype: Any) -> SimpleRecord | NearestRecord | BPAProjectionRecord:
        records = {"simple": SimpleRecord, "nearest": NearestRecord, "projection": BPAProjectionRecord}
        return records[self.maintenance](self.aggressive(task, dtype, 1))  # type: ignore[return-value]

    def init(self, shape: Shape) -> BPAState:
        gram = np.zeros((self.budget, self.budget) if self.maintenance == "nearest" else (0, 0))
        room = self.capacity if self.maintenance == "projection" else 0
        f, t = super().init(shape)
        return BPAState(f, t, np.zeros(self.capacity), gram, factor(room))

    def scratch(self, state: BPAState, shape: Shape) -> DictionaryScratch:
        return dictionary_scratch(state, shape)

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> BPAState:
        state: BPAState = super().restore(arrays, shape)
        return check_factor(state) if self.maintenance == "projection" else state

    def reduced(self, f: Expansion) -> Expansion:
        return within(f, self.budget, self.capacity)

    def merge(self, record: Any, state: BPAState, other: BPAState, weight: float) -> BPAState:
        """Terms beyond the budget are removed, the smallest first."""
        merged: BPAState = super().merge(record, state, other, weight)
        n = int(merged.f.size)
        gram = gram_matrix(self.kernel, merged.f)
        own, table = np.zeros_like(state.own), np.zeros_like(state.gram)
        own[:n] = np.diag(gram)
        if self.maintenance == "nearest":
            table[:n, :n] = gram
        merged = merged._replace(own=own, gram=table)
        if self.maintenance != "projection":
            return merged
        return merged._replace(factor=factor_of(self.kernel, merged.f, self.capacity))


def _evaluate(record, state, scratch, x, scores):
    expansion.evaluate(record.aggressive.kernel, state.f, x, scratch.row, scores)


for _record in (SimpleRecord, NearestRecord, BPAProjectionRecord):
    evaluate.register(_record)(_evaluate)


@step.register(SimpleRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, kernel, values = state.f, record.aggressive.kernel, scratch.row.values
    loss, tau, own = take_aggressive_step(record.aggressive, state.t, g, target, weight, x, scratch.row, scores)
    if tau == 0.0:
        return loss
    n = f.size[()]
    r = n
    if n == f.points.shape[1]:
        least = math.inf
        for i in range(n):
            near = np.float64(values[i])
            lost = expansion.square(f, i) * (state.own[i] - near * near / own)
            if lost < least:
                least = lost
                r = i
        share = np.float64(values[r]) / own
        for k in range(g.shape[0]):
            scratch.coordinates[k] = share * f.coef[k, r]
    expansion.put(kernel, f, r, x, -tau, g, scratch.row)
    state.own[r] = own
    if r < n:
        for k in range(g.shape[0]):
            f.coef[k, r] += scratch.coordinates[k]
    return loss


@step.register(BPAProjectionRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, L, kernel = state.f, state.factor, record.aggressive.kernel
    loss, tau, _ = take_aggressive_step(record.aggressive, state.t, g, target, weight, x, scratch.row, scores)
    if tau == 0.0:
        return loss
    if not add_or_spread(kernel, f, L, x, -tau, g, scratch):
        return loss
    n = f.size[()]
    if n == f.points.shape[1]:
        r = 0
        least = math.inf
        for i in range(n - 1):
            lost = expansion.square(f, i) / inverse_diagonal(L, n, i, scratch.half)
            if lost < least:
                least = lost
                r = i
        project_out(f, L, r, scratch.coordinates, scratch.half, scratch.row)
    return loss


@step.register(NearestRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, K, kernel, values = state.f, state.gram, record.aggressive.kernel, scratch.row.values
    loss, tau, own = take_aggressive_step(record.aggressive, state.t, g, target, weight, x, scratch.row, scores)
    if tau == 0.0:
        return loss
    n = f.size[()]
    r = n
    if n == f.points.shape[1]:
        least = math.inf
        neighbour = 0
        on_neighbour = 0.0
        on_x = 0.0
        for i in range(n):
            j = 1 if i == 0 else 0
            for c in range(n):
                if c != i and K[i, c] > K[i, j]:
                    j = c
            near = np.float64(values[i])
            between = np.float64(values[j])
            determinant = K[j, j] * own - between * between
            if determinant > scratch.rounding * K[j, j] * own:
                a = (K[i, j] * own - near * between) / determinant
                b = (near * K[j, j] - K[i, j] * between) / determinant
            else:  # the neighbour and x are one direction
                a = 0.0
                b = near / own
            lost = expansion.square(f, i) * (K[i, i] - a * K[i, j] - b * near)
            if lost < least:
                least, r, neighbour, on_neighbour, on_x = lost, i, j, a, b
        for k in range(g.shape[0]):
            f.coef[k, neighbour] += on_neighbour * f.coef[k, r]
            scratch.coordinates[k] = on_x * f.coef[k, r]
    expansion.put(kernel, f, r, x, -tau, g, scratch.row)
    state.own[r] = own
    for i in range(f.size[()]):
        K[r, i] = K[i, r] = values[i] if i != r else own
    if r < n:
        for k in range(g.shape[0]):
            f.coef[k, r] += scratch.coordinates[k]
    return loss
