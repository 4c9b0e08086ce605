"""The one runner of all items: every learner on every data set, over row orders, on all cores."""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms import ALGORITHMS
from ..engine import Algorithm
from ..evaluate.experiments import Repetition, holdout, repeated
from ..evaluate.models import as_model
from ..evaluate.run import Run, follow
from ..evaluate.settings import spec_from
from ..evaluate.trace import Checkpoint, Trace
from ..learner import Learner
from ..metrics import METRICS, Metric
from ..sources import ArraySource
from ..sources.survey import Survey
from .items import DataSet, Entrant, Item
from .results import Cell, Result
from .rows import Missing, Rows, load, orders
from .series import LateDecibels

CHUNKED = "rbfsampler-sgd"
_UNTUNED = "not tuned: its rows were not at hand"
_PLACES = 10  # of a mean over the last rows
_JUDGES: dict[str, type[Metric]] = {**METRICS, LateDecibels.name: LateDecibels}
_ACCURACY, _MISTAKES = "accuracy", "mistake_rate"
# What was run in this process: a figure shows the runs of its table.
_done: dict[str, list[Trace]] = {}


@dataclass(frozen=True)
class _Trial(Repetition):
    """A run of a cell, timed by the processor's clock. What diverges is infinitely bad and says so, instead of ending
    everything.
    """

    test: ArraySource | None = None
    passes: int = 1
    checkpoints: tuple[int, ...] = ()

    def run(self, seed: int, order: NDArray[np.int64] | None = None) -> Trace:
        try:
            learner, rows = self.learner(seed), self.rows(seed, order)
            timed: dict[str, Any] = {"metrics": self.metrics, "clock": time.process_time}
            if self.test is None:
                return follow([Run(as_model(learner), rows, **timed)], rows)[0]
            return holdout(learner, rows, self.test, passes=self.passes, checkpoints=self.checkpoints, **timed)
        except FloatingPointError:
            names = [metric.name for metric in self.metrics or [METRICS[_MISTAKES]()]]
            last = Checkpoint(0, dict.fromkeys(names, math.inf), {}, math.nan, 0.0, 0, 0)
            name = self.algorithm.name
            return Trace(self.source.name, name, self.found.task.name, seed, names[-1], {}, 0.0, [], last)


def run_item(
    item: Item,
    *,
    runs: int | None = None,
    jobs: int | None = None,
    on_run: Callable[[str, Trace], None] | None = None,
) -> Result:
    """All cells of an item. Data that is not at hand, and learners that cannot be run, stay as cells that say so."""
    start = time.perf_counter()
    runs = item.runs if runs is None else min(runs, item.runs)
    cells = [cell for data in item.data for cell in _column(item, data, runs, jobs, on_run)]
    return Result(item.path, runs, time.perf_counter() - start, cells)


def _column(
    item: Item, data: DataSet, runs: int, jobs: int | None, on_run: Callable[[str, Trace], None] | None
) -> Iterator[Cell]:
    """The cells of one data set, a parameter's value at a time where the item sweeps one."""
    try:
        rows = load(data)
        given = orders(data, rows, runs)
    except Missing as missing:
        for entrant in item.entrants:
            yield Cell(data.label, entrant.label, absent=entrant.absent or str(missing))
        return
    for value in item.values or (None,):
        untuned = set(data.without)
        own = [one for one in item.entrants if one.algorithm is not None and one.label not in untuned]
        trials = [_trial(item, entrant, data, rows, value) for entrant in own]
        told = None if on_run is None else (lambda trace: on_run(data.label, trace))
        keys = [_key(data, trial, len(given)) for trial in trials]
        new = {key: trial for key, trial in zip(keys, trials, strict=True) if key not in _done}
        _done.update(zip(new, repeated(list(new.values()), given, jobs=jobs, on_run=told), strict=True))
        found = {entrant.label: _done[key] for entrant, key in zip(own, keys, strict=True)}
        # A figure has curves of online learners only.
        batch = [one for one in item.entrants if one.baseline is not None and item.kind == "table"]
        baselines = _baseline_cells(item, batch, data, rows, given, jobs)
        for entrant in item.entrants:
            if entrant.absent is not None or entrant.label in untuned:
                yield Cell(data.label, entrant.label, absent=entrant.absent or _UNTUNED)
            elif entrant.label in baselines:
                yield baselines[entrant.label]
            elif entrant.label in found:
                yield _own_cell(item, entrant, data, found[entrant.label], value)


