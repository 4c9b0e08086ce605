"""Learners with step 1 / (lambda tau): where they begin, how long they go on learning, what their coefficients mean."""

import numpy as np
import pytest

from kernelstream import ALGORITHMS, Binary, Learner, Multiclass, Regression, make
from kernelstream.algorithms import _risk
from kernelstream.engine.state import ModelFileError, leaves
from kernelstream.kernels import Gaussian
from kernelstream.reference.kernels import matrix

RISK = ["pegasos", "bsgd-m", "bsgd-r", "bsgd-p", "npbsgd", "dualsgd", "avm"]
X = np.random.default_rng(0).normal(size=(400, 3))
SIGNS = (X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=400) > 0).astype(int)


def spec_of(name, **parameters):
    known = ALGORITHMS[name]
    fine = {"coverage": 1e-9} if name == "avm" else {}
    sizes = {"budget": 400} if hasattr(known, "budget") else {}
    return make(name, kernel=Gaussian(0.5), **{**sizes, **fine, **parameters})


# Rounds that are halved.


@pytest.fixture
def few(monkeypatch):
    """b and tau are halved after few rounds."""
    for name in _risk.MOST_ROUNDS:
        monkeypatch.setitem(_risk.MOST_ROUNDS, name, 64)


@pytest.mark.parametrize("start", [0, 10])
@pytest.mark.parametrize("name", RISK)
def test_halving_makes_steps_no_shorter_and_changes_nothing_else(name, start, few):
    lam, tau, a, scores = 0.01, start, np.zeros(0), []
    for t, (x, y) in enumerate(zip(X, 2 * SIGNS - 1, strict=True)):
        f = a @ matrix(Gaussian(0.5), X[:t], x)[:, 0] if t else 0.0
        scores.append(f)
        tau += 1
        a = np.append((1 - 1 / tau) * a, (y * f < 1) * y / (lam * tau))
        tau = tau / 2 if tau == start + 64 else tau
    learner = Learner(spec_of(name, regularization=lam, start=start), Binary([0, 1]), dtype="float64")
    np.testing.assert_allclose(learner.learn(X, SIGNS)[:, 0], scores, rtol=1e-9, atol=1e-9)


def test_what_is_kept_beside_the_coefficients_is_halved_with_them(few):
    removal = Learner(spec_of("bsgd-r", budget=20), Binary([0, 1]), dtype="float64")
    removal.learn(X, SIGNS)
    state, n = removal._state, 20
    np.testing.assert_allclose(state.ranks[:n], -(state.f.coef[:, :n] ** 2).sum(axis=0), rtol=1e-12)
    squared = Learner(spec_of("avm", loss="squared", start=0, coverage=2.0), Regression(), dtype="float64")
    squared.learn(X, X[:, 0])
    f, n = squared._state.f, squared.size
    b = f.coef[0, :n]
    np.testing.assert_allclose(squared._state.norm, b @ matrix(Gaussian(0.5), f.points[:, :n].T, f.points[:, :n].T) @ b)


