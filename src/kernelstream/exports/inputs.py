"""Scaling of features and of targets, in float64 as a learner does it."""

import numpy as np

from ..engine.inputs import FixedScaling, MetricScaling, OnlineScaling, Scaling
from ..numerics.rows import LARGEST
from .graph import Tensor


def scaled(scaling: Scaling, x: Tensor, width: int) -> Tensor:
    """Rows of so many features as a model is shown them."""
    if not scaling.changes:
        return x
    wide = x.cast(np.float64)
    if isinstance(scaling, OnlineScaling):
        wide = by_the_rows_so_far(scaling, wide, width)
    elif isinstance(scaling, FixedScaling):
        wide = (wide - scaling.offset) * scaling.factor
    elif isinstance(scaling, MetricScaling) and scaling.n_rows > 0:
        shifted = wide - padded(scaling.offset, width)
        wide = shifted @ padded(scaling.map, width) if scaling.full else shifted * padded(scaling.map, width)
    return wide.cast(x.dtype)


def by_the_rows_so_far(scaling: OnlineScaling, x: Tensor, width: int) -> Tensor:
    """Each row as if it came next: with it among n + 1 rows its shift from the mean before is n / (n + 1) of itself."""
    n, squares = scaling.n_rows, padded(scaling.squares, width)
    shift = x - padded(scaling.mean, width) if scaling.centred else x
    rest = n / (n + 1) if scaling.centred else 1.0
    deviation = ((squares + rest * shift * shift) / (n + 1)).node("Sqrt")
    varies = deviation.node("Greater", deviation.like(0.0), dtype=np.bool_)
    by = x.graph.node("Where", varies, deviation, deviation.like(np.inf), dtype=x.dtype)
    return (rest * shift / by).clip(-LARGEST, LARGEST)


def padded(array: np.ndarray, width: int) -> np.ndarray:
    """With zeros for the features that it does not know."""
    return np.pad(array, [(0, width - n) for n in array.shape])


def in_the_targets_unit(scaling: Scaling, scores: Tensor) -> Tensor:
    """Scores as the targets came, in float64 where these were scaled."""
    if not scaling.changes:
        return scores
    zero, one = scaling.undo(np.array([[0.0], [1.0]]))[:, 0]
    unit, wide = one - zero, scores.cast(np.float64)
    return (wide + zero / unit) * unit if unit > 0.0 else 0.0 * wide + zero
