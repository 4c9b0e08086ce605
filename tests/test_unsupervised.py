"""Components and clusters of a stream: scikit-learn's own checks, the mathematics in plain NumPy, batch methods on real
data, and that no bit depends on how rows come.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_circles
from sklearn.decomposition import KernelPCA
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelstream import FourierFeatures, OnlineKernelKMeans, OnlineKernelPCA, OnlineScaler, StructuredFeatures
from kernelstream.kernels import Matern
from kernelstream.reference import onlinekernelkmeans, onlinekernelpca


@parametrize_with_checks([OnlineKernelPCA(), OnlineKernelKMeans(), OnlineKernelPCA(map="structured")])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(700, 6)) * [1, 2, 0.5, 1, 3, 1]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order] / 16, y[order]


def pca(k=4, **given):
    return OnlineKernelPCA(k, n_frequencies=50, random_state=3, **given)


def kmeans(k=5, **given):
    return OnlineKernelKMeans(k, n_frequencies=50, random_state=3, **given)


KINDS = {"pca": pca, "kmeans": kmeans}


def state(model):
    """All that was learned, as arrays."""
    learned = model._components if isinstance(model, OnlineKernelPCA) else model._state()
    return [np.asarray(part) for part in learned]


def same(a, b):
    return all(np.array_equal(p, q) for p, q in zip(state(a), state(b), strict=True))


# What they are.


@pytest.mark.parametrize("forget", [1.0, 0.99])
@pytest.mark.parametrize("map", ["plain", "structured"])
def test_components_are_those_of_the_reference(rows, forget, map):
    model = pca(gamma=0.05, forget=forget, map=map).fit(rows)
    u = structured_frequencies(rows) if map == "structured" else model._map.frequencies
    mean, variances, projections, total = onlinekernelpca.learn(rows, u, 4, forget)
    assert np.allclose(model.mean_, mean, atol=1e-9)
    assert np.allclose(model.explained_variance_, variances, atol=1e-9)
    assert np.allclose(model.explained_variance_ratio_, variances / total, atol=1e-9)
    assert np.allclose(model.transform(rows), projections, atol=1e-9)


def structured_frequencies(rows):
    """They are never written out: the angles of rows along each feature tell them."""
    step = 1e-3
    small = StructuredFeatures(50, gamma=0.05, random_state=3).fit(rows).transform(step * np.eye(rows.shape[1]))
    return np.arctan2(small[:, :50], small[:, 50:]) / step


@pytest.mark.parametrize("forget", [1.0, 0.99])
@pytest.mark.parametrize("k", [1, 5, 280])
def test_clusters_are_those_of_the_reference(rows, forget, k):
    model = kmeans(k, gamma=0.05, forget=forget).fit(rows)
    centres, counts = onlinekernelkmeans.learn(rows, model._map.frequencies, k, model._shape.seed, forget)
    assert np.allclose(model.cluster_centers_, centres, atol=1e-9)
    assert np.allclose(model.counts_, counts, atol=1e-9)
    assert (counts > 0).all() and (forget < 1 or counts.sum() == len(rows))


def test_the_mean_and_the_whole_variance_are_exact(rows):
    model = pca(gamma=0.05).fit(rows)
    Z = FourierFeatures(50, gamma=0.05, random_state=3).fit_transform(rows)
    assert np.allclose(model.mean_, Z.mean(axis=0), atol=1e-12)
    shares = model.explained_variance_ / model.explained_variance_ratio_
    assert np.allclose(shares, Z.var(axis=0, ddof=1).sum(), rtol=1e-12)


def test_components_are_orthonormal_and_their_variances_fall(rows):
    model = pca(8, gamma=0.05).fit(rows)
    assert np.allclose(model.components_ @ model.components_.T, np.eye(8), atol=1e-12)
    assert (np.diff(model.explained_variance_) <= 0).all() and model.explained_variance_[-1] > 0


def test_distances_are_those_of_the_features(rows):
    model = kmeans(gamma=0.05).fit(rows)
    Z = FourierFeatures(50, gamma=0.05, random_state=3).fit_transform(rows)
    apart = np.linalg.norm(Z[:, None] - model.cluster_centers_[None], axis=2)
    assert np.allclose(model.transform(rows), apart, atol=1e-7)
    assert np.array_equal(model.predict(rows), apart.argmin(axis=1)) and np.array_equal(model.labels_, apart.argmin(1))
    assert np.isclose(model.score(rows), -(apart.min(axis=1) ** 2).sum())


# Beside batch methods.


def test_components_tell_as_much_as_those_of_a_batch(digits):
    X, _ = digits
    model = OnlineKernelPCA(5, gamma=0.05, random_state=0).fit(X)
    C = np.cov(FourierFeatures(400, gamma=0.05, random_state=0).fit_transform(X).T)
    best = np.linalg.eigvalsh(C)[::-1][:5]
    told = np.einsum("ij,jk,ik->i", model.components_, C, model.components_)
    assert told.sum() > 0.999 * best.sum()
    assert np.allclose(model.explained_variance_, best, rtol=0.07)


def test_components_are_near_those_of_the_kernel_itself(digits):
    X, _ = digits
    exact = KernelPCA(3, kernel="rbf", gamma=0.05).fit(X)
    near = OnlineKernelPCA(3, n_frequencies=4000, gamma=0.05, random_state=0).fit(X)
    assert np.allclose(near.explained_variance_, exact.eigenvalues_ / len(X), rtol=0.07)
    A, B = exact.transform(X), near.transform(X)
    assert np.abs(np.diag(np.corrcoef(A.T, B.T)[:3, 3:])).min() > 0.98


def test_one_pass_over_digits_finds_clusters_nearly_as_tight_as_many_do(digits):
    X, y = digits
    worse, found = [], []
    for seed in range(3):
        model = OnlineKernelKMeans(10, gamma=0.05, random_state=seed).fit(X)
        Z = FourierFeatures(400, gamma=0.05, random_state=seed).fit_transform(X)
        worse.append(-model.score(X) / KMeans(10, n_init=5, random_state=seed).fit(Z).inertia_)
        found.append(adjusted_rand_score(y, model.labels_))
    assert max(worse) < 1.06 and np.mean(found) > 0.5


def test_rings_are_told_apart_where_clusters_of_the_rows_are_not():
    for seed in range(4):
        X, ring = make_circles(3000, factor=0.3, noise=0.05, random_state=seed)
        assert adjusted_rand_score(ring, OnlineKernelKMeans(2, gamma=5.0, random_state=seed).fit_predict(X)) > 0.99
        assert adjusted_rand_score(ring, KMeans(2, n_init=5, random_state=seed).fit_predict(X)) < 0.01


def test_a_stream_that_moves_is_followed_by_what_forgets():
    draws = np.random.default_rng(0)
    before, after = draws.normal(size=(3000, 2)), draws.normal(size=(3000, 2)) + [6.0, 0.0]
    for kind in (lambda **given: pca(2, gamma=0.1, **given), lambda **given: kmeans(2, gamma=0.1, **given)):
        keeping, fading = (kind(forget=f).fit(before).partial_fit(after) for f in (1.0, 0.99))
        if isinstance(keeping, OnlineKernelPCA):
            late = FourierFeatures(50, gamma=0.1, random_state=3).fit_transform(after[-500:]).mean(axis=0)
            assert np.linalg.norm(fading.mean_ - late) < 0.3 * np.linalg.norm(keeping.mean_ - late)
        else:
            assert fading.score(after) > keeping.score(after)


# How rows come.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gamma", [None, 0.1])
def test_neither_the_cut_nor_the_storage_of_rows_has_an_effect(kind, gamma, rows):
    rows = np.where(np.abs(rows) < 0.5, 0.0, rows)
    whole = KINDS[kind](gamma=gamma).fit(rows)
    shown = whole.transform(rows)
    for pieces in (3, 41, len(rows)):
        cut = KINDS[kind](gamma=gamma)
        for part in np.array_split(np.arange(len(rows)), pieces):
            cut.partial_fit(rows[part])
        assert cut.n_seen_ == len(rows) and same(cut, whole)
        assert np.array_equal(cut.transform(rows), shown)
        assert np.array_equal(np.concatenate([cut.transform(rows[i : i + 1]) for i in range(20)]), shown[:20])
    assert same(KINDS[kind](gamma=gamma).fit(sp.csr_matrix(rows)), whole)
    assert same(KINDS[kind](gamma=gamma, threads=1).fit(rows), whole)
    assert np.array_equal(KINDS[kind](gamma=gamma, threads=1).fit(rows).transform(sp.csr_array(rows)), shown)


@pytest.mark.parametrize("kind", KINDS)
def test_first_rows_are_learned_whatever_their_cut(kind, rows):
    """While the width and the first centres are still to be settled."""
    for n in (1, 2, 7, 255, 256, 257):
        cut = KINDS[kind]()
        for part in np.array_split(np.arange(n), min(n, 5)):
            cut.partial_fit(rows[part])
        whole = KINDS[kind]().fit(rows[:n])
        assert same(cut, whole) and np.array_equal(cut.transform(rows), whole.transform(rows)), n


@pytest.mark.parametrize("kind", KINDS)
def test_fit_starts_afresh_and_precision_is_that_of_the_rows(kind, rows):
    model = KINDS[kind]().fit(10 * rows[:300]).partial_fit(rows[300:])
    assert same(model.fit(rows), KINDS[kind]().fit(rows))
    single = KINDS[kind]().fit(rows.astype(np.float32))
    shown = single.transform(rows.astype(np.float32))
    assert shown.dtype == np.float32 and np.allclose(shown, model.transform(rows), atol=1e-3)
    copy = pickle.loads(pickle.dumps(model))
    assert same(copy.partial_fit(rows), model.partial_fit(rows))
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("kind", KINDS)
def test_memory_does_not_grow_with_the_stream(kind, rows):
    model = KINDS[kind]().partial_fit(rows)
    before = len(pickle.dumps(model))
    for _ in range(20):
        model.partial_fit(rows)
    assert len(pickle.dumps(model)) < before + 100


def test_labels_are_of_the_rows_of_fit_alone(rows):
    model = kmeans().fit(rows)
    assert np.array_equal(model.labels_, model.predict(rows))
    assert not hasattr(model.partial_fit(rows), "labels_")
    assert np.array_equal(kmeans().fit_predict(rows), kmeans().fit(rows).labels_)


def test_names_and_frames(rows):
    table = pd.DataFrame(rows, columns=list("abcdef"))
    for kind, model in KINDS.items():
        shown = model(2, gamma=0.1).set_output(transform="pandas").fit(table).transform(table)
        assert list(shown.columns) == [f"onlinekernel{kind}{i}" for i in range(2)]
    with pytest.raises(ValueError, match="feature names should match"):
        pca().fit(table).transform(table[list("fedcba")])


# What is rare.


def test_rows_that_are_all_the_same_have_one_centre_and_no_direction():
    X = np.ones((400, 3))
    model, clusters = pca(gamma=1.0).fit(X), kmeans(gamma=1.0).fit(X)
    assert not model.components_.any() and not model.transform(X).any() and not model.explained_variance_ratio_.any()
    assert (clusters.counts_ > 0).sum() == 1 and not clusters.labels_.any()
    assert np.allclose(clusters.transform(X)[:, clusters.counts_ == 0], 1.0)
    more = clusters.partial_fit(X + 1.0)
    assert (more.counts_ > 0).sum() == 2, "a centre without rows takes a row that lies on no other"
    assert len(set(more.predict(np.vstack([X[:1], X[:1] + 1.0])))) == 2


def test_few_different_rows_have_few_directions():
    corners = np.random.default_rng(0).normal(size=(3, 4))
    X = corners[np.random.default_rng(1).integers(0, 3, 2000)]
    model = pca(4, gamma=0.1).fit(X)
    assert model.components_[:2].any(axis=1).all() and not model.components_[2:].any()
    assert model.explained_variance_ratio_.sum() == pytest.approx(1.0, abs=0.02)


def test_directions_that_are_forgotten_begin_anew(rows):
    model = pca(gamma=0.05, forget=0.5).fit(rows)
    for _ in range(10):
        model.partial_fit(np.zeros((700, 6)))
    assert np.isfinite(model.transform(rows)).all() and not model.components_.any()
    model.partial_fit(rows)
    assert np.isfinite(model.transform(rows)).all() and model.components_.any(axis=1).all()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: OnlineKernelPCA(kernel="polynomial"), "Polynomial has no spectral sampler"),
        (lambda: OnlineKernelPCA(kernel="laplacian", map="structured"), "prefer no direction"),
        (lambda: OnlineKernelPCA(map="binning"), "map='binning' must be one of 'plain', 'quasi', 'structured'"),
        (lambda: OnlineKernelPCA(0), "n_components=0 must be"),
        (lambda: OnlineKernelKMeans(0), "n_clusters=0 must be"),
        (lambda: OnlineKernelKMeans(n_frequencies=0.5), "n_frequencies=0.5 must be"),
        (lambda: OnlineKernelKMeans(forget=0.0), "forget=0.0 must be"),
        (lambda: OnlineKernelPCA(forget=1.5), "forget=1.5 must be"),
        (lambda: OnlineKernelKMeans(kernel="gausian"), "did you mean gaussian"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make, told, rows):
    with pytest.raises(ValueError, match=told):
        make().fit(rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [100, 700])
def test_rows_that_cannot_be_change_nothing(kind, n, rows):
    model = KINDS[kind]().fit(rows[:n])
    before = pickle.dumps(model)
    for bad in (np.full((2, 6), np.nan), rows[:, :5], np.full((1, 6), 1e16), np.zeros((0, 6))):
        with pytest.raises(ValueError, match=r"NaN|features|1e\+15|0 sample"):
            model.partial_fit(bad)
    assert pickle.dumps(model) == before


def test_in_use(digits):
    X, _ = digits
    model = make_pipeline(OnlineScaler(), OnlineKernelPCA(8, kernel=Matern(nu=2.5), random_state=0))
    assert model.fit_transform(X).shape == (len(X), 8)
    assert model[-1].kernel_.nu == 2.5
