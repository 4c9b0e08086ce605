"""Columns: which feature each named value of a row is, for rows that are dictionaries, and for tables.

A number is the feature of its name, and so is a truth value, as 0 or 1. Each word of a name is a feature of its own
that is 1 ("onehot"), or falls on one of `hash_features` places, where those that share one add up ("hash"). A date is
what `dates` asks for. What a row brings that is new has its features behind all others, numbers and dates first, by
their names: neither the order of a dictionary nor the cut of a stream has an effect.
"""

import datetime
import math
import struct
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np

from ..numerics.rows import LARGEST
from ..teaching import explained
from .known import Entry, Known, Reals, padded
from .tables import DATE, NUMBER, WORD, Given, given_columns, is_table, numbers_alone
from .values import (
    HASH,
    MEAN,
    ONEHOT,
    REFUSE,
    ZERO,
    date_features,
    date_width,
    first_rows,
    impute,
    moment_of,
    seconds_of,
)


@explained(
    x="a row: a dictionary",
    rows="dictionaries, or a table of pandas, polars or Arrow",
    row="of features",
    name="of a value",
    text="that stands there",
)
class Columns(Known):
    """What is known of named values, and how they become features.

    Parameters
    ----------
    categorical : what words become, "onehot", or "hash" with `hash_features` places
    hash_features : so many places, a power of two
    missing : a value that is None or NaN, or whose name is known and absent, is refused ("refuse"); or the mean of the
        values before it, a word the word "" ("mean"); or counts for nothing ("zero")
    dates : what a date becomes, some of "hour", "day", "week", "year" (where it stands in that cycle: sine and cosine,
        in UTC) and "trend" (days since the first date); without them dates are refused. With them, text that is a date
        (``2026-01-25``, with or without a time of day and a zone) is one where no words of that name are known; and
        where its name is a date's, a number is seconds since 1970

    Examples
    --------
    >>> from kernelstream.encoding import Columns
    >>> columns = Columns(missing="mean")
    >>> columns.take([{"warmth": 20.0, "sky": "grey"}, {"warmth": 24.0, "sky": "blue"}, {"sky": "grey"}]).tolist()
    [[20.0, 1.0, 0.0], [24.0, 0.0, 1.0], [22.0, 1.0, 0.0]]
    >>> columns.feature_names, columns.show([{"warmth": 21.0, "sky": "green", "wind": 5.0}]).tolist()
    (['warmth', 'sky=grey', 'sky=blue'], [[21.0, 0.0, 0.0]])
    """

    # Rows.

    def known(self, x: Mapping[Any, Any]) -> Reals:
        """A row by what is known; whatever is new in it counts for nothing."""
        row = self._packed(x)
        if row is None:
            row = self._written(x, [])
            self._fill(row)
        return row

    def complete(self, x: Mapping[Any, Any]) -> Reals | None:
        """The row, where it brings nothing new and lacks nothing; else None."""
        row = self._packed(x)
        if row is None:
            new: list[Entry] = []
            row = self._written(x, new)
            if new or (self.missing != ZERO and (row != row).any()):
                return None
        return row

    def note(self, row: Reals) -> None:
        """Take in a row that `complete` gave."""
        if self.missing == MEAN:
            sums, counts = padded(self._sums, self.width), padded(self._counts, self.width)
            self._sums, self._counts = sums + row * self._measured, counts + self._measured

    def _packed(self, x: Mapping[Any, Any]) -> Reals | None:
        """The short way, for the numbers that are known and nothing else."""
        if len(x) != self.plain:
            return None
        try:
            values = self._values(x)
            if not math.hypot(*values) <= LARGEST:
                return None
            row: Any = np.empty(self.plain)
            self._pack(row, 0, *values)
        except (KeyError, TypeError, OverflowError, struct.error):
            return None
        return row

    def _written(self, x: Mapping[Any, Any], new: list[Entry]) -> Reals:
        """The row with NaN where a number is missing that is not to count for nothing; `new` gets what is new in it."""
        values, numbers, absent = self._blank[:], self._numbers, set(self._words)
        for name, value in x.items():
            kind = type(value)
            if kind is not float and kind is not int and kind is not str:
                kind, value = _recognised(name, value)
            if kind is str and self.dates and name not in self._words:
                kind, value = self._read(name, value)
            if kind is str:
                absent.discard(name)
                if name in numbers:
                    values[numbers[name]] = 0.0
                self._write_word(values, name, value, new)
            elif kind is datetime.date:
                self._write_date(values, name, value, new)
            elif value is None or value != value:
                if self.missing == REFUSE:
                    raise self._missing(name)
            elif not abs(value) <= LARGEST:
                raise ValueError(f"The value {value!r} of {name!r} exceeds {LARGEST:g}. Scale it, or drop the row.")
            else:
                absent.discard(name)
                if name in numbers:
                    values[numbers[name]] = value
                elif name in self._dates:
                    self._write_date(values, name, value, new)
                else:
                    new.append((NUMBER, name, None))
        for name in [name for name in self._words if name in absent] if self.missing != ZERO else ():
            if self.missing == REFUSE:
                raise self._missing(name)
            self._write_word(values, name, "", new)
        return np.array(values)

    def is_dated(self, name: Any, text: str) -> bool:
        """Whether text of this name is, or has to be, a date."""
        if not self.dates or name in self._words:
            return False
        return name in self._dates or moment_of(text) is not None

    def _read(self, name: Any, text: str) -> tuple[Any, Any]:
        """(kind, value) of text where dates may stand."""
        moment = moment_of(text)
        if moment is not None:
            return datetime.date, moment / 1e6
        if text == "":
            return type(None), None
        if name in self._dates:
            raise self._no_date(name, text)
        return str, text

    def _write_word(self, values: list[float], name: Any, word: str, new: list[Entry]) -> None:
        places = self._words.get(name)
        if self.categorical == HASH:
            if places is None:
                new.append((WORD, name, ""))
            else:
                values[self._place(name, word)] += 1.0
        elif places is None or word not in places:
            new.append((WORD, name, word))
        else:
            values[places[word]] = 1.0

    def _write_date(self, values: list[float], name: Any, seconds: float, new: list[Entry]) -> None:
        self._require_dates(name)
        if name not in self._dates:
            new.append((DATE, name, seconds))
            return
        place, origin = self._dates[name]
        features = date_features(np.array([seconds]), self.dates, origin)[0]
        values[place : place + len(features)] = features.tolist()

    def _fill(self, row: Reals, t: int | None = None) -> None:
        """Fill in what is missing, learning nothing from the row."""
        gaps = np.zeros(0, np.int64) if self.missing == ZERO else np.flatnonzero(row != row)
        if len(gaps) == 0:
            return
        if self.missing == REFUSE:
            raise self._missing(self._name_at(gaps[0]), t)
        sums, counts = padded(self._sums, self.width), padded(self._counts, self.width)
        row[gaps] = sums[gaps] / np.maximum(counts[gaps], 1)

    # Blocks of rows. Where no name is known they have one feature, which is 0, as the first name's was so far.

    def show(self, rows: Any) -> Reals:
        """Rows, or a table, by what is known; learns nothing."""
        if not is_table(rows):
            return self._stacked([self.known(x) for x in _checked(rows)])
        X = self._of_table(rows, growing=False)
        if not _sound(X):
            gaps = X != X
            if self.missing == ZERO:
                X[gaps] = 0.0
            else:
                for t in np.flatnonzero(gaps.any(axis=1)):
                    self._fill(X[t], int(t))
            self._require_sizes(X)
        return X if X.shape[1] else self._stacked(list(X))

    def complete_table(self, rows: Any) -> Reals | None:
        """The rows of a table of pandas', where it brings nothing new and lacks nothing, and no means are kept; else
        None.
        """
        X = numbers_alone(rows) if self.missing != MEAN and self._has_numbers_alone(rows) else None
        return X if X is not None and _sound(X) else None

    def take(self, rows: Any) -> Reals:
        """Rows, or a table, with all that is new in them."""
        if not is_table(rows):
            return self._stacked([self._take(x) for x in _checked(rows)])
        X = self._of_table(rows, growing=True)
        sound = _sound(X)
        if not sound or self.missing == MEAN:
            self._fill_in(X)
        if not sound:
            self._require_sizes(X)
        return X if X.shape[1] else self._stacked(list(X))

    def _stacked(self, rows: list[Reals]) -> Reals:
        """Rows as a block; those that came before others may be narrower."""
        if self.width > 0 and len(rows[0]) == self.width:
            return np.stack(rows)
        X = np.zeros((len(rows), max(1, self.width)))
        for t, row in enumerate(rows):
            X[t, : len(row)] = row
        return X

    def _take(self, x: Mapping[Any, Any]) -> Reals:
        row = self.complete(x)
        if row is not None:
            self.note(row)
            return row
        new: list[Entry] = []
        row = self._written(x, new)
        if new:
            self._add_all(new)
            row = self._written(x, [])
        self._fill_in(row[None, :])
        return row

    def _fill_in(self, X: Reals) -> None:
        """Fill in what is missing, each row by those before it."""
        if self.missing == MEAN:
            sums, counts = padded(self._sums, self.width), padded(self._counts, self.width)
            sums, counts = impute(X, sums, counts)
            self._sums, self._counts = sums * self._measured, counts * self._measured
            return
        gaps = X != X
        if self.missing == REFUSE and gaps.any():
            row, place = np.argwhere(gaps)[0].tolist()
            raise self._missing(self._name_at(place), None if len(X) == 1 else row)
        X[gaps] = 0.0

    def _require_sizes(self, X: Reals) -> None:
        if not _sound(X):
            row, place = np.argwhere(np.abs(X) > LARGEST)[0].tolist()
            what = f"the value {X[row, place]} of {self._name_at(place)!r} exceeds {LARGEST:g}"
            raise ValueError(f"Row {row}: {what}. Scale it, or drop the row.")

    def _of_table(self, table: Any, *, growing: bool) -> Reals:
        plain = numbers_alone(table) if self._has_numbers_alone(table) else None
        if plain is not None:
            return plain
        given = [self._with_missing_words(self._with_dates(one, growing)) for one in given_columns(table)]
        n, names = len(given[0].values), {one.name for one in given}
        absent = [Given(name, WORD, np.full(n, -1), []) for name in self._words if name not in names]
        given += [self._with_missing_words(one) for one in absent]
        if growing:
            self._grow(given)
        X = np.tile(np.array(self._blank), (n, 1))
        for name, kind, values, words in given:
            if kind == NUMBER and name in self._numbers:
                X[:, self._numbers[name]] = values
            elif kind == DATE and name in self._dates:
                place, origin = self._dates[name]
                X[:, place : place + date_width(self.dates)] = date_features(values, self.dates, origin)
            elif kind == WORD and name in self._words and words:
                places = np.array([self._place(name, word) for word in words], np.int64)[values]
                rows = np.flatnonzero((values >= 0) & (places >= 0))
                X[rows, places[rows]] += 1.0
                if name in self._numbers:
                    X[values >= 0, self._numbers[name]] = 0.0
        return X

    def _has_numbers_alone(self, table: Any) -> bool:
        """Whether a table of pandas' has the columns that are known, in their order, where they are all numbers'."""
        if self.plain <= 0 or not hasattr(table, "iloc"):
            return False
        heads = table.columns
        if self._heads is None or not heads.is_(self._heads):  # a part of a table, and a copy, has the same
            if heads.tolist() != self.numbers:
                return False
            self._heads = heads
        return True

    def _with_dates(self, given: Given, growing: bool) -> Given:
        """A column of text, or of seconds, as one of dates where it holds these: what `_read` says of each row."""
        name, kind, codes, words = given
        if kind == NUMBER and name in self._dates and name not in self._numbers:
            return given._replace(kind=DATE)
        known = name in self._dates
        if kind != WORD or not self.dates or name in self._words or not (known or growing):
            return given
        moments = [moment_of(word) for word in words]
        seconds = np.array([*(np.nan if one is None else one / 1e6 for one in moments), np.nan])[codes]
        empty = words.index("") if "" in words else -1
        said = np.flatnonzero((codes >= 0) & (codes != empty))
        if not known and len(said) > 0 and moments[codes[said[0]]] is None:
            return given._replace(values=np.where(np.arange(len(codes)) < said[0], -1, codes))
        wrong = said[np.isnan(seconds[said])]
        if len(wrong) > 0:
            raise self._no_date(name, words[codes[wrong[0]]], int(wrong[0]))
        return Given(name, DATE, seconds, [])

    def _with_missing_words(self, given: Given) -> Given:
        """A column whose missing words are refused, or the word "", or none."""
        gaps = given.values < 0
        if self.missing == MEAN and given.name not in self._words:  # what comes before the first word is no word
            gaps &= np.cumsum(~gaps) > 0
        if given.kind != WORD or self.missing == ZERO or not gaps.any():
            return given
        if self.missing == REFUSE:
            raise self._missing(given.name, int(np.argmax(gaps)))
        words = given.words if "" in given.words else [*given.words, ""]
        return given._replace(values=np.where(gaps, words.index(""), given.values), words=words)

    def _grow(self, given: list[Given]) -> None:
        """Take in what is new in a table, in the order in which its rows would have brought it."""
        new: dict[int, list[Entry]] = {}
        for name, kind, values, words in given:
            if kind == WORD and self.categorical == ONEHOT:
                for row, word in zip(first_rows(values, len(words)).tolist(), words, strict=True):
                    if word not in self._words.get(name, {}) and row < len(values):
                        new.setdefault(row, []).append((WORD, name, word))
                continue
            if kind == DATE:
                self._require_dates(name)
            if kind in self.kinds_of(name):
                continue
            seen = np.flatnonzero(values >= 0 if kind == WORD else values == values)
            if len(seen):
                apart = {NUMBER: None, WORD: "", DATE: float(values[seen[0]])}[kind]
                new.setdefault(int(seen[0]), []).append((kind, name, apart))
        for row in sorted(new):
            self._add_all(new[row])


