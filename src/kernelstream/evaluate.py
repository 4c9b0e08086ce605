"""Prequential evaluation: every row is predicted before it is learned from; the one loop behind all commands.

What a Trace holds does not depend on how the source cuts its blocks: checkpoints are at fixed rows, and what a learner
settles from its data is settled on the same rows.
"""

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .learner import Learner
from .metrics import Metric, default_metrics
from .settings import flat
from .sources import LabelledBlock, Matrix, Source
from .tasks import Classification

# What gamma="scale" and its like are settled on.
SETTLING_ROWS = 4096
_FIRST_CHECKPOINT = 16
_CHECKPOINTS_PER_DOUBLING = 8
_SMALL = {"budget": 2, "rank": 1}


class Checkpoint(NamedTuple):
    """Where a run stood after `rows` rows; `window` is the metrics since the checkpoint before."""

    rows: int
    metrics: dict[str, float]
    window: dict[str, float]
    seconds: float  # learning
    reading_seconds: float
    size: int
    bytes: int


_NOTHING = Checkpoint(0, {}, {}, 0.0, 0.0, 0, 0)


@dataclass
class Trace:
    """One run: what ran on what, where it stood at each checkpoint, and where it stands now (`last`)."""

    source: str
    algorithm: str
    task: str
    seed: int
    headline: str  # the metric to show where there is room for one
    parameters: dict[str, Any] = field(default_factory=dict)  # flat: {"kernel": "gaussian", "kernel.gamma": 0.5, ...}
    compiling_seconds: float = 0.0
    checkpoints: list[Checkpoint] = field(default_factory=list)
    last: Checkpoint = _NOTHING

    @property
    def rows_per_second(self) -> float:
        """Rows learned in a second of learning time."""
        return self.last.rows / self.last.seconds if self.last.seconds > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """The run as a JSON value: the final numbers first, then the checkpoints."""
        last = self.last
        return {
            "source": self.source,
            "algorithm": self.algorithm,
            "task": self.task,
            "rows": last.rows,
            **last.metrics,
            "seconds": last.seconds,
            "reading_seconds": last.reading_seconds,
            "compiling_seconds": self.compiling_seconds,
            "rows_per_second": self.rows_per_second,
            "size": last.size,
            "bytes": last.bytes,
            "seed": self.seed,
            "parameters": self.parameters,
            "checkpoints": [checkpoint._asdict() for checkpoint in self.checkpoints],
        }


def spaced_rows() -> Iterator[int]:
    """Row numbers 16, 17, 19, 21, ..., 32, 35, ...: eight to a doubling, 141 up to three million."""
    for k in range(_CHECKPOINTS_PER_DOUBLING * 60):
        yield round(_FIRST_CHECKPOINT * 2 ** (k / _CHECKPOINTS_PER_DOUBLING))


def prequential(
    learner: Learner,
    source: Source,
    *,
    metrics: Sequence[Metric] | None = None,
    checkpoints: Iterable[int] | None = None,
    on_block: Callable[[Trace], None] | None = None,
) -> Trace:
    """Learn from a source in one pass and keep the score of what was predicted before.

    metrics: what to measure (`default_metrics` of the task); the last one is the headline.
    checkpoints: ascending row numbers (`spaced_rows`); the last row is always one.
    on_block: called after each block; the trace it gets stays consistent if learning is interrupted later.
    """
    cumulative = list(metrics) if metrics is not None else list(default_metrics(learner.task.name))
    score = _Score([m.fresh() for m in cumulative], [m.fresh() for m in cumulative])
    trace = Trace(source.name, learner.algorithm.name, learner.task.name, learner.seed, cumulative[-1].name)
    trace.compiling_seconds = _compile(learner)
    clock = _Clock()
    blocks = clock.reading(iter(source))
    if learner.settled is None:
        blocks = _settle(learner, blocks)
    marks = iter(checkpoints if checkpoints is not None else spaced_rows())
    rows, mark = 0, _next_mark(marks, 0)
    for X, y in blocks:
        start = 0
        while start < len(y):
            stop = int(min(len(y), start + mark - rows))
            shown = clock.learning(learner, X[start:stop], y[start:stop], source, rows)
            score.update(y[start:stop], shown)
            rows += stop - start
            start = stop
            trace.last = score.checkpoint(rows, clock, learner)
            if rows == mark:
                trace.checkpoints.append(trace.last)
                score.open_window()
                mark = _next_mark(marks, rows)
        trace.parameters = flat(learner.settled) if learner.settled is not None else {}
        if on_block is not None:
            on_block(trace)
    if rows > 0 and (not trace.checkpoints or trace.checkpoints[-1] is not trace.last):
        trace.checkpoints.append(trace.last)
    return trace


