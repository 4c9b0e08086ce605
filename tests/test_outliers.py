"""NORMA with general losses, novelty detection, and the estimator that finds outliers by it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDOneClassSVM
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

import kernelstream
from kernelstream import (
    NORMA,
    OGD,
    Binary,
    Density,
    Learner,
    Multiclass,
    OnlineKernelClassifier,
    OnlineKernelOutlier,
    Regression,
)
from kernelstream.kernels import Gaussian
from kernelstream.laws.agreement import ROUNDING, snapshot
from kernelstream.laws.examples import TASKS, stream
from kernelstream.reference.kernels import matrix
from kernelstream.sources.datasets import open_dataset
from kernelstream.tasks import BINARY, MULTICLASS, REGRESSION

GAUSSIAN = Gaussian(gamma=0.3)


# General losses.


@pytest.mark.parametrize(
    ("task", "loss"), [(BINARY, "logistic"), (MULTICLASS, "softmax"), (REGRESSION, "squared"), (BINARY, "hinge")]
)
def test_with_a_loss_and_no_budget_it_is_regularised_gradient_descent(task, loss):
    X, y = stream(task)
    shared = {"kernel": GAUSSIAN, "loss": loss, "learning_rate": 0.3, "regularization": 0.05}
    ours, plain = (Learner(kind(**shared), TASKS[task](), dtype="float64") for kind in (NORMA, OGD))
    np.testing.assert_allclose(ours.learn(X, y), plain.learn(X, y), rtol=0.0, atol=ROUNDING["float64"])
    np.testing.assert_allclose(ours.losses, plain.losses, rtol=0.0, atol=ROUNDING["float64"])
    assert ours.size == plain.size


def test_a_budget_keeps_the_newest_terms_with_any_loss():
    X, y = stream(BINARY)
    learner = Learner(NORMA(kernel=GAUSSIAN, loss="logistic", budget=20), Binary([-1, 1]), dtype="float64")
    learner.learn(X, y)
    held = {tuple(point) for point in learner.attributes["points"]}
    assert held == {tuple(x) for x in X[-20:]}  # the logistic loss has a slope everywhere
    assert learner.link is None  # the loss says what its scores stand for


def test_the_border_is_shown_where_one_tunes_itself():
    X, y = stream(BINARY)
    margin, tube, general = (
        Learner(spec, task, dtype="float64")
        for spec, task in (
            (NORMA(kernel=GAUSSIAN), Binary([-1, 1])),
            (NORMA(kernel=GAUSSIAN), Regression()),
            (NORMA(kernel=GAUSSIAN, loss="squared"), Regression()),
        )
    )
    for learner in (margin, tube, general):
        learner.learn(X, y)
    assert margin.attributes["rho"] == 1.0 - float(margin._state.raised) and margin.settled.loss == "margin"
    assert tube.attributes["epsilon"] == 0.1 + float(tube._state.raised) and tube.settled.loss == "tube"
    assert not {"rho", "epsilon"} & set(general.attributes)


@pytest.mark.parametrize("loss", ["novelty", "margin"])
def test_a_loss_of_classes_is_refused_for_a_regression(loss):
    with pytest.raises(ValueError, match="is not a loss for regression"):
        Learner(NORMA(loss=loss), Regression())


def test_novelty_is_of_two_classes():
    with pytest.raises(ValueError, match="Novelty is not a loss for multiclass"):
        Learner(NORMA(loss="novelty"), Multiclass([0, 1, 2]))


# Novelty.


def test_labels_play_no_role():
    X, y = stream(BINARY)
    with_labels, without = (Learner(NORMA(kernel=GAUSSIAN, loss="novelty", nu=0.2), Binary([-1, 1])) for _ in range(2))
    assert np.array_equal(with_labels.learn(X, y), without.learn(X, np.ones(len(y))))
    assert snapshot(with_labels) == snapshot(without)


def test_what_is_shown_is_f_above_the_border():
    X, y = stream(BINARY)
    learner = Learner(NORMA(kernel=GAUSSIAN, loss="novelty", nu=0.2, budget=30), Binary([-1, 1]), dtype="float64")
    learner.learn(X, y)
    shown = learner.attributes
    f = matrix(GAUSSIAN, X, shown["points"]) @ shown["coef"]
    np.testing.assert_allclose(learner.scores(X), f - shown["rho"], rtol=1e-9, atol=1e-12)
    assert (shown["coef"] > 0).all() and (learner.predict(X) == np.where(f[:, 0] >= shown["rho"], 1, -1)).all()


@pytest.mark.parametrize("rate", [0.01, 1.0, 50.0])
def test_only_the_product_of_step_and_regularization_counts(rate):
    """f and rho are in units of the step."""
    X, y = stream(BINARY)
    one, other = (
        Learner(NORMA(kernel=GAUSSIAN, loss="novelty", learning_rate=eta, regularization=0.01 / eta), Binary([-1, 1]))
        for eta in (1.0, rate)
    )
    np.testing.assert_allclose(other.learn(X, y), rate * one.learn(X, y), rtol=1e-4, atol=1e-4 * rate)


# The estimator.


@pytest.fixture(scope="module")
def shuttle(data_directory):
    """Rows of class 1 and, one to twenty of them, of the others; standardised, in a random order."""
    blocks = list(open_dataset("shuttle", "train+test"))
    X, y = sp.vstack([rows for rows, _ in blocks]).toarray(), np.concatenate([y for _, y in blocks])
    draws = np.random.default_rng(0)
    usual, others = np.flatnonzero(y == 1), np.flatnonzero(y != 1)
    order = draws.permutation(np.concatenate([usual, draws.choice(others, len(usual) // 20, replace=False)]))
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[order]
    return X, np.where(y[order] == 1, 1, -1)


@pytest.mark.parametrize("nu", [0.02, 0.1, 0.3])
def test_a_share_nu_of_the_rows_is_below_the_border(shuttle, nu):
    X, _ = shuttle
    shown = OnlineKernelOutlier(nu=nu).predict_learn(X)
    assert (shown[len(X) // 2 :] < 0).mean() == pytest.approx(nu, rel=0.05)


def test_outliers_of_shuttle_are_found_as_well_as_by_batch_learners(shuttle):
    """On the second half of the rows; scikit-learn's one-class SVM, with the same nu and kernel, and maps of 300."""
    X, y = shuttle
    half, gamma = len(X) // 2, 1.0 / (X.shape[1] * X.var())
    detector = OnlineKernelOutlier(nu=0.1, gamma=gamma).fit(X[:half])
    ours = roc_auc_score(y[half:], detector.decision_function(X[half:]))
    theirs = {
        kind.__name__: roc_auc_score(
            y[half:],
            make_pipeline(kind(gamma=gamma, n_components=300, random_state=0), SGDOneClassSVM(nu=0.1, random_state=0))
            .fit(X[:half])
            .decision_function(X[half:]),
        )
        for kind in (RBFSampler, Nystroem)
    }
    assert ours > 0.82 and ours > theirs["RBFSampler"] and ours > theirs["Nystroem"] - 0.03, (ours, theirs)


