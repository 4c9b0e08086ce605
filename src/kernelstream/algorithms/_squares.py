"""What learners by squared errors share: classes are said by -1 and 1, and every output has an error."""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..losses import LossRecord, as_loss
from ..numerics.compile import inlined
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._expansion import ExpansionAlgorithm


class SquaresRecord(NamedTuple):
    loss: LossRecord  # what is shown of an error
    one_of_many: int  # whether a target names the output that is to say 1


class SquaredErrors(ExpansionAlgorithm):
    """A learner that moves along the errors of its outputs."""

    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)

    def losses(self, task: str) -> tuple[str, ...]:
        return ("squared",) if task == REGRESSION else ("squared-hinge",)

    def squares(self, task: str, dtype: Any) -> SquaresRecord:
        return SquaresRecord(as_loss(self.losses(task)[0]).lower(task, dtype), int(task == MULTICLASS))


@inlined
def to_say(record, k, target):
    """What output k is to say."""
    return (1.0 if k == target else -1.0) if record.one_of_many == 1 else target


@inlined
def find_slope(record, target, scores, g):
    """g = what the outputs said, less what they were to say: the slope of half the sum of squares."""
    for k in range(g.shape[0]):
        g[k] = np.float64(scores[k]) - to_say(record, k, target)


@inlined
def step_of(learning_rate, weight, curvature):
    """The length of the step of a row of this weight, eta for weight 1. A step of eta leaves 1 - eta h of the error, h
    the curvature; from weight 1 on it goes as far as so many of them, never beyond what the row says.
    """
    if weight <= 1.0 or not curvature > 0.0:
        return learning_rate * weight
    if learning_rate * curvature >= 1.0:
        return learning_rate
    return -math.expm1(weight * math.log1p(-learning_rate * curvature)) / curvature
