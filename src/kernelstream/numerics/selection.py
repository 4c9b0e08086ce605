"""The k largest of many values, in vector instructions: a border that k of them reach, then those above it by rank.

Values are folded in two, the larger of each two kept, until few are left. They are among the values still, so that a
border which k of the few reach is reached by k of all, and by hardly more; these are ranked. Insertion, value by value,
would wait for branches that nobody can foresee.
"""

from typing import Any, NamedTuple

import numpy as np

from .budgets import largest
from .compile import inlined
from .neighbours import Search, list_marked, room_to_search

# How often the range of the few is halved towards the border, at most.
HALVINGS = 6

WIDTH = 16  # values that are looked at together


class Selection(NamedTuple):
    """Scratch."""

    keys: np.ndarray  # (capacity,) what is chosen by; -inf of what is not to be chosen
    few: np.ndarray  # (capacity,) and room for WIDTH more
    found: np.ndarray  # likewise
    search: Search


def room_to_select(capacity: int, dtype: Any) -> Selection:
    few, found = (np.zeros(capacity + WIDTH, dtype) for _ in range(2))
    return Selection(np.zeros(capacity, dtype), few, found, room_to_search(capacity))


@inlined
def fold(values, out):
    """Write the larger of each two of the values into `out`; return how many there are."""
    half = (values.shape[0] + 1) // 2
    high = values[half:]
    for i in range(high.shape[0]):
        out[i] = values[i] if values[i] > high[i] else high[i]
    if high.shape[0] < half:
        out[half - 1] = values[half - 1]
    return half


@inlined
def fill_up(values, n):
    """Write -inf behind n values, to a multiple of WIDTH; return it. Loops over as many have no rest."""
    whole = ((n + WIDTH - 1) // WIDTH) * WIDTH
    for i in range(n, whole):
        values[i] = -np.inf
    return whole


@inlined
def border_of(values, n, most, room):
    """What `most` of n values reach and few more do; -inf where fewer are above that."""
    none, n = values.dtype.type(-np.inf), fill_up(values, n)
    there = np.int32(0)
    for i in range(n):
        there = np.int32(there + np.int32(values[i] > none))
        room[i] = -values[i] if values[i] > none else none
    if there < most:
        return none
    low, high = -largest(room, n), largest(values, n)
    for _ in range(HALVINGS):
        middle, count = values.dtype.type(0.5 * low + 0.5 * high), np.int32(0)
        for i in range(n):
            count = np.int32(count + np.int32(values[i] >= middle))
        low, high = (middle, high) if count >= most else (low, middle)
        if count == most:
            break
    return low


@inlined
def keep_largest(places, n, keys, most, room):
    """Move those of n places whose keys are the largest to the front, in their order; of equal keys the first."""
    for p in range(n):
        room[p] = keys[places[p]]
    whole, kept = fill_up(room, n), 0
    for p in range(n):
        rank, mine = np.int32(0), room[p]
        for q in range(whole):
            rank = np.int32(rank + np.int32((room[q] > mine) | ((room[q] == mine) & (np.int32(q) < np.int32(p)))))
        places[kept] = places[p]
        kept += rank < most


@inlined
def find_largest(select, n, most):
    """Write the slots of the `most` largest of the first n keys into select.search.places in their order; of equal ones
    the lowest. Return how many they are.
    """
    keys, few, found, search = select.keys[:n], select.few, select.found, select.search
    m = fold(keys, few)
    while m >= 3 * most:
        m = fold(few[:m], few)
    border, none = border_of(few, m, most, found), keys.dtype.type(-np.inf)
    marks = search.marks
    for s in range(n):
        marks[s] = np.uint8((keys[s] >= border) & (keys[s] > none))
    for s in range(n, 8 * ((n + 7) // 8)):
        marks[s] = 0
    count = list_marked(search, n)
    if count > most:
        keep_largest(search.places, count, keys, most, found)
    return min(count, most)
