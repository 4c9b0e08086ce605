"""The state of a served model moves with records, one after the other, as plain calls of a Learner would move it."""

import datetime as dt
import json
from functools import partial

import numpy as np
import pytest
from benchmarks.service_process import differences, serving
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelstream import Learner
from kernelstream.serve.course import Course, restored
from kernelstream.serve.protocol import described_tensors
from kernelstream.serve.records import JSON, LABEL, LEARN, SHOW, Record, encoded, read
from kernelstream.serve.specs import ModelSpec, learner_of
from kernelstream.serve.state import State, refused

pytest.importorskip("fastapi", reason="pip install 'kernelstream[serve]' brings it")

IDS = [f"id-{k}" for k in range(8)]
WORDS = ("red", "blue", "green")
SPECS = {
    "binary": {"task": "binary", "classes": [0, 1], "algorithm": {"name": "fogd", "n_components": 8}},
    "multiclass": {"task": "multiclass", "algorithm": {"name": "rbp", "budget": 4}},
    "regression": {"task": "regression", "algorithm": {"name": "fogd", "n_components": 8}},
}
SPECS["watched"] = SPECS["binary"] | {"drift": "page-hinkley:threshold=0,min_instances=1", "on_drift": "forget:5"}
numbers = st.floats(-3, 3, width=32)
vectors = st.lists(numbers, min_size=2, max_size=2)
named = st.dictionaries(st.sampled_from("abcd"), st.one_of(numbers, st.none()), min_size=1, max_size=3)
LABELS = {
    "binary": st.sampled_from([0, 1, 1, 0, 7, "word"]),
    "multiclass": st.sampled_from(["x", "y", "z"]),
    "regression": st.one_of(numbers, st.just("word")),
}
LABELS["watched"] = LABELS["binary"]


def spec_of(task, **more):
    return ModelSpec(**SPECS[task] | {"waiting_rows": 5, "waiting_seconds": 10.0} | more)


@st.composite
def histories(draw, task, rows):
    """Records with moments that do not go back."""
    found, at = [], 1000.0
    for _ in range(draw(st.integers(1, 12))):
        at += draw(st.sampled_from([0.0, 0.5, 4.0, 11.0]))
        kind = draw(st.sampled_from((LEARN, SHOW, LABEL)))
        if kind == LABEL:
            body = {"labels": draw(st.dictionaries(st.sampled_from(IDS), LABELS[task], min_size=1, max_size=4))}
        else:
            X = draw(st.lists(rows, min_size=1, max_size=4))
            body = {"rows": X}
            if kind == LEARN:
                body["labels"] = draw(st.lists(LABELS[task], min_size=len(X), max_size=len(X)))
                if len({isinstance(label, str) for label in body["labels"]}) > 1:
                    continue  # refused where the request is read
            else:
                body["ids"] = draw(st.lists(st.sampled_from(IDS), min_size=len(X), max_size=len(X), unique=True))
        found.append(Record(kind, JSON, encoded(body), at))
    return found


class Plain:
    """The same in plain calls of a Learner, without any of the state's code."""

    def __init__(self, spec):
        self.spec, self.learner = spec, None
        self.waits, self.labelled, self.given_up = {}, set(), 0

    def apply(self, record):
        body = json.loads(record.body)
        for id in [id for id, at in self.waits.items() if at < record.at - self.spec.waiting_seconds]:
            self.waits.pop(id)
            self.learner.waiting.drop(id)
            self.given_up += 1
        try:
            return getattr(self, record.kind)(record.at, body)
        except (ValueError, FloatingPointError) as error:
            return {"error": str(error)}

    def ready(self, rows, label=None):
        if self.learner is None:
            if label is None and self.spec.task == "multiclass":
                raise ValueError("no class")
            self.learner = learner_of(self.spec, named=isinstance(rows[0], dict), label=label)
        return rows if isinstance(rows[0], dict) else np.array(rows)

    def learn(self, at, body):
        X = self.ready(body["rows"], body["labels"][0])
        scores = self.learner.learn(X, body["labels"])
        return {"predictions": self.learner.task.decode(scores).tolist(), "rows_learned": self.learner.rows_learned}

    def show(self, at, body):
        X = self.ready(body["rows"])
        self.learner.scores(X)
        scores = []
        for row, id in zip(X, body["ids"], strict=True):
            before = self.learner.waiting.row(id) if self.waits.pop(id, None) is not None else None
            scores.append(self.learner.show_waiting(row, id).tolist()[0])
            after = self.learner.waiting.row(id)
            if before is not None and np.pad(before, (0, len(after) - len(before))).tolist() != after.tolist():
                self.given_up += 1
            self.waits[id] = at
            self.labelled.discard(id)
            while len(self.waits) > self.spec.waiting_rows:
                del self.waits[next(iter(self.waits))]
                self.given_up += 1
        return {"scores": scores}

    def label(self, at, body):
        found = {}
        for id, label in body["labels"].items():
            if id not in self.waits:
                found[id] = "repeated" if id in self.labelled else "unknown"
                continue
            try:
                self.learner.label(id, label)
            except (ValueError, FloatingPointError):
                found[id] = "refused"
                continue
            del self.waits[id]
            self.labelled.add(id)
            found[id] = "learned"
        return {"labels": found, "rows_learned": 0 if self.learner is None else self.learner.rows_learned}


