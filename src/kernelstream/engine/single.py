"""One dense row at a time through a runner, without what a block costs: the room is made once, and so are the calls."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..numerics.calls import bound
from ..numerics.compile import INTERPRETED, compiled
from ..numerics.interrupts import held
from ..numerics.memory import aligned
from ..numerics.rows import LARGEST, Block
from ..numerics.tiles import DOT
from .loop import BOTH, NEVER, STEP, AtOnce, Examples, learn_rows, score_rows

_REALS = (np.dtype(np.float32), np.dtype(np.float64))


@compiled
def _write(x, values, largest):
    """values = x in their precision; return whether all are finite and not too large."""
    bad = 0
    for j in range(values.shape[0]):
        values[j] = x[j]
        bad += not abs(values[j]) <= largest
    return bad == 0


def _whole(learn: Callable[[], int]) -> int:
    with held():
        return learn()


class Single:
    """Room for one row of a runner's model as it stands: whoever changes the model's arrays makes another."""

    def __init__(self, runner: Any):
        shape, scratch = runner.shape, runner.scratch()
        self.values = aligned(np.zeros(shape.width, shape.dtype))
        self.scores = np.zeros((1, shape.n_outputs), shape.dtype)
        self.targets, self.weights, self.losses = np.zeros(1), np.ones(1), np.zeros(1)
        block = Block(np.array([0, shape.width]), np.arange(shape.width), self.values, 1)
        examples = Examples(block, self.targets, self.weights, self.scores, self.losses, AtOnce())
        learning = runner.record, runner._state, scratch, examples
        scoring = runner.record, runner._state, scratch, block, self.scores
        learn_rows(*learning, 0, 0, BOTH)
        score_rows(*scoring, 0, 0, NEVER)
        self._block, self._products = block, [one for one in runner.spec.kernels if one.metric == DOT]
        self._safe = 0.0  # rows of kernels of products are safe to learn from up to this square
        self.score = bound(score_rows, *scoring, 0, 1, NEVER)  # what `score_rows` returns
        # Predict, then learn, a row that `require_safe` has seen; or learn one whose scores are there. What
        # `learn_rows` returns.
        self.learn, self.step = bound(learn_rows, *learning, 0, 1, BOTH), bound(learn_rows, *learning, 0, 1, STEP)
        if INTERPRETED:  # compiled, no interrupt comes into a step
            self.learn, self.step = functools.partial(_whole, self.learn), functools.partial(_whole, self.step)

    def write(self, x: Any, scale: Callable[[Any], Any] | None = None) -> bool:
        """Take a row as `scale` gives it, if there is one; False when it is not plain numbers, or none that fit, and is
        for others to look at.
        """
        if type(x) is list or type(x) is tuple:
            x = np.asarray(x)
        if type(x) is not np.ndarray or x.shape != self.values.shape:
            return False
        if not (x.flags.carray and x.dtype in _REALS):  # compiled code knows one kind of array only
            if x.dtype.kind not in "fiub" or x.dtype.itemsize > 8:
                return False
            x = x.astype(np.float64)
        if not _write(x, self.values, LARGEST):
            return False
        if scale is None:
            return True
        x = scale(x)
        return type(x) is np.ndarray and x.shape == self.values.shape and _write(x, self.values, LARGEST)

    def require_safe(self) -> None:
        """ValueError for a row that is too large for one of the kernels."""
        if self._products:
            square = float(np.dot(self.values, self.values))
            if not square <= self._safe:
                for kernel in self._products:
                    kernel.require_values(self._block, self.values.dtype)
                self._safe = square


def note_interrupted(note: Callable[..., None], single: Single, learned: Any, row: int) -> None:
    """Where an interrupt came between learning a row and noting it: note it, once more if it was noted."""
    if learned[()] > row:
        with held():
            note(single.scores, float(single.targets[0]), float(single.weights[0]), row)
