"""Model files: exact, atomic, and harmless whatever is in them."""

import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

import kernelstream
from kernelstream import FOGD, NOGD, Binary, Learner, Multiclass, OnlineKernelClassifier, Regression, make
from kernelstream.engine.state import ModelFileError, leaves
from kernelstream.kernels import Gaussian, Matern
from kernelstream.laws.agreement import snapshot
from kernelstream.schedules import InverseSqrt
from kernelstream.sources import FixedScaling

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(0)) / X.std(0)


@pytest.fixture
def learner():
    made = Learner(NOGD(kernel=Gaussian(gamma=0.05), budget=50), Binary([0, 1]), seed=3)
    made.learn(X[:300], Y[:300])
    return made


@pytest.fixture
def model(learner, tmp_path):
    path = tmp_path / "model.ks"
    learner.save(path)
    return path


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(path, contents, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


def array_bytes(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


@pytest.mark.parametrize("name", kernelstream.ALGORITHMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_resuming_from_a_file_is_exact_bit_for_bit(name, dtype, task, tmp_path):
    data = {"binary": load_breast_cancer, "multiclass": load_digits, "regression": load_diabetes}[task]
    rows, labels = data(return_X_y=True)
    rows, labels = (rows / rows.std())[:420], labels[:420]
    if task not in kernelstream.ALGORITHMS[name].tasks:
        pytest.skip(f"{name} does not do {task}")
    kinds = {"binary": Binary([0, 1]), "multiclass": Multiclass(range(10)), "regression": Regression()}
    through = Learner(name, kinds[task], seed=1, dtype=dtype)
    through.learn(rows[:200], labels[:200])
    through.save(tmp_path / "half.ks")
    resumed = Learner.load(tmp_path / "half.ks")
    assert resumed.settled == through.settled
    a, b = through.learn(rows[200:], labels[200:]), resumed.learn(rows[200:], labels[200:])
    assert np.array_equal(a, b)
    mine, theirs = leaves(through._state), leaves(resumed._state)
    assert all(np.array_equal(mine[k], theirs[k]) for k in mine)
    assert resumed.n_seen == through.n_seen == len(labels)


def test_every_part_of_a_spec_survives(tmp_path):
    spec = FOGD(
        kernel=Matern(nu=2.5, gamma=0.3),
        loss=kernelstream.losses.SmoothHinge(tau=0.25),
        learning_rate=InverseSqrt(0.7),
        regularization=1e-4,
        threshold=0.01,
        n_components=30,
        normalize=False,
    )
    scaling = FixedScaling("standard", np.zeros(X.shape[1]), np.full(X.shape[1], 2.0))
    made = Learner(spec, Binary(["no", "yes"]), seed=9, dtype="float64", grow_features=True, scaling=scaling)
    made.learn(X, np.array(["no", "yes"])[Y])
    made.save(tmp_path / "m.ks")
    back = Learner.load(tmp_path / "m.ks")
    assert back.algorithm == spec
    assert (back.seed, back.dtype, back.grow_features) == (9, "float64", True)
    assert back.predict(X).tolist() == made.predict(X).tolist()
    estimator = kernelstream.load(tmp_path / "m.ks")
    assert isinstance(estimator, OnlineKernelClassifier)
    assert estimator.predict(X).tolist() == made.predict(X).tolist()


def test_an_unlearned_learner_can_be_saved(tmp_path):
    Learner("fogd", Regression()).save(tmp_path / "empty.ks")
    assert (Learner.load(tmp_path / "empty.ks").predict(X) == 0).all()


LABELS = {
    "times": np.array(["2020-01-01", "2021-01-01"], "datetime64[D]"),
    "moments": np.array(["2020-01-01T12", "2021-01-01T12"], "datetime64[ns]"),
    "durations": np.array([1, 5], "timedelta64[s]"),
    "bytes": np.array([b"a", b"\xff\x01"]),
    "objects": np.array([2**70, 3.5], object),
    "truth values as objects": np.array([np.bool_(True), False], object),
    "half": np.array([0.5, 1.5], np.float16),
    "unsigned": np.array([0, 2**64 - 1], np.uint64),
    "words of any length": np.array(["no", "yes"], np.dtypes.StringDType()),
}


@pytest.mark.parametrize("what", LABELS)
def test_labels_of_every_kind_that_is_learned_are_saved(what, tmp_path):
    X, classes = np.random.default_rng(0).normal(size=(20, 2)), LABELS[what]
    made = Learner("rbp", Binary(classes))
    made.learn(X, np.resize(classes, 20))
    made.save(tmp_path / "m.ks")
    back = Learner.load(tmp_path / "m.ks")
    assert back.task.classes.dtype == made.task.classes.dtype
    assert back.task.classes.tolist() == made.task.classes.tolist()
    for one in (made, back):
        one.learn(X, np.resize(classes, 20)[::-1])
    assert np.array_equal(back.predict(X), made.predict(X))


@pytest.mark.parametrize("labels", [[date(2020, 1, 1), date(2021, 1, 1)], [Decimal(1), Decimal(2)], [1j, 2j],
                                    np.array([1, 2], np.longdouble), np.array(["2020", "NaT"], "datetime64[D]")],
                         ids=["dates", "decimals", "complex", "long", "no time"])  # fmt: skip
def test_labels_that_no_file_could_hold_are_refused_before_a_row_is_learned(labels):
    growing = Learner("rbp", Multiclass([0, 1]), grow_classes=True)
    with pytest.raises(ValueError, match=r"cannot hold: give|Complex data|NaT|are numbers"):
        growing.learn(np.ones((2, 2)), labels)
    assert growing.n_seen == 0
    with pytest.raises(ValueError, match=r"cannot hold: give|Complex data|NaT|Unknown label type"):
        OnlineKernelClassifier("rbp").partial_fit(np.ones((2, 2)), labels)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.ks"):
        kernelstream.load(tmp_path / "nowhere.ks")


def test_every_truncation_is_refused(model):
    whole = model.read_bytes()
    for length in [*range(0, 200, 20), *np.linspace(200, len(whole) - 1, 40).astype(int).tolist()]:
        model.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"model\.ks"):
            Learner.load(model)


@settings(max_examples=60)
@given(st.data())
def test_a_flipped_bit_is_refused_or_changes_nothing(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("flip") / "model.ks"
    made = Learner(FOGD(n_components=5, kernel=Gaussian(gamma=0.1)), Binary([0, 1]))
    made.learn(X[:50], Y[:50])
    made.save(path)
    raw = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, len(raw) - 1))
    raw[position] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(bytes(raw))
    try:
        back = Learner.load(path)
    except ModelFileError:
        return
    assert np.array_equal(back.scores(X), made.scores(X))  # a byte that carries nothing, such as a time stamp


@pytest.mark.parametrize(
    "content", [b"", b"not a zip", b"\x80\x04\x95pickle", os.urandom(2000), b"PK\x03\x04" + b"\0" * 50]
)
def test_a_foreign_file_is_refused(tmp_path, content):
    (tmp_path / "x.ks").write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged or not a kernelstream model"):
        Learner.load(tmp_path / "x.ks")


def test_an_npz_file_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.zeros(3))
    with pytest.raises(ModelFileError, match="not a kernelstream model"):
        Learner.load(tmp_path / "x.npz")


