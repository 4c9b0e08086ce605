"""Training on several workers, of one machine or of many: `train`. The engine is Ray, the mathematics is `merge`."""

from .coordinator import Coordinator, Plan, Result, Synchronisation, WorkerRecord
from .training import Checkpoints, train

__all__ = ["Checkpoints", "Coordinator", "Plan", "Result", "Synchronisation", "WorkerRecord", "train"]
