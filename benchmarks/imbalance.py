"""The area under the ROC curve where one class is rare: scores of rows before they are learned, in one pass.

python -m benchmarks.imbalance [DATA ...]      # needs the papers' data sets (KERNELSTREAM_DATA)
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from kernelstream import FOGD, KOIL, OPAUC, Binary, Learner, Ridge
from kernelstream.kernels import Gaussian
from kernelstream.sources.datasets import open_dataset

ROWS = 20_000
# The split of each set, and which labels are the rare class.
SETS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "w8a": ("train", lambda y: y > 0),
    "shuttle": ("train", lambda y: y == 5),
    "shuttle, rarer": ("train", lambda y: (y == 2) | (y == 3) | (y >= 6)),
    "satimage": ("fogd", lambda y: y == 4),
    "cod-rna": ("train", lambda y: y > 0),
}
SIZE = {"n_components": 100}
LEARNERS: dict[str, tuple[Any, dict[str, Any], bool]] = {
    "koil": (KOIL, {}, False),
    "koil, B = 200": (KOIL, {"budget": 200}, False),
    "koil, oldest, B = 200": (KOIL, {"budget": 200, "replacement": "oldest"}, False),
    "opauc": (OPAUC, SIZE, False),
    "fogd": (FOGD, SIZE, False),
    "fogd, weighted": (FOGD, SIZE, True),
    "fogd, D = 1600": (FOGD, {}, False),
    "ridge": (Ridge, SIZE, False),
    "ridge, weighted": (Ridge, SIZE, True),
}


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Standardised rows in a random order, and labels of -1 and 1."""
    split, rare = SETS[name]
    blocks = list(open_dataset(name.partition(",")[0], split))
    width = max(X.shape[1] for X, _ in blocks)
    y = np.concatenate([y for _, y in blocks])
    order = np.random.default_rng(0).permutation(len(y))[:ROWS]
    parts = [sp.csr_array(X) for X, _ in blocks]
    X = sp.vstack([sp.csr_array((p.data, p.indices, p.indptr), shape=(p.shape[0], width)) for p in parts])
    X = sp.csr_array(X)[order].toarray()
    deviations = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviations > 0.0, deviations, 1.0), np.where(rare(y[order]), 1, -1)


def area(kind: Any, parameters: dict[str, Any], weighted: bool, X: np.ndarray, y: np.ndarray) -> float:
    """Of the scores before each row is learned; weighted: so that both classes count the same."""
    spec = kind(kernel=Gaussian(1.0 / X.shape[1]), **parameters)
    weights = np.where(y > 0, 0.5 / np.mean(y > 0), 0.5 / np.mean(y < 0)) if weighted else None
    scores = Learner(spec, Binary([-1, 1]), threads=1).learn(X, y, weights)
    return float(roc_auc_score(y, scores[:, 0]))


def main() -> None:
    print(f"| data | rare | {' | '.join(f'{name}' for name in LEARNERS)} |")
    print(f"| --- | ---: |{' ---: |' * len(LEARNERS)}")
    for data in sys.argv[1:] or SETS:
        X, y = rows_of(data)
        found = [f"{area(*learner, X, y):.3f}" for learner in LEARNERS.values()]
        print(f"| {data} | {np.mean(y > 0):.1%} | {' | '.join(found)} |".replace("%", " %"), flush=True)


if __name__ == "__main__":
    main()
