"""OMKC: online multiple kernel classification, a Perceptron for each of several kernels and a vote of all of them.

Hoi, Jin, Zhao, Yang: Online Multiple Kernel Classification (2013), OMKC(D,D) and OMKC(S,D); Jin, Hoi, Yang: Online
Multiple Kernel Learning: Algorithms and Mistake Bounds (2010).

    f = sum_i q_i sign(f_i(x)),  q_i ~ w_i;  where y f_i(x) <= 0:  f_i <- f_i + y k_i(x, .),  w_i <- beta w_i

update="stochastic" has kernel i learn from a row with probability (1 - delta) w_i / max_j w_j + delta alone, so that
kernels that are mostly wrong take up little room.

Remarks. Of several classes a Perceptron votes for the one with its largest score, for none where all are equal. The
kernels share one store of points, in which each has coefficients of its own: each metric is computed once a row for
all kernels that are functions of it. The paper's are (x'z)^p, p = 1, 2, 3, and 13 Gaussians of sigma 2^-6 to 2^6. It
has no budget (budget=None); with one, a point chosen at random makes room, for all kernels, as RBP does. The paper's
stochastic combination predicts by one kernel drawn by q; here the vote is always one of all. A sample weight is the
size of the term, and the exponent of beta. On the data sets of docs/compared.md it earns its place nowhere, of those of
docs/choosing.md on shuttle alone. RBP, one kernel on the same budget, makes a tenth more mistakes in less than half the
time; BSGD-M, one kernel on fewer points, makes fewer on 11 of 16 sets in three quarters of the time.

Symbols: m n_kernels, beta discount, delta smoothing, B budget.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Algorithm, Shape, evaluate, step
from ..engine.state import Limits, tally
from ..kernels import KernelRecord, Linear
from ..losses import LossRecord, PerceptronLoss, any_slope, slope, too_long
from ..numerics import expansion, programme, rng
from ..numerics.budgets import random_slot
from ..numerics.combining import Weighed, find_weights, learn_losses, mean_said, merged
from ..numerics.compile import call_for_effect, inlined
from ..numerics.expansion import Expansion, dot
from ..numerics.gram import gram_matrix
from ..numerics.projection import chosen
from ..numerics.tiles import ALONE, four_rows
from ..parameters import fraction, one_of
from ..tasks import BINARY, MULTICLASS
from ._expansion import Budgeted, ExpansionScratch, ask_for_room, weighted_sum
from ._kernels import ManyKernels

DETERMINISTIC, STOCHASTIC = "deterministic", "stochastic"


class OMKCRecord(NamedTuple):
    kernel: KernelRecord  # whose values are those of the metric, the lowest where there are several
    several: programme.Metrics
    metrics: np.ndarray  # (P,)
    formulas: np.ndarray  # (P,) addresses
    constants: np.ndarray  # of all formulas, one after the other
    ends: np.ndarray  # (P + 1,) where each begins and ends
    loss: LossRecord
    penalty: float  # ln(1 / beta)
    smoothing: float
    stochastic: int
    bounded: int


class OMKCState(NamedTuple):
    f: Expansion  # K x P coefficients a point, those of an output together
    t: np.ndarray  # rounds so far, 0-d
    generator: np.ndarray
    combined: Weighed


class OMKCScratch(NamedTuple):
    common: Any
    row: Any
    metrics: np.ndarray  # (3, capacity) where there are several
    values: np.ndarray  # (capacity,) of one kernel
    said: np.ndarray  # (P, K)
    votes: np.ndarray  # (P, K)
    slopes: np.ndarray  # (P, K)
    g: np.ndarray  # (K P,) the same, as coefficients lie
    losses: np.ndarray  # (P,)
    w: np.ndarray  # (P,)
    room: np.ndarray


@dataclass
class OMKC(ManyKernels, Budgeted):
    """discount: beta, what a mistake multiplies a kernel's weight by.
    update: "stochastic" or "deterministic", which kernels learn from a row.
    smoothing: delta, the least chance that a kernel does, of update="stochastic".
    budget: B, the most points that are kept; None keeps all.
    """

    discount: float = 0.8
    update: str = STOCHASTIC
    smoothing: float = 0.01
    budget: int | None = 800

    name: ClassVar[str] = "omkc"
    paper: ClassVar[str] = "Hoi et al. 2013"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS)
    exempt: ClassVar[dict[str, str]] = {
        "merge_is_the_weighted_sum": "scores are votes, and their weights are found anew from what both did",
        "weight_scales_the_step": "scores are votes",
    }

    def check(self) -> None:
        super().check()
        fraction(discount=self.discount, smoothing=self.smoothing)
        one_of((DETERMINISTIC, STOCHASTIC), update=self.update)
        for kernel in self.kernels:
            if len({single.metric for single in kernel.single_parts}) > 1:
                raise ValueError(
                    f"{kernel.called} is a function of several metrics, and each kernel of OMKC is one of a single "
                    "metric. Give its parts as candidates."
                )

    @property
    def metrics(self) -> list[int]:
        """What each kernel is a function of."""
        return [kernel.metric for kernel in self.kernels]

    def losses(self, task: str) -> tuple[str, ...]:
        return ("perceptron",)

    def lower(self, task: str, dtype: Any) -> OMKCRecord:
        records = [kernel.lower(dtype) for kernel in self.kernels]
        metric, together = min(self.metrics), programme.several_metrics(set(self.metrics), dtype)
        four, column = four_rows(metric, dtype) if together.bits == 0 else (ALONE, ALONE)
        shared = Linear().lower(dtype)._replace(metric=metric, four=four, column=column)
        formulas = np.array([record.formula for record in records], np.int64)
        ends = np.cumsum([0, *(len(record.constants) for record in records)])
        constants = np.concatenate([record.constants for record in records])
        loss, stochastic = PerceptronLoss().lower(task, dtype), int(self.update == STOCHASTIC)
        numbers = -math.log(self.discount), float(self.smoothing), stochastic, int(self.bounded)
        return OMKCRecord(shared, together, np.array(self.metrics), formulas, constants, ends, loss, *numbers)

    # The state.

    def init(self, shape: Shape) -> OMKCState:
        P = len(self.kernels)
        f, t = super().init(shape._replace(n_outputs=P * shape.n_outputs))
        return OMKCState(f, t, rng.generator(shape.seed), Weighed(np.zeros(P)))

    def scratch(self, state: OMKCState, shape: Shape) -> OMKCScratch:
        P, K, dtype = len(self.kernels), shape.n_outputs, shape.dtype
        shared: ExpansionScratch = super().scratch(state, shape)
        said, votes, slopes = (np.zeros((P, K), dtype) for _ in range(3))
        values, g, losses, w = (
            np.zeros(state.f.points.shape[1], dtype),
            np.zeros(P * K, dtype),
            np.zeros(P),
            np.zeros(P),
        )
        room, metrics = np.zeros((0, 0)), np.zeros((3, state.f.points.shape[1]), dtype)
        return OMKCScratch(shared.common, shared.row, metrics, values, said, votes, slopes, g, losses, w, room)

    def grow(self, state: OMKCState, shape: Shape) -> OMKCState:
        grown: OMKCState = super().grow(state, shape._replace(n_outputs=len(self.kernels) * shape.n_outputs))
        return grown

    def outline(self, shape: Shape) -> dict[str, tuple[int | None, ...]]:
        return super().outline(shape._replace(n_outputs=len(self.kernels) * shape.n_outputs))

    def limits(self, state: OMKCState) -> Limits:
        return {**super().limits(state), "combined.losses": (0.0, np.inf)}

    def attributes(self, state: OMKCState) -> dict[str, Any]:
        """points: (n, d); kernel_coef: (P, n, K), of each kernel's own function; kernel_weights: (P,)."""
        shown, P, w = super().attributes(state), len(self.kernels), np.zeros(len(self.kernels))
        find_weights(state.combined, w, np.zeros((0, 0)))
        coef = shown["coef"].reshape(len(shown["coef"]), -1, P).transpose(2, 0, 1)
        return {"points": shown["points"], "kernel_coef": coef, "kernel_weights": w}

    def merge(
        self, record: Any, state: OMKCState, other: OMKCState, weight: float, since: OMKCState | None = None
    ) -> OMKCState:
        combined = merged(state.combined, other.combined, weight, None if since is None else since.combined)
        f = weighted_sum(1.0 - weight, state.f, weight, other.f)
        best = int(np.argmin(combined.losses))
        return state._replace(f=self.fewer(f, best), combined=combined, **tally(state, other, since, "t"))

    def fewer(self, f: Expansion, best: int) -> Expansion:
        """f within the budget: the function of each kernel is projected on the points that tell most of the best."""
        P, n = len(self.kernels), int(f.size)
        if self.budget is None or n <= self.budget:
            return expansion.taken(f, range(n), self.first_capacity if self.budget else max(n, self.first_capacity))
        kept = chosen(self.kernels[best], f._replace(coef=f.coef[best::P]), self.budget)[0]
        fewer = expansion.taken(f, kept, self.budget)
        for p, kernel in enumerate(self.kernels):
            gram = gram_matrix(kernel, f)
            at_points = f.coef[p::P, :n].astype(np.float64) @ gram[:, kept]
            fewer.coef[p::P, : len(kept)] = np.linalg.lstsq(gram[np.ix_(kept, kept)], at_points.T, rcond=1e-7)[0].T
        return fewer

    def distance(self, state: OMKCState, other: OMKCState) -> float:
        return Algorithm.distance(self, state, other)  # of votes


