"""Which features of a stored point are not zero: what is done with a point costs in proportion to them.

Row i of `present` says how many features of point i are not zero, and then which, in ascending order; COMPLETE stands
where they are too many to be listed, or the points are narrow. A last row, behind those of the points, is where two
lists become one: scratch, but one array more in the records of a run cost each row 0.03 us. Requires of whoever writes
into points: that the lists of all places are kept right, also of those that hold no term. Ensures: whether a point is
listed, and how, follows from its values alone, so that a point that is loaded from a file is evaluated to the same bits
as before.
"""

from typing import Any

import numpy as np

from .compile import inlined

# At most one in LISTED_SHARE features is listed: the lists then take at most a quarter of the room of the points in
# float32. In narrow points they save nothing.
LISTED_SHARE = 8
LONGEST_LIST = 1024
NARROW = 64
COMPLETE = -1

# One listed number is found and moved in the time in which about so many are that lie side by side.
SCATTERED = 32


def room_for_lists(n_features: int, capacity: int) -> np.ndarray:
    """Room for the lists of points that are all zero."""
    if n_features < NARROW:
        return np.full((capacity + 1, 1), COMPLETE)
    return np.zeros((capacity + 1, 1 + min(LONGEST_LIST, n_features // LISTED_SHARE)), np.int64)


def list_points(f: Any, n: int) -> None:
    """List the features of the first n points. Requires: the others are listed."""
    longest = f.present.shape[1] - 1
    if longest == 0:
        return
    present = np.ascontiguousarray((f.points[:, :n] != 0).T)
    counts = np.count_nonzero(present, axis=1)
    present[counts > longest] = False
    f.present[:n, 0] = np.where(counts > longest, COMPLETE, counts)
    slots, features = np.nonzero(present)
    listed = np.where(counts > longest, 0, counts)
    f.present[slots, 1 + np.arange(len(slots)) - np.repeat(np.cumsum(listed) - listed, listed)] = features


@inlined
def clear(f, i):
    """Make all features of point i zero; its list is left as it is."""
    n = f.present[i, 0]
    if n == COMPLETE:
        for a in range(f.points.shape[0]):
            f.points[a, i] = 0
    for p in range(n):
        f.points[f.present[i, 1 + p], i] = 0


@inlined
def list_row(f, i, x):
    """List the features of x for point i, which it has become."""
    listed = f.present[i]
    longest = listed.shape[0] - 1
    n = 0 if longest > 0 else COMPLETE
    if longest > 0:
        for p in range(x.indices.shape[0]):
            if x.values[p] != 0:
                n += 1
                if n > longest:
                    n = COMPLETE
                    break
                listed[n] = x.indices[p]
    listed[0] = n


@inlined
def copy_point(f, source, target):
    """Make point `target` what point `source` is, but for its norm."""
    n = f.present[source, 0]
    if n == COMPLETE or f.present[target, 0] == COMPLETE:
        for a in range(f.points.shape[0]):
            f.points[a, target] = f.points[a, source]
    elif source != target:
        clear(f, target)
        for p in range(n):
            a = f.present[source, 1 + p]
            f.points[a, target] = f.points[a, source]
    copy_list(f, source, target)


@inlined
def copy_list(f, source, target):
    n = f.present[source, 0]
    f.present[target, 0] = n
    for p in range(1, n + 1):
        f.present[target, p] = f.present[source, p]


@inlined
def close_gap(values, i, n):
    """Entries i+1 .. n-1 move up by one."""
    rest = values[i:n]
    for j in range(rest.shape[0] - 1):
        rest[j] = rest[j + 1]


@inlined
def shift_points(f, i, n):
    """Points i+1 .. n-1 move up by one: along their lists, or all their features, whichever is less."""
    d = f.points.shape[0]
    scattered = 0
    for j in range(i, n):
        scattered += d if f.present[j, 0] == COMPLETE else f.present[j, 0]
    if SCATTERED * scattered < d * (n - i):
        for j in range(i, n - 1):
            copy_point(f, j + 1, j)
        return
    for a in range(d):
        close_gap(f.points[a], i, n)
    for j in range(i, n - 1):
        copy_list(f, j + 1, j)
