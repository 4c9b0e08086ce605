"""OGD: kernel online gradient descent.

Kivinen, Smola, Williamson: Online Learning with Kernels (2001); the unbounded learner of LSOKL sec. 7.

    f <- (1 - eta lambda) f - eta l'(f(x), y) k(x, .)

Remarks. A round in which the loss has no slope adds nothing. LSOKL: hinge, eta = 0.2 (binary), 0.5 (multiclass);
squared loss with slope r (no factor 2) and an update only for |r| > 0.1 in regression, which is threshold = 0.005 on
our r^2 / 2.

Symbols: eta learning_rate, lambda regularization, epsilon threshold.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..engine import step
from ..kernels import KernelRecord
from ..numerics import expansion
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._descent import Descent, DescentRecord, take_slope
from ._expansion import ExpansionAlgorithm, ask_for_room, expansion_record


@expansion_record
class OGDRecord(NamedTuple):
    kernel: KernelRecord
    descent: DescentRecord


@dataclass
class OGD(Descent, ExpansionAlgorithm):
    name: ClassVar[str] = "ogd"
    paper: ClassVar[str] = "Kivinen, Smola, Williamson 2001"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = False

    def lower(self, task: str, dtype: Any) -> OGDRecord:
        return OGDRecord(self.kernel.lower(dtype), self.descent(task, dtype))


@step.register(OGDRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, eta, move = take_slope(record.descent, state.t, g, target, weight, scores)
    if record.descent.regularization > 0.0:
        expansion.shrink(state.f, 1.0 - eta * record.descent.regularization)
    if move > 0.0:
        expansion.add(record.kernel, state.f, x, -move, g, scratch.row)
        ask_for_room(state.f, 1, scratch)
    return loss
