"""Rows as a model takes them, and room in it for features and classes that are new."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine import Examples, Shape
from ..engine.calibration import Calibration
from ..engine.loop import AtOnce
from ..engine.runner import Runner
from ..numerics.rows import LARGEST, Block, Sample, as_matrix, as_reals, filled, n_rows, to_block
from ..tasks import Classification, Task
from .names import has_names

if TYPE_CHECKING:
    from .learner import Learner


def fitting_width(learner: "Learner", matrix: Any) -> int:
    """The width of the rows as the model sees them; refuses one that it does not take."""
    width = learner.inputs.features.width(matrix)
    if learner._runner is None or width == learner.width or learner.grow_features:
        return width
    raise ValueError(
        f"X has {width} features, but the model is expecting {learner.width} features as input. "
        "Set grow_features=True if features may appear later."
    )


def make_room(learner: "Learner", width: int, task: Task) -> None:
    """Begin with the first block; grow when a block is wider or brings new classes."""
    if learner._runner is None:
        shape = Shape(width, task.n_outputs, learner.seed, np.dtype(learner.dtype))
        spec = learner.algorithm.settle(task.name, Sample(0.0, 0))
        runner, opening = Runner(spec, task.name, spec.init(shape), shape, learner.sharing), learner._opening
    elif width > learner.width or task is not learner.task:
        shape = learner._runner.shape._replace(width=max(width, learner.width), n_outputs=task.n_outputs)
        runner, opening = learner._runner.grown(task.name, shape), learner._opening
        if task.name != learner.task.name and opening is not None:
            opening = opening.retargeted(lambda signs: (signs + 1.0) / 2.0)
    else:
        return
    link = learner._calibration
    if isinstance(link, Calibration) and isinstance(task, Classification):
        link = link.grown(len(task.classes))
    vars(learner).update(_runner=runner, _opening=opening, task=task, _calibration=link)


def known(learner: "Learner", block: Block, width: int) -> Block:
    """The block as the model takes it: without the features that it has never seen, which count as 0."""
    if width <= learner.width:
        return filled(block, learner.width)
    kept = block.indices < learner.width
    if block.shared:
        values = block.values.reshape(n_rows(block), -1)[:, : learner.width]
        indptr = np.arange(0, values.size + 1, learner.width)
        return Block(indptr, block.indices[kept], np.ascontiguousarray(values).reshape(-1), 1)
    counts = np.concatenate([[0], np.cumsum(kept)])
    return filled(Block(counts[block.indptr], block.indices[kept], block.values[kept], 0), learner.width)


def shown(learner: "Learner", X: Any) -> Block:
    """Rows that are only looked at, as the model sees them."""
    X = list(X) if isinstance(X, Iterator) else X
    if has_names(learner, X):
        X = np.zeros((len(X), 1)) if learner.columns is None else learner.columns.show(X)
    matrix = as_matrix(X)
    block, width = to_block(matrix, learner.dtype)  # what is wrong with the rows is said of them as they came
    if learner._runner is None:
        return block
    fitting_width(learner, matrix)
    if learner.inputs.features.changes:
        block, width = to_block(learner.inputs.features.apply(matrix), learner.dtype)
    return known(learner, block, width)


def examples_of(learner: "Learner", block: Block, targets: np.ndarray, weights: np.ndarray) -> Examples:
    n = len(targets)
    scores = np.zeros((n, learner.task.n_outputs), learner.dtype)
    return Examples(block, targets, weights, scores, np.zeros(n), AtOnce())


def weights_of(sample_weight: Any, n: int) -> np.ndarray:
    if sample_weight is None:
        return np.ones(n)
    weights = as_reals(sample_weight, "sample weights")
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}!")
    if not ((weights >= 0) & (weights <= LARGEST)).all():
        row = int(np.argmin((weights >= 0) & (weights <= LARGEST)))
        raise ValueError(f"Row {row}: the sample weight {weights[row]} must be between 0 and {LARGEST:g}.")
    return weights


def outputs_of(task: Task, targets: np.ndarray) -> np.ndarray:
    """(n, K): a target, or for each of several classes whether it is the row's."""
    K = task.n_outputs
    return targets[:, None] if K == 1 else (targets[:, None] == np.arange(K)).astype(np.float64)
