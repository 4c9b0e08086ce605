"""Runner: takes blocks of rows through the engine, on one core or on several, with the same bits."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..numerics.compile import direct
from ..numerics.rows import Block
from . import cores
from .contract import BOTH, LEARN, LIFT, LONGEST_CHUNK, Algorithm, Shape, run, run_late, run_scores
from .state import on_lines


class Sharing(NamedTuple):
    """When threads share the rows of a call, and in what pieces; no result depends on it."""

    chunk: int = LONGEST_CHUNK  # most rows that are lifted together, a multiple of 4
    worth: Callable[[float, float, float], bool] = cores.worth


AS_IT_PAYS = Sharing()


class Runner:
    """What the engine needs to run a model: its record, its state, and desks to work on (an algorithm's scratch)."""

    def __init__(self, spec: Algorithm, record: Any, state: Any, shape: Shape, sharing: Sharing = AS_IT_PAYS):
        self.spec, self.record, self.state, self.shape, self.sharing = spec, record, state, shape, sharing
        self.reached = 0  # the next row to learn from, or -1 - t when row t's scores are not finite
        self._desks = [self._desk()]
        self._halt = self._desks[0].common.halt  # all of them share it
        self._spare: list[Any] = []

    def _desk(self) -> Any:
        desk = on_lines(self.spec.scratch(self.state, self.shape))
        return desk._replace(common=desk.common._replace(chunk=min(desk.common.chunk, self.sharing.chunk)))

    def learn(self, given: Any, start: int, threads: int) -> None:
        """Predict, then learn, the rows from `start` on, to the end or to where the model must be prepared for more.

        given: block, targets, weights, scores and losses, as `engine.run` takes them.
        Ensures: `reached` says how far it came, also when it was interrupted.
        """
        self.reached, self._halt[()] = start, 0
        desk, n = self._desks[0], len(given[1])
        chunks = (n - start) / desk.common.chunk
        if threads > 1 and chunks >= cores.FEWEST_CHUNKS and self.spec.lifts_ahead(self.state):
            stop = start + desk.common.chunk
            began = time.perf_counter()
            run(self.record, self.state, desk, *given, start, stop, LIFT)
            lifted = time.perf_counter()
            self.reached = run(self.record, self.state, desk, *given, start, stop, LEARN)
            if self.reached != stop or self._halt[()]:
                return
            start = stop
            if self.sharing.worth(lifted - began, time.perf_counter() - lifted, chunks):
                self._learn_in_turn(given, start, threads)
                return
        self.reached = run(self.record, self.state, desk, *given, start, n, BOTH)

    def _learn_in_turn(self, given: Any, start: int, threads: int) -> None:
        while len(self._desks) < threads:
            desk = self._desk()
            self._desks.append(desk._replace(common=desk.common._replace(halt=self._halt)))
        n = len(given[1])
        run_chunk = direct(run, self.record, self.state, self._desks[0], *given, start, n, BOTH)

        def lift(desk: Any, first: int, stop: int) -> None:
            run_chunk(self.record, self.state, desk, *given, first, stop, LIFT)

        def learn(desk: Any, first: int, stop: int) -> bool:
            self.reached = run_chunk(self.record, self.state, desk, *given, first, stop, LEARN)
            return self.reached == stop and not self._halt[()]

        cores.in_turn(lift, learn, self._desks[:threads], start, n)

    def learn_late(self, given: Any, start: int, block: Block, shown: np.ndarray) -> None:
        """`learn`, and before row t is learned from, shown[t] = f(row t of another block)."""
        self.reached, self._halt[()] = start, 0
        self.reached = run_late(self.record, self.state, self._desks[0], *given, start, self._desk(), block, shown)

    def score(self, block: Block, scores: np.ndarray, threads: int) -> None:
        """scores[t] = f(row t), learning nothing; several callers may do so at the same time."""
        desk, start, n = self._spare_desk(), 0, len(scores)
        chunks = n / desk.common.chunk
        if threads > 1 and chunks >= cores.FEWEST_CHUNKS:
            start = desk.common.chunk
            began = time.perf_counter()
            run_scores(self.record, self.state, desk, block, scores, 0, start)
            if self.sharing.worth(time.perf_counter() - began, 0.0, chunks):
                self._score_in_pieces(block, scores, [desk, *(self._spare_desk() for _ in range(threads - 1))])
                return
        run_scores(self.record, self.state, desk, block, scores, start, n)
        self._spare.append(desk)

    def _score_in_pieces(self, block: Block, scores: np.ndarray, desks: list[Any]) -> None:
        """The rest of the rows, behind the first chunk."""

        def work(desk: Any, start: int, stop: int) -> None:
            run_scores(self.record, self.state, desk, block, scores, start, stop)

        cores.in_pieces(work, desks, desks[0].common.chunk, len(scores))
        self._spare.extend(desks)

    def _spare_desk(self) -> Any:
        """One that nobody works on: each caller takes one, or makes its own."""
        try:
            return self._spare.pop()
        except IndexError:
            return self._desk()