def test_cutting_the_stream_changes_nothing_and_each_row_is_judged_before_it_is_learned(shuttle):
    X = shuttle[0][:600]
    whole, cut = (OnlineKernelOutlier(random_state=0) for _ in range(2))
    shown = whole.predict_learn(X)
    one_by_one = np.concatenate([cut.predict_learn(X[t : t + 7]) for t in range(0, 600, 7)])
    assert np.array_equal(shown, one_by_one) and snapshot(whole.learner_) == snapshot(cut.learner_)
    assert np.array_equal(shown < 0, whole.learner_.losses > 0)
    assert snapshot(OnlineKernelOutlier(random_state=0).partial_fit(X).learner_) == snapshot(whole.learner_)
    assert snapshot(OnlineKernelOutlier(random_state=0).fit(X, y=np.arange(600)).learner_) == snapshot(whole.learner_)


def test_scores_offset_and_labels_belong_together(shuttle):
    X = shuttle[0][:2000]
    detector = OnlineKernelOutlier(NORMA(nu=0.2, kernel=GAUSSIAN, budget=100), scaling="none").fit(X)
    assert detector.algorithm_.loss == "novelty" and detector.size_ == 100
    f = matrix(GAUSSIAN, X, detector.points_) @ detector.coef_[:, 0]
    np.testing.assert_allclose(detector.score_samples(X), f, rtol=1e-3)
    np.testing.assert_allclose(detector.decision_function(X), detector.score_samples(X) - detector.offset_, rtol=1e-6)
    assert np.array_equal(detector.predict(X), np.where(detector.decision_function(X) >= 0, 1, -1))
    assert np.array_equal(detector.fit_predict(X), detector.predict(X))


def test_a_file_gives_a_detector_back_and_it_goes_on(shuttle, tmp_path):
    X = shuttle[0][:1000]
    detector = OnlineKernelOutlier(nu=0.05, scaling="online").fit(X[:500])
    detector.save(tmp_path / "detector.ks")
    back = kernelstream.load(tmp_path / "detector.ks")
    assert isinstance(back, OnlineKernelOutlier) and back.get_params()["scaling"] == "online"
    assert np.array_equal(back.predict_learn(X[500:]), detector.predict_learn(X[500:]))
    assert snapshot(back.learner_) == snapshot(detector.learner_)


def test_detectors_of_two_parts_merge(shuttle):
    X = shuttle[0][:2000]
    halves = slice(0, 1000), slice(1000, 2000)
    first, second = (OnlineKernelOutlier(gamma=0.1, scaling="none", random_state=0).fit(X[part]) for part in halves)
    expected = (first.score_samples(X) + second.score_samples(X)) / 2
    np.testing.assert_allclose(first.merge(second).score_samples(X), expected, rtol=1e-3, atol=1e-3)
    assert (first.predict(X) < 0).mean() == pytest.approx(0.1, abs=0.04)


def test_the_score_is_the_mean_of_the_kernel_over_the_rows(shuttle):
    X = shuttle[0][:1000]
    spec = Density(kernel=GAUSSIAN, n_components=20_000, forget=1.0)
    detector = OnlineKernelOutlier(spec, scaling="none", random_state=0).fit(X)
    np.testing.assert_allclose(detector.score_samples(X[:50]), matrix(GAUSSIAN, X[:50], X).mean(axis=1), atol=0.03)


