"""Honest numbers: models run over streams, once or many times, in one process or several, and tuned."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..learner.detectors import Watch
    from ..learner.drift import Drift
    from .asking import Asking, AtRandom, ByMargin, BySpread
    from .run import Run, follow, prequential, side_by_side, spaced_rows
    from .trace import Checkpoint, Course, Newcomer, Trace

__all__ = [
    "Asking",
    "AtRandom",
    "ByMargin",
    "BySpread",
    "Checkpoint",
    "Course",
    "Drift",
    "Newcomer",
    "Run",
    "Trace",
    "Watch",
    "follow",
    "prequential",
    "side_by_side",
    "spaced_rows",
]

_FILES = dict.fromkeys(("Asking", "AtRandom", "ByMargin", "BySpread"), "asking")
_FILES |= dict.fromkeys(("Checkpoint", "Course", "Newcomer", "Trace"), "trace")
_FILES |= {"Drift": ".learner.drift", "Watch": ".learner.detectors"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_FILES.get(name, 'run')}", __name__), name)
