"""KRLS-T: a Gaussian process on a budget that returns to its prior; with forget=1 online sparse GP regression.

Van Vaerenbergh, Lazaro-Gredilla, Santamaria: Kernel Recursive Least-Squares Tracker for Time-Varying Regression (2012),
Alg. 1; Csato, Opper: Sparse On-Line Gaussian Processes (2002), whose alpha and C it is written in.

    f(x) has mean k'alpha and variance k(x, x) + k'C k;  e = y - k'alpha,  s = c + k(x, x) + k'C k
    a new point:          alpha <- [alpha; 0] + (e / s) [C k; 1],      C <- [C 0; 0 0] - [C k; 1] [C k; 1]' / s
    a point of the span:  alpha <- alpha + (e / s) (C k + K^-1 k),     C <- C - (C k + K^-1 k) (C k + K^-1 k)' / s
    one too many:         the point goes that has the least |alpha_i| / (K^-1)_ii, how far the mean moves there
    then forget:          alpha <- lambda^(1/2) alpha,  C <- lambda C

Remarks. The paper keeps mean mu = K alpha and covariance Sigma = K + K C K of the values at the points, and K^-1:
dropping a value there is the projection of alpha and C here, and its return to the prior, Sigma <- lambda Sigma + (1 -
lambda) K, is C <- lambda C. So nothing of K^-1 but a column and the diagonal is asked for, and a Cholesky factor does;
a point is of the span by its rounding (`_dictionary`) and not by a jitter that is added. Forgetting ends a row instead
of beginning the next, so that what is shown is what is learned from. When the new point itself is one too many, it is
taken as one of the span. With several outputs sizes are norms over them, and C is one for all. A row of weight w has
the noise c / w; at weight 0 no time passes. `deviations` have the paper's estimate of the signal's variance, the mean
of e^2 / s, which fades by lambda; the authors' program has lambda once beside every new one instead. Merged models are
the posterior of what both sides' rows told of values at all points of both, under the one prior; beyond the budget, of
what they told of values at those points that tell most of the mean. What a fork's sides have in common is taken out
once, and counts half where it has faded (forget < 1).

Symbols: lambda forget, c regularization, M budget.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Chunk, Shape, step
from ..engine.state import Limits, tally
from ..losses import slope
from ..numerics import expansion
from ..numerics.expansion import Expansion
from ..numerics.gram import extend_factor, factor
from ..numerics.projection import chosen
from ..numerics.symmetric import add_square, append_zeros, product, take_projected
from ..parameters import fraction, positive, whole
from ._dictionary import find_coordinates, find_residual
from ._recursive import (
    RecursiveAlgorithm,
    RecursiveRecord,
    count_in,
    find_errors,
    fits,
    gram_of,
    keeping_record,
    least_missed,
    move,
    padded_square,
    withdraw,
    write_out,
)


@keeping_record
class TrackerRecord(NamedTuple):
    shared: RecursiveRecord
    regularization: float
    forget: float
    most: int


class TrackerState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    factor: np.ndarray  # Cholesky factor of the points' Gram matrix
    diagonal: np.ndarray  # (room,) of the Gram matrix's inverse
    alpha: np.ndarray  # (K, room) f's coefficients in float64
    C: np.ndarray  # (room, room)
    squares: np.ndarray  # (K,) sum of e^2 / s
    total: np.ndarray  # 0-d: of the rows that are in it


@dataclass
class KRLSTracker(RecursiveAlgorithm):
    """budget: M, the most points that are kept.
    regularization: c, the variance of the noise as a share of the signal's.
    forget: lambda, how much of what is known remains with every row; 1 forgets nothing.
    """

    budget: int = 200  # a row takes M^2
    regularization: float = 0.1
    forget: float = 1.0

    name: ClassVar[str] = "krls-t"
    paper: ClassVar[str] = "Van Vaerenbergh, Lazaro-Gredilla, Santamaria 2012"
    models_deviations: ClassVar[bool] = True
    bounded: ClassVar[bool] = True
    spare: ClassVar[int] = 1
    matrices: ClassVar[tuple[str, ...]] = ("factor", "C")
    vectors: ClassVar[tuple[str, ...]] = ("diagonal",)
    totals: ClassVar[tuple[str, ...]] = ("squares",)

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget)
        positive(regularization=self.regularization)
        fraction(forget=self.forget)

    def lower(self, task: str, dtype: Any) -> TrackerRecord:
        return TrackerRecord(self.shared(task, dtype), float(self.regularization), float(self.forget), int(self.budget))

    def init(self, shape: Shape) -> TrackerState:
        f, t = super().init(shape)
        room, K = f.points.shape[1], shape.n_outputs
        square = np.zeros((room, room))
        return TrackerState(f, t, factor(room), np.zeros(room), np.zeros((K, room)), square, np.zeros(K), np.zeros(()))

    def limits(self, state: TrackerState) -> Limits:
        return {**super().limits(state), **dict.fromkeys(("diagonal", "squares", "total"), (0.0, math.inf))}

    def split(self, state: TrackerState, shape: Shape) -> TrackerState:
        halves: TrackerState = super().split(state, shape)
        return halves._replace(squares=np.repeat(state.squares / 4.0, 2))

    # How sure it is.

    def deviations(self, record: Any, state: TrackerState, chunks: Iterator[Chunk]) -> np.ndarray:
        """sqrt(signal (c + k(x, x) + k'C k))."""
        n, spreads = int(state.f.size), []
        for chunk in chunks:
            rows = len(chunk.scores)
            V = chunk.scratch.kept[:rows, :n].astype(np.float64)
            spreads.append(chunk.scratch.own[:rows] + ((V @ state.C[:n, :n]) * V).sum(axis=1))
        signal = state.squares / max(float(state.total), 1e-300)
        noisy = self.regularization + np.maximum(np.concatenate(spreads), 0.0)
        return np.asarray(np.sqrt(signal * noisy[:, None]))

    # Merging.

    def merge(
        self, record: Any, state: TrackerState, other: TrackerState, weight: float, since: TrackerState | None = None
    ) -> TrackerState:
        f = expansion.append(state.f, other.f, 1.0)
        fades = since is not None and self.forget < 1.0
        if since is not None and not fades:
            f = expansion.append(f, since.f, 1.0)
        mine, theirs = self.told(f, state), self.told(f, other)
        precision, pull = mine[0] + theirs[0], mine[1] + theirs[1]
        if fades:
            precision, pull = precision / 2.0, pull / 2.0
        if since is not None and not fades:
            common, its_pull = self.told(f, since)
            precision, pull = _within(precision - common, pull - its_pull)
        counts = tally(state, other, since, "t", "squares", "total")
        return self.posterior(f, precision, pull, state._replace(**counts))

    def told(self, f: Expansion, one: TrackerState) -> tuple[np.ndarray, np.ndarray]:
        """What a model's rows tell of the values at f's points, which are its own too: their precision beside the
        prior's, and its product with where they are.
        """
        n, places = int(one.f.size), expansion.places_of(f, one.f)
        precision, pull = np.zeros((int(f.size),) * 2), np.zeros((int(f.size), len(one.alpha)))
        # The inverse of `_under`, which is of the same form.
        values, inner = _under(gram_of(self.kernel, one.f), one.C[:n, :n], one.alpha[:, :n].T)
        precision[np.ix_(places, places)], pull[places] = inner, values.T
        return precision, pull

    def posterior(self, f: Expansion, precision: np.ndarray, pull: np.ndarray, like: TrackerState) -> TrackerState:
        """What is known of f's values, under the prior, in terms of those of its points that tell most of the mean."""
        K = gram_of(self.kernel, f)
        n, (alpha, _) = len(K), _under(K, precision, pull)
        f = expansion.Expansion(*(part.copy() for part in f))
        f.coef[:, :n] = alpha
        kept, _, _ = chosen(self.kernel, f, min(n, int(self.budget)))
        inner = K[np.ix_(kept, kept)]
        T = np.linalg.solve(inner, K[kept])  # the values at all points are T' times those at the points kept
        alpha, C = _under(inner, T @ precision @ T.T, T @ pull)
        fewer = expansion.taken(f, kept, self.first_capacity)
        room, diagonal = fewer.points.shape[1], np.zeros(fewer.points.shape[1])
        made: TrackerState = self.made(fewer, alpha, like._replace(C=padded_square(C, room)))
        R = made.factor[: len(kept), : len(kept)]
        diagonal[: len(kept)] = np.diag(np.linalg.inv(R.T @ R))
        return made._replace(diagonal=diagonal)


def _under(K: np.ndarray, precision: np.ndarray, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """alpha = (1 + L K)^-1 p and C = -(1 + L K)^-1 L, of the posterior of L and p under the prior K."""
    both = np.eye(len(K)) + precision @ K
    C = -np.linalg.solve(both, precision)
    return np.linalg.solve(both, pull).T, (C + C.T) / 2.0


def _within(precision: np.ndarray, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Without directions of which less is known than nothing, as rounding and projections may leave them."""
    d, V = np.linalg.eigh(precision)
    V = V[:, d > 0.0]
    return V * d[d > 0.0] @ V.T, V @ (V.T @ pull)


@step.register(TrackerRecord)
def _(record, state, scratch, x, target, weight, scores):
    kernel, n, C = record.shared.kernel, state.f.size[()], state.C
    errors, q, gain = scratch.errors, scratch.coordinates, scratch.gain
    loss = slope(record.shared.squares.loss, target, scores, scratch.common.slope)
    if weight == 0.0:
        state.t[()] += 1
        return loss
    residual = find_residual(kernel, state, x, scratch)
    find_errors(record.shared, state, target, scratch)
    find_coordinates(state, scratch)
    product(C, n, scratch.values, gain)
    spread = expansion.own_value(kernel, x, scratch.row)
    for i in range(n):
        spread += scratch.values[i] * gain[i]
    s = record.regularization / weight + max(spread, 0.0)
    share, slot, fading = 1.0 / s, -1, math.sqrt(record.forget)
    gain[n] = 1.0
    if residual > 0.0 and n == record.most:
        slot = least_missed(state, errors, share, gain, q, residual, scratch.row.ranks)
    new = residual > 0.0 and slot != n
    if not new:
        for i in range(n):
            gain[i] += q[i]
    if not (s > 0.0 and fits(state, errors, share, gain, n + new)):
        return np.nan
    if new:
        extend_factor(state.factor, n, scratch.half, residual)
        count_in(state, n, q, residual)
        append_zeros(C, n, 0.0)
        expansion.add(kernel, state.f, x, 0.0, scratch.common.slope, scratch.row)
        n += 1
    move(state, errors, share, gain, n, fading)
    add_square(C, n, record.forget, -share, gain)
    if new and slot >= 0:
        withdraw(state, slot, scratch)
        take_projected(C, n, slot, scratch.coordinates)
    for k in range(errors.shape[0]):
        state.squares[k] = record.forget * state.squares[k] + share * errors[k] * errors[k]
    state.total[()] = record.forget * state.total[()] + 1.0
    write_out(state)
    state.t[()] += 1
    return loss
