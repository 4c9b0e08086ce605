"""Laws of the commands beside `run`, and of run's options: on real files, through the real entry."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from kernelstream import Learner
from kernelstream.cli import app
from kernelstream.sources import open_source

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src"), "COLUMNS": "100"}
COMMAND = [sys.executable, "-m", "kernelstream"]
SIX = "fogd,nogd,rbp,bogd++,avm,bpa-s"


def with_fogd(arguments):
    """`run` with FOGD, whose parameters are set here, unless another one is named."""
    if arguments[:1] != ("run",) or "--algorithm" in arguments or "--config" in arguments:
        return arguments
    return "run", "--algorithm", "fogd", *arguments[1:]


def call(*arguments, stdin=None):
    """The command in this process."""
    return CliRunner().invoke(
        app, [str(argument) for argument in with_fogd(arguments)], input=stdin, env={"COLUMNS": "100"}
    )


def done(*arguments):
    answer = call(*arguments)
    assert answer.exit_code == 0, answer.output
    return answer


def record(*arguments):
    return json.loads(done(*arguments, "--json", "-").stdout)


def piped(data, *arguments):
    """The command in a process of its own, which reads these bytes."""
    command = [*COMMAND, *map(str, with_fogd(arguments))]
    return subprocess.run(command, input=data, capture_output=True, env=ENVIRONMENT, timeout=120)


def assert_refused(answer, *words):
    assert answer.exit_code == 2, answer.output
    assert isinstance(answer.exception, SystemExit)
    last = answer.stderr.splitlines()[-1]
    assert last.startswith("kernelstream: ")
    for word in words:
        assert word in last


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A table with two numbers, two columns of words and words as labels, and new rows of the same kind."""
    folder = tmp_path_factory.mktemp("shop")
    rng = np.random.default_rng(0)
    n = 1500
    colours = np.array(["red", "green", "blue"])[rng.integers(0, 3, n)]
    sizes = np.array(["S", "M", "L"])[rng.integers(0, 3, n)]
    numbers = rng.normal(size=(n, 2)).round(4)
    bought = np.where((numbers.prod(axis=1) > 0) ^ (colours == "red"), "yes", "no")
    lines = [
        f"{a},{colour},{b},{size},{label}\n"
        for (a, b), colour, size, label in zip(numbers, colours, sizes, bought, strict=True)
    ]
    header = "width,colour,height,size,bought\n"
    (folder / "shop.csv").write_text(header + "".join(lines[:1000]))
    # The categories come in another order here.
    (folder / "new.csv").write_text(header + "".join(sorted(lines[1000:], key=lambda line: line.split(",")[1])))
    return folder


# compare


def test_compare_gives_what_single_runs_give():
    together = record("compare", "digits", "--algorithms", "fogd,rbp", "--shuffle", "--scale", "standard")
    for one in together["runs"]:
        alone = record("run", "digits", "--algorithm", one["algorithm"], "--shuffle", "--scale", "standard")
        assert one["mistake_rate"] == alone["mistake_rate"]
        assert one["size"] == alone["size"]


def test_six_learners_take_hardly_more_than_their_learning_times(tmp_path):
    done("convert", "checkerboard:rows=100000", tmp_path / "board.npz")
    sizes = ("--set", "kernel.gamma=20", "--set", "budget=600", "--set", "n_components=600")
    done("compare", "checkerboard:rows=2000", "--algorithms", SIX, *sizes)  # compiles
    ratios = []
    for _ in range(3):
        start = time.perf_counter()
        runs = record("compare", tmp_path / "board.npz", "--algorithms", SIX, *sizes)["runs"]
        ratios.append((time.perf_counter() - start) / sum(run["seconds"] for run in runs))
        assert [run["rows"] for run in runs] == 6 * [100_000]
        if ratios[-1] <= 1.2:
            break
    assert min(ratios) <= 1.2, ratios


