"""A worker: learns rows of pieces with a copy of the synchronised model, and merges models. It knows no cluster.

What it hands out and takes in are the parts of a model (`Learner.to_parts`): a JSON value and arrays.
"""

import copy
import os
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..evaluate.models import OwnModel
from ..learner import Learner
from ..metrics import Metric
from ..numerics.memory import zeros
from ..sources import LabelledBlock, Source, SourceError
from ..sources.base import Notice, placed
from ..tasks import Classification
from .ledger import Work

_PLACE = f"{socket.gethostname()}, process {os.getpid()}"

Parts: TypeAlias = tuple[dict[str, Any], dict[str, np.ndarray]]


def learner_of(model: Parts) -> Learner:
    """A learner with arrays of its own."""
    header, arrays = model
    return Learner.from_parts(header, {name: _copied(array) for name, array in arrays.items()})


def _copied(array: np.ndarray) -> np.ndarray:
    """A copy that lies where a state's arrays do, and need not be copied again."""
    room = zeros(array.shape, array.dtype)
    room[...] = array
    return room


class Learned(NamedTuple):
    """What came of a call: rows learned, whether they were the piece's last, seconds, labels that no model knows and
    before whose first row it stopped, how far the model has moved, whether copies of it can learn apart, where it was;
    how many rows of the piece were left out so far, and what there is to tell of it.
    """

    rows: int
    ended: bool
    seconds: float
    strangers: list[Any]
    moved: float
    settled: bool
    place: str
    skipped: int
    told: dict[str, Notice]


class Task(NamedTuple):
    """What all workers are told. metrics: what is measured of each row before it is learned. head: the source whose
    first rows were looked at. measures: whether `Learned.moved` is asked for.
    """

    metrics: Sequence[Metric]
    head: Source
    measures: bool = False


class Unready(RuntimeError):
    """A worker that died while it was asked for nothing, and has come back without a model."""


class Worker:
    """Before anything else it adopts a model."""

    def __init__(self) -> None:
        self._task: Task | None = None
        self._place: tuple[int, int] | None = None  # in which piece, after how many rows the open pass is
        self._piece: Source | None = None  # whose pass it is: each call brings a copy
        self._pass: Iterator[LabelledBlock] = iter(())
        self._rest: LabelledBlock | None = None

    def adopt(self, task: Task, model: Parts) -> None:
        """Go on from this model, as all others do."""
        if self._task is None:
            # What is loaded and compiled for the first rows takes longer than many a round.
            learner_of(model).warm_up()
            next(iter(copy.copy(task.head)), None)
        self._task, self._begun = task, learner_of(model)
        self._learner = self._begun.snapshot()
        self._judges = [metric.fresh(self._classes) for metric in task.metrics]

    def _required(self) -> Task:
        if self._task is None:
            raise Unready("a worker was started again and has no model yet.")
        return self._task

    def words(self, piece: Source, head: Source) -> list[list[str]]:
        """The words of a piece that become features, in the order in which they come."""
        for _ in piece.after(head):
            pass
        found: list[list[str]] = (piece.encoding or {}).get("categories", [])
        return found

    def learn(self, work: Work, piece: Source, most: int) -> Learned:
        """Predict and learn at most so many rows of a piece, from those on that were learned before."""
        task = self._required()
        start, rows, model = time.perf_counter(), 0, OwnModel(self._learner)
        kinds = frozenset(judge.needs for judge in self._judges)
        self._go_to(work, piece, task.head)
        strangers: list[Any] = []
        while rows < most and not strangers and (block := self._next(piece)) is not None:
            X, y = block
            stop, strangers = self._known(y[: most - rows])
            self._rest = (X[stop:], y[stop:]) if stop < len(y) else None
            if stop > 0:
                shown = model.learn(X[:stop], y[:stop], kinds)
                for judge in self._judges:
                    if self._classes is not None:
                        judge.classes = self._classes
                    judge.update(y[:stop], shown[judge.needs])
            rows += stop
        self._place = work.piece, work.skip + rows
        if self._rest is None and not strangers:
            self._rest = self._next(piece)
        asked = task.measures and self._begun.is_settled and rows > 0
        moved = self._learner.distance(self._begun) if asked else 0.0
        ended, seconds = self._rest is None, time.perf_counter() - start
        told = (0, {}) if self._piece is None else (self._piece.skipped, dict(self._piece.told))
        return Learned(rows, ended, seconds, strangers, moved, self._learner.is_settled, _PLACE, *told)

    def give(self) -> tuple[Parts, list[dict[str, Any]]]:
        """The model, and what was measured since the last one was adopted."""
        self._required()
        return self._learner.to_parts(), [judge.state() for judge in self._judges]

    def merged(self, other: Parts) -> tuple[Parts, None]:
        """This worker's model and another that went on from the one adopted last, as one."""
        self._required()
        self._learner.merge(learner_of(other), since=self._begun)
        return self._learner.to_parts(), None

    @property
    def _classes(self) -> np.ndarray | None:
        task = self._learner.task
        return task.classes if isinstance(task, Classification) else None

    def _known(self, y: np.ndarray) -> tuple[int, list[Any]]:
        """How many rows come before the first label that the model does not know, and the labels from there on."""
        task = self._learner.task
        if not (self._learner.grow_classes and isinstance(task, Classification) and self._begun.is_settled):
            return len(y), []
        new = task.newcomers(y)
        return (new[0], [y[row : row + 1].tolist()[0] for row in new]) if new else (len(y), [])

    def _go_to(self, work: Work, piece: Source, head: Source) -> None:
        """Have the pass stand before the row that comes next: where it is already, or from the piece's first row on."""
        if self._place == (work.piece, work.skip):
            return
        self._piece, self._pass, self._rest, left = piece, piece.after(head), None, work.skip
        while left > 0:
            block = self._next(piece)
            if block is None:
                raise ValueError(f"{piece.name} has fewer than the {work.skip} rows that were learned; give the same.")
            X, y = block
            self._rest = (X[left:], y[left:]) if left < len(y) else None
            left -= min(left, len(y))

    def _next(self, piece: Source) -> LabelledBlock | None:
        if self._rest is not None:
            block, self._rest = self._rest, None
            return block
        try:
            return next(self._pass, None)
        except SourceError as error:
            raise placed(error, piece) from None
