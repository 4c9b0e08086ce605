"""Metric values of rows and points, a tile of points at a time: what every kernel is computed from.

Sums over features run in the order of the features, vectorised over the points, whether one row is taken or four, or
one point alone: the bits are the same.
"""

from typing import Any

import numpy as np

from .compile import Pointer, call_for_effect, inlined

DOT, SQUARED_DISTANCE, MANHATTAN = range(3)

# Points are visited in tiles whose metric values, features and coefficients stay in the first-level cache.
TILE = 1024

# In the place of the addresses in `four_rows`: the kernel takes every row alone.
ALONE = -1

# Many dense rows meet the points this many features at a time: what is read of the points stays in the second-level
# cache for the next rows.
STRETCH = 128


@inlined
def full_vectors(n):
    """n without what is left over by vectors of 16.

    The compiler sees that it is a multiple of 16 and makes no loop for the rest, for which it would keep sixteen
    factors in registers twice, and half of them on the stack.
    """
    return (n >> 4) << 4


@inlined
def _add_feature(metric, v, z, sums):
    """Add to the metric sums of x and some points what one feature gives: v of x, z of the points."""
    if metric == DOT:
        for j in range(z.shape[0]):
            sums[j] += v * z[j]
    elif metric == SQUARED_DISTANCE:
        for j in range(z.shape[0]):
            t = z[j] - v
            sums[j] += t * t
    else:
        for j in range(z.shape[0]):
            sums[j] += abs(z[j] - v)


@inlined
def metric_tile(metric, indices, values, points, norms, lo, row, wide):
    """Write the metric values of x = (indices, values) and the points lo, lo+1, ... into `row`; norms: of these points,
    ||.||_1 for the Manhattan metric and ||.||^2 for the other distance.
    """
    n = row.shape[0]
    complete = indices.shape[0] == points.shape[0]
    if metric == DOT or complete:
        for j in range(n):
            row[j] = 0
    else:
        for j in range(n):
            wide[j] = norms[j]
    # Four features at a time, in the order that one at a time would have: the same bits, a quarter of the traffic.
    first = 0
    while metric == SQUARED_DISTANCE and first + 4 <= indices.shape[0]:
        a, b, c, e = values[first], values[first + 1], values[first + 2], values[first + 3]
        za, zb = points[indices[first], lo : lo + n], points[indices[first + 1], lo : lo + n]
        zc, ze = points[indices[first + 2], lo : lo + n], points[indices[first + 3], lo : lo + n]
        if complete:
            for j in range(n):
                ta, tb, tc, te = za[j] - a, zb[j] - b, zc[j] - c, ze[j] - e
                row[j] = row[j] + ta * ta + tb * tb + tc * tc + te * te
        else:
            # Features that x lacks count through the norm of the point; float64 because the terms cancel.
            ua, ub, uc, ue = np.float64(a), np.float64(b), np.float64(c), np.float64(e)
            for j in range(n):
                wide[j] = (
                    wide[j]
                    + ua * (ua - 2.0 * za[j])
                    + ub * (ub - 2.0 * zb[j])
                    + uc * (uc - 2.0 * zc[j])
                    + ue * (ue - 2.0 * ze[j])
                )
        first += 4
    for p in range(first, indices.shape[0]):
        z = points[indices[p], lo : lo + n]
        if metric == DOT or complete:
            _add_feature(metric, values[p], z, row)
            continue
        u = np.float64(values[p])
        if metric == SQUARED_DISTANCE:
            for j in range(n):
                wide[j] += u * (u - 2.0 * z[j])
        else:
            for j in range(n):
                wide[j] += abs(z[j] - u) - abs(np.float64(z[j]))
    if metric != DOT and not complete:
        for j in range(n):
            row[j] = wide[j] if wide[j] > 0.0 else 0.0


def _kernel_tile(metric, formula, constants, indices, values, points, norms, lo, row, wide):
    """Write the kernel values of x = (indices, values) and the points lo, lo+1, ... into `row`."""
    metric_tile(metric, indices, values, points, norms[lo : lo + row.shape[0]], lo, row, wide)
    call_for_effect(formula, constants, row)


@inlined
def products(total, a, b, c, e, za, zb, zc, ze):
    return total + a * za + b * zb + c * zc + e * ze


@inlined
def _squares(total, a, b, c, e, za, zb, zc, ze):
    a, b, c, e = za - a, zb - b, zc - c, ze - e
    return total + a * a + b * b + c * c + e * e


@inlined
def _distances(total, a, b, c, e, za, zb, zc, ze):
    return total + abs(za - a) + abs(zb - b) + abs(zc - c) + abs(ze - e)


@inlined
def add_four(sum_of, x0, x1, x2, x3, p, z0, z1, z2, z3, s0, s1, s2, s3, n):
    """Add to the sums of four rows and n points what the features p .. p+3 give; sum_of: `products`, or another's."""
    q, r, s = p + 1, p + 2, p + 3
    a0, b0, c0, e0 = x0[p], x0[q], x0[r], x0[s]
    a1, b1, c1, e1 = x1[p], x1[q], x1[r], x1[s]
    a2, b2, c2, e2 = x2[p], x2[q], x2[r], x2[s]
    a3, b3, c3, e3 = x3[p], x3[q], x3[r], x3[s]
    # All is read before anything is written: else the compiler reads the points again for each row.
    for j in range(n):
        za, zb, zc, ze = z0[j], z1[j], z2[j], z3[j]
        t0 = sum_of(s0[j], a0, b0, c0, e0, za, zb, zc, ze)
        t1 = sum_of(s1[j], a1, b1, c1, e1, za, zb, zc, ze)
        t2 = sum_of(s2[j], a2, b2, c2, e2, za, zb, zc, ze)
        t3 = sum_of(s3[j], a3, b3, c3, e3, za, zb, zc, ze)
        s0[j], s1[j], s2[j], s3[j] = t0, t1, t2, t3