def test_compare_reads_standard_input_which_passes_once():
    rows = "".join(f"{2 * (i % 2) - 1} 1:{i % 7} 2:{i % 2}\n" for i in range(600)).encode()
    answer = piped(rows, "compare", "-", "--algorithms", "fogd,rbp", "--json", "-")
    assert answer.returncode == 0, answer.stderr
    assert [run["rows"] for run in json.loads(answer.stdout)["runs"]] == [600, 600]


def test_settings_go_to_those_that_have_them():
    settings = ("--set", "kernel.gamma=0.002", "--set", "rbp:budget=30", "--set", "n_components=50")
    fogd, rbp = record("compare", "digits", "--algorithms", "fogd,rbp", *settings)["runs"]
    assert (fogd["size"], rbp["size"]) == (100, 30)
    assert fogd["parameters"]["kernel.gamma"] == rbp["parameters"]["kernel.gamma"] == 0.002


def test_other_libraries_learn_beside_ours(tmp_path):
    report = tmp_path / "page.html"
    classes = "fogd,sklearn.linear_model.Perceptron"
    runs = record("compare", "breast-cancer", "--scale", "standard", "--algorithms", classes, "--report", report)
    theirs = runs["runs"][1]
    assert (theirs["algorithm"], theirs["rows"]) == ("Perceptron", 569)
    assert 0 < theirs["mistake_rate"] < 0.1  # 0.3 on rows that are not scaled
    assert "Perceptron" in report.read_text()


def test_runs_are_repeated_and_summarized():
    runs = record("compare", "digits", "--algorithms", "fogd,rbp", "--runs", "2", "--jobs", "1")["runs"]
    assert [(run["algorithm"], run["seed"]) for run in runs] == [("fogd", 0), ("fogd", 1), ("rbp", 0), ("rbp", 1)]
    assert "±" in done("run", "digits", "--runs", "2", "--jobs", "1").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--algorithms", "fogd,sklearn.linear_model.SGDClassifier", "--runs", "2"), ("SGDClassifier", "--runs")),
        (("--algorithms", "fogd,sklearn.linear_model.SGDRegressor"), ("SGDRegressor", "multiclass")),
        (("--algorithms", "fogd,sklearn.svm.SVC"), ("SVC", "partial_fit")),
        (("--algorithms", "nowhere.Model"), ("nowhere.Model", "module.Class")),
        (("--algorithms", "fogd,fogd"), ("fogd twice",)),
        (("--algorithms", ","), ("names no algorithm",)),
        (("--algorithms", "fogd,rbp", "--set", "rank=3"), ("none of fogd, rbp", "rank")),
        (("--algorithms", "fogd", "--set", "rbp:budget=3"), ("'rbp'", "not among fogd")),
        (("--algorithms", "fogd,tvm"), ("tvm", "multiclass")),
        (
            ("--algorithms", "fogd,sklearn.linear_model.SGDClassifier", "--scale", "metric"),
            ("--scale metric", "SGDClassifier", "--scale online"),
        ),
    ],
)
def test_compare_refuses_in_one_line(arguments, words):
    assert_refused(call("compare", "digits", *arguments), *words)


# tune


def test_run_takes_what_tune_found(tmp_path):
    out = tmp_path / "tuned.toml"
    answer = done("tune", "digits", "--rows", "600", "--trials", "6", "--jobs", "1", "--out", out, "--scale", "minmax")
    config = tomllib.loads(out.read_text())
    assert (config["algorithm"], config["task"], config["scale"]) == ("fogd", "multiclass", "minmax")
    assert "(the defaults)" in answer.stderr
    assert answer.stderr.count("kernel.gamma=") >= 5
    run = record("run", "digits", "--config", out)
    assert run["scale"] == "minmax"
    assert run["parameters"]["kernel.gamma"] == config["set"]["kernel.gamma"]
    other = record("run", "digits", "--config", out, "--set", "kernel.gamma=0.5", "--scale", "none")
    assert (other["parameters"]["kernel.gamma"], other["scale"]) == (0.5, "none")


