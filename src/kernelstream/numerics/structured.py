"""Structured random frequencies: a product of Hadamard matrices and random signs stands for the matrix of draws.

Yu, Suresh, Choromanski, Holtmann-Rice, Kumar: Orthogonal Random Features (2016), SORF.

    (u_1, ..., u_p)' = diag(s) sqrt(p) H S1 H S2 H S3,  H the orthonormal p x p Hadamard matrix, S random signs

The rows are orthogonal and of length sqrt(p), and each is nearly normal; s_j is the width of the j-th Gaussian of which
the kernel is a mixture. A row costs O(p log p) for p components instead of O(p d), and the map 3 p signs.

Components beyond p get signs of their own, and so does each further group of p features, whose share is added. p is
fixed: were it chosen by the first block's width, a feature that appears late would get other numbers than it would have
had from the start.
"""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import SIGNS, Kernel
from . import rng
from .compile import Pointer, inlined

# p: features of a group, components of a block. Cost per component is 3 log2(p) additions for every p features begun.
GROUP = 1024


class StructuredMap(NamedTuple):
    """z(x) = (sin u_1'x, ..., sin u_D'x, cos u_1'x, ..., cos u_D'x) for the u above."""

    signs: np.ndarray  # (groups * blocks * 3, GROUP) of +-1: S3, S2, S1 of each block, group by group
    scales: np.ndarray  # (D,): s / p, which makes good that H is applied as +-1


def signs(seed: int, group: int, block: int) -> np.ndarray:
    """S3, S2, S1 (3, GROUP) for a group of features and a block of components."""
    keys = np.array([rng.key(seed, SIGNS, group, block, factor) for factor in range(3)], np.uint64)
    return 1.0 - 2.0 * (rng.uniform(keys[:, None], np.arange(GROUP)) < 0.5)


def structured_map(kernel: Kernel, seed: int, n_features: int, n_components: int, dtype: Any) -> StructuredMap:
    scales = (kernel.scales(seed, n_components) / GROUP).astype(dtype)
    return with_groups(StructuredMap(np.zeros((0, GROUP), dtype), scales), seed, n_features)


def with_groups(map: StructuredMap, seed: int, n_features: int) -> StructuredMap:
    """The map for more features; what was drawn stays as it is."""
    blocks = _ceiling(len(map.scales))
    groups = range(len(map.signs) // (3 * blocks), _ceiling(n_features))
    new = [signs(seed, group, block).astype(map.signs.dtype) for group in groups for block in range(blocks)]
    return map._replace(signs=np.concatenate([map.signs, *new]))


def _ceiling(n: int) -> int:
    """Groups or blocks that n features or components need."""
    return -(-n // GROUP)


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