def _trial(item: Item, entrant: Entrant, data: DataSet, rows: Rows, value: float | None) -> _Trial:
    assert entrant.algorithm is not None
    settings = item.settings_of(entrant, data)
    if value is not None:
        settings += _swept(item, entrant.algorithm, value)
        settings = list({setting.partition("=")[0]: setting for setting in settings}.values())
    return _Trial(
        _shrunk(spec_from(entrant.algorithm, settings), len(rows.reported)),
        ArraySource(rows.X, rows.y, name=data.label),
        Survey(rows.task),
        data.dtype,
        [_JUDGES[name]() for name in (item.risk, _metric(item)) if name],
        test=None if rows.test is None else ArraySource(*rows.test, name=f"{data.label} (test)"),
        passes=data.passes,
        checkpoints=_checkpoints(item, entrant, len(rows.reported) * data.passes),
    )


def _checkpoints(item: Item, entrant: Entrant, n: int) -> tuple[int, ...]:
    """Where test rows are judged before the end: along a curve, or at places of the last rows, which are averaged."""
    if item.kind == "convergence":
        return item.checkpoints
    share = item.averaged.get(entrant.label, 0.0)
    return tuple(n - round(share * n * k / _PLACES) for k in range(_PLACES, -1, -1)) if share else ()


def _swept(item: Item, algorithm: str, value: float) -> Iterator[str]:
    """The settings of a sweep's value: of the parameter, and of those that go with it, where the algorithm has them."""
    for name, times in ({item.parameter: 1.0} | item.scale_of).items():
        if hasattr(ALGORITHMS[algorithm], name):
            amount = value * times
            yield f"{name}={round(amount) if abs(amount - round(amount)) < 1e-9 else amount}"


def _key(data: DataSet, trial: _Trial, runs: int) -> str:
    """All that a trial's results depend on."""
    rows = replace(data, label="", set={}, quick=False)
    judged = [metric.name for metric in trial.metrics or ()]
    return repr((rows, trial.algorithm, runs, judged, trial.checkpoints))


def _shrunk(spec: Algorithm, n: int) -> Algorithm:
    """A budget beyond the number of rows is that number."""
    budget = getattr(spec, "budget", None)
    return replace(spec, budget=n) if isinstance(budget, int) and budget > n else spec  # type: ignore[call-arg]


def _own_cell(item: Item, entrant: Entrant, data: DataSet, traces: Sequence[Trace], value: float | None) -> Cell:
    metric = _metric(item)
    averaged = item.kind == "table" and entrant.label in item.averaged

    def mean_of(name: str, trace: Trace) -> float:
        judged = (trace.checkpoints if averaged else []) or [trace.last]  # one that diverged has no checkpoints
        return float(np.mean([checkpoint.metrics[name] for checkpoint in judged]))

    values = [_shown(item, mean_of(metric, trace)) for trace in traces]
    curve = _mean_curve(item, metric, traces) if item.kind == "convergence" else []
    parameters = traces[0].parameters
    return Cell(
        data.label,
        entrant.label,
        values=values,
        seconds=[trace.last.seconds for trace in traces],
        test_seconds=[trace.predicting_seconds for trace in traces] if data.test is not None else [],
        size=float(np.mean([trace.last.size for trace in traces])),
        risks=[mean_of(item.risk, trace) for trace in traces] if item.risk else [],
        settings=[f"{name}={setting}" for name, setting in parameters.items()],
        swept=value,
        curve=curve,
    )


