"""How the merged model of 2, 4 and 8 shards errs beside its parts, on rows that none of them has seen.

python -m benchmarks.merges [DATA] [LEARNER ...]      # needs the papers' data sets (KERNELSTREAM_DATA)
"""

import copy
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelstream import ALGORITHMS, Binary, Learner, Multiclass, Regression, make
from kernelstream.kernels import Gaussian
from kernelstream.sources.datasets import open_dataset
from kernelstream.tasks import REGRESSION

REAL = {"cod-rna": "train", "a9a": "train", "satimage": "fogd", "cpusmall": "raw", "covtype": None}
SHARDS = (2, 4, 8)


def rows_of(data: str, most: int) -> tuple[np.ndarray, np.ndarray, Callable[[], Any]]:
    """At most so many rows in random order, standardised where they are not 0 and 1, with a maker of their task."""
    blocks = list(open_dataset(data, REAL[data]))
    width = max(X.shape[1] for X, _ in blocks)
    X = np.concatenate([sp.csr_array(X).toarray() @ np.eye(X.shape[1], width) for X, _ in blocks])
    y = np.concatenate([y for _, y in blocks])
    order = np.random.default_rng(0).permutation(len(y))[:most]
    X, y = X[order], y[order]
    if data != "a9a":
        deviations = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(deviations > 0.0, deviations, 1.0)
    if data == "cpusmall":
        return X, (y - y.mean()) / y.std(), Regression
    classes = np.unique(y)
    return X, y, lambda: (Binary if len(classes) == 2 else Multiclass)(classes)


def merges(
    name: str, X: np.ndarray, y: np.ndarray, task: Callable[[], Any], **parameters: Any
) -> Iterator[tuple[int, float, float]]:
    """(shards, the mean error of their models, that of the merged one): mistakes, or squared errors in regression."""
    if name != "auto":
        parameters["kernel"] = Gaussian(1.0 / (X.shape[1] * X.var()))
    if name == "rrf":
        parameters["width_learning_rate"] = 0.0
    *parts, tested = np.array_split(np.arange(len(y)), max(SHARDS) + 1)
    spec, errors, merged = make(name, **parameters), [], None
    for n, part in enumerate(parts, start=1):
        learner = Learner(copy.deepcopy(spec), task(), seed=0)
        learner.learn(X[part], y[part])
        spec = learner.settled
        errors.append(_error(learner, X[tested], y[tested]))
        merged = learner if merged is None else merged.merge(learner)
        if n in SHARDS:
            yield n, float(np.mean(errors)), _error(merged, X[tested], y[tested])


def _error(learner: Learner, X: np.ndarray, y: np.ndarray) -> float:
    shown = learner.predict(X)
    return float(np.mean((shown - y) ** 2 if learner.task.name == REGRESSION else shown != y))


def main() -> None:
    data, *names = sys.argv[1:] or ["cod-rna"]
    X, y, task = rows_of(data, 9 * 3000)
    for name in names or ALGORITHMS:
        if task().name in ALGORITHMS[name].tasks:
            told = (f"{n} shards {parts:.3f} -> {error:.3f}" for n, parts, error in merges(name, X, y, task))
            print(f"{name:18s}", ", ".join(told), flush=True)


if __name__ == "__main__":
    main()
