"""NPBSGD: nonparametric budgeted stochastic gradient descent. The budget itself may grow, ever more rarely.

Le, Nguyen, Nguyen, Phung: Nonparametric Budgeted Stochastic Gradient Descent (2016), as the POLK paper describes it.

    f <- (1 - 1/t) f - (1 / (lambda t)) l'(f(x), y) k(x, .); then, over budget:
    with probability p_t = min(1, beta / t) the budget grows by one, otherwise the smallest term is projected on the
    others

Remarks. Only that one-line description was at hand. Chosen here: the coin is tossed only when the dictionary is full
and a term was added; the term that goes is the smallest ||a||, as in BSGD-P. The expected growth over T rounds is at
most beta (1 + log(T / beta)); `budget` is where it begins.

Symbols: B budget, beta growth, lambda regularization.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Shape, step
from ..engine.state import Limits
from ..numerics import rng
from ..numerics.expansion import Expansion
from ..numerics.gram import factor
from ..numerics.projection import projected
from ..parameters import at_least, whole
from ._dictionary import DictionaryAlgorithm, add_or_project, project_smallest
from ._expansion import ask_for_room
from ._risk import RegularisedRisk, RiskRecord, risk_record, take_risk_slope


@risk_record
class NPBSGDRecord(NamedTuple):
    risk: RiskRecord
    growth: float


class NPBSGDState(NamedTuple):
    f: Expansion  # one term more than the budget while a step runs
    t: np.ndarray  # rounds so far, 0-d
    generator: np.ndarray
    limit: np.ndarray  # the budget now, 0-d
    factor: np.ndarray  # Cholesky factor of the points' Gram matrix


@dataclass
class NPBSGD(DictionaryAlgorithm, RegularisedRisk):
    """budget: the most points that are kept at first.
    growth: beta, round t makes the budget one larger with probability min(1, beta / t).
    """

    budget: int = 200
    growth: float = 1.0

    name: ClassVar[str] = "npbsgd"
    paper: ClassVar[str] = "Le et al. 2016"
    bounded: ClassVar[bool] = False
    parent: ClassVar[str | None] = "pegasos"
    exempt: ClassVar[dict[str, str]] = {"budget_is_never_exceeded": "it grows by design, ever more rarely"}

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget)
        at_least(0.0, growth=self.growth)

    def lower(self, task: str, dtype: Any) -> NPBSGDRecord:
        return NPBSGDRecord(self.risk(task, dtype), float(self.growth))

    @property
    def first_capacity(self) -> int:
        return self.budget + 1

    def init(self, shape: Shape) -> NPBSGDState:
        f, t = super().init(shape)
        return NPBSGDState(f, t, rng.generator(shape.seed), np.array(self.budget), factor(self.first_capacity))

    def prepare(self, record: Any, state: NPBSGDState, ahead: Any) -> NPBSGDState:
        """Room for one term more than the budget, a sixteenth in advance."""
        room = len(state.factor)
        if state.limit < room:
            return state
        larger: NPBSGDState = self.with_room(state, room + max(1, room // 16))
        return larger

    def limits(self, state: NPBSGDState) -> Limits:
        return {**super().limits(state), "limit": (self.budget, len(state.factor) - 1)}

    def most_terms(self, state: NPBSGDState) -> int:
        return int(state.limit)

    def merge(
        self, record: Any, state: NPBSGDState, other: NPBSGDState, weight: float, since: NPBSGDState | None = None
    ) -> NPBSGDState:
        """The larger budget of the two is kept, and f projected on as many terms."""
        limit = int(max(state.limit, other.limit))
        merged = super().merge(record, state, other, weight, since)
        f = projected(self.kernel, merged.f, limit, limit + 1)
        kept: NPBSGDState = self.factored(merged._replace(f=f, limit=np.array(limit)))
        return kept


@step.register(NPBSGDRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, length = take_risk_slope(record.risk, state, g, target, weight, scores)
    grew = length > 0.0 and add_or_project(record.risk.kernel, state, x, -length, scratch)
    if grew and state.f.size[()] > state.limit[()]:
        if rng.draw(state.generator) < record.growth / state.t[()]:
            state.limit[()] += 1
            ask_for_room(state.f, 1, scratch)
        else:
            project_smallest(state, scratch)
    return loss
