"""OPAUC: one pass for the area under the ROC curve, by least squares on pairs of rows, on random Fourier features.

Gao, Jin, Zhu, Zhou: One-Pass AUC Optimization (2013), eq. 4 to 6.

A row (x, y) is compared with all rows of the other class so far, of which the mean c and the covariance S are enough:

    l(w) = (1 - y w'(z - c))^2 / 2 + w'S w / 2
    w <- w - eta (lambda w - y (z - c) (1 - y w'(z - c)) + S w)

Remarks. The paper is linear; here z(x) are random Fourier features, divided by sqrt(D). The whole covariance of each
class is kept, (2 D)^2 numbers in float64, and a row costs O(D^2): the paper's low-rank form for many features is not
needed, as D is chosen. Pairs are ranked, not told apart, so a threshold is added for labels: f = w'z + b, with
b = -(w'c+ + w'c-) / 2 halfway between the classes: it errs alike on both, so more often in all where one is rare. The
first row of a class has no pair. A sample weight is that of a row, among its class as for its step, which goes along
the slope as far as so many would. Two classes only.
With 100 frequencies it ranks better than fogd and ridge on w8a and satimage, and as they do on shuttle and cod-rna
(`benchmarks/imbalance.py`); fogd with 1,600 is no slower, and ranks better on w8a.

Symbols: D n_components, eta learning_rate, lambda regularization, c means, n S scatter.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, evaluate, step
from ..engine.state import Limits, tally
from ..losses import too_long
from ..numerics.compile import inlined
from ..numerics.expansion import dot
from ..numerics.lifts import evaluate_lifted
from ..parameters import at_least, positive
from ..tasks import BINARY
from ._features import Mapped, lifted_first
from ._squares import step_of


@lifted_first
class OPAUCRecord(NamedTuple):
    lift: Any
    learning_rate: float
    regularization: float
    square: float  # 1 / D


class OPAUCState(NamedTuple):
    map: Any  # the lift's
    weights: np.ndarray  # (1, length of z)
    t: np.ndarray  # rounds so far, 0-d
    bias: np.ndarray  # b, 0-d
    counts: np.ndarray  # (2,) the weight of the rows of each class
    means: np.ndarray  # (2, length) c of each class
    scatter: np.ndarray  # (2, length, length) sums of (z - c)(z - c)'


class OPAUCScratch(NamedTuple):
    common: Common
    lifted: Any
    weights: np.ndarray  # (length,) w
    shift: np.ndarray  # (length,) z - c
    change: np.ndarray  # (length,) of w, in its precision


@dataclass
class OPAUC(Mapped):
    """n_components: how many frequencies are drawn; each gives a sine and a cosine.
    learning_rate: eta, the length of a step.
    regularization: lambda, which shrinks w each round.
    map: "plain" (independent frequencies, any shift-invariant kernel), "quasi" (evenly spread ones, a single kernel) or
        "structured" (Gaussian, Cauchy, Matern).
    """

    n_components: int = 100
    learning_rate: float = 0.5
    regularization: float = 0.0
    map: str = "plain"

    name: ClassVar[str] = "opauc"
    paper: ClassVar[str] = "Gao et al. 2013"
    tasks: ClassVar[tuple[str, ...]] = (BINARY,)
    bounded: ClassVar[bool] = True
    exempt: ClassVar[dict[str, str]] = {"weight_scales_the_step": "the first row has no pair and takes no step"}

    def check(self) -> None:
        super().check()
        positive(learning_rate=self.learning_rate)
        at_least(0.0, regularization=self.regularization)

    def losses(self, task: str) -> tuple[str, ...]:
        return ("squared-hinge",)

    def lower(self, task: str, dtype: Any) -> OPAUCRecord:
        numbers = float(self.learning_rate), float(self.regularization), 1.0 / self.n_components
        return OPAUCRecord(self.lift.record(dtype), *numbers)

    def init(self, shape: Shape) -> OPAUCState:
        n = self.lift.length(shape.width)
        map, weights, t = super().init(shape)
        sums = np.zeros(2), np.zeros((2, n)), np.zeros((2, n, n))
        return OPAUCState(map, weights, t, np.zeros(()), *sums)

    def scratch(self, state: OPAUCState, shape: Shape) -> OPAUCScratch:
        (shared, lifted), n = super().scratch(state, shape), state.weights.shape[1]
        return OPAUCScratch(shared, lifted, np.zeros(n), np.zeros(n), np.zeros(n, shape.dtype))

    def limits(self, state: OPAUCState) -> Limits:
        return {**super().limits(state), "counts": (0.0, np.inf)}

    def attributes(self, state: OPAUCState) -> dict[str, Any]:
        """bias: b, which is added to w'z."""
        return {**super().attributes(state), "bias": float(state.bias)}

    def merge(
        self, record: Any, state: OPAUCState, other: OPAUCState, weight: float, since: OPAUCState | None = None
    ) -> OPAUCState:
        """w and b are averaged; means and scatters are those of all rows, but for what both have in common, which would
        count twice and is scaled down.
        """
        merged: OPAUCState = super().merge(record, state, other, weight, since)
        rounds = tally(state, other, since, "t")["t"]
        share = float(rounds / max(1, int(state.t + other.t)))
        counts = state.counts + other.counts
        parts = np.divide(other.counts, counts, out=np.zeros(2), where=counts > 0.0)
        apart = other.means - state.means
        means = state.means + parts[:, None] * apart
        between = (state.counts * parts)[:, None, None] * apart[:, :, None] * apart[:, None, :]
        scatter = share * (state.scatter + other.scatter + between)
        bias = np.asarray((1.0 - weight) * state.bias + weight * other.bias)
        return merged._replace(bias=bias, counts=share * counts, means=means, scatter=scatter)


