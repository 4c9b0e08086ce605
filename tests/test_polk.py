"""POLK: its laws, KOMP against brute force, batches, epsilon at every step, the paper's numbers on multidist."""

import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from kernelstream import OGD, Binary, Learner, Multiclass, OnlineKernelClassifier, Regression, laws
from kernelstream.algorithms._descent import DEFAULT_RATE
from kernelstream.algorithms.polk import POLK, prune, take_in
from kernelstream.engine import Shape
from kernelstream.engine.state import leaves
from kernelstream.kernels import Gaussian, Linear, Polynomial
from kernelstream.laws.agreement import N_ROWS, ROUNDING, snapshot
from kernelstream.laws.cases import Case, learn_in_blocks, reference_loss
from kernelstream.laws.examples import TASKS, stream
from kernelstream.losses import Huber, as_loss
from kernelstream.numerics import expansion as ex
from kernelstream.numerics.gram import gram_matrix
from kernelstream.reference import losses as reference_losses
from kernelstream.reference import polk as reference
from kernelstream.reference.kernels import matrix
from kernelstream.schedules import InverseSqrt, InverseTime, as_schedule
from kernelstream.sources import Multidist, open_source
from kernelstream.tasks import BINARY, MULTICLASS, REGRESSION
from timing import times_as_fast

GAUSSIAN = Gaussian(gamma=0.3)
X_PROBE = stream(BINARY, n=200, seed=9).X
ROOT_OF_ROUNDING = 1e-7  # a squared distance that should be 0 is a sum of numbers around 1 to 100, each rounded

# Beside the table's row: what it leaves at its default.
VARIANTS = {
    "komp": POLK(parsimony=0.5),
    "random": POLK(parsimony=0.5, pruning="random"),
    "batches": POLK(parsimony=0.2, batch_size=7),
    "diminishing": POLK(parsimony=1.0),
}

ELSEWHERE = {"merge_refuses_strangers"}  # depends on parameters' names only: the table's row is enough


def varied(case, variant):
    if variant != "diminishing":
        return case
    return replace(case, spec=replace(case.spec, learning_rate=InverseSqrt(case.spec.learning_rate)))


def law_parameters():
    for variant, spec in VARIANTS.items():
        for law, tried in laws.cases_by_law(spec).items():
            # Every kernel and loss meets the reference in the table's row; a variant meets it on every second.
            kept = laws.selection(spec)[::2] if law == "equals_its_reference" else tried
            if kept and law not in ELSEWHERE:
                yield pytest.param(law, [varied(case, variant) for case in kept], id=f"{variant}-{law}")


@pytest.mark.parametrize(("law", "cases"), list(law_parameters()))
def test_law(law, cases):
    laws.check_law(law, cases)


def test_random_pruning_that_fills_a_polynomials_space_is_as_near_to_the_reference_as_that_is_to_itself():
    """It leaves any point that is not yet in the span, until there are as many as the space has dimensions. The Gram
    matrix is then nearly singular (KOMP's is not), and the last bits of the rows reach the ninth digit of a score.
    """
    spec = POLK(kernel=Polynomial(gamma=0.1, degree=3), parsimony=0.5, pruning="random", loss="squared-hinge")
    case = Case(replace(spec, learning_rate=0.05, regularization=0.01), MULTICLASS, "squared-hinge")
    X, y = stream(MULTICLASS)
    learner = case.learner()
    scores, targets = learner.learn(X, y), learner.task.encode(y)
    generator = np.random.default_rng(0)
    units = [np.zeros(X.shape), *(generator.choice([-1, 1], size=X.shape) for _ in range(5))]
    expected, *moved = (
        reference.learn(learner.settled, reference_loss(case), X * (1 + step * np.finfo(float).eps), targets, 3, 5)
        for step in units
    )
    assert learner.size == math.comb(6 + 3, 3) and {size for _, size in (expected, *moved)} == {learner.size}
    reach = max(np.abs(other - expected[0]).max() for other, _ in moved)
    assert ROUNDING["float64"] < reach < 1e-7
    # A computation rounds each product as well: a few times what one rounding of the rows does.
    assert np.abs(scores - expected[0]).max() <= 5 * reach


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_variants_prune_and_keep_something(variant):
    case = varied(laws.selection(VARIANTS[variant])[0], variant)
    learner, unpruned = case.learner(), case.adjusted(parsimony=0.0).learner()
    for one in (learner, unpruned):
        one.learn(*stream(case.task))
    assert 0 < learner.size < unpruned.size


