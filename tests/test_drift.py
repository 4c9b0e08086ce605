"""Laws of drift: detectors are River's and see what a user could see, acting is exact whatever the blocks, resumed runs
find what they would have found.
"""

import importlib.util
import json
import re
import sys
from datetime import datetime, timedelta

import numpy as np
import pytest
from river import drift as river_drift
from river import linear_model
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier
from typer.testing import CliRunner

from kernelstream import FOGD, NOGD, RBP, Auto, Binary, Learner, Multiclass, Regression, Ridge
from kernelstream.cli import app
from kernelstream.evaluate import Run, Trace, Watch, prequential, side_by_side
from kernelstream.evaluate.models import Model, OwnModel
from kernelstream.extras import MissingExtra
from kernelstream.learner.drift import EVERY, KEPT, plan_of
from kernelstream.report.page import write_page
from kernelstream.report.plots import LIGHT, course_svg, curve_svg, write_curves
from kernelstream.report.runs import METRIC, ROWS, WINDOW, by_source
from kernelstream.sources import ArraySource, fit_scaling

N, CHANGE = 2000, 1200
TASK = Binary([0, 1])
MADE = {
    "adwin": river_drift.ADWIN,
    "page-hinkley:threshold=10": lambda: river_drift.PageHinkley(threshold=10),
    "kswin:alpha=0.0001,window_size=60,stat_size=20": lambda: river_drift.KSWIN(0.0001, 60, 20, seed=3),
    "ddm": river_drift.binary.DDM,
}
ACTIONS = ("warn", "restart", "forget", "forget:100")


