"""Train and test, many row orders over the cores, runs that are killed and resumed."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from kernelstream import Binary, Learner, make
from kernelstream.evaluate.experiments import Repetition, holdout, judged, repeated, summarized
from kernelstream.evaluate.models import OwnModel
from kernelstream.evaluate.run import Run, follow, prequential
from kernelstream.kernels import Gaussian
from kernelstream.metrics import AUC, MistakeRate
from kernelstream.sources import ArraySource, Shuffled, open_source
from kernelstream.sources.survey import survey

ROOT = Path(__file__).parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src")}
SPEC = make("fogd", kernel=Gaussian(gamma=0.3), n_components=50)


def stream(n=600):
    X = np.random.default_rng(2).normal(size=(n, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)


def learner(**options):
    return Learner(SPEC, Binary([-1.0, 1.0]), **options)


# Train and test.


def test_holdout_judges_on_the_test_rows_at_each_checkpoint_and_at_the_end():
    X, y = stream()
    train, test = ArraySource(X[:400], y[:400], block_rows=33), ArraySource(X[400:], y[400:])
    trace = holdout(learner(), train, test, passes=2, checkpoints=[50, 400, 650])
    assert [c.rows for c in trace.checkpoints] == [50, 400, 650, 800]
    model, learned = learner(), np.concatenate([np.arange(400), np.arange(400)])
    for checkpoint, start in zip(trace.checkpoints, (0, 50, 400, 650), strict=True):
        rows = learned[start : checkpoint.rows]
        model.learn(X[rows], y[rows])
        assert checkpoint.metrics["mistake_rate"] == np.mean(model.predict(X[400:]) != y[400:])
    assert judged(model, test) == trace.last.metrics
    assert trace.last.metrics["mistake_rate"] < 0.2


def test_holdout_times_learning_and_predicting_apart():
    X, y = stream()
    train, test = ArraySource(X[:400], y[:400], block_rows=100), ArraySource(X[400:], y[400:], block_rows=20)
    ticks = itertools.count()
    trace = holdout(learner(), train, test, passes=2, checkpoints=[400], clock=lambda: float(next(ticks)))
    # A piece that is timed takes one tick; of the two judgements the last one counts.
    assert [c.seconds for c in trace.checkpoints] == [4.0, 8.0] and trace.predicting_seconds == 10.0


def test_holdout_takes_other_libraries_and_refuses_no_pass():
    X, y = stream(200)
    source = ArraySource(X, y)
    trace = holdout(SGDClassifier(random_state=0), source, source, task=Binary([-1.0, 1.0]))
    model = SGDClassifier(random_state=0)
    for t in range(200):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1.0, 1.0])
    assert trace.last.metrics["mistake_rate"] == np.mean(model.predict(X) != y)
    with pytest.raises(ValueError, match="passes=0"):
        holdout(learner(), source, source, passes=0)


# Many row orders.


def test_repetitions_are_the_same_on_one_core_and_on_two():
    X, y = stream()
    source = ArraySource(X, y)
    found = survey(source)
    both = [Repetition(SPEC, source, found), Repetition(make("rbp", budget=20), source, found, dtype="float64")]
    one, two = (repeated(both, range(3), jobs=jobs) for jobs in (1, 2))
    for left, right in zip(one, two, strict=True):
        assert [t.last.metrics for t in left] == [t.last.metrics for t in right]
        assert [t.seed for t in left] == [0, 1, 2]
    assert len({t.last.metrics["mistake_rate"] for t in one[0]}) > 1


def test_given_row_orders_are_those_of_a_plain_loop():
    X, y = stream()
    orders = [np.random.default_rng(k).permutation(600)[:500] for k in range(2)]
    source = ArraySource(X, y, block_rows=100)
    traces = repeated([Repetition(SPEC, source, survey(source))], orders, jobs=1)[0]
    for k, (trace, order) in enumerate(zip(traces, orders, strict=True)):
        model = Learner(SPEC, Binary([-1.0, 1.0]), seed=k)
        assert trace.last.metrics["mistake_rate"] == np.mean(model.predict_learn(X[order], y[order]) != y[order])
    values = [trace.last.metrics["mistake_rate"] for trace in traces]
    assert summarized(traces) == {"mistake_rate": (np.mean(values), np.std(values, ddof=1))}


def test_orders_that_are_none_are_refused():
    X, y = stream(10)
    for order, word in (([0, 0, 1], "different"), ([3, 10], "rows 0 to 9"), ([0.5, 1.5], "whole numbers")):
        with pytest.raises(ValueError, match=word):
            list(Shuffled(ArraySource(X, y), np.array(order)))


# Going on.


def without_seconds(trace):
    record = trace.to_json() if not isinstance(trace, dict) else trace
    for part in (record, *record["checkpoints"]):
        for name in [name for name in part if "second" in name]:
            del part[name]
    return record


@pytest.mark.parametrize("delay", [0, 70])
def test_a_run_goes_on_from_its_state_with_the_same_bits(delay, tmp_path):
    X, y = stream()
    metrics = [AUC([-1.0, 1.0]), MistakeRate()]

    def run(model, **options):
        return Run(OwnModel(model), ArraySource(X, y), metrics=metrics, delay=delay, **options)

    whole = learner()
    expected = follow([run(whole)], ArraySource(X, y))[0]
    saved = []

    def keep(one):
        one.model.learner.save(tmp_path / f"{one.rows}.ks")
        saved.append(json.dumps(one.state()))

    follow([run(learner(), every=170, on_mark=keep)], ArraySource(X, y, block_rows=100))
    assert [json.loads(state)["rows"] for state in saved] == [170, 340, 510] + [600] * (delay > 0)
    for state in map(json.loads, saved):
        model = Learner.load(tmp_path / f"{state['rows']}.ks")
        resumed = run(model)
        resumed.restore(state)
        trace = follow([resumed], ArraySource(X, y, block_rows=64))[0]
        assert without_seconds(trace) == without_seconds(expected)
        assert np.array_equal(model.scores(X), whole.scores(X))
    other = Run(OwnModel(learner()), ArraySource(X, y), delay=delay)
    with pytest.raises(ValueError, match="begun with metrics"):
        other.restore(state)
    short = run(Learner.load(tmp_path / "510.ks"))
    short.restore(json.loads(saved[2]))
    with pytest.raises(ValueError, match="has 300 rows, but 510"):
        follow([short], ArraySource(X[:300], y[:300]))


def command(*arguments):
    return [sys.executable, "-m", "kernelstream", *map(str, arguments)]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize(
    "options",
    [
        ("--algorithm", "bogd++", "--shuffle", "--scale", "standard"),
        ("--algorithm", "fogd", "--scale", "online", "--delay", "50", "--metrics", "auc,mistake_rate"),
    ],
)
def test_a_killed_run_that_is_resumed_ends_with_the_same_bits(tmp_path, options):
    X = np.random.default_rng(0).normal(size=(24_000, 4)) * 3
    np.savez(tmp_path / "long.npz", X=X, y=np.sign(X[:, 0] * X[:, 1]))
    options = ("run", tmp_path / "long.npz", *options, "--block-rows", 50)
    whole = tmp_path / "whole.json", tmp_path / "whole.ks"
    subprocess.run(
        command(*options, "--json", whole[0], "--save", whole[1]), env=ENVIRONMENT, check=True, capture_output=True
    )
    checkpoint = tmp_path / "run.ks"
    ends = tmp_path / "ends.json", tmp_path / "ends.ks"
    resumed = command(*options, "--checkpoint", checkpoint, "--every", 1000, "--resume")
    resumed += ["--json", str(ends[0]), "--save", str(ends[1])]
    kills = 0
    for seen in (1000, 6000):  # killed twice, somewhere behind these rows
        with subprocess.Popen(resumed, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
            while running.poll() is None and not (checkpoint.exists() and rows_in(checkpoint) >= seen):
                time.sleep(0.002)
            running.send_signal(signal.SIGKILL)
            running.wait()
        kills += running.returncode == -signal.SIGKILL
    assert kills > 0 and rows_in(checkpoint) < 24_000
    done = subprocess.run(resumed, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    assert "resumed after" in done.stderr
    first, second = (without_seconds(json.loads(path.read_text())) for path in (whole[0], ends[0]))
    assert first == second
    models = [Learner.load(path) for path in (whole[1], ends[1])]
    assert np.array_equal(models[0].scores(X[:500]), models[1].scores(X[:500]))
    assert models[0].n_seen == models[1].n_seen == 24_000
    other = subprocess.run([*resumed, "--seed", "9"], env=ENVIRONMENT, capture_output=True, text=True)
    assert other.returncode == 2 and "was begun with --seed 0, and is to go on with --seed 9" in other.stderr


def rows_in(checkpoint):
    return Learner.load_with_header(checkpoint)[1]["run"]["rows"]


def test_a_stream_of_the_same_rows_gives_the_same_trace_through_a_shuffle():
    source = open_source("breast-cancer")
    one, two = (prequential(Learner("rbp", Binary([0.0, 1.0])), Shuffled(source, 4)) for _ in range(2))
    assert without_seconds(one) == without_seconds(two)