def test_what_was_odd_and_keeps_coming_is_soon_usual():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    X[3000:] += 8.0
    shown = OnlineKernelOutlier(nu=0.05, scaling="none", gamma=0.3, forget=0.999, random_state=0).predict_learn(X)
    assert (shown[3000:3020] < 0).all() and (shown[5000:] < 0).mean() < 0.1


def test_an_anomaly_detector_of_rivers(shuttle):
    """Rows with names, scores that are large for what is odd; the same model as the estimator's."""
    from river import base

    from kernelstream.river import KernelAnomalyDetector

    X = shuttle[0][:600]
    detector = KernelAnomalyDetector(Density(nu=0.05), seed=0)
    assert isinstance(detector, base.AnomalyDetector)
    assert detector.score_one({"a": 1.0}) == 0.5
    rows = [dict(enumerate(row)) for row in X.tolist()]
    scores = []
    for row in rows:
        scores.append(detector.score_one(row))
        detector.learn_one(row)
    odd = dict.fromkeys(rows[0], 50.0)
    assert detector.score_one(odd) > max(0.5, np.quantile([detector.score_one(row) for row in rows], 0.95))
    ours = Learner(Density(nu=0.05), Binary([-1, 1]), seed=0, scaling="online")
    shown = ours.learn(X, np.ones(600))[300:, 0]
    np.testing.assert_allclose(np.array(scores)[300:], 1.0 / (1.0 + np.exp(4.0 * shown)), atol=1e-4)
    same = KernelAnomalyDetector(nu=0.05, seed=0)
    assert same.clone().algorithm == detector.algorithm == same.algorithm
    with pytest.raises(ValueError, match="density has no parameter 'rank'"):
        KernelAnomalyDetector(rank=3)
    with pytest.raises(ValueError, match="fogd does not find what is odd"):
        KernelAnomalyDetector("fogd", n_components=10)


def test_rivers_own_measure_sees_what_a_detector_of_rivers_finds():
    """It looks at scores between 0 and 1 alone."""
    from river import evaluate, metrics
    from sklearn.metrics import roc_auc_score

    from kernelstream.river import KernelAnomalyDetector

    rng = np.random.default_rng(0)
    odd = rng.random(1500) < 0.05
    rows = [dict(enumerate(row)) for row in (rng.normal(size=(1500, 2)) + 4.0 * odd[:, None]).tolist()]
    detector, scores = KernelAnomalyDetector(seed=0), []
    for row in rows:
        scores.append(detector.score_one(row))
        detector.learn_one(row)
    assert 0.0 <= min(scores) < 0.2 and 0.8 < max(scores) <= 1.0
    measure = evaluate.progressive_val_score(zip(rows, odd, strict=True), detector.clone(), metrics.ROCAUC())
    assert measure.get() == pytest.approx(roc_auc_score(odd, scores), abs=0.01) and measure.get() > 0.9


def test_what_finds_no_outliers_is_refused_by_name():
    X = np.random.default_rng(0).normal(size=(20, 2))
    for detector, words in (
        (OnlineKernelOutlier("fogd"), "fogd with loss='auto' does not find outliers"),
        (OnlineKernelOutlier(NORMA(loss="hinge")), "loss='hinge' does not find outliers"),
        (OnlineKernelOutlier("ridge"), "ridge with loss=None does not"),
        (OnlineKernelOutlier(scaling="metric"), "scaling='metric' is learned from labels"),
    ):
        with pytest.raises(ValueError, match=words):
            detector.fit(X)
    with pytest.raises(ValueError, match="density has no parameter 'rank'"):
        OnlineKernelOutlier(rank=3)


def test_labels_that_are_there_judge_and_do_not_teach(shuttle):
    """The same rule as a learner of two classes: the second is what is usual."""
    X, y = shuttle[0][:3000], np.where(shuttle[1][:3000] > 0, "usual", "other")
    spec = NORMA(nu=0.1, kernel=Gaussian(gamma=0.1), loss="novelty")
    learner = Learner(spec, Binary(["other", "usual"]))
    learner.learn(X, y)
    assert set(learner.predict(X)) == {"usual", "other"}
    same = OnlineKernelOutlier(spec, scaling="none").fit(X)
    assert np.array_equal(learner.scores(X)[:, 0], same.decision_function(X))


@pytest.mark.parametrize("learner", [Density(), NORMA(loss="novelty")], ids=str)
def test_a_classifier_that_would_tell_nothing_apart_is_refused(learner):
    X = np.random.default_rng(0).normal(size=(20, 2))
    for learn in ("fit", "partial_fit", "predict_learn"):
        with pytest.raises(ValueError, match=rf"{learner.name}.* learns from rows alone.*OnlineKernelOutlier"):
            getattr(OnlineKernelClassifier(learner), learn)(X, X[:, 0] > 0)
    assert OnlineKernelOutlier(learner).fit(X).predict(X).shape == (20,)