@pytest.mark.parametrize(("name", "output"), [("avm", "average"), ("avm", "suffix"), ("pegasos", "average")])
def test_averages_go_on_when_rounds_are_halved(name, output, few):
    cells = {"coverage": 2.0} if name == "avm" else {}
    last = Learner(spec_of(name, **cells), Binary([0, 1]), dtype="float64")
    shown = Learner(spec_of(name, output=output, **cells), Binary([0, 1]), dtype="float64")
    functions = []
    for t in range(400):
        last.learn(X[t : t + 1], SIGNS[t : t + 1])
        functions.append(last.scores(X[:5])[:, 0])
    shown.learn(X, SIGNS)
    begin = int(shown._state.start[0]) if name == "avm" else 0
    np.testing.assert_allclose(shown.scores(X[:5])[:, 0], np.mean(functions[begin:], axis=0), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "parameters"), [("avm", {"coverage": 1.0}), ("bsgd-m", {"budget": 2}), ("dualsgd", {})]
)
def test_a_float32_model_goes_on_learning_after_2_to_the_24_rounds(name, parameters):
    """With lambda = 1 and every row the same, the risk is least for f = 1; a sum of 2^24 takes in no 1."""
    sizes = {"budget": 1, "leaving": 1, "n_components": 500} if name == "dualsgd" else {}
    learner = Learner(make(name, kernel=Gaussian(1.0), regularization=1.0, **parameters, **sizes), Binary([0, 1]))
    rows, ones = np.zeros((2**20, 1)), np.ones(2**20, int)
    learner.learn(rows[:4096], ones[:4096])
    # As a run of 2^25 rounds leaves it, 3 * 2^20 rounds before its end.
    state = learner._state
    grown = learner.spec.unit(state._replace(t=np.array(2**25))) / learner.spec.unit(state)
    state.f.coef[...] *= grown
    if name == "dualsgd":
        state.weights[...] *= grown
    state.t[()] = 2**25
    for _ in range(3):
        learner.learn(rows, ones)
    assert abs(learner.scores(rows[:1])[0, 0] - 1.0) < 0.02
    for _ in range(3):
        learner.learn(rows, 1 - ones)
    assert learner.scores(rows[:1])[0, 0] < 0.5


def test_a_real_run_of_more_than_2_to_the_24_rounds_does_not_fade():
    learner = Learner(make("avm", kernel=Gaussian(1.0), regularization=1.0, coverage=1.0), Binary([0, 1]))
    rows, ones = np.zeros((2**20, 1)), np.ones(2**20, int)
    for _ in range(34):
        learner.learn(rows, ones)
    assert learner.n_seen == 34 * 2**20 and abs(learner.scores(rows[:1])[0, 0] - 1.0) < 1e-3


# Where they begin.


@pytest.mark.parametrize("name", RISK)
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_no_loss_diverges_at_the_defaults(name, task):
    kinds = {"binary": Binary([0, 1]), "multiclass": Multiclass([0, 1]), "regression": Regression()}
    y = X[:, 0] if task == "regression" else SIGNS
    for loss in ALGORITHMS[name].losses(task):
        learner = Learner(make(name, loss=loss), kinds[task])
        shown = learner.learn(X, y)
        if task == "regression":
            assert np.mean(np.abs(shown[200:, 0] - y[200:])) < np.mean(np.abs(y[200:])), loss
        else:
            assert np.mean(learner.task.decode(shown)[200:] == y[200:]) > 0.7, loss


@pytest.mark.parametrize(("task", "loss", "start"), [
    ("binary", "hinge", 0), ("binary", "logistic", 0), ("multiclass", "softmax", 0), ("binary", "squared-hinge", 1000),
    ("multiclass", "squared-hinge", 2000), ("regression", "squared", 5000),
])  # fmt: skip
def test_steps_are_the_papers_where_slopes_are_bounded(task, loss, start):
    kinds = {"binary": Binary([0, 1]), "multiclass": Multiclass([0, 1]), "regression": Regression()}
    learner = Learner(make("pegasos", loss=loss), kinds[task])
    learner.learn(X[:5], X[:5, 0] if task == "regression" else SIGNS[:5])
    assert learner.settled.start == start


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("loss", ["absolute", "huber"])
def test_bounded_slopes_follow_the_unit_of_the_targets(loss, unit):
    """What is learned from targets in another unit is the same in that unit; Huber's delta is a unit of its own."""
    y = X[:, 0]
    expected, shown = (
        Learner(make("pegasos", loss=loss), Regression(), dtype="float64").learn(X, factor * y)
        for factor in (1.0, unit)
    )
    if loss == "absolute":
        np.testing.assert_allclose(shown, unit * expected, rtol=1e-6, atol=1e-9 * unit)
    assert np.mean(np.abs(shown[200:, 0] - unit * y[200:])) < 0.6 * np.mean(np.abs(unit * y[200:]))


# What Pegasos shows.


