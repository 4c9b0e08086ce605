"""Losses as point functions: slopes by finite differences, kinks by table, extremes with mpmath, ties by convention."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelstream import FOGD, NOGD, Learner, Regression, losses, make
from kernelstream.kernels import Gaussian
from kernelstream.laws import LOSS_LAWS
from kernelstream.laws.examples import stream
from kernelstream.laws.kernels import parameters_survive_json
from kernelstream.laws.losses import loss_points, slopes
from kernelstream.losses import (
    LOSSES,
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    PerceptronLoss,
    Quantile,
    SmoothHinge,
    Softmax,
    Squared,
    SquaredHinge,
    as_loss,
)
from kernelstream.reference import losses as reference
from kernelstream.tasks import BINARY, MULTICLASS, REGRESSION

ROUNDING = {"float64": 1e-14, "float32": 1e-6}

VARIANTS = [
    *(kind() for kind in LOSSES.values()),
    SmoothHinge(2.0), EpsilonInsensitive(0.0), Huber(0.3), Squared(half=False), Quantile(0.9),
]  # fmt: skip
FORMS = [(loss, task) for loss in VARIANTS for task in loss.tasks]
MARGINS = [loss for loss in VARIANTS if BINARY in loss.tasks]
every_form = pytest.mark.parametrize(("loss", "task"), FORMS, ids=str)


def at(loss, m):
    """phi(m) and phi'(m), through whichever task the loss has: a margin or a residual m."""
    if BINARY in loss.tasks:
        values, gradients = slopes(loss, BINARY, [1.0], [[m]])
    else:
        values, gradients = slopes(loss, REGRESSION, [0.0], [[m]])
    return float(values[0]), float(gradients[0, 0])


@pytest.mark.parametrize("law", LOSS_LAWS)
@every_form
def test_law(law, loss, task):
    LOSS_LAWS[law](loss, task)


@pytest.mark.parametrize("loss", VARIANTS, ids=str)
def test_a_loss_survives_json(loss):
    parameters_survive_json(loss)


@every_form
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_equals_the_reference(loss, task, dtype):
    targets, scores = loss_points(task)
    scores = scores.astype(np.float32)
    values, gradients = slopes(loss, task, targets, scores, dtype)
    expected = [reference.of(loss, task)(y, f.astype(np.float64)) for y, f in zip(targets, scores, strict=True)]
    np.testing.assert_allclose(values, [value for value, _ in expected], rtol=ROUNDING[dtype], atol=ROUNDING[dtype])
    np.testing.assert_allclose(gradients, [g for _, g in expected], rtol=ROUNDING[dtype], atol=ROUNDING[dtype])


# (loss, margin or residual, value, slope): the kinks, and both sides of each.
KINKS = [
    (PerceptronLoss(), 0.0, 0.0, -1.0),  # a model that knows nothing must start to learn
    (PerceptronLoss(), -0.0, 0.0, -1.0),
    (PerceptronLoss(), 1e-300, 0.0, 0.0),
    (PerceptronLoss(), -1e-300, 1e-300, -1.0),
    (Hinge(), 1.0, 0.0, 0.0),
    (Hinge(), np.nextafter(1.0, 0.0), 2.0**-53, -1.0),
    (Hinge(), np.nextafter(1.0, 2.0), 0.0, 0.0),
    (Hinge(), 0.0, 1.0, -1.0),
    (SquaredHinge(), 1.0, 0.0, 0.0),
    (SquaredHinge(), 0.0, 0.5, -1.0),
    (SmoothHinge(0.5), 1.0, 0.0, 0.0),
    (SmoothHinge(0.5), 0.75, 0.0625, -0.5),
    (SmoothHinge(0.5), 0.5, 0.25, -1.0),
    (SmoothHinge(0.5), 0.0, 0.75, -1.0),
    (Logistic(), 0.0, np.log(2.0), -0.5),
    (Squared(), 0.0, 0.0, 0.0),
    (Squared(), 3.0, 4.5, 3.0),
    (Squared(half=False), 3.0, 9.0, 6.0),
    (Squared(half=False), -0.5, 0.25, -1.0),
    (Absolute(), 0.0, 0.0, 0.0),
    (Absolute(), -0.0, 0.0, 0.0),
    (Absolute(), 1e-300, 1e-300, 1.0),
    (Absolute(), -1e-300, 1e-300, -1.0),
    (EpsilonInsensitive(0.25), 0.25, 0.0, 0.0),
    (EpsilonInsensitive(0.25), -0.25, 0.0, 0.0),
    (EpsilonInsensitive(0.25), 0.5, 0.25, 1.0),
    (EpsilonInsensitive(0.25), -0.5, 0.25, -1.0),
    (EpsilonInsensitive(0.0), 0.0, 0.0, 0.0),
    (Huber(1.0), 1.0, 0.5, 1.0),
    (Huber(1.0), -1.0, 0.5, -1.0),
    (Huber(1.0), 2.0, 1.5, 1.0),
    (Huber(0.5), -2.0, 0.875, -0.5),
    (Huber(1.0), 0.5, 0.125, 0.5),
    (Quantile(0.75), 0.0, 0.0, 0.0),
    (Quantile(0.75), 2.0, 0.5, 0.25),
    (Quantile(0.75), -2.0, 1.5, -0.75),
]


