"""Kernels: compiled rows against the plain formulas, spectra against kernels, widths, and a kernel of a user's own."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from kernelstream import (
    BSGD,
    FOGD,
    KRLS,
    NOGD,
    OGD,
    Auto,
    Binary,
    DualSGD,
    Learner,
    OnlineKernelClassifier,
    Regression,
    Ridge,
)
from kernelstream.evaluate.settings import flat, spec_from
from kernelstream.kernels import (
    KERNELS,
    SQUARED_DISTANCE,
    Cauchy,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Multiple,
    Polynomial,
    Product,
    Sigmoid,
    SpectralMixture,
    Sum,
)
from kernelstream.laws import KERNEL_LAWS, check_kernel
from kernelstream.laws.agreement import KERNEL_ROUNDING
from kernelstream.laws.examples import composite_kernels, example_kernels, sparse_rows, stream
from kernelstream.laws.kernels import dictionary, kernel_laws, kernel_rows
from kernelstream.numerics.compile import compiled
from kernelstream.numerics.elementary import exp
from kernelstream.numerics.expansion import kernel_row, own_value
from kernelstream.numerics.programme import MOST_PARTS
from kernelstream.numerics.rows import Sample, complete_row, dense_row
from kernelstream.numerics.tiles import TILE
from kernelstream.parameters import from_json
from kernelstream.reference.kernels import matrix
from kernelstream.tasks import BINARY

DTYPES = ["float32", "float64"]
SINGLE = example_kernels()
EXAMPLES = SINGLE + composite_kernels()
EVALUATED = [kernel for kernel in EXAMPLES if kernel.evaluated]
SPECTRAL = [kernel for kernel in EXAMPLES if kernel.shift_invariant]
SINGLE_SPECTRAL = [kernel for kernel in SINGLE if kernel.shift_invariant]
LAWS = [(law, kernel) for kernel in EXAMPLES for law in kernel_laws(kernel)]
every_kernel = pytest.mark.parametrize("kernel", EVALUATED, ids=str)


def close(got, expected, tolerance):
    gap = np.abs(got.astype(np.float64) - expected).max()
    assert gap <= tolerance * max(1.0, np.abs(expected).max()), gap


def representable(X):
    """Numbers that float32 holds, so that every dtype sees the same rows."""
    return X.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize(("law", "kernel"), LAWS, ids=str)
def test_law(law, kernel):
    if law == "kernel_is_positive" and isinstance(kernel, Sigmoid):
        with pytest.raises(AssertionError, match="eigenvalue"):  # as its docstring says
            KERNEL_LAWS[law](Sigmoid(gamma=1.0, offset=-1.0))
    else:
        KERNEL_LAWS[law](kernel)


@every_kernel
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_points", [1, 5, TILE + 3])
def test_rows_equal_the_reference(kernel, dtype, storage, n_points):
    X, points = representable(sparse_rows(6)), representable(sparse_rows(n_points, seed=8))
    close(kernel_rows(kernel, storage(X), points, dtype), matrix(kernel, X, points), KERNEL_ROUNDING[dtype])


@every_kernel
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 9])
def test_rows_equal_the_reference_for_every_width(kernel, dtype, width):
    """Features are taken four at a time, and one at a time what is left."""
    rng = np.random.default_rng(width)
    X, points = representable(rng.normal(size=(4, width))), representable(rng.normal(size=(9, width)))
    close(kernel_rows(kernel, X, points, dtype), matrix(kernel, X, points), KERNEL_ROUNDING[dtype])


@every_kernel
def test_empty_sparse_rows_are_the_origin(kernel):
    points = sparse_rows(7)
    expected = matrix(kernel, np.zeros((1, 40)), points)
    close(kernel_rows(kernel, sp.csr_array((1, 40)), points, "float64"), expected, KERNEL_ROUNDING["float64"])


@pytest.mark.parametrize("kernel", [Gaussian(gamma=1.0), Cauchy(gamma=1.0), Matern(gamma=1.0)], ids=str)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_large_values_keep_accuracy_in_float32(kernel, storage):
    """Rows of norm 5e4, a distance of 1 apart: ||x||^2 + ||z||^2 - 2<x, z> in float32 would be off by hundreds."""
    rng = np.random.default_rng(3)
    X = np.zeros((10, 400))
    X[:, rng.choice(400, 30, replace=False)] = rng.normal(scale=1e4, size=(10, 30))
    points = X.copy()
    present = points != 0
    points[present] += rng.normal(scale=0.2, size=present.sum())
    X, points = representable(X), representable(points)
    expected = matrix(kernel, X, points)
    assert np.diag(expected).min() > 0.05
    close(kernel_rows(kernel, storage(X), points, "float32"), expected, 1e-6)


def test_equal_rows_have_kernel_one_exactly_when_dense():
    X = np.random.default_rng(4).normal(scale=100.0, size=(20, 7))
    for kernel in (kernel for kernel in SPECTRAL if kernel.evaluated):
        for dtype in DTYPES:
            assert (np.diag(kernel_rows(kernel, X, X, dtype)) == 1.0).all()


@every_kernel
def test_gram_matrices_are_positive_semidefinite_on_clustered_points(kernel):
    if isinstance(kernel, Sigmoid):
        return  # is not positive definite, which its docstring says
    rng = np.random.default_rng(5)
    X = rng.normal(size=(6, 4)).repeat(6, axis=0) + 1e-4 * rng.normal(size=(36, 4))
    K = kernel_rows(kernel, X, X, "float64")
    values = np.linalg.eigvalsh((K + K.T) / 2)
    assert values[0] >= -36 * np.finfo(float).eps * values[-1]


# Widths.


@given(st.floats(1e-3, 1e3))
def test_sigma_is_a_gamma(sigma):
    assert Gaussian(sigma=sigma).gamma == 1.0 / (2.0 * sigma**2)
    assert Gaussian(sigma=sigma) == Gaussian(gamma=1.0 / (2.0 * sigma**2))
    assert Gaussian(gamma=7.0).set_params(sigma=sigma) == Gaussian(sigma=sigma)


def test_gamma_and_sigma_together_are_refused():
    with pytest.raises(ValueError, match=r"gamma=2\.0, sigma=1\.0"):
        Gaussian(gamma=2.0, sigma=1.0)


@pytest.mark.parametrize("kind", [kind for kind in KERNELS.values() if kind is not Linear])
@pytest.mark.parametrize("gamma", [0.0, -1.0, float("nan"), "wide", None, True])
def test_a_gamma_that_is_no_width_is_refused_by_name(kind, gamma):
    with pytest.raises(ValueError, match=f"gamma={gamma!r}"):
        kind(gamma=gamma)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Gaussian(sigma=0.0), "sigma"),
        (lambda: Matern(nu=1.0), "nu"),
        (lambda: Polynomial(degree=0), "degree"),
        (lambda: Polynomial(degree=1.5), "degree"),
        (lambda: Polynomial(offset=-1.0), "offset"),
    ],
)
def test_a_bad_parameter_is_named(make, name):
    with pytest.raises(ValueError, match=name):
        make()


def test_scale_is_settled_on_the_first_rows():
    X, y = stream(BINARY, n=300)
    X = X * 3.0
    learner = Learner(OGD(kernel=Gaussian()), Binary([-1, 1]))
    for n, settled in ((1, 1), (3, 2), (5, 4), (255, 128), (256, 256), (300, 256)):
        learner.learn(X[learner.n_seen : n], y[learner.n_seen : n])
        present = X[:settled][:, (X[:settled] != 0).any(axis=0)]
        assert learner.settled.kernel.gamma == pytest.approx(1.0 / (present.shape[1] * present.var()))
    assert learner.algorithm.kernel == Gaussian()
    before = learner.settled
    learner.learn(100.0 * X, y)
    assert learner.settled == before


@pytest.mark.parametrize("width", [6, 9])
def test_scale_does_not_depend_on_storage_nor_on_features_that_are_zero(width):
    X, y = stream(BINARY)
    wide = np.hstack([X, np.zeros((len(X), width - 6))])
    learners = [Learner(FOGD(n_components=20), Binary([-1, 1])) for _ in range(2)]
    plain, other = (one.learn(rows, y) for one, rows in zip(learners, (X, sp.csr_array(wide)), strict=True))
    assert learners[0].settled == learners[1].settled
    assert np.array_equal(plain, other)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_scale_counts_the_zeros_of_sparse_rows(storage):
    X = sparse_rows(50)
    learner = Learner(OGD(kernel=Gaussian()), Binary([-1, 1]))
    learner.learn(storage(X), np.where(X[:, 0] > 0, 1, -1))
    first = X[:32, (X[:32] != 0).any(axis=0)]
    assert learner.settled.kernel.gamma == pytest.approx(1.0 / (first.shape[1] * first.var()), rel=1e-6)


def test_scale_of_the_laplacian_is_by_the_standard_deviation():
    assert Laplacian().settle(Sample(4.0, 5)).gamma == pytest.approx(1.0 / (5 * 2.0))
    assert Gaussian().settle(Sample(4.0, 5)).gamma == pytest.approx(1.0 / (5 * 4.0))
    assert Gaussian().settle(Sample(0.0, 5)).gamma == 1.0  # constant features say nothing
    assert Gaussian(gamma=3.0).settle(Sample(4.0, 5)).gamma == 3.0


def test_a_width_that_was_not_settled_is_refused():
    with pytest.raises(ValueError, match="settled by the first rows"):
        Gaussian().lower("float64")


def test_matern_of_growing_smoothness_approaches_the_gaussian():
    x, z = np.zeros((1, 1)), np.linspace(0.1, 2.0, 20)[:, None]
    gaussian = matrix(Gaussian(gamma=0.5), x, z)
    gaps = [np.abs(matrix(Matern(gamma=0.5, nu=nu), x, z) - gaussian).max() for nu in (1.5, 2.5)]
    assert gaps[1] < gaps[0] < 0.15


# Spectra.

PAIRS = [
    ([0.0, 0.0, 0.0], [0.1, 0.0, 0.0]),
    ([0.3, -0.2, 1.0], [1.0, 0.5, 0.4]),
    ([1.0, 1.0, 1.0], [-1.0, 0.0, 0.5]),
    ([0.0, 0.0, 2.0], [0.0, 2.0, 0.0]),
]


@pytest.mark.parametrize("gamma", [0.1, 1.0])
@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("kernel", SINGLE_SPECTRAL, ids=str)
def test_frequencies_average_to_the_kernel(kernel, pair, gamma):
    """Monte Carlo: E cos(u'(x - z)) = k(x, z), to five standard errors of 100,000 draws (at most 0.011)."""
    kernel = type(kernel)(**{**kernel.get_params(), "gamma": gamma})
    x, z = map(np.array, pair)
    waves = np.cos((x - z) @ kernel.frequencies(3, range(3), 100_000))
    assert waves.mean() == pytest.approx(matrix(kernel, x, z)[0, 0], abs=5 * waves.std() / np.sqrt(100_000))


@pytest.mark.parametrize("kernel", SPECTRAL, ids=str)
def test_a_frequency_is_a_function_of_seed_feature_and_component(kernel):
    whole = kernel.frequencies(7, range(10), 50)
    assert whole.shape == (10, 50)
    assert np.isfinite(whole).all()
    assert np.array_equal(kernel.frequencies(7, range(4), 20), whole[:4, :20])
    assert np.array_equal(kernel.frequencies(7, [9, 2, 5], 50), whole[[9, 2, 5]])
    assert not np.isclose(kernel.frequencies(8, range(10), 50), whole).any()
    assert len(np.unique(whole)) == whole.size


@pytest.mark.parametrize("kernel", [k for k in SINGLE_SPECTRAL if not getattr(k, "means", ())], ids=str)
def test_frequencies_scale_with_the_width(kernel):
    """exp(-gamma d^2) = exp(-(sqrt(gamma) d)^2), and exp(-gamma |d|): frequencies are those of gamma = 1, scaled."""
    base = type(kernel)(**{**kernel.get_params(), "gamma": 1.0}).frequencies(1, range(3), 40)
    wide = type(kernel)(**{**kernel.get_params(), "gamma": 9.0}).frequencies(1, range(3), 40)
    np.testing.assert_allclose(wide, base * (9.0 if isinstance(kernel, Laplacian) else 3.0), rtol=1e-12)


@pytest.mark.parametrize("kernel", [k for k in SINGLE if not k.shift_invariant], ids=str)
def test_a_kernel_without_a_spectrum_says_so(kernel):
    with pytest.raises(ValueError, match=f"{type(kernel).__name__} has no spectral sampler.*NOGD"):
        kernel.frequencies(0, range(3), 10)


# A spectral mixture.

G = Gaussian(gamma=0.3)
DAILY = SpectralMixture(0.3, n_parts=3, means=((2.0, 0.0, 1.0), (0.0, 3.0)))


def test_a_spectral_mixture_is_a_mean_of_gaussians_times_waves():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 5))
    waves = np.cos(2.0 * (x - z)[0] + (x - z)[2]), np.cos(3.0 * (x - z)[1]), 1.0
    assert matrix(DAILY, x, z)[0, 0] == pytest.approx(np.exp(-0.3 * ((x - z) ** 2).sum()) * np.mean(waves))
    assert matrix(SpectralMixture(0.3), x, z)[0, 0] == pytest.approx(matrix(Gaussian(gamma=0.3), x, z)[0, 0])


