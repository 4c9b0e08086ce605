"""Ridge: least squares on random features, W = (sum z z' + lambda)^-1 sum y z', one matrix for all outputs.

Every row counts the same, whenever it came. Classes are least squares of -1 and 1. The system is solved anew when rows
have grown by an eighth, which is nearly as good as after every row and costs next to nothing. What rows tell adds up:
the merged model of several shards is the model of all of their rows, to rounding.

Symbols: lambda regularization, in the unit of k(x, x) as z'z / D estimates it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, common, step
from ..engine.state import copied
from ..kernels import ISOTROPIC, SHIFT_INVARIANT, Need
from ..losses import LossRecord, as_loss, slope
from ..numerics.lifts import Lift
from ..numerics.second_order import Sums, for_outputs, no_sums, of_both, solution, solved, wait, with_waiting
from ..parameters import one_of, positive, whole
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._features import FeatureAlgorithm, FeatureState, on_features, padded
from .fogd import LIFTS

PIECE = 256  # rows that wait to go into the sums
GROWTH, LONGEST = 8, 4096  # the system is solved when rows have grown by 1/8, at the latest after so many


@on_features
class RidgeRecord(NamedTuple):
    lift: Any
    loss: LossRecord
    one_of_many: int  # whether a target names the output that is to say 1


class RidgeState(NamedTuple):
    map: Any  # the lift's
    weights: np.ndarray  # (K, length of z)
    t: np.ndarray  # rounds so far, 0-d
    sums: Sums
    due: np.ndarray  # (2,) the rows after which the system is solved, and after which anything is to be done


class RidgeScratch(NamedTuple):
    common: Common
    lifted: Any
    y: np.ndarray  # (K,) what the outputs are to say


@dataclass
class Ridge(FeatureAlgorithm):
    """regularization: lambda.
    n_components, map: as of FOGD.
    """

    regularization: float = 0.1
    n_components: int = 400
    map: str = "plain"

    name: ClassVar[str] = "ridge"
    paper: ClassVar[str] = "Rahimi, Recht 2007"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = True
    models_probabilities: ClassVar[bool] = True
    exempt: ClassVar[dict[str, str]] = {
        "merge_is_the_weighted_sum": "what rows tell adds up, and the solution is not linear in it",
        "weight_zero_learns_nothing": "the system is solved after so many rows, whatever they weigh",
        "weight_scales_the_step": "a weight scales what a row tells",
        "late_classes_add_an_output": "an output is least squares of -1 and 1: it knows that earlier rows said -1",
        "a_third_class_keeps_the_margin": "each of two outputs says -1 or 1, so that their margin is twice that of one",
    }

    def check(self) -> None:
        super().check()
        positive(regularization=self.regularization)
        whole(1, n_components=self.n_components)
        one_of(tuple(LIFTS), map=self.map)

    @property
    def needs(self) -> tuple[Need, ...]:  # type: ignore[override]
        return (SHIFT_INVARIANT, ISOTROPIC) if self.map == "structured" else (SHIFT_INVARIANT,)

    @property
    def lift(self) -> Lift:
        return LIFTS[self.map](self.kernel, self.n_components)

    @property
    def ridge(self) -> float:
        """lambda in the unit of z'z."""
        return self.regularization * self.n_components

    def losses(self, task: str) -> tuple[str, ...]:
        return ("squared",) if task == REGRESSION else ("squared-hinge",)

    def lower(self, task: str, dtype: Any) -> RidgeRecord:
        loss = as_loss(self.losses(task)[0]).lower(task, dtype)
        return RidgeRecord(self.lift.record(dtype), loss, int(task == MULTICLASS))

    def init(self, shape: Shape) -> RidgeState:
        lifting: FeatureState = super().init(shape)
        sums = no_sums(lifting.weights.shape[1], shape.n_outputs, shape.dtype, PIECE)
        return RidgeState(*lifting, sums, np.array([1, 1]))

    def scratch(self, state: RidgeState, shape: Shape) -> RidgeScratch:
        shared = common(shape.width, shape.n_outputs, shape.dtype, self.lift.length(shape.width))
        return RidgeScratch(shared, self.lift.lifted(state.map, shared.chunk), np.zeros(shape.n_outputs))

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> RidgeState:
        state: RidgeState = super().restore(arrays, shape)
        solve, due = (int(row) for row in state.due)
        n, t = int(state.sums.n_waiting), int(state.t)
        if not (0 <= n <= t <= due <= solve and n + due - t <= PIECE):
            raise ValueError("its rows are counted as no run counts them")
        return state

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        return chances(scores)

    def prepare(self, record: RidgeRecord, state: RidgeState) -> RidgeState:
        t, (solve, due) = int(state.t), state.due
        if t < due:
            return state
        state = state._replace(sums=with_waiting(state.sums))
        if t == solve:
            state = self.solved(state)
        return self.after(state, solves=t == solve)

    def solved(self, state: RidgeState) -> RidgeState:
        return state._replace(weights=solution(state.sums, self.ridge).astype(state.weights.dtype))

    def after(self, state: RidgeState, *, solves: bool) -> RidgeState:
        """With the rows that are due next."""
        t = int(state.t)
        solve = t + max(1, min(LONGEST, t // GROWTH)) if solves else int(state.due[0])
        return state._replace(due=np.array([solve, min(solve, (t // PIECE + 1) * PIECE)]))

    def grow(self, state: RidgeState, shape: Shape) -> RidgeState:
        known, K = len(state.weights), shape.n_outputs
        weights = padded(state.weights, K, state.weights.shape[1])
        sums = state.sums
        if known < K:
            sums = for_outputs(sums, K)
            if state.t > 0:
                weights[known:] = solved(sums.A + sums.newer, sums.b[known:], self.ridge)
        return state._replace(map=self.lift.grown(state.map, shape), weights=weights, sums=sums)

    def split(self, state: RidgeState, shape: Shape) -> RidgeState:
        halves: RidgeState = super().split(state, shape)
        sums = halves.sums._replace(b=2 * halves.sums.b, waiting_y=2 * halves.sums.waiting_y)
        return halves._replace(weights=2 * halves.weights, sums=sums)

    def merge(self, record: Any, state: RidgeState, other: RidgeState, weight: float) -> RidgeState:
        self.lift.require_same(state.map, other.map)
        sums = of_both(*(with_waiting(copied(one.sums)) for one in (state, other)))
        return self.after(self.solved(state._replace(sums=sums, t=state.t + other.t)), solves=True)


def chances(scores: np.ndarray) -> np.ndarray:
    """Class probabilities from least squares of -1 and 1, of which (1 + score) / 2 estimates one."""
    both = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
    shares = np.clip((1.0 + both.astype(np.float64)) / 2.0, 1e-3, 1.0 - 1e-3)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


@step.register(RidgeRecord)
def _(record, state, scratch, x, target, weight, scores):
    y = scratch.y
    for k in range(y.shape[0]):
        y[k] = (1.0 if k == target else -1.0) if record.one_of_many == 1 else target
    wait(state.sums, scratch.lifted.z[x.place], y, weight)
    state.t[()] += 1
    scratch.common.halt[()] = state.t[()] >= state.due[1]
    return slope(record.loss, target, scores, scratch.common.slope)