def rows(n=N, change=CHANGE, seed=0):
    """Labels whose meaning is turned around at a row, from which on a feature is larger too."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    later = np.arange(n) >= change
    X[later, 2] += 2.0
    return X, ((X[:, 0] > 0) ^ later).astype(float)


def learner(spec=None, task=TASK, **options):
    return Learner(FOGD(n_components=30) if spec is None else spec, task, seed=3, **options)


def run(X, y, *, block_rows=4096, model=None, **options):
    model = learner() if model is None else model
    return prequential(model, ArraySource(X, y, block_rows=block_rows), **options), model


def errors(X, y):
    return (learner().predict_learn(X, y) != y).astype(float)


def found_by(detector, values):
    """The rows after which a detector says that there is drift, in a plain loop."""
    found, seen = [], detector()
    for row, value in enumerate(values, start=1):
        seen.update(value)
        if seen.drift_detected:
            found.append(row)
            seen = detector()
    return found


def at(trace):
    return [drift.row for drift in trace.drifts]


# What is found.


@pytest.mark.parametrize("name", MADE)
def test_detectors_are_rivers_on_the_errors(name):
    X, y = rows()
    trace, _ = run(X, y, drift=name)
    expected = found_by(MADE[name], errors(X, y))
    assert at(trace) == expected and any(CHANGE < row < CHANGE + 500 for row in expected)
    rose = next(drift for drift in trace.drifts if drift.row > CHANGE)
    assert rose.after > rose.before + 0.05
    assert (rose.detector, rose.on, rose.did) == (name.split(":")[0], "error", "warn")


@pytest.mark.parametrize("name", list(MADE)[:3])
def test_detectors_see_a_feature_when_its_row_is_shown(name):
    X, y = rows()
    trace, _ = run(X, y, drift=f"{name.partition(':')[0]}:on=2,{name.partition(':')[2]}".rstrip(","), delay=500)
    assert at(trace) == found_by(MADE[name], X[:, 2]) and any(CHANGE < row < CHANGE + 300 for row in at(trace))
    assert {drift.on for drift in trace.drifts} == {"2"}


def test_a_feature_goes_by_its_name_and_a_sparse_one_counts_as_zero():
    X, y = rows()
    pairs = [({"a": a, "b": b, "c": c}, label) for (a, b, c), label in zip(X.tolist(), y.tolist(), strict=True)]
    trace = prequential(learner(task=Binary([0.0, 1.0])), pairs, drift="adwin:on=c")
    assert at(trace) == found_by(river_drift.ADWIN, X[:, 2])
    with pytest.raises(ValueError, match=r"no feature of .* is named 'd'; they are a, b, c"):
        prequential(learner(), pairs, drift="adwin:on=d")
    sparse = csr_array(np.where(X > 0, X, 0.0))
    wide = learner(grow_features=True)
    assert at(run(sparse, y, model=wide, drift="adwin:on=2")[0]) == found_by(river_drift.ADWIN, np.maximum(X[:, 2], 0))
    assert run(sparse, y, drift="adwin:on=99")[0].drifts == []
    with pytest.raises(ValueError, match="no feature 99 in array; they go from 0 to 2"):
        run(X, y, drift="adwin:on=99")


@pytest.mark.parametrize("delay", [1, 40, 300])
def test_an_error_is_seen_when_its_label_has_come_and_not_before(delay):
    X, y = rows()
    trace, _ = run(X, y, drift="ddm", delay=delay)
    late, shown = learner(), []
    for t in range(N):
        shown.append(late.predict(X[t : t + 1])[0])
        if t >= delay:
            late.learn(X[t - delay : t - delay + 1], y[t - delay : t - delay + 1])
    mistakes = (np.array(shown) != y).astype(float)
    assert at(trace) == [row + delay for row in found_by(river_drift.binary.DDM, mistakes) if row + delay <= N]
    assert min(row for row in at(trace) if row > CHANGE) > CHANGE + delay


def test_labels_that_come_by_time_are_seen_in_the_order_in_which_they_come():
    X, y = rows()
    start = datetime(2024, 1, 1)
    pairs = [({"when": start + timedelta(minutes=t), "a": a, "b": b, "c": c}, label)
             for t, ((a, b, c), label) in enumerate(zip(X.tolist(), y.tolist(), strict=True))]  # fmt: skip
    task = Binary([0.0, 1.0])
    by_time = prequential(learner(task=task), pairs, drift="adwin", moment="when", delay=timedelta(minutes=100))
    by_row, _ = run(X, y, model=learner(task=task), drift="adwin", delay=99)
    # A label that comes at the moment of a row is there before that row is shown.
    assert at(by_time) == at(by_row) and len(by_time.drifts) > 0
    assert [d.before for d in by_time.drifts] == [d.before for d in by_row.drifts]


def test_values_of_a_regression_are_judged_by_their_absolute_errors():
    X, _ = rows()
    y = np.where(np.arange(N) < CHANGE, X[:, 0], -X[:, 0])
    trace, _ = run(X, y, model=learner(task=Regression()), drift=river_drift.ADWIN())
    shown = learner(task=Regression()).learn(X, y)[:, 0]
    assert at(trace) == found_by(river_drift.ADWIN, np.abs(y - shown)) and trace.drifts[0].detector == "ADWIN"


# What is done.


def by_hand(X, y, on_drift, delay=0):
    """Errors and changes of a run in pieces of EVERY rows, in a plain loop."""
    model, seen, due, shown, changes, begun = learner(), river_drift.ADWIN(), False, [], [], 0
    total, n = 0.0, 0
    keeps = {"restart": 0, "forget": KEPT, "forget:100": 100}[on_drift]
    for t in range(len(y)):
        if t % EVERY == 0 and due:
            model, seen, due, begun, total, n = learner(), river_drift.ADWIN(), False, t, 0.0, 0
            changes.append(t)
            come = max(0, t - delay)
            if keeps:
                model.learn(X[max(0, come - keeps) : come], y[max(0, come - keeps) : come])
        shown.append(model.predict(X[t : t + 1])[0])
        if t < delay:
            continue
        model.learn(X[t - delay : t - delay + 1], y[t - delay : t - delay + 1])
        if t - delay < begun:
            continue
        error = float(shown[t - delay] != y[t - delay])
        seen.update(error)
        total, n = total + error, n + 1
        if seen.drift_detected:
            before = (total - seen.width * seen.estimation) / (n - seen.width)
            due, seen, total, n = due or seen.estimation > before, river_drift.ADWIN(), 0.0, 0
    return (np.array(shown) != y).mean(), changes, model


@pytest.mark.parametrize("delay", [0, 70])
@pytest.mark.parametrize("on_drift", ACTIONS[1:])
def test_a_run_that_acts_equals_a_plain_loop(on_drift, delay):
    X, y = rows()
    trace, model = run(X, y, drift="adwin", on_drift=on_drift, delay=delay)
    rate, changes, expected = by_hand(X, y, on_drift, delay)
    assert changes and trace.last.metrics["mistake_rate"] == rate
    if delay:
        expected.learn(X[-delay:], y[-delay:])
    assert np.array_equal(model.scores(X[:50]), expected.scores(X[:50])) and model.n_seen == expected.n_seen
    acted = [drift for drift in trace.drifts if drift.did != "warn"]
    assert {drift.did for drift in acted} == {on_drift.partition(":")[0]} and all(d.after > d.before for d in acted)


@pytest.mark.parametrize("delay", [0, 70])
@pytest.mark.parametrize("on_drift", ACTIONS)
def test_blocks_change_nothing(on_drift, delay):
    X, y = rows()
    found = []
    for block_rows in (13, 4096):
        watches = ["adwin", "page-hinkley:threshold=10", "adwin:on=2"]
        trace, model = run(X, y, block_rows=block_rows, drift=watches, on_drift=on_drift, delay=delay)
        found.append((trace.drifts, trace.last.metrics, [c.window for c in trace.checkpoints], model.scores(X[:9])))
    assert len(found[0][0]) > 2
    for other in found[1:]:
        assert other[:3] == found[0][:3] and np.array_equal(other[3], found[0][3])


def test_what_helps_after_a_change_is_to_begin_anew():
    X, y = rows()
    rates = [run(X, y, drift="adwin", on_drift=on)[0].last.metrics["mistake_rate"] for on in ("warn", "restart")]
    assert rates[1] < rates[0]


def test_a_warning_changes_no_bit():
    X, y = rows()
    plain, left = run(X, y)
    warned, watched = run(X, y, drift=["adwin", "ddm", "kswin:on=1"])
    assert plain.last.metrics == warned.last.metrics and np.array_equal(left.scores(X), watched.scores(X))


@pytest.mark.parametrize("made", [lambda: SGDClassifier(random_state=0), linear_model.Perceptron])
def test_models_of_others_begin_anew_too(made):
    X, y = rows()
    (anew,) = side_by_side([made()], ArraySource(X, y), task=TASK, drift="adwin", on_drift="restart")
    (plain,) = side_by_side([made()], ArraySource(X, y), task=TASK, drift="adwin")
    assert any(drift.did == "restart" for drift in anew.drifts)
    assert anew.last.metrics != plain.last.metrics


RESTARTED = [
    (Auto(), TASK, "none"),
    (Ridge(n_components=20), TASK, "online"),
    (FOGD(n_components=20), Regression(), "metric"),
    (NOGD(budget=20, rank=5), Multiclass([0, 1]), "full-metric"),
    (RBP(budget=10), TASK, "fitted"),
]


@pytest.mark.parametrize(("spec", "task", "scaling"), RESTARTED, ids=lambda part: getattr(part, "name", part))
def test_a_learner_that_restarts_is_one_that_has_learned_nothing(spec, task, scaling, tmp_path):
    X, y = rows(400, 200)
    scaling = fit_scaling(ArraySource(X, y), "standard") if scaling == "fitted" else scaling
    used, fresh = (learner(spec, task, scaling=scaling) for _ in range(2))
    used.learn(10 + 3 * X, y)
    used.restart()
    assert used.n_seen == used.size == used.width == 0 and not used.scores(X).any()
    used.save(tmp_path / "empty.ks")
    assert Learner.load(tmp_path / "empty.ks").n_seen == 0
    assert np.array_equal(used.learn(X, y), fresh.learn(X, y)) and np.array_equal(used.scores(X), fresh.scores(X))


def test_classes_that_came_stay():
    grown = learner(task=Multiclass([0, 1]), grow_classes=True)
    grown.learn(np.eye(3), [0, 1, 2])
    grown.restart()
    assert grown.task.classes.tolist() == [0, 1, 2] and grown.scores(np.eye(3)).shape == (3, 3)


# What is refused.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drift": "adwinn"}, "no detector; did you mean adwin"),
        ({"drift": "adwin:delte=1"}, "adwin has no parameter 'delte'; it has delta, clock"),
        ({"drift": "adwin:delta"}, "'delta' of .* is not name=value"),
        ({"drift": 3}, "drift=3 is no detector of River's"),
        ({"drift": "ddm:on=1"}, "ddm counts mistakes, and '1' is none; take adwin"),
        ({"drift": "adwin", "on_drift": "stop"}, "one of warn, restart, forget"),
        ({"drift": "adwin", "on_drift": "restart:5"}, "one of warn, restart, forget"),
        ({"drift": "adwin", "on_drift": "forget:0"}, "forget:N with N rows"),
        ({"on_drift": "restart"}, "needs a detector; say which"),
        ({"checkpoints": 0}, "checkpoints=0 must be at least 1"),
        ({"drift": "adwin:delta=x"}, "delta='x' must be a number greater than 0 and less than 1"),
        ({"drift": "adwin:delta=nan"}, "delta=nan must be a number greater than 0"),
        ({"drift": "adwin:delta=-1"}, "delta=-1 must be a number greater than 0"),
        ({"drift": "adwin:max_buckets=-1"}, "max_buckets=-1 must be a whole number not less than 1"),
        ({"drift": "adwin:clock=1.5"}, "clock=1.5 must be a whole number not less than 1"),
        ({"drift": "adwin:clock=0"}, "clock=0 must be a whole number not less than 1"),
        ({"drift": f"adwin:clock={10**30}"}, f"adwin cannot have clock={10**30}: "),
        ({"drift": "page-hinkley:threshold=x"}, "threshold='x' must be a number not less than 0"),
        ({"drift": "page-hinkley:min_instances=-4"}, "min_instances=-4 must be a whole number not less than 0"),
        ({"drift": "page-hinkley:mode=sideways"}, "page-hinkley cannot have mode='sideways': .*up.*down"),
        ({"drift": "ddm:warm_start=x"}, "warm_start='x' must be a whole number not less than 0"),
        ({"drift": "kswin:window_size=59"}, "window_size=59 must be at least twice stat_size=30"),
        ({"drift": "kswin:seed=x"}, "seed='x' must be a whole number not less than 0"),
        ({"drift": "kswin:window=3"}, "kswin has no parameter 'window'"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options, message):
    X, y = rows(10)
    with pytest.raises(ValueError, match=message):
        run(X, y, **options)


def test_ddm_is_refused_for_a_regression_and_acting_for_what_cannot_begin_anew():
    X, y = rows(10)
    with pytest.raises(ValueError, match="a regression has none; take adwin"):
        run(X, y, model=learner(task=Regression()), drift="ddm")

    class Lasting(OwnModel):
        restart = Model.restart

    with pytest.raises(ValueError, match=r"fogd cannot begin anew.*on_drift='warn'"):
        prequential(Lasting(learner()), ArraySource(X, y), drift="adwin", on_drift="forget")


def test_without_river_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(MissingExtra, match=r"Models and drift detectors of River need river.*'kernelstream\[river\]'"):
        plan_of("adwin")
    assert plan_of(None) is None and importlib.util.find_spec("numpy")


# Resuming.


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "100"})


def write(path, X, y):
    lines = [f"{a:.6f},{b:.6f},{c:.6f},{int(label)}\n" for (a, b, c), label in zip(X, y, strict=True)]
    path.write_text("a,b,c,label\n" + "".join(lines))


COMMON = ("--algorithm", "fogd", "--set", "n_components=30", "--window", "200")


@pytest.mark.parametrize("delay", [0, 70])
@pytest.mark.parametrize(("name", "on_drift"), [(n, a) for n in MADE for a in ("warn", "forget:100")] + [
    ("adwin:on=c", "restart"), ("adwin", "restart")])  # fmt: skip
def test_a_resumed_run_finds_what_it_would_have_found(tmp_path, name, on_drift, delay):
    X, y = rows(1400, 900)
    data, part = tmp_path / "rows.csv", tmp_path / "part.ks"
    options = (*COMMON, "--drift", name, "--on-drift", on_drift, "--delay", delay)
    results = []
    # Cuts before the change, soon after it, and where something may be due.
    for cut in (850, 960, 1400):
        write(data, X[:cut], y[:cut])
        resumed = call("run", data, *options, "--checkpoint", part, "--every", "64", "--resume", "--save",
                       tmp_path / "a.ks", "--json", tmp_path / "a.json")  # fmt: skip
        assert resumed.exit_code == 0, resumed.output
    assert call("run", data, *options, "--save", tmp_path / "b.ks", "--json", tmp_path / "b.json").exit_code == 0
    for letter in "ab":
        record = json.loads((tmp_path / f"{letter}.json").read_text())
        windows = [(c["rows"], c["window"]) for c in record["checkpoints"] if c["rows"] % 200 == 0]
        scores = Learner.load(tmp_path / f"{letter}.ks").scores(X[:50])
        results.append((record["mistake_rate"], record["drifts"], windows, scores.tolist()))
    assert results[0] == results[1] and results[0][1]
    if on_drift != "warn" and name != "ddm":
        assert any(drift["did"] != "warn" for drift in results[0][1])


def test_another_river_and_other_options_are_not_resumed(tmp_path, monkeypatch):
    data, part = tmp_path / "rows.csv", tmp_path / "part.ks"
    write(data, *rows(200))
    common = ("run", data, *COMMON, "--checkpoint", part, "--resume", "--every", "50")
    assert call(*common, "--drift", "adwin").exit_code == 0
    for options, was in (
        ((), "--drift adwin"),
        (("--drift", "ddm"), "--drift adwin"),
        (("--drift", "adwin", "--on-drift", "restart"), "--on-drift warn"),
    ):
        refused = call(*common, *options)
        assert refused.exit_code == 2 and f"was begun with {was}, and" in refused.stderr
    monkeypatch.setattr("kernelstream.learner.drift.version", lambda package: "0.1")
    refused = call(*common, "--drift", "adwin")
    assert refused.exit_code == 2 and "not 0.1; resume it with that" in refused.stderr


@pytest.mark.parametrize("name", MADE)
def test_a_detector_that_was_tampered_with_is_refused(name):
    X, y = rows(300)
    model = OwnModel(learner())
    first = Run(model, ArraySource(X, y), drift=plan_of(name), every=50)
    first.take(X, y, 0)
    state = json.dumps(first.state())
    values = re.findall(r'"bytes": "(.{40})', state) or re.findall(r'"float": "(.*?)"', state)
    for wrong in (state.replace(values[0], "?"), state.replace('"parts"', '"part"'), state.replace('"n": ', '"m": ')):
        assert wrong != state
        again = Run(model, ArraySource(X, y), drift=plan_of(name), every=50)
        told = r"detectors that River could not have left; begin anew|its run\.drift\.each\.0"
        with pytest.raises(ValueError, match=told):
            again.restore(json.loads(wrong) | {"metrics": first.state()["metrics"], "window": first.state()["window"]})


def test_a_detector_that_cannot_be_kept_is_refused_before_the_first_row():
    class Mine(river_drift.ADWIN):
        """Of no package that is known."""

    X, y = rows(100)
    with pytest.raises(ValueError, match="Mine cannot be kept in a checkpoint; take another detector"):
        Run(OwnModel(learner()), ArraySource(X, y), drift=plan_of(Mine()), every=50)
    assert at(run(X, y, drift=Mine())[0]) == []


# Reports, windows.


def test_marks_are_in_the_text_the_json_the_page_and_the_curves(tmp_path):
    write(tmp_path / "rows.csv", *rows())
    page, record = tmp_path / "page.html", tmp_path / "r.json"
    done = call("run", tmp_path / "rows.csv", *COMMON, "--drift", "adwin", "--on-drift", "restart", "--report", page,
                "--json", record)  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads(record.read_text())
    acted = [drift for drift in found["drifts"] if drift["did"] == "restart"]
    assert acted and found["on_drift"] == "restart" and found["drift"] == ["adwin"]
    said = f"row {acted[0]['row']:,}, adwin: error {acted[0]['before']:.3g} to {acted[0]['after']:.3g}; restart"
    assert said in done.stdout and f"drift: {said}" in done.stderr and said in page.read_text()
    assert "Lines stand where drift was found" in page.read_text()
    none = call("run", tmp_path / "rows.csv", *COMMON, "--drift", "adwin:delta=1e-300")
    assert "none found" in none.stdout and "drift:" not in none.stderr


def test_a_line_is_drawn_where_drift_was_found(tmp_path):
    X, y = rows()
    traces = side_by_side([learner(), learner(FOGD(n_components=9))], ArraySource(X, y), drift="adwin")

    def drawn():
        group = by_source(traces)["array"]
        curves = [curve_svg(group, ROWS, y, LIGHT) for y in (METRIC, WINDOW)]
        write_curves(tmp_path / "curve.png", traces)
        write_page(tmp_path / "page.html", traces, title="t", lead="l", facts={})
        headings = re.findall("<h3>Drift: (.*?) found", (tmp_path / "page.html").read_text())
        return [*curves, course_svg(group[0], LIGHT), (tmp_path / "curve.png").read_bytes()], len(headings)

    marked = drawn()
    for trace in traces:
        assert trace.drifts
        trace.drifts.clear()
    plain = drawn()
    assert plain == drawn() and (marked[1], plain[1]) == (2, 0)
    assert all(a != b for a, b in zip(marked[0], plain[0], strict=True))


def test_compare_watches_each_learner_for_itself(tmp_path):
    write(tmp_path / "rows.csv", *rows())
    names = "fogd,sklearn.linear_model.SGDClassifier,river.linear_model.Perceptron"
    done = call("compare", tmp_path / "rows.csv", "--algorithms", names, "--scale", "online", "--drift", "adwin",
                "--on-drift", "restart", "--json", tmp_path / "r.json")  # fmt: skip
    assert done.exit_code == 0, done.output
    runs = json.loads((tmp_path / "r.json").read_text())["runs"]
    assert all(any(drift["did"] == "restart" for drift in one["drifts"]) for one in runs) and len(runs) == 3
    assert "drift: SGDClassifier, row" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--runs", "3"), "--drift is a matter of the rows' order"),
        (("--test", "digits"), "--test goes with none of --checkpoint, --delay, --predictions, --drift, --window"),
        (("--on-drift", "stop"), "--on-drift stop is not known"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, words):
    refused = call("run", "digits", "--drift", "adwin", *options)
    assert refused.exit_code == 2 and words in refused.stderr


def test_windows_are_as_long_as_asked_for_and_stand_beside_all_rows():
    X, y = rows()
    trace, _ = run(X, y, checkpoints=250)
    wrong, course = errors(X, y), trace.course()
    assert course.rows.tolist() == list(range(250, N + 1, 250))
    assert course.window == pytest.approx(wrong.reshape(-1, 250).mean(axis=1), abs=1e-12)
    assert course.so_far == pytest.approx([wrong[:row].mean() for row in course.rows], abs=1e-12)
    assert np.array_equal(trace.course("mistake_rate").window, course.window)
    with pytest.raises(ValueError, match="'kappa' was not measured; mistake_rate were"):
        trace.course("kappa")
    assert [len(part) for part in Trace("s", "a", "binary", 0, "mistake_rate").course()] == [0, 0, 0]


def test_a_watch_has_a_detector_of_its_own_in_each_run():
    X, y = rows()
    watch = Watch(river_drift.ADWIN(delta=0.01), on="error")
    first, second = (at(run(X, y, drift=watch)[0]) for _ in range(2))
    assert first == second == found_by(lambda: river_drift.ADWIN(delta=0.01), errors(X, y))
