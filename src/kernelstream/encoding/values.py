"""What a word, a date and a missing number are as features; what a column of Arrow holds of them."""

import contextlib
import datetime
import hashlib
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .buffers import array_of, known_in, word_of

AUTO, ONEHOT, HASH = "auto", "onehot", "hash"
MEAN, REFUSE, ZERO = "mean", "refuse", "zero"
DEFAULT_HASH_FEATURES = 256

DAY = 86_400.0  # seconds
TREND = "trend"
CYCLES = {"hour": DAY / 24, "day": DAY, "week": 7 * DAY, "year": 365.2425 * DAY}
DATES = (*CYCLES, TREND)
FILE_DATES = ("day", "week", "year", TREND)  # what dates of files become, unless somebody says otherwise
_EPOCH = datetime.datetime(1970, 1, 1)
_FIRST = -62_135_596_800 * 10**6  # microseconds; of the year 1
_DATE = re.compile(
    r"\d{4}(?P<sign>[-/])\d{2}(?P=sign)\d{2}"
    r"([T ]\d{2}(:\d{2}(:\d{2}(\.\d{1,9})?)?)?(Z|[-+]\d{2}(:?\d{2})?)?)?",
    re.ASCII,
)


def power_of_two(hash_features: int) -> int:
    if hash_features < 1 or hash_features & (hash_features - 1):
        raise ValueError(f"hash_features is {hash_features}; it must be a power of two, such as 256")
    return hash_features


@lru_cache(maxsize=65_536)
def hash_of(column: str, category: str) -> int:
    """The same number in every process, unlike Python's own hash."""
    return int.from_bytes(hashlib.blake2b(f"{column}\0{category}".encode(), digest_size=8).digest(), "little")


