"""What learners share that are linear on an embedding which grows with its points: PROS-N-KONS, PKAWV.

With K = R'R the Gram matrix of the points, z(x) = R'^-1 (k(s_1, x), ..., k(s_n, x)): a point more adds a number to z
and changes none before it (`numerics.landmarks`). Points are drawn as rows come, by KORS:

Calandriello, Lazaric, Valko: Efficient Second-Order Online Kernel Learning with Adaptive Embedding (2017), Alg. 2.

    r = k(x, x) - k_x'D (D K D + alpha)^-1 D k_x,  a point by chance p = min(1, beta r / (r + alpha)),  D = p^-1/2

r / (r + alpha) is the row's ridge leverage: how much of it the points, each standing for 1 / p rows, do not tell. A row
of whose k(x, x) the points leave less than TOLERANCE, or which comes when there are `budget` of them, becomes none. The
paper predicts a row after it was drawn; here it is predicted with the points before it, and then drawn.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, common
from ..engine.state import Limits, tally
from ..kernels import EVALUATED, POSITIVE_DEFINITE, KernelRecord, Need
from ..numerics import expansion, rng
from ..numerics.compile import inlined
from ..numerics.confidence import WIDEST, Full, first_covariance, of_precision, precision, spread_of
from ..numerics.expansion import Expansion, KernelRow
from ..numerics.gram import cross_matrix, extend_factor, factor, forward, gram_matrix
from ..numerics.projection import chosen
from ..parameters import positive, whole
from ._expansion import ExpansionAlgorithm

TOLERANCE = 1e-4


class EmbeddingRecord(NamedTuple):
    kernel: KernelRecord
    regularization: float
    sampling: float


class EmbeddedState(NamedTuple):
    f: Expansion  # its points; the coefficients are not used
    t: np.ndarray  # rounds so far, 0-d
    generator: np.ndarray
    factor: np.ndarray  # (B, B) R
    drawn: np.ndarray  # (B, B) the factor of D K D + alpha
    roots: np.ndarray  # (B,) D
    weights: np.ndarray  # (K, B) in float64
    covariance: Full  # (B, B)


class EmbeddedScratch(NamedTuple):
    common: Common
    row: KernelRow
    values: np.ndarray  # (B,) kernel values in float64
    z: np.ndarray  # (B,)
    half: np.ndarray  # (B,)
    u: np.ndarray  # (B,) Sz
    y: np.ndarray  # (K,) what outputs are to say, or say
    found: np.ndarray  # (2,) k(x, x), and what the points leave of it
    none: np.ndarray  # (1,) of zero


@dataclass
class Embedded(ExpansionAlgorithm):
    """regularization: alpha, or lambda, of alpha ||f||^2, and of the leverage that points are drawn by.
    sampling: beta; more of it draws more points.
    budget: the most points that are kept.
    """

    regularization: float = 1.0
    sampling: float = 1.0
    budget: int = 200

    bounded: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = (EVALUATED, POSITIVE_DEFINITE)

    def check(self) -> None:
        super().check()
        positive(regularization=self.regularization, sampling=self.sampling)
        whole(1, budget=self.budget)

    @property
    def capacity(self) -> int:
        return self.budget

    def embedding(self, dtype: Any) -> EmbeddingRecord:
        return EmbeddingRecord(self.kernel.lower(dtype), self.ridge, float(self.sampling))

    @property
    def ridge(self) -> float:
        """alpha, no less than what the widest covariance begins with."""
        return max(float(self.regularization), 1.0 / WIDEST)

    # The state.

    def init(self, shape: Shape) -> EmbeddedState:
        B, (f, t) = self.budget, super().init(shape._replace(n_outputs=1))
        S: Any = first_covariance(B, 1.0 / self.ridge, full=True)
        weights = np.zeros((shape.n_outputs, B))
        return EmbeddedState(f, t, rng.generator(shape.seed), factor(B), factor(B), np.zeros(B), weights, S)

    def scratch(self, state: EmbeddedState, shape: Shape) -> EmbeddedScratch:
        values, z, half, u = (np.zeros(self.budget) for _ in range(4))
        shared, y = common(shape.width, shape.n_outputs, shape.dtype), np.zeros(shape.n_outputs)
        return EmbeddedScratch(
            shared, expansion.kernel_row(state.f), values, z, half, u, y, np.zeros(2), np.zeros(1, shape.dtype)
        )

    def grow(self, state: EmbeddedState, shape: Shape) -> EmbeddedState:
        weights = np.zeros((shape.n_outputs, self.budget))
        weights[: len(state.weights)] = state.weights
        return state._replace(f=expansion.resized(state.f, n_features=shape.width), weights=weights)

    def outline(self, shape: Shape) -> dict[str, tuple[int | None, ...]]:
        return {**super().outline(shape._replace(n_outputs=1)), "weights": (shape.n_outputs, self.budget)}

    def limits(self, state: EmbeddedState) -> Limits:
        return {**super().limits(state), "roots": (0.0, np.inf)}

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> EmbeddedState:
        state: EmbeddedState = super().restore(arrays, shape)
        n = int(state.f.size)
        if not all((np.diag(R)[:n] > 0).all() for R in (state.factor, state.drawn)):
            raise ValueError("its factors are not those of its points")
        return state

    def attributes(self, state: EmbeddedState) -> dict[str, Any]:
        """points: (n, d)."""
        return {"points": state.f.points[:, : int(state.f.size)].T.copy()}

    def coefficients(self, state: EmbeddedState) -> np.ndarray:
        """(n, K), so that w'z = sum_i coef_i k(point_i, .)."""
        n = int(state.f.size)
        return np.linalg.solve(state.factor[:n, :n], state.weights[:, :n].T)

    def distance(self, state: EmbeddedState, other: EmbeddedState) -> float:
        parts = [self.as_terms(one) for one in (state, other)]
        joined = expansion.append(parts[0], parts[1], -1.0)
        coef = joined.coef[:, : int(joined.size)].astype(np.float64)
        return math.sqrt(max(0.0, float((coef @ gram_matrix(self.kernel, joined) * coef).sum())))

    def as_terms(self, state: EmbeddedState) -> Expansion:
        """w'z as an expansion."""
        n = int(state.f.size)
        points, norms = state.f.points[:, :n].astype(np.float64), state.f.norms[:n].copy()
        return expansion.from_points(points, norms, np.ascontiguousarray(self.coefficients(state).T))

    # Merging: the points of both, as far as there is room, and what rows told in their coordinates.

    def merge(
        self, record: Any, state: EmbeddedState, other: EmbeddedState, weight: float, since: EmbeddedState | None = None
    ) -> EmbeddedState:
        f, roots, R, drawn = self.joined(state, other, weight)
        A, n = np.full(self.budget, self.ridge) * np.eye(self.budget), int(f.size)
        told, means = [], []
        for one, sign in ((state, 1.0), (other, 1.0), (since, -1.0)):
            if one is not None:
                M, m = self.coordinates(one, f, R), int(one.f.size)
                own = precision(one.covariance)[:m, :m] - self.ridge * np.eye(m)
                A[:n, :n] += sign * M.T @ own @ M
                told.append(sign * (one.weights[:, :m] @ (own + self.ridge * np.eye(m))) @ M)
                means.append(one.weights[:, :m] @ M)
        weights = np.zeros_like(state.weights)
        weights[:, :n] = self.weighed(A[:n, :n], told, means, weight)
        parts: dict[str, Any] = {"f": f, "roots": roots, "factor": R, "drawn": drawn, "weights": weights}
        return state._replace(covariance=of_precision(A), **parts, **tally(state, other, since, "t"))

    def weighed(self, A: np.ndarray, told: list[np.ndarray], means: list[np.ndarray], weight: float) -> np.ndarray:
        """The weights of both: of A, W A of each, and W of each."""
        raise NotImplementedError

    def joined(
        self, state: EmbeddedState, other: EmbeddedState, weight: float
    ) -> tuple[Expansion, np.ndarray, np.ndarray, np.ndarray]:
        """The points of both that are not in the span of those before them, with D and the factors; where they are too
        many, those that tell most of the mean of both functions.
        """
        both = expansion.append(state.f, other.f, 1.0)
        places = expansion.places_of(state.f, other.f)
        known = np.zeros(int(both.size))
        known[: int(state.f.size)] = state.roots[: int(state.f.size)]
        known[places] = np.maximum(known[places], other.roots[: len(places)])
        gram, B = gram_matrix(self.kernel, both), self.budget
        mine, theirs = self.as_terms(state), self.as_terms(other)
        mine.coef[...] *= 1.0 - weight
        most = chosen(self.kernel, expansion.append(mine, theirs, weight), B)[0] if len(gram) > B else range(len(gram))
        R, drawn, roots, kept = factor(B), factor(B), np.zeros(B), np.zeros(0, np.int64)
        for i in most:
            n, half = len(kept), np.zeros(B)
            left = gram[i, i] - forward(R, n, gram[kept, i], half)
            if n < B and left > TOLERANCE * gram[i, i]:
                extend_factor(R, n, half, left)
                scaled = roots[:n] * gram[kept, i] * known[i]
                square = forward(drawn, n, scaled, half)
                extend_factor(drawn, n, half, self.ridge + known[i] ** 2 * gram[i, i] - square)
                roots[n] = known[i]
                kept = np.append(kept, i)
        return expansion.taken(both, kept, B), roots, R, drawn

    def coordinates(self, one: EmbeddedState, f: Expansion, R: np.ndarray) -> np.ndarray:
        """M with z_one = M z: what one's coordinates are in those of the joint points."""
        m, n = int(one.f.size), int(f.size)
        half = np.linalg.solve(one.factor[:m, :m].T, cross_matrix(self.kernel, one.f, f))
        return np.asarray(np.linalg.solve(R[:n, :n].T, half.T).T)


