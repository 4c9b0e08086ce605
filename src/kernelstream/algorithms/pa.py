"""PA-I and PA-II: kernel passive-aggressive learning.

Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms (2006).

    f <- f + tau u k(x, .)    whenever l > 0; tau as in `_passive_aggressive`

Symbols: C aggressiveness, epsilon epsilon.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..engine import evaluate, step
from ..numerics import expansion
from ..parameters import one_of
from ._passive_aggressive import AggressiveRecord, PassiveAggressive, take_aggressive_step


class PARecord(NamedTuple):
    aggressive: AggressiveRecord


@dataclass
class PA(PassiveAggressive):
    variant: int = 1

    paper: ClassVar[str] = "Crammer et al. 2006"
    bounded: ClassVar[bool] = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"pa-{self.variant}"

    def check(self) -> None:
        super().check()
        one_of((1, 2), variant=self.variant)

    def lower(self, task: str, dtype: Any) -> PARecord:
        return PARecord(self.aggressive(task, dtype, self.variant))


@evaluate.register(PARecord)
def _(record, state, scratch, x, scores):
    expansion.evaluate(record.aggressive.kernel, state.f, x, scratch.row, scores)


@step.register(PARecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, tau, _ = take_aggressive_step(record.aggressive, state.t, g, target, weight, x, scratch.row, scores)
    if tau > 0.0:
        expansion.add(record.aggressive.kernel, state.f, x, -tau, g, scratch.row)
        scratch.common.halt[()] = state.f.size[()] == state.f.points.shape[1]
    return loss
