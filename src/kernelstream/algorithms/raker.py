"""Raker: a gradient learner on random features for each of several kernels, weighed by what they lost.

Shen, Chen, Giannakis: Random Feature-based Online Multi-kernel Learning in Environments with Unknown Dynamics (2019),
Alg. 1.

    f = sum_p w_p f_p,  f_p = theta_p'z_p(x),  theta_p <- theta_p - eta l'(f_p, y) z_p,  w_p ~ exp(-eta' sum l(f_p, y))

Remarks. The paper has one eta for both, and losses in [0, 1]. Those of a hinge or of a regression are not: by default
the weights are AdaHedge's (`numerics.combining`), whose rate follows from the losses in any unit; hedge=0.5 is a fixed
one. Regularization shrinks theta and is not counted in what weighs kernels. The paper leaves the kernels open. Here
they are five widths of one, gamma at 1/16, 1/4, 1, 4 and 16 times what the rows settle: "scale" is rarely farther off,
and of two neighbours, whose widths differ by 2, one is near enough. With 320 components each a row takes up to twice
FOGD's time. With several classes each kernel has all outputs; their scores are combined. On each data set of
docs/choosing.md some other learner errs no more in no more time.

Symbols: P n_kernels, D n_components, eta learning_rate, eta' hedge, lambda regularization, z divided by sqrt(D).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Shape, evaluate, step
from ..engine.state import Limits
from ..losses import address_of_slopes, slope
from ..numerics.combining import METHODS, Weighed, find_weights, learn_losses, mean_said, merged
from ..numerics.linear import shrink
from ..parameters import positive
from ..schedules import step_size
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._descent import Descent, DescentRecord, moves
from ._features import FeatureState, lifted_first
from ._kernels import KernelsOnFeatures, descend_block, evaluate_blocks, find_slopes


@lifted_first
class RakerRecord(NamedTuple):
    lift: Any
    descent: DescentRecord
    square: float  # 1 / ||z_p||^2
    hedge: float  # what losses are multiplied by before they weigh
    slopes: int  # address


class RakerState(NamedTuple):
    map: Any
    weights: np.ndarray  # (K, length of z): theta
    t: np.ndarray  # rounds so far, 0-d
    combined: Any  # what w is found from


@dataclass
class Raker(Descent, KernelsOnFeatures):
    """hedge: eta' of w_p ~ exp(-eta' times what kernel p lost); "auto" is AdaHedge's, which asks for no unit."""

    hedge: float | str = "auto"

    name: ClassVar[str] = "raker"
    paper: ClassVar[str] = "Shen et al. 2019"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    exempt: ClassVar[dict[str, str]] = {
        "merge_is_the_weighted_sum": "weights of kernels are found anew from what both lost"
    }

    def check(self) -> None:
        super().check()
        if self.hedge != "auto":
            positive(hedge=self.hedge)

    def lower(self, task: str, dtype: Any) -> RakerRecord:
        rate = 1.0 if isinstance(self.hedge, str) else float(self.hedge)
        lift, descent, slopes = self.lift.record(dtype), self.descent(task, dtype), address_of_slopes(dtype)
        return RakerRecord(lift, descent, 1.0 / self.n_components, rate, slopes)

    def init(self, shape: Shape) -> RakerState:
        P = len(self.kernels)
        combined = METHODS["adahedge"](P) if isinstance(self.hedge, str) else Weighed(np.zeros(P))
        lifting: FeatureState = super().init(shape)
        return RakerState(*lifting, combined)

    def limits(self, state: RakerState) -> Limits:
        return {**super().limits(state), "combined.losses": (0.0, np.inf), "combined.gap": (0.0, np.inf)}

    def attributes(self, state: RakerState) -> dict[str, Any]:
        """kernel_weights: (P,) of the kernels, in the order of their gammas, or of the candidates."""
        w = np.zeros(len(self.kernels))
        find_weights(state.combined, w, np.zeros((0, 0)))
        return {"kernel_weights": w}

    def shown_weights(self, state: RakerState) -> np.ndarray:
        return np.asarray(state.weights * self.stretched(self.attributes(state)["kernel_weights"]))

    def merge(
        self, record: Any, state: RakerState, other: RakerState, weight: float, since: RakerState | None = None
    ) -> RakerState:
        combined = merged(state.combined, other.combined, weight, None if since is None else since.combined)
        both: RakerState = super().merge(record, state, other, weight, since)
        return both._replace(combined=combined)


@evaluate.register(RakerRecord)
def _(record, state, scratch, x, scores):
    evaluate_blocks(state.weights, scratch.lifted.z[x.place], scratch.said)
    find_weights(state.combined, scratch.w, scratch.room)
    mean_said(scratch.w, scratch.said, scores)


@step.register(RakerRecord)
def _(record, state, scratch, x, target, weight, scores):
    said, slopes, losses, descent = scratch.said, scratch.slopes, scratch.losses, record.descent
    P, eta = said.shape[0], step_size(descent.schedule, state.t[()] + 1)
    loss = slope(descent.loss, target, scores, scratch.common.slope)
    if not find_slopes(descent.loss, record.slopes, target, said, eta * weight, slopes, losses):
        return np.nan
    state.t[()] += 1
    if descent.regularization > 0.0:
        shrink(state.weights, 1.0 - eta * descent.regularization)
    for p in range(P):
        if weight > 0.0 and moves(descent, losses[p], slopes[p]):
            descend_block(state.weights, eta * weight * record.square, slopes[p], scratch.lifted.z[x.place], p, P)
        losses[p] *= weight * record.hedge
    learn_losses(state.combined, scratch.w, losses)
    return loss