@pytest.mark.parametrize("task", TASKS)
def test_without_parsimony_and_batches_it_is_ogd(task):
    X, y = stream(task)
    shared = {"kernel": GAUSSIAN, "learning_rate": InverseSqrt(0.5), "regularization": 0.01}
    ours, parent = (Learner(a, TASKS[task](), dtype="float64") for a in (POLK(parsimony=0.0, **shared), OGD(**shared)))
    np.testing.assert_allclose(ours.learn(X, y), parent.learn(X, y), rtol=0.0, atol=ROUNDING["float64"])
    assert ours.size == parent.size


# KOMP against brute force.


def model(kernel, points, coef):
    """The state and the scratch of a model of these terms, in float64."""
    spec = POLK(kernel=kernel)
    shape = Shape(points.shape[1], coef.shape[1], 5, np.dtype("float64"))
    terms = ex.empty(shape.width, len(points), shape.n_outputs, "float64")
    terms.points[...], terms.coef[...], terms.size[()] = points.T, coef.T, len(points)
    state = spec.init(shape)
    scratch = spec.scratch(state, shape)
    take_in(kernel.lower("float64"), state, terms, 1.0, scratch)
    assert state.f.size == len(points)
    return state, scratch


def projection(K, w, kept):
    """The distance of f = sum_j w_j k(d_j, .) from its projection on the kept points, and its coefficients there."""
    kept = list(kept)
    best = np.linalg.solve(K[np.ix_(kept, kept)], K[kept] @ w) if kept else np.zeros((0, w.shape[1]))
    rest = w.copy()
    rest[kept] -= best
    return np.sqrt(max(0.0, np.sum(rest * (K @ rest)))), best


def problems():
    generator = np.random.default_rng(7)
    for kernel, n, n_outputs in itertools.product((GAUSSIAN, Polynomial(gamma=0.3, degree=3)), range(1, 8), (1, 3)):
        D, w = generator.normal(size=(n, 3)), generator.normal(size=(n, n_outputs))
        norm = np.sqrt(np.sum(w * (matrix(kernel, D, D) @ w)))
        for share in (0.0, 0.05, 0.2, 0.5, 0.9, 1.1):
            yield pytest.param(kernel, D, w, share * norm, id=f"{type(kernel).__name__}-{n}-{n_outputs}-{share}")


@pytest.mark.parametrize(("kernel", "D", "w", "epsilon"), list(problems()))
def test_komp_is_greedy_pruning_with_brute_force(kernel, D, w, epsilon):
    K, kept = matrix(kernel, D, D), list(range(len(D)))
    while kept:  # every single removal, each with a fresh projection of the function before pruning
        candidates = {j: projection(K, w, [i for i in kept if i != j])[0] for j in kept}
        best = min(candidates, key=candidates.get)
        if candidates[best] > epsilon:
            break
        kept.remove(best)
    state, scratch = model(kernel, D, w)
    distance = prune(state, epsilon, 0, scratch)
    n = int(state.f.size)
    expected, coef = projection(K, w, kept)
    np.testing.assert_array_equal(state.f.points[:, :n].T, D[kept])
    np.testing.assert_allclose(state.f.coef[:, :n].T, coef, rtol=1e-9, atol=1e-9)
    assert distance == pytest.approx(expected, rel=1e-7, abs=1e-9) and distance <= epsilon
    check_factor_and_diagonal(kernel, state, 1e-9)


