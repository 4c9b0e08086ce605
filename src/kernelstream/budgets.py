"""What is done when a dictionary is full: verbs that choose a term, and verbs that take one away.

A verb that chooses returns a slot; ties go to the lowest.
"""

import math

import numpy as np

from . import rng
from ._compile import inlined
from .expansion import ROWS, Expansion, correct, move, square, taken
from .gram import backward, forward, shrink
from .merging import best_h, looked_up_loss

SMALLEST = 1e-300  # kernel values below are taken as this, so that their logarithm is finite


@inlined
def random_slot(generator, n):
    """A slot in 0 .. n-1, uniformly."""
    return rng.draw_below(generator, n)


@inlined
def oldest_slot(oldest, n):
    """The slot that was filled first, in a dictionary whose slots are refilled in turn; the next one becomes the
    oldest.
    """
    slot = oldest[()]
    oldest[()] = (slot + 1) % n
    return slot


@inlined
def smallest_slot(f):
    """The slot of the smallest ||coef||."""
    slot = 0
    least = math.inf
    for i in range(f.size[()]):
        size = square(f, i)
        if size < least:
            least = size
            slot = i
    return slot


@inlined
def remove(f, i, row):
    """Take term i away; the terms behind it move up, so that their order stays."""
    n = f.size[()]
    for a in range(f.points.shape[0]):
        points = f.points[a]
        for j in range(i, n - 1):
            points[j] = points[j + 1]
    for j in range(i, n - 1):
        f.norms[j] = f.norms[j + 1]
    for k in range(f.coef.shape[0]):
        coef = f.coef[k]
        for j in range(i, n - 1):
            coef[j] = coef[j + 1]
    for r in range(row.next[()], ROWS):
        metrics = row.metrics[r]
        for j in range(i, n - 1):
            metrics[j] = metrics[j + 1]
    f.size[()] = n - 1


@inlined
def spread_over(f, step, g, coordinates):
    """f = f + step * g sum_i coordinates_i k(point_i, .)."""
    for k in range(g.shape[0]):
        if g[k] != 0:
            coef = f.coef[k]
            for i in range(f.size[()]):
                coef[i] += step * g[k] * coordinates[i]


@inlined
def project_out(f, L, i, column, half, row):
    """Replace term i by its projection on the others, and take point i out of f and of the factor L.

    With c the i-th column of the inverse Gram matrix, the projection of k(point_i, .) has coordinates -c_j / c_i, and
    what is lost has squared norm ||coef_i||^2 / c_i, which is returned.
    """
    n = f.size[()]
    for j in range(n):
        column[j] = 0.0
    column[i] = 1.0
    forward(L, n, column, half)
    backward(L, n, half, column)
    lost = square(f, i) / column[i]
    for k in range(f.coef.shape[0]):
        coef = f.coef[k]
        share = coef[i] / column[i]
        for j in range(n):
            coef[j] -= share * column[j]
    shrink(L, n, i)
    remove(f, i, row)
    return lost


@inlined
def inner(f, i, j):
    """<coef_i, coef_j>."""
    total = 0.0
    for k in range(f.coef.shape[0]):
        total += np.float64(f.coef[k, i]) * np.float64(f.coef[k, j])
    return total


@inlined
def best_partner(f, m, values, table):
    """The term that loses least when term m is merged with it; one whose coefficient points the same way, if there
    is any.

    Requires: values[j] = k(point_m, point_j), m the smallest of two terms at least, no term of size 0.
    """
    mm = square(f, m)
    partner = -1
    least = math.inf
    agrees = False
    for j in range(f.size[()]):
        if j == m:
            continue
        nn = square(f, j)
        mn = inner(f, m, j)
        if mn <= 0.0 and agrees:
            continue
        k = min(np.float64(values[j]), 1.0)
        lost = looked_up_loss(table, k, mm, nn, mn)
        if (mn > 0.0 and not agrees) or lost < least:
            agrees = agrees or mn > 0.0
            least = lost
            partner = j
    return partner


@inlined
def merge_pair(kernel, f, m, n, row):
    """Terms m and n become one, at slot n; the last term takes slot m. Return the squared norm that is lost.

    Requires: row.values[n] = k(point_m, point_n) of a Gaussian.
    """
    mm, nn, mn = square(f, m), square(f, n), inner(f, m, n)
    k = min(max(np.float64(row.values[n]), SMALLEST), 1.0)
    log_k = math.log(k)
    h = best_h(log_k, mm, nn, mn)
    norm = 0.0
    for a in range(f.points.shape[0]):
        f.points[a, n] = h * f.points[a, m] + (1.0 - h) * f.points[a, n]
        norm += np.float64(f.points[a, n]) * np.float64(f.points[a, n])
    f.norms[n] = norm
    correct(kernel, f, n, row)
    p = math.exp((1.0 - h) ** 2 * log_k)
    q = math.exp(h**2 * log_k)
    for c in range(f.coef.shape[0]):
        f.coef[c, n] = f.coef[c, m] * p + f.coef[c, n] * q
    last = f.size[()] - 1
    move(f, last, m, row)
    f.size[()] = last
    return mm + nn + 2.0 * k * mn - square(f, n if n != last else m)


@inlined
def merge_with_best(kernel, f, m, row, table):
    """Merge term m with its best partner; return the squared norm that is lost. Requires: row.values[j] = k(point_m,
    point_j).
    """
    return merge_pair(kernel, f, m, best_partner(f, m, row.values, table), row)


def within(f: Expansion, budget: int, capacity: int) -> Expansion:
    """The `budget` largest terms of f in their order, with room for `capacity`."""
    sizes = np.linalg.norm(f.coef[:, : int(f.size)].astype(np.float64), axis=0)
    return taken(f, np.sort(np.argsort(-sizes, kind="stable")[:budget]), capacity)
