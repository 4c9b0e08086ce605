"""What is known of named values: which feature each name and each word is, and the means of the numbers so far."""

import operator
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..forms import agree, among, each, every, number, record, row, text, whole
from ..teaching import explained
from .tables import DATE, NUMBER, WORD
from .values import (
    DATES,
    DEFAULT_HASH_FEATURES,
    HASH,
    MEAN,
    ONEHOT,
    REFUSE,
    ZERO,
    checked_dates,
    date_names,
    date_width,
    hash_of,
    power_of_two,
)

CATEGORICAL = (ONEHOT, HASH)
MISSING = (REFUSE, MEAN, ZERO)
OPTIONS = ("categorical", "hash_features", "missing", "dates")
RENUMBERED = "renumbered"  # features of a LIBSVM file, which got columns as they appeared
PLACES = "places"  # those that hashed words fall on
_NO_DATES: dict[str, Any] = {"parts": (), "origins": {}}  # of a data file

Reals: TypeAlias = NDArray[np.float64]
# (kind, name, what else tells it apart): a word, or the first date that was seen.
Entry: TypeAlias = tuple[str, Any, Any]


class Mark(NamedTuple):
    """How far columns have come."""

    n_entries: int
    sums: Reals
    counts: NDArray[np.int64]


@explained(
    name="of a value",
    written="a JSON value",
    header="of a model file",
    other="other columns",
    mark="of these",
)
class Known:
    """Names, words and dates in the order in which they came, with the options that say what they become."""

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
        self.categorical, self.missing, self.dates = categorical, missing, checked_dates(dates)
        self.hash_features = power_of_two(hash_features)
        self._begin([])

    def _begin(self, entries: list[Entry]) -> None:
        self.entries: list[Entry] = []
        self.width = 0
        self._numbers: dict[Any, int] = {}
        self._words: dict[Any, dict[str, int]] = {}
        self._dates: dict[Any, tuple[int, float]] = {}
        self._kinds = (NUMBER, self._numbers), (WORD, self._words), (DATE, self._dates)
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
                names += date_names(name, self.dates)
        return names

    @property
    def names(self) -> dict[Any, str]:
        """The kind of each name's values; of one that has had numbers and words, number."""
        found: dict[Any, str] = {}
        for kind, name, _ in self.entries:
            if kind != PLACES and found.get(name) != NUMBER:
                found[name] = kind
        return found

    def kinds_of(self, name: Any) -> list[str]:
        """The kinds that a name's values have had so far."""
        return [kind for kind, names in self._kinds if name in names]

    @property
    def dated(self) -> list[str]:
        """The names of dates."""
        return [str(name) for name in self._dates]

    @property
    def is_hashing(self) -> bool:
        """Whether there are places for hashed words."""
        return self._hashed_from is not None

    @property
    def numbers(self) -> list[Any]:
        """The names of numbers, in the order of their features."""
        return list(self._numbers)

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
    def from_json(cls, written: dict[str, Any]) -> Self:
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

    @classmethod
    def of_file(cls, header: dict[str, Any]) -> Self | None:
        """The columns of a model file: its own, or those of the data file that was learned from, as its reader noted
        them (`encoding`, or where there are no words `feature_names`); None where there are none.
        """
        encoding, names = header.get("encoding"), header.get("feature_names")
        if encoding is None and header.get("columns") is not None:
            return cls.from_json(header["columns"])
        entries: list[Entry] = []
        # That of renumbered features has no names, and one with lists of numbers has fewer than features.
        if encoding is not None and "numbers" in encoding and encoding["numbers"] == len(number_names(encoding)):
            dates = encoding.get("dates", _NO_DATES)
            columns = cls(
                categorical=encoding["categorical"],
                hash_features=encoding.get("hash_features", 1),
                dates=dates["parts"],
            )
            words = encoding.get("categories", [(name, "") for name in encoding["columns"]])
            for name in encoding["numeric"]:
                origin = dates["origins"].get(name)
                entries.append((NUMBER, name, None) if origin is None else (DATE, name, origin))
            entries += [(WORD, name, word) for name, word in words]
        elif encoding is None and names is not None and len(names) == len(set(names)) == header["width"]:
            columns = cls()
            entries += [(NUMBER, name, None) for name in names]
        else:
            return None
        columns._begin(entries)
        return columns

    def __reduce__(self) -> Any:
        return _made, (type(self), self._options(), self.entries, self._sums, self._counts)

    def copy(self) -> Self:
        return self.before(self.mark())

    def with_means(self, other: "Known") -> Self:
        """These, with the means of others. Requires: the same entries."""
        self._sums, self._counts = other._sums, other._counts
        return self

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in OPTIONS}

    def merge(self, other: "Known") -> None:
        """Take in the means of other columns. Requires: no `differences`."""
        self._sums, theirs = padded(self._sums, self.width), padded(other._sums, self.width)
        self._counts = padded(self._counts, self.width) + padded(other._counts, self.width)
        self._sums = self._sums + theirs

    def differences(self, other: "Known") -> list[tuple[str, Any, Any]]:
        """(name, here, there) of all that must be equal in models that are merged."""
        names = (*OPTIONS, "entries")
        return [(f"columns.{name}", getattr(self, name), getattr(other, name)) for name in names]

    # How far they have come.

    def mark(self) -> Mark:
        return Mark(len(self.entries), self._sums, self._counts)

    def before(self, mark: Mark) -> Self:
        """Columns as these were then."""
        return _made(type(self), self._options(), self.entries[: mark.n_entries], mark.sums, mark.counts)

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
        self._heads: Any = None  # the columns, as pandas has them, of a table of these numbers alone
        n = len(self._numbers)
        self.plain = n if n == self.width and n > 1 else -1
        if self.plain > 0:
            self._values: Callable[[Any], tuple[Any, ...]] = operator.itemgetter(*self._numbers)
            self._pack = struct.Struct(f"{n}d").pack_into

    def _place(self, name: Any, word: str) -> int:
        """The feature of a word, -1 for one that is not known."""
        if self.categorical == HASH:
            assert self._hashed_from is not None
            return self._hashed_from + hash_of(str(name), word) % self.hash_features
        return self._words[name].get(word, -1)

    def _require_dates(self, name: Any) -> None:
        if not self.dates:
            remedy = 'name in "dates" what dates are to become, some of hour, day, week, year, trend, or leave it out'
            raise ValueError(f"The value of {name!r} is a date; {remedy}.")

    def _no_date(self, name: Any, text: str, row: int | None = None) -> ValueError:
        where = "The" if row is None else f"Row {row}: the"
        return ValueError(
            f"{where} value {text!r:.60} of {name!r} is not a date, unlike those before; write it as 2026-01-25 or "
            "2026-01-25 12:30:00, or leave it out."
        )

    def _name_at(self, place: int) -> Any:
        """The name of the number or date that a feature is of."""
        starts = {**self._numbers, **{name: start for name, (start, _) in self._dates.items()}}
        return max((name for name in starts if starts[name] <= place), key=lambda name: starts[name])

    def _missing(self, name: Any, row: int | None = None) -> ValueError:
        where = "" if row is None else f"Row {row}: "
        return ValueError(
            f'{where}the value of {name!r} is missing. Fill it in, drop the row, or have "missing" be "mean" (the mean '
            'of the values before it) or "zero" (it counts for nothing).'
        )


