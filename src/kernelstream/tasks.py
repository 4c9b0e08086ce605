"""Binary, Multiclass, Regression: labels to targets, scores to labels.

Targets that compiled code sees are float64: +-1, a class index, or the value itself. Labels may be of any sortable
type. A score of exactly 0 is shown as the positive class, a tie as the lowest class.
"""

import numbers
from typing import Any

import numpy as np

from .forms import among, every, label, number, pattern, record, text, truth, whole
from .numerics.rows import LARGEST, as_reals, unmasked
from .teaching import explained

BINARY, MULTICLASS, REGRESSION = "binary", "multiclass", "regression"

# What models cannot say, why, and what to choose.
NO_CLASSES = (
    "A regression has no classes, and so no probabilities of them. Intervals say how far off its values are to be "
    "expected; for classes choose Binary([...]) or Multiclass([...])."
)
NO_CHANCES = "Novelty has no chances: a score lies above the border or below it (decision_function)."
NO_INTERVALS = "Classes have no intervals; probabilities say how sure a classifier is."

# What labels are, all of one sort: made one array, others would become text. NumPy's kinds of arrays, Python's types.
_SORTS = {"b": "truth values", "i": "numbers", "u": "numbers", "f": "numbers", "U": "words"}
_TYPES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "truth values"),
    ((numbers.Real,), "numbers"),
    ((str,), "words"),
)

_ONE_SORT = (
    "The labels of a model are all numbers, all truth values or all words: write each as a word, str(label), from the "
    "first row on. Nothing was learned from this block."
)

# What a model file holds as it is, of labels that are Python's objects.
_KEPT = (str, bool, int, float, np.bool_, np.integer, np.float16, np.float32)
_DTYPE = r"[<>|](b1|[iu][1248]|f[248]|U\d*|S\d+|O|[mM]8(\[\d*[A-Za-z]+\])?)"

# Up to so many labels are looked up one by one: a call of NumPy costs more than that.
_FEW = 16


@explained(y="labels, (n,)", label="one of `classes`, or a number", places="indices of classes, (n,)")
class Task:
    """Base of the tasks; `name` is the word used on the command line and by losses."""

    name: str
    n_outputs: int

    def encode(self, y: Any) -> np.ndarray:
        """Targets for labels; ValueError names what cannot be encoded."""
        raise NotImplementedError

    def encode_one(self, label: Any) -> float | None:
        """The target of one label; None for what `encode` should look at."""
        return None

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """The label shown for each row of scores (n, K)."""
        raise NotImplementedError

    def grown(self, y: Any) -> "Task":
        """The task with the labels in y that were not known, after those that were."""
        return self

    def to_json(self) -> dict[str, Any]:
        """A JSON value from which `from_json` makes an equal task."""
        return {"name": self.name}


class Regression(Task):
    """One value a row.

    Examples
    --------
    >>> from kernelstream import Learner, Regression
    >>> learner = Learner("fogd", Regression(), scaling="online")
    >>> learner.learn([[0.0], [1.0]], [10.0, 12.0]).shape
    (2, 1)
    """

    name = REGRESSION
    n_outputs = 1

    def encode(self, y: Any) -> np.ndarray:
        targets = as_reals(y, "targets of a regression")
        if targets.ndim != 1:
            raise ValueError(f"Targets must be one a row, in one dimension; got shape {targets.shape}.")
        if not (np.abs(targets) <= LARGEST).all():
            row = int(np.argmin(np.abs(targets) <= LARGEST))
            raise ValueError(
                f"Row {row}: the target {targets[row]} is NaN, infinity or beyond {LARGEST:g}. Drop such rows or scale "
                "the targets. Nothing was learned from this block."
            )
        return targets

    def encode_one(self, label: Any) -> float | None:
        return float(label) if isinstance(label, float | int) and abs(label) <= LARGEST else None

    def decode(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0].astype(np.float64)