@pytest.mark.parametrize(("kernel", "D", "w", "epsilon"), list(problems()))
def test_pruning_ends_on_a_subset_within_epsilon_that_can_lose_no_point(kernel, D, w, epsilon):
    """Among all subsets, each with its own best fit."""
    K = matrix(kernel, D, D)
    within = {
        kept
        for size in range(len(D) + 1)
        for kept in itertools.combinations(range(len(D)), size)
        if projection(K, w, kept)[0] <= epsilon * (1.0 + 1e-9) + ROOT_OF_ROUNDING
    }
    for random in (0, 1):
        state, scratch = model(kernel, D, w)
        assert prune(state, epsilon, random, scratch) <= epsilon
        rows = {tuple(point): j for j, point in enumerate(D)}
        left = tuple(rows[tuple(p)] for p in state.f.points[:, : int(state.f.size)].T)
        assert left in within
        np.testing.assert_allclose(state.f.coef[:, : len(left)].T, projection(K, w, left)[1], rtol=1e-9, atol=1e-9)
        if random == 0:
            smaller = [tuple(i for i in left if i != j) for j in left]
            assert all(projection(K, w, s)[0] >= epsilon * (1.0 - 1e-9) for s in smaller)


def check_factor_and_diagonal(kernel, state, tolerance):
    n = int(state.f.size)
    if n == 0:
        return
    K = gram_matrix(kernel, state.f)
    np.testing.assert_allclose(state.factor[:n, :n].T @ state.factor[:n, :n], K, rtol=0.0, atol=1e-11 * K.max())
    inverse = np.linalg.inv(state.factor[:n, :n])
    np.testing.assert_allclose(state.diagonal[:n], (inverse**2).sum(axis=1), rtol=tolerance)


@pytest.mark.parametrize("pruning", ["komp", "random"])
def test_factor_and_inverse_stay_exact_on_a_long_stream(pruning):
    spec = POLK(kernel=Gaussian(sigma=0.6), learning_rate=6.0, parsimony=1e-3, batch_size=32, pruning=pruning)
    learner = Learner(spec, Multiclass([1, 2, 3, 4, 5]), dtype="float64")
    for X, y in Multidist(20_000):
        learner.learn(X, y)
    assert 30 < learner.size < 400
    check_factor_and_diagonal(spec.kernel, learner._state, 1e-6)


# Steps.


@pytest.mark.parametrize("pruning", ["komp", "random"])
@pytest.mark.parametrize("rate", [0.4, InverseSqrt(0.9), InverseTime(0.9)], ids=["constant", "sqrt", "time"])
@pytest.mark.parametrize(
    ("task", "loss"), [(BINARY, "logistic"), (MULTICLASS, "hinge"), (MULTICLASS, "softmax"), (REGRESSION, "squared")]
)
def test_every_step_ends_within_epsilon_of_the_mean_gradient_step(task, loss, rate, pruning):
    X, y = stream(task)
    B, lam, parsimony = 5, 0.02, 0.6
    spec = POLK(GAUSSIAN, loss, rate, lam, parsimony=parsimony, batch_size=B, pruning=pruning)
    learner = Learner(spec, TASKS[task](), dtype="float64", seed=2)
    gradient = reference_losses.of(as_loss(loss), task)
    D, w, reached = np.zeros((0, 6)), np.zeros((0, learner.task.n_outputs)), []
    for t, start in enumerate(range(0, N_ROWS, B), start=1):
        rows, targets = X[start : start + B], learner.task.encode(y[start : start + B])
        eta = as_schedule(rate).rate / t ** as_schedule(rate).power
        epsilon = parsimony * (eta**1.5 if rate == 0.4 else eta**2)
        scores = learner.learn(rows, y[start : start + B])
        slopes = np.array([gradient(target, f)[1] for target, f in zip(targets, scores, strict=True)])
        after = learner.attributes
        terms = np.vstack([D, rows, after["points"]])
        coef = np.vstack([(1.0 - eta * lam) * w, -eta / B * slopes, -after["coef"]])
        K = matrix(GAUSSIAN, terms, terms)
        distance = np.sqrt(max(0.0, np.sum(coef * (K @ coef))))
        assert distance <= epsilon * (1.0 + 1e-9) + ROOT_OF_ROUNDING
        reached.append(distance / epsilon)
        D, w = after["points"], after["coef"]
        norm = np.sqrt(np.sum(w * (matrix(GAUSSIAN, D, D) @ w))) if len(D) else 0.0
        assert after["hilbert_norm"] == pytest.approx(norm, rel=1e-9, abs=1e-9)
        assert after["model_order"] == len(D) == learner.size
    assert max(reached) > 0.5


