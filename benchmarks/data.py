"""The rows that are timed on: the papers' data sets, scaled and shuffled, and synthetic ones, dense and sparse."""

import functools
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from kernelstream.sources.datasets import open_dataset

# covtype is read as far as this; a run is never longer.
MOST_ROWS = 100_000


class Data(NamedTuple):
    """Rows in float32, dense or CSR, and labels: -1 and 1, or 0 .. K-1."""

    name: str
    X: Any
    y: np.ndarray

    @property
    def width(self) -> int:
        return int(self.X.shape[1])

    def first(self, rows: int) -> "Data":
        return self._replace(X=self.X[:rows], y=self.y[:rows])

    def dense(self) -> "Data":
        return self._replace(X=self.X.toarray(), name=f"{self.name}, dense") if sp.issparse(self.X) else self

    def one_against_rest(self) -> "Data":
        """The most frequent class against all others: the same features, one output."""
        most = np.bincount(self.y).argmax()
        return self._replace(name=f"{self.name}, binary", y=np.where(self.y == most, 1, -1))


def _read(name: str, split: str) -> tuple[sp.csr_array, np.ndarray]:
    blocks = list(open_dataset(name, split))
    width = max(x.shape[1] for x, _ in blocks)
    parts = [sp.csr_array(x) for x, _ in blocks]
    parts = [sp.csr_array((x.data, x.indices, x.indptr), shape=(x.shape[0], width)) for x in parts]
    y = np.concatenate([y for _, y in blocks])
    order = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    return sp.csr_array(sp.vstack(parts))[order], y[order]


def _min_max(X: np.ndarray) -> np.ndarray:
    low, high = X.min(0), X.max(0)
    return np.ascontiguousarray(2 * (X - low) / np.where(high > low, high - low, 1) - 1, np.float32)


@functools.cache
def real(name: str) -> Data:
    """A data set of the papers: cod-rna and covtype min-max to [-1, 1], mnist in [0, 1], a9a and w8a sparse."""
    X, y = _read(name, "all" if name == "covtype" else "train")
    y = y.astype(np.int64)
    if name in ("cod-rna", "covtype"):
        X = _min_max(X.toarray())
    elif name == "mnist":
        X = np.ascontiguousarray(X.toarray() / 255, np.float32)
    else:
        X = X.astype(np.float32)
    return Data(name, X, y - y.min() if name == "covtype" else y)


@functools.cache
def synthetic(rows: int, width: int, classes: int = 2) -> Data:
    """Dense normal rows of squared length about 1; labels by the largest of some waves over them, a tenth wrong."""
    rng = np.random.default_rng(width)
    X = (rng.standard_normal((rows, width)) / np.sqrt(width)).astype(np.float32)
    waves = np.sin(3 * X @ rng.standard_normal((width, classes)).astype(np.float32))
    y = np.where(rng.random(rows) < 0.1, rng.integers(0, classes, rows), waves.argmax(1))
    return Data(f"normal, d = {width:,}", X, 2 * y - 1 if classes == 2 else y)


@functools.cache
def sparse_synthetic(rows: int, width: int, present: int) -> Data:
    """Sparse rows with exactly `present` of their features, each 1 / sqrt(present); labels likewise."""
    rng = np.random.default_rng(width + present)
    indices = np.sort(
        rng.integers(0, width // present, (rows, present)) + width // present * np.arange(present), axis=1
    )
    values = np.full(rows * present, 1 / np.sqrt(present), np.float32)
    X = sp.csr_array((values, indices.reshape(-1), np.arange(0, rows * present + 1, present)), shape=(rows, width))
    waves = np.sin(6 * X @ rng.standard_normal((width, 2)))
    y = np.where(rng.random(rows) < 0.1, rng.integers(0, 2, rows), waves.argmax(1))
    return Data(f"sparse, d = {width:,}, {present} present", X, 2 * y - 1)
