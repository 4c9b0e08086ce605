"""Recursive least squares in the kernel's space: what the laws of all learners do not say of it."""

import math
import re

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from kernelstream import (
    ALGORITHMS,
    KRLS,
    PKAWV,
    BudgetKRLS,
    KRLSTracker,
    Learner,
    Multiclass,
    OnlineKernelRegressor,
    Regression,
    SlidingKRLS,
    make,
)
from kernelstream.kernels import Gaussian, Linear
from kernelstream.papers.series import lorenz_rows
from kernelstream.reference.kernels import matrix
from kernelstream.reference.pkawv import Points
from kernelstream.sources import open_source

KERNEL = Gaussian(gamma=0.5)
DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(400, 2))
Y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * DRAWS.normal(size=400)
PROBE = DRAWS.normal(size=(20, 2))
RECURSIVE = ("krls", "krls-sw", "krls-fb", "krls-t")


def learned(spec, X=X, y=Y, **options):
    learner = Learner(spec, Regression(), **{"dtype": "float64", **options})
    learner.learn(X, y)
    return learner


def process(X, y, c, probe):
    """Mean and variance, in units of the signal's, of the Gaussian process with this noise; y'(K + c)^-1 y / n."""
    K, k = matrix(KERNEL, X, X) + c * np.eye(len(X)), matrix(KERNEL, X, probe)
    alpha = np.linalg.solve(K, y)
    return k.T @ alpha, 1 + c - (k * np.linalg.solve(K, k)).sum(axis=0), y @ alpha / len(y)


