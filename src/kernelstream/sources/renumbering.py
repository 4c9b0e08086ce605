"""Columns of features that are named by large numbers: one for each that appears, in the order in which they first do.

A model is then as wide as what was seen, whatever the numbers are, and no column depends on how a stream is cut.
"""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..encoding.known import RENUMBERED


class Renumbering:
    """The column of each feature. `growing`: whether one that is new gets a column; else it counts as 0."""

    def __init__(self, indices: Iterable[int] = (), *, growing: bool = True):
        self.columns = {int(index): column for column, index in enumerate(indices)}
        self.growing = growing
        self.unknown: set[int] = set()

    @classmethod
    def from_json(cls, encoding: Any) -> Self:
        """Those that a model knows; no others get a column."""
        return cls(encoding[RENUMBERED], growing=False)

    def to_json(self) -> dict[str, list[int]]:
        return {RENUMBERED: list(self.columns)}

    def renumber(
        self, indices: NDArray[np.int32], values: NDArray[Any], indptr: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
        """Rows by columns instead of indices, ascending in each row."""
        found, first, places = np.unique(indices, return_index=True, return_inverse=True)
        if self.growing:
            for index in indices[np.sort(first)].tolist():
                self.columns.setdefault(index, len(self.columns))
        columns = np.array([self.columns.get(index, -1) for index in found.tolist()], np.int32)
        self.unknown.update(found[columns < 0].tolist())
        columns = columns[places]
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        order = np.lexsort((columns, rows))
        order = order[columns[order] >= 0]
        counts = np.bincount(rows[order], minlength=len(indptr) - 1)
        return columns[order], values[order], np.concatenate([[0], np.cumsum(counts)])
