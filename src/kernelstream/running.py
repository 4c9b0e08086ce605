"""Runner: takes blocks of rows through the engine, on one core or on several, with the same bits."""

import time
from typing import Any

import numpy as np

from ._compile import direct
from .cores import in_pieces, in_turn, opening, worth_sharing
from .engine import BOTH, LEARN, LIFT, Algorithm, Shape, run, run_late, run_scores
from .rows import Block


class Runner:
    """What the engine needs to run a model: its record, its state, and desks to work on (an algorithm's scratch)."""

    def __init__(self, spec: Algorithm, record: Any, state: Any, shape: Shape):
        self.spec, self.record, self.state, self.shape = spec, record, state, shape
        self.reached = 0  # the next row to learn from, or -1 - t when row t's scores are not finite
        self._desks = [self._desk()]
        self._halt = self._desks[0].common.halt  # all desks share it

    def _desk(self) -> Any:
        return self.spec.scratch(self.state, self.shape)

    def learn(self, given: Any, start: int, threads: int) -> None:
        """Predict, then learn, the rows from `start` on, to the end or to where the model must be prepared for more.

        given: block, targets, weights, scores and losses, as `engine.run` takes them.
        Ensures: `reached` says how far it came, also when it was interrupted.
        """
        self.reached, self._halt[()] = start, 0
        desk, n = self._desks[0], len(given[1])
        several = threads > 1 and self.spec.lifts_ahead(self.state)
        opened = opening(desk, n - start) if several else n - start
        began = time.perf_counter()
        self.reached = run(self.record, self.state, desk, *given, start, start + opened, BOTH)
        if self.reached != start + opened or self.reached == n or self._halt[()]:
            return
        start, seconds = self.reached, (time.perf_counter() - began) / opened
        if worth_sharing(seconds * (n - start)):
            self._learn_in_turn(given, start, threads)
        else:
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

        in_turn(lift, learn, self._desks[:threads], start, n)

    def learn_late(self, given: Any, start: int, block: Block, shown: np.ndarray) -> None:
        """`learn`, and before row t is learned from, shown[t] = f(row t of another block)."""
        self.reached, self._halt[()] = start, 0
        self.reached = run_late(self.record, self.state, self._desks[0], *given, start, self._desk(), block, shown)

    def score(self, block: Block, scores: np.ndarray, threads: int) -> None:
        """scores[t] = f(row t), learning nothing; several callers may do so at the same time."""

        def work(desk: Any, start: int, stop: int) -> None:
            run_scores(self.record, self.state, desk, block, scores, start, stop)

        desk, n = self._desk(), len(scores)
        opened = opening(desk, n) if threads > 1 else n
        began = time.perf_counter()
        work(desk, 0, opened)
        if opened == n:
            return
        if worth_sharing((time.perf_counter() - began) / opened * (n - opened)):
            in_pieces(work, [desk, *(self._desk() for _ in range(threads - 1))], opened, n)
        else:
            work(desk, opened, n)