class Bomb:
    def __reduce__(self):
        return os.system, ("touch exploded",)


def hostile(contents, case):
    header = json.loads(contents["model.json"])
    if case == "pickled array":
        contents["model.weights.npy"] = array_bytes(np.array([Bomb()], dtype=object))
    elif case == "more points than there is room for":
        contents["model.map.f.size.npy"] = array_bytes(np.array(10**9))
    elif case == "negative size":
        contents["model.map.f.size.npy"] = array_bytes(np.array(-1))
    elif case == "a smaller dictionary than the budget":
        contents["model.map.f.points.npy"] = array_bytes(np.zeros((30, 2), np.float32))
    elif case == "wrong dtype":
        contents["model.weights.npy"] = array_bytes(np.zeros((1, 10)))
    elif case == "NaN weights":
        contents["model.weights.npy"] = array_bytes(np.full((1, 10), np.nan, np.float32))
    elif case == "missing array":
        del contents["model.weights.npy"]
    elif case == "extra array":
        contents["more.npy"] = array_bytes(np.zeros(3))
    elif case == "unknown class":
        header["algorithm"]["type"] = "os.system"
    elif case == "unknown parameter":
        header["algorithm"]["cmd"] = "rm -rf"
    elif case == "a kernel where the algorithm belongs":
        header["algorithm"] = {"type": "Gaussian", "gamma": 1.0}
        header["settled"] = header["algorithm"]
    elif case == "a width beyond the arrays":
        header["width"] = 10**12
    elif case == "a text for a number":
        header["n_seen"] = "many"
    elif case == "deep nesting":
        contents["model.json"] = b"[" * 100_000
        return contents
    elif case == "another version":
        header["version"] = 99
    elif case == "array with a lying header":
        good = contents["model.weights.npy"]
        contents["model.weights.npy"] = good.replace(b"(1, 10)", b"(9, 10)")
    contents["model.json"] = json.dumps(header).encode()
    return contents


