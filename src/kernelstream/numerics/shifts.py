"""Whether a stream has become another one between two pieces of rows.

A model's mean loss of each piece, before its rows were learned, is followed: m <- m + r d, s <- (1 - r)(s + r d^2),
d = loss - m. One that is far above the others, in the deviation of pieces and in that of its own rows, is a shift; so
is a mean that has risen slowly to RISEN times the lowest it was, and FAR of its own deviations above it. Single rows
that are far off are no shift, and count for no more than a piece that just is none. For FEWEST pieces nothing is
compared.
"""

import math
from typing import NamedTuple

import numpy as np

from .compile import inlined

FEWEST = 8  # pieces
NEWEST = 32  # pieces that mean and variance are of, about
FAR = 5.0  # deviations
RISEN = 1.3  # of the lowest mean
SMALLEST = 0.03  # deviation of pieces, of their mean
ROWS = 64  # of equal weight that a piece must be worth to be judged


class Shift(NamedTuple):
    losses: np.ndarray  # (4,) sums over the piece so far: of w, w^2, w loss, w loss^2
    pieces: np.ndarray  # 0-d, those followed since the last shift
    mean: np.ndarray  # 0-d, of their losses
    variance: np.ndarray  # 0-d
    lowest: np.ndarray  # 0-d, that the mean of NEWEST pieces has been since the last shift; 0: unknown
    row: np.ndarray  # 0-d, after which a shift was noticed, as long as a model that begins there is tried; else 0
    heirs: np.ndarray  # 0-d, how often such a model has taken over


def no_shift() -> Shift:
    pieces, row, heirs = (np.zeros((), np.int64) for _ in range(3))
    return Shift(np.zeros(4), pieces, np.zeros(()), np.zeros(()), np.zeros(()), row, heirs)


@inlined
def add_loss(shift, weight, loss):
    shift.losses[0] += weight
    shift.losses[1] += weight * weight
    shift.losses[2] += weight * loss
    shift.losses[3] += weight * loss * loss


def notices(shift: Shift) -> bool:
    """Whether the piece that ends here is of another stream; if so, pieces are followed from it on."""
    weight, squares, first, second = shift.losses.tolist()
    shift.losses[...] = 0.0
    if weight * weight < ROWS * squares or weight == 0.0:
        return False
    loss, n = first / weight, weight * weight / squares
    own = math.sqrt(max(0.0, second / weight - loss * loss) / n)
    mean, variance, known = float(shift.mean), float(shift.variance), bool(shift.pieces >= FEWEST)
    far, lowest = FAR * max(math.sqrt(variance), SMALLEST * mean), float(shift.lowest)
    risen = mean > max(RISEN * lowest, lowest + FAR * math.sqrt(variance / (2 * NEWEST - 1))) and lowest > 0.0
    if risen or (known and loss > mean + max(far, FAR * own)):
        shift.pieces[()], shift.lowest[()] = 0, 0.0
        return True
    shift.pieces[()] += 1
    rate, off = max(1.0 / int(shift.pieces), 1.0 / NEWEST), min(loss - mean, far if known else math.inf)
    shift.mean[()] = mean + rate * off
    shift.variance[()] = (1.0 - rate) * (variance + rate * off * off)
    if shift.pieces >= NEWEST:
        shift.lowest[()] = min(float(shift.lowest) or math.inf, float(shift.mean))
    return False
