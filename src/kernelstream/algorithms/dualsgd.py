"""DualSGD: Pegasos with two halves, an expansion for the newest large terms and random features for those that
leave it.

Le, Nguyen, Nguyen, Phung: Dual Space Gradient Descent for Online Learning (2016).

    f(x) = sum_i a_i k(s_i, x) + w'z(x),  z(x) = (sin u'x, cos u'x) / sqrt(D)
    Pegasos step on f; when the dictionary is full the k smallest terms leave it:  w <- w + a_i z(s_i)

Remarks. Kept in units of b = lambda tau a, both halves alike. A full dictionary makes room before it takes the next
term, so that the budget is never exceeded. The authors' scripts: k = 10, D = 100.

Symbols: B budget, k leaving, D n_components, lambda regularization.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, common, evaluate, step
from ..engine.state import tally
from ..kernels import EVALUATED, SHIFT_INVARIANT, Need
from ..numerics import expansion
from ..numerics.budgets import smallest_slot
from ..numerics.expansion import Expansion, KernelRow, dot
from ..numerics.lifts import Fourier, Lift, lift_rows
from ..numerics.lifts.fourier import FourierMap, FourierRecord, Lifted
from ..numerics.linear import shrink
from ..numerics.rows import Block, DenseRow, dense_row
from ..parameters import whole
from ._expansion import weighted_sum
from ._features import lifted_first, padded
from ._risk import RegularisedRisk, RiskRecord, evaluate_risk, take_risk_slope, tau_of, unit_of


@lifted_first
class DualSGDRecord(NamedTuple):
    risk: RiskRecord
    lift: FourierRecord
    leaving: int


class DualSGDState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    map: FourierMap
    weights: np.ndarray  # (K, 2D)


class DualSGDScratch(NamedTuple):
    common: Common
    row: KernelRow
    lifted: Lifted
    stored: DenseRow  # where a stored point is written out as a row
    bounds: np.ndarray  # (2,) of a block that holds it alone
    lifted_point: Lifted


@dataclass
class DualSGD(RegularisedRisk):
    """budget: B, the most points that are kept.
    n_components: D, how many frequencies the random features have; each gives a sine and a cosine.
    leaving: k, how many terms leave a full dictionary at a time.
    """

    budget: int = 100
    n_components: int = 200
    leaving: int = 10

    name: ClassVar[str] = "dualsgd"
    paper: ClassVar[str] = "Le et al. 2016"
    bounded: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = (EVALUATED, SHIFT_INVARIANT)
    parent: ClassVar[str | None] = "pegasos"

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget, n_components=self.n_components, leaving=self.leaving)

    @property
    def capacity(self) -> int:
        return self.budget

    @property
    def lift(self) -> Lift:
        return Fourier(self.kernel, self.n_components)

    def lower(self, task: str, dtype: Any) -> DualSGDRecord:
        return DualSGDRecord(self.risk(task, dtype), self.lift.record(dtype), min(self.leaving, self.budget))

    def init(self, shape: Shape) -> DualSGDState:
        f, t = super().init(shape)
        weights = np.zeros((shape.n_outputs, self.lift.length(shape.width)), shape.dtype)
        return DualSGDState(f, t, self.lift.map(shape), weights)

    def scratch(self, state: DualSGDState, shape: Shape) -> DualSGDScratch:
        shared = common(shape.width, shape.n_outputs, shape.dtype, self.lift.length(shape.width))
        return DualSGDScratch(
            shared,
            expansion.kernel_row(state.f),
            self.lift.lifted(state.map, shared.chunk),
            dense_row(shape.width, shape.dtype),
            np.zeros(2, np.int64),
            self.lift.lifted(state.map, 1),
        )

    def outline(self, shape: Shape) -> dict[str, tuple[int | None, ...]]:
        frequencies = (shape.width, self.n_components)
        return {**super().outline(shape), "map.frequencies": frequencies}

    def lifts_ahead(self, state: DualSGDState) -> bool:
        return True

    def grow(self, state: DualSGDState, shape: Shape) -> DualSGDState:
        weights = padded(state.weights, shape.n_outputs, self.lift.length(shape.width))
        return super().grow(state, shape)._replace(map=self.lift.grown(state.map, shape), weights=weights)

    def merge(
        self, record: Any, state: DualSGDState, other: DualSGDState, weight: float, since: DualSGDState | None = None
    ) -> DualSGDState:
        """Beyond the budget f's terms are projected, and what that leaves out goes to the random features."""
        self.lift.require_same(state.map, other.map)
        rounds = tally(state, other, since, "t")
        unit = self.unit(state._replace(**rounds))
        mine, theirs = (1.0 - weight) * unit / self.unit(state), weight * unit / self.unit(other)
        f = weighted_sum(mine, state.f, theirs, other.f)
        kept = self.reduced(f)
        weights = mine * state.weights + theirs * other.weights
        if kept.size < f.size:
            weights = weights + self._lifted(state, f) - self._lifted(state, kept)
        return state._replace(f=kept, **rounds, weights=weights.astype(state.weights.dtype))

    def distance(self, state: DualSGDState, other: DualSGDState) -> float:
        """Of the terms and of the weights of the random features, as if they were orthogonal."""
        self.lift.require_same(state.map, other.map)
        a, b = (one.weights.astype(np.float64) / self.unit(one) for one in (state, other))
        return math.hypot(super().distance(state, other), math.sqrt(self.n_components) * float(np.linalg.norm(a - b)))

    def _lifted(self, state: DualSGDState, f: Expansion) -> np.ndarray:
        """w with w'z(x) about f(x)."""
        n = int(f.size)
        angles = f.points[:, :n].astype(np.float64).T @ state.map.frequencies.astype(np.float64)
        z = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        return np.asarray(f.coef[:, :n].astype(np.float64) @ z / self.n_components)  # both z lack 1 / sqrt(D)


@evaluate.register(DualSGDRecord)
def _(record, state, scratch, x, scores):
    evaluate_risk(record.risk, state.f, state.t, x, scratch.row, scores)
    if state.t[()] > 0:
        factor = 1.0 / (record.risk.regularization * tau_of(record.risk, state.t))
        for k in range(scores.shape[0]):
            scores[k] += factor * dot(state.weights[k], scratch.lifted.z[x.place])


@step.register(DualSGDRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, kernel = state.f, record.risk.kernel
    loss, length = take_risk_slope(record.risk, state, g, target, weight, scores)
    unit = unit_of(record.risk, state.t)
    if unit != 1.0 and math.isfinite(loss):
        shrink(state.weights, unit)
    if length == 0.0:
        return loss
    if expansion.full(f):
        components = scratch.lifted_point.projected.shape[1]
        for _ in range(record.leaving):
            m = smallest_slot(f, scratch.row)
            s = expansion.stored(f, m, scratch.stored)
            scratch.bounds[1] = s.indices.shape[0]
            alone = Block(scratch.bounds, s.indices, s.values, 0)
            lift_rows(record.lift, state.map, alone, 0, 1, scratch.lifted_point)
            for k in range(g.shape[0]):
                share = f.coef[k, m] / components  # both z are short of a factor 1 / sqrt(D)
                w, z = state.weights[k], scratch.lifted_point.z[0]
                for j in range(w.shape[0]):
                    w[j] += share * z[j]
            last = f.size[()] - 1
            expansion.move(f, last, m, scratch.row)
            f.size[()] = last
    expansion.add(kernel, f, x, -length, g, scratch.row)
    return loss
