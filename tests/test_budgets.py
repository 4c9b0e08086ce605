"""Removal, projection and merging: what each promises, against brute force."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits

from kernelstream import (
    BPA,
    BSGD,
    NORMA,
    NPBSGD,
    POLK,
    Binary,
    BudgetPerceptron,
    Forgetron,
    Learner,
    Multiclass,
    OnlineKernelClassifier,
    Projectron,
    Regression,
)
from kernelstream.algorithms.forgetron import psi, shrinkage
from kernelstream.engine.state import ModelFileError, leaves
from kernelstream.kernels import EVALUATED, Gaussian, Laplacian, Polynomial, Sigmoid
from kernelstream.laws.agreement import N_ROWS
from kernelstream.laws.algorithms import equals_its_reference
from kernelstream.laws.cases import Case
from kernelstream.laws.examples import stream
from kernelstream.numerics.budgets import best_partner, fuse_pair, project_out
from kernelstream.numerics.compile import compiled
from kernelstream.numerics.expansion import from_points, kernel_row, kernel_values, stored
from kernelstream.numerics.gram import factor, gram_matrix
from kernelstream.numerics.pairs import best_h, table
from kernelstream.numerics.rows import dense_row
from kernelstream.reference.kernels import matrix

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(0)) / X.std(0)
SIGN = 2 * Y - 1


# Projection.

PROJECTING = [
    lambda kernel: Projectron(kernel=kernel, budget=60, threshold=1e-6),
    lambda kernel: Projectron(kernel=kernel, budget=60, threshold=1e-6, aggressive=True),
    lambda kernel: BSGD(kernel=kernel, budget=60, maintenance="projection", regularization=0.01),
    lambda kernel: BPA(kernel=kernel, budget=60, maintenance="projection"),
    lambda kernel: NPBSGD(kernel=kernel, budget=60, regularization=0.01),
]


@pytest.mark.parametrize("make", PROJECTING, ids=["projectron", "projectron++", "bsgd-p", "bpa-p", "npbsgd"])
@pytest.mark.parametrize(
    "kernel", [Polynomial(gamma=0.2, degree=2), Gaussian(gamma=0.01)], ids=["polynomial", "gaussian"]
)
def test_coordinates_on_a_nearly_singular_dictionary_agree_with_a_fresh_solve(make, kernel):
    """Rows come twice, once moved by 1e-6, and a polynomial of 8 features spans 45 dimensions only."""
    rng = np.random.default_rng(0)
    rows = X[:300, :8]
    rows = np.concatenate([rows, rows + 1e-6 * rng.normal(size=rows.shape)])[rng.permutation(600)]
    labels = np.sign(rows[:, 0] * rows[:, 1] + 0.3 * rng.normal(size=600))
    learner = Learner(make(kernel), Binary([-1, 1]), dtype="float64")
    learner.learn(rows, labels)
    n = learner.size
    assert n >= 20
    gram = matrix(kernel, learner.attributes["points"], learner.attributes["points"])
    L = learner._state.factor[:n, :n].T
    assert np.abs(L @ L.T - gram).max() <= 1e-9 * np.abs(gram).max()
    # Scores of projections of new rows, from the factor and from a fresh solve of the same system.
    k = matrix(kernel, learner.attributes["points"], X[300:, :8])
    from_factor = np.linalg.solve(L.T, np.linalg.solve(L, k))
    fresh = np.linalg.lstsq(gram, k, rcond=None)[0]
    assert np.abs(gram @ from_factor - gram @ fresh).max() <= 1e-6 * np.abs(k).max()


@compiled
def _project_out(f, R, i, column, half, row):
    return project_out(f, R, i, column, half, row)


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.1), Laplacian(gamma=0.1)])
@pytest.mark.parametrize("i", [0, 7, 19])
def test_projecting_a_term_out_is_the_least_squares_approximation(kernel, i):
    rng = np.random.default_rng(i)
    points = X[:20]
    coef = rng.normal(size=(3, 20))
    gram = matrix(kernel, points, points)
    f = from_points(np.ascontiguousarray(points.T), (points**2).sum(1), coef.copy())
    R = factor(20)
    R[:] = np.linalg.cholesky(gram).T
    lost = _project_out(f, R, i, np.zeros(20), np.zeros(20), kernel_row(f))
    rest = np.delete(np.arange(20), i)
    expected = coef[:, rest] + np.outer(coef[:, i], np.linalg.solve(gram[np.ix_(rest, rest)], gram[rest, i]))
    assert f.size == 19
    assert np.allclose(f.coef[:, :19], expected, atol=1e-10)
    assert np.allclose(R[:19, :19].T @ R[:19, :19], gram[np.ix_(rest, rest)], atol=1e-12)
    residual = np.zeros((3, 20))
    residual[:, rest] = coef[:, rest] - expected
    residual[:, i] = coef[:, i]
    assert lost == pytest.approx(np.einsum("ki,ij,kj->", residual, gram, residual), rel=1e-8)


# BPA.


def test_the_diagonal_that_bpa_chooses_by_is_that_of_the_inverse():
    learner = Learner(BPA(kernel=Gaussian(gamma=0.05), budget=40, maintenance="projection"), Binary([-1, 1]))
    learner.learn(X, SIGN)
    n = learner.size
    assert n == 40
    R = learner._state.factor[:n, :n]
    np.testing.assert_allclose(learner._state.diagonal[:n], np.diag(np.linalg.inv(R.T @ R)), rtol=1e-6)


@compiled
def _kernel_row(kernel, f, i, room, row):
    kernel_values(kernel, f, stored(f, i, room), row)


def gram_of(kernel, f):
    """The kernel values of the stored points in their precision, nothing on the diagonal."""
    row, room, n = kernel_row(f), dense_row(*f.points.shape[:1], f.points.dtype), int(f.size)
    gram = np.zeros((n, n), f.points.dtype)
    for i in range(n):
        _kernel_row(kernel.lower(f.points.dtype), f, i, room, row)
        gram[i] = row.values[:n]
    np.fill_diagonal(gram, -np.inf)
    return gram


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.05), Polynomial(gamma=0.125, degree=3)], ids=["distance", "dot"])
@pytest.mark.parametrize("rows", [X, np.round(X)], ids=["distinct", "ties"])
def test_bpa_knows_every_points_neighbour(rows, kernel, dtype):
    spec = BPA(kernel=kernel, budget=30, maintenance="nearest")
    learner, other = (Learner(spec, Binary([-1, 1]), dtype=dtype) for _ in range(2))
    other.learn(rows[500:], SIGN[500:])
    sizes = set()
    for t in range(0, 500, 10):
        learner.learn(rows[t : t + 10], SIGN[t : t + 10])
        if t == 400 and dtype == "float64":  # the Gram matrix of merged points is computed in float64
            learner.merge(other)
        n, near, gram = learner.size, learner._state.near, gram_of(kernel, learner._state.f)
        sizes.add(n)
        assert np.array_equal(near.slot[:n], gram.argmax(axis=1))
        assert np.array_equal(near.beside[:n], gram.max(axis=1))
        assert np.array_equal(near.own[:n], learner._state.own[near.slot[:n]])
    assert min(sizes) < 20
    assert max(sizes) == 30


@pytest.mark.parametrize("field, value", [("slot", 30), ("slot", -1), ("slots", 30), ("slots", -1)])
def test_a_file_with_neighbours_that_do_not_exist_is_refused(tmp_path, field, value):
    learner = Learner(BPA(kernel=Gaussian(gamma=0.05), budget=30, maintenance="nearest"), Binary([-1, 1]))
    learner.learn(X, SIGN)
    getattr(learner._state.near, field).flat[7] = value
    learner.save(tmp_path / "model.ksm")
    with pytest.raises(ModelFileError, match="neighbour"):
        Learner.load(tmp_path / "model.ksm")


# What other learners keep beside their coefficients.


def test_what_the_budget_perceptron_keeps_is_what_could_be_computed():
    digits, classes = load_digits(return_X_y=True)
    learner = Learner(BudgetPerceptron(budget=60, kernel=Gaussian(gamma=1e-3)), Multiclass(range(10)), dtype="float64")
    learner.learn(digits, classes)
    state, n = learner._state, learner.size
    coef, gram = state.f.coef[:, :n], gram_matrix(learner.settled.kernel, state.f)
    sizes = np.linalg.norm(coef, axis=0)
    assert n == 60 and learner.n_seen > 5 * n
    assert np.allclose(state.at_points[:, :n], coef @ gram, atol=1e-10)
    assert np.allclose(state.inner[:n], (coef * (coef @ gram)).sum(axis=0), atol=1e-10)
    assert np.allclose(state.inverse[:n] * sizes, 1.0) and np.allclose(state.itself[:n], sizes)


@pytest.mark.parametrize("budget", [None, 20])
@pytest.mark.parametrize(("regularization", "task"), [(0.5, "multiclass"), (1.0, "multiclass"), (0.3, "regression")])
def test_norma_equals_its_reference_also_where_its_scale_is_multiplied_in(regularization, task, budget):
    spec = NORMA(learning_rate=1.0, regularization=regularization, kernel=Gaussian(gamma=0.3), budget=budget)
    case = Case(spec, task, spec.losses(task)[0])
    equals_its_reference(case)
    learner = case.learner()
    learner.learn(*stream(task))
    assert learner._state.multiplier > (1.0 - regularization) ** N_ROWS, "it was multiplied in"


# Forgetron.


@compiled
def _shrinkage(delta, mu, room):
    return shrinkage(delta, mu, room), psi(shrinkage(delta, mu, room), delta, mu)


@given(st.floats(0.001, 3.0), st.floats(-20.0, 20.0), st.floats(1e-3, 50.0))
def test_forgetron_shrinks_as_little_as_its_bound_allows(delta, mu, room):
    """Against the closed form: the largest phi in (0, 1] with (delta phi)^2 + 2 delta phi (1 - phi mu) <= room."""
    phi, damage = _shrinkage(delta, mu, room)
    grid = np.linspace(1e-6, 1.0, 20_001)
    allowed = (delta * grid) ** 2 + 2 * delta * grid * (1 - grid * mu) <= room
    assert 0.0 < phi <= 1.0
    assert damage <= room * (1 + 1e-12) + 1e-12
    first_stop = grid[np.argmin(allowed)] if not allowed.all() else 1.0
    # Beyond a forbidden stretch phi = 1 may be allowed again; it is then the largest.
    assert phi >= (1.0 if allowed[-1] else first_stop - 1e-4)


def test_forgetron_keeps_its_bound_on_a_real_stream():
    rows = np.tile(X, (4, 1))
    learner = Learner(Forgetron(kernel=Gaussian(gamma=0.5), budget=30), Binary([-1, 1]), dtype="float64")
    shown = learner.predict_learn(rows, np.tile(SIGN, 4))
    attributes = learner.attributes
    assert attributes["mistakes"] >= (shown != np.tile(SIGN, 4)).sum()  # a score of 0 is a mistake whatever is shown
    assert 0.0 < attributes["damage"] <= 15 / 32 * attributes["mistakes"]
    assert np.abs(attributes["coef"]).max() <= 1.0
    assert np.abs(attributes["coef"]).min() < 1.0  # something was shrunk


# Merging.


@compiled
def _best_h(log_k, mm, nn, mn):
    return best_h(log_k, mm, nn, mn)


@compiled
def _merge(kernel, f, m, n, row):
    return fuse_pair(kernel, f, m, n, row)


@compiled
def _partner(f, m, row, grid):
    return best_partner(f, m, row, grid)


def lost_at(h, k, a, b):
    z = np.outer(a, k ** ((1 - h) ** 2)) + np.outer(b, k ** (h**2))
    return a @ a + b @ b + 2 * k * (a @ b) - (z**2).sum(axis=0)


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_merge_loses_no_more_than_the_best_of_a_search_over_h(outputs):
    rng = np.random.default_rng(outputs)
    grid = np.linspace(0, 1, 10_001)
    for _ in range(400):
        a, b = rng.normal(size=(2, outputs)) * rng.choice([0.01, 1.0, 30.0], size=(2, 1))
        k = rng.choice([rng.uniform(), rng.uniform(0.9, 1.0), 10.0 ** -rng.uniform(1, 40)])
        h = _best_h(math.log(k), a @ a, b @ b, a @ b)
        scale = a @ a + b @ b
        assert lost_at(np.array([h]), k, a, b)[0] <= lost_at(grid, k, a, b).min() + 1e-4 * scale


def test_a_merged_pair_is_the_term_that_the_formula_says():
    gamma = 0.3
    points = np.array([[0.0, 1.0], [0.5, 0.8], [3.0, -1.0]])
    coef = np.array([[0.7, 1.1, -2.0]])
    f = from_points(np.ascontiguousarray(points.T), (points**2).sum(1), coef.copy())
    row = kernel_row(f)
    row.values[1] = math.exp(-gamma * ((points[0] - points[1]) ** 2).sum())
    lost = _merge(Gaussian(gamma=gamma).lower(np.float64), f, 0, 1, row)
    assert f.size == 2
    z, a_z = f.points[:, 1], f.coef[0, 1]
    together = np.vstack([points[:2], z])
    gram = matrix(Gaussian(gamma=gamma), together, together)
    change = np.array([0.7, 1.1, -a_z])
    assert lost == pytest.approx(change @ gram @ change, abs=1e-12)
    assert f.norms[1] == pytest.approx(z @ z)
    assert f.points[:, 0].tolist() == [3.0, -1.0]  # the last term took the free place


def test_the_partner_loses_nearly_the_least_of_all_that_agree():
    rng = np.random.default_rng(4)
    gamma = 0.2
    for _ in range(30):
        points, coef = rng.normal(size=(25, 3)), rng.normal(size=(1, 25))
        m = int(np.argmin(np.abs(coef[0])))
        f = from_points(np.ascontiguousarray(points.T), (points**2).sum(1), coef)
        row = kernel_row(f)
        row.values[:] = values = matrix(Gaussian(gamma=gamma), points, points[m])[:, 0]
        grid = np.linspace(0, 1, 2001)
        losses = np.array([lost_at(grid, values[j], coef[:, m], coef[:, j]).min() for j in range(25)])
        agree = [j for j in range(25) if j != m and coef[0, j] * coef[0, m] > 0]
        chosen = _partner(f, m, row, table())
        assert chosen in agree
        assert losses[chosen] <= min(losses[agree]) + 1e-3 * coef[0, m] ** 2


def test_bsgd_shows_what_its_budget_cost():
    costs = {}
    for maintenance in ("removal", "projection", "merging"):
        clf = OnlineKernelClassifier(
            BSGD(maintenance=maintenance, budget=40, kernel=Gaussian(gamma=0.05)), random_state=0
        )
        costs[maintenance] = clf.fit(X, Y).degradation_
        assert clf.points_.shape == (40, 30)
        assert clf.coef_.shape == (40, 1)
    assert 0.0 < costs["projection"] < costs["merging"] < costs["removal"]
    assert OnlineKernelClassifier(BSGD(budget=1000, maintenance="removal")).fit(X, Y).degradation_ == 0.0


def test_a_growing_budget_grows_about_as_fast_as_its_formula_says():
    rows = np.tile(X, (10, 1)) + 0.3 * np.random.default_rng(0).normal(size=(10 * len(X), X.shape[1]))
    spec = NPBSGD(budget=20, growth=8.0, regularization=0.01, kernel=Gaussian(gamma=0.05))
    sizes = []
    for seed in range(5):
        learner = Learner(spec, Regression(), seed=seed)
        learner.learn(rows, np.tile(SIGN, 10))
        sizes.append(learner.size)
    assert 20 < np.mean(sizes) <= 20 + 8.0 * (1 + math.log(len(rows) / 8.0))
    assert len(set(sizes)) > 1


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("limit", 9, "f.size holds 10; it must be between 0 and 9"),
        ("limit", 12, "limit holds 12; it must be between 10 and 10"),
        ("f.size", 11, "f.size holds 11; it must be between 0 and 10"),
        ("f.size", 12, "f.size holds 12; it must be between 0 and 10"),
        ("factor", 0.0, "Cholesky factor"),
    ],
)
def test_a_file_whose_growing_budget_does_not_fit_is_refused(name, value, words):
    learner = Learner(NPBSGD(kernel=Gaussian(gamma=0.05), budget=10, growth=0.0), Binary([-1, 1]), dtype="float64")
    learner.learn(X[:100], SIGN[:100])
    arrays = {k: np.array(v) for k, v in leaves(learner._state).items()}
    learner.settled.restore(dict(arrays), learner._runner.shape)
    narrow = {**arrays, "f.points": arrays["f.points"][:, :10]}
    with pytest.raises(ModelFileError, match=r"f\.points has room for 10 points; the model needs 11"):
        learner.settled.restore(narrow, learner._runner.shape)
    arrays[name][...] = value
    with pytest.raises(ValueError, match=words):
        learner.settled.restore(arrays, learner._runner.shape)


@pytest.mark.parametrize(
    "make",
    [*PROJECTING, lambda kernel: POLK(kernel=kernel)],
    ids=["projectron", "projectron++", "bsgd-p", "bpa-p", "npbsgd", "polk"],
)
def test_a_kernel_that_nothing_can_be_projected_with_is_refused_by_name(make):
    refusal = r"Sigmoid is not positive definite.*Use another kernel, or a learner that removes terms"
    with pytest.raises(ValueError, match=refusal):
        make(Sigmoid())
    taken = make(Gaussian())
    with pytest.raises(ValueError, match=refusal):
        taken.set_params(kernel=Sigmoid())
    assert taken.kernel == Gaussian()


def test_a_variant_needs_what_it_uses():
    for spec in (BSGD(maintenance="removal"), BPA(maintenance="simple"), BPA(maintenance="nearest")):
        assert replace(spec, kernel=Sigmoid()).needs == (EVALUATED,)
    with pytest.raises(ValueError, match=r"Sigmoid is not positive definite"):
        BSGD(maintenance="removal", kernel=Sigmoid()).set_params(maintenance="projection")


def test_an_unmergeable_kernel_is_refused_by_name():
    with pytest.raises(ValueError, match=r"Laplacian has none. Use Gaussian"):
        BSGD(kernel=Laplacian(), maintenance="merging")
