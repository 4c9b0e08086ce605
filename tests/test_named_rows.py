"""Learners on rows with names, labels that come late by their ids, and labels that come when their time has come."""

import datetime as dt
import json
import math
import pickle
import signal
import sys
import threading
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sparse
from river import compose, evaluate, linear_model, metrics, preprocessing
from typer.testing import CliRunner

from kernelstream import FOGD, Auto, Binary, Learner, Multiclass, Regression
from kernelstream.cli import app
from kernelstream.encoding import Columns
from kernelstream.evaluate import prequential
from kernelstream.evaluate.run import side_by_side
from kernelstream.extras import MissingExtra
from kernelstream.kernels import Gaussian
from kernelstream.laws.agreement import snapshot
from kernelstream.metrics import MistakeRate
from kernelstream.sources import ArraySource, RowSource, open_source

SPEC = FOGD(kernel=Gaussian(gamma=0.3), n_components=30)
COLOURS = ("red", "green", "blue")
BEGIN = dt.datetime(2024, 1, 1)


def pairs(n=200):
    """Rows with a number, a word, a date, and a number that is missing at times; labels of two classes."""
    rng = np.random.default_rng(0)
    found = []
    for t in range(n):
        size, colour = float(rng.normal()), COLOURS[rng.integers(3) if t > 20 else 0]
        row = {"size": size, "colour": colour, "when": BEGIN + dt.timedelta(hours=int(t))}
        if rng.random() < 0.7:
            row["weight"] = float(rng.normal())
        found.append((row, "yes" if size > 0 or colour == "blue" else "no"))
    return found


def columns():
    return Columns(missing="mean", dates=("day", "trend"))


def learner(**options):
    return Learner(SPEC, Binary(["no", "yes"]), columns=columns(), **options)


ROWS, LABELS = (list(part) for part in zip(*pairs(), strict=True))


def test_dictionaries_and_tables_are_learned_alike_however_they_are_cut():
    block = learner()
    scores = block.learn(ROWS, LABELS)
    expected = snapshot(block)
    tables = [pd.DataFrame(ROWS), pl.DataFrame(ROWS), pa.Table.from_pylist(ROWS)]
    for table in tables:
        one = learner()
        for start in range(0, 200, 64):
            shown = one.learn(table[start : start + 64], LABELS[start : start + 64])
            assert np.array_equal(shown, scores[start : start + 64])
        assert snapshot(one) == expected and one.columns.to_json() == block.columns.to_json()
        assert np.array_equal(one.predict(table), block.predict(ROWS))
    single = learner()
    for t, (row, label) in enumerate(zip(ROWS, LABELS, strict=True)):
        assert np.array_equal(single.learn_one(row, label), scores[t])
        assert np.array_equal(single.scores_one(row), single.scores([row])[0])
    assert snapshot(single) == expected
    assert np.array_equal(block.predict(iter(ROWS)), block.predict(ROWS))


def test_dictionaries_need_nothing_said_of_them():
    plain = Learner(SPEC, Regression())
    assert not plain.scores([{"a": 1.0}]).any()
    plain.learn([{"a": 1.0, "w": "x"}, {"a": 2.0, "w": "y"}], [1.0, 2.0])
    assert plain.columns.feature_names == ["a", "w=x", "w=y"]
    with pytest.raises(ValueError, match="'w' is missing"):
        plain.predict([{"a": 1.0}])


def test_names_are_saved_with_the_model_and_applied_by_predictions(tmp_path):
    whole, half = learner(), learner()
    whole.learn(ROWS, LABELS)
    half.learn(ROWS[:90], LABELS[:90])
    half.save(tmp_path / "m.ks")
    again = Learner.load(tmp_path / "m.ks")
    assert again.columns.to_json() == half.columns.to_json()
    assert np.array_equal(again.predict(ROWS), half.predict(ROWS))
    again.learn(ROWS[90:], LABELS[90:])
    assert snapshot(again) == snapshot(whole) and again.columns.to_json() == whole.columns.to_json()