@pytest.mark.parametrize("quasi", [False, True], ids=["plain", "quasi"])
def test_frequencies_of_a_mixture_lie_around_the_means_of_its_parts(quasi):
    kernel = SpectralMixture(0.3, n_parts=2, means=((20.0, 0.0, 10.0), (0.0, 30.0)))
    found = (kernel.quasi_frequencies if quasi else kernel.frequencies)(1, range(4), 8000)
    first = found[0] > 10.0
    assert first.sum() == pytest.approx(4000, abs=2)
    for part, mean in ((first, (20.0, 0.0, 10.0, 0.0)), (~first, (0.0, 30.0, 0.0, 0.0))):
        np.testing.assert_allclose(found[:, part].mean(axis=1), mean, atol=5 * np.sqrt(0.6 / 4000))
        np.testing.assert_allclose(found[:, part].std(axis=1), np.sqrt(0.6), rtol=0.06)


def test_without_means_a_mixture_draws_the_frequencies_of_the_gaussian():
    assert np.array_equal(SpectralMixture(0.3).frequencies(4, range(5), 30), G.frequencies(4, range(5), 30))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n_parts": 0}, "n_parts=0"),
        ({"means": (1.0, 2.0)}, "tuple of tuples"),
        ({"means": [[1.0]]}, "tuple of tuples"),
        ({"means": "1,2"}, "tuple of tuples"),
        ({"means": ((1.0,), (2.0,), (3.0,))}, "means has 3 parts and n_parts=2"),
        ({"means": ((np.inf,),)}, "means=inf must be a finite number"),
        ({"means": (("1",),)}, "means='1' must be a finite number"),
    ],
)
def test_what_is_no_mixture_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        SpectralMixture(**values)


