"""Structured features: against the explicit matrix, beyond one group and one block, on real rows; what maps share;
quasi-random frequencies; random boxes.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats.qmc import Sobol
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

from kernelstream import FOGD, Binary, Learner, Multiclass, Ridge
from kernelstream.algorithms._features import Map
from kernelstream.engine import Shape
from kernelstream.evaluate.settings import spec_from
from kernelstream.kernels import MANHATTAN, Cauchy, Gaussian, Laplacian, Matern, Polynomial
from kernelstream.laws.agreement import ROUNDING, snapshot
from kernelstream.laws.cases import learn_in_blocks
from kernelstream.laws.examples import stream
from kernelstream.losses import Hinge
from kernelstream.numerics.compile import compiled
from kernelstream.numerics.lifts import Binning, Fourier, Identity, Quasi, Structured, lift_rows
from kernelstream.numerics.lifts.binning import CELLS
from kernelstream.numerics.lifts.structured import GROUP, signs
from kernelstream.numerics.quasi import COORDINATES, points
from kernelstream.numerics.rows import to_block
from kernelstream.reference import fogd as reference
from kernelstream.reference import losses as reference_losses
from kernelstream.reference.features import frequencies
from kernelstream.tasks import BINARY

BEYOND = GROUP + 476  # features or components: a second group, a second block
SPEC = FOGD(kernel=Gaussian(gamma=0.002), n_components=BEYOND, map="structured", learning_rate=0.5, loss="hinge")


def rows(n, width=BEYOND, seed=0):
    """Rows with a third of their features present, some of them in one group only."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, width)) < 0.3, rng.normal(size=(n, width)), 0.0)
    X[3::7, :GROUP], X[5::7, GROUP:] = 0.0, 0.0
    return X, np.where(X[:, 0] + X[:, -1] + 0.2 * rng.normal(size=n) > 0, 1, -1)


def learner(spec=SPEC, dtype="float64", **options):
    return Learner(spec, Binary([-1, 1]), dtype=dtype, seed=4, **options)


@pytest.fixture(scope="module")
def mnist(data_directory):
    path = data_directory / "mnist" / "mnist.test.npz"
    if not path.exists():
        pytest.skip(f"no {path.name} in {data_directory}")
    with np.load(path) as file:
        return file["X"][:3000] / 255.0, file["y"][:3000].astype(int)


# The laws run on six features and 24 components; here is what lies beyond one group and one block.


@pytest.mark.parametrize(
    ("width", "n_components"),
    [(1, 1), (GROUP - 1, 40), (GROUP, GROUP), (GROUP + 1, GROUP + 1), (BEYOND, 40), (40, BEYOND), (BEYOND, BEYOND)],
)
def test_compiled_equals_the_explicit_matrix(width, n_components):
    X, y = rows(30, width)
    spec = replace(SPEC, n_components=n_components)
    expected, _ = reference.learn(spec, reference_losses.of(Hinge(), "binary"), X, y, 1, 4)
    np.testing.assert_allclose(learner(spec).learn(X, y), expected, atol=ROUNDING["float64"])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_neither_blocks_nor_storage_change_a_bit(dtype):
    X, y = rows(50)
    whole = learner(dtype=dtype)
    expected = whole.learn(X, y)
    for matrix, height in ((X, 1), (X, 7), (sp.csr_array(X), 1), (sp.csr_array(X), 50)):
        other = learner(dtype=dtype)
        assert np.array_equal(learn_in_blocks(other, matrix, y, height), expected)
        assert snapshot(other) == snapshot(whole)


def test_a_group_of_features_that_comes_late_gets_the_signs_it_would_have_had():
    X, y = rows(60)
    X[:30, 700:] = 0.0
    wide, late = learner(), learner(grow_features=True)
    expected = wide.learn(X, y)
    scores = np.concatenate([late.learn(X[:30, :700], y[:30]), late.learn(X[30:], y[30:])])
    assert snapshot(late)["model.map.signs"] == snapshot(wide)["model.map.signs"]
    np.testing.assert_allclose(scores, expected, atol=ROUNDING["float64"])


def test_signs_are_fair_and_no_two_vectors_are_alike():
    drawn = np.concatenate([signs(seed, group, block) for seed in (0, 1) for group in (0, 1) for block in (0, 1)])
    assert set(np.unique(drawn)) == {-1.0, 1.0}
    products = np.abs(drawn @ drawn.T)[~np.eye(len(drawn), dtype=bool)]
    assert products.max() < 5 * np.sqrt(GROUP)
    assert np.abs(drawn.sum(axis=1)).max() < 5 * np.sqrt(GROUP)


