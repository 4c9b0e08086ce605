"""A learner that looks out for drift itself: what it shows its detectors of the rows that it learns, and what its file
keeps of them.

Its detectors see, of each row that is learned, the error of what the model said right before. Where something is due it
is done behind a row whose number, of all that were learned, is a multiple of EVERY: the next prediction has it.
"""

import copy
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import forms
from ..engine.opening import opening_from
from ..tasks import Task
from .detectors import ERROR, watch_from
from .drift import EVERY, FORGET, STATE, WARN, Watching, errors_of, plan_of
from .room import outputs_of

if TYPE_CHECKING:
    from .learner import Learner

MOST_FOUND = 1000  # that a learner remembers, the newest


# What `Watched.to_json` writes.
_WRITTEN = forms.record(
    watches=forms.every(forms.record(detector=forms.text, on=forms.label, parameters=forms.by_name)),
    on_drift=forms.text,
    rows=forms.whole(),
    given_up=forms.whole(),
    times=forms.whole(),
    **STATE,
)


class Watched(Watching):
    """What a learner looks out for.

    rows: that were learned. given_up: those of them that the model no longer holds, as it began anew. brings_class:
    whether the next row brings a class, which no model could have said. times: that the model began anew.
    """

    entry = "drift"
    rows, given_up, times, brings_class = 0, 0, 0, False

    def fresh(self, task: Task, seed: int) -> "Watched":
        """The same before the first row."""
        return Watched(self.plan, task, seed, [])

    def copy(self) -> "Watched":
        """The same, apart from it."""
        twin = copy.copy(self)
        twin._each, twin.found, twin.kept = copy.deepcopy(self._each), self.found.copy(), self.kept.copy()
        return twin

    def pieces(self, n: int) -> Iterator[slice]:
        """The next n rows, cut where the model may change; one piece at least."""
        start = 0
        while start < n or start == 0:
            stop = int(min(max(n, 1), start + self.until(self.rows)))
            yield slice(start, stop)
            start = stop

    def learn(self, task: Task, X: Any, targets: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> None:
        """Rows were learned: these are the scores from before."""
        labels, before = task.decode(outputs_of(task, targets)), self.rows
        errors = errors_of(task, labels, task.decode(scores))
        if self.brings_class:
            errors[0], self.brings_class = 1.0, False
        self.rows += len(labels)
        self.kept.add(X, labels, weights)
        self.see_features(X, before)
        self.see_errors(errors, range(before + 1, self.rows + 1))
        del self.found[:-MOST_FOUND]

    def changed_until(self, rows: int) -> int:
        return rows // EVERY * EVERY

    # Files.

    def choice(self) -> tuple[Any, str]:
        """`drift` and `on_drift` of an equal one, as people write them where that is enough."""
        plan = self.plan
        watches = [watch if watch.parameters or watch.on != ERROR else watch.name for watch in plan.watches]
        on_drift = f"{FORGET}:{plan.kept}" if plan.on_drift == FORGET else plan.on_drift
        return watches[0] if len(watches) == 1 else watches, on_drift

    def to_json(self) -> dict[str, Any]:
        return {
            "watches": [watch.to_json() for watch in self.plan.watches],
            "on_drift": self.choice()[1],
            "rows": self.rows,
            "given_up": self.given_up,
            "times": self.times,
            **self.state(),
        }

    def arrays(self, task: Task) -> dict[str, np.ndarray]:
        """Rows that are kept."""
        return self.kept.retargeted(task.encode).arrays() if self.kept.n_rows else {}

    def restore_model(self, written: dict[str, Any], arrays: dict[str, np.ndarray], task: Task, width: int) -> None:
        """Go on as `to_json` and `arrays` say; detectors of another River begin anew. ValueError for what cannot be."""
        if written["river"] != version("river"):
            written = written | {"river": version("river"), "each": [one.state() for one in self._each]}
        self.rows, self.given_up, self.times = (written[name] for name in ("rows", "given_up", "times"))
        forms.whole(0, self.rows)(self.given_up, "drift.given_up")
        self.restore({name: written[name] for name in STATE}, self.rows, 0)
        if arrays:
            for X, targets, weights in opening_from(arrays, width, self.kept.most).parts():
                self.kept.add(X, task.decode(outputs_of(task, targets)), weights)


def watched(task: Task, seed: int, drift: Any, on_drift: str) -> Watched | None:
    """What a learner looks out for; None: nothing."""
    plan = plan_of(drift, on_drift)
    for watch in () if plan is None else plan.watches:
        if not watch.is_named:
            raise ValueError(
                f"drift={watch.name}(...): the file of a learner names its detectors, as in drift='adwin:delta=0.01'. "
                "A run takes those of River's: prequential(drift=...)."
            )
    return None if plan is None else Watched(plan, task, seed, [])


def choice_from(header: dict[str, Any]) -> tuple[list[Any] | None, str]:
    """`drift` and `on_drift` of a model file."""
    written = header.get("drift")
    if written is None:
        return None, WARN
    _WRITTEN(written, "drift")
    return [watch_from(one) for one in written["watches"]], written["on_drift"]


def find_features(learner: "Learner", X: Any) -> None:
    """ValueError where a learner is to look at a feature that rows do not have."""
    watching, columns = learner._watching, learner.columns
    if watching is None:
        return

    def names() -> Sequence[str]:
        return () if columns is None else columns.feature_names

    watching.find_features(X, names, "these rows")