def test_predictions_within_a_batch_are_those_of_the_function_before_it():
    X, y = stream(BINARY)
    learner = Learner(POLK(kernel=GAUSSIAN, batch_size=10), Binary([-1, 1]), dtype="float64")
    learner.learn(X[:20], y[:20])
    before = learner.scores(X)
    np.testing.assert_array_equal(learner.learn(X[20:29], y[20:29]), before[20:29])
    np.testing.assert_array_equal(learner.scores(X), before)
    learner.learn(X[29:30], y[29:30])
    assert (learner.scores(X) != before).any()


def test_open_batches_are_joined_by_a_merge_and_nothing_of_them_is_lost():
    X, y = stream(REGRESSION)
    spec = POLK(kernel=GAUSSIAN, parsimony=0.0, batch_size=4)
    a, b = (Learner(spec, Regression(), dtype="float64") for _ in range(2))
    for learner, part in ((a, [0, 1, 2]), (b, [4, 5, 6])):
        learner.learn(X[part], y[part])
    a.merge(b).merge(b)  # nine open rows of batches of four
    assert not a.scores(X).any()
    a.learn(X[7:8], y[7:8])
    rows = [0, 1, 2, 4, 5, 6, 4, 5, 6, 7]
    expected = 0.2 * matrix(GAUSSIAN, X, X[rows]) @ y[rows] / 10
    np.testing.assert_allclose(a.scores(X)[:, 0], expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("idle", ["prune", "keep"])
def test_rounds_without_a_slope_prune_as_printed_or_keep_their_points(idle):
    """Rows far on the right side: f shrinks a little, and points that have become cheaper than epsilon go, or stay."""
    spec = POLK(kernel=GAUSSIAN, loss="hinge", learning_rate=1.0, parsimony=0.3, regularization=0.02, idle=idle)
    learner = Learner(spec, Binary([-1, 1]), dtype="float64")
    learner.learn(*stream(BINARY))
    before, size = learner.scores(X_PROBE), learner.size
    sure = X_PROBE[[np.argmax(np.abs(before[:, 0]))]]
    for _ in range(3):
        learner.learn(sure, learner.predict(sure))
        assert learner.losses[0] == 0.0
    if idle == "keep":
        assert learner.size == size
        np.testing.assert_allclose(learner.scores(X_PROBE), 0.98**3 * before, rtol=1e-9)
    else:
        assert learner.size < size


@pytest.mark.parametrize("idle", ["prune", "keep"])
def test_what_idle_rounds_do_is_what_the_reference_does(idle):
    spec = POLK(kernel=GAUSSIAN, loss="hinge", learning_rate=1.0, parsimony=0.3, regularization=0.02, idle=idle)
    case = Case(spec, BINARY, "hinge")
    laws.ALGORITHM_LAWS["equals_its_reference"](case)
    learner = case.learner()
    learner.learn(*stream(BINARY))
    assert np.mean(learner.losses == 0.0) > 0.1


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e5])
def test_the_parsimony_by_itself_follows_the_unit_of_the_targets(unit):
    """What is learned from targets in another unit is the same in that unit, points and all."""
    X, y = stream(REGRESSION, n=400)
    one, other = (Learner(POLK(kernel=GAUSSIAN), Regression(), dtype="float64") for _ in range(2))
    np.testing.assert_allclose(other.learn(X, unit * y), unit * one.learn(X, y), rtol=1e-9, atol=1e-9 * unit)
    assert other.settled.parsimony == pytest.approx(0.3 * unit * y[:256].std(), rel=1e-9)
    assert 0 < one.size == other.size < 200


@pytest.mark.parametrize(
    ("loss", "task", "parsimony"),
    [
        ("hinge", BINARY, 0.3), ("softmax", MULTICLASS, 0.3), ("absolute", REGRESSION, 0.3),
        ("epsilon-insensitive", REGRESSION, 0.3), (Huber(0.01), REGRESSION, 0.003),
    ],
    ids=str,
)  # fmt: skip
def test_the_parsimony_by_itself_is_in_units_of_a_slope(loss, task, parsimony):
    X, y = stream(task, n=300)
    learner = Learner(POLK(kernel=GAUSSIAN, loss=loss), TASKS[task]())
    learner.learn(X, 10.0 * y if task == REGRESSION else y)
    longer = learner.settled.learning_rate / DEFAULT_RATE[task]  # epsilon is K eta^(3/2), and f as eta is
    assert learner.settled.parsimony == pytest.approx(parsimony / longer**0.5) and learner.size > 0


