"""What scores stand for: labels, and chances of classes."""

import math
from typing import Any

import numpy as np

from ..algorithms import Auto, Ridge, Stack
from ..algorithms._recursive import RecursiveAlgorithm
from ..engine import Algorithm
from ..learner import Learner
from ..numerics.link import FLOOR
from ..numerics.margins import SMALLEST, MarginLink, surest
from ..tasks import Binary, Classification
from .graph import Tensor


def labels(task: Classification, scores: Tensor) -> Tensor:
    """(rows,) the classes as they were given."""
    if isinstance(task, Binary):
        place = scores.node("GreaterOrEqual", scores.like(0.0), dtype=np.bool_).cast(np.int64).reshape(-1)
    else:
        place = scores.node("ArgMax", dtype=np.int64, axis=1, keepdims=0)
    return scores.graph.constant(written(task.classes)).taken(place, 0)


def written(classes: np.ndarray) -> np.ndarray:
    """Classes of a type that a graph knows."""
    kind = classes.dtype.kind
    if kind in "iu":
        return classes.astype(np.int64)
    if kind in "fb":
        return classes
    if kind in "UO" and all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(object)
    raise ValueError(f"Labels of dtype {classes.dtype} cannot be written to a graph; use numbers or strings.")


def probabilities(learner: Learner, task: Classification, spec: Algorithm, state: Any, scores: Tensor) -> Tensor:
    """(rows, classes), as `Learner.probabilities_of` gives them."""
    f, two, link = scores.cast(np.float64), isinstance(task, Binary), learner.link
    if len(task.classes) == 1:
        return 0.0 * f + 1.0
    both = f.graph.joined([-f, f], 1) if two else f
    if link is not None:
        return by_margins(link, 0.5 * both if two else both)
    if isinstance(spec, Auto | Stack):
        return by_shares(state.link if isinstance(spec, Auto) else state.own.link, both)
    if isinstance(spec, Ridge | RecursiveAlgorithm):
        share = ((1.0 + both) / 2.0).clip(1e-3, 1.0 - 1e-3)
        return share / share.sum(1, keep=True)
    return softmax(0.5 * both if two else both)  # the loss's own


def by_shares(link: np.ndarray, both: Tensor) -> Tensor:
    logs = ((1.0 + both) / 2.0).node("Max", both.like(FLOOR)).node("Log")
    return softmax(link[0, 0] * logs + link[1, 0] * both)


def by_margins(link: MarginLink, both: Tensor) -> Tensor:
    size = math.sqrt(link.spread[0] / link.spread[1]) if link.spread[1] > 0.0 else 1.0
    highest = both.node("ReduceMax", np.array([1]), keepdims=1)
    said = link.slopes[0] / max(size, SMALLEST) * (both - highest)
    return softmax(said.node("Max", said.like(surest(link))))


def softmax(f: Tensor) -> Tensor:
    return f.node("Softmax", axis=1)
