"""Merging two terms of a Gaussian expansion into one: where the new point lies, and what is lost.

Wang, Crammer, Vucetic: Breaking the Curse of Kernelization (2012), sec. 5. For z = h s_m + (1 - h) s_n and k = k(s_m,
s_n),

    k(z, s_m) = k^((1-h)^2),  k(z, s_n) = k^(h^2),  a_z = a_m k^((1-h)^2) + a_n k^(h^2)
    lost = ||a_m||^2 + ||a_n||^2 + 2 k <a_m, a_n> - ||a_z||^2

so the best h maximises ||a_z||. To choose a partner, what is lost is looked up: for coefficients of one direction
lost / ||a_m||^2 is a smooth function of the ratio r = ||a_m|| / ||a_n|| <= 1 and of k, and directions that differ by
an angle lose

    2 (||a_m|| ||a_n|| - <a_m, a_n>) (k^((1-h)^2 + h^2) - k)

more. For the chosen pair h is then found to the last bits.
"""

import math

import numpy as np

from .compile import compiled, inlined

RATIOS, VALUES = 128, 128  # grid of r in [0, 1] and of k in [0, 1]
_STEPS = 50  # halving an interval of 1/8 so often reaches the last bits; following lines takes a dozen
_NEAR = 1e-5  # share of an interval
_LAST_BIT = 4 * float(np.finfo(np.float64).eps)


def _table() -> np.ndarray:
    """lost / ||a_m||^2 for one direction, and k^((1-h)^2 + h^2) - k, at the best h on the grid (r, k)."""
    r = np.linspace(0.0, 1.0, RATIOS)[:, None, None]
    k = np.maximum(np.linspace(0.0, 1.0, VALUES), 1e-300)[None, :, None]
    best = np.zeros((RATIOS, VALUES, 1))
    for reach, points in ((1.0, 513), (1.0 / 512, 65)):  # the second search refines the first
        h = np.clip(best + reach * np.linspace(-1.0, 1.0, points), 0.0, 1.0)
        size = r * k ** ((1.0 - h) ** 2) + k ** (h**2)
        best = np.take_along_axis(h, np.argmax(size, axis=2)[:, :, None], axis=2)
    p, q = (k ** ((1.0 - best) ** 2))[:, :, 0], (k ** (best**2))[:, :, 0]
    r, k = r[:, :, 0], k[:, :, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = (1.0 - p**2) + (1.0 - q**2) / r**2 + 2.0 * (k - p * q) / r
    lost[0] = 1.0 - k[0] ** 2 + 2.0 * k[0] ** 2 * np.log(k[0])  # r -> 0, where h -> r k
    return np.stack([lost, p * q - k])


_tables: list[np.ndarray] = []


def table() -> np.ndarray:
    """Both functions on the grid, made on first use."""
    if not _tables:
        _tables.append(_table())
    return _tables[0]


@inlined
def looked_up_loss(grid, k, mm, ratio, mn):
    """About what merging a term of square mm with one that it is `ratio` <= 1 times as large as loses, mn their inner
    product (bilinear between grid points).
    """
    u = ratio * (RATIOS - 1)
    v = k * (VALUES - 1)
    i = min(max(int(u), 0), RATIOS - 2)
    j = min(max(int(v), 0), VALUES - 2)
    u -= i
    v -= j
    a, b, c, e = (1.0 - u) * (1.0 - v), u * (1.0 - v), (1.0 - u) * v, u * v
    lost = a * grid[0, i, j] + b * grid[0, i + 1, j] + c * grid[0, i, j + 1] + e * grid[0, i + 1, j + 1]
    turn = a * grid[1, i, j] + b * grid[1, i + 1, j] + c * grid[1, i, j + 1] + e * grid[1, i + 1, j + 1]
    return mm * lost + 2.0 * (mm / ratio - mn) * turn


@inlined
def merged_square(h, log_k, mm, nn, mn):
    """||a_z||^2 from the squares and the inner product of the two coefficients."""
    p = math.exp((1.0 - h) ** 2 * log_k)
    q = math.exp(h**2 * log_k)
    return mm * p * p + 2.0 * mn * p * q + nn * q * q


@inlined
def rise(h, log_k, mm, nn, mn):
    """How fast ||a_z||^2 grows with h, times a positive number (log k < 0 turned the sign)."""
    p = math.exp((1.0 - h) ** 2 * log_k)
    q = math.exp(h**2 * log_k)
    return (mm * p + mn * q) * (1.0 - h) * p - (mn * p + nn * q) * h * q


@compiled
def best_of_grid(log_k, mm, nn, mn):
    """The h in 0, 1/16, ..., 1 that maximises ||a_z||, the first of equals; h and 1 - h share their exponentials."""
    left = right = -1.0
    lower, upper = 0.0, 1.0
    for i in range(9):
        h = i / 16.0
        p = math.exp((1.0 - h) ** 2 * log_k)
        q = math.exp(h**2 * log_k)
        value = mm * p * p + 2.0 * mn * p * q + nn * q * q
        if value > left:
            left, lower = value, h
        value = mm * q * q + 2.0 * mn * q * p + nn * p * p
        if value >= right:
            right, upper = value, 1.0 - h
    return lower if left >= right else upper


@compiled
def best_h(log_k, mm, nn, mn):
    """The h in [0, 1] that maximises ||a_z||: the root of its derivative beside the best of a coarse grid.

    The root is kept between two ends. Where a straight line between their derivatives crosses 0 comes next (the middle,
    for derivatives of one sign), though not too near an end; an end that stays twice counts half (the Illinois rule).
    """
    best = best_of_grid(log_k, mm, nn, mn)
    lo, hi = max(0.0, best - 1.0 / 16.0), min(1.0, best + 1.0 / 16.0)
    at_lo, at_hi = rise(lo, log_k, mm, nn, mn), rise(hi, log_k, mm, nn, mn)
    stayed = 0
    for _ in range(_STEPS):
        share = at_lo / (at_lo - at_hi) if at_lo > 0.0 > at_hi else 0.5
        h = lo + (hi - lo) * min(max(share, _NEAR), 1.0 - _NEAR)
        at_h = rise(h, log_k, mm, nn, mn)
        if at_h > 0.0:
            at_hi = 0.5 * at_hi if stayed > 0 else at_hi
            lo, at_lo, stayed = h, at_h, 1
        elif at_h < 0.0:
            at_lo = 0.5 * at_lo if stayed < 0 else at_lo
            hi, at_hi, stayed = h, at_h, -1
        else:
            lo = hi = h
        if hi - lo <= _LAST_BIT:
            break
    h = 0.5 * (lo + hi)
    return h if merged_square(h, log_k, mm, nn, mn) >= merged_square(best, log_k, mm, nn, mn) else best
