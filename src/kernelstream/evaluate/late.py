"""Rows that were shown and whose labels come later: after so many rows, or when their time has come."""

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..engine.opening import stacked
from ..sources import LabelledBlock, Matrix


class InTurn:
    """Rows in a queue of blocks."""

    def __init__(self) -> None:
        self._blocks: list[LabelledBlock] = []
        self.n = 0

    def add(self, X: Matrix, y: np.ndarray) -> None:
        if len(y) > 0:
            self._blocks.append((X, y))
            self.n += len(y)

    def take(self, n: int) -> LabelledBlock:
        """The first n rows."""
        taken: list[LabelledBlock] = []
        self.n -= n
        while n > 0:
            X, y = self._blocks.pop(0)
            if len(y) > n:
                self._blocks.insert(0, (X[n:], y[n:]))
            taken.append((X[:n], y[:n]))
            n -= len(taken[-1][1])
        return _joined(taken)


class InTime:
    """Rows by the moments at which their labels come; of one moment, in the order of the rows."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, LabelledBlock]] = []
        self._now = -np.inf
        self.n = 0  # rows so far

    def show(
        self,
        X: Matrix,
        y: np.ndarray,
        times: tuple[np.ndarray, np.ndarray],
        show: Callable[[Matrix, np.ndarray], Any],
        learn: Callable[[Matrix, np.ndarray, list[int]], Any],
    ) -> list[Any]:
        """What `show` gives of the rows, some at a time, with all labels learned that have come before each; `learn` is
        told the numbers of their rows too.

        times: the moment of each row, and that at which its label comes.
        """
        self._require_order(*times)
        parts, start = [], 0
        moments, arrivals = (array.tolist() for array in times)
        while start < len(y):
            due = self._due(moments[start])
            if due:
                learn(*_joined([block for _, block in due]), [number for number, _ in due])
            stop = start
            while stop < len(y) and not (self._heap and self._heap[0][0] <= moments[stop]):
                row = slice(stop, stop + 1)
                heapq.heappush(self._heap, (arrivals[stop], self.n, (X[row], y[row])))
                self.n += 1
                stop += 1
            parts.append(show(X[start:stop], y[start:stop]))
            start = stop
        return parts

    def _require_order(self, moments: np.ndarray, arrivals: np.ndarray) -> None:
        """ValueError for moments that fall, and for labels that come before their rows."""
        since = np.diff(moments, prepend=self._now)
        for good, why in (
            (since >= 0, "its moment is missing, or lies before that of the row above. Sort the rows by moment=..."),
            (arrivals >= moments, "its label comes before the row itself. A delay must not be missing or negative"),
        ):
            if not good.all():
                raise ValueError(f"Row {self.n + int(np.argmin(good))}: {why}.")
        self._now = float(moments[-1])

    def rest(self, learn: Callable[[Matrix, np.ndarray, list[int]], Any]) -> None:
        """Have the rows learned whose labels have not come."""
        due = self._due(np.inf)
        if due:
            learn(*_joined([block for _, block in due]), [number for number, _ in due])

    def _due(self, moment: float) -> list[tuple[int, LabelledBlock]]:
        found = []
        while self._heap and self._heap[0][0] <= moment:
            found.append(heapq.heappop(self._heap)[1:])
        return found


def _joined(blocks: list[LabelledBlock]) -> LabelledBlock:
    """Blocks as one; they may widen."""
    rows, labels = [X for X, _ in blocks], np.concatenate([y for _, y in blocks])
    width = max(X.shape[1] for X in rows)
    if not issparse(rows[0]):
        rows = [X if X.shape[1] == width else np.pad(X, ((0, 0), (0, width - X.shape[1]))) for X in rows]
    return stacked(rows), labels
