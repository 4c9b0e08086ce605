"""Honest numbers: models run over streams, once or many times, in one process or several, and tuned."""

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
