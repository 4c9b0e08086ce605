"""AUC: how well scores order the rows of two classes, over all rows or over a sliding window."""

import math
from typing import Any, Self

import numpy as np

from ..forms import every, whole
from ..tasks import BINARY
from .base import SCORES, Metric, counted, places_of_classes

# Rows that are kept as they are; more are counted in bins.
_EXACT = 10_000
# A bin is what sign, exponent and the first ten bits of a score's fraction say: it is 2^-10 of the score wide. Scores
# of n rows lie in some log2(n) octaves of each sign, most of them in few: bins are ten thousands, not millions.
_DROPPED_BITS = 52 - 10


class AUC(Metric):
    """The probability that a positive row outscores a negative one, ties counted half.

    For two classes; NaN while there is one class only. Of all rows: exact up to 10,000 of them, then from counts in
    bins a thousandth of a score wide, where what falls into one bin is a tie; `uncertainty` bounds what that can
    change. It is a function of the rows alone, however they are cut or merged.

    window: the newest rows alone, exactly; rows that are merged in count as newer than those that were there.
    """

    name = "auc"
    needs = SCORES
    larger_is_better = True
    tasks = (BINARY,)

    def __init__(self, classes: Any = None, window: int | None = None) -> None:
        super().__init__(classes)
        if window is not None and window < 2:
            raise ValueError(f"window={window} is too short for {self.name}; it must be at least 2.")
        if self.classes is not None and len(self.classes) != 2:
            raise ValueError(
                f"{self.name} compares two classes, not {len(self.classes)}; use balanced_error, kappa or log_loss."
            )
        self.window = window
        self._positive = np.zeros(0, bool)
        self._scores = np.zeros(0)
        self._bins = np.zeros(0, np.int64)
        self._counts = np.zeros((2, 0), np.int64)  # of negative and of positive rows

    @property
    def value(self) -> float:
        negative, positive = self._tally()
        n, p = int(negative.sum()), int(positive.sum())
        if n == 0 or p == 0:
            return math.nan
        # Twice the negative rows below, and once those that tie: whole numbers, in Python's, which do not overflow.
        outscored = 2 * np.cumsum(negative) - negative
        return sum(map(int.__mul__, positive.tolist(), outscored.tolist())) / (2 * n * p)

    @property
    def uncertainty(self) -> float:
        """The most by which `value` can differ from that of the scores themselves; 0 while they are kept."""
        if len(self._bins) == 0:
            return 0.0
        negative, positive = (counts.astype(np.float64) for counts in self._counts)
        pairs = negative.sum() * positive.sum()
        return float(negative @ positive / (2 * pairs)) if pairs else 0.0

    def _tally(self) -> tuple[np.ndarray, np.ndarray]:
        """Negative and positive rows at each score, in ascending order."""
        if len(self._bins):
            return self._counts[0], self._counts[1]
        scores, places = np.unique(self._scores, return_inverse=True)
        negative, positive = (
            np.bincount(places[kind], minlength=len(scores)) for kind in (~self._positive, self._positive)
        )
        return negative, positive

    def _take(self, y_true: np.ndarray, shown: np.ndarray) -> None:
        positive = places_of_classes(self, y_true) == 1
        if shown.shape[1] != 1:
            raise ValueError(f"{self.name} got {shown.shape[1]} scores a row; it takes the one score of a binary task.")
        if np.isnan(shown).any():
            raise ValueError(f"{self.name} got a score that is NaN in row {int(np.isnan(shown[:, 0]).argmax())}.")
        self._append(positive, shown[:, 0])

    def _append(self, positive: np.ndarray, scores: np.ndarray) -> None:
        self._positive = np.concatenate([self._positive, positive])
        self._scores = np.concatenate([self._scores, scores])
        if self.window is not None:
            self._positive, self._scores = self._positive[-self.window :], self._scores[-self.window :]
        elif len(self._bins) or len(self._scores) > _EXACT:
            bins = _bins(self._scores)
            self._count(bins, np.stack([~self._positive, self._positive]).astype(np.int64))
            self._positive, self._scores = self._positive[:0], self._scores[:0]

    def _count(self, bins: np.ndarray, counts: np.ndarray) -> None:
        """Add counts of bins, which may come several times."""
        self._bins, places = np.unique(np.concatenate([self._bins, bins]), return_inverse=True)
        both = np.concatenate([self._counts, counts], axis=1)
        self._counts = np.zeros((2, len(self._bins)), np.int64)
        for total, some in zip(self._counts, both, strict=True):
            np.add.at(total, places, some)

    def _join(self, other: Self) -> None:
        if other.window != self.window:
            raise ValueError(
                f"{self.name} cannot be merged: window differs, {self.window} here and {other.window} there."
            )
        self._count(other._bins, other._counts)
        self._append(other._positive, other._scores)

    def fresh(self, classes: Any = None) -> Self:
        return type(self)(self.classes if classes is None else classes, self.window)

    def state(self) -> dict[str, Any]:
        rows = {"positive": self._positive.astype(int).tolist(), "scores": [s.hex() for s in self._scores.tolist()]}
        binned = {"bins": self._bins.tolist(), "counts": self._counts.tolist()}
        return super().state() | {"window": self.window} | rows | binned

    def restore(self, state: dict[str, Any]) -> Self:
        (self.window,) = (None,) if state["window"] is None else counted([state["window"]]).tolist()
        every(whole(0, 1))(state["positive"], "positive")
        self._positive = np.array(state["positive"], bool)
        self._scores = np.array([float.fromhex(s) for s in state["scores"]])
        self._bins = np.array(state["bins"], np.int64)
        self._counts = counted(state["counts"], 2, len(self._bins))
        if len(self._positive) != len(self._scores) or np.isnan(self._scores).any():
            raise ValueError(f"a state of {self.name} has scores that it cannot have kept")
        return super().restore(state)


def _bins(scores: np.ndarray) -> np.ndarray:
    """A whole number for each score: never less for a larger one."""
    scores = scores.astype(np.float64)
    bits = np.abs(scores).view(np.int64) >> _DROPPED_BITS
    return np.where(scores < 0, -bits, bits)
