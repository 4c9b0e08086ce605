"""Kernel Perceptron: on a mistake, add the example.

Freund and Schapire: Large Margin Classification Using the Perceptron Algorithm (1999); LSOKL sec. 7.

    f <- f + u k(x, .)    when m <= 0            (classification; u = y, or e_y - e_s)
    f <- f + eta sign(r) k(x, .)    when |r| > epsilon    (regression; r = y - f(x))

Remarks. LSOKL's regression tables use eta = 0.1 and epsilon = 0.1 on targets scaled to [0, 1].

Symbols: eta learning_rate, epsilon epsilon.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..engine import step
from ..kernels import KernelRecord
from ..numerics import expansion
from ._expansion import ask_for_room, expansion_record
from ._mistakes import MistakeDriven, MistakeRecord, find_mistake


@expansion_record
class PerceptronRecord(NamedTuple):
    kernel: KernelRecord
    mistakes: MistakeRecord


@dataclass
class Perceptron(MistakeDriven):
    name: ClassVar[str] = "perceptron"
    paper: ClassVar[str] = "Freund, Schapire 1999"
    bounded: ClassVar[bool] = False

    def lower(self, task: str, dtype: Any) -> PerceptronRecord:
        return PerceptronRecord(self.kernel.lower(dtype), self.mistakes(task, dtype))


@step.register(PerceptronRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, length = find_mistake(record.mistakes, state.t, g, target, weight, scores)
    if length > 0.0:
        expansion.add(record.kernel, state.f, x, -length, g, scratch.row)
        ask_for_room(state.f, 1, scratch)
    return loss
