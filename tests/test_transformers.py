"""Transformers: scikit-learn's own checks, the mathematics in plain NumPy, and that no bit depends on how rows come."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelstream import FOGD, Binary, FourierFeatures, Learner, NystromFeatures, OnlineScaler, StructuredFeatures
from kernelstream.kernels import Gaussian, Laplacian, Matern
from kernelstream.numerics.lifts.structured import written_out


@parametrize_with_checks(
    [FourierFeatures(), FourierFeatures(map="quasi"), StructuredFeatures(), NystromFeatures(), OnlineScaler()]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(700, 6)) * [1, 2, 0.5, 1, 3, 1]


KINDS = {
    "fourier": lambda **given: FourierFeatures(50, random_state=3, **given),
    "quasi": lambda **given: FourierFeatures(50, map="quasi", random_state=3, **given),
    "structured": lambda **given: StructuredFeatures(50, random_state=3, **given),
    "nystrom": lambda **given: NystromFeatures(80, **given),
    "scaler": lambda **given: OnlineScaler(),
}


def same(a, b):
    return np.array_equal(a.toarray() if sp.issparse(a) else a, b.toarray() if sp.issparse(b) else b)


# What they are.


def test_fourier_features_are_sines_and_cosines_of_their_frequencies(rows):
    features = FourierFeatures(50, gamma=0.1, random_state=0)
    Z, projected = features.fit_transform(rows), rows @ features.frequencies_
    assert np.allclose(Z, np.hstack([np.sin(projected), np.cos(projected)]) / np.sqrt(50), atol=1e-12)


def test_structured_features_are_the_same_whether_frequencies_are_written_out_or_not(rows):
    wide = np.zeros((len(rows), 1100))  # two groups of signs
    wide[:, :6] = rows
    for n in (50, 1500):
        narrow, structured = (StructuredFeatures(n, gamma=0.1, random_state=0) for _ in range(2))
        Z = structured.fit_transform(wide)
        assert np.allclose(narrow.fit_transform(rows), Z, atol=1e-12)
        projected = wide @ written_out(structured._map, 1100)
        assert np.allclose(Z, np.hstack([np.sin(projected), np.cos(projected)]) / np.sqrt(n), atol=1e-12)
        assert same(np.vstack([structured.transform(wide[:333]), structured.transform(wide[333:])]), Z)
        assert np.allclose(structured.transform(sp.csr_array(wide)), Z, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "exact"),
    [
        (lambda: FourierFeatures(4000, gamma=0.1, random_state=0), lambda X: rbf_kernel(X, gamma=0.1)),
        (
            lambda: FourierFeatures(4000, kernel="laplacian", gamma=0.1, random_state=0),
            lambda X: laplacian_kernel(X, gamma=0.1),
        ),
        (lambda: StructuredFeatures(4000, kernel="rbf", gamma=0.1, random_state=0), lambda X: rbf_kernel(X, gamma=0.1)),
    ],
)
def test_products_of_random_features_estimate_the_kernel(make, exact, rows):
    X = rows[:200]
    Z = make().fit_transform(X)
    assert np.abs(Z @ Z.T - exact(X)).max() < 5 / np.sqrt(2 * 4000)


def chosen(K, most, tolerance):
    """The rows that become landmarks, from the definition: what is left of k(x, x) after projecting on those before."""
    taken = []
    for t in range(len(K)):
        k = K[taken, t]
        left = K[t, t] - k @ np.linalg.solve(K[np.ix_(taken, taken)], k)
        if len(taken) < most and left > tolerance * K[t, t]:
            taken.append(t)
    return taken


@pytest.mark.parametrize("tolerance", [0.01, 0.3])
def test_nystrom_features_are_those_of_rows_that_others_do_not_explain(rows, tolerance):
    K = rbf_kernel(rows, gamma=0.1)
    features = NystromFeatures(80, gamma=0.1, tolerance=tolerance).fit(rows)
    taken = chosen(K, 80, tolerance)
    assert np.array_equal(features.landmarks_, rows[taken])
    Z, k = features.transform(rows), K[:, taken]
    assert np.allclose(Z @ Z.T, k @ np.linalg.solve(K[np.ix_(taken, taken)], k.T), atol=1e-9)
    assert taken[-1] > 100 or tolerance < 0.1, "the choice is no choice"


def test_a_landmark_changes_no_column_of_those_before_it(rows):
    features = NystromFeatures(300, gamma=0.1, tolerance=0.2)
    early = features.partial_fit(rows[:100]).transform(rows)
    known = len(features.landmarks_)
    late = features.partial_fit(rows[100:]).transform(rows)
    assert known < len(features.landmarks_) < 300
    assert np.allclose(late[:, :known], early[:, :known], atol=1e-12) and not early[:, known:].any()
    assert late[:, known : len(features.landmarks_)].any(axis=0).all()


def test_nystrom_features_take_kernels_that_have_no_frequencies(rows):
    X = rows / 3
    Z = NystromFeatures(100, kernel="poly", gamma=1.0, tolerance=1e-9).fit_transform(X)
    assert np.allclose(Z @ Z.T, (X @ X.T + 1) ** 2, atol=1e-6), "28 landmarks span all polynomials of degree 2"
    assert np.count_nonzero(Z.any(axis=0)) == 28


def test_a_scaler_before_a_learner_is_the_learners_own_scaling_bit_for_bit(rows):
    X, y = 100 + 10 * rows, (rows[:, 0] > 0).astype(int)
    spec = FOGD(kernel=Gaussian(gamma=0.1), n_components=50)
    inside, behind, scaler = (
        Learner(spec, Binary([0, 1]), scaling="online"),
        Learner(spec, Binary([0, 1])),
        OnlineScaler(),
    )
    for part in np.array_split(np.arange(len(X)), 7):
        shown = inside.scores(X[part]) if inside.n_seen else None
        assert shown is None or np.array_equal(shown, behind.scores(scaler.transform(X[part])))
        own = inside.learn(X[part], y[part])
        assert np.array_equal(own, behind.learn(scaler.transform_learn(X[part]), y[part]))


def test_a_scaler_is_the_standard_one_but_for_the_row_itself(rows):
    X = 100 + 10 * rows
    scaler = OnlineScaler().fit(X)
    assert np.allclose(scaler.mean_, X.mean(axis=0)) and np.allclose(scaler.scale_, X.std(axis=0))
    assert np.allclose(scaler.transform(X), StandardScaler().fit_transform(X), rtol=0.02, atol=0.02)
    far = OnlineScaler().fit(X[:9]).transform(np.full((1, 6), 1e12))
    assert (far <= 3.0).all(), "among n rows nothing is further off than sqrt(n - 1)"
    S = sp.csr_array(np.where(np.abs(X - 100) < 5, X, 0.0))
    scaled = OnlineScaler().fit(S).transform(S)
    assert sp.issparse(scaled) and scaled.nnz == S.nnz


# How rows come.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gamma", [None, 0.1])
def test_neither_the_cut_nor_the_storage_of_rows_has_an_effect(kind, gamma, rows):
    rows = np.where(np.abs(rows) < 0.5, 0.0, rows)
    whole = KINDS[kind](gamma=gamma).fit(rows)
    shown = whole.transform(rows)
    for pieces in (3, 41):
        cut = KINDS[kind](gamma=gamma)
        for part in np.array_split(np.arange(len(rows)), pieces):
            cut.partial_fit(rows[part])
        assert cut.n_seen_ == len(rows)
        assert same(cut.transform(rows), shown)
        assert same(np.concatenate([cut.transform(rows[i : i + 1]) for i in range(20)]), shown[:20])
    if kind != "scaler":  # which keeps the zeros of sparse rows
        sparse = KINDS[kind](gamma=gamma).fit(sp.csr_matrix(rows)).transform(sp.csr_array(rows))
        assert np.allclose(sparse, shown, atol=1e-12) if kind == "nystrom" else same(sparse, shown)
        assert same(KINDS[kind](gamma=gamma, threads=1).fit(rows).transform(rows), shown)


@pytest.mark.parametrize("kind", KINDS)
def test_fit_starts_afresh_and_precision_is_that_of_the_rows(kind, rows):
    features = KINDS[kind]().fit(10 * rows[:300]).partial_fit(rows[300:])
    assert same(features.fit(rows).transform(rows), KINDS[kind]().fit_transform(rows))
    single = KINDS[kind]().fit_transform(rows.astype(np.float32))
    assert single.dtype == np.float32 and np.allclose(single, features.transform(rows), atol=1e-3)
    copy = pickle.loads(pickle.dumps(features))
    assert same(copy.partial_fit(rows).transform(rows), features.partial_fit(rows).transform(rows))
    assert clone(features).get_params() == features.get_params()


def test_names_and_frames(rows):
    table = pd.DataFrame(rows, columns=list("abcdef"))
    features = FourierFeatures(2, gamma=0.1).set_output(transform="pandas").fit(table)
    assert list(features.transform(table).columns) == [f"fourierfeatures{i}" for i in range(4)]
    assert list(OnlineScaler().set_output(transform="pandas").fit_transform(table).columns) == list("abcdef")
    with pytest.raises(ValueError, match="feature names should match"):
        features.transform(table[list("fedcba")])


# In use.


def test_linear_models_on_features_learn_what_kernels_learn():
    X, y = load_digits(return_X_y=True)
    for features in (
        FourierFeatures(400, random_state=0),
        StructuredFeatures(400, random_state=0),
        NystromFeatures(400),
    ):
        model = make_pipeline(OnlineScaler(), features, SGDClassifier(random_state=0)).fit(X[:1200], y[:1200])
        assert model.score(X[1200:], y[1200:]) > 0.9


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: FourierFeatures(kernel="polynomial"), "Polynomial has no spectral sampler"),
        (lambda: StructuredFeatures(kernel=Laplacian()), "prefer no direction"),
        (lambda: NystromFeatures(kernel="sigmoid"), "not positive definite"),
        (lambda: FourierFeatures(kernel="gausian"), "did you mean gaussian"),
        (lambda: FourierFeatures(map="structured"), "map='structured' must be one of 'plain', 'quasi'"),
        (lambda: FourierFeatures(kernel=Gaussian() * Matern(), map="quasi"), "made of several"),
        (lambda: FourierFeatures(0), "n_components=0 must be"),
        (lambda: NystromFeatures(tolerance=0.0), "tolerance=0.0 must be"),
        (lambda: FourierFeatures(gamma=-1.0), "gamma=-1.0 must be"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make, told, rows):
    with pytest.raises(ValueError, match=told):
        make().fit(rows)


def test_rows_that_cannot_be_change_nothing(rows):
    for kind, make in KINDS.items():
        features = make().fit(rows)
        before = features.transform(rows)
        for bad in (np.full((2, 6), np.nan), rows[:, :5]):
            with pytest.raises(ValueError, match=r"NaN|features"):
                features.partial_fit(bad)
        assert same(features.transform(rows), before) and features.n_seen_ == len(rows), kind


def test_a_kernels_own_parameters_are_kept(rows):
    features = FourierFeatures(10, kernel=Matern(nu=2.5), gamma="scale").fit(rows)
    assert features.kernel_.nu == 2.5 and features.kernel_.gamma == pytest.approx(1 / (6 * rows[:256].var()))
