"""AdaRaker: Rakers that begin anew after 32, 64, 128, ... rows and one that never does, weighed by how they did lately.

Shen, Chen, Giannakis: Random Feature-based Online Multi-kernel Learning in Environments with Unknown Dynamics (2019),
Alg. 2, with the intervals of Daniely, Gonen, Shalev-Shwartz: Strongly Adaptive Online Learning (2015).

    f = sum_I h_I f_I / sum_I h_I,  h_I <- h_I exp(-eta_I (l(f_I, y) - l(f, y)) / u),  f_I a Raker since I began

An interval of n rows begins at every multiple of n; there h_I = eta_I = min(1/2, 1 / sqrt(n)), theta_I = 0, and its
Raker steps by learning_rate * sqrt(shortest / n): short ones follow a change, long ones know more.

Remarks. The paper's intervals have 1, 2, 4, ... rows and no end of lengths, so that time grows as log t. Here there are
n_levels lengths from `shortest` on (a Raker of two rows says nothing), and the longest begins with the first row and
never ends: where nothing changes, nothing is lost. The paper's Rakers begin with theta = 0 (begin="zero"); by default
they begin with that of the longest, as a bound for gradient descent asks only how far it is from where it began. The
paper's losses are in [0, 1]; here u is the root of the mean square of l(f_I, y) - l(f, y) so far, and what is beyond u
counts as u, so that losses may have any unit. Kernels are weighed by AdaHedge, as Raker's are by default. On the data
sets of docs/compared.md it earns its place where classes come in runs alone, and there after 20,000 rows (covtype in
time: 0.185 beside Raker's 0.195), not yet after 10,000; Raker is better on the others, also on elec2, whose changes a
constant step follows. adaraker is on no front of docs/choosing.md.

Symbols: P n_kernels, D n_components.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, common, evaluate, step
from ..engine.state import Limits, tally
from ..losses import address_of_slopes, slope, slopes
from ..numerics.combining import (
    divide_by_sum,
    exponentials,
    gap_with,
    hedged_exponents,
    mean_loss,
    mean_said,
    mix_exponents,
)
from ..numerics.compile import inlined
from ..numerics.linear import shrink
from ..parameters import one_of, whole
from ..schedules import step_size
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._descent import Descent, DescentRecord, moves
from ._features import lifted_first
from ._kernels import KernelsOnFeatures, descend_block, evaluate_blocks, evaluate_four, find_slopes

LONGEST, ZERO = "longest", "zero"


@lifted_first
class AdaRakerRecord(NamedTuple):
    lift: Any
    descent: DescentRecord
    square: float  # 1 / ||z_p||^2
    shortest: int
    anew: int  # whether an interval begins with theta = 0
    slopes: int  # address


class AdaRakerState(NamedTuple):
    map: Any
    weights: np.ndarray  # (L, K, length of z): theta
    t: np.ndarray  # rounds so far, 0-d
    losses: np.ndarray  # (L, P) what the kernels lost in the interval
    gaps: np.ndarray  # (L,) AdaHedge's
    trust: np.ndarray  # (L,) ln h
    begun: np.ndarray  # (L,) whether there is an interval
    unit: np.ndarray  # (2,) sum of squared differences from what the whole lost, and of how many
    heard: np.ndarray  # rounds whose weight is not 0, by which intervals begin, 0-d


class AdaRakerScratch(NamedTuple):
    common: Common
    lifted: Any
    said: np.ndarray  # (L, P, K)
    slopes: np.ndarray  # (L, P, K)
    losses: np.ndarray  # (L, P)
    w: np.ndarray  # (L, P)
    factors: np.ndarray  # (L, P) what AdaHedge mixes
    f: np.ndarray  # (L, K) what the Rakers say
    own: np.ndarray  # (L,) what they lose
    h: np.ndarray  # (L,) how they are weighed


@dataclass
class AdaRaker(Descent, KernelsOnFeatures):
    """learning_rate: the step of the shortest interval; one that is 16 times as long has a quarter of it. "auto" is 2
        for classes, 1 for the squared loss, the deviation of the targets for the other losses of a regression.
    n_components: D, how many frequencies are drawn for each kernel; each gives a sine and a cosine.
    shortest: how many rows the shortest interval has.
    n_levels: how many lengths there are, each twice the one before; the last has no end.
    begin: "longest": an interval begins with the weights of the longest one; "zero": with none, as the paper's.
    """

    n_components: int = 100
    shortest: int = 32
    n_levels: int = 8
    begin: str = LONGEST

    name: ClassVar[str] = "adaraker"
    paper: ClassVar[str] = "Shen et al. 2019"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    default_rate: ClassVar[dict[str, float]] = {BINARY: 2.0, MULTICLASS: 2.0, REGRESSION: 1.0}
    exempt: ClassVar[dict[str, str]] = {
        "merge_is_the_weighted_sum": "weights of kernels and intervals are found anew from what both lost",
    }

    def check(self) -> None:
        super().check()
        whole(1, shortest=self.shortest, n_levels=self.n_levels)
        one_of((LONGEST, ZERO), begin=self.begin)
        if self.n_levels > 40:
            raise ValueError(f"n_levels={self.n_levels} must be at most 40: the longest interval has no end anyway.")

    def lower(self, task: str, dtype: Any) -> AdaRakerRecord:
        square, descent = 1.0 / self.n_components, self.descent(task, dtype)
        anew = int(self.begin == ZERO)
        numbers = int(self.shortest), anew, address_of_slopes(dtype)
        return AdaRakerRecord(self.lift.record(dtype), descent, square, *numbers)

    # The state.

    def init(self, shape: Shape) -> AdaRakerState:
        L, P = self.n_levels, len(self.kernels)
        map, weights, t = super().init(shape)
        begun = np.zeros(L, np.int64)
        begun[-1] = 1
        trust = np.array([math.log(eta_of(self.shortest, level)) for level in range(L)])
        weights = np.zeros((L, *weights.shape), weights.dtype)
        return AdaRakerState(
            map, weights, t, np.zeros((L, P)), np.zeros(L), trust, begun, np.zeros(2), np.zeros((), np.int64)
        )

    def scratch(self, state: AdaRakerState, shape: Shape) -> AdaRakerScratch:
        L, P, K, dtype, lift = self.n_levels, len(self.kernels), shape.n_outputs, shape.dtype, self.lift
        shared = common(shape.width, K, dtype, lift.n_lifted(shape.width))
        said, slopes, f = np.zeros((L, P, K), dtype), np.zeros((L, P, K), dtype), np.zeros((L, K), dtype)
        losses, w, factors = (np.zeros((L, P)) for _ in range(3))
        lifted = lift.lifted(state.map, shared.chunk)
        return AdaRakerScratch(shared, lifted, said, slopes, losses, w, factors, f, np.zeros(L), np.zeros(L))

    def grow(self, state: AdaRakerState, shape: Shape) -> AdaRakerState:
        L, known, length = state.weights.shape
        weights = np.zeros((L, shape.n_outputs, length), state.weights.dtype)
        weights[:, :known] = state.weights
        return state._replace(map=self.lift.grown(state.map, shape), weights=weights)

    def outline(self, shape: Shape) -> dict[str, tuple[int | None, ...]]:
        length = self.lift.length(shape.width)
        return {**super().outline(shape), "weights": (self.n_levels, shape.n_outputs, length)}

    def limits(self, state: AdaRakerState) -> Limits:
        return {**super().limits(state), "begun": (0, 1), "gaps": (0.0, np.inf), "unit": (0.0, np.inf)}

    def attributes(self, state: AdaRakerState) -> dict[str, Any]:
        """kernel_weights: (L, P) of the kernels, the shortest interval first; level_weights: (L,) of the intervals."""
        w, h = np.zeros(state.losses.shape), np.zeros(len(state.trust))
        weigh_kernels(state.losses, state.gaps, w)
        weigh_levels(state.trust, state.begun, h)
        return {"kernel_weights": w, "level_weights": h}

    def shown_weights(self, state: AdaRakerState) -> np.ndarray:
        shown = self.attributes(state)
        each = shown["level_weights"][:, None] * np.stack([self.stretched(w) for w in shown["kernel_weights"]])
        return np.asarray(np.einsum("lkj,lj->kj", state.weights, each))

    def merge(
        self, record: Any, state: AdaRakerState, other: AdaRakerState, weight: float, since: AdaRakerState | None = None
    ) -> AdaRakerState:
        """Interval by interval, where both have one; what only one has stays as it is."""
        self.lift.require_same(state.map, other.map)
        mine, theirs = ((1.0 - weight) * state.begun, weight * other.begun)
        total = np.maximum(mine + theirs, 1e-300)
        a, b = mine / total, theirs / total
        weights = a[:, None, None] * state.weights + b[:, None, None] * other.weights
        return state._replace(
            weights=weights.astype(state.weights.dtype),
            losses=a[:, None] * state.losses + b[:, None] * other.losses,
            gaps=a * state.gaps + b * other.gaps,
            trust=np.where(mine + theirs > 0, a * state.trust + b * other.trust, state.trust),
            begun=np.maximum(state.begun, other.begun),
            **tally(state, other, since, "unit", "t", "heard"),
        )


@inlined
def eta_of(shortest, level):
    """min(1/2, 1 / sqrt(rows)) of an interval of this level."""
    return min(0.5, 1.0 / math.sqrt(shortest * 2.0**level))


@inlined
def weigh_kernels(losses, gaps, w):
    """w[level] = how the kernels are weighed in an interval. Exponentials are taken of all at once, by vectors."""
    for level in range(w.shape[0]):
        hedged_exponents(losses[level], gaps[level], w[level])
    exponentials(w.reshape(w.size))
    for level in range(w.shape[0]):
        divide_by_sum(w[level])


@inlined
def weigh_levels(trust, begun, h):
    """h = how intervals are weighed; nothing where there is none."""
    top = trust[h.shape[0] - 1]  # of the longest, which is always there
    for level in range(h.shape[0]):
        top = max(top, trust[level]) if begun[level] == 1 else top
    for level in range(h.shape[0]):
        h[level] = trust[level] - top if begun[level] == 1 else -1e300
    exponentials(h)
    divide_by_sum(h)


@evaluate.register(AdaRakerRecord)
def _(record, state, scratch, x, scores):
    weigh_kernels(state.losses, state.gaps, scratch.w)
    L, first, z = state.begun.shape[0], 0, scratch.lifted.z[x.place]
    while first + 4 <= L:
        evaluate_four(state.weights[first : first + 4], z, scratch.said[first : first + 4])
        first += 4
    for level in range(first, L):
        evaluate_blocks(state.weights[level], z, scratch.said[level])
    for level in range(L):
        if state.begun[level] == 1:
            mean_said(scratch.w[level], scratch.said[level], scratch.f[level])
    weigh_levels(state.trust, state.begun, scratch.h)
    mean_said(scratch.h, scratch.f, scores)


@inlined
def begin(state, record, level):
    """An interval of this level begins."""
    state.begun[level] = 1
    state.trust[level] = math.log(eta_of(record.shortest, level))
    state.gaps[level] = 0.0
    for p in range(state.losses.shape[1]):
        state.losses[level, p] = 0.0
    last = state.weights[state.weights.shape[0] - 1]
    for k in range(last.shape[0]):
        own, longest = state.weights[level, k], last[k]
        for j in range(own.shape[0]):
            own[j] = 0 if record.anew == 1 else longest[j]


@inlined
def step_level(record, state, scratch, level, z, eta, weight):
    """The Raker of an interval learns, by steps that fit its length."""
    losses, slopes, descent, P = scratch.losses[level], scratch.slopes[level], record.descent, scratch.said.shape[1]
    length = eta * math.sqrt(0.5**level)
    if descent.regularization > 0.0:
        shrink(state.weights[level], 1.0 - length * descent.regularization)
    for p in range(P):
        if weight > 0.0 and moves(descent, losses[p], slopes[p]):
            descend_block(state.weights[level], length * weight * record.square, slopes[p], z, p, P)
        losses[p] *= weight


@inlined
def learn_losses(state, scratch):
    """The kernels' weights follow what they lost in each interval."""
    for level in range(state.begun.shape[0]):
        mix_exponents(state.gaps[level], scratch.losses[level], scratch.factors[level])
    exponentials(scratch.factors.reshape(scratch.factors.size))
    for level in range(state.begun.shape[0]):
        if state.begun[level] == 1:
            w, losses = scratch.w[level], scratch.losses[level]
            mixed = mean_loss(w, scratch.factors[level])
            state.gaps[level] = gap_with(state.losses[level], state.gaps[level], w, losses, mixed)


