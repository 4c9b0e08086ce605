"""What learners share whose points have dual variables, with f at the points or its gradient kept beside them: a Gram
matrix whose rows say how these change, and a threshold b, so that scores are f(x) + b.
"""

from typing import Any

import numpy as np

from ..engine import Shape
from ..engine.state import ModelFileError
from ..numerics import expansion
from ..numerics.expansion import Expansion
from ._expansion import ExpansionAlgorithm, evaluated_by, weighted_sum


class DualAlgorithm(ExpansionAlgorithm):
    """A learner whose state has `dual`, f's coefficients in float64, `gram` in f's precision and `bias`, 0-d."""

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> Any:
        state = super().restore(arrays, shape)
        gram = state.gram[: int(state.f.size), : int(state.f.size)]
        if not np.array_equal(gram, gram.T):
            raise ModelFileError("The file's array gram is not symmetric.")
        return state

    def attributes(self, state: Any) -> dict[str, Any]:
        """bias: b, which is added to f."""
        return {**super().attributes(state), "bias": float(state.bias)}


def joined(state: Any, other: Any, weight: float) -> tuple[Expansion, np.ndarray, np.ndarray]:
    """The mean of two models with the points of both: f, its dual variables, and where the other's points are in it."""
    n, m = int(state.f.size), int(other.f.size)
    f, places = weighted_sum(1.0 - weight, state.f, weight, other.f), expansion.places_of(state.f, other.f)
    dual = np.zeros(int(f.size))
    dual[:n] = (1.0 - weight) * state.dual[:n]
    np.add.at(dual, places, weight * other.dual[:m])
    return f, dual, places


def mean_bias(state: Any, other: Any, weight: float) -> np.ndarray:
    return np.asarray((1.0 - weight) * state.bias + weight * other.bias)


def _evaluate(record, state, scratch, x, scores):
    """scores = f(x) + b. Ensures: scratch.row holds the kernel values of x."""
    expansion.evaluate(record.kernel, state.f, x, scratch.row, scores)
    scores[0] += state.bias[()]


# The record of a learner whose scores are f(x) + b, with f's kernel as `kernel`.
biased_record = evaluated_by(_evaluate)
