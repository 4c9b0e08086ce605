"""The one loop over examples: lift what does not depend on the model for a chunk of rows, then predict and learn.

An algorithm's bodies of `lift`, `evaluate` and `step` are chosen by the type of its record, at compile time.
"""

from typing import Any, NamedTuple

import numpy as np

from ..numerics.compile import by_record, outermost
from ..numerics.rows import Block, alone, row_of

# What `learn_rows` does with rows; the first alone for one chunk at a time, the last for a row that `score_rows` has
# scored.
LIFT, LEARN, BOTH, STEP = 1, 2, 3, 4

# When the labels of rows come that `score_rows` scores.
NEVER, LATER = range(2)


class AtOnce(NamedTuple):
    """The label of a row comes right after it was predicted."""

    rows: int = 0


class Late(NamedTuple):
    """Rows that are shown while the labels of earlier ones arrive: scores[t] = f(row t) from before row t of the
    examples is learned. The scratch is theirs alone.
    """

    block: Block
    scores: np.ndarray  # (n, K)
    scratch: Any


class Examples(NamedTuple):
    """Rows to learn from, and room for what is found out about each before it is learned."""

    block: Block
    targets: np.ndarray  # (n,)
    weights: np.ndarray  # (n,)
    scores: np.ndarray  # (n, K)
    losses: np.ndarray  # (n,)
    shown: AtOnce | Late


def _lift(record, state, scratch, block, start, stop):
    """Compute for the rows start .. stop-1 what does not depend on the model being learned; nothing, unless said."""


lift = by_record(_lift, default=_lift)


@by_record
def evaluate(record, state, scratch, x, scores):
    """scores = f(x)."""


@by_record
def step(record, state, scratch, x, target, weight, scores):
    """Learn from one example whose scores are known; return its loss. A step that would overflow is not taken: nothing
    changes, and what is returned is not finite.
    """


def _remember(record, state, scratch, x):
    """Keep what was found out about a row that is shown and whose label comes later; nothing, unless said."""


remember = by_record(_remember, default=_remember)


@by_record
def lift_shown(shown, record, state, start, stop):
    """Lift the rows that are shown beside the rows start .. stop-1."""


@by_record
def show(shown, record, state, t, place):
    """Evaluate the row that is shown before row t is learned."""


@lift_shown.register(AtOnce)
def _(shown, record, state, start, stop):
    pass


@show.register(AtOnce)
def _(shown, record, state, t, place):
    pass


@lift_shown.register(Late)
def _(shown, record, state, start, stop):
    lift(record, state, shown.scratch, shown.block, start, stop)


@show.register(Late)
def _(shown, record, state, t, place):
    # What evaluate might compute ahead for the rows behind it would not follow the steps between.
    x = alone(row_of(shown.block, t, place, shown.scratch.common.dense))
    evaluate(record, state, shown.scratch, x, shown.scores[t])
    remember(record, state, shown.scratch, x)


@outermost
def learn_rows(record, state, scratch, examples, start, end, what):
    """Predict, then learn, the rows start .. end-1. Return the next row to learn from, or -1 - t when row t's scores
    or its step are not finite (nothing was learned from it).

    what: BOTH; or one half of it for rows that are one chunk: LIFT, and later, with the same scratch, LEARN. STEP, for
    a row that was scored last with this scratch, by the model as it is: its scores are there."""
    block, targets, weights = examples.block, examples.targets, examples.weights
    scores, losses, shown = examples.scores, examples.losses, examples.shown
    while start < end:
        stop = min(start + scratch.common.chunk, end)
        if what & LIFT:
            lift(record, state, scratch, block, start, stop)
            lift_shown(shown, record, state, start, stop)
        if what == LIFT:
            return start
        for t in range(start, stop):
            x = row_of(block, t, t - start, scratch.common.dense)
            if what != STEP:
                show(shown, record, state, t, t - start)
                evaluate(record, state, scratch, x, scores[t])
            for k in range(scores.shape[1]):
                if not np.isfinite(scores[t, k]):
                    return -1 - t
            losses[t] = step(record, state, scratch, x, targets[t], weights[t], scores[t])
            if not np.isfinite(losses[t]):
                return -1 - t
            scratch.common.learned[()] += 1
            if scratch.common.halt[()] != 0:
                return t + 1
        start = stop
    return end


@outermost
def score_rows(record, state, scratch, block, scores, start, end, labels):
    """scores[t] = f(row t) for the rows start .. end-1, learning nothing. Return the first row whose scores are not
    finite, or -1.

    labels: NEVER; or LATER, when what an algorithm wants to know of the rows then, it keeps."""
    for first in range(start, end, scratch.common.chunk):
        stop = min(first + scratch.common.chunk, end)
        lift(record, state, scratch, block, first, stop)
        for t in range(first, stop):
            x = row_of(block, t, t - first, scratch.common.dense)
            evaluate(record, state, scratch, x, scores[t])
            for k in range(scores.shape[1]):
                if not np.isfinite(scores[t, k]):
                    return t
            if labels == LATER:
                remember(record, state, scratch, x)
    return -1
