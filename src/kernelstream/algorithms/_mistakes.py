"""What learners share that move only on a mistake: Perceptron, RBP, Forgetron, Budget Perceptron, Projectron.

Classification: u = y or e_y - e_s whenever m <= 0. Regression: u = sign(r) whenever |r| > epsilon, r = y - f(x). The
term added is learning_rate * u k(x, .), by default of a regression a fifth of the deviation of the first targets long.
`slope` gives -u.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..losses import FIRST_STEP, EpsilonInsensitive, Loss, LossRecord, PerceptronLoss, any_slope, slope, too_long
from ..numerics.compile import inlined
from ..numerics.rows import Sample
from ..parameters import at_least, positive, whole
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._expansion import ExpansionAlgorithm


class MistakeRecord(NamedTuple):
    loss: LossRecord
    learning_rate: float


@dataclass
class MistakeDriven(ExpansionAlgorithm):
    """Parameters of every mistake-driven learner.

    learning_rate: the size of an added term; in classification it scales f and changes no prediction. "auto" is 1, and
        in regression 0.2 times the deviation of the targets.
    epsilon: a residual up to this is no mistake (regression).
    """

    learning_rate: float | str = "auto"
    epsilon: float = 0.1

    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)

    def check(self) -> None:
        super().check()
        if self.learning_rate != "auto":
            positive(learning_rate=self.learning_rate)
        at_least(0.0, epsilon=self.epsilon)

    def losses(self, task: str) -> tuple[str, ...]:
        return ("epsilon-insensitive",) if task == REGRESSION else ("perceptron",)

    def depends_on_data(self, task: str) -> bool:
        return super().depends_on_data(task) or (self.learning_rate == "auto" and task == REGRESSION)

    def settle(self, task: str, sample: Sample) -> Self:
        settled = super().settle(task, sample)
        if self.learning_rate != "auto":
            return settled
        return replace(settled, learning_rate=FIRST_STEP * sample.deviation if task == REGRESSION else 1.0)

    def mistakes(self, task: str, dtype: Any) -> MistakeRecord:
        loss: Loss = EpsilonInsensitive(self.epsilon) if task == REGRESSION else PerceptronLoss()
        return MistakeRecord(loss.lower(task, dtype), float(self.learning_rate))


@dataclass
class MistakesOnBudget(MistakeDriven):
    """A mistake-driven learner on a budget.

    budget: B, the most points that are kept.
    """

    budget: int = 800

    bounded: ClassVar[bool] = True
    parent: ClassVar[str | None] = "perceptron"

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget)

    @property
    def capacity(self) -> int:
        return self.budget + self.spare


@inlined
def find_mistake(record, t, g, target, weight, scores):
    """Begin a round: write -u into g; return (loss, the length of the term to add: 0 when it was no mistake).

    Where it would be too long no round begins: the loss is NaN, the length 0.
    """
    loss = slope(record.loss, target, scores, g)
    length = record.learning_rate * weight if any_slope(g) else 0.0
    if too_long(g, length):
        return np.nan, 0.0
    t[()] += 1
    return loss, length
