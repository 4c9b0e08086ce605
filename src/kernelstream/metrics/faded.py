"""Errors that fade: with every row behind it, a row counts `alpha` times as much as before (Gama, Sebastião, Rodrigues
2013, "On evaluating stream learning algorithms").

    S <- e + alpha S,    B <- 1 + alpha B,    the metric is S / B

A change of the data shows within about 1 / (1 - alpha) rows, and no row is kept for it.
"""

import math
from typing import Any, Self

import numpy as np

from .base import Metric
from .means import MAE, MistakeRate

ALPHA = 0.999


class _Faded(Metric):
    """Of two that are merged, the other's rows came later."""

    def __init__(self, classes: Any = None, *, alpha: float = ALPHA) -> None:
        if not 0.0 < alpha <= 1.0:
            raise ValueError(f"alpha={alpha} must be above 0 and at most 1, which fades nothing.")
        super().__init__(classes)
        self.alpha, self.weight = alpha, 0.0

    @property
    def value(self) -> float:
        return self.total / self.weight if self.n > 0 else math.nan

    def _take(self, y_true: np.ndarray, shown: np.ndarray) -> None:
        alpha, total, weight = self.alpha, self.total, self.weight
        for error in self.errors(y_true, shown).tolist():
            total, weight = error + alpha * total, 1.0 + alpha * weight
        self.total, self.weight = total, weight

    def _join(self, other: Self) -> None:
        if self.alpha != other.alpha:
            raise ValueError(f"{self.name} cannot be merged: alpha differs, {self.alpha} here and {other.alpha} there.")
        left = self.alpha**other.n
        self.total, self.weight = other.total + left * self.total, other.weight + left * self.weight

    def fresh(self, classes: Any = None) -> Self:
        return type(self)(self.classes if classes is None else classes, alpha=self.alpha)

    def state(self) -> dict[str, Any]:
        return super().state() | {"alpha": self.alpha, "weight": self.weight.hex()}

    def restore(self, state: dict[str, Any]) -> Self:
        super().restore(state)
        self.alpha, self.weight = float(state["alpha"]), float.fromhex(state["weight"])
        if not (0.0 < self.alpha <= 1.0 and 0.0 <= self.weight <= self.n):
            raise ValueError(
                f"a state of {self.name} has alpha {self.alpha} and the weight {self.weight} of {self.n} rows"
            )
        return self


class FadedMistakeRate(_Faded, MistakeRate):
    """The share of the newest rows whose label is not the one shown, older ones fading."""

    name = "faded_mistake_rate"


class FadedMAE(_Faded, MAE):
    """The mean absolute error of the newest rows, older ones fading."""

    name = "faded_mae"
