"""FOGD: Fourier online gradient descent, a linear model on random Fourier features.

Lu, Hoi, Wang, Zhao, Liu: Large Scale Online Kernel Learning (2016), Alg. 1 (binary), 3 (multiclass), 5 (regression).

    z(x) = (sin u_1'x, ..., sin u_D'x, cos u_1'x, ..., cos u_D'x),  u ~ p(u), the kernel's spectrum (eq. 2)
    W <- (1 - eta lambda) W - eta l'(W'z(x), y) z(x)'

Remarks. The paper's z is not normalised: ||z||^2 = D, so a good step size falls with D. With normalize=True (the
default) z is divided by sqrt(D): z'z estimates the kernel and one step size serves every D and OGD alike. That is the
same as the paper's z with eta / D, and this is how it is computed. The paper's settings (eta 0.002, D = 400) need
normalize=False. The paper interleaves sines and cosines; here the sines come first. Frequencies are a function of
(seed, feature, component): a feature that appears late gets the numbers it would have had from the start.
map="structured" takes the frequencies from products of Hadamard matrices and random signs (`structured`) instead of
independent draws: for 256 features or more many times faster, and a map of a few kilobytes.

Symbols: D n_components, eta learning_rate, lambda regularization, epsilon threshold, u frequencies.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine.contract import Common, Shape, common, evaluate, lift, step
from ..numerics.features import (
    MAPS,
    PLAIN,
    STRUCTURED,
    FourierMap,
    FourierRecord,
    Lifted,
    StructuredRecord,
    descend,
    evaluate_linear,
    lifted,
    map_record,
    random_features,
    random_map,
    shrink,
    widened,
)
from ..numerics.structured import StructuredMap
from ..parameters import one_of, whole
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._descent import Descent, DescentRecord, take_slope


class FOGDRecord(NamedTuple):
    map: FourierRecord | StructuredRecord
    descent: DescentRecord
    square: float  # 1 / ||z||^2 when normalised, else 1


class FOGDState(NamedTuple):
    map: FourierMap | StructuredMap
    weights: np.ndarray  # (K, 2D)
    seed: np.ndarray  # of the map, 0-d
    t: np.ndarray  # rounds so far, 0-d


class FOGDScratch(NamedTuple):
    common: Common
    lifted: Lifted


@dataclass
class FOGD(Descent):
    """Parameters of every gradient learner, and those of the features.

    n_components: how many frequencies are drawn; each gives a sine and a cosine.
    normalize: divide z by sqrt(n_components).
    map: "plain" (independent frequencies, any shift-invariant kernel) or "structured" (Gaussian, Cauchy, Matern).
    """

    n_components: int = 400
    normalize: bool = True
    map: str = PLAIN

    name: ClassVar[str] = "fogd"
    paper: ClassVar[str] = "Lu et al. 2016"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = True

    def check(self) -> None:
        super().check()
        whole(1, n_components=self.n_components)
        one_of(MAPS, map=self.map)
        if not self.kernel.shift_invariant:
            self.kernel.frequencies(0, range(0), self.n_components)
        if self.map == STRUCTURED and not self.kernel.isotropic:
            self.kernel.scales(0, 0)

    def lower(self, task: str, dtype: Any) -> FOGDRecord:
        square = 1.0 / self.n_components if self.normalize else 1.0
        return FOGDRecord(map_record(self.map, dtype), self.descent(task, dtype), square)

    def init(self, shape: Shape) -> FOGDState:
        map = random_map(self.map, self.kernel, shape.seed, shape.width, self.n_components, shape.dtype)
        weights = np.zeros((shape.n_outputs, 2 * self.n_components), shape.dtype)
        return FOGDState(map, weights, np.array(shape.seed, np.uint64), np.zeros((), np.int64))

    def scratch(self, state: FOGDState, shape: Shape) -> FOGDScratch:
        desk = common(shape.width, shape.n_outputs, shape.dtype, 2 * self.n_components)
        return FOGDScratch(desk, lifted(self.map, desk.chunk, self.n_components, shape.dtype))

    def lifts_ahead(self, state: FOGDState) -> bool:
        return True

    def grow(self, state: FOGDState, shape: Shape) -> FOGDState:
        weights = np.zeros((shape.n_outputs, state.weights.shape[1]), shape.dtype)
        weights[: len(state.weights)] = state.weights
        return state._replace(map=widened(state.map, self.kernel, int(state.seed), shape.width), weights=weights)

    def size(self, state: FOGDState) -> int:
        return int(state.weights.shape[1])

    def merge(self, record: Any, state: FOGDState, other: FOGDState, weight: float) -> FOGDState:
        if state.seed != other.seed:
            raise ValueError(f"seed differs: {state.seed} and {other.seed}. Maps are equal only for equal seeds.")
        weights = ((1.0 - weight) * state.weights + weight * other.weights).astype(state.weights.dtype)
        return state._replace(weights=weights, t=state.t + other.t)


@lift.register(FOGDRecord)
def _(record, state, scratch, block, start, stop):
    random_features(record.map, state.map, block, start, stop, scratch.lifted)


@evaluate.register(FOGDRecord)
def _(record, state, scratch, x, scores):
    evaluate_linear(state.weights, scratch.lifted.z[x.place], scores)


@step.register(FOGDRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, eta, move = take_slope(record.descent, state.t, g, target, weight, scores)
    if record.descent.regularization > 0.0:
        shrink(state.weights, 1.0 - eta * record.descent.regularization)
    if move > 0.0:
        descend(state.weights, move * record.square, g, scratch.lifted.z[x.place])
    return loss
