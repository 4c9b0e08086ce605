"""Nearest neighbours of stored points, by the largest kernel value, while points come and go.

BPA-NN keeps each point's, and lists of the next ones, so that no Gram matrix is needed. TVM keeps a Gram matrix and
looks for the nearest pair in it; a point's column is written with its row, so that every row can be read where it lies.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .budgets import first_largest, largest
from .compile import compiled, inlined

# Below every kernel value; finite, so that it can be kept in a model file.
LOWEST = float(np.finfo(np.float64).min)

# Points on a list. With four, 400 points compute a kernel row anew in three of 100 moves of BPA-NN (cod-rna), with two
# in six; longer lists take longer to keep than they save.
LISTED = 4


def room_for_gram(capacity: int, dtype: Any) -> np.ndarray:
    """Zeros for the Gram matrix of up to `capacity` points; every row begins on a cache line."""
    entries = 64 // np.dtype(dtype).itemsize
    return np.zeros((capacity, -(-capacity // entries) * entries), dtype)


@inlined
def write_row(gram, n, r, values, own):
    """Write the kernel values of the point at slot r with n points, and own = k(x, x), into its row."""
    row = gram[r]
    for i in range(n):
        row[i] = values[i]
    row[r] = own


@inlined
def write_point(gram, n, r, values, own):
    """The same, and its column."""
    for i in range(n):
        gram[i, r] = values[i]
    write_row(gram, n, r, values, own)


@compiled
def nearest_to(gram, n, i):
    """The slot nearest to point i of n > 1 points, the lowest of equals."""
    row = gram[i]
    own = row[i]
    row[i] = -math.inf
    j = first_largest(row, n)
    row[i] = own
    return j


class Neighbours(NamedTuple):
    """Each point's nearest neighbour, and a list of the next ones.

    A point is before another if its kernel value is larger, or the values are equal and its slot is lower. Points that
    are listed, in any order, are not after (bound, last); points that are not are not before it. The bound stays where
    it is when listed points leave, so that new ones take their places; that one has left its birth tells.
    """

    slot: np.ndarray  # (capacity,) the nearest; the point itself where there is no other
    beside: np.ndarray  # (capacity,) its kernel value
    own: np.ndarray  # (capacity,) its k(s, s)
    bound: np.ndarray  # (capacity,) a kernel value
    last: np.ndarray  # (capacity,) a slot
    slots: np.ndarray  # (capacity, LISTED)
    values: np.ndarray  # (capacity, LISTED) their kernel values
    births: np.ndarray  # (capacity, LISTED) `born` when they were listed; 0 for no point
    born: np.ndarray  # (capacity,) a number that no other point has had, and not 0


def no_neighbours(capacity: int, dtype: Any) -> Neighbours:
    """Room for those of up to `capacity` points."""
    slots, reals = (np.zeros(capacity, kind) for kind in (np.int32, dtype))
    lists = (capacity, LISTED)
    return Neighbours(
        slots,
        reals,
        np.zeros(capacity),
        reals.copy(),
        slots.copy(),
        np.zeros(lists, np.int32),
        np.zeros(lists, dtype),
        np.zeros(lists, np.int64),
        np.zeros(capacity, np.int64),
    )


def neighbour_limits(capacity: int, n: int, born: int) -> dict[str, tuple[float, float]]:
    """What the leaves of the neighbours of n points may hold, the newest of which has the number `born`. Points of a
    merge have negative ones.
    """
    slots, births = (0, max(1, n) - 1), (-capacity, born)
    return {"slot": slots, "slots": slots, "last": (0, capacity), "born": births, "births": births}


class Search(NamedTuple):
    """Scratch: marks of points, in whole words of eight bytes."""

    marks: np.ndarray  # for each point 1 or 0
    words: np.ndarray  # which words have marks
    places: np.ndarray  # which points are marked
    lost: np.ndarray  # points that know no neighbour


def room_to_search(capacity: int) -> Search:
    words = -(-capacity // 8)
    marks, places = np.zeros(8 * words, np.uint8), np.zeros(8 * words, np.int64)
    return Search(marks, np.zeros(words, np.int64), places, np.zeros(capacity, np.int64))


@inlined
def is_before(value, slot, other, other_slot):
    return value > other or (value == other and slot < other_slot)


@inlined
def is_there(near, i, p):
    """Whether the point at place p of point i's list has not left."""
    return near.births[i, p] == near.born[np.uint32(near.slots[i, p])]  # unsigned, as it does not count from the end


