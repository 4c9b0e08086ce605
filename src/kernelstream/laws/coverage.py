"""Coverage is a law: on streams of the world, in their order, targets lie in the intervals that were told before them
as often as these say, and not more often.

Of T rows with residuals e, at level 1 - 2 a, the share that is held is

    at least  1 - 2 a - 2 (MOST + STEP r) / (STEP T),  r = 2 + log2(span of e / least gap in e)
    at most   1 - 2 a + 0.35 * 2 a

The first is the method's own bound (`numerics.conformal`), which holds whatever comes: a share a_t begins at a, is
never above MOST a, loses what a miss costs, and stays above -STEP a r. The limit MOST leaves no such bound on the other
side: while a model gets better more are held, and where its errors swing. The second is asked for from 0.8 to 0.95: at
0.5 the limit is far from the ends (budget-perceptron holds 0.62 of abalone), at 0.99 so many rows have few misses.
Every interval is that of the reference, which knows the residuals alone.
"""

import numpy as np

from ..engine import Algorithm
from ..learner import Learner
from ..numerics.conformal import LEVELS, MOST, RECENT, STEP
from ..reference import conformal
from ..sources.datasets import open_dataset
from ..tasks import REGRESSION, Regression
from .agreement import require, require_close
from .examples import adjusted

# Rows of the world, with the split that is read; bicycles that are hired in two years and how late flights land come as
# time passes. That of SORTED is sorted by person, and is shuffled.
STREAMS = {"abalone": None, "cpusmall": None, "parkinsons": None, "bike": None, "airlines-nyc2013": "all"}
SORTED = "parkinsons"
ROWS = 4000
FEW = {"budget": 50, "n_components": 50, "rank": 20}  # points or features that will do
SPARE = 0.35  # of the misses that are due
TWO_SIDED = (0.8, 0.9, 0.95)


def rows_of(stream: str) -> tuple[np.ndarray, np.ndarray]:
    """ROWS of one of STREAMS."""
    X, y = next(iter(open_dataset(stream, STREAMS[stream], block_rows=ROWS)))
    order = np.random.default_rng(0).permutation(len(y)) if stream == SORTED else np.arange(len(y))
    return X[order], np.asarray(y, np.float64)[order]


def bounds(level: float, e: np.ndarray) -> tuple[float, float]:
    """The least and the largest share of rows with these residuals that intervals of this level are to hold."""
    T, apart = len(e), np.diff(np.unique(e))
    doublings = 2.0 + (float(np.log2(np.ptp(e) / apart.min())) if len(apart) else 0.0)
    least = level - 2.0 * (MOST + STEP * doublings) / (STEP * T)
    return least, level + SPARE * (1.0 - level) if level in TWO_SIDED else 1.0


def told(learner: Learner, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) residuals, (n, levels, 2) ends of intervals around what is shown: of each row before it is learned."""
    residuals, reaches = np.zeros(len(y)), np.zeros((len(y), len(LEVELS), 2))
    for t in range(len(y)):
        scores = learner.scores(X[t : t + 1])
        residuals[t] = y[t] - np.float64(scores[0, 0])
        for k, level in enumerate(LEVELS):
            reaches[t, k] = learner.intervals_of(scores, level)[0] - np.float64(scores[0, 0])
        learner.learn(X[t : t + 1], y[t : t + 1])
    return residuals, reaches


def intervals_hold_what_they_say(spec: Algorithm, stream: str) -> None:
    """AssertionError: it names the learner, the stream, the level, the share that was held and what it may be."""
    X, y = rows_of(stream)
    require(REGRESSION in spec.tasks, f"{spec.name} learns no values, and so it has no intervals.")
    few = {name: value for name, value in FEW.items() if isinstance(getattr(spec, name, None), int)}
    own = spec.name in ("auto", "stack")  # they scale inputs themselves, and choose their sizes
    learner = Learner(spec if own else adjusted(spec, **few), Regression(), scaling="none" if own else "online")
    e, reaches = told(learner, X, y)
    held = ((reaches[:, :, 0] <= e[:, None]) & (e[:, None] <= reaches[:, :, 1])).mean(axis=0)
    for level, share in zip(LEVELS, held, strict=True):
        least, most = bounds(level, e)
        found = f"{share:.4f} of {len(e)} rows are held, not {least:.4f} to {most:.4f}"
        require(least <= share <= most, f"{spec.name} on {stream}, level {level}: {found}.")
    for k, level in enumerate(LEVELS):
        subject, expected = f"{spec.name} on {stream}, level {level}", conformal.intervals(e, level, RECENT, STEP)
        finite = np.isfinite(expected)
        require((np.isfinite(reaches[:, k]) == finite).all(), f"{subject}: an interval is infinite, or is not.")
        require_close(subject, "intervals", reaches[:, k][finite], expected[finite], 1e-6)
        require_close(subject, "coverage", learner.coverage(level), held[k], 1.5 / len(e))
