"""What people who know the data would say about its first rows, a sentence each."""

import shlex
from collections.abc import Iterator

import numpy as np
from scipy.sparse import issparse

from ..sources import Matrix
from ..sources.base import is_nameless
from ..sources.survey import UNSCALED, Survey
from ..tasks import MULTICLASS, REGRESSION, Classification
from .options import Learning

# Features whose ranges differ by so much are of different units, and only the widest will count.
_UNLIKE = 100.0
_WIDEST = 1000  # features that are looked at
_FEWEST_ROWS = 16
_MANY_CLASSES = 100
_SCALES_BY_ITSELF = "auto"


def hints(
    request: Learning, found: Survey, X: Matrix, y: np.ndarray, *, in_order: bool, names: list[str] | None = None
) -> Iterator[str]:
    """in_order: whether the rows come as they stand in the data. names: those of the features, if they have some."""
    if X.shape[0] < _FEWEST_ROWS or X.shape[1] > _WIDEST:
        return
    if found.task.name == REGRESSION and (y == y[0]).all():
        yield f"hint: the label of the first {len(y):,} rows is {y[0]:g}; if another column is meant, say --label NAME"
    rows = X.toarray() if issparse(X) else np.asarray(X, np.float64)
    learners = getattr(request, "algorithms", None) or getattr(request, "algorithm", _SCALES_BY_ITSELF)
    ranges = np.ptp(rows, axis=0)
    ranges = ranges[ranges > 0]
    if request.scale == UNSCALED and learners != _SCALES_BY_ITSELF and len(ranges) and np.isfinite(ranges).all():
        ratio = ranges.max() / ranges.min()
        if ratio >= _UNLIKE:
            yield f"hint: features differ in range {ratio:,.0f} times, and nothing scales them; try --scale online"
    counting = (np.diff(rows, axis=0) == 1).all(axis=0)
    if in_order and counting.any():
        which, remedy = _dropped(int(counting.argmax()), names)
        yield f"hint: {which} counts the rows; if that is all it does, leave it out {remedy}"
    if found.task.name == MULTICLASS and isinstance(found.task, Classification):
        n = len(found.task.classes)
        if n >= _MANY_CLASSES:
            yield f"hint: the label has {n} different values; if it is not the class, name another column with --label"


def _dropped(feature: int, names: list[str] | None) -> tuple[str, str]:
    """What a feature is called, and how it is left out."""
    if names is None:
        return f"feature {feature} (from 0)", "of the data"
    name = names[feature]
    if is_nameless(name):
        position = int(name[1:]) - 1
        return f"column {position} (from 0)", f"with --drop {position}"
    return repr(name), f"with --drop {shlex.quote(name)}"


def doubtful(found: Survey) -> bool:
    """Whether a regression was decided on from labels that may be classes."""
    return "whole-number" in found.reason
