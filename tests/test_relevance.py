"""A metric that is learned from the first rows: what it finds, and that learners with it keep what the laws say."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelstream import FOGD, OGD, Binary, Learner, Multiclass, OnlineKernelRegressor, Regression, Ridge
from kernelstream.engine import files
from kernelstream.engine.inputs import METRICS
from kernelstream.engine.state import ModelFileError
from kernelstream.kernels import Gaussian, Laplacian
from kernelstream.laws.agreement import snapshot
from kernelstream.laws.cases import learn_in_blocks
from kernelstream.numerics import relevance
from kernelstream.report.inspection import write_inspection

RIDGE = Ridge(n_components=60)


def rows(n=900, d=12, seed=0):
    """Two of the features matter, in very different units; one is constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = 50.0 + 10.0 * np.sin(2.0 * X[:, 3]) * np.cos(X[:, 7])
    X[:, 3] *= 1000.0
    X[:, 5] = 7.0
    return X, y


def error(spec, scaling, X, y):
    scores = Learner(spec, Regression(), scaling=scaling).learn(X, y)[:, 0]
    return np.mean((scores[300:] - y[300:]) ** 2) / np.var(y)


@pytest.mark.parametrize(
    "spec", [RIDGE, FOGD(n_components=60), FOGD(kernel=Laplacian(), map="binning"), OGD()], ids=str
)
def test_it_finds_the_features_that_matter_for_every_learner(spec):
    X, y = rows()
    learned, plain = (error(spec, scaling, X, y) for scaling in ("metric", "online"))
    assert learned < 0.6 * plain


def test_importances_are_shown_and_drawn(tmp_path):
    X, y = rows()
    reg = OnlineKernelRegressor("ridge", n_components=60, scaling="metric", random_state=0).fit(X, y)
    shares = reg.feature_importances_
    assert shares.sum() == pytest.approx(1.0) and shares[[3, 7]].sum() > 0.9 and shares[5] == 0.0
    assert tmp_path / "importances.png" in write_inspection(tmp_path, reg.learner_)
    assert not hasattr(OnlineKernelRegressor("ridge", scaling="online").fit(X, y), "feature_importances_")


def test_a_full_metric_finds_a_direction():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 8))
    y = np.sin(X @ np.full(8, 1.0))
    full, diagonal = (error(RIDGE, scaling, X, y) for scaling in METRICS[::-1])
    assert full < 0.5 * diagonal


