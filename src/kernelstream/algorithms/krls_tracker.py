"""KRLS-T: a Gaussian process on a budget that returns to its prior; with forget=1 online sparse GP regression.

Van Vaerenbergh, Lazaro-Gredilla, Santamaria: Kernel Recursive Least-Squares Tracker for Time-Varying Regression (2012),
Alg. 1; with lambda = 1 that of Csato, Opper: Sparse On-Line Gaussian Processes (2002).

    K = R'R,  half = R'^-1 k,  rest = k(x, x) - |half|^2,  g = B half
    f(x) has mean k'alpha and variance rest + half'g;  e = y - k'alpha,  s = c + rest + half'g
    a new point:          R, B <- [R half; 0 r], [B 0; 0 1],  r^2 = rest,  and then with g = [g; r] as
    a point of the span:  alpha <- alpha + (e / s) R^-1 g,  B <- B - g g' / s
    one too many:         the point goes that has the least |alpha_i| / (K^-1)_ii, how far the mean moves there
    then forget:          alpha <- lambda^(1/2) alpha,  B <- lambda B + 1 - lambda

Remarks. The paper keeps mean mu and covariance Sigma of the values at the points, and K^-1. Here are alpha = K^-1 mu,
a Cholesky factor R and B = R'^-1 Sigma R^-1, which is 1 where nothing is known and 0 where all is: nothing of it is
magnified where points are near each other, and s is a sum without differences. Each point's value has a noise of its
own in K, as much as rounding leaves of a kernel value (`_dictionary`; the authors' program has 1e-6): without it K is
singular to rounding on a smooth series, and the model diverges. A row whose rest is no more than twice that is one of
the span; a point's has the noise in it. Forgetting ends a row instead of beginning the next, so that what is shown is
what is learned from. When the new point itself is one too many, it is taken as one of the span. With several outputs
sizes are norms over them, and B is one for all. A row of weight w has the noise c / w; at weight 0 no time passes.
`deviations` have the paper's estimate of the signal's variance, the mean of e^2 / s, which fades by lambda; the
authors' program has lambda once beside every new one instead. Merged models are the posterior of what both sides' rows
told of values at all points of both, under the one prior; beyond the budget, of what they told of values at those
points that tell most of the mean. What a fork's sides have in common is taken out once, and counts half where it has
faded (forget < 1).

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
from ..numerics.expansion import Expansion, dot
from ..numerics.gram import backward, extend_factor, factor, forward, turn
from ..numerics.projection import chosen
from ..numerics.symmetric import add_square, add_to_diagonal, append_zeros, product
from ..parameters import fraction, positive, whole
from ._dictionary import ROUNDING, count_in, find_coordinates
from ._recursive import (
    RecursiveAlgorithm,
    RecursiveRecord,
    find_errors,
    find_values,
    fits,
    gram_of,
    keeping_record,
    least_missed,
    move,
    padded_square,
    whitened,
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
    factor: np.ndarray  # R, of K, the prior covariance of the values at the points
    diagonal: np.ndarray  # (room,) of K's inverse
    alpha: np.ndarray  # (K, room) f's coefficients in float64
    B: np.ndarray  # (room, room) how much of the prior's variance is left
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
        alpha, B = np.zeros((K, room)), np.zeros((room, room))
        return TrackerState(f, t, factor(room), np.zeros(room), alpha, B, np.zeros(K), np.zeros(()))

    def limits(self, state: TrackerState) -> Limits:
        sums = dict.fromkeys(("diagonal", "squares", "total"), (0.0, math.inf))
        return {**super().limits(state), **sums, "B": (-2.0, 2.0)}  # 1, and what rounding may leave beyond

    def split(self, state: TrackerState, shape: Shape) -> TrackerState:
        halves: TrackerState = super().split(state, shape)
        return halves._replace(squares=np.repeat(state.squares / 4.0, 2))

    # How sure it is.

    def deviations(self, record: Any, state: TrackerState, chunks: Iterator[Chunk]) -> np.ndarray:
        """sqrt(signal (c + variance))."""
        n, spreads = int(state.f.size), []
        for own, half in whitened(state, chunks):
            rest = np.maximum(own - (half * half).sum(axis=0), 0.0)
            spreads.append(rest + (half * (state.B[:n, :n] @ half)).sum(axis=0))
        signal = state.squares / max(float(state.total), 1e-300)
        return np.asarray(np.sqrt(signal * (self.regularization + np.concatenate(spreads))[:, None]))

    # Merging.

    def merge(
        self, record: Any, state: TrackerState, other: TrackerState, weight: float, since: TrackerState | None = None
    ) -> TrackerState:
        f = expansion.append(state.f, other.f, 1.0)
        fades = since is not None and self.forget < 1.0
        if since is not None and not fades:
            f = expansion.append(f, since.f, 1.0)
        R = self.factor_of(f)
        mine, theirs = self.told(f, R, state), self.told(f, R, other)
        precision, pull = mine[0] + theirs[0], mine[1] + theirs[1]
        if fades:
            precision, pull = precision / 2.0, pull / 2.0
        if since is not None and not fades:
            common, its_pull = self.told(f, R, since)
            precision, pull = _within(precision - common, pull - its_pull)
        counts = tally(state, other, since, "t", "squares", "total")
        return self.posterior(f, R, precision, pull, state._replace(**counts))

    def told(self, f: Expansion, R: np.ndarray, one: TrackerState) -> tuple[np.ndarray, np.ndarray]:
        """What a model's rows tell, in the coordinates of f's points, which its own are among: the precision beside the
        prior's, which is 1, and its product with where the mean is.
        """
        n = int(one.f.size)
        own, known = one.factor[:n, :n], np.linalg.inv(one.B[:n, :n])
        W = _coordinates(R, expansion.places_of(f, one.f), own)
        return W @ (known - np.eye(n)) @ W.T, W @ (known @ (own @ one.alpha[:, :n].T))

    def posterior(
        self, f: Expansion, R: np.ndarray, precision: np.ndarray, pull: np.ndarray, like: TrackerState
    ) -> TrackerState:
        """What is known under the prior, in terms of those of f's points that tell most of the mean."""
        n, f = len(R), expansion.Expansion(*(part.copy() for part in f))
        f.coef[:, :n] = np.linalg.solve(R, np.linalg.solve(np.eye(n) + precision, pull)).T
        kept, _, _ = chosen(self.kernel, f, min(n, int(self.budget)))
        fewer = expansion.taken(f, kept, self.first_capacity)
        own = self.factor_of(fewer)
        W = _coordinates(R, kept, own)
        B = np.linalg.inv(np.eye(len(kept)) + W.T @ precision @ W)
        alpha = np.linalg.solve(own, B @ (W.T @ pull)).T
        diagonal = np.zeros(fewer.points.shape[1])
        diagonal[: len(kept)] = (np.linalg.inv(own) ** 2).sum(axis=1)
        made: TrackerState = self.made(
            fewer, alpha, like._replace(diagonal=diagonal, B=padded_square((B + B.T) / 2.0, len(diagonal)))
        )
        return made

    def factor_of(self, f: Expansion) -> np.ndarray:
        """R of f's points."""
        K = gram_of(self.kernel, f)
        return np.linalg.cholesky(K + ROUNDING[f.coef.dtype.name] * np.diag(np.abs(np.diag(K)))).T

    def factored(self, state: TrackerState) -> TrackerState:
        return state._replace(factor=padded_square(self.factor_of(state.f), state.f.points.shape[1]))


