"""Rows of Python as a stream of blocks: dictionaries with their labels, or tables with a column of them."""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..encoding import Columns, is_table
from ..encoding.tables import DATE, WORD, Given, Table, given_columns
from ..encoding.values import moment_of, seconds_of
from .base import DEFAULT_BLOCK_ROWS, LabelledBlock, Source, as_labels, positive

# When a label comes, after the moment of its row: as long for each, or by a function of row and label.
Delay: TypeAlias = float | datetime.timedelta | Callable[[Any, Any], float | datetime.timedelta]


class RowSource(Source):
    """Pairs (row, label) of dictionaries, or tables (pandas, polars, Arrow) in which `label` names the labels.

    rows: an iterable of pairs, a table or an iterable of them, or a function that gives one for each pass.
    columns: how named values become features. They grow with what is read, and go on in a second pass.
    moment: the name of a row's moment, a date, its text or a number; a feature only if `columns` makes some of dates.
    delay: how long after its moment a row's label comes, for all rows or, of pairs, by a function of row and label.
    """

    def __init__(
        self,
        rows: Any,
        *,
        label: Any = None,
        columns: Columns | None = None,
        moment: Any = None,
        delay: Delay = 0.0,
        name: str = "rows",
        block_rows: int = DEFAULT_BLOCK_ROWS,
    ):
        self._rows = [rows] if is_table(rows) else rows
        self.label, self.moment, self.delay = label, moment, delay
        self.columns = Columns() if columns is None else columns
        self.name, self.block_rows = name, positive(block_rows, "block_rows")
        self.restartable = callable(rows) or not isinstance(rows, Iterator)
        # Of the newest block, in seconds or in the unit of the moments.
        self.moments: NDArray[np.float64] = np.zeros(0)
        self.arrivals: NDArray[np.float64] = np.zeros(0)

    def __iter__(self) -> Iterator[LabelledBlock]:
        rows = iter(self._rows() if callable(self._rows) else self._rows)
        for first in rows:
            if is_table(first):
                yield from self._of_table(first)
            else:
                yield self._of_pairs([first, *islice(_pairs(rows), self.block_rows - 1)])

    @property
    def feature_names(self) -> list[str]:  # type: ignore[override]
        return self.columns.feature_names

    def progress(self) -> float | None:
        return None

    def _of_pairs(self, pairs: list[Any]) -> LabelledBlock:
        for pair in pairs:
            if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], Mapping)):
                raise ValueError(f"{pair!r:.60} is no pair of a dictionary and its label; give ({{...}}, label).")
        rows, labels = [row for row, _ in pairs], [label for _, label in pairs]
        if self.moment is not None:
            self.moments = np.array([_moment(row[self.moment]) for row in rows])
            self.arrivals = self.moments + [self._wait(row, label) for row, label in pairs]
            if not self._moment_is_feature(rows[0][self.moment]):
                rows = [{name: row[name] for name in row if name != self.moment} for row in rows]
        return self.columns.take(rows), as_labels(labels)

    def _of_table(self, table: Any) -> Iterator[LabelledBlock]:
        given = given_columns(table)
        labels = _labels(self._column(given, self.label, "label"))
        left = [one for one in given if one.name != self.label]
        moments, arrivals = np.zeros(len(labels)), np.zeros(len(labels))
        if self.moment is not None:
            column = self._column(given, self.moment, "moment")
            words = np.array([_moment(word) for word in column.words])
            moments = words[column.values] if column.kind == WORD else np.asarray(column.values, np.float64)
            if callable(self.delay):
                raise ValueError("delay=... is a function of a row, and tables have none; give one duration for all.")
            arrivals = moments + self._wait(None, None)
            if not (column.kind in (DATE, WORD) and self.columns.dates):
                left = [one for one in left if one.name != self.moment]
        for start in range(0, len(labels), self.block_rows):
            some = slice(start, start + self.block_rows)
            self.moments, self.arrivals = moments[some], arrivals[some]
            block = Table([one._replace(values=one.values[some]) for one in left])
            yield self.columns.take(block), labels[some]

    def _column(self, given: list[Given], name: Any, what: str) -> Given:
        found = [one for one in given if one.name == name]
        if not found:
            names = ", ".join(str(one.name) for one in given)
            raise ValueError(f"There is no column {name!r} for the {what}; {what}=... names one of {names}.")
        return found[0]

    def _moment_is_feature(self, value: Any) -> bool:
        return isinstance(value, datetime.date | str) and bool(self.columns.dates)

    def _wait(self, row: Any, label: Any) -> float:
        wait = self.delay(row, label) if callable(self.delay) else self.delay
        return wait.total_seconds() if isinstance(wait, datetime.timedelta) else float(wait)


def _pairs(rows: Iterator[Any]) -> Iterator[Any]:
    for pair in rows:
        if is_table(pair):
            raise ValueError("A table comes among pairs of rows and labels; give rows of one kind.")
        yield pair


def _moment(value: Any) -> float:
    if not isinstance(value, str):
        return seconds_of(value) if isinstance(value, datetime.date) else float(value)
    found = moment_of(value)
    if found is None:
        raise ValueError(f"The moment {value!r:.60} is not a date; write it as 2026-01-25 or 2026-01-25 12:30:00.")
    return found / 1e6


def _labels(column: Given) -> NDArray[Any]:
    """Labels as float64 or as str; none may be missing."""
    gaps = column.values < 0 if column.kind == WORD else column.values != column.values
    if gaps.any():
        raise ValueError(f"Row {int(np.argmax(gaps))}: the label {column.name!r} is missing; drop such rows.")
    return np.array(column.words)[column.values] if column.kind == WORD else as_labels(column.values)


def as_source(rows: Any, **options: Any) -> Source:
    """A source as it is; rows of Python as one."""
    if isinstance(rows, Source):
        return rows
    if callable(rows) or isinstance(rows, Iterable):
        return RowSource(rows, **options)
    raise ValueError(
        f"{type(rows).__name__} is no source; give open_source(...), ArraySource(X, y) or (row, label) pairs."
    )