def test_a_mean_that_overflows_is_refused():
    spec = FOGD(kernel=SpectralMixture(0.3, means=((1e39,),)))
    with pytest.raises(ValueError, match=r"needs the number 1e\+39.*not finite in float32"):
        Learner(spec, Binary([-1, 1]))
    Learner(spec, Binary([-1, 1]), dtype="float64")


@pytest.mark.parametrize(
    "kernel", [DAILY, 0.5 * DAILY + 0.5 * Gaussian(gamma=1.0), DAILY * Laplacian(gamma=0.1)], ids=str
)
def test_learners_that_compute_kernel_values_refuse_a_mixture_by_name(kernel):
    for spec in (OGD, NOGD, partial(BSGD, maintenance="removal"), DualSGD, KRLS, partial(Ridge, map="nystrom")):
        with pytest.raises(ValueError, match=r"SpectralMixture.* has values that are no function.*fogd, rrf"):
            spec(kernel=kernel)


def test_a_mixture_has_flat_settings_and_comes_back_from_json():
    assert flat(FOGD(kernel=DAILY))["kernel"] == "spectral-mixture"
    assert flat(FOGD(kernel=DAILY))["kernel.means"] == DAILY.means
    spec = spec_from("rrf", ["kernel=spectral-mixture", "kernel.n_parts=4", "kernel.gamma=0.5"])
    assert spec.kernel == SpectralMixture(0.5, n_parts=4)
    assert from_json(DAILY.to_json()) == DAILY


