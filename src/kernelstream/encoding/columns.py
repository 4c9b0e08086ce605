"""Columns: which feature each named value of a row is, for rows that are dictionaries, and for tables.

A number is the feature of its name, and so is a truth value, as 0 or 1. Each word of a name is a feature of its own
that is 1 ("onehot"), or falls on one of `hash_features` places, where those that share one add up ("hash"). A date is
what `dates` asks for. What a row brings that is new has its features behind all others, numbers and dates first, by
their names: neither the order of a dictionary nor the cut of a stream has an effect.
"""

import datetime
import math
import operator
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..numerics.rows import LARGEST
from .tables import DATE, NUMBER, WORD, Given, given_columns, is_table
from .values import (
    DATES,
    DEFAULT_HASH_FEATURES,
    HASH,
    MEAN,
    ONEHOT,
    REFUSE,
    ZERO,
    date_features,
    date_width,
    first_rows,
    hash_of,
    impute,
    power_of_two,
    seconds_of,
)

CATEGORICAL = (ONEHOT, HASH)
MISSING = (REFUSE, MEAN, ZERO)
OPTIONS = ("categorical", "hash_features", "missing", "dates")
PLACES = "places"  # those that hashed words fall on

Reals: TypeAlias = NDArray[np.float64]
# (kind, name, what else tells it apart): a word, or the first date that was seen.
Entry: TypeAlias = tuple[str, Any, Any]


class Mark(NamedTuple):
    """How far columns have come."""

    n_entries: int
    sums: Reals
    counts: NDArray[np.int64]


