"""BPA: passive-aggressive learning on a budget. The step and the removal are one problem.

Wang, Vucetic: Online Passive-Aggressive Algorithms on a Budget (2010).

    f <- argmin_g  1/2 ||g - f||^2 + C l(g(x), y)    over  g = f - a_r k(s_r, .) + V,    and over r

with V spanned by k(x, .) (simple), by k(x, .) and the nearest neighbour of s_r (nearest), or by k(x, .) and all
remaining terms (projection). In each, a_r k(s_r, .) is replaced by its projection P on V and tau u k(x, .) is added
with PA-I's tau: as k(x, .) lies in V, the projection does not change f(x), so tau and the loss do not depend on r,
and the best r is

    r = argmin ||a_r||^2 ||k(s_r, .) - P k(s_r, .)||^2

Remarks. The nearest neighbour is the stored point of largest kernel value. Each point's neighbour and a short list of
the next ones (nearest), or the Gram matrix's factor and the diagonal of its inverse (projection) are kept: O(B) and
O(B^2) an update. A point whose list runs empty computes its kernel row anew. With projection, a row in the span of the
dictionary needs no removal: its coordinates are added.

Symbols: B budget, C aggressiveness, tau as in `_passive_aggressive`.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, step
from ..engine.state import Limits, ModelFileError, prefixed
from ..kernels import EVALUATED, POSITIVE_DEFINITE, KernelRecord, Need
from ..numerics import expansion
from ..numerics.budgets import first_largest
from ..numerics.compile import inlined
from ..numerics.expansion import Expansion, KernelRow
from ..numerics.gram import factor, gram_matrix
from ..numerics.neighbours import (
    Neighbours,
    Search,
    follow,
    look_around,
    neighbour_limits,
    no_neighbours,
    room_to_search,
)
from ..numerics.rows import DenseRow
from ..parameters import one_of, whole
from ._dictionary import (
    DictionaryAlgorithm,
    DictionaryScratch,
    add_counted,
    add_projection,
    cheapest_slot,
    find_coordinates,
    find_residual,
    take_out,
)
from ._expansion import expansion_record
from ._passive_aggressive import AggressiveRecord, PassiveAggressive, take_aggressive_step

MAINTENANCE = {"simple": "bpa-s", "projection": "bpa-p", "nearest": "bpa-nn"}


@expansion_record
class SimpleRecord(NamedTuple):
    kernel: KernelRecord
    aggressive: AggressiveRecord


@expansion_record
class NearestRecord(NamedTuple):
    kernel: KernelRecord
    aggressive: AggressiveRecord


@expansion_record
class BPAProjectionRecord(NamedTuple):
    kernel: KernelRecord
    aggressive: AggressiveRecord


class BPAState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    own: np.ndarray  # (capacity,) k(s_i, s_i) (projection: empty)
    sizes: np.ndarray  # (capacity,) ||a_i||^2 (projection: empty)
    near: Neighbours  # (nearest; else empty)
    factor: np.ndarray  # Cholesky factor of the Gram matrix (projection; else empty)
    diagonal: np.ndarray  # (capacity,) of the inverse Gram matrix (projection; else empty)


class NearestScratch(NamedTuple):
    common: Common
    row: KernelRow
    stored: DenseRow
    between: np.ndarray  # (capacity,) kernel values at the neighbours
    search: Search
    coordinates: np.ndarray  # (K,) or more
    rounding: float


@dataclass
class BPA(DictionaryAlgorithm, PassiveAggressive):
    """budget: B, the most points that are kept.
    maintenance: how a full dictionary takes a row in: "simple" (BPA-S), "projection" (BPA-P) or "nearest" (BPA-NN).
    """

    budget: int = 400
    maintenance: str = "simple"

    paper: ClassVar[str] = "Wang, Vucetic 2010"
    bounded: ClassVar[bool] = True
    parent: ClassVar[str | None] = "pa-1"

    @property
    def name(self) -> str:  # type: ignore[override]
        return MAINTENANCE[self.maintenance]

    @property
    def needs(self) -> tuple[Need, ...]:  # type: ignore[override]
        return (EVALUATED, POSITIVE_DEFINITE) if self.maintenance == "projection" else (EVALUATED,)

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget)
        one_of(tuple(MAINTENANCE), maintenance=self.maintenance)
        if self.maintenance == "nearest" and self.budget < 2:
            raise ValueError(f"budget={self.budget} leaves no neighbour to project on; maintenance='nearest' needs 2.")

    @property
    def spare(self) -> int:  # type: ignore[override]
        return 1 if self.maintenance == "projection" else 0

    @property
    def capacity(self) -> int:
        return self.budget + self.spare

    def lower(self, task: str, dtype: Any) -> SimpleRecord | NearestRecord | BPAProjectionRecord:
        records = {"simple": SimpleRecord, "nearest": NearestRecord, "projection": BPAProjectionRecord}
        record = records[self.maintenance]
        return record(self.kernel.lower(dtype), self.aggressive(task, dtype, 1))  # type: ignore[return-value]

    def init(self, shape: Shape) -> BPAState:
        simple, nearest, projection = (
            self.capacity if self.maintenance == name else 0 for name in ("simple", "nearest", "projection")
        )
        f, t = super().init(shape)
        near = no_neighbours(nearest, shape.dtype)
        own, sizes, diagonal = np.zeros(simple + nearest), np.zeros(simple + nearest), np.zeros(projection)
        return BPAState(f, t, own, sizes, near, factor(projection), diagonal)

    def scratch(self, state: BPAState, shape: Shape) -> DictionaryScratch | NearestScratch:
        scratch: DictionaryScratch = super().scratch(state, shape)
        if self.maintenance != "nearest":
            return scratch
        between, search = np.zeros(self.capacity), room_to_search(self.capacity)
        return NearestScratch(
            scratch.common, scratch.row, scratch.stored, between, search, scratch.coordinates, scratch.rounding
        )

    def limits(self, state: BPAState) -> Limits:
        near = neighbour_limits(self.capacity, int(state.f.size), int(state.t))
        return {**super().limits(state), **prefixed("near", near), "sizes": (0.0, math.inf)}

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> BPAState:
        state: BPAState = super().restore(arrays, shape)
        births = state.near.born[: int(state.f.size)]
        if len(np.unique(births)) < len(births) or (births == 0).any():
            raise ModelFileError("The file's array near.born has 0, or one number twice.")
        return state

    def split(self, state: BPAState, shape: Shape) -> BPAState:
        halves: BPAState = super().split(state, shape)
        return halves._replace(sizes=0.5 * state.sizes)

    def merge(
        self, record: Any, state: BPAState, other: BPAState, weight: float, since: BPAState | None = None
    ) -> BPAState:
        merged: BPAState = super().merge(record, state, other, weight, since)
        n, gram = int(merged.f.size), gram_matrix(self.kernel, merged.f)
        shape = Shape(len(merged.f.points), len(merged.f.coef), 0, merged.f.points.dtype)
        kept = self.init(shape)
        if self.maintenance != "projection":
            kept.own[:n] = np.diag(gram)
            kept.sizes[:n] = (merged.f.coef[:, :n].astype(np.float64) ** 2).sum(axis=0)
        if self.maintenance == "nearest":
            search = room_to_search(self.capacity)
            kept.near.born[:n] = -1 - np.arange(n)
            for i, values in enumerate(gram.astype(shape.dtype)):
                look_around(kept.near, n, i, values, kept.own, search)
        kept = kept._replace(f=merged.f, t=merged.t)
        if self.maintenance == "projection":
            kept = self.factored(kept)
            inverse = np.linalg.inv(kept.factor[:n, :n])
            kept.diagonal[:n] = (inverse**2).sum(axis=1)
        return kept


@step.register(SimpleRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, kernel, values = state.f, record.kernel, scratch.row.values
    loss, tau, own = take_aggressive_step(record, state, scratch, x, target, weight, scores)
    if tau == 0.0:
        return loss
    n = f.size[()]
    r = n
    if expansion.full(f):
        ranks = scratch.row.ranks  # minus what is lost
        inverse = 1.0 / own
        for i in range(n):
            near = np.float64(values[i])
            ranks[i] = -state.sizes[i] * (state.own[i] - near * near * inverse)
        r = first_largest(ranks, n)
        share = np.float64(values[r]) / own
        for k in range(g.shape[0]):
            scratch.coordinates[k] = share * f.coef[k, r]
    expansion.put(kernel, f, r, x, -tau, g, scratch.row)
    state.own[r] = own
    if r < n:
        for k in range(g.shape[0]):
            f.coef[k, r] += scratch.coordinates[k]
    state.sizes[r] = expansion.square(f, r)
    return loss


@step.register(BPAProjectionRecord)
def _(record, state, scratch, x, target, weight, scores):
    f, diagonal = state.f, state.diagonal
    loss, tau, _ = take_aggressive_step(record, state, scratch, x, target, weight, scores)
    if tau == 0.0:
        return loss
    residual = find_residual(record.kernel, state, x, scratch)
    if residual == 0.0:
        add_projection(state, -tau, scratch)
        return loss
    n = f.size[()]
    find_coordinates(state, scratch)
    add_counted(record.kernel, state, x, -tau, residual, scratch)
    if expansion.full(f):
        take_out(f, state.factor, diagonal, cheapest_slot(f, diagonal, n, scratch.row), scratch)
    return loss


@inlined
def onto_pair(near, r, values, own, rounding):
    """Coordinates of the projection of k(s_r, .) on its neighbour's term and k(x, .), own = k(x, x)."""
    beside, value, theirs = np.float64(near.beside[r]), np.float64(values[r]), near.own[r]
    between = np.float64(values[near.slot[r]])
    determinant = theirs * own - between * between
    if determinant > rounding * theirs * own:
        return (beside * own - value * between) / determinant, (value * theirs - beside * between) / determinant
    return 0.0, value / own  # the neighbour and x are one direction


