"""The link of a learner whose scores are margins: chances of classes from scores, fitted while it learns.

What it learns from are the scores of rows from before they were learned: rows that the model has seen tell nothing of
how sure it may be of others. The first FIRST rows count, then one of EVERY, which is enough for so few numbers: which
one is scattered over the stream (multiples of the golden ratio, without their whole parts), as streams have periods.
"""

import threading
from typing import Any

import numpy as np

from ..numerics.margins import LIMITS, MarginLink, chances, first_link, learn_links

FIRST, EVERY = 1024, 8
TOGETHER = 64  # single rows that are taken in at once
GOLDEN = 2654435769  # 2^32 times the golden ratio's fraction


def counted(start: int, n: int) -> np.ndarray:
    """Which of n rows count, of which `start` came before them: a function of a row's number alone."""
    rows = np.arange(start, start + n)
    return (rows < FIRST) | ((rows * GOLDEN) % 2**32 < 2**32 // EVERY)


class Calibration:
    """Grows with the classes; arrays are its own. Rows that come one by one wait until there are some of them, or
    somebody looks: a call of compiled code costs as much as learning a row.
    """

    def __init__(self, link: MarginLink):
        # The rows that wait by their numbers. Both change at once, wherever an interrupt comes.
        self._known: tuple[MarginLink, dict[int, tuple[np.ndarray, float, float]]] = link, {}
        self._taking = threading.Lock()

    @classmethod
    def of(cls, n_classes: int) -> "Calibration":
        """Before any row."""
        return cls(first_link(n_classes))

    def __reduce__(self) -> Any:
        return Calibration, (self.link,)

    @property
    def link(self) -> MarginLink:
        """By all rows so far."""
        with self._taking:
            link, waiting = self._known
            if waiting:
                link = MarginLink(*(array.copy() for array in link))
                scores, targets, weights = zip(*waiting.values(), strict=True)
                _take(link, np.concatenate(scores), np.array(targets), np.array(weights))
                self._known = link, {}
            return link

    def learn(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray, start: int) -> None:
        """Take in rows of which `start` came before them. Requires: scores (n, K) from before each was learned."""
        link, some = self.link, counted(start, len(scores))
        if some.any():
            _take(link, scores[some], targets[some], weights[some])

    def learn_one(self, scores: np.ndarray, target: float, weight: float, start: int) -> None:
        """`learn` for one row, scores (1, K), which may change afterwards; once, if the same row is given again."""
        if start < FIRST or (start * GOLDEN) % 2**32 < 2**32 // EVERY:
            if len(self._known[1]) >= TOGETHER and start not in self._known[1]:
                _ = self.link
            self._known[1][start] = scores.copy(), target, weight

    def chances(self, scores: np.ndarray) -> np.ndarray:
        """(n, classes)."""
        return chances(self.link, scores)

    def grown(self, n_classes: int) -> "Calibration":
        """With classes that are new; each begins with the mean slope of the others."""
        missing = n_classes - self.link.slopes.shape[1]
        if missing <= 0:
            return self
        link, new = self.link, first_link(missing).slopes
        new[0] = link.slopes[0].mean() if link.slopes.size else 1.0
        return Calibration(link._replace(slopes=np.hstack([link.slopes, new])))

    def copy(self) -> "Calibration":
        return Calibration(MarginLink(*(array.copy() for array in self.link)))

    def merged(self, other: Any, weight: float, since: Any = None) -> "Calibration":
        """That of (1 - weight) * f + weight * other f: the mean of both, whatever they went on from. Requires: equal
        classes.
        """
        pairs = zip(self.link, other.link, strict=True)
        return Calibration(MarginLink(*((1.0 - weight) * mine + weight * theirs for mine, theirs in pairs)))

    def arrays(self) -> dict[str, np.ndarray]:
        return self.link._asdict()


def _take(link: MarginLink, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> None:
    K, room = scores.shape[1], np.zeros(link.slopes.shape[1])
    classes = (targets + 1.0) / 2.0 if K == 1 else targets.astype(np.float64)
    learn_links(link, scores.astype(np.float64), classes, weights.astype(np.float64), room)


def calibration_from(arrays: dict[str, Any], n_classes: int) -> Calibration:
    """The calibration whose `arrays` these are; ValueError when they cannot be."""
    for name, array in first_link(n_classes)._asdict().items():
        found = arrays[name].T
        sound = found.dtype == np.float64 and found.shape == array.T.shape and np.isfinite(found).all()
        if not (sound and np.array_equal(found, np.clip(found, *np.array(LIMITS[name])))):
            raise ValueError("its link from scores to chances is not one that can have been learned")
    return Calibration(MarginLink(**arrays))
