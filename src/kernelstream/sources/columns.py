"""From named table columns to features: one way for CSV, Parquet and Arrow.

Numeric columns come first, in the file's order; a column of lists of k numbers counts as k features, a column of dates
as those that `dates` asks for. Text, dictionary and boolean columns hold categories, and so does any column that
`categorical_columns` names. "onehot" gives each category a feature of its own when it first appears, behind the numeric
ones; "hash" gives each (column, category) one of `hash_features` places, and those that share a place add up. Both make
sparse blocks, "refuse" makes neither. "auto" is "onehot" for columns that are mostly words, in text that does not
say what its columns hold: a word among numbers is a fault there, and text that is dates makes a column of dates.

A missing number becomes the mean of the numbers above it in this pass (0 when there are none), or is refused; a missing
category is the category "", or is refused. The mean is a plain running sum, so block size has no effect on any bit.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..encoding.known import number_names
from ..encoding.values import (
    AUTO,
    DEFAULT_HASH_FEATURES,
    FILE_DATES,
    HASH,
    MEAN,
    ONEHOT,
    REFUSE,
    checked_dates,
    codes_of,
    date_features,
    first_rows,
    hash_of,
    impute,
    numbers_of,
    power_of_two,
    seconds_in,
)
from .base import Matrix, Notice, SourceError, is_nameless, one_of

CATEGORICAL = (AUTO, ONEHOT, HASH, REFUSE)
MISSING = (MEAN, REFUSE)
MOSTLY = 0.5  # of a column's values
_MANY_WORDS = 20  # of a column; if most rows have one of their own, it tells nothing


class Words(NamedTuple):
    """Of a column of text with values that are no numbers: the share of words, and whether all values are dates."""

    share: float
    dated: bool


class ColumnOptions:
    """How columns become features. `encoding` is what an earlier source's `encoding` said, and overrules the rest;
    `names` are those of columns of numbers alone, in the order in which they become features.
    """

    def __init__(
        self,
        *,
        categorical: str = CATEGORICAL[0],
        hash_features: int = DEFAULT_HASH_FEATURES,
        missing: str = MISSING[0],
        categorical_columns: Sequence[str] = (),
        dates: str | Sequence[str] = FILE_DATES,
        drop: Sequence[str | int] = (),
        encoding: dict[str, Any] | None = None,
        names: Sequence[str] | None = None,
    ):
        self.origins: dict[str, float] = {}
        self.unasked = categorical == AUTO  # features of words are made though nobody asks for them
        if encoding is not None:
            try:
                categorical, categorical_columns = encoding["categorical"], encoding["columns"]
                hash_features = encoding["hash_features"] if categorical == "hash" else hash_features
                if "dates" in encoding:
                    dates, self.origins = encoding["dates"]["parts"], dict(encoding["dates"]["origins"])
                _ = encoding["numeric"], encoding["numbers"]
            except (KeyError, TypeError):
                raise ValueError(f"encoding is {encoding!r:.60}; give what a source's `encoding` said") from None
        self.categorical = one_of(categorical, CATEGORICAL, "categorical")
        self.missing = one_of(missing, MISSING, "missing")
        if categorical_columns and categorical == "refuse":
            raise ValueError("categorical_columns are given and categorical is 'refuse'; choose 'onehot' or 'hash'")
        self.dates = checked_dates(dates)
        self.hash_features = power_of_two(hash_features)
        self.categorical_columns = tuple(categorical_columns)
        self.drop = tuple(drop)
        self.encoding = encoding
        self.names = None if names is None else list(names)

    @property
    def knows_words(self) -> bool:
        """Whether the columns of words are those that are named, whatever the file shows."""
        named = self.categorical != AUTO and len(self.categorical_columns) > 0
        return named or self.categorical == REFUSE or self.encoding is not None

    def kinds(self, found: dict[str, Words]) -> tuple[set[str], set[str]]:
        """The names of the columns that hold words, and of those that hold dates, where text shows these."""
        named = set(self.categorical_columns)
        if self.knows_words:
            return named, set(self.origins)
        if self.categorical != AUTO:
            return set(found), set()
        dates = {name for name, words in found.items() if words.dated and self.dates} - named
        return named | {name for name, words in found.items() if words.share > MOSTLY} - dates, dates

    def dropped(self, names: list[str], label: int | None, path: Path) -> frozenset[int]:
        """The positions of the columns to leave out, which go by name or position."""
        places = set()
        for column in self.drop:
            if column in names:
                places |= {at for at, name in enumerate(names) if name == column}
                continue
            try:
                places.add(range(len(names))[int(column)])
            except (ValueError, IndexError):
                what = f"there is no column {column!r} to drop; name one of {', '.join(names)}, or give a position"
                raise SourceError(what, path=path) from None
        if label in places:
            raise SourceError(f"the label {names[label or 0]!r} is dropped; keep it, or name another", path=path)
        return frozenset(places)


class Layout(NamedTuple):
    """The columns of a table: their names, which one is the label, which hold categories; are labels words? Which are
    left out, which hold dates?
    """

    names: list[str]
    label: int | None
    categorical: list[bool]
    word_labels: bool
    dropped: frozenset[int] = frozenset()
    dates: frozenset[int] = frozenset()

    @property
    def used(self) -> list[int]:
        """The positions of the feature columns."""
        return [at for at in range(len(self.names)) if at != self.label and at not in self.dropped]

    def features(self, categorical: bool) -> list[int]:
        """The positions of the feature columns that hold categories, or of those that hold numbers and dates."""
        return [at for at in self.used if self.categorical[at] == categorical]

    @property
    def types(self) -> list[Any]:
        """What Arrow keeps each column in, where text gives its values: words, dates or numbers."""
        import pyarrow as pa

        words = [*self.features(True), *([self.label] if self.word_labels else [])]
        kinds = dict.fromkeys(words, pa.string()) | dict.fromkeys(self.dates, pa.timestamp("us"))
        return [kinds.get(at, pa.float64()) for at in range(len(self.names))]


_SETS = ("dropped", "dates")


class Seen(NamedTuple):
    """What an encoder had seen at a moment: the width of its numbers, their sums and counts, how many categories, and
    the first date of each column of dates.
    """

    n_numbers: int | None
    sums: NDArray[np.float64] | None
    counts: NDArray[np.int64] | None
    n_categories: int
    origins: dict[str, float]


class Encoder:
    """One pass: the categories and the sums of the numbers that it has seen."""

    def __init__(self, layout: Layout, options: ColumnOptions, dtype: type, path: Path):
        self.layout = layout
        self.options = options
        self.dtype = dtype
        self.path = path
        self.numbers, self.categories = layout.features(False), layout.features(True)
        self.numeric_names = [layout.names[at] for at in self.numbers]
        self.category_names = [layout.names[at] for at in self.categories]
        self.n_numbers: int | None = None
        self.expected: tuple[str, int] | None = None
        self.unknown, self.first_unknown = 0, ""
        self.n_rows, self.n_missing = 0, 0
        self.goes_on = False  # where other tables were above
        self.origins = dict(options.origins)
        # For each numeric feature the sum and the number of its values.
        self.seen: tuple[NDArray[np.float64], NDArray[np.int64]] | None = None
        # The place of a category among all categories, and those in the order of their places.
        self.places: dict[str, dict[str, int]] = {name: {} for name in self.category_names}
        self.order: list[tuple[str, str]] = []
        self.growing = options.encoding is None
        for column, category in (options.encoding or {}).get("categories", ()):
            self._add(column, category)

    def expect(self, whose: str, numeric: list[str], categories: list[str], n_numbers: int) -> None:
        """Take columns in the order of somebody else's, and refuse others. Numbers without names go by position."""
        self.expected = whose, n_numbers
        if not (self.categories or categories) and (
            all(map(is_nameless, self.numeric_names)) or all(map(is_nameless, numeric))
        ):
            return
        kinds = (("numeric columns", self.numeric_names, numeric), ("categories", self.category_names, categories))
        for kind, names, wanted in kinds:
            if names != wanted and (sorted(names) != sorted(wanted) or len(set(names)) < len(names)):
                what = f"the {kind} are {names}, those of {whose} are {wanted}; give the file the same, in any order"
                remedy = "drop=NAME leaves one out, label=NAME says which is the label, label='none' that none is"
                raise SourceError(f"{what}: {remedy}", path=self.path)
        place = {name: at for at, name in enumerate(self.layout.names)}
        if self.numeric_names != numeric:
            self.numeric_names, self.numbers = numeric, [place[name] for name in numeric]
        if self.category_names != categories:
            self.category_names, self.categories = categories, [place[name] for name in categories]

    def go_on_from(self, earlier: "Encoder") -> None:
        """Take over what the tables above this one have shown."""
        if earlier.n_numbers is None:
            return
        self.goes_on, whose = True, f"{earlier.path.name} above it"
        self.expect(whose, earlier.numeric_names, earlier.category_names, earlier.n_numbers)
        self.n_numbers, self.seen, self.origins = earlier.n_numbers, earlier.seen, earlier.origins
        self.places, self.order = earlier.places, earlier.order

    def moment(self) -> Seen:
        sums, counts = (None, None) if self.seen is None else (self.seen[0].copy(), self.seen[1].copy())
        return Seen(self.n_numbers, sums, counts, len(self.order), dict(self.origins))

    def to_json(self, moment: Seen) -> dict[str, Any]:
        """What a pass that goes on from a moment has to know, as a JSON value."""
        layout = self.layout._asdict() | {name: sorted(getattr(self.layout, name)) for name in _SETS}
        seen = None if moment.sums is None or moment.counts is None else [moment.sums.tolist(), moment.counts.tolist()]
        order = [list(pair) for pair in self.order[: moment.n_categories]]
        numbers = {"n_numbers": moment.n_numbers, "seen": seen, "origins": moment.origins}
        return {"layout": layout, "order": order} | numbers

    @classmethod
    def from_json(cls, written: dict[str, Any], options: ColumnOptions, path: Path) -> "Encoder":
        """The encoder that an earlier pass had at that moment, for `TableSource.go_on`."""
        layout = written["layout"]
        sets = {name: frozenset(layout.get(name, ())) for name in _SETS}
        encoder = cls(Layout(**layout | sets), options, np.float64, path)
        encoder.n_numbers, encoder.origins = written["n_numbers"], dict(written.get("origins", {}))
        if written["seen"] is not None:
            sums, counts = written["seen"]
            encoder.seen = np.array(sums, np.float64), np.array(counts, np.int64)
        for column, category in written["order"]:
            encoder._add(column, category)
        return encoder

    def encoding(self) -> dict[str, Any] | None:
        if not (self.categories or self.layout.dates) or self.n_numbers is None:
            return None
        hashed = self.options.categorical == HASH
        known = {
            "categorical": HASH if hashed else ONEHOT,
            "numeric": self.numeric_names,
            "numbers": self.n_numbers,
            "columns": self.category_names,
        }
        if self.layout.dates:
            dated = [self.layout.names[at] for at in self.numbers if at in self.layout.dates]
            origins = {name: self.origins.get(name, 0.0) for name in dated}
            known["dates"] = {"parts": list(self.options.dates), "origins": origins}
        if hashed:
            return known | {"hash_features": self.options.hash_features}
        return known | {"categories": [list(pair) for pair in self.order]}

    def feature_names(self) -> list[str] | None:
        """Of a column of numbers its name, of a date ``column.day.sin``, of a category ``column=category``; None for
        lists and hashes.
        """
        names = number_names(self.encoding() or {"numeric": self.numeric_names})
        if self.n_numbers != len(names) or (self.categories and self.options.categorical == HASH):
            return None
        return [*names, *(f"{column}={category}" for column, category in self.order)]

    def told(self) -> dict[str, Notice]:
        """What its reader should know of that nobody asked for."""
        found = self.made(self.n_rows) if self.growing else {}
        if self.n_missing > 0:
            what = "missing; means of the rows above stand there"
            found["missing"] = Notice(f"values are {what}", f"value is {what}", self.n_missing)
        if self.unknown > 0:
            what = f"that the encoding does not have and count as 0; the first: {self.first_unknown}"
            found["unknown"] = Notice(f"values are categories {what}", f"value is a category {what}", self.unknown)
        return found

    def made(self, n_rows: int | None) -> dict[str, Notice]:
        """Of what features were made that nobody asked for. n_rows: of which words were counted, if that is known."""
        made = []
        for name in self.category_names if self.options.unasked else ():
            n = len(self.places[name])
            rare = n_rows is not None and n > _MANY_WORDS and 2 * n > n_rows
            made.append(f"{name!r} ({n:,} words{', most of them of one row: leave it out' if rare else ''})")
        made += [f"{self.layout.names[at]!r} (dates)" for at in sorted(self.layout.dates)]
        return {"made": Notice(f"features were made of {', '.join(made)}")} if made else {}

    def encode(self, table: Any) -> Matrix:
        X = self._numeric(table)
        if self.expected is not None and self.expected[1] != X.shape[1]:
            whose, known = self.expected
            what = f"the rows have {X.shape[1]} numbers, those of {whose} {known}"
            raise SourceError(f"{what}; give the file the same columns, with lists as long as there", path=self.path)
        self.n_numbers = X.shape[1]
        self.n_rows += len(X)
        if self.options.missing == MEAN:
            self._impute(X)
        if not self.categories:
            return X
        self.n_missing += sum(table.column(at).null_count for at in self.categories)
        codes = [codes_of(table.column(at)) for at in self.categories]
        if self.options.categorical == "hash":
            places, width = self._hashed(codes), self.options.hash_features
        else:
            places = self._onehot(codes)
            width = len(self.order)
        return _joined(X, places, width)

    def _numeric(self, table: Any) -> NDArray[Any]:
        """The numbers, NaN where one is missing."""
        dates = self.layout.dates
        parts = [self._dated(table, at) if at in dates else numbers_of(table.column(at)) for at in self.numbers]
        self.n_missing += sum(int(np.isnan(part if part.ndim == 1 else part.sum(axis=1)).sum()) for part in parts)
        width = sum(part.shape[1] if part.ndim == 2 else 1 for part in parts)
        X: NDArray[Any] = np.empty((table.num_rows, width), self.dtype)
        at = 0
        for part in parts:
            if part.ndim == 2:
                X[:, at : at + part.shape[1]] = part
                at += part.shape[1]
            else:
                X[:, at] = part
                at += 1
        return X

    def _dated(self, table: Any, at: int) -> NDArray[np.float64]:
        seconds, name = seconds_in(table.column(at)), self.layout.names[at]
        if name not in self.origins and not np.isnan(seconds).all():
            self.origins[name] = float(seconds[~np.isnan(seconds)][0])
        return date_features(seconds, self.options.dates, self.origins.get(name, 0.0))

    def _impute(self, X: NDArray[Any]) -> None:
        sums, counts = self.seen or (np.zeros(X.shape[1]), np.zeros(X.shape[1], np.int64))
        self.seen = impute(X, sums, counts)

    def _add(self, column: str, category: str) -> None:
        self.places[column][category] = len(self.order)
        self.order.append((column, category))

    def _onehot(self, codes: list[tuple[NDArray[Any], list[str]]]) -> NDArray[np.int64]:
        if self.growing:
            # By row, then by column: the order does not depend on where blocks end.
            new = [
                (int(row), column, category)
                for column, (rows, words) in enumerate(codes)
                for row, category in zip(first_rows(rows, len(words)), words, strict=True)
                if category not in self.places[self.category_names[column]]
            ]
            for _, column, category in sorted(new):
                self._add(self.category_names[column], category)
        places = np.empty((len(codes[0][0]), len(codes)), np.int64)
        for column, (name, (rows, words)) in enumerate(zip(self.category_names, codes, strict=True)):
            known = self.places[name]
            places[:, column] = np.array([known.get(category, -1) for category in words], np.int64)[rows]
            unknown = np.flatnonzero(places[:, column] < 0)
            if len(unknown) > 0 and self.unknown == 0:
                self.first_unknown = f"{words[rows[unknown[0]]]!r} of {name!r}"
            self.unknown += len(unknown)
        return places

    def _hashed(self, codes: list[tuple[NDArray[Any], list[str]]]) -> NDArray[np.int64]:
        places = np.empty((len(codes[0][0]), len(codes)), np.int64)
        for column, (name, (rows, words)) in enumerate(zip(self.category_names, codes, strict=True)):
            hashes = [hash_of(name, category) % self.options.hash_features for category in words]
            places[:, column] = np.array(hashes, np.int64)[rows]
        return places


def _joined(X: NDArray[Any], places: NDArray[np.int64], width: int) -> csr_array:
    """Sparse rows: the numbers in front, a 1 at each place behind them; a place below 0 is left out."""
    n_rows, n_numbers = X.shape
    indices = np.empty((n_rows, n_numbers + places.shape[1]), np.int32)
    indices[:, :n_numbers] = np.arange(n_numbers)
    indices[:, n_numbers:] = places + n_numbers
    values = np.ones(indices.shape, X.dtype)
    values[:, :n_numbers] = X
    known = np.ones(indices.shape, bool)
    known[:, n_numbers:] = places >= 0
    indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))]).astype(np.int32)
    joined = csr_array((values[known], indices[known], indptr), shape=(n_rows, n_numbers + width))
    joined.sum_duplicates()
    joined.eliminate_zeros()
    return joined
