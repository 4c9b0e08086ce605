"""RRF on a spectral mixture: the widths and the means of each of its parts are learned.

    p_j = x'(m_q + s_q * e_j),  e_j the draws of component j, q its part        (eq. 9's reparameterisation)
    log s_qa <- log s_qa - rho s_qa x_a sum_j v_j e_ja,   m_qa <- m_qa - rho c^2 x_a sum_j v_j,   v = d loss / d p

The sums are over the components of part q. A mean moves in units of c, the deviation that the frequencies of a part
begin with: the same rate serves widths and means, whatever unit the features are in.

Components stand part by part, so that each part's are one stretch of memory.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..engine import Common, Shape, common
from ..kernels import SpectralMixture
from ..numerics.compile import call_for_effect, inlined
from ..numerics.elementary import exp
from ..numerics.expansion import dot
from ..numerics.lifts import Fourier
from ..numerics.lifts.fourier import FourierMap, slope_of_projection
from ..numerics.linear import evaluate_linear
from ..numerics.products import multiply_row
from ..schedules import ScheduleRecord, step_size
from ._descent import DescentRecord


class MixtureRecord(NamedTuple):
    sincos: int
    descent: DescentRecord
    widths: ScheduleRecord
    clip: float
    widest: float  # how many times its start a width may be, and how many deviations from its start a mean
    square: float
    as_printed: int
    deviation: float  # c


class MixtureState(NamedTuple):
    map: FourierMap  # its frequencies are the draws e
    weights: np.ndarray  # (K, 2D)
    t: np.ndarray  # rounds so far, 0-d
    widths: np.ndarray  # (Q, d) s, float64
    moves: np.ndarray  # (Q, d) (m - the kernel's means) / c, float64


class MixtureScratch(NamedTuple):
    common: Common
    ends: np.ndarray  # (Q + 1,) where the components of each part begin and end
    starts: np.ndarray  # (Q, d) the kernel's means, float64
    scaled: np.ndarray  # (Q, d) the row's values times their widths
    projected: np.ndarray  # (1, D), then the loss's gradient with respect to it
    z: np.ndarray  # (1, 2D)
    again: np.ndarray  # (K,) scores of the new weights


def part_ends(n_components: int, n_parts: int) -> np.ndarray:
    """Where the components of each part begin and end, part by part: component j belongs to part j modulo n_parts."""
    sizes = [len(range(q, n_components, n_parts)) for q in range(n_parts)]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@dataclass(frozen=True)
class Deviations(Fourier):
    """The draws of a mixture around its means, part by part."""

    kernel: SpectralMixture

    def _drawn(self, seed: int, features: range, dtype: Any) -> np.ndarray:
        draws = self.kernel.deviations(seed, features, self.n_components)
        n = self.kernel.n_parts
        return np.concatenate([draws[:, q::n] for q in range(n)], axis=1).astype(dtype)


def starts(kernel: SpectralMixture, width: int) -> np.ndarray:
    """(Q, d) the means that the parts begin with."""
    return np.ascontiguousarray(kernel.part_means(range(width)).T)


def begun(kernel: SpectralMixture, map: FourierMap, weights: np.ndarray, t: np.ndarray) -> MixtureState:
    """The state of a mixture before any example."""
    shape = (kernel.n_parts, len(map.frequencies))
    return MixtureState(map, weights, t, np.ones(shape), np.zeros(shape))


def grown(kernel: SpectralMixture, state: MixtureState) -> MixtureState:
    """With a width and a mean for each feature of a map that has grown."""
    fresh, known = begun(kernel, state.map, state.weights, state.t), state.widths.shape[1]
    fresh.widths[:, :known], fresh.moves[:, :known] = state.widths, state.moves
    return fresh


def room(kernel: SpectralMixture, n_components: int, shape: Shape) -> MixtureScratch:
    D, K, dtype = n_components, shape.n_outputs, shape.dtype
    shared, ends, scaled = common(shape.width, K, dtype), part_ends(D, kernel.n_parts), starts(kernel, shape.width)
    projected, z, again = np.zeros((1, D), dtype), np.zeros((1, 2 * D), dtype), np.zeros(K, dtype)
    return MixtureScratch(shared, ends, scaled, scaled.astype(dtype), projected, z, again)


def part_means(kernel: SpectralMixture, state: MixtureState) -> np.ndarray:
    """(Q, d) m as they are now."""
    return np.asarray(starts(kernel, state.moves.shape[1]) + kernel.deviation * state.moves)


def frequencies(kernel: SpectralMixture, state: MixtureState) -> np.ndarray:
    """(d, D) m_q + s_q * e_j as they are now, in float64."""
    D = state.map.frequencies.shape[1]
    parts = np.repeat(np.arange(kernel.n_parts), np.diff(part_ends(D, kernel.n_parts)))
    return np.asarray(part_means(kernel, state)[parts].T + state.widths[parts].T * state.map.frequencies)


def evaluate_mixture(record, state, scratch, x, scores):
    ends, n = scratch.ends, x.indices.shape[0]
    for q in range(ends.shape[0] - 1):
        lo, hi = ends[q], ends[q + 1]
        scaled, shift = scratch.scaled[q], 0.0
        for p in range(n):
            a = x.indices[p]
            scaled[p] = x.values[p] * state.widths[q, a]
            shift += np.float64(x.values[p]) * (scratch.starts[q, a] + record.deviation * state.moves[q, a])
        projected = scratch.projected[0, lo:hi]
        multiply_row(x.indices, scaled[:n], state.map.frequencies, lo, projected)
        added = projected.dtype.type(shift)
        for j in range(hi - lo):
            projected[j] += added
    call_for_effect(record.sincos, scratch.projected, 1, scratch.z)
    evaluate_linear(state.weights, scratch.z[0], scores)


@inlined
def bounded_move(rate, gradient, clip):
    """rate times the gradient, cut off; 0 for 0, also with an endless rate."""
    bounded = gradient if abs(gradient) <= clip else clip if gradient > 0.0 else -clip
    return rate * bounded if bounded != 0.0 else 0.0


def descend_mixture(record, state, scratch, x, weight):
    """One step of the log-widths and means, along the slope in `common.slope`."""
    ends, rate = scratch.ends, step_size(record.widths, state.t[()])
    slope_of_projection(state.weights, scratch.common.slope, scratch.z[0], scratch.projected[0])
    for q in range(ends.shape[0] - 1):
        lo, hi = ends[q], ends[q + 1]
        v, scaled, widths, moves = scratch.projected[0, lo:hi], scratch.scaled[q], state.widths[q], state.moves[q]
        total = 0.0
        for j in range(hi - lo):
            total += np.float64(v[j])
        for p in range(x.indices.shape[0]):
            a = x.indices[p]
            if x.values[p] != 0:
                inner = np.float64(dot(state.map.frequencies[a, lo:hi], v))
                move = bounded_move(rate, weight * np.float64(scaled[p]) * inner, record.clip)
                widths[a] = min(max(widths[a] * exp(np.float64(-move)), 1.0 / record.widest), record.widest)
                slope = weight * record.deviation * np.float64(x.values[p]) * total
                moves[a] = min(max(moves[a] - bounded_move(rate, slope, record.clip), -record.widest), record.widest)
