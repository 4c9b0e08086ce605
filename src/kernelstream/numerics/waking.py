"""Columns that were constant when the others were settled, and tell something later.

A constant column has scale 0, so that nothing depends on it. From the first row on in which it has another value, the
mean and variance of its newest values are followed: m <- m + r d, s <- (1 - r)(s + r d^2), d = x - m. When it has had
ENOUGH other values they become its center and its scale; rows before count as if it had had its mean.
"""

from typing import NamedTuple

import numpy as np

from .compile import inlined
from .settling import Columns, varies

ENOUGH = 8
NEWEST = 1024  # rows that mean and variance are of, about
SAME = 1e-6  # of its size a column may be off and still be constant


class Waking(NamedTuple):
    other: np.ndarray  # (d,) rows in which the column had another value than its center
    rows: np.ndarray  # (d,) since the first of them, with it
    mean: np.ndarray  # (d,) float64, of these
    variance: np.ndarray  # (d,) float64


def none_waking(width: int) -> Waking:
    return Waking(*np.zeros((2, width), np.int64), *np.zeros((2, width)))


def asleep(columns: Columns) -> np.ndarray:
    """The columns that are constant so far."""
    return np.flatnonzero(columns.scale == 0)


@inlined
def watch(columns, waking, asleep, x):
    """A raw row, all of its features."""
    for p in range(asleep.shape[0]):
        j = asleep[p]
        v, center = np.float64(x[j]), columns.center[j]
        if abs(v - center) > SAME * abs(center):
            waking.other[j] += 1
        if waking.other[j] > 0:
            waking.rows[j] += 1
            rate = max(1.0 / waking.rows[j], 1.0 / NEWEST)
            off = v - waking.mean[j]
            waking.mean[j] += rate * off
            waking.variance[j] = (1.0 - rate) * (waking.variance[j] + rate * off * off)


def awake(columns: Columns, waking: Waking) -> Columns:
    """The columns with those that can be told to vary."""
    deviation = np.sqrt(waking.variance)
    ready = (columns.scale == 0) & (waking.other >= ENOUGH) & varies(waking.mean, deviation)
    if not ready.any():
        return columns
    center = np.where(ready, waking.mean, columns.center)
    return columns._replace(center=center, scale=np.where(ready, 1.0 / np.where(ready, deviation, 1.0), columns.scale))


def awake_in_either(mine: tuple[Columns, Waking], theirs: tuple[Columns, Waking]) -> tuple[Columns, Waking]:
    """Of two that have gone on from one model: a column is as in the one in which it is awake, in mine if in both;
    what is known of the others is what has been seen in more rows.
    """
    woke, longer = (mine[0].scale == 0) & (theirs[0].scale > 0), theirs[1].rows > mine[1].rows
    columns = Columns(*(np.where(woke, b, a) for a, b in zip(mine[0], theirs[0], strict=True)))
    return columns, Waking(*(np.where(longer, b, a) for a, b in zip(mine[1], theirs[1], strict=True)))