@explained(y="labels, (n,)", places="indices of classes, (n,)")
class Classification(Task):
    """Labels `classes`, in the order of the outputs."""

    def __init__(self, classes: Any):
        self.classes = _label_array(classes)
        _require_kept(self.classes)
        self._order = np.argsort(self.classes, kind="stable")
        self._sorted = self.classes[self._order]
        labels = self.classes.tolist() if _plain(self.classes) else []
        self._places = {label: place for place, label in enumerate(labels)}
        self._targets = dict(zip(labels, self.targets_at(np.arange(len(labels))).tolist(), strict=True))
        if (self._sorted[1:] == self._sorted[:-1]).any():
            raise ValueError(f"classes {self.classes.tolist()} name a label twice.")

    def positions(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """The class index of each label, and whether it is known at all."""
        y = _label_array(y)
        if len(y) <= _FEW and self._places and _plain(y):
            found = np.array([self._places.get(label, -1) for label in y.tolist()], np.int64)
            return np.maximum(found, 0), found >= 0
        try:
            place = np.minimum(np.searchsorted(self._sorted, y), len(self._sorted) - 1)
            known = np.asarray(self._sorted[place] == y)
        except (TypeError, np.exceptions.DTypePromotionError):
            known = np.zeros(len(y), bool)
        if known.shape != y.shape:
            known = np.zeros(len(y), bool)
        return (self._order[place] if known.any() else np.zeros(len(y), np.int64)), known

    def _learnable(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """`positions` of labels that are known, or could be; ValueError names one that could not."""
        y = _label_array(y)
        places, known = self.positions(y)
        if not known.all() and _sort(y) != _sort(self.classes):
            row = int(np.argmin(known))
            raise ValueError(
                f"Row {row}: the label {y[row : row + 1].tolist()[0]!r} is not among the classes "
                f"{_shown(self.classes)}, which are {_sort(self.classes)}. {_ONE_SORT}"
            )
        return places, known

    def newcomers(self, y: Any) -> list[int]:
        """The rows that bring a label which is not among the classes, each label where it first comes."""
        labels = _label_array(y)
        unknown = np.flatnonzero(~self._learnable(labels)[1])
        if len(unknown) == 0:
            return []
        return sorted(unknown[np.unique(labels[unknown], return_index=True)[1]].tolist())

    def targets_at(self, places: np.ndarray) -> np.ndarray:
        """What compiled code sees of the classes of these indices."""
        raise NotImplementedError

    def encode(self, y: Any) -> np.ndarray:
        return self.targets_at(self.encode_positions(y))

    def encode_one(self, label: Any) -> float | None:
        try:
            return self._targets.get(label)
        except TypeError:  # it cannot be a key
            return None

    def encode_positions(self, y: Any) -> np.ndarray:
        """The class index of each label; ValueError names one that is not known."""
        positions, known = self._learnable(y)
        if not known.all():
            row = int(np.argmin(known))
            raise ValueError(
                f"Row {row}: the label {_label_array(y)[row : row + 1].tolist()[0]!r} is not among the classes "
                f"{_shown(self.classes)}. Begin with all classes (a Learner with Multiclass([...]), an estimator with "
                "classes=[...]), or set grow_classes=True. Nothing was learned from this block."
            )
        return positions

    def to_json(self) -> dict[str, Any]:
        classes, kind = self.classes, self.classes.dtype.kind
        if kind in "mM":
            classes = classes.astype(np.int64)
        elif kind == "S":
            classes = np.char.decode(classes, "latin-1")
        labels = [label.item() if isinstance(label, np.generic) else label for label in classes.tolist()]
        return {"name": self.name, "classes": labels, "dtype": self.classes.dtype.str}


class Binary(Classification):
    """Two classes; the second is the positive one.

    Parameters
    ----------
    classes : the two labels, of any type that can be sorted

    Attributes
    ----------
    classes : the labels, as an array

    Examples
    --------
    >>> from kernelstream import Binary
    >>> task = Binary(["no", "yes"])
    >>> task.encode(["yes", "no"]).tolist(), task.classes.tolist()
    ([1.0, -1.0], ['no', 'yes'])
    """

    name = BINARY
    n_outputs = 1

    def __init__(self, classes: Any):
        super().__init__(classes)
        if len(self.classes) != 2:
            raise ValueError(f"A binary task has two classes; got {len(self.classes)}: {_shown(self.classes)}.")

    def targets_at(self, places: np.ndarray) -> np.ndarray:
        return 2.0 * places - 1.0

    def decode(self, scores: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes[(scores[:, 0] >= 0).astype(np.int64)])

    def grown(self, y: Any) -> "Classification":
        return self if self.positions(y)[1].all() else Multiclass(self.classes).grown(y)


class Multiclass(Classification):
    """Any number of classes, with one output for each.

    Parameters
    ----------
    classes : the labels, of any type that can be sorted; those that come later are added with ``grow_classes=True``

    Attributes
    ----------
    classes : the labels in the order of the outputs, as an array

    Examples
    --------
    >>> from kernelstream import Learner, Multiclass
    >>> learner = Learner("fogd", Multiclass(["a", "b"]), grow_classes=True)
    >>> learner.learn([[0.0], [1.0], [2.0]], ["a", "b", "c"]).shape, learner.task.classes.tolist()
    ((3, 3), ['a', 'b', 'c'])
    """

    name = MULTICLASS

    def __init__(self, classes: Any):
        super().__init__(classes)
        if len(self.classes) == 0:
            raise ValueError("A multiclass task needs at least one class.")

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.classes)

    def targets_at(self, places: np.ndarray) -> np.ndarray:
        return places.astype(np.float64)

    def decode(self, scores: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes[scores.argmax(axis=1)])

    def grown(self, y: Any) -> "Multiclass":
        _, known = self._learnable(y)
        if known.all():
            return self
        new = np.unique(_label_array(y)[~known])
        return Multiclass(np.concatenate([self.classes, new.astype(np.result_type(new, self.classes))]))


def classification(classes: Any, *, grow: bool = False) -> Classification:
    """The task for these classes: binary for two, unless more may come."""
    classes = np.unique(_label_array(classes))
    if grow:
        return Multiclass(classes)
    if len(classes) < 2:
        raise ValueError(
            f"A classifier needs at least 2 classes; got {len(classes)} class: {_shown(classes)}. Announce all classes "
            "(classes=...) when the first block holds only one, or set grow_classes=True."
        )
    return Binary(classes) if len(classes) == 2 else Multiclass(classes)


def from_json(written: dict[str, Any]) -> Task:
    """The task that `to_json` wrote; ValueError for what it cannot have written."""
    kinds = {task.name: task for task in (Binary, Multiclass)}
    among(REGRESSION, *kinds)(written.get("name"), "task.name")
    if written["name"] == REGRESSION:
        record(name=text)(written, "task")
        return Regression()
    record(name=text, classes=every(label), dtype=pattern("the name of a dtype", _DTYPE))(written, "task")
    dtype, labels = np.dtype(written["dtype"]), written["classes"]
    held = np.dtype(np.int64) if dtype.kind in "mM" else dtype
    within = whole(*(int(end) for end in (np.iinfo(held).min, np.iinfo(held).max))) if held.kind in "iu" else label
    every({"b": truth, "f": number(), "U": text, "S": text}.get(dtype.kind, within))(labels, "task.classes")
    # Text is as long as the longest label, whatever the file says of it.
    classes = np.array(labels, np.str_ if dtype.kind in "US" else held)
    if dtype.kind == "S":
        classes = np.char.encode(classes, "latin-1")
    return kinds[written["name"]](classes.view(dtype) if dtype.kind in "mM" else classes)


def _require_kept(classes: np.ndarray) -> None:
    """ValueError for labels that no model file could hold."""
    kind, place = classes.dtype.kind, 0
    known = kind in "iubUSmM" or (kind == "f" and classes.itemsize <= 8)
    if kind == "O":
        place = next((place for place, label in enumerate(classes) if not isinstance(label, _KEPT)), -1)
        known = place < 0
    if not known:
        raise ValueError(
            f"The class {classes[place]!r:.60} is {type(classes[place]).__name__}, which a model file cannot hold: "
            "give numbers, words, truth values, bytes or NumPy's times; str(label) makes a word of whatever it is."
        )


def _plain(labels: np.ndarray) -> bool:
    """Whether labels are equal as NumPy's when they are equal as Python's: numbers and text."""
    return labels.dtype.kind in "iubfU"


def _label_array(labels: Any) -> np.ndarray:
    labels = unmasked(labels, "labels")
    given = labels if hasattr(labels, "__array__") else list(labels)
    labels = np.asarray(given)
    if labels.dtype.kind == "T":
        labels = np.array(labels.tolist(), np.str_)
    if isinstance(given, list) or labels.dtype.kind == "O":
        require_one_sort(given)
    if labels.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels must be real numbers or words.")
    if labels.ndim != 1:
        raise ValueError(f"Labels must be one a row, in one dimension; got shape {labels.shape}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.argmin(np.isfinite(labels)))
        raise ValueError(f"Row {row}: the label {labels[row]} is NaN or infinity. Drop such rows.")
    if labels.dtype.kind in "mM" and np.isnat(labels).any():
        raise ValueError(f"Row {int(np.argmax(np.isnat(labels)))}: the label is NaT, no time. Drop such rows.")
    return labels


def require_one_sort(labels: Any) -> None:
    """ValueError for labels of which some are missing, or that NumPy would make text because some are."""
    labels = list(labels)
    sorts = {kind: _sort_of(kind) for kind in set(map(type, labels))}
    if type(None) in sorts:
        row = next(row for row, label in enumerate(labels) if label is None)
        raise ValueError(f"Row {row}: the label is None. Leave out rows without labels.")
    if len(set(sorts.values())) > 1:
        first = sorts[type(labels[0])]
        row = next(row for row, label in enumerate(labels) if sorts[type(label)] != first)
        raise ValueError(f"Row {row}: the label {labels[row]!r} comes among {first}, as {labels[0]!r} is. {_ONE_SORT}")


def _sort_of(kind: type) -> str:
    return next((sort for types, sort in _TYPES if issubclass(kind, types)), kind.__name__)


def _sort(labels: np.ndarray) -> str:
    if labels.dtype.kind == "O" and len(labels) > 0:
        return _sort_of(type(labels[0]))
    return _SORTS.get(labels.dtype.kind, labels.dtype.name)


def _shown(classes: np.ndarray) -> str:
    words = [repr(c) for c in classes[:10].tolist()]
    return "[" + ", ".join(words) + (", ...]" if len(classes) > 10 else "]")
