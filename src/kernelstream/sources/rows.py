"""Rows of Python as a stream of blocks: dictionaries with their labels, or tables with a column of them."""

import datetime
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..encoding import Columns, is_table
from ..encoding.tables import DATE, WORD, Given, Table, given_columns
from ..encoding.values import moment_of as text_moment
from ..encoding.values import seconds_of
from ..numerics.rows import require_computed
from ..teaching import explained
from .base import DEFAULT_BLOCK_ROWS, LabelledBlock, Source, as_labels, positive

# How long after the moment of its row a label comes: as long for each, or by the name of a value or a function of row
# and label.
Delay: TypeAlias = float | datetime.timedelta | str | Callable[[Any, Any], float | datetime.timedelta] | None


@explained(columns="of a learner")
class RowSource(Source):
    """Pairs (row, label) of dictionaries, or tables (pandas, polars, Arrow) with their labels.

    Parameters
    ----------
    rows : an iterable of pairs (row, label); a table, or an iterable of them, in which `label` names the labels; a pair
        (table, labels), or an iterable of them; or a function that gives one of these for each pass
    label : the name of the column of labels, of tables that have one
    columns : how named values become features; by default the learner's. They grow with what is read, and go on in a
        second pass
    moment : what tells a row's moment, a date or a number that never falls: the name of a value, or of dictionaries a
        function of the row. A value that is named is no feature, unless `columns` makes features of dates
    delay : how long after its moment a row's label comes: a number in the unit of the moments (of dates, seconds), a
        timedelta, the name of a value, which is no feature then, or of dictionaries a function of row and label.
        Without `moment`, moments are the numbers of the rows
    name : what the source is called in traces
    block_rows : how many rows a block has at most

    Examples
    --------
    >>> from kernelstream import Binary, Learner
    >>> from kernelstream.evaluate import prequential
    >>> from kernelstream.sources import RowSource
    >>> pairs = [({"size": t % 7, "hour": t}, t % 7 > 3) for t in range(100)]
    >>> trace = prequential(Learner("fogd", Binary([False, True])), RowSource(pairs, moment="hour", delay=5))
    >>> trace.last.rows
    100
    """

    def __init__(
        self,
        rows: Any,
        *,
        label: Any = None,
        columns: Columns | None = None,
        moment: Any = None,
        delay: Delay = 0,
        name: str = "rows",
        block_rows: int = DEFAULT_BLOCK_ROWS,
    ):
        require_computed(rows)
        self._rows = [rows] if is_table(rows) or _is_labelled_table(rows) else rows
        if not (callable(self._rows) or isinstance(self._rows, Iterable)):
            raise ValueError(
                f"{type(rows).__name__} is no source; give open_source(...), ArraySource(X, y) or (row, label) pairs."
            )
        self.label, self.moment, self.delay = label, moment, delay
        self._plain = Columns() if columns is None else None
        self.columns = Columns() if columns is None else columns
        self.name, self.block_rows = name, positive(block_rows, "block_rows")
        self.restartable = callable(rows) or not isinstance(rows, Iterator)
        self._first = 0  # the number of the newest block's first row
        # Of the newest block, in seconds or in the unit of the moments.
        self.moments: NDArray[np.float64] = np.zeros(0)
        self.arrivals: NDArray[np.float64] = np.zeros(0)

    def __iter__(self) -> Iterator[LabelledBlock]:
        rows, self._first = iter(self._rows() if callable(self._rows) else self._rows), 0
        for first in rows:
            if is_table(first) or _is_labelled_table(first):
                blocks: Iterable[LabelledBlock] = self._of_table(*(first if isinstance(first, tuple) else (first,)))
            else:
                blocks = [self._of_pairs([first, *islice(_pairs(rows), self.block_rows - 1)])]
            for X, y in blocks:
                yield X, y
                self._first += len(y)

    @property
    def feature_names(self) -> list[str]:  # type: ignore[override]
        return self.columns.feature_names

    def progress(self) -> float | None:
        return None

    def lend(self, columns: Columns | None) -> None:
        """Make features as these columns do, unless the source was given columns of its own."""
        if self._plain is not None:
            self.columns = self._plain if columns is None else columns

    def _of_pairs(self, pairs: list[Any]) -> LabelledBlock:
        for pair in pairs:
            if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], Mapping)):
                raise ValueError(f"{pair!r:.60} is no pair of a dictionary and its label; give ({{...}}, label).")
        rows, labels = [row for row, _ in pairs], [label for _, label in pairs]
        if self._is_timed:
            self.moments = np.array([self._moment(number, row) for number, row in enumerate(rows, self._first)])
            self.arrivals = self.moments + [self._wait(row, label) for row, label in pairs]
            left = {self.delay} if isinstance(self.delay, str) else set()
            if not (self.moment is None or callable(self.moment) or self._moment_is_feature(rows[0][self.moment])):
                left.add(self.moment)
            rows = [{name: row[name] for name in row if name not in left} for row in rows] if left else rows
        return self.columns.take(rows), as_labels(labels)

    @property
    def _is_timed(self) -> bool:
        return self.moment is not None or callable(self.delay) or isinstance(self.delay, str)

    def _of_table(self, table: Any, y: Any = None) -> Iterator[LabelledBlock]:
        given = left = given_columns(table)
        if y is None:
            labels = _labels(self._column(given, self.label, "label"))
            left = [one for one in given if one.name != self.label]
        else:
            labels = as_labels(y)
            if len(labels) != len(given[0].values):
                raise ValueError(f"A table has {len(given[0].values)} rows and {len(labels)} labels; give one a row.")
        moments = self._first + np.arange(len(labels), dtype=np.float64)
        waits = np.zeros(len(labels))
        if callable(self.moment) or callable(self.delay):
            which = "moment" if callable(self.moment) else "delay"
            raise ValueError(f"{which}=... is a function of a row, and tables have none; name a column of them.")
        if self.moment is not None:
            column = self._column(given, self.moment, "moment")
            moments = self._moments(column)
            if not (column.kind in (DATE, WORD) and self.columns.dates):
                left = [one for one in left if one.name != self.moment]
        if isinstance(self.delay, str):
            waits = self._numbers(self._column(given, self.delay, "delay"), "delay")
            left = [one for one in left if one.name != self.delay]
        elif self._is_timed:
            waits += duration(self.delay)
        for start in range(0, len(labels), self.block_rows):
            some = slice(start, start + self.block_rows)
            self.moments, self.arrivals = moments[some], (moments + waits)[some]
            block = Table([one._replace(values=one.values[some]) for one in left])
            yield self.columns.take(block), labels[some]

    def _column(self, given: list[Given], name: Any, what: str) -> Given:
        found = [one for one in given if one.name == name]
        if not found:
            names = ", ".join(str(one.name) for one in given)
            if name is None:
                raise ValueError(
                    f"Which column of the table is the {what} is not said: give RowSource(table, {what}=...), one of "
                    f"{names}, or the pair (table, labels)."
                )
            raise ValueError(f"There is no column {name!r} for the {what}; {what}=... names one of {names}.")
        return found[0]

    def _moments(self, column: Given) -> NDArray[np.float64]:
        if column.kind != WORD:
            return self._numbers(column, "moment")
        return np.array([moment_of(word) for word in column.words])[column.values]

    def _numbers(self, column: Given, what: str) -> NDArray[np.float64]:
        if column.kind == WORD:
            raise ValueError(f"The column {column.name!r} for the {what} holds words; it must hold dates or numbers.")
        return np.asarray(column.values, np.float64)

    def _moment_is_feature(self, value: Any) -> bool:
        return isinstance(value, datetime.date | np.datetime64 | str) and bool(self.columns.dates)

    def _moment(self, number: int, row: Any) -> float:
        if self.moment is None:
            return float(number)
        return moment_of(self.moment(row) if callable(self.moment) else _value(row, self.moment, "moment"))

    def _wait(self, row: Any, label: Any) -> float:
        if isinstance(self.delay, str):
            return duration(_value(row, self.delay, "delay"))
        return duration(self.delay(row, label) if callable(self.delay) else self.delay)


