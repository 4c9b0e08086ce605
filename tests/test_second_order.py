"""The contract carries learners of the second order: one of a user's, least squares on features, obeys the laws."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from kernelstream import Learner, Regression, laws
from kernelstream.algorithms._features import FeatureAlgorithm, on_features
from kernelstream.engine import step
from kernelstream.kernels import SHIFT_INVARIANT, Gaussian, Need
from kernelstream.laws.examples import stream
from kernelstream.losses import LossRecord, Squared, slope
from kernelstream.numerics.lifts import Fourier
from kernelstream.numerics.second_order import solved
from kernelstream.parameters import positive, whole
from kernelstream.tasks import REGRESSION

PIECE = 8  # rows that go into A together


@on_features
class LeastSquaresRecord(NamedTuple):
    lift: Any
    loss: LossRecord


class LeastSquaresState(NamedTuple):
    map: Any
    weights: np.ndarray  # (1, D)
    t: np.ndarray
    A: np.ndarray  # (D, D) sum of z z'
    b: np.ndarray  # (D,) sum of y z
    waiting: np.ndarray  # (PIECE, D) z of the rows since the last piece
    targets: np.ndarray  # (PIECE,)
    shares: np.ndarray  # (PIECE,) their sample weights
    n_waiting: np.ndarray  # 0-d


@dataclass
class LeastSquares(FeatureAlgorithm):
    ridge: float = 1.0
    n_components: int = 24

    name: ClassVar[str] = "least-squares"
    paper: ClassVar[str] = "Gauss 1809"
    tasks: ClassVar[tuple[str, ...]] = (REGRESSION,)
    bounded: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = (SHIFT_INVARIANT,)
    exempt: ClassVar[dict[str, str]] = {
        "merge_is_the_weighted_sum": "what rows tell adds up, and the solution is not linear in it",
        "weight_zero_learns_nothing": "a piece that is full is solved, whatever its last rows weigh",
        "weight_scales_the_step": "a weight scales what a row tells, and nothing is solved before a piece is full",
    }

    def check(self):
        super().check()
        positive(ridge=self.ridge)
        whole(1, n_components=self.n_components)

    def losses(self, task):
        return ("squared",)

    @property
    def lift(self):
        return Fourier(self.kernel, self.n_components)

    def lower(self, task, dtype):
        return LeastSquaresRecord(self.lift.record(dtype), Squared().lower(task, dtype))

    def init(self, shape):
        D = self.lift.length(shape.width)
        sums = np.zeros((D, D)), np.zeros(D)
        waiting = np.zeros((PIECE, D), shape.dtype), np.zeros(PIECE), np.zeros(PIECE), np.zeros((), np.int64)
        return LeastSquaresState(*super().init(shape), *sums, *waiting)

    def prepare(self, record, state, ahead):
        return self._with_piece(state) if state.n_waiting == PIECE else state

    def _with_piece(self, state):
        n = int(state.n_waiting)
        Z, share = state.waiting[:n].astype(np.float64), state.shares[:n]
        A, b = state.A + Z.T @ (Z * share[:, None]), state.b + Z.T @ (share * state.targets[:n])
        solved = np.linalg.solve(A + self.ridge * np.eye(len(A)), b)
        weights = solved[None].astype(state.weights.dtype)
        return state._replace(A=A, b=b, weights=weights, n_waiting=np.zeros((), np.int64))

    def merge(self, record, state, other, weight):
        self.lift.require_same(state.map, other.map)
        mine, theirs = (self._with_piece(one) for one in (state, other))
        joined = mine._replace(A=mine.A + theirs.A, b=mine.b + theirs.b, t=mine.t + theirs.t)
        return self._with_piece(joined)


@step.register(LeastSquaresRecord)
def _(record, state, scratch, x, target, weight, scores):
    n, z = state.n_waiting[()], scratch.lifted.z[x.place]
    state.t[()] += 1
    for j in range(z.shape[0]):
        state.waiting[n, j] = z[j]
    state.targets[n], state.shares[n] = target, weight
    state.n_waiting[()] = n + 1
    scratch.common.halt[()] = n + 1 == PIECE
    return slope(record.loss, target, scores, scratch.common.slope)


SPEC = LeastSquares(kernel=Gaussian(gamma=0.3))


@pytest.mark.parametrize("law", [name for name in laws.ALGORITHM_LAWS if name != "nothing_is_recompiled"])
def test_a_second_order_learner_obeys_the_law(law):
    case = next(c for c in laws.selection(SPEC) if isinstance(c.spec.kernel, Gaussian))
    if laws.applies(law, case):
        laws.ALGORITHM_LAWS[law](case)
    else:
        other = "equals_its_reference", "budget_is_never_exceeded"
        classes = "late_classes_add_an_output", "a_third_class_keeps_the_margin"
        assert law in (*SPEC.exempt, *other, *classes, "limit_is_reached")


def test_shards_merge_into_the_model_of_all_rows():
    X, y = stream(REGRESSION)
    whole_, *shards = (Learner(SPEC, Regression(), dtype="float64") for _ in range(4))
    whole_.learn(X[:145], y[:145])  # a piece is solved when the next row comes
    for shard, start in zip(shards, range(0, 144, 48), strict=True):
        shard.learn(X[start : start + 48], y[start : start + 48])
    for other in shards[1:]:
        shards[0].merge(other)
    np.testing.assert_allclose(shards[0].scores(X), whole_.scores(X), rtol=1e-9)


@pytest.mark.parametrize(("what", "ridge"), [(0.0, 0.0), (-np.inf, 0.1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_system_without_a_solution_is_said_to_have_none(what, ridge, dtype):
    A = np.full((3, 3), what)
    with pytest.raises(FloatingPointError, match="has no solution"):
        solved(A, np.ones((1, 3)), ridge, dtype)


def test_a_ridge_that_is_too_small_is_raised():
    A = np.tril(np.full((3, 3), 1.0)) - 1e-3 * np.eye(3)
    weights = solved(A, np.ones((1, 3)), 1e-4)
    assert np.allclose(weights @ (A + np.tril(A, -1).T + 0.01 * np.eye(3)), 1.0)
