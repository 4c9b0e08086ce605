"""Moments of the features of some rows: what a fitted scaling is made of, and what two scalings are merged by."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

Reals: TypeAlias = NDArray[np.float64]


class Moments(NamedTuple):
    """The number of rows, and for each feature its extremes, mean and sum of squared deviations from the mean."""

    n_rows: int
    low: Reals
    high: Reals
    mean: Reals
    squares: Reals


def moments_of(X: Any) -> Moments:
    """Of a block of rows, dense or sparse."""
    return _sparse_moments(X) if issparse(X) else _dense_moments(np.asarray(X, np.float64))


def _dense_moments(X: Reals) -> Moments:
    with np.errstate(invalid="ignore", over="ignore"):
        mean = X.mean(axis=0)
        return Moments(len(X), X.min(axis=0), X.max(axis=0), mean, np.square(X - mean).sum(axis=0))


def _sparse_moments(X: csr_array) -> Moments:
    n, width = X.shape
    values = X.data.astype(np.float64)
    present = np.bincount(X.indices, minlength=width)
    low, high = np.where(present < n, 0.0, np.inf), np.where(present < n, 0.0, -np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        np.minimum.at(low, X.indices, values)
        np.maximum.at(high, X.indices, values)
        mean = np.bincount(X.indices, values, width) / n
        deviations = np.bincount(X.indices, np.square(values - mean[X.indices]), width)
        return Moments(n, low, high, mean, deviations + (n - present) * mean**2)


def merged(a: Moments, b: Moments) -> Moments:
    """The moments of both parts together: Chan's update. A feature that a part did not have was 0 there."""
    width = max(len(a.mean), len(b.mean))
    a, b = (Moments(m.n_rows, *(padded(array, width) for array in m[1:])) for m in (a, b))
    mean, squares = joined((a.n_rows, a.mean, a.squares), (b.n_rows, b.mean, b.squares))
    return Moments(a.n_rows + b.n_rows, np.minimum(a.low, b.low), np.maximum(a.high, b.high), mean, squares)


def joined(a: tuple[int, Reals, Reals], b: tuple[int, Reals, Reals]) -> tuple[Reals, Reals]:
    """The mean and the sum of squared deviations of two parts together, each given with its number of rows."""
    share = b[0] / (a[0] + b[0])
    with np.errstate(invalid="ignore", over="ignore"):
        shift = b[1] - a[1]
        return a[1] + shift * share, a[2] + b[2] + shift**2 * (a[0] * share)


def padded(array: Reals, width: int) -> Reals:
    """The same array when it has that width, else one with zeros behind it."""
    return array if len(array) == width else np.pad(array, (0, width - len(array)))
