"""Row and Block: the one container in which data reaches compiled code; dense and sparse enter here.

A block is always CSR. The rows of a dense block share one index vector 0 .. d-1 (`shared` = 1), so that every loop
over a row is the same loop over (index, value) pairs, whatever the caller handed in.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .compile import compiled, inlined

# Squares of features are summed in float32: (1e15)^2 times a million features is still finite there.
LARGEST = 1e15

# The largest coefficient or kernel value that is computed with: sums of many are finite, and products of two, which are
# computed in float64.
MOST_SINGLE, MOST_DOUBLE = 1e28, 1e140
MOST = {"float32": MOST_SINGLE, "float64": MOST_DOUBLE}

# From this share of its features on, a sparse row is written out (see `row_of`).
DENSE_SHARE = 0.25


class Row(NamedTuple):
    """One example. `place` is its position in the chunk that was lifted together, -1 for a row of no chunk.

    `onward` is `values` with those of the rows behind it, where they may be looked at and are dense; else empty.
    """

    indices: np.ndarray
    values: np.ndarray
    place: int
    onward: np.ndarray


class Block(NamedTuple):
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    shared: int


class DenseRow(NamedTuple):
    """Where a nearly dense row is written out: all feature indices, and room for their values."""

    indices: np.ndarray
    values: np.ndarray


def dense_row(width: int, dtype: Any) -> DenseRow:
    return DenseRow(np.arange(width), np.zeros(width, dtype))


@inlined
def row_of(block, t, place, dense):
    """Row t of a block.

    A sparse row with many of its features present is written out: distances to it are then sums of squared
    differences, which lose no digits. Ensures: the choice depends on the row alone, never on the block around it.
    """
    lo = block.indptr[t]
    hi = block.indptr[t + 1]
    if block.shared == 1:
        return Row(block.indices, block.values[lo:hi], place, block.values[lo:])
    width = dense.indices.shape[0]
    if hi - lo < DENSE_SHARE * width:
        return Row(block.indices[lo:hi], block.values[lo:hi], place, block.values[:0])
    for j in range(width):
        dense.values[j] = 0
    for p in range(lo, hi):
        dense.values[block.indices[p]] = block.values[p]
    return Row(dense.indices, dense.values, place, dense.values[:0])


@inlined
def alone(x):
    """The row without a view of those behind it."""
    return Row(x.indices, x.values, x.place, x.values[:0])


@inlined
def complete_row(dense):
    """What is written out in `dense`, as a row of no chunk."""
    return Row(dense.indices, dense.values, -1, dense.values[:0])


@compiled
def first_bad(values, largest):
    """Position of the first value that is not finite or too large; -1 when there is none."""
    bad = 0
    for j in range(values.shape[0]):
        bad += not abs(values[j]) <= largest
    if bad == 0:
        return -1
    j = 0
    while abs(values[j]) <= largest:
        j += 1
    return j


def n_rows(block: Block) -> int:
    return len(block.indptr) - 1


@compiled
def _fill(block, rows):
    for t in range(rows.shape[0]):
        for p in range(block.indptr[t], block.indptr[t + 1]):
            rows[t, block.indices[p]] = block.values[p]


def filled(block: Block, width: int) -> Block:
    """The block as a dense one where `row_of` would write out all of its rows: rows of a dense block are lifted
    together. Requires: the width of the model.
    """
    if block.shared or np.diff(block.indptr).min() < DENSE_SHARE * width:
        return block
    rows = np.zeros((n_rows(block), width), block.values.dtype)
    _fill(block, rows)
    return Block(*_places(*rows.shape), rows.reshape(-1), 1)


class Sample(NamedTuple):
    """What is settled on: the variance of all entries of some rows, and how many features they have, not counting those
    that are 0 in all of them; the unit of their targets; the rows themselves.
    """

    variance: float
    n_features: int
    deviation: float = 1.0  # of the targets; where they are all equal, their size; 1 where that is 0
    blocks: tuple[Block, ...] = ()

    def distances(self) -> tuple[float, float]:
        """Mean and standard deviation of the distances between two of the rows; 0 for fewer than two."""
        width = max((int(block.indices.max(initial=-1)) + 1 for block in self.blocks), default=1)
        X = sp.vstack([_without_zeros(block, width) for block in self.blocks] or [sp.csr_array((0, width))], "csr")
        inner = (X @ X.T).toarray()
        squares = np.diag(inner)[:, None] + np.diag(inner) - 2.0 * inner
        apart = np.sqrt(np.maximum(squares, 0.0))[np.triu_indices(len(inner), 1)]
        return (float(apart.mean()), float(apart.std())) if len(apart) else (0.0, 0.0)


def _without_zeros(block: Block, width: int) -> Any:
    """The rows in float64, sparse, so that neither their storage nor features that are 0 change a sum."""
    indices = np.tile(block.indices, n_rows(block)) if block.shared else block.indices
    X = as_csr(block.values.astype(np.float64), indices, block.indptr, width)
    X.eliminate_zeros()
    return X


@compiled
def _sums(block, mean, present, sums):
    """Add up the values that are not 0 and their squared distances from the mean; count them, mark their features."""
    for t in range(block.indptr.shape[0] - 1):
        lo, hi = block.indptr[t], block.indptr[t + 1]
        for p in range(lo, hi):
            value = np.float64(block.values[p])
            if value != 0.0:
                sums[0] += value
                sums[1] += (value - mean) * (value - mean)
                sums[2] += 1.0
                present[block.indices[p - lo if block.shared == 1 else p]] = 1


def sample_of(blocks: list[Block], width: int, targets: np.ndarray) -> Sample:
    """Ensures: neither the storage nor the cut of the rows changes a bit, nor do features that are 0 in all of them."""
    present, mean, entries, sums = np.zeros(width, np.int64), 0.0, 0, np.zeros(3)
    for _ in range(2):  # the second time around the mean
        sums[:] = 0.0
        for block in blocks:
            _sums(block, mean, present, sums)
        entries = sum(map(n_rows, blocks)) * int(present.sum())
        mean = float(sums[0]) / max(entries, 1)
    squares = sums[1] + (entries - sums[2]) * mean * mean
    deviation = float(targets.std()) or float(abs(targets[0])) or 1.0
    return Sample(float(squares) / max(entries, 1), int(present.sum()), deviation, tuple(blocks))


def as_csr(values: np.ndarray, indices: np.ndarray, indptr: np.ndarray, width: int) -> Any:
    """Sparse rows from their parts, with the narrower index type where it is wide enough.

    Requires: indices ascend strictly in each row.
    """
    index_type = np.int32 if max(width, len(values)) <= np.iinfo(np.int32).max else np.int64
    parts = (values, indices.astype(index_type, copy=False), indptr.astype(index_type, copy=False))
    X = sp.csr_array(parts, shape=(len(indptr) - 1, width))
    X.has_sorted_indices = X.has_canonical_format = True
    return X


def cut(X: Any, some: slice) -> Any:
    """Some rows of a matrix. For sparse ones SciPy takes longer than learning from them takes."""
    start, stop, _ = some.indices(X.shape[0])
    stop = max(start, stop)
    if not sp.issparse(X):
        return X[start:stop]
    if stop - start == X.shape[0]:
        return X
    ends = X.indptr[start : stop + 1]
    inside = slice(ends[0], ends[-1])
    found = sp.csr_array((X.data[inside], X.indices[inside], ends - ends[0]), shape=(stop - start, X.shape[1]))
    found.has_sorted_indices, found.has_canonical_format = X.has_sorted_indices, X.has_canonical_format
    return found


def unmasked(values: Any, what: str) -> Any:
    """The values, which are refused where some of them are masked."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        n = int(np.ma.getmaskarray(values).sum())
        raise ValueError(f"{n} of the {what} are masked; fill them in (values.filled(...)) or leave their rows out.")
    return values


