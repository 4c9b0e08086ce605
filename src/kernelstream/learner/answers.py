"""What scores stand for: chances of classes, intervals of values, and how sure a model is of a row."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import tasks
from ..engine.calibration import Calibration
from ..losses import as_loss
from ..numerics.intervals import Intervals
from ..numerics.memory import one_blas_thread
from ..numerics.rows import n_rows
from ..tasks import Classification
from .room import shown, weights_of

if TYPE_CHECKING:
    from .learner import Learner


def calibration_for(learner: "Learner") -> Calibration | Intervals | None:
    """What is learned of how good the scores are: of values, and of margins; other classifiers have chances of their
    own.
    """
    if not isinstance(learner.task, Classification):
        return Intervals()
    if has_own_chances(learner) or learner.without_labels:
        return None
    return Calibration.of(len(learner.task.classes))


def has_own_chances(learner: "Learner") -> bool:
    """Whether the algorithm, or its loss, says what chances scores stand for."""
    loss = getattr(learner.algorithm, "loss", "auto")
    if learner.algorithm.models_probabilities:
        return True
    return loss != "auto" and learner.task.name in as_loss(loss).probabilistic


def probabilities_of(learner: "Learner", scores: np.ndarray) -> np.ndarray:
    """The class probabilities (n, classes) that scores stand for."""
    if not isinstance(learner.task, Classification):
        raise ValueError(tasks.NO_CLASSES)
    if learner.without_labels:
        raise ValueError(tasks.NO_CHANCES)
    if len(learner.task.classes) == 1:
        return np.ones((len(scores), 1))
    if isinstance(learner._calibration, Calibration):
        with learner._turns.reading:
            return learner._calibration.chances(scores)
    if learner.algorithm.models_probabilities:
        return learner.algorithm.probabilities(None if learner._runner is None else learner._runner.state, scores)
    scores = scores.astype(np.float64)
    if learner.task.n_outputs == 1:
        scores = np.concatenate([-scores / 2.0, scores / 2.0], axis=1)
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def intervals_in(learner: "Learner") -> Intervals:
    """The intervals that a regression has learned."""
    if not isinstance(learner._calibration, Intervals):
        raise ValueError(tasks.NO_INTERVALS)
    return learner._calibration


def deviations(learner: "Learner", X: Any) -> np.ndarray:
    """Of each row's targets around its scores, (n, K)."""
    block, algorithm, runner = shown(learner, X), learner.algorithm, learner._runner
    if runner is None:
        found = np.full((n_rows(block), learner.task.n_outputs), np.inf)
        return found if algorithm.models_deviations else algorithm.deviations(None, None, iter(()))
    with one_blas_thread():
        found = runner.spec.deviations(runner.record, runner.state, runner.chunks(block))
    undo, shape = learner.inputs.targets.undo, (1, learner.task.n_outputs)
    return found * (undo(np.ones(shape)) - undo(np.zeros(shape)))


def spreads(learner: "Learner", X: Any) -> np.ndarray:
    """How little is known of each row, (n,)."""
    block, algorithm, runner = shown(learner, X), learner.algorithm, learner._runner
    if runner is None:
        found = np.full(n_rows(block), np.inf)
        return found if algorithm.models_spreads else algorithm.spreads(None, iter(()))
    with one_blas_thread():
        return runner.spec.spreads(runner.state, runner.chunks(block))


def leave_one_out(learner: "Learner", X: Any, y: Any, sample_weight: Any) -> np.ndarray:
    """Target minus score, (n, K), each under the model of all rows but this one."""
    if learner._runner is None or learner.n_seen == 0:
        raise ValueError("No row was learned yet, so that none can be left out.")
    if learner.inputs.follows:
        raise ValueError(
            'With scaling="online" a row is known as it was scaled when it came. Fit a scaling, or scale the rows.'
        )
    block, runner = shown(learner, X), learner._runner
    weights, targets = weights_of(sample_weight, n_rows(block)), learner.task.encode(y)
    scaled = learner.inputs.targets.learn_targets(targets)[0]
    with one_blas_thread():
        return runner.spec.left_out(runner.record, runner.state, runner.chunks(block), scaled, weights)
