"""Course: the error of a served model along its stream, over all rows and over the newest, with marks where it rose.

Errors are of predictions that were made before their rows were learned. Marks are River's (ADWIN, which sees
each error), where River is installed; its detector begins anew with each start of the service.
"""

import math
from collections import deque
from typing import Any

import numpy as np

WINDOW = 500  # newest rows
_POINTS = 240  # of the curve; beyond, every second one is left out
_MARKS = 100
_EVERY = 32  # rows; ADWIN looks for a change as often
_MOST, _FAR = 2**53, 1e150  # rows; an error beyond is taken for this one, so that sums of squares are finite
_NOT_YET = object()


class Course:
    """How well a model has done."""

    def __init__(self, *, squared: bool):
        """squared: errors are squared, and what is shown is their mean's root."""
        self.squared = squared
        self.n, self.total = 0, 0.0
        self.newest: deque[float] = deque(maxlen=WINDOW)
        self.points: list[list[float]] = []  # rows, error of all, error of the newest
        self.stride = 1
        self.marks: list[int] = []  # the newest rows at which the error had risen
        self.risen = 0  # how often it had
        self._detector: Any = _NOT_YET
        self._watched, self._before = 0, 0.0  # rows that the detector saw, and their error before its last look

    @property
    def metric(self) -> str:
        return "rmse" if self.squared else "mistake_rate"

    def errors(self, labels: Any, shown: Any) -> np.ndarray:
        """The error of each row."""
        labels, shown = np.asarray(labels), np.asarray(shown)
        if not self.squared:
            return (labels != shown).astype(np.float64)
        return np.square(np.clip(labels.astype(np.float64) - shown, -_FAR, _FAR))

    def take(self, errors: np.ndarray) -> None:
        """Take in the errors of the next rows."""
        start = 0
        while start < len(errors):  # to the next point of the curve
            stop = min(len(errors), start + self.stride - self.n % self.stride)
            part = errors[start:stop]
            self.n, self.total = self.n + len(part), self.total + float(part.sum())
            self.newest.extend(part[-WINDOW:].tolist())
            if self.n % self.stride == 0:
                self._note()
            start = stop
        if self._detector is _NOT_YET:  # importing River takes its time: with the first row, in the model's own thread
            self._detector = detector()
        if self._detector is not None:
            self._watch(errors)

    def _note(self) -> None:
        self.points.append([self.n, self.of_all, self.of_newest])
        if len(self.points) > _POINTS:
            self.stride *= 2
            self.points = [point for point in self.points if point[0] % self.stride == 0]

    def _watch(self, errors: np.ndarray) -> None:
        start, detector = self.n - len(errors), self._detector
        for t, error in enumerate((np.sqrt(errors) if self.squared else errors).tolist(), 1):
            if self._watched % _EVERY == 0:
                self._before = detector.estimation
            self._watched += 1
            detector.update(error)
            if detector.drift_detected and detector.estimation > self._before:  # errors that fall are learning
                self.marks = [*self.marks, start + t][-_MARKS:]
                self.risen += 1

    @property
    def of_all(self) -> float:
        return self._shown(self.total / self.n) if self.n else math.nan

    @property
    def of_newest(self) -> float:
        return self._shown(math.fsum(self.newest) / len(self.newest)) if self.newest else math.nan

    def _shown(self, mean: float) -> float:
        return math.sqrt(mean) if self.squared else mean

    def state(self) -> dict[str, Any]:
        """A JSON value from which `restored` goes on."""
        names = ("n", "total", "points", "stride", "marks", "risen", "squared")
        return {name: getattr(self, name) for name in names} | {"newest": list(self.newest)}


def restored(state: dict[str, Any]) -> Course:
    """The course that `state` described; ValueError for what it cannot have been."""
    try:
        course = Course(squared=bool(state["squared"]))
        course.n, course.total = whole(state["n"]), _error(state["total"])
        course.stride = max(1, whole(state["stride"]))
        course.newest.extend(_error(error) for error in state["newest"][-WINDOW:])
        course.points = [
            [whole(n), _error(total), _error(newest)] for n, total, newest in state["points"][-2 * _POINTS :]
        ]
        course.marks = [whole(mark) for mark in state["marks"][-_MARKS:]]
        course.risen = max(len(course.marks), whole(state.get("risen", 0)))  # older files do not say
    except (KeyError, TypeError, IndexError, ValueError, OverflowError) as error:
        raise ValueError(f"its course cannot be read ({error!r})") from None
    return course


def whole(value: Any) -> int:
    """A count of a file; ValueError for what is none."""
    if not 0 <= int(value) <= _MOST:
        raise ValueError(f"{value!r:.40} is not between 0 and {_MOST}")
    return int(value)


def _error(value: Any) -> float:
    if not float(value) >= 0.0:
        raise ValueError(f"{value!r:.40} is less than 0, or no number")
    return min(float(value), _FAR**2)


def detector() -> Any:
    """River's ADWIN, or None where River is not installed."""
    try:
        from river.drift import ADWIN
    except ImportError:
        return None
    return ADWIN(clock=_EVERY)
