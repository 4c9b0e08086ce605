"""Running metrics: fed block by block, merged with one another, the same number however a stream was cut.

What a metric is fed is said by its `needs`; `metric.update(y, shown)` takes for a block of n rows

    "labels"         the labels or values that were predicted, (n,)
    "scores"         the raw scores, (n, K)
    "probabilities"  the probabilities of the classes, (n, classes)
    "asked"          whether the labels were asked for, (n,), of models that ask for some

A metric is told the classes, in the order of the outputs, when it is made: ``AUC(classes)``, ``metric.fresh(classes)``
or ``metrics_from(names, task)``. Those that need scores or probabilities cannot do without; when classes are added
later, set `classes` anew. Every metric is NaN before the first row. `state` is a JSON value from which `restore` goes
on, bit for bit.

A metric of your own is a subclass with a `name` and the error of each row (`errors`); its value is their mean.
"""

from collections.abc import Sequence
from typing import TypeAlias

from ..parameters import did_you_mean
from ..tasks import REGRESSION, Task
from .base import ASKED, LABELS, PROBABILITIES, SCORES, Metric
from .confusion import F1, BalancedError, Kappa
from .faded import FadedMAE, FadedMistakeRate
from .intervals import Coverage, IntervalScore, IntervalWidth
from .means import MAE, MSE, R2, RMSE, AskedRate, HingeLoss, LogLoss, MistakeRate
from .ranking import AUC

__all__ = [
    "ASKED",
    "AUC",
    "F1",
    "LABELS",
    "MAE",
    "METRICS",
    "MSE",
    "PROBABILITIES",
    "R2",
    "RMSE",
    "SCORES",
    "AskedRate",
    "BalancedError",
    "Coverage",
    "FadedMAE",
    "FadedMistakeRate",
    "HingeLoss",
    "IntervalScore",
    "IntervalWidth",
    "Kappa",
    "LogLoss",
    "Metric",
    "Metrics",
    "MistakeRate",
    "default_metrics",
    "judges",
    "metrics_from",
]

_KINDS: tuple[type[Metric], ...] = (
    *(MistakeRate, BalancedError, Kappa, F1, LogLoss, HingeLoss, AUC, FadedMistakeRate),
    *(MSE, RMSE, MAE, R2, FadedMAE, Coverage, IntervalWidth, IntervalScore),
)
# What to judge by: metrics, or their names; None means the task's own.
Metrics: TypeAlias = Metric | str | Sequence[Metric | str] | None
METRICS: dict[str, type[Metric]] = {kind.name: kind for kind in _KINDS}


def default_metrics(task: str) -> tuple[Metric, ...]:
    """What a task is judged by, by its name; the last one is the headline."""
    return (MSE(), RMSE()) if task == REGRESSION else (MistakeRate(),)


def metrics_from(names: Sequence[str], task: Task) -> list[Metric]:
    """The metrics of these names for a task, in this order; the last one is the headline."""
    choices = {name: kind for name, kind in METRICS.items() if task.name in kind.tasks}
    made: dict[str, Metric] = {}
    for name in names:
        if name not in choices:
            what = "is not a metric" if name not in METRICS else f"does not judge a {task.name} task"
            raise ValueError(f"{name!r} {what}; {did_you_mean(name, choices)} from {', '.join(choices)}.")
        if name in made:
            raise ValueError(f"the metric {name} is named twice; name it once.")
        made[name] = choices[name](getattr(task, "classes", None))
    if not made:
        raise ValueError(f"no metric is named; choose from {', '.join(choices)}.")
    return list(made.values())


def judges(metrics: Metrics, task: Task) -> list[Metric]:
    """Fresh metrics for a task: those that are given, or named, or the task's own."""
    given = default_metrics(task.name) if metrics is None else metrics
    given = [given] if isinstance(given, Metric | str) else list(given)
    strange = [one for one in given if not isinstance(one, Metric | str)]
    if strange:
        raise ValueError(f"metrics has {strange[0]!r}; give names of metrics, or objects such as MistakeRate().")
    names = [one for one in given if isinstance(one, str)]
    named = {one.name: one for one in (metrics_from(names, task) if names or not given else ())}
    return [(named[one] if isinstance(one, str) else one).fresh(getattr(task, "classes", None)) for one in given]
