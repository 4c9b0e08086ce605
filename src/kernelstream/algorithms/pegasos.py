"""Kernel Pegasos: stochastic gradient descent on the regularised risk with step 1 / (lambda t).

Shalev-Shwartz, Singer, Srebro, Cotter: Pegasos (2011); AVM paper, Alg. 1.

    f <- (1 - 1/t) f - (1 / (lambda t)) l'(f(x), y) k(x, .)

Remarks. Any loss; the papers use the hinge. Where slopes are not bounded, and in regression, rounds are counted from
t_0 (`start`) on, see `_risk`, which says too how f is kept.

Symbols: lambda regularization.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..engine import step
from ..numerics import expansion
from ._expansion import ask_for_room
from ._risk import RegularisedRisk, RiskRecord, risk_record, take_risk_slope


@risk_record
class PegasosRecord(NamedTuple):
    risk: RiskRecord


@dataclass
class Pegasos(RegularisedRisk):
    name: ClassVar[str] = "pegasos"
    paper: ClassVar[str] = "Shalev-Shwartz et al. 2011"
    bounded: ClassVar[bool] = False

    def lower(self, task: str, dtype: Any) -> PegasosRecord:
        return PegasosRecord(self.risk(task, dtype))


@step.register(PegasosRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, length = take_risk_slope(record.risk, state, g, target, weight, scores)
    if length > 0.0:
        expansion.add(record.risk.kernel, state.f, x, -length, g, scratch.row)
        ask_for_room(state.f, 1, scratch)
    return loss