def _is_labelled_table(rows: Any) -> bool:
    return isinstance(rows, tuple) and len(rows) == 2 and is_table(rows[0]) and not is_table(rows[1])


def _value(row: Any, name: Any, what: str) -> Any:
    if name not in row:
        names = ", ".join(map(str, row))
        raise ValueError(
            f"There is no {name!r} for the {what} in a row of {names}; {what}=... names one of them, or is a function."
        )
    return row[name]


def moment_of(value: Any) -> float:
    """A moment as a number: of a date, and of its text, the seconds since 1970."""
    if isinstance(value, str):
        found = text_moment(value)
        if found is None:
            raise ValueError(f"The moment {value!r:.60} is not a date; write it as 2026-01-25 or 2026-01-25 12:30:00.")
        return found / 1e6
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime.date) and value == value:  # pandas' NaT is a date
        return seconds_of(value)
    if isinstance(value, numbers.Real) and np.isfinite(float(value)):
        return float(value)
    raise ValueError(f"{value!r} is no moment of a row: it must be a date or a number, which moment=... finds.")


def duration(value: Any) -> float:
    """How long, in seconds of timedeltas, else in the unit of the moments."""
    given = value
    if isinstance(value, np.timedelta64):
        value = value.astype("timedelta64[us]").item()
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    value = 0.0 if value is None else value
    if not (isinstance(value, numbers.Real) and float(value) >= 0):
        raise ValueError(
            f"delay={given!r} must be a duration that is not negative: a number in the unit of the moments, or a "
            "timedelta."
        )
    return float(value)


def _pairs(rows: Iterator[Any]) -> Iterator[Any]:
    for pair in rows:
        if is_table(pair) or _is_labelled_table(pair):
            raise ValueError("A table comes among pairs of rows and labels; give rows of one kind.")
        yield pair


def _labels(column: Given) -> NDArray[Any]:
    """Labels as float64 or as str; none may be missing."""
    gaps = column.values < 0 if column.kind == WORD else column.values != column.values
    if gaps.any():
        raise ValueError(f"Row {int(np.argmax(gaps))}: the label {column.name!r} is missing; drop such rows.")
    return np.array(column.words)[column.values] if column.kind == WORD else as_labels(column.values)


def as_source(rows: Any, *, columns: Columns | None = None) -> Source:
    """A source as it is; rows of Python as one, and with these columns where it was given none."""
    source = rows if isinstance(rows, Source) else RowSource(rows)
    if isinstance(source, RowSource):
        source.lend(columns)
    return source
