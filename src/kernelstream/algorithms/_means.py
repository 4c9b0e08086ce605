"""The mean of f over a window of rounds, kept at O(1) a change, for learners that `_risk` describes.

After round s f_s = (1 / (lambda tau_s)) sum_i b_i k(s_i, .). With h = sum 1/tau_s over the rounds of a window, lambda
times the sum of its f_s is sum_i (b_i h - w_i) k(s_i, .): a change of b_i by e, in this round and all later ones, adds
e h to w_i, h before the round. w is (K, capacity), in float64.
"""

from typing import NamedTuple

import numpy as np

from ..engine import Common
from ..numerics.compile import inlined
from ..numerics.expansion import Expansion, KernelRow, dot, places_of
from ..numerics.rows import DenseRow
from ._risk import tau_of

# Of learners that show a mean.
MEAN_MOVES = "a round of weight 0 moves a mean, which is more than shrinking"
EXEMPT = {
    "late_classes_add_an_output": MEAN_MOVES,
    "a_third_class_keeps_the_margin": MEAN_MOVES,
    "weight_zero_learns_nothing": MEAN_MOVES,
}


class MeanScratch(NamedTuple):
    common: Common
    row: KernelRow
    stored: DenseRow  # where a stored point, or a sparse row, is written out
    current: np.ndarray  # (K,) f_t(x), which the step needs; what is shown may be a mean


def resized(window: np.ndarray, n_outputs: int, room: int) -> np.ndarray:
    """The window's w with zeros for what is new."""
    larger = np.zeros((n_outputs, room), window.dtype)
    larger[: window.shape[0], : window.shape[1]] = window
    return larger


def mean_of(f: Expansion, w: np.ndarray, h: float, rounds: int) -> np.ndarray:
    """(K, n) lambda times the coefficients of the mean over a window of so many rounds."""
    n = int(f.size)
    total = f.coef[:, :n].astype(np.float64) * h - w[:, :n]
    return np.asarray(total / max(1, rounds))


def joined_means(f: Expansion, other: Expansion, mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """(K, n) the sum of two means, of the terms of ``append(f, other, ...)``."""
    places = places_of(f, other)
    mean = np.zeros((len(mine), max(int(f.size), int(places.max(initial=-1)) + 1)))
    mean[:, : mine.shape[1]] = mine
    np.add.at(mean.T, places, theirs.T)
    return mean


def window_of(f: Expansion, mean: np.ndarray, h: float, rounds: int) -> np.ndarray:
    """(K, n) the w with which `mean_of` gives this mean."""
    return np.asarray(f.coef[:, : mean.shape[1]] * h - rounds * mean)


@inlined
def show_mean(record, state, w, h, rounds, row, k, score):
    """The mean of output k over a window, from its score f_t(x) and the kernel values of x. Requires: t > 0."""
    n = state.f.size[()]
    left = dot(w[k, :n], row.values[:n]) / record.regularization
    return (h * tau_of(record, state.t) * score - left) / rounds


@inlined
def note_change(w, h, k, i, e):
    """Let a window know that b_i += e."""
    w[k, i] += e * h


@inlined
def note_halving(f, w, h):
    """Let w follow b / 2: (b / 2) h - (w - (b / 2) h) is b h - w. Requires: b is halved."""
    for k in range(w.shape[0]):
        for i in range(min(f.size[()], w.shape[1])):
            w[k, i] -= f.coef[k, i] * h
