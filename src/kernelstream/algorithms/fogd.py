"""FOGD: Fourier online gradient descent, a linear model on random Fourier features.

Lu, Hoi, Wang, Zhao, Liu: Large Scale Online Kernel Learning (2016), Alg. 1 (binary), 3 (multiclass), 5 (regression).

    z(x) = (sin u_1'x, ..., sin u_D'x, cos u_1'x, ..., cos u_D'x),  u ~ p(u), the kernel's spectrum (eq. 2)
    W <- (1 - eta lambda) W - eta l'(W'z(x), y) z(x)'

Remarks. The paper's z is not normalised: ||z||^2 = D, so a good step size falls with D. With normalize=True (the
default) z is divided by sqrt(D): z'z estimates the kernel and one step size serves every D and OGD alike. That is the
same as the paper's z with eta / D, and this is how it is computed. The paper's settings (eta 0.002, D = 400) need
normalize=False. The paper interleaves sines and cosines; here the sines come first. Frequencies are a function of
(seed, feature, component): a feature that appears late gets the numbers it would have had from the start.

Symbols: D n_components, eta learning_rate, lambda regularization, epsilon threshold, u frequencies.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, common, evaluate, lift, step
from ..features import (
    FourierMap,
    FourierRecord,
    descend,
    evaluate_linear,
    fourier_features,
    fourier_map,
    fourier_record,
    shrink,
    widened,
)
from ..losses import BINARY, MULTICLASS, REGRESSION
from ..parameters import whole
from ._descent import Descent, DescentRecord, take_slope


class FOGDRecord(NamedTuple):
    fourier: FourierRecord
    descent: DescentRecord
    square: float  # 1 / ||z||^2 when normalised, else 1


class FOGDState(NamedTuple):
    map: FourierMap
    weights: np.ndarray  # (K, 2D)
    seed: np.ndarray  # of the map, 0-d
    t: np.ndarray  # rounds so far, 0-d


class FOGDScratch(NamedTuple):
    common: Common
    projected: np.ndarray  # (chunk, D)
    z: np.ndarray  # (chunk, 2D)


@dataclass
class FOGD(Descent):
    n_components: int = 400
    normalize: bool = True

    name: ClassVar[str] = "fogd"
    paper: ClassVar[str] = "Lu et al. 2016"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = True

    def check(self) -> None:
        super().check()
        whole(1, n_components=self.n_components)
        if not self.kernel.shift_invariant:
            self.kernel.frequencies(0, range(0), self.n_components)

    def lower(self, task: str, dtype: Any) -> FOGDRecord:
        square = 1.0 / self.n_components if self.normalize else 1.0
        return FOGDRecord(fourier_record(dtype), self.descent(task, dtype), square)

    def init(self, shape: Shape) -> FOGDState:
        map = fourier_map(self.kernel, shape.seed, shape.width, self.n_components, shape.dtype)
        weights = np.zeros((shape.n_outputs, 2 * self.n_components), shape.dtype)
        return FOGDState(map, weights, np.array(shape.seed, np.uint64), np.zeros((), np.int64))

    def scratch(self, state: FOGDState, shape: Shape) -> FOGDScratch:
        lifted = 2 * self.n_components
        desk = common(shape.width, shape.n_outputs, shape.dtype, lifted)
        projected = np.zeros((desk.chunk, self.n_components), shape.dtype)
        return FOGDScratch(desk, projected, np.zeros((desk.chunk, lifted), shape.dtype))

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
        wider = max(state.map, other.map, key=lambda map: len(map.frequencies))
        weights = ((1.0 - weight) * state.weights + weight * other.weights).astype(state.weights.dtype)
        return FOGDState(wider, weights, state.seed, state.t + other.t)


@lift.register(FOGDRecord)
def _(record, state, scratch, block, start, stop):
    fourier_features(record.fourier, state.map, block, start, stop, scratch.projected, scratch.z)


@evaluate.register(FOGDRecord)
def _(record, state, scratch, x, scores):
    evaluate_linear(state.weights, scratch.z[x.place], scores)


@step.register(FOGDRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, eta, move = take_slope(record.descent, state.t, g, target, weight, scores)
    if record.descent.regularization > 0.0:
        shrink(state.weights, 1.0 - eta * record.descent.regularization)
    if move > 0.0:
        descend(state.weights, move * record.square, g, scratch.z[x.place])
    return loss
