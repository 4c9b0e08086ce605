"""Several targets a row: one learner for each, behind the face of one.

All have one spec and one seed, so that random features have the same frequencies. Where the model of one target
diverges, the learners before it have learned the block.
"""

import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ..engine import Algorithm, files
from ..learner import Learner
from ..numerics.interrupts import held
from ..tasks import Regression


class SideBySide:
    """Learners of one target each."""

    def __init__(self, learners: list[Learner]):
        self.learners = learners

    @property
    def n_targets(self) -> int:
        return len(self.learners)

    @property
    def settled(self) -> Algorithm | None:
        """The first one's: what depends on features alone is the same for all."""
        return self.learners[0].settled

    @property
    def n_seen(self) -> int:
        return self.learners[0].n_seen

    @property
    def drifts(self) -> list[Any]:
        """What each found of drift."""
        return [learner.drifts for learner in self.learners]

    @property
    def width(self) -> int:
        return self.learners[0].width

    @property
    def size(self) -> int:
        """Stored points or features, of all."""
        return sum(learner.size for learner in self.learners)

    @property
    def attributes(self) -> dict[str, Any]:
        """What each shows of itself, a list by name."""
        shown = [learner.attributes for learner in self.learners]
        return {name: [one[name] for one in shown] for name in shown[0]}

    def learn(self, X: Any, Y: Any, sample_weight: Any = None) -> np.ndarray:
        """The values shown for each row, (n, targets), before it is learned from."""
        for j in range(self.n_targets):  # what is wrong with the last target is found before the first is learned
            Regression().encode(Y[:, j])
        with held():  # an interrupt comes before all of them, or after
            return self._each(lambda learner, j: learner.learn(X, Y[:, j], sample_weight))

    def scores(self, X: Any) -> np.ndarray:
        return self._each(lambda learner, j: learner.scores(X))

    def deviations(self, X: Any) -> np.ndarray:
        return self._each(lambda learner, j: learner.deviations(X))

    def intervals(self, X: Any, level: float = 0.9) -> np.ndarray:
        return np.stack([learner.intervals(X, level) for learner in self.learners], axis=1)

    def leave_one_out(self, X: Any, Y: Any, sample_weight: Any = None) -> np.ndarray:
        return self._each(lambda learner, j: learner.leave_one_out(X, Y[:, j], sample_weight))

    def _each(self, call: Callable[[Learner, int], np.ndarray]) -> np.ndarray:
        return np.hstack([call(learner, j) for j, learner in enumerate(self.learners)])

    def merge(self, other: "SideBySide") -> Self:
        for mine, theirs in zip(self.learners, self._matching(other), strict=True):
            mine.merge(theirs)
        return self

    def unmerge(self, other: "SideBySide") -> Self:
        for mine, theirs in zip(self.learners, self._matching(other), strict=True):
            mine.unmerge(theirs)
        return self

    def _matching(self, other: Any) -> list[Learner]:
        there = other.n_targets if isinstance(other, SideBySide) else 1
        if there != self.n_targets:
            raise ValueError(f"These models have {self.n_targets} and {there} targets; they cannot be merged.")
        learners: list[Learner] = other.learners
        return learners

    def save(self, path: str | os.PathLike[str], **extra: Any) -> None:
        made = [learner.to_parts() for learner in self.learners]
        arrays = files.joined({str(j): arrays for j, (_, arrays) in enumerate(made)})
        files.write(path, {"targets": [header for header, _ in made], **extra}, arrays)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "SideBySide":
        made = [Learner.from_parts(one, files.part(arrays, str(j))) for j, one in enumerate(header["targets"])]
        if not made or any(not isinstance(learner.task, Regression) for learner in made):
            raise ValueError("it names no targets of a regression")
        return cls(made)
