"""Intervals that hold a target as often as they say, by adaptive conformal inference on the residuals of a stream.

Gibbs, Candes: Adaptive Conformal Inference Under Distribution Shift (2021), eq. 2. Of residuals e = y - f, each side of
an interval of level 1 - 2 a has a share a_t of its own, which begins at a:

    f + Q(1 - a_t), Q the quantile of the last RECENT residuals (the ceil((n + 1) (1 - a_t))-th of n);
    a_t <- min(a_t + gamma (a - [y lies beyond this side]), 1.5 a),  gamma = STEP a

Remarks. After T rows at most a + (1.5 a + r) / (gamma T) of them lie beyond a side, whatever the rows are: a_t loses
gamma (1 - a) with a miss, gains at most gamma a without one, and stays above -r. Where a_t asks for more than the
residuals tell, the paper's interval is infinite, and r = gamma; here it goes 2^((1 / (n + 1) - a_t) / gamma) times as
far as they span, twice as far for every further miss, so that r grows with the logarithm of the largest residual. Only
the intervals of the first 1 / a - 1 rows are infinite. The limit 1.5 a is ours: without it rows of which too many
were held, as while a model gets better, are paid for by later ones of which too few are. It costs some rows held too
many. Each side has its own share, so
that skewed residuals have skewed intervals.

STEP, RECENT and the limit were chosen on residuals of `auto` on seven sets, of two with a jump as well, by Winkler's
score and by the worst 400 rows.
"""

import math
from typing import NamedTuple

import numpy as np

from .compile import compiled, inlined

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
RECENT = 500
STEP = 0.2
MOST = 1.5  # times a, that a_t can be
LOWER, UPPER = 0, 1

# Further doublings than these leave float64.
_MOST_DOUBLINGS = 1000.0


class Window(NamedTuple):
    """The last numbers of a stream, and how they lie."""

    recent: np.ndarray  # (RECENT,) that of row t stands at t modulo RECENT
    ordered: np.ndarray  # (RECENT,) the same, the first ones filled, from small to large
    n: np.ndarray  # 0-d: how many there were


class Residuals(NamedTuple):
    """What the residuals of a stream tell, a window of them first; all arrays change in place."""

    recent: np.ndarray  # (RECENT,) the last ones; that of row t stands at t modulo RECENT
    ordered: np.ndarray  # (RECENT,) the same, the first ones filled, from small to large
    n: np.ndarray  # 0-d: how many there were
    shares: np.ndarray  # (levels, 2) a_t of both sides
    missed: np.ndarray  # (levels, 2) rows beyond each side


def no_window() -> Window:
    """Before any number."""
    return Window(np.zeros(RECENT), np.zeros(RECENT), np.zeros((), np.int64))


def no_residuals() -> Residuals:
    """Before any row."""
    shares = np.repeat((1.0 - np.array(LEVELS)[:, None]) / 2.0, 2, axis=1)
    return Residuals(*no_window(), shares, np.zeros(shares.shape, np.int64))


@inlined
def place_of(ordered, n, value):
    """Where a value stands, or is to stand, among n ordered ones: before all that are not less."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def replace_oldest(window, e):
    """The newest number takes the place of the oldest one, if there is no other."""
    recent, ordered, t = window.recent, window.ordered, window.n[()]
    room = recent.shape[0]
    n, slot = min(t, room), t % room
    if t >= room:
        gap = place_of(ordered, n, recent[slot])
        for j in range(gap, n - 1):
            ordered[j] = ordered[j + 1]
        n -= 1
    to = place_of(ordered, n, e)
    for j in range(n, to, -1):
        ordered[j] = ordered[j - 1]
    ordered[to] = e
    recent[slot] = e
    window.n[()] = t + 1


@inlined
def reach(ordered, n, share, share_now, side):
    """How far beyond f an interval goes at a side: below it, or above."""
    beyond = 1.0 if side == UPPER else -1.0
    if (n + 1) * share < 1.0 - 1e-9:
        return beyond * math.inf
    low, high = ordered[0], ordered[n - 1]
    first, last = (low, high) if side == UPPER else (high, low)
    step = STEP * share
    rank = math.ceil((n + 1) * (1.0 - share_now) - 1e-9)
    if rank > n:
        doublings = min((1.0 / (n + 1) - share_now) / step, _MOST_DOUBLINGS)
        return first + (last - first) * 2.0**doublings
    return ordered[rank - 1] if side == UPPER else ordered[n - rank]


@compiled
def foresee_residuals(residuals, levels, reaches):
    """reaches (levels, 2): how far from f the intervals of the next row go, below and above."""
    n = min(residuals.n[()], residuals.recent.shape[0])
    for k in range(levels.shape[0]):
        for side in range(2):
            reaches[k, side] = reach(residuals.ordered, n, (1.0 - levels[k]) / 2.0, residuals.shares[k, side], side)


@inlined
def judge(residuals, k, side, share, e):
    """Whether a residual lies beyond a side of the interval that was foreseen, of which it learns; return its end."""
    n = min(residuals.n[()], residuals.recent.shape[0])
    to = reach(residuals.ordered, n, share, residuals.shares[k, side], side)
    missed = e > to if side == UPPER else e < to
    moved = residuals.shares[k, side] + STEP * share * (share - (1.0 if missed else 0.0))
    residuals.shares[k, side] = min(moved, MOST * share)
    residuals.missed[k, side] += 1 if missed else 0
    return to


@compiled
def take_residuals(residuals, levels, values, reaches):
    """Take in residuals, one after another; reaches (n, levels, 2) are what each was foreseen by, if there is room."""
    foreseen = reaches.shape[0] > 0
    for t in range(values.shape[0]):
        for k in range(levels.shape[0]):
            for side in range(2):
                to = judge(residuals, k, side, (1.0 - levels[k]) / 2.0, values[t])
                if foreseen:
                    reaches[t, k, side] = to
        replace_oldest(residuals, values[t])


@compiled
def quantile_of(window, share):
    """The number below which this share of a window's lies; 0 while so few cannot tell."""
    n = min(window.n[()], window.recent.shape[0])
    found = reach(window.ordered, n, share, share, LOWER)
    return found if found > -math.inf else 0.0


def in_order(recent: np.ndarray, n: int) -> np.ndarray:
    """`Residuals.ordered`, of which the others tell all."""
    ordered, known = np.zeros(len(recent)), min(n, len(recent))
    ordered[:known] = np.sort(recent[:known])
    return ordered
