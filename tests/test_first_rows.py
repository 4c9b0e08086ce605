"""Laws of what the first rows of a source decide, and of reading it once."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from kernelstream import Learner
from kernelstream.cli import app, options
from kernelstream.sources import ArraySource, Peekable, Source, open_source
from kernelstream.sources.survey import survey

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src"), "COLUMNS": "100"}
SMALL = ("--set", "n_components=30", "--set", "kernel.gamma=2")
OPENING = 4096


def with_fogd(arguments):
    """`run` with FOGD, whose parameters are set here, unless another one is named."""
    if arguments[:1] != ("run",) or "--algorithm" in arguments or "--config" in arguments:
        return arguments
    return "run", "--algorithm", "fogd", *arguments[1:]


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in with_fogd(arguments)], env={"COLUMNS": "100"})


def record(*arguments):
    answer = call(*arguments, "--json", "-")
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


def assert_refused(answer, *words):
    assert answer.exit_code == 2, answer.output
    last = answer.stderr.splitlines()[-1]
    assert last.startswith("kernelstream: ")
    for word in words:
        assert word in last


def written(path, labels):
    """A file whose label says in which of several places its row lies."""
    labels = np.asarray(labels)
    kinds, places = np.unique(labels, return_inverse=True)
    angles = 2 * np.pi * places / len(kinds)
    X = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    X += np.random.default_rng(0).normal(scale=0.1, size=X.shape)
    lines = [f"{a:.4f},{b:.4f},{label}\n" for (a, b), label in zip(X, labels.tolist(), strict=True)]
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    """Three classes, and a fourth after the first 4,096 rows."""
    row = np.arange(7000)
    return written(tmp_path_factory.mktemp("late") / "late.csv", np.where(row < 5000, row % 3, row % 4))


@pytest.fixture(scope="module")
def third(tmp_path_factory):
    """Two classes, and a third after the first 4,096 rows."""
    row = np.arange(5000)
    return written(tmp_path_factory.mktemp("third") / "third.csv", np.where(row < 4500, row % 2, row % 3))


# What is decided.


def test_a_class_that_comes_later_is_learned(late, tmp_path):
    run = record("run", late, *SMALL, "--save", tmp_path / "m.ks")
    assert run["rows"] == 7000
    assert run["mistake_rate"] < 0.02
    model = Learner.load(tmp_path / "m.ks")
    assert model.task.classes.tolist() == [0.0, 1.0, 2.0, 3.0]
    X, y = (np.concatenate(parts) for parts in zip(*open_source(late), strict=True))
    assert np.mean(model.predict(X[y == 3]) == 3.0) > 0.95


def test_a_resumed_run_holds_to_what_was_decided(third, tmp_path):
    part, data = tmp_path / "part.ks", tmp_path / "rows.csv"
    lines = third.read_text().splitlines(keepends=True)
    data.write_text("".join(lines[:4400]))
    begun = record("run", data, *SMALL, "--checkpoint", part)
    data.write_text("".join(lines[:4450]))
    assert record("run", data, *SMALL, "--checkpoint", part, "--resume")["survey"] == begun["survey"]
    data.write_text("".join(lines))
    resumed = record("run", data, *SMALL, "--checkpoint", part, "--resume")
    assert resumed["mistake_rate"] == record("run", third, *SMALL)["mistake_rate"]


def test_the_result_says_what_was_decided_and_from_which_rows(late):
    found = record("run", late, *SMALL)["survey"]
    assert found == {
        "task": {"name": "multiclass", "classes": [0.0, 1.0, 2.0], "dtype": "<f8"},
        "reason": "3 different labels in the first 4,096 rows: 0, 1, 2",
        "rows": OPENING,
        "all_rows": False,
        "all_rows_for": None,
        "announced": False,
        "grow_classes": True,
        "sparse": False,
        "width": 2,
        "most_classes": 100,
        "whole_numbers": True,
        "two_classes": False,
    }
    assert "task: multiclass (3 different labels in the first 4,096 rows: 0, 1, 2); --task overrules" in (
        call("run", late, *SMALL).stderr
    )
    compared = record("compare", late, "--algorithms", "fogd", *SMALL)
    assert compared["survey"] == found
    assert compared["runs"][0]["mistake_rate"] == record("run", late, *SMALL)["mistake_rate"]


def test_all_classes_are_known_by_announcing_them_or_by_reading_all_rows(late):
    announced = record("run", late, *SMALL, "--classes", "3, 2, 1, 0")
    surveyed = record("run", late, *SMALL, "--survey")
    for run, rows, why in ((announced, OPENING, None), (surveyed, 7000, "--survey")):
        assert run["survey"]["task"]["classes"] == [0.0, 1.0, 2.0, 3.0]
        assert not run["survey"]["grow_classes"]
        assert (run["survey"]["rows"], run["survey"]["all_rows_for"]) == (rows, why)
    assert announced["mistake_rate"] == surveyed["mistake_rate"]
    assert announced["survey"]["reason"] == "4 announced classes: 0, 1, 2, 3"


def test_a_third_class_that_comes_later_is_learned(third, tmp_path):
    """Alone, beside others, in short blocks and with late labels."""
    run = record("run", third, *SMALL, "--save", tmp_path / "m.ks")
    assert (run["rows"], run["survey"]["task"]["name"], run["survey"]["grow_classes"]) == (5000, "binary", True)
    model = Learner.load(tmp_path / "m.ks")
    assert model.task.classes.tolist() == [0.0, 1.0, 2.0] and model.task.name == "multiclass"
    assert record("run", third, *SMALL, "--block-rows", 500)["mistake_rate"] == run["mistake_rate"]
    compared = record("compare", third, "--algorithms", "fogd,rbp", *SMALL)
    assert compared["runs"][0]["mistake_rate"] == run["mistake_rate"]
    assert record("run", third, *SMALL, "--delay", "20")["rows"] == 5000


def test_a_third_class_is_refused_where_two_were_asked_for_or_are_all_that_a_learner_can(third):
    refused = ("label 2", "row 4,502", "0, 1 of the first 4,096 rows", "--classes", "--survey")
    assert_refused(call("run", third, *SMALL, "--task", "binary"), *refused)
    assert_refused(call("run", third, "--algorithm", "tvm"), *refused)
    for remedy in (("--survey",), ("--classes", "0,1,2"), ("--task", "multiclass"), ("--shuffle",)):
        run = record("run", third, *SMALL, *remedy)
        assert (run["task"], run["rows"]) == ("multiclass", 5000)


def test_rows_in_a_random_order_are_looked_at_in_that_order(third):
    found = record("run", third, *SMALL, "--shuffle", "--seed", "3")["survey"]
    assert (found["rows"], found["task"]["classes"]) == (OPENING, [0.0, 1.0, 2.0])
    repeated = record("run", third, *SMALL, "--runs", "2", "--seed", "3", "--jobs", "1")
    assert repeated["survey"] == found
    assert [run["rows"] for run in repeated["runs"]] == [5000, 5000]


def test_a_model_of_another_library_is_told_its_classes_first(third):
    both = ("compare", third, *SMALL, "--algorithms", "fogd,sklearn.linear_model.Perceptron")
    assert_refused(call(*both), "label 2", "--classes", "--survey")


def test_rows_sorted_by_label_name_their_remedies_which_help(tmp_path):
    file = written(tmp_path / "sorted.csv", np.repeat(["no", "yes"], 4500))
    assert_refused(call("run", file, *SMALL), "first 4,096 rows of sorted are 'no'", "--classes", "--survey", "task")
    assert_refused(call("run", file, *SMALL, "--task", "binary"), "--classes")
    for remedy, task in ((("--classes", "no,yes"), "binary"), (("--survey",), "binary"), (("--shuffle",), "binary")):
        assert record("run", file, *SMALL, *remedy)["task"] == task
    grown = record("run", file, *SMALL, "--task", "multiclass")
    assert grown["survey"]["task"]["classes"] == ["no"]
    assert (grown["task"], grown["rows"]) == ("multiclass", 9000)


@pytest.mark.parametrize(
    ("later", "words"),
    [(0.5, ("label 0.5", "looked like classes")), (range(200), ("more than 100 different labels",))],
)
def test_labels_that_turn_out_to_be_no_classes_are_refused(tmp_path, later, words):
    labels = np.arange(5000.0) % 3
    labels[4800:] = later
    file = written(tmp_path / "counts.csv", labels)
    assert_refused(call("run", file, *SMALL), *words, "--task")
    assert record("run", file, *SMALL, "--task", "regression")["task"] == "regression"
    assert record("run", file, *SMALL, "--survey")["task"] == "regression"


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ("0,1,2", ("label 3", "--classes")),
        ("0,1", ("label 2", "0, 1", "--classes")),
        ("0,1,2,2", ("each once",)),
        ("0", ("at least two",)),
        ("a,b,c", ("'a', 'b', 'c'", "numbers")),
    ],
)
def test_classes_that_are_not_those_of_the_data_are_refused(late, classes, words):
    assert_refused(call("run", late, *SMALL, "--classes", classes), *words)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this system does not list a process's files")
def test_what_is_refused_after_a_look_is_not_held_open(late):
    answer = call("run", late, *SMALL, "--classes", "0")
    held = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    assert answer.exit_code == 2 and str(late) not in held


def test_a_regression_has_no_classes(late):
    assert_refused(call("run", late, "--task", "regression", "--classes", "0,1,2,3"), "regression", "leave one")


@pytest.mark.parametrize("block_rows", [7, OPENING, 10**6])
def test_the_first_rows_are_the_same_however_they_come_in_blocks(block_rows):
    labels = np.arange(6000) // 1500
    source = Peekable(ArraySource(np.ones((6000, 2)), labels, block_rows=block_rows))
    found = survey(source, all_rows=False)
    assert (found.task.classes.tolist(), found.rows, found.all_rows) == ([0, 1, 2], OPENING, False)
    assert np.array_equal(np.concatenate([y for _, y in source]), labels)
    few = survey(Peekable(ArraySource(np.ones((300, 2)), labels[::20], block_rows=block_rows)), all_rows=False)
    assert (few.task.n_outputs, few.rows, few.all_rows, few.grow_classes) == (4, 300, True, False)


def test_first_rows_that_cannot_be_served_again_are_not_taken():
    class Once(ArraySource):
        restartable = False

    with pytest.raises(ValueError, match=r"array can be read once.*Peekable"):
        survey(Once(np.ones((3, 1)), [0, 1, 2]))


# Reading once.


class Counted(Source):
    """Rows of which it is known how often they were read."""

    name = "counted"

    def __init__(self):
        X = np.random.default_rng(0).normal(size=(6000, 2))
        self.rows = ArraySource(X, (X[:, 0] > 0).astype(float))
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        yield from self.rows

    def progress(self):
        return None


@pytest.mark.parametrize(
    ("passes", "arguments"),
    [
        (1, ("run",)),
        (1, ("run", "--shuffle")),
        (1, ("run", "--scale", "online")),
        (1, ("run", "--classes", "0,1")),
        (1, ("run", "--test", "checkerboard:rows=10")),
        (3, ("run", "--test", "checkerboard:rows=10", "--passes", "3")),
        (1, ("compare", "--algorithms", "fogd,rbp")),
        (1, ("tune", "--trials", "1", "--rows", "100", "--jobs", "1")),
        (2, ("run", "--survey")),
        (2, ("run", "--scale", "standard")),
        (2, ("compare", "--algorithms", "fogd", "--scale", "minmax")),
        (2, ("tune", "--trials", "1", "--rows", "100", "--jobs", "1", "--scale", "standard")),
    ],
)
def test_data_is_read_once_unless_all_rows_are_needed_first(passes, arguments, monkeypatch, tmp_path):
    counted = Counted()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        options, "open_source", lambda data, **given: counted if data == "counted" else open_source(data, **given)
    )
    answer = call(arguments[0], "counted", *arguments[1:])
    assert answer.exit_code == 0, answer.output
    assert counted.passes == passes


def test_what_needs_all_rows_first_says_so(late):
    answer = call("run", late, *SMALL, "--scale", "standard", "--json", "-")
    assert "scale: standard takes all rows, which are read once more" in answer.stderr
    found = json.loads(answer.stdout)["survey"]
    assert (found["rows"], found["all_rows"], found["all_rows_for"]) == (7000, True, "--scale standard")
    assert "scale:" not in call("run", late, *SMALL, "--scale", "online").stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("command", [("run",), ("compare", "--algorithms", "fogd")])
def test_a_named_pipe_is_read_like_the_file(late, tmp_path, command):
    pipe = tmp_path / "late.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(late.read_bytes()), daemon=True)
    writer.start()
    given = with_fogd((command[0], str(pipe), *command[1:], *SMALL, "--json", "-"))
    arguments = [sys.executable, "-m", "kernelstream", *given]
    done = subprocess.run(arguments, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
    writer.join(10)
    assert done.returncode == 0, done.stderr
    piped, read = json.loads(done.stdout), record(command[0], late, *command[1:], *SMALL)
    piped, read = ((one | one.get("runs", [one])[0]) for one in (piped, read))
    assert (piped["rows"], piped["mistake_rate"]) == (7000, read["mistake_rate"])
    assert_refused(call("run", pipe, "--survey"), "--survey", "late passes once")
    assert_refused(call("run", pipe, "--scale", "standard"), "late can be read once", "online")
