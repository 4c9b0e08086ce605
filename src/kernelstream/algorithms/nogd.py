"""NOGD: Nystrom online gradient descent.

Lu, Hoi, Wang, Zhao, Liu: Large Scale Online Kernel Learning (2016), Alg. 2 (binary), 4 (multiclass), 6 (regression).

Phase 1 is OGD until the budget B of points is reached. Then, with K the points' Gram matrix and V_k, D_k its k leading
eigenpairs,

    z(x) = D_k^(-1/2) V_k' (k(s_1, x), ..., k(s_B, x))
    w = D_k^(1/2) V_k' alpha        (the paper's alpha (D_k^(-1/2) V_k')^-1, by pseudo-inverse)

and phase 2 is gradient descent on w.

Remarks. Eigenvalues below B * machine epsilon * the largest, and negative ones (a kernel that is not positive
definite), are left out: their features would be noise divided by nearly zero. The eigen-decomposition is float64
always. The hand-over happens between two rows, so the block size has no effect. LSOKL: k = 0.2 B, eta = 0.2; the loss
of Alg. 6 is Squared(half=False), see FOGD.

Symbols: B budget, k rank, eta learning_rate, lambda regularization, epsilon threshold, alpha f.coef, w weights.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import evaluate, step
from ..engine.state import tally
from ..numerics import expansion
from ..numerics.expansion import Expansion
from ..numerics.gram import cross_matrix
from ..numerics.lifts import Nystrom
from ..numerics.lifts.nystrom import NystromRecord
from ..numerics.linear import descend, evaluate_linear, shrink
from ..numerics.projection import chosen
from ..numerics.rows import Sample
from ..parameters import whole
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._descent import Descent, DescentRecord, take_slope
from ._expansion import ask_for_room, norm_of
from ._features import FeatureAlgorithm, FeatureState, on_features


@on_features
class NOGDRecord(NamedTuple):
    lift: NystromRecord
    descent: DescentRecord


@dataclass
class NOGD(Descent, FeatureAlgorithm):
    """budget: B, how many points the map is made of.
    rank: k, how many leading eigenpairs of their Gram matrix are kept; None is a fifth of the budget.
    """

    budget: int = 400
    rank: int | None = None

    name: ClassVar[str] = "nogd"
    paper: ClassVar[str] = "Lu et al. 2016"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = True
    parent: ClassVar[str | None] = "ogd"

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget)
        if self.rank is not None:
            whole(1, rank=self.rank)
            if self.rank > self.budget:
                raise ValueError(
                    f"rank={self.rank} exceeds budget={self.budget}; a Gram matrix has no more eigenvalues."
                )

    def settle(self, task: str, sample: Sample) -> Self:
        rank = max(1, self.budget // 5) if self.rank is None else self.rank
        return replace(super().settle(task, sample), rank=rank)

    @property
    def lift(self) -> Nystrom:
        return Nystrom(self.kernel, self.budget, int(self.rank or 0))

    def lower(self, task: str, dtype: Any) -> NOGDRecord:
        return NOGDRecord(self.lift.record(dtype), self.descent(task, dtype))

    def prepare(self, record: NOGDRecord, state: FeatureState, ahead: Any) -> FeatureState:
        f = state.map.f
        if state.map.frozen or f.size < self.budget:
            return state
        map, backward = self.lift.frozen_on(f)
        weights = f.coef.astype(np.float64) @ backward.T
        return state._replace(map=map, weights=weights.astype(state.weights.dtype))

    def merge(
        self,
        record: NOGDRecord,
        state: FeatureState,
        other: FeatureState,
        weight: float,
        since: FeatureState | None = None,
    ) -> FeatureState:
        """Terms are joined. When they exceed the budget or a side is frozen, f is projected on B of them, and the new
        map's features are the projection itself and, beside it, the leading eigenfunctions of these points.
        """
        own, theirs = self._terms(state), self._terms(other)
        own.coef[:] *= 1.0 - weight
        joined = expansion.append(own, theirs, weight)
        t, n = tally(state, other, since, "t")["t"], int(joined.size)
        if not (state.map.frozen or other.map.frozen) and n <= self.budget:
            return state._replace(map=state.map._replace(f=expansion.taken(joined, range(n), self.budget)), t=t)
        best = chosen(self.kernel, joined, self.budget)[0]
        order = np.concatenate([best, np.setdiff1d(np.arange(n), best)])[: self.budget]
        every = replace(self.lift, rank=self.budget).frozen_on(expansion.taken(joined, order, self.budget))[0]
        forward = every.map.astype(np.float64)
        along = joined.coef[:, :n].astype(np.float64) @ cross_matrix(self.kernel, every.f, joined).T @ forward.T
        turned = leading(along, self.lift.rank)
        map = every._replace(map=np.ascontiguousarray(turned @ forward).astype(every.map.dtype))
        return FeatureState(map, (along @ turned.T).astype(state.weights.dtype), t)

    def _terms(self, state: FeatureState) -> Expansion:
        """The model as an expansion, a copy: in phase 2 alpha = V_k D_k^(-1/2) w."""
        map = state.map
        return map.f._replace(coef=state.weights @ map.map if map.frozen else map.f.coef.copy())

    def distance(self, state: FeatureState, other: FeatureState) -> float:
        return norm_of(self.kernel, expansion.append(self._terms(state), self._terms(other), -1.0))

    def n_stored(self, state: FeatureState) -> int:
        return int(state.map.f.size)


def leading(functions: np.ndarray, rank: int) -> np.ndarray:
    """(rank, n) an orthonormal basis: of the functions, which are rows of coordinates, as far as it goes, and then of
    the first coordinates.
    """
    _, sizes, rows = np.linalg.svd(functions, full_matrices=False)
    rows = rows[sizes > 1e-12 * max(sizes[0], 1e-300)][:rank]
    rest = np.eye(rank, functions.shape[1])
    rest -= rest @ rows.T @ rows
    others = np.linalg.svd(rest, full_matrices=False)[2][: rank - len(rows)]
    return np.concatenate([rows, others])


@evaluate.register(NOGDRecord)
def _(record, state, scratch, x, scores):
    if state.map.frozen[()] == 0:
        expansion.evaluate(record.lift.kernel, state.map.f, x, scratch.lifted.row, scores)
    else:
        evaluate_linear(state.weights, scratch.lifted.z[x.place], scores)


@step.register(NOGDRecord)
def _(record, state, scratch, x, target, weight, scores):
    g, f = scratch.common.slope, state.map.f
    loss, eta, move = take_slope(record.descent, state.t, g, target, weight, scores)
    factor = 1.0 - eta * record.descent.regularization
    if state.map.frozen[()] == 0:
        if factor < 1.0:
            expansion.shrink(f, factor)
        if move > 0.0:
            expansion.add(record.lift.kernel, f, x, -move, g, scratch.lifted.row)
            ask_for_room(f, 1, scratch)
    else:
        if factor < 1.0:
            shrink(state.weights, factor)
        if move > 0.0:
            descend(state.weights, move, g, scratch.lifted.z[x.place])
    return loss