def _next_mark(marks: Iterator[int], rows: int) -> float:
    return next((mark for mark in marks if mark > rows), math.inf)


class _Score(NamedTuple):
    """The metrics of the whole run and those since the newest checkpoint."""

    cumulative: list[Metric]
    window: list[Metric]

    def update(self, y_true: np.ndarray, y_pred: np.ndarray) -> None:
        for metric in chain(self.cumulative, self.window):
            metric.update(y_true, y_pred)

    def open_window(self) -> None:
        self.window[:] = [metric.fresh() for metric in self.window]

    def checkpoint(self, rows: int, clock: "_Clock", learner: Learner) -> Checkpoint:
        cumulative, window = ({m.name: m.value for m in metrics} for metrics in self)
        return Checkpoint(rows, cumulative, window, clock.learned, clock.read, learner.size, learner.n_bytes)


class _Clock:
    """Seconds of learning and of reading, apart."""

    def __init__(self) -> None:
        self.learned = 0.0
        self.read = 0.0

    def reading(self, blocks: Iterator[LabelledBlock]) -> Iterator[LabelledBlock]:
        while True:
            start = time.perf_counter()
            block = next(blocks, None)
            self.read += time.perf_counter() - start
            if block is None:
                return
            yield block

    def learning(self, learner: Learner, X: Matrix, y: np.ndarray, source: Source, row: int) -> np.ndarray:
        """What the learner showed for a piece of the stream that begins with `row`."""
        start = time.perf_counter()
        try:
            return learner.predict_learn(X, y)
        except (ValueError, FloatingPointError) as error:
            kind = FloatingPointError if isinstance(error, FloatingPointError) else ValueError
            raise kind(f"{source.name}, counting from row {row}: {error}") from error
        finally:
            self.learned += time.perf_counter() - start


def _compile(learner: Learner) -> float:
    """Have everything compiled (or loaded) that the learner will run, and return the seconds it took.

    A small learner of the same kind fills its budget and is thrown away, so that learning times are those of learning.
    """
    start = time.perf_counter()
    small: dict[str, Any] = {name: size for name, size in _SMALL.items() if hasattr(learner.algorithm, name)}
    labels = learner.task.classes[:2] if isinstance(learner.task, Classification) else np.array([-1.0, 1.0])
    twin = Learner(replace(learner.algorithm, **small), learner.task, dtype=learner.dtype)
    # Steps that are too long for these rows may be right for the real ones.
    with contextlib.suppress(FloatingPointError):
        twin.learn(np.arange(1.0, 5.0)[:, None], np.resize(labels, 4))
    return time.perf_counter() - start


def _settle(learner: Learner, blocks: Iterator[LabelledBlock]) -> Iterator[LabelledBlock]:
    """Settle a learner on the first rows of a stream, however they come in blocks; give all of the blocks."""
    held: list[LabelledBlock] = []
    while sum(len(y) for _, y in held) < SETTLING_ROWS and (block := next(blocks, None)) is not None:
        held.append(block)
    if held:
        learner.settle(_opening([X for X, _ in held], learner.grow_features))
    return chain(held, blocks)


def _opening(blocks: list[Matrix], growing: bool) -> Matrix:
    """The first rows; for a learner that grows they are as wide as their own last feature."""
    if not sp.issparse(blocks[0]):
        return np.concatenate(blocks)[:SETTLING_ROWS]
    width = max(X.shape[1] for X in blocks)
    rows = sp.vstack([sp.csr_array((X.data, X.indices, X.indptr), (X.shape[0], width)) for X in blocks], "csr")
    rows = rows[:SETTLING_ROWS]
    return rows[:, : int(rows.indices.max(initial=0)) + 1] if growing else rows