def impute(X: NDArray[Any], sums: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[Any, Any]:
    """Replace each NaN by the mean of the numbers above it, 0 when there are none; the sums and counts below the rows.

    sums, counts: of the rows before them, for each feature. The mean is a plain running sum, so that neither its bits
    nor those of the rows depend on where blocks end.
    """
    known = ~np.isnan(X)
    if known.all():
        below = np.concatenate([sums[None], X])
        # NumPy adds up rows one after another, but numbers that lie side by side in pairs.
        total = np.add.reduce(below, axis=0) if X.shape[1] > 1 else np.cumsum(below, axis=0)[-1]
        return total, counts + len(X)
    totals, numbers = np.empty((len(X) + 1, X.shape[1])), np.empty((len(X) + 1, X.shape[1]), np.int64)
    totals[0], numbers[0] = sums, counts
    totals[1:], numbers[1:] = np.where(known, X, 0.0), known
    np.cumsum(totals, axis=0, out=totals)
    np.cumsum(numbers, axis=0, out=numbers)
    missing = np.nonzero(~known)
    X[missing] = totals[missing] / np.maximum(numbers[missing], 1)
    return totals[-1].copy(), numbers[-1].copy()


def first_rows(rows: NDArray[Any], n_words: int) -> NDArray[np.int64]:
    """The row where each word first stands, by the number of each row's word; len(rows) for one that stands nowhere."""
    first = np.full(n_words, len(rows), np.int64)
    present = np.flatnonzero(rows >= 0)[::-1]
    first[rows[present]] = present
    return first


# Dates.


def seconds_of(moment: datetime.date) -> float:
    """Seconds since 1970 in UTC; a date is its midnight, and one without a zone is taken as it is."""
    if not isinstance(moment, datetime.datetime):
        return (moment - _EPOCH.date()).days * DAY
    offset = moment.utcoffset()
    return (moment.replace(tzinfo=None) - _EPOCH - (offset or datetime.timedelta())).total_seconds()


def moment_of(text: str) -> int | None:
    """The date that a text is, in microseconds since 1970 in UTC: ``2026-01-25`` or ``2026/01/25``, with or without a
    time of day (``2026-01-25T12:30:00.5``) and a zone; None for whatever is no text of a date.
    """
    text = text.strip()
    if not _DATE.fullmatch(text):
        return None
    try:
        moment = datetime.datetime.fromisoformat(text.replace("/", "-"))
    except ValueError:
        return None
    since = moment.replace(tzinfo=None) - _EPOCH - (moment.utcoffset() or datetime.timedelta())
    found = since // datetime.timedelta(microseconds=1)
    return found if found >= _FIRST else None


def checked_dates(dates: str | Sequence[str]) -> tuple[str, ...]:
    """What dates are to become; ValueError for what they cannot."""
    dates = (dates,) if isinstance(dates, str) else tuple(dates)
    unknown = [part for part in dates if part not in DATES]
    if unknown:
        raise ValueError(f"dates={unknown[0]!r} must be some of {', '.join(DATES)}.")
    return dates


def date_width(dates: Sequence[str]) -> int:
    return sum(1 if part == TREND else 2 for part in dates)


def date_names(name: Any, dates: Sequence[str]) -> list[str]:
    """The names of what a date becomes: ``name.day.sin``, ``name.trend``."""
    ends = [(part,) if part == TREND else (f"{part}.sin", f"{part}.cos") for part in dates]
    return [f"{name}.{end}" for pair in ends for end in pair]


def date_features(seconds: NDArray[np.float64], dates: Sequence[str], origin: float) -> NDArray[np.float64]:
    """(n, width): of a cycle sine and cosine of where a date stands in it; of the trend the days since `origin`."""
    parts = []
    for part in dates:
        if part == TREND:
            parts.append((seconds - origin) / DAY)
        else:
            # The remainder is exact, so that dates far from 1970 lose no digits.
            angle = np.fmod(seconds, CYCLES[part]) * (2.0 * math.pi / CYCLES[part])
            parts += [np.sin(angle), np.cos(angle)]
    return np.stack(parts, axis=1)


# Columns of Arrow.


def dates_of(column: Any) -> Any:
    """Text as dates, as `moment_of` has them; pyarrow.ArrowInvalid for other text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"^(\d{4})/(\d{2})/(\d{2})", r"\1-\2-\3")
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        with contextlib.suppress(pa.ArrowInvalid):
            found = text.cast(kind).cast(pa.timestamp("us"))
            if (pc.min(found.cast(pa.int64())).as_py() or 0) >= _FIRST:
                return found
    moments = []
    for value in column.to_pylist():
        moments.append(None if value is None else moment_of(value))
        if value is not None and moments[-1] is None:
            raise pa.ArrowInvalid(f"{value!r:.60} is no date")
    return pa.array(moments, pa.timestamp("us"))


def is_dated(kind: Any) -> bool:
    """Whether a type is that of dates."""
    import pyarrow as pa

    return pa.types.is_timestamp(kind) or pa.types.is_date(kind)


def seconds_in(column: Any) -> NDArray[np.float64]:
    """Seconds since 1970 in UTC of a column of dates, NaN where one is missing."""
    import pyarrow as pa

    return np.where(known_in(column), array_of(column.cast(pa.timestamp("us"), safe=False)) / 1e6, np.nan)


def is_list(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def codes_of(column: Any, *, missing: str | None = "") -> tuple[NDArray[Any], list[str]]:
    """A column of categories as numbers, and the categories' names in the order of their first appearance.

    missing: the category of what is missing; None: its number is -1.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    column = column.cast(pa.string())
    column = column if missing is None else column.fill_null(word_of(missing))
    encoded = pa.concat_arrays(column.chunks).dictionary_encode()
    return np.where(known_in(encoded.indices), array_of(encoded.indices), -1), encoded.dictionary.to_pylist()


def numbers_of(column: Any) -> NDArray[Any]:
    """A numeric column, NaN where a value is missing; (n, k) for a column of lists of k numbers."""
    import pyarrow as pa

    if is_list(column.type):
        lists = pa.concat_arrays(column.chunks)
        return numbers_of(pa.chunked_array([lists.flatten()])).reshape(len(lists), -1)
    if not pa.types.is_floating(column.type):
        column = column.cast(pa.float64(), safe=False)
    numbers = array_of(column)
    if column.null_count > 0:
        numbers[~known_in(column)] = np.nan
    return numbers