def test_a_period_that_is_known_is_foreseen_where_no_row_has_been():
    """On a clock that runs on, a Gaussian knows nothing of tomorrow."""
    hour = np.arange(24.0 * 40)[:, None]
    y = np.sin(2 * np.pi * hour[:, 0] / 24) + 0.3 * np.cos(4 * np.pi * hour[:, 0] / 24)
    errors = {}
    for kernel in (SpectralMixture(1e-8, means=((2 * np.pi / 24,), (4 * np.pi / 24,))), Gaussian(gamma=0.1)):
        learner = Learner(FOGD(kernel=kernel, n_components=200), Regression(), dtype="float64")
        errors[type(kernel)] = np.abs(learner.learn(hour, y)[:, 0] - y)[480:].mean()
    assert errors[SpectralMixture] < 0.01 < 0.3 < errors[Gaussian]


# Sums and products.

L = Linear()


def test_kernels_add_and_multiply():
    assert Sum((G, L)) == G + L and Product((G, L)) == G * L
    assert 0.5 * G == G * 0.5 == Multiple(0.5, G) == np.float64(0.5) * G == np.float32(0.5) * G
    assert (G + L) + G == G + (L + G) == Sum((G, L, G)) == Sum((Sum((G, L)), G))
    assert (G * L) * G == G * (L * G) == Product((G, L, G))
    assert Multiple(6, G) == 2 * (3 * G)
    assert G + L != L + G and G + L != G * L and 0.5 * G != 0.25 * G


