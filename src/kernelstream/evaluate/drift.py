"""Drift: River's detectors on the errors of a run or on a feature, what they found, and what is done about it.

A detector sees the error of a row when its label has come, and a feature when its row is shown. It begins anew after
what it finds. "restart" and "forget" act before the next row whose number is a multiple of EVERY, whatever the blocks,
and of errors only where they rose: those that fall are no reason to throw a model away.

    warn      the finding is noted
    restart   the model begins anew
    forget    the model begins anew, and learns the newest rows whose labels have come again (`KEPT` of them)
"""

import base64
import inspect
import math
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from .. import forms
from ..extras import needing
from ..parameters import at_least, did_you_mean, fraction, share, whole
from ..sources import Matrix, Source
from ..tasks import Classification, Task
from ..teaching import explained
from .settings import number_or_text

DETECTORS = {"adwin": "ADWIN", "page-hinkley": "PageHinkley", "kswin": "KSWIN", "ddm": "DDM"}
# What River's classes take; they say little of it themselves.
_LIMITS: dict[str, dict[str, Callable[..., None]]] = {
    "adwin": {
        "delta": share,
        "clock": partial(whole, 1),
        "max_buckets": partial(whole, 1),
        "min_window_length": partial(whole, 1),
        "grace_period": partial(whole, 0),
    },
    "page-hinkley": {
        "min_instances": partial(whole, 0),
        "delta": partial(at_least, 0),
        "threshold": partial(at_least, 0),
        "alpha": fraction,
    },
    "kswin": {
        "alpha": share,
        "window_size": partial(whole, 2),
        "stat_size": partial(whole, 1),
        "seed": partial(whole, 0),
    },
    "ddm": {
        "warm_start": partial(whole, 0),
        "warning_threshold": partial(at_least, 0),
        "drift_threshold": partial(at_least, 0),
    },
}
WARN, RESTART, FORGET = ON_DRIFT = ("warn", "restart", "forget")
ERROR = "error"
# ADWIN looks for a change as often.
EVERY = 32
# Four times the rows on which learners settle what they leave to the data.
KEPT = 1024
# Of the mean that a change is described by: about the newest hundred values.
_ALPHA = 0.99


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


