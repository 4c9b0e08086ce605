"""Adaptive conformal inference: C_t = f + [Q(a_t), Q(1 - a_t)], a_t <- min(a_t + gamma (a - err_t), 1.5 a), each side
apart.
"""

import math

import numpy as np


def intervals(residuals, level, window, step):
    """(n, 2): how far below and above f the interval of each row goes, which only the rows before it tell."""
    a = (1 - level) / 2
    gamma, shares, shown = step * a, [a, a], []
    for t, e in enumerate(residuals):
        E = np.sort(residuals[max(0, t - window) : t])
        ends = -end(-E[::-1], a, shares[0], gamma), end(E, a, shares[1], gamma)
        shown.append(ends)
        for side, missed in enumerate((e < ends[0], e > ends[1])):
            shares[side] = min(shares[side] + gamma * (a - missed), 1.5 * a)
    return np.array(shown)


def end(E, a, a_t, gamma):
    """Q(1 - a_t) of ordered residuals; beyond them, what they span, doubled for every gamma that is asked for more."""
    n = len(E)
    if n + 1 < 1 / a - 1e-6:
        return math.inf
    rank = math.ceil((n + 1) * (1 - a_t) - 1e-9)
    return E[rank - 1] if rank <= n else E[0] + (E[-1] - E[0]) * 2 ** ((1 / (n + 1) - a_t) / gamma)