@pytest.mark.parametrize(("loss", "m", "value", "slope"), KINKS, ids=str)
def test_kinks(loss, m, value, slope):
    assert at(loss, m) == (pytest.approx(value, rel=1e-15, abs=0.0), pytest.approx(slope, rel=1e-15, abs=0.0))


def test_every_loss_is_in_the_table_of_kinks():
    assert {type(row[0]) for row in KINKS} == set(LOSSES.values()) - {Softmax}


def exact(loss, m):
    """Value and slope in high precision, from the definitions once more."""
    m = mpmath.mpf(m)
    gap = max(mpmath.mpf(0), 1 - m)
    match loss:
        case PerceptronLoss():
            return max(mpmath.mpf(0), -m), -1 if m <= 0 else 0
        case Hinge():
            return gap, -1 if m < 1 else 0
        case SquaredHinge():
            return gap**2 / 2, -gap
        case SmoothHinge(tau=tau):
            return (gap - mpmath.mpf(tau) / 2, -1) if gap >= tau else (gap**2 / (2 * tau), -gap / tau)
        case Logistic():
            return mpmath.log1p(mpmath.exp(-m)), -1 / (1 + mpmath.exp(m))
        case Squared(half=half):
            return (m**2 / 2, m) if half else (m**2, 2 * m)
        case Absolute():
            return abs(m), mpmath.sign(m)
        case EpsilonInsensitive(epsilon=e):
            return max(mpmath.mpf(0), abs(m) - e), mpmath.sign(m) if abs(m) > e else 0
        case Huber(delta=d):
            return (m**2 / 2, m) if abs(m) <= d else (d * (abs(m) - mpmath.mpf(d) / 2), d * mpmath.sign(m))
        case Quantile(level=level):
            share = mpmath.mpf(1) - level if m > 0 else -mpmath.mpf(level)
            return share * m, share


EXTREMES = [s * m for m in (1e-300, 1e-20, 1e-8, 36.0, 40.0, 700.0, 745.0, 1e3, 1e10, 1e15) for s in (1, -1)]


@pytest.mark.parametrize("m", EXTREMES)
@pytest.mark.parametrize("loss", [loss for loss in VARIANTS if not isinstance(loss, Softmax)], ids=str)
def test_extremes(loss, m):
    """The digits survive where e^-m rounds to nothing beside 1, and nothing overflows."""
    with mpmath.workprec(4000):  # 1 + e^-1000 needs 1500 bits
        if isinstance(loss, Logistic) and abs(m) > 1e4:
            value, slope = (max(0.0, -m), -1.0 if m < 0 else 0.0)  # beyond what 4000 bits hold; exact in float64
        else:
            value, slope = (float(part) for part in exact(loss, m))
    assert at(loss, m) == (pytest.approx(value, rel=1e-14, abs=5e-324), pytest.approx(slope, rel=1e-14, abs=5e-324))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 700.0, 1e3, 1e10])