@explained(seed="of detectors that draw")
class Watch:
    """A detector and what it looks at.

    Parameters
    ----------
    detector : a name (adwin, page-hinkley, kswin, ddm), or a detector of River's
    on : "error" (0 or 1 of a class, the absolute error of a value), or a feature by its name or its number from 0
    parameters : of River's class, where the detector is named

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream import Learner, Regression
    >>> from kernelstream.evaluate import Watch, prequential
    >>> from kernelstream.sources import ArraySource
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> X[500:, 1] += 5.0
    >>> watch = Watch("adwin", on=1, delta=0.01)
    >>> trace = prequential(Learner("rbp", Regression()), ArraySource(X, X[:, 0]), drift=watch)
    >>> {drift.on for drift in trace.drifts}
    {'1'}
    """

    def __init__(self, detector: Any = "adwin", *, on: str | int = ERROR, **parameters: Any):
        with needing("river"):
            from river import drift
        if isinstance(detector, str):
            if detector not in DETECTORS:
                raise ValueError(
                    f"drift={detector!r} is no detector; {did_you_mean(detector, DETECTORS)} from "
                    f"{', '.join(DETECTORS)}."
                )
            self.name = detector
            self._kind = getattr(drift, DETECTORS[detector], None) or getattr(drift.binary, DETECTORS[detector])
            known = [name for name in inspect.signature(self._kind).parameters if name != "window"]
            strange = next((name for name in parameters if name not in known), None)
            if strange is not None:
                raise ValueError(f"{detector} has no parameter {strange!r}; it has {', '.join(known)}.")
            for name, value in parameters.items():
                if name in _LIMITS[detector]:
                    _LIMITS[detector][name](**{name: value})
            self._seeded = "seed" in known and "seed" not in parameters
        else:
            if not (hasattr(detector, "update") and hasattr(detector, "drift_detected")) or parameters:
                raise ValueError(f"drift={detector!r} is no detector of River's, or has parameters beside it.")
            self.name, self._kind, self._seeded = type(detector).__name__, detector.clone, False
        self.on = int(on) if isinstance(on, str) and on.isdecimal() else on
        self._parameters = parameters
        if self.name in ("ddm", "DDM") and self.on != ERROR:
            raise ValueError(f"{self.name} counts mistakes, and {on!r} is none; take adwin, page-hinkley or kswin.")
        if isinstance(detector, str):
            try:
                made = self.detector(0)
            except (OverflowError, TypeError, ValueError) as error:
                given = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
                raise ValueError(f"{detector} cannot have {given}: {error}") from None
            if detector == "kswin" and made.window_size < 2 * made.stat_size:
                raise ValueError(f"window_size={made.window_size} must be at least twice stat_size={made.stat_size}.")

    def detector(self, seed: int) -> Any:
        """A detector that has seen nothing."""
        return self._kind(**self._parameters, **({"seed": seed} if self._seeded else {}))


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

    drift: names such as ``"adwin"`` or ``"kswin:on=price,alpha=0.001"``, detectors of River's, `Watch`es; one, or
        several. on_drift: "warn", "restart", or "forget", also with the number of rows that stay, ``"forget:500"``.
    """
    word, colon, number = on_drift.partition(":")
    if word not in ON_DRIFT or (colon and not (word == FORGET and number.isdecimal() and int(number) > 0)):
        raise ValueError(
            f"on_drift={on_drift!r} is not known; {did_you_mean(word, ON_DRIFT)} one of {', '.join(ON_DRIFT)}, "
            "or forget:N with N rows that stay."
        )
    several = drift if isinstance(drift, list | tuple) else [] if drift is None else [drift]
    watches = tuple(_watch(one) for one in several)
    if not watches:
        if word != WARN:
            raise ValueError(f"on_drift={on_drift!r} needs a detector; say which, drift='adwin'.")
        return None
    return Plan(watches, word, (int(number) if colon else KEPT) if word == FORGET else 0)


def _watch(given: Any) -> Watch:
    if isinstance(given, Watch):
        return given
    if not isinstance(given, str):
        return Watch(given)
    name, _, rest = given.partition(":")
    options: dict[str, Any] = {}
    for setting in rest.split(",") if rest else ():
        key, equals, text = setting.partition("=")
        if not (key and equals and text):
            raise ValueError(f"the setting {setting!r} of drift={given!r} is not name=value, as in adwin:delta=0.01.")
        options[key] = text if key == "on" else number_or_text(text)
    return Watch(name, **options)


_TRIED = [0.0, 1.0] * EVERY  # what a detector of a file must be able to take
_MEANS = forms.record(list=forms.row(*[forms.record(float=forms.hexadecimal)] * 3))
_STATE = forms.record(
    river=forms.text,
    due=forms.truth,
    each=forms.every(forms.record(detector=forms.by_name, n=forms.whole(), means=_MEANS)),
    waiting=forms.every(forms.row(forms.whole(), forms.number(0.0))),
    found=forms.every(
        forms.record(
            row=forms.whole(1),
            detector=forms.text,
            on=forms.text,
            before=forms.number(),
            after=forms.number(),
            did=forms.text,
        )
    ),
)


class _Seeing:
    """A watch at work: its detector, and the values since it began."""

    def __init__(self, watch: Watch, seed: int):
        self.watch, self._seed = watch, seed
        self.column = watch.on if isinstance(watch.on, int) else None
        self.begin()

    def begin(self) -> None:
        self.detector = self.watch.detector(self._seed)
        self.n, self.total, self.faded, self.weight = 0, 0.0, 0.0, 0.0

    def see(self, value: float) -> tuple[float, float] | None:
        """Take in a value; the means before and after a change, where one is found."""
        self.n, self.total = self.n + 1, self.total + value
        self.faded, self.weight = value + _ALPHA * self.faded, 1.0 + _ALPHA * self.weight
        self.detector.update(value)
        if not self.detector.drift_detected:
            return None
        before, after = self.total / self.n, self.faded / self.weight
        width = getattr(self.detector, "width", 0)
        if 0 < width < self.n:  # ADWIN knows what it has kept
            after = float(self.detector.estimation)
            before = (self.total - width * after) / (self.n - width)
        self.begin()
        return before, after

    def state(self) -> dict[str, Any]:
        means = [self.total, self.faded, self.weight]
        return {"detector": _written(self.detector), "n": self.n, "means": _written(means)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a `state`; where a detector cannot, whatever River raises."""
        fresh = self.watch.detector(self._seed)
        trial, self.detector = (_restored(self.watch.detector(self._seed), state["detector"]) for _ in range(2))
        if _written(self.detector) != state["detector"]:
            raise ValueError("parts of it are of no detector")
        for name in inspect.signature(type(fresh)).parameters:
            given = getattr(fresh, name, None)
            if isinstance(given, bool | int | float | str) and given != getattr(self.detector, name):
                raise ValueError(f"its {name} is another")
        for value in _TRIED:
            trial.update(value)
        self.n, (self.total, self.faded, self.weight) = state["n"], _restored(None, state["means"])


