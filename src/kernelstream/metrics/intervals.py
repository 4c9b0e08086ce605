"""How good intervals are that a stream's own residuals give (`numerics.intervals`): how many hold the target, how wide.

Such an interval is made of values and targets alone, so that these metrics tell it of any model's predictions, row by
row as they come: of a kernelstream regression they are the intervals that it shows.
"""

import math
from typing import Any, ClassVar, Self

import numpy as np

from ..numerics.conformal import LEVELS, take_residuals
from ..numerics.intervals import Intervals, intervals_from, place_of_level
from ..tasks import REGRESSION
from .base import Metric, counted

LEVEL = 0.9


class IntervalMetric(Metric):
    """The mean over rows of something of the interval that was foreseen for each."""

    tasks = (REGRESSION,)
    counts_infinite: ClassVar[bool] = False  # intervals before there are rows enough

    def __init__(self, classes: Any = None, *, level: float = LEVEL) -> None:
        super().__init__(classes)
        place_of_level(level)
        self.level, self._intervals, self._counted = level, Intervals(), 0

    def of(self, residuals: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Of residuals whose intervals went from f + low to f + high."""
        raise NotImplementedError

    def errors(self, y_true: np.ndarray, shown: np.ndarray) -> np.ndarray:
        residuals = y_true.astype(np.float64) - shown.astype(np.float64)
        reaches = np.zeros((len(residuals), len(LEVELS), 2))
        take_residuals(self._intervals.residuals, np.array(LEVELS), residuals, reaches)
        low, high = reaches[:, place_of_level(self.level)].T
        counted = np.isfinite(high - low) | self.counts_infinite
        self._counted += int(counted.sum())
        return self.of(residuals[counted], low[counted], high[counted])

    @property
    def value(self) -> float:
        return self.total / self._counted if self._counted else math.nan

    def fresh(self, classes: Any = None) -> Self:
        return type(self)(self.classes if classes is None else classes, level=self.level)

    def _join(self, other: Self) -> None:
        if other.level != self.level:
            raise ValueError(f"{self.name} of level {self.level} cannot be merged with that of {other.level}.")
        super()._join(other)
        weight = other.n / max(self.n + other.n, 1)
        self._intervals = self._intervals.merged(other._intervals, weight)
        self._counted += other._counted

    def state(self) -> dict[str, Any]:
        kept = {name: (array.dtype.name, array.tolist()) for name, array in self._intervals.arrays().items()}
        return super().state() | {"level": self.level, "counted": self._counted, "intervals": kept}

    def restore(self, state: dict[str, Any]) -> Self:
        super().restore(state)
        arrays = {name: np.array(values, kind) for name, (kind, values) in state["intervals"].items()}
        self.level, self._intervals = LEVELS[place_of_level(state["level"])], intervals_from(arrays)
        (self._counted,) = counted([state["counted"]]).tolist()
        return self


class Coverage(IntervalMetric):
    """The share of rows whose interval, of level 0.9 unless another is given, held the target."""

    name = "coverage"
    larger_is_better = True
    counts_infinite = True

    def of(self, residuals: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return ((low <= residuals) & (residuals <= high)).astype(np.float64)


class IntervalWidth(IntervalMetric):
    """The mean width of the intervals that are finite, in the unit of the target."""

    name = "interval_width"

    def of(self, residuals: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return np.maximum(high - low, 0.0)


class IntervalScore(IntervalMetric):
    """The mean of Winkler's score of the finite intervals: the width, and 2 / (1 - level) times how far beyond it the
    target lies. Least where both ends are the right quantiles.
    """

    name = "interval_score"

    def of(self, residuals: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        beyond = np.maximum(low - residuals, 0.0) + np.maximum(residuals - high, 0.0)
        return np.maximum(high - low, 0.0) + 2.0 / (1.0 - self.level) * beyond
