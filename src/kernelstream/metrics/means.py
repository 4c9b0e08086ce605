"""Metrics that are means of an error, and R2, which compares one with the deviation of the target."""

import math
from typing import Any, Self

import numpy as np

from ..tasks import REGRESSION
from ._moments import gather_moments
from .base import ASKED, CLASSIFICATION, PROBABILITIES, SCORES, Metric, check_kinds, places_of_classes

# The smallest probability that log_loss believes, so that one certain mistake does not make it infinite.
_LEAST_PROBABILITY = 1e-15


class MistakeRate(Metric):
    """The share of rows whose label is not the one shown."""

    name = "mistake_rate"
    tasks = CLASSIFICATION

    def errors(self, y_true: np.ndarray, shown: np.ndarray) -> np.ndarray:
        check_kinds(self.name, y_true, shown)
        return np.asarray(y_true != shown, np.float64)


class AskedRate(Metric):
    """The share of rows whose labels were asked for, of models that ask for some (`evaluate.Asking`)."""

    name = "asked_rate"
    needs = ASKED
    tasks = CLASSIFICATION

    def errors(self, y_true: np.ndarray, shown: np.ndarray) -> np.ndarray:
        return np.asarray(shown, np.float64)


class MSE(Metric):
    """The mean squared error."""

    name = "mse"
    tasks = (REGRESSION,)

    def errors(self, y_true: np.ndarray, shown: np.ndarray) -> np.ndarray:
        return np.square(y_true.astype(np.float64) - shown)


class RMSE(MSE):
    """The square root of the mean squared error, in the unit of the target."""

    name = "rmse"

    @property
    def value(self) -> float:
        return math.sqrt(super().value)


class MAE(Metric):
    """The mean absolute error, in the unit of the target."""

    name = "mae"
    tasks = (REGRESSION,)

    def errors(self, y_true: np.ndarray, shown: np.ndarray) -> np.ndarray:
        return np.abs(y_true.astype(np.float64) - shown)


class R2(MSE):
    """The share of the target's variance that was predicted: 1 - squared errors / squared deviations from the mean.

    The deviations are Welford's sums, which do not cancel. NaN before the second row; targets that never changed give 1
    without an error and 0 with one.
    """

    name = "r2"
    larger_is_better = True

    def __init__(self, classes: Any = None) -> None:
        super().__init__(classes)
        self._moments = np.zeros(2)  # the mean, and the sum of squared deviations from it

    @property
    def value(self) -> float:
        varied = float(self._moments[1])
        if self.n < 2:
            return math.nan
        return 1.0 - self.total / varied if varied > 0 else float(self.total == 0)

    def _take(self, y_true: np.ndarray, shown: np.ndarray) -> None:
        super()._take(y_true, shown)
        gather_moments(self._moments, self.n, np.array(y_true, np.float64))

    def _join(self, other: Self) -> None:
        """Chan's update."""
        super()._join(other)
        share = other.n / max(self.n + other.n, 1)
        shift = other._moments[0] - self._moments[0]
        self._moments += (shift * share, other._moments[1] + shift**2 * (self.n * share))

    def state(self) -> dict[str, Any]:
        return super().state() | {"moments": [float(m).hex() for m in self._moments]}

    def restore(self, state: dict[str, Any]) -> Self:
        self._moments = np.array([float.fromhex(m) for m in state["moments"]])
        if self._moments.shape != (2,) or not (np.isfinite(self._moments).all() and self._moments[1] >= 0.0):
            raise ValueError(f"a state of {self.name} has the moments {self._moments.tolist()}")
        return super().restore(state)


class LogLoss(Metric):
    """The mean of -log of the probability that was given to the true class, no probability counted below 1e-15."""

    name = "log_loss"
    needs = PROBABILITIES
    tasks = CLASSIFICATION

    def errors(self, y_true: np.ndarray, shown: np.ndarray) -> np.ndarray:
        places = places_of_classes(self, y_true)
        _check_columns(self, shown)
        given = shown[np.arange(len(places)), places].astype(np.float64)
        if not ((given >= 0.0) & (given <= 1.0)).all():
            row = int(np.argmin((given >= 0.0) & (given <= 1.0)))
            raise ValueError(f"Row {row}: {self.name} got the probability {given[row]}; it must be within 0 and 1.")
        return -np.log(np.maximum(given, _LEAST_PROBABILITY))


class HingeLoss(Metric):
    """The mean of max(0, 1 - y f), y = +-1; of several classes, of max(0, 1 + the largest other score - the true
    one's). A class that the model did not know, whose score is -inf, has the score 0, as all have before a row.
    """

    name = "hinge_loss"
    needs = SCORES
    tasks = CLASSIFICATION

    def errors(self, y_true: np.ndarray, shown: np.ndarray) -> np.ndarray:
        places = places_of_classes(self, y_true)
        scores = shown.astype(np.float64)
        if scores.shape[1] == 1 and self.classes is not None and len(self.classes) == 2:
            return np.maximum(0.0, 1.0 - np.where(places == 1, 1.0, -1.0) * scores[:, 0])
        _check_columns(self, scores)
        rows = np.arange(len(places))
        true = np.where(np.isneginf(scores[rows, places]), 0.0, scores[rows, places])
        scores[rows, places] = -math.inf
        return np.maximum(0.0, 1.0 + scores.max(axis=1) - true)


def _check_columns(metric: Metric, shown: np.ndarray) -> None:
    classes = () if metric.classes is None else metric.classes
    if shown.shape[1] != len(classes):
        raise ValueError(f"{metric.name} got {shown.shape[1]} columns for {len(classes)} classes; give one each.")
