"""The first rows of a stream, kept until what is settled on them is settled for the last time.

After rows 1, 2, 4, ..., 256 everything that depends on data is settled on all rows so far, and they are learned anew;
predictions always come from the newest model. So neither the cut of the stream nor its storage has an effect.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..numerics.rows import LARGEST, as_csr

LAST = 256  # rows; a power of two


class Opening:
    """Rows as they came, in float64, with their targets and weights."""

    def __init__(self) -> None:
        self._parts: list[tuple[Any, np.ndarray, np.ndarray]] = []
        self.n_rows = 0

    def add(self, X: Any, targets: np.ndarray, weights: np.ndarray) -> None:
        self._parts.append((X.astype(np.float64), targets.copy(), weights.copy()))
        self.n_rows += len(targets)

    @property
    def until_settling(self) -> int:
        """How many more rows there are to the next power of two."""
        return (1 << self.n_rows.bit_length()) - self.n_rows if self.n_rows > 0 else 1

    @property
    def settles(self) -> bool:
        """Whether this is a row at which things are settled."""
        return self.n_rows & (self.n_rows - 1) == 0

    @property
    def is_over(self) -> bool:
        return self.n_rows >= LAST

    def parts(self) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
        """The rows in as few blocks as their storage allows."""

        def form(part: Any) -> Any:
            X = part[0]
            return "sparse" if sp.issparse(X) else X.shape[1]

        for kind, group in groupby(self._parts, form):
            rows, targets, weights = zip(*group, strict=True)
            X = stacked(rows) if kind == "sparse" else np.concatenate(rows)
            yield X, np.concatenate(targets), np.concatenate(weights)

    def retargeted(self, change: Callable[[np.ndarray], np.ndarray]) -> "Opening":
        """The same rows with the targets of a task that has grown."""
        changed = Opening()
        for X, targets, weights in self._parts:
            changed.add(X, change(targets), weights)
        return changed

    @property
    def n_bytes(self) -> int:
        """Of what `arrays` gives: two numbers for each value of a row, four for each row."""
        values = sum(X.nnz if sp.issparse(X) else X.size for X, _, _ in self._parts)
        return int(8 * (2 * values + 4 * self.n_rows))

    def arrays(self) -> dict[str, np.ndarray]:
        """What `opening_from` needs. A dense row is written with all of its features."""
        found: dict[str, list[np.ndarray]] = {name: [] for name in ("indices", "values", "lengths", "dense")}
        found |= {"targets": [np.zeros(0)], "weights": [np.zeros(0)]}
        for X, targets, weights in self.parts():
            n, width = X.shape
            dense = not sp.issparse(X)
            found["indices"].append(np.tile(np.arange(width), n) if dense else X.indices.astype(np.int64))
            found["values"].append(X.reshape(-1) if dense else X.data)
            found["lengths"].append(np.full(n, width) if dense else np.diff(X.indptr).astype(np.int64))
            found["dense"].append(np.full(n, int(dense)))
            found["targets"].append(targets)
            found["weights"].append(weights)
        return {name: np.concatenate(arrays) if arrays else np.zeros(0, np.int64) for name, arrays in found.items()}


def opening_from(arrays: dict[str, np.ndarray], width: int, most: int = LAST - 1) -> Opening:
    """The opening of at most so many rows, and features, whose `arrays` these are; ValueError when they cannot be."""
    indices, lengths, dense = (arrays[name].astype(np.int64) for name in ("indices", "lengths", "dense"))
    values, targets, weights = (arrays[name].astype(np.float64) for name in ("values", "targets", "weights"))
    n = len(lengths)
    sound = len(dense) == len(targets) == len(weights) == n <= most and len(indices) == len(values) == lengths.sum()
    finite = np.isfinite(weights).all() and all((np.abs(array) <= LARGEST).all() for array in (values, targets))
    if not (sound and finite and (lengths >= 0).all() and (weights >= 0).all() and (indices < width).all()):
        raise ValueError("its first rows are not rows that can have been kept")
    starts = np.concatenate([[0], np.cumsum(lengths)])
    opening = Opening()
    for t in range(n):
        row, present = values[starts[t] : starts[t + 1]], indices[starts[t] : starts[t + 1]]
        if not (np.diff(present, prepend=-1) > 0).all() or (dense[t] == 1 and len(row) and present[-1] != len(row) - 1):
            raise ValueError("its first rows name a feature twice or out of order")
        width = int(present[-1]) + 1 if len(present) else 1
        X = row[None, :] if dense[t] == 1 else as_csr(row, present, np.array([0, len(row)]), width)
        opening.add(X, targets[t : t + 1], weights[t : t + 1])
    return opening


def stacked(blocks: Any) -> Any:
    """Blocks of rows as one; sparse ones may widen."""
    if not sp.issparse(blocks[0]):
        return np.concatenate(blocks)
    width = max(X.shape[1] for X in blocks)
    return sp.vstack([sp.csr_array((X.data, X.indices, X.indptr), (X.shape[0], width)) for X in blocks], "csr")