def require_inside(X: Any) -> None:
    """ValueError for a sparse matrix with entries outside of its shape.

    SciPy looks at none of them: its conversions, and compiled code, would read and write beyond their arrays.
    """
    if not sp.issparse(X) or X.format not in ("csr", "csc", "bsr", "coo"):
        return
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: rows are examples, columns are features.")
    if X.format == "coo":
        inside = [(places >= 0) & (places < n) for places, n in zip(X.coords, X.shape, strict=True)]
        if not (inside[0].all() and inside[1].all()):
            p = int(np.argmin(inside[0] & inside[1]))
            raise _outside(int(X.row[p]), int(X.col[p]), X.shape)
        return
    high, wide = X.blocksize if X.format == "bsr" else (1, 1)
    turned = X.format == "csc"
    n, width = (X.shape[1], X.shape[0]) if turned else (X.shape[0] // high, X.shape[1] // wide)
    starts, end = X.indptr, min(len(X.indices), len(X.data))
    if len(starts) != n + 1 or starts[0] != 0 or not 0 <= starts[-1] <= end or (starts[1:] < starts[:-1]).any():
        raise ValueError(
            f"The {'columns' if turned else 'rows'} of a sparse matrix begin at its `indptr`, which must be {n + 1} "
            f"numbers that begin at 0, never fall, and end at {end} or before; these are not. Build the matrix anew."
        )
    indices = X.indices[: starts[-1]]
    if len(indices) and not (indices.min() >= 0 and indices.max() < width):
        p = int(np.argmax((indices < 0) | (indices >= width)))
        major, minor = int(np.searchsorted(starts, p, side="right")) - 1, int(indices[p])
        raise _outside(*((minor, major) if turned else (major * high, minor * wide)), X.shape)


def _outside(row: int, column: int, shape: tuple[int, int]) -> ValueError:
    return ValueError(
        f"Row {row}, feature {column}: the sparse matrix has {shape[0]} rows and {shape[1]} features, whose indices "
        "count from 0. Subtract 1 from indices that count from 1, as those of LIBSVM files do, or give the matrix the "
        "shape that its indices need."
    )


def require_computed(table: Any) -> None:
    """ValueError for a table whose rows have not been computed."""
    if type(table).__name__ == "LazyFrame":
        raise ValueError("A LazyFrame has no rows before it is computed; give table.collect().")


def is_dictionary(row: Any) -> bool:
    """Whether this is one row with names; SciPy's matrices of keys are mappings too."""
    return isinstance(row, Mapping) and not sp.issparse(row)


def require_unnamed(X: Any) -> None:
    """ValueError for rows with names, from whom takes numbers alone."""
    require_computed(X)
    if is_dictionary(X[0] if isinstance(X, list | tuple) and len(X) > 0 else X):
        raise ValueError(
            "Rows that are dictionaries are taken by a Learner and by kernelstream.river, words and all; an estimator "
            "takes numbers: an array, or a table such as pandas.DataFrame(rows)."
        )


def _first_text(values: np.ndarray) -> str | bytes | None:
    """The first value that is text, of an array of objects or of text."""
    if values.dtype.kind not in "OUS":
        return None
    return next((value for value in values.flat if isinstance(value, str | bytes)), None)


def as_reals(values: Any, what: str) -> np.ndarray:
    """A copy in float64 of what are real numbers, and neither text nor times that could be taken for them."""
    given = np.asarray(unmasked(values, what))
    if given.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} must be real numbers.")
    words = _first_text(given) is not None
    if words or given.dtype.kind not in "biufO":
        raise ValueError(f"{what} must be numbers; got {'text' if words else given.dtype}. Convert them first.")
    try:
        return np.array(given, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be numbers ({error}).") from None


def as_matrix(X: Any) -> Any:
    """A 2-D numeric NumPy array or a CSR array with sorted, unique indices, from whatever rows were handed in."""
    if sp.issparse(X):
        if (not np.issubdtype(X.dtype, np.number) and X.dtype != bool) or np.iscomplexobj(X):
            raise ValueError(
                f"Features must be real numbers; got a sparse matrix of {X.dtype}. Complex data not supported"
            )
        require_inside(X)
        X = sp.csr_array(X)
        require_inside(X)  # a list of lists has become rows just now
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
    if not isinstance(X, np.ndarray) and hasattr(X, "to_numpy"):
        X = X.to_numpy()
    X = np.asarray(unmasked(X, "features"))
    text = _first_text(X)
    if text is not None:
        raise ValueError(
            f"Features must be numbers; got text, such as {text!r:.40}. Digits become numbers with X.astype(float); "
            "encode words or categories as numbers first."
        )
    if X.dtype == object:
        try:
            X = X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"Features must be numbers ({error}). Encode text or categories as numbers first."
            ) from None
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: features must be real numbers.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"Features must be numbers; got dtype {X.dtype}. Encode text or categories as numbers first.")
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: rows are examples, columns are features. "
            "Reshape your data with X.reshape(1, -1) if it is one example, X.reshape(-1, 1) if it is one feature."
        )
    return X


