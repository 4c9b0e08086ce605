"""Laws of evaluation: the numbers are those of a plain loop, whatever the blocks; memory stays flat."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from kernelstream import ALGORITHMS, FOGD, Binary, Learner, Multiclass, Regression, make
from kernelstream.algorithms.density import WIDER
from kernelstream.engine.opening import LAST
from kernelstream.evaluate import run as evaluate_run
from kernelstream.evaluate.models import OwnModel
from kernelstream.evaluate.run import Run, follow, prequential, spaced_rows
from kernelstream.evaluate.settings import spec_from
from kernelstream.evaluate.trace import Checkpoint, Trace
from kernelstream.kernels import Gaussian
from kernelstream.laws.cases import SMALL
from kernelstream.laws.examples import adjusted
from kernelstream.learner.drift import Drift
from kernelstream.metrics import MSE, RMSE, HingeLoss, Metric, MistakeRate, metrics_from
from kernelstream.sources import ArraySource, LibsvmSource, SourceError, fit_scaling, open_source
from kernelstream.sources.survey import survey

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KERNELSTREAM_DATA", ROOT.parent / "shared" / "data"))
BLOCKS = (1, 7, 64, 10_000)
FLIGHTS = "flights-2001h1-3m/flights-2001h1-3m.all.npz"


def stream(task, n=300, width=4, seed=0):
    """Rows and labels of a task, with something to learn in them."""
    draws = np.random.default_rng(seed)
    X = draws.normal(size=(n, width))
    f = np.sin(X[:, 0]) + 0.5 * X[:, 1]
    if task == "regression":
        return X, f + 0.1 * draws.normal(size=n)
    if task == "binary":
        return X, np.where(f > 0, "yes", "no")
    return X, np.digitize(f, [-0.6, 0.6]).astype(float)


TASKS = {"regression": Regression(), "binary": Binary(["no", "yes"]), "multiclass": Multiclass([0.0, 1.0, 2.0])}


def learner(task="binary", algorithm="fogd", **options):
    return Learner(adjusted(make(algorithm, kernel=Gaussian(gamma=0.3)), **SMALL), TASKS[task], **options)


# Metrics.


@pytest.mark.parametrize("metric", [MistakeRate, MSE, RMSE])
def test_a_metric_is_the_same_number_however_the_rows_are_cut(metric):
    draws = np.random.default_rng(1)
    y, shown = draws.normal(size=(2, 500))
    if metric is MistakeRate:
        y, shown = np.round(y), np.round(shown)
    whole = metric().update(y, shown)
    for size in (1, 3, 100):
        pieces = metric()
        for start in range(0, 500, size):
            pieces.update(y[start : start + size], shown[start : start + size])
        assert (pieces.value, pieces.n) == (whole.value, 500)
    left, right = metric().update(y[:123], shown[:123]), metric().update(y[123:], shown[123:])
    assert left.merge(right) is left
    assert left.n == 500
    assert left.value == pytest.approx(whole.value, rel=1e-14)
    assert metric().merge(whole).value == whole.value


def test_metrics_are_what_they_say():
    assert MistakeRate().update(["a", "b", "c", "a"], ["a", "c", "c", "aa"]).value == 0.5
    assert MSE().update([1, 2], [1.0, 4.0]).value == 2.0
    assert RMSE().update([0, 0], [3.0, 3.0]).value == 3.0
    assert math.isnan(MistakeRate().value)
    assert math.isnan(RMSE().value)
    assert MistakeRate().update([], []).n == 0
    assert "mse" in repr(MSE().update([1], [2]))


def test_metrics_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="same length"):
        MSE().update([1, 2], [1.0])
    with pytest.raises(ValueError, match="text never equals a number"):
        MistakeRate().update(["1"], [1.0])
    with pytest.raises(ValueError, match="mse cannot be merged with rmse"):
        MSE().merge(RMSE())


# The loop.


EVERY = [(name, task) for name, kind in ALGORITHMS.items() for task in kind.tasks]


@pytest.mark.parametrize(("algorithm", "task"), EVERY)
def test_prequential_equals_a_plain_loop_over_rows(algorithm, task):
    X, y = stream(task)
    model, shown = learner(task, algorithm, dtype="float64"), []
    for row, label in zip(X, y, strict=True):
        shown.append(model.predict_learn(row[None], [label])[0])
    mean = np.mean(np.square(np.subtract(shown, y)) if task == "regression" else np.not_equal(shown, y))
    for block_rows in BLOCKS:
        trace = prequential(learner(task, algorithm, dtype="float64"), ArraySource(X, y, block_rows=block_rows))
        assert trace.last.metrics["mse" if task == "regression" else "mistake_rate"] == pytest.approx(mean, rel=1e-12)
        assert (trace.last.rows, trace.last.size, trace.last.bytes) == (len(y), model.size, model.n_bytes)


def without_seconds(trace):
    record = trace.to_json()
    for part in (record, *record["checkpoints"]):
        for name in [name for name in part if "second" in name]:
            del part[name]
    return record


@pytest.mark.parametrize(
    "algorithm", [name for name, spec in ALGORITHMS.items() if spec.depends_on_data(spec.tasks[0])]
)
def test_a_trace_does_not_depend_on_the_blocks_though_gamma_is_settled_from_data(algorithm):
    task = TASKS[ALGORITHMS[algorithm].tasks[0]]
    X, y = stream(task.name, LAST + 500)
    X[LAST:] *= 9
    records = []
    for block_rows in (100, LAST + 50, 10**6):
        source = ArraySource(X, y, block_rows=block_rows)
        model = Learner(adjusted(ALGORITHMS[algorithm], **SMALL), task)
        records.append(without_seconds(prequential(model, source)))
    assert records[0] == records[1] == records[2]
    wider = WIDER if algorithm == "density" else 1.0
    assert records[0]["parameters"]["kernel.gamma"] == pytest.approx(1 / (4 * X[:LAST].var()) / wider)


def test_a_trace_of_widening_sparse_rows_does_not_depend_on_the_blocks():
    X, y = stream("binary", LAST + 300, width=9)
    X[:LAST, 6:] = 0
    X = sp.csr_array(X)

    class Widening(ArraySource):
        """As LIBSVM text: each block is as wide as what was seen so far."""

        def __iter__(self):
            width = 1
            for rows, labels in super().__iter__():
                width = max(width, int(rows.indices.max(initial=0)) + 1)
                yield sp.csr_array((rows.data, rows.indices, rows.indptr), (rows.shape[0], width)), labels

    def record(block_rows):
        model = Learner("fogd", TASKS["binary"], grow_features=True, dtype="float64")
        trace = prequential(model, Widening(X, y, block_rows=block_rows))
        return trace.parameters, [(c.rows, c.metrics, c.window, c.size) for c in trace.checkpoints]

    assert record(50) == record(LAST + 1) == record(10**6)
    assert record(10**6)[0]["kernel.gamma"] == pytest.approx(1 / (6 * X[:LAST, :6].toarray().var()))


def test_checkpoints_are_where_they_were_asked_for_and_windows_add_up():
    X, y = stream("binary")
    marks = [0, 10, 10, 64, 200, 1000]
    trace = prequential(learner(), ArraySource(X, y, block_rows=64), checkpoints=marks)
    assert [c.rows for c in trace.checkpoints] == [10, 64, 200, 300]
    before, mistakes = 0, 0.0
    for c in trace.checkpoints:
        mistakes += c.window["mistake_rate"] * (c.rows - before)
        before = c.rows
        assert c.metrics["mistake_rate"] == pytest.approx(mistakes / c.rows)
    assert trace.checkpoints[-1] is trace.last


def test_checkpoints_are_few_and_ascend():
    rows = []
    for row in spaced_rows():
        if row > 3_000_000:
            break
        rows.append(row)
    assert rows == sorted(set(rows))
    assert rows[:4] == [16, 17, 19, 21]
    assert len(rows) == 141


def test_a_trace_is_json_and_its_parameters_make_the_spec_again():
    X, y = stream("regression")
    model = Learner(FOGD(n_components=20), TASKS["regression"], seed=3)
    trace = prequential(model, ArraySource(X, y, name="waves"))
    record = json.loads(json.dumps(trace.to_json(), allow_nan=False))
    assert spec_from(record["algorithm"], [f"{k}={v}" for k, v in record["parameters"].items()]) == model.settled
    assert (record["source"], record["task"], record["seed"], record["rows"]) == ("waves", "regression", 3, 300)
    assert record["rmse"] == math.sqrt(record["mse"])
    assert record["rows_per_second"] == record["rows"] / record["seconds"]
    assert record["compiling_seconds"] == trace.compiling_seconds
    assert list(record)[-1] == "checkpoints"


def test_compiling_reading_and_learning_are_timed_apart(monkeypatch):
    X, y = stream("binary")
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(evaluate_run, "time", SimpleNamespace(perf_counter=lambda: clock.now))

    class Slow(ArraySource):
        def __iter__(self):
            for block in super().__iter__():
                clock.now += 3.0
                yield block

    class Slower(OwnModel):
        def warm_up(self, **late):
            clock.now += 1000.0

        def learn(self, X, y, kinds):
            clock.now += len(y) / 2
            return super().learn(X, y, kinds)

    trace = prequential(Slower(learner()), Slow(X, y, block_rows=10))
    assert (trace.compiling_seconds, trace.last.reading_seconds, trace.last.seconds) == (1000.0, 90.0, 150.0)
    source = Slow(X, y, block_rows=10)
    (trace,) = follow([Run(Slower(learner()), source, clock=lambda: 2 * clock.now)], source)
    assert (trace.compiling_seconds, trace.last.reading_seconds, trace.last.seconds) == (1000.0, 90.0, 300.0)


def test_callbacks_see_every_block_and_own_metrics_are_used():
    class Shift(Metric):
        name = "shift"

        def errors(self, y_true, y_pred):
            return y_pred - y_true

    X, y = stream("regression")
    seen = []
    source, metrics = ArraySource(X, y, block_rows=100), [MSE(), Shift()]
    trace = prequential(learner("regression"), source, metrics=metrics, on_block=lambda t: seen.append(t.last.rows))
    assert seen == [100, 200, 300]
    assert trace.headline == "shift"
    assert set(trace.last.metrics) == {"mse", "shift"}


def test_learning_goes_on_where_a_learner_stands():
    X, y = stream("binary")
    model = learner()
    prequential(model, ArraySource(X[:100], y[:100]))
    prequential(model, ArraySource(X[100:], y[100:]))
    once = learner()
    prequential(once, ArraySource(X, y))
    assert np.array_equal(model.scores(X), once.scores(X))


def test_an_empty_source_gives_an_empty_trace():
    trace = prequential(learner(), ArraySource(np.zeros((0, 3)), np.zeros(0)))
    assert (trace.last.rows, trace.checkpoints, trace.rows_per_second) == (0, [], 0.0)


def test_errors_say_where_in_the_stream_they_happened():
    X, y = stream("binary")
    y = np.where(np.arange(300) == 250, "maybe", y)
    with pytest.raises(ValueError, match=r"waves, fogd, counting from row \d+: Row \d+: the label .*maybe"):
        prequential(learner(), ArraySource(X, y, name="waves", block_rows=64))
    X, y = stream("regression")
    X[:, 0] *= 1e10
    model = Learner(make("ogd", kernel=Gaussian(gamma=1e-30), learning_rate=1e30), TASKS["regression"])
    with pytest.raises(FloatingPointError, match=r"counting from row .*lower learning_rate"):
        prequential(model, ArraySource(X, y))


# The survey.


def found(y, **options):
    y = np.asarray(y)
    return survey(ArraySource(np.ones((len(y), 2)), y, block_rows=options.pop("block_rows", 4096)), **options)


@pytest.mark.parametrize("block_rows", [5, 4096, 10**6])
def test_auto_decides_by_the_labels(block_rows):
    row = np.arange(6000)
    assert found(row % 2, block_rows=block_rows).task.name == "binary"
    assert found(row % 20, block_rows=block_rows).task.name == "multiclass"
    assert found(row % 21, block_rows=block_rows).task.name == "regression"
    assert found(row % 21 / 10, block_rows=block_rows).task.name == "regression"
    assert found(np.array(["a", "b"])[row % 2], block_rows=block_rows).task.name == "binary"
    assert found(np.array([f"w{i}" for i in range(500)])[row % 500], block_rows=block_rows).task.name == "multiclass"
    late = np.where(row < 5000, row % 3, row)
    assert "more than 100" in found(late, block_rows=block_rows).reason
    assert found(np.where(row < 5000, row % 3, 0.5), block_rows=block_rows).task.name == "regression"
    many = np.where(row < 5000, row % 3, row % 100)
    assert found(many, block_rows=block_rows).task.n_outputs == 100


def test_classes_are_those_of_the_whole_source():
    assert found(np.repeat([3.0, 1.0, 2.0], 5000)).task.classes.tolist() == [1.0, 2.0, 3.0]
    assert found([1, 2, 1], task="multiclass").task.n_outputs == 2


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([1, 1, 1], {}, "all 3 labels are 1; .* regression"),
        ([1, 2, 3], {"task": "binary"}, "3 labels: 1, 2, 3; set the task to multiclass"),
        (range(10_001), {"task": "multiclass"}, "more than 10000 different labels"),
        ([], {}, "no rows"),
        ([1, 2], {"task": "ranking"}, "task='ranking' must be one of auto, binary"),
        ([1, 2], {"scale": "log"}, "scale='log' must be one of none, minmax"),
    ],
)
def test_a_survey_refuses(labels, options, message):
    with pytest.raises(ValueError, match=message):
        found(list(labels), **options)


def test_a_survey_reads_no_more_than_it_needs(tmp_path):
    file = tmp_path / "broken.libsvm"
    file.write_text("0.5 1:1\n" * 5000 + "this is not libsvm\n")
    rows = []
    assert survey(LibsvmSource(file), on_block=rows.append).sparse
    assert rows == [4096]
    with pytest.raises(SourceError, match="line 5001"):
        survey(LibsvmSource(file), scale="standard")


def test_a_survey_scales_like_fit_scaling():
    source = open_source("breast-cancer")
    scaling = survey(source, scale="minmax").scaling
    expected = fit_scaling(source, "minmax")
    assert scaling.kind == "minmax"
    assert np.array_equal(scaling.offset, expected.offset)
    assert np.array_equal(scaling.factor, expected.factor)


# Memory.

MEASURED = """
import json, resource, sys
from kernelstream import Learner
from kernelstream.evaluate import prequential
from kernelstream.evaluate.settings import spec_from
from kernelstream.evaluate.trace import Checkpoint, Trace
from kernelstream.sources import open_source
from kernelstream.sources.survey import survey

