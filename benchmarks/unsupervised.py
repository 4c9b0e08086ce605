"""Components and clusters of streams beside scikit-learn's, in one run.

    python -m benchmarks.unsupervised

digits (scikit-learn's) and satimage, permuted; satimage as its file has it, sorted by class; two rings of radius 1 and
0.3, with noise of 0.05. 800 random features each, ours or RBFSampler's, gamma as the table says, one pass in blocks of
256 rows; mean of five seeds, each an order of the rows too. Errors are shares of what a batch method gets on the very
same features: the variance in the directions that were found, of ten, by that of PCA's; the sum of squared distances by
that of the best of five KMeans. Oja is Sanger's rule with steps c / (100 + t), the best c of four, on ours.

Then the Rand index of rings for other widths, ours and that of a batch; and rows a second, features included: covtype's
first 40,960 rows in float32, ten components or clusters, one thread, without the first block, on which seeds are
chosen; the best of three, and for scikit-learn's the better of blocks of 1,024 and 4,096 rows.
"""

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits, make_circles
from sklearn.decomposition import IncrementalPCA, KernelPCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics import adjusted_rand_score

from kernelstream import FourierFeatures, OnlineKernelKMeans, OnlineKernelPCA
from kernelstream.sources.datasets import open_dataset

BLOCK, SEEDS, COMPONENTS, FREQUENCIES = 256, range(5), 10, 400
BLOCKS, TIMED = (1024, 4096), 40_960


class Data(NamedTuple):
    name: str
    X: np.ndarray
    y: np.ndarray
    gamma: float
    clusters: int
    permuted: bool = True

    def order(self, seed: int) -> np.ndarray:
        n = len(self.y)
        return np.random.default_rng(seed).permutation(n) if self.permuted else np.arange(n)


def streams() -> Iterator[Data]:
    X, y = load_digits(return_X_y=True)
    yield Data("digits", X / 16, y, 0.05, 10)
    blocks = [(X.toarray() if issparse(X) else X, y) for X, y in open_dataset("satimage")]
    X, y = (np.concatenate(part) for part in zip(*blocks, strict=True))
    yield Data("satimage", X, y, 0.2, 6)
    yield Data("satimage, sorted by class", X, y, 0.2, 6, permuted=False)
    X, y = make_circles(4000, factor=0.3, noise=0.05, random_state=0)
    yield Data("two rings", X, y, 5.0, 2)


def told(directions: np.ndarray, Z: np.ndarray) -> float:
    """The variance of Z in these directions, as a share of the most that so many can have."""
    C = np.cov(Z.T)
    Q = np.linalg.qr(directions.T)[0]
    return float(np.trace(Q.T @ C @ Q) / np.linalg.eigvalsh(C)[::-1][: len(directions)].sum())


def oja(Z: np.ndarray, c: float) -> float:
    V, mean = np.random.default_rng(0).normal(size=(COMPONENTS, Z.shape[1])) / np.sqrt(Z.shape[1]), Z[0].copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for t, z in enumerate(Z[1:], start=1):
            u = z - mean
            mean += u / (t + 1)
            along = V @ u
            V += c / (100 + t) * (np.outer(along, u) - np.tril(np.outer(along, along)) @ V)
    return told(V, Z) if np.isfinite(V).all() else 0.0


def in_blocks(learn: Any, X: np.ndarray, block: int = BLOCK) -> float:
    """Rows a second, without the first block."""
    learn(X[:block])
    begun = time.perf_counter()
    for start in range(block, len(X), block):
        learn(X[start : start + block])
    return (len(X) - block) / (time.perf_counter() - begun)


def theirs(model: Any, sampler: RBFSampler) -> Any:
    return lambda rows: model.partial_fit(sampler.transform(rows)) if len(rows) >= COMPONENTS else None


def components(data: Data, seed: int) -> list[float]:
    X, given = data.X[data.order(seed)], {"gamma": data.gamma, "random_state": seed}
    ours = OnlineKernelPCA(COMPONENTS, n_frequencies=FREQUENCIES, threads=1, **given)
    sampler = RBFSampler(n_components=2 * FREQUENCIES, **given).fit(X[:1])
    other = IncrementalPCA(COMPONENTS)
    in_blocks(ours.partial_fit, X)
    in_blocks(theirs(other, sampler), X)
    Z = FourierFeatures(FREQUENCIES, **given).fit_transform(X)
    exact = np.linalg.eigvalsh(np.cov(Z.T))[::-1][:COMPONENTS]
    kernel = KernelPCA(3, kernel="rbf", gamma=data.gamma, eigen_solver="arpack").fit(X).eigenvalues_ / len(X)
    found = told(ours.components_, Z), told(other.components_, sampler.transform(X))
    best = max(oja(Z, c) for c in (10.0, 30.0, 100.0, 300.0))
    variances = ours.explained_variance_
    return [*found, best, variances.sum() / exact.sum(), float(np.max(np.abs(variances[:3] / kernel - 1)))]