@inlined
def enlist(near, i, j, value):
    """Put point j on point i's list, in the place of one that has left, or else of the last, which may be j itself.
    Requires: j is not after the bound.
    """
    slots, values, births = near.slots[i], near.values[i], near.births[i]
    place = -1
    for p in range(LISTED):
        place = place if is_there(near, i, p) else p
    if place < 0:
        place = 0
        for p in range(1, LISTED):
            if is_before(values[place], slots[place], values[p], slots[p]):
                place = p
        if is_before(values[place], slots[place], value, j):
            near.bound[i], near.last[i] = value, j
            return
        near.bound[i], near.last[i] = values[place], slots[place]
    slots[place], values[place], births[place] = j, value, near.born[j]


@inlined
def meet(near, i, j, value, own):
    """Let point i know a new point j, k(s_j, s_j) = own. Return whether it lost its neighbour, which had j's slot, and
    must be given another.
    """
    lost = near.slot[i] == j
    if is_before(value, j, near.beside[i], near.slot[i] + lost):
        if near.slot[i] != i and not lost:
            enlist(near, i, near.slot[i], near.beside[i])
        near.slot[i], near.beside[i], near.own[i] = j, value, own
        return False
    if not is_before(near.bound[i], near.last[i], value, j):
        enlist(near, i, j, value)
    return lost


@inlined
def promote(near, i, owns):
    """Make the nearest point of point i's list its neighbour; return whether there is one."""
    slots, values, births = near.slots[i], near.values[i], near.births[i]
    best = -1
    for p in range(LISTED):
        if is_there(near, i, p) and (best < 0 or is_before(values[p], slots[p], values[best], slots[best])):
            best = p
    if best < 0:
        return False
    near.slot[i], near.beside[i], near.own[i] = slots[best], values[best], owns[slots[best]]
    births[best] = 0
    return True


@inlined
def list_marked(search, n):
    """Write which of the first n points are marked into search.places, in order; return how many they are.

    No branch depends on a mark: it could not be foreseen.
    """
    marks, words, places = search.marks, search.words, search.places
    eights = marks.view(np.uint64)
    some, found = 0, np.int64(0)
    for w in range((n + 7) // 8):
        words[some] = w
        some += eights[w] != 0
    for p in range(some):
        for i in range(8 * words[p], 8 * words[p] + 8):
            places[found] = i
            found += np.int64(marks[i])
    return found


@compiled
def look_around(near, n, i, values, owns, search):
    """Find point i's neighbours anew among n points, from its kernel values with them; owns are their k(s, s).

    The bound is the smaller one of the largest values in two halves: a list begins with two points, or a few more.
    """
    marks, lowest, half = search.marks, np.finfo(values.dtype).min, n // 2
    values[i] = -math.inf
    border = min(largest(values, half), largest(values[half:], n - half)) if n > LISTED + 2 else lowest
    near.slot[i], near.beside[i], near.bound[i], near.last[i] = i, lowest, border, n
    for p in range(LISTED):
        near.births[i, p] = 0
    for j in range(n):
        marks[j] = values[j] >= border
    for p in range(list_marked(search, n)):
        j = search.places[p]
        meet(near, i, j, values[j], owns[j])


@compiled
def follow(near, n, r, values, owns, search):
    """Let the neighbours of n points follow a new one at slot r, from its kernel values with them.

    Return how many know no neighbour any more; the first so many of search.lost are to look around.
    """
    marks, slot, bound, last, here = search.marks, near.slot, near.bound, near.last, np.int32(r)
    for i in range(n):
        value = values[i]
        marks[i] = (value > bound[i]) | ((value == bound[i]) & (here <= last[i])) | (slot[i] == here)
    marks[r] = 0
    lost = 0
    for p in range(list_marked(search, n)):
        i = search.places[p]
        if meet(near, i, here, values[i], owns[r]) and not promote(near, i, owns):
            search.lost[lost] = i
            lost += 1
    return lost


@inlined
def raise_bounds(bounds, n, values):
    """Let each point's bound be no less than its kernel value with a new point."""
    for i in range(n):
        bounds[i] = values[i] if values[i] > bounds[i] else bounds[i]


@compiled
def nearest_pair(gram, n, bounds):
    """The slots i < j of the largest kernel value of n > 1 points, the first pair of equals.

    Requires: bounds[i] no less than the largest value of point i with another; of the last point the row alone is
    written. Ensures: bounds that are closer. Points that leave let them stand too high; only those that stand above the
    largest value are found out, a row each.
    """
    last = n - 1
    while True:
        i = first_largest(bounds, n)
        gram[i, last] = gram[last, i]
        j = nearest_to(gram, n, i)
        if not gram[i, j] < bounds[i]:
            return i, j
        bounds[i] = gram[i, j]
