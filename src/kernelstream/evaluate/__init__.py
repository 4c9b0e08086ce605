"""Honest numbers: models run over streams, once or many times, in one process or several, and tuned."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .drift import Drift, Watch
    from .run import Checkpoint, Course, Run, Trace, follow, prequential, side_by_side, spaced_rows

__all__ = [
    "Checkpoint",
    "Course",
    "Drift",
    "Run",
    "Trace",
    "Watch",
    "follow",
    "prequential",
    "side_by_side",
    "spaced_rows",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{'drift' if name in ('Drift', 'Watch') else 'run'}", __name__), name)
