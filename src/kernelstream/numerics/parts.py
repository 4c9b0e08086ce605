"""Parts of a stack that learn row by row: least mean squares and hinge descent on lifted rows, label averages, cells.

e (M, K) is what all parts say of a row: first those whose weights are found elsewhere (least squares, and that which
forgets; n_given of them), then these, in the order of `Parts`, then the boxes, which learn what is left (`boxes`).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .cells import add_to_cells, find_cells, sum_cells
from .compile import compiled, inlined
from .expansion import dot
from .memory import zeros
from .stack import stack_prior

# The last of the hinge learners goes on, in short steps, from the solution of the squared hinge on the first rows.
LMS, HINGE, AVERAGES = (0.3, 1.0), (1.0, 10.0, 0.02), (0.5, 0.9)
HEARD = 1.0, 10.0, 1.0  # of the hinge learners the stack hears tanh(score / this)
CLIP = 1.0  # what is said of a class is no farther from 0


class Steps(NamedTuple):
    """What compiled code reads of the parts."""

    classes: int  # whether targets are -1 and 1
    lms: np.ndarray
    hinge: np.ndarray
    heard: np.ndarray
    averages: np.ndarray
    inverse: np.ndarray  # of the cells' steps


class Parts(NamedTuple):
    lms: np.ndarray  # (2, K, D)
    hinge: np.ndarray  # (3, K, D)
    averages: np.ndarray  # (2, K)
    cells: np.ndarray  # (tables, cells, K); or no tables
    A: np.ndarray  # (M, M), the stack's
    b: np.ndarray  # (M,)


class Tables(NamedTuple):
    pick: np.ndarray  # (tables, projections of a cell)
    offset: np.ndarray  # where they are cut


def n_parts(n_given: int) -> int:
    """M: those that are given, these, and the boxes."""
    return n_given + len(LMS) + len(HINGE) + len(AVERAGES) + 2


def no_parts(n_given: int, length: int, n_outputs: int, dtype: Any, cells: tuple[int, int]) -> Parts:
    """Before any row; `cells` are how many tables of how many there are."""
    K = n_outputs
    fast = zeros((len(LMS), K, length), dtype), zeros((len(HINGE), K, length), dtype)
    return Parts(*fast, np.zeros((len(AVERAGES), K)), zeros((*cells, K), dtype), *stack_prior(n_parts(n_given)))


@inlined
def clipped(steps, score):
    return score if steps.classes == 0 else min(max(score, -CLIP), CLIP)


@inlined
def say(steps, n_given, parts, z, codes, e):
    """e = what each of `Parts` says of a row; the hinge learners what they compare, see `squash`."""
    n_lms, n_averages, last = steps.lms.shape[0], steps.averages.shape[0], e.shape[0] - 2
    for k in range(e.shape[1]):
        for q in range(n_lms):
            e[n_given + q, k] = dot(parts.lms[q, k], z)
        for q in range(steps.hinge.shape[0]):
            e[n_given + n_lms + q, k] = dot(parts.hinge[q, k], z)
        for q in range(n_averages):
            e[last - n_averages + q, k] = parts.averages[q, k]
        e[last, k] = sum_cells(parts.cells, codes, k)


@inlined
def squash(steps, n_given, part, score):
    """What the stack hears of a part's score: of the hinge learners something between -1 and 1."""
    q = part - n_given - steps.lms.shape[0]
    return math.tanh(score / steps.heard[q]) if q >= 0 and q < steps.hinge.shape[0] else score


@inlined
def add_row(w, amount, z):
    c = z.dtype.type(amount)
    for j in range(z.shape[0]):
        w[j] += c * z[j]


@inlined
def learn_parts(steps, n_given, parts, z, codes, e, y, weight):
    """All parts of `Parts` but the stack learn a row. Requires: e as `say` left it."""
    K, n_lms, last = e.shape[1], steps.lms.shape[0], e.shape[0] - 2
    step = min(weight, 1.0)
    right = 0
    for k in range(K):
        if y[k] > 0:
            right = k
    for q in range(steps.hinge.shape[0]):
        i, length = n_given + n_lms + q, weight * steps.hinge[q]
        if K == 1:
            if y[0] * e[i, 0] < 1.0:
                add_row(parts.hinge[q, 0], length * y[0], z)
        else:
            rival = 1 if right == 0 else 0
            for k in range(K):
                if k != right and e[i, k] > e[i, rival]:
                    rival = k
            if e[i, right] - e[i, rival] < 1.0:
                add_row(parts.hinge[q, right], length, z)
                add_row(parts.hinge[q, rival], -length, z)
    for k in range(K):
        if parts.cells.shape[0] > 0:
            add_to_cells(parts.cells, codes, k, step * (y[k] - e[last, k]))
        for q in range(n_lms):
            add_row(parts.lms[q, k], step * steps.lms[q] * (y[k] - e[n_given + q, k]), z)
        for q in range(steps.averages.shape[0]):
            parts.averages[q, k] += step * (1.0 - steps.averages[q]) * (y[k] - parts.averages[q, k])


@compiled
def learn_again(steps, n_given, parts, finding, rows, Y, share, e, codes):
    """The parts learn rows that they know, with a new map; e and codes are room for what is found of one.

    rows: z and the projections of each.
    """
    Z, projected = rows
    for i in range(Z.shape[0]):
        if parts.cells.shape[0] > 0:
            find_cells(projected[i], finding, steps.inverse, parts.cells.shape[1], codes)
        say(steps, n_given, parts, Z[i], codes, e)
        learn_parts(steps, n_given, parts, Z[i], codes, e, Y[i], share[i])