def answered(state, record):
    return json.loads(state.apply(record, read(record)).body)


def same(state, other):
    """Whether two states are one, whatever comes next."""
    if state.learner is None or other.learner is None:
        return state.learner is other.learner
    beside, others = state.beside(), other.beside()
    return beside == others and list(beside["shown"]) == list(others["shown"]) and not unlike(state, other)


def unlike(state, other):
    return differences(state.learner, other.learner)


cases = pytest.mark.parametrize(
    ("task", "rows"),
    [("binary", vectors), ("multiclass", named), ("regression", named), ("watched", vectors)],
    ids=["binary", "multiclass-named", "regression-named", "binary-watched"],
)
few = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


@cases
@few
@given(data=st.data())
def test_records_are_plain_calls_of_a_learner(task, rows, data):
    records = data.draw(histories(task, rows))
    state, plain = State(spec_of(task)), Plain(spec_of(task))
    for record in records:
        told, expected = answered(state, record), plain.apply(record)
        assert ("error" in told) == ("error" in expected)
        if "error" not in told:
            assert {name: told[name] for name in expected} == expected
    assert state.given_up == plain.given_up
    assert list(state.shown) == list(plain.waits)
    if state.learner is not None and plain.learner is not None:
        assert not unlike(state, plain)


@cases
@few
@given(data=st.data())
def test_a_file_at_any_place_changes_nothing_that_comes_after(task, rows, data, tmp_path_factory):
    records = data.draw(histories(task, rows))
    place = data.draw(st.integers(0, len(records)))
    straight, broken = State(spec_of(task)), State(spec_of(task))
    for record in records[:place]:
        straight.apply(record, read(record))
        broken.apply(record, read(record))
    if broken.learner is not None:
        path = tmp_path_factory.mktemp("state") / "m.ks"
        broken.learner.save(path, serve=broken.beside())
        broken = State(spec_of(task))
        learner, header = Learner.load_with_header(path)
        broken.become(learner, header["serve"])
    for record in records[place:]:
        assert answered(broken, record) == answered(straight, record)
    assert same(broken, straight)


def record_of(kind, at=0.0, **body):
    return Record(kind, JSON, encoded(body), at)


def show(state, ids, at=0.0):
    return answered(state, record_of(SHOW, at, rows=[[float(k), 1.0] for k in range(len(ids))], ids=ids))


def test_a_label_is_learned_once():
    state = State(spec_of("binary"))
    show(state, ["a", "b"])
    tell = partial(record_of, LABEL)
    assert answered(state, tell(labels={"a": 1, "c": 0})) == {
        "labels": {"a": "learned", "c": "unknown"},
        "rows_learned": 1,
    }
    assert answered(state, tell(labels={"a": 1, "b": 0})) == {
        "labels": {"a": "repeated", "b": "learned"},
        "rows_learned": 2,
    }
    show(state, ["a"])
    assert answered(state, tell(labels={"a": 1}))["labels"] == {"a": "learned"}  # another row of the same name


