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

from ..engine.contract import Shape, evaluate, step
from ..engine.state import ModelFileError, restored
from ..numerics import expansion, rng
from ..numerics.budgets import project_out, smallest_slot, within
from ..numerics.expansion import Expansion
from ..numerics.gram import factor
from ..parameters import at_least, whole
from ._dictionary import (
    DictionaryScratch,
    add_or_spread,
    check_factor,
    check_positive_definite,
    dictionary_scratch,
    factor_of,
)
from ._risk import RegularisedRisk, RiskRecord, evaluate_risk, take_risk_slope


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
class NPBSGD(RegularisedRisk):
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
        check_positive_definite(self.kernel)

    def lower(self, task: str, dtype: Any) -> NPBSGDRecord:
        return NPBSGDRecord(self.risk(task, dtype), float(self.growth))

    def init(self, shape: Shape) -> NPBSGDState:
        room = self.budget + 1
        f = expansion.empty(shape.width, room, shape.n_outputs, shape.dtype)
        return NPBSGDState(f, np.zeros((), np.int64), rng.generator(shape.seed), np.array(self.budget), factor(room))

    def scratch(self, state: NPBSGDState, shape: Shape) -> DictionaryScratch:
        return dictionary_scratch(state, shape)

    def prepare(self, record: Any, state: NPBSGDState) -> NPBSGDState:
        """Room for one term more than the budget, a sixteenth in advance."""
        room = state.f.points.shape[1]
        if state.limit < room:
            return state
        larger = room + max(1, room // 16)
        R = factor(larger)
        R[:room, :room] = state.factor
        return state._replace(f=expansion.resized(state.f, capacity=larger), factor=R)

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> NPBSGDState:
        room = arrays.get("f.points", np.zeros((0, 0))).shape[-1]
        if room <= self.budget:
            raise ModelFileError(f"The file has room for {room} points; the budget of {self.budget} needs one more.")
        template = self.init(shape)
        template = template._replace(f=expansion.resized(template.f, capacity=room), factor=factor(room))
        state: NPBSGDState = restored(template, arrays)
        expansion.check_size(state.f)
        if not self.budget <= state.limit <= room or state.f.size > state.limit:
            raise ModelFileError(f"The file's budget {int(state.limit)} does not fit its {int(state.f.size)} points.")
        return check_factor(state)

    def merge(self, record: Any, state: NPBSGDState, other: NPBSGDState, weight: float) -> NPBSGDState:
        """The larger budget of the two is kept; terms beyond it are removed, the smallest first."""
        limit = int(max(state.limit, other.limit))
        merged = super().merge(record, state, other, weight)
        f = within(merged.f, limit, limit + 1)
        return merged._replace(f=f, limit=np.array(limit), factor=factor_of(self.kernel, f, limit + 1))


@evaluate.register(NPBSGDRecord)
def _(record, state, scratch, x, scores):
    evaluate_risk(record.risk, state.f, state.t, x, scratch.row, scores)


@step.register(NPBSGDRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, R, kernel = state.f, state.factor, record.risk.kernel
    loss, length = take_risk_slope(record.risk, state.t, g, target, weight, scores)
    if length == 0.0:
        return loss
    if not add_or_spread(kernel, f, R, x, -length, g, scratch):
        return loss
    n = f.size[()]
    if n > state.limit[()]:
        if rng.draw(state.generator) < record.growth / state.t[()]:
            state.limit[()] += 1
            scratch.common.halt[()] = state.limit[()] == f.points.shape[1]
        else:
            project_out(f, R, smallest_slot(f, scratch.row), scratch.coordinates, scratch.half, scratch.row)
    return loss
