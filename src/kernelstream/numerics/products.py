"""Products of rows with a matrix that have the same bits in a block of any height.

Sums over a row's features run in the order of the features, for one output column after another in SIMD, so that a row
gets the same bits in a block of any height, and from dense and sparse storage alike. (A BLAS product does not: its
summation order depends on the number of rows.)
"""

from .compile import Pointer, call_for_effect, inlined
from .tiles import add_four, full_vectors, products

# Columns and features that are summed together: four rows' sums and a few rows of the map's matrix stay in the caches
# while the rows of a chunk go by.
COLUMNS, FEATURES = 1024, 16


@inlined
def multiply_row(indices, values, matrix, lo, sums):
    """sums = sum_p values[p] * matrix[indices[p], lo:], four features at a time: the bits of one at a time."""
    n = sums.shape[0]
    for j in range(n):
        sums[j] = 0
    p = 0
    while p + 4 <= indices.shape[0]:
        va, vb, vc, ve = values[p], values[p + 1], values[p + 2], values[p + 3]
        a, b = matrix[indices[p], lo:], matrix[indices[p + 1], lo:]
        c, e = matrix[indices[p + 2], lo:], matrix[indices[p + 3], lo:]
        for j in range(n):
            sums[j] = sums[j] + va * a[j] + vb * b[j] + vc * c[j] + ve * e[j]
        p += 4
    while p < indices.shape[0]:
        v = values[p]
        a = matrix[indices[p], lo:]
        for j in range(n):
            sums[j] += v * a[j]
        p += 1


@inlined
def _multiply_four(x0, x1, x2, x3, matrix, first, lo, n, out):
    """The same for four dense rows at once, FEATURES features from `first` on and n columns, a multiple of 16 of them:
    a quarter of the traffic.
    """
    s0, s1, s2, s3 = out[0, lo:], out[1, lo:], out[2, lo:], out[3, lo:]
    if first == 0:
        for j in range(n):
            s0[j] = s1[j] = s2[j] = s3[j] = 0
    d = min(first + FEATURES, x0.shape[0])
    p = first
    while p + 4 <= d:
        a, b, c, e = matrix[p, lo:], matrix[p + 1, lo:], matrix[p + 2, lo:], matrix[p + 3, lo:]
        add_four(products, x0, x1, x2, x3, p, a, b, c, e, s0, s1, s2, s3, n)
        p += 4
    while p < d:
        a = matrix[p, lo:]
        a0, a1, a2, a3 = x0[p], x1[p], x2[p], x3[p]
        for j in range(n):
            s0[j] += a0 * a[j]
            s1[j] += a1 * a[j]
            s2[j] += a2 * a[j]
            s3[j] += a3 * a[j]
        p += 1


def _multiply(shared, indptr, indices, values, start, n, matrix, out):
    fours = n // 4 * 4 if shared == 1 else 0
    for lo in range(0, matrix.shape[1], COLUMNS):
        hi = min(lo + COLUMNS, matrix.shape[1])
        even = full_vectors(hi - lo)
        for first in range(0, indices.shape[0] if fours > 0 else 0, FEATURES):
            for i in range(0, fours, 4):
                t = start + i
                x0, x1 = values[indptr[t] : indptr[t + 1]], values[indptr[t + 1] : indptr[t + 2]]
                x2, x3 = values[indptr[t + 2] : indptr[t + 3]], values[indptr[t + 3] : indptr[t + 4]]
                _multiply_four(x0, x1, x2, x3, matrix, first, lo, even, out[i : i + 4])
        # What is left over, of columns and of rows, one row after the other.
        for i in range(0 if even < hi - lo else fours, n):
            a, b = indptr[start + i], indptr[start + i + 1]
            present = indices if shared == 1 else indices[a:b]
            begin = lo + even if i < fours else lo
            multiply_row(present, values[a:b], matrix, begin, out[i, begin:hi])


MULTIPLY = Pointer(_multiply, "ixxriimm", value=False)


@inlined
def multiply(address, block, start, stop, matrix, out):
    """out[i] = (row start + i of the block) times the matrix, for the rows up to `stop`; `address` is MULTIPLY's."""
    call_for_effect(address, block.shared, block.indptr, block.indices, block.values, start, stop - start, matrix, out)


def _products(rows, n, matrix, out):
    """out[i, k] = <rows[i], matrix[k]> for i < n. Requires: rows and out have room for n rounded up to a multiple of 4.

    Four rows are always taken together, the last ones with whatever lies behind them, so that the order in which a
    product is summed does not depend on how many rows there are.
    """
    d, rank = matrix.shape[1], matrix.shape[0]
    zero = out.dtype.type(0)
    for i in range(0, n, 4):
        x0, x1, x2, x3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        k = 0
        while k + 4 <= rank:
            m0, m1, m2, m3 = matrix[k], matrix[k + 1], matrix[k + 2], matrix[k + 3]
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = c0 = c1 = c2 = c3 = e0 = e1 = e2 = e3 = zero
            for j in range(d):
                a0 += x0[j] * m0[j]
                a1 += x0[j] * m1[j]
                a2 += x0[j] * m2[j]
                a3 += x0[j] * m3[j]
                b0 += x1[j] * m0[j]
                b1 += x1[j] * m1[j]
                b2 += x1[j] * m2[j]
                b3 += x1[j] * m3[j]
                c0 += x2[j] * m0[j]
                c1 += x2[j] * m1[j]
                c2 += x2[j] * m2[j]
                c3 += x2[j] * m3[j]
                e0 += x3[j] * m0[j]
                e1 += x3[j] * m1[j]
                e2 += x3[j] * m2[j]
                e3 += x3[j] * m3[j]
            out[i, k], out[i, k + 1], out[i, k + 2], out[i, k + 3] = a0, a1, a2, a3
            out[i + 1, k], out[i + 1, k + 1], out[i + 1, k + 2], out[i + 1, k + 3] = b0, b1, b2, b3
            out[i + 2, k], out[i + 2, k + 1], out[i + 2, k + 2], out[i + 2, k + 3] = c0, c1, c2, c3
            out[i + 3, k], out[i + 3, k + 1], out[i + 3, k + 2], out[i + 3, k + 3] = e0, e1, e2, e3
            k += 4
        while k < rank:
            m0 = matrix[k]
            a0 = b0 = c0 = e0 = zero
            for j in range(d):
                a0 += x0[j] * m0[j]
                b0 += x1[j] * m0[j]
                c0 += x2[j] * m0[j]
                e0 += x3[j] * m0[j]
            out[i, k], out[i + 1, k], out[i + 2, k], out[i + 3, k] = a0, b0, c0, e0
            k += 1


PRODUCTS = Pointer(_products, "mimm", value=False, sums=True)