def _sound(X: Reals) -> bool:
    """Whether no value is missing and none too large, in one look; NaN is no number's equal."""
    return bool(X.max(initial=0.0) <= LARGEST and X.min(initial=0.0) >= -LARGEST)


def _recognised(name: Any, value: Any) -> tuple[Any, Any]:
    """(kind, value): a number, a word, a date as seconds, or None for what is missing."""
    if value is None or type(value).__name__ == "NAType":  # pandas' own "not available"
        return type(None), None
    if isinstance(value, str):
        return str, str(value)
    if isinstance(value, np.datetime64):
        seconds = value.astype("datetime64[us]").astype(np.int64) / 1e6
        return (type(None), None) if np.isnat(value) else (datetime.date, float(seconds))
    if isinstance(value, datetime.date):
        # pandas' own "not a time" is one, and unequal to itself.
        return (datetime.date, seconds_of(value)) if value == value else (type(None), None)
    if isinstance(value, np.bool_ | Real) or hasattr(value, "__float__"):
        try:
            return float, float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise ValueError(f"The value {value!r:.60} of {name!r} is neither a number nor a word nor a date.")


def _checked(rows: Any) -> Iterator[Mapping[Any, Any]]:
    for t, x in enumerate(rows):
        if not isinstance(x, Mapping):
            raise ValueError(
                f"Row {t} is {type(x).__name__}; the rows before it are dictionaries. Give rows of one kind."
            )
        yield x