def test_a_block_that_is_refused_leaves_the_names_as_they_were():
    one = learner()
    one.learn(ROWS[:50], LABELS[:50])
    before, known = snapshot(one), one.columns.to_json()
    new = {"size": 1.0, "colour": "black", "when": BEGIN, "weight": 3.0}
    for rows, labels, words in (
        ([new, {**new, "size": math.inf}], ["yes", "no"], "'size' exceeds"),
        ([new], ["perhaps"], "'perhaps' is not among the classes"),
        ([new, new], ["yes"], "2 rows and 1 labels"),
        ([new, [1.0]], ["yes", "no"], "Row 1 is list"),
    ):
        with pytest.raises(ValueError, match=words):
            one.learn(rows, labels)
        assert snapshot(one) == before and one.columns.to_json() == known


def test_an_interrupt_while_names_are_taken_in_leaves_them_as_they_were():
    class Interrupting(dict):
        def items(self):
            signal.raise_signal(signal.SIGINT)
            return super().items()

    learner = Learner("fogd", Regression(), columns=Columns(missing="mean"))
    learner.learn([{"a": 1.0}, {"a": 2.0}], [0.0, 1.0])
    before = learner.columns.to_json()
    with pytest.raises(KeyboardInterrupt):
        learner.learn([{"a": 5.0, "b": 1.0}, Interrupting(a=3.0, c=2.0)], [1.0, 0.0])
    assert learner.columns.to_json() == before and learner.n_seen == 2
    learner.learn([{"a": 5.0, "c": 1.0}], [1.0])
    assert learner.columns.feature_names == ["a", "c"]


def test_rows_that_were_learned_before_a_divergence_have_their_names():
    wild = Learner(FOGD(kernel=Gaussian(gamma=0.3), n_components=30, learning_rate=1e5), Regression())
    rows = [{"a": float(t), f"n{t}": 1.0} for t in range(40)]
    wild.columns = Columns(missing="zero")
    with pytest.raises(FloatingPointError):
        wild.learn(rows, [5.0] * 40)
    assert 0 < wild.n_seen < 40
    assert wild.columns.width == wild.n_seen + 1


def test_names_and_plain_rows_do_not_mix():
    plain = Learner(SPEC, Regression(), grow_features=True)
    plain.learn(np.ones((3, 4)), np.ones(3))
    with pytest.raises(ValueError, match="4 features, and 0 of them have names"):
        plain.learn([{"a": 1.0}], [1.0])


def test_learners_that_know_the_same_names_merge_and_others_are_refused():
    one, other = learner(), learner()
    one.learn(ROWS[:100], LABELS[:100])
    other.learn(ROWS[:100], LABELS[:100])
    once = one.columns.to_json()
    one.merge(other)
    assert one.columns.to_json()["counts"] == [2 * count for count in once["counts"]]
    assert one.columns.known({}).tolist() == other.columns.known({}).tolist()
    stranger = learner()
    stranger.learn([{"size": 1.0}], ["yes"])
    with pytest.raises(ValueError, match=r"columns.entries differs"):
        one.merge(stranger)
    fresh = learner()
    fresh.merge(one)
    assert fresh.predict(ROWS).tolist() == one.predict(ROWS).tolist()


def test_threads_may_predict_while_names_come():
    shared, failures = learner(), []
    shared.learn(ROWS[:5], LABELS[:5])
    stop = threading.Event()

    def predict():
        while not stop.is_set():
            try:
                shared.scores_one(ROWS[150])
                shared.predict(ROWS[100:110])
            except Exception as error:
                failures.append(error)
                return

    thread = threading.Thread(target=predict)
    thread.start()
    for t in range(200):
        shared.learn([{**ROWS[0], "colour": f"shade {t}", f"n{t}": 1.0}], ["yes"])
    stop.set()
    thread.join()
    assert not failures and shared.columns.width > 400


