"""What is found out about a source before learning from it: the task, its classes, the scaling of its features.

Of a source that can be read only once, the first rows must do: classes may then appear later.

With task "auto", text labels mean classification, and so do whole numbers with at most 20 different values in the first
4,096 rows; everything else is regression. Classes must be known before learning, so classification takes one pass over
all labels; when that meets numbers that are not whole, or more than 100 different ones, it was a regression after all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..engine.inputs import ONLINE
from ..tasks import BINARY, MULTICLASS, REGRESSION, Binary, Multiclass, Regression, Task, classification
from . import ArraySource, ChainedSource, LabelledBlock, OnlineScaling, Scaling, Source, StandardInput, fit_scaling
from .base import DerivedSource

AUTO = "auto"
TASKS = (AUTO, BINARY, MULTICLASS, REGRESSION)
UNSCALED = "none"
SCALES = (UNSCALED, "minmax", "standard", ONLINE)

_OPENING_ROWS = 4096
_OPENING_OF_A_PIPE = 64  # a slow one must not wait for more; a fast one brings a whole block
_FEW = 20
_MANY = 100
# A learner keeps one output a class; beyond this, labels are hardly classes.
_MOST_CLASSES = 10_000
_CLASSIFICATION = "classification"


@dataclass
class Survey:
    """What was found. `reason` says how the task was decided; `sparse` that rows may widen later; `grow_classes` that
    there may be more classes than were seen.
    """

    task: Task
    reason: str
    sparse: bool
    scaling: Scaling | None
    online: bool = False
    grow_classes: bool = False

    def fresh_scaling(self) -> Scaling:
        """The scaling of one more learner."""
        return OnlineScaling() if self.online else self.scaling or Scaling()


def survey(
    source: Source, *, task: str = AUTO, scale: str = UNSCALED, on_block: Callable[[int], None] | None = None
) -> Survey:
    """Read as much of a source as the answers need, in one pass: one block, all labels, or all features.

    `on_block` is told the number of rows read so far.
    """
    for name, value, allowed in (("task", task, TASKS), ("scale", scale, SCALES)):
        if value not in allowed:
            raise ValueError(f"{name}={value!r} must be one of {', '.join(allowed)}.")
    name = source.name
    once = isinstance(source, StandardInput)
    if isinstance(source, StandardInput):
        if scale not in (UNSCALED, ONLINE):
            raise ValueError(
                f"scale={scale!r} takes a pass ahead, and {name} can be read once; take {ONLINE} or a file."
            )
        source = ChainedSource([ArraySource(X, y, name=name) for X, y in source.peek(_OPENING_OF_A_PIPE)], name=name)
    watched = _Watched(source, _Labels(task), on_block)
    scaling = None
    if scale in (UNSCALED, ONLINE):
        for _ in watched:
            if watched.labels.task == REGRESSION:
                break
    else:
        scaling = fit_scaling(watched, scale)
    labels = watched.labels
    if labels.n == 0:
        raise ValueError(f"{name} has no rows; there is nothing to learn from.")
    verdict = labels.verdict()
    growing = once and isinstance(verdict, Multiclass)
    return Survey(verdict, labels.reason, watched.sparse, scaling, scale == ONLINE, growing)


class _Watched(DerivedSource):
    """A source whose labels are looked at as they pass by."""

    def __init__(self, source: Source, labels: "_Labels", on_block: Callable[[int], None] | None):
        super().__init__(source)
        self.labels = labels
        self.sparse = False
        self.on_block = on_block

    def __iter__(self) -> Iterator[LabelledBlock]:
        for X, y in self.source:
            self.sparse = issparse(X)
            if y.dtype.kind == "f" and np.isnan(y).all():
                raise ValueError(
                    f"{self.name} has no labels in rows {self.labels.n} to {self.labels.n + len(y) - 1} (all are NaN), "
                    "and there is nothing to learn without; name the label's column."
                )
            self.labels.add(y)
            if self.on_block is not None:
                self.on_block(self.labels.n)
            yield X, y


class _Labels:
    """The different labels of a stream, for as long as they can be classes."""

    def __init__(self, task: str):
        self.task = task
        self.reason = "as asked for"
        self.automatic = task == AUTO
        self.n = 0
        self.text = False
        self.whole = True
        self.distinct: set[Any] = set()

    def add(self, y: np.ndarray) -> None:
        room = _OPENING_ROWS - self.n
        if self.task == AUTO and len(y) > room:
            self.add(y[:room])
            y = y[room:]
        self.n += len(y)
        if self.task == REGRESSION:
            return
        self.text = y.dtype.kind == "U"
        self.whole = self.whole and not self.text and bool((np.isfinite(y) & (y == np.floor(y))).all())
        self.distinct.update(np.unique(y).tolist())
        if self.task == AUTO and self.n == _OPENING_ROWS:
            self._decide()
        if self.task == _CLASSIFICATION and not self.text and (len(self.distinct) > _MANY or not self.whole):
            self.task = REGRESSION
            self.reason = f"more than {_MANY} different labels" if self.whole else "labels that are not whole numbers"
        if len(self.distinct) > _MOST_CLASSES and self.task in (_CLASSIFICATION, BINARY, MULTICLASS):
            raise ValueError(
                f"there are more than {_MOST_CLASSES} different labels in the first {self.n} rows; "
                "are they classes? Name another label column, or set the task to regression."
            )

    def _decide(self) -> None:
        kind = "text" if self.text else "whole-number"
        found = f"{len(self.distinct)} different {kind} label{'s' if len(self.distinct) > 1 else ''} in {self.n} rows"
        if not self.text and not self.whole:
            self.task, self.reason = REGRESSION, "labels that are not whole numbers"
        elif not self.text and len(self.distinct) > _FEW:
            self.task, self.reason = REGRESSION, f"{found}, above the limit of {_FEW}"
        else:
            self.task, self.reason = _CLASSIFICATION, found

    def verdict(self) -> Task:
        """The task, when all labels have been seen that it depends on."""
        if self.task == AUTO:
            self._decide()
        if self.task == REGRESSION:
            return Regression()
        classes = np.array(sorted(self.distinct))
        shown = ", ".join(f"{c:g}" if isinstance(c, float) else repr(c) for c in classes[:5].tolist())
        shown += ", ..." if len(classes) > 5 else ""
        if len(classes) < 2:
            raise ValueError(f"all {self.n} labels are {shown}; give two classes, or set the task to regression.")
        if self.task == BINARY and len(classes) > 2:
            raise ValueError(
                f"a binary task has two classes, but there are {len(classes)} labels: {shown}; "
                "set the task to multiclass."
            )
        if self.automatic:
            self.reason = f"{len(classes)} different labels: {shown}"
            return classification(classes)
        return Binary(classes) if self.task == BINARY else Multiclass(classes)
