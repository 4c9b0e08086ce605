"""The engine: lift what does not depend on the model for a chunk of rows, then predict and learn row by row.

An algorithm is a spec (`Algorithm`, below) and the bodies of three functions that the engine calls from compiled code,
chosen by the type of the algorithm's record: `lift`, `evaluate`, `step`. `run` is the only loop over examples.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..kernels import Gaussian, Kernel
from ..numerics.compile import by_record, compiled
from ..numerics.rows import Spread, alone, row_of, spread
from ..parameters import Parameters
from .state import restored

# A chunk's lifted rows should stay in the second-level cache.
_CHUNK_BYTES = 512 * 1024
LONGEST_CHUNK = 256

# What `run` does with rows; the first alone for one chunk at a time.
LIFT, LEARN, BOTH = 1, 2, 3


class Common(NamedTuple):
    """The part of an algorithm's scratch that the engine knows."""

    chunk: int  # rows that are lifted together, a multiple of 4
    halt: np.ndarray  # 0-d; a step sets it to have `Algorithm.prepare` called before the next row
    slope: np.ndarray  # (K,) the loss's gradient at the scores
    spread: Spread


def common(width: int, n_outputs: int, dtype: Any, lifted: int = 0) -> Common:
    """Scratch for rows that lift to `lifted` numbers each."""
    fitting = _CHUNK_BYTES // max(1, lifted * np.dtype(dtype).itemsize)
    chunk = max(8, min(LONGEST_CHUNK, fitting // 4 * 4))
    return Common(chunk, np.zeros((), np.int64), np.zeros(n_outputs, dtype), spread(width, dtype))


class Shape(NamedTuple):
    """What the state of a model is sized by."""

    width: int
    n_outputs: int
    seed: int
    dtype: Any


@dataclass
class Algorithm(Parameters):
    """Base of all specs: what an algorithm file provides besides the three compiled bodies."""

    kernel: Kernel = field(default_factory=Gaussian)

    name: ClassVar[str]
    paper: ClassVar[str]
    tasks: ClassVar[tuple[str, ...]]
    bounded: ClassVar[bool]
    parent: ClassVar[str | None] = None  # the learner that it equals while its budget is not reached
    exempt: ClassVar[dict[str, str]] = {}  # a law of `laws` that cannot hold: the reason

    def losses(self, task: str) -> tuple[str, ...]:
        """Names of the losses that can be chosen for a task; the first is the default."""
        raise NotImplementedError

    def check(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel={self.kernel!r} must be a kernel such as Gaussian(gamma=0.5).")

    def settle(self, task: str, variance: float, n_features: int) -> Self:
        """The spec with every parameter that depends on the task or the first block fixed."""
        return replace(self, kernel=self.kernel.settle(variance, n_features))

    def lower(self, task: str, dtype: Any) -> Any:
        """The record that compiled code reads."""
        raise NotImplementedError

    def init(self, shape: Shape) -> Any:
        """The state before any example."""
        raise NotImplementedError

    def scratch(self, state: Any, shape: Shape) -> Any:
        """Room for one run's intermediate results; nothing in it outlives a call."""
        raise NotImplementedError

    def prepare(self, record: Any, state: Any) -> Any:
        """The state, made ready for more rows: called before each run and after each halt."""
        return state

    def lifts_ahead(self, state: Any) -> bool:
        """Whether `lift` reads nothing that a step from this state may change: then it may run ahead of the steps, in
        other threads.
        """
        return False

    def grow(self, state: Any, shape: Shape) -> Any:
        """The same function for more features or outputs."""
        raise NotImplementedError

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> Any:
        """The state that a model file holds; ValueError when compiled code could not run on it."""
        return restored(self.init(shape), arrays)

    def size(self, state: Any) -> int:
        """Stored points or features."""
        raise NotImplementedError

    def attributes(self, state: Any) -> dict[str, Any]:
        """What a model of this kind shows besides its size, by name; an estimator adds an underscore."""
        return {}

    def merge(self, record: Any, state: Any, other: Any, weight: float) -> Any:
        """(1 - weight) * state + weight * other, compressed as the algorithm does. Neither argument is changed."""
        raise NotImplementedError


def _lift(record, state, scratch, block, start, stop):
    """Compute for the rows start .. stop-1 what does not depend on the model being learned; nothing, unless said."""


lift = by_record(_lift, default=_lift)


@by_record
def evaluate(record, state, scratch, x, scores):
    """scores = f(x)."""


@by_record
def step(record, state, scratch, x, target, weight, scores):
    """Learn from one example whose scores are known; return its loss."""


@compiled
def run(record, state, scratch, block, targets, weights, scores, losses, start, end, what):
    """Predict, then learn, the rows start .. end-1. Return the next row to learn from, or -1 - t when row t's scores
    are not finite (nothing was learned from it).

    what: BOTH; or one half of it for rows that are one chunk: LIFT, and later, with the same scratch, LEARN."""
    while start < end:
        stop = min(start + scratch.common.chunk, end)
        if what != LEARN:
            lift(record, state, scratch, block, start, stop)
        if what == LIFT:
            return start
        for t in range(start, stop):
            x = row_of(block, t, t - start, scratch.common.spread)
            evaluate(record, state, scratch, x, scores[t])
            for k in range(scores.shape[1]):
                if not np.isfinite(scores[t, k]):
                    return -1 - t
            losses[t] = step(record, state, scratch, x, targets[t], weights[t], scores[t])
            if scratch.common.halt[()] != 0:
                return t + 1
        start = stop
    return end


@compiled
def run_late(record, state, scratch, block, targets, weights, scores, losses, start, ahead, shown_block, shown):
    """`run`, and before row t is learned from, shown[t] = f(row t of another block), whose scratch is `ahead`."""
    n = targets.shape[0]
    while start < n:
        stop = min(start + scratch.common.chunk, n)
        lift(record, state, scratch, block, start, stop)
        lift(record, state, ahead, shown_block, start, stop)
        for t in range(start, stop):
            # What evaluate might compute ahead for the rows behind it would not follow the steps between.
            evaluate(record, state, ahead, alone(row_of(shown_block, t, t - start, ahead.common.spread)), shown[t])
            x = row_of(block, t, t - start, scratch.common.spread)
            evaluate(record, state, scratch, x, scores[t])
            for k in range(scores.shape[1]):
                if not np.isfinite(scores[t, k]):
                    return -1 - t
            losses[t] = step(record, state, scratch, x, targets[t], weights[t], scores[t])
            if scratch.common.halt[()] != 0:
                return t + 1
        start = stop
    return n


@compiled
def run_scores(record, state, scratch, block, scores, start, end):
    """scores[t] = f(row t) for the rows start .. end-1, learning nothing."""
    for first in range(start, end, scratch.common.chunk):
        stop = min(first + scratch.common.chunk, end)
        lift(record, state, scratch, block, first, stop)
        for t in range(first, stop):
            x = row_of(block, t, t - first, scratch.common.spread)
            evaluate(record, state, scratch, x, scores[t])