def peak():
    bytes_per_unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * bytes_per_unit / 1e6

start = peak()
source = open_source(sys.argv[1])
found = survey(source, scale="standard")
learner = Learner(spec_from(sys.argv[2], sys.argv[3:]), found.task, scaling=found.scaling)
peaks = []
trace = prequential(learner, source, on_block=lambda trace: peaks.append(peak()))
growth = peaks[-1] - peaks[len(peaks) // 10]
print(json.dumps([trace.task, trace.last.rows, len(trace.checkpoints), peak() - start, growth]))
"""


@pytest.mark.parametrize(("algorithm", "setting"), [("fogd", "n_components=50"), ("nogd", "budget=50")])
def test_three_million_rows_take_little_memory_and_always_the_same(algorithm, setting):
    pytest.importorskip("resource", reason="peak memory cannot be measured on this system")
    file = DATA / FLIGHTS
    if not file.exists():
        pytest.skip(f"real data not found at {file}; set KERNELSTREAM_DATA")
    command = [sys.executable, "-c", MEASURED, str(file), algorithm, setting]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    task, rows, checkpoints, megabytes, growth = json.loads(output.stdout)
    assert (task, rows) == ("regression", 3_000_000)
    assert checkpoints <= 142
    assert megabytes < 300
    assert growth < 10


# Classes that come later.


def late_rows():
    """Two classes, a third in row 101 and a fourth in row 151."""
    X, y = stream("binary", n=300)
    y = y.astype(object)
    y[100::4], y[150::5] = "maybe", "never"
    return X, y.astype(str)


@pytest.mark.parametrize("delay", [0, 30, 500])
@pytest.mark.parametrize("block_rows", [1, 7, 300])
def test_a_trace_says_which_classes_came_where_and_what_they_cost(block_rows, delay):
    X, y = late_rows()
    several = learner(grow_classes=True)
    measured = metrics_from(["hinge_loss", "log_loss", "auc", "mistake_rate"], several.task)
    trace = prequential(several, ArraySource(X, y, block_rows=block_rows), metrics=measured, delay=delay)
    assert (trace.task, trace.classes) == ("multiclass", ["no", "yes", "maybe", "never"])
    assert trace.newcomers == [(101, "maybe"), (151, "never")]
    assert np.isfinite([trace.last.metrics["hinge_loss"], trace.last.metrics["log_loss"]]).all()
    assert math.isnan(trace.last.metrics["auc"])  # which is of two classes
    assert not math.isnan(trace.checkpoints[0].metrics["auc"]) or delay
    written = json.loads(json.dumps(trace.to_json(), allow_nan=False))
    assert written["newcomers"] == [{"row": 101, "label": "maybe"}, {"row": 151, "label": "never"}]
    assert written["auc"] is None


def test_a_class_that_nobody_knew_has_the_score_of_a_learner_before_its_first_row():
    scores = np.array([[0.5, -2.0, -np.inf], [-0.25, 0.0, -np.inf]])
    assert HingeLoss(["a", "b", "c"]).update(["c", "b"], scores).value == (1.5 + 0.75) / 2


def test_newcomers_are_found_by_the_clock_and_survive_a_resume():
    X, y = late_rows()
    rows = np.column_stack([X, np.arange(300.0)])
    trace = prequential(learner(grow_classes=True), ArraySource(rows, y), moment=4, delay=0, metrics=[MistakeRate()])
    assert trace.newcomers == [(101, "maybe"), (151, "never")]
    source = ArraySource(X, y)
    whole = Run(OwnModel(learner(grow_classes=True)), source, every=100)
    follow([whole], source)
    again = Run(OwnModel(whole.model.learner), source, every=100)
    again.restore(json.loads(json.dumps(whole.state(), allow_nan=False)))
    assert (again.trace.newcomers, again.trace.classes) == (whole.trace.newcomers, whole.trace.classes)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_trace_is_valid_json_whatever_its_numbers(value):
    last = Checkpoint(1, {"mse": value}, {"mse": value}, value, value, 0, 0)
    trace = Trace("s", "a", "regression", 0, "mse", {"C": value, "more": (value, 1.0)}, value, [last], last)
    trace.drifts.append(Drift(1, "d", "error", value, value, "warn"))
    written = json.loads(json.dumps(trace.to_json(), allow_nan=False))
    assert written["mse"] is written["parameters"]["C"] is None
    assert written["parameters"]["more"] == [None, 1.0]
    json.dumps(last.to_json(), allow_nan=False)
