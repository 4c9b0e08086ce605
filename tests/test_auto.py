"""Auto: equal to its reference while a metric is searched for; growth, files, merges; what it learns of raw rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from kernelstream import Auto, Binary, Learner, Multiclass, OnlineKernelClassifier, OnlineKernelRegressor, Regression
from kernelstream.engine.state import ModelFileError
from kernelstream.laws import selection
from kernelstream.laws.agreement import snapshot
from kernelstream.laws.cases import reference_loss
from kernelstream.numerics.settling import FIRST, LAST
from kernelstream.reference import auto as reference

SMALL = Auto(size="small")
TASKS = {"binary": Binary([-1, 1]), "multiclass": Multiclass([0, 1, 2]), "regression": Regression()}


def stream(task, n=600, d=5, seed=0):
    """Two features matter, one is heavy-tailed, one constant, one noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1, 10, 1, 0, 1][:d] + [0, 100, 0, 7, 0][:d]
    X[:, 2] = np.sign(X[:, 2]) * np.exp(2 * rng.normal(size=n))
    truth = np.sin(2 * X[:, 0]) * (X[:, 1] - 100) / 10 + 0.1 * rng.normal(size=n)
    if task == "regression":
        return X, 1000 + 5 * truth
    return X, np.where(truth > 0, 1, -1) if task == "binary" else np.digitize(truth, [-0.3, 0.3])


