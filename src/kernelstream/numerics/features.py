"""f = W'z(x) for an explicit feature map z, and the random Fourier maps.

Sums over a row's features run in the order of the features, for one output column after another in SIMD, so that a row
gets the same bits in a block of any height, and from dense and sparse storage alike. (A BLAS product does not: its
summation order depends on the number of rows.)
"""

from typing import Any, NamedTuple

import numpy as np

from ..engine.state import aligned
from ..kernels import Kernel
from .compile import Pointer, by_record, call_for_effect, inlined, reduction
from .elementary import sincos
from .expansion import dot
from .structured import GROUP, TRANSFORM, StructuredMap, structured_map, with_groups
from .tiles import add_four, full_vectors, products

PLAIN, STRUCTURED = MAPS = ("plain", "structured")

# Columns and features that are summed together: four rows' sums and a few rows of the map's matrix stay in the caches
# while the rows of a chunk go by.
COLUMNS, FEATURES = 1024, 16


class FourierMap(NamedTuple):
    """z(x) = (sin u_1'x, ..., sin u_D'x, cos u_1'x, ..., cos u_D'x)."""

    frequencies: np.ndarray  # (d, D)


def fourier_map(kernel: Kernel, seed: int, n_features: int, n_components: int, dtype: Any) -> FourierMap:
    return FourierMap(kernel.frequencies(seed, range(n_features), n_components).astype(dtype))


def random_map(
    kind: str, kernel: Kernel, seed: int, n_features: int, n_components: int, dtype: Any
) -> FourierMap | StructuredMap:
    draw = structured_map if kind == STRUCTURED else fourier_map
    return draw(kernel, seed, n_features, n_components, dtype)


def widened(map: Any, kernel: Kernel, seed: int, n_features: int) -> Any:
    """The map for more features; what was drawn stays as it is."""
    if isinstance(map, StructuredMap):
        return with_groups(map, seed, n_features)
    known, n_components = map.frequencies.shape
    new = kernel.frequencies(seed, range(known, n_features), n_components)
    return FourierMap(np.concatenate([map.frequencies, new.astype(map.frequencies.dtype)]))


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


def _sincos_rows(projected, n, z):
    width = projected.shape[1]
    for i in range(n):
        sincos(projected[i], z[i, :width], z[i, width:])


SINCOS = Pointer(_sincos_rows, "mim", value=False)


class FourierRecord(NamedTuple):
    """Where the compiled parts of a plain map are."""

    multiply: int
    sincos: int


class StructuredRecord(NamedTuple):
    """Where the compiled parts of a structured map are."""

    transform: int
    sincos: int


def fourier_record(dtype: Any) -> FourierRecord:
    return FourierRecord(MULTIPLY.address(dtype), SINCOS.address(dtype))


def map_record(kind: str, dtype: Any) -> FourierRecord | StructuredRecord:
    if kind == STRUCTURED:
        return StructuredRecord(TRANSFORM.address(dtype), SINCOS.address(dtype))
    return fourier_record(dtype)


class Lifted(NamedTuple):
    """Scratch of `random_features`, and what it writes."""

    projected: np.ndarray  # (rows, D)
    z: np.ndarray  # (rows, 2D)
    work: np.ndarray  # (2, GROUP) where a structured map works, else empty


def lifted(kind: str, rows: int, n_components: int, dtype: Any) -> Lifted:
    shapes = (rows, n_components), (rows, 2 * n_components), (2, GROUP if kind == STRUCTURED else 0)
    return Lifted(*(aligned(np.zeros(shape, dtype)) for shape in shapes))


@by_record
def random_features(record, map, block, start, stop, lifted):
    """lifted.z[i] = z(row start + i of the block), for the rows up to `stop`."""


@random_features.register(FourierRecord)
def _(record, map, block, start, stop, lifted):
    multiply(record.multiply, block, start, stop, map.frequencies, lifted.projected)
    call_for_effect(record.sincos, lifted.projected, stop - start, lifted.z)


@random_features.register(StructuredRecord)
def _(record, map, block, start, stop, lifted):
    n, work, out = stop - start, lifted.work, lifted.projected
    rows = block.shared, block.indptr, block.indices, block.values
    call_for_effect(record.transform, *rows, start, n, map.signs, map.scales, work, out)
    call_for_effect(record.sincos, out, n, lifted.z)


@reduction
def _four_dots(w0, w1, w2, w3, z, scores):
    a = b = c = e = z.dtype.type(0)
    for j in range(z.shape[0]):
        a += w0[j] * z[j]
        b += w1[j] * z[j]
        c += w2[j] * z[j]
        e += w3[j] * z[j]
    scores[0], scores[1], scores[2], scores[3] = a, b, c, e


@inlined
def evaluate_linear(weights, z, scores):
    """scores = W'z, four outputs at a time."""
    fours = scores.shape[0] // 4 * 4
    for k in range(0, fours, 4):
        _four_dots(weights[k], weights[k + 1], weights[k + 2], weights[k + 3], z, scores[k : k + 4])
    for k in range(fours, scores.shape[0]):
        scores[k] = dot(weights[k], z)


@inlined
def descend(weights, step, g, z):
    """W = W - step * g z'. Outputs without slope are not touched."""
    for k in range(g.shape[0]):
        if g[k] != 0:
            c = weights.dtype.type(step * g[k])
            w = weights[k]
            for j in range(w.shape[0]):
                w[j] -= c * z[j]


@inlined
def shrink(weights, factor):
    """W = factor * W."""
    c = weights.dtype.type(factor)
    for k in range(weights.shape[0]):
        w = weights[k]
        for j in range(w.shape[0]):
            w[j] *= c
