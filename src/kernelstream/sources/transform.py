"""Sources made from sources: features scaled, rows shuffled; one streamed pass each, in bounded memory."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..engine.disk import scratch
from ..engine.inputs import FixedScaling, fitted
from .base import DEFAULT_BLOCK_ROWS, ArraySource, DerivedSource, LabelledBlock, Matrix, Source, as_csr, positive


def fit_scaling(source: Source, kind: str) -> FixedScaling:
    """The scaling of a source's features, from one pass over it.

    Parameters
    ----------
    source : a `Source`
    kind : "minmax", onto -1 to 1, or "standard", to mean 0 and standard deviation 1

    Examples
    --------
    >>> from kernelstream import Learner, Multiclass
    >>> from kernelstream.sources import fit_scaling, open_source
    >>> scaling = fit_scaling(open_source("digits"), "minmax")
    >>> learner = Learner("fogd", Multiclass(range(10)), scaling=scaling)
    >>> scaling.kind, len(scaling.offset)
    ('minmax', 64)
    """
    return fitted(kind, (X for X, _ in source), lambda what: ValueError(f"{source.name}: {what}"))


class Scaled(DerivedSource):
    """The blocks of a source, scaled.

    Parameters
    ----------
    source : a `Source`
    scaling : as `fit_scaling` gives it

    Examples
    --------
    >>> from kernelstream.sources import Scaled, fit_scaling, open_source
    >>> source = open_source("digits")
    >>> X, y = next(iter(Scaled(source, fit_scaling(source, "minmax"))))
    >>> float(X.min()), float(X.max())
    (-1.0, 1.0)
    """

    def __init__(self, source: Source, scaling: FixedScaling):
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

    Parameters
    ----------
    source : a `Source`
    order : a seed, or the numbers of rows, (n,)
    block_rows : how many rows a block has at most

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream.sources import ArraySource, Shuffled
    >>> source = ArraySource(np.eye(3), [0, 1, 2])
    >>> [y.tolist() for X, y in Shuffled(source, np.array([2, 0]))], sum(len(y) for X, y in Shuffled(source, 7))
    ([[2.0, 0.0]], 3)
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
        self._directory, self._discard = scratch(self)

    def __enter__(self) -> "_Spool":
        return self

    def __exit__(self, *_: object) -> None:
        # Some systems cannot remove a file that is still mapped.
        self._maps.clear()
        self._discard()

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
        return self._directory / name
