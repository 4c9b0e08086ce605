"""A system of least squares that is solved in steps, so that none of them keeps a row waiting.

Step 0 fixes the sums of all rows so far; each step after it finds some columns of their Cholesky factor, the last one
the solution. Between steps rows go on to be added to the sums of newer rows.
"""

from typing import NamedTuple

import numpy as np

from .blas import solve_lower
from .memory import zeros
from .second_order import Sums, fold

PANEL = 64  # columns of the factor that one step finds


class Gradual(NamedTuple):
    factor: np.ndarray  # (D, D) float64, its lower triangle
    b: np.ndarray  # (K, D)
    weights: np.ndarray  # (K, D), the solution
    failed: np.ndarray  # 0-d, whether the system was not positive definite


def nothing_begun(length: int, n_outputs: int) -> Gradual:
    b, weights = np.zeros((2, n_outputs, length))
    return Gradual(zeros((length, length)), b, weights, np.zeros((), np.int64))


def n_steps(length: int) -> int:
    return -(-length // PANEL) + 2


def take_step(gradual: Gradual, sums: Sums, ridge: float, i: int) -> None:
    """The i-th step towards (A + ridge)^-1 b', in place."""
    if i == 0:
        fold(sums.A, sums.newer)
        gradual.b[...] = sums.b
        gradual.failed[()] = 0
    elif i < n_steps(len(sums.A)) - 1:
        _find_columns(gradual, sums.A, ridge, (i - 1) * PANEL)
    elif gradual.failed == 0:
        gradual.weights[...] = gradual.b
        solve_lower(gradual.factor, gradual.weights)
        solve_lower(gradual.factor, gradual.weights, transposed=True)


def _find_columns(gradual: Gradual, A: np.ndarray, ridge: float, lo: int) -> None:
    L, hi = gradual.factor, min(lo + PANEL, len(A))
    block = A[lo:, lo:hi] - L[lo:, :lo] @ L[lo:hi, :lo].T
    n = hi - lo
    block[range(n), range(n)] += ridge
    try:
        corner = np.linalg.cholesky(block[:n])
    except np.linalg.LinAlgError:
        gradual.failed[()] = 1
        return
    L[lo:hi, lo:hi] = corner
    if hi < len(A):
        solve_lower(corner, block[n:])
        L[hi:, lo:hi] = block[n:]
