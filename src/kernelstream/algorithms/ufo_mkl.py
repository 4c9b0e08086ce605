"""UFO-MKL: several kernels' random features with a group norm on their weights, in closed form.

Orabona, Jie: Ultra-Fast Optimization Algorithm for Sparse Multi Kernel Learning (2011), Alg. 1.

    theta <- theta - l'(w'z(x), y) z(x),  v_j = max(0, ||theta_j|| - alpha t)
    w_j = (theta_j / ||theta_j||) v_j (v_j / ||v||_q)^(q - 2) / (lambda t),  q = max(2, 2 ln F)

This is dual averaging of the risk with (lambda / 2) ||w||_(2,p)^2 + alpha ||w||_(2,1), 1/p + 1/q = 1: kernels whose
theta_j is short are left out.

Remarks. The paper draws rows at random from a set, several times; here they come once, in their order. Its kernels are
exact and theta a sum over rows; here theta has a number for each random feature, and w is theta times one number a
kernel, found from the norms when a row is evaluated. With several classes a group holds the weights of all of them. For
fewer than three kernels the paper's q would be below 2, which is no dual norm of a group norm that is strongly convex:
it is 2. Losses are those with bounded slopes, as in the theorem. In float32, theta and t are halved together whenever t
has grown by 2^22, as Pegasos' sums are. ufo-mkl is on no front of docs/choosing.md: over its sets FOGD errs as much in
little more than half the time, OGD less in a quarter of it.

Symbols: F n_kernels, D n_components, lambda regularization, alpha sparsity, z divided by sqrt(D).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Shape, evaluate, step
from ..engine.state import Limits, tally
from ..losses import Loss, LossRecord, any_slope, as_loss, slope, too_long
from ..numerics.combining import mean_said
from ..numerics.compile import inlined
from ..numerics.expansion import dot
from ..numerics.linear import shrink
from ..parameters import at_least, positive
from ..tasks import BINARY, MULTICLASS
from ._features import FeatureState, lifted_first
from ._kernels import KernelsOnFeatures, descend_block, evaluate_blocks
from ._risk import MOST_ROUNDS, counted

LOSSES = {BINARY: ("hinge", "smooth-hinge", "logistic"), MULTICLASS: ("hinge", "smooth-hinge", "softmax")}


@lifted_first
class UFOMKLRecord(NamedTuple):
    lift: Any
    loss: LossRecord
    square: float  # 1 / ||z_j||^2
    regularization: float
    sparsity: float
    q: float
    most: int  # t at which it is halved


class UFOMKLState(NamedTuple):
    map: Any
    weights: np.ndarray  # (K, length of z): theta
    t: np.ndarray  # rounds so far, 0-d
    norms: np.ndarray  # (F,) ||theta_j||^2, of z not divided


@dataclass
class UFOMKL(KernelsOnFeatures):
    """loss: a name, a loss, or "auto" (hinge).
    regularization: lambda of the squared group norm.
    sparsity: alpha; a kernel is left out while its theta is shorter than alpha times the rows so far.
    """

    loss: str | Loss = "auto"
    regularization: float = 1e-3
    sparsity: float = 0.0

    name: ClassVar[str] = "ufo-mkl"
    paper: ClassVar[str] = "Orabona, Jie 2011"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS)
    shorter_steps: ClassVar[str] = "raise regularization"

    @property
    def exempt(self) -> dict[str, str]:  # type: ignore[override]
        laws = {"merge_is_the_weighted_sum": "theta / t is the mean of both, and kernels are weighed anew"}
        if self.sparsity > 0.0:
            laws["weight_scales_the_step"] = "what is short is left out"
            counted = ("weight_zero_learns_nothing", "late_classes_add_an_output", "a_third_class_keeps_the_margin")
            laws |= dict.fromkeys(counted, "every row makes kernels shorter by alpha, whatever it weighs")
        return laws

    def check(self) -> None:
        super().check()
        positive(regularization=self.regularization)
        at_least(0.0, sparsity=self.sparsity)
        if self.loss != "auto":
            as_loss(self.loss)

    def losses(self, task: str) -> tuple[str, ...]:
        return LOSSES[task]

    def lower(self, task: str, dtype: Any) -> UFOMKLRecord:
        named = "hinge" if self.loss == "auto" else self.loss
        most, numbers = MOST_ROUNDS[np.dtype(dtype).name], (float(self.regularization), float(self.sparsity), self.q)
        loss, square = as_loss(named).lower(task, dtype), 1.0 / self.n_components
        return UFOMKLRecord(self.lift.record(dtype), loss, square, *numbers, most)

    @property
    def q(self) -> float:
        return max(2.0, 2.0 * math.log(len(self.kernels)))

    def init(self, shape: Shape) -> UFOMKLState:
        lifting: FeatureState = super().init(shape)
        return UFOMKLState(*lifting, np.zeros(len(self.kernels)))

    def limits(self, state: UFOMKLState) -> Limits:
        return {**super().limits(state), "norms": (0.0, np.inf)}

    def attributes(self, state: UFOMKLState) -> dict[str, Any]:
        """kernel_weights: (F,) what each kernel's theta is multiplied by, in the order of their gammas."""
        w = np.zeros(len(self.kernels))
        weigh(self.lower(BINARY, state.weights.dtype), state.norms, state.t[()], w)
        return {"kernel_weights": w}

    def shown_weights(self, state: UFOMKLState) -> np.ndarray:
        return np.asarray(state.weights * self.stretched(self.attributes(state)["kernel_weights"]))

    def split(self, state: UFOMKLState, shape: Shape) -> UFOMKLState:
        halves: UFOMKLState = super().split(state, shape)
        return halves._replace(norms=state.norms / 2)  # of two halves

    def merge(
        self, record: Any, state: UFOMKLState, other: UFOMKLState, weight: float, since: UFOMKLState | None = None
    ) -> UFOMKLState:
        self.lift.require_same(state.map, other.map)
        counts, dtype = tally(state, other, since, "t"), state.weights.dtype
        mine, theirs = (one.weights.astype(np.float64) / self.tau(one.t, dtype) for one in (state, other))
        both = ((1.0 - weight) * mine + weight * theirs) * self.tau(counts["t"], dtype)
        norms = (both**2).reshape(len(both), 2, len(self.kernels), -1).sum(axis=(0, 1, 3))
        return state._replace(weights=both.astype(dtype), norms=norms, **counts)

    def tau(self, t: Any, dtype: Any) -> int:
        """t, halved as theta is."""
        return max(1, counted(int(t), MOST_ROUNDS[np.dtype(dtype).name]))


