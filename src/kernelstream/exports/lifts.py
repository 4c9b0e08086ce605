"""Lifted rows z(x), and linear functions of them."""

from typing import Any

import numpy as np
from scipy.linalg import hadamard

from ..numerics.lifts import Binning, Fourier, Identity, Lift, Nystrom, Structured
from ..numerics.lifts.binning import BITS, CELLS, FARTHEST, BinningMap
from ..numerics.lifts.structured import GROUP, StructuredMap
from .graph import Tensor
from .kernels import Metrics, kernel_values


def evaluated(lift: Lift, map: Any, weights: np.ndarray, x: Tensor, width: int) -> Tensor:
    """(rows, K) W'z(x)."""
    if isinstance(lift, Binning):
        return x.graph.constant(np.ascontiguousarray(weights.T)).taken(places(map, x), 0).sum(1)
    return lifted(lift, map, x, width) @ weights.T


def lifted(lift: Lift, map: Any, x: Tensor, width: int) -> Tensor:
    """(rows, length of z) of rows of so many features. Requires: a map that is ready."""
    if isinstance(lift, Identity):
        return x
    if isinstance(lift, Fourier):
        return waves(x @ map.frequencies)
    if isinstance(lift, Structured):
        return waves(x @ structured_frequencies(map)[:width])
    assert isinstance(lift, Nystrom)
    return kernel_values(lift.kernel, Metrics(x, map.f.points.T)) @ map.map.T


def waves(projected: Tensor) -> Tensor:
    """Sines, then cosines."""
    return projected.graph.joined([projected.node("Sin"), projected.node("Cos")], 1)


def structured_frequencies(map: StructuredMap) -> np.ndarray:
    """(d, D) diag(scales) H S1 H S2 H S3, written out, for as many features as groups have."""
    H, D = hadamard(GROUP), len(map.scales)
    blocks = -(-D // GROUP)
    groups = []
    for group in np.split(map.signs.astype(np.float64), len(map.signs) // (3 * blocks)):
        columns = [(H * s1) @ (H * s2) @ (H * s3) for s3, s2, s1 in group.reshape(blocks, 3, GROUP)]
        groups.append(np.concatenate(columns)[:D] * map.scales.astype(np.float64)[:, None])
    return np.concatenate([group.T for group in groups])


def places(map: BinningMap, x: Tensor) -> Tensor:
    """(rows, tables) which of all cells of all tables a row lies in."""
    d, tables = map.words.shape
    inverse, offset = (np.ascontiguousarray(part.T, np.float64) for part in (map.inverse, map.offset))
    steps = (x.cast(np.float64).reshape(-1, 1, d) * inverse + offset).clip(-FARTHEST, FARTHEST).node("Floor")
    # A product of matrices: onnxruntime's own sum of whole numbers is not exact.
    sums = (steps.cast(np.int64) * map.words.T) @ np.ones(d)
    top = sums.cast(np.uint64).node("BitShift", np.array(64 - BITS, np.uint64), direction="RIGHT")
    return top.cast(np.int64) + CELLS * np.arange(tables)