def test_a_label_that_cannot_be_learned_leaves_its_row_waiting():
    state = State(spec_of("binary"))
    show(state, ["a"])
    told = answered(state, record_of(LABEL, labels={"a": 7}))
    assert told["labels"] == {"a": "refused"} and "7" in told["reasons"]["a"]
    assert answered(state, record_of(LABEL, labels={"a": 1}))["labels"] == {"a": "learned"}


def test_the_oldest_rows_are_given_up_where_too_many_wait():
    state = State(spec_of("binary", waiting_rows=3))
    show(state, ["a", "b"])
    show(state, ["c", "d", "e"])
    assert list(state.shown) == ["c", "d", "e"] == state.learner.waiting.ids
    assert state.given_up == 2
    show(state, ["c"])  # shown anew, it is the newest
    show(state, ["f"])
    assert list(state.shown) == ["e", "c", "f"] and state.given_up == 3
    show(state, list("ghijk"))
    assert list(state.shown) == ["i", "j", "k"] and state.given_up == 8


def test_an_id_that_waits_already_is_given_up_unless_it_is_the_same_row():
    state = State(spec_of("binary"))
    show(state, ["a", "b"])
    show(state, ["a", "b"])  # a request that was sent again
    assert state.given_up == 0 and list(state.shown) == state.learner.waiting.ids == ["a", "b"]
    show(state, ["b"])  # another row of this name
    assert state.given_up == 1 and list(state.shown) == state.learner.waiting.ids == ["a", "b"]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (
            {"amount": 12.5},
            {"amount": "12.5"},
            ("'12.5' of 'amount' is a word", "'amount' has numbers", "Send numbers"),
        ),
        ({"amount": 12.5}, {"amount": ""}, ("'' of 'amount' is a word", "or null")),
        ({"land": "PT"}, {"land": 5}, ("5.0 of 'land' is a number", "'land' has words", "Send words")),
        ({"land": "PT"}, {"land": True}, ("True of 'land' is a number",)),
        ({"n": 1.0}, {"n": "2024-03-01"}, ("'2024-03-01' of 'n' is a word", "'n' has numbers")),
        ({"when": "2024-03-01"}, {"when": "soon"}, ("'soon' of 'when' is not a date", "write it as 2026-01-25")),
    ],
)
def test_a_value_of_another_kind_is_refused_and_changes_nothing(first, second, words):
    state = State(spec_of("regression"))
    both = record_of(LEARN, rows=[first, second], labels=[1.0, 2.0])
    told = [answered(state, both)["error"]]
    assert state.rows_learned == 0
    answered(state, record_of(LEARN, rows=[first], labels=[1.0]))
    before = described_tensors("m", state.learner, None)
    for record in (
        record_of(LEARN, rows=[second], labels=[1.0]),
        record_of(SHOW, rows=[second], ids=["a"]),
        both,
    ):
        told.append(answered(state, record)["error"])
    assert state.rows_learned == 1 and described_tensors("m", state.learner, None) == before
    for error in told:
        assert all(word in error for word in words), error
    table = as_arrow(**{name: [value] for name, value in second.items()}, label=[1.0])
    told = json.loads(state.apply(table, read(table)).body)["error"]
    assert ("is not a date" if "when" in first else f"column {next(iter(first))!r} holds") in told
    assert "error" not in answered(state, record_of(LEARN, rows=[dict.fromkeys(first)], labels=[1.0]))


def as_arrow(**columns):
    pa = pytest.importorskip("pyarrow")
    table, sink = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return Record(LEARN, "arrow", sink.getvalue().to_pybytes(), 0.0)


