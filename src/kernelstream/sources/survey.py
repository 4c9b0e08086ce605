"""What is found out about a source before learning from it: the task, its classes, the scaling of its features.

The first rows decide, so that a source is read once: up to 4,096 of them, of a pipe those that have come. With task
"auto", text labels mean classification, and so do whole numbers with at most 20 different values; everything else is
regression. Classes that come later are added to the task. Who wants to know all of them first announces them,
or has all rows surveyed, which takes a pass of its own, as a scaling of the features by all rows does; when that pass
meets numbers that are not whole, or more than 100 different ones, it was a regression after all.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..engine.inputs import FITTED, NONE, ONLINE, SCALINGS, Scaling, named
from ..forms import agree, by_name, record, text, truth, whole
from ..tasks import BINARY, MULTICLASS, REGRESSION, Binary, Classification, Multiclass, Regression, Task, classification
from ..tasks import from_json as task_from_json
from .base import DerivedSource, LabelledBlock, Matrix, Source, one_of
from .streams import Peekable
from .transform import fit_scaling

AUTO = "auto"
TASKS = (AUTO, BINARY, MULTICLASS, REGRESSION)
UNSCALED, SCALES, SCALES_OF_ALL_ROWS = NONE, SCALINGS, FITTED

_OPENING_ROWS = 4096
_OPENING_OF_A_PIPE = 64  # a slow one must not wait for more; a fast one brings a whole block
_FEW = 20
_MANY = 100
# A learner keeps one output a class; beyond this, labels are hardly classes.
_MOST_CLASSES = 10_000
_CLASSIFICATION = "classification"
_ASKED_FOR, _NOT_WHOLE = "as asked for", "labels that are not whole numbers"
_ANNOUNCE_ALL = "; announce all of them (--classes)."
# What a survey decides besides the task.
_DECIDED = (
    *("reason", "rows", "all_rows", "announced", "sparse", "width"),
    *("most_classes", "whole_numbers", "two_classes"),
)


_WRITTEN = record(
    task=by_name,
    reason=text,
    rows=whole(1),
    all_rows=truth,
    announced=truth,
    sparse=truth,
    width=whole(),
    most_classes=whole(1),
    whole_numbers=truth,
    two_classes=truth,
    grow_classes=truth,
)


@dataclass(frozen=True)
class Survey:
    """What was found.

    reason: how the task was decided. rows, all_rows: how many rows it was decided from, and whether these are all.
    announced: whether the classes are all there are because somebody said so.
    sparse: whether rows may widen later. width: the features of the rows looked at.
    most_classes, whole_numbers: as how many classes labels are believed, and whether only whole numbers are.
    two_classes: whether a binary task was asked for.
    """

    task: Task
    reason: str = _ASKED_FOR
    rows: int = 0
    all_rows: bool = True
    announced: bool = False
    sparse: bool = False
    width: int = 0
    scaling: Scaling = field(default_factory=Scaling)
    most_classes: int = _MOST_CLASSES
    whole_numbers: bool = False
    two_classes: bool = False

    @property
    def grow_classes(self) -> bool:
        """Whether classes that were not seen are added to the task when they come."""
        return isinstance(self.task, Classification) and not (self.all_rows or self.announced or self.two_classes)

    def checked(self, source: Source, *, growing: bool = True) -> Source:
        """The rows to learn from, which end with an error where a label comes that has no place in the task.

        growing: whether all who learn from them can take in new classes.
        """
        complete = self.all_rows and not self.announced
        return _Checked(source, self, growing) if isinstance(self.task, Classification) and not complete else source

    def believe(self, name: str, new: list[Any], n: int) -> None:
        """Refuse labels that come later and can hardly be classes; with them there are n of them."""
        strange = next((label for label in new if self.whole_numbers and label != math.floor(label)), None)
        if strange is None and n <= self.most_classes:
            return
        what = f"more than {self.most_classes} different labels" if strange is None else f"the label {strange:g}"
        raise ValueError(
            f"{name} has {what}, but its first {self.rows:,} rows looked like classes ({self.reason}); "
            "set the task, to regression or to multiclass (--task)."
        )

    def to_json(self) -> dict[str, Any]:
        """What was decided, and from which rows, as a JSON value."""
        decided = {name: getattr(self, name) for name in _DECIDED}
        return {"task": self.task.to_json(), **decided, "grow_classes": self.grow_classes}

    @classmethod
    def from_json(cls, written: Any, task: Task) -> "Survey":
        """What was decided, without the scaling, which a learner has; ValueError for what cannot have been.

        task: what is learned by now, which has the classes that came since
        """
        _WRITTEN(written, "survey")
        began = task_from_json(written["task"])
        found = cls(began, **{name: written[name] for name in _DECIDED})
        if isinstance(began, Classification) and isinstance(task, Classification):
            known = began.classes.tolist()
            agree("survey.task.classes", known, task.classes.tolist()[: len(known)], "task.classes")
            if len(known) == len(task.classes) or began.name == MULTICLASS:
                agree("survey.task.name", began.name, task.name, "task.name")
        else:
            agree("survey.task.name", began.name, task.name, "task.name")
        agree("survey.grow_classes", written["grow_classes"], found.grow_classes, "the rest of it")
        most = _MANY if found.whole_numbers else _MOST_CLASSES
        agree("survey.most_classes", found.most_classes, most, "survey.whole_numbers")
        return found


def survey(
    source: Source,
    *,
    task: str = AUTO,
    scale: str = UNSCALED,
    classes: Sequence[Any] | None = None,
    all_rows: bool = True,
    on_block: Callable[[int], None] | None = None,
) -> Survey:
    """Find out about a source from all its rows, in one pass, or from the first ones.

    classes: all that there are, as the labels are written.
    all_rows: False looks at the first rows only, which a `Peekable` serves again. A source that passes once is always
    looked at so.
    on_block: is told the number of rows read so far.
    """
    one_of(task, TASKS, "task")
    one_of(scale, SCALES, "scale")
    if classes is not None and task == REGRESSION:
        raise ValueError(
            f"classes {_shown(classes)} are announced for a {task}, which has none; leave one of them out."
        )
    look = _Look(source.name, task if classes is None or task != AUTO else _CLASSIFICATION, on_block)
    look.believed = classes is not None
    scaling, ended = named(scale), True
    if scale in SCALES_OF_ALL_ROWS:
        if not source.restartable:
            raise ValueError(
                f"scale={scale!r} takes a pass ahead, and {source.name} can be read once; take {ONLINE} or a file."
            )
        scaling = fit_scaling(_Watched(source, look), scale)
    elif all_rows and source.restartable:
        for X, y in source:
            look.add(X, y)
            if look.task == REGRESSION:
                ended = False
                break
    else:
        ended = _look_at_first_rows(source, look)
    if look.n == 0:
        raise ValueError(f"{source.name} has no rows; there is nothing to learn from.")
    verdict = look.verdict(all_rows=ended) if classes is None else look.announced(classes)
    strict = look.automatic and not look.text
    return Survey(
        verdict,
        reason=look.reason,
        rows=look.n,
        all_rows=ended,
        announced=classes is not None,
        sparse=look.sparse,
        width=look.width,
        scaling=scaling,
        most_classes=_MANY if strict else _MOST_CLASSES,
        whole_numbers=strict,
        two_classes=task == BINARY,
    )


def _look_at_first_rows(source: Source, look: "_Look") -> bool:
    """Whether these were all rows."""
    if not (source.restartable or isinstance(source, Peekable)):
        raise ValueError(f"{source.name} can be read once, and its first rows would be lost; give Peekable(source).")
    opening = _OPENING_ROWS if source.restartable else _OPENING_OF_A_PIPE
    blocks = (source if isinstance(source, Peekable) else Peekable(source)).peek(opening)
    for X, y in blocks:
        look.add(X, y[: _OPENING_ROWS - look.n])
    return sum(len(y) for _, y in blocks) < opening


class _Watched(DerivedSource):
    """A source whose labels are looked at as they pass by."""

    def __init__(self, source: Source, look: "_Look"):
        super().__init__(source)
        self.look = look

    def __iter__(self) -> Iterator[LabelledBlock]:
        for X, y in self.source:
            self.look.add(X, y)
            yield X, y


class _Look:
    """What rows say: how wide they are, and their different labels, for as long as they can be classes."""

    def __init__(self, name: str, task: str, on_block: Callable[[int], None] | None):
        self.name, self.task, self.on_block = name, task, on_block
        self.reason = _ASKED_FOR
        self.automatic = task == AUTO
        self.believed = False  # that labels are classes, whatever they look like
        self.n = self.width = 0
        self.sparse = self.text = False
        self.whole_numbers = True
        self.distinct: set[Any] = set()

    def add(self, X: Matrix, y: np.ndarray) -> None:
        if len(y) > 0 and y.dtype.kind == "f" and np.isnan(y).all():
            raise ValueError(
                f"{self.name} has no labels in rows {self.n} to {self.n + len(y) - 1} (all are NaN), "
                "and there is nothing to learn without; name the label's column."
            )
        self.sparse, self.width = issparse(X), max(self.width, X.shape[1])
        self._add(y)
        if self.on_block is not None:
            self.on_block(self.n)

    def _add(self, y: np.ndarray) -> None:
        room = _OPENING_ROWS - self.n
        if self.task == AUTO and len(y) > room:
            self._add(y[:room])
            y = y[room:]
        self.n += len(y)
        if self.task == REGRESSION:
            return
        self.text = y.dtype.kind == "U"
        self.whole_numbers = self.whole_numbers and not self.text and bool((np.isfinite(y) & (y == np.floor(y))).all())
        self.distinct.update(np.unique(y).tolist())
        if self.task == AUTO and self.n == _OPENING_ROWS:
            self._decide()
        doubted = self.task == _CLASSIFICATION and not self.text and not self.believed
        if doubted and (len(self.distinct) > _MANY or not self.whole_numbers):
            self.task = REGRESSION
            self.reason = f"more than {_MANY} different labels" if self.whole_numbers else _NOT_WHOLE
        if len(self.distinct) > _MOST_CLASSES and self.task in (_CLASSIFICATION, BINARY, MULTICLASS):
            raise ValueError(
                f"there are more than {_MOST_CLASSES} different labels in the first {self.n} rows; "
                "are they classes? Name another label column, or set the task to regression."
            )

    def _decide(self) -> None:
        if not self.text and not self.whole_numbers:
            self.task, self.reason = REGRESSION, _NOT_WHOLE
        elif not self.text and len(self.distinct) > _FEW:
            found = f"{len(self.distinct)} different whole-number labels"
            self.task, self.reason = REGRESSION, f"{found}, above the limit of {_FEW},"
        else:
            self.task = _CLASSIFICATION

    def verdict(self, *, all_rows: bool) -> Task:
        """The task, when all rows were looked at that it is decided from; `all_rows` says whether there are no more."""
        if self.task == AUTO:
            self._decide()
        rows = f"all {self.n:,} rows" if all_rows else f"the first {self.n:,} rows"
        if self.task == REGRESSION:
            self.reason += f" in {rows}" if self.automatic else ""
            return Regression()
        classes = np.array(sorted(self.distinct))
        shown = _shown(classes.tolist())
        if len(classes) < 2 and all_rows:
            which = f"all {self.n} labels are" if self.n > 1 else "there is one row, and its label is"
            raise ValueError(f"{which} {shown}; give rows of two classes, or set the task to regression.")
        if len(classes) < 2 and self.task != MULTICLASS:
            raise ValueError(
                f"all labels in {rows} of {self.name} are {shown}; announce the classes (--classes), read all rows "
                "first (--survey), or set the task: multiclass takes in classes when they come."
            )
        if self.task == BINARY and len(classes) > 2:
            raise ValueError(
                f"a binary task has two classes, but there are {len(classes)} labels: {shown}; "
                "set the task to multiclass."
            )
        if self.automatic:
            self.reason = f"{len(classes)} different labels in {rows}: {shown}"
            return classification(classes)
        return Binary(classes) if self.task == BINARY else Multiclass(classes)

    def announced(self, classes: Sequence[Any]) -> Task:
        """The task of classes that were announced."""
        try:
            known: list[Any] = [str(label) if self.text else float(label) for label in classes]
        except ValueError:
            raise ValueError(
                f"the announced classes are {_shown(classes)}, but the labels of {self.name} are numbers; "
                "write the classes as the labels are."
            ) from None
        if len(set(known)) < max(len(known), 2):
            raise ValueError(f"the announced classes are {_shown(classes)}; name at least two, each once.")
        strangers = sorted(self.distinct - set(known))
        if strangers:
            raise ValueError(_unknown(self.name, strangers, known) + _ANNOUNCE_ALL)
        self.reason = f"{len(known)} announced classes: {_shown(sorted(known))}"
        if self.task == _CLASSIFICATION:
            return classification(known)
        return Binary(sorted(known)) if self.task == BINARY else Multiclass(sorted(known))


class _Checked(DerivedSource):
    """A source whose labels are held against what was found out about them."""

    def __init__(self, source: Source, found: Survey, growing: bool):
        super().__init__(source)
        self.found, self.growing = found, growing and found.grow_classes

    def __iter__(self) -> Iterator[LabelledBlock]:
        assert isinstance(self.found.task, Classification)
        known = set(self.found.task.classes.tolist())
        row = 0
        for X, y in self.source:
            # A label that is no number is the learner's to refuse.
            new = [label for label in np.unique(y).tolist() if label not in known and _finite(label)]
            if new and not self.growing:
                place = f"{self.name}, row {row + int(np.argmax(y == new[0])):,},"
                raise ValueError(_unknown(place, new, sorted(known)) + self._remedy())
            known.update(new)
            if new:
                self.found.believe(self.name, new, len(known))
            row += len(y)
            yield X, y

    def _remedy(self) -> str:
        if self.found.announced:
            return _ANNOUNCE_ALL
        rows = f"of the first {self.found.rows:,} rows"
        return f" {rows}; announce all classes (--classes), or read all rows first (--survey)."


def _unknown(name: str, new: Sequence[Any], known: Sequence[Any]) -> str:
    return f"{name} has the label {_shown(new[:1])}, which is not among the classes {_shown(known)}"


def _shown(labels: Sequence[Any]) -> str:
    """Some labels, for people."""
    words = [f"{label:g}" if isinstance(label, float) else repr(label) for label in labels[:5]]
    return ", ".join(words) + (", ..." if len(labels) > 5 else "")


def _finite(label: Any) -> bool:
    return isinstance(label, str) or math.isfinite(label)
