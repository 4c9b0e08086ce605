"""Intervals hold what they say: compiled equals the reference, the paper's bound holds whatever comes, real streams are
covered by every learner, and nothing depends on how a stream is cut.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from kernelstream import (
    ALGORITHMS,
    Binary,
    Learner,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
    Regression,
    laws,
    load,
    make,
)
from kernelstream.cli import app
from kernelstream.kernels import Gaussian
from kernelstream.losses import Quantile
from kernelstream.metrics import IntervalScore, IntervalWidth
from kernelstream.numerics.conformal import LEVELS, MOST, RECENT, STEP, no_residuals, take_residuals
from kernelstream.numerics.intervals import Intervals
from kernelstream.reference import conformal
from kernelstream.tasks import REGRESSION

REGRESSIONS = [name for name, spec in ALGORITHMS.items() if REGRESSION in spec.tasks and name != "stack"]


def foreseen(residuals):
    """(n, levels, 2), and what was learned."""
    learned, reaches = no_residuals(), np.zeros((len(residuals), len(LEVELS), 2))
    take_residuals(learned, np.array(LEVELS), np.asarray(residuals, np.float64), reaches)
    return reaches, learned


def drifting(n=3000):
    """Residuals whose unit is one, then twenty, then a tenth, and that are skewed at last."""
    rng = np.random.default_rng(3)
    e = rng.normal(size=n) * np.repeat([1.0, 20.0, 0.1], n // 3)
    return np.concatenate([e, rng.exponential(size=n // 3)])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["drifting", "equal", "rising"])
def test_compiled_equals_the_reference(kind, level):
    e = {"drifting": drifting(), "equal": np.ones(500), "rising": np.arange(1500.0) ** 2}[kind]
    shown = foreseen(e)[0][:, LEVELS.index(level)]
    np.testing.assert_allclose(shown, conformal.intervals(e, level, RECENT, STEP), rtol=1e-9)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40), st.integers(1, 40))
@settings(max_examples=50, deadline=None)
def test_the_share_beyond_a_side_is_within_the_bound_whatever_comes(some, times):
    """misses / T <= a + (1.5 a + r) / (gamma T): r is what doublings need for the largest span of residuals."""
    e = np.array(some * times, np.float64)
    _, learned = foreseen(e)
    T, apart = len(e), np.diff(np.unique(e))
    doublings = 2.0 + (np.log2(np.ptp(e) / apart.min()) if len(apart) else 0.0)
    for k, level in enumerate(LEVELS):
        a = (1.0 - level) / 2.0
        gamma = STEP * a
        for side in range(2):
            assert learned.missed[k, side] / T <= a + (MOST * a + gamma * doublings) / (gamma * T) + 1e-12
            assert -gamma * doublings <= learned.shares[k, side] <= MOST * a


def test_the_bound_is_reached_from_below_where_every_row_is_worse_than_all_before():
    """Nothing that was seen tells how far the next goes: doublings do, and misses come to their share."""
    e = 1.5 ** np.arange(1700.0)
    _, learned = foreseen(e)
    for k, level in enumerate(LEVELS):
        assert learned.missed[k, 1] / len(e) == pytest.approx((1.0 - level) / 2.0, abs=0.05)


def test_intervals_are_infinite_until_a_level_can_be_told_and_never_again():
    reaches, _ = foreseen(drifting())
    for k, level in enumerate(LEVELS):
        first = round(2.0 / (1.0 - level)) - 1
        assert np.isinf(reaches[:first, k]).all() and np.isfinite(reaches[first:, k]).all()


def test_coverage_holds_through_a_jump_of_the_noise():
    """Twenty times the noise from one row to the next: within 300 rows intervals hold again, and overall."""
    e = drifting()
    reaches, learned = foreseen(e)
    low, high = reaches[:, LEVELS.index(0.9)].T
    held = (low <= e) & (e <= high)
    assert 0.9 <= held.mean() <= 0.93
    after = held[1300:1800].mean()
    frozen = (np.abs(e[1300:1800]) <= np.quantile(np.abs(e[:1000]), 0.9)).mean()
    assert after > 0.87 and frozen < 0.2  # what intervals that do not follow would hold
    assert 1.0 - learned.missed[2].sum() / len(e) == held.mean()


@pytest.mark.parametrize("stream", laws.STREAMS)
@pytest.mark.parametrize("name", [*REGRESSIONS, "stack"])
def test_coverage_is_a_law_on_real_streams(name, stream, data_directory, monkeypatch):
    monkeypatch.setenv("KERNELSTREAM_DATA", str(data_directory))
    laws.intervals_hold_what_they_say(make(name), stream)


def test_the_law_catches_intervals_that_learn_no_more(data_directory, monkeypatch):
    monkeypatch.setenv("KERNELSTREAM_DATA", str(data_directory))
    learn = Intervals.learn

    def early(self, scores, targets, weights, start):
        if start < RECENT:
            learn(self, scores, targets, weights, start)

    monkeypatch.setattr(Intervals, "learn", early)
    with pytest.raises(AssertionError, match=r"fogd on bike, level .*: .* of 4000 rows are held"):
        laws.intervals_hold_what_they_say(make("fogd"), "bike")


@pytest.mark.parametrize("way", ["too few", "too many"])
def test_the_law_catches_intervals_that_hold(way, data_directory, monkeypatch):
    monkeypatch.setenv("KERNELSTREAM_DATA", str(data_directory))
    around, factor = Intervals.around, 0.8 if way == "too few" else 1.5
    monkeypatch.setattr(Intervals, "around", lambda self, f, level: f + factor * (around(self, f, level) - f))
    with pytest.raises(AssertionError, match="of 4000 rows are held"):
        laws.intervals_hold_what_they_say(make("fogd"), "airlines-nyc2013")


def regression(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("scaling", ["none", "online"])
def test_neither_the_cut_nor_a_file_nor_single_rows_change_a_bit(tmp_path, scaling):
    X, y = regression()
    whole, blocks, single = (Learner("rbp", Regression(), scaling=scaling) for _ in range(3))
    whole.learn(X, y)
    for t in range(0, 400, 37):
        blocks.learn(X[t : t + 37], y[t : t + 37])
        blocks.save(tmp_path / "model.ks")
        blocks = Learner.load(tmp_path / "model.ks")
    for x, target in zip(X, y, strict=True):
        single.learn_one(x, target)
    for other in (blocks, single):
        for level in LEVELS:
            np.testing.assert_array_equal(other.intervals(X[:5], level), whole.intervals(X[:5], level))
            assert other.coverage(level) == whole.coverage(level)


def test_rows_of_no_weight_tell_nothing():
    X, y = regression()
    spec = make("rbp", kernel=Gaussian(gamma=1.0), learning_rate=1.0)
    some, all_rows = (Learner(spec, Regression()) for _ in range(2))
    some.learn(X[:200], y[:200])
    all_rows.learn(X[:200], y[:200])
    all_rows.learn(X[200:], y[200:], np.zeros(200))
    np.testing.assert_array_equal(some.intervals(X), all_rows.intervals(X))


def test_merged_models_keep_the_last_residuals_of_both_by_their_rows():
    rng = np.random.default_rng(0)
    a, b = Intervals(), Intervals()
    for one, mean, n in ((a, 5.0, 1500), (b, -5.0, 3000)):
        targets = mean + 0.01 * rng.normal(size=n)
        one.learn(np.zeros((n, 1)), targets, np.ones(n), 0)
    merged = a.merged(b, 3000 / 4500)
    kept = merged.residuals
    assert int(kept.n) == 4500 and (kept.recent < 0).sum() == 333
    np.testing.assert_array_equal(np.sort(kept.recent), kept.ordered)
    few = Intervals()
    few.learn(np.zeros((10, 1)), np.arange(10.0), np.ones(10), 0)
    both = few.merged(few.copy(), 0.5)
    np.testing.assert_array_equal(both.residuals.recent[:20], [*range(10), *range(10)])
    # Forks of one model count its rows once.
    forks = [few.copy(), few.copy()]
    for fork, value in zip(forks, (100.0, 200.0), strict=True):
        fork.learn(np.zeros((5, 1)), np.full(5, value), np.ones(5), 0)
    joined = forks[0].merged(forks[1], 0.5, few).residuals
    assert int(joined.n) == 20
    np.testing.assert_array_equal(joined.recent[:20], [*range(10), *[100.0] * 5, *[200.0] * 5])


def test_workers_intervals_are_those_of_one_model():
    """Two learners of the same stream, merged: near what one of all rows foresees."""
    X, y = regression(4000)
    spec = make("ridge", kernel=Gaussian(gamma=1.0))
    parts = [Learner(spec, Regression()) for _ in range(2)]
    for part, start in zip(parts, (0, 2000), strict=True):
        part.learn(X[start : start + 2000], y[start : start + 2000])
    one = Learner(spec, Regression())
    one.learn(X, y)
    merged = parts[0].merge(parts[1])
    widths = [np.ptp(learner.intervals(X[:1]), axis=1)[0] for learner in (merged, one)]
    assert widths[0] == pytest.approx(widths[1], rel=0.25)
    assert 0.9 <= merged.coverage() <= 0.93


# What people call.


def test_an_estimators_intervals_and_those_of_several_targets(tmp_path):
    X, y = regression(4000)
    known, new = slice(3000), slice(3000, 4000)
    model = OnlineKernelRegressor("fogd", n_components=100, random_state=0).fit(X[known], y[known])
    low, high = model.predict_interval(X[new]).T
    assert ((low <= y[new]) & (y[new] <= high)).mean() == pytest.approx(0.9, abs=0.05)
    wide = model.predict_interval(X[new], level=0.99)
    assert (wide[:, 0] < low).all() and (wide[:, 1] > high).all()
    both = OnlineKernelRegressor("fogd", n_components=100, random_state=0).fit(X[known], np.stack([y, y], 1)[known])
    shown = both.predict_interval(X[new])
    assert shown.shape == (1000, 2, 2)
    np.testing.assert_array_equal(shown[:, 0], np.stack([low, high], 1))
    both.save(tmp_path / "model.ks")
    np.testing.assert_array_equal(load(tmp_path / "model.ks").predict_interval(X[new]), shown)


def test_an_interval_in_rivers_words():
    from river.conf.interval import Interval

    from kernelstream.river import KernelRegressor

    X, y = regression()
    model = KernelRegressor(make("rbp", budget=50))
    assert model.predict_one({"a": 1.0}, with_interval=True) == Interval(-np.inf, np.inf)
    for row, target in zip(X.tolist(), y, strict=True):
        model.learn_one(dict(zip("abc", row, strict=True)), target)
    shown = model.predict_one(dict(zip("abc", X[0], strict=True)), with_interval=True)
    assert shown.lower < model.predict_one(dict(zip("abc", X[0], strict=True))) < shown.upper


def test_what_has_no_intervals_says_so():
    X, y = regression()
    learner = Learner("rbp", Regression())
    learner.learn(X, y)
    with pytest.raises(ValueError, match=r"level=0.7 must be one of 0.5, 0.8, 0.9, 0.95, 0.99"):
        learner.intervals(X, level=0.7)
    with pytest.raises(ValueError, match="Classes have no intervals"):
        Learner("rbp", Binary([0, 1])).intervals(X)
    assert not hasattr(OnlineKernelClassifier("rbp"), "predict_interval")
    with pytest.raises(AttributeError, match="Classes have no intervals"):
        OnlineKernelClassifier("rbp").predict_interval(X)
    assert np.isinf(Learner("rbp", Regression()).intervals(X[:2])).all()


def test_the_command_writes_both_ends(tmp_path):
    X, y = regression()
    np.savetxt(tmp_path / "rows.csv", np.column_stack([y, X]), delimiter=",")
    runner, model = CliRunner(), str(tmp_path / "model.ks")
    data = [str(tmp_path / "rows.csv"), "--label", "0", "--task", "regression"]
    assert runner.invoke(app, ["run", *data, "--algorithm", "rbp", "--save", model]).exit_code == 0
    out = tmp_path / "out.csv"
    told = runner.invoke(app, ["predict", model, data[0], "--label", "0", "--intervals", "0.9", "--out", str(out)])
    assert told.exit_code == 0, told.output
    lines = out.read_text().splitlines()
    assert lines[0] == "prediction,low,high"
    shown, low, high = np.array([line.split(",") for line in lines[1:]], float).T
    assert (low < shown).all() and (shown < high).all()
    refused = runner.invoke(app, ["predict", model, data[0], "--label", "0", "--intervals", "0.42", "--out", str(out)])
    assert refused.exit_code != 0 and "0.42" in refused.output


# Metrics, and the loss whose least value is a quantile.


def test_widths_and_scores_are_winklers():
    e = drifting()
    f = np.zeros(len(e))
    low, high = foreseen(e)[0][:, LEVELS.index(0.8)].T
    finite = np.isfinite(high)
    width = (high - low)[finite]
    beyond = (np.maximum(low - e, 0) + np.maximum(e - high, 0))[finite]
    assert IntervalWidth(level=0.8).update(e, f).value == pytest.approx(width.mean())
    assert IntervalScore(level=0.8).update(e, f).value == pytest.approx((width + 10.0 * beyond).mean())


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("name", ["ogd", "fogd", "nogd", "polk", "norma"])
def test_a_learner_of_a_quantile_lies_below_as_many_targets(name, level):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(4000, 1))
    y = np.sin(3 * X[:, 0]) + 0.5 * rng.exponential(size=4000)
    own = {"ogd": {"learning_rate": 0.05}, "norma": {"learning_rate": 0.05, "regularization": 1e-3, "budget": 1000}}
    learner = Learner(make(name, loss=Quantile(level), **own.get(name, {})), Regression())
    shown = learner.learn(X, y)[2000:, 0]
    assert (y[2000:] <= shown).mean() == pytest.approx(level, abs=0.06)
