"""Structured random frequencies: a product of Hadamard matrices and random signs stands for the matrix of draws.

Yu, Suresh, Choromanski, Holtmann-Rice, Kumar: Orthogonal Random Features (2016), SORF.

    (u_1, ..., u_p)' = diag(s) sqrt(p) H S1 H S2 H S3,  H the orthonormal p x p Hadamard matrix, S random signs

The rows are orthogonal and of length sqrt(p), and each is nearly normal; s_j is the width of the j-th Gaussian of which
the kernel is a mixture. A row costs O(p log p) for p components instead of O(p d), and the map 3 p signs.

Components beyond p get signs of their own, and so does each further group of p features, whose share is added. p is
fixed: were it chosen by the first block's width, a feature that appears late would get other numbers than it would have
had from the start.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import rng
from ..compile import Pointer, call_for_effect, inlined
from ..memory import aligned
from .base import Waves, lift_rows
from .fourier import SINCOS

# p: features of a group, components of a block. Cost per component is 3 log2(p) additions for every p features begun.
GROUP = 1024


class StructuredMap(NamedTuple):
    """z(x) = (sin u_1'x, ..., sin u_D'x, cos u_1'x, ..., cos u_D'x) for the u above."""

    signs: np.ndarray  # (groups * blocks * 3, GROUP) of +-1: S3, S2, S1 of each block, group by group
    scales: np.ndarray  # (D,): s / p, which makes good that H is applied as +-1
    seed: np.ndarray  # 0-d


class StructuredRecord(NamedTuple):
    """Where the compiled parts are."""

    transform: int
    sincos: int


class Transformed(NamedTuple):
    """Where rows are lifted."""

    projected: np.ndarray  # (rows, D)
    z: np.ndarray  # (rows, 2D)
    work: np.ndarray  # (2, GROUP)


def signs(seed: int, group: int, block: int) -> np.ndarray:
    """S3, S2, S1 (3, GROUP) for a group of features and a block of components."""
    keys = np.array([rng.key(seed, rng.SIGNS, group, block, factor) for factor in range(3)], np.uint64)
    return 1.0 - 2.0 * (rng.uniform(keys[:, None], np.arange(GROUP)) < 0.5)


@dataclass(frozen=True)
class Structured(Waves):
    def record(self, dtype: Any) -> StructuredRecord:
        return StructuredRecord(TRANSFORM.address(dtype), SINCOS.address(dtype))

    def map(self, shape: Any) -> StructuredMap:
        scales = (self.kernel.scales(shape.seed, self.n_components) / GROUP).astype(shape.dtype)
        empty = StructuredMap(np.zeros((0, GROUP), shape.dtype), scales, np.array(shape.seed, np.uint64))
        return self.grown(empty, shape)

    def outline(self, shape: Any) -> dict[str, tuple[int | None, ...]]:
        matrices = _ceiling(self.n_components) * _ceiling(shape.width)
        return {"signs": (3 * matrices, GROUP), "scales": (self.n_components,)}

    def grown(self, map: StructuredMap, shape: Any) -> StructuredMap:
        blocks = _ceiling(len(map.scales))
        groups = range(len(map.signs) // (3 * blocks), _ceiling(shape.width))
        drawn = (signs(int(map.seed), group, block) for group in groups for block in range(blocks))
        return map._replace(signs=np.concatenate([map.signs, *(new.astype(map.signs.dtype) for new in drawn)]))

    def lifted(self, map: StructuredMap, rows: int) -> Transformed:
        D, dtype = self.n_components, map.scales.dtype
        return Transformed(*(aligned(np.zeros(shape, dtype)) for shape in ((rows, D), (rows, 2 * D), (2, GROUP))))


def _ceiling(n: int) -> int:
    """Groups or blocks that n features or components need."""
    return -(-n // GROUP)


def written_out(map: StructuredMap, width: int) -> np.ndarray:
    """(width, D) the frequencies of so many features: whole numbers, which float64 holds, times the scales."""
    from scipy.linalg import hadamard

    H, blocks, groups = hadamard(GROUP), _ceiling(len(map.scales)), []
    for first, group in zip(range(0, width, GROUP), np.split(map.signs, len(map.signs) // (3 * blocks)), strict=False):
        factors = group.astype(np.float64).reshape(blocks, 3, GROUP)
        some = slice(0, width - first)
        groups.append(np.concatenate([(H * s1) @ ((H * s2) @ (H * s3)[:, some]) for s3, s2, s1 in factors]).T)
    return np.concatenate(groups)[:, : len(map.scales)] * map.scales.astype(np.float64)


@inlined
def _butterflies(a, b):
    """One of the log2(p) factors of H (of +-1): after as many calls, to and fro, every index bit has had its turn."""
    half = GROUP // 2
    sums, differences = b[:half], b[half:]
    for i in range(half):
        u, v = a[2 * i], a[2 * i + 1]
        sums[i] = u + v
        differences[i] = u - v


@inlined
def _butterflies_and_signs(a, b, sign):
    half = GROUP // 2
    sums, differences, above, below = b[:half], b[half:], sign[:half], sign[half:]
    for i in range(half):
        u, v = a[2 * i], a[2 * i + 1]
        sums[i] = above[i] * (u + v)
        differences[i] = below[i] * (u - v)


@inlined
def _all_but_the_last(a, b):
    """b = the product of all factors of H but one, times a. Requires: log2(p) is even."""
    _butterflies(a, b)
    left = GROUP // 4
    while left > 1:
        _butterflies(b, a)
        _butterflies(a, b)
        left //= 4


@inlined
def _with_signs(shared, indices, values, group, sign, x):
    """x = diag(sign) times the row's features of a group; return whether it has any."""
    lo, hi = group * GROUP, (group + 1) * GROUP
    if shared == 1:
        part = values[lo:hi]
        n = part.shape[0]
        for j in range(n):
            x[j] = sign[j] * part[j]
        for j in range(n, GROUP):
            x[j] = 0
        return n > 0
    first = 0
    while first < indices.shape[0] and indices[first] < lo:
        first += 1
    if first == indices.shape[0] or indices[first] >= hi:
        return False
    for j in range(GROUP):
        x[j] = 0
    while first < indices.shape[0] and indices[first] < hi:
        j = indices[first] - lo
        x[j] = sign[j] * values[first]
        first += 1
    return True