def _coordinates(R: np.ndarray, places: np.ndarray, own: np.ndarray) -> np.ndarray:
    """From coordinates half = own'^-1 k, of the points at these places, to those of all points."""
    return np.linalg.solve(own.T, R[:, places].T).T


def _within(precision: np.ndarray, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Without directions of which less is known than nothing, as rounding and projections may leave them."""
    d, V = np.linalg.eigh(precision)
    V = V[:, d > 0.0]
    return V * d[d > 0.0] @ V.T, V @ (V.T @ pull)


@step.register(TrackerRecord)
def _(record, state, scratch, x, target, weight, scores):
    kernel, n, B = record.shared.kernel, state.f.size[()], state.B
    errors, half, q, g, gain = scratch.errors, scratch.half, scratch.coordinates, scratch.told, scratch.gain
    loss = slope(record.shared.squares.loss, target, scores, scratch.common.slope)
    if weight == 0.0:
        state.t[()] += 1
        return loss
    find_values(state, scratch)
    find_errors(record.shared, state, target, scratch)
    own = expansion.own_value(kernel, x, scratch.row)
    rest, noise = max(own - forward(state.factor, n, scratch.values, half), 0.0), scratch.rounding * abs(own)
    new, slot, fading = rest > 2.0 * noise, -1, math.sqrt(record.forget)
    rest += noise * new
    product(B, n, half, g)
    backward(state.factor, n, g, gain)
    s = record.regularization / weight + rest + max(dot(half[:n], g[:n]), 0.0)
    share = 1.0 / s
    if new:
        find_coordinates(state, scratch)
        for i in range(n):
            gain[i] -= q[i]
        gain[n], g[n] = 1.0, math.sqrt(rest)
    if new and n == record.most:
        slot = least_missed(state, errors, share, gain, q, rest, scratch.row.ranks)
        if slot == n:
            new = False
            for i in range(n):
                gain[i] += q[i]
    if not (s > 0.0 and fits(state, errors, share, gain, n + new)):
        return np.nan
    if new:
        extend_factor(state.factor, n, half, rest)
        count_in(state, n, q, rest)
        append_zeros(B, n, 1.0)
        expansion.add(kernel, state.f, x, 0.0, scratch.common.slope, scratch.row)
        n += 1
    move(state, errors, share, gain, n, fading)
    add_square(B, n, 1.0, -share, g)
    if slot >= 0 and new:
        withdraw(state, slot, scratch)
        turn(B, n, slot, half, gain)
        n -= 1
    if record.forget < 1.0:
        add_to_diagonal(B, n, record.forget, 1.0 - record.forget)
    for k in range(errors.shape[0]):
        state.squares[k] = record.forget * state.squares[k] + share * errors[k] * errors[k]
    state.total[()] = record.forget * state.total[()] + 1.0
    write_out(state)
    state.t[()] += 1
    return loss