@inlined
def _four_metrics(metric, sum_of, values, points, size, begin, end, out):
    """Add what the features begin .. end-1 give to the metric values of four complete rows, one after the other in
    `values`, and the first `size` points, in the rows of `out`; the first feature begins the sums.

    Requires: `begin` is a multiple of four. Ensures: after the last feature, bit for bit what `_kernel_tile` hands to
    the formula for each row alone. The points are read once for four rows.
    """
    d = points.shape[0]
    x0, x1, x2, x3 = values[:d], values[d : 2 * d], values[2 * d : 3 * d], values[3 * d :]
    for lo in range(0, size, TILE):
        hi = min(lo + TILE, size)
        s0, s1, s2, s3 = out[0, lo:hi], out[1, lo:hi], out[2, lo:hi], out[3, lo:hi]
        if begin == 0:
            for j in range(hi - lo):
                s0[j] = s1[j] = s2[j] = s3[j] = 0
        even = full_vectors(hi - lo)
        first = begin
        while first + 4 <= end:
            z0, z1 = points[first, lo:hi], points[first + 1, lo:hi]
            z2, z3 = points[first + 2, lo:hi], points[first + 3, lo:hi]
            add_four(sum_of, x0, x1, x2, x3, first, z0, z1, z2, z3, s0, s1, s2, s3, even)
            if even < hi - lo:
                z0, z1, z2, z3 = z0[even:], z1[even:], z2[even:], z3[even:]
                r0, r1, r2, r3 = s0[even:], s1[even:], s2[even:], s3[even:]
                add_four(sum_of, x0, x1, x2, x3, first, z0, z1, z2, z3, r0, r1, r2, r3, hi - lo - even)
            first += 4
        for p in range(first, end):
            for r in range(4):
                _add_feature(metric, values[r * d + p], points[p, lo:hi], out[r, lo:hi])


def _four_products(values, points, size, begin, end, out):
    _four_metrics(DOT, products, values, points, size, begin, end, out)


def _four_squares(values, points, size, begin, end, out):
    _four_metrics(SQUARED_DISTANCE, _squares, values, points, size, begin, end, out)


def _four_distances(values, points, size, begin, end, out):
    _four_metrics(MANHATTAN, _distances, values, points, size, begin, end, out)


def _metric_column(metric, values, points, i, out):
    """Write the metric values of the last three of four complete rows and point i into column i of `out`.

    Ensures: bit for bit what `_four_metrics` gives. Nothing ever waits for the first row's.
    """
    d = points.shape[0]
    x1, x2, x3 = values[d : 2 * d], values[2 * d : 3 * d], values[3 * d :]
    s1 = s2 = s3 = out.dtype.type(0)
    for p in range(d):
        z = points[p, i]
        if metric == DOT:
            s1 += x1[p] * z
            s2 += x2[p] * z
            s3 += x3[p] * z
        else:
            a, b, c = z - x1[p], z - x2[p], z - x3[p]
            if metric == SQUARED_DISTANCE:
                s1 += a * a
                s2 += b * b
                s3 += c * c
            else:
                s1 += abs(a)
                s2 += abs(b)
                s3 += abs(c)
    out[1, i], out[2, i], out[3, i] = s1, s2, s3


TILE_ARGUMENTS = "iirxrmwirw"
_TILE = Pointer(_kernel_tile, TILE_ARGUMENTS, value=False)
_FOUR = [Pointer(four, "rmiiim", value=False) for four in (_four_products, _four_squares, _four_distances)]
_COLUMN = Pointer(_metric_column, "irmim", value=False)


def one_row(dtype: Any) -> int:
    """Address of what takes a row alone."""
    return _TILE.address(dtype)


def four_rows(metric: int, dtype: Any) -> tuple[int, int]:
    """Addresses of what takes four rows together: with all points, and with one that has changed."""
    return _FOUR[metric].address(dtype), _COLUMN.address(dtype)


@inlined
def kernel_tile(kernel, x, points, norms, lo, row, wide):
    """row[j] = k(point lo + j, x); `wide` is scratch of at least that length."""
    call_for_effect(
        kernel.tile, kernel.metric, kernel.formula, kernel.constants, x.indices, x.values, points, norms, lo, row, wide
    )


@inlined
def four_metrics(kernel, values, points, n, begin, end, out):
    """out[r, j] = the metric of point j < n and row r of four complete rows, one after the other in `values`, as far as
    the features begin .. end-1 (and those before, which came first) give it.
    """
    call_for_effect(kernel.four, values, points, n, begin, end, out)


@inlined
def metric_column(kernel, values, points, i, out):
    """The same for point i alone and rows 1 to 3."""
    call_for_effect(kernel.column, kernel.metric, values, points, i, out)


@inlined
def apply_formula(kernel, row):
    """Metric values become kernel values."""
    call_for_effect(kernel.formula, kernel.constants, row)
