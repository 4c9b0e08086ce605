"""Lifted rows z(x), and linear functions of them."""

from typing import Any

import numpy as np

from ..numerics.lifts import Binning, Fourier, Identity, Lift, Nystrom, Structured
from ..numerics.lifts.binning import BITS, CELLS, FARTHEST, BinningMap
from ..numerics.lifts.structured import written_out
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
        return waves(x @ written_out(map, width))
    assert isinstance(lift, Nystrom)
    return kernel_values(lift.kernel, Metrics(x, map.f.points.T)) @ map.map.T


def waves(projected: Tensor) -> Tensor:
    """Sines, then cosines."""
    return projected.graph.joined([projected.node("Sin"), projected.node("Cos")], 1)


def places(map: BinningMap, x: Tensor) -> Tensor:
    """(rows, tables) which of all cells of all tables a row lies in."""
    d, tables = map.words.shape
    inverse, offset = (np.ascontiguousarray(part.T, np.float64) for part in (map.inverse, map.offset))
    steps = (x.cast(np.float64).reshape(-1, 1, d) * inverse + offset).clip(-FARTHEST, FARTHEST).node("Floor")
    # A product of matrices: onnxruntime's own sum of whole numbers is not exact.
    sums = (steps.cast(np.int64) * map.words.T) @ np.ones(d)
    top = sums.cast(np.uint64).node("BitShift", np.array(64 - BITS, np.uint64), direction="RIGHT")
    return top.cast(np.int64) + CELLS * np.arange(tables)
