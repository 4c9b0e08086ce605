"""Runs as people compare them: repeats with other seeds are taken together, the best comes first."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..evaluate.experiments import mean_and_deviation
from ..evaluate.trace import Checkpoint, Trace
from . import words

ROWS, SECONDS = "rows", "learning time"
METRIC, WINDOW, SIZE = "metric", "window", "size"

# What a learner settles from its first rows, such as a kernel's width, differs so little between orders of the rows.
_SETTLED_ALIKE = 0.1
# A window of the curve holds at least so many rows and so large a share of the run; fewer are noise.
_WINDOW_ROWS, _WINDOW_SHARE = 30, 0.02
# Metrics whose power, not they themselves, is a mean over rows.
_POWERS = {"rmse": 2.0}


class OverRepeats(NamedTuple):
    """The mean over repeats and their standard deviation, None when there is one run."""

    mean: float
    deviation: float | None


class Curve(NamedTuple):
    """The mean over repeats at each point, and the standard deviation, 0 when there is one run."""

    x: np.ndarray
    y: np.ndarray
    deviation: np.ndarray


@dataclass
class Run:
    """One learner on one data set, run once or with several seeds. `position` picks the same colour on every set."""

    label: str
    repeats: list[Trace]
    position: int = 0

    @property
    def trace(self) -> Trace:
        return self.repeats[0]

    @property
    def headline(self) -> OverRepeats:
        return self.metric(self.trace.headline)

    def metric(self, name: str) -> OverRepeats:
        return self.over(lambda trace: trace.last.metrics.get(name, math.nan))

    def over(self, number: Callable[[Trace], float]) -> OverRepeats:
        """A number's mean and deviation over the repeats."""
        return OverRepeats(*mean_and_deviation([number(trace) for trace in self.repeats]))

    def curve(self, x: str, y: str) -> Curve:
        """`y` (METRIC, WINDOW or SIZE) against `x` (ROWS or SECONDS), at the rows that all repeats have."""
        each = [_points(trace, x, y) for trace in self.repeats]
        rows = sorted(set.intersection(*(set(points) for points in each)))
        values = np.array([[points[row] for row in rows] for points in each]).reshape(len(each), len(rows), 2)
        deviation = np.std(values[:, :, 1], axis=0, ddof=1) if len(each) > 1 else np.zeros(len(rows))
        mean = values.mean(axis=0)
        return Curve(mean[:, 0], mean[:, 1], deviation)

    @property
    def settings(self) -> str:
        """The parameters; one that was settled differently for each seed is shown with its range."""
        shown = {}
        for name, value in self.trace.parameters.items():
            values = [trace.parameters[name] for trace in self.repeats]
            same = all(other == value for other in values)
            shown[name] = value if same else f"{min(values):.6g}..{max(values):.6g}"
        return " ".join(words.settings(shown))


def by_source(traces: Iterable[Trace]) -> dict[str, list[Run]]:
    """The runs on each data set, sources as they come, the best run first; runs without a row are left out."""
    groups: dict[str, list[Trace]] = {}
    for trace in traces:
        if trace.last.rows > 0:
            groups.setdefault(trace.source, []).append(trace)
    runs = {source: _labelled(_repeats(group)) for source, group in groups.items()}
    positions: dict[str, int] = {}
    for group in runs.values():
        group.sort(key=_rank)
        for run in group:
            run.position = positions.setdefault(run.label, len(positions))
    return runs


def metric_names(traces: Iterable[Trace]) -> list[str]:
    """All metrics of the runs, the headlines first."""
    traces = list(traces)
    headlines = dict.fromkeys(trace.headline for trace in traces)
    return list(headlines | dict.fromkeys(name for trace in traces for name in trace.last.metrics))


def best(name: str, values: Sequence[float]) -> float:
    """The best of some values of a metric; NaN when all are."""
    numbers = [value for value in values if not math.isnan(value)]
    return (max if words.larger_is_better(name) else min)(numbers, default=math.nan)


def _rank(run: Run) -> float:
    value = run.headline.mean
    if math.isnan(value):
        return math.inf
    return -value if words.larger_is_better(run.trace.headline) else value


def _repeats(traces: list[Trace]) -> list[list[Trace]]:
    groups: list[list[Trace]] = []
    for trace in traces:
        for group in groups:
            if _is_repeat(trace, group[0]) and trace.seed not in {other.seed for other in group}:
                group.append(trace)
                break
        else:
            groups.append([trace])
    return groups


def _is_repeat(a: Trace, b: Trace) -> bool:
    return (a.algorithm, a.task, a.headline, a.parameters.keys()) == (
        b.algorithm,
        b.task,
        b.headline,
        b.parameters.keys(),
    ) and all(_alike(value, b.parameters[name]) for name, value in a.parameters.items())


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=_SETTLED_ALIKE)
    return bool(a == b)


def _labelled(groups: list[list[Trace]]) -> list[Run]:
    """A label for each group: the algorithm, and where that is not enough the parameters that tell it apart."""
    runs: list[Run] = []
    for group in groups:
        first = group[0]
        others = [other[0] for other in groups if other is not group and other[0].algorithm == first.algorithm]
        apart = {
            name: value
            for name, value in first.parameters.items()
            if any(not _alike(value, other.parameters.get(name)) for other in others)
        }
        label = " ".join([first.algorithm, *words.settings(apart)])
        same = sum(run.label == label or run.label.startswith(f"{label} #") for run in runs)
        runs.append(Run(f"{label} #{same + 1}" if same else label, group))
    return runs


def _points(trace: Trace, x: str, y: str) -> dict[int, tuple[float, float]]:
    """For each checkpoint's row the x and the y of a curve."""
    passed = list(trace.checkpoints)
    if not passed or passed[-1].rows < trace.last.rows:
        passed.append(trace.last)
    if y == WINDOW:
        passed = _pooled(passed, trace.headline)
    points = {}
    for checkpoint in passed:
        value = {METRIC: checkpoint.metrics, WINDOW: checkpoint.window}.get(y, {}).get(trace.headline, math.nan)
        points[checkpoint.rows] = (
            checkpoint.rows if x == ROWS else checkpoint.seconds,
            checkpoint.size if y == SIZE else value,
        )
    return points


def _pooled(checkpoints: list[Checkpoint], name: str) -> list[Checkpoint]:
    """Neighbouring windows taken together until they are large enough to show something; a small rest is left out."""
    enough = max(_WINDOW_ROWS, _WINDOW_SHARE * checkpoints[-1].rows)
    power = _POWERS.get(name, 1.0)
    pooled: list[Checkpoint] = []
    rows, total, before = 0, 0.0, 0
    for checkpoint in checkpoints:
        value = checkpoint.window.get(name, math.nan)
        if not math.isnan(value):
            rows += checkpoint.rows - before
            total += (checkpoint.rows - before) * value**power
        before = checkpoint.rows
        if rows >= enough:
            pooled.append(checkpoint._replace(window={name: (total / rows) ** (1.0 / power)}))
            rows, total = 0, 0.0
    return pooled