def clusters(data: Data, seed: int) -> list[float]:
    order = data.order(seed)
    X, y, given = data.X[order], data.y[order], {"gamma": data.gamma, "random_state": seed}
    ours = OnlineKernelKMeans(data.clusters, n_frequencies=FREQUENCIES, threads=1, **given)
    sampler = RBFSampler(n_components=2 * FREQUENCIES, **given).fit(X[:1])
    other = MiniBatchKMeans(data.clusters, n_init=8, random_state=seed)
    in_blocks(ours.partial_fit, X)
    in_blocks(theirs(other, sampler), X)
    Z, S = FourierFeatures(FREQUENCIES, **given).fit_transform(X), sampler.transform(X)
    batch, batch_of_theirs, plain = (KMeans(data.clusters, n_init=5, random_state=seed).fit(rows) for rows in (Z, S, X))
    inertia = -ours.score(X) / batch.inertia_, -other.score(S) / batch_of_theirs.inertia_
    labels = ours.predict(X), other.predict(S), batch.labels_, plain.labels_
    return [*inertia, *(adjusted_rand_score(y, found) for found in labels)]


def rings() -> None:
    """The adjusted Rand index on two rings by their width: of ours, and of the best of five KMeans on its features."""
    gammas = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
    print("| rings of radius 1 and | " + " | ".join(f"gamma {gamma:g}" for gamma in gammas) + " |")
    print("| --- " * (1 + len(gammas)) + "|")
    for factor in (0.3, 0.5):
        cells = []
        for gamma in gammas:
            found = []
            for seed in SEEDS:
                X, y = make_circles(4000, factor=factor, noise=0.05, random_state=seed)
                given: dict[str, Any] = {"gamma": gamma, "random_state": seed}
                ours = OnlineKernelKMeans(2, n_frequencies=FREQUENCIES, **given).fit(X)
                Z = FourierFeatures(FREQUENCIES, **given).fit_transform(X)
                batch = KMeans(2, n_init=5, random_state=seed).fit(Z)
                found.append([adjusted_rand_score(y, labels) for labels in (ours.labels_, batch.labels_)])
            cells.append("{:.2f}, {:.2f}".format(*np.abs(np.mean(found, axis=0))))
        print(f"| {factor} | " + " | ".join(cells) + " |", flush=True)
    print()


def speeds() -> None:
    X = np.concatenate([X.toarray() if issparse(X) else X for X, _ in islice(open_dataset("covtype"), 40)])[:TIMED]
    X = ((X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)).astype(np.float32)
    given: dict[str, Any] = {"gamma": 1 / X.shape[1], "random_state": 0}
    sampler = RBFSampler(n_components=2 * FREQUENCIES, **given).fit(X[:1])
    pairs = (
        (OnlineKernelPCA, lambda: IncrementalPCA(COMPONENTS)),
        (OnlineKernelKMeans, lambda: MiniBatchKMeans(COMPONENTS, random_state=0)),
    )
    print(f"| covtype, {len(X):,} rows | rows/s | scikit-learn's rows/s |\n| --- | --- | --- |")
    for kind, other in pairs:
        options = {**given, "n_frequencies": FREQUENCIES, "threads": 1}
        ours = max(in_blocks(kind(COMPONENTS, **options).partial_fit, X, BLOCKS[0]) for _ in range(3))
        those = max(in_blocks(theirs(other(), sampler), X, block) for block in BLOCKS for _ in range(3))
        print(f"| {kind.__name__}, {type(other()).__name__} | {ours:,.0f} | {those:,.0f} |", flush=True)


HEADS = {
    components: ("variance, ours", "IncrementalPCA", "Oja", "sum of variances", "worst of three beside KernelPCA"),
    clusters: ("distances, ours", "MiniBatchKMeans", "Rand, ours", "MiniBatchKMeans", "batch", "rows themselves"),
}


def main() -> None:
    everything = list(streams())
    for what, head in HEADS.items():
        names = ("data, gamma", "rows", *head)
        print("| " + " | ".join(names) + " |\n" + "| --- " * len(names) + "|")
        for data in everything:
            found = np.mean([what(data, seed) for seed in SEEDS], axis=0)
            cells = [f"{value:.3f}" for value in found]
            print(f"| {data.name}, {data.gamma:g} | {len(data.y):,} | " + " | ".join(cells) + " |", flush=True)
        print()
    rings()
    speeds()


if __name__ == "__main__":
    main()
