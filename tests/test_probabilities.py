"""Probabilities of learners whose scores are margins: true to what comes, causal, part of the model."""

import pickle
import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import VotingClassifier
from sklearn.metrics import log_loss

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
from kernelstream.engine import files
from kernelstream.engine.calibration import EVERY, FIRST, Calibration, counted
from kernelstream.engine.state import ModelFileError
from kernelstream.kernels import Gaussian
from kernelstream.numerics.margins import FLATTEST, STEEPEST


def chancy(n=12_000, seed=0):
    """Rows, labels, and the chances that the labels were drawn with."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    p = 1 / (1 + np.exp(-6 * X[:, 0] * X[:, 1] - 1))
    return X, (rng.uniform(size=n) < p).astype(int), p


def reliability(p, y, bins=10):
    """How far, on average, the share of a class is from what was said, over rows of which the same was said."""
    place = np.minimum((p * bins).astype(int), bins - 1)
    found = [
        (p[place == b].mean(), y[place == b].mean(), (place == b).mean()) for b in range(bins) if (place == b).any()
    ]
    return sum(share * abs(said - came) for said, came, share in found)


def foreseen(name, X, y, first=4000, block=50):
    """The chances that are said of each row after the first ones, before its block is learned."""
    clf, said = OnlineKernelClassifier(name, random_state=0).fit(X[:first], y[:first]), []
    for start in range(first, len(X), block):
        rows = slice(start, start + block)
        said.append(clf.predict_proba(X[rows]))
        assert np.array_equal(clf.classes_[said[-1].argmax(axis=1)], clf.predict(X[rows]))
        clf.partial_fit(X[rows], y[rows])
    return np.concatenate(said)


# auto has its own; of the others, one whose margins stop at 1, one that is passive beyond 1, and one whose scores grow.
@pytest.mark.parametrize(("name", "off", "least"), [("auto", 0.03, 0.9), ("fogd", 0.04, 0.7), ("pa-1", 0.05, 0.3)])
def test_what_is_said_comes_as_often_as_was_said(name, off, least):
    X, y, p = chancy()
    said, came, true = foreseen(name, X, y), y[4000:], p[4000:]
    assert np.allclose(said.sum(axis=1), 1.0) and (said >= 0).all()
    assert reliability(said[:, 1], came) < off
    none, best = (log_loss(came, chances) for chances in (np.full(len(came), y[:4000].mean()), true))
    assert (none - log_loss(came, said)) / (none - best) > least, "of what is to be known beyond the classes' shares"


def test_several_classes():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(12_000, 2))
    p = np.exp(4 * np.column_stack([X[:, 0], -X[:, 0], np.abs(X[:, 1])]))
    p /= p.sum(axis=1, keepdims=True)
    y = (rng.uniform(size=(12_000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    said = foreseen("fogd", X, y)
    for k in range(3):
        assert reliability(said[:, k], y[4000:] == k) < 0.04


def test_soft_voting_takes_margin_learners_and_others():
    X, y = load_breast_cancer(return_X_y=True)
    parts = [
        (name, OnlineKernelClassifier(name, scaling="standard", random_state=0)) for name in ("fogd", "rbp", "ridge")
    ]
    vote = VotingClassifier(parts, voting="soft").fit(X[:400], y[:400])
    each = [part.predict_proba(X[400:]) for part in vote.estimators_]
    assert np.allclose(vote.predict_proba(X[400:]), np.mean(each, axis=0))
    assert vote.score(X[400:], y[400:]) > 0.93


# Part of the model.


def same_link(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a._calibration.link, b._calibration.link, strict=True))


def test_the_link_depends_neither_on_the_cut_nor_on_a_file_between(tmp_path):
    X, y, _ = chancy(3000)
    whole = Learner("fogd", Binary([0, 1]))
    whole.learn(X, y)
    for sizes in ([1000, 24, 1, 999, 976], [2000] + [1] * 40 + [960]):
        cut, start = Learner("fogd", Binary([0, 1])), 0
        for size in sizes:
            cut.learn(X[start : start + size], y[start : start + size])
            start += size
            if size > 1:
                cut.save(tmp_path / "cut.ks")
                cut = Learner.load(tmp_path / "cut.ks")
        assert same_link(cut, whole)
    copy = pickle.loads(pickle.dumps(whole))
    copy.learn(X, y)
    whole.learn(X, y)
    assert same_link(copy, whole)
    assert np.array_equal(copy.probabilities(X), whole.probabilities(X))


def test_the_link_learns_from_scores_that_were_shown_before_their_rows_were_learned():
    X, y, _ = chancy(3000)
    learner, by_hand = Learner("fogd", Binary([0, 1])), Calibration.of(2)
    shown = learner.learn(X, y)
    rows = np.flatnonzero(counted(0, 3000))
    assert np.array_equal(rows[:FIRST], np.arange(FIRST)) and len(rows) == pytest.approx(FIRST + 1976 / EVERY, abs=2)
    for t in rows:
        by_hand.learn(shown[t : t + 1], 2.0 * y[t : t + 1] - 1, np.ones(1), t)
    assert all(np.array_equal(a, b) for a, b in zip(by_hand.link, learner._calibration.link, strict=True))
    learner.scores(X)
    learner.probabilities(X)
    assert all(np.array_equal(a, b) for a, b in zip(by_hand.link, learner._calibration.link, strict=True))


def test_rows_that_count_are_scattered_over_every_period():
    rows = np.flatnonzero(counted(0, 100_000))
    for period in (2, 3, 4, 7, 8, 24, 60, 100, 1000):
        shares = np.bincount(rows[rows >= FIRST] % period, minlength=period) * period * EVERY / (100_000 - FIRST)
        assert (np.abs(shares - 1.0) < 0.3).all(), period


def test_a_third_class_gets_its_chances_too():
    X, y, _ = chancy(2000)
    learner = Learner("fogd", Binary(["a", "b"]), grow_classes=True)
    learner.learn(X, np.array(["a", "b"])[y])
    two = learner._calibration.link.slopes
    learner.learn(X[:1], ["c"])
    assert learner.probabilities(X).shape == (2000, 3)
    assert np.allclose(learner._calibration.link.slopes[0, :2], two[0], atol=0.05)
    learner.learn(X[:500], np.full(500, "c"))
    assert learner.probabilities(X)[:, 2].mean() > 0.6


def test_merged_models_have_chances():
    X, y, _ = chancy()
    halves = [Learner(FOGD(kernel=Gaussian(gamma=2.0)), Binary([0, 1])) for _ in "ab"]
    for half, part in zip(halves, (slice(0, 4000), slice(4000, 8000)), strict=True):
        half.learn(X[part], y[part])
    before = halves[1]._calibration.copy()
    merged = halves[0].merge(halves[1])
    assert reliability(merged.probabilities(X[8000:])[:, 1], y[8000:]) < 0.06
    assert all(np.array_equal(a, b) for a, b in zip(before.link, halves[1]._calibration.link, strict=True))


def test_few_rows_do_not_make_sure():
    X, y, _ = chancy(20)
    learner, most = Learner("fogd", Binary([0, 1])), []
    for t in range(20):
        learner.learn(X[t : t + 1], y[t : t + 1])
        most.append(learner.probabilities(100.0 * X).max())
    assert all(chance <= 1.0 / (1.0 + np.exp(-2.0 - t)) + 1e-9 for t, chance in enumerate(most))


@pytest.mark.parametrize("scores", [0.0, 1e-20, 1e12])
@pytest.mark.parametrize("right", ["always", "never", "half"])
def test_the_link_is_bounded_whatever_comes(scores, right):
    link, n = Calibration.of(2), 5000
    signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    targets = {"always": signs, "never": -signs, "half": np.where(np.arange(n) % 4 < 2, 1.0, -1.0)}[right]
    link.learn(scores * signs[:, None], targets, np.full(n, 3.0), 0)
    assert (link.link.slopes[0] >= FLATTEST).all() and (link.link.slopes[0] <= STEEPEST).all()
    said = link.chances(np.array([[scores], [-scores], [-1e30], [1e30]]))
    assert np.isfinite(said).all() and np.allclose(said.sum(axis=1), 1.0)
    if scores > 0 and right == "half":
        assert np.allclose(said[:2], 0.5, atol=0.06)
    if scores > 0 and right == "always":
        assert said[0, 1] > 0.95 and said[1, 0] > 0.95


def test_a_link_that_no_run_could_have_left_is_refused(tmp_path):
    X, y, _ = chancy(300)
    learner = Learner("fogd", Multiclass([0, 1, 2]))
    learner.learn(X, y)
    learner.save(tmp_path / "m.ks")
    header, arrays = files.read(tmp_path / "m.ks")
    steep, unknown, few = np.full((2, 3), 99.0), np.full((2, 3), np.nan), np.ones((2, 2))
    for name, bad in (("slopes", -steep), ("slopes", steep), ("slopes", unknown), ("slopes", few), ("spread", [1.0])):
        files.write(tmp_path / "bad.ks", header, {**arrays, f"link.{name}": np.array(bad)})
        with pytest.raises(ModelFileError, match="link from scores to chances"):
            Learner.load(tmp_path / "bad.ks")
    files.write(tmp_path / "bad.ks", header, {name: array for name, array in arrays.items() if "link" not in name})
    with pytest.raises(ModelFileError):
        Learner.load(tmp_path / "bad.ks")


def test_a_regression_says_why_it_has_none():
    with pytest.raises(ValueError, match=r"regression has no classes.*Intervals.*Binary"):
        Learner("fogd", Regression()).probabilities(np.ones((1, 2)))


@pytest.mark.parametrize(("kind", "name"), [(OnlineKernelRegressor, "fogd"), (OnlineKernelOutlier, "density")])
def test_an_estimator_without_probabilities_says_why_as_its_learner_does(kind, name):
    X, y, _ = chancy(100)
    unfitted, fitted = kind(name), kind(name).fit(X, y)
    with pytest.raises(ValueError) as said:
        fitted.learner_.probabilities(X)
    for model in (unfitted, fitted):
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match=re.escape(str(said.value))):
            model.predict_proba(X)