@pytest.mark.parametrize("kernel", composite_kernels(), ids=str)
def test_a_composite_is_written_as_it_is_made(kernel):
    assert eval(repr(kernel)) == kernel
    again = clone(OnlineKernelClassifier(OGD(kernel=kernel))).algorithm.kernel
    assert again == kernel and again is not kernel


def test_parameters_of_the_parts_go_by_their_places():
    kernel = (Gaussian() + 0.5 * Linear()) * Polynomial()
    assert kernel.get_params()["parts__0__parts__0__gamma"] == "scale"
    kernel.set_params(parts__0__parts__0__gamma=3.0, parts__1__degree=4, parts__0__parts__1__multiplier=0.25)
    assert kernel == (Gaussian(gamma=3.0) + 0.25 * Linear()) * Polynomial(degree=4)
    with pytest.raises(ValueError, match="gamma=-1"):
        kernel.set_params(parts__0__parts__0__gamma=-1)
    estimator = OnlineKernelClassifier(OGD(kernel=Gaussian() + Linear()))
    assert estimator.set_params(algorithm__kernel__parts__0__gamma=2.0).algorithm.kernel == Gaussian(gamma=2.0) + L


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: 0 * G, "multiplier=0 must be a number greater than 0"),
        (lambda: G * -1.5, r"multiplier=-1\.5"),
        (lambda: True * G, "multiplier=True"),
        (lambda: Multiple(2.0, "gaussian"), "'gaussian' is no kernel.*Multiple"),
        (lambda: Sum((G, "linear")), "'linear' is no kernel.*Sum"),
        (lambda: Product((G,)), "at least two kernels"),
        (lambda: Sum([G, L]), "must be a tuple"),
        (lambda: sum([G] * MOST_PARTS, L), f"has {MOST_PARTS + 1} parts.*at most {MOST_PARTS}"),
    ],
)
def test_what_is_no_sum_or_product_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("make", [lambda: G + 1, lambda: 1 + G, lambda: G * "x", lambda: G + "linear", lambda: G - L])
def test_operations_that_kernels_do_not_have_are_type_errors(make):
    with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
        make()