@inlined
def vote(said, votes):
    """The sign of one output; of several, one for the largest."""
    K, best, least = said.shape[0], 0, said[0]
    for k in range(K):
        votes[k] = 0
        best = k if said[k] > said[best] else best
        least = min(least, said[k])
    if K == 1:
        votes[0] = 1 if said[0] > 0 else (-1 if said[0] < 0 else 0)
    elif said[best] > least:
        votes[best] = 1


@evaluate.register(OMKCRecord)
def _(record, state, scratch, x, scores):
    f, row, said, n = state.f, scratch.row, scratch.said, state.f.size[()]
    P, K = said.shape
    one = record.several.bits == 0
    if one:
        expansion.find_values(record.kernel, f, x, row)
    else:
        programme.find_metrics(record.several, f, x, row, scratch.metrics)
    for p in range(P):
        values, given = scratch.values[:n], row.values if one else scratch.metrics[record.metrics[p]]
        for i in range(n):
            values[i] = given[i]
        call_for_effect(record.formulas[p], record.constants[record.ends[p] : record.ends[p + 1]], values)
        for k in range(K):
            said[p, k] = dot(f.coef[k * P + p, :n], values)
        vote(said[p], scratch.votes[p])
    find_weights(state.combined, scratch.w, scratch.room)
    mean_said(scratch.w, scratch.votes, scores)


