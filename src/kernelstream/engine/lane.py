"""One row of Python's numbers at a time, in the fewest steps, for whoever has a model alone: no lock is taken, nothing
is copied. What a lane does not take is for the learner to look at.
"""

import struct
from collections.abc import Callable
from math import hypot
from typing import Any

from ..numerics.rows import LARGEST
from .runner import Runner

_FORMATS = {"float32": "f", "float64": "d"}
_NO_ROW = (KeyError, TypeError, OverflowError, struct.error)


def _view(array: Any) -> Any:
    """An array whose single numbers are read and written faster than by NumPy."""
    return memoryview(array)


class Lane:
    """Rows of a learner's model as it stands; once it has got other arrays, a lane takes none.

    n: how many values a row has. values: a row's, in the order of the features; KeyError where it lacks one.
    """

    def __init__(self, learner: Any, n: int, values: Callable[[Any], tuple[Any, ...]]):
        runner: Runner = learner._runner
        if runner.is_due:
            runner.make_ready()
        self._learner, self._runner, self._n, self._values = learner, runner, n, values
        self._singles = runner._singles
        self._single = single = runner._single()
        self._pack = struct.Struct(f"{n}{_FORMATS[runner.shape.dtype.name]}").pack_into
        self._learned = runner.learned
        arrays: Any = single.values, single.targets, single.weights, runner._halt
        self._row, self._target, self._weight, self._halt = (_view(array) for array in arrays)
        self._losses = single.losses
        self.scores = single.scores[0]
        self.first_score = _view(self.scores)  # what there is of one output
        self._written: tuple[Any, ...] | None = None

    def __reduce__(self) -> Any:
        return type(None), ()  # a copy of its learner has none

    def _write(self, x: Any) -> bool:
        runner = self._runner
        if len(x) != self._n or runner._singles is not self._singles or self._learner._runner is not runner:
            return False
        try:
            values = self._values(x)
            if values != self._written:
                self._written = None
                if not hypot(*values) <= LARGEST:
                    return False
                self._pack(self._row, 0, *values)
                self._written = values
        except _NO_ROW:
            return False
        return True

    def score(self, x: Any) -> bool:
        """`scores` = f(x), learning nothing; False for a row that is not plain numbers, all that there are."""
        if not self._write(x):
            return False
        single = self._single
        row = single._score(*single._scoring)
        if row >= 0:
            self._runner._require_finite(row)
        return True

    def learn(self, x: Any, target: float, weight: float) -> bool:
        """Predict, then learn, a row; False for one that is for others to look at."""
        if not (0.0 <= weight <= LARGEST and self._write(x)):
            return False
        self._target[0], self._weight[0] = target, weight
        single = self._single
        reached = single.learn() if single._products else single._learn(*single._learning)
        self._learner.losses = self._losses
        if reached < 0:
            self._runner._note(reached)
        learner, row = self._learner, int(self._learned[()]) - 1
        if learner._calibration:
            learner._calibration.learn_one(single.scores, target, weight, row)
        if self._halt[()]:
            self._runner.make_ready()
        return True