@inlined
def embed(record, state, scratch, x):
    """Write z(x); return how many points there are. Ensures: scratch.found holds k(x, x) and what is left of it."""
    f, n, values = state.f, state.f.size[()], scratch.values
    expansion.find_values(record.kernel, f, x, scratch.row)
    for i in range(n):
        values[i] = scratch.row.values[i]
    own = expansion.own_value(record.kernel, x, scratch.row)
    scratch.found[0] = own
    scratch.found[1] = own - forward(state.factor, n, values, scratch.z)
    return n


@inlined
def draw_point(record, state, scratch, x):
    """Make the row a point where it is drawn: z gets one number more. Return whether it is. Requires: `embed`."""
    f, n, values, half = state.f, state.f.size[()], scratch.values, scratch.half
    own, left = scratch.found[0], scratch.found[1]
    if expansion.full(f) or not left > TOLERANCE * own:
        return False
    for i in range(n):
        values[i] *= state.roots[i]
    square = forward(state.drawn, n, values, half)
    r = max(own - square, 0.0)
    chance = min(1.0, record.sampling * r / (r + record.regularization))
    if rng.draw(state.generator) >= chance:
        return False
    root = 1.0 / math.sqrt(chance)
    for i in range(n):
        half[i] *= root
    extend_factor(state.drawn, n, half, record.regularization + root * root * r)
    extend_factor(state.factor, n, scratch.z, left)
    state.roots[n] = root
    scratch.z[n] = math.sqrt(left)
    expansion.put(record.kernel, f, n, x, 0.0, scratch.none, scratch.row)
    return True


@inlined
def spread_embedded(state, scratch, n):
    """z'Sz. Ensures: scratch.u = Sz."""
    return spread_of(state.covariance, scratch.z[:n], scratch.u[:n])


@inlined
def say_embedded(state, scratch, n):
    """scratch.y = w'z."""
    for k in range(scratch.y.shape[0]):
        total = 0.0
        for j in range(n):
            total += state.weights[k, j] * scratch.z[j]
        scratch.y[k] = total
