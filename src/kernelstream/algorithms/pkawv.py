"""PKAWV: Vovk's, Azoury's and Warmuth's forecaster in the span of points that are drawn as rows come.

Jezequel, Gaillard, Rudi: Efficient Online Learning with Kernels for Adversarial Large Scale Problems (2019), sec. 4.

    f_t = argmin over f in span of  sum_(s < t) (y_s - f(x_s))^2 + lambda ||f||^2 + f(x_t)^2

That is f / (1 + z'Sz), f = W'z and S = (lambda + sum z z')^-1, on the embedding z of the points so far (`_embedding`).

Remarks. This is not the paper's forecaster, which keeps all rows, and learns them anew in the new span whenever a point
comes. Here rows before a point count by what they were in the span of their time, so that memory is bounded: S gets the
row and column 1 / lambda of a direction of which nothing is known, and W a 0. While points still come it errs more for
it: 0.25 on the first 800 rows of a Mackey-Glass series, the authors' program 0.21 (`kernelstream reproduce
programs/table-4`). With fixed features the forecaster is Ridge(solve="exact", forward=True): for those that the paper
takes from Taylor's expansion of the Gaussian kernel, which are too many beyond a few features, take that. Classes are
least squares of -1 and 1. The forecaster shrinks what it says of rows that it does not know, towards 0: where targets
are far from 0 it asks for scaling="online" (diabetes as it comes, 442 rows: 1.16 times the squared error of the mean;
.61 standardised).

Symbols: lambda regularization, beta sampling.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Shape, evaluate, step
from ..losses import LossRecord, as_loss, slope
from ..numerics.confidence import learn_spread
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._embedding import Embedded, EmbeddedState, EmbeddingRecord, draw_point, embed, say_embedded, spread_embedded


class PKAWVRecord(NamedTuple):
    embedding: EmbeddingRecord
    loss: LossRecord
    one_of_many: int  # whether a target names the output that is to say 1


@dataclass
class PKAWV(Embedded):
    regularization: float = 0.1

    name: ClassVar[str] = "pkawv"
    paper: ClassVar[str] = "Jezequel et al. 2019"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    exempt: ClassVar[dict[str, str]] = {
        "merge_is_the_weighted_sum": "what rows tell adds up, and the weights are not linear in it",
        "weight_scales_the_step": "a weight scales what a row tells",
        "a_third_class_keeps_the_margin": "each of two outputs says -1 or 1, so that their margin is twice that of one",
    }

    def losses(self, task: str) -> tuple[str, ...]:
        return ("squared",) if task == REGRESSION else ("squared-hinge",)

    def lower(self, task: str, dtype: Any) -> PKAWVRecord:
        loss = as_loss(self.losses(task)[0]).lower(task, dtype)
        return PKAWVRecord(self.embedding(dtype), loss, int(task == MULTICLASS))

    def split(self, state: EmbeddedState, shape: Shape) -> EmbeddedState:
        return state._replace(weights=np.concatenate([-state.weights, state.weights]))

    def weighed(self, A: np.ndarray, told: list[np.ndarray], means: list[np.ndarray], weight: float) -> np.ndarray:
        return np.asarray(np.linalg.solve(A, np.sum(told, axis=0).T).T)


@evaluate.register(PKAWVRecord)
def _(record, state, scratch, x, scores):
    n = embed(record.embedding, state, scratch, x)
    say_embedded(state, scratch, n)
    own = 1.0 + spread_embedded(state, scratch, n)
    for k in range(scores.shape[0]):
        scores[k] = scratch.y[k] / own


@step.register(PKAWVRecord)
def _(record, state, scratch, x, target, weight, scores):
    y, u, W = scratch.y, scratch.u, state.weights
    loss = slope(record.loss, target, scores, scratch.common.slope)
    if not np.isfinite(loss):
        return loss
    state.t[()] += 1
    if weight > 0.0:
        n = state.f.size[()]
        n += 1 if draw_point(record.embedding, state, scratch, x) else 0
        b = 1.0 / (spread_embedded(state, scratch, n) + 1.0 / weight)
        for k in range(y.shape[0]):
            wanted = (1.0 if k == target else -1.0) if record.one_of_many == 1 else target
            c = b * (wanted - y[k])  # the new coordinate's weight is 0
            for j in range(n):
                W[k, j] += c * u[j]
        learn_spread(state.covariance, u[:n], b)
    return loss
