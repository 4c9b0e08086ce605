"""Detectors of change: River's, by name or as they are, what each looks at, and how one is kept without a pickle."""

import base64
import inspect
import math
import random
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from .. import forms
from ..extras import needing
from ..parameters import at_least, did_you_mean, fraction, share, whole
from ..teaching import explained
from .naming import number_or_text

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
ERROR = "error"
# Of the mean that a change is described by: about the newest hundred values.
_ALPHA = 0.99


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
        self.parameters, self.is_named = parameters, isinstance(detector, str)
        if self.name in ("ddm", "DDM") and self.on != ERROR:
            raise ValueError(f"{self.name} counts mistakes, and {on!r} is none; take adwin, page-hinkley or kswin.")
        if self.is_named:
            try:
                made = self.detector(0)
            except (OverflowError, TypeError, ValueError) as error:
                given = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
                raise ValueError(f"{detector} cannot have {given}: {error}") from None
            if detector == "kswin" and made.window_size < 2 * made.stat_size:
                raise ValueError(f"window_size={made.window_size} must be at least twice stat_size={made.stat_size}.")

    def __repr__(self) -> str:
        """What makes an equal one."""
        given = [f"on={self.on!r}"] if self.on != ERROR else []
        given += [f"{name}={value!r}" for name, value in self.parameters.items()]
        return f"Watch({', '.join([repr(self.name), *given])})"

    def __str__(self) -> str:
        """As people write it: adwin:on=price,delta=0.01."""
        on = {} if self.on == ERROR else {"on": self.on}
        given = ",".join(f"{name}={value}" for name, value in (on | self.parameters).items())
        return f"{self.name}:{given}" if given else self.name

    def __eq__(self, other: object) -> bool:
        """Whether the other is the same detector, with the same parameters, on the same."""
        return isinstance(other, Watch) and repr(self) == repr(other) and self._kind == other._kind

    def __hash__(self) -> int:
        return hash(repr(self))

    def to_json(self) -> dict[str, Any]:
        """What `watch_from` makes an equal one of. Requires: its detector has a name."""
        return {"detector": self.name, "on": self.on, "parameters": self.parameters}

    def detector(self, seed: int) -> Any:
        """A detector that has seen nothing.

        seed: of its random choices
        """
        return self._kind(**self.parameters, **({"seed": seed} if self._seeded else {}))


def as_watch(given: Any) -> Watch:
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


def watch_from(written: dict[str, Any]) -> Watch:
    """The watch that `Watch.to_json` described; ValueError for what none can be."""
    name, on, parameters = written["detector"], written["on"], written["parameters"]
    plain = all(isinstance(value, bool | int | float | str) for value in parameters.values())
    if not (isinstance(name, str) and isinstance(on, str | int) and plain):
        raise ValueError(f"{written!r:.80} is nothing that a model looks out with")
    return Watch(name, on=on, **parameters)


_TRIED = [0.0, 1.0] * 32  # what a detector of a file must be able to take
_MEANS = forms.record(list=forms.row(*[forms.record(float=forms.hexadecimal)] * 3))
SEEING = forms.record(detector=forms.by_name, n=forms.whole(), means=_MEANS)  # what `Seeing.state` writes


class Seeing:
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
