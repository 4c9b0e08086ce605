"""State: what a served model is at one place of its log. It moves with records, one after the other, and with nothing
else: the same records in the same order give the same model, the same answers and the same errors, bit for bit.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..encoding.tables import NUMBER, WORD
from ..learner import Learner
from ..tasks import REGRESSION, Classification
from .course import Course, restored, whole
from .records import ARROW, JSON, LABEL, LEARN, SHOW, Record, Refusal, Rows, check_kinds, encoded
from .specs import ModelSpec, learner_of

JSON_TYPE, ARROW_TYPE = "application/json", "application/vnd.apache.arrow.stream"
_REMEMBERED = 100_000  # ids whose labels have come
_SHOWN = 10  # classes that an error names

LEARNED, REPEATED, UNKNOWN, REFUSED = "learned", "repeated", "unknown", "refused"


class Answer(NamedTuple):
    """What a client gets."""

    status: int
    type: str
    body: bytes

    @classmethod
    def of(cls, value: Any, status: int = 200) -> "Answer":
        return cls(status, JSON_TYPE, encoded(value))


def refused(error: Exception) -> Answer:
    return Answer.of({"error": str(error)}, getattr(error, "status", 422))


class State:
    """A learner, the rows that wait for labels, how well it has done."""

    def __init__(self, spec: ModelSpec):
        self.spec = spec
        self.learner: Learner | None = None
        self.course = Course(squared=spec.task == REGRESSION)
        self.shown: dict[str, tuple[float, Any]] = {}  # when each row that waits was shown, and what was said of it
        self.labelled: dict[str, None] = {}
        self.given_up = 0

    # Records.

    def apply(self, record: Record, rows: Rows) -> Answer:
        """Move on by a record; what it asks and cannot have changes nothing."""
        self._forget(record.at)
        try:
            if record.kind == LEARN:
                return self._learn(record, rows)
            if record.kind == SHOW:
                return self._show(record, rows)
            assert record.kind == LABEL
            return self._label(rows)
        except (ValueError, FloatingPointError) as error:
            return refused(error)

    def _ready_for(self, rows: Rows, label: Any = None) -> Learner:
        if self.learner is None:
            if label is None and self.spec.task == "multiclass" and self.spec.classes is None:
                raise Refusal("Nothing was learned yet and no classes are announced: learn a row first.", 409)
            self.learner = learner_of(self.spec, named=rows.named, label=label)
        if self.learner.rows_learned == 0 and len(self.learner.waiting) == 0:
            fits = rows.named == (self.learner.columns is not None)
            self.learner = self.learner if fits else learner_of(self.spec, named=rows.named, label=label)
        check_rows(self.learner, rows)
        if rows.labels is not None:
            _check_labels(self.learner, rows.labels)
        return self.learner

    def _learn(self, record: Record, rows: Rows) -> Answer:
        first = rows.labels[0] if isinstance(rows.labels, list) else rows.labels[0].item()
        learner = self._ready_for(rows, first)
        if rows.n == 1 and record.format == JSON:
            scores = learner.learn_one(rows.X[0], first, 1.0 if rows.weights is None else rows.weights[0])[None]
        else:
            scores = learner.learn(rows.X, rows.labels, rows.weights)
        shown = learner.task.decode(scores)
        self.course.take(self.course.errors(rows.labels, shown))
        if record.format == ARROW:
            return Answer(200, ARROW_TYPE, arrow_bytes({"prediction": shown}))
        return Answer.of({"predictions": shown.tolist(), "rows_learned": learner.rows_learned})

    def _show(self, record: Record, rows: Rows) -> Answer:
        learner = self._ready_for(rows)
        assert rows.ids is not None
        learner.scores(rows.X)  # what is wrong with a row is found before one of them waits
        parts = []
        for t, id in enumerate(rows.ids):
            before = learner.waiting.row(id) if self.shown.pop(id, None) is not None else None
            parts.append(learner.show_waiting(_row(rows.X, t), id))
            self.given_up += before is not None and not _same(before, learner.waiting.row(id))
            self.shown[id] = record.at, learner.task.decode(parts[-1]).tolist()[0]
            self.labelled.pop(id, None)
            if len(self.shown) > len(learner.waiting):  # it keeps the newest
                del self.shown[next(iter(self.shown))]
                self.given_up += 1
        return predicted(learner, np.concatenate(parts), arrow=record.format == ARROW)

    def _label(self, rows: Rows) -> Answer:
        assert rows.ids is not None
        found: dict[str, str] = {}
        reasons: dict[str, str] = {}
        for id, label in zip(rows.ids, rows.labels, strict=True):
            if id not in self.shown:
                found[id] = REPEATED if id in self.labelled else UNKNOWN
                continue
            assert self.learner is not None
            try:
                _check_labels(self.learner, [label])
                self.learner.label(id, label)
            except (ValueError, FloatingPointError) as error:
                found[id], reasons[id] = REFUSED, str(error)
                continue
            self.course.take(self.course.errors([label], [self.shown.pop(id)[1]]))
            self.labelled[id] = None
            found[id] = LEARNED
        while len(self.labelled) > _REMEMBERED:
            del self.labelled[next(iter(self.labelled))]
        told: dict[str, Any] = {"labels": found, "rows_learned": self.rows_learned}
        return Answer.of(told | ({"reasons": reasons} if reasons else {}))

    def _forget(self, now: float) -> None:
        """Give up rows that have waited too long."""
        oldest = now - (self.spec.waiting_seconds or 0.0)
        while self.shown and next(iter(self.shown.values()))[0] < oldest:
            id = next(iter(self.shown))
            del self.shown[id]
            assert self.learner is not None
            self.learner.waiting.drop(id)
            self.given_up += 1

    @property
    def rows_learned(self) -> int:
        return 0 if self.learner is None else self.learner.rows_learned

    # Files.

    def beside(self) -> dict[str, Any]:
        """All but the learner, as a JSON value."""
        return {
            "course": self.course.state(),
            "shown": {id: list(said) for id, said in self.shown.items()},
            "labelled": list(self.labelled),
            "given_up": self.given_up,
        }

    def become(self, learner: Learner, beside: dict[str, Any] | None) -> None:
        """Go on with a learner of a file, and with what stands beside it there; ValueError for what cannot be."""
        course, shown, labelled, given_up = Course(squared=learner.task.name == REGRESSION), {}, {}, 0
        if beside is not None:
            try:
                course = restored(beside["course"])
                shown = {str(id): (float(at), _said(learner, said)) for id, (at, said) in beside["shown"].items()}
                labelled, given_up = dict.fromkeys(map(str, beside["labelled"])), whole(beside["given_up"])
            except (KeyError, TypeError, AttributeError, OverflowError) as error:
                raise ValueError(f"what stands beside the model cannot be read ({error!r})") from None
        if set(shown) != set(learner.waiting.ids) or course.squared != (learner.task.name == REGRESSION):
            if beside is not None:
                raise ValueError("its rows that wait for labels, or its errors, are not those of its model")
            for id in learner.waiting.ids:
                learner.waiting.drop(id)
        self.learner, self.course, self.shown, self.labelled, self.given_up = learner, course, shown, labelled, given_up


def check_rows(learner: Learner, rows: Rows) -> None:
    """Refuse rows with names for a model without, and the other way round; values of another kind than their names',
    lists of another length.
    """
    if rows.named and learner.columns is not None:
        check_kinds(rows, learner.columns)
        return
    if learner.rows_learned == 0:
        return
    if not rows.named and learner.columns is None:
        if rows.X.shape[1] != learner.width and not learner.grow_features:
            raise Refusal(
                f"The rows have {rows.X.shape[1]} features each; this model takes {learner.width}. Rows that miss some "
                "or bring new ones are objects, whose values have names: they need a model of their own."
            )
        return
    if rows.named:
        raise Refusal(
            f"This model knows its {learner.width} features by their places: give rows as lists of so many numbers."
        )
    raise Refusal("This model knows its features by their names: give rows as objects, or as columns with names.")


def _check_labels(learner: Learner, labels: Any) -> None:
    """Refuse labels that a task does not have. Requires: they are of one kind."""
    task, is_word = learner.task, isinstance(labels[0], str)
    if not isinstance(task, Classification):
        if is_word:
            raise Refusal(f"The label {labels[0]!r:.80} is a word; a regression learns numbers.")
        return
    classes = task.classes.tolist()
    if learner.grow_classes:
        kind = WORD if isinstance(classes[0], str) else NUMBER
        row, remedy = -1 if is_word == (kind == WORD) else 0, f"which are {kind}s; send a {kind}."
    else:
        _, known = task.positions(labels)
        row = -1 if known.all() else int(np.argmin(known))
        remedy = 'which it has been made with ("classes"); send one of them.'
    if row >= 0:
        where = f"Row {row}: the" if len(labels) > 1 else "The"
        label = labels[row] if isinstance(labels, list) else labels[row].item()
        shown = ", ".join(map(repr, classes[:_SHOWN])) + (", ..." if len(classes) > _SHOWN else "")
        raise Refusal(f"{where} label {label!r:.80} is none of this model's classes {shown}, {remedy}")


def _same(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether two rows are equal, of which one may know more features."""
    n = min(len(before), len(after))
    return np.array_equal(before[:n], after[:n]) and not before[n:].any() and not after[n:].any()