def check_encoding(encoding: Any, width: int, names: list[str] | None) -> None:
    """ValueError for what no reader of a data file has noted of the features of a model that is so wide.

    names: of the features, where they are noted too
    """
    if RENUMBERED in encoding:
        record(**{RENUMBERED: every(whole(0, 2**31 - 1))})(encoding, "encoding")
        _require_distinct(encoding[RENUMBERED], f"encoding.{RENUMBERED}")
        noted = len(encoding[RENUMBERED])
    else:
        hashed = encoding.get("categorical") == HASH
        words = {"hash_features": whole(1)} if hashed else {"categories": every(row(text, text))}
        dates = {"dates": record(parts=every(among(*DATES)), origins=each(number()))} if "dates" in encoding else {}
        record(
            categorical=among(*CATEGORICAL), numeric=every(text), numbers=whole(), columns=every(text), **words, **dates
        )(encoding, "encoding")
        for name in ("numeric", "columns"):
            _require_distinct(encoding[name], f"encoding.{name}")
        for name in encoding.get("dates", _NO_DATES)["origins"]:
            among(*encoding["numeric"])(name, "encoding.dates.origins")
        for i, (name, _) in enumerate(encoding.get("categories", ())):
            among(*encoding["columns"])(name, f"encoding.categories.{i}.0")
        _require_distinct(list(map(tuple, encoding.get("categories", ()))), "encoding.categories")
        numbers = number_names(encoding)
        noted = encoding["numbers"] + (
            power_of_two(encoding["hash_features"]) if hashed else len(encoding["categories"])
        )
        if encoding["numbers"] < len(numbers):
            raise ValueError(
                f"its encoding.numbers is {encoding['numbers']}, where encoding.numeric makes {len(numbers)}"
            )
        if names is not None and not hashed:
            agree("feature_names", names, [*numbers, *map("=".join, encoding["categories"])], "encoding")
    if noted < width:
        raise ValueError(f"its encoding makes {noted} features, where its width says {width}")


def _require_distinct(values: list[Any], place: str) -> None:
    if len(set(values)) < len(values):
        raise ValueError(f"its {place} names something twice")


def _made(kind: Any, options: dict[str, Any], entries: list[Entry], sums: Reals, counts: Any) -> Any:
    columns = kind(**options)
    columns._begin(entries)
    columns._sums, columns._counts = sums, counts
    return columns


def number_names(encoding: dict[str, Any]) -> list[str]:
    """The features of a data file's numbers and dates, as its reader noted them; a list of numbers counts as one."""
    dates = encoding.get("dates", _NO_DATES)
    names = [date_names(name, dates["parts"]) if name in dates["origins"] else [name] for name in encoding["numeric"]]
    return [one for several in names for one in several]


def padded(array: Any, width: int) -> Any:
    """The array with zeros behind it."""
    return array if len(array) == width else np.pad(array, (0, width - len(array)))
