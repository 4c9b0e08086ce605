"""What a checkpoint says of a run that goes on: the form of it, and what must agree in it, whoever wrote it."""

import json
from typing import Any

from ..forms import Form, agree, by_name, each, every, label, nothing_or, number, record, row, text, whole
from ..metrics import Metric
from .trace import finite


def _anything(value: Any, place: str) -> None:
    """What a source wrote of its place, which it reads itself."""


_SETTINGS = {"window", "alpha", "level"}  # of metrics
_SECONDS = number(0.0)
_VALUES = each(nothing_or(number()))
_POINT = record(
    rows=whole(),
    metrics=_VALUES,
    window=_VALUES,
    seconds=_SECONDS,
    reading_seconds=_SECONDS,
    size=whole(),
    bytes=whole(),
)
_STANDING: Form = record(
    source=text,
    rows=whole(),
    delay=whole(),
    seconds=_SECONDS,
    reading_seconds=_SECONDS,
    compiling_seconds=_SECONDS,
    metrics=each(by_name),
    window=each(by_name),
    checkpoints=every(_POINT),
    last=_POINT,
    digest=nothing_or(text),
    place=_anything,
    drift=nothing_or(by_name),
    newcomers=every(row(whole(1), label)),
)


def check_standing(state: Any) -> None:
    """ValueError for what `Run.state` cannot have written."""
    _STANDING(state, "run")
    rows, marks = state["rows"], [one["rows"] for one in state["checkpoints"]]
    agree("run.last.rows", state["last"]["rows"], rows, "run.rows")
    if marks != sorted(set(marks)) or marks[-1:] > [rows] or marks[:1] == [0]:
        raise ValueError(f"its run.checkpoints are after the rows {marks!r:.60}, where ascending ones to {rows} stand")
    if marks[-1:] == [rows]:
        agree("run.last", state["last"], state["checkpoints"][-1], "the checkpoint after as many rows")
    names = list(state["metrics"])
    agree("run.window", list(state["window"]), names, "run.metrics")
    for i, one in enumerate(state["checkpoints"]):
        for kind in ("metrics", "window"):
            agree(f"run.checkpoints.{i}.{kind}", list(one[kind]), names, "run.metrics")
    if any(newcomer[0] > rows for newcomer in state["newcomers"]):
        raise ValueError(f"its run.newcomers name rows beyond the {rows} that were shown")
    if state["place"] is not None:
        agree("run.digest", state["digest"], None, "run.place")


def restored(metric: Metric, kind: str, state: dict[str, Any], classes: list[Any]) -> None:
    """Have a metric go on; ValueError for one that is not what the run showed.

    kind: "metrics", over all rows, or "window", since a checkpoint. classes: of the task by now
    """
    rows, place = state["rows"], f"run.{kind}.{metric.name}"
    saved, own = state[kind][metric.name], metric.state()
    for setting in _SETTINGS & own.keys():
        agree(f"{place}.{setting}", saved.get(setting), own[setting], "the metric that was asked for")
    try:
        metric.restore(saved)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(f"its {place} is nothing that a run can have left ({error})") from None
    if json.dumps(metric.state(), sort_keys=True) != json.dumps(saved, sort_keys=True):
        raise ValueError(f"its {place} is not as such a metric is written")
    since = [0, *(one["rows"] for one in state["checkpoints"])] if kind == "window" else [0]
    if metric.n not in [rows - start for start in since]:
        raise ValueError(f"its {place} is of {metric.n} rows, where the run has shown {rows}")
    if metric.n > 0:
        agree(place, finite(metric.value), state["last"][kind].get(metric.name), f"run.last.{kind}")
    known = [] if metric.classes is None else metric.classes.tolist()
    agree(f"{place}.classes", known[: len(classes)], classes[: len(known)], "task.classes")