def test_tune_can_shuffle_what_is_sorted_by_label(tmp_path):
    X, y = load_digits(return_X_y=True)
    order = np.argsort(y, kind="stable")
    np.savez(tmp_path / "sorted.npz", X=X[order], y=y[order])
    common = ("--trials", "1", "--rows", "1797", "--jobs", "1", "--out", tmp_path / "t.toml")
    sorted_rate, shuffled_rate = (
        float(done("tune", tmp_path / "sorted.npz", *common, *more).stdout.split("trials: ")[1].split(" %")[0])
        for more in ((), ("--shuffle",))
    )
    assert sorted_rate < 0.5 * shuffled_rate
    assert "shuffled" in (tmp_path / "t.toml").read_text()


# predict


def test_predictions_use_the_encoding_of_the_model(shop, tmp_path):
    model, out = tmp_path / "shop.ks", tmp_path / "p.csv"
    done("run", shop / "shop.csv", "--categorical", "onehot", "--save", model)
    answer = done("predict", model, shop / "new.csv", "--out", out, "--scores")
    rows = list(csv.DictReader(out.read_text().splitlines()))
    labels = [row["bought"] for row in csv.DictReader((shop / "new.csv").read_text().splitlines())]
    mistakes = np.mean([row["prediction"] != label for row, label in zip(rows, labels, strict=True)])
    assert mistakes < 0.3
    assert f"500 rows, mistake rate {100 * mistakes:.2f} %" in answer.stderr
    assert all((float(row["score"]) >= 0) == (row["prediction"] == "yes") for row in rows)


def test_standard_input_is_encoded_predicted_and_written_to_standard_output(shop, tmp_path):
    model = tmp_path / "shop.ks"
    reading = ("-", "--format", "csv")
    options = ("--categorical", "onehot", "--save", model)
    trained = piped((shop / "shop.csv").read_bytes(), "run", *reading, *options)
    assert trained.returncode == 0, trained.stderr
    answer = piped((shop / "new.csv").read_bytes(), "predict", model, *reading)
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.decode().splitlines()
    assert lines[0] == "prediction"
    assert len(lines) == 501
    assert set(lines[1:]) == {"yes", "no"}


def test_probabilities_have_a_column_a_class(tmp_path):
    model, out = tmp_path / "m.ks", tmp_path / "p.csv"
    done("run", "digits", "--set", "loss=softmax", "--save", model)
    done("predict", model, "digits", "--probabilities", "--out", out)
    table = np.loadtxt(out, delimiter=",", skiprows=1)
    assert out.read_text().splitlines()[0].split(",")[:3] == ["prediction", "probability 0", "probability 1"]
    assert np.allclose(table[:, 1:].sum(axis=1), 1.0)
    assert np.array_equal(table[:, 0], Learner.load(model).predict(load_digits().data))


def test_predict_writes_nothing_that_it_cannot_finish(tmp_path):
    model, out = tmp_path / "m.ks", tmp_path / "p.csv"
    done("run", "diabetes", "--save", model)
    assert_refused(call("predict", model, "diabetes", "--probabilities", "--out", out), "regression has no classes")
    assert not out.exists()
    done("run", "digits", "--save", model)
    assert not out.exists()
    assert_refused(call("predict", tmp_path / "none.ks", "digits"), "none.ks")
    assert_refused(call("predict", model, "breast-cancer", "--out", out), "30", "64")


# inspect


def test_inspect_draws_what_can_be_drawn(tmp_path):
    for data, algorithm, name in (
        ("checkerboard:rows=500", "rbp", "surface.png"),
        ("digits", "rbp", "points.png"),
        ("breast-cancer", "rrf", "widths.png"),
    ):
        done("run", data, "--algorithm", algorithm, "--save", tmp_path / "m.ks")
        answer = done("inspect", tmp_path / "m.ks", "--output", tmp_path / algorithm / name)
        assert f"wrote {tmp_path / algorithm / name / name}" in answer.stderr
        assert (tmp_path / algorithm / name / name).read_bytes().startswith(b"\x89PNG")
    facts = json.loads(done("inspect", tmp_path / "m.ks", "--json").stdout)
    assert (facts["algorithm"], facts["features"], facts["rows seen"]) == ("rrf", "30", "569")


