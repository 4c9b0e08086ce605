"""Experiments made of runs: train and test data, the same run over many row orders, and what they come to."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import Algorithm
from ..learner import Learner
from ..metrics import Metric, Metrics, judges
from ..sources import LabelledBlock, Shuffled, Source
from ..sources.survey import Survey
from ..tasks import Task
from .asking import Asking, Rule
from .building import learner_for
from .interrupts import uninterrupted
from .models import Model, as_model
from .processes import Processes, cores
from .run import prequential
from .trace import Checkpoint, Trace


def judged(model: Any, source: Source, *, metrics: Metrics = None) -> dict[str, float]:
    """The metrics of a model on a source, learning nothing."""
    return _judged(as_model(model), source, metrics, time.perf_counter)[0]


def holdout(
    model: Any,
    train: Source,
    test: Source,
    *,
    task: Task | None = None,
    metrics: Metrics = None,
    passes: int = 1,
    checkpoints: Iterable[int] = (),
    on_block: Callable[[Trace], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Trace:
    """Learn from one source, `passes` times, and be judged on another at each checkpoint and at the end.

    Rows count on through the passes. The metrics of the checkpoints are those of all test rows; between two of them
    `last` has none. `clock` tells the seconds of learning and of predicting.
    """
    if passes < 1:
        raise ValueError(f"passes={passes} must be at least 1.")
    model = as_model(model, task)
    trace = Trace(train.name, model.name, model.task.name, model.seed, judges(metrics, model.task)[-1].name)
    start = time.perf_counter()
    model.warm_up()
    trace.compiling_seconds = time.perf_counter() - start
    marks = sorted(set(checkpoints))
    rows, seconds = 0, 0.0

    def judge() -> None:
        found, trace.predicting_seconds = _judged(model, test, metrics, clock)
        trace.last = Checkpoint(rows, found, {}, seconds, 0.0, model.size, model.n_bytes)
        trace.checkpoints.append(trace.last)
        trace.parameters = model.parameters

    for _ in range(passes):
        for X, y in _cut(iter(train), [mark - rows for mark in marks]):
            with uninterrupted():
                start = clock()
                model.learn(X, y, frozenset())
                seconds += clock() - start
                rows += len(y)
            if rows in marks:
                judge()
            else:
                trace.last = Checkpoint(rows, {}, {}, seconds, 0.0, model.size, model.n_bytes)
            if on_block is not None:
                on_block(trace)
    if not trace.checkpoints or trace.checkpoints[-1].rows < rows:
        judge()
    return trace


def _judged(
    model: Model, source: Source, metrics: Metrics, clock: Callable[[], float]
) -> tuple[dict[str, float], float]:
    """The metrics of a model on a source, and the seconds of predicting."""
    judged = judges(metrics, model.task)
    kinds = frozenset(metric.needs for metric in judged)
    seconds = 0.0
    for X, y in source:
        start = clock()
        shown = model.show(X, kinds)
        seconds += clock() - start
        for metric in judged:
            metric.update(y, shown[metric.needs])
    return {metric.name: metric.value for metric in judged}, seconds


def _cut(blocks: Iterator[LabelledBlock], ends: Sequence[int]) -> Iterator[LabelledBlock]:
    """The blocks, cut so that a piece ends at each of these rows."""
    row = 0
    for X, y in blocks:
        stops = [end - row for end in ends if 0 < end - row < len(y)]
        for start, stop in zip([0, *stops], [*stops, len(y)], strict=True):
            yield X[start:stop], y[start:stop]
        row += len(y)


@dataclass(frozen=True)
class Repetition:
    """A run that is made many times, each time over the rows in another order.

    An order is the number of a random permutation (which is the learner's seed too), or the row numbers themselves.
    """

    algorithm: Algorithm
    source: Source
    found: Survey
    dtype: str = "float32"
    metrics: Sequence[Metric] | None = None
    delay: int = 0
    ask: Rule | None = None  # by which labels are asked for; all are known

    def run(self, seed: int, order: NDArray[np.int64] | None = None) -> Trace:
        learner = self.learner(seed)
        model = learner if self.ask is None else Asking(learner, self.ask, seed=seed, name=learner.name)
        return prequential(model, self.rows(seed, order), metrics=self.metrics, delay=self.delay)

    def learner(self, seed: int) -> Learner:
        return learner_for(self.found, self.algorithm, seed=seed, dtype=self.dtype, threads=1)

    def rows(self, seed: int, order: NDArray[np.int64] | None) -> Source:
        return self.found.checked(Shuffled(self.source, seed if order is None else order))


def repeated(
    repetitions: Sequence[Repetition],
    orders: Sequence[int | NDArray[np.int64]],
    *,
    jobs: int | None = None,
    on_run: Callable[[Trace], None] | None = None,
) -> list[list[Trace]]:
    """Every repetition over every order, on several cores (`jobs` processes; all cores); a list an entry each.

    The results do not depend on `jobs`. When the k-th order is given by its rows, the learner's seed is k.
    """
    jobs = min(cores() if jobs is None else jobs, len(repetitions) * len(orders))
    if jobs > 1:
        for one in repetitions:  # compiled once here, read from the cache by the workers
            as_model(one.learner(0)).warm_up()
    traces: list[list[Trace]] = []
    with Processes(_run, (repetitions, orders), jobs) as processes:
        calls = [[processes.call(i, k) for k in range(len(orders))] for i in range(len(repetitions))]
        for row in calls:
            traces.append([])
            for call in row:
                traces[-1].append(processes.result(call))
                if on_run is not None:
                    on_run(traces[-1][-1])
    return traces


def _run(shared: tuple[Sequence[Repetition], Sequence[int | NDArray[np.int64]]], i: int, k: int) -> Trace:
    repetitions, orders = shared
    order = orders[k]
    return repetitions[i].run(k, order) if isinstance(order, np.ndarray) else repetitions[i].run(int(order))


def summarized(traces: Sequence[Trace]) -> dict[str, tuple[float, float | None]]:
    """Mean and standard deviation over the runs of each final metric."""
    names = traces[0].last.metrics if traces else {}
    return {name: mean_and_deviation([trace.last.metrics[name] for trace in traces]) for name in names}


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and standard deviation of a sample (n - 1 in the denominator); one value has none."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None