@pytest.mark.parametrize("task", TASKS)
def test_compiled_equals_the_reference_while_a_metric_is_learned(task):
    X, y = stream(task)
    case = next(c for c in selection(SMALL) if c.task == task)
    learner = Learner(SMALL, TASKS[task], seed=3, dtype="float64")
    scores = learner.learn(X, y)
    targets = learner.task.encode(y)
    expected, size, losses = reference.learn(SMALL, reference_loss(case), X, targets, TASKS[task].n_outputs, 3)
    np.testing.assert_allclose(scores, expected, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(learner.losses, losses, rtol=1e-6, atol=1e-7)
    assert learner.size == size


def test_the_metric_shows_which_features_matter():
    X, y = stream("regression", n=2100)
    learner = Learner(SMALL, Regression())
    scores = learner.learn(X, y)
    shares = learner.attributes["feature_importances"]
    assert shares.sum() == pytest.approx(1.0) and shares[3] == 0.0
    assert shares[0] + shares[1] > 0.9
    assert np.mean((scores[1000:, 0] - y[1000:]) ** 2) < 0.15 * y.var()


@pytest.mark.parametrize(
    ("task", "cut"),
    [*(("multiclass", cut) for cut in (3, FIRST, 256, 5000, LAST)), *((task, LAST + 700) for task in TASKS)],
)
def test_learning_goes_on_from_a_file_bit_for_bit(task, cut, tmp_path):
    X, y = stream(task, n=LAST + 1200)
    through, first = (Learner(SMALL, TASKS[task]) for _ in range(2))
    for one in (through, first):
        one.learn(X[:cut], y[:cut])
    first.save(tmp_path / "m.ks")
    resumed = Learner.load(tmp_path / "m.ks")
    assert snapshot(resumed) == snapshot(first)
    assert np.array_equal(resumed.learn(X[cut:], y[cut:]), through.learn(X[cut:], y[cut:]))
    assert snapshot(resumed) == snapshot(through)


def test_cuts_and_threads_change_no_bit_behind_the_last_settling():
    X, y = stream("multiclass", n=LAST + 1200)
    learners = [Learner(SMALL, TASKS["multiclass"], threads=threads) for threads in (1, 2, 1)]
    for learner, height in zip(learners, (len(y), len(y), 97), strict=True):
        for t in range(0, len(y), height):
            learner.learn(X[t : t + height], y[t : t + height])
    assert snapshot(learners[0]) == snapshot(learners[1]) == snapshot(learners[2])


@pytest.mark.parametrize("rows", [40, 700, LAST + 100])
def test_features_and_classes_may_come_later(rows):
    X, y = stream("multiclass", n=rows + 900)
    y = np.where(np.arange(len(y)) < rows, np.minimum(y, 1), y)
    wide = np.hstack([X, np.where(np.arange(len(y))[:, None] < rows, 0.0, X[:, :2])])
    learners = [Learner(SMALL, Binary([0, 1]), grow_classes=True, grow_features=True) for _ in range(2)]
    for learner, height in zip(learners, (len(y), 50), strict=True):
        for given, first, end in ((X, 0, rows), (wide, rows, len(y))):
            for t in range(first, end, height):
                learner.learn(given[t : min(end, t + height)], y[t : min(end, t + height)])
    assert learners[0].task.classes.tolist() == [0, 1, 2]
    assert np.array_equal(learners[0].scores(wide), learners[1].scores(wide))
    shown = learners[0].task.decode(learners[0].scores(wide[rows:]))
    assert np.mean(shown == y[rows:]) > 0.7


def test_many_features_are_folded_into_a_bounded_model():
    rng = np.random.default_rng(0)
    telling = rng.normal(size=400)
    rest = sp.random_array((400, 99_999), density=2e-4, rng=rng, format="csr")
    X, y = sp.hstack([sp.csr_array(telling[:, None]), rest], "csr"), np.sign(telling)
    learner = Learner(SMALL, Binary([-1, 1]))
    scores = learner.learn(X, y)
    assert learner.n_bytes < 10e6
    assert np.mean(np.sign(scores[200:, 0]) == y[200:]) > 0.6


def test_learners_that_still_keep_their_rows_merge_and_others_need_one_map():
    X, y = stream("regression", n=LAST + 900)
    a, b = (Learner(SMALL, Regression()) for _ in range(2))
    a.learn(X[:300], y[:300])
    b.learn(X[300:700], y[300:700])
    one = Learner(SMALL, Regression())
    one.learn(X[:700].astype(np.float32), y[:700])
    assert snapshot(a.merge(b)) == snapshot(one)
    c, d = (Learner(SMALL, Regression(), seed=seed) for seed in (1, 2))
    for learner in (c, d):
        learner.learn(X[:LAST], y[:LAST])
    with pytest.raises(ValueError, match="different first rows"):
        c.merge(d)


def test_shards_that_begin_from_one_file_merge(tmp_path):
    X, y = stream("regression", n=LAST + 2400)
    first = Learner(SMALL, Regression())
    first.learn(X[:LAST], y[:LAST])
    first.save(tmp_path / "first.ks")
    shards = [Learner.load(tmp_path / "first.ks") for _ in range(2)]
    for shard, rows in zip(shards, (slice(LAST, LAST + 1200), slice(LAST + 1200, None)), strict=True):
        shard.learn(X[rows], y[rows])
    probe, truth = stream("regression", n=500, seed=9)
    merged = shards[0].merge(shards[1])
    errors = [np.mean((one.scores(probe)[:, 0] - truth) ** 2) for one in (merged, first)]
    assert merged.n_seen == 2 * LAST + 2400 and errors[0] < 1.05 * errors[1]


def test_weights_count_as_repeated_rows_do():
    """In what is settled and in the ridge; rows of weight 0 tell nothing."""
    X, y = stream("regression", n=600)
    junk = np.random.default_rng(1).normal(size=300) * 1e4
    X, y = np.vstack([X, X[:300]]), np.concatenate([y, junk])
    order = np.random.default_rng(2).permutation(900)
    weights = np.where(order < 600, 1.0, 0.0)
    learner = Learner(SMALL, Regression())
    scores = learner.learn(X[order], y[order], weights)
    real = order < 600
    late = np.arange(900) > 500
    errors = (scores[real & late, 0] - y[order][real & late]) ** 2
    assert np.median(errors) < y[:600].var()


def test_what_a_file_says_is_checked(tmp_path):
    from kernelstream.engine import files

    X, y = stream("binary", n=700)
    learner = Learner(SMALL, TASKS["binary"])
    learner.learn(X, y)
    learner.save(tmp_path / "m.ks")
    header, arrays = files.read(tmp_path / "m.ks")
    for name, value in (("t", 5000), ("t", -1), ("due", [5000, 5000]), ("sums.n_waiting", 513), ("pick", 64)):
        changed = dict(arrays)
        like = arrays[f"model.{name}"]
        changed[f"model.{name}"] = np.broadcast_to(np.array(value, like.dtype), like.shape).copy()
        files.write(tmp_path / "bad.ks", header, changed)
        with pytest.raises(ModelFileError):
            Learner.load(tmp_path / "bad.ks")


# What people type first.


def test_raw_data_and_no_parameter():
    for X, y, most in ((*load_breast_cancer(return_X_y=True), 0.07), (*load_digits(return_X_y=True), 0.09)):
        order = np.random.default_rng(0).permutation(len(y))
        classifier = OnlineKernelClassifier(random_state=0)
        shown = classifier.predict_learn(X[order], y[order], classes=np.unique(y))
        assert np.mean(shown != y[order]) < most
        chances = classifier.predict_proba(X)
        assert np.allclose(chances.sum(axis=1), 1.0) and (chances > 0).all()
        assert classifier.feature_importances_.shape == (X.shape[1],)
    X, y = load_diabetes(return_X_y=True)
    regressor = OnlineKernelRegressor(random_state=0)
    shown = regressor.predict_learn(X, y + 10_000)
    assert np.mean((shown[1:] - y[1:] - 10_000) ** 2) < 0.65 * y.var()


@pytest.mark.parametrize("name", ["breast-cancer", "digits"])
def test_probabilities_are_calibrated(name):
    X, y = (load_breast_cancer if name == "breast-cancer" else load_digits)(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))
    X, y, half = X[order], y[order], len(y) // 2
    classifier = OnlineKernelClassifier(random_state=0).fit(X[:half], y[:half])
    chances = classifier.predict_proba(X[half:])
    loss = -np.log(chances[np.arange(len(chances)), np.searchsorted(classifier.classes_, y[half:])]).mean()
    share = np.bincount(y[:half]) / half
    assert loss < 0.35 * -(share * np.log(share)).sum()
