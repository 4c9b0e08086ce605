"""KLMS: kernel least mean squares. Every row becomes a point, with its error as coefficient.

Liu, Pokharel, Principe: The Kernel Least-Mean-Square Algorithm (2008), eq. 13-15.

    e = y - f(x);    f <- f + eta e k(x, .)

Remarks. Classes are said by -1 and 1, and each output has its error: with a margin loss it would be OGD, whose squared
loss in regression this is. It has no ridge, as the paper shows that none is needed: the step size is one. A row of a
weight above 1 counts as so many of it, one after the other, whose errors shrink. Unbounded; qklms is what it becomes in
few points.

Symbols: eta learning_rate.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import step
from ..kernels import KernelRecord
from ..losses import any_slope, slope, too_long
from ..numerics import expansion
from ..parameters import positive
from ._expansion import ask_for_room, expansion_record
from ._squares import SquaredErrors, SquaresRecord, find_slope, step_of


@expansion_record
class KLMSRecord(NamedTuple):
    kernel: KernelRecord
    squares: SquaresRecord
    learning_rate: float


@dataclass
class KLMS(SquaredErrors):
    """learning_rate: eta, the share of an error that is made good at its row; below 2 / k(x, x), or it diverges."""

    learning_rate: float = 0.2

    name: ClassVar[str] = "klms"
    paper: ClassVar[str] = "Liu, Pokharel, Principe 2008"
    bounded: ClassVar[bool] = False

    def check(self) -> None:
        super().check()
        positive(learning_rate=self.learning_rate)

    def lower(self, task: str, dtype: Any) -> KLMSRecord:
        return KLMSRecord(self.kernel.lower(dtype), self.squares(task, dtype), float(self.learning_rate))


@step.register(KLMSRecord)
def _(record, state, scratch, x, target, weight, scores):
    g, own = scratch.common.slope, expansion.own_value(record.kernel, x, scratch.row) if weight > 1.0 else 0.0
    length = step_of(record.learning_rate, weight, own)
    loss = slope(record.squares.loss, target, scores, g)
    find_slope(record.squares, target, scores, g)
    if too_long(g, length):
        return np.nan
    state.t[()] += 1
    if length > 0.0 and any_slope(g):
        expansion.add(record.kernel, state.f, x, -length, g, scratch.row)
        ask_for_room(state.f, 1, scratch)
    return loss