@inlined
def mean_difference(state, own):
    """u, with what the intervals lost more or less than the whole in this row."""
    several = 0
    for level in range(own.shape[0]):
        several += state.begun[level]
    if several > 1:
        for level in range(own.shape[0]):
            state.unit[0] += own[level] * own[level]
        state.unit[1] += several
    return math.sqrt(state.unit[0] / state.unit[1]) if state.unit[0] > 0.0 else 0.0


@inlined
def find_losses(record, state, scratch, target, weight, eta, loss):
    """What the intervals lose more than the whole, whose loss is given, and the loss and slope of each of their
    kernels; return whether all are finite and steps are not too long.
    """
    own, (L, P, K) = scratch.own, scratch.said.shape
    said, g = scratch.said.reshape((L * P, K)), scratch.slopes.reshape((L * P, K))
    slopes(record.descent.loss, record.slopes, target, scratch.f, g, own)
    for level in range(L):
        own[level] = weight * (own[level] - loss) if state.begun[level] == 1 else 0.0
    losses = scratch.losses.reshape(L * P)
    return find_slopes(record.descent.loss, record.slopes, target, said, eta * weight, g, losses)


@step.register(AdaRakerRecord)
def _(record, state, scratch, x, target, weight, scores):
    descent, own, L = record.descent, scratch.own, state.begun.shape[0]
    eta = step_size(descent.schedule, state.t[()] + 1)
    loss = slope(descent.loss, target, scores, scratch.common.slope)
    if not find_losses(record, state, scratch, target, weight, eta, loss):
        return np.nan
    state.t[()] += 1
    unit = mean_difference(state, own) if weight > 0.0 else 0.0
    for level in range(L):
        if state.begun[level] == 1:
            step_level(record, state, scratch, level, scratch.lifted.z[x.place], eta, weight)
            if unit > 0.0:
                state.trust[level] -= eta_of(record.shortest, level) * min(max(own[level] / unit, -1.0), 1.0)
    if weight > 0.0:
        learn_losses(state, scratch)
        state.heard[()] += 1
        for level in range(L - 1):
            if state.heard[()] % (record.shortest << level) == 0:
                begin(state, record, level)
    return loss