def test_a_batch_may_be_longer_than_the_first_room():
    X, y = stream(BINARY, n=1300)
    spec = POLK(kernel=GAUSSIAN, parsimony=0.0, batch_size=600, loss="logistic")
    whole, cut = (Learner(spec, Binary([-1, 1]), dtype="float64") for _ in range(2))
    assert np.array_equal(whole.learn(X, y), learn_in_blocks(cut, X, y, 77))
    assert snapshot(whole) == snapshot(cut) and 1100 < whole.size <= 1200  # a few rows of one feature lie in the span


def test_what_a_model_shows():
    X, y = stream(MULTICLASS)
    shown = OnlineKernelClassifier(POLK(kernel=GAUSSIAN, parsimony=0.3, regularization=0.1)).fit(X, y)
    assert shown.model_order_ == len(shown.points_) == len(shown.coef_) and shown.coef_.shape[1] == 3
    assert shown.hilbert_norm_ > 0 and shown.risk_ > 0.05 * shown.hilbert_norm_**2


# Refusals.


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"parsimony": -1.0}, "parsimony"),
        ({"parsimony": "few"}, "parsimony='few'"),
        ({"idle": "sleep"}, "idle='sleep'"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 2.5}, "batch_size"),
        ({"pruning": "best"}, "pruning"),
    ],
)
def test_bad_parameters_are_refused(parameters, word):
    with pytest.raises(ValueError, match=word):
        POLK(**parameters)


@pytest.mark.parametrize(
    ("name", "value"),
    [("f.size", 257), ("pending.size", 5), ("position", -1), ("diagonal", -1.0), ("factor", 0.0), ("losses", np.nan)],
)
def test_a_file_whose_parts_do_not_fit_is_refused(name, value):
    X, y = stream(BINARY)
    learner = Learner(POLK(kernel=GAUSSIAN, batch_size=4), Binary([-1, 1]), dtype="float64")
    learner.learn(X[:10], y[:10])
    arrays = {k: np.array(v) for k, v in leaves(learner._state).items()}
    learner.settled.restore(dict(arrays), learner._runner.shape)
    arrays[name][...] = value
    with pytest.raises(ValueError, match="The file"):
        learner.settled.restore(arrays, learner._runner.shape)


# multidist.


def rows_of(source):
    blocks = list(source)
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