class Watching:
    """What a run looks out for: fed by the run, in the order in which a user would learn of things.

    found: all so far. due: whether the model must change before the next row.
    """

    def __init__(self, plan: Plan, task: Task, seed: int, found: list[Drift]):
        self.plan, self.found, self.due = plan, found, False
        self._each = [_Seeing(watch, seed) for watch in plan.watches]
        self._waiting: dict[int, float] = {}  # errors of rows whose labels have not come
        regression = not isinstance(task, Classification)
        if regression and any(watch.name in ("ddm", "DDM") for watch in plan.watches):
            raise ValueError("ddm counts mistakes, and a regression has none; take adwin, page-hinkley or kswin.")

    def see_features(self, X: Matrix, first: int, source: Source) -> None:
        """Rows are shown, the first of them number `first`."""
        for one in self._each:
            if one.watch.on != ERROR:
                self._see(one, _column(X, self._place(one, X, source)), range(first + 1, first + 1 + X.shape[0]))

    def see_shown(self, task: Task, first: int, y: np.ndarray, shown: np.ndarray) -> None:
        """What was shown of rows whose labels are still to come."""
        errors = y != shown if isinstance(task, Classification) else np.abs(y.astype(np.float64) - shown)
        self._waiting.update(enumerate(np.asarray(errors, np.float64).tolist(), first))

    def see_labels(self, numbers: Iterable[int], rows: Iterable[int]) -> None:
        """The labels of rows, by their numbers, have come when so many rows had been shown."""
        pairs = zip(numbers, rows, strict=True)
        came = [(self._waiting.pop(number), row) for number, row in pairs if number in self._waiting]
        for one in self._each:
            if one.watch.on == ERROR:
                self._see(one, [error for error, _ in came], [row for _, row in came])

    def begin(self) -> None:
        """The model is another: errors begin anew, and those of what the one before said do not count."""
        self.due = False
        self._waiting.clear()
        for one in self._each:
            if one.watch.on == ERROR:
                one.begin()

    def _see(self, one: _Seeing, values: Sequence[float], rows: Iterable[int]) -> None:
        for value, row in zip(values, rows, strict=True):
            change = one.see(value)
            if change is None:
                continue
            acts = self.plan.acts and (one.watch.on != ERROR or change[1] > change[0])
            self.due = self.due or acts
            did = self.plan.on_drift if acts else WARN
            self.found.append(Drift(row, one.watch.name, str(one.watch.on), *change, did))
            self.found.sort(key=lambda drift: drift.row)

    def _place(self, one: _Seeing, X: Matrix, source: Source) -> int:
        if one.column is None:
            names = source.feature_names or []
            if one.watch.on not in names:
                known = f"they are {', '.join(names)}" if names else "they have none; give a number, from 0"
                raise ValueError(f"drift: no feature of {source.name} is named {one.watch.on!r}; {known}.")
            one.column = names.index(str(one.watch.on))
        if one.column >= X.shape[1] and not issparse(X):
            raise ValueError(
                f"drift: there is no feature {one.column} in {source.name}; they go from 0 to {X.shape[1] - 1}."
            )
        return one.column

    def state(self) -> dict[str, Any]:
        """All that `restore` needs, as a JSON value."""
        return {
            "river": version("river"),
            "due": self.due,
            "each": [one.state() for one in self._each],
            "waiting": list(self._waiting.items()),
            "found": [found._asdict() for found in self.found],
        }

    def restore(self, state: dict[str, Any], rows: int, delay: int) -> None:
        """Go on from a `state`, bit for bit; ValueError for what no run can have left that has shown so many rows."""
        _STATE(state, "run.drift")
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
        """ValueError for findings and rows that wait for labels that are not those of a run of so many rows."""
        if not set(self._waiting) <= set(range(rows - delay, rows)) or len(self._waiting) < len(state["waiting"]):
            raise ValueError(f"its run.drift.waiting has rows that are not among the last {delay} of {rows}")
        for i, found in enumerate(self.found):
            place, after = f"run.drift.found.{i}", self.found[i - 1].row if i else 1
            forms.whole(after, rows)(found.row, f"{place}.row")
            watched = [(one.watch.name, str(one.watch.on)) for one in self._each]
            forms.among(*watched)((found.detector, found.on), f"{place}.detector")
            forms.among(WARN, self.plan.on_drift)(found.did, f"{place}.did")
        last_change = (rows - 1) // EVERY * EVERY
        due = any(found.did != WARN and found.row > last_change for found in self.found)
        forms.agree("run.drift.due", self.due, due, "run.drift.found")


