"""A model that begins behind a shift of the stream; if it clearly errs less than the one before, it takes over.

The rows behind a shift are kept. It learns a piece of them beside the stream (`engine.ahead`) while the next comes, so
that after TRIED rows it is what a learner is that began at the shift.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from ..engine import Examples, Shape
from ..engine.loop import AtOnce
from ..numerics.rows import to_block
from ..numerics.stepwise import Stepwise
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._anew import SEVERAL, TWO, VALUES

if TYPE_CHECKING:
    from ..engine.ahead import Ahead
    from ._auto_state import AutoRecord, AutoState
    from .auto import Auto

TRIED = 1280  # rows behind the shift, a multiple of a piece
TOGETHER = 16  # rows of one step
CLEARLY = 1.5  # deviations of the sum of what it errs less in each row


class Heir:
    def __init__(self, spec: "Auto", record: "AutoRecord", state: "AutoState", ahead: "Ahead"):
        task = {VALUES: REGRESSION, TWO: BINARY, SEVERAL: MULTICLASS}[record.task]
        shape = Shape(len(state.map), len(state.mean), int(state.seed), state.map.dtype)
        self.kept, self.regression = state.kept, record.task == VALUES
        self.errors, self.reached = np.zeros(TRIED), 0
        self.runner = ahead.runner(spec, task, shape)

    def replay(self, stop: int) -> Stepwise["Heir"]:
        """It, when it has learned the rows before this one."""
        kept, shape = self.kept, self.runner.shape
        for row in range(self.reached, stop, TOGETHER):
            yield
            some = slice(row, row + TOGETHER)
            targets, n = kept.targets[some], TOGETHER
            block, _ = to_block(kept.x[some], shape.dtype)
            scores, losses = np.zeros((n, shape.n_outputs), shape.dtype), np.zeros(n)
            try:
                self.runner.learn(Examples(block, targets, kept.weights[some], scores, losses, AtOnce()), 1)
            except FloatingPointError:  # it has diverged, and is not taken
                self.errors[row:] = np.inf
                return self
            self.reached = row + TOGETHER
            self.errors[some] = np.abs(scores[:, 0] - targets) if self.regression else losses
        return self

    def is_better(self) -> bool:
        """Whether it erred clearly less in the second half of the rows than the model that went on."""
        last = slice(TRIED // 2, TRIED)
        less = self.kept.weights[last] * (self.kept.errors[last] - self.errors[last])
        return bool(np.isfinite(self.errors).all() and less.sum() > CLEARLY * math.sqrt(less @ less))

    def state(self, old: "AutoState") -> "AutoState":
        """Its state, which counts rows from the shift on."""
        state = self.runner.state
        return state._replace(shift=state.shift._replace(heirs=old.shift.heirs + 1))
