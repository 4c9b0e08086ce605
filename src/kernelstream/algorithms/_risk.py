"""What learners share that descend the regularised risk with step 1 / (lambda t): Pegasos, BSGD, NPBSGD, DualSGD.

    f <- (1 - 1/t) f - (1 / (lambda t)) l'(f(x), y) k(x, .)

f is kept as (1 / (lambda t)) sum_i b_i k(s_i, .): a round counts t and adds b = -l'. Nothing is rescaled, and terms
that are equal in size stay so to the last bit, which a rule that looks for the smallest one needs.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..kernels import KernelRecord
from ..losses import Loss, LossRecord, any_slope, as_loss, loss_names, slope, too_long
from ..numerics import expansion
from ..numerics.compile import inlined
from ..numerics.rows import Sample
from ..parameters import positive
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._expansion import ExpansionAlgorithm, evaluated_by


class RiskRecord(NamedTuple):
    kernel: KernelRecord
    loss: LossRecord
    regularization: float


@dataclass
class RegularisedRisk(ExpansionAlgorithm):
    """Parameters of every Pegasos-like learner.

    loss: a name, a loss, or "auto" (hinge for classification, epsilon-insensitive for regression).
    regularization: lambda of (lambda/2) ||f||^2; the first steps have length 1 / lambda.
    """

    loss: str | Loss = "auto"
    regularization: float = 1e-3

    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    shorter_steps: ClassVar[str] = "raise regularization"

    def check(self) -> None:
        super().check()
        if self.loss != "auto":
            as_loss(self.loss)
        positive(regularization=self.regularization)

    def losses(self, task: str) -> tuple[str, ...]:
        return loss_names(task, "epsilon-insensitive" if task == REGRESSION else "hinge")

    def settle(self, task: str, sample: Sample) -> Self:
        loss = self.losses(task)[0] if self.loss == "auto" else self.loss
        return replace(super().settle(task, sample), loss=loss)

    def risk(self, task: str, dtype: Any) -> RiskRecord:
        """Requires: a settled spec."""
        return RiskRecord(self.kernel.lower(dtype), as_loss(self.loss).lower(task, dtype), float(self.regularization))

    def merge(self, record: Any, state: Any, other: Any, weight: float) -> Any:
        """In terms of b: a term keeps its value in f when b is multiplied by the new t over its own."""
        t = int(state.t) + int(other.t)
        f = expansion.append(state.f, other.f, weight * t / max(1, int(other.t)))
        f.coef[:, : int(state.f.size)] *= (1.0 - weight) * t / max(1, int(state.t))
        return state._replace(f=self.reduced(f), t=state.t + other.t)


@inlined
def evaluate_risk(record, f, t, x, row, scores):
    """scores = (1 / (lambda t)) sum_i b_i k(s_i, x); 0 before the first round."""
    expansion.evaluate(record.kernel, f, x, row, scores)
    factor = 1.0 / (record.regularization * t[()]) if t[()] > 0 else 0.0
    for k in range(scores.shape[0]):
        scores[k] *= factor


def _evaluate(record, state, scratch, x, scores):
    evaluate_risk(record.risk, state.f, state.t, x, scratch.row, scores)


# The record of a learner whose scores are f(x), with f's kernel and lambda in `risk`.
risk_record = evaluated_by(_evaluate)


@inlined
def take_risk_slope(record, t, g, target, weight, scores):
    """Begin round t + 1: write the slope into g; return (loss, the weight of b = -g: 0 when there is nothing to
    add). Where it would be too long no round begins: the loss is NaN, the weight 0.
    """
    loss = slope(record.loss, target, scores, g)
    length = weight if any_slope(g) else 0.0
    if too_long(g, length):
        return np.nan, 0.0
    t[()] += 1
    return loss, length
