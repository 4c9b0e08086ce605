"""The passive-aggressive step that PA and BPA share: the shortest move that mends the loss, no longer than C allows.

Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms (2006).

    tau = min(C, l / (||u||^2 k(x, x)))            (PA-I)
    tau = l / (||u||^2 k(x, x) + 1 / (2 C))        (PA-II)

with the hinge (classification) or the epsilon-insensitive loss (regression) l and its direction u = -l'. The paper
tunes C, which is in units of the targets in PA-I: there the default follows the deviation of the first ones.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..losses import FIRST_STEP, EpsilonInsensitive, Hinge, Loss, LossRecord, slope, too_long
from ..numerics import expansion
from ..numerics.compile import inlined
from ..numerics.rows import Sample
from ..parameters import at_least, positive
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._expansion import ExpansionAlgorithm


class AggressiveRecord(NamedTuple):
    loss: LossRecord
    aggressiveness: float
    variant: int


@dataclass
class PassiveAggressive(ExpansionAlgorithm):
    """aggressiveness: C, the longest step (variant 1) or its softness (variant 2). "auto" is 1, and in regression a
        fifth of the deviation of the targets (variant 1), or what goes a fifth of the way to a target (variant 2).
    epsilon: a residual up to this is no error (regression).
    """

    aggressiveness: float | str = "auto"
    epsilon: float = 0.1

    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    rule: ClassVar[int] = 1  # PA-I or PA-II
    shorter_steps: ClassVar[str] = "lower aggressiveness"

    def check(self) -> None:
        super().check()
        if self.aggressiveness != "auto":
            positive(aggressiveness=self.aggressiveness)
        at_least(0.0, epsilon=self.epsilon)

    def losses(self, task: str) -> tuple[str, ...]:
        return ("epsilon-insensitive",) if task == REGRESSION else ("hinge",)

    def depends_on_data(self, task: str) -> bool:
        longest = self.rule == 1 and task == REGRESSION
        return super().depends_on_data(task) or (self.aggressiveness == "auto" and longest)

    def settle(self, task: str, sample: Sample) -> Self:
        settled = super().settle(task, sample)
        if self.aggressiveness != "auto":
            return settled
        C = 1.0
        if task == REGRESSION:
            C = FIRST_STEP * sample.deviation if self.rule == 1 else 0.5 * FIRST_STEP / (1.0 - FIRST_STEP)
        return replace(settled, aggressiveness=C)

    def aggressive(self, task: str, dtype: Any, variant: int) -> AggressiveRecord:
        loss: Loss = EpsilonInsensitive(self.epsilon) if task == REGRESSION else Hinge()
        return AggressiveRecord(loss.lower(task, dtype), float(self.aggressiveness), variant)


@inlined
def take_aggressive_step(record, state, scratch, x, target, weight, scores):
    """Begin a round: write -u into the slope; return (loss, tau, k(x, x) if there is a loss).

    A sample weight multiplies tau; it is 0 where k(x, x) = 0 (the zero row under a linear kernel), along which nothing
    moves. Where it would be too long no round begins: the loss is NaN, tau 0.
    """
    rule, g = record.aggressive, scratch.common.slope
    loss = slope(rule.loss, target, scores, g)
    own, reach, tau = 0.0, 0.0, 0.0
    if loss > 0.0:
        own = expansion.own_value(record.kernel, x, scratch.row)
        for k in range(g.shape[0]):
            reach += g[k] * g[k] * own
    if reach > 0.0:
        C = rule.aggressiveness
        tau = weight * (min(C, loss / reach) if rule.variant == 1 else loss / (reach + 0.5 / C))
    if too_long(g, tau):
        return np.nan, 0.0, own
    state.t[()] += 1
    return loss, tau, own