def _mean_curve(item: Item, metric: str, traces: Sequence[Trace]) -> list[dict[str, float]]:
    """Where the runs stood at each checkpoint, in the mean."""
    points = []
    for at in zip(*(trace.checkpoints for trace in traces), strict=False):
        found = [{"metric": _shown(item, c.metrics[metric]), "seconds": c.seconds, "size": c.size} for c in at]
        if item.risk:
            found = [one | {"risk": c.metrics[item.risk]} for one, c in zip(found, at, strict=True)]
        means = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        points.append({"rows": float(at[0].rows)} | means)
    return points


def _baseline_cells(
    item: Item, entrants: Sequence[Entrant], data: DataSet, rows: Rows, given: Sequence[np.ndarray], jobs: int | None
) -> dict[str, Cell]:
    """Batch methods on the training rows of the first order, the prequential pipeline on each order; on all cores."""
    from joblib import Parallel, delayed

    cells: dict[str, Cell] = {}
    tasks = []
    for entrant in entrants:
        chunked = entrant.baseline == CHUNKED
        settings = item.settings_of(entrant, data)
        absent = None if chunked or rows.test is not None else "a batch method needs test rows"
        cells[entrant.label] = Cell(data.label, entrant.label, settings=settings, absent=absent)
        if absent is None:
            tasks += [(entrant, settings, seed, order) for seed, order in enumerate(given if chunked else given[:1])]
    workers = Parallel(n_jobs=os.cpu_count() or 1 if jobs is None else jobs)
    results = workers(delayed(_baseline_run)(entrant, settings, rows, *run) for entrant, settings, *run in tasks)
    for (entrant, *_), (error, seconds, test_seconds, size) in zip(tasks, results, strict=True):
        cell = cells[entrant.label]
        cell.values.append(_shown(item, error))
        cell.seconds.append(seconds)
        cell.test_seconds += test_seconds
        cell.size = size
    return cells


def _baseline_run(
    entrant: Entrant, settings: Sequence[str], rows: Rows, seed: int, order: np.ndarray
) -> tuple[float, float, list[float], float]:
    """The error, the processor's seconds of learning, those of predicting where there are test rows, and the size."""
    from .baselines import fit_baseline, run_rbfsampler_sgd

    assert entrant.baseline is not None
    parameters = dict(_parameter(setting) for setting in settings)
    if entrant.baseline == CHUNKED:
        error, seconds = run_rbfsampler_sgd(parameters, rows.X[order], rows.y[order], rows.task, seed)
        return error, seconds, [], float(parameters.get("n_components", 0))
    assert rows.test is not None
    start = time.process_time()
    fitted = fit_baseline(entrant.baseline, parameters, rows.X[order], rows.y[order], rows.task, seed)
    learned = time.process_time()
    shown = fitted.predict(rows.test[0])
    predicted = time.process_time()
    error = float(np.mean(shown != rows.test[1]))
    return error, learned - start, [predicted - learned], float(fitted.size)


def _parameter(setting: str) -> tuple[str, Any]:
    name, _, text = setting.partition("=")
    for kind in (int, float):
        try:
            return name, kind(text)
        except ValueError:
            continue
    return name, text


def trained(item: Item) -> Iterator[tuple[str, Learner]]:
    """The models of an item whose surfaces are drawn: each learner on each data set at hand, after its passes."""
    for data in item.data:
        try:
            rows = load(data)
        except Missing:
            continue
        for entrant in (one for one in item.entrants if one.algorithm is not None):
            trial = _trial(item, entrant, data, rows, None)
            learner = trial.learner(0)
            for _ in range(data.passes):
                learner.learn(rows.X[rows.reported], rows.y[rows.reported])
            yield f"{entrant.label} on {data.label}", learner


def _metric(item: Item) -> str:
    """What is measured: an accuracy by its mistakes."""
    return _MISTAKES if item.metric == _ACCURACY else item.metric


def _shown(item: Item, value: float) -> float:
    """A metric in the unit of the paper."""
    value = 1.0 - value if item.metric == _ACCURACY else value
    return 100.0 * value if item.percent else value
