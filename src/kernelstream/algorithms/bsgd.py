"""BSGD: Pegasos on a budget, kept by removal, projection or merging.

Wang, Crammer, Vucetic: Breaking the Curse of Kernelization: Budgeted Stochastic Gradient Descent for Large-Scale SVM
Training (2012).

    f <- (1 - 1/t) f - (1 / (lambda t)) l'(f(x), y) k(x, .); then, over budget, with m the smallest term:
    removal      f <- f - a_m k(s_m, .)          (or a random term, or the oldest)
    projection   a_m k(s_m, .) is replaced by its projection on the other terms
    merging      terms m and n become a_z k(z, .) with z between s_m and s_n, n the partner that loses least (Gaussian
    only)

Remarks. The size of a term is ||a|| over all outputs. LSOKL calls BSGD-R's rule random in one place and oldest in
another; the original is the smallest, and all three are offered. Where slopes have one size, or two (absolute,
epsilon-insensitive and quantile loss), no term is the smallest, and the first ones would stay for ever: there "auto" is
the oldest. A merge partner is a term whose coefficient points
the same way (<a_m, a_n> > 0), as in the paper for one output; when there is none, any term. With several outputs the
partner's h is looked up as for one output with ||a_m||, ||a_n||, and refined for the chosen pair on ||a_z|| itself.
The sum of squared norms lost to the budget is `degradation`, in units of f at the time of each loss. Projection needs
no room for a row in the dictionary's span: its coordinates are added. bsgd-p is on no front of docs/choosing.md:
bsgd-m errs as much in less time and room.

Symbols: B budget, lambda regularization, b coef of f, which is in units of a lambda tau.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import Shape, step
from ..engine.state import Limits, tally
from ..kernels import EVALUATED, POSITIVE_DEFINITE, Need
from ..losses import Absolute, EpsilonInsensitive, Quantile, as_loss
from ..numerics import expansion, rng
from ..numerics.budgets import (
    first_largest,
    fuse_with_best,
    oldest_slot,
    random_slot,
    smallest_slot,
)
from ..numerics.compile import inlined
from ..numerics.expansion import Expansion
from ..numerics.gram import factor
from ..numerics.pairs import table
from ..numerics.rows import Sample
from ..parameters import one_of, whole
from ._dictionary import DictionaryAlgorithm, add_or_project, project_smallest
from ._risk import RegularisedRisk, RiskRecord, risk_record, take_risk_slope, tau_of, unit_of

RULES = ("smallest", "random", "oldest")
GAUSSIAN = Need(
    "gaussian",
    "maintenance='merging' places the merged point by the Gaussian's closed form; {kernel} has none. "
    "Use Gaussian, or maintenance='removal' or 'projection'.",
)
MAINTENANCE = {"removal": "bsgd-r", "projection": "bsgd-p", "merging": "bsgd-m"}


@risk_record
class RemovalRecord(NamedTuple):
    risk: RiskRecord
    rule: int  # place in RULES


@risk_record
class ProjectionRecord(NamedTuple):
    risk: RiskRecord


@risk_record
class MergingRecord(NamedTuple):
    risk: RiskRecord
    table: np.ndarray


class BSGDState(NamedTuple):
    f: Expansion  # one term more than the budget while a step runs
    t: np.ndarray  # rounds so far, 0-d
    degradation: np.ndarray  # squared norm lost to the budget so far, 0-d
    generator: np.ndarray
    oldest: np.ndarray  # the slot that was filled first, 0-d
    ranks: np.ndarray  # (capacity,) -||b_i||^2 (removal; else empty)
    factor: np.ndarray  # Cholesky factor of the points' Gram matrix (projection; else empty)


@dataclass
class BSGD(DictionaryAlgorithm, RegularisedRisk):
    """budget: B, the most points that are kept.
    maintenance: how it is kept: "merging" (BSGD-M, Gaussian kernel only), "projection" (BSGD-P) or "removal" (BSGD-R).
    removal: which term goes: the "smallest", a "random" one, the "oldest", or "auto": the oldest where all are equally
        large, else the smallest.
    """

    budget: int = 400
    maintenance: str = "merging"
    removal: str = "auto"

    paper: ClassVar[str] = "Wang, Crammer, Vucetic 2012"
    bounded: ClassVar[bool] = True
    spare: ClassVar[int] = 1
    parent: ClassVar[str | None] = "pegasos"

    @property
    def name(self) -> str:  # type: ignore[override]
        return MAINTENANCE[self.maintenance]

    @property
    def needs(self) -> tuple[Need, ...]:  # type: ignore[override]
        if self.maintenance == "projection":
            return (EVALUATED, POSITIVE_DEFINITE)
        return (GAUSSIAN,) if self.maintenance == "merging" else (EVALUATED,)

    @property
    def exempt(self) -> dict[str, str]:  # type: ignore[override]
        ties = "which of two nearly equal partners is merged depends on the last bits"
        return {"float32_follows_float64": ties} if self.maintenance == "merging" else {}

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget)
        one_of(tuple(MAINTENANCE), maintenance=self.maintenance)
        one_of(("auto", *RULES), removal=self.removal)

    def settle(self, task: str, sample: Sample) -> Self:
        settled = super().settle(task, sample)
        if settled.removal != "auto":
            return settled
        alike = isinstance(as_loss(settled.loss), Absolute | EpsilonInsensitive | Quantile)
        return replace(settled, removal="oldest" if alike else "smallest")

    @property
    def capacity(self) -> int:
        return self.budget + self.spare

    def lower(self, task: str, dtype: Any) -> RemovalRecord | ProjectionRecord | MergingRecord:
        risk = self.risk(task, dtype)
        if self.maintenance == "removal":
            return RemovalRecord(risk, RULES.index(self.removal))
        return ProjectionRecord(risk) if self.maintenance == "projection" else MergingRecord(risk, table())

    def init(self, shape: Shape) -> BSGDState:
        removal, projection = (self.capacity if self.maintenance == name else 0 for name in ("removal", "projection"))
        f, t = super().init(shape)
        oldest = np.zeros((), np.int64)
        return BSGDState(f, t, np.zeros(()), rng.generator(shape.seed), oldest, np.zeros(removal), factor(projection))

    def limits(self, state: BSGDState) -> Limits:
        return {**super().limits(state), "oldest": (0, self.budget - 1), "ranks": (-math.inf, 0.0)}

    def attributes(self, state: BSGDState) -> dict[str, Any]:
        """degradation: the squared norm that the budget has cost so far, summed over the removals."""
        return {**super().attributes(state), "degradation": float(state.degradation)}

    def split(self, state: BSGDState, shape: Shape) -> BSGDState:
        halves: BSGDState = super().split(state, shape)
        return halves._replace(ranks=0.5 * state.ranks)

    def merge(
        self, record: Any, state: BSGDState, other: BSGDState, weight: float, since: BSGDState | None = None
    ) -> BSGDState:
        merged: BSGDState = super().merge(record, state, other, weight, since)
        merged = merged._replace(oldest=np.zeros((), np.int64), **tally(state, other, since, "degradation"))
        if self.maintenance == "removal":
            ranks = np.zeros_like(state.ranks)
            n = int(merged.f.size)
            ranks[:n] = -(merged.f.coef[:, :n].astype(np.float64) ** 2).sum(axis=0)
            merged = merged._replace(ranks=ranks)
        return self.factored(merged) if self.maintenance == "projection" else merged


@inlined
def add_degradation(record, state, lost):
    """Count what the budget took: `lost` is in units of b, f = b / (lambda tau)."""
    unit = 1.0 / (record.risk.regularization * tau_of(record.risk, state.t))
    state.degradation[()] += lost * unit * unit


@step.register(RemovalRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, kernel, ranks = state.f, record.risk.kernel, state.ranks
    loss, length = take_risk_slope(record.risk, state, g, target, weight, scores)
    unit = unit_of(record.risk, state.t)
    if unit != 1.0 and math.isfinite(loss):
        for i in range(f.size[()]):
            ranks[i] *= unit * unit
    if length == 0.0:
        return loss
    n = f.size[()]
    expansion.add(kernel, f, x, -length, g, scratch.row)
    ranks[n] = -expansion.square(f, n)
    if not expansion.full(f):
        return loss
    if record.rule == 0:
        r = first_largest(ranks, n + 1)
    elif record.rule == 1:
        r = random_slot(state.generator, n + 1)
    else:
        r = oldest_slot(state.oldest, n)
    add_degradation(record, state, -ranks[r] * expansion.own_value_of(kernel, f, r, scratch.row))
    expansion.move(f, n, r, scratch.row)
    ranks[r] = ranks[n]
    f.size[()] = n
    return loss


@step.register(ProjectionRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, length = take_risk_slope(record.risk, state, g, target, weight, scores)
    added = length > 0.0 and add_or_project(record.risk.kernel, state, x, -length, scratch)
    if added and expansion.full(state.f):
        add_degradation(record, state, project_smallest(state, scratch))
    return loss


@step.register(MergingRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, kernel = state.f, record.risk.kernel
    loss, length = take_risk_slope(record.risk, state, g, target, weight, scores)
    if length == 0.0:
        return loss
    expansion.add(kernel, f, x, -length, g, scratch.row)
    if expansion.full(f):
        m = smallest_slot(f, scratch.row)
        expansion.kernel_values(kernel, f, expansion.stored(f, m, scratch.stored), scratch.row)
        add_degradation(record, state, fuse_with_best(kernel, f, m, scratch.row, record.table))
    return loss
