"""AUC: how well scores order the rows of two classes, over a sliding window."""

import math
from typing import Any, Self

import numpy as np

from ..tasks import BINARY
from .base import SCORES, Metric, places_of_classes


class AUC(Metric):
    """The probability that a positive row outscores a negative one, ties counted half, over the newest `window` rows.

    For two classes; exact. NaN while the window holds one class only. Rows that are merged in count as newer than those
    that were there.
    """

    name = "auc"
    needs = SCORES
    larger_is_better = True
    tasks = (BINARY,)

    def __init__(self, classes: Any = None, window: int = 10_000) -> None:
        super().__init__(classes)
        if window < 2:
            raise ValueError(f"window={window} is too short for {self.name}; it must be at least 2.")
        if self.classes is not None and len(self.classes) != 2:
            raise ValueError(
                f"{self.name} compares two classes, not {len(self.classes)}; use balanced_error, kappa or log_loss."
            )
        self.window = window
        self._positive = np.zeros(0, bool)
        self._scores = np.zeros(0)

    @property
    def value(self) -> float:
        positive, negative = self._scores[self._positive], np.sort(self._scores[~self._positive])
        if len(positive) == 0 or len(negative) == 0:
            return math.nan
        below, not_above = (int(np.searchsorted(negative, positive, side).sum()) for side in ("left", "right"))
        return (below + not_above) / (2 * len(positive) * len(negative))

    def _take(self, y_true: np.ndarray, shown: np.ndarray) -> None:
        positive = places_of_classes(self, y_true) == 1
        if shown.shape[1] != 1:
            raise ValueError(f"{self.name} got {shown.shape[1]} scores a row; it takes the one score of a binary task.")
        if np.isnan(shown).any():
            raise ValueError(f"{self.name} got a score that is NaN in row {int(np.isnan(shown[:, 0]).argmax())}.")
        self._append(positive, shown[:, 0])

    def _append(self, positive: np.ndarray, scores: np.ndarray) -> None:
        self._positive = np.concatenate([self._positive, positive])[-self.window :]
        self._scores = np.concatenate([self._scores, scores])[-self.window :]

    def _join(self, other: Self) -> None:
        if other.window != self.window:
            raise ValueError(
                f"{self.name} cannot be merged: window differs, {self.window} here and {other.window} there."
            )
        self._append(other._positive, other._scores)

    def fresh(self, classes: Any = None) -> Self:
        return type(self)(self.classes if classes is None else classes, self.window)

    def state(self) -> dict[str, Any]:
        rows = {"positive": self._positive.astype(int).tolist(), "scores": [s.hex() for s in self._scores.tolist()]}
        return super().state() | {"window": self.window} | rows

    def restore(self, state: dict[str, Any]) -> Self:
        self.window = int(state["window"])
        self._positive = np.array(state["positive"], bool)
        self._scores = np.array([float.fromhex(s) for s in state["scores"]])
        return super().restore(state)
