"""What learners share whose model is the ridge regression of the rows they keep: sliding-window and fixed-budget KRLS.

    alpha = (K + C)^-1 y,  C = diag(regularization / weight)

The factor is that of K + C, so that a row that comes and a row that goes both cost M^2, whatever they are. As a
Gaussian process its noise is the regularization, in the unit of the process's variance, which is the one that makes the
kept targets most likely: y'alpha / M.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Chunk, Shape
from ..engine.state import Limits, tally
from ..numerics import expansion
from ..numerics.compile import inlined
from ..numerics.expansion import Expansion
from ..numerics.gram import backward, extend_factor, factor, forward
from ..numerics.lists import close_gap
from ..numerics.projection import chosen
from ..parameters import positive, whole
from ._dictionary import count_in
from ._recursive import RecursiveAlgorithm, fits, gram_of, move, padded_square, whitened, withdraw
from ._squares import to_say

SMALLEST_RIDGE, LARGEST_RIDGE = 1e-300, 1e300


class KeptState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    factor: np.ndarray  # Cholesky factor of the points' Gram matrix with the ridges
    alpha: np.ndarray  # (K, room) f's coefficients in float64
    labels: np.ndarray  # (K, room) what the outputs are to say at the points
    ridges: np.ndarray  # (room,) regularization / weight
    diagonal: np.ndarray  # (room,) of the factored matrix's inverse; empty where nobody asks for it


class KeptRows(RecursiveAlgorithm):
    """budget, regularization: as its learners say."""

    regularization: float
    chooses: ClassVar[bool]  # by the inverse's diagonal, which row goes
    lines: ClassVar[tuple[str, ...]] = ("alpha", "labels")
    vectors: ClassVar[tuple[str, ...]] = ("ridges",)
    models_deviations: ClassVar[bool] = True
    bounded: ClassVar[bool] = True
    spare: ClassVar[int] = 1
    exempt: ClassVar[dict[str, str]] = {"weight_scales_the_step": "a weight scales what a row tells"}

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget)
        positive(regularization=self.regularization)

    def init(self, shape: Shape) -> KeptState:
        f, t = super().init(shape)
        room, K = f.points.shape[1], shape.n_outputs
        lines = np.zeros((K, room)), np.zeros((K, room))
        return KeptState(f, t, factor(room), *lines, np.zeros(room), np.zeros(room if self.chooses else 0))

    def limits(self, state: KeptState) -> Limits:
        return {**super().limits(state), "ridges": (0.0, LARGEST_RIDGE), "diagonal": (0.0, np.inf)}

    def deviations(self, record: Any, state: KeptState, chunks: Iterator[Chunk]) -> np.ndarray:
        """sqrt(variance (regularization + k(x, x) - k'(K + C)^-1 k))."""
        n = int(state.f.size)
        outside = [np.maximum(own - (half * half).sum(axis=0), 0.0) for own, half in whitened(state, chunks)]
        variance = np.maximum((state.labels[:, :n] * state.alpha[:, :n]).sum(axis=1), 0.0) / max(n, 1)
        return np.asarray(np.sqrt(variance * (self.regularization + np.concatenate(outside))[:, None]))

    def merge(
        self, record: Any, state: KeptState, other: KeptState, weight: float, since: KeptState | None = None
    ) -> KeptState:
        """The weighted sum of both functions, with labels of which it is the regression; beyond the budget, the
        regression of these labels in terms of M of the points.
        """
        n, places = int(state.f.size), expansion.places_of(state.f, other.f)
        f, m = expansion.append(state.f, other.f, 1.0), len(places)
        total = int(f.size)
        alpha, ridges, ages = np.zeros((len(state.alpha), total)), np.zeros(total), np.full((2, total), np.inf)
        ridges[places], ridges[:n] = other.ridges[:m], state.ridges[:n]
        alpha[:, :n] = (1.0 - weight) * state.alpha[:, :n]
        np.add.at(alpha.T, places, weight * other.alpha[:, :m].T)
        # How many rows of its side came after a row, in rows of both: a side that has seen fewer has older ones.
        shares = max(1.0 - weight, 1e-12), max(weight, 1e-12)
        ages[0, :n], ages[1, places] = np.arange(n)[::-1] / shares[0], np.arange(m)[::-1] / shares[1]
        K, kept = gram_of(self.kernel, f), np.arange(total)
        labels = alpha @ (K + np.diag(ridges))
        if total > int(self.budget or total):
            f.coef[:, :total] = alpha
            kept, _, _ = chosen(self.kernel, f, int(self.budget or total))
        kept = kept[np.argsort(-ages.min(axis=0)[kept], kind="stable")]
        if len(kept) < total:
            inner, told = K[np.ix_(kept, kept)], K[kept] / ridges
            fewer = np.linalg.solve(inner + told @ K[kept].T, told @ labels.T).T
            labels[:, kept] = fewer @ (inner + np.diag(ridges[kept]))
        counts = tally(state, other, since, "t")
        return self.fitted(
            expansion.taken(f, kept, self.first_capacity), labels[:, kept], ridges[kept], state._replace(**counts)
        )

    def fitted(self, f: Expansion, labels: np.ndarray, ridges: np.ndarray, like: KeptState) -> KeptState:
        """The state of these rows."""
        n, room = int(f.size), f.points.shape[1]
        K = gram_of(self.kernel, f) + np.diag(ridges)
        alpha = np.linalg.solve(K, labels.T).T
        f.coef[:, :n] = alpha
        wide, said = np.zeros((len(alpha), room)), np.zeros((len(alpha), room))
        wide[:, :n], said[:, :n] = alpha, labels
        R = padded_square(np.linalg.cholesky(K).T, room)
        diagonal = np.zeros(len(like.diagonal))
        if self.chooses:
            diagonal[:n] = np.diag(np.linalg.inv(K))
        return KeptState(f, like.t, R, wide, said, np.pad(ridges, (0, room - n)), diagonal)


@inlined
def find_residual(record, state, own, weight, scratch):
    """(its ridge, how far the row is from what the others tell of it); scratch.coordinates are alpha's direction, with
    -1 for the row itself. own: k(x, x).

    Requires: scratch.values. By K >= 0 the residual is at least the ridge: what rounding leaves below is taken as that,
    and where the ridge is less than rounding as rounding.
    """
    n, d = state.f.size[()], scratch.coordinates
    ridge = min(max(record.regularization / weight, SMALLEST_RIDGE), LARGEST_RIDGE)
    residual = own + ridge - forward(state.factor, n, scratch.values, scratch.half)
    backward(state.factor, n, scratch.half, d)
    d[n] = -1.0
    return ridge, max(residual, ridge, scratch.rounding * abs(own))


@inlined
def admit(record, state, x, target, ridge, residual, scratch):
    """Take a row in; say whether that is a step that can be taken. Requires: room, `find_residual`, scratch.errors."""
    n, errors, d = state.f.size[()], scratch.errors, scratch.coordinates
    if not fits(state, errors, -1.0 / residual, d, n + 1):
        return False
    extend_factor(state.factor, n, scratch.half, residual)
    if state.diagonal.shape[0] > 0:
        count_in(state, n, d, residual)
    for k in range(errors.shape[0]):
        state.labels[k, n] = to_say(record.shared.squares, k, target)
    state.ridges[n] = ridge
    expansion.add(record.shared.kernel, state.f, x, 0.0, scratch.common.slope, scratch.row)
    move(state, errors, -1.0 / residual, d, n + 1, 1.0)
    return True


@inlined
def let_go(state, slot, scratch):
    """A row less."""
    n = state.f.size[()]
    withdraw(state, slot, scratch)
    for k in range(state.labels.shape[0]):
        close_gap(state.labels[k], slot, n)
    close_gap(state.ridges, slot, n)