def test_dates_are_the_same_in_json_and_arrow_as_text_and_as_seconds():
    moments = [dt.datetime(2024, 3, 1, 5) + dt.timedelta(hours=7 * t, microseconds=t) for t in range(30)]
    x, y = [t / 7 for t in range(30)], [float(t % 3) for t in range(30)]
    texts, seconds = ([f(m) for m in moments] for f in (str, lambda m: m.replace(tzinfo=dt.UTC).timestamp()))
    found = []
    for first, rest in ((texts, texts), (texts, seconds), (moments, moments), (moments, texts)):
        state = State(spec_of("regression", dates=["day", "trend"]))
        for some, whens in ((slice(0, 1), first), (slice(1, 30), rest)):
            if isinstance(whens[0], dt.datetime):
                record = as_arrow(when=whens[some], x=x[some], label=y[some])
            else:
                rows = [{"when": when, "x": one} for when, one in zip(whens[some], x[some], strict=True)]
                record = record_of(LEARN, rows=rows, labels=y[some])
            assert state.apply(record, read(record)).status == 200
        found.append(state)
    assert all(not unlike(found[0], other) for other in found[1:])
    assert found[0].learner.columns.feature_names == ["when.day.sin", "when.day.cos", "when.trend", "x"]
    told = described_tensors("m", found[0].learner, None)["inputs"]
    assert [(one["name"], one["datatype"]) for one in told] == [("when", "BYTES"), ("x", "FP64")]


def test_dates_are_asked_for_as_the_command_does():
    for text, expected in {"day,trend": ["day", "trend"], "none": [], "hour": ["hour"]}.items():
        assert spec_of("binary", dates=text) == spec_of("binary", dates=expected)
        assert spec_of("binary", dates=text).dates == expected
    assert spec_of("binary").dates == ["day", "week", "year", "trend"]
    with pytest.raises(ValueError, match="'hour', 'day', 'week', 'year' or 'trend'"):
        spec_of("binary", dates="decade")
    state = State(spec_of("regression", dates="none"))
    answered(state, record_of(LEARN, rows=[{"when": "2024-03-01"}], labels=[1.0]))
    assert state.learner.columns.feature_names == ["when=2024-03-01"]
    table = as_arrow(when=[dt.datetime(2024, 3, 1)], label=[1.0])
    refused = State(spec_of("regression", dates="none")).apply(table, read(table))
    assert refused.status == 422 and b'name in \\"dates\\" what dates are to become' in refused.body


@pytest.mark.parametrize(
    ("task", "known", "label", "words"),
    [
        ("binary", 1, 7, "label 7 is none of this model's classes 0, 1, which it has been made with"),
        ("binary", 1, "yes", "label 'yes' is none of this model's classes 0, 1, which"),
        ("multiclass", "a", 3, "label 3 is none of this model's classes 'a', which are words; send a word."),
        ("regression", 1.0, "yes", "label 'yes' is a word; a regression learns numbers"),
    ],
)
def test_labels_are_refused_in_the_terms_of_a_service(task, known, label, words):
    state = State(spec_of(task))
    answered(state, record_of(LEARN, rows=[[1.0, 2.0]], labels=[known]))
    told = [answered(state, record_of(LEARN, rows=[[1.0, 2.0]], labels=[label]))["error"]]
    show(state, ["a"])
    told.append(answered(state, record_of(LABEL, labels={"a": label}))["reasons"]["a"])
    told.append(answered(state, record_of(LEARN, rows=[[1.0]], labels=[known]))["error"])
    assert all(words in error for error in told[:2])
    assert "1 features each; this model takes 2." in told[2]
    assert not any("=True" in error or "=..." in error for error in told)


def test_rows_are_given_up_by_their_age():
    state = State(spec_of("binary", waiting_seconds=10.0))
    show(state, ["a"], 0.0)
    show(state, ["b"], 5.0)
    assert answered(state, record_of(LABEL, 10.0, labels={"c": 1}))["labels"] == {"c": "unknown"}
    assert list(state.shown) == ["a", "b"]
    assert answered(state, record_of(LABEL, 10.1, labels={"a": 1, "b": 1}))["labels"] == {
        "a": "unknown",
        "b": "learned",
    }
    assert state.given_up == 1 and state.learner.waiting.ids == []


def test_rows_of_which_one_cannot_be_shown_do_not_wait_at_all():
    state = State(spec_of("regression"))
    answered(state, record_of(LEARN, rows=[{"a": 1.0, "b": "red"}], labels=[1.0]))
    told = answered(state, record_of(SHOW, rows=[{"a": 1.0}, {"a": 1e300}], ids=["x", "y"]))
    assert "error" in told
    assert state.shown == {} and state.learner.waiting.ids == []