def test_frequencies_of_a_block_are_orthogonal_and_of_one_length():
    u = frequencies(replace(SPEC, kernel=Gaussian(gamma=0.5), n_components=GROUP), 3, GROUP)
    np.testing.assert_allclose(u.T @ u, GROUP * np.eye(GROUP), atol=1e-9 * GROUP)


def test_the_map_is_small_and_survives_a_file(tmp_path):
    X, y = rows(20, 784)
    spec = replace(SPEC, n_components=4000)
    structured, plain = learner(spec, "float32"), learner(replace(spec, map="plain"), "float32")
    structured.learn(X, y)
    plain.learn(X, y)
    weights = 8000 * 4
    assert plain.n_bytes - weights > 12.5e6
    assert structured.n_bytes - weights < 70e3
    structured.save(tmp_path / "model.ks")
    assert (tmp_path / "model.ks").stat().st_size < 110e3
    assert np.array_equal(Learner.load(tmp_path / "model.ks").scores(X), structured.scores(X))


# What cannot be done is refused.


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (lambda: FOGD(kernel=Laplacian(), map="structured"), "Laplacian.*isotropic.*map='plain'"),
        (lambda: FOGD(kernel=Polynomial(), map="structured"), "Polynomial has no spectral sampler.*NOGD"),
        (lambda: FOGD(kernel=Gaussian() * Laplacian(), map="quasi"), "made of several.*map='quasi'.*map='plain'"),
        (lambda: Ridge(kernel=Polynomial(), map="quasi"), "Polynomial has no spectral sampler.*NOGD"),
        (lambda: FOGD(map="orthogonal"), "map='orthogonal' must be one of 'plain', 'quasi', 'structured'"),
    ],
)
def test_refusals_name_the_remedy(spec, words):
    with pytest.raises(ValueError, match=words):
        spec()


def test_maps_of_two_kinds_do_not_merge():
    X, y = rows(20, 30)
    mine, theirs = learner(), learner(replace(SPEC, map="plain"))
    mine.learn(X, y)
    theirs.learn(X, y)
    with pytest.raises(ValueError, match="map differs, 'structured' here and 'plain' there"):
        mine.merge(theirs)


def test_the_map_is_a_setting():
    assert spec_from("fogd", ["map=structured", "n_components=50"]) == FOGD(map="structured", n_components=50)


# Real rows.


def kernel_error(spec, X, k, seed):
    """Mean |z'z - k| over pairs of rows."""
    angles = X @ frequencies(spec, seed, X.shape[1])
    z = np.concatenate([np.sin(angles), np.cos(angles)], axis=1) / np.sqrt(spec.n_components)
    return np.abs(z @ z.T - k)[np.triu_indices(len(X), 1)].mean()


@pytest.mark.parametrize(("gamma", "n_components", "share"), [(0.005, 1024, 0.5), (0.02, 256, 1.15), (0.02, 4096, 1.0)])
def test_kernel_values_are_as_near_as_independent_draws_would_be(mnist, gamma, n_components, share):
    """z'z of independent draws has the variance (1 - k^2)^2 / 2D; orthogonal ones do better the wider the kernel."""
    X = mnist[0][:150]
    k = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    independent = (np.sqrt(2 / np.pi) * (1 - k**2) / np.sqrt(2 * n_components))[np.triu_indices(len(X), 1)].mean()
    spec = FOGD(kernel=Gaussian(gamma=gamma), n_components=n_components, map="structured")
    errors = [kernel_error(spec, X, k, seed) for seed in range(3)]
    assert np.mean(errors) < share * independent


@pytest.mark.parametrize("kernel", [Cauchy(gamma=0.02), Matern(gamma=0.01), Matern(gamma=0.01, nu=2.5)], ids=str)
def test_kernel_values_of_mixtures_are_as_near_as_those_of_the_plain_map(mnist, kernel):
    X = mnist[0][:150]
    k = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    kernel.formula(np.array(kernel.constants()), k.reshape(-1))
    spec = FOGD(kernel=kernel, n_components=1024)
    plain, structured = (
        np.mean([kernel_error(replace(spec, map=map), X, k, seed) for seed in range(3)])
        for map in ("plain", "structured")
    )
    assert structured < 1.15 * plain


