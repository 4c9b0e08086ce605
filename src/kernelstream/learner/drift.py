"""Drift: what detectors found in a stream's errors or in a feature of it, and what a run or a learner does about it.

A detector sees the error of a row when its label has come, and a feature when its row is shown. It begins anew after
what it finds. "restart" and "forget" act before the next row whose number is a multiple of EVERY, whatever the blocks,
and of errors only where they rose: those that fall are no reason to throw a model away.

    warn      the finding is noted
    restart   the model begins anew
    forget    the model begins anew, and learns the newest rows whose labels have come again (`KEPT` of them)
"""

import math
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from .. import forms
from ..engine.opening import Opening
from ..numerics.rows import cut
from ..parameters import did_you_mean
from ..tasks import Classification, Task
from .detectors import ERROR, SEEING, Seeing, Watch, as_watch

WARN, RESTART, FORGET = ON_DRIFT = ("warn", "restart", "forget")
# ADWIN looks for a change as often.
EVERY = 32
# Four times the rows on which learners settle what they leave to the data.
KEPT = 1024


class Drift(NamedTuple):
    """What a detector found.

    Parameters
    ----------
    row : when so many rows had been shown
    detector : which
    on : "error", or the feature that it looks at
    before, after : the means of that
    did : what was done about it: "warn", "restart" or "forget"

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream import Binary, Learner
    >>> from kernelstream.evaluate import prequential
    >>> from kernelstream.sources import ArraySource
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = (X[:, 0] > 0) ^ (np.arange(2000) >= 1000)  # what is asked for turns around
    >>> trace = prequential(Learner("rbp", Binary([False, True])), ArraySource(X, y), drift="adwin")
    >>> bool(1000 < trace.drifts[-1].row < 1200), trace.drifts[-1].did
    (True, 'warn')
    """

    row: int
    detector: str
    on: str
    before: float
    after: float
    did: str


# What `Watching.state` writes.
STATE = {
    "river": forms.text,
    "due": forms.truth,
    "each": forms.every(SEEING),
    "waiting": forms.every(forms.row(forms.whole(), forms.number(0.0))),
    "found": forms.every(
        forms.record(
            row=forms.whole(1),
            detector=forms.text,
            on=forms.text,
            before=forms.number(),
            after=forms.number(),
            did=forms.text,
        )
    ),
}


class Plan(NamedTuple):
    """What a run looks out for, and what it does about what it finds. kept: rows that "forget" learns again."""

    watches: tuple[Watch, ...]
    on_drift: str
    kept: int

    @property
    def acts(self) -> bool:
        return self.on_drift != WARN


def plan_of(drift: Any, on_drift: str = WARN) -> Plan | None:
    """What `drift` and `on_drift` stand for; None: nothing.

    drift: names such as ``"adwin"`` or ``"kswin:on=price,alpha=0.001"``, detectors of River's, or a `Watch`; one, or
        several. on_drift: "warn", "restart", or "forget", also with the number of rows that stay, ``"forget:500"``.
    """
    word, colon, number = on_drift.partition(":")
    if word not in ON_DRIFT or (colon and not (word == FORGET and number.isdecimal() and int(number) > 0)):
        raise ValueError(
            f"on_drift={on_drift!r} is not known; {did_you_mean(word, ON_DRIFT)} one of {', '.join(ON_DRIFT)}, "
            "or forget:N with N rows that stay."
        )
    several = drift if isinstance(drift, list | tuple) else [] if drift is None else [drift]
    watches = tuple(as_watch(one) for one in several)
    if not watches:
        if word != WARN:
            raise ValueError(f"on_drift={on_drift!r} needs a detector; say which, drift='adwin'.")
        return None
    return Plan(watches, word, (int(number) if colon else KEPT) if word == FORGET else 0)


