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

from ..engine import Shape, step
from ..kernels import KernelRecord
from ..losses import Hinge, LossRecord, slope
from ..numerics import expansion
from ..numerics.expansion import Expansion
from ..numerics.gram import factor
from ..parameters import at_least
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._dictionary import DictionaryAlgorithm, add_point, add_projection, find_residual
from ._expansion import expansion_record
from ._mistakes import MistakeRecord, MistakesOnBudget, find_mistake


@expansion_record
class ProjectronRecord(NamedTuple):
    kernel: KernelRecord
    mistakes: MistakeRecord
    hinge: LossRecord  # of margin errors
    threshold: float
    aggressive: int


class ProjectronState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    factor: np.ndarray  # Cholesky factor of the points' Gram matrix


@dataclass
class Projectron(DictionaryAlgorithm, MistakesOnBudget):
    """threshold: the largest distance from the dictionary's span at which a row is projected on it.
    aggressive: move on margin errors too (Projectron++).
    """

    budget: int = 200  # a projection takes B^2
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

    def lower(self, task: str, dtype: Any) -> ProjectronRecord:
        mistakes = self.mistakes(task, dtype)
        hinge = mistakes.loss if task == REGRESSION else Hinge().lower(task, dtype)
        kernel, threshold = self.kernel.lower(dtype), float(self.threshold)
        return ProjectronRecord(kernel, mistakes, hinge, threshold, int(self.aggressive))

    def init(self, shape: Shape) -> ProjectronState:
        f, t = super().init(shape)
        return ProjectronState(f, t, factor(self.budget))

    def merge(
        self,
        record: Any,
        state: ProjectronState,
        other: ProjectronState,
        weight: float,
        since: ProjectronState | None = None,
    ) -> ProjectronState:
        merged: ProjectronState = self.factored(super().merge(record, state, other, weight, since))
        return merged


@step.register(ProjectronRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, kernel = state.f, record.kernel
    loss, length = find_mistake(record.mistakes, state.t, g, target, weight, scores)
    if length > 0.0:
        residual = find_residual(kernel, state, x, scratch)
        if residual == 0.0 or expansion.full(f) or (f.size[()] > 0 and math.sqrt(residual) <= record.threshold):
            add_projection(state, -length, scratch)
        else:
            add_point(kernel, state, x, -length, residual, scratch)
    elif record.aggressive == 1 and weight > 0.0 and math.isfinite(loss):
        short = slope(record.hinge, target, scores, g)
        if short > 0.0:
            residual = find_residual(kernel, state, x, scratch)
            captured = expansion.own_value(kernel, x, scratch.row) - residual
            tau = min(short / captured, 1.0) if captured > 0.0 else 0.0
            if tau > 0.0 and 2.0 * short - tau * captured - 2.0 * math.sqrt(residual) >= 0.0:
                add_projection(state, -record.mistakes.learning_rate * weight * tau, scratch)
    return loss
