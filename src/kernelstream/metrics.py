"""Running metrics: fed block by block, merged with one another, the same number however a stream was cut.

A metric of your own is a subclass with a `name` and the error of each row (`errors`); its value is their mean.
"""

import math
from typing import Any, ClassVar, Self

import numpy as np

from .losses import REGRESSION


class Metric:
    """The mean of an error over all rows so far."""

    name: ClassVar[str]

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0

    def errors(self, y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
        """The error of each row, in float64."""
        raise NotImplementedError

    @property
    def value(self) -> float:
        """The metric of the rows so far, NaN when there were none."""
        return self.total / self.n if self.n > 0 else math.nan

    def update(self, y_true: Any, y_pred: Any) -> Self:
        """Take in a block of rows: their labels, and what was shown for them."""
        y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
        if y_true.ndim != 1 or y_true.shape != y_pred.shape:
            raise ValueError(
                f"{self.name} got labels of shape {y_true.shape} and predictions of shape {y_pred.shape}; "
                "both must have one dimension and the same length."
            )
        # One addition after another, so that the rounding does not depend on where blocks end.
        self.total = float(np.add.accumulate(np.append(self.total, self.errors(y_true, y_pred)))[-1])
        self.n += len(y_true)
        return self

    def merge(self, other: Self) -> Self:
        """Take in the rows that another metric of this kind has seen."""
        if type(other) is not type(self):
            raise ValueError(f"{self.name} cannot be merged with {getattr(other, 'name', type(other).__name__)}.")
        self.n += other.n
        self.total += other.total
        return self

    def fresh(self) -> Self:
        """The same metric before any row."""
        return type(self)()

    def __repr__(self) -> str:
        return f"<{self.name} {self.value:.6g} of {self.n} rows>"


class MistakeRate(Metric):
    """The share of rows whose label is not the one shown."""

    name = "mistake_rate"

    def errors(self, y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
        if (y_true.dtype.kind in "US") != (y_pred.dtype.kind in "US"):
            raise ValueError(
                f"{self.name} got labels of {y_true.dtype} and predictions of {y_pred.dtype}; "
                "text never equals a number: convert one of them."
            )
        return np.asarray(y_true != y_pred, np.float64)


class MSE(Metric):
    """The mean squared error."""

    name = "mse"

    def errors(self, y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
        return np.square(y_true.astype(np.float64) - y_pred)


class RMSE(MSE):
    """The square root of the mean squared error, in the unit of the target."""

    name = "rmse"

    @property
    def value(self) -> float:
        return math.sqrt(super().value)


def default_metrics(task: str) -> tuple[Metric, ...]:
    """What a task is judged by, by its name; the last one is the headline."""
    return (MSE(), RMSE()) if task == REGRESSION else (MistakeRate(),)
