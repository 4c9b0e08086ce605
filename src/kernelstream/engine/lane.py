"""One row of Python's numbers at a time, in the fewest steps, for whoever has a model alone: no lock is taken, nothing
is copied. What a lane does not take is for the learner to look at.
"""

from collections.abc import Sequence
from typing import Any

from ..numerics.calls import NO_ROW, SAME_ROW, reader
from ..numerics.rows import LARGEST
from .runner import Runner
from .single import note_interrupted

NEVER = -1


def _view(array: Any) -> Any:
    """An array whose single numbers are read and written faster than by NumPy."""
    return memoryview(array)


class Lane:
    """Rows of a learner's model as it stands; once it has got other arrays, a lane takes none.

    names: of the values of a row, in the order of the features.
    """

    def __init__(self, learner: Any, names: Sequence[Any]):
        runner: Runner = learner._runner
        if runner.is_due:
            runner.make_ready()
        self._learner, self._runner, self._singles = learner, runner, runner._singles
        self._single = single = runner._single()
        self._read = reader(names, single.values)
        arrays: Any = single.targets, single.weights, runner._halt, runner.learned
        self._target, self._weight, self._halt, self._learned = (_view(array) for array in arrays)
        self.scores = single.scores[0]
        self.first_score = _view(self.scores)  # what there is of one output
        self._scored = NEVER  # how many rows were learned when the row at hand was scored: it is not scored again

    def __reduce__(self) -> Any:
        return type(None), ()  # a copy of its learner has none

    def _is_open(self) -> bool:
        """Whether this is still the model's; what an interrupt has left to be done is done."""
        if self._halt[()]:
            self._runner.make_ready()
        return self._runner._singles is self._singles and self._learner._runner is self._runner

    def score(self, x: Any) -> bool:
        """`scores` = f(x), learning nothing; False for a row that is not plain numbers, all that there are."""
        self._scored = NEVER
        if not (self._is_open() and self._read(x)):
            return False
        row = self._single.score()
        if row >= 0:
            self._runner._require_finite(row)
        self._scored = self._learned[()]
        return True

    def learn(self, x: Any, target: float, weight: float) -> bool:
        """Predict, then learn, a row; False for one that is for others to look at."""
        read = self._read(x)
        if read != SAME_ROW:
            self._scored = NEVER
        if read == NO_ROW or not (0.0 <= weight <= LARGEST and self._is_open()):
            return False
        single, row = self._single, self._learned[()]
        single.require_safe()
        self._target[0], self._weight[0] = target, weight
        calibration = self._learner._calibration
        try:
            reached = single.step() if self._scored == row else single.learn()
            self._learner.losses = single.losses
            if reached < 0:
                self._runner._note(reached)
            if calibration:
                calibration.learn_one(single.scores, target, weight, row)
        except BaseException:
            if calibration:
                note_interrupted(calibration.learn_one, single, self._learned, row)
            raise
        if self._halt[()]:
            self._runner.make_ready()
        return True