def test_each_width_of_a_composite_is_settled():
    kernel = Gaussian() + 0.5 * (Laplacian() * Polynomial(gamma=7.0))
    assert kernel.depends_on_data
    settled = kernel.settle(Sample(4.0, 5))
    assert settled == Gaussian(gamma=1 / 20) + 0.5 * (Laplacian(gamma=1 / 10) * Polynomial(gamma=7.0))
    assert not settled.depends_on_data
    with pytest.raises(ValueError, match=r"Gaussian.*settled by the first rows"):
        kernel.lower("float64")


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_product_of_gaussians_is_a_gaussian(storage, dtype):
    X, points = representable(sparse_rows(7)), representable(sparse_rows(TILE + 3, seed=8))
    product, single = Gaussian(gamma=0.2) * Gaussian(gamma=0.3), Gaussian(gamma=0.5)
    got, expected = (kernel_rows(kernel, storage(X), points, dtype) for kernel in (product, single))
    close(got, expected.astype(np.float64), KERNEL_ROUNDING[dtype])
    assert np.std(product.frequencies(1, range(40), 2000)) == pytest.approx(1.0, abs=0.01)  # sqrt(2 * 0.5)


@pytest.mark.parametrize("spec", [OGD(), NOGD(budget=20, rank=8)], ids=["ogd", "nogd"])
def test_learners_do_the_same_with_a_product_of_gaussians(spec):
    X, y = stream(BINARY)
    scores = []
    for kernel in (Gaussian(gamma=0.1) * Gaussian(gamma=0.2), Gaussian(gamma=0.3)):
        learner = Learner(replace(spec, kernel=kernel), Binary([-1, 1]), dtype="float64", seed=2)
        scores.append(learner.learn(X, y))
    np.testing.assert_allclose(*scores, rtol=0.0, atol=1e-9)


@compiled
def _own_value(kernel, x, row):
    return own_value(kernel, x, row)


@every_kernel
@pytest.mark.parametrize("dtype", DTYPES)
def test_k_of_a_row_and_itself(kernel, dtype):
    X = representable(sparse_rows(3))
    record, row, rounding = (
        kernel.lower(dtype),
        kernel_row(dictionary(kernel, X, dtype)),
        8 * float(np.finfo(dtype).eps),
    )
    for x in X:
        room = dense_row(40, dtype)
        room.values[:] = x
        got = _own_value(record, complete_row(room), row)
        assert got == pytest.approx(matrix(kernel, x, x)[0, 0], rel=rounding)
        assert got == pytest.approx(kernel.own_value(np.dtype(dtype).type(x @ x)), rel=rounding)


def test_values_and_numbers_that_overflow_are_refused_by_the_part_that_has_them():
    learner = Learner(OGD(kernel=G + Polynomial(gamma=1.0, degree=8) * Linear()), Binary([-1, 1]))
    with pytest.raises(
        ValueError, match=r"Row 1: Gaussian \+ Polynomial \* Linear gives k\(x, x\).*Scale the features"
    ):
        learner.learn(np.array([[1.0, 0.0], [1e3, 1e3]]), [1, -1])
    for kernel, message in ((L + Gaussian(gamma=1e39), r"^Gaussian\(gamma=1e\+39\)"), (1e39 * G, "multiplier")):
        with pytest.raises(ValueError, match=f"{message}.*not finite in float32"):
            Learner(OGD(kernel=kernel), Binary([-1, 1]))
        Learner(OGD(kernel=kernel), Binary([-1, 1]), dtype="float64")


def test_a_composite_is_what_its_parts_are():
    assert (G + L).positive_definite and (2.0 * G * L).positive_definite
    assert not (G + Sigmoid()).positive_definite and not (G * Sigmoid()).positive_definite
    assert (G * Laplacian()).shift_invariant and (0.3 * G + 0.7 * Cauchy()).shift_invariant
    assert not (G * L).shift_invariant and not (G + Cauchy()).shift_invariant and not (0.5 * G).shift_invariant


