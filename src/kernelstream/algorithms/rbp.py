"""RBP: randomised budget Perceptron. On a mistake add; when full, a term chosen at random makes room.

Cavallanti, Cesa-Bianchi, Gentile: Tracking the Best Hyperplane with a Simple Budget Perceptron (2007).

    f <- f - a_r k(s_r, .) + u k(x, .),  r uniform in 1 .. B    when m <= 0 and the budget is full

Symbols: B budget.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Shape, step
from ..kernels import KernelRecord
from ..numerics import expansion, rng
from ..numerics.budgets import random_slot
from ..numerics.expansion import Expansion
from ._expansion import expansion_record
from ._mistakes import MistakeRecord, MistakesOnBudget, find_mistake


@expansion_record
class RBPRecord(NamedTuple):
    kernel: KernelRecord
    mistakes: MistakeRecord


class RBPState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    generator: np.ndarray


@dataclass
class RBP(MistakesOnBudget):
    name: ClassVar[str] = "rbp"
    paper: ClassVar[str] = "Cavallanti et al. 2007"

    def lower(self, task: str, dtype: Any) -> RBPRecord:
        return RBPRecord(self.kernel.lower(dtype), self.mistakes(task, dtype))

    def init(self, shape: Shape) -> RBPState:
        f, t = super().init(shape)
        return RBPState(f, t, rng.generator(shape.seed))


@step.register(RBPRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, length = find_mistake(record.mistakes, state.t, g, target, weight, scores)
    if length > 0.0:
        n = state.f.size[()]
        slot = random_slot(state.generator, n) if expansion.full(state.f) else n
        expansion.put(record.kernel, state.f, slot, x, -length, g, scratch.row)
    return loss
