"""Honest numbers: models run over streams, once or many times, in one process or several, and tuned."""

from .run import Checkpoint, Run, Trace, follow, prequential, side_by_side, spaced_rows

__all__ = ["Checkpoint", "Run", "Trace", "follow", "prequential", "side_by_side", "spaced_rows"]
