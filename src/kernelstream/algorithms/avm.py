"""AVM: Pegasos in which a row is replaced by the core point of the cell that it falls into.

Le, Nguyen, Nguyen, Phung: Approximation Vector Machines for Large-scale Online Learning (2017), Alg. 2-5.

    f <- (1 - 1/t) f - (1 / (lambda t)) l'(f(x), y) k(c, .)
    c = the core point of x's cell if Z_t = 1, x itself if Z_t = 0;  P(Z_t = 1) = max(0, 1 - beta / t^rho)
    squared loss r^2 / 2, lambda <= 1: then f is projected on the ball of radius max |y| / sqrt(lambda)

    sphere       x is in the cell of its nearest core point c when ||x - c|| < delta / 2               (Alg. 3)
    rectangle    x is in the first cell opened of those with max_j |x_j - c_j| < delta / sqrt(d)       (Alg. 4)
    A row with Z_t = 1 in no cell opens one and is its core point.

    last         the function shown is f_t, after t rounds
    average      (1/t) sum_{s <= t} f_s
    suffix       the mean of the newest f_s: of the last alpha T where T is known (`rounds`), else of between a share
                 alpha and alpha (2 - alpha) of all rounds

Remarks. Kept as `_risk` says; rounds of a regression and of the squared hinge are counted from t_0 (`start`) on, which
the paper does not: `start=0` is its letter. Cells are as wide in the input space whatever the kernel. As printed, a
rectangle reaches delta / sqrt(d) to both sides, so its diagonal is 2 delta; d is the width at that time. Every row with
Z_t = 1 and a weight opens a cell where there is none (Alg. 3), also when f does not move. A row with Z_t = 0 that moves
f is stored, and is no core point: these are delta / 2 apart, and a bounded domain has room for finitely many (Theorem
15). Sec. 9.2 looks for delta between 2 (m - s) and 2 (m + s), m and s the mean and the standard deviation of the
distances between rows, and takes a value near the lower end (a9a: 7.0 of 6.7 to 8.8; cod-rna: 1.0, below 1.4 to 3.8):
"auto" is 2 (m - s) of the first rows. max |y| is over the targets learned so far; for the loss r^2 the ball is that of
lambda / 2. Averages are over f after each round (`_means`); the paper's begin and end one earlier, with f = 0. A share
of an unknown length cannot be cut off exactly: two windows run, and when the younger is a share alpha of all rounds it
becomes the one shown. After a merge the core points of both remain.

Symbols: delta coverage (a diameter; `delta` in the authors' scripts is a radius), lambda regularization, beta beta,
rho rho, alpha suffix, b coef of f.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import Shape, common, evaluate, step
from ..engine.state import Limits, ModelFileError
from ..kernels import SQUARED_DISTANCE, Cauchy, Gaussian, Kernel, KernelRecord, Linear, Matern
from ..losses import Squared, as_loss
from ..numerics import expansion, rng
from ..numerics.budgets import any_above, first_largest
from ..numerics.compile import compiled, inlined
from ..numerics.expansion import Expansion, dot
from ..numerics.gram import gram_matrix
from ..numerics.rows import LARGEST, Sample, complete_row, dense_row
from ..parameters import at_least, one_of, positive, whole
from ._expansion import ask_for_room
from ._means import EXEMPT, MeanScratch, joined_means, mean_of, note_change, note_halving, resized, show_mean, window_of
from ._risk import RegularisedRisk, RiskRecord, evaluate_risk, take_risk_slope, tau_of, unit_of

CELLS = ("sphere", "rectangle")
OUTPUTS = ("last", "average", "suffix")
SPHERE, RECTANGLE = range(2)
LAST, AVERAGE, SUFFIX = range(3)

# Kernels that fall with the distance: the largest kernel value is the nearest point's.
FALLING = (Gaussian, Cauchy, Matern)


class AVMRecord(NamedTuple):
    risk: RiskRecord
    distance: KernelRecord  # whose "kernel value" is the squared distance
    inside: float  # points with larger kernel values have x in their cell; infinite when kernel values do not tell
    cells: int  # place in CELLS
    coverage: float
    beta: float
    rho: float
    ball: float  # f is projected on the ball of radius max |y| sqrt(ball / lambda); 0: it is not
    output: int  # place in OUTPUTS
    suffix: float
    first: int  # the round after which a suffix of known length begins; -1 where it is not known


class AVMState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    generator: np.ndarray
    norm: np.ndarray  # (lambda tau)^2 ||f||^2, 0-d; kept where f is projected
    largest: np.ndarray  # max |y|, 0-d; likewise
    core: np.ndarray  # (capacity,) 1 for a core point, 0 for a row that was stored as it is; empty where beta = 0
    older: np.ndarray  # (K, capacity) in float64, w of the window that is shown, see `_means`; without an average empty
    younger: np.ndarray  # (K, capacity) w of the window that will be shown; suffix only
    start: np.ndarray  # (2,) rounds before the older and the younger window
    harmonic: np.ndarray  # (2,) their h


@dataclass
class AVM(RegularisedRisk):
    """coverage: diameter of a cell, or "auto". cells: "sphere" or "rectangle". output: "last", "average" or "suffix".

    suffix: the share of all rounds that output="suffix" averages over.
    rounds: how many there will be: the suffix is then exact after so many.
    beta, rho: row t is stored as it is with probability min(1, beta / t^rho).
    """

    coverage: float | str = "auto"
    cells: str = "sphere"
    output: str = "last"
    suffix: float = 0.5
    rounds: int | None = None
    beta: float = 0.0
    rho: float = 1.0

    name: ClassVar[str] = "avm"
    paper: ClassVar[str] = "Le et al. 2017"
    bounded: ClassVar[bool] = False

    @property
    def exempt(self) -> dict[str, str]:  # type: ignore[override]
        reasons = {}
        if self.cells == "rectangle":
            reasons["late_features_count_as_zero_before"] = "a side depends on the number of features, Alg. 4"
        return reasons | (EXEMPT if self.output != "last" else {})

    def check(self) -> None:
        super().check()
        if self.coverage != "auto":
            positive(coverage=self.coverage)
        positive(suffix=self.suffix, rho=self.rho)
        if self.rounds is not None:
            whole(1, rounds=self.rounds)
        at_least(0.0, beta=self.beta)
        one_of(CELLS, cells=self.cells)
        one_of(OUTPUTS, output=self.output)
        if self.suffix >= 1.0:
            raise ValueError(f'suffix={self.suffix!r} must be less than 1; output="average" averages all rounds.')

    def depends_on_data(self, task: str) -> bool:
        return super().depends_on_data(task) or self.coverage == "auto"

    def settle(self, task: str, sample: Sample) -> Self:
        coverage = self.coverage
        if coverage == "auto":
            mean, deviation = sample.distances()
            coverage = 2.0 * (mean - deviation) if mean > deviation else 1.0
        return replace(super().settle(task, sample), coverage=coverage)

    def lower(self, task: str, dtype: Any) -> AVMRecord:
        coverage, rounds = float(self.coverage), self.rounds
        loss = as_loss(self.loss)
        curvature = loss.curvature if isinstance(loss, Squared) else 0.0
        return AVMRecord(
            self.risk(task, dtype),
            Linear().lower(dtype)._replace(metric=SQUARED_DISTANCE),
            surely_inside(self.kernel, coverage / 2.0, dtype),
            CELLS.index(self.cells),
            coverage,
            float(self.beta),
            float(self.rho),
            curvature if float(self.regularization) <= curvature else 0.0,
            OUTPUTS.index(self.output),
            float(self.suffix),
            -1 if rounds is None else rounds - max(1, round(self.suffix * rounds)),
        )

    def init(self, shape: Shape) -> AVMState:
        f, t = super().init(shape)
        none, core = np.zeros((shape.n_outputs, 0)), np.zeros(0, np.int64)
        start, harmonic = np.zeros(2, np.int64), np.zeros(2)
        generator, zero = rng.generator(shape.seed), np.zeros(())
        return self.fitted(AVMState(f, t, generator, zero, zero.copy(), core, none, none, start, harmonic))

    def fitted(self, state: AVMState) -> AVMState:
        """The state with windows of the shape of f's coefficients."""
        k, room = state.f.coef.shape
        older = resized(state.older, k, room if self.output != "last" else 0)
        younger = resized(state.younger, k, room if self.output == "suffix" and self.rounds is None else 0)
        core = resized(state.core[None], 1, room if self.beta > 0.0 else 0)[0]
        return state._replace(older=older, younger=younger, core=core)

    def scratch(self, state: AVMState, shape: Shape) -> MeanScratch:
        shared = common(shape.width, shape.n_outputs, shape.dtype)
        current = np.zeros(shape.n_outputs, shape.dtype)
        stored, row = dense_row(shape.width, shape.dtype), expansion.kernel_row(state.f)
        return MeanScratch(shared, row, stored, current)

    def with_room(self, state: AVMState, capacity: int) -> AVMState:
        return self.fitted(super().with_room(state, capacity))

    def grow(self, state: AVMState, shape: Shape) -> AVMState:
        return self.fitted(super().grow(state, shape))

    def limits(self, state: AVMState) -> Limits:
        windows = {"start": (0, int(state.t)), "harmonic": (0.0, math.inf), "core": (0, 1)}
        return {**super().limits(state), **windows, "largest": (0.0, LARGEST)}

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> AVMState:
        state: AVMState = super().restore(arrays, shape)
        if not (state.start[0] < state.t or state.t == 0) or state.start[0] > state.start[1]:
            raise ModelFileError(f"The file's windows begin at rounds {state.start.tolist()} of {int(state.t)}.")
        return state

    def attributes(self, state: AVMState) -> dict[str, Any]:
        """cells: how many there are. average: (n, K) coefficients of the mean that is shown, where one is."""
        n = int(state.f.size)
        found = {**super().attributes(state), "cells": int(state.core[:n].sum()) if len(state.core) else n}
        if self.output != "last":
            found["average"] = (means(state, 0) / float(self.regularization)).T
        return found

    def merge(
        self, record: Any, state: AVMState, other: AVMState, weight: float, since: AVMState | None = None
    ) -> AVMState:
        """The core points of both; the windows of both, counted as one."""
        merged: AVMState = super().merge(record, state, other, weight, since)
        # A window that was open at the common past has those of its rounds twice.
        begun = np.maximum(state.start, other.start)
        twice = 0 if since is None else np.maximum(since.t - begun, 0)
        rounds = (state.t - state.start) + (other.t - other.start) - twice
        merged = self.fitted(merged._replace(start=merged.t - rounds, harmonic=state.harmonic.copy()))
        n, places = int(merged.f.size), expansion.places_of(state.f, other.f)
        if len(merged.core):
            merged.core[places] |= other.core[: len(places)]
        for w, window in enumerate((merged.older, merged.younger)):
            if window.shape[1] > 0:
                mean = joined_means(state.f, other.f, (1.0 - weight) * means(state, w), weight * means(other, w))
                window[:, :n] = window_of(merged.f, mean, merged.harmonic[w], int(rounds[w]))
        norm = np.zeros(())
        if record.ball > 0.0 and n > 0:
            b = merged.f.coef[:, :n].astype(np.float64)
            norm = np.array((b @ gram_matrix(self.kernel, merged.f) * b).sum())
        return merged._replace(norm=norm, largest=np.maximum(state.largest, other.largest))


