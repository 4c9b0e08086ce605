"""Learners side by side in one compiled loop: lists of records, of states and of scratches, in the same order.

Every verb goes through the three lists together; types say how long they are.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..engine import evaluate, lift, remember, step
from ..numerics.compile import by_record, inlined
from ..numerics.lifts import lift_rows


class More(NamedTuple):
    """A list of several."""

    first: Any
    rest: Any


class Last(NamedTuple):
    first: Any


def listed(parts: Sequence[Any]) -> Any:
    return Last(parts[0]) if len(parts) == 1 else More(parts[0], listed(parts[1:]))


def unlisted(parts: Any) -> list[Any]:
    return [parts.first] if isinstance(parts, Last) else [parts.first, *unlisted(parts.rest)]


class LiftedAlready(NamedTuple):
    """Of a lift whose rows another part has lifted to the same place."""

    rows: int


@by_record
def lift_parts(parts, states, scratches, block, start, stop):
    """Lift the rows for every part."""


@by_record
def evaluate_parts(parts, states, scratches, x, said, i):
    """said[i], said[i + 1], ... = what the parts of the list say."""


@by_record
def remember_parts(parts, states, scratches, x):
    """Have every part keep what it wants to know of a row whose label comes later."""


@by_record
def step_parts(parts, states, scratches, x, target, weight, said, i):
    """Every part learns, but for those whose scores are not finite; return how many ask to be prepared."""


@lift_parts.register(Last)
def _(parts, states, scratches, block, start, stop):
    lift(parts.first, states.first, scratches.first, block, start, stop)


@lift_parts.register(More)
def _(parts, states, scratches, block, start, stop):
    lift(parts.first, states.first, scratches.first, block, start, stop)
    lift_parts(parts.rest, states.rest, scratches.rest, block, start, stop)


@lift_rows.register(LiftedAlready)
def _(record, map, block, start, stop, lifted):
    pass


@evaluate_parts.register(Last)
def _(parts, states, scratches, x, said, i):
    evaluate(parts.first, states.first, scratches.first, x, said[i])


@evaluate_parts.register(More)
def _(parts, states, scratches, x, said, i):
    evaluate(parts.first, states.first, scratches.first, x, said[i])
    evaluate_parts(parts.rest, states.rest, scratches.rest, x, said, i + 1)


@remember_parts.register(Last)
def _(parts, states, scratches, x):
    remember(parts.first, states.first, scratches.first, x)


@remember_parts.register(More)
def _(parts, states, scratches, x):
    remember(parts.first, states.first, scratches.first, x)
    remember_parts(parts.rest, states.rest, scratches.rest, x)


@inlined
def step_first(parts, states, scratches, x, target, weight, scores):
    for k in range(scores.shape[0]):
        if not np.isfinite(scores[k]):
            return 0
    step(parts.first, states.first, scratches.first, x, target, weight, scores)
    halt = scratches.first.common.halt
    asks = 1 if halt[()] != 0 else 0
    halt[()] = 0
    return asks


@step_parts.register(Last)
def _(parts, states, scratches, x, target, weight, said, i):
    return step_first(parts, states, scratches, x, target, weight, said[i])


@step_parts.register(More)
def _(parts, states, scratches, x, target, weight, said, i):
    asks = step_first(parts, states, scratches, x, target, weight, said[i])
    return asks + step_parts(parts.rest, states.rest, scratches.rest, x, target, weight, said, i + 1)