def test_softmax_extremes(scale):
    scores = scale * np.array([[1.0, -1.0, 0.5], [0.0, 0.0, 0.0], [-1.0, -1.0, 1.0]])
    for y in range(3):
        values, gradients = slopes(Softmax(), MULTICLASS, [y] * 3, scores)
        for f, value, gradient in zip(scores, values, gradients, strict=True):
            top = mpmath.mpf(max(f))
            parts = [mpmath.exp(mpmath.mpf(v) - top) for v in f]
            total = mpmath.fsum(parts)
            assert value == pytest.approx(float(mpmath.log(total) + top - mpmath.mpf(f[y])), rel=1e-14, abs=4e-16)
            expected = [float(p / total - (k == y)) for k, p in enumerate(parts)]
            assert gradient == pytest.approx(expected, rel=1e-14, abs=4e-16)


@given(
    st.lists(st.floats(-50, 50), min_size=2, max_size=6),
    st.data(),
)
def test_softmax_gradient_sums_to_zero(scores, data):
    y = data.draw(st.integers(0, len(scores) - 1))
    values, gradients = slopes(Softmax(), MULTICLASS, [y], [scores])
    assert values[0] >= 0.0
    assert abs(gradients.sum()) <= 4e-16 * len(scores)
    assert gradients[0, y] <= 0.0
    assert (np.delete(gradients[0], y) >= 0.0).all()


@given(st.sampled_from(FORMS), st.floats(-20, 20), st.floats(-20, 20), st.sampled_from([-1.0, 1.0]))
def test_a_tangent_never_lies_above_the_loss(form, a, b, sign):
    """f(b) >= f(a) + slope(a) (b - a): the slope is one of the loss, on kinks too."""
    loss, task = form
    scores = [[a, 0.0], [b, 0.0]] if task == MULTICLASS else [[a], [b]]
    targets = [float(sign > 0)] * 2 if task == MULTICLASS else [sign] * 2
    values, gradients = slopes(loss, task, targets, scores)
    assert values[1] >= values[0] + gradients[0, 0] * (b - a) - 1e-11 * max(1.0, abs(values).max())


@given(st.sampled_from(MARGINS), st.floats(-30, 30))
def test_multiclass_with_two_classes_is_the_binary_loss_of_the_difference(loss, m):
    binary = slopes(loss, BINARY, [1.0], [[m]])
    pair = slopes(loss, MULTICLASS, [1.0], [[0.0, m]])
    assert pair[0][0] == binary[0][0]
    assert pair[1][0].tolist() == [-binary[1][0, 0], binary[1][0, 0]]


@given(st.sampled_from(MARGINS), st.floats(-30, 30))
def test_the_two_labels_mirror_each_other(loss, f):
    values, gradients = slopes(loss, BINARY, [1.0, -1.0], [[f], [-f]])
    assert values[0] == values[1]
    assert gradients[0, 0] == -gradients[1, 0]


# (scores, target, the class that is held against it)
TIES = [
    ([0.0, 0.0, 0.0], 0, 1),
    ([0.0, 0.0, 0.0], 1, 0),
    ([0.0, 0.0, 0.0], 2, 0),
    ([1.0, 2.0, 2.0], 0, 1),
    ([2.0, 5.0, 2.0], 1, 0),
    ([-3.0, -1.0, -1.0, 0.5], 3, 1),
    ([4.0, 4.0, 4.0], 0, 1),
]


@pytest.mark.parametrize(("scores", "y", "other"), TIES)
def test_ties_go_to_the_lowest_class(scores, y, other):
    _, gradients = slopes(PerceptronLoss(), MULTICLASS, [y], [[*scores]])
    margin = scores[y] - scores[other]
    expected = np.zeros(len(scores))
    if margin <= 0:
        expected[y], expected[other] = -1.0, 1.0
    assert gradients[0].tolist() == expected.tolist()
    _, gradients = slopes(Squeezed(), MULTICLASS, [y], [[*scores]])
    assert np.flatnonzero(gradients[0] > 0).tolist() == [other]


class Squeezed(losses.Loss):
    """Slope -1 everywhere: shows which classes a margin is taken between."""

    tasks = (BINARY, MULTICLASS)

    @staticmethod
    def formula(constants, m, slope):
        slope[0] = -1.0
        return 1.0