def _transform(shared, indptr, indices, values, start, n, signs, scales, work, out):
    a, b = work[0], work[1]
    blocks = (scales.shape[0] + GROUP - 1) // GROUP
    groups = signs.shape[0] // (3 * blocks)
    for block in range(blocks):
        scale = scales[block * GROUP : (block + 1) * GROUP]
        for group in range(groups):
            first = 3 * (group * blocks + block)
            for i in range(n):
                lo, hi = indptr[start + i], indptr[start + i + 1]
                projected = out[i, block * GROUP : (block + 1) * GROUP]
                if group == 0:
                    for j in range(projected.shape[0]):
                        projected[j] = 0
                present = indices if shared == 1 else indices[lo:hi]
                if _with_signs(shared, present, values[lo:hi], group, signs[first], a):
                    _all_but_the_last(a, b)
                    _butterflies_and_signs(b, a, signs[first + 1])
                    _all_but_the_last(a, b)
                    _butterflies_and_signs(b, a, signs[first + 2])
                    _all_but_the_last(a, b)
                    _butterflies(b, a)
                    for j in range(projected.shape[0]):
                        projected[j] += scale[j] * a[j]


TRANSFORM = Pointer(_transform, "ixxriimrmm", value=False)


@lift_rows.register(StructuredRecord)
def _(record, map, block, start, stop, lifted):
    n, work, out = stop - start, lifted.work, lifted.projected
    rows = block.shared, block.indptr, block.indices, block.values
    call_for_effect(record.transform, *rows, start, n, map.signs, map.scales, work, out)
    call_for_effect(record.sincos, out, n, lifted.z)
