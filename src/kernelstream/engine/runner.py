"""Runner: a model that runs: a settled spec, its state, and blocks of rows through the engine with the same bits on one
core and on several.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np

from ..numerics.compile import direct
from ..numerics.interrupts import held
from ..numerics.memory import one_blas_thread
from ..numerics.rows import Block, n_rows
from . import cores
from .ahead import Ahead
from .contract import LONGEST_CHUNK, Algorithm, Chunk, Shape
from .loop import BOTH, LATER, LEARN, LIFT, NEVER, AtOnce, Examples, Late, learn_rows, score_rows
from .single import Single, note_interrupted
from .state import on_lines


class Sharing(NamedTuple):
    """When threads share the rows of a call, and in what pieces; no result depends on it."""

    chunk: int = LONGEST_CHUNK  # most rows that are lifted together, a multiple of 4
    worth: Callable[[float, float, float], bool] = cores.worth
    beside: bool = cores.DEFAULT_THREADS > 1  # whether work that can wait is done by a helper


AS_IT_PAYS = Sharing()


class Runner:
    """What the engine needs to run a model: its record, its state, and scratch for each thread."""

    _state: Any
    _late: Any  # scratch of rows that are shown beside those that are learned, once it is needed
    _scratches: list[Any]
    _spare: list[Any]  # scratch for predictions that nobody works on
    _singles: list[Single]
    _learn_chunk: Callable[..., int]
    _chunks_of: tuple[Any, ...]  # how examples were stored for which it is

    def __init__(
        self, spec: Algorithm, task: str, state: Any, shape: Shape, sharing: Sharing = AS_IT_PAYS, learned: int = 0
    ):
        """learned: how many rows the state has learned. Requires: a settled spec."""
        self.spec, self.task, self.shape, self.sharing = spec, task, shape, sharing
        self.record = spec.lowered(task, shape.dtype)
        self._working: Future[None] | None = None
        self._work: Callable[[], None] = lambda: None
        self._finishing = threading.Lock()
        self._ahead = Ahead(new_runner, beside=sharing.beside)
        # All scratches share these: whether `prepare` is due before the next row, and how many rows were learned, which
        # compiled code counts together with learning them.
        self._halt, self.learned = np.ones((), np.int64), np.array(learned, np.int64)
        self._began = learned  # `learned` when the newest call began
        self._adopt(state)

    @property
    def reached(self) -> int:
        """Rows that the newest call has learned."""
        return int(self.learned) - self._began

    @property
    def state(self) -> Any:
        """The model, with nothing left to be done to it."""
        self._finish()
        return self._state

    def _finish(self) -> None:
        """Have done what is done beside the rows."""
        with self._finishing:
            if self._working is not None:
                if self._working.cancel():  # no helper was free
                    self._work()
                else:
                    working, self._working = self._working, Future()  # where it fails, it is done here
                    working.result()
                self._working = None

    def _adopt(self, state: Any) -> None:
        """Go on with this state; where there is no memory for all that goes with it, with the one before."""
        state = on_lines(state)
        scratches = [self._room_for(state)]
        vars(self).update(_state=state, _scratches=scratches, _spare=[], _singles=[], _late=None, _chunks_of=())

    def scratch(self) -> Any:
        return self._room_for(self._state)

    def _room_for(self, state: Any) -> Any:
        scratch = on_lines(self.spec.scratch(state, self.shape))
        chunk = min(scratch.common.chunk, self.sharing.chunk)
        return scratch._replace(common=scratch.common._replace(chunk=chunk, halt=self._halt, learned=self.learned))

    def stand_at(self, other: "Runner") -> None:
        """Be where another runner of the same model is, whose state was copied into this one's."""
        self.learned[()], self._halt[()] = other.learned, other._halt

    @property
    def is_due(self) -> bool:
        """Whether the model must be prepared before the next row."""
        return bool(self._halt[()])

    def make_ready(self) -> None:
        """Have the model prepared for more rows. An interrupt waits: a state may change in place."""
        if not self.is_due:
            return
        with held():
            state = self.spec.prepare(self.record, self.state, self._ahead)
            if state is not self._state:
                self._adopt(state)
            work = self.spec.work_beside(self._state)
            self._halt[()] = 0
            if work is not None:
                self._work, self._working = work, cores.ask(work) if self.sharing.beside else Future()
            if not self.sharing.beside:
                self._finish()

    def grown(self, task: str, shape: Shape) -> "Runner":
        """The same function for more features or outputs; where a binary task has become one of several classes, one
        with the same margins.
        """
        state = self.state
        with one_blas_thread():
            if self.task != task:
                state = self.spec.split(state, self.shape)
            state = self.spec.grow(state, shape)
        return Runner(self.spec, task, state, shape, self.sharing, int(self.learned))

    def learn(self, examples: Examples, threads: int, shown: tuple[Block, np.ndarray] | None = None) -> None:
        """Predict, then learn, all rows; `shown` are rows whose scores are filled in beside them (`loop.Late`).

        Ensures: `reached` says how far it came, also when it was interrupted. FloatingPointError: the scores of the row
        `reached`, or the step from it, are not finite; nothing was learned from it.
        """
        self._began = int(self.learned)
        while self.reached < len(examples.targets):
            self.make_ready()
            if shown is not None:
                self._late = self._late or self.scratch()
                examples = examples._replace(shown=Late(*shown, self._late))
            self._advance(examples, threads)
        self.make_ready()

    def learn_one(
        self, x: Any, target: float, weight: float, note: Callable[..., None], scale: Any = None
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """`learn` for one dense row, as `scale` gives it: its scores (1, K) and loss (1,); None where x is not a plain
        row that fits.

        note: of its scores, which it must copy, target, weight and number; told them again after an interrupt
        """
        if self._halt[()]:
            self.make_ready()
        single = self._single()
        if not single.write(x, scale):
            self._singles.append(single)
            return None
        single.require_safe()
        single.targets[0], single.weights[0] = target, weight
        self._began = row = int(self.learned)
        try:
            self._note(single.learn())
            note(single.scores, target, weight, row)
        except BaseException:
            note_interrupted(note, single, self.learned, row)
            raise
        found = single.scores.copy(), single.losses.copy()
        self._singles.append(single)
        if self._halt[()]:
            self.make_ready()  # which forgets the room for single rows where the model's arrays change
            if not self._singles:
                self._singles.append(Single(self))  # or the next row would wait for it
        return found

    def score_one(self, x: Any, scale: Any = None) -> np.ndarray | None:
        """f(x) of one dense row, as `scale` gives it, (1, K); None where x is not a plain row that fits."""
        single = self._single()
        fits = single.write(x, scale)
        row = single.score() if fits else -1
        scores = single.scores.copy() if fits else None
        self._singles.append(single)
        self._require_finite(row)
        return scores

    def _single(self) -> Single:
        """Room for one row that nobody uses: each caller takes one, or makes its own."""
        try:
            return self._singles.pop()
        except IndexError:
            return Single(self)

    def _note(self, reached: int) -> None:
        """What `learn_rows` returned."""
        if reached < 0:
            raise FloatingPointError(
                f"Row {-1 - reached}: the model's scores, or the step from them, are no longer finite. The steps are "
                f"too long for this data: {self.spec.cure}, or scale features and targets. The rows before "
                "it were learned."
            )

    def _require_finite(self, row: int) -> None:
        """What `score_rows` returned."""
        if row >= 0:
            raise FloatingPointError(
                f"Row {row}: the model's score is not finite. It has diverged, or the row is far from all that it "
                f"learned: {self.spec.cure}, or scale features and targets."
            )

    def _advance(self, examples: Examples, threads: int) -> None:
        """To the end, or to where the model must be prepared for more."""
        scratch, start, n = self._scratches[0], self.reached, len(examples.targets)
        chunks = (n - start) / scratch.common.chunk
        at_once = isinstance(examples.shown, AtOnce)
        if threads > 1 and at_once and chunks >= cores.FEWEST_CHUNKS and self.spec.lifts_ahead(self._state):
            stop = start + scratch.common.chunk
            began = time.perf_counter()
            learn_rows(self.record, self._state, scratch, examples, start, stop, LIFT)
            lifted = time.perf_counter()
            self._note(learn_rows(self.record, self._state, scratch, examples, start, stop, LEARN))
            if self.reached != stop or self._halt[()]:
                return
            start = stop
            if self.sharing.worth(lifted - began, time.perf_counter() - lifted, chunks):
                self._learn_in_turn(examples, start, threads)
                return
        self._note(learn_rows(self.record, self._state, scratch, examples, start, n, BOTH))

    def _learn_in_turn(self, examples: Examples, start: int, threads: int) -> None:
        while len(self._scratches) < threads:
            self._scratches.append(self.scratch())
        scratches = self._scratches
        n = len(examples.targets)
        learn_chunk = self._chunk_learner(examples)

        def lift(scratch: Any, first: int, stop: int) -> None:
            learn_chunk(self.record, self._state, scratch, examples, first, stop, LIFT)

        def learn(scratch: Any, first: int, stop: int) -> bool:
            self._note(learn_chunk(self.record, self._state, scratch, examples, first, stop, LEARN))
            return self.reached == stop and not self._halt[()]

        cores.in_turn(lift, learn, scratches[:threads], start, n)

    def _chunk_learner(self, examples: Examples) -> Callable[..., int]:
        """`learn_rows` for these examples, which is looked for once for all that are stored alike: it takes as long as
        some hundred rows. Requires: it was called with such ones.
        """
        stored = (*examples.block[:3], examples.targets, examples.weights, examples.scores, examples.losses)
        form = tuple((one.dtype, one.ndim, one.flags.c_contiguous, one.flags.writeable) for one in stored)
        if self._chunks_of != form:
            scratch = self._scratches[0]
            self._learn_chunk = direct(learn_rows, self.record, self._state, scratch, examples, 0, 0, BOTH)
            self._chunks_of = form
        return self._learn_chunk

    def score(self, block: Block, scores: np.ndarray, threads: int) -> None:
        """scores[t] = f(row t), learning nothing; several callers may do so at the same time."""
        scratch, start, n = self._spare_scratch(), 0, len(scores)
        chunks = n / scratch.common.chunk
        if threads > 1 and chunks >= cores.FEWEST_CHUNKS:
            start = scratch.common.chunk
            began = time.perf_counter()
            self._require_finite(score_rows(self.record, self._state, scratch, block, scores, 0, start, NEVER))
            if self.sharing.worth(time.perf_counter() - began, 0.0, chunks):
                self._score_in_pieces(block, scores, [scratch, *(self._spare_scratch() for _ in range(threads - 1))])
                return
        self._require_finite(score_rows(self.record, self._state, scratch, block, scores, start, n, NEVER))
        self._spare.append(scratch)

    def show(self, block: Block, scores: np.ndarray) -> None:
        """`score` for rows whose labels come later."""
        self.make_ready()
        scratch, n = self._scratches[0], len(scores)
        self._require_finite(score_rows(self.record, self._state, scratch, block, scores, 0, n, LATER))

    def _score_in_pieces(self, block: Block, scores: np.ndarray, scratches: list[Any]) -> None:
        """The rest of the rows, behind the first chunk."""

        def work(scratch: Any, start: int, stop: int) -> None:
            self._require_finite(score_rows(self.record, self._state, scratch, block, scores, start, stop, NEVER))

        cores.in_pieces(work, scratches, scratches[0].common.chunk, len(scores))
        self._spare.extend(scratches)

    def chunks(self, block: Block) -> Iterator[Chunk]:
        """The rows, lifted and evaluated, some at a time; learns nothing. What is handed out is good until the next."""
        scratch, n = self._spare_scratch(), n_rows(block)
        scores = np.zeros((n, self.shape.n_outputs), self.shape.dtype)
        for first in range(0, n, scratch.common.chunk):
            stop = min(first + scratch.common.chunk, n)
            score_rows(self.record, self._state, scratch, block, scores, first, stop, NEVER)
            yield Chunk(scratch, scores[first:stop])
        self._spare.append(scratch)

    def _spare_scratch(self) -> Any:
        """One that nobody works on: each caller takes one, or makes its own."""
        try:
            return self._spare.pop()
        except IndexError:
            return self.scratch()


def new_runner(spec: Algorithm, task: str, shape: Shape) -> Runner:
    """Of a model that has learned nothing, in one thread."""
    return Runner(spec, task, spec.init(shape), shape, Sharing(beside=False))
