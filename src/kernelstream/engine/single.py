"""One dense row at a time through a runner, without what a block costs: the room is made once, the call is direct."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..numerics.compile import INTERPRETED, compiled, direct
from ..numerics.interrupts import held
from ..numerics.memory import aligned
from ..numerics.rows import LARGEST, Block
from ..numerics.tiles import DOT
from .loop import BOTH, NEVER, AtOnce, Examples, learn_rows, score_rows

_REALS = (np.dtype(np.float32), np.dtype(np.float64))


@compiled
def _write(x, values, largest):
    """values = x in their precision; return whether all are finite and not too large."""
    bad = 0
    for j in range(values.shape[0]):
        values[j] = x[j]
        bad += not abs(values[j]) <= largest
    return bad == 0


def _learn_whole(learn: Callable[..., int], *arguments: Any) -> int:
    with held():
        return learn(*arguments)


class Single:
    """Room for one row of a runner's model as it stands: whoever changes the model's arrays makes another."""

    def __init__(self, runner: Any):
        shape, scratch = runner.shape, runner.scratch()
        self.values = aligned(np.zeros(shape.width, shape.dtype))
        self.scores = np.zeros((1, shape.n_outputs), shape.dtype)
        self.targets, self.weights, self.losses = np.zeros(1), np.ones(1), np.zeros(1)
        block = Block(np.array([0, shape.width]), np.arange(shape.width), self.values, 1)
        examples = Examples(block, self.targets, self.weights, self.scores, self.losses, AtOnce())
        self._learning = runner.record, runner._state, scratch, examples, 0, 1, BOTH
        self._scoring = runner.record, runner._state, scratch, block, self.scores, 0, 1, NEVER
        learn_rows(*self._learning[:-3], 0, 0, BOTH)
        score_rows(*self._scoring[:-3], 0, 0, NEVER)
        self._block, self._products = block, [one for one in runner.spec.kernels if one.metric == DOT]
        self._safe = 0.0  # rows of kernels of products are safe to learn from up to this square
        self._learn, self._score = direct(learn_rows, *self._learning), direct(score_rows, *self._scoring)
        if INTERPRETED:  # compiled, no interrupt comes into a step
            self._learn = functools.partial(_learn_whole, self._learn)

    def write(self, x: Any) -> bool:
        """Take a row; False when it is not a plain one that fits, and is for others to look at."""
        if type(x) is not np.ndarray or x.shape != self.values.shape or x.dtype not in _REALS:
            return False
        return x.flags.c_contiguous and x.flags.writeable and _write(x, self.values, LARGEST)

    def learn(self) -> int:
        """Predict, then learn, the row; what `learn_rows` returns."""
        if self._products:
            square = float(np.dot(self.values, self.values))
            if not square <= self._safe:
                for kernel in self._products:
                    kernel.require_values(self._block, self.values.dtype)
                self._safe = square
        return self._learn(*self._learning)

    def score(self) -> int:
        return self._score(*self._scoring)
