"""The squared hinge on rows that are kept: sum_i s_i (1 - y_i f(x_i))_+^2 + ridge |w|^2, f(x) = w'z(x), y = -1 or 1.

(1 - yf)_+^2 is the least of (yt - f)^2 over t >= 1: least squares with the targets yt of the newest f makes the sum
smaller, and its system is always that of the targets y. Steps have momentum (Beck, Teboulle 2009) and end when one
gains little: on noisy rows, where least squares is nearly as good, after a few.
"""

import math

import numpy as np

from .blas import solve_factored
from .second_order import factored
from .stepwise import Stepwise

MOST, GAIN = 48, 0.998  # steps; a step that leaves more than this of the sum is the last


def squared_hinge(Z: np.ndarray, Y: np.ndarray, share: np.ndarray, A: np.ndarray, ridge: float) -> Stepwise[np.ndarray]:
    """W, (K, D), in steps of one pass over the rows Z (n, D) with targets Y (n, K); A is Z'SZ, its lower triangle."""
    targets, shares = Y.astype(Z.dtype), share.astype(Z.dtype)[:, None]
    factor, W = factored(A, (shares * targets).T @ Z, ridge, Z.dtype.type)
    W = V = W.astype(Z.dtype, copy=False)
    before, momentum = math.inf, 1.0
    for _ in range(MOST):
        yield
        margins = targets * (Z @ V.T)
        left = float((shares * np.maximum(1.0 - margins, 0.0) ** 2).sum(dtype=np.float64) + ridge * (V**2).sum())
        if left > GAIN * before:
            break
        B = np.ascontiguousarray((shares * targets * np.maximum(margins, 1.0)).T @ Z, factor.dtype)
        solve_factored(factor, B)
        new, earlier, before = B.astype(Z.dtype, copy=False), momentum, left
        momentum = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        V, W = new + Z.dtype.type((earlier - 1.0) / momentum) * (new - W), new
    return W
