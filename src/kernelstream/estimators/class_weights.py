"""What a row counts by its class: weights that are given, or such that all classes count the same so far."""

import numbers
from typing import Any

import numpy as np

from ..numerics.rows import LARGEST
from ..tasks import Classification

BALANCED = "balanced"


def check_class_weight(class_weight: Any, classes: np.ndarray, *, grow: bool) -> None:
    """ValueError for weights that no row could have."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == BALANCED):
        return
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight={class_weight!r} must be a dict of a weight for each class, 'balanced' or None."
        )
    known = set(classes.tolist())
    for label, weight in class_weight.items():
        if not (isinstance(weight, numbers.Real) and 0 <= float(weight) <= LARGEST):
            raise ValueError(
                f"class_weight has {weight!r} for {label!r}; a weight is a number between 0 and {LARGEST:g}."
            )
        if label not in known and not grow:
            raise ValueError(
                f"class_weight has a weight for {label!r}, which is not among the classes {classes.tolist()}."
            )


def row_weights(
    class_weight: Any, task: Classification, counts: np.ndarray, y: Any, *, grow: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The weight of each row, (n,), and which class of the task (with all of these rows known to it) it is of.

    balanced: n / (K n_c), for n rows so far, the row among them, n_c of its class and K classes that are known; so it
    does not matter how rows are cut into blocks. counts: the rows of each class before these.
    """
    labels, known = np.asarray(y), np.full(len(y), len(task.classes))
    for row in task.newcomers(labels) if grow else ():
        grown = task.grown(labels[row : row + 1])
        assert isinstance(grown, Classification)
        task = grown
        known[row:] += 1
    classes = task.encode_positions(labels)
    if not isinstance(class_weight, dict):
        before = np.concatenate([counts, np.zeros(len(task.classes) - len(counts), np.int64)])
        so_far = int(before.sum()) + np.arange(1, len(labels) + 1)
        return so_far / (known * (before[classes] + _places(classes) + 1)), classes
    given = np.array([class_weight.get(label, 1.0) for label in task.classes.tolist()], np.float64)
    return given[classes], classes


def _places(classes: np.ndarray) -> np.ndarray:
    """How many of the rows before it are of the same class, for each row."""
    order = np.argsort(classes, kind="stable")
    ordered = classes[order]
    places = np.empty(len(classes), np.int64)
    places[order] = np.arange(len(classes)) - np.searchsorted(ordered, ordered)
    return places


def joined_counts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The rows of each class in both."""
    counts = np.zeros(max(len(a), len(b)), np.int64)
    counts[: len(a)] += a
    counts[: len(b)] += b
    return counts
