"""Kernel least mean squares and its kin: what the laws of all learners do not say of them."""

import numpy as np
import pytest

from kernelstream import KAPA, KLMS, OGD, QKLMS, Learner, Regression, make
from kernelstream.kernels import Gaussian, Linear, Polynomial
from kernelstream.reference.kernels import matrix

KERNEL = Gaussian(gamma=0.5)
DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(400, 2))
Y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * DRAWS.normal(size=400)


def shown(spec, X=X, y=Y):
    return Learner(spec, Regression(), dtype="float64").learn(X, y)[:, 0]


def test_klms_is_descent_on_the_squared_loss():
    expected = shown(OGD(kernel=KERNEL, loss="squared", learning_rate=0.4))
    np.testing.assert_array_equal(shown(KLMS(kernel=KERNEL, learning_rate=0.4)), expected)


def test_without_quantization_qklms_is_klms():
    expected = shown(KLMS(kernel=KERNEL, learning_rate=0.4))
    quantized = QKLMS(kernel=KERNEL, learning_rate=0.4, quantization=0.0, budget=None)
    np.testing.assert_allclose(shown(quantized), expected, atol=1e-12)


def test_points_of_qklms_are_further_apart_than_its_quantization():
    learner = Learner(QKLMS(kernel=KERNEL, quantization=0.6), Regression(), dtype="float64")
    learner.learn(X, Y)
    points = learner.attributes["points"]
    apart = np.sqrt(2 - 2 * matrix(KERNEL, points, points))[~np.eye(len(points), dtype=bool)]
    assert apart.min() > 0.6 and 5 < len(points) < 100
    # ... so that of the Gaussian it is one of the rows themselves.
    width = np.sqrt(-np.log(1 - 0.6**2 / 2) / 0.5)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)[~np.eye(len(points), dtype=bool)]
    assert distances.min() > width


@pytest.mark.parametrize("kernel", [KERNEL, Linear()])
def test_points_of_knlms_are_less_coherent_than_allowed(kernel):
    learner = Learner(make("knlms", kernel=kernel, coherence=0.5, learning_rate=0.1), Regression(), dtype="float64")
    learner.learn(X, Y)
    points = learner.attributes["points"]
    K = matrix(kernel, points, points)
    coherence = np.abs(K) / np.sqrt(np.outer(np.diag(K), np.diag(K)))
    assert coherence[~np.eye(len(K), dtype=bool)].max() <= 0.5
    # A row that was not taken is within sqrt(1 - 0.5^2) of the span.
    k = matrix(kernel, points, X)
    own = np.array([matrix(kernel, x, x)[0, 0] for x in X])
    outside = own - (k * np.linalg.solve(K, k)).sum(axis=0)
    assert (outside <= (1 - 0.5**2) * own + 1e-9).all()


@pytest.mark.parametrize("rows", [1, 3])
def test_a_whole_step_mends_the_last_rows(rows):
    spec = KAPA(kernel=KERNEL, rows=rows, learning_rate=1.0, regularization=0.0, coherence=0.95)
    learner = Learner(spec, Regression(), dtype="float64")
    learner.learn(X[:50], Y[:50])
    np.testing.assert_allclose(learner.scores(X[50 - rows : 50])[:, 0], Y[50 - rows : 50], atol=1e-6)


@pytest.mark.parametrize("kernel", [KERNEL, Polynomial(gamma=0.1)], ids=str)
@pytest.mark.parametrize("kind", [KLMS, QKLMS])
def test_a_row_of_weight_three_is_three_rows(kind, kernel):
    spec = kind(kernel=kernel, learning_rate=0.05)
    heavy, several = (Learner(spec, Regression(), dtype="float64") for _ in range(2))
    heavy.learn(X[:1], Y[:1], [3.0])
    several.learn(np.repeat(X[:1], 3, axis=0), np.repeat(Y[:1], 3))
    np.testing.assert_allclose(heavy.scores(X), several.scores(X), rtol=1e-12)


@pytest.mark.parametrize("rows", [1, 3])
def test_three_steps_of_an_affine_projection_are_one_of_weight_three(rows):
    """Without a ridge each leaves 1 - eta of the errors."""
    spec = KAPA(kernel=KERNEL, rows=rows, learning_rate=0.3, regularization=0.0, coherence=0.95)
    learner = Learner(spec, Regression(), dtype="float64")
    learner.learn(X[:50], Y[:50])
    before = Y[51 - rows : 51] - learner.scores(X[51 - rows : 51])[:, 0]
    learner.learn(X[50:51], Y[50:51], [3.0])
    after = Y[51 - rows : 51] - learner.scores(X[51 - rows : 51])[:, 0]
    np.testing.assert_allclose(after, 0.7**3 * before, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"coherence": 2.0}, r"coherence=2\.0 must be at most 1"),
        ({"learning_rate": 5.0}, r"learning_rate=5\.0 must be"),
    ],
)
def test_what_an_affine_projection_cannot_do_is_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        make("kapa", **parameters)


def test_the_names_of_one_spec():
    assert make("knlms").rows == 1 and KAPA(rows=1).name == "knlms"
    assert make("kapa").rows > 1 and KAPA(rows=2).name == "kapa"


@pytest.mark.parametrize("spec", [QKLMS(Gaussian(2.0), budget=None), KAPA(Gaussian(2.0), budget=None)], ids=str)
def test_without_a_budget_points_are_as_many_as_the_rule_takes(spec):
    rows = np.random.default_rng(1).normal(size=(700, 8))
    learner = Learner(spec, Regression())
    learner.learn(rows, rows[:, 0])
    assert learner.size > 512  # beyond the room that it begins with


def test_the_last_rows_are_made_good_after_a_merge():
    spec = KAPA(kernel=KERNEL, rows=3, learning_rate=1.0, regularization=0.0, coherence=0.95)
    a, b = (Learner(spec, Regression(), dtype="float64") for _ in range(2))
    a.learn(X[:40], Y[:40])
    b.learn(X[40:80], Y[40:80])
    a.merge(b).learn(X[80:81], Y[80:81])
    last = [38, 39, 80]
    np.testing.assert_allclose(a.scores(X[last])[:, 0], Y[last], atol=1e-6)
