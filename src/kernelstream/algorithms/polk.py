"""POLK: parsimonious online learning with kernels. A gradient step, then the fewest points that keep f within epsilon.

Koppel, Warnell, Stump, Ribeiro: Parsimonious Online Learning with Kernels via Sparse Projections in Function Space
(2019), Alg. 1 and 2.

    f~ = (1 - eta lambda) f - (eta / B) sum_b l'(f(x_b), y_b) k(x_b, .)
    f <- P f~,  P the projection on the span of the points that pruning leaves,  ||f - f~|| <= epsilon
    epsilon = K eta^(3/2) for a constant step, K eta_t^2 for a diminishing one

    komp         while f stays within epsilon, the point goes whose removal leaves P f~ nearest to f~       (Alg. 1)
    random       points are drawn and go, up to the first that does not fit                             (Remark 6)

Remarks. By Pythagoras a removal adds ||a_j||^2 / (G^-1)_jj to the squared distance, a the coefficients of P f~ and G
the Gram matrix of the points that are left. Its factor and the diagonal of its inverse are kept: O(M^2) a removal or an
addition. Within a batch, scores are those of f before it. Rows without a slope are left out: KOMP would remove them
first, at no cost. A batch without any slope shrinks f and, as Alg. 2 prints, prunes (not where its last row has weight
0); idle="keep" keeps the points. t counts batches. K scales eta_t^2 too; (29) has K = 1. epsilon is in units of f: by
default K is 0.3 times the size of a slope, which is 1 for classes and bounded slopes and the deviation of the first
targets for the squared loss (Huber's is at most delta), and over sqrt(u) where eta is by default in units of u. With
(33), lambda ||f||^2, the paper's lambda is half of ours. A row whose squared residual is rounding (`_dictionary`; more
where its coordinates are large) is added through its coordinates and epsilon does not see it: in float32, an epsilon
below 0.005 eta asks for float64. An epsilon above eta ||l'|| sqrt(k(x, x)) removes all that a first step adds: nothing
is ever learned. After a merge, the next step prunes. polk is on no front of docs/choosing.md: with its defaults it errs
as OGD does, and pruning takes time.

Symbols: eta learning_rate, lambda regularization, K parsimony, B batch_size, M size.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import Shape, step
from ..engine.state import Limits, copied, prefixed, tally
from ..kernels import KernelRecord
from ..losses import Huber, Squared, as_loss, slope, too_long, unit_of_steps
from ..numerics import expansion, rng
from ..numerics.budgets import add_along, random_slot
from ..numerics.compile import compiled
from ..numerics.expansion import Expansion
from ..numerics.gram import factor
from ..numerics.rows import Sample
from ..parameters import at_least, one_of, whole
from ..schedules import step_size
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._descent import Descent, DescentRecord, moves
from ._dictionary import DictionaryAlgorithm, add_counted, cheapest_slot, find_coordinates, find_residual, take_out
from ._expansion import FIRST_CAPACITY, ask_for_room, expansion_record, room_in_file

PRUNING = ("komp", "random")
IDLE = ("prune", "keep")

# K by default, for slopes of about 1.
PARSIMONY = 0.3

# The squared residual ||k(x, .) - sum_i c_i k(s_i, .)||^2 has terms of up to (1 + sum |c_i|)^2 k(x, x), each of them
# rounded.
REACH_ROUNDING = 32 * float(np.finfo(np.float64).eps)


@expansion_record
class POLKRecord(NamedTuple):
    kernel: KernelRecord
    descent: DescentRecord
    parsimony: float
    batch_size: int
    random: int
    keeps: int  # 1: a batch without a slope prunes nothing


class POLKState(NamedTuple):
    f: Expansion
    t: np.ndarray  # batches so far, 0-d
    pending: Expansion  # the open batch: its points, and -weight * slope
    position: np.ndarray  # rows of the open batch so far, 0-d
    generator: np.ndarray
    factor: np.ndarray  # Cholesky factor of the points' Gram matrix
    diagonal: np.ndarray  # (capacity,) of the inverse Gram matrix
    losses: np.ndarray  # (2,) sum of the losses so far, number of rows


@dataclass
class POLK(Descent, DictionaryAlgorithm):
    """parsimony: K, larger for fewer points; with 0 and batches of one row this is OGD. Lower it with long steps.
        "auto" is 0.3 (times the deviation of the targets for the squared loss), with steps of 0.2.
    batch_size: rows whose slopes are averaged into a step.
    pruning: "komp" removes the best point, "random" any.
    idle: "prune" or "keep" the points where no row of a batch has a slope.
    """

    parsimony: float | str = "auto"
    batch_size: int = 1
    pruning: str = "komp"
    idle: str = "prune"

    name: ClassVar[str] = "polk"
    paper: ClassVar[str] = "Koppel et al. 2019"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = False

    @property
    def exempt(self) -> dict[str, str]:  # type: ignore[override]
        reasons = {"float32_follows_float64": "which of two nearly equal points goes depends on the last bits"}
        if self.batch_size > 1:
            reasons["weight_scales_the_step"] = "one row is not a step"
            reasons["weight_zero_learns_nothing"] = "rows of weight 0 close an open batch"
        return reasons

    def check(self) -> None:
        super().check()
        if self.parsimony != "auto":
            at_least(0.0, parsimony=self.parsimony)
        whole(1, batch_size=self.batch_size)
        one_of(PRUNING, pruning=self.pruning)
        one_of(IDLE, idle=self.idle)

    def depends_on_data(self, task: str) -> bool:
        in_units = isinstance(as_loss(self.named_loss(task)), Squared | Huber)
        return super().depends_on_data(task) or (self.parsimony == "auto" and in_units)

    def settle(self, task: str, sample: Sample) -> Self:
        settled = super().settle(task, sample)
        if self.parsimony != "auto":
            return settled
        loss = as_loss(settled.loss)
        unit = 1.0
        if self.learning_rate == "auto":
            unit = unit_of_steps(loss, sample.deviation, self.regularization)
        return replace(settled, parsimony=PARSIMONY * loss.steepness(sample.deviation) / math.sqrt(unit))

    def lower(self, task: str, dtype: Any) -> POLKRecord:
        return POLKRecord(
            self.kernel.lower(dtype),
            self.descent(task, dtype),
            float(self.parsimony),
            int(self.batch_size),
            int(self.pruning == "random"),
            int(self.idle == "keep"),
        )

    @property
    def first_capacity(self) -> int:
        return max(FIRST_CAPACITY, 2 * self.batch_size)

    def init(self, shape: Shape) -> POLKState:
        f, t = super().init(shape)
        pending = expansion.empty(shape.width, self.batch_size, shape.n_outputs, shape.dtype)
        position, generator, room = np.zeros((), np.int64), rng.generator(shape.seed), self.first_capacity
        return POLKState(f, t, pending, position, generator, factor(room), np.zeros(room), np.zeros(2))

    def prepare(self, record: Any, state: POLKState, ahead: Any) -> POLKState:
        """Room for a batch."""
        room, needed = len(state.factor), int(state.f.size) + state.pending.points.shape[1]
        return state if needed <= room else self.with_room(state, max(2 * room, needed))

    def with_room(self, state: POLKState, capacity: int) -> POLKState:
        larger: POLKState = super().with_room(state, capacity)
        diagonal = np.zeros(len(larger.factor))
        diagonal[: len(state.diagonal)] = state.diagonal
        return larger._replace(diagonal=diagonal)

    def grow(self, state: POLKState, shape: Shape) -> POLKState:
        wider = {"n_features": shape.width, "n_outputs": shape.n_outputs}
        return state._replace(f=expansion.resized(state.f, **wider), pending=expansion.resized(state.pending, **wider))

    def template(self, arrays: dict[str, np.ndarray], shape: Shape) -> POLKState:
        room = room_in_file(arrays, "pending", at_least=self.batch_size)
        state: POLKState = super().template(arrays, shape)
        return state._replace(pending=expansion.resized(state.pending, capacity=room))

    def outline(self, shape: Shape) -> dict[str, tuple[int | None, ...]]:
        return {**super().outline(shape), "pending.points": (shape.width, None)}

    def limits(self, state: POLKState) -> Limits:
        most = min(int(state.position), state.pending.points.shape[1] - 1)
        return {**super().limits(state), **prefixed("pending", expansion.limits(most)), "diagonal": (0.0, math.inf)}

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> POLKState:
        state: POLKState = super().restore(arrays, shape)
        expansion.list_all(state.pending)
        return state

    def attributes(self, state: POLKState) -> dict[str, Any]:
        """model_order: number of points; hilbert_norm: ||f||, over all outputs; risk: the mean loss of the rows before
        they were learned, plus lambda/2 ||f||^2; points and coef as of any expansion.
        """
        n = int(state.f.size)
        norm = float(np.linalg.norm(state.f.coef[:, :n].astype(np.float64) @ state.factor[:n, :n].T))
        risk = state.losses[0] / max(state.losses[1], 1.0) + self.regularization / 2.0 * norm**2
        return {"model_order": n, "hilbert_norm": norm, "risk": float(risk), **super().attributes(state)}

    def merge(
        self, record: Any, state: POLKState, other: POLKState, weight: float, since: POLKState | None = None
    ) -> POLKState:
        """The weighted sum of the functions; what is open of both batches becomes one, whose slopes are averaged."""
        n, m, rows = int(state.f.size), int(other.f.size), int(state.pending.size + other.pending.size)
        merged = self.with_room(copied(state), n + m)
        merged.f.coef[:, :n] *= 1.0 - weight
        width, n_outputs = len(state.f.points), len(state.f.coef)
        scratch = self.scratch(merged, Shape(width, n_outputs, 0, state.f.points.dtype))
        take_in(record.kernel, merged, other.f, weight, scratch)
        return merged._replace(
            **tally(state, other, since, "t", "position", "losses"),
            pending=expansion.resized(expansion.append(merged.pending, other.pending, 1.0), capacity=rows + 1),
        )


@compiled
def take_in(kernel, state, terms, length, scratch):
    """f = f + length * terms. Requires: room. Ensures: points in the span of those before them are not stored."""
    f, g = state.f, scratch.common.slope
    for i in range(terms.size[()]):
        n = f.size[()]
        x = expansion.stored(terms, i, scratch.stored)
        for k in range(g.shape[0]):
            g[k] = terms.coef[k, i]
        expansion.kernel_values(kernel, f, x, scratch.row)
        residual = find_residual(kernel, state, x, scratch)
        find_coordinates(state, scratch)
        reach = 1.0
        for j in range(n):
            reach += abs(scratch.coordinates[j])
        if residual <= REACH_ROUNDING * reach * reach * expansion.own_value(kernel, x, scratch.row):
            add_along(f, length, g, scratch.coordinates)
            continue
        add_counted(kernel, state, x, length, residual, scratch)


@compiled
def prune(state, epsilon, random, scratch):
    """Alg. 1, and Remark 6: remove points while f stays within epsilon of what it is now; return the distance."""
    f, diagonal = state.f, state.diagonal
    distance = 0.0  # squared
    while f.size[()] > 0:
        n = f.size[()]
        slot = random_slot(state.generator, n) if random == 1 else cheapest_slot(f, diagonal, n, scratch.row)
        if not distance + expansion.square(f, slot) / diagonal[slot] <= epsilon * epsilon:
            break
        distance += take_out(f, state.factor, diagonal, slot, scratch)
    return math.sqrt(distance)


@compiled
def close_batch(record, state, weight, scratch):
    """Alg. 2: step along the batch's mean slope, then prune, but where nothing asks for it: a last row of weight 0."""
    state.t[()] += 1
    descent, pending = record.descent, state.pending
    eta = step_size(descent.schedule, state.t[()])
    if descent.regularization > 0.0:
        expansion.shrink(state.f, 1.0 - eta * descent.regularization)
    if pending.size[()] > 0:
        take_in(record.kernel, state, pending, eta / state.position[()], scratch)
    if pending.size[()] > 0 or (record.keeps == 0 and weight > 0.0):
        power = 1.5 if descent.schedule.power == 0.0 else 2.0
        prune(state, record.parsimony * eta**power, record.random, scratch)
    pending.size[()] = 0
    state.position[()] = 0


@step.register(POLKRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss = slope(record.descent.loss, target, scores, g)
    if too_long(g, weight * max(1.0, step_size(record.descent.schedule, state.t[()] + 1))):
        return np.nan
    state.losses[0] += loss
    state.losses[1] += 1.0
    state.position[()] += 1
    if weight > 0.0 and moves(record.descent, loss, g):
        expansion.store(record.kernel, state.pending, state.pending.size[()], x, -weight, g)
    if state.position[()] >= record.batch_size:
        close_batch(record, state, weight, scratch)
        ask_for_room(state.f, state.pending.points.shape[1], scratch)
    return loss