@pytest.mark.parametrize("kind", [SlidingKRLS, BudgetKRLS, KRLSTracker])
def test_with_room_for_every_row_it_is_the_gaussian_process_of_all(kind):
    learner = learned(kind(kernel=KERNEL, budget=100, regularization=0.05), X[:100], Y[:100])
    mean, variance, signal = process(X[:100], Y[:100], 0.05, PROBE)
    np.testing.assert_allclose(learner.scores(PROBE)[:, 0], mean, atol=1e-9)
    np.testing.assert_allclose(learner.deviations(PROBE)[:, 0], np.sqrt(signal * variance), rtol=1e-8)
    theirs = GaussianProcessRegressor(RBF(1.0), alpha=0.05, optimizer=None).fit(X[:100], Y[:100])
    np.testing.assert_allclose(learner.scores(PROBE)[:, 0], theirs.predict(PROBE), atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_window_is_its_rows_and_no_others_after_a_long_stream(dtype):
    rows = np.random.default_rng(1).normal(size=(5000, 2))
    y = np.sin(rows[:, 0])
    learner = learned(SlidingKRLS(kernel=KERNEL, budget=30, regularization=0.01), rows, y, dtype=dtype)
    mean, _, _ = process(rows[-30:], y[-30:], 0.01, PROBE)
    np.testing.assert_allclose(learner.scores(PROBE)[:, 0], mean, atol={"float32": 2e-4, "float64": 1e-9}[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_rows_that_a_fixed_budget_keeps_are_solved_for_after_a_long_stream(dtype):
    rows = np.random.default_rng(1).normal(size=(5000, 2))
    y = np.sin(rows[:, 0]) + 0.3 * np.random.default_rng(2).normal(size=5000)
    learner = learned(BudgetKRLS(kernel=KERNEL, budget=30, regularization=0.01), rows, y, dtype=dtype)
    kept, labels = learner.attributes["points"].astype(float), learner._state.labels[0, :30]
    mean, _, _ = process(kept, labels, 0.01, PROBE)
    np.testing.assert_allclose(learner.scores(PROBE)[:, 0], mean, atol={"float32": 2e-3, "float64": 1e-8}[dtype])


def test_a_point_that_goes_leaves_what_its_rows_told_behind():
    """KRLS-T on 25 points is near the process of all 400 rows; the regression of 25 noisy rows is not."""
    noisy = Y + 0.5 * np.random.default_rng(7).normal(size=400)
    mean, _, _ = process(X, noisy, 0.5, PROBE)
    specs = {
        kind: kind(kernel=KERNEL, budget=25, regularization=0.5) for kind in (SlidingKRLS, BudgetKRLS, KRLSTracker)
    }
    far = {kind: np.abs(learned(spec, y=noisy).scores(PROBE)[:, 0] - mean).mean() for kind, spec in specs.items()}
    assert far[KRLSTracker] < 0.65 * min(far[SlidingKRLS], far[BudgetKRLS])


def test_every_row_a_point_passes_through_all_targets():
    learner = learned(KRLS(kernel=KERNEL, budget=None, dependence=0.0), X[:20], Y[:20])
    assert learner.size == 20
    np.testing.assert_allclose(learner.scores(X[:20])[:, 0], Y[:20], atol=1e-6)


def test_krls_without_a_budget_keeps_what_is_not_dependent():
    rows = np.random.default_rng(3).normal(size=(700, 8))
    unbounded = learned(KRLS(kernel=Gaussian(1.0), budget=None, dependence=1e-3), rows, rows[:, 0])
    assert unbounded.size > 512  # beyond the room that it begins with
    few = learned(KRLS(kernel=Gaussian(1.0), budget=None, dependence=0.5), rows[:, :2], rows[:, 0])
    assert few.size < 60
    again = few.size
    few.learn(rows[:, :2], rows[:, 0])
    assert few.size == again
    # Every row is within nu of the span of the points, and every point was further from those before it.
    points = few.attributes["points"]
    K, k = (matrix(Gaussian(1.0), points, other) for other in (points, rows[:, :2]))
    assert (1 - (k * np.linalg.solve(K, k)).sum(axis=0)).max() <= 0.5 + 1e-9
    assert (np.diag(np.linalg.cholesky(K)) ** 2).min() > 0.5


def test_a_full_dictionary_adds_what_rows_tell():
    """Least squares in the coordinates of the points: the ridge of the first rows, and all others at once."""
    spec = KRLS(kernel=KERNEL, budget=15, dependence=0.1)
    learner = learned(spec, X[:100], Y[:100])
    n = learner.size
    assert n == 15
    points = learner.attributes["points"]
    K, P = matrix(KERNEL, points, points), learner._state.P[:n, :n].copy()
    values = K @ learner.attributes["coef"]
    A = np.linalg.solve(K, matrix(KERNEL, points, X[100:])).T
    precision = np.linalg.inv(P) + A.T @ A
    expected = np.linalg.solve(K, np.linalg.solve(precision, np.linalg.solve(P, values) + A.T @ Y[100:, None]))
    learner.learn(X[100:], Y[100:])
    np.testing.assert_allclose(learner.attributes["coef"], expected, rtol=1e-6, atol=1e-8)


# Points that are nearly dependent.


@pytest.mark.parametrize(
    ("dtype", "noise", "most"),
    [("float64", 1e-6, -60.0), ("float64", 0.1, -19.0), ("float32", 1e-6, -35.0), ("float32", 0.1, -19.0)],
)
def test_the_tracker_foretells_a_smooth_series_under_a_wide_kernel(dtype, noise, most):
    rows, y = lorenz_rows()
    learner = Learner(KRLSTracker(Gaussian(sigma=32), 100, noise), Regression(), dtype=dtype)
    errors = (learner.learn(rows, y)[:, 0] - y)[1000:]
    assert 10 * np.log10(np.mean(errors**2)) < most


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("forget", [1.0, 0.99])
def test_what_is_left_of_the_priors_variance_stays_between_none_and_all_of_it(dtype, forget):
    """Over removals, rows of the span and rows that come again; and R is the factor of its points."""
    rows, y = lorenz_rows()
    spec = KRLSTracker(Gaussian(sigma=32), 40, 1e-3, forget)
    learner = learned(spec, np.concatenate([rows[:700]] * 2), np.concatenate([y[:700]] * 2), dtype=dtype)
    n, state = learner.size, learner._state
    assert n == 40
    left = np.linalg.eigvalsh(state.B[:n, :n])
    assert left.min() > 0.0 and left.max() < 1.0 + 1e-9
    np.testing.assert_allclose(state.B[:n, :n], state.B[:n, :n].T, rtol=0.0, atol=1e-12)
    points = learner.attributes["points"].astype(float)
    K = matrix(spec.kernel, points, points) + {"float32": 3e-5, "float64": 1e-12}[dtype] * np.eye(n)
    R = state.factor[:n, :n]
    np.testing.assert_allclose(R.T @ R, K, atol={"float32": 1e-6, "float64": 1e-12}[dtype])
    np.testing.assert_allclose(
        state.diagonal[:n], np.diag(np.linalg.inv(K)), rtol={"float32": 0.2, "float64": 0.02}[dtype]
    )


def test_rows_that_come_again_do_not_fill_the_trackers_budget():
    few = np.random.default_rng(10).normal(size=(12, 3))
    for kernel in (KERNEL, Linear()):
        for dtype in ("float32", "float64"):
            spec = KRLSTracker(kernel, budget=50)
            learner = learned(spec, np.tile(few, (30, 1)), np.tile(few[:, 0], 30), dtype=dtype)
            assert learner.size <= 12
    nothing = Learner(KRLSTracker(Linear(), budget=5), Regression())
    nothing.learn(np.zeros((4, 3)), np.ones(4))
    assert nothing.size == 0 and nothing.deviations(np.zeros((1, 3)))[0, 0] > 0.0


# Weights.


@pytest.mark.parametrize("kind", [KRLS, KRLSTracker])
def test_a_weight_is_so_many_rows(kind):
    spec = kind(kernel=KERNEL, budget=15, regularization=0.2) if kind is KRLSTracker else KRLS(KERNEL, budget=15)
    weighted, repeated = (Learner(spec, Regression(), dtype="float64") for _ in range(2))
    weighted.learn(X[:60], Y[:60], np.full(60, 2.0))
    if kind is KRLS:  # a row that has become a point is one that the points tell
        repeated.learn(np.repeat(X[:60], 2, axis=0), np.repeat(Y[:60], 2))
    else:  # with a budget the choice of points is made between the two
        weighted, repeated = (Learner(kind(KERNEL, 60, 0.2), Regression(), dtype="float64") for _ in range(2))
        weighted.learn(X[:60], Y[:60], np.full(60, 2.0))
        repeated.learn(np.repeat(X[:60], 2, axis=0), np.repeat(Y[:60], 2))
    np.testing.assert_allclose(weighted.scores(PROBE), repeated.scores(PROBE), atol=1e-8)


# How sure they are.


@pytest.mark.parametrize("name", ["krls-sw", "krls-fb", "krls-t"])
def test_deviations_are_larger_where_no_row_has_been(name):
    reg = OnlineKernelRegressor(make(name, kernel=KERNEL), random_state=0).fit(X, Y)
    shown, deviation = reg.predict(X, return_std=True)
    assert shown.shape == deviation.shape == (400,)
    far = reg.predict(np.full((1, 2), 50.0), return_std=True)[1]
    assert far > 3 * np.median(deviation) and far > deviation.max()


def test_most_targets_are_within_two_deviations():
    rows = np.random.default_rng(5).uniform(-3, 3, size=(3000, 1))
    y = np.sin(rows[:, 0]) + 0.2 * np.random.default_rng(6).normal(size=3000)
    reg = OnlineKernelRegressor(KRLSTracker(kernel=KERNEL, budget=30, regularization=0.05)).fit(rows[:2000], y[:2000])
    shown, deviation = reg.predict(rows[2000:], return_std=True)
    assert 0.9 < np.mean(np.abs(shown - y[2000:]) < 2 * deviation) < 0.99
    assert np.mean(deviation) == pytest.approx(0.2, rel=0.2)


def test_krls_has_no_prior_and_does_not_say_how_sure_it_is():
    reg = OnlineKernelRegressor("krls").fit(X, Y)
    with pytest.raises(ValueError, match="krls does not say how sure it is") as refusal:
        reg.predict(X, return_std=True)
    named = str(refusal.value).lower()
    sure = {name for name, spec in ALGORITHMS.items() if spec.models_deviations}
    assert sure == {name for name in ALGORITHMS if re.search(rf"[ ,]{re.escape(name)}[ ,]", named.partition(".")[2])}


# Forgetting.


def test_what_is_long_ago_returns_to_the_prior():
    rows = np.concatenate([X[:100] / 5, X[100:] / 5 + 10])
    y = np.ones(400)
    here, spec = np.zeros((1, 2)), {"kernel": KERNEL, "budget": 60, "regularization": 0.1}
    remembers, forgets = (learned(KRLSTracker(forget=forget, **spec), rows, y) for forget in (1.0, 0.97))
    assert remembers.scores(here)[0, 0] > 0.9
    assert abs(forgets.scores(here)[0, 0]) < 0.05
    prior = math.sqrt(forgets._state.squares[0] / forgets._state.total * 1.1)
    assert forgets.deviations(here)[0, 0] == pytest.approx(prior, rel=1e-2)
    assert forgets.scores(here + 10)[0, 0] > 0.9


def test_the_tracker_follows_a_change_that_least_squares_of_all_rows_does_not():
    y = np.where(np.arange(400) < 200, 1.0, -1.0) * np.sin(2 * X[:, 0])
    errors = {}
    for name, forget in (("remembers", 1.0), ("tracks", 0.98)):
        shown = Learner(KRLSTracker(KERNEL, 60, 0.1, forget), Regression(), dtype="float64").learn(X, y)[:, 0]
        errors[name] = np.mean((shown - y)[320:] ** 2)
    assert errors["tracks"] < 0.3 * errors["remembers"]


def test_labels_that_move_follow_a_change():
    clusters = np.random.default_rng(4).choice([-1.0, 1.0], size=(600, 3))
    y = np.where(np.arange(600) < 300, 1.0, -1.0) * clusters.prod(axis=1)
    errors = {}
    for mu in (0.0, 0.8):
        spec = BudgetKRLS(kernel=Gaussian(gamma=2.0), budget=8, regularization=0.01, relabelling=mu)
        shown = Learner(spec, Regression(), dtype="float64").learn(clusters, y)[:, 0]
        errors[mu] = np.mean((shown - y)[400:] ** 2)
    assert errors[0.8] < 0.01 < errors[0.0]


# Merging.


def test_halves_of_a_gaussian_process_become_the_process_of_all_rows():
    spec = KRLSTracker(kernel=KERNEL, budget=150, regularization=0.05)
    a, b = learned(spec, X[:70], Y[:70]), learned(spec, X[70:120], Y[70:120])
    a.merge(b)
    mean, variance, _ = process(X[:120], Y[:120], 0.05, PROBE)
    np.testing.assert_allclose(a.scores(PROBE)[:, 0], mean, atol=1e-6)
    signal = a._state.squares[0] / a._state.total
    np.testing.assert_allclose(a.deviations(PROBE)[:, 0], np.sqrt(signal * variance), rtol=1e-5)


@pytest.mark.parametrize(
    "spec",
    [KRLS(kernel=KERNEL, budget=15, dependence=0.1), KRLSTracker(kernel=KERNEL, budget=150, regularization=0.05)],
)
def test_forks_become_the_model_of_all_rows(spec):
    """With the points settled, or with room for all: the rows of the model that both went on from count once."""
    through = learned(spec, X[:60], Y[:60])
    forks = [through.snapshot(), through.snapshot()]
    since = through.snapshot()
    for fork, rows in zip(forks, (slice(60, 90), slice(90, 120)), strict=True):
        fork.learn(X[rows], Y[rows])
        through.learn(X[rows], Y[rows])
    merged = forks[0].merge(forks[1], since=since)
    assert merged.n_seen == 120
    np.testing.assert_allclose(merged.scores(PROBE), through.scores(PROBE), atol=1e-5)


def test_the_rows_of_a_merged_window_leave_it():
    spec = SlidingKRLS(kernel=KERNEL, budget=20, regularization=0.1)
    a, b = learned(spec, X[:100], Y[:100]), learned(spec, X[100:200], Y[100:200])
    a.merge(b)
    assert a.size == 20
    a.learn(X[200:219], Y[200:219])
    assert np.abs(a.attributes["points"][:, None] - X[200:219]).sum(axis=2).min(axis=0).max() == 0.0
    a.learn(X[219:220], Y[219:220])
    mean, _, _ = process(X[200:220], Y[200:220], 0.1, PROBE)
    np.testing.assert_allclose(a.scores(PROBE)[:, 0], mean, atol=1e-9)


def test_shards_of_a_stream_know_together_what_one_model_would():
    """Beyond the budget too: what rows told is put together in terms of the points that are left."""
    rows = np.random.default_rng(8).uniform(-3, 3, size=(2000, 2))
    y = np.sin(rows[:, 0]) * rows[:, 1] + 0.3 * np.random.default_rng(9).normal(size=2000)
    truth = np.sin(PROBE[:, 0]) * PROBE[:, 1]
    for spec in (KRLSTracker(kernel=KERNEL, budget=50), KRLS(kernel=KERNEL, budget=50)):
        parts = [learned(spec, rows[i : i + 500], y[i : i + 500]) for i in range(0, 2000, 500)]
        alone = np.mean([np.mean((part.scores(PROBE)[:, 0] - truth) ** 2) for part in parts])
        merged = parts[0]
        for part in parts[1:]:
            merged = merged.merge(part)
        assert merged.size <= 50
        assert np.mean((merged.scores(PROBE)[:, 0] - truth) ** 2) < 0.9 * alone


@pytest.mark.parametrize("name", RECURSIVE)
def test_a_merged_model_of_classes_goes_on_learning(name):
    classes = np.array(["left", "right", "up"])
    y = classes[np.where(X[:, 1] > 1, 2, (X[:, 0] > 0).astype(int))]
    a, b = (Learner(make(name, kernel=KERNEL, budget=40), Multiclass(classes)) for _ in range(2))
    a.learn(X[:150], y[:150])
    b.learn(X[150:300], y[150:300])
    shown = a.merge(b).predict_learn(X[300:], y[300:])
    assert np.mean(shown == y[300:]) > 0.8


def test_pkawv_errs_more_than_the_papers_which_learns_all_rows_anew_with_each_point():
    """What its header says: from the paper's own rule, on the points that are drawn here."""
    spec = PKAWV(kernel=Gaussian(sigma=0.6), budget=400, regularization=0.1, sampling=0.15)
    ((rows, y),) = open_source("mackey-glass:rows=200,features=11", block_rows=200)
    drawn, Z, papers = Points(spec, 0, rows), np.zeros((0, 0)), np.zeros(200)
    for t, x in enumerate(rows):
        z, P = drawn.embed(x), np.linalg.inv(Z.T @ Z + 0.1 * np.eye(Z.shape[1]))
        papers[t] = z @ P @ Z.T @ y[:t] / (1 + z @ P @ z)
        first = 0 if drawn.draw(x) else t
        anew = [drawn.embed(row) for row in rows[first : t + 1]]
        Z = np.vstack([Z[:first].reshape(first, len(drawn.points)), anew])
    learner = Learner(spec, Regression(), seed=0, dtype="float64")
    ours = learner.learn(rows, y)[:, 0]
    assert learner.size == len(drawn.points) > 20
    assert 1.05 < np.sqrt(np.mean((ours - y) ** 2) / np.mean((papers - y) ** 2)) < 1.4
