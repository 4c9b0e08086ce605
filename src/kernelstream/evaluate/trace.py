"""Trace: what came of a run, at its checkpoints and in the end."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from ..learner.drift import Drift
from ..teaching import explained


class Course(NamedTuple):
    """A metric at the checkpoints: over all rows so far, and in the window since the checkpoint before.

    Parameters
    ----------
    rows : how many there were at each checkpoint
    so_far : the metric over all of them
    window : the metric since the checkpoint before

    Examples
    --------
    >>> from kernelstream import Learner, Multiclass
    >>> from kernelstream.evaluate import prequential
    >>> from kernelstream.sources import open_source
    >>> trace = prequential(Learner("rbp", Multiclass(range(10))), open_source("digits"), checkpoints=600)
    >>> trace.course("mistake_rate").rows.tolist()
    [600, 1200, 1797]
    """

    rows: np.ndarray
    so_far: np.ndarray
    window: np.ndarray


@explained(written="what `to_json` gave")
class Checkpoint(NamedTuple):
    """Where a run stood.

    Parameters
    ----------
    rows : after so many
    metrics : by name, over all of them
    window : by name, since the checkpoint before
    seconds : of learning
    reading_seconds : of reading, beside it
    size : points stored, or features
    bytes : of the model

    Examples
    --------
    >>> from kernelstream import Learner, Multiclass
    >>> from kernelstream.evaluate import prequential
    >>> from kernelstream.sources import open_source
    >>> last = prequential(Learner("rbp", Multiclass(range(10))), open_source("digits")).last
    >>> last.rows, sorted(last.metrics)
    (1797, ['mistake_rate'])
    """

    rows: int
    metrics: dict[str, float]
    window: dict[str, float]
    seconds: float  # learning
    reading_seconds: float
    size: int
    bytes: int

    def to_json(self) -> dict[str, Any]:
        """It as a JSON value."""
        return finite(self._asdict())

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> Self:
        """What `to_json` wrote."""
        found = {"metrics": _with_nan(written["metrics"]), "window": _with_nan(written["window"])}
        return cls(**written | found)


class Newcomer(NamedTuple):
    """A class that nobody had announced.

    Parameters
    ----------
    row : the number of the row that brought it, the first one's being 1
    label : what it is called

    Examples
    --------
    >>> from kernelstream import Learner, Multiclass
    >>> from kernelstream.evaluate import prequential
    >>> from kernelstream.sources import open_source
    >>> learner = Learner("rbp", Multiclass(range(9)), grow_classes=True)
    >>> prequential(learner, open_source("digits")).newcomers
    [Newcomer(row=10, label=9.0)]
    """

    row: int
    label: Any


_NOTHING = Checkpoint(0, {}, {}, 0.0, 0.0, 0, 0)


@explained(metric="its name, as `metrics` of a checkpoint has it")
@dataclass
class Trace:
    """One run: what ran on what, where it stood at each checkpoint, where it stands now, what drift it met.

    Parameters
    ----------
    source, algorithm, task, seed : what ran on what; the task as it is by now
    headline : the metric to show where there is room for one
    parameters : of the model, flat: ``{"kernel": "gaussian", "kernel.gamma": 0.5, ...}``
    compiling_seconds : which are in no other time
    checkpoints : a `Checkpoint` at each
    last : the `Checkpoint` of the last row so far
    stopped : why it ended before its source did, if it did
    drifts : each `Drift` that was found
    predicting_seconds : of the test rows when they were last judged (`experiments.holdout`), in no other time
    classes : that are known by now, in the order of the outputs; of a regression none
    newcomers : each `Newcomer` among them

    Examples
    --------
    >>> from kernelstream import Learner, Multiclass
    >>> from kernelstream.evaluate import prequential
    >>> from kernelstream.sources import open_source
    >>> trace = prequential(Learner("rbp", Multiclass(range(10))), open_source("digits"))
    >>> trace.algorithm, trace.headline, trace.last.rows, trace.to_json()["rows"]
    ('rbp', 'mistake_rate', 1797, 1797)
    """

    source: str
    algorithm: str
    task: str
    seed: int
    headline: str  # the metric to show where there is room for one
    parameters: dict[str, Any] = field(default_factory=dict)  # flat: {"kernel": "gaussian", "kernel.gamma": 0.5, ...}
    compiling_seconds: float = 0.0
    checkpoints: list[Checkpoint] = field(default_factory=list)
    last: Checkpoint = _NOTHING
    stopped: str = ""  # why it ended before its source did
    drifts: list[Drift] = field(default_factory=list)
    predicting_seconds: float = 0.0
    classes: list[Any] = field(default_factory=list)
    newcomers: list[Newcomer] = field(default_factory=list)

    @property
    def rows_per_second(self) -> float:
        """Rows learned in a second of learning time."""
        return self.last.rows / self.last.seconds if self.last.seconds > 0 else 0.0

    def course(self, metric: str | None = None) -> Course:
        """A metric's way, by its name; the headline's."""
        name = self.headline if metric is None else metric
        if self.checkpoints and name not in self.checkpoints[0].metrics:
            raise ValueError(f"{name!r} was not measured; {', '.join(self.checkpoints[0].metrics)} were.")
        columns = zip(*((one.rows, one.metrics[name], one.window[name]) for one in self.checkpoints), strict=True)
        return Course(*(np.array(column) for column in columns)) if self.checkpoints else Course(*np.zeros((3, 0)))

    def to_json(self) -> dict[str, Any]:
        """The run as a JSON value: the final numbers first, then the checkpoints. What is not finite is null."""
        last = self.last
        written = {
            "source": self.source,
            "algorithm": self.algorithm,
            "task": self.task,
            "classes": self.classes,
            "newcomers": [newcomer._asdict() for newcomer in self.newcomers],
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
            "stopped": self.stopped or None,
            "drifts": [drift._asdict() for drift in self.drifts],
            "checkpoints": [checkpoint._asdict() for checkpoint in self.checkpoints],
        }
        return finite(written)


def finite(value: Any) -> Any:
    """A JSON value with null for the numbers that JSON has not."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _with_nan(values: dict[str, float | None]) -> dict[str, float]:
    return {name: math.nan if value is None else value for name, value in values.items()}