def predicted(learner: Learner, scores: np.ndarray, *, arrow: bool) -> Answer:
    """Labels or values, scores and probabilities as an answer."""
    task = learner.task
    shown = task.decode(scores)
    classes = task.classes.tolist() if isinstance(task, Classification) else None
    chances = None
    if classes is not None and not learner.without_labels:
        chances = learner.probabilities_of(scores)
    if arrow:
        found = {"prediction": shown}
        found |= {f"score.{k}" if scores.shape[1] > 1 else "score": scores[:, k] for k in range(scores.shape[1])}
        if chances is not None and classes is not None:
            found |= {f"probability.{label}": chances[:, k] for k, label in enumerate(classes)}
        return Answer(200, ARROW_TYPE, arrow_bytes(found))
    told = {"predictions": shown.tolist(), "scores": scores.tolist()}
    if chances is not None:
        told |= {"probabilities": chances.tolist(), "classes": classes}
    return Answer.of(told)


def arrow_bytes(columns: dict[str, np.ndarray]) -> bytes:
    import pyarrow as pa

    table = pa.table(
        {name: pa.array(column.tolist() if column.dtype.kind in "OU" else column) for name, column in columns.items()}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def _said(learner: Learner, value: Any) -> Any:
    """What a learner has said of a row, of a file; ValueError for what it cannot have said."""
    if isinstance(learner.task, Classification):
        fits = value in learner.task.classes.tolist()
    else:
        fits = isinstance(value, int | float) and math.isfinite(value)
    if not fits:
        raise ValueError(f"{value!r:.40} was said of a row that waits, which its model cannot have said")
    return value


def _row(X: Any, t: int) -> Any:
    """Row t of rows of any kind, with names or as a vector."""
    if hasattr(X, "slice"):
        return {name: value for name, value in X.slice(t, 1).to_pylist()[0].items() if value is not None}
    return X[t]
