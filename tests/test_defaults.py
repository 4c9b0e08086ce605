"""What learners do with nothing set: regression with every loss, on real targets in their own unit."""

from functools import lru_cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes

from kernelstream import ALGORITHMS, Learner, OnlineKernelRegressor, Regression, make
from kernelstream.losses import Huber, as_loss
from kernelstream.reference import losses as reference_losses
from kernelstream.sources.datasets import open_dataset

LEARNERS = [name for name, spec in ALGORITHMS.items() if "regression" in spec.tasks]
LOSSES = [(name, loss) for name in LEARNERS for loss in ALGORITHMS[name].losses("regression")]

# Where a learner errs more than the constant; their Remarks say so as well. All three learn with scaling="online".
FAR = "targets are two deviations and more from 0, where it begins: "
EXEMPT = {
    ("budget-perceptron", "epsilon-insensitive", "abalone"): FAR
    + "terms that others push their own way go, all upwards",
    ("pkawv", "squared", "diabetes"): FAR + "the forecaster shrinks what it says of rows that it does not know",
    ("pros-n-kons", "squared", "housing"): FAR + "what is shown is cut off at four deviations",
}


@lru_cache
def rows_of(data):
    """scikit-learn's diabetes, the mirror's housing and abalone, in random order."""
    if data == "diabetes":
        rows, y = load_diabetes(return_X_y=True)
    else:
        blocks = list(open_dataset(data, {"housing": "raw", "abalone": "scaled"}[data]))
        rows, y = sp.vstack([rows for rows, _ in blocks]).toarray(), np.concatenate([y for _, y in blocks])
    order = np.random.default_rng(0).permutation(len(y))[:2000]
    return rows[order], y[order]


def standardised(rows, y):
    return (rows - rows.mean(axis=0)) / rows.std(axis=0), (y - y.mean()) / y.std()


def spec_of(name, loss):
    return make(name, **({"loss": loss} if hasattr(ALGORITHMS[name], "loss") else {}))


def error(shown, y, loss):
    """Mean loss in the second half of the rows, over that of the constant that was best for the rows before each."""
    value = reference_losses.of(as_loss("absolute" if loss == "tube" else loss), "regression")
    best = np.mean if loss == "squared" else np.median
    half = range(len(y) // 2, len(y))
    ours, theirs = (
        np.mean([value(y[t], np.array([say(t)]))[0] for t in half])
        for say in (shown.__getitem__, lambda t: best(y[:t]))
    )
    return ours / theirs


@pytest.mark.parametrize("units", ["as they come", "standardised"])
@pytest.mark.parametrize("data", ["diabetes", "housing", "abalone"])
@pytest.mark.parametrize(("name", "loss"), LOSSES)
def test_the_defaults_learn_regression_whatever_the_units(name, loss, data, units, data_directory):
    rows, y = rows_of(data) if units == "as they come" else standardised(*rows_of(data))
    found = error(Learner(spec_of(name, loss), Regression()).learn(rows, y)[:, 0], y, loss)
    far = (name, loss, data) in EXEMPT and units == "as they come"
    assert (found > 1.0) == far, found
    if far:
        scaled = Learner(spec_of(name, loss), Regression(), scaling="online").learn(rows, y)[:, 0]
        assert error(scaled, y, loss) < 1.0


@pytest.mark.parametrize("loss", ["absolute", "huber", "epsilon-insensitive", "quantile"])
def test_an_estimator_learns_too(loss):
    rows, y = rows_of("diabetes")
    model = OnlineKernelRegressor("ogd", loss=loss, random_state=0)
    assert error(model.predict_learn(rows, y), y, loss) < 0.9


# Losses that have no unit of their own; rrf's widths move along a gradient that grows with the targets.
UNITLESS = [(name, loss) for name, loss in LOSSES if loss in ("absolute", "quantile", "squared") and name != "rrf"]


@pytest.mark.parametrize("unit", [2.0**-20, 2.0**20])
@pytest.mark.parametrize(("name", "loss"), UNITLESS)
def test_targets_in_another_unit_give_the_same_in_that_unit(name, loss, unit):
    rows, y = (array[:400] for array in standardised(*rows_of("diabetes")))
    one, other = (Learner(spec_of(name, loss), Regression(), dtype="float64").learn(rows, u * y) for u in (1.0, unit))
    np.testing.assert_allclose(other / unit, one, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "loss"), LOSSES)
def test_a_cut_changes_no_bit_of_what_follows_the_targets(name, loss):
    rows, y = rows_of("diabetes")
    whole, cut, late = (Learner(spec_of(name, loss), Regression()) for _ in range(3))
    expected = whole.learn(rows[:300], y[:300])
    pieces = [cut.learn(rows[t : t + 37], y[t : t + 37]) for t in range(0, 300, 37)]
    assert np.array_equal(np.concatenate(pieces)[:300], expected)
    if not ALGORITHMS[name].remembers:  # which learns from what was shown, too
        late.learn_late(rows[:300], y[:300], rows[100:400])
        assert np.array_equal(late.scores(rows), whole.scores(rows))


def test_a_penalty_on_f_bounds_the_step():
    """(lambda / 2) ||f||^2 lets no f go far beyond 1 / lambda: a longer step would turn its sign."""
    rows, y = rows_of("diabetes")
    for name in ("ogd", "norma"):
        learner = Learner(make(name, loss="absolute", regularization=0.5), Regression())
        learner.learn(rows, 1e4 * y)
        assert learner.settled.learning_rate < 1.0


@pytest.mark.parametrize(("delta", "rate"), [(0.01, 20.0), (1.0, 0.2), (100.0, 0.2)])
def test_a_step_along_a_slope_that_is_bounded_late_is_that_of_the_square(delta, rate):
    rows, y = standardised(*rows_of("diabetes"))
    learner = Learner(make("ogd", loss=Huber(delta)), Regression())
    learner.learn(rows, y)
    np.testing.assert_allclose(learner.settled.learning_rate, rate, rtol=0.1)


def test_targets_of_no_weight_have_no_part_in_the_unit():
    rows, y = rows_of("diabetes")
    weights = (np.arange(300) % 2).astype(float)
    told = np.where(weights > 0.0, y[:300], 1e9)
    rates = []
    for targets in (y[:300], told):
        learner = Learner(make("ogd", loss="absolute"), Regression())
        learner.learn(rows[:300], targets, weights)
        rates.append(learner.settled.learning_rate)
    assert rates[0] == rates[1]