class Kept(Opening):
    """The newest rows whose labels have come, at most so many of them, with labels and weights."""

    def __init__(self, most: int):
        super().__init__()
        self.most = most

    def copy(self) -> "Kept":
        """The same rows, which nobody writes into."""
        twin = Kept(self.most)
        twin._parts, twin.n_rows = self._parts.copy(), self.n_rows
        return twin

    def add(self, X: Any, y: np.ndarray, weights: np.ndarray) -> None:
        if self.most == 0:
            return
        super().add(X, y, weights)
        while self.n_rows > self.most:
            X, y, weights = self._parts.pop(0)
            over = min(len(y), self.n_rows - self.most)
            self.n_rows -= over
            if over < len(y):
                self._parts.insert(0, (cut(X, slice(over, None)), y[over:], weights[over:]))


class Watching:
    """What a run or a learner looks out for: fed by it, in the order in which a user would learn of things.

    found: all so far. due: whether the model must change before the next row. kept: what it then learns again.
    """

    entry = "run.drift"  # of a file, that holds its `state`

    def __init__(self, plan: Plan, task: Task, seed: int, found: list[Drift]):
        self.plan, self.found, self.due = plan, found, False
        self.kept = Kept(plan.kept)
        self._each = [Seeing(watch, seed) for watch in plan.watches]
        self._waiting: dict[int, float] = {}  # errors of rows whose labels have not come
        regression = not isinstance(task, Classification)
        if regression and any(watch.name in ("ddm", "DDM") for watch in plan.watches):
            raise ValueError("ddm counts mistakes, and a regression has none; take adwin, page-hinkley or kswin.")

    # What is seen.

    def see_features(self, X: Any, first: int) -> None:
        """Rows are shown, the first of them number `first`. Requires: `find_features` of them."""
        for one in self._each:
            if one.column is not None:
                self._see(one, _column(X, one.column), range(first + 1, first + 1 + X.shape[0]))

    def find_features(self, X: Any, names: Callable[[], Sequence[str]], where: str) -> None:
        """ValueError for a feature to look at that such rows do not have. names: of features, where they have any."""
        for one in self._each:
            on = one.watch.on
            if on == ERROR:
                continue
            if one.column is None:
                known = list(names())
                if on not in known:
                    which = f"they are {', '.join(known)}" if known else "they have none; give a number, from 0"
                    raise ValueError(f"drift: no feature of {where} is named {on!r}; {which}.")
                one.column = known.index(str(on))
            if one.column >= X.shape[1] and not issparse(X):
                raise ValueError(
                    f"drift: there is no feature {one.column} in {where}; they go from 0 to {X.shape[1] - 1}."
                )

    def see_shown(self, task: Task, first: int, y: np.ndarray, shown: np.ndarray) -> None:
        """What was shown of rows whose labels are still to come."""
        self._waiting.update(enumerate(errors_of(task, y, shown), first))

    def see_labels(self, numbers: Iterable[int], rows: Iterable[int]) -> None:
        """The labels of rows, by their numbers, have come when so many rows had been shown."""
        pairs = zip(numbers, rows, strict=True)
        came = [(self._waiting.pop(number), row) for number, row in pairs if number in self._waiting]
        self.see_errors([error for error, _ in came], [row for _, row in came])

    def see_errors(self, errors: Sequence[float], rows: Sequence[int]) -> None:
        """The errors of rows have come to be known when so many rows had been shown."""
        for one in self._each:
            if one.watch.on == ERROR:
                self._see(one, errors, rows)

    def _see(self, one: Seeing, values: Sequence[float], rows: Iterable[int]) -> None:
        for value, row in zip(values, rows, strict=True):
            change = one.see(value)
            if change is None:
                continue
            acts = self.plan.acts and (one.watch.on != ERROR or change[1] > change[0])
            self.due = self.due or acts
            did = self.plan.on_drift if acts else WARN
            self.found.append(Drift(row, one.watch.name, str(one.watch.on), *change, did))
            self.found.sort(key=lambda drift: drift.row)

    # What is done.

    def until(self, row: int) -> float:
        """How many rows there are from number `row` to the next at which a model may change."""
        return EVERY - row % EVERY if self.plan.acts else math.inf

    def is_due(self, row: int) -> bool:
        """Whether the model must change before it meets the row of this number."""
        return self.due and row % EVERY == 0

    def begin_anew(self, learn: Callable[[Any, np.ndarray, np.ndarray], Any]) -> None:
        """The model has begun anew: it learns the rows that were kept, with their weights."""
        for X, y, weights in self.kept.parts():
            learn(X, y, weights)
        self.begin()

    def begin(self) -> None:
        """The model is another: errors begin anew, and those of what the one before said do not count."""
        self.due = False
        self._waiting.clear()
        for one in self._each:
            if one.watch.on == ERROR:
                one.begin()

    # Where it stands.

    def state(self) -> dict[str, Any]:
        """All that `restore` needs but for the rows that are kept, as a JSON value."""
        return {
            "river": version("river"),
            "due": self.due,
            "each": [one.state() for one in self._each],
            "waiting": list(self._waiting.items()),
            "found": [found._asdict() for found in self.found],
        }

    def restore(self, state: dict[str, Any], rows: int, delay: int) -> None:
        """Go on from a `state`, bit for bit; ValueError for what cannot have been left after so many rows."""
        forms.record(**STATE)(state, self.entry)
        here = version("river")
        if state["river"] != here:
            raise ValueError(
                f"the run was begun with detectors of River {state['river']}, not {here}; resume it with that."
            )
        try:
            for one, saved in zip(self._each, state["each"], strict=True):
                one.restore(saved)
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException:  # River's compiled code panics, which is no Exception
            raise ValueError(
                "the run that was kept has detectors that River could not have left; begin anew."
            ) from None
        self._waiting, self.due = {row: float(error) for row, error in state["waiting"]}, state["due"]
        self.found[:] = [Drift(**found) for found in state["found"]]
        self._require_agreement(state, rows, delay)

    def _require_agreement(self, state: dict[str, Any], rows: int, delay: int) -> None:
        """ValueError for findings, and rows that wait for labels, that are not those of so many rows."""
        if not set(self._waiting) <= set(range(rows - delay, rows)) or len(self._waiting) < len(state["waiting"]):
            raise ValueError(f"its {self.entry}.waiting has rows that are not among the last {delay} of {rows}")
        for i, found in enumerate(self.found):
            place, after = f"{self.entry}.found.{i}", self.found[i - 1].row if i else 1
            forms.whole(after, rows)(found.row, f"{place}.row")
            watched = [(one.watch.name, str(one.watch.on)) for one in self._each]
            forms.among(*watched)((found.detector, found.on), f"{place}.detector")
            forms.among(WARN, self.plan.on_drift)(found.did, f"{place}.did")
        since = self.changed_until(rows)
        due = any(found.did != WARN and found.row > since for found in self.found)
        forms.agree(f"{self.entry}.due", self.due, due, f"{self.entry}.found")

    def changed_until(self, rows: int) -> int:
        """The last row, of so many, that what is found up to has been acted on: a run acts when the next row comes."""
        return (rows - 1) // EVERY * EVERY


def errors_of(task: Task, y: np.ndarray, shown: np.ndarray) -> list[float]:
    """What detectors see of rows: 0 or 1 of a class, of a value the absolute error."""
    errors = y != shown if isinstance(task, Classification) else np.abs(y.astype(np.float64) - shown)
    found: list[float] = np.asarray(errors, np.float64).tolist()
    return found


def _column(X: Any, place: int) -> list[float]:
    if place >= X.shape[1]:
        return [0.0] * X.shape[0]
    column = X[:, [place]]
    found: list[float] = np.asarray(column.toarray() if issparse(column) else column, np.float64)[:, 0].tolist()
    return found
