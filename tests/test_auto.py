"""Auto: equal to its reference while a metric is searched for; growth, files, merges; what it learns of raw rows."""

import os
import signal
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from kernelstream import Auto, Binary, Learner, Multiclass, OnlineKernelClassifier, OnlineKernelRegressor, Regression
from kernelstream.algorithms._auto_state import building_row
from kernelstream.engine.state import ModelFileError
from kernelstream.laws import selection
from kernelstream.laws.agreement import snapshot
from kernelstream.laws.cases import reference_loss
from kernelstream.numerics import gradual
from kernelstream.numerics.link import chances, first_link
from kernelstream.numerics.second_order import add_rows, no_sums, solved
from kernelstream.numerics.settling import FIRST, LAST, columns_of, directions, trending
from kernelstream.reference import auto as reference

SMALL = Auto(size="small")
OVER = building_row(LAST)  # rows after which all is settled
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
    X, y = stream(task, n=800)
    case = next(c for c in selection(SMALL) if c.task == task)
    learner = Learner(SMALL, TASKS[task], seed=3, dtype="float64")
    scores = learner.learn(X, y)
    targets = learner.task.encode(y)
    expected, size, losses = reference.learn(SMALL, reference_loss(case), X, targets, TASKS[task].n_outputs, 3)
    np.testing.assert_allclose(scores, expected, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(learner.losses, losses, rtol=1e-6, atol=1e-7)
    assert learner.size == size


@pytest.mark.parametrize("task", TASKS)
def test_compiled_equals_the_reference_when_a_constant_column_comes_alive(task):
    X, y = stream(task, n=800)
    X[:395, 0] = X[0, 0]
    case = next(c for c in selection(SMALL) if c.task == task)
    learner = Learner(SMALL, TASKS[task], seed=3, dtype="float64")
    scores = learner.learn(X, y)
    expected, _, _ = reference.learn(SMALL, reference_loss(case), X, learner.task.encode(y), TASKS[task].n_outputs, 3)
    np.testing.assert_allclose(scores, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("dense", [True, False])
def test_a_column_that_comes_alive_after_all_is_settled_is_learned(dense, tmp_path):
    X, y = stream("binary", n=OVER + 4000)
    X[: OVER + 200, 1] = 0.0  # without it nothing can be told
    late = slice(OVER + 1500, None)
    given = X if dense else sp.csr_array(X)
    whole = Learner(SMALL, TASKS["binary"])
    scores = whole.learn(given, y)
    never = Learner(SMALL, TASKS["binary"]).learn(np.where(np.arange(5) == 1, 0.0, X), y)
    errors = [np.mean(np.sign(said[late, 0]) != y[late]) for said in (scores, never)]
    assert errors[0] < 0.33 and errors[1] > 0.45, errors
    cut = Learner(SMALL, TASKS["binary"])
    cut.learn(given[: OVER + 201], y[: OVER + 201])  # it has been seen to differ in one row
    cut.save(tmp_path / "m.ks")
    cut = Learner.load(tmp_path / "m.ks")
    for t in range(OVER + 201, len(y), 333):
        cut.learn(given[t : t + 333], y[t : t + 333])
    assert snapshot(cut) == snapshot(whole)


def test_a_feature_that_comes_after_all_is_settled_is_learned_and_merges():
    X, y = stream("binary", n=OVER + 4000)
    first = Learner(SMALL, TASKS["binary"], grow_features=True)
    first.learn(np.delete(X, 1, axis=1)[:OVER], y[:OVER])
    moved = np.hstack([np.delete(X, 1, axis=1), X[:, 1:2]])
    forks = [first.snapshot() for _ in range(2)]
    for fork, rows in zip(forks, (slice(OVER, OVER + 2000), slice(OVER + 2000, None)), strict=True):
        fork.learn(moved[rows], y[rows])
    probe, truth = stream("binary", n=2000, seed=9)
    probe = np.hstack([np.delete(probe, 1, axis=1), probe[:, 1:2]])

    def error(learner):
        return np.mean(np.sign(learner.scores(probe)[:, 0]) != truth)

    apart = [error(fork) for fork in forks]
    merged = forks[0].merge(forks[1], since=first)
    assert max(apart) < 0.33 and error(merged) < max(apart) + 0.01 and error(first) > 0.45


def test_more_directions_begin_with_the_same():
    omega = directions(5, 64, 3)
    assert all(np.array_equal(directions(5, n, 3), omega[:, :n]) for n in (1, 5, 13, 32))
    np.testing.assert_allclose(omega[:, :5].T @ omega[:, :5], np.diag((omega[:, :5] ** 2).sum(axis=0)), atol=1e-12)
    assert np.mean((omega**2).sum(axis=0)) == pytest.approx(5.0, rel=0.2)


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
    X, y = stream("regression", n=OVER)
    a, b = (Learner(SMALL, Regression()) for _ in range(2))
    a.learn(X[:300], y[:300])
    b.learn(X[300:700], y[300:700])
    one = Learner(SMALL, Regression())
    one.learn(X[:700].astype(np.float32), y[:700])
    assert snapshot(a.merge(b)) == snapshot(one)
    c, d = (Learner(SMALL, Regression(), seed=seed) for seed in (1, 2))
    for learner in (c, d):
        learner.learn(X, y)
    with pytest.raises(ValueError, match="different first rows"):
        c.merge(d)


def test_shards_that_begin_from_one_file_merge_and_count_its_rows_once(tmp_path):
    X, y = stream("regression", n=OVER + 2400)
    first = Learner(SMALL, Regression())
    first.learn(X[:OVER], y[:OVER])
    first.save(tmp_path / "first.ks")
    shards = [Learner.load(tmp_path / "first.ks") for _ in range(2)]
    for shard, rows in zip(shards, (slice(OVER, OVER + 1200), slice(OVER + 1200, None)), strict=True):
        shard.learn(X[rows], y[rows])
    probe, truth = stream("regression", n=500, seed=9)
    merged = shards[0].merge(shards[1]).unmerge(first)
    errors = [np.mean((one.scores(probe)[:, 0] - truth) ** 2) for one in (merged, first)]
    assert merged.n_seen == OVER + 2400 and errors[0] < 1.05 * errors[1]
    through = Learner(SMALL, Regression())
    through.learn(X, y)
    sums = [one._state.sums.A + one._state.sums.newer for one in (merged, through)]
    waiting = through._state.sums.waiting[: int(through._state.sums.n_waiting)].astype(np.float64)
    np.testing.assert_allclose(np.tril(sums[0]), np.tril(sums[1] + waiting.T @ waiting), atol=2e-3)


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
    for name, value in (("t", 5000), ("t", -1), ("due", 5000), ("sums.n_waiting", 129), ("tables.pick", 64)):
        changed = dict(arrays)
        like = arrays[f"model.{name}"]
        changed[f"model.{name}"] = np.broadcast_to(np.array(value, like.dtype), like.shape).copy()
        files.write(tmp_path / "bad.ks", header, changed)
        with pytest.raises(ModelFileError):
            Learner.load(tmp_path / "bad.ks")


# Targets of any unit.


@pytest.mark.parametrize("alike", [2, 70])
def test_targets_may_all_be_alike_at_first(alike):
    X, y = stream("regression", n=600)
    y[:alike] = 1000.0
    learner = Learner(SMALL, Regression(), dtype="float64")
    scores = learner.learn(X, y)
    case = next(c for c in selection(SMALL) if c.task == "regression")
    expected = reference.learn(SMALL, reference_loss(case), X, y, 1, 0)[0]
    np.testing.assert_allclose(scores, expected, rtol=1e-7, atol=1e-7)
    assert (scores[1:alike] == 1000.0).all()
    assert np.mean((scores[512:, 0] - y[512:]) ** 2) < 0.9 * y[512:].var()


@pytest.mark.parametrize("unit", [1e-6, 1e9])
def test_the_unit_of_targets_does_not_matter(unit):
    X, y = stream("regression", n=600)
    errors = []
    for targets in (y, unit * y):
        shown = Learner(SMALL, Regression()).learn(X, targets)[:, 0]
        errors.append(((shown - targets) ** 2 / targets.var())[1:])
    np.testing.assert_allclose(errors[1], errors[0], rtol=0.1, atol=1e-3)


def test_a_first_pair_that_happens_to_be_close_does_not_mislead_the_stack():
    """The unit of two rows is any number; what they told is told in the unit of those that follow."""
    X, y = stream("regression", n=200)
    alone, close = (
        Learner(SMALL, Regression()).learn(X, targets)[:, 0] for targets in (y, [y[0], y[0] + 1e-9, *y[2:]])
    )
    errors = [np.mean((shown[16:] - y[16:]) ** 2) for shown in (alone, close)]
    assert errors[1] < 1.1 * errors[0]


@pytest.mark.parametrize("jump", [1e6, 1e12])
def test_targets_may_grow_by_any_factor(jump):
    X, y = stream("regression", n=400)
    y = np.where(np.arange(400) < 100, 1.0, jump) * (y - 1000)
    scores = Learner(SMALL, Regression()).learn(X, y)
    assert np.isfinite(scores).all()
    assert np.mean((scores[256:, 0] - y[256:]) ** 2) < y[256:].var()


# Work that is spread over rows.


def test_a_system_that_is_solved_in_steps_has_the_solution():
    rng = np.random.default_rng(0)
    sums = no_sums(150, 3, np.float32, 400)
    add_rows(sums, rng.normal(size=(400, 150)).astype(np.float32), rng.normal(size=(400, 3)).astype(np.float32))
    expected = solved(sums.A + sums.newer, sums.b, 0.5)
    found = gradual.nothing_begun(150, 3)
    for i in range(gradual.n_steps(150)):
        gradual.take_step(found, sums, 0.5, i)
        if i == 1:  # rows that come meanwhile have no effect
            add_rows(sums, np.ones((5, 150), np.float32), np.ones((5, 3), np.float32))
    np.testing.assert_allclose(found.weights, expected, rtol=1e-9)
    sums.A[...], sums.newer[...] = -1.0, 0.0
    for i in range(gradual.n_steps(150)):
        gradual.take_step(found, sums, 0.5, i)
    assert found.failed == 1


def test_one_row_at_a_time_and_work_beside_the_rows_change_no_bit():
    X, y = stream("binary", n=OVER + 2 * LAST)
    whole, single = Learner(SMALL, TASKS["binary"], threads=2), Learner(SMALL, TASKS["binary"], threads=1)
    scores = whole.learn(X, y)
    single.learn(X[:OVER], y[:OVER])
    rest = [single.learn_one(x, label) for x, label in zip(X[OVER:], y[OVER:], strict=True)]
    assert np.array_equal(scores[OVER:], np.array(rest))
    assert snapshot(whole) == snapshot(single)


# Labels that come late, and rows unlike those before.


def seasons(n, d=4, seed=0):
    """What decides changes every 500 rows; labels stay the same for about 20."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n // 20 + 1, d)), 20, axis=0)[:n] + 0.05 * rng.normal(size=(n, d))
    X[:, 0] = np.arange(n)  # a row number
    signs = np.where(np.arange(n) // 500 % 2 == 0, 1.0, -1.0)
    return X, np.where(X[:, 1] + signs * X[:, 2] > 0, 1, -1)


def late_errors(learner, X, y, delay, height):
    shown = [learner.show(X[:delay])]
    for t in range(0, len(y) - delay, height):
        stop = min(t + height, len(y) - delay)
        shown.append(learner.learn_late(X[t:stop], y[t:stop], X[t + delay : stop + delay]))
    return np.concatenate(shown)


def test_labels_that_come_late_are_learned_from_what_was_said_when_rows_were_shown():
    X, y = seasons(3000)
    learners = [Learner(SMALL, TASKS["binary"]) for _ in range(2)]
    scores = [late_errors(learner, X, y, 60, height) for learner, height in zip(learners, (5000, 7), strict=True)]
    assert np.array_equal(*scores) and snapshot(learners[0]) == snapshot(learners[1])


def test_what_was_said_when_rows_were_shown_is_worth_remembering():
    errors = []
    for seed in range(4):
        X, y = seasons(3000, seed=seed)
        remembering, forgetful = (Learner(SMALL, TASKS["binary"]) for _ in range(2))
        shown = [late_errors(remembering, X, y, 60, 20), np.zeros((len(y), 1))]
        for t in range(0, len(y), 20):  # scores alone leave nothing to be found again
            shown[1][t : t + 20] = forgetful.scores(X[t : t + 20])
            if t >= 60:
                forgetful.learn(X[t - 60 : t - 40], y[t - 60 : t - 40])
        errors.append([np.mean(np.sign(f[1000:, 0]) != y[1000:]) for f in shown])
    errors = np.mean(errors, axis=0)
    assert errors[0] < 0.9 * errors[1]


def test_columns_with_a_trend_are_told_from_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    X[:, 1], X[:, 2] = np.arange(400), np.sin(np.arange(400) / 5)
    assert trending(columns_of(X), X).tolist() == [False, True, False, False]


# How sure it is.


def test_chances_begin_as_shares_and_become_what_rows_say():
    scores = np.array([[0.5], [-1.5], [0.0]])
    np.testing.assert_allclose(chances(first_link(), scores)[:, 1], [0.75, 0.005 / 1.255, 0.5])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 2))
    y = np.where(rng.random(9000) < 1 / (1 + np.exp(-4 * np.sin(X[:, 0]))), 1, -1)
    learner = Learner(SMALL, TASKS["binary"])
    learner.learn(X[:3000], y[:3000])
    p, truth = learner.probabilities(X[3000:])[:, 1], y[3000:] > 0
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        some = (p >= low) & (p < low + 0.2)
        assert abs(truth[some].mean() - p[some].mean()) < 0.1
    best = 1 / (1 + np.exp(-4 * np.sin(X[3000:, 0])))
    losses = [-np.mean(np.where(truth, np.log(q), np.log(1 - q))) for q in (p, best)]
    assert losses[0] < 1.1 * losses[1]


def test_deviations_follow_the_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(6000, 2))
    noise = np.where(X[:, 1] > 0, 2.0, 0.3)
    y = 500 + 10 * np.sin(3 * X[:, 0]) + noise * rng.normal(size=6000)
    regressor = OnlineKernelRegressor(random_state=0).fit(X[:5000], y[:5000])
    shown, deviation = regressor.predict(X[5000:], return_std=True)
    z = (y[5000:] - shown) / deviation
    assert 0.8 < np.sqrt(np.mean(z**2)) < 1.25
    loud = X[5000:, 1] > 0.1
    assert np.median(deviation[loud]) > 2 * np.median(deviation[X[5000:, 1] < -0.1])


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes of POSIX systems")
def test_a_fork_while_something_is_settled_goes_on_alone():
    X, y = stream("multiclass", n=LAST + 400)
    learner, through = (Learner(SMALL, TASKS["multiclass"], threads=2) for _ in range(2))
    through.learn(X, y)
    learner.learn(X[: LAST + 8], y[: LAST + 8])
    child = os.fork()
    if child == 0:
        learner.learn(X[LAST + 8 :], y[LAST + 8 :])
        os._exit(int(not np.array_equal(learner.scores(X), through.scores(X))))
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)