def test_a_learned_metric_goes_with_the_model_and_is_drawn(tmp_path):
    run = done(
        "run", "breast-cancer", "--algorithm", "fogd", "--scale", "metric", "--json", "-", "--save", tmp_path / "m.ks"
    )
    assert json.loads(run.stdout)["mistake_rate"] < 0.1
    done("inspect", tmp_path / "m.ks", "--output", tmp_path)
    assert (tmp_path / "importances.png").read_bytes().startswith(b"\x89PNG")
    assert_refused(call("tune", "breast-cancer", "--scale", "metric", "--out", tmp_path / "t.toml"), "--scale online")


def test_images_may_have_any_shape(tmp_path):
    model = tmp_path / "m.ks"
    done("run", "digits", "--algorithm", "rbp", "--save", model)
    assert "points.png" in done("inspect", model, "--output", tmp_path, "--image-shape", "4x16").stderr
    assert_refused(call("inspect", model, "--output", tmp_path, "--image-shape", "5x5"), "25", "64")
    assert_refused(call("inspect", model, "--output", tmp_path, "--image-shape", "wide"), "'wide'", "28x28")
    assert_refused(call("inspect", model, "--image-shape", "8x8"), "--output")


# the page


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["run", "checkerboard:rows=1500"], {"majority so far", "no change"}),
        (["run", "checkerboard:rows=1500", "--shuffle"], {"majority so far"}),
        (["run", "checkerboard:rows=1500", "--delay", "7"], {"majority so far", "no change"}),
        (["run", "diabetes", "--test", "diabetes"], {"mean so far"}),
        (["run", "diabetes", "--runs", "2", "--jobs", "1"], {"mean so far"}),
        (
            ["compare", "breast-cancer", "--algorithms", "rbp,fogd", "--metrics", "auc,f1"],
            {"majority so far", "no change"},
        ),
        (["run", "breast-cancer", "--metrics", "auc"], set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_page_shows_what_is_reached_without_looking_at_a_row(options, named, tmp_path):
    learner = [] if options[0] == "compare" else ["--algorithm", "fogd"]
    written = record(*options, *learner, "--report", tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text()
    assert set(re.findall(r"<tr class=naive><th scope=row>(.*?)</th>", text)) == named
    assert {run["algorithm"] for run in written.get("runs", [written])}.isdisjoint(named)  # which are no learners


def test_a_learner_that_diverges_says_so_beside_those_that_look_at_no_row(tmp_path):
    wild = ("--algorithm", "ogd", "--set", "kernel=polynomial", "--set", "kernel.degree=5", "--set", "kernel.gamma=100")
    step = ("--set", "learning_rate=1e9", "--set", "loss=squared-hinge", "--report", tmp_path / "p.html")
    assert_refused(call("run", "breast-cancer", *wild, *step), "row")
    assert not (tmp_path / "p.html").exists()


# convert, datasets


def test_converted_rows_are_the_same_rows(tmp_path):
    files = [tmp_path / f"digits{suffix}" for suffix in (".libsvm.xz", ".csv.gz", ".parquet", ".arrow", ".npz", ".npy")]
    before = "digits"
    for file in files:
        answer = done("convert", before, file)
        assert f"wrote 1,797 rows to {file}" in answer.stderr
        before = file
    X, y = (np.concatenate(parts) for parts in zip(*open_source(before), strict=True))
    expected = load_digits()
    assert np.array_equal(X, expected.data)
    assert np.array_equal(y, expected.target)
    assert_refused(call("convert", "digits", tmp_path / "digits.doc"), "digits.doc", "suffix")


def test_data_sets_are_listed():
    rows = json.loads(done("datasets", "--json").stdout)
    table = done("datasets").stdout
    for row in rows:
        assert f"{row['name']}/{row['split']}" in table
    assert {"name", "split", "task", "rows", "where"} <= set(rows[0])


def test_a_real_data_set_is_read_by_its_name(data_directory):
    run = record("run", "cod-rna/train", "--shuffle", "--scale", "standard", "--test", "cod-rna/test")
    assert (run["rows"], run["test"]) == (59_535, "cod-rna/test")
    assert run["mistake_rate"] < 0.06
    joined = record("run", "dna/train+test")
    assert joined["rows"] == 3186


# run


def test_a_test_file_is_encoded_like_the_training_file(shop, tmp_path):
    model = tmp_path / "m.ks"
    options = ("--categorical", "onehot", "--passes", "3", "--save", model)
    run = record("run", shop / "shop.csv", "--test", shop / "new.csv", *options)
    assert run["rows"] == 3000
    assert f"mistake rate {100 * run['mistake_rate']:.2f} %" in done("predict", model, shop / "new.csv").stderr


def test_orders_are_the_rows_orders(tmp_path):
    orders = np.stack([np.arange(1797), np.arange(1797)[::-1]])
    np.savez(tmp_path / "orders.npz", perm=orders)
    runs = record("run", "digits", "--orders", tmp_path / "orders.npz", "--jobs", "1")["runs"]
    assert runs[0]["mistake_rate"] == record("run", "digits")["mistake_rate"]
    assert runs[1]["mistake_rate"] != runs[0]["mistake_rate"]
    np.savez(tmp_path / "other.npz", order=orders)
    assert_refused(call("run", "digits", "--orders", tmp_path / "other.npz"), "'perm'", "order")
    (tmp_path / "text.npz").write_text("1 2 3")
    assert_refused(call("run", "digits", "--orders", tmp_path / "text.npz"), "text.npz", "np.savez")


def test_repetitions_of_a_file_run_in_processes(shop):
    arguments = ("run", shop / "shop.csv", "--categorical", "onehot", "--runs", "2")
    alone, spread = (record(*arguments, "--jobs", jobs)["summary"] for jobs in ("1", "2"))
    assert alone == spread


def test_late_labels_cost_accuracy():
    at_once, late = (record("run", "digits", "--delay", delay) for delay in (0, 200))
    assert late["rows"] == at_once["rows"] == 1797
    assert late["mistake_rate"] > at_once["mistake_rate"]


@pytest.mark.parametrize(("algorithm", "size"), [("rbp", "budget"), ("fogd", "n_components"), ("bsgd-p", "budget")])
def test_a_size_that_no_machine_has_room_for_is_refused_by_its_name(algorithm, size):
    for number in ("99999999999999999999", str(2**31)):
        refused = call("run", "digits", "--algorithm", algorithm, "--set", f"{size}={number}")
        assert refused.exit_code == 2
        said = f"kernelstream: {size}={number} must be at most 2,147,483,647, which no machine has room for; take less."
        assert refused.stderr.splitlines()[-1] == said


@pytest.mark.parametrize("options", [("--delay", 5), ("--delay", 5000), ("--ask", "random:share=1e-12")])
def test_a_run_that_ends_has_kept_its_checkpoint_and_saved_its_model(tmp_path, options):
    part, model = tmp_path / "part.ks", tmp_path / "m.ks"
    common = ("run", "digits", "--algorithm", "rbp", *options, "--checkpoint", part, "--save", model)
    done(*common, "--every", "1000000")
    whole = Learner.load(model)
    assert whole.n_seen == (1797 if options[0] == "--delay" else 0)
    again = done(*common, "--every", "1000000", "--resume")
    assert "resumed after 1,797 rows" in again.stderr
    X, _ = load_digits(return_X_y=True)
    assert np.array_equal(Learner.load(model).scores(X), whole.scores(X))


@pytest.mark.parametrize("delay", [0, 150])
def test_a_resumed_run_ends_like_one_that_was_never_interrupted(tmp_path, delay):
    X, y = load_digits(return_X_y=True)
    data, part = tmp_path / "digits.npz", tmp_path / "part.ks"
    common = ("run", data, "--delay", delay, "--set", "kernel.gamma=0.001")
    np.savez(data, X=X[:1000], y=y[:1000])
    done(*common, "--checkpoint", part, "--every", "300")
    np.savez(data, X=X, y=y)
    again = done(*common, "--checkpoint", part, "--every", "300", "--resume", "--save", tmp_path / "a.ks")
    assert "resumed after 1,000 rows" in again.stderr
    done(*common, "--save", tmp_path / "b.ks")
    first, second = (Learner.load(tmp_path / name) for name in ("a.ks", "b.ks"))
    assert first.n_seen == second.n_seen == 1797
    assert np.array_equal(first.scores(X), second.scores(X))


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    part = tmp_path / "part.ks"
    done("run", "digits", "--checkpoint", part)
    assert_refused(
        call("run", "digits", "--checkpoint", part, "--resume", "--seed", "3"), "with --seed 0", "with --seed 3"
    )
    done("run", "digits", "--save", part)
    answer = call("run", "digits", "--checkpoint", part, "--resume")
    assert_refused(answer, "not a checkpoint", "name another file with --checkpoint")
    assert "begin without" not in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("digits", "--resume"), ("--checkpoint",)),
        (("digits", "--runs", "2", "--save", "m.ks"), ("--save", "--runs")),
        (("digits", "--test", "digits", "--delay", "3"), ("--test", "--delay")),
        (("digits", "--passes", "3"), ("--passes 3", "--test")),
        (("digits", "--test", "nowhere.csv"), ("nowhere.csv",)),
        (("-", "--runs", "2"), ("--runs", "standard input")),
        (("-", "--scale", "standard"), ("standard input", "online")),
        (("digits", "--metrics", "mistake_rate,speed"), ("speed",)),
        (("digits", "--json", "-", "--csv", "-"), ("--json", "--csv", "both name")),
        (("digits", "--config", "nowhere.toml"), ("nowhere.toml",)),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments, words):
    assert_refused(call("run", *arguments, stdin="1 1:1\n-1 1:2\n"), *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--format", "cvs"),
            "--format cvs must be one of libsvm, csv, jsonl, arff, parquet, arrow, npz, npy. Did you mean csv?",
        ),
        (
            ("--categorical", "one-hot"),
            "--categorical one-hot must be one of auto, onehot, hash, refuse. Did you mean onehot?",
        ),
        (("--on-error", "skipp"), "--on-error skipp must be one of stop, skip. Did you mean skip?"),
        (
            ("--task", "regresion"),
            "--task regresion must be one of auto, binary, multiclass, regression. Did you mean regression?",
        ),
        (
            ("--scale", "onlin"),
            "--scale onlin must be one of none, minmax, standard, online, metric, full-metric. Did you mean online?",
        ),
        (("--set", "n_componentz=4"), "Did you mean n_components?"),
        (("--json", "rows.csv"), "--json rows.csv is what DATA reads"),
        (("--csv", "rows.csv"), "--csv rows.csv is what DATA reads"),
        (("--save", "F", "--json", "F"), "--save and --json both name F"),
    ],
)
def test_what_is_misspelled_is_called_as_it_was_written(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("a,b,kind\n" + "1,2,yes\n2,1,no\n" * 20)
    answer = call("run", "rows.csv", *arguments)
    assert answer.exit_code == 2
    assert words in " ".join(answer.stderr.split())


def table(path, names, seed=0):
    """Rows of a, b, c and the class y, which is whether c counts for more than a; columns in the order of `names`."""
    columns = dict(zip("abc", np.random.default_rng(seed).normal(size=(3, 300)).round(4), strict=True))
    frame = pd.DataFrame({**columns, "y": np.where(columns["c"] > columns["a"], "yes", "no")})[list(names)]
    kind = path.suffix
    write = {".csv": lambda: frame.to_csv(path, index=False), ".parquet": lambda: frame.to_parquet(path)}
    write[".jsonl"] = lambda: frame.to_json(path, orient="records", lines=True)
    write[kind]()
    return path


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet"])
def test_columns_in_another_order_are_the_same_columns(tmp_path, kind):
    learned, shown = table(tmp_path / f"one{kind}", "abcy"), table(tmp_path / f"two{kind}", "abcy", 1)
    turned = table(tmp_path / f"turned{kind}", "bcay", 1)
    done("run", learned, "--save", tmp_path / "m.ks")
    as_they_were, otherwise = (done("predict", tmp_path / "m.ks", data, "--scores").stdout for data in (shown, turned))
    assert otherwise == as_they_were
    judged = [record("run", learned, "--test", data)["checkpoints"][-1]["metrics"] for data in (shown, turned)]
    assert judged[0] == judged[1]
    parts = []
    for name, names in (("same", "abcy"), ("mixed", "bcay")):
        (tmp_path / name).mkdir()
        table(tmp_path / name / f"1{kind}", "abcy")
        table(tmp_path / name / f"2{kind}", names, 1)
        parts.append(np.concatenate([X for X, _ in open_source(tmp_path / name)]))
    assert np.array_equal(*parts)


def test_other_columns_are_refused_by_name_and_those_without_go_by_position(tmp_path):
    learned = table(tmp_path / "one.csv", "abcy")
    done("run", learned, "--save", tmp_path / "m.ks")
    other = tmp_path / "other.csv"
    other.write_text(learned.read_text().replace("a,b,c,y", "a,b,d,y", 1))
    refusal = "['a', 'b', 'd'], those of what was learned from are ['a', 'b', 'c']", "--drop", "--label"
    assert_refused(call("predict", tmp_path / "m.ks", other), *refusal)
    assert_refused(call("run", learned, "--test", other), *refusal)
    bare = tmp_path / "bare.csv"
    bare.write_text(learned.read_text().partition("\n")[2])
    named, nameless = (done("predict", tmp_path / "m.ks", data).stdout for data in (learned, bare))
    assert named == nameless


def test_features_are_renumbered_for_a_model_that_did_so_and_for_no_other(tmp_path):
    rows, turned = tmp_path / "a.svm", tmp_path / "b.svm"
    rows.write_text("1 1:1 2:3\n-1 1:3 2:1\n" * 40)
    turned.write_text("1 2:3\n-1 1:3 2:1\n")
    plain, renumbered = tmp_path / "plain.ks", tmp_path / "renumbered.ks"
    done("run", rows, "--save", plain)
    done("run", rows, "--renumber", "--save", renumbered)
    assert_refused(call("predict", plain, turned, "--renumber"), "plain.ks", "--renumber", "leave it out")
    given = [done("predict", renumbered, turned, *more).stdout for more in ((), ("--renumber",))]
    assert given == [done("predict", plain, turned).stdout] * 2


def test_data_without_a_name_and_standard_input_twice_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(table(tmp_path / "rows.csv", "abcy").parent)
    assert_refused(call("run", ""), "the data has no name", "'.' for all files of this directory")
    assert_refused(call("run", "rows.csv", "--test", ""), "the data has no name")
    answer = call("run", "-", "--test", "-", "--format", "csv", stdin=Path("rows.csv").read_text())
    assert_refused(answer, "standard input passes once", "--test", "save it to a file")
    answer = call("run", "/dev/null")
    assert_refused(answer, "'/dev/null' is neither a file nor a directory nor a pipe")
    assert "did you mean" not in answer.stderr


def test_predict_says_which_columns_it_needs(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,kind\n" + "1,2,yes\n2,1,no\n" * 20)
    (tmp_path / "bare.csv").write_text("a,b\n1,2\n2,1\n")
    (tmp_path / "short.libsvm").write_text("1 1:2\n")
    done("run", tmp_path / "rows.csv", "--save", tmp_path / "m.ks")
    answer = call("predict", tmp_path / "m.ks", tmp_path / "bare.csv")
    assert_refused(answer, "['a']", "learned from are ['a', 'b']", "--label none", "--drop")
    assert "grow_features" not in answer.stderr
    assert done("predict", tmp_path / "m.ks", tmp_path / "bare.csv", "--label", "none").stdout.split()[1:] == [
        "yes",
        "no",
    ]
    assert done("predict", tmp_path / "m.ks", tmp_path / "short.libsvm").stdout.split()[1:] == ["no"]


def test_categories_of_several_files_are_the_same_features(shop):
    for categorical in ("onehot", "hash"):
        assert record("run", shop / "*.csv", "--categorical", categorical)["rows"] == 1500


def test_a_diverging_learner_stops_and_the_others_go_on(tmp_path):
    X = np.random.default_rng(0).normal(size=(3000, 3))
    np.savez(tmp_path / "rows.npz", X=X, y=X[:, 0] + 1.0)
    options = ("--algorithms", "ogd,fogd", "--set", "ogd:learning_rate=1e6", "--set", "ogd:kernel=polynomial")
    runs = record("compare", tmp_path / "rows.npz", *options)["runs"]
    assert [bool(run["stopped"]) for run in runs] == [True, False]
    assert runs[0]["rows"] < 3000 == runs[1]["rows"]


def test_skipped_rows_are_told_in_the_table_and_on_the_page(tmp_path):
    lines = [f"{i % 5},{i % 3},{i % 2}\n" for i in range(200)]
    lines[7] = "1,what,0\n"
    (tmp_path / "data.csv").write_text("a,b,label\n" + "".join(lines))
    page = tmp_path / "page.html"
    answer = done("run", tmp_path / "data.csv", "--on-error", "skip", "--report", page)
    assert "1 row could not be read" in answer.stderr
    assert "1 row could not be read" in page.read_text()
    assert "line 9" in page.read_text()


def test_results_come_as_csv_and_markdown(tmp_path):
    table = list(csv.DictReader(done("run", "digits", "--csv", "-").stdout.splitlines()))
    assert (table[0]["algorithm"], table[0]["rows"]) == ("fogd", "1797")
    assert done("run", "digits", "--markdown", "-").stdout.startswith("| data set | learner |")


IMPORTED = ("kernelstream.extras", "numpy", "kernelstream.learner", "kernelstream.cli.run")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process")
@pytest.mark.parametrize("module", IMPORTED)
def test_an_interrupt_while_the_command_is_imported_ends_it_without_a_traceback(module):
    command = [sys.executable, "-v", "-m", "kernelstream", "run", "digits"]  # -v tells each import when it is done
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as running:
        assert any(line.startswith(f"import '{module}' ") for line in running.stderr)
        running.send_signal(signal.SIGINT)
        shown, told = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "kernelstream: interrupted" in told
    assert "Traceback" not in told
    assert shown == ""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process")
def test_an_interrupted_stream_can_go_on(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 3))
    y = np.sign(X[:, 0])
    np.savez(tmp_path / "long.npz", X=X, y=y)
    part = tmp_path / "part.ks"
    arguments = ("run", tmp_path / "long.npz", "--block-rows", "2", "--json", "-", "--checkpoint", part)
    command = [*COMMAND, *map(str, with_fogd(arguments)), "--every", "50"]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        while not part.exists():
            time.sleep(0.01)
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert b"Traceback" not in errors
    stopped = json.loads(output)
    assert stopped["interrupted"]
    assert 0 < stopped["rows"] < 100_000
    assert Learner.load(part).n_seen == stopped["rows"]
    again = done("run", tmp_path / "long.npz", "--checkpoint", part, "--resume", "--json", tmp_path / "again.json")
    assert f"resumed after {stopped['rows']:,} rows" in again.stderr
    resumed = json.loads((tmp_path / "again.json").read_text())
    assert resumed["mistake_rate"] == record("run", tmp_path / "long.npz")["mistake_rate"]
