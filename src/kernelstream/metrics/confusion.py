"""Metrics of how often each label came and was shown; counts are exact, so merging equals one pass bit for bit."""

import math
from typing import Any, Self

import numpy as np

from ..forms import every, label, nothing_or
from .base import CLASSIFICATION, Metric, check_kinds, counted


class _Confusion(Metric):
    """Counts for each label, number or text, kept in their order: the rows that have it, that show it, that do both."""

    tasks = CLASSIFICATION

    def __init__(self, classes: Any = None) -> None:
        super().__init__(classes)
        self._labels: np.ndarray | None = None
        self._counts = np.zeros((3, 0), np.int64)

    def _take(self, y_true: np.ndarray, shown: np.ndarray) -> None:
        check_kinds(self.name, y_true, shown)
        if len(y_true) == 0:
            return
        y_true, shown = _plain(y_true), _plain(shown)
        self._make_room(y_true)
        self._make_room(shown)
        true, guessed = self._places(y_true), self._places(shown)
        for counts, places in zip(self._counts, (true, guessed, true[true == guessed]), strict=True):
            counts += np.bincount(places, minlength=len(counts))

    def _places(self, labels: np.ndarray) -> np.ndarray:
        """Where each label is, or would be, among those that came."""
        assert self._labels is not None
        return np.minimum(np.searchsorted(self._labels, labels), len(self._labels) - 1)

    def _make_room(self, labels: np.ndarray) -> None:
        """Have a place for each of these labels."""
        if self._labels is None:
            self._labels, before = np.unique(labels), labels[:0]
        else:
            check_kinds(self.name, self._labels, labels)
            before = self._labels
            unknown = before[self._places(labels)] != labels
            if not unknown.any():
                return
            self._labels = np.union1d(before, labels[unknown])
        counts = np.zeros((3, len(self._labels)), np.int64)
        counts[:, self._places(before)] = self._counts
        self._counts = counts

    def _join(self, other: Self) -> None:
        if other._labels is not None:
            self._make_room(other._labels)
            self._counts[:, self._places(other._labels)] += other._counts

    def state(self) -> dict[str, Any]:
        labels = None if self._labels is None else self._labels.tolist()
        return super().state() | {"labels": labels, "counts": self._counts.tolist()}

    def restore(self, state: dict[str, Any]) -> Self:
        nothing_or(every(label))(state["labels"], "labels")
        self._labels = None if state["labels"] is None else np.array(state["labels"])
        if self._labels is not None and not np.array_equal(np.unique(self._labels), self._labels):
            raise ValueError(f"a state of {self.name} has labels that do not ascend")
        self._counts = counted(state["counts"], 3, 0 if self._labels is None else len(self._labels))
        return super().restore(state)


def _plain(labels: np.ndarray) -> np.ndarray:
    """Text that came as objects, as pandas gives it, as text."""
    objects = labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels)
    return labels.astype(str) if objects else labels


class BalancedError(_Confusion):
    """The mistake rate of each class, averaged over the classes that came; of one class only, its mistake rate."""

    name = "balanced_error"

    @property
    def value(self) -> float:
        true, _, both = self._counts[:, self._counts[0] > 0]
        return 1.0 - float(np.mean(both / true)) if self.n > 0 else math.nan


class Kappa(_Confusion):
    """Cohen's kappa: 1 when every label is right, 0 when labels and predictions agree as often as if they were
    independent. That includes a stream of one class only.
    """

    name = "kappa"
    larger_is_better = True

    @property
    def value(self) -> float:
        if self.n == 0:
            return math.nan
        true, shown, both = self._counts / self.n
        if true.max() == 1.0:
            return 0.0
        chance = float(np.sum(true * shown))
        return (float(np.sum(both)) - chance) / (1.0 - chance)


class F1(_Confusion):
    """The harmonic mean of precision and recall: of two classes that of the positive one, of more their plain average.

    The positive one is the second of `classes`; without `classes` it is the larger label. A class that neither came nor
    was shown has F1 0 when it is the positive one, and does not take part in the average.
    """

    name = "f1"
    larger_is_better = True

    @property
    def value(self) -> float:
        if self.n == 0:
            return math.nan
        assert self._labels is not None
        true, shown, both = self._counts
        each = 2.0 * both / (true + shown)
        classes = self._labels if self.classes is None else self.classes
        if len(classes) > 2 or len(self._labels) > 2:
            return float(np.mean(each))
        return float(np.sum(each[self._labels == classes[-1]]))