@inlined
def chosen_kernel(record, state, w, p):
    """Whether kernel p is to learn from this row."""
    if record.stochastic == 0:
        return True
    top = w[0]
    for i in range(w.shape[0]):
        top = max(top, w[i])
    return rng.draw(state.generator) < (1.0 - record.smoothing) * w[p] / top + record.smoothing


@step.register(OMKCRecord)
def _(record, state, scratch, x, target, weight, scores):
    said, slopes, losses, g, f = scratch.said, scratch.slopes, scratch.losses, scratch.g, state.f
    P, K = said.shape
    loss = slope(record.loss, target, scores, scratch.common.slope)
    for p in range(P):
        losses[p] = slope(record.loss, target, said[p], slopes[p])
        if not np.isfinite(losses[p]) or too_long(slopes[p], weight):
            return np.nan
    state.t[()] += 1
    for p in range(P):
        learns = chosen_kernel(record, state, scratch.w, p)
        losses[p] = weight * record.penalty if learns and any_slope(slopes[p]) else 0.0
        for k in range(K):
            g[k * P + p] = slopes[p, k] if learns else 0
    if weight > 0.0 and any_slope(g):
        n = f.size[()]
        slot = random_slot(state.generator, n) if record.bounded == 1 and expansion.full(f) else n
        expansion.put(record.kernel, f, slot, x, -weight, g, scratch.row)
        if record.bounded == 0:
            ask_for_room(f, 1, scratch)
    learn_losses(state.combined, scratch.w, losses)
    return loss