def test_a_table_with_a_row_of_nothing_is_shown_or_refused_as_a_whole():
    pa = pytest.importorskip("pyarrow")
    state = State(spec_of("regression"))
    schema = pa.schema([("a", pa.float64()), ("b", pa.float64()), ("id", pa.string())])
    table = pa.table({"a": [1.0, None], "b": [None, None], "id": ["x", "y"]}, schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    record = Record(SHOW, "arrow", sink.getvalue().to_pybytes(), 0.0)
    status = state.apply(record, read(record)).status
    assert len(state.shown) == len(state.learner.waiting) == (2 if status == 200 else 0)


def test_a_file_whose_rows_wait_for_nothing_that_was_said_is_refused(tmp_path):
    state = State(spec_of("binary"))
    show(state, ["a", "b"])
    beside = state.beside()
    del beside["shown"]["a"]
    with pytest.raises(ValueError, match="rows that wait"):
        State(spec_of("binary")).become(state.learner, beside)
    assert refused(ValueError("why")).status == 422


class Rising:
    """A detector that finds the error risen at every row."""

    def __init__(self):
        self.estimation, self.drift_detected = 0.0, True

    def update(self, error):
        self.estimation += 1.0


def test_rises_of_the_error_are_counted_beyond_those_that_are_marked():
    course = Course(squared=False)
    course._detector = Rising()
    for _ in range(3):
        course.take(np.zeros(50))
    assert course.risen == 150
    assert course.marks == list(range(51, 151))
    again = restored(course.state())
    assert (again.risen, again.marks) == (course.risen, course.marks)
    older = course.state()
    del older["risen"]
    assert restored(older).risen == len(course.marks)


def test_prometheus_is_told_how_often_the_error_has_risen(tmp_path):
    state = State(spec_of("binary"))
    answered(state, record_of(LEARN, rows=[[1.0, 2.0]], labels=[1]))
    beside = state.beside()
    beside["course"] |= {"risen": 150, "marks": list(range(100))}
    state.learner.save(tmp_path / "m.ks", serve=beside)
    with serving(tmp_path) as service:
        body = (tmp_path / "m.ks").read_bytes()
        assert service.ask("PUT", "/v2/models/m/file", body).status == 201
        assert service.described()["error"]["risen"] == 150
        told = service.ask("GET", "/metrics").body.decode()
    assert 'kernelstream_drifts_total{model="m"} 150.0' in told


def test_errors_that_are_out_of_bounds_have_a_mean_and_are_read_again():
    course = Course(squared=True)
    course.take(course.errors(np.zeros(600), np.full(600, 1.7e308)))
    assert np.isfinite([course.of_all, course.of_newest]).all()
    assert restored(course.state()).of_newest == course.of_newest


NUMBERS = (-1, 0, 1.5, 10**400, 1e300, float("nan"), float("inf"), "1", "x", None, [], {})


@pytest.mark.parametrize("name", ["n", "total", "points", "stride", "marks", "risen", "newest"])
def test_a_course_that_cannot_have_been_is_refused_or_goes_on(name):
    course = Course(squared=True)
    course.take(np.ones(700))
    for value in NUMBERS:
        for changed in (value, [value], [[value, value, value]]):
            try:
                found = restored(course.state() | {name: changed})
            except ValueError:
                continue
            found.take(np.ones(5))
            encoded([found.n, found.of_all, found.of_newest, found.points, found.marks, found.risen])


@pytest.mark.parametrize("task", ["binary", "regression"])
@pytest.mark.parametrize("place", ["at", "said", "given_up"])
def test_what_stands_beside_a_model_is_refused_or_goes_on(task, place):
    state = State(spec_of(task))
    show(state, ["a", "b"], 1000.0)
    for value in NUMBERS:
        beside, goes_on = state.beside(), State(spec_of(task))
        if place == "given_up":
            beside["given_up"] = value
        else:
            beside["shown"]["a"][place == "said"] = value
        try:
            goes_on.become(learner_like(state.learner), beside)
        except ValueError:
            continue
        told = answered(goes_on, record_of(LABEL, 1001.0, labels={"a": 1, "b": 0}))
        assert told["labels"]["b"] == "learned"
        encoded([goes_on.given_up, goes_on.course.of_all])


def learner_like(learner):
    return Learner.from_parts(*learner.to_parts())