def test_mistakes_on_mnist_are_those_of_the_plain_map(mnist):
    X, y = mnist
    rates = {}
    for map in ("plain", "structured"):
        spec = FOGD(kernel=Gaussian(gamma=0.02), n_components=1000, map=map)
        shown = [Learner(spec, Multiclass(range(10)), seed=seed).predict_learn(X, y) for seed in (0, 1)]
        rates[map] = np.mean([(labels != y).mean() for labels in shown])
    assert rates["structured"] < 0.16
    assert abs(rates["structured"] - rates["plain"]) < 0.01


# What every map shares.


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("outputs", [2, 3, 4, 5, 9])
def test_scores_of_any_number_of_outputs_are_their_dots(outputs, dtype):
    X, _ = rows(40, 30)
    y = np.arange(40) % outputs
    model = Learner(FOGD(kernel=Gaussian(gamma=0.1), n_components=70), Multiclass(range(outputs)), dtype=dtype)
    model.learn(X, y)
    angles = X @ model._state.map.frequencies.astype(np.float64)
    z = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    np.testing.assert_allclose(model.scores(X), z @ model._state.weights.T.astype(np.float64), atol=ROUNDING[dtype])


def test_a_models_arrays_begin_on_a_cache_line(tmp_path):
    X, y = rows(20, 30)
    model = learner()
    model.learn(X, y)
    model.save(tmp_path / "model.ks")
    for one in (model, Learner.load(tmp_path / "model.ks"), learner().merge(model)):
        map = one._state.map
        assert [array.ctypes.data % 64 for array in (one._state.weights, map.signs, map.scales)] == [0, 0, 0]


@pytest.mark.parametrize("kind", [Fourier, Quasi, Structured])
@pytest.mark.parametrize("n_components", [20, BEYOND])
def test_a_wider_map_holds_the_narrower_and_a_widened_one_is_the_wide(kind, n_components):
    lift = kind(Gaussian(gamma=1.0), n_components)
    shapes = [Shape(width, 1, 2, np.dtype("f8")) for width in (5, 1500)]
    narrow, wide = (lift.map(shape) for shape in shapes)
    for part, whole, later in zip(narrow[:-1], wide[:-1], lift.grown(narrow, shapes[1])[:-1], strict=True):
        assert np.array_equal(part, whole[: len(part)])
        assert np.array_equal(later, whole)


# Quasi-random frequencies.


def test_quasi_random_numbers_are_sobols_with_a_shift_of_their_coordinate():
    found, sequence = points(3, range(6), 128), Sobol(6, scramble=False).random_base2(7).T
    for numbers, given in zip(found, sequence, strict=True):
        words, expected = ((part * 2.0**30).astype(np.int64) for part in (numbers, given))
        assert len(set(words ^ expected)) == 1
        assert np.array_equal(np.sort(np.floor(128 * numbers)), np.arange(128)), "one in each of 128 parts"
    assert not np.isclose(points(4, range(6), 128), found).any()


def test_quasi_random_numbers_depend_on_seed_coordinate_and_point_alone():
    whole = points(3, range(10), 300)
    assert np.array_equal(points(3, [7, 2], 41), whole[[7, 2], :41])
    assert points(3, [], 5).shape == (0, 5)
    beyond = points(3, [COORDINATES - 1, COORDINATES, COORDINATES + 1], 64)
    assert ((beyond > 0) & (beyond < 1)).all() and len(np.unique(beyond)) == beyond.size


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), Cauchy(), Matern(), Matern(nu=2.5)], ids=str)
def test_quasi_random_frequencies_are_of_the_kernels_spectrum(kernel):
    kernel = replace(kernel, gamma=0.3)
    apart = np.array([[0.5, -1.0, 0.7], [0.1, 0.2, 0.0], [2.0, 0.0, -1.0]])
    metric = np.abs(apart).sum(axis=1) if kernel.metric == MANHATTAN else (apart**2).sum(axis=1)
    kernel.formula(np.array(kernel.constants()), metric)
    seeds = [np.cos(apart @ kernel.quasi_frequencies(seed, range(3), 4096)).mean(axis=1) for seed in range(8)]
    assert np.allclose(seeds, metric, atol=0.01)  # independent draws are 0.01 off in the mean, and 0.03 at times


REAL = {"diabetes": load_diabetes, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}