@pytest.mark.parametrize(
    ("spec", "kernel", "message"),
    [
        (FOGD, G + L, r"^Gaussian \+ Linear has no spectral sampler.*NOGD"),
        (FOGD, G + Laplacian(), r"k\(x, x\) = 1.*0\.5 \* Gaussian\(\) \+ 0\.5 \* Laplacian"),
        (partial(FOGD, map="structured"), G * G, r"^Gaussian \* Gaussian .*isotropic.*map='plain'"),
        (partial(FOGD, map="binning"), Laplacian() * Laplacian(), r"^Laplacian \* Laplacian .*boxes"),
        (partial(BSGD, maintenance="merging"), G * G, r"Gaussian \* Gaussian has none"),
        (partial(BSGD, maintenance="projection"), G + Sigmoid(), r"^Gaussian \+ Sigmoid is not positive definite"),
        (Auto, G * G, r"^Gaussian \* Gaussian"),
    ],
)
def test_learners_that_need_more_refuse_a_composite_by_name(spec, kernel, message):
    with pytest.raises(ValueError, match=message):
        spec(kernel=kernel)


@pytest.mark.parametrize("kernel", [0.2 * G + 0.8 * Laplacian(gamma=0.1), G * Laplacian(gamma=0.1)], ids=str)
def test_waves_stand_for_a_composite(kernel):
    """FOGD's z'z estimates the kernel: its scores after one row are k(x, .) to five standard errors."""
    X, _ = stream(BINARY, n=30)
    n = 4000
    learner = Learner(FOGD(kernel=kernel, n_components=n, learning_rate=1.0), Binary([-1, 1]), dtype="float64", seed=4)
    learner.learn(X[:1], [1])
    expected = matrix(kernel, X, X[:1])[:, 0]
    assert np.abs(learner.scores(X)[:, 0] - expected).max() <= 5.0 / np.sqrt(n)


# A kernel of a user's own.


@dataclass
class RationalQuadratic(Kernel):
    """(1 + ||x - z||^2 / (2 a))^-a, by way of exp so that the package's own functions are seen to work in a formula."""

    a: float = 2.0

    metric: ClassVar[int] = SQUARED_DISTANCE

    def constants(self):
        return (self.a,)

    @staticmethod
    def formula(constants, row):
        one = row.dtype.type(1)
        for j in range(row.shape[0]):
            row[j] = exp(-constants[0] * np.log(one + row[j] / (constants[0] + constants[0])))


def rational_quadratic(a, x, z):
    return (1 + ((x[:, None, :] - z[None, :, :]) ** 2).sum(-1) / (2 * a)) ** -a


def test_a_kernel_of_ones_own_obeys_the_laws():
    check_kernel(RationalQuadratic())
    check_kernel(RationalQuadratic(0.5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_kernel_of_ones_own_gives_its_formula(dtype):
    X, points = representable(sparse_rows(6)), representable(sparse_rows(9, seed=2))
    got = kernel_rows(RationalQuadratic(1.5), X, points, dtype)
    close(got, rational_quadratic(1.5, X, points), KERNEL_ROUNDING[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_kernel_of_ones_own_adds_and_multiplies(dtype, storage):
    X, points = representable(sparse_rows(6)), representable(sparse_rows(9, seed=2))
    kernel = RationalQuadratic(1.5) * (RationalQuadratic(0.5) + 0.5 * Linear())
    got = kernel_rows(kernel, storage(X), points, dtype)
    expected = rational_quadratic(1.5, X, points) * (rational_quadratic(0.5, X, points) + 0.5 * X @ points.T)
    close(got, expected, KERNEL_ROUNDING[dtype])


@pytest.mark.parametrize("spec", [OGD, NOGD], ids=["ogd", "nogd"])
def test_a_kernel_of_ones_own_learns_and_is_saved(spec, tmp_path):
    X, y = stream(BINARY)
    parameters = {"budget": 20, "rank": 10} if spec is NOGD else {}
    learner = Learner(spec(kernel=RationalQuadratic(1.0), **parameters), Binary([-1, 1]), dtype="float64")
    learner.learn(X, y)
    if spec is OGD:
        f = learner._state.f
        n = learner.size
        expected = rational_quadratic(1.0, X, f.points[:, :n].T) @ f.coef[:, :n].T
        np.testing.assert_allclose(learner.scores(X), expected, atol=1e-12)
    assert np.mean(learner.predict(X) == y) > 0.7
    learner.save(tmp_path / "own.ks")
    loaded = Learner.load(tmp_path / "own.ks")
    assert loaded.settled.kernel == RationalQuadratic(1.0)
    assert np.array_equal(loaded.learn(X, y), learner.learn(X, y))
