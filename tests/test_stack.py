"""Stack: bounds of the experts' regret on losses that an adversary chooses, what combines what, weights over time."""

import numpy as np
import pytest
from scipy.integrate import quad

from kernelstream import (
    FOGD,
    NOGD,
    OGD,
    Binary,
    Learner,
    Multiclass,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
    Perceptron,
    Regression,
    Ridge,
    Stack,
    laws,
)
from kernelstream.algorithms.stack import MOMENTS
from kernelstream.evaluate.settings import flat, spec_from
from kernelstream.kernels import Gaussian, Laplacian, Polynomial
from kernelstream.laws.examples import stream
from kernelstream.numerics.combining import METHODS, find_weights, learn_losses, log_integral
from kernelstream.numerics.compile import compiled
from kernelstream.parameters import from_json

EXPERTS = ("adahedge", "squint", "boa")
SMALL = (Ridge(n_components=20), FOGD(n_components=20))


@compiled
def weights_of(state, w, factor):
    find_weights(state, w, factor)


@compiled
def take(state, w, losses):
    learn_losses(state, w, losses)


@compiled
def integral(R, V):
    return log_integral(R, V)


# Losses that an adversary chooses, who sees the weights.


def against_the_heavy(w, t, draws):
    losses = np.zeros(len(w))
    losses[np.argsort(w)[len(w) // 2 :]] = 1.0
    return losses


def against_the_heaviest(w, t, draws):
    return (np.arange(len(w)) == np.argmax(w)).astype(float)


def alternating(w, t, draws):
    """Follow the leader loses every round."""
    losses = np.full(len(w), 0.9)
    losses[:2] = (0.5, 0.0) if t == 0 else (t % 2, 1 - t % 2)
    return losses


def one_is_better(w, t, draws):
    return np.where(np.arange(len(w)) == 1, 0.4, 0.5) + 0.4 * draws.uniform(-1, 1, len(w))


def one_is_perfect(w, t, draws):
    return np.where(np.arange(len(w)) == len(w) - 1, 0.0, draws.uniform(size=len(w)))


def that_change_their_mind(w, t, draws):
    return (draws.uniform(size=len(w)) < np.where((np.arange(len(w)) + t // 500) % len(w) == 0, 0.2, 0.6)).astype(float)


ADVERSARIES = (
    against_the_heavy,
    against_the_heaviest,
    alternating,
    one_is_better,
    one_is_perfect,
    that_change_their_mind,
)


def played(method, adversary, M, T=3000):
    """Losses (T, M) and what the weights lost (T,)."""
    state, w, draws = METHODS[method](M), np.zeros(M), np.random.default_rng(3)
    losses, lost = np.zeros((T, M)), np.zeros(T)
    for t in range(T):
        weights_of(state, w, np.zeros((M, M)))
        assert w.sum() == pytest.approx(1.0) and (w >= 0).all()
        losses[t] = adversary(w, t, draws)
        lost[t] = w @ losses[t]
        take(state, w, losses[t])
    return losses, lost


games = pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda one: one.__name__)
sizes = pytest.mark.parametrize("M", [2, 3, 10])


@sizes
@games
def test_adahedge_keeps_its_bound(adversary, M):
    """de Rooij et al. 2014, Cor. 9 and Th. 8."""
    losses, lost = played("adahedge", adversary, M)
    regret = lost.sum() - losses.sum(axis=0).min()
    ranges = np.ptp(losses, axis=1)
    assert regret <= np.sqrt((ranges**2).sum() * np.log(M)) + ranges.max() * (4 / 3 * np.log(M) + 2)
    best, low, high = losses.sum(axis=0).min(), losses.min(axis=1).sum(), losses.max(axis=1).sum()
    share = ranges.max() * (best - low) * (high - best) / (high - low)
    assert regret <= 2 * np.sqrt(share * np.log(M)) + ranges.max() * (16 / 3 * np.log(M) + 2)


@sizes
@games
def test_squint_keeps_its_bound_for_every_expert(adversary, M):
    """Koolen, van Erven 2015, Th. 4; and the potential from which it follows never rises above 0."""
    losses, lost = played("squint", adversary, M)
    r, T = lost[:, None] - losses, len(losses)
    R, V = r.sum(axis=0), (r**2).sum(axis=0)
    first = np.sqrt(2 * V) * (1 + np.sqrt(2 * np.log(M * (0.5 + np.log(T + 1)))))
    assert (first + 5 * np.log(1 + M * (1 + 2 * np.log(T + 1))) >= R).all()
    for rows in (1, 10, 100, 400):
        assert potential(r[:rows].sum(axis=0), (r[:rows] ** 2).sum(axis=0)) <= 1e-7


def potential(R, V):
    """sum_i int_0^1/2 (exp(eta R_i - eta^2 V_i) - 1) / eta d eta."""
    each = zip(R, V, strict=True)
    return sum(quad(lambda h, a=a, b=b: np.expm1(h * a - h * h * b) / h, 1e-12, 0.5)[0] for a, b in each)


@sizes
@games
def test_boa_keeps_its_bound_for_every_expert(adversary, M):
    """Gaillard, Stoltz, van Erven 2014, Cor. 4."""
    losses, lost = played("boa", adversary, M)
    r = lost[:, None] - losses
    R, V = r.sum(axis=0), (r**2).sum(axis=0)
    C = 3 * np.log(M) + np.log(1 + M / (2 * np.e) * (1 + np.log(len(losses) + 1)))
    assert (C / np.sqrt(np.log(M)) * np.sqrt(1 + V) + 2 * C >= R).all()


def test_a_mean_that_learns_nothing_breaks_every_bound():
    """So the bounds say something."""
    losses = np.array([one_is_perfect(np.ones(10), t, np.random.default_rng(t)) for t in range(3000)])
    regret = losses.mean() * 3000 - losses.sum(axis=0).min()
    assert regret > np.sqrt(3000 * np.log(10)) + 4 / 3 * np.log(10) + 2


@pytest.mark.parametrize("R", [-3e4, -500.0, -8.1, -7.9, -1.0, 0.0, 0.3, 7.9, 8.1, 60.0, 500.0, 3e4])
@pytest.mark.parametrize("V", [0.0, 1e-8, 0.5, 15.9, 16.1, 300.0, 1e5])
def test_squints_integral_has_its_digits(R, V):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        peak = min(max(R / (2 * V), 0.0), 0.5) if V > 0 else 0.5 * (R > 0)
        width = 1 / max(abs(R), np.sqrt(V), 1.0)
        cuts = sorted({0.0, 0.5, *(float(np.clip(peak + k * width, 0, 0.5)) for k in (-30, -10, -3, 0, 3, 10, 30))})
        exact = mpmath.log(mpmath.quad(lambda h: mpmath.exp(h * R - h * h * V), cuts))
    assert integral(R, V) == pytest.approx(float(exact), rel=1e-11, abs=1e-11)


LAWS = {law: cases[:1] for law, cases in laws.cases_by_law(Stack(parts=(OGD(), Perceptron()))).items() if cases}
del LAWS["merge_refuses_strangers"]  # they have other kernels, each of which is another loop to compile


@pytest.mark.parametrize("law", LAWS)
def test_law(law):
    """On one case each: a loop of several learners takes long to compile."""
    laws.check_law(law, LAWS[law])


@pytest.mark.parametrize("combine", EXPERTS)
def test_experts_equal_their_reference(combine):
    spec = Stack(combine=combine, bound=0.8, parts=(OGD(), Perceptron()))
    laws.check_law("equals_its_reference", laws.cases_by_law(spec)["equals_its_reference"])


# What is combined.


def test_weights_go_to_the_part_that_knows():
    X, y = stream("regression", n=900)
    parts = FOGD(kernel=Gaussian(1e-6), n_components=20), Ridge(kernel=Gaussian(0.2), n_components=80)
    for combine in ("least-squares", "squint"):
        learner = Learner(Stack(parts=parts, combine=combine, bound=1.0), Regression())
        learner.learn(X, y)
        assert learner.attributes["weights"][1] > 0.8, combine


def test_least_squares_has_no_unit():
    X, y = stream("regression", n=300)
    spec = Stack(parts=(Ridge(n_components=20), NOGD(budget=20)), kernel=Gaussian(0.3))
    plain, large = (Learner(spec, Regression(), dtype="float64").learn(X, unit * y) for unit in (1.0, 2.0**20))
    np.testing.assert_allclose(large, 2.0**20 * plain, rtol=1e-9)


def test_parts_are_what_they_are_alone():
    """The stack of one part that is right and one that says nothing has its scores, clipped; learners are not mixed."""
    X, y = stream("binary", n=300)
    spec = FOGD(kernel=Gaussian(0.3), n_components=30, loss="logistic", learning_rate=0.2)
    alone = Learner(spec, Binary([-1, 1]), seed=4)
    stacked = Learner(Stack(parts=(spec, Ridge(kernel=Gaussian(0.3), n_components=10))), Binary([-1, 1]), seed=4)
    alone.learn(X, y)
    stacked.learn(X, y)
    assert np.array_equal(stacked._state.parts.first.weights, alone._state.weights)


def test_parts_with_one_lift_lift_once_and_to_the_same_bits():
    X, y = stream("multiclass", n=300)
    task = Multiclass(["low", "middle", "high"])
    shared = Stack(parts=(FOGD(kernel=Gaussian(0.3), n_components=24), Ridge(kernel=Gaussian(0.3), n_components=24)))
    assert shared.lenders == [None, 0]
    learner = Learner(shared, task, seed=2)
    learner.learn(X, y)
    for part, state in zip(shared.parts, (learner._state.parts.first, learner._state.parts.rest.first), strict=True):
        alone = Learner(part, task, seed=2)
        alone.learn(X, y)
        assert np.array_equal(state.weights, alone._state.weights)


def test_a_kernel_is_that_of_the_parts_that_leave_theirs_open():
    spec = Stack(kernel=Laplacian(0.5), parts=(FOGD(), Ridge(kernel=Gaussian(2.0)), NOGD()))
    assert [part.kernel for part in spec.learners] == [Laplacian(0.5), Gaussian(2.0), Laplacian(0.5)]
    X, y = stream("binary", n=300)
    learner = Learner(Stack(parts=SMALL), Binary([-1, 1]))
    learner.learn(X, y)
    assert [part.kernel for part in learner.settled.parts] == [Gaussian(learner.settled.kernel.gamma)] * 2


def test_late_labels_are_learned():
    X, y = stream("binary", n=600)
    spec = Stack(parts=SMALL)
    late, loop = (Learner(spec, Binary([-1, 1])) for _ in range(2))
    for one in (late, loop):
        one.show(X[:50])
    found = late.learn_late(X[:400], y[:400], X[50:450])
    for t in range(400):
        assert np.array_equal(found[t : t + 1], loop.show(X[50 + t : 51 + t]))
        loop.learn(X[t : t + 1], y[t : t + 1])
    assert np.mean(np.sign(found[200:, 0]) == y[250:450]) > 0.7


def test_a_part_that_diverges_does_not_stop_the_others():
    X, y = stream("regression", n=600)
    wild = FOGD(kernel=Gaussian(0.3), n_components=20, learning_rate=1e9)
    calm = Ridge(kernel=Gaussian(0.3), n_components=40)
    with pytest.raises(FloatingPointError):
        Learner(wild, Regression()).learn(X, y)
    for combine in ("least-squares", "squint"):
        learner = Learner(Stack(parts=(calm, wild), combine=combine, bound=1.0), Regression())
        shown = learner.learn(X, y)
        assert learner.n_seen == 600
        assert np.mean((shown[300:, 0] - y[300:]) ** 2) < 0.5 * np.var(y[300:]), combine


def test_probabilities_are_those_of_the_stack():
    X, y = stream("multiclass", n=800)
    clf = OnlineKernelClassifier("stack", gamma=0.3, parts=SMALL, random_state=0).fit(X, y)
    chances = clf.predict_proba(X)
    assert chances.shape == (800, 3) and np.allclose(chances.sum(axis=1), 1.0)
    assert np.mean(clf.classes_[chances.argmax(axis=1)] == y) > 0.7


def test_the_weights_over_time_are_at_rows_that_are_evenly_spaced():
    X, y = stream("binary", n=1000)
    clf = OnlineKernelClassifier("stack", gamma=0.3, parts=SMALL, random_state=0).fit(X, y)
    moments = clf.weights_over_time_
    assert MOMENTS / 2 <= len(moments) <= MOMENTS
    assert np.array_equal(moments[:, 0], np.arange(0, 1000, 8))
    assert moments[0, 1:] == pytest.approx([1.0, 0.0])  # the first part alone
    assert moments[-1, 1:] == pytest.approx(clf.weights_, abs=0.05)


# What is refused, and how specs are written.


@pytest.mark.parametrize("combine", EXPERTS)
def test_experts_need_a_bound(combine):
    with pytest.raises(ValueError, match=f"combine='{combine}' needs losses that are bounded.*bound=10.0.*least-sq"):
        Learner(Stack(combine=combine), Regression())
    Learner(Stack(combine=combine), Binary([0, 1]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"parts": (FOGD(),)}, "at least 2"),
        ({"parts": (FOGD(), "ridge")}, r"parts\[1\]='ridge' must be a spec"),
        ({"combine": "mean"}, "combine='mean' must be one of 'least-squares'"),
        ({"bound": -1.0}, "bound=-1.0"),
        ({"kernel": Polynomial()}, "Polynomial"),
    ],
)
def test_what_makes_no_stack_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        Stack(**parameters)


def test_a_spec_is_written_in_words_and_in_json():
    spec = Stack(parts=(Ridge(n_components=30), FOGD(kernel=Laplacian(0.2))), combine="squint")
    assert from_json(spec.to_json()) == spec
    words = [f"{name}={value}" for name, value in flat(spec).items()]
    assert spec_from("stack", words) == spec
    assert spec_from("stack", ["parts=nogd,ogd", "parts.0.budget=7"]).parts[0] == NOGD(budget=7)
    with pytest.raises(ValueError, match="parts has no part '3'; it has 0, 1, "):
        spec_from("stack", ["parts.3.n_components=4"])
    reached = spec.get_params()
    assert reached["parts__0__n_components"] == 30 and reached["parts__1__kernel__gamma"] == 0.2
    changed = from_json(spec.to_json()).set_params(parts__1__kernel__gamma=0.5)
    assert changed.parts[1].kernel == Laplacian(0.5) and spec.parts[1].kernel == Laplacian(0.2)
    with pytest.raises(ValueError, match="parts has 2 parts, 0 to 1, and no '2__n_components'"):
        spec.set_params(parts__2__n_components=3)


def test_shards_merge():
    X, y = stream("regression", n=600)
    a, b = (OnlineKernelRegressor("stack", gamma=0.3, parts=SMALL, random_state=0) for _ in range(2))
    a.fit(X[:300], y[:300])
    b.fit(X[300:], y[300:])
    alone = np.mean((a.predict(X) - y) ** 2)
    a.merge(b)
    assert a.n_seen_ == 600 and np.mean((a.predict(X) - y) ** 2) < alone
