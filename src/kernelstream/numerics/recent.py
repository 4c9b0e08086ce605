"""Least squares that forgets: W = (sum_i g^a z_i z_i' + ridge)^-1 sum_i g^a y_i z_i', a the age of row i, at two rates.

Its features are those of a plain metric: what a metric learned on old rows overlooks, new ones may be about, and what
it looks at most closely, as a date, may tell nothing of rows to come. Rows go into the sums of both rates a piece at a
time, by one product; what is older fades by as many rows.
"""

from typing import Any, NamedTuple

import numpy as np

from .compile import compiled
from .memory import zeros
from .second_order import products, solved

RATES = 0.999, 0.9998
RIDGE = 0.1
WIDTH = 0.3


class Recent(NamedTuple):
    map: np.ndarray  # (d, L/2)
    A: np.ndarray  # (2, L, L), lower triangles; what fades need not be exact for long
    b: np.ndarray  # (2, K, L)
    total: np.ndarray  # (2, L) sum of z
    weights: np.ndarray  # (2, K, L)
    waiting: np.ndarray  # (piece, L) z of rows that are in no sum
    waiting_y: np.ndarray  # (piece, K)
    n_waiting: np.ndarray  # 0-d


def no_recent(width: int, length: int, n_outputs: int, dtype: Any, piece: int) -> Recent:
    """Before any row; `piece` is how many can wait."""
    K, n = n_outputs, len(RATES)
    sums = zeros((n, length, length), dtype), np.zeros((n, K, length)), np.zeros((n, length))
    waiting = zeros((piece, length), dtype), np.zeros((piece, K), dtype), np.zeros((), np.int64)
    return Recent(zeros((width, length // 2), dtype), *sums, zeros((n, K, length), dtype), *waiting)


def add(recent: Recent, Z: np.ndarray, Y: np.ndarray) -> None:
    """Rows go into the sums and older ones fade, in place: z and targets, both times the root of the row's weight."""
    b, total = Y.T @ Z, np.abs(Y[:, 0]) @ Z  # as in `second_order.add_rows`
    A = products(Z)
    for i, rate in enumerate(RATES):
        fade = rate ** len(Z)
        _fade_and_add(recent.A[i], fade, A)
        for sums, new in ((recent.b, b), (recent.total, total)):
            sums[i] *= fade
            sums[i] += new


@compiled
def _fade_and_add(A, fade, new):
    """A <- fade A + new, the lower triangles."""
    c = A.dtype.type(fade)
    for i in range(A.shape[0]):
        for j in range(i + 1):
            A[i, j] = c * A[i, j] + new[i, j]


def add_waiting(recent: Recent) -> None:
    """The rows that waited go into the sums."""
    n = int(recent.n_waiting)
    if n > 0:
        add(recent, recent.waiting[:n], recent.waiting_y[:n])
    recent.n_waiting[()] = 0


def faded(recent: Recent, share: float) -> Recent:
    """A copy in which the rows in the sums count for a share of what they did."""
    sums = {name: getattr(recent, name) * share for name in ("A", "b", "total")}
    return recent._replace(**sums, weights=recent.weights.copy(), n_waiting=recent.n_waiting.copy())


def solve(recent: Recent, i: int) -> None:
    """The solution of one rate, in place."""
    recent.weights[i] = solved(recent.A[i], recent.b[i], RIDGE, recent.weights.dtype.type)


def of_both(mine: Recent, theirs: Recent, *, once: bool = False) -> Recent:
    """Of the rows of both, as if they had come at the same time; `once`: halved, where both go on from one model, of
    which nobody knows how much has faded. Requires: no row waits, and one map.
    """
    share = 0.5 if once else 1.0
    sums = {name: share * (getattr(mine, name) + getattr(theirs, name)) for name in ("A", "b", "total")}
    both = mine._replace(**{name: value.astype(getattr(mine, name).dtype) for name, value in sums.items()})
    both = both._replace(weights=both.weights.copy())
    for i in range(len(RATES)):
        solve(both, i)
    return both
