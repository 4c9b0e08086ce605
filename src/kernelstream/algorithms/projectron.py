"""Projectron and Projectron++: on a mistake, project the example on the dictionary if little is lost, else keep it.

Orabona, Keshet, Caputo: Bounded Kernel-Based Online Learning (2009), Alg. 1 and 2.

    d = K^-1 k_t,  delta^2 = k(x, x) - k_t'd
    mistake: if delta <= threshold, or the budget is full, a <- a + d u, else add the point
    Projectron++ also moves on a margin error 0 < l < 1:  tau = min(l / ||P k||^2, 1),  ||P k||^2 = k_t'd;
        if  2 l - tau ||P k||^2 - 2 U delta >= 0  then  a <- a + tau d u

Remarks. Coordinates come from a Cholesky factor instead of the paper's grown inverse. U = 1. With several outputs tau
is the same, without the ||u||^2 = 2 that PA's has: so LSOKL's Table 7 comes out (satimage 26.0 against 27.0 with it,
published 25.9). Projectron++ is for classification: a residual has no margin. Regression is the Projectron with u =
sign(r), as in LSOKL. The authors' budgeted variant (project always once full) is what LSOKL calls Projectron.

Symbols: B budget, eta learning_rate.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine.contract import Shape, evaluate, step
from ..losses import Hinge, LossRecord, slope
from ..numerics import expansion
from ..numerics.budgets import spread_over
from ..numerics.expansion import Expansion
from ..numerics.gram import backward, factor, grow
from ..parameters import at_least
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._dictionary import (
    DictionaryScratch,
    check_factor,
    check_positive_definite,
    dictionary_scratch,
    factor_of,
    find_residual,
)
from ._mistakes import MistakeRecord, MistakesOnBudget, find_mistake


class ProjectronRecord(NamedTuple):
    mistakes: MistakeRecord
    hinge: LossRecord  # of margin errors
    threshold: float
    aggressive: int


class ProjectronState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    factor: np.ndarray  # Cholesky factor of the points' Gram matrix


@dataclass
class Projectron(MistakesOnBudget):
    threshold: float = 0.0
    aggressive: bool = False

    paper: ClassVar[str] = "Orabona, Keshet, Caputo 2009"

    @property
    def name(self) -> str:  # type: ignore[override]
        return "projectron++" if self.aggressive else "projectron"

    @property
    def parent(self) -> str | None:  # type: ignore[override]
        return None if self.aggressive else "perceptron"

    @property
    def tasks(self) -> tuple[str, ...]:  # type: ignore[override]
        return (BINARY, MULTICLASS) if self.aggressive else (BINARY, MULTICLASS, REGRESSION)

    def check(self) -> None:
        super().check()
        at_least(0.0, threshold=self.threshold)
        check_positive_definite(self.kernel)

    def lower(self, task: str, dtype: Any) -> ProjectronRecord:
        mistakes = self.mistakes(task, dtype)
        hinge = mistakes.loss if task == REGRESSION else Hinge().lower(task, dtype)
        return ProjectronRecord(mistakes, hinge, float(self.threshold), int(self.aggressive))

    def init(self, shape: Shape) -> ProjectronState:
        f, t = super().init(shape)
        return ProjectronState(f, t, factor(self.budget))

    def scratch(self, state: ProjectronState, shape: Shape) -> DictionaryScratch:
        return dictionary_scratch(state, shape)

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> ProjectronState:
        return check_factor(super().restore(arrays, shape))

    def merge(self, record: Any, state: ProjectronState, other: ProjectronState, weight: float) -> ProjectronState:
        merged = super().merge(record, state, other, weight)
        return merged._replace(factor=factor_of(self.kernel, merged.f, self.budget))


@evaluate.register(ProjectronRecord)
def _(record, state, scratch, x, scores):
    expansion.evaluate(record.mistakes.kernel, state.f, x, scratch.row, scores)


@step.register(ProjectronRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, R, kernel = state.f, state.factor, record.mistakes.kernel
    n = f.size[()]
    loss, length = find_mistake(record.mistakes, state.t, g, target, weight, scores)
    if length > 0.0:
        residual = find_residual(kernel, f, R, x, scratch)
        if residual == 0.0 or n == f.points.shape[1] or (n > 0 and math.sqrt(residual) <= record.threshold):
            backward(R, n, scratch.half, scratch.coordinates)
            spread_over(f, -length, g, scratch.coordinates)
        else:
            grow(R, n, scratch.half, residual)
            expansion.add(kernel, f, x, -length, g, scratch.row)
    elif record.aggressive == 1 and weight > 0.0:
        short = slope(record.hinge, target, scores, g)
        if short > 0.0:
            residual = find_residual(kernel, f, R, x, scratch)
            captured = expansion.own_value(kernel, x, scratch.row) - residual
            tau = min(short / captured, 1.0) if captured > 0.0 else 0.0
            if tau > 0.0 and 2.0 * short - tau * captured - 2.0 * math.sqrt(residual) >= 0.0:
                backward(R, n, scratch.half, scratch.coordinates)
                spread_over(f, -record.mistakes.learning_rate * weight * tau, g, scratch.coordinates)
    return loss