@pytest.mark.parametrize("start", [0, 10])
def test_the_average_is_that_of_the_papers_algorithm_1(start):
    """Its mean of T functions begins with f = 0 and ends before the last step."""
    lam, a, functions = 0.01, np.zeros(400), []
    K = matrix(Gaussian(0.5), X, X)
    for t, y in enumerate(2 * SIGNS - 1):
        functions.append(a)
        eta = 1 / (lam * (start + t + 1))
        alpha = -y * (y * (a @ K[t]) < 1)
        a = (1 - eta * lam) * a - eta * alpha * (np.arange(400) == t)
    mean = Learner(
        spec_of("pegasos", regularization=lam, start=start, output="average"), Binary([0, 1]), dtype="float64"
    )
    mean.learn(X[:399], SIGNS[:399])
    np.testing.assert_allclose(399 / 400 * mean.scores(X)[:, 0], K @ np.mean(functions, axis=0), rtol=1e-9, atol=1e-9)


def test_with_cells_of_one_row_the_averages_of_avm_and_pegasos_are_the_same():
    small, plain = (
        Learner(spec_of(name, output="average"), Binary([0, 1]), dtype="float64") for name in ("avm", "pegasos")
    )
    np.testing.assert_allclose(small.learn(X, SIGNS), plain.learn(X, SIGNS), rtol=1e-9, atol=1e-9)
    shown = matrix(Gaussian(0.5), X, plain.attributes["points"]) @ plain.attributes["average"]
    np.testing.assert_allclose(plain.scores(X), shown, rtol=1e-9, atol=1e-9)
    assert not np.allclose(plain.attributes["average"], plain.attributes["coef"])


def test_a_float32_average_follows_the_float64_one_over_many_rounds():
    """Sums that grow with the rounds are kept in float64."""
    rows, signs = np.tile(X, (50, 1)), np.tile(SIGNS, 50)
    single, double = (
        Learner(spec_of("avm", coverage=1.0, output="average"), Binary([0, 1]), dtype=dtype)
        for dtype in ("float32", "float64")
    )
    single.learn(rows, signs)
    double.learn(rows, signs)
    assert np.abs(single.scores(X) - double.scores(X)).max() < 1e-3 * np.abs(double.scores(X)).max()


@pytest.mark.parametrize("wrong", ["mean", "suffix", None])
def test_a_wrong_output_is_named(wrong):
    with pytest.raises(ValueError, match=f"output={wrong!r} must be one of 'last', 'average'"):
        make("pegasos", output=wrong)


def test_a_file_with_an_average_that_no_run_left_is_refused():
    learner = Learner(spec_of("pegasos", output="average"), Binary([0, 1]))
    learner.learn(X, SIGNS)
    arrays = {name: np.array(array) for name, array in leaves(learner._state).items()}
    learner.settled.restore(dict(arrays), learner._runner.shape)
    for name, value in (("harmonic", -1.0), ("window", np.nan)):
        with pytest.raises(ModelFileError, match=name):
            learner.settled.restore({**arrays, name: np.full_like(arrays[name], value)}, learner._runner.shape)
    with pytest.raises(ModelFileError, match="window"):
        learner.settled.restore({**arrays, "window": arrays["window"][:, :-1]}, learner._runner.shape)


# What coefficients mean.


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "auto"])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_scores_are_coef_times_the_kernel_row(name, task):
    if task not in ALGORITHMS[name].tasks:
        pytest.skip(f"{name} does not do {task}")
    kinds = {"binary": Binary([0, 1]), "multiclass": Multiclass([0, 1]), "regression": Regression()}
    sizes = {"budget": 30} if hasattr(ALGORITHMS[name], "budget") else {}
    learner = Learner(make(name, kernel=Gaussian(0.5), **sizes), kinds[task], dtype="float64")
    learner.learn(X, X[:, 0] if task == "regression" else SIGNS)
    shown = learner.attributes
    if "coef" not in shown or name == "dualsgd":
        pytest.skip(f"{name} is not an expansion alone")
    expected = matrix(Gaussian(0.5), shown["points"], X).T @ shown["coef"] + shown.get("bias", 0.0)
    np.testing.assert_allclose(learner.scores(X), expected, rtol=1e-9, atol=1e-9)
