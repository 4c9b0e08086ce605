"""Who finds odd rows: area under the ROC curve of scores from before each row was learned, in one run.

    python -m benchmarks.anomalies

Three streams with labels that only judge: shuttle (class 1 is usual, class 4 left out), kddcup99 (normal connections
and one attack of two hundred, in their order), mnist-odd (zeros and 700 sixes, 100 of the pixels, as the collection
ODDS has it).
Rows come in blocks of 64, scored, then learned; the first 500 are not judged. Everybody gets features in units of their
deviation so far, half-space trees in units of their range so far; parameters are defaults, nu = 0.1.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
from river import anomaly, preprocessing
from scipy.sparse import issparse
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDOneClassSVM
from sklearn.metrics import roc_auc_score

from kernelstream import NORMA, OnlineKernelOutlier, OnlineScaler
from kernelstream.sources import open_source

BLOCK, FIRST = 64, 500
MOST = 20_000


def rows(name: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    blocks, n = [], 0
    for X, y in open_source(name):
        blocks.append((X.toarray() if issparse(X) else np.asarray(X), np.asarray(y)))
        n += len(y)
        if n >= most:
            break
    width = max(X.shape[1] for X, _ in blocks)
    wide = [np.pad(X, ((0, 0), (0, width - X.shape[1]))) for X, _ in blocks]
    return np.concatenate(wide)[:most], np.concatenate([y for _, y in blocks])[:most]


def streams() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Each with its rows, and which of them are odd."""
    draws = np.random.default_rng(0)
    X, y = rows("shuttle", 30_000)
    kept = y != 4
    yield "shuttle", X[kept][:MOST], (y != 1)[kept][:MOST]
    X, y = rows("kddcup99", 200_000)
    kept = (y == 0) | (draws.random(len(y)) < 0.005)
    yield "kddcup99", X[kept][:MOST], (y != 0)[kept][:MOST]
    X, y = rows("mnist", 60_000)
    sixes = draws.permutation(np.flatnonzero(y == 6))[:700]
    order = draws.permutation(np.concatenate([np.flatnonzero(y == 0), sixes]))
    yield "mnist-odd", X[order][:, draws.permutation(784)[:100]], y[order] == 6


def ours(algorithm: object = "auto") -> Callable[[np.ndarray], np.ndarray]:
    def scores(X: np.ndarray) -> np.ndarray:
        detector, found = OnlineKernelOutlier(algorithm, random_state=0), []  # type: ignore[arg-type]
        for start in range(0, len(X), BLOCK):
            block = X[start : start + BLOCK]
            found.append(-detector.decision_function(block) if start else np.zeros(len(block)))
            detector.partial_fit(block)
        return np.concatenate(found)

    return scores


def half_space_trees(X: np.ndarray) -> np.ndarray:
    model, found = preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(seed=0), []
    for row in X.tolist():
        x = dict(enumerate(row))
        found.append(model.score_one(x))
        model.learn_one(x)
    return np.array(found)


def one_class_svm(X: np.ndarray) -> np.ndarray:
    scaler, model, found = OnlineScaler(), SGDOneClassSVM(nu=0.1, random_state=0), []
    sampler = RBFSampler(gamma=1.0 / X.shape[1], n_components=1600, random_state=0).fit(X[:1])
    for start in range(0, len(X), BLOCK):
        Z = sampler.transform(scaler.transform_learn(X[start : start + BLOCK]))
        found.append(-model.score_samples(Z) if start else np.zeros(len(Z)))
        model.partial_fit(Z)
    return np.concatenate(found)


DETECTORS = {
    "`OnlineKernelOutlier()`": ours(),
    "`OnlineKernelOutlier(NORMA(...))`": ours(NORMA(nu=0.1, learning_rate=1.0, regularization=1e-4, budget=1000)),
    "River's HalfSpaceTrees": half_space_trees,
    "RBFSampler + SGDOneClassSVM": one_class_svm,
}


def main() -> None:
    print("| stream | rows | odd | " + " | ".join(DETECTORS) + " |")
    print("| --- " * (3 + len(DETECTORS)) + "|")
    for name, X, odd in streams():
        cells = []
        for scores in DETECTORS.values():
            scores(X[: 8 * BLOCK])  # compiled
            begun = time.perf_counter()
            found = roc_auc_score(odd[FIRST:], scores(X)[FIRST:])
            cells.append(f"{found:.4f} ({len(X) / (time.perf_counter() - begun):,.0f} rows/s)")
        print(f"| {name} | {len(X):,} | {odd.mean():.2%} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
