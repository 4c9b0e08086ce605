"""Kernel Perceptron: on a mistake, add the example.

Freund and Schapire: Large Margin Classification Using the Perceptron Algorithm (1999); LSOKL sec. 7.

    f <- f + u k(x, .)    when m <= 0            (classification; u = y, or e_y - e_s)
    f <- f + eta sign(r) k(x, .)    when |r| > epsilon    (regression; r = y - f(x))

Remarks. In classification the learning rate scales f and changes no prediction. LSOKL's regression tables use
eta = 0.1 and epsilon = 0.1 on targets scaled to [0, 1].

Symbols: eta learning_rate, epsilon epsilon.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .. import expansion
from ..engine import evaluate, lift, step
from ..kernels import KernelRecord
from ..losses import BINARY, MULTICLASS, REGRESSION, EpsilonInsensitive, Loss, LossRecord, PerceptronLoss, slope
from ..parameters import at_least, positive
from ._expansion import ExpansionAlgorithm


class PerceptronRecord(NamedTuple):
    kernel: KernelRecord
    loss: LossRecord
    learning_rate: float


@dataclass
class Perceptron(ExpansionAlgorithm):
    learning_rate: float = 1.0
    epsilon: float = 0.1

    name: ClassVar[str] = "perceptron"
    paper: ClassVar[str] = "Freund, Schapire 1999"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = False

    def check(self) -> None:
        super().check()
        positive(learning_rate=self.learning_rate)
        at_least(0.0, epsilon=self.epsilon)

    def losses(self, task: str) -> tuple[str, ...]:
        return ("epsilon-insensitive",) if task == REGRESSION else ("perceptron",)

    def lower(self, task: str, dtype: Any) -> PerceptronRecord:
        loss: Loss = EpsilonInsensitive(self.epsilon) if task == REGRESSION else PerceptronLoss()
        return PerceptronRecord(self.kernel.lower(dtype), loss.lower(task, dtype), float(self.learning_rate))


@lift.register(PerceptronRecord)
def _(record, state, scratch, block, start, stop):
    pass


@evaluate.register(PerceptronRecord)
def _(record, state, scratch, x, scores):
    expansion.evaluate(record.kernel, state.f, x, scratch.row, scores)


@step.register(PerceptronRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    state.t[()] += 1
    loss = slope(record.loss, target, scores, g)
    mistake = False
    for k in range(g.shape[0]):
        mistake = mistake or g[k] != 0
    if mistake and weight > 0.0:
        expansion.add(record.kernel, state.f, x, -record.learning_rate * weight, g)
        scratch.common.halt[()] = state.f.size[()] == state.f.points.shape[1]
    return loss
