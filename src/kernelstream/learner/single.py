"""One row at a time: the short ways for rows of numbers, and rows that wait for their label."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from ..encoding.values import MEAN
from ..engine.lane import Lane
from ..engine.runner import Runner
from ..engine.waiting import as_id
from ..numerics.interrupts import held
from ..numerics.rows import as_matrix, to_block, unmasked
from .names import taking_names
from .room import fitting_width, make_room, weights_of

if TYPE_CHECKING:
    from .learner import Learner


def as_rows(x: Any) -> Any:
    """One row as a block of rows."""
    if isinstance(x, Mapping):
        return [x]
    shape = x.shape if issparse(x) else np.shape(x)
    if len(shape) != 1:
        raise ValueError(
            f"One row is a dictionary or an array of shape (features,); got shape {shape}. "
            "Give a row of it, X[0], or all of them to learn, scores or predict."
        )
    return np.asarray(unmasked(x, "values"))[None]


def as_weight(weight: Any) -> float:
    """The weight of one row; None counts as 1, as it does of a block."""
    return float(weights_of(None if weight is None else [weight], 1)[0])


def score_row(learner: "Learner", x: Any) -> np.ndarray | None:
    """The short way for a row of numbers, (1, K); None where the long one must look at it."""
    learner._catch_up()
    with learner._turns.reading:
        if learner._runner is None:
            return None
        if type(x) is dict and learner.columns is not None:
            x = learner.columns.known(x)
        features, targets = learner.inputs
        scores = learner._runner.score_one(x, features.apply_one if features.changes else None)
        return targets.undo(scores) if scores is not None and targets.changes else scores


def learn_row(learner: "Learner", x: Any, y: Any, weight: float) -> np.ndarray | None:
    """The short way for a row of numbers, (1, K); None where the long one must look at it."""
    a, b, c, d = learner._turns.all
    with learner._turns.learning, a, b, c, d:
        runner, target = learner._runner, learner.task.encode_one(y)
        if runner is None or target is None or learner._opening is not None or learner._watching is not None:
            return None
        columns = learner.columns if type(x) is dict else None
        row = x if columns is None else columns.complete(x)
        if columns is None or columns.missing != MEAN:
            return _learn_numbers(learner, runner, row, target, weight)
        with held():
            scores = _learn_numbers(learner, runner, row, target, weight)
            if scores is not None and row is not None:
                columns.note(row)
        return scores


def _learn_numbers(learner: "Learner", runner: Runner, row: Any, target: float, weight: float) -> np.ndarray | None:
    features, targets = learner.inputs
    try:
        if features.follows or targets.changes:
            return _learn_scaled(learner, runner, row, target, weight)
        note = learner._calibration.learn_one if learner._calibration else _note_nothing
        found = runner.learn_one(row, target, weight, note, features.learn_one if features.changes else None)
    except FloatingPointError:
        learner.losses = np.zeros(0)
        raise
    if found is None:
        return None
    scores, learner.losses = found
    return scores


def _learn_scaled(learner: "Learner", runner: Runner, row: Any, target: float, weight: float) -> np.ndarray | None:
    inputs, calibration, given, offset, unit = learner.inputs, learner._calibration, target, None, None
    if inputs.follows:
        inputs = inputs.copy()
    features, targets = inputs
    if targets.changes:
        (given,), offset, unit = targets.learn_targets(np.array([target]))

    def note(scores: np.ndarray, _: float, weight: float, row: int) -> None:
        if calibration:
            calibration.learn_one(scores if unit is None else offset + unit * scores, target, weight, row)
        learner.inputs = inputs

    found = runner.learn_one(row, given, weight, note, features.learn_one if features.changes else None)
    if found is None:
        return None
    scores, learner.losses = found
    return scores if unit is None else np.asarray(offset + unit * scores)


def _note_nothing(*_: Any) -> None:
    pass


def lane_of(learner: "Learner") -> Lane | None:
    """The shortest way for dictionaries of known numbers; None while there is none."""
    columns, runner = learner.columns, learner._runner
    if columns is None or runner is None or columns.plain != learner.width or columns.missing == MEAN:
        return None
    as_they_come = not (learner.inputs.features.changes or learner.inputs.targets.changes)
    if learner._opening is not None or learner._watching is not None or not as_they_come:
        return None
    return Lane(learner, columns.numbers)


def show_waiting(learner: "Learner", x: Any, id: Any) -> np.ndarray:
    """Scores (1, K) of a row that waits for its label from now on."""
    id = as_id(id)
    with learner._turns.learning:
        if not isinstance(x, Mapping):
            return _show_waiting(learner, as_matrix(as_rows(x)).astype(np.float64), id)
        with learner._turns.alone(), taking_names(learner, [x]) as columns:
            return _show_waiting(learner, columns.take([x]), id)


def _show_waiting(learner: "Learner", X: Any, id: Any) -> np.ndarray:
    to_block(X, learner.dtype)
    width = fitting_width(learner, X)
    with learner._turns.alone():
        if learner._runner is not None:
            make_room(learner, width, learner.task)
        scores = learner.show(X)
        learner.waiting.add(id, X[0])
    return scores


def learn_waiting(learner: "Learner", id: Any, y: Any, weight: float) -> np.ndarray:
    """Learn the label of a row that waited for it; its scores (K,) from before."""
    id = as_id(id)
    with learner._turns.learning, held():
        row = learner.waiting.row(id)
        row = np.pad(row, (0, max(0, learner.width - len(row))))
        scores = learner.learn_one(row, y, weight)
        learner.waiting.drop(id)
        return scores