def _column(X: Matrix, place: int) -> list[float]:
    if place >= X.shape[1]:
        return [0.0] * X.shape[0]
    column = X[:, [place]]
    return np.asarray(column.toarray() if issparse(column) else column, np.float64)[:, 0].tolist()


# Detectors as JSON values, without a pickle: a file must not be able to run code.


def _written(value: Any) -> Any:
    if isinstance(value, float):
        return {"float": float(value).hex()}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, random.Random):
        return {"list": [_written(part) for part in value.getstate()]}
    if isinstance(value, list | tuple | deque):
        return {"list": [_written(part) for part in value]}
    state = value.__getstate__() if type(value).__module__.startswith("river.") else None
    if isinstance(state, bytes):
        return _written(state)
    if not isinstance(state, dict):
        raise ValueError(
            f"drift: {type(value).__name__} cannot be kept in a checkpoint; take another detector, or no checkpoint."
        )
    return {"parts": {name: _written(part) for name, part in state.items() if not inspect.ismethod(part)}}


def _restored(fresh: Any, written: Any) -> Any:
    """What was written, `fresh` being the same before any value."""
    if not isinstance(written, dict):
        if fresh is not None and type(written) is not type(fresh):
            raise ValueError(f"{written!r} stands where {fresh!r} was")
        return written
    ((kind, value),) = written.items()
    if kind == "float":
        if math.isnan(found := float.fromhex(value)):
            raise ValueError("a number is NaN")
        return found
    if kind == "bytes":
        fresh.__setstate__(base64.b64decode(value, validate=True))
    elif kind == "parts":
        for name, part in value.items():
            setattr(fresh, name, _restored(getattr(fresh, name), part))
    else:
        if kind != "list":
            raise ValueError(f"{kind!r} is nothing that is written")
        parts = [_restored(None, part) for part in value]
        if isinstance(fresh, random.Random):
            fresh.setstate((parts[0], tuple(parts[1]), parts[2]))
        elif isinstance(fresh, deque):
            fresh.extend(parts)
        else:
            return parts
    return fresh