def test_multidist_is_the_same_in_blocks_of_any_size_and_goes_on_where_it_stopped():
    X, y = rows_of(open_source("multidist"))
    assert X.shape == (5000, 2) and y.dtype == np.float64
    source = open_source("multidist", block_rows=37)
    for _ in range(2):  # restartable
        Xs, ys = rows_of(source)
        assert np.array_equal(Xs, X) and np.array_equal(ys, y) and source.progress() == 1.0
    test = rows_of(open_source("multidist-test"))
    longer = rows_of(Multidist(7500))
    assert np.array_equal(np.vstack([X, test[0]]), longer[0]) and np.array_equal(np.append(y, test[1]), longer[1])
    assert not np.array_equal(rows_of(Multidist(seed=1))[0], X)
    for bad in ({"n_rows": 0}, {"start": -1}, {"block_rows": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Multidist(**bad)


def test_multidist_is_distributed_as_the_paper_says():
    source = Multidist(150_000)
    X, y = rows_of(source)
    distances = ((X[:, None, None] - source.means) ** 2).sum(axis=-1)
    density = np.exp(-distances / (2 * 0.2**2)).sum(axis=-1)
    assert 0.025 < np.mean(density.argmax(axis=1) + 1 != y) < 0.035  # the best possible error
    for label in range(1, 6):
        mine = X[y == label]
        assert len(mine) == pytest.approx(30_000, rel=0.03)
        np.testing.assert_allclose(mine.mean(axis=0), source.means[label - 1].mean(axis=0), atol=0.03)
        covariance = 0.2**2 * np.eye(2) + np.cov(source.means[label - 1].T, bias=True)
        np.testing.assert_allclose(np.cov(mine.T), covariance, atol=0.05)
    means = np.array([Multidist(1, seed=seed).means for seed in range(2000)])
    angle = 2 * np.pi * np.arange(5) / 5
    np.testing.assert_allclose(means.mean(axis=(0, 2)), np.stack([np.cos(angle), np.sin(angle)], axis=1), atol=0.06)
    assert means.var(axis=(0, 2)) == pytest.approx(np.ones((5, 2)), abs=0.06)


# The paper's numbers (sec. 5.4), after one pass of 5,000 rows.

MULTIDIST = {"kernel": Gaussian(sigma=0.6), "learning_rate": 6.0, "regularization": 1e-6, "batch_size": 32}


PUBLISHED_ORDERS = {("hinge", 0.04): 16, ("hinge", 1e-4): 129, ("softmax", 0.03): 16, ("softmax", 1e-3): 75}
DRAWS = [180, 204, 219, 306, 478]  # the first seeds whose best error on the test rows is as LIBSVM's, 3.5 to 3.9 %


def error_and_order(loss, parsimony, seed=478, dtype="float64"):
    spec = POLK(loss=loss, parsimony=parsimony, **MULTIDIST)
    learner = Learner(spec, Multiclass([1, 2, 3, 4, 5]), dtype=dtype)
    learner.learn(*rows_of(Multidist(5000, seed=seed)))
    X, y = rows_of(Multidist(2500, start=5000, seed=seed))
    return 100 * np.mean(learner.predict(X) != y), learner.size


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_four_percent_error_with_a_point_a_mode(dtype):
    error, order = error_and_order("hinge", 0.04, dtype=dtype)  # published 3.98 % with 16
    assert error < 4.25 and 15 <= order <= 20


@pytest.mark.parametrize(("loss", "parsimony"), PUBLISHED_ORDERS)
def test_published_orders_lie_within_those_of_draws_like_the_papers(loss, parsimony):
    errors, orders = zip(*(error_and_order(loss, parsimony, seed) for seed in DRAWS), strict=True)
    assert min(orders) <= PUBLISHED_ORDERS[loss, parsimony] <= max(orders) < 1.8 * min(orders)
    assert np.median(errors) < 5.1


def test_random_pruning_keeps_more_points_for_the_same_error():
    X, y = rows_of(open_source("multidist"))
    test = rows_of(open_source("multidist-test"))
    orders = {}
    for pruning in ("komp", "random"):
        learner = Learner(POLK(parsimony=0.04, pruning=pruning, **MULTIDIST), Multiclass([1, 2, 3, 4, 5]))
        learner.learn(X, y)
        orders[pruning] = learner.size
        assert np.mean(learner.predict(test[0]) != test[1]) < 0.05
    assert orders["komp"] < orders["random"] < 150


def test_twenty_times_as_fast_as_the_reference():
    X, y = rows_of(open_source("multidist"))
    learner = Learner(POLK(parsimony=0.04, **MULTIDIST), Multiclass([1, 2, 3, 4, 5]), dtype="float64")
    learner.learn(X[:100], y[:100])
    loss, targets = reference_losses.of(as_loss("hinge"), MULTICLASS), learner.task.encode(y[:1000])
    fifth = partial(reference.learn, learner.settled, loss, X[:1000], targets, 5, 0)
    assert times_as_fast(lambda: learner.learn(X, y), fifth, 20 / 5, turns=3) >= 20 / 5


def test_a_sum_of_kernels_learns_what_no_part_of_it_does():
    """Sec. 6: a positive linear combination of kernels is a kernel. A plane with waves on it, in POLK's few terms."""
    X = np.random.default_rng(0).uniform(-2.0, 2.0, (400, 3))
    y = X @ [2.0, -1.0, 0.5] + np.sin(3.0 * X[:, 0]) * np.cos(2.0 * X[:, 1])
    errors = []
    for kernel in (Gaussian(gamma=1.0) + 0.2 * Linear(), Gaussian(gamma=1.0), Linear()):
        learner = Learner(POLK(kernel=kernel, learning_rate=0.3, parsimony=0.1), Regression(), dtype="float64")
        errors.append(np.mean((learner.learn(X, y)[200:, 0] - y[200:]) ** 2))
        assert learner.size < 250
    assert errors[0] < 0.4 * min(errors[1:])
