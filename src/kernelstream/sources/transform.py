"""Sources made from sources: features scaled, rows shuffled; one streamed pass each, in bounded memory."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..numerics.compile import compiled, inlined
from ..numerics.rows import LARGEST
from .base import DEFAULT_BLOCK_ROWS, ArraySource, DerivedSource, LabelledBlock, Matrix, Source, as_csr, positive

KINDS = ("minmax", "standard")
ONLINE = "online"
_Share: TypeAlias = tuple[int, NDArray[np.float64], NDArray[np.float64]]


class Scaling(NamedTuple):
    """The map x -> (x - offset) * factor of each feature. A feature that was constant has factor 0."""

    kind: str
    offset: NDArray[np.float64]
    factor: NDArray[np.float64]

    def apply(self, X: Matrix) -> Matrix:
        """The scaled rows: dense, or sparse when X is and no offset would fill its zeros."""
        width = len(self.offset)
        if X.shape[1] > width or (X.shape[1] < width and not issparse(X)):
            raise ValueError(
                f"the rows have {X.shape[1]} features, the scaling was fitted on {width}; "
                "fit it on data that has all of them, or drop the new ones"
            )
        if not issparse(X):
            return (X - self.offset) * self.factor
        if self.offset.any():
            return (as_csr(X.data, X.indices, X.indptr, width).toarray() - self.offset) * self.factor
        return as_csr(X.data * self.factor[X.indices], X.indices, X.indptr, width)

    def undo(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows as they were; a feature that was constant has its value."""
        offset, factor = self.offset[: X.shape[1]], self.factor[: X.shape[1]]
        return np.asarray(offset + np.divide(X, factor, out=np.zeros_like(X), where=factor != 0))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `scaling_from` needs besides the kind."""
        return {"offset": self.offset, "factor": self.factor}


class OnlineScaling:
    """Features scaled by the statistics of the past only, which `learn` keeps and `apply` uses.

    Dense rows become (x - mean) / deviation. Sparse rows keep their zeros: x / root mean square. The rows learned first
    decide which of the two it is; later ones of the other form are converted. A feature that has not varied (sparse:
    appeared) so far becomes 0, and one that is new was 0 so far. Values are cut off at 1e15, the largest a learner
    takes. What comes out does not depend on how the rows are cut into blocks, bit for bit.
    """

    kind: ClassVar[str] = ONLINE

    def __init__(self) -> None:
        self.n_rows = 0
        self.centred = True
        self.mean: NDArray[np.float64] = np.zeros(0)  # stays 0 for sparse rows
        self.spread: NDArray[np.float64] = np.zeros(0)  # the sum of squared deviations from the mean

    def learn(self, X: Matrix) -> Matrix:
        """The rows, each scaled by those before it. Requires: finite numbers of at most 1e15."""
        self.centred = self._centres(X)
        width = max(X.shape[1], len(self.mean))
        self.mean, self.spread = _padded(self.mean, width), _padded(self.spread, width)
        scaled = self._scaled(X, self.mean, self.spread, 1)
        self.n_rows += X.shape[0]
        return scaled

    def apply(self, X: Matrix) -> Matrix:
        """The rows, scaled by what was learned so far."""
        width = max(X.shape[1], len(self.mean))
        return self._scaled(X, _padded(self.mean, width), _padded(self.spread, width), 0)

    def _centres(self, X: Matrix) -> bool:
        return self.centred if self.n_rows > 0 else not issparse(X)

    def _scaled(self, X: Matrix, mean: NDArray[Any], spread: NDArray[Any], learning: int) -> Matrix:
        width = len(mean)
        if not self._centres(X):
            X = csr_array(X)
            values = X.data.astype(np.float64)
            indices, indptr = X.indices.astype(np.int64, copy=False), X.indptr.astype(np.int64, copy=False)
            _scale_sparse(indptr, indices, values, spread, self.n_rows, learning)
            return as_csr(values, indices, indptr, width)
        rows = np.zeros((X.shape[0], width))
        rows[:, : X.shape[1]] = X.toarray() if issparse(X) else X
        _scale_dense(rows, mean, spread, self.n_rows, learning)
        return rows

    def undo(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows as they would have been by the newest statistics."""
        mean, spread = self.mean[: X.shape[1]], self.spread[: X.shape[1]]
        return np.asarray(mean + X * np.sqrt(spread / max(self.n_rows, 1)))

    def merge(self, other: "OnlineScaling") -> None:
        """Take in the statistics of other rows. Requires: equal `centred`, unless one has seen no rows."""
        if other.n_rows == 0:
            return
        width = max(len(self.mean), len(other.mean))
        mine, theirs = ((s.n_rows, _padded(s.mean, width), _padded(s.spread, width)) for s in (self, other))
        self.mean, self.spread = _joined(mine, theirs)
        self.n_rows, self.centred = self.n_rows + other.n_rows, other.centred

    def copy(self) -> "OnlineScaling":
        copied = OnlineScaling()
        copied.merge(self)
        return copied

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `scaling_from` needs besides the kind."""
        counts = np.array([self.n_rows, self.centred], np.int64)
        return {"counts": counts, "mean": self.mean, "spread": self.spread}


@inlined
def _in_deviations(shift, spread, n):
    """A shift in units of the deviation of n rows; 0 when there is none."""
    deviation = np.sqrt(spread / max(n, 1))
    if not deviation > 0.0:
        return 0.0
    return min(max(shift / deviation, -LARGEST), LARGEST)


@compiled
def _scale_dense(rows, mean, spread, n, learning):
    """Scale rows in place by what the n rows before them left; when learning, each row joins what the next one sees."""
    for t in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value = rows[t, j]
            shift = value - mean[j]
            rows[t, j] = _in_deviations(shift, spread[j], n)
            if learning == 1:
                mean[j] += shift / (n + 1)
                spread[j] += shift * (value - mean[j])
        n += learning


@compiled
def _scale_sparse(indptr, indices, values, spread, n, learning):
    """The same for sparse rows, around a mean of 0."""
    for t in range(indptr.shape[0] - 1):
        for p in range(indptr[t], indptr[t + 1]):
            value = values[p]
            values[p] = _in_deviations(value, spread[indices[p]], n)
            if learning == 1:
                spread[indices[p]] += value * value
        n += learning


def scaling_from(kind: str, arrays: dict[str, NDArray[Any]]) -> Scaling | OnlineScaling:
    """The scaling whose `arrays` these are; ValueError when they cannot be."""
    if kind != ONLINE:
        return Scaling(kind, arrays["offset"], arrays["factor"])
    scaling = OnlineScaling()
    n_rows, centred = arrays["counts"].tolist()
    mean, spread = arrays["mean"], arrays["spread"]
    sound = mean.dtype == spread.dtype == np.float64 and mean.ndim == 1 and mean.shape == spread.shape
    if not (sound and n_rows >= 0 and np.isfinite(mean).all() and np.isfinite(spread).all() and (spread >= 0).all()):
        raise ValueError("its scaling is not one that can have been learned")
    scaling.n_rows, scaling.centred, scaling.mean, scaling.spread = int(n_rows), bool(centred), mean, spread
    return scaling


class _Moments(NamedTuple):
    """The number of rows, and for each feature its extremes, mean and sum of squared deviations from the mean."""

    n_rows: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]


def fit_scaling(source: Source, kind: str) -> Scaling:
    """One pass over a source. "minmax" maps each feature onto [-1, 1], "standard" to mean 0 and variance 1.

    Constant features become 0. The zeros that sparse rows leave out count, also those before a feature first appeared.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    total: _Moments | None = None
    for X, _ in source:
        moments = _sparse_moments(X) if issparse(X) else _dense_moments(np.asarray(X, np.float64))
        total = moments if total is None else _merged(total, moments)
        broken = np.flatnonzero(~np.isfinite(total.high - total.low))
        if len(broken) > 0:
            raise ValueError(
                f"{source.name}: feature {broken[0]} has a value that is NaN, infinite or too large "
                f"in rows {total.n_rows - X.shape[0]} to {total.n_rows - 1}; impute or drop such rows before scaling"
            )
    if total is None:
        raise ValueError(f"{source.name} has no rows; a scaling needs at least one")
    if kind == "minmax":
        offset, scale = total.low / 2 + total.high / 2, total.high / 2 - total.low / 2
        constant = scale == 0
    else:
        variance = total.spread / total.n_rows
        offset, scale = total.mean, np.sqrt(variance)
        # Rounding alone leaves this much variance in a constant feature (Chan, Golub, LeVeque 1983).
        noise = total.n_rows * np.finfo(float).eps
        constant = variance <= noise * variance + (noise * offset) ** 2
    # Below the smallest normal number a reciprocal overflows.
    constant |= scale < np.finfo(float).tiny
    return Scaling(kind, offset, np.divide(1.0, scale, out=np.zeros_like(scale), where=~constant))