def _places(n: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the rows of a dense block begin, and the features of each."""
    return np.arange(0, n * width + 1, width), np.arange(width)


# Calls with a row at a time come again and again.
_FEW_ROWS = 4
_dense_places = lru_cache(maxsize=16)(_places)


def to_block(X: Any, dtype: Any) -> tuple[Block, int]:
    """A validated block and its width. Requires: X as `as_matrix` gives it. Raises before anything is learned."""
    n, width = X.shape
    if n == 0 or width == 0:
        raise ValueError(
            f"Found array with {n} sample(s) and {width} feature(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    with np.errstate(over="ignore"):
        if sp.issparse(X):
            values = np.ascontiguousarray(X.data, dtype)
            block = Block(X.indptr.astype(np.int64), X.indices.astype(np.int64), values, 0)
        else:
            values = np.ascontiguousarray(X, dtype).reshape(-1)
            block = Block(*(_dense_places(n, width) if n <= _FEW_ROWS else _places(n, width)), values, 1)
    if not values.flags.writeable:  # compiled code knows one kind of array only
        block = block._replace(values=values.copy())
    bad = first_bad(block.values, LARGEST)
    if bad >= 0:
        row = int(np.searchsorted(block.indptr, bad, side="right")) - 1
        column = int(block.indices[bad - block.indptr[row] if block.shared else bad])
        given = X[row, column]
        if np.isfinite(given):
            remedy = f"exceeds {LARGEST:g}. Scale the features"
        else:
            remedy = "is NaN, infinity or too large for the model's dtype. Impute or drop such rows"
        raise ValueError(
            f"Row {row}, feature {column}: the value {given} {remedy}. Nothing was learned from this block."
        )
    return block, width
