"""Ridge: least squares on lifted rows, W = (sum z z' + lambda)^-1 sum y z', one matrix for all outputs.

Rahimi, Recht: Random Features for Large-Scale Kernel Machines (2007). Azoury, Warmuth: Relative Loss Bounds for On-Line
Density Estimation with the Exponential Family of Distributions (2001); Vovk: Competitive On-line Statistics (2001).

Every row counts the same, whenever it came, unless it is forgotten. Classes are least squares of -1 and 1. What rows
tell adds up: the merged model of several shards is the model of all of their rows, to rounding, and what was merged can
be taken out again.

Remarks. solve="lazy" solves the system when rows have grown by an eighth, nearly as good as after every row, and costs
next to nothing. solve="exact" shows every row what all rows before it tell, in pieces (`numerics.pending`).
forward=True has the row itself, whose target is not known yet, in the matrix that it is predicted by: f / (1 + z'Pz)
with P the inverse before it, Vovk's, Azoury's and Warmuth's forecaster, whose regret is at most that of their bound.

forget < 1 discounts what rows tell by that factor with every row. The sums are discounted and the ridge is not: of sums
alone nothing remains of a direction that rows no longer have, and the covariance form of recursive least squares
divides by it. Rows that wait are weighted by forget^-1, forget^-2, ... against those before them, so that inside a
piece the ridge fades too, to a half at most; it is whole again at the next.

map="nystrom" takes the first n_components rows as its points. Until it has them the model is least squares in the
kernel's whole space, of all of them alike, each row seeing every earlier one; nothing is forgotten before.

Symbols: lambda regularization, in the unit of k(x, x) as z'z estimates it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Chunk, Common, Shape, common, evaluate, lift, step
from ..engine.state import copied, tally
from ..kernels import EVALUATED, POSITIVE_DEFINITE, Kernel
from ..losses import LossRecord, as_loss, slope
from ..numerics import expansion
from ..numerics.compile import by_record, call_for_effect, inlined
from ..numerics.lifts import Nystrom, lift_rows
from ..numerics.lifts.nystrom import NystromRecord
from ..numerics.linear import evaluate_linear
from ..numerics.memory import one_blas_thread
from ..numerics.pending import (
    Found,
    Pending,
    folded,
    for_more_outputs,
    foresee,
    inverse_root,
    keep_whitened,
    no_findings,
    no_pending,
    products_with,
    remember,
    without,
)
from ..numerics.products import PRODUCTS
from ..numerics.second_order import Sums, for_outputs, no_sums, of_both, solution, solved, wait
from ..parameters import fraction, one_of, positive
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._features import WAVES, FeatureState, Map, Mapped, lifted_first, padded

PIECE = 256  # rows that wait to go into the sums
SHORTEST, LONGEST_PIECE = 32, 1024  # of solve="exact": a third of the features, where both halves of the work are alike
GROWTH, LONGEST = 8, 4096  # the system is solved when rows have grown by 1/8, at the latest after so many
NYSTROM = "nystrom"


@lifted_first
class RidgeRecord(NamedTuple):
    lift: Any
    loss: LossRecord
    one_of_many: int  # whether a target names the output that is to say 1
    forget: float
    ridge: float  # while points are gathered


class ExactRecord(NamedTuple):
    lift: Any
    loss: LossRecord
    one_of_many: int
    forget: float
    ridge: float
    products: int  # address of PRODUCTS
    forward: int


class RidgeState(NamedTuple):
    map: Any  # the lift's
    weights: np.ndarray  # (K, length of z)
    t: np.ndarray  # rounds so far, 0-d
    sums: Sums
    due: np.ndarray  # (2,) the rows after which the system is solved, and after which anything is to be done
    squares: np.ndarray  # (K,) sum of y^2
    total: np.ndarray  # 0-d: of the rows' weights
    pending: Pending


class RidgeScratch(NamedTuple):
    common: Common
    lifted: Any
    y: np.ndarray  # (K,) what the outputs are to say
    whitened: np.ndarray  # (chunk, length of z)
    found: Found


class Seen(NamedTuple):
    """What the model knows of some rows, with P = (A + ridge)^-1."""

    spreads: np.ndarray  # (n,) z'Pz
    scores: np.ndarray  # (n, K) W'z
    noise: np.ndarray  # (K,) the variance that makes the targets so far most likely


def by_points(kernel: Kernel, n: int) -> Nystrom:
    """The map of n points, all of whose directions are kept."""
    return Nystrom(kernel, n, n)


@dataclass
class Ridge(Mapped):
    """regularization: lambda of lambda ||W||^2, beside the squared errors of all rows.
    n_components, map: as of FOGD; "nystrom" takes so many rows as points, and any positive definite kernel.
    solve: "lazy" or "exact".
    forget: what a row's weight is multiplied by with every later row; 1 forgets nothing.
    forward: predict a row with itself in the matrix; needs solve="exact".
    """

    regularization: float = 0.1
    n_components: int = 400
    map: str = "plain"
    solve: str = "lazy"
    forget: float = 1.0
    forward: bool = False

    name: ClassVar[str] = "ridge"
    paper: ClassVar[str] = "Rahimi, Recht 2007"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = True
    maps: ClassVar[dict[str, Map]] = {**WAVES, NYSTROM: Map(by_points, (EVALUATED, POSITIVE_DEFINITE))}
    models_probabilities: ClassVar[bool] = True
    models_deviations: ClassVar[bool] = True
    models_spreads: ClassVar[bool] = True

    @property
    def exempt(self) -> dict[str, str]:  # type: ignore[override]
        laws = {
            "merge_is_the_weighted_sum": "what rows tell adds up, and the solution is not linear in it",
            "weight_scales_the_step": "a weight scales what a row tells",
            "late_classes_add_an_output": "an output is least squares of -1 and 1: it knows that earlier rows said -1",
            "a_third_class_keeps_the_margin": "each of two outputs says -1 or 1, so that their margin is twice "
            "that of one",
        }
        if self.solve == "lazy":
            laws["weight_zero_learns_nothing"] = "the system is solved after so many rows, whatever they weigh"
        elif self.forget < 1.0:
            laws["weight_zero_learns_nothing"] = "a row of no weight has earlier ones forgotten too"
        return laws

    def check(self) -> None:
        super().check()
        positive(regularization=self.regularization)
        one_of(("lazy", "exact"), solve=self.solve)
        fraction(forget=self.forget)
        one_of((False, True), forward=self.forward)
        if self.forward and self.solve != "exact":
            raise ValueError('forward=True needs solve="exact": a row is to be in the matrix that it is predicted by.')

    @property
    def ridge(self) -> float:
        """lambda in the unit of z'z."""
        return self.regularization * (1 if self.map == NYSTROM else self.n_components)

    @property
    def exact(self) -> bool:
        return self.solve == "exact"

    def piece(self, length: int) -> int:
        """How many rows wait, of so many features: fewer where the oldest of them would fade to less than a half."""
        rows = min(LONGEST_PIECE, max(SHORTEST, length // 3)) if self.exact else PIECE
        return rows if self.forget == 1.0 else min(rows, max(1, int(math.log(0.5) / math.log(self.forget))))

    def losses(self, task: str) -> tuple[str, ...]:
        return ("squared",) if task == REGRESSION else ("squared-hinge",)

    def lower(self, task: str, dtype: Any) -> Any:
        loss = as_loss(self.losses(task)[0]).lower(task, dtype)
        shared = self.lift.record(dtype), loss, int(task == MULTICLASS), float(self.forget), float(self.ridge)
        return ExactRecord(*shared, PRODUCTS.address(dtype), int(self.forward)) if self.exact else RidgeRecord(*shared)

    # The state.

    def init(self, shape: Shape) -> RidgeState:
        lifting: FeatureState = super().init(shape)
        K, D = lifting.weights.shape
        points = self.n_components if self.map == NYSTROM else 0
        rows = max(self.piece(D), points)
        sums, room = no_sums(D, K, shape.dtype, rows), rows if self.exact else points
        pending = no_pending(D, K, shape.dtype, room, whitened=self.exact)
        if self.exact:
            pending.whitening[np.diag_indices(D)] = 1.0 / math.sqrt(self.ridge)
        due = points or (rows if self.exact else 1)
        return RidgeState(*lifting, sums, np.array([due, due]), np.zeros(K), np.zeros(()), pending)

    def scratch(self, state: RidgeState, shape: Shape) -> RidgeScratch:
        length = self.lift.length(shape.width)
        shared = common(shape.width, shape.n_outputs, shape.dtype, (2 if self.exact else 1) * length)
        whitened = np.zeros((shared.chunk, length) if self.exact else (0, 0), shape.dtype)
        found = no_findings(state.pending, shared.chunk)
        return RidgeScratch(
            shared, self.lift.lifted(state.map, shared.chunk), np.zeros(shape.n_outputs), whitened, found
        )

    def gathers(self, state: RidgeState) -> bool:
        """Whether points are still gathered."""
        return not self.lift.ready(state.map)

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> RidgeState:
        state: RidgeState = super().restore(arrays, shape)
        solve, due = (int(row) for row in state.due)
        n, t = int(state.sums.n_waiting), int(state.t)
        if not (0 <= n <= t <= due <= solve and n + due - t <= len(state.sums.waiting)):
            raise ValueError("its rows are counted as no run counts them")
        if self.gathers(state) and not n == t == state.map.f.size:
            raise ValueError("its points are not the rows that it counts")
        if len(state.pending.roots) and not (np.diag(state.pending.factor)[:n] > 0).all():
            raise ValueError("its factor is not one of rows that wait")
        return state

    def n_stored(self, state: RidgeState) -> int:
        return int(state.map.f.size if self.map == NYSTROM else state.weights.shape[1])

    def first_rows(self, state: RidgeState) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        n = int(state.sums.n_waiting)
        if not self.gathers(state) or n == 0:
            return []
        roots = state.pending.roots[:n]
        y = state.sums.waiting_y[:n] / np.where(roots > 0, roots, 1.0)[:, None]
        targets = y[:, 0] if y.shape[1] == 1 else y.argmax(axis=1).astype(np.float64)
        return [(state.map.f.points[:, :n].T.astype(np.float64), targets.astype(np.float64), roots**2)]

    # What is done after fixed rows.

    def prepare(self, record: Any, state: RidgeState, ahead: Any) -> RidgeState:
        t, (solve, due) = int(state.t), state.due
        if t < due:
            return state
        with one_blas_thread():
            state = self.frozen(state) if self.gathers(state) else state._replace(sums=self.folded(state.sums))
            return self.after(self.solved(state) if t == solve else state, solves=t == solve)

    def folded(self, sums: Sums) -> Sums:
        return folded(sums, float(self.forget) ** int(sums.n_waiting))

    def frozen(self, state: RidgeState) -> RidgeState:
        """With the points that were gathered as the map's, and the rows in the sums."""
        map, backward = self.lift.frozen_on(state.map.f)  # type: ignore[attr-defined]
        n, sums = int(state.sums.n_waiting), state.sums
        sums.waiting[:n] = state.pending.roots[:n, None] * backward.T
        return state._replace(map=map, sums=folded(sums, 1.0))

    def solved(self, state: RidgeState) -> RidgeState:
        weights = solution(state.sums, self.ridge)
        if self.exact:
            R = inverse_root(state.sums.A, self.ridge).astype(state.weights.dtype)
            state = state._replace(pending=state.pending._replace(whitening=R))
        return state._replace(weights=weights.astype(state.weights.dtype))

    def after(self, state: RidgeState, *, solves: bool) -> RidgeState:
        """With the rows that are due next."""
        t, piece = int(state.t), self.piece(state.weights.shape[1])
        full = (t // piece + 1) * piece
        if self.exact:
            return state._replace(due=np.array([full, full]))
        counted = t if self.forget == 1.0 else min(t, int(1.0 / (1.0 - self.forget)))
        solve = t + max(1, min(LONGEST, counted // GROWTH)) if solves else int(state.due[0])
        return state._replace(due=np.array([solve, min(solve, full)]))

    # More features, more outputs.

    def grow(self, state: RidgeState, shape: Shape) -> RidgeState:
        known, K = len(state.weights), shape.n_outputs
        state = state._replace(map=self.lift.grown(state.map, shape))
        if known == K:
            return state
        weights, sums, n = padded(state.weights, K, state.weights.shape[1]), for_outputs(state.sums, K), 0
        if state.t > 0 and not self.gathers(state):
            weights[known:] = solved(sums.A + sums.newer, sums.b[known:], self.ridge)
        pending = state.pending
        if len(pending.roots):
            n = int(sums.n_waiting) if self.exact or self.gathers(state) else 0
            said = np.zeros((n, K - known)) if self.gathers(state) else sums.waiting[:n] @ weights[known:].T
            pending = for_more_outputs(pending, sums.waiting_y[:n, known:] - said)
        squares = np.concatenate([state.squares, np.full(K - known, float(state.total))])
        return state._replace(weights=weights, sums=sums, squares=squares, pending=pending)

    def split(self, state: RidgeState, shape: Shape) -> RidgeState:
        halves: RidgeState = super().split(state, shape)
        sums = halves.sums._replace(b=2 * halves.sums.b, waiting_y=2 * halves.sums.waiting_y)
        pending = halves.pending._replace(u=2 * halves.pending.u)
        squares = np.repeat(state.squares, 2)
        return halves._replace(weights=2 * halves.weights, sums=sums, pending=pending, squares=squares)

    # Merging, and taking out again.

    def merge(
        self, record: Any, state: RidgeState, other: RidgeState, weight: float, since: RidgeState | None = None
    ) -> RidgeState:
        self.lift.require_same(state.map, other.map)
        sums = of_both(*(self.folded(copied(one.sums)) for one in (state, other)))
        if since is not None and self.forget == 1.0:
            sums = without(sums, self.folded(copied(since.sums)))
        elif since is not None:  # nobody knows how much of the common past has faded
            sums = sums._replace(**{name: getattr(sums, name) / 2 for name in ("A", "newer", "b", "total")})
        counts = tally(state, other, since, "squares", "total", "t")
        return self.after(self.solved(state._replace(sums=sums, **counts)), solves=True)

    def unmerge(self, record: Any, state: RidgeState, other: RidgeState) -> RidgeState:
        self.lift.require_same(state.map, other.map)
        if self.forget < 1.0:
            raise ValueError(
                f"What was merged has faded since, by an amount that is not known (forget={self.forget}). "
                "Only with forget=1 can it be taken out again."
            )
        sums = without(*(self.folded(copied(one.sums)) for one in (state, other)))
        try:
            inverse_root(sums.A + sums.newer, self.ridge)
        except np.linalg.LinAlgError:
            raise ValueError(
                "The other has learned rows that this one has not, so that they cannot be taken out."
            ) from None
        told = {"squares": state.squares - other.squares, "total": state.total - other.total}
        return self.after(self.solved(state._replace(sums=sums, t=state.t - other.t, **told)), solves=True)

    # How sure it is.

    def probabilities(self, state: Any, scores: np.ndarray) -> np.ndarray:
        return chances(scores)

    def deviations(self, record: Any, state: RidgeState, chunks: Iterator[Chunk]) -> np.ndarray:
        """sqrt(noise (1 + z'Pz))."""
        seen = self.seen(state, chunks)
        return np.sqrt(seen.noise * (1.0 + seen.spreads[:, None]))

    def spreads(self, state: RidgeState, chunks: Iterator[Chunk]) -> np.ndarray:
        """z'Pz."""
        return self.seen(state, chunks).spreads

    def left_out(
        self, record: Any, state: RidgeState, chunks: Iterator[Chunk], targets: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """(y - f) / (1 - z'Pz) for a row of weight 1."""
        if self.forget < 1.0:
            raise ValueError(
                f"With forget={self.forget} a row's share in the model depends on when it came; "
                "what the model were without it is known with forget=1."
            )
        seen, y = self.seen(state, chunks), targets[:, None]
        if record.one_of_many:
            y = np.where(np.arange(seen.scores.shape[1]) == y, 1.0, -1.0)
        return np.asarray((y - seen.scores) / (1.0 - weights * seen.spreads)[:, None])

    def seen(self, state: RidgeState, chunks: Iterator[Chunk]) -> Seen:
        """What is seen of rows with all rows so far in P and W."""
        spreads, scores = [], []
        if self.exact or self.gathers(state):
            n, gathers = int(state.sums.n_waiting), self.gathers(state)
            faded, ridge = (1.0, self.ridge) if gathers else (float(self.forget) ** n, 1.0)
            own = float(self.forward) * (1.0 if gathers else 1.0 / self.forget)  # what a row is predicted by of itself
            for chunk in chunks:
                spreads.append(chunk.scratch.found.spread[: len(chunk.scores)] / (ridge * faded))
                scores.append(chunk.scores * (1.0 + own * spreads[-1][:, None]))
            before = state.squares / faded - (state.sums.waiting_y[:n].astype(np.float64) ** 2).sum(axis=0)
            u = state.pending.u[:, :n]
            left = faded * (before - (state.sums.b * state.weights).sum(axis=1) + ridge * (u * u).sum(axis=1))
        else:
            sums = self.folded(copied(state.sums))
            R = inverse_root(sums.A + sums.newer, self.ridge)
            c = sums.b @ R.T
            for chunk in chunks:
                V = chunk.scratch.lifted.z[: len(chunk.scores)] @ R.T
                spreads.append((V * V).sum(axis=1))
                scores.append(V @ c.T)
            left = state.squares - (c * c).sum(axis=1)
        noise = np.maximum(left, 0.0) / max(float(state.total), 1e-300)
        return Seen(np.concatenate(spreads), np.concatenate(scores).astype(np.float64), noise)


def chances(scores: np.ndarray) -> np.ndarray:
    """Class probabilities from least squares of -1 and 1, of which (1 + score) / 2 estimates one."""
    both = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
    shares = np.clip((1.0 + both.astype(np.float64)) / 2.0, 1e-3, 1.0 - 1e-3)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


# Points of a Nystrom map are gathered; other maps are there from the start.


def _gathers(record, map):
    return False


gathers = by_record(_gathers, default=_gathers)


@gathers.register(NystromRecord)
def _(record, map):
    return map.frozen[()] == 0


def _kernel_products(record, map, x, lifted, pending, products):
    return 0.0


kernel_products = by_record(_kernel_products, default=_kernel_products)


@kernel_products.register(NystromRecord)
def _(record, map, x, lifted, pending, products):
    """products = k(point_i, x) times the root of its weight; return k(x, x)."""
    expansion.find_values(record.kernel, map.f, x, lifted.row)
    for i in range(map.f.size[()]):
        products[i] = pending.roots[i] * lifted.row.values[i]
    return expansion.own_value(record.kernel, x, lifted.row)


def _gather(record, map, x, g, lifted):
    pass


gather = by_record(_gather, default=_gather)


@gather.register(NystromRecord)
def _(record, map, x, g, lifted):
    """The row becomes a point."""
    expansion.add(record.kernel, map.f, x, 0.0, g, lifted.row)


@lift.register(ExactRecord)
def _(record, state, scratch, block, start, stop):
    lift_rows(record.lift, state.map, block, start, stop, scratch.lifted)
    if not gathers(record.lift, state.map):
        call_for_effect(record.products, scratch.lifted.z, stop - start, state.pending.whitening, scratch.whitened)


@inlined
def evaluate_gathered(record, state, scratch, x, scores):
    """By least squares in the kernel's space, while points are gathered."""
    found = scratch.found
    square = kernel_products(record.lift, state.map, x, scratch.lifted, state.pending, found.products)
    for k in range(scores.shape[0]):
        scores[k] = 0
    foresee(state.pending, state.sums.n_waiting[()], square, found, x.place, scores)


@evaluate.register(RidgeRecord)
def _(record, state, scratch, x, scores):
    if gathers(record.lift, state.map):
        evaluate_gathered(record, state, scratch, x, scores)
    else:
        evaluate_linear(state.weights, scratch.lifted.z[x.place], scores)


@evaluate.register(ExactRecord)
def _(record, state, scratch, x, scores):
    n, found, pending, place = state.sums.n_waiting[()], scratch.found, state.pending, x.place
    share = 1.0 / record.ridge
    if gathers(record.lift, state.map):
        evaluate_gathered(record, state, scratch, x, scores)
    else:
        v = scratch.whitened[x.place]
        square = products_with(pending, n, v, found.products)
        evaluate_linear(state.weights, scratch.lifted.z[x.place], scores)
        foresee(pending, n, square, found, place, scores)
        share = record.forget ** -(n + 1.0)
    if record.forward == 1:
        for k in range(scores.shape[0]):
            scores[k] = found.scores[k] / (1.0 + share * found.spread[place])


@inlined
def say(record, y, target):
    """y = what the outputs are to say."""
    for k in range(y.shape[0]):
        y[k] = (1.0 if k == target else -1.0) if record.one_of_many == 1 else target


@inlined
def count(record, state, scratch, forget, weight):
    """One row more; return how it is weighted against those before its piece."""
    n, y = state.sums.n_waiting[()], scratch.y
    for k in range(y.shape[0]):
        state.squares[k] = forget * state.squares[k] + weight * y[k] * y[k]
    state.total[()] = forget * state.total[()] + weight
    state.t[()] += 1
    scratch.common.halt[()] = state.t[()] >= state.due[1]
    return weight * forget ** -(n + 1.0)


@inlined
def step_gathering(record, state, scratch, x, target, weight, scores):
    n, sums, y = state.sums.n_waiting[()], state.sums, scratch.y
    count(record, state, scratch, 1.0, weight)
    remember(state.pending, n, record.ridge, scratch.found, x.place, y, weight)
    for k in range(y.shape[0]):
        sums.waiting_y[n, k] = state.pending.roots[n] * y[k]
    sums.n_waiting[()] = n + 1
    loss = slope(record.loss, target, scores, scratch.common.slope)
    gather(record.lift, state.map, x, scratch.common.slope, scratch.lifted)
    return loss


@step.register(RidgeRecord)
def _(record, state, scratch, x, target, weight, scores):
    say(record, scratch.y, target)
    if gathers(record.lift, state.map):
        return step_gathering(record, state, scratch, x, target, weight, scores)
    share = count(record, state, scratch, record.forget, weight)
    wait(state.sums, scratch.lifted.z[x.place], scratch.y, share)
    return slope(record.loss, target, scores, scratch.common.slope)


@step.register(ExactRecord)
def _(record, state, scratch, x, target, weight, scores):
    say(record, scratch.y, target)
    if gathers(record.lift, state.map):
        return step_gathering(record, state, scratch, x, target, weight, scores)
    n, pending = state.sums.n_waiting[()], state.pending
    share = count(record, state, scratch, record.forget, weight)
    remember(pending, n, 1.0, scratch.found, x.place, scratch.y, share)
    keep_whitened(pending, n, scratch.whitened[x.place])
    wait(state.sums, scratch.lifted.z[x.place], scratch.y, share)
    return slope(record.loss, target, scores, scratch.common.slope)
