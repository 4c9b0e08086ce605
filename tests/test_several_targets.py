"""Regression of several targets: one model for each, behind the face of one."""

import pickle
import signal
import sys

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.utils.estimator_checks import check_regressor_multioutput

import kernelstream
from kernelstream import Learner, OnlineKernelRegressor
from kernelstream.engine.state import ModelFileError


@pytest.fixture(scope="module")
def rows():
    X, y = load_diabetes(return_X_y=True)
    return X / X.std(axis=0), np.column_stack([y, 1000.0 * X[:, 2] + 3.0, -y])


def make(name="fogd", **given):
    return OnlineKernelRegressor(name, gamma=0.1, scaling="online", random_state=0, **given)


def test_each_target_has_the_model_it_would_have_alone(rows):
    X, Y = rows
    together = make()
    shown = together.predict_learn(X, Y)
    assert shown.shape == Y.shape and together.n_seen_ == len(X)
    for j in range(Y.shape[1]):
        alone = make()
        assert np.array_equal(alone.predict_learn(X, Y[:, j]), shown[:, j])
        assert np.array_equal(alone.predict(X), together.predict(X)[:, j])
    assert together.score(X, Y) > 0.3


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX systems")
def test_an_interrupt_comes_before_all_targets_or_after(rows, monkeypatch):
    X, Y = rows
    together, done = make().partial_fit(X, Y), Learner.learn

    def interrupted(learner, *args):
        signal.raise_signal(signal.SIGINT)
        return done(learner, *args)

    monkeypatch.setattr(Learner, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        together.partial_fit(X, Y)
    assert [learner.n_seen for learner in together.learner_.learners] == [2 * len(X)] * 3


def test_scikit_learn_agrees_that_it_does_several():
    check_regressor_multioutput("OnlineKernelRegressor", OnlineKernelRegressor("fogd", n_components=50))


def test_how_sure_it_is_of_each_target(rows):
    X, Y = rows
    reg = make("ridge", n_components=50).fit(X, Y[:, :2])
    shown, std = reg.predict(X, return_std=True)
    assert shown.shape == std.shape == (len(X), 2) and (std > 0).all()
    reg = OnlineKernelRegressor("ridge", gamma=0.1, n_components=50, random_state=0).fit(X, Y[:, :2])
    assert reg.leave_one_out(X, Y[:, :2]).shape == (len(X), 2)


def test_files_pickles_and_merges(rows, tmp_path):
    X, Y = rows
    reg = make().partial_fit(X[:200], Y[:200])
    reg.save(tmp_path / "reg.ks")
    loaded = kernelstream.load(tmp_path / "reg.ks")
    copies = [loaded, pickle.loads(pickle.dumps(reg))]
    reg.partial_fit(X[200:], Y[200:])
    for copy in copies:
        assert np.array_equal(copy.partial_fit(X[200:], Y[200:]).predict(X), reg.predict(X))
    with pytest.raises(
        ModelFileError, match=r"a learner for each of \d targets, where one is asked for: kernelstream\.load reads it"
    ):
        Learner.load(tmp_path / "reg.ks")
    fixed = [OnlineKernelRegressor("fogd", gamma=0.1, random_state=0).partial_fit(X, Y / 100) for _ in "ab"]
    assert np.allclose(fixed[0].merge(fixed[1]).predict(X), fixed[1].predict(X), atol=1e-4)
    with pytest.raises(ValueError, match="have 3 and 1 targets"):
        fixed[0].merge(OnlineKernelRegressor("fogd", gamma=0.1, random_state=0).partial_fit(X, Y[:, 0]))


def test_targets_that_do_not_fit_change_nothing(rows):
    X, Y = rows
    reg = make().fit(X, Y)
    before = reg.predict(X)
    bad = Y.copy()
    bad[5, 2] = np.nan
    with pytest.raises(ValueError, match="Row 5: the target nan"):
        reg.partial_fit(X, bad)
    with pytest.raises(ValueError, match="y has 2 columns; the model was begun with 3 columns"):
        reg.partial_fit(X, Y[:, :2])
    with pytest.raises(ValueError, match="y has one target a row, in one dimension"):
        reg.partial_fit(X, Y[:, 0])
    assert np.array_equal(reg.predict(X), before) and reg.n_seen_ == len(X)
