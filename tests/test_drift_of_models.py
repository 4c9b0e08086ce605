"""Laws of models that look out for drift themselves: they find and do what a run with the same choice does, whatever
the calls, through files, copies and the service.
"""

import copy
import json
import pickle
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from river import drift as river_drift
from scipy.sparse import csr_array
from sklearn.base import clone

import kernelstream
from kernelstream import (
    FOGD,
    Binary,
    Learner,
    Multiclass,
    OnlineKernelClassifier,
    OnlineKernelOutlier,
    OnlineKernelRegressor,
    Regression,
)
from kernelstream.encoding import Columns
from kernelstream.engine import files
from kernelstream.engine.state import ModelFileError
from kernelstream.evaluate import Watch, prequential
from kernelstream.extras import MissingExtra
from kernelstream.learner.drift import EVERY
from kernelstream.sources import ArraySource

N, CHANGE = 2000, 1200
TASK = Binary([0, 1])
ACTIONS = ("warn", "restart", "forget", "forget:100")
WATCHES = ["adwin", "page-hinkley:threshold=10", "ddm", "adwin:on=2", "kswin:on=1,alpha=0.0001"]


def rows(n=N, change=CHANGE, seed=0):
    """Labels whose meaning is turned around at a row, from which on a feature is larger too."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    later = np.arange(n) >= change
    X[later, 2] += 2.0
    return X, ((X[:, 0] > 0) ^ later).astype(float)


def learner(drift="adwin", on_drift="restart", task=TASK, spec=None, **options):
    spec = FOGD(n_components=30) if spec is None else spec
    return Learner(spec, task, seed=3, drift=drift, on_drift=on_drift, **options)


def learned(model, X, y, cuts, weights=None):
    """The scores from before each row, learned in pieces that end at these rows; one row alone goes its own way."""
    parts, start = [], 0
    for stop in [*cuts, len(y)]:
        w = None if weights is None else weights[start:stop]
        if stop - start == 1:
            parts.append(model.learn_one(X[start], y[start], 1.0 if w is None else float(w[0]))[None])
        else:
            parts.append(model.learn(X[start:stop], y[start:stop], w))
        start = stop
    return np.concatenate(parts)


def acted(model):
    return [drift.did for drift in model.drifts if drift.did != "warn"]


# What a run with the same choice does.


@pytest.mark.parametrize("block_rows", [13, 4096])
@pytest.mark.parametrize("on_drift", ACTIONS)
def test_a_model_does_what_a_run_does(on_drift, block_rows):
    X, y = rows()
    ran, plain = learner(None, "warn"), learner(WATCHES, on_drift)
    trace = prequential(ran, ArraySource(X, y), drift=WATCHES, on_drift=on_drift)
    own = prequential(plain, ArraySource(X, y, block_rows=block_rows))
    assert plain.drifts == trace.drifts and len(trace.drifts) > 3
    assert [c.window for c in own.checkpoints] == [c.window for c in trace.checkpoints]
    assert (plain.n_seen, plain.rows_learned) == (ran.n_seen, N)
    assert np.array_equal(plain.scores(X[:50]), ran.scores(X[:50]))
    assert (on_drift == "warn") == (acted(plain) == [])


CASES = [
    (Regression(), "auto", "adwin", lambda X, y: np.where(np.arange(len(y)) < CHANGE, X[:, 0], -X[:, 0])),
    (Multiclass([0, 1, 2]), "ridge", "adwin", lambda X, y: (y + (X[:, 1] > 1)).astype(int)),
    (TASK, "rbp", "ddm", lambda X, y: y),
]


@pytest.mark.parametrize(("task", "spec", "drift", "labels"), CASES, ids=lambda case: getattr(case, "name", ""))
def test_other_tasks_and_learners_do_so_too(task, spec, drift, labels):
    X, y = rows()
    y = labels(X, y)
    ran, own = (learner(*choice, task, spec, scaling="online") for choice in ((None, "warn"), (drift, "forget:200")))
    trace = prequential(ran, ArraySource(X, y), drift=drift, on_drift="forget:200")
    scores = learned(own, X, y, [5, 6, 700])
    assert own.drifts == trace.drifts and "forget" in acted(own) and scores.shape == (N, task.n_outputs)
    assert np.array_equal(own.scores(X[:9]), ran.scores(X[:9]))


def test_a_warning_changes_no_bit():
    X, y = rows()
    plain, warned = learner(None, "warn"), learner(["adwin", "ddm", "kswin:on=1"], "warn")
    assert np.array_equal(plain.learn(X, y), warned.learn(X, y)) and np.array_equal(plain.scores(X), warned.scores(X))
    assert warned.drifts and not acted(warned) and plain.drifts == []


# Calls, copies, files.

CUTS = [1, 2, 31, 32, 33, 95, 1000, 1001, 1216, 1248, 1249, 1280, 1500, 1501]


@pytest.mark.parametrize("on_drift", ACTIONS)
def test_calls_change_nothing(on_drift):
    X, y = rows()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, N)
    found = []
    for cuts in ([], CUTS, range(1, N), range(EVERY, N, EVERY)):
        model = learner(WATCHES, on_drift)
        scores = learned(model, X, y, cuts, weights)
        found.append((scores, model.scores(X), model.drifts, model.n_seen))
    for other in found[1:]:
        assert np.array_equal(found[0][0], other[0]) and np.array_equal(found[0][1], other[1])
        assert found[0][2:] == other[2:] and found[0][2]


def test_what_is_predicted_is_what_is_shown_before_the_row_is_learned():
    X, y = rows()
    model = learner()
    for start in range(0, N, EVERY):
        some = slice(start, start + EVERY)
        told = model.scores(X[some][:1])
        assert np.array_equal(told, model.learn(X[some], y[some])[:1])
    assert acted(model)


THROUGH = {
    "file": lambda model, path: (model.save(path), Learner.load(path))[1],
    "pickle": lambda model, path: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, path: copy.deepcopy(model),
    "snapshot": lambda model, path: model.snapshot(),
}


@pytest.mark.parametrize("way", THROUGH)
@pytest.mark.parametrize("on_drift", ACTIONS)
def test_a_model_goes_on_from_its_file_and_its_copies(way, on_drift, tmp_path):
    X, y = rows()
    options = {"task": Multiclass([0, 1]), "grow_classes": True, "scaling": "online"}
    y[500:600] = 2.0
    through = learner(WATCHES, on_drift, **options)
    resumed = learner(WATCHES, on_drift, **options)
    expected = through.learn(X, y)
    for start in range(0, N, 200):
        some = slice(start, start + 200)
        left = resumed
        resumed = THROUGH[way](resumed, tmp_path / "model.ks")
        found = resumed.learn(X[some], y[some])
        assert np.array_equal(found, expected[some][:, : found.shape[1]])
        if start == 800:
            left.learn(-X, y)  # the one before is apart from it
    assert resumed.drifts == through.drifts and resumed.drifts
    assert np.array_equal(resumed.scores(X), through.scores(X)) and resumed.drift_choice == through.drift_choice


def test_rows_with_names_and_sparse_ones_are_kept_too():
    X, y = rows()
    named = learner(["adwin", "adwin:on=c"], "forget:100", columns=Columns())
    dense = learner(["adwin", "adwin:on=2"], "forget:100")
    sparse = learner(["adwin", "adwin:on=2"], "forget:100")
    table = pd.DataFrame(X, columns=list("abc"))
    named.learn(table[:1201], y[:1201])
    for t in range(1201, 1300):
        named.learn_one(dict(zip("abc", X[t].tolist(), strict=True)), y[t])
    named.learn(table[1300:], y[1300:])
    dense.learn(X, y)
    sparse.learn(csr_array(X), y)
    assert [drift.row for drift in named.drifts] == [drift.row for drift in dense.drifts] and acted(dense)
    assert np.array_equal(named.scores(table[:9]), dense.scores(X[:9]))
    assert sparse.drifts and np.allclose(sparse.scores(csr_array(X[:9])), dense.scores(X[:9]), atol=1e-4)


def test_errors_of_rows_whose_labels_come_late_are_seen_when_they_come():
    X, y = rows()
    late, plain = learner(waiting=50), learner()
    for t in range(N):
        late.predict(X[t], id=t)
        if t >= 40:
            late.label(t - 40, y[t - 40])
    plain.learn(X[: N - 40], y[: N - 40])
    assert late.drifts == plain.drifts and acted(late) and late.rows_learned == N - 40
    shown = learner()
    shown.learn_late(X[:-40], y[:-40], X[40:])
    assert shown.drifts == plain.drifts and np.array_equal(shown.scores(X[:9]), plain.scores(X[:9]))


def test_a_class_that_nobody_knew_is_an_error():
    X, _ = rows(400)
    labels = np.arange(400)
    found = []
    for cuts in ([], range(1, 400)):
        model = learner("page-hinkley:threshold=5", "warn", Multiclass([0, 1]), grow_classes=True)
        for start, stop in pairwise([0, *cuts, 400]):
            model.learn(X[start:stop], labels[start:stop])
        found.append(model.to_parts()[0]["drift"])
    assert found[0] == found[1]
    assert float.fromhex(found[0]["each"][0]["means"]["list"][0]["float"]) >= 398.0  # mistakes


def test_a_model_that_began_anew_keeps_its_width_and_its_classes(tmp_path):
    X, y = rows()
    through, model = learner(), learner()
    through.learn(X, y)
    stop = next(drift.row for drift in through.drifts if drift.did == "restart")
    stop += -stop % EVERY
    model.learn(X[:stop], y[:stop])
    assert (model.n_seen, model.width, model.rows_learned, model.times_begun_anew) == (
        0,
        3,
        stop,
        1,
    ) and model.settled is not None
    assert not model.scores(X[:5]).any()
    model.save(tmp_path / "model.ks")
    again = Learner.load(tmp_path / "model.ks")
    assert (again.n_seen, again.width, again.rows_learned, again.drifts) == (0, 3, stop, model.drifts)
    with pytest.raises(ValueError, match="X has 2 features, but the model is expecting 3"):
        again.learn(X[:1, :2], y[:1])
    model.restart()
    assert (model.rows_learned, model.width, model.drifts, model.drift_choice) == (0, 0, [], ("adwin", "restart"))


# What goes wrong.


def test_where_memory_ends_the_model_stays_and_begins_anew_with_the_next_row(monkeypatch):
    X, y = rows()
    expected, model = learner("adwin", "forget:100"), learner("adwin", "forget:100")
    expected.learn(X, y)
    stop = next(drift.row for drift in expected.drifts if drift.did == "forget")
    stop += -stop % EVERY

    def ended(*_):
        raise MemoryError

    model.learn(X[: stop - 1], y[: stop - 1])
    with monkeypatch.context() as patch:
        patch.setattr("kernelstream.learner.learning.make_room", lambda *_: ended() if _[0]._watching is None else None)
        model.learn(X[stop - 1 : stop], y[stop - 1 : stop])
        with pytest.raises(MemoryError):
            model.learn(X[stop:], y[stop:])
    assert (model.n_seen, model.rows_learned, model.times_begun_anew) == (stop, stop, 0)
    model.learn(X[stop:], y[stop:])
    assert model.drifts == expected.drifts and np.array_equal(model.scores(X), expected.scores(X))


def test_rows_before_one_at_which_a_model_diverges_are_seen():
    X, y = np.ones((500, 2)), np.full(500, 1e15)  # each step overshoots by more
    spec = FOGD(n_components=30, learning_rate=3.0)
    whole, single = (learner("adwin", "warn", Regression(), spec) for _ in range(2))
    with pytest.raises(FloatingPointError, match="no longer finite"):
        whole.learn(X, y)
    with pytest.raises(FloatingPointError, match="no longer finite"):
        for t in range(len(y)):
            single.learn(X[t : t + 1], y[t : t + 1])
    assert 0 < whole.n_seen == single.n_seen == whole.rows_learned < len(y)
    assert whole.to_parts()[0]["drift"] == single.to_parts()[0]["drift"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drift": "adwinn"}, "no detector; did you mean adwin"),
        ({"drift": "adwin", "on_drift": "stop"}, "one of warn, restart, forget"),
        ({"drift": None, "on_drift": "restart"}, "needs a detector; say which"),
        ({"drift": river_drift.ADWIN()}, "names its detectors, as in drift='adwin:delta=0.01'"),
        ({"drift": "ddm", "task": Regression()}, "a regression has none; take adwin"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        learner(**options)


@pytest.mark.parametrize(
    ("on", "message"),
    [(7, "no feature 7 in these rows; they go from 0 to 2"), ("price", "named 'price'; they have none")],
)
def test_a_feature_that_rows_do_not_have_is_refused_before_anything_changes(on, message):
    X, y = rows(100)
    model = learner(Watch("adwin", on=on))
    with pytest.raises(ValueError, match=message):
        model.learn(X, y)
    assert model.rows_learned == model.width == 0
    named = learner("adwin:on=price", columns=Columns())
    with pytest.raises(ValueError, match="named 'price'; they are a"):
        named.learn_one({"a": 1.0}, 1)
    assert named.columns.width == 0
    named.learn_one({"price": 1.0}, 1)


def test_models_that_begin_anew_are_not_merged_and_those_that_warn_are():
    X, y = rows(600)
    acting, warning, plain = learner(), learner("adwin", "warn"), learner(None, "warn")
    for model in (acting, warning, plain):
        model.learn(X[:300], y[:300])
    for one, other in ((acting, plain), (plain, acting)):
        with pytest.raises(ValueError, match=r"begins anew on drift, with on_drift='restart'.*on_drift='warn'"):
            one.merge(other)
    assert plain.distance(acting) == 0.0
    kept = warning.drifts
    warning.merge(plain)
    assert (warning.n_seen, warning.rows_learned, warning.drifts) == (600, 600, kept)
    warning.learn(X[300:], y[300:])
    assert plain.merge(warning).n_seen == 1200


def test_without_river_the_extra_is_named(monkeypatch, tmp_path):
    learner().save(tmp_path / "model.ks")
    monkeypatch.setitem(sys.modules, "river", None)
    for make in (
        learner,
        lambda: Learner.load(tmp_path / "model.ks"),
        lambda: kernelstream.load(tmp_path / "model.ks"),
    ):
        with pytest.raises(MissingExtra, match=r"need river.*'kernelstream\[river\]'"):
            make()
    assert learner(None, "warn").drifts == []


def test_with_another_river_detectors_begin_anew_and_the_model_goes_on(tmp_path, monkeypatch):
    X, y = rows()
    model = learner()
    model.learn(X[:1000], y[:1000])
    model.save(tmp_path / "model.ks")
    monkeypatch.setattr("kernelstream.learner.watching.version", lambda package: "0.1")
    monkeypatch.setattr("kernelstream.learner.drift.version", lambda package: "0.1")
    again = Learner.load(tmp_path / "model.ks")
    assert again.drifts == model.drifts and np.array_equal(again.scores(X), model.scores(X))
    again.learn(X[1000:], y[1000:])
    assert acted(again)


def tampered(drift):
    yield drift | {"on_drift": "stop"}
    yield drift | {"rows": -1}
    yield drift | {"rows": 1e300}
    yield drift | {"given_up": drift["rows"] + 1}
    yield drift | {"times": 0.5}
    yield drift | {"due": 3}
    yield drift | {"waiting": [[0, 1.0]]}
    yield drift | {"found": [{**drift["found"][0], "row": 10**9}]}
    yield drift | {"found": [{**drift["found"][0], "did": "nothing"}]}
    yield drift | {"found": [{**drift["found"][0], "before": "x"}]}
    yield drift | {"each": []}
    yield drift | {"watches": [{"detector": "os", "on": "error", "parameters": {}}]}
    yield drift | {"watches": [{"detector": "adwin", "on": "error", "parameters": {"delta": [1]}}]}
    yield drift | {"watches": []}
    yield {}
    named = json.loads(json.dumps(drift))
    named["each"][0]["detector"]["parts"]["update"] = 1
    yield named
    strange = json.loads(json.dumps(drift))
    strange["each"][0]["detector"]["parts"]["delta"] = "x"
    yield strange


def test_a_file_that_was_tampered_with_is_refused(tmp_path):
    X, y = rows()
    model = learner("adwin", "forget:50")
    model.learn(X, y)
    header, arrays = model.to_parts()
    for wrong in tampered(header["drift"]):
        files.write(tmp_path / "wrong.ks", header | {"drift": wrong}, arrays)
        with pytest.raises(ModelFileError):
            Learner.load(tmp_path / "wrong.ks")
    for name in [name for name in arrays if name.startswith("kept.")]:
        files.write(tmp_path / "wrong.ks", header, arrays | {name: np.repeat(arrays[name], 2)})
        with pytest.raises(ModelFileError):
            Learner.load(tmp_path / "wrong.ks")


# Estimators.


@pytest.mark.parametrize("on_drift", ACTIONS)
def test_estimators_do_as_their_learners(on_drift, tmp_path):
    X, y = rows()
    clf = OnlineKernelClassifier("fogd", n_components=30, drift="adwin", on_drift=on_drift, random_state=0)
    shown = np.concatenate([clf.predict_learn(X[:1300], y[:1300]), clf.predict_learn(X[1300:], y[1300:])])
    spec = FOGD(n_components=30)
    seed = clf.learner_.seed
    plain = Learner(spec, TASK, seed=seed)
    trace = prequential(plain, ArraySource(X, y), drift="adwin", on_drift=on_drift)
    assert clf.drifts_ == trace.drifts and (shown != y).mean() == trace.last.metrics["mistake_rate"]
    assert clf.n_seen_ == plain.n_seen
    clf.save(tmp_path / "model.ks")
    again = kernelstream.load(tmp_path / "model.ks")
    assert again.drifts_ == clf.drifts_ and again.get_params()["drift"] == "adwin"
    assert again.get_params()["on_drift"] == ("forget:1024" if on_drift == "forget" else on_drift)
    assert np.array_equal(again.partial_fit(X, y).decision_function(X), clf.partial_fit(X, y).decision_function(X))


def test_clones_and_fits_keep_the_choice_and_not_what_was_found():
    X, y = rows()
    drift = ["adwin", Watch("kswin", on=1, alpha=0.0001)]
    clf = OnlineKernelClassifier("fogd", drift=drift, on_drift="forget:50", random_state=0).fit(X, y)
    twin = clone(clf)
    assert twin.get_params() == clf.get_params() and not hasattr(twin, "learner_")
    assert twin.fit(X, y).drifts_ == clf.drifts_ == clf.fit(X, y).drifts_ != []
    assert clf.set_params(drift=None, on_drift="warn").fit(X, y).drifts_ == []


def test_weights_of_classes_count_rows_that_a_model_gave_up():
    X, y = rows()
    found = []
    for stops in ([], [1300], range(1, N)):
        clf = OnlineKernelClassifier("fogd", class_weight="balanced", drift="adwin", on_drift="restart", random_state=0)
        for start, stop in pairwise([0, *stops, N]):
            clf.partial_fit(X[start:stop], y[start:stop], classes=[0, 1])
        found.append((clf._class_counts.tolist(), clf.decision_function(X).tolist(), clf.drifts_))
    assert found[0] == found[1] == found[2] and sum(found[0][0]) == N and acted(clf.learner_)


def test_each_of_several_targets_looks_out_for_itself(tmp_path):
    X, _ = rows()
    turned = np.where(np.arange(N) < CHANGE, 1.0, -1.0)
    Y = np.column_stack([X[:, 0] * turned, X[:, 1]])
    reg = OnlineKernelRegressor("ridge", n_components=30, drift="adwin", on_drift="restart", random_state=0).fit(X, Y)
    first, second = reg.drifts_
    assert "restart" in {drift.did for drift in first} and len(second) < len(first)
    reg.save(tmp_path / "model.ks")
    assert kernelstream.load(tmp_path / "model.ks").drifts_ == reg.drifts_


def test_a_share_of_odd_rows_that_rises_is_a_drift():
    X, _ = rows()
    X[CHANGE:, :2] += 4.0
    detector = OnlineKernelOutlier(nu=0.05, drift="adwin", on_drift="restart", random_state=0).fit(X)
    assert [drift.did for drift in detector.drifts_ if drift.row > CHANGE][:1] == ["restart"]
    assert (detector.predict(X[-100:]) == 1).mean() > 0.8 and np.isfinite(detector.offset_)