def _dense_moments(X: NDArray[np.float64]) -> _Moments:
    with np.errstate(invalid="ignore", over="ignore"):
        mean = X.mean(axis=0)
        return _Moments(len(X), X.min(axis=0), X.max(axis=0), mean, np.square(X - mean).sum(axis=0))


def _sparse_moments(X: csr_array) -> _Moments:
    n, width = X.shape
    values = X.data.astype(np.float64)
    present = np.bincount(X.indices, minlength=width)
    low, high = np.where(present < n, 0.0, np.inf), np.where(present < n, 0.0, -np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        np.minimum.at(low, X.indices, values)
        np.maximum.at(high, X.indices, values)
        mean = np.bincount(X.indices, values, width) / n
        deviations = np.bincount(X.indices, np.square(values - mean[X.indices]), width)
        return _Moments(n, low, high, mean, deviations + (n - present) * mean**2)


def _merged(a: _Moments, b: _Moments) -> _Moments:
    """The moments of both parts together: Chan's update. A feature that a part did not have was 0 there."""
    width = max(len(a.mean), len(b.mean))
    a, b = (_Moments(m.n_rows, *(_padded(array, width) for array in m[1:])) for m in (a, b))
    mean, spread = _joined((a.n_rows, a.mean, a.spread), (b.n_rows, b.mean, b.spread))
    return _Moments(a.n_rows + b.n_rows, np.minimum(a.low, b.low), np.maximum(a.high, b.high), mean, spread)


def _joined(a: _Share, b: _Share) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean and the sum of squared deviations of two parts together, each given with its number of rows."""
    share = b[0] / (a[0] + b[0])
    with np.errstate(invalid="ignore", over="ignore"):
        shift = b[1] - a[1]
        return a[1] + shift * share, a[2] + b[2] + shift**2 * (a[0] * share)


def _padded(array: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """The same array when it has that width, else one with zeros behind it."""
    return array if len(array) == width else np.pad(array, (0, width - len(array)))


class Scaled(DerivedSource):
    """The blocks of a source, scaled."""

    def __init__(self, source: Source, scaling: Scaling):
        super().__init__(source)
        self.scaling = scaling

    def __iter__(self) -> Iterator[LabelledBlock]:
        for X, y in self.source:
            yield self.scaling.apply(X), y


class Shuffled(DerivedSource):
    """The rows of a source in another order, however they come in blocks: a uniformly random one, drawn from a seed,
    or row numbers (each row at most once).

    Rows that are not in memory anyway are first spooled, in each pass, into temporary files, so that what stays there
    is one block, the permutation (8 bytes a row) and the distinct labels when they are words.
    """

    def __init__(self, source: Source, order: int | NDArray[np.int64], *, block_rows: int = DEFAULT_BLOCK_ROWS):
        super().__init__(source)
        self.order = order
        self.block_rows = positive(block_rows, "block_rows")
        self._gathered = -1.0

    def __iter__(self) -> Iterator[LabelledBlock]:
        self._gathered = -1.0
        if isinstance(self.source, ArraySource):
            X, y = self.source.X, self.source.y
            yield from self._in_order(len(y), lambda chosen: (X[chosen], y[chosen]))
            return
        # The files go when this generator ends, is closed or is collected.
        with _Spool() as spool:
            for X, y in self.source:
                spool.append(X, y)
            spool.map_files()
            yield from self._in_order(spool.n_rows, spool.gather)

    def _in_order(self, n_rows: int, gather: Callable[[NDArray[np.int64]], LabelledBlock]) -> Iterator[LabelledBlock]:
        order = self._row_numbers(n_rows)
        for start in range(0, len(order), self.block_rows):
            chosen = order[start : start + self.block_rows]
            self._gathered = (start + len(chosen)) / len(order)
            yield gather(chosen)

    def _row_numbers(self, n_rows: int) -> NDArray[np.int64]:
        if not isinstance(self.order, np.ndarray):
            return np.random.default_rng(self.order).permutation(n_rows)
        order = self.order
        if order.ndim != 1 or order.dtype.kind not in "iu" or len(np.unique(order)) < len(order):
            raise ValueError("an order of rows is a list of different whole numbers.")
        if len(order) > 0 and not 0 <= order.min() <= order.max() < n_rows:
            raise ValueError(
                f"an order has rows {order.min()} to {order.max()}, but {self.name} has rows 0 to {n_rows - 1}."
            )
        return order.astype(np.int64, copy=False)

    def progress(self) -> float | None:
        """Half of the work is spooling."""
        if self._gathered >= 0:
            return 0.5 + 0.5 * self._gathered
        spooled = self.source.progress()
        return None if spooled is None else 0.5 * spooled


class _Spool:
    """Rows appended to temporary files, and gathered from there in any order."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._width = 0
        self._entries = 0
        self._form: tuple[Any, ...] | None = None
        self._words: dict[str, int] = {}
        self._dtypes: dict[str, Any] = {}
        self._maps: dict[str, NDArray[Any]] = {}
        self._directory = tempfile.TemporaryDirectory(prefix="kernelstream-shuffled-")

    def __enter__(self) -> "_Spool":
        return self

    def __exit__(self, *_: object) -> None:
        # Some systems cannot remove a file that is still mapped.
        self._maps.clear()
        self._directory.cleanup()

    def append(self, X: Matrix, y: NDArray[Any]) -> None:
        form = (X.dtype, "sparse" if issparse(X) else X.shape[1], "text" if y.dtype.kind == "U" else "numbers")
        self._form = self._form or form
        if form != self._form:
            raise ValueError(
                f"the block from row {self.n_rows} on has (dtype, width, labels) {form}, "
                f"the ones before it {self._form}; they must agree to be shuffled"
            )
        if issparse(X):
            self._write("values", X.data)
            self._write("indices", X.indices.astype(np.int64, copy=False))
            self._write("starts", X.indptr[:-1].astype(np.int64) + self._entries)
            self._write("lengths", np.diff(X.indptr).astype(np.int64, copy=False))
            self._entries += len(X.data)
        else:
            self._write("rows", X)
        if y.dtype.kind == "U":
            codes = [self._words.setdefault(word, len(self._words)) for word in y.tolist()]
            self._write("codes", np.array(codes, np.int64))
        else:
            self._write("labels", y.astype(np.float64, copy=False))
        self.n_rows += X.shape[0]
        self._width = max(self._width, X.shape[1])

    def map_files(self) -> None:
        """Make everything appended so far available to `gather`."""
        for name, dtype in self._dtypes.items():
            path = self._path(name)
            # An empty file cannot be mapped.
            self._maps[name] = np.memmap(path, dtype, mode="r") if path.stat().st_size else np.empty(0, dtype)

    def gather(self, chosen: NDArray[np.int64]) -> LabelledBlock:
        X = self._maps["rows"].reshape(-1, self._width)[chosen] if "rows" in self._maps else self._gather_sparse(chosen)
        if "labels" in self._maps:
            return X, self._maps["labels"][chosen]
        return X, np.array(list(self._words))[self._maps["codes"][chosen]]

    def _gather_sparse(self, chosen: NDArray[np.int64]) -> csr_array:
        lengths = self._maps["lengths"][chosen]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self._maps["starts"][chosen] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return as_csr(self._maps["values"][places], self._maps["indices"][places], indptr, self._width)

    def _write(self, name: str, array: NDArray[Any]) -> None:
        self._dtypes[name] = array.dtype
        with open(self._path(name), "ab") as file:
            file.write(array.tobytes())

    def _path(self, name: str) -> Path:
        return Path(self._directory.name) / name