def test_the_outer_products_are_of_the_fits_gradient():
    """By differences, of the kernel ridge regression that a round fits."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(30, 4)), rng.uniform(0.5, 1.5, 4)
    Y, weights = np.stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]], axis=1), rng.uniform(0.5, 2.0, 30)

    def fit(points):
        V, P = X * T, points * T
        gamma = 2.0 / ((V[:, None] - V) ** 2).sum(axis=2).mean()
        K = np.exp(-gamma * ((V[:, None] - V) ** 2).sum(axis=2))
        coef = np.linalg.solve(K + relevance.RIDGE * np.diag(1.0 / weights), Y)
        return np.exp(-gamma * ((P[:, None] - V) ** 2).sum(axis=2)) @ coef

    h = 1e-5 * np.eye(4)
    slopes = np.stack([(fit(X + e) - fit(X - e)) / 2e-5 for e in h], axis=2)  # (n, K, d)
    expected = np.einsum("i,ika,ikb->ab", weights, slopes, slopes)
    np.testing.assert_allclose(relevance._round(X, Y, weights, T)[1], np.diag(expected), rtol=1e-6)
    np.testing.assert_allclose(relevance._round(X, Y, weights, np.diag(T))[1], expected, rtol=1e-5, atol=1e-7)


def test_noise_is_not_followed():
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(200, 10)), rng.normal(size=(200, 1))
    T = relevance.learned_metric(X, Y, np.ones(200), full=False)
    assert T.min() > 0.5 and T.max() < 2.0


@pytest.mark.parametrize("scaling", METRICS)
@pytest.mark.parametrize("task", [Binary([-1, 1]), Multiclass([-1, 0, 1]), Regression()], ids=lambda task: task.name)
def test_neither_cut_nor_file_changes_a_bit(scaling, task, tmp_path):
    X, y = rows(400)
    y = (
        y
        if isinstance(task, Regression)
        else np.digitize(y, [45, 55]) - 1
        if task.n_outputs > 1
        else np.where(y > 50, 1, -1)
    )
    whole = Learner(RIDGE, task, scaling=scaling)
    expected = whole.learn(X, y)
    for height in (1, 90):
        learner = Learner(RIDGE, task, scaling=scaling)
        np.testing.assert_array_equal(learn_in_blocks(learner, X, y, height), expected)
        assert snapshot(learner) == snapshot(whole)
    for cut in (100, 300):
        first = Learner(RIDGE, task, scaling=scaling)
        first.learn(X[:cut], y[:cut])
        first.save(tmp_path / "m.ks")
        resumed = Learner.load(tmp_path / "m.ks")
        assert snapshot(resumed) == snapshot(first)
        np.testing.assert_array_equal(resumed.learn(X[cut:], y[cut:]), expected[cut:])
    by_sevens = [whole.scores(X[t : t + 7]) for t in range(0, len(X), 7)]
    np.testing.assert_array_equal(np.concatenate(by_sevens), whole.scores(X))


def test_sparse_rows_stay_sparse():
    X, y = rows()
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    X[:, 5] = 0.0
    y = np.sin(2.0 * X[:, 3] / 1000.0) + np.cos(X[:, 7])
    learner = Learner(RIDGE, Regression(), scaling="metric")
    learner.learn(sp.csr_array(X), y)
    assert learner.inputs.features.apply(sp.csr_array(X)).nnz <= np.count_nonzero(X)
    assert learner.attributes["feature_importances"][[3, 7]].sum() > 0.8
    with pytest.raises(ValueError, match=r"full-metric.*fills sparse rows; take 'metric'"):
        Learner(RIDGE, Regression(), scaling="full-metric").learn(sp.csr_array(X), y)


def test_models_of_one_metric_merge_and_others_are_refused(tmp_path):
    X, y = rows()
    a = Learner(Ridge(kernel=Gaussian(gamma=0.05), n_components=60), Regression(), scaling="metric")
    early, strange = (Learner(a.algorithm, Regression(), scaling="metric") for _ in range(2))
    a.learn(X[:300], y[:300])
    a.save(tmp_path / "a.ks")
    b = Learner.load(tmp_path / "a.ks")
    b.learn(X[300:600], y[300:600])
    assert a.merge(b).n_seen == 900
    early.learn(X[:50], y[:50])
    assert a.merge(early).n_seen == 950  # its rows are still known as they came
    strange.learn(X[400:], y[400:] + X[400:, 0])
    with pytest.raises(ValueError, match=r"scaling\.map differs"):
        a.merge(strange)


def test_rows_with_more_and_fewer_features_come_later():
    X, y = rows()
    learner = Learner(RIDGE, Regression(), scaling="full-metric", grow_features=True)
    learner.learn(X[:300], y[:300])
    padded = np.hstack([X[300:, :9], np.zeros((600, 3))])
    np.testing.assert_allclose(learner.scores(X[300:, :9]), learner.scores(padded))
    wide = np.hstack([X, np.ones((900, 2))])
    np.testing.assert_allclose(learner.scores(wide), learner.scores(X))
    learner.learn(wide[300:], y[300:])
    assert learner.width == 14
    with pytest.raises(ValueError, match="expecting 12 features"):
        closed = Learner(RIDGE, Regression(), scaling="metric")
        closed.learn(X, y)
        closed.scores(X[:, :9])


def test_what_a_file_says_of_a_metric_is_checked(tmp_path):
    X, y = rows(300)
    learner = Learner(RIDGE, Regression(), scaling="full-metric")
    learner.learn(X, y)
    learner.save(tmp_path / "m.ks")
    header, arrays = files.read(tmp_path / "m.ks")
    for name, value in (("map", np.ones(12)), ("offset", np.ones(5)), ("importances", np.full(12, np.nan))):
        files.write(tmp_path / "bad.ks", header, arrays | {f"inputs.features.{name}": value})
        with pytest.raises(ModelFileError):
            Learner.load(tmp_path / "bad.ks")