@inlined
def weigh(record, norms, t, w):
    """w = what each theta_j is multiplied by, z not divided."""
    tau = counted(t, record.most)
    total, top = 0.0, 0.0
    for j in range(w.shape[0]):
        w[j] = max(0.0, math.sqrt(norms[j] * record.square) - record.sparsity * tau)
        top = max(top, w[j])
    for j in range(w.shape[0]):
        total += (w[j] / top) ** record.q if top > 0.0 else 0.0
    size = top * total ** (1.0 / record.q)
    for j in range(w.shape[0]):
        if w[j] > 0.0:
            share = w[j] / math.sqrt(norms[j] * record.square) * (w[j] / size) ** (record.q - 2.0)
            w[j] = share * record.square / (record.regularization * tau)


@inlined
def square_of_block(weights, j, n):
    """||theta_j||^2 over all outputs, of n kernels."""
    half = weights.shape[1] // 2
    D, total = half // n, 0.0
    for k in range(weights.shape[0]):
        for a in (j * D, half + j * D):
            total += np.float64(dot(weights[k, a : a + D], weights[k, a : a + D]))
    return total


@evaluate.register(UFOMKLRecord)
def _(record, state, scratch, x, scores):
    evaluate_blocks(state.weights, scratch.lifted.z[x.place], scratch.said)
    weigh(record, state.norms, state.t[()], scratch.w)
    mean_said(scratch.w, scratch.said, scores)


@step.register(UFOMKLRecord)
def _(record, state, scratch, x, target, weight, scores):
    g, n, half = scratch.common.slope, state.norms.shape[0], record.most // 2
    loss = slope(record.loss, target, scores, g)
    if too_long(g, weight):
        return np.nan
    state.t[()] += 1
    over = state.t[()] - record.most
    halved = over >= 0 and over % half == 0
    if halved:
        shrink(state.weights, 0.5)
    if (weight > 0.0 and any_slope(g)) or halved:
        for j in range(n):
            descend_block(state.weights, weight * (0.5 if halved else 1.0), g, scratch.lifted.z[x.place], j, n)
            state.norms[j] = square_of_block(state.weights, j, n)
    return loss