@pytest.mark.parametrize("name", REAL)
def test_quasi_random_features_err_less_on_real_rows(name):
    X = REAL[name](return_X_y=True)[0][:300]
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    kernel = Gaussian(gamma=1 / X.shape[1])
    k = np.exp(-kernel.gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    spec = FOGD(kernel=kernel, n_components=400)
    plain, quasi = (
        [kernel_error(replace(spec, map=map), X, k, seed) for seed in range(6)] for map in ("plain", "quasi")
    )
    assert np.mean(quasi) < 0.92 * np.mean(plain)


# Random boxes.


def boxes(X, tables, gamma):
    """The place of each row in every table."""
    lift = Binning(Laplacian(gamma=gamma), tables)
    shape = Shape(X.shape[1], 1, 3, np.dtype(np.float64))
    map, record = lift.map(shape), lift.record(np.float64)
    lifted = lift.lifted(map, len(X))
    _lift(record, map, to_block(X, np.float64)[0], len(X), lifted)
    return lifted.places


@compiled
def _lift(record, map, block, n, lifted):
    lift_rows(record, map, block, 0, n, lifted)


def test_two_rows_share_a_box_as_often_as_the_laplacian_kernel_says():
    rng = np.random.default_rng(0)
    X, tables = rng.normal(size=(40, 5)), 4000
    places = boxes(X, tables, 0.2)
    shared = (places[:, None] == places).mean(axis=2)
    expected = np.exp(-0.2 * np.abs(X[:, None] - X).sum(axis=2))
    # Boxes that differ fall together in one of 4096 cases; five deviations of a mean of so many coins.
    assert np.abs(shared - expected).max() < 1 / CELLS + 5 * 0.5 / np.sqrt(tables)
    assert (places // CELLS == np.arange(tables)).all()


def test_boxes_are_spread_over_all_places_of_a_table():
    X = np.random.default_rng(1).normal(size=(20_000, 6))
    places = boxes(X, 2, 50.0) % CELLS  # hardly two rows share a box
    for table in range(2):
        counts = np.bincount(places[:, table], minlength=CELLS)
        assert counts.var() < 1.2 * counts.mean()  # as of balls thrown into urns


def test_large_numbers_have_boxes():
    X = np.array([[1e15, -1e15], [-1e15, 1e15], [0.0, 0.0]])
    assert (np.diff(boxes(X, 50, 1e3), axis=0) != 0).any(axis=1).all()


def test_a_step_on_boxes_touches_one_cell_a_table():
    X, y = stream(BINARY)
    learner = Learner(FOGD(kernel=Laplacian(gamma=0.3), map="binning", n_components=30), Binary([-1, 1]))
    learner.learn(X[:1], y[:1])
    assert np.count_nonzero(learner._state.weights) == 30
    assert learner.size == 30 * CELLS


def test_only_the_laplacian_kernel_has_boxes():
    with pytest.raises(ValueError, match=r"Gaussian is no mixture of boxes.*kernel=Laplacian\(\)"):
        FOGD(map="binning")


@dataclass
class LinearInFeatures(FOGD):
    """f = w'x: the identity as a lift."""

    maps: ClassVar = {"identity": Map(lambda kernel, n_components: Identity(), ())}


@pytest.mark.parametrize("dtype", ROUNDING)
def test_the_identity_lifts_a_row_to_itself(dtype):
    X = rows(90, 7)[0]
    y = X @ np.arange(7.0)
    spec = LinearInFeatures(
        kernel=Gaussian(gamma=1.0), map="identity", normalize=False, learning_rate=0.05, loss="squared"
    )
    learner, sparse = (Learner(spec, "regression", dtype=dtype, grow_features=True) for _ in range(2))
    w, expected = np.zeros(7), []
    for x, target in zip(X, y, strict=True):
        expected.append(w @ x)
        w += 0.05 * (target - w @ x) * x
    found = learner.learn(X, y)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e3 * ROUNDING[dtype], atol=1e3 * ROUNDING[dtype])
    assert np.array_equal(learn_in_blocks(sparse, sp.csr_array(X), y, 7), found)
    wider = np.pad(X, ((0, 0), (0, 2)), constant_values=1.0)
    before = learner.scores(X)
    learner.learn(wider[:1], y[:1], 0.0)
    after = learner.scores(np.pad(X, ((0, 0), (0, 2))))
    np.testing.assert_allclose(after, before, rtol=1e3 * ROUNDING[dtype], atol=1e3 * ROUNDING[dtype])