@evaluate.register(OPAUCRecord)
def _(record, state, scratch, x, scores):
    evaluate_lifted(record.lift, state.weights, scratch.lifted, x.place, scores)
    scores[0] += state.bias[()]


@inlined
def count_row(state, side, z, weight, shift):
    """Take a row into the mean and the scatter of its class."""
    c, total = state.means[side], state.counts[side] + weight
    for a in range(z.shape[0]):
        shift[a] = z[a] - c[a]
    kept = weight * (state.counts[side] / total)
    for a in range(z.shape[0]):
        c[a] += weight / total * shift[a]
        row, part = state.scatter[side, a], kept * shift[a]
        for b in range(z.shape[0]):
            row[b] += part * shift[b]
    state.counts[side] = total


@inlined
def lengthen(record, state, scratch, side, weight):
    """Make of the change that a row of weight 1 leads to that of one of a weight above 1. Ensures: w is overwritten."""
    g, change, size, curvature = scratch.weights, scratch.change, 0.0, 0.0
    for a in range(g.shape[0]):
        g[a] = change[a]
        size += g[a] * g[a]
    for a in range(g.shape[0]):
        curvature += g[a] * dot(state.scatter[1 - side, a], g) / state.counts[1 - side]
    curvature += dot(g, scratch.shift) ** 2
    along = record.square * curvature / size + record.regularization if size > 0.0 else 0.0
    longer = step_of(record.learning_rate, weight, along) / record.learning_rate
    for a in range(g.shape[0]):
        change[a] = longer * g[a]


@step.register(OPAUCRecord)
def _(record, state, scratch, x, target, weight, scores):
    z, w, shift, change = scratch.lifted.z[x.place], scratch.weights, scratch.shift, scratch.change
    side = 1 if target > 0.0 else 0
    n, y, loss = z.shape[0], np.float64(target), 0.0
    others = state.counts[1 - side]
    pairs = others > 0.0 and weight > 0.0
    if pairs:
        c, once = state.means[1 - side], record.learning_rate * min(weight, 1.0)
        for a in range(n):
            w[a] = state.weights[0, a]
            shift[a] = z[a] - c[a]
        margin = y * dot(w, shift)
        variance = 0.0
        for a in range(n):
            product = dot(state.scatter[1 - side, a], w) / others
            variance += w[a] * product
            slope = product - y * (1.0 - margin) * shift[a]
            change[a] = -once * record.square * slope - once * record.regularization * w[a]
        loss = 0.5 * (1.0 - margin) ** 2 + 0.5 * variance
        if weight > 1.0:
            lengthen(record, state, scratch, side, weight)
        if too_long(change, 1.0):
            return np.nan
    state.t[()] += 1
    if weight > 0.0:
        count_row(state, side, z, weight, shift)
    if pairs:
        middle = 0.0
        for a in range(n):
            state.weights[0, a] += change[a]
            middle += state.weights[0, a] * (state.means[0, a] + state.means[1, a])
        state.bias[()] = -0.5 * middle
    return loss