@pytest.mark.parametrize("loss", [loss for loss in VARIANTS if MULTICLASS in loss.tasks], ids=str)
def test_the_only_class_has_nothing_to_be_told_from(loss):
    for score in (-2.0, 0.0, 3.0):
        values, gradients = slopes(loss, MULTICLASS, [0.0], [[score]])
        assert values[0] == 0.0
        assert gradients[0, 0] == 0.0


@pytest.mark.parametrize(
    ("loss", "task", "alternative"),
    [
        (Hinge(), REGRESSION, "squared, absolute, epsilon-insensitive, huber"),
        (Squared(), BINARY, "perceptron, hinge, squared-hinge, smooth-hinge, logistic"),
        (Softmax(), BINARY, "logistic"),
        (Softmax(), REGRESSION, "squared"),
        (Huber(), MULTICLASS, "softmax"),
    ],
    ids=str,
)
def test_a_loss_refuses_a_task_and_names_those_that_fit(loss, task, alternative):
    with pytest.raises(ValueError, match=f"not a loss for {task}.*{alternative}"):
        loss.lower(task, "float64")


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'hinges'.*perceptron, hinge"):
        as_loss("hinges")


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (SmoothHinge, {"tau": 0.0}),
        (Huber, {"delta": -1.0}),
        (EpsilonInsensitive, {"epsilon": float("nan")}),
        (Squared, {"half": 0.5}),
    ],
    ids=str,
)
def test_a_bad_parameter_is_named(kind, parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        kind(**parameters)


# The squared loss without its half.


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spec", [FOGD(n_components=30), NOGD(budget=20, rank=8)], ids=lambda spec: spec.name)
def test_steps_and_thresholds_that_lsokl_prints_are_ours_of_twice_and_half_the_size(spec, dtype):
    """Bit for bit: factors of 2 round nothing. Their epsilon is on r^2, their gradient 2 r."""
    eta, epsilon, (X, y) = 0.1, 0.05, stream(REGRESSION)
    spec = replace(spec, kernel=Gaussian(gamma=0.3))
    printed, ours = (
        Learner(replace(spec, **values), Regression(), seed=2, dtype=dtype)
        for values in (
            {"loss": Squared(half=False), "learning_rate": eta, "threshold": epsilon},
            {"learning_rate": 2 * eta, "threshold": epsilon / 2},
        )
    )
    assert np.array_equal(printed.learn(X, y), ours.learn(X, y))
    assert np.array_equal(printed.scores(X), ours.scores(X))
    assert np.array_equal(printed.losses, 2 * ours.losses)
    moved = printed.losses > epsilon
    assert 0.1 < moved[50:].mean() < 0.9, "the threshold divides the rows"


def test_the_box_of_lsokls_algorithm_5():
    """Written from the box alone: w <- w - eta 2 (w'z - y) z where (w'z - y)^2 > epsilon."""
    eta, epsilon, (X, y) = 0.002, 0.05, stream(REGRESSION)
    kernel = Gaussian(gamma=0.3)
    spec = FOGD(kernel=kernel, n_components=40, normalize=False, loss=Squared(half=False))
    learner = Learner(replace(spec, learning_rate=eta, threshold=epsilon), Regression(), seed=2, dtype="float64")
    u, w, expected = kernel.frequencies(2, range(6), 40), np.zeros(80), []
    for x, target in zip(X, y, strict=True):
        z = np.concatenate([np.sin(x @ u), np.cos(x @ u)])
        expected.append(w @ z)
        r = w @ z - target
        w = w - eta * 2 * r * z if r**2 > epsilon else w
    np.testing.assert_allclose(learner.learn(X, y)[:, 0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["ogd", "pegasos", "avm", "polk"])
def test_defaults_give_one_model_with_and_without_the_half(name):
    """POLK's epsilon goes with the step to a power of 3/2, and is named."""
    X, y = stream(REGRESSION)
    fixed = {"parsimony": 0.0} if name == "polk" else {}
    half, none = (
        Learner(make(name, loss=loss, **fixed), Regression(), dtype="float64").learn(X, y)
        for loss in (Squared(), Squared(half=False))
    )
    np.testing.assert_allclose(none, half, rtol=1e-9, atol=1e-12)
