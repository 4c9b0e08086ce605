"""What learners share that keep a covariance of their weights beside them: second-order Perceptron, AROW, SCW.

    W <- W + c (Sz)',  S <- S - b (Sz)(Sz)'

with c a number an output, and b. One S serves all outputs, as ridge has one matrix: with several classes a row's margin
is that to the best other class, two outputs move, and the variance of their margin is 2 z'Sz. z is divided by
sqrt(n_components), which S carries: it is smaller by that factor."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, common
from ..losses import any_slope, as_loss, slope
from ..numerics.compile import inlined
from ..numerics.confidence import first_covariance, learn_spread, of_precision, precision, spread_of
from ..parameters import one_of, positive
from ..tasks import BINARY, MULTICLASS
from ._features import FeatureState, Mapped

FULL, DIAGONAL = "full", "diagonal"
LONGEST = 1e15  # what a step may change a weight by; its square is what it may change the covariance by


class ConfidentState(NamedTuple):
    map: Any
    weights: np.ndarray  # (K, length of z)
    t: np.ndarray  # rounds so far, 0-d
    covariance: Any


class ConfidentScratch(NamedTuple):
    common: Common
    lifted: Any
    z: np.ndarray  # (length of z,) in float64
    u: np.ndarray  # (length of z,) Sz
    c: np.ndarray  # (K,)


@dataclass
class Confident(Mapped):
    """n_components, map: as of FOGD, "plain", "quasi" or "structured".
    covariance: "full", or "diagonal": of each weight alone.
    """

    n_components: int = 200
    map: str = "plain"
    covariance: str = FULL

    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS)
    bounded: ClassVar[bool] = True
    exempt: ClassVar[dict[str, str]] = {
        "weight_scales_the_step": "a weight scales what a row tells",
    }

    def check(self) -> None:
        super().check()
        one_of((FULL, DIAGONAL), covariance=self.covariance)

    @property
    def first_variance(self) -> float:
        """Of a weight before any row, z divided."""
        raise NotImplementedError

    def init(self, shape: Shape) -> ConfidentState:
        lifting: FeatureState = super().init(shape)
        return ConfidentState(*lifting, self.no_knowledge(lifting.weights.shape[1]))

    def no_knowledge(self, length: int) -> Any:
        """The covariance before any row."""
        return first_covariance(length, self.first_variance / self.n_components, full=self.covariance == FULL)

    def scratch(self, state: ConfidentState, shape: Shape) -> ConfidentScratch:
        length = self.lift.length(shape.width)
        shared = common(shape.width, shape.n_outputs, shape.dtype, length)
        lifted = self.lift.lifted(state.map, shared.chunk)
        return ConfidentScratch(shared, lifted, np.zeros(length), np.zeros(length), np.zeros(shape.n_outputs))

    def merge(
        self,
        record: Any,
        state: ConfidentState,
        other: ConfidentState,
        weight: float,
        since: ConfidentState | None = None,
    ) -> ConfidentState:
        """The mean of both functions; what rows told of directions adds up."""
        both: ConfidentState = super().merge(record, state, other, weight, since)
        before = self.no_knowledge(state.weights.shape[1]) if since is None else since.covariance
        told = [precision(S) for S in (state.covariance, other.covariance, before)]
        return both._replace(covariance=of_precision(told[0] + told[1] - told[2]))


@dataclass
class Regularised(Confident):
    """A covariance that begins with 1 / regularization, and a loss that says which rows are heard."""

    regularization: float = 1.0

    record: ClassVar[Any]  # of a lift and a loss
    loss_name: ClassVar[str]

    def check(self) -> None:
        super().check()
        positive(regularization=self.regularization)

    @property
    def first_variance(self) -> float:
        return 1.0 / self.regularization

    def losses(self, task: str) -> tuple[str, ...]:
        return (self.loss_name,)

    def lower(self, task: str, dtype: Any) -> Any:
        return self.record(self.lift.record(dtype), as_loss(self.loss_name).lower(task, dtype))


@inlined
def hear(record, state, scratch, x, target, weight, scores):
    """The loss of a row, whether it is heard, and then z'Sz. Ensures: the loss's slope in the scratch."""
    g = scratch.common.slope
    loss = slope(record.loss, target, scores, g)
    if np.isfinite(loss) and weight > 0.0 and any_slope(g):
        return loss, True, spread_of_row(state, scratch, x.place)
    return loss, False, 0.0


@inlined
def spread_of_row(state, scratch, place):
    """z'Sz of the row at a place of its chunk. Ensures: scratch.u = Sz."""
    z, own = scratch.z, scratch.lifted.z[place]
    for j in range(z.shape[0]):
        z[j] = own[j]
    return spread_of(state.covariance, z, scratch.u)


@inlined
def learn_confidently(state, scratch, b):
    """W = W + c u', S = S - b u u', with c and u = Sz in the scratch; False, and nothing, where that is too far."""
    u, reach = scratch.u, 0.0
    for j in range(u.shape[0]):
        reach = max(reach, abs(u[j]))
    if not b * reach * reach <= LONGEST * LONGEST:
        return False
    for k in range(scratch.c.shape[0]):
        if not abs(scratch.c[k]) * reach <= LONGEST:
            return False
    for k in range(scratch.c.shape[0]):
        c, w = scratch.c[k], state.weights[k]
        if c != 0.0:
            for j in range(w.shape[0]):
                w[j] += c * u[j]
    learn_spread(state.covariance, u, b)
    return True
