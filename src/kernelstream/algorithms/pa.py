"""PA-I and PA-II: kernel passive-aggressive learning.

Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms (2006).

    f <- f + tau u k(x, .)    whenever l > 0; tau as in `_passive_aggressive`

Symbols: C aggressiveness, epsilon epsilon.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..engine import step
from ..kernels import KernelRecord
from ..numerics import expansion
from ..parameters import one_of
from ._expansion import ask_for_room, expansion_record
from ._passive_aggressive import AggressiveRecord, PassiveAggressive, take_aggressive_step


@expansion_record
class PARecord(NamedTuple):
    kernel: KernelRecord
    aggressive: AggressiveRecord


@dataclass
class PA(PassiveAggressive):
    """variant: 1 bounds a step by aggressiveness (PA-I), 2 softens it (PA-II)."""

    variant: int = 1

    paper: ClassVar[str] = "Crammer et al. 2006"
    bounded: ClassVar[bool] = False

    @property
    def rule(self) -> int:  # type: ignore[override]
        return self.variant

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"pa-{self.variant}"

    def check(self) -> None:
        super().check()
        one_of((1, 2), variant=self.variant)

    def lower(self, task: str, dtype: Any) -> PARecord:
        return PARecord(self.kernel.lower(dtype), self.aggressive(task, dtype, self.variant))


@step.register(PARecord)
def _(record, state, scratch, x, target, weight, scores):
    loss, tau, _ = take_aggressive_step(record, state, scratch, x, target, weight, scores)
    if tau > 0.0:
        expansion.add(record.kernel, state.f, x, -tau, scratch.common.slope, scratch.row)
        ask_for_room(state.f, 1, scratch)
    return loss
