"""The compiled loop over the bytes of LIBSVM text.

Numbers are correctly rounded: a decimal whose digits make an integer up to 2^53 and whose power of ten is within 10^22
is two exact doubles and one rounding; a longer one takes more of them (`decimal`). The few that are not sure to be
right then, and whatever is not a number, are left to the caller.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.compile import compiled
from ._decimals import MANTISSA_LIMIT, decimal

_NEWLINE, _PLUS, _MINUS, _POINT, _COLON = b"\n+-.:"
_LETTER_E, _LETTER_Q, _LETTER_I, _LETTER_D = b"eqid"
_LOWER_CASE = 0x20

# What a byte is to the parser: a digit is its own value, then come the other characters of a token, then its ends.
_OTHER, _BLANK, _LINE_END = 10, 11, 12
_CLASS = np.full(256, _OTHER)
_CLASS[list(b"0123456789")] = range(10)
_CLASS[list(b" \t\r\v\f")] = _BLANK
_CLASS[list(b"\n#")] = _LINE_END

_EXACT_INTEGER = 2**53
_EXACT_POWER = 22
_NO_POWER = 10**6
_POWERS = np.array([float(10**k) for k in range(_EXACT_POWER + 1)])
HIGHEST_INDEX = 2**31 - 1

OK, _NO_PAIR, _INDEX_ZERO, _NOT_ASCENDING, _INDEX_TOO_HIGH = range(5)
FAULTS = {
    _NO_PAIR: "{token!r} is not index:value; an index is made of digits only",
    _INDEX_ZERO: "{token!r} has index 0 in a file read from index 1; open it with zero_based=True",
    _NOT_ASCENDING: "the index of {token!r} is not above the one before it; sort each line and drop duplicates",
    _INDEX_TOO_HIGH: "the index of {token!r} is above the limit of {most} features, which max_features raises (up to "
    f"{HIGHEST_INDEX}): a model's memory grows with it. Where few of so many are in use, renumber=True makes it grow "
    "with those that appear",
}


class Buffers(NamedTuple):
    """Where parsed rows are written.

    `spans` holds first byte and end of each label, `odd` the entry, first byte and end of each value that is left to
    the caller.
    """

    labels: NDArray[np.float64]
    spans: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    odd: NDArray[np.int64]


@compiled
def _number(text, at):
    """The number at `at`, or NaN when it is none or hard to round; where it ends."""
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    mantissa = 0
    digits = 0
    places = 0
    point = 0
    too_long = False
    while True:
        digit = _CLASS[text[at]]
        if digit < _OTHER:
            too_long |= mantissa >= MANTISSA_LIMIT // 10
            if not too_long:
                mantissa = mantissa * 10 + digit
            digits += 1
            places += point
        elif text[at] == _POINT and point == 0:
            point = 1
        else:
            break
        at += 1
    power = 0
    if digits > 0 and text[at] | _LOWER_CASE == _LETTER_E:
        at += 1
        shrinking = text[at] == _MINUS
        if shrinking or text[at] == _PLUS:
            at += 1
        digits = 0
        while _CLASS[text[at]] < _OTHER:
            power = min(power * 10 + _CLASS[text[at]], _NO_POWER)
            digits += 1
            at += 1
        if shrinking:
            power = -power
    power -= places
    if digits == 0 or too_long or _CLASS[text[at]] <= _OTHER:
        power = _NO_POWER
    while _CLASS[text[at]] <= _OTHER:
        at += 1
    if mantissa <= _EXACT_INTEGER and abs(power) <= _EXACT_POWER:
        value = mantissa / _POWERS[-power] if power < 0 else mantissa * _POWERS[power]
    else:
        value = decimal(mantissa, power)
    return -value if negative else value, at


@compiled
def _is_query(text, at):
    return text[at] == _LETTER_Q and text[at + 1] == _LETTER_I and text[at + 2] == _LETTER_D and text[at + 3] == _COLON


@compiled
def parse(text, out, at, row, base, highest):
    """Parse lines from `at` on, until the text ends or `out` has no row left.

    Requires: `at` is the start of a line, `text` ends with a newline, `out` has room for every pair in it.
    Ensures: returns a fault code and the byte where parsing stopped, the row after the last one, the number of lines
    before that byte, the length of `odd` and the number of ``qid:`` passed over. A line at fault has its label and span
    written to that row.
    """
    n_lines = 0
    n_odd = 0
    n_queries = 0
    entry = out.indptr[row]
    while at < text.shape[0] and row < out.labels.shape[0]:
        while _CLASS[text[at]] == _BLANK:
            at += 1
        if _CLASS[text[at]] != _LINE_END:
            out.spans[row, 0] = at
            out.labels[row], at = _number(text, at)
            out.spans[row, 1] = at
            last = base - 1
            while _CLASS[text[at]] != _LINE_END:
                if _CLASS[text[at]] == _BLANK:
                    at += 1
                    continue
                start = at
                index = 0
                while _CLASS[text[at]] < _OTHER:
                    index = min(index * 10 + _CLASS[text[at]], HIGHEST_INDEX + 1)
                    at += 1
                if at == start and _is_query(text, at):
                    n_queries += 1
                    while _CLASS[text[at]] <= _OTHER:
                        at += 1
                    continue
                if at == start or text[at] != _COLON:
                    return _NO_PAIR, start, row, n_lines, n_odd, n_queries
                if index < base:
                    return _INDEX_ZERO, start, row, n_lines, n_odd, n_queries
                if index <= last:
                    return _NOT_ASCENDING, start, row, n_lines, n_odd, n_queries
                if index > highest:
                    return _INDEX_TOO_HIGH, start, row, n_lines, n_odd, n_queries
                start = at + 1
                value, at = _number(text, start)
                if np.isnan(value):
                    out.odd[n_odd, 0] = entry
                    out.odd[n_odd, 1] = start
                    out.odd[n_odd, 2] = at
                    n_odd += 1
                out.indices[entry] = index - base
                out.values[entry] = value
                last = index
                entry += 1
            row += 1
            out.indptr[row] = entry
        while text[at] != _NEWLINE:
            at += 1
        at += 1
        n_lines += 1
    return OK, at, row, n_lines, n_odd, n_queries