def means(state: AVMState, window: int) -> np.ndarray:
    """(K, n) lambda times the coefficients of a window's mean."""
    rounds = int(state.t) - int(state.start[window])
    return mean_of(state.f, (state.older, state.younger)[window], state.harmonic[window], rounds)


def surely_inside(kernel: Kernel, radius: float, dtype: Any) -> float:
    """The kernel value just inside the radius; infinite where kernel values do not tell which of two points is nearer.

    They do not where rounding makes them equal: the radius is far below the kernel's width, or far above it.
    """
    if not isinstance(kernel, FALLING):
        return math.inf
    row = np.array([0.0, 0.99 * radius**2, radius**2], dtype)
    kernel.formula(kernel.lower(dtype).constants, row)
    info = np.finfo(row.dtype)
    # The 0.99 should be worth more than the rounding of a kernel value, some 64 units: 2^14 / 100 of them.
    tells = row[2] <= row[0] * (1.0 - 2.0**14 * info.eps) and row[2] >= info.tiny / info.eps
    return float(row[1]) if tells else math.inf


@evaluate.register(AVMRecord)
def _(record, state, scratch, x, scores):
    evaluate_risk(record.risk, state.f, state.t, x, scratch.row, scores)
    t = state.t[()]
    for k in range(scores.shape[0]):
        scratch.current[k] = scores[k]
        if record.output != LAST and t > 0:
            h, rounds = state.harmonic[0], t - state.start[0]
            scores[k] = show_mean(record.risk, state, state.older, h, rounds, scratch.row, k, scores[k])


