"""What was said of rows whose labels come later: found again by the row itself, in a table of bounded size.

A place holds one row: where two fall together the newer one stays. A row that is not found has been forgotten, or was
never shown.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .compile import inlined

PLACES, NUMBERS = 4096, 1 << 16  # of rows; of what is said of all of them, about
EMPTY = 1e300


class Shown(NamedTuple):
    key: np.ndarray  # (places,); EMPTY: nothing is there
    said: np.ndarray  # (places, M, K)
    n: np.ndarray  # 0-d, rows that were shown so far


def none_shown(n_parts: int, n_outputs: int, dtype: Any) -> Shown:
    places = max(64, min(PLACES, 1 << (NUMBERS // (n_parts * n_outputs)).bit_length() - 1))
    said = np.zeros((places, n_parts, n_outputs), dtype)
    return Shown(np.full(places, EMPTY), said, np.zeros((), np.int64))


@inlined
def key_of(x):
    """A number that is the same for the same row, whatever its storage."""
    key = 0.0
    for p in range(x.values.shape[0]):
        key += np.float64(x.values[p]) * (0.5 + ((x.indices[p] * 2654435761) & 0xFFFFFFFF) / 4294967296.0)
    return key


@inlined
def place_of(key, n):
    share = abs(key) * 0.6180339887498949
    return np.int64((share - math.floor(share)) * n)


@inlined
def keep_said(shown, x, e):
    key = key_of(x)
    place = place_of(key, shown.key.shape[0])
    shown.key[place] = key
    for i in range(e.shape[0]):
        for k in range(e.shape[1]):
            shown.said[place, i, k] = e[i, k]
    shown.n[()] += 1


@inlined
def take_said(shown, x, e):
    """e = what was said of the row when it was shown, once; where it is not known, e stays."""
    key = key_of(x)
    place = place_of(key, shown.key.shape[0])
    if shown.key[place] == key:
        shown.key[place] = EMPTY
        for i in range(e.shape[0]):
            for k in range(e.shape[1]):
                e[i, k] = shown.said[place, i, k]
