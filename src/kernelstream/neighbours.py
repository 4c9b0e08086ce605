"""Nearest neighbours of stored points, by the largest kernel value, in a Gram matrix that changes by a point at a time.

A point's column is written with its row, so that every row of the matrix can be read where it lies.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ._compile import compiled, inlined
from .budgets import PIECE, first_largest

# Below every kernel value; finite, so that it can be kept in a model file.
LOWEST = float(np.finfo(np.float64).min)


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
    """Each point's nearest neighbour, the lowest of equals."""

    slot: np.ndarray  # (capacity,)
    beside: np.ndarray  # (capacity,) the kernel value of the two
    own: np.ndarray  # (capacity,) the neighbour's k(s, s)


@inlined
def find_neighbour(gram, n, i, near):
    """Look for point i's neighbour among n > 1 points."""
    j = nearest_to(gram, n, i)
    near.slot[i], near.beside[i], near.own[i] = j, gram[i, j], gram[j, j]


@compiled
def follow(gram, n, r, near):
    """Let every point's neighbour follow a new point at slot r, whose row and column are written."""
    slot, beside, row, own = near.slot, near.beside, gram[r], gram[r, r]
    for i in range(n):
        nearer = (row[i] > beside[i]) | ((row[i] == beside[i]) & (r <= slot[i]))
        slot[i] = r if nearer else slot[i]
        beside[i] = row[i] if nearer else beside[i]
        near.own[i] = own if nearer else near.own[i]
    # Who lost its neighbour still has the old value, which is above the new one. They are few.
    for lo in range(0, n, PIECE):
        hi = min(lo + PIECE, n)
        slots, olds, news = slot[lo:hi], beside[lo:hi], row[lo:hi]
        lost = 0
        for i in range(hi - lo):
            lost += (slots[i] == r) & (olds[i] > news[i])
        if lost > 0:
            for i in range(hi - lo):
                if slots[i] == r and olds[i] > news[i]:
                    find_neighbour(gram, n, lo + i, near)
    find_neighbour(gram, n, r, near)


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
