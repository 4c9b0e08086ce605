"""What is predicted without looking at a row: the class seen most so far or the mean so far, and the label before."""

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from ..metrics import LABELS, Metric
from ..sources import Matrix
from ..tasks import Classification, Task
from .models import Model, Shown

MAJORITY, MEAN, NO_CHANGE = "majority so far", "mean so far", "no change"


class Naive(Model):
    """A model that sees labels only."""

    def __init__(self, task: Task, name: str):
        self.task, self.name = task, name
        first = task.classes[0] if isinstance(task, Classification) and len(task.classes) else 0.0
        self._next: Any = first

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    def show(self, X: Matrix, kinds: Set[str]) -> Shown:
        return {LABELS: np.full(X.shape[0], self._next)}

    def learn(self, X: Matrix, y: np.ndarray, kinds: Set[str]) -> Shown:
        return {LABELS: self._before_each(y)}

    def _before_each(self, y: np.ndarray) -> np.ndarray:
        """What is said of each row before its label comes."""
        raise NotImplementedError


class Majority(Naive):
    """The class that most rows so far had, the first to have had so many."""

    def __init__(self, task: Task):
        super().__init__(task, MAJORITY)
        self._counts: dict[Any, int] = {}

    def _before_each(self, y: np.ndarray) -> np.ndarray:
        said, most = [], self._counts.get(self._next, 0)
        for label in y.tolist():
            said.append(self._next)
            n = self._counts[label] = self._counts.get(label, 0) + 1
            if n > most:
                self._next, most = label, n
        return np.array(said)


class Mean(Naive):
    """The mean of the targets so far, 0 before the first."""

    def __init__(self, task: Task):
        super().__init__(task, MEAN)
        self._sum, self._n = 0.0, 0

    def _before_each(self, y: np.ndarray) -> np.ndarray:
        sums = self._sum + np.concatenate([[0.0], np.cumsum(y)])
        counts = self._n + np.arange(len(y) + 1)
        said = sums / np.maximum(counts, 1)
        self._sum, self._n, self._next = float(sums[-1]), int(counts[-1]), float(said[-1])
        return said[:-1]


class NoChange(Naive):
    """The label of the row before."""

    def __init__(self, task: Task):
        super().__init__(task, NO_CHANGE)

    def _before_each(self, y: np.ndarray) -> np.ndarray:
        said = np.concatenate([np.array([self._next]), y[:-1]])
        self._next = y[-1]
        return said


def naive(task: Task, *, in_order: bool) -> list[Model]:
    """What a learner should be better than; where rows are in their own order, by the label before as well."""
    plain = Majority(task) if isinstance(task, Classification) else Mean(task)
    return [plain, NoChange(task)] if in_order else [plain]


def by_labels(metrics: Sequence[Metric]) -> list[Metric]:
    """The metrics that labels are enough for."""
    return [metric for metric in metrics if metric.needs == LABELS]
