"""Merging two terms of a Gaussian expansion into one: where the new point lies, and what is lost.

Wang, Crammer, Vucetic: Breaking the Curse of Kernelization (2012), sec. 5. For z = h s_m + (1 - h) s_n and k = k(s_m,
s_n),

    k(z, s_m) = k^((1-h)^2),  k(z, s_n) = k^(h^2),  a_z = a_m k^((1-h)^2) + a_n k^(h^2)
    lost = ||a_m||^2 + ||a_n||^2 + 2 k <a_m, a_n> - ||a_z||^2

so the best h maximises ||a_z||. For coefficients of one direction it depends on k and on the share ||a_m|| / (||a_m||
+ ||a_n||) only: a table holds both powers at the best h on a grid, to choose a partner by; for the chosen pair h is
then found to the last bit.
"""

import math

import numpy as np

from ._compile import inlined

SHARES, VALUES = 128, 128  # grid of the share in [0, 1] and of k in [0, 1]
_BISECTIONS = 50  # of an interval of 1/8: to the last bit


def _table() -> np.ndarray:
    """k^((1-h)^2) and k^(h^2) at the best h on the grid (share, k), by search over h in steps of 1/512."""
    share = np.linspace(0.0, 1.0, SHARES)[:, None, None]
    log = np.log(np.maximum(np.linspace(0.0, 1.0, VALUES), 1e-300))[None, :, None]
    h = np.linspace(0.0, 1.0, 513)[None, None, :]
    size = share * np.exp((1.0 - h) ** 2 * log) + (1.0 - share) * np.exp(h**2 * log)
    best = h[0, 0, np.argmax(size, axis=2)]
    return np.stack([np.exp((1.0 - best) ** 2 * log[:, :, 0]), np.exp(best**2 * log[:, :, 0])])


_tables: list[np.ndarray] = []


def table() -> np.ndarray:
    """The powers on the grid, made on first use."""
    if not _tables:
        _tables.append(_table())
    return _tables[0]


@inlined
def looked_up_square(grid, k, mm, nn, mn):
    """||a_z||^2 for about the best h, from the table (bilinear between its points)."""
    size = math.sqrt(mm)
    u = size / (size + math.sqrt(nn)) * (SHARES - 1)
    v = k * (VALUES - 1)
    i = min(int(u), SHARES - 2)
    j = min(int(v), VALUES - 2)
    u -= i
    v -= j
    a, b, c, e = (1.0 - u) * (1.0 - v), u * (1.0 - v), (1.0 - u) * v, u * v
    p = a * grid[0, i, j] + b * grid[0, i + 1, j] + c * grid[0, i, j + 1] + e * grid[0, i + 1, j + 1]
    q = a * grid[1, i, j] + b * grid[1, i + 1, j] + c * grid[1, i, j + 1] + e * grid[1, i + 1, j + 1]
    return mm * p * p + 2.0 * mn * p * q + nn * q * q


@inlined
def merged_square(h, log_k, mm, nn, mn):
    """||a_z||^2 from the squares and the inner product of the two coefficients."""
    p = math.exp((1.0 - h) ** 2 * log_k)
    q = math.exp(h**2 * log_k)
    return mm * p * p + 2.0 * mn * p * q + nn * q * q


@inlined
def rises(h, log_k, mm, nn, mn):
    """Whether ||a_z||^2 grows with h: the sign of its derivative (log k < 0 turned the inequality)."""
    p = math.exp((1.0 - h) ** 2 * log_k)
    q = math.exp(h**2 * log_k)
    return (mm * p + mn * q) * (1.0 - h) * p > (mn * p + nn * q) * h * q


@inlined
def best_h(log_k, mm, nn, mn):
    """The h in [0, 1] that maximises ||a_z||: bisection of the derivative around the best of a coarse grid."""
    best = 0.0
    top = merged_square(0.0, log_k, mm, nn, mn)
    for i in range(1, 17):
        h = i / 16.0
        value = merged_square(h, log_k, mm, nn, mn)
        if value > top:
            top = value
            best = h
    lo = max(0.0, best - 1.0 / 16.0)
    hi = min(1.0, best + 1.0 / 16.0)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (lo + hi)
        if rises(middle, log_k, mm, nn, mn):
            lo = middle
        else:
            hi = middle
    middle = 0.5 * (lo + hi)
    return middle if merged_square(middle, log_k, mm, nn, mn) >= top else best