@pytest.mark.parametrize(
    "case",
    [
        "pickled array", "more points than there is room for", "negative size", "a smaller dictionary than the budget",
        "wrong dtype", "NaN weights", "missing array", "extra array", "unknown class", "unknown parameter",
        "a kernel where the algorithm belongs", "a width beyond the arrays", "a text for a number", "deep nesting",
        "another version", "array with a lying header",
    ],
)  # fmt: skip
def test_a_hostile_file_is_refused_and_runs_nothing(model, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    written(model, hostile(members(model), case))
    with pytest.raises(ModelFileError):
        Learner.load(model)
    assert not (tmp_path / "exploded").exists()


def test_a_compressed_archive_is_refused_so_that_none_can_unfold(model):
    contents = members(model)
    contents["model.weights.npy"] = array_bytes(np.zeros((1, 10_000_000), np.float32))
    written(model, contents, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="not a kernelstream model"):
        Learner.load(model)


def test_writing_leaves_no_other_file_and_replaces_the_old_one(learner, model):
    learner.learn(X[300:], Y[300:])
    learner.save(model)
    assert [p.name for p in model.parent.iterdir()] == ["model.ks"]
    assert Learner.load(model).n_seen == len(Y)


def test_a_failure_while_writing_leaves_the_old_file(learner, model, monkeypatch):
    before = model.read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        learner.save(model)
    assert model.read_bytes() == before
    assert [p.name for p in model.parent.iterdir()] == ["model.ks"]


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is for POSIX systems")
def test_a_kill_while_writing_leaves_a_whole_file(learner, model):
    script = f"""
import numpy as np
from kernelstream import Learner
learner = Learner.load({str(model)!r})
print("ready", flush=True)
while True:
    learner.save({str(model)!r})
"""
    for delay in (0.01, 0.05, 0.11):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        assert process.stdout.readline().strip() == b"ready"
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert Learner.load(model).n_seen >= 300


# From two classes to three.


@pytest.mark.parametrize("name", ["budget-perceptron", "bsgd-r", "bpa-s", "bpa-nn"])
def test_what_follows_from_the_coefficients_follows_them_when_outputs_are_split(name):
    one = Learner(make(name, kernel=Gaussian(gamma=0.3), budget=30), Binary([0, 1]), dtype="float64")
    one.learn(X, Y)
    shape = one._runner.shape._replace(n_outputs=2)
    halves = one.spec.split(one._state, shape)
    anew = one.spec.merge(one._runner.record, one.spec.init(shape), halves, 1.0)
    kept, expected = leaves(halves), leaves(anew)
    followers = {"budget-perceptron": ("inner", "inverse", "itself", "at_points"), "bsgd-r": ("ranks",)}
    for part in followers.get(name, ("sizes",)):
        n = int(halves.f.size)
        np.testing.assert_allclose(kept[part][..., :n], expected[part][..., :n], rtol=1e-9, atol=1e-9)
        assert kept[part][..., :n].any()


@pytest.mark.parametrize("name", ["fogd", "ogd"])
@pytest.mark.parametrize("third", [1, 2, 7, 100, 256, 300])
def test_a_third_class_inside_the_opening_gives_one_result_however_the_stream_is_cut(name, third):
    rows, labels = X[:320], np.where(np.arange(320) < third, Y[:320], (Y[:320] + np.arange(320)) % 3)
    learners = [Learner(name, Binary([0, 1]), grow_classes=True) for _ in range(3)]
    for learner, height in zip(learners, (1, 13, 320), strict=True):
        shown = [learner.learn(rows[t : t + height], labels[t : t + height]) for t in range(0, 320, height)]
        assert learner.task.name == "multiclass" and shown[-1].shape[1] == 3
    first, *others = (learner.scores(rows) for learner in learners)
    for other in others:
        assert np.array_equal(other, first)


def test_a_class_is_shown_only_after_it_came():
    """Rows before it, and the row that brings it, score -inf for it; labels follow the classes known."""
    learner = Learner(FOGD(kernel=Gaussian(gamma=0.3)), Binary([0, 1]), grow_classes=True)
    labels = np.where(np.arange(60) < 40, Y[:60], 2)
    scores = learner.learn(X[:60], labels)
    assert np.isneginf(scores[:41, 2]).all() and np.isfinite(scores[41:]).all()
    alone = Learner(FOGD(kernel=Gaussian(gamma=0.3)), Binary([0, 1]))
    assert np.array_equal(scores[:40, 1] - scores[:40, 0], alone.learn(X[:40], labels[:40])[:, 0])
    assert set(learner.task.decode(scores[:41])) <= {0, 1}
    assert learner.losses.shape == (60,)


SORTS = [([1, 2], "x"), ([0.5, 2.0], "x"), (["a", "b"], 1), ([False, True], "x"), ([False, True], 2), ([1, 2], False)]


@pytest.mark.parametrize(("classes", "other"), SORTS, ids=str)
@pytest.mark.parametrize("task", [Binary, Multiclass])
def test_a_label_of_another_sort_is_refused_before_anything_changes(classes, other, task, tmp_path):
    """NumPy would make text of all of them, and none of the known ones would be known."""
    learner = Learner(FOGD(kernel=Gaussian(gamma=0.3)), task(classes), grow_classes=True)
    learner.learn(X[:2], classes)
    before = snapshot(learner)
    mixed = [*classes, other]
    for learn in (
        lambda: learner.learn_one(X[0], other),
        lambda: learner.learn(X[:3], mixed),
        lambda: learner.learn(X[:3], np.array(mixed, object)),
        lambda: learner.announce([other]),
    ):
        with pytest.raises(ValueError, match=r"Row [02]: the label .* all numbers, all truth values or all words"):
            learn()
    assert snapshot(learner) == before
    learner.learn(X[:2], classes[::-1])
    learner.save(tmp_path / "m.ks")
    again = Learner.load(tmp_path / "m.ks")
    assert {type(label) for label in again.predict(X).tolist()} == {type(classes[0])}
    with pytest.raises(ValueError, match="all numbers, all truth values or all words"):
        task(["a", 1])


def test_numbers_of_any_type_are_of_one_sort():
    learner = Learner(FOGD(kernel=Gaussian(gamma=0.3)), Multiclass([1, 2]), grow_classes=True)
    learner.learn(X[:5], [np.int8(1), 2, 3.5, np.float32(2.0), 3])
    assert learner.task.classes.tolist() == [1, 2, 3.5, 3]


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_label_that_is_missing_is_refused(missing):
    learner = Learner(FOGD(kernel=Gaussian(gamma=0.3)), Multiclass(["a", "b"]), grow_classes=True)
    for labels in (["a", missing], [missing]):
        with pytest.raises(ValueError, match=r"label (is None|nan)"):
            learner.learn(X[: len(labels)], labels)
    assert learner.n_seen == 0


@pytest.mark.parametrize("name", ["budget-perceptron", "rbp", "forgetron", "projectron", "bsgd-m"])
def test_a_step_too_short_for_a_number_is_resumed_too(name, tmp_path):
    """A row that weighs next to nothing moves a float32 by 0: its point is there, and has no length."""
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(60, 3)), np.sign(rng.normal(size=60)), np.where(np.arange(60) % 2, 1e-300, 1.0)
    learner = Learner(make(name, budget=8), Binary([-1, 1]))
    learner.learn(X[:30], y[:30], sample_weight=weights[:30])
    learner.save(tmp_path / "m.ks")
    resumed = Learner.load(tmp_path / "m.ks")
    for one in (learner, resumed):
        one.learn(X[30:], y[30:], sample_weight=weights[30:])
    scores = learner.scores(X)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(resumed.scores(X), scores)
    with learner.reading() as (_, state):
        assert all(np.isfinite(leaf).all() for leaf in leaves(state).values() if leaf.dtype.kind == "f")