class Columns:
    """What is known of named values, and how they become features.

    categorical: what words become, "onehot" or "hash" with `hash_features` places, a power of two.
    missing: a value that is None or NaN, or whose name is known and absent, is refused ("refuse"); or the mean of the
        values before it, a word the word "" ("mean"); or counts for nothing ("zero").
    dates: what a date becomes, some of "hour", "day", "week", "year" (where it stands in that cycle: sine and cosine,
        in UTC) and "trend" (days since the first date); without them dates are refused.
    """

    def __init__(
        self,
        *,
        categorical: str = ONEHOT,
        hash_features: int = DEFAULT_HASH_FEATURES,
        missing: str = REFUSE,
        dates: str | Sequence[str] = (),
    ):
        for value, known, name in ((categorical, CATEGORICAL, "categorical"), (missing, MISSING, "missing")):
            if value not in known:
                raise ValueError(f"{name}={value!r} must be one of {', '.join(known)}.")
        dates = (dates,) if isinstance(dates, str) else tuple(dates)
        unknown = [part for part in dates if part not in DATES]
        if unknown:
            raise ValueError(f"dates={unknown[0]!r} must be some of {', '.join(DATES)}.")
        self.categorical, self.missing, self.dates = categorical, missing, dates
        self.hash_features = power_of_two(hash_features)
        self._begin([])

    def _begin(self, entries: list[Entry]) -> None:
        self.entries: list[Entry] = []
        self.width = 0
        self._numbers: dict[Any, int] = {}
        self._words: dict[Any, dict[str, int]] = {}
        self._dates: dict[Any, tuple[int, float]] = {}
        self._hashed_from: int | None = None
        self._sums, self._counts = np.zeros(0), np.zeros(0, np.int64)
        for entry in entries:
            self._add(*entry)
        self._look()

    # What they are.

    @property
    def feature_names(self) -> list[str]:
        """Of a number its name, of a word ``name=word``, of a date ``name.day.sin``, of hashed words ``word#0``."""
        names: list[str] = []
        for kind, name, rest in self.entries:
            if kind == NUMBER:
                names.append(str(name))
            elif kind == WORD:
                names += [f"{name}={rest}"] if self.categorical == ONEHOT else []
            elif kind == PLACES:
                names += [f"word#{place}" for place in range(self.hash_features)]
            else:
                for part in self.dates:
                    names += [f"{name}.trend"] if part == "trend" else [f"{name}.{part}.sin", f"{name}.{part}.cos"]
        return names

    def to_json(self) -> dict[str, Any]:
        for _, name, _ in self.entries:
            if not (name is None or isinstance(name, str | int)):
                raise ValueError(
                    f"The name {name!r} of a value cannot be written to a model file; use text or numbers."
                )
        sums, counts = self._sums.tolist(), self._counts.tolist()
        entries = [list(entry) for entry in self.entries]
        return {**self._options(), "dates": list(self.dates), "entries": entries, "sums": sums, "counts": counts}

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> "Columns":
        """The columns that `to_json` wrote; ValueError for what it cannot have written."""
        columns = cls(**{name: written[name] for name in OPTIONS})
        entries = [(kind, name, rest) for kind, name, rest in written["entries"]]
        for kind, name, rest in entries:
            apart = {WORD: str, DATE: float | int}.get(kind, type(None))
            named = name is None if kind == PLACES else isinstance(name, str | int)
            if kind not in (NUMBER, WORD, DATE, PLACES) or not isinstance(rest, apart) or not named:
                raise ValueError(f"its columns have an entry {[kind, name, rest]!r:.80}")
        if len(set(entries)) < len(entries):
            raise ValueError("its columns name a feature twice")
        columns._begin(entries)
        sums, counts = np.array(written["sums"], np.float64), np.array(written["counts"], np.int64)
        if len(sums) != len(counts) or len(sums) > columns.width or not np.isfinite(sums).all() or (counts < 0).any():
            raise ValueError("its columns have sums that cannot have been kept")
        columns._sums, columns._counts = sums, counts
        return columns

    def __reduce__(self) -> Any:
        return _columns_from, (self._options(), self.entries, self._sums, self._counts)

    def copy(self) -> "Columns":
        return _columns_from(self._options(), self.entries, self._sums, self._counts)

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in OPTIONS}

    def merge(self, other: "Columns") -> None:
        """Take in the means of other columns. Requires: no `differences`."""
        self._sums, theirs = _padded(self._sums, self.width), _padded(other._sums, self.width)
        self._counts = _padded(self._counts, self.width) + _padded(other._counts, self.width)
        self._sums = self._sums + theirs

    def differences(self, other: "Columns") -> list[tuple[str, Any, Any]]:
        """(name, here, there) of all that must be equal in models that are merged."""
        names = (*OPTIONS, "entries")
        return [(f"columns.{name}", getattr(self, name), getattr(other, name)) for name in names]

    # How far they have come.

    def mark(self) -> Mark:
        return Mark(len(self.entries), self._sums, self._counts)

    def before(self, mark: Mark) -> "Columns":
        """Columns as these were then."""
        return _columns_from(self._options(), self.entries[: mark.n_entries], mark.sums, mark.counts)

    def _add(self, kind: str, name: Any, rest: Any) -> None:
        """Take in something new. Requires: it is."""
        if kind == NUMBER:
            self._numbers[name] = self.width
            self.width += 1
        elif kind == DATE:
            self._dates[name] = self.width, rest
            self.width += date_width(self.dates)
        elif kind == PLACES:
            self._hashed_from = self.width
            self.width += self.hash_features
        else:
            if self.categorical == HASH and self._hashed_from is None:
                self._add(PLACES, None, None)
            places = self._words.setdefault(name, {})
            if self.categorical == ONEHOT:
                places[rest] = self.width
                self.width += 1
        self.entries.append((kind, name, rest))

    def _add_all(self, new: list[Entry]) -> None:
        """New things of one row, in an order that is that of their names."""
        for entry in sorted(set(new), key=lambda e: (e[0] == WORD, str(e[1]), type(e[1]).__name__, str(e[2]))):
            self._add(*entry)
        self._look()

    def _look(self) -> None:
        """Settle what rows are written by: a row of numbers alone is packed in one go."""
        self._measured = np.zeros(self.width, np.int64)  # 1 for what numbers and dates are
        self._measured[list(self._numbers.values())] = 1
        for place, _ in self._dates.values():
            self._measured[place : place + date_width(self.dates)] = 1
        # A row in which everything is missing.
        self._blank = [np.nan if one and self.missing != ZERO else 0.0 for one in self._measured.tolist()]
        n = len(self._numbers)
        self.plain = n if n == self.width and n > 1 else -1
        if self.plain > 0:
            self.values_of: Callable[[Any], tuple[Any, ...]] = operator.itemgetter(*self._numbers)
            self._pack = struct.Struct(f"{n}d").pack_into

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
            sums, counts = _padded(self._sums, self.width), _padded(self._counts, self.width)
            self._sums, self._counts = sums + row * self._measured, counts + self._measured

    def _packed(self, x: Mapping[Any, Any]) -> Reals | None:
        """The short way, for the numbers that are known and nothing else."""
        if len(x) != self.plain:
            return None
        try:
            values = self.values_of(x)
            if not math.hypot(*values) <= LARGEST:
                return None
            row: Any = np.empty(self.plain)
            self._pack(row, 0, *values)
        except (KeyError, TypeError, OverflowError, struct.error):
            return None
        return row

    def _written(self, x: Mapping[Any, Any], new: list[Entry]) -> Reals:
        """The row with NaN where a number is missing that is not to count for nothing; `new` gets what is new in it."""
        values, numbers = self._blank[:], self._numbers
        for name, value in x.items():
            kind = type(value)
            if kind is not float and kind is not int and kind is not str:
                kind, value = _recognised(name, value)
            if kind is str:
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
            elif name in numbers:
                values[numbers[name]] = value
            else:
                new.append((NUMBER, name, None))
        if self._words and self.missing != ZERO:
            for name in self._words:
                value = x.get(name)
                if value is None or value != value:
                    if self.missing == REFUSE:
                        raise self._missing(name)
                    self._write_word(values, name, "", new)
        return np.array(values)

    def _write_word(self, values: list[float], name: Any, word: str, new: list[Entry]) -> None:
        places = self._words.get(name)
        if self.categorical == HASH:
            if places is None:
                new.append((WORD, name, ""))
            else:
                assert self._hashed_from is not None
                values[self._hashed_from + hash_of(str(name), word) % self.hash_features] += 1.0
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

    def _require_dates(self, name: Any) -> None:
        if not self.dates:
            remedy = "name what dates are to become, dates=('day', 'week', 'year', 'trend'), or leave it out"
            raise ValueError(f"The value of {name!r} is a date; {remedy}.")

    def _fill(self, row: Reals, t: int | None = None) -> None:
        """Fill in what is missing, learning nothing from the row."""
        gaps = np.zeros(0, np.int64) if self.missing == ZERO else np.flatnonzero(row != row)
        if len(gaps) == 0:
            return
        if self.missing == REFUSE:
            raise self._missing(self._name_at(gaps[0]), t)
        sums, counts = _padded(self._sums, self.width), _padded(self._counts, self.width)
        row[gaps] = sums[gaps] / np.maximum(counts[gaps], 1)

    def _name_at(self, place: int) -> Any:
        """The name of the number or date that a feature is of."""
        starts = {**self._numbers, **{name: start for name, (start, _) in self._dates.items()}}
        return max((name for name in starts if starts[name] <= place), key=lambda name: starts[name])

    def _missing(self, name: Any, row: int | None = None) -> ValueError:
        where = "" if row is None else f"Row {row}: "
        return ValueError(
            f"{where}the value of {name!r} is missing. Fill it in, drop the row, or use missing='mean' (the mean of "
            "the values before it) or missing='zero' (it counts for nothing)."
        )

    # Blocks of rows. Where no name is known they have one feature, which is 0, as the first name's was so far.

    def show(self, rows: Any) -> Reals:
        """Rows, or a table, by what is known; learns nothing."""
        if not is_table(rows):
            return self._stacked([self.known(x) for x in _checked(rows)])
        X = self._of_table(given_columns(rows), growing=False)
        gaps = X != X
        if self.missing == ZERO:
            X[gaps] = 0.0
        else:
            for t in np.flatnonzero(gaps.any(axis=1)):
                self._fill(X[t], int(t))
        return X if X.shape[1] else self._stacked(list(X))

    def take(self, rows: Any) -> Reals:
        """Rows, or a table, with all that is new in them."""
        if not is_table(rows):
            return self._stacked([self._take(x) for x in _checked(rows)])
        X = self._of_table(given_columns(rows), growing=True)
        self._fill_in(X)
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
            sums, counts = _padded(self._sums, self.width), _padded(self._counts, self.width)
            sums, counts = impute(X, sums, counts)
            self._sums, self._counts = sums * self._measured, counts * self._measured
            return
        gaps = X != X
        if not gaps.any():
            return
        if self.missing == REFUSE:
            row, place = np.argwhere(gaps)[0].tolist()
            raise self._missing(self._name_at(place), None if len(X) == 1 else row)
        X[gaps] = 0.0

    def _of_table(self, given: list[Given], *, growing: bool) -> Reals:
        given = [self._with_missing_words(one) for one in given]
        n, names = len(given[0].values), {one.name for one in given}
        absent = [Given(name, WORD, np.full(n, -1), []) for name in self._words if name not in names]
        given += [self._with_missing_words(one) for one in absent]
        if growing:
            self._grow(given)
        if self.plain == len(given) and [one.name for one in given] == list(self._numbers):
            return np.stack([one.values for one in given], axis=1)
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

    def _with_missing_words(self, given: Given) -> Given:
        """A column whose missing words are refused, or the word "", or none."""
        gaps = given.values < 0
        if given.kind != WORD or self.missing == ZERO or not gaps.any():
            return given
        if self.missing == REFUSE:
            raise self._missing(given.name, int(np.argmax(gaps)))
        words = given.words if "" in given.words else [*given.words, ""]
        return given._replace(values=np.where(gaps, words.index(""), given.values), words=words)

    def _place(self, name: Any, word: str) -> int:
        """The feature of a word, -1 for one that is not known."""
        if self.categorical == HASH:
            assert self._hashed_from is not None
            return self._hashed_from + hash_of(str(name), word) % self.hash_features
        return self._words[name].get(word, -1)

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
            seen = np.flatnonzero(values >= 0 if kind == WORD else values == values)
            known: dict[str, Any] = {NUMBER: self._numbers, WORD: self._words, DATE: self._dates}
            if len(seen) and name not in known[kind]:
                apart = {NUMBER: None, WORD: "", DATE: float(values[seen[0]])}[kind]
                new.setdefault(int(seen[0]), []).append((kind, name, apart))
        for row in sorted(new):
            self._add_all(new[row])


def _columns_from(options: dict[str, Any], entries: list[Entry], sums: Reals, counts: Any) -> Columns:
    columns = Columns(**options)
    columns._begin(entries)
    columns._sums, columns._counts = sums, counts
    return columns


def _recognised(name: Any, value: Any) -> tuple[Any, Any]:
    """(kind, value): a number, a word, a date as seconds, or None for what is missing."""
    if value is None or isinstance(value, str):
        return (type(None), None) if value is None else (str, str(value))
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


def _padded(array: Any, width: int) -> Any:
    return array if len(array) == width else np.pad(array, (0, width - len(array)))
