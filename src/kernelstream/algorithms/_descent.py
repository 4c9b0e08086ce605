"""The gradient step that OGD, FOGD and NOGD share: loss, slope, step size, threshold.

Where slopes are bounded, a step is as long however far off the target is: in regression the default is then a fifth of
the deviation of the first targets, over what slopes are at most (`unit_of_steps`).
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import Algorithm
from ..losses import (
    FIRST_STEP,
    Loss,
    LossRecord,
    any_slope,
    as_loss,
    in_the_targets_unit,
    loss_names,
    slope,
    too_long,
    unit_of_steps,
)
from ..numerics.compile import inlined
from ..numerics.rows import Sample
from ..parameters import at_least, positive
from ..schedules import Schedule, ScheduleRecord, as_schedule, step_size
from ..tasks import BINARY, MULTICLASS, REGRESSION

DEFAULT_LOSS = {BINARY: "hinge", MULTICLASS: "hinge", REGRESSION: "squared"}

# Steps of a normalised kernel model: on a hinge the length matters little, on a square a long step follows the noise.
DEFAULT_RATE = {BINARY: 0.5, MULTICLASS: 0.5, REGRESSION: FIRST_STEP}


class DescentRecord(NamedTuple):
    loss: LossRecord
    schedule: ScheduleRecord
    regularization: float
    threshold: float


@dataclass
class Descent(Algorithm):
    """Parameters of every gradient learner.

    loss: a name, a loss, or "auto" (hinge for classification, squared for regression).
    learning_rate: a number, a schedule, or "auto" (0.5 for classification; 0.2 for the squared loss, 0.1 where it is
        r^2; 0.2 times the deviation of the targets for the others).
    regularization: lambda of (lambda/2) ||f||^2, which shrinks the model by 1 - learning_rate * lambda each round.
    threshold: no update while the loss is not above it; 0 updates whenever there is a slope. LSOKL's Alg. 5 and 6 have
        it on r^2: with loss=Squared(half=False) both it and learning_rate are as they print.
    """

    loss: str | Loss = "auto"
    learning_rate: float | str | Schedule = "auto"
    regularization: float = 0.0
    threshold: float = 0.0

    default_rate: ClassVar[dict[str, float]] = DEFAULT_RATE

    def check(self) -> None:
        super().check()
        if self.loss != "auto":
            as_loss(self.loss)
        at_least(0.0, regularization=self.regularization, threshold=self.threshold)
        if self.learning_rate != "auto":
            if not isinstance(self.learning_rate, Schedule):
                positive(learning_rate=self.learning_rate)
            shrinkage = as_schedule(self.learning_rate).rate * self.regularization
            if shrinkage > 1.0:
                raise ValueError(
                    f"learning_rate * regularization = {shrinkage:g} exceeds 1: a round would turn the model's sign. "
                    "Lower one of them."
                )

    def depends_on_data(self, task: str) -> bool:
        in_units = in_the_targets_unit(as_loss(self.named_loss(task)))
        return super().depends_on_data(task) or (self.learning_rate == "auto" and in_units)

    def settle(self, task: str, sample: Sample) -> Self:
        named = self.named_loss(task)
        rate = self.learning_rate
        if rate == "auto":
            rate = self.default_rate[task] * unit_of_steps(as_loss(named), sample.deviation, self.regularization)
        return replace(super().settle(task, sample), loss=named, learning_rate=rate)

    def losses(self, task: str) -> tuple[str, ...]:
        return loss_names(task, DEFAULT_LOSS[task])

    def descent(self, task: str, dtype: Any) -> DescentRecord:
        """Requires: a settled spec."""
        return DescentRecord(
            as_loss(self.loss).lower(task, dtype),
            as_schedule(self.learning_rate).lower(),
            float(self.regularization),
            float(self.threshold),
        )


@inlined
def moves(record, loss, g):
    """Whether a loss of this size and slope asks for a step."""
    return (loss > record.threshold or record.threshold == 0.0) and any_slope(g)


@inlined
def take_slope(record, t, g, target, weight, scores):
    """Begin round t + 1: write the loss's slope into g; return (loss, step size, step along g).

    The step is 0 where there is nothing to move along. Where it would be too long no round begins: the loss is NaN, the
    step size 0.
    """
    eta = step_size(record.schedule, t[()] + 1)
    loss = slope(record.loss, target, scores, g)
    move = eta * weight if moves(record, loss, g) else 0.0
    if too_long(g, move):
        return np.nan, 0.0, 0.0
    t[()] += 1
    return loss, eta, move