@step.register(AVMRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f = state.f
    loss, length = take_risk_slope(record.risk, state, g, target, weight, scratch.current)
    if not math.isfinite(loss):
        return loss
    if unit_of(record.risk, state.t) != 1.0:
        halve(state)
    n = f.size[()]
    near = weight > 0.0 and approximates(record, state)
    if near:
        leave_out(state, scratch)
    if length > 0.0 or (near and not surely_covered(record, f, scratch)):
        i = cell_of(record, state, x, scratch) if near else n
        if record.ball > 0.0 and length > 0.0:
            count_norm(record, state, scratch, i, x, length)
        if i == n:
            expansion.add(record.risk.kernel, f, x, 0.0, g, scratch.row)
            if n < state.core.shape[0]:
                state.core[n] = near
            ask_for_room(f, 1, scratch)
        if length > 0.0:
            for k in range(g.shape[0]):
                change(record, state, k, i, -length * g[k])
        if record.ball > 0.0 and length > 0.0:
            state.largest[()] = max(state.largest[()], abs(target))
            project(record, state)
    if record.output != LAST:
        end_round(record, state)
    return loss


@inlined
def approximates(record, state):
    """Z_t, drawn where beta > 0."""
    if record.beta == 0.0:
        return True
    return rng.draw(state.generator) < 1.0 - record.beta / np.float64(state.t[()]) ** record.rho


@inlined
def halve(state):
    """Let what goes with b follow b / 2. Requires: b is halved."""
    state.norm[()] *= 0.25
    note_halving(state.f, state.older, state.harmonic[0])
    note_halving(state.f, state.younger, state.harmonic[1])


@inlined
def change(record, state, k, i, e):
    """b_i += e."""
    state.f.coef[k, i] += e
    if record.output != LAST:
        note_change(state.older, state.harmonic[0], k, i, e)
    if i < state.younger.shape[1]:
        note_change(state.younger, state.harmonic[1], k, i, e)


@inlined
def end_round(record, state):
    """Count f_t in both windows; show the younger one when it is long enough. With the first round of a suffix that is
    asked for, forget those before it.
    """
    t = state.t[()]
    known = record.first >= 0
    if record.output == SUFFIX and known and t == record.first + 1:
        state.start[:] = t - 1
        state.harmonic[:] = 0.0
        state.older[:, :] = 0.0
    for w in range(2):
        state.harmonic[w] += 1.0 / tau_of(record.risk, state.t)
    if record.output == SUFFIX and not known and state.start[1] <= (1.0 - record.suffix) * t:
        state.start[0], state.harmonic[0] = state.start[1], state.harmonic[1]
        state.start[1], state.harmonic[1] = t, 0.0
        for k in range(state.older.shape[0]):
            for i in range(state.f.size[()]):
                state.older[k, i] = state.younger[k, i]
                state.younger[k, i] = 0


@compiled
def count_norm(record, state, scratch, i, x, length):
    """norm = ||sum_j b_j k(c_j, .) - length g k(c, .)||^2, with c = c_i, or x where i is the next free place."""
    f, kernel, g = state.f, record.risk.kernel, scratch.common.slope
    n = f.size[()]
    point = x
    if i < n:
        point = expansion.stored(f, i, scratch.stored)
        expansion.kernel_values(kernel, f, point, scratch.row)
    own = expansion.own_value(kernel, point, scratch.row)
    for k in range(g.shape[0]):
        e = -length * g[k]
        if i < n:
            inner = np.float64(dot(f.coef[k, :n], scratch.row.values[:n]))
        else:
            before = tau_of(record.risk, state.t) - unit_of(record.risk, state.t)
            inner = scratch.current[k] * record.risk.regularization * before
        state.norm[()] += e * (2.0 * inner + e * own)


@compiled
def project(record, state):
    """Scale f down to the ball when it is outside."""
    f, regularization = state.f, record.risk.regularization
    # The radius, in units of b.
    border = state.largest[()] * math.sqrt(record.ball * regularization) * tau_of(record.risk, state.t)
    if state.norm[()] > border * border:
        factor = border / math.sqrt(state.norm[()])
        for k in range(f.coef.shape[0]):
            for i in range(f.size[()]):
                change(record, state, k, i, (factor - 1.0) * f.coef[k, i])
        state.norm[()] = border * border


@inlined
def surely_covered(record, f, scratch):
    """Whether the kernel values of a row, in scratch.row, tell that it lies in some cell."""
    told = record.cells == SPHERE and record.inside < math.inf
    return told and f.size[()] > 0 and any_above(scratch.row.values, f.size[()], record.inside)


@inlined
def leave_out(state, scratch):
    """Let no kernel value in scratch.row be that of a point that is no core point."""
    for i in range(min(state.f.size[()], state.core.shape[0])):
        if state.core[i] == 0:
            scratch.row.values[i] = -np.inf


@inlined
def cell_of(record, state, x, scratch):
    """The cell that x lies in; the next free place when it lies in none.

    Requires: scratch.row holds the kernel values of x, `leave_out`. They may be overwritten.
    """
    f, values = state.f, scratch.row.values
    n = f.size[()]
    if n == 0:
        return n
    if record.cells == RECTANGLE:
        largest_differences(f, written_out(x, scratch.stored), values)
        side = record.coverage / math.sqrt(f.points.shape[0])
        for i in range(n):
            if values[i] < side and (record.beta == 0.0 or state.core[i] == 1):
                return i
        return n
    by_kernel = record.inside < math.inf
    if not by_kernel:
        expansion.kernel_values(record.distance, f, written_out(x, scratch.stored), scratch.row)
        for i in range(n):
            values[i] = -values[i]
        leave_out(state, scratch)
    i = first_largest(values, n)
    if state.core.shape[0] > 0 and state.core[i] == 0:
        return n
    if values[i] > record.inside:
        return i
    square = squared_distance(f, i, x) if by_kernel else -np.float64(values[i])
    return i if square < 0.25 * record.coverage * record.coverage else n


@inlined
def written_out(x, dense):
    """x with every feature present."""
    for a in range(dense.values.shape[0]):
        dense.values[a] = 0
    for p in range(x.indices.shape[0]):
        dense.values[x.indices[p]] = x.values[p]
    return complete_row(dense)


@inlined
def largest_differences(f, x, values):
    """values[i] = max_a |x_a - point_i,a|. Requires: x has every feature."""
    n = f.size[()]
    for i in range(n):
        values[i] = 0
    for a in range(f.points.shape[0]):
        v, z = x.values[a], f.points[a, :n]
        for i in range(n):
            gap = abs(z[i] - v)
            values[i] = gap if gap > values[i] else values[i]


@inlined
def squared_distance(f, i, x):
    """||x - point_i||^2 in float64. Requires: f.norms are squares where x lacks features."""
    complete = x.indices.shape[0] == f.points.shape[0]
    total = 0.0 if complete else f.norms[i]
    for p in range(x.indices.shape[0]):
        v, z = np.float64(x.values[p]), np.float64(f.points[x.indices[p], i])
        total += (z - v) * (z - v) if complete else v * (v - 2.0 * z)
    return total
