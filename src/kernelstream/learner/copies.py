"""Copies of a learner: as it stands, for predictions and files while it learns on, and in another's place."""

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.opening import opening_from
from ..engine.runner import Runner
from ..engine.state import copied, leaves
from ..engine.turns import Turns

if TYPE_CHECKING:
    from .learner import Learner


def snapshot(learner: "Learner", reuse: "Learner | None") -> "Learner":
    """The learner as it stands; in the arrays of an earlier copy, where they still fit."""
    with learner._turns.learning:
        twin = None if reuse is None else _rewritten(learner, reuse)
        if twin is None:
            twin = copy.copy(learner)
            twin._turns = Turns()
            if learner._runner is None:
                twin.restart()
                twin.columns = None if learner.columns is None else learner.columns.copy()
            else:
                become(twin, learner)
                twin._runner.stand_at(learner._runner)  # type: ignore[union-attr]
        twin.waiting = learner.waiting.copy()
        twin._watching = None if learner._watching is None else learner._watching.copy()
    return twin


def become(learner: "Learner", other: "Learner") -> None:
    """Know what the other knows, and nothing else."""
    theirs = other._runner
    assert theirs is not None
    learner._runner = Runner(
        theirs.spec, theirs.task, copied(theirs.state), theirs.shape, learner.sharing, int(theirs.learned)
    )
    learner._opening = None if other._opening is None else opening_from(other._opening.arrays(), theirs.shape.width)
    learner.task, learner.inputs = other.task, other.inputs.copy()
    learner.columns, learner._heads = None if other.columns is None else other.columns.copy(), other._heads
    learner._calibration = other._calibration.copy() if other._calibration else None


def _rewritten(learner: "Learner", twin: "Learner") -> "Learner | None":
    """A twin from before with what the learner knows now; None where they have grown apart."""
    mine, theirs = learner._runner, twin._runner
    if mine is None or theirs is None or learner._opening or mine.spec is not theirs.spec or mine.shape != theirs.shape:
        return None
    source, target = (leaves(one.state, derived=True) for one in (mine, theirs))
    if mine.is_due or any(a.shape != target[name].shape for name, a in source.items()):
        return None
    for name, array in source.items():
        np.copyto(target[name], array)
    if learner.columns is not None:
        known = twin.columns is not None and len(twin.columns.entries) == len(learner.columns.entries)
        twin.columns = twin.columns.with_means(learner.columns) if known else learner.columns.copy()  # type: ignore[union-attr]
    twin._heads = learner._heads
    twin._calibration = learner._calibration.copy() if learner._calibration else None
    twin.inputs, twin.task, twin._opening = learner.inputs.copy(), learner.task, None
    theirs.stand_at(mine)
    return twin


# Pickles: addresses of compiled code mean nothing in another process.


def pickled(learner: "Learner") -> dict[str, Any]:
    """What a pickle keeps: of the runner what makes an equal one."""
    runner = learner._runner
    kept = None
    if runner is not None:
        kept = (runner.spec, runner.task, runner.state, runner.shape, runner.sharing, int(runner.learned))
    return {**vars(learner), "_runner": kept}


def unpickle(learner: "Learner", kept: dict[str, Any]) -> None:
    vars(learner).update(kept)
    if kept["_runner"] is not None:
        learner._runner = Runner(*kept["_runner"])