@inlined
def rank_by_pairs(state, values, own, rounding, between, ranks):
    """ranks[i] = minus what is lost when term i goes, ||a_i||^2 times the squared distance of k(s_i, .) from the plane
    that `onto_pair` projects on.

    The values at the neighbours are put side by side first: the quotients are then taken in vector instructions.
    """
    n, near, owns, sizes = state.f.size[()], state.near, state.own, state.sizes
    for i in range(n):
        between[i] = values[np.uint32(near.slot[i])]  # unsigned, as it does not count from the end
    for i in range(n):
        value, beside, theirs = np.float64(values[i]), np.float64(near.beside[i]), near.own[i]
        whole = theirs * own
        determinant = whole - between[i] * between[i]
        apart = determinant > rounding * whole
        projected = beside * (beside * own - 2.0 * value * between[i]) + value * value * theirs
        share = (projected if apart else value * value) / (determinant if apart else own)
        ranks[i] = -sizes[i] * (owns[i] - share)


@step.register(NearestRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, kernel, values, near = state.f, record.kernel, scratch.row.values, state.near
    loss, tau, own = take_aggressive_step(record, state, scratch, x, target, weight, scores)
    if tau == 0.0:
        return loss
    n, ranks = f.size[()], scratch.row.ranks
    r = n
    if expansion.full(f):
        rank_by_pairs(state, values, own, scratch.rounding, scratch.between, ranks)
        r = first_largest(ranks, n)
        on_neighbour, on_x = onto_pair(near, r, values, own, scratch.rounding)
        j = near.slot[r]
        for k in range(g.shape[0]):
            f.coef[k, j] += on_neighbour * f.coef[k, r]
            scratch.coordinates[k] = on_x * f.coef[k, r]
        state.sizes[j] = expansion.square(f, j)
    expansion.put(kernel, f, r, x, -tau, g, scratch.row)
    if r < n:
        for k in range(g.shape[0]):
            f.coef[k, r] += scratch.coordinates[k]
    state.own[r], state.sizes[r] = own, expansion.square(f, r)
    near.born[r] = state.t[()]
    lost = follow(near, n, r, values, state.own, scratch.search)
    look_around(near, f.size[()], r, values, state.own, scratch.search)
    for p in range(lost):
        i = scratch.search.lost[p]
        expansion.kernel_values(kernel, f, expansion.stored(f, i, scratch.stored), scratch.row)
        look_around(near, n, i, values, state.own, scratch.search)
    return loss
