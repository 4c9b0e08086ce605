"""Metric: the mean of an error over rows, and what every metric has in common."""

import math
from typing import Any, ClassVar, Self

import numpy as np

from ..forms import every, label, nothing_or
from ..tasks import BINARY, MULTICLASS, REGRESSION, Multiclass

CLASSIFICATION = (BINARY, MULTICLASS)
# What a metric can need.
LABELS, SCORES, PROBABILITIES, ASKED = "labels", "scores", "probabilities", "asked"
_LINES = (LABELS, ASKED)  # of which there is one a row


class Metric:
    """The mean of an error over all rows so far."""

    name: ClassVar[str]
    needs: ClassVar[str] = LABELS
    larger_is_better: ClassVar[bool] = False
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)

    def __init__(self, classes: Any = None) -> None:
        self.classes = None if classes is None else np.asarray(classes)
        self.n = 0
        self.total = 0.0

    def errors(self, y_true: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """The error of each row, in float64."""
        raise NotImplementedError

    @property
    def value(self) -> float:
        """The metric of the rows so far, NaN when there were none."""
        return self.total / self.n if self.n > 0 else math.nan

    def update(self, y_true: Any, shown: Any) -> Self:
        """Take in a block of rows: their labels, and what was shown for them."""
        y_true, shown = np.asarray(y_true), np.asarray(shown)
        if y_true.ndim != 1 or shown.shape[:1] != y_true.shape or shown.ndim != (1 if self.needs in _LINES else 2):
            raise ValueError(
                f"{self.name} got labels of shape {y_true.shape} and predictions of shape {shown.shape}; both must "
                f"have the same length, labels one dimension, {SCORES} and {PROBABILITIES} two."
            )
        self._take(y_true, shown)
        self.n += len(y_true)
        return self

    def _take(self, y_true: np.ndarray, shown: np.ndarray) -> None:
        # One addition after another, so that the rounding does not depend on where blocks end.
        self.total = float(np.add.accumulate(np.append(self.total, self.errors(y_true, shown)))[-1])

    def merge(self, other: Self) -> Self:
        """Take in the rows that another metric of this kind has seen."""
        if type(other) is not type(self):
            raise ValueError(f"{self.name} cannot be merged with {getattr(other, 'name', type(other).__name__)}.")
        if self.classes is not None and other.classes is not None and not np.array_equal(self.classes, other.classes):
            raise ValueError(
                f"{self.name} cannot be merged: classes differ, {self.classes.tolist()} here and "
                f"{other.classes.tolist()} there."
            )
        self._join(other)
        self.n += other.n
        return self

    def _join(self, other: Self) -> None:
        self.total += other.total

    def fresh(self, classes: Any = None) -> Self:
        """The same metric before any row, of these classes or else of its own."""
        return type(self)(self.classes if classes is None else classes)

    def state(self) -> dict[str, Any]:
        """All that `restore` needs, as a JSON value."""
        classes = None if self.classes is None else self.classes.tolist()
        return {"name": self.name, "n": self.n, "total": self.total.hex(), "classes": classes}

    def restore(self, state: dict[str, Any]) -> Self:
        """Go on from a `state`, bit for bit."""
        if state["name"] != self.name:
            raise ValueError(f"a state of {state['name']} is not one of {self.name}; restore it with its own metric.")
        nothing_or(every(label))(state["classes"], "classes")
        self.classes = None if state["classes"] is None else np.array(state["classes"])
        (self.n,), self.total = counted([state["n"]]).tolist(), float.fromhex(state["total"])
        return self

    def __repr__(self) -> str:
        return f"<{self.name} {self.value:.6g} of {self.n} rows>"


def counted(numbers: Any, *shape: int) -> np.ndarray:
    """Numbers of a state that count something, in this shape if one is given; ValueError for others."""
    found = np.array(numbers)
    if found.size and (found.dtype.kind != "i" or found.min() < 0):
        raise ValueError(f"a state counts {numbers!r:.60}; counts are whole numbers from 0 on")
    return found.astype(np.int64).reshape(*shape) if shape else found.astype(np.int64)


def check_kinds(name: str, y_true: np.ndarray, shown: np.ndarray) -> None:
    if (y_true.dtype.kind in "US") != (shown.dtype.kind in "US"):
        raise ValueError(
            f"{name} got labels of {y_true.dtype} and predictions of {shown.dtype}; "
            "text never equals a number: convert one of them."
        )


def places_of_classes(metric: Metric, y_true: np.ndarray) -> np.ndarray:
    """The output of each label's class."""
    if metric.classes is None:
        raise ValueError(
            f"{metric.name} must know the classes in the order of the {metric.needs}: "
            f"{type(metric).__name__}(classes) or metric.fresh(classes)."
        )
    places, known = Multiclass(metric.classes).positions(y_true)
    if not known.all():
        row = int(np.argmin(known))
        label, classes = y_true[row : row + 1].tolist()[0], metric.classes.tolist()
        raise ValueError(f"Row {row}: the label {label!r} is not among the classes {classes} of {metric.name}; add it.")
    return places
