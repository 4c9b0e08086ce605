"""The link of a learner whose scores are margins: chances of classes from scores, fitted while it learns.

What it learns from are the scores of rows from before they were learned: rows that the model has seen tell nothing of
how sure it may be of others. The first FIRST rows count, then one of EVERY, which is enough for so few numbers: which
one is scattered over the stream (multiples of the golden ratio, without their whole parts), as streams have periods.
"""

from typing import Any

import numpy as np

from ..numerics.margins import LIMITS, MarginLink, chances, first_link, learn_links

FIRST, EVERY = 1024, 8
GOLDEN = 2654435769  # 2^32 times the golden ratio's fraction


def counted(start: int, n: int) -> np.ndarray:
    """Which of n rows count, of which `start` came before them: a function of a row's number alone."""
    rows = np.arange(start, start + n)
    return (rows < FIRST) | ((rows * GOLDEN) % 2**32 < 2**32 // EVERY)


def counts(row: int) -> bool:
    """`counted` for one row."""
    return row < FIRST or (row * GOLDEN) % 2**32 < 2**32 // EVERY


class Calibration:
    """Grows with the classes; arrays are its own."""

    def __init__(self, link: MarginLink):
        self.link = link

    @classmethod
    def of(cls, n_classes: int) -> "Calibration":
        """Before any row."""
        return cls(first_link(n_classes))

    def learn(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray, start: int) -> None:
        """Take in rows of which `start` came before them. Requires: scores (n, K) from before each was learned."""
        some = counted(start, len(scores))
        if not some.any():
            return
        K = scores.shape[1]
        self._grow(max(2, K))
        classes = (targets[some] + 1.0) / 2.0 if K == 1 else targets[some] + 0.0
        learn_links(self.link, scores[some].astype(np.float64), classes, weights[some] + 0.0, np.zeros(max(2, K)))

    def chances(self, scores: np.ndarray) -> np.ndarray:
        """(n, classes)."""
        self._grow(max(2, scores.shape[1]))
        return chances(self.link, scores)

    def _grow(self, n_classes: int) -> None:
        """A class that is new begins with the mean slope of the others."""
        missing = n_classes - self.link.slopes.shape[1]
        if missing > 0:
            new = first_link(missing).slopes
            new[0] = self.link.slopes[0].mean()
            self.link = self.link._replace(slopes=np.hstack([self.link.slopes, new]))

    def copy(self) -> "Calibration":
        return Calibration(MarginLink(*(array.copy() for array in self.link)))

    def merged(self, other: "Calibration", weight: float) -> "Calibration":
        """That of (1 - weight) * f + weight * other f: the mean of both. Requires: equal classes."""
        pairs = zip(self.link, other.link, strict=True)
        return Calibration(MarginLink(*((1.0 - weight) * mine + weight * theirs for mine, theirs in pairs)))

    def arrays(self) -> dict[str, np.ndarray]:
        return self.link._asdict()


def calibration_from(arrays: dict[str, Any], n_classes: int) -> Calibration:
    """The calibration whose `arrays` these are; ValueError when they cannot be."""
    for name, array in first_link(n_classes)._asdict().items():
        found = arrays[name].T
        sound = found.dtype == np.float64 and found.shape == array.T.shape and np.isfinite(found).all()
        if not (sound and np.array_equal(found, np.clip(found, *np.array(LIMITS[name])))):
            raise ValueError("its link from scores to chances is not one that can have been learned")
    return Calibration(MarginLink(**arrays))
