"""What is done when a dictionary is full: verbs that choose a term, and verbs that take one away.

A verb that chooses returns a slot; ties go to the lowest.
"""

import math

import numpy as np

from . import rng
from .compile import by_precision, compiled, inlined
from .expansion import ROWS, blend, move, square
from .gram import backward, inverse_diagonal, reduce_factor
from .lists import close_gap, shift_points
from .pairs import best_h, looked_up_loss

PIECE = 64  # values that are looked through together

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
def in_order(value):
    """An integer for a number in float64, in the same order; 0 and -0 have one."""
    bits = np.float64(value + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


def _largest_single(values, n):
    bits, top = values.view(np.int32), np.int32(-0x7FFFFFFF)
    for i in range(n):
        ordered = np.int32(bits[i] ^ ((bits[i] >> 31) & 0x7FFFFFFF))
        top = ordered if ordered > top else top
    return np.int32(top ^ ((top >> 31) & 0x7FFFFFFF)).view(np.float32)


def _largest_double(values, n):
    bits, top = values.view(np.int64), np.int64(-0x7FFFFFFFFFFFFFFF)
    for i in range(n):
        ordered = bits[i] ^ ((bits[i] >> 63) & 0x7FFFFFFFFFFFFFFF)
        top = ordered if ordered > top else top
    return np.int64(top ^ ((top >> 63) & 0x7FFFFFFFFFFFFFFF)).view(np.float64)


# The largest of the first n > 0 values. Requires: no NaN.
# As integers, the bits of reals have their order once those of negative ones are turned round; the largest of integers
# is found in vector instructions.
largest = by_precision(_largest_single, _largest_double)


def _largest_size_single(values, n):
    bits, top = values.view(np.int32), np.int32(0)
    for i in range(n):
        size = np.int32(bits[i] & 0x7FFFFFFF)
        top = size if size > top else top
    return np.int32(top).view(np.float32)


def _largest_size_double(values, n):
    bits, top = values.view(np.int64), np.int64(0)
    for i in range(n):
        size = bits[i] & 0x7FFFFFFFFFFFFFFF
        top = size if size > top else top
    return np.int64(top).view(np.float64)


# The largest |value| of the first n; no number where one is none.
largest_size = by_precision(_largest_size_single, _largest_size_double)


@compiled
def any_above(values, n, border):
    """Whether one of the first n values is above the border."""
    least = values.dtype.type(border)
    for lo in range(0, n, PIECE):
        piece = values[lo : min(lo + PIECE, n)]
        found = np.int32(0)
        for i in range(piece.shape[0]):
            found = np.int32(found | np.int32(piece[i] > least))
        if found != 0:
            return True
    return False


@compiled
def first_from(values, n, border):
    """The place of the first of n > 0 values that is no less than the border; some place below n where none is."""
    least, place = values.dtype.type(border), 0
    while place + PIECE < n:
        piece = values[place : place + PIECE]
        found = np.int32(0)
        for i in range(PIECE):
            found = np.int32(found | np.int32(piece[i] >= least))
        if found != 0:
            break
        place += PIECE
    piece = values[place : min(place + PIECE, n)]
    left = np.int32(0)  # places from the first on, to the end of a piece
    for i in range(piece.shape[0]):
        here = np.int32(PIECE - i) if piece[i] >= least else np.int32(0)
        left = here if here > left else left
    return min(place + PIECE - left, n - 1)


@inlined
def first_largest(values, n):
    """The place of the largest of the first n > 0 values, the first of equals; some place below n where one is NaN."""
    return first_from(values, n, largest(values, n))


@inlined
def negative_squares(f, out):
    """out[i] = -||coef_i||^2 for every term."""
    n, first = f.size[()], f.coef[0]
    for i in range(n):
        out[i] = 0.0 - np.float64(first[i]) * np.float64(first[i])
    for k in range(1, f.coef.shape[0]):
        coef = f.coef[k]
        for i in range(n):
            out[i] -= np.float64(coef[i]) * np.float64(coef[i])


@inlined
def smallest_slot(f, row):
    """The slot of the smallest ||coef||."""
    negative_squares(f, row.ranks)
    return first_largest(row.ranks, f.size[()])


@inlined
def remove(f, i, row):
    """Take term i away; the terms behind it move up, so that their order stays."""
    n = f.size[()]
    shift_points(f, i, n)
    close_gap(f.norms, i, n)
    for k in range(f.coef.shape[0]):
        close_gap(f.coef[k], i, n)
    for r in range(row.next[()], ROWS):
        close_gap(row.metrics[r], i, n)
    f.size[()] = n - 1


@inlined
def add_along(f, step, g, coordinates):
    """f = f + step * g sum_i coordinates_i k(point_i, .)."""
    for k in range(g.shape[0]):
        if g[k] != 0:
            coef = f.coef[k]
            for i in range(f.size[()]):
                coef[i] += step * g[k] * coordinates[i]


@inlined
def project_out(f, R, i, column, half, row):
    """Replace term i by its projection on the others, and take point i out of f and of the factor R.

    With c the i-th column of the inverse Gram matrix, the projection of k(point_i, .) has coordinates -c_j / c_i, and
    what is lost has squared norm ||coef_i||^2 / c_i, which is returned.
    """
    n = f.size[()]
    inverse_diagonal(R, n, i, half)
    backward(R, n, half, column)
    lost = square(f, i) / column[i]
    for k in range(f.coef.shape[0]):
        coef = f.coef[k]
        share = coef[i] / column[i]
        for j in range(n):
            coef[j] -= share * column[j]
    reduce_factor(R, n, i, half, row.ranks)
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
def best_partner(f, m, row, table):
    """The term that loses least when term m is fused with it; one whose coefficient points the same way, if there
    is any.

    Requires: row.values[j] = k(point_m, point_j), m the smallest of two terms at least.
    """
    n, ratios, inners = f.size[()], row.ranks, row.others
    mm = square(f, m)
    negative_squares(f, ratios)
    for j in range(n):
        inners[j] = 0.0
    for k in range(f.coef.shape[0]):
        coef = f.coef[k]
        mine = np.float64(coef[m])
        for j in range(n):
            inners[j] += mine * np.float64(coef[j])
    partner = 0 if m > 0 else 1
    if mm == 0.0:  # a term that is nothing is as well fused with any
        return partner
    # Roots and quotients in a loop of their own, for vector instructions; looking up is not for them.
    for j in range(n):
        ratios[j] = math.sqrt(mm / -ratios[j])
    least = math.inf
    agrees = False
    for j in range(n):
        if j == m or (inners[j] <= 0.0 and agrees):
            continue
        lost = looked_up_loss(table, min(np.float64(row.values[j]), 1.0), mm, ratios[j], inners[j])
        if (inners[j] > 0.0 and not agrees) or lost < least:
            agrees = agrees or inners[j] > 0.0
            least = lost
            partner = j
    return partner


@inlined
def fuse_pair(kernel, f, m, n, row):
    """Terms m and n become one, at slot n; the last term takes slot m. Return the squared norm that is lost.

    Requires: row.values[n] = k(point_m, point_n) of a Gaussian.
    """
    mm, nn, mn = square(f, m), square(f, n), inner(f, m, n)
    k = min(max(np.float64(row.values[n]), SMALLEST), 1.0)
    log_k = math.log(k)
    h = best_h(log_k, mm, nn, mn)
    blend(kernel, f, n, 1.0 - h, m, h, row)
    p = math.exp((1.0 - h) ** 2 * log_k)
    q = math.exp(h**2 * log_k)
    for c in range(f.coef.shape[0]):
        f.coef[c, n] = f.coef[c, m] * p + f.coef[c, n] * q
    last = f.size[()] - 1
    move(f, last, m, row)
    f.size[()] = last
    return mm + nn + 2.0 * k * mn - square(f, n if n != last else m)


@inlined
def fuse_with_best(kernel, f, m, row, table):
    """Merge term m with its best partner; return the squared norm that is lost. Requires: row.values[j] = k(point_m,
    point_j).
    """
    return fuse_pair(kernel, f, m, best_partner(f, m, row, table), row)
