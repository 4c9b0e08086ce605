"""The intervals of a regression: how far from a value its target is to be expected, learned while the model learns.

What they learn from are the residuals of rows from before they were learned (`conformal`), in the targets' own
unit. A row of no weight tells nothing; all others count alike. Which level is asked for need not be known before: those
of LEVELS are kept.
"""

import threading
from typing import Any

import numpy as np

from .conformal import (
    LEVELS,
    RECENT,
    Residuals,
    Window,
    foresee_residuals,
    in_order,
    no_residuals,
    take_residuals,
)

TOGETHER = 64  # single rows that are taken in at once
FARTHEST = 100.0  # below 0, that the share of a side can come to: a thousand steps of less than 1/10
_LEVELS = np.array(LEVELS)
_UNSEEN = np.zeros((0, 0, 0))


class Intervals:
    """Rows that come one by one wait until there are some of them, or somebody looks."""

    def __init__(self, residuals: Residuals | None = None):
        # The residuals that wait by their rows' numbers. Both change at once, wherever an interrupt comes.
        self._known: tuple[Residuals, dict[int, float]] = no_residuals() if residuals is None else residuals, {}
        self._taking = threading.Lock()

    def __reduce__(self) -> Any:
        return Intervals, (self.residuals,)

    @property
    def residuals(self) -> Residuals:
        """Of all rows so far."""
        with self._taking:
            residuals, waiting = self._known
            if waiting:
                residuals = Residuals(*(array.copy() for array in residuals))
                take_residuals(residuals, _LEVELS, np.array(list(waiting.values())), _UNSEEN)
                self._known = residuals, {}
            return residuals

    def learn(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray, start: int) -> None:
        """Take in rows. Requires: scores (n, 1) from before each was learned, in the targets' unit."""
        residuals = (targets - scores[:, 0].astype(np.float64))[weights > 0.0]
        take_residuals(self.residuals, _LEVELS, residuals, _UNSEEN)

    def learn_one(self, scores: np.ndarray, target: float, weight: float, start: int) -> None:
        """`learn` for one row, scores (1, 1); once, if the same row is given again."""
        if weight > 0.0:
            if len(self._known[1]) >= TOGETHER and start not in self._known[1]:
                _ = self.residuals
            self._known[1][start] = target - float(scores[0, 0])

    def around(self, scores: np.ndarray, level: float) -> np.ndarray:
        """(n, 2): the ends of an interval for each of the scores (n, 1)."""
        reaches = np.zeros((len(LEVELS), 2))
        foresee_residuals(self.residuals, _LEVELS, reaches)
        return scores.astype(np.float64) + reaches[place_of_level(level)]

    def coverage(self, level: float) -> float:
        """The share of rows so far whose interval held the target; NaN before the first."""
        known = self.residuals
        n, missed = int(known.n), int(known.missed[place_of_level(level)].sum())
        return 1.0 - missed / n if n else float("nan")

    def copy(self) -> "Intervals":
        return Intervals(Residuals(*(array.copy() for array in self.residuals)))

    def merged(self, other: Any, weight: float, since: Any = None) -> "Intervals":
        """Of (1 - weight) * f + weight * other f: by the last residuals of both, as many of each as it weighs.

        since: of the model that both went on from, whose rows count once.
        """
        past = None if since is None else since.residuals
        return Intervals(joined_residuals(self.residuals, other.residuals, weight, past))

    def arrays(self) -> dict[str, np.ndarray]:
        kept = self.residuals._asdict()
        del kept["ordered"]
        return kept


def joined_residuals(mine: Residuals, theirs: Residuals, weight: float, past: Residuals | None) -> Residuals:
    """Of both, by their weights; what both have of the past counts once."""
    shares = (1.0 - weight) * mine.shares + weight * theirs.shares
    missed = mine.missed + theirs.missed - (0 if past is None else past.missed)
    return Residuals(*joined_windows(mine, theirs, weight, past), shares, missed)


def joined_windows(mine: Any, theirs: Any, weight: float, past: Any) -> Window:
    """The last numbers of both, as many of each as it weighs."""
    counted = 0 if past is None else int(past.n)
    n, apart = int(mine.n + theirs.n) - counted, int(theirs.n) - counted
    kept = min(n, RECENT)
    of_theirs = max(kept - min(int(mine.n), RECENT), min(round(kept * weight), apart, RECENT))
    last = np.concatenate([_in_time(mine)[-(kept - of_theirs) or RECENT :], _in_time(theirs)[-of_theirs or RECENT :]])
    recent = np.zeros(RECENT)
    recent[:kept] = np.roll(last, n % RECENT if kept == RECENT else 0)
    return Window(recent, in_order(recent, n), np.array(n))


def _in_time(window: Any) -> np.ndarray:
    """The last ones, the oldest first."""
    n, recent = int(window.n), np.asarray(window.recent)
    return recent[:n] if n < RECENT else np.roll(recent, -(n % RECENT))


def place_of_level(level: float) -> int:
    """Its place among LEVELS."""
    if level not in LEVELS:
        raise ValueError(f"level={level!r} must be one of {', '.join(map(str, LEVELS))}: those are learned.")
    return LEVELS.index(level)


def intervals_from(arrays: dict[str, Any]) -> Intervals:
    """The intervals whose `arrays` these are; ValueError when they cannot be. A file without any is from before there
    were some.
    """
    if not arrays:
        return Intervals()
    begun = no_residuals()._asdict()
    del begun["ordered"]
    for name, array in begun.items():
        found = arrays[name]
        if not (found.dtype == array.dtype and found.shape == array.shape and np.isfinite(found).all()):
            raise ValueError("its intervals are not some that can have been learned")
    n, missed = int(arrays["n"]), arrays["missed"]
    if not ((np.abs(arrays["shares"]) <= FARTHEST).all() and (missed >= 0).all() and (missed <= n).all()):
        raise ValueError("its intervals count rows as no run counts them")
    if arrays["recent"][min(n, RECENT) :].any():
        raise ValueError("its intervals have residuals of no rows")
    recent = np.array(arrays["recent"])
    return Intervals(
        Residuals(
            recent=recent, ordered=in_order(recent, n), **{k: np.array(arrays[k]) for k in ("n", "shares", "missed")}
        )
    )