def test_a_model_of_a_file_takes_its_rows_as_dictionaries(tmp_path):
    lines = [f"{row['size']},{row['colour']},{label}" for row, label in pairs()]
    (tmp_path / "shop.csv").write_text("\n".join(["size,colour,bought", *lines]) + "\n")
    rows = [{"size": row["size"], "colour": row["colour"]} for row, _ in pairs()]
    for read in ({"categorical": "onehot"}, {"categorical": "hash"}, {"drop": ["colour"]}):
        options = ["--drop", "colour"] if "drop" in read else ["--categorical", read["categorical"]]
        command = ["run", str(tmp_path / "shop.csv"), "--algorithm", "fogd", *options, "--save", str(tmp_path / "m.ks")]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        (X, _), *_ = open_source(tmp_path / "shop.csv", label="bought", **read)
        by_name = Learner.load(tmp_path / "m.ks")
        given = rows if "drop" not in read else [{"size": row["size"]} for row in rows]
        assert by_name.columns.width == X.shape[1]
        assert np.allclose(by_name.scores(given), Learner.load(tmp_path / "m.ks").scores(X), atol=1e-6)
        by_name.learn([{**given[0], "late": 1.0}], ["yes"])
        assert by_name.width == X.shape[1] + 1


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_dates_of_a_file_are_dates_of_rows_bit_for_bit(tmp_path, suffix):
    moments = [BEGIN + dt.timedelta(hours=7 * t, microseconds=t) for t in range(300)]
    rows = [{"when": moment.isoformat(), "x": t % 7 / 7} for t, moment in enumerate(moments)]
    labels = ["yes" if t % 24 > 12 else "no" for t in range(300)]
    path = tmp_path / f"w.{suffix}"
    if suffix == "csv":
        pd.DataFrame(rows).assign(y=labels).to_csv(path, index=False)
    else:
        path.write_text("".join(f"{json.dumps(row | {'y': y})}\n" for row, y in zip(rows, labels, strict=True)))
    (X, y), *_ = open_source(path, label="y")
    dates = ("day", "week", "year", "trend")
    for given in (rows, pd.DataFrame(rows), pd.DataFrame(rows).assign(when=moments)):
        columns = Columns(dates=dates)
        found = columns.take(given)
        order = [columns.feature_names.index(name) for name in open_names(path)]
        assert np.array_equal(found[:, order], X)

    command = ["run", str(path), "--label", "y", "--algorithm", "fogd", "--save", str(tmp_path / "w.ks")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    loaded = Learner.load(tmp_path / "w.ks")
    expected = loaded.scores(X)
    seconds = [moment.replace(tzinfo=dt.UTC).timestamp() for moment in moments]
    for whens in ([row["when"] for row in rows], moments, seconds):
        given = [{"x": row["x"], "when": when} for row, when in zip(rows, whens, strict=True)]
        by_name = Learner.load(tmp_path / "w.ks")
        assert np.array_equal(by_name.scores(given), expected)
        assert np.array_equal(by_name.scores(pd.DataFrame(given)), expected)
        assert np.array_equal(by_name.scores_one(given[0])[None], expected[:1])
        by_name.learn(given[:20], y[:20])
        assert by_name.width == X.shape[1]


def open_names(path):
    source = open_source(path, label="y")
    list(source)
    return source.feature_names


# Prequential evaluation.


def test_pairs_are_evaluated_as_their_block_is_learned():
    direct = learner()
    mistakes = direct.task.decode(direct.learn(ROWS, LABELS)) != LABELS
    for source in (pairs(), iter(pairs()), pairs, RowSource(pairs, columns=columns(), block_rows=30)):
        one = learner()
        trace = prequential(one, source)
        assert trace.last.metrics["mistake_rate"] == mistakes.mean()
        assert snapshot(one) == snapshot(direct) and one.columns.to_json() == direct.columns.to_json()


def test_tables_are_evaluated_by_the_name_of_their_label():
    direct = learner()
    direct.learn(ROWS, LABELS)
    frame = pd.DataFrame(ROWS).assign(bought=LABELS)
    for tables in (frame, [frame[:70], frame[70:]], pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        one = learner()
        prequential(one, RowSource(tables, label="bought", columns=columns(), block_rows=64))
        assert snapshot(one) == snapshot(direct)
    with pytest.raises(ValueError, match=r"no column 'y' for the label; label=... names one of size"):
        prequential(learner(), RowSource(frame, label="y", columns=columns()))
    with pytest.raises(ValueError, match="Row 1: the label 'y' is missing"):
        prequential(
            learner(), RowSource(pd.DataFrame({"size": [1.0, 2.0], "y": ["no", None]}), label="y", columns=columns())
        )


def test_learners_of_one_run_have_names_of_their_own():
    learners = [learner(seed=seed) for seed in range(2)]
    side_by_side(learners, pairs())
    learners[0].learn([{**ROWS[0], "colour": "black"}], ["no"])
    assert learners[0].columns.width == learners[1].columns.width + 1


def test_a_run_goes_on_with_the_names_that_a_learner_knows():
    one, direct = learner(), learner()
    direct.learn(ROWS, LABELS)
    prequential(one, pairs()[:80])
    prequential(one, pairs()[80:])
    assert snapshot(one) == snapshot(direct)
    with pytest.raises(ValueError, match=r"columns.missing of the learner and of its source differ"):
        prequential(one, RowSource(pairs(), columns=Columns()))
    with pytest.raises(ValueError, match="no pair of a dictionary and its label"):
        prequential(learner(), ROWS)
    with pytest.raises(ValueError, match="int is no source"):
        prequential(learner(), 3)
    with pytest.raises(ValueError, match="say what is learned, task="):
        prequential(linear_model.LogisticRegression(), iter(pairs()))


# Labels by id.


def test_a_label_is_learned_by_the_id_of_its_row():
    late, plain = learner(), learner()
    for t in range(3):
        plain.learn([ROWS[t]], [LABELS[t]])
        late.learn([ROWS[t]], [LABELS[t]])
    for t in range(3, 60):
        shown = late.predict(ROWS[t], id=f"row {t}")
        assert shown == plain.predict([ROWS[t]])[0]
        if t % 2:
            late.label(f"row {t}", LABELS[t])
            plain.learn_one(ROWS[t], LABELS[t])
        else:
            plain.columns.take([ROWS[t]])  # a row that is shown is known by its names
    assert len(late.waiting) == 28
    assert np.array_equal(late.scores(ROWS), plain.scores(ROWS))
    with pytest.raises(ValueError, match="No row waits for a label under the id 'row 5'"):
        late.label("row 5", "yes")


def test_what_was_said_when_a_row_was_shown_is_what_auto_learns_from():
    X = np.random.default_rng(0).normal(size=(400, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    by_id, in_turn = (Learner(Auto(size="small"), Binary([-1, 1])) for _ in range(2))
    by_id.learn(X[:150], y[:150])
    in_turn.learn(X[:150], y[:150])
    for t in range(150, 170):
        by_id.predict(X[t], id=t)
        in_turn.show(X[t : t + 1])
    for t in range(170, 200):
        by_id.predict(X[t], id=t)
        by_id.label(t - 20, y[t - 20])
        in_turn.learn_late(X[t - 20 : t - 19], y[t - 20 : t - 19], X[t : t + 1])
    assert np.array_equal(by_id.scores(X), in_turn.scores(X))


def test_rows_wait_in_a_bounded_number_and_are_saved(tmp_path):
    one = Learner(SPEC, Regression(), waiting=3)
    for t in range(5):
        one.predict(np.full(2, float(t)), id=t)
    one.predict(np.full(2, 9.0), id=3)
    assert len(one.waiting) == 3
    with pytest.raises(ValueError, match="one of more than 3"):
        one.label(1, 1.0)
    one.save(tmp_path / "m.ks")
    for again in (Learner.load(tmp_path / "m.ks"), pickle.loads(pickle.dumps(one))):
        for id, value in ((2, 2.0), (4, 4.0), (3, 9.0)):
            expected = Learner(SPEC, Regression())
            expected.learn(np.full((1, 2), value), [5.0])
            fresh = Learner.load(tmp_path / "m.ks")
            fresh.label(id, 5.0)
            assert np.array_equal(fresh.scores(np.eye(2)), expected.scores(np.eye(2)))
            again.label(id, value)
        assert len(again.waiting) == 0 and again.n_seen == 3


def test_a_label_that_is_refused_leaves_its_row_waiting():
    one = Learner(SPEC, Multiclass(["a", "b"]))
    one.predict({"x": 1.0}, id=7)
    with pytest.raises(ValueError, match="'c' is not among"):
        one.label(7, "c")
    one.label(7, "a")
    assert one.n_seen == 1 and len(one.waiting) == 0


def test_an_id_that_no_file_could_keep_is_refused_when_the_row_is_shown(tmp_path):
    one = Learner(SPEC, Multiclass(["a", "b"]))
    for id in (uuid.uuid4(), 1.5, (1, 2), [1], b"x", np.float64(3.0), dt.date(2024, 1, 1)):
        with pytest.raises(ValueError, match=r"id=.* must be text or a whole number.*str\(id\)"):
            one.predict({"x": 1.0}, id=id)
    one.predict({"x": 1.0}, id=np.int64(3))
    one.predict({"x": 2.0}, id=np.str_("y"))
    assert one.waiting.ids == [3, "y"]
    one.save(tmp_path / "m.ks")
    again = Learner.load(tmp_path / "m.ks")
    assert again.waiting.ids == [3, "y"]
    again.label(np.uint8(3), "a")
    assert again.n_seen == 1 and again.waiting.ids == ["y"]


@pytest.mark.parametrize("columns", [None, Columns()])
def test_rows_that_are_no_block_are_refused_with_what_to_give(columns):
    one = Learner(SPEC, Multiclass(["a", "b"]), columns=columns)
    lazy = pl.DataFrame({"x": [1.0]}).lazy()
    for use in (one.predict, one.scores, one.show, one.probabilities, lambda X: one.learn(X, ["a"])):
        with pytest.raises(ValueError, match=r"one row; give a list of rows, \[x\]"):
            use({"x": 1.0})
        with pytest.raises(ValueError, match=r"LazyFrame has no rows.*collect\(\)"):
            use(lazy)
    assert one.n_seen == 0
    assert Learner(SPEC, Regression()).scores(sparse.dok_array(np.eye(2))).shape == (2, 1)  # a mapping, but rows


# Labels in time.


def trips(n=150):
    """Rows at irregular moments."""
    rng, moment, found = np.random.default_rng(1), BEGIN, []
    for _ in range(n):
        moment += dt.timedelta(minutes=int(rng.integers(0, 30)))
        a, b = rng.normal(size=2).tolist()
        found.append(({"a": a, "b": b, "when": moment}, bool(a + 0.3 * b > 0)))
    return found


PLAIN = trips()


def linear():
    return compose.Pipeline(compose.Select("a", "b"), preprocessing.StandardScaler(), linear_model.LogisticRegression())


DELAYS = [
    dt.timedelta(hours=1),
    dt.timedelta(0),
    lambda row, label: dt.timedelta(minutes=90 if label else 20),
]


def by_number(row):
    return row["when"].timestamp()


@pytest.mark.parametrize(
    ("moment", "delay"),
    [
        *(("when", delay) for delay in DELAYS),
        (lambda row: row["when"], DELAYS[0]),
        (by_number, 3600),
        (by_number, lambda row, label: 900 if row["a"] > 0 else 7200.5),
        (None, lambda row, label: 9 if label else 2),
        (None, "k"),
        ("when", "wait"),
        (None, None),
    ],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_labels_come_when_their_time_has_come_as_in_river(moment, delay):
    def trips():
        waits = ({"wait": dt.timedelta(minutes=t % 90)} if delay == "wait" else {} for t in range(len(PLAIN)))
        return [({**row, "k": row["when"].hour % 7, **wait}, y) for (row, y), wait in zip(PLAIN, waits, strict=True)]

    theirs = evaluate.progressive_val_score(trips(), linear(), metrics.Accuracy(), moment=moment, delay=delay)
    # Our rows have no names when they come to a model of River's, and no moment.
    plain = compose.Pipeline(compose.Select(0, 1), preprocessing.StandardScaler(), linear_model.LogisticRegression())
    for block_rows in (7, 4096):
        trace = prequential(
            plain.clone(),
            RowSource(trips(), columns=Columns(dates="trend"), block_rows=block_rows),
            task=Binary([False, True]),
            metrics=[MistakeRate()],
            moment=moment,
            delay=delay,
        )
        assert trace.last.rows == 150
        assert trace.last.metrics["mistake_rate"] == pytest.approx(1 - theirs.get(), abs=1e-12)


def test_a_learner_is_told_labels_in_time_whatever_the_cut():
    found = []
    for block_rows in (1, 13, 4096):
        one = Learner(SPEC, Binary([False, True]))
        source = RowSource(trips(), block_rows=block_rows)
        trace = prequential(one, source, moment="when", delay=dt.timedelta(hours=2))
        assert one.n_seen == 150 and one.columns.feature_names == ["a", "b"]
        found.append((trace.last.metrics, snapshot(one)))
    assert found[0] == found[1] == found[2]
    at_once = prequential(Learner(SPEC, Binary([False, True])), trips(), moment="when")
    assert at_once.last.metrics["mistake_rate"] < found[0][0]["mistake_rate"]


def test_a_feature_may_tell_the_time():
    rows = trips()
    X = np.array([[row["a"], row["b"], (row["when"] - BEGIN) / dt.timedelta(days=1)] for row, _ in rows])
    y = np.array([label for _, label in rows], float)
    plain, known, mistakes = Learner(SPEC, Binary([0.0, 1.0])), 0, 0
    for t in range(len(y)):
        while known < t and X[known, 2] + 0.1 <= X[t, 2]:
            plain.learn_one(X[known], y[known])
            known += 1
        mistakes += plain.predict(X[t : t + 1])[0] != y[t]
    assert known < len(y)
    one = Learner(SPEC, Binary([0.0, 1.0]))
    trace = prequential(one, ArraySource(X, y, block_rows=11), moment=2, delay=0.1)
    assert trace.last.metrics["mistake_rate"] == mistakes / len(y) and one.n_seen == len(y)
    with pytest.raises(ValueError, match="give the number of a feature"):
        prequential(Learner(SPEC, Binary([0.0, 1.0])), ArraySource(X, y), moment="when")
    for delay in (dt.timedelta(1), np.timedelta64(1, "h"), 1.5):
        with pytest.raises(ValueError, match="is a duration, and rows have no time"):
            prequential(Learner(SPEC, Binary([0.0, 1.0])), ArraySource(X, y), delay=delay)
    for moment in (-1, 3):
        with pytest.raises(ValueError, match=rf"moment={moment} must be the number of a feature, 0 to 2"):
            prequential(Learner(SPEC, Binary([0.0, 1.0])), ArraySource(X, y), moment=moment)
    for given in ({"delay": "wait"}, {"moment": 2, "delay": DELAYS[2]}, {"moment": 2, "delay": "wait"}):
        with pytest.raises(ValueError, match="have no names"):
            prequential(Learner(SPEC, Binary([0.0, 1.0])), ArraySource(X, y), **given)
    one = Learner(SPEC, Binary([0.0, 1.0]))
    assert prequential(one, ArraySource(X, y), delay=np.int64(3)).last.rows == len(y)


@pytest.mark.parametrize(
    ("moment", "delay", "words"),
    [
        ("whne", 0, "no 'whne' for the moment in a row of a, b, when; moment=... names one of them"),
        ("when", "wait", "no 'wait' for the delay in a row of a, b, when"),
        ("when", dt.timedelta(days=-1), r"delay=.*must be a duration that is not negative"),
        ("when", lambda row, label: -1.0, r"delay=-1.0 must be a duration that is not negative"),
        ("when", lambda row, label: "soon", "delay='soon' must be a duration"),
        ("when", float("nan"), "delay=nan must be a duration"),
        (lambda row: "noon", 0, "moment 'noon' is not a date"),
        (lambda row: np.datetime64("NaT"), 0, "is no moment"),
        (lambda row: pd.NaT, 0, "is no moment"),
        (lambda row: float("nan"), 0, "nan is no moment"),
        (lambda row: -row["a"], 0, r"Row \d+: its moment is missing, or lies before that of the row above.*Sort"),
        (None, -1, r"delay=-1 must not be negative\."),
        (None, dt.timedelta(1), "is a duration, and rows have no time"),
    ],
)
def test_moments_and_delays_that_cannot_be_are_refused_by_name(moment, delay, words):
    one = Learner(SPEC, Binary([False, True]), columns=Columns(dates="day"))
    with pytest.raises(ValueError, match=words):
        prequential(one, trips(), moment=moment, delay=delay)
    assert one.n_seen == 0


def test_moments_may_be_of_numpy():
    rows = [({**row, "when": np.datetime64(row["when"])}, label) for row, label in trips()]
    found = [Learner(SPEC, Binary([False, True])) for _ in range(2)]
    prequential(found[0], rows, moment="when", delay=np.timedelta64(1, "h"))
    prequential(found[1], trips(), moment="when", delay=dt.timedelta(hours=1))
    assert snapshot(found[0]) == snapshot(found[1])


def test_what_a_source_was_told_of_time_is_what_counts_and_stays():
    source = RowSource(trips(), moment="when", delay=DELAYS[0])
    told, said = (Learner(SPEC, Binary([0, 1])) for _ in range(2))
    prequential(told, source)
    prequential(Learner(SPEC, Binary([0, 1])), source, moment="when", delay=60)
    prequential(said, trips(), moment="when", delay=DELAYS[0])
    assert snapshot(told) == snapshot(said) and (source.moment, source.delay) == ("when", DELAYS[0])


def test_columns_of_a_table_tell_the_time():
    frame = pd.DataFrame([row for row, _ in trips()]).assign(wait=3600.0)
    labels = [label for _, label in trips()]
    by_name, by_number = (Learner(SPEC, Binary([False, True])) for _ in range(2))
    prequential(by_name, (frame, labels), moment="when", delay="wait")
    prequential(by_number, trips(), moment="when", delay=3600)
    assert by_name.columns.feature_names == ["a", "b"] and snapshot(by_name) == snapshot(by_number)
    for moment, delay, words in (
        ("word", 0, "moment 'noon' is not a date"),
        ("when", "minus", "Row 0: its label comes before the row itself"),
        ("minus", 0, "Row 1: its moment is missing"),
        (lambda row: row["when"], 0, "moment=... is a function of a row, and tables have none"),
    ):
        one = Learner(SPEC, Binary([False, True]), columns=Columns(dates="day"))
        with pytest.raises(ValueError, match=words):
            prequential(
                one, (frame.assign(word="noon", minus=-np.arange(150.0) - 1), labels), moment=moment, delay=delay
            )


def test_tables_come_with_their_labels_and_take_the_columns_of_the_learner():
    rows, labels = [row for row, _ in trips()], [label for _, label in trips()]
    frame, spec = pd.DataFrame(rows), (SPEC, Binary([False, True]))
    expected = Learner(*spec, columns=Columns(dates="day"))
    expected.learn(frame, labels)
    halves = [(frame[:70], pd.Series(labels[:70])), (frame[70:], labels[70:])]
    with_labels = RowSource(frame.assign(y=labels), label="y")
    for source in (
        (frame, labels),
        (frame, np.array(labels)),
        (pl.DataFrame(rows).to_arrow(), labels),
        halves,
        with_labels,
    ):
        one = Learner(*spec, columns=Columns(dates="day"))
        trace = prequential(one, source)
        assert trace.last.rows == 150 and snapshot(one) == snapshot(expected)
    with pytest.raises(ValueError, match=r"give RowSource\(table, label=...\), one of a, b, when, or the pair"):
        prequential(expected, frame)
    with pytest.raises(ValueError, match="150 rows and 3 labels"):
        prequential(expected, (frame, labels[:3]))
    with pytest.raises(ValueError, match="Which column of the table"):
        prequential(expected, pl.DataFrame(rows).to_arrow())
    with pytest.raises(ValueError, match="LazyFrame has no rows"):
        prequential(expected, pl.DataFrame(rows).lazy())
    other = RowSource(frame.assign(y=labels), label="y", columns=Columns(dates="week"))
    with pytest.raises(ValueError, match=r"columns.dates of the learner and of its source differ"):
        prequential(expected, other)
    prequential(Learner(*spec, columns=Columns(dates="week")), with_labels)
    with pytest.raises(ValueError, match=r"'when' holds dates|'when' is a date"):
        prequential(Learner(*spec), with_labels)


def test_dates_may_be_features_and_tell_the_time():
    one = Learner(SPEC, Binary([False, True]), columns=Columns(dates="day"))
    frame = pd.DataFrame([row for row, _ in trips()]).assign(y=[label for _, label in trips()])
    prequential(
        one, RowSource(frame, label="y", columns=Columns(dates="day")), moment="when", delay=dt.timedelta(hours=1)
    )
    assert one.columns.feature_names == ["a", "b", "when.day.sin", "when.day.cos"]
    texts, again = frame.assign(when=frame["when"].astype(str)), Learner(SPEC, one.task, columns=Columns(dates="day"))
    rows = RowSource(texts, label="y", columns=again.columns)
    prequential(again, rows, moment="when", delay=dt.timedelta(hours=1))
    assert snapshot(again) == snapshot(one)
    again = Learner(SPEC, one.task, columns=Columns(dates="day"))
    pairs = [({**row, "when": str(row["when"])}, label) for row, label in trips()]
    prequential(again, RowSource(pairs, columns=again.columns), moment="when", delay=dt.timedelta(hours=1))
    assert snapshot(again) == snapshot(one)
    with pytest.raises(ValueError, match="moment 'soon' is not a date; write it as 2026-01-25"):
        prequential(again, RowSource(texts.assign(when="soon"), label="y", columns=again.columns), moment="when")
    with pytest.raises(ValueError, match=r"delay=... is a function of a row, and tables have none"):
        prequential(one, RowSource(frame, label="y", columns=one.columns), moment="when", delay=DELAYS[2])


def test_a_table_of_numbers_needs_no_arrow_and_one_with_words_says_what_brings_it(monkeypatch):
    numbers = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": [0.5, np.nan]})
    expected = Columns(missing="zero").take(numbers)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert np.array_equal(Columns(missing="zero").take(numbers), expected)
    for table in (pd.DataFrame({"a": ["red", "blue"]}), pl.DataFrame({"a": [1.0, 2.0]})):
        with pytest.raises(MissingExtra, match=r"kernelstream\[arrow\]"):
            Columns().take(table)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_table_whose_columns_are_not_those_that_were_learned_is_refused_by_name(kind):
    numbers = np.random.default_rng(0).normal(size=(40, 3))
    made = {
        "pandas": lambda names: pd.DataFrame(numbers, columns=names),
        "polars": lambda names: pl.DataFrame(numbers, schema=names),
    }[kind]
    rows, turned = made(["a", "b", "c"]), made(["c", "b", "a"])
    model = Learner("fogd", Binary([False, True]))
    model.learn(rows, numbers[:, 0] > 0)
    refusal = r"columns are c, b, a; the learner learned a, b, c, .*columns=Columns\(\).* in this order"
    for one in (model, model.snapshot(), pickle.loads(pickle.dumps(model))):
        for call in (one.predict, one.scores, one.probabilities, lambda X, one=one: one.learn(X, numbers[:, 0] > 0)):
            with pytest.raises(ValueError, match=refusal):
                call(turned)
    assert model.n_seen == 40
    assert np.array_equal(model.scores(rows), model.scores(numbers))
    model.restart()
    model.learn(turned, numbers[:, 0] > 0)
