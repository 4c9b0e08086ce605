"""RRF: reparameterized random features, Fourier features whose width in each input feature is learned.

Nguyen, Le, Bui, Phung: Large-scale Online Kernel Learning with Random Feature Reparameterization (2017), Alg. 1.

    z(x) = (sin p, cos p),  p = sum_a x_a s_a e_a,  e fixed draws from the kernel's spectrum, s_a = exp(log-width a)
    W <- (1 - eta lambda) W - eta l'(W'z, y) z'
    log s_a <- log s_a - rho g'W (cos p, -sin p) . e_a s_a x_a,  g = l'(W'z, y)          (eq. 9, times s_a)

Remarks. The kernel gives the start: e are its frequencies and every width s_a starts at 1, so that the model is one of
k(s * x, s * x'), for the Gaussian exp(-gamma sum_a s_a^2 (x_a - x_a')^2). The authors' e are standard normal and their
widths start at 1: Gaussian(gamma=0.5). W starts at 0 as in Alg. 1 (the authors' program starts at 0.01 times normal
draws): the widths begin to move in the second round. Both gradients are taken at the model that predicted; by the
letter of lines 13 and 14 the widths move after W, along the loss at the W that is new, the same z and the widths that
predicted (as_printed). Of the objective's terms only the loss depends on the widths; lambda does not shrink them.
normalize is FOGD's: the default z / sqrt(D) is computed as eta / D. The scores as a function of the widths are the same
either way, and so is rho. The paper's settings (eta 0.003, rho 0.0001, D = 100) need normalize=False.
The gradient of a log-width grows with the features' values and the targets, without a bound: rare rows would throw the
widths far off. It is cut off at width_clip (1: a round moves a log-width by rho at most; inf: never, as in the paper),
and a width stays within a factor of WIDEST of its start: the widths are finite whatever the data. The paper has neither
limit, nor has as_printed: a model may diverge, which stops it with an error.
On a spectral mixture (the extension of section 1) every part has widths and means of its own, and both are learned
(`_mixture`). Where periods are known and a clock runs on, that is worth having; means that begin at 0 gained nothing
over the widths alone on eight data sets (docs/theory/features.md).
The scores are not linear in the widths: learners merge when their widths are equal (width_learning_rate=0), else not.

Symbols: D n_components, eta learning_rate, rho width_learning_rate, lambda regularization, epsilon threshold,
e frequencies, s widths.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import Common, Shape, common, evaluate, step
from ..engine.state import Limits
from ..kernels import SHIFT_INVARIANT, Need, SpectralMixture
from ..losses import slope
from ..numerics.compile import by_record, call_for_effect
from ..numerics.elementary import exp
from ..numerics.expansion import dot
from ..numerics.lifts import Fourier, Lift
from ..numerics.lifts.fourier import SINCOS, FourierMap, slope_of_projection
from ..numerics.linear import descend, evaluate_linear, shrink
from ..numerics.products import multiply_row
from ..numerics.rows import Sample
from ..parameters import at_least, positive, whole
from ..schedules import Schedule, ScheduleRecord, step_size
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._descent import Descent, DescentRecord, moves, take_slope
from ._features import FeatureAlgorithm
from ._mixture import (
    Deviations,
    MixtureRecord,
    MixtureScratch,
    MixtureState,
    begun,
    descend_mixture,
    evaluate_mixture,
    grown,
    part_means,
    room,
)

# Frequencies to the thousandfold, with features of 1e15 and the rarest Cauchy draw (1e15), still fit float32.
WIDEST = 1000.0

# Tried on 13 data sets, min-max, standardised and raw: longer steps gain more where learning the widths helps, and lose
# more where it does not (unscaled features or targets).
DEFAULT_WIDTH_RATE = {BINARY: 0.001, MULTICLASS: 0.003, REGRESSION: 0.001}


class RRFRecord(NamedTuple):
    sincos: int  # address of SINCOS
    descent: DescentRecord
    widths: ScheduleRecord
    clip: float
    widest: float  # how many times its start a width may be
    square: float  # 1 / ||z||^2 when normalised, else 1
    as_printed: int


class RRFState(NamedTuple):
    map: FourierMap
    weights: np.ndarray  # (K, 2D)
    t: np.ndarray  # rounds so far, 0-d
    widths: np.ndarray  # (d,), what the map's frequencies are multiplied by; float64, because steps are small


class RRFScratch(NamedTuple):
    common: Common
    scaled: np.ndarray  # (d,) the row's values times their widths
    factors: np.ndarray  # (d,) float64, what the widths of the row are multiplied by
    projected: np.ndarray  # (1, D), then the loss's gradient with respect to it
    z: np.ndarray  # (1, 2D)
    again: np.ndarray  # (K,) scores of the new weights


@dataclass
class RRF(Descent, FeatureAlgorithm):
    """Parameters of FOGD, and those of the widths.

    width_learning_rate: of the log-widths, and of a mixture's means: a number, a schedule, or "auto" (0.001; 0.003 for
    many classes). With 0 they stay, and RRF is FOGD.
    width_clip: where the gradient of a log-width is cut off.
    as_printed: Algorithm 1 to the letter: the widths move after the weights, along the loss at the new ones, and
    nothing is cut off.
    n_components: D, how many frequencies are drawn; each gives a sine and a cosine.
    normalize: divide z by sqrt(n_components).
    """

    width_learning_rate: float | str | Schedule = "auto"
    width_clip: float = 1.0
    n_components: int = 400
    normalize: bool = True
    as_printed: bool = False

    name: ClassVar[str] = "rrf"
    paper: ClassVar[str] = "Nguyen et al. 2017"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = (SHIFT_INVARIANT,)
    exempt: ClassVar[dict[str, str]] = {"merge_is_the_weighted_sum": "scores are not linear in learned widths"}

    def check(self) -> None:
        super().check()
        whole(1, n_components=self.n_components)
        positive(width_clip=self.width_clip)
        if self.width_learning_rate != "auto" and not isinstance(self.width_learning_rate, Schedule):
            at_least(0.0, width_learning_rate=self.width_learning_rate)

    def settle(self, task: str, sample: Sample) -> Self:
        settled = super().settle(task, sample)
        rate = DEFAULT_WIDTH_RATE[task] if self.width_learning_rate == "auto" else self.width_learning_rate
        return replace(settled, width_learning_rate=rate)

    def lower(self, task: str, dtype: Any) -> RRFRecord | MixtureRecord:
        rate = self.width_learning_rate
        widths = rate.lower() if isinstance(rate, Schedule) else ScheduleRecord(float(rate), 0.0)
        clip = np.inf if self.as_printed else float(self.width_clip)
        square = 1.0 / self.n_components if self.normalize else 1.0
        descent, printed = self.descent(task, dtype), int(self.as_printed)
        record = RRFRecord(SINCOS.address(dtype), descent, widths, clip, self.widest, square, printed)
        mixture = self.mixture
        return record if mixture is None else MixtureRecord(*record, mixture.deviation)

    @property
    def widest(self) -> float:
        """How many times its start a width may be."""
        return np.inf if self.as_printed else WIDEST

    @property
    def mixture(self) -> SpectralMixture | None:
        """The kernel, if it has parts whose widths and means are learned."""
        return self.kernel if isinstance(self.kernel, SpectralMixture) else None

    @property
    def lift(self) -> Lift:
        return (
            Fourier(self.kernel, self.n_components)
            if self.mixture is None
            else Deviations(self.mixture, self.n_components)
        )

    def init(self, shape: Shape) -> RRFState | MixtureState:
        map, weights, t = super().init(shape)
        if self.mixture is not None:
            return begun(self.mixture, map, weights, t)
        return RRFState(map, weights, t, np.ones(shape.width))

    def scratch(self, state: Any, shape: Shape) -> RRFScratch | MixtureScratch:
        D, dtype = self.n_components, shape.dtype
        if self.mixture is not None:
            return room(self.mixture, D, shape)
        shared = common(shape.width, shape.n_outputs, dtype)
        scaled, factors, again = np.zeros(shape.width, dtype), np.zeros(shape.width), np.zeros(shape.n_outputs, dtype)
        return RRFScratch(shared, scaled, factors, np.zeros((1, D), dtype), np.zeros((1, 2 * D), dtype), again)

    def lifts_ahead(self, state: Any) -> bool:
        return False  # a row's features depend on the widths, which every row may change

    def grow(self, state: Any, shape: Shape) -> RRFState | MixtureState:
        larger = super().grow(state, shape)
        if self.mixture is not None:
            return grown(self.mixture, larger)
        widths = np.ones(shape.width)
        widths[: len(state.widths)] = state.widths
        return larger._replace(widths=widths)

    def limits(self, state: Any) -> Limits:
        limits = {**super().limits(state), "widths": (1.0 / self.widest, self.widest)}
        return limits if self.mixture is None else {**limits, "moves": (-self.widest, self.widest)}

    def attributes(self, state: Any) -> dict[str, Any]:
        if self.mixture is None:
            return {"widths": state.widths.copy()}
        return {"part_widths": state.widths.copy(), "part_means": part_means(self.mixture, state)}

    def merge(self, record: Any, state: Any, other: Any, weight: float, since: Any = None) -> Any:
        self.lift.require_same(state.map, other.map)
        for name in ("widths",) if self.mixture is None else ("widths", "moves"):
            mine, theirs = getattr(state, name), getattr(other, name)
            if not np.array_equal(mine, theirs):
                at = np.unravel_index(np.argmax(np.abs(mine - theirs)), mine.shape)
                what = "widths" if name == "widths" else "means"
                raise ValueError(
                    f"These learners cannot be merged: {what} differ, {mine[at]:g} here and {theirs[at]:g} there for "
                    f"feature {at[-1]}, and a mean of weights is a mean of functions only for equal {what}. "
                    "Set width_learning_rate=0 to keep them."
                )
        return super().merge(record, state, other, weight, since)


@evaluate.register(RRFRecord)
def _(record, state, scratch, x, scores):
    for p in range(x.indices.shape[0]):
        scratch.scaled[p] = x.values[p] * state.widths[x.indices[p]]
    multiply_row(x.indices, scratch.scaled, state.map.frequencies, 0, scratch.projected[0])
    call_for_effect(record.sincos, scratch.projected, 1, scratch.z)
    evaluate_linear(state.weights, scratch.z[0], scores)


def _descend_widths(record, state, scratch, x, weight):
    """log s_a = log s_a - rate * weight * s_a x_a <e_a, v>, within the limits, v the slope of the loss that is in
    `common.slope` with respect to the projection.
    """
    v, widths, scaled, factors = scratch.projected[0], state.widths, scratch.scaled, scratch.factors
    frequencies, clip, rate = state.map.frequencies, record.clip, step_size(record.widths, state.t[()])
    slope_of_projection(state.weights, scratch.common.slope, scratch.z[0], v)
    n = x.indices.shape[0]
    for p in range(n):
        gradient = 0.0
        if scaled[p] != 0:
            gradient = weight * np.float64(scaled[p]) * np.float64(dot(frequencies[x.indices[p]], v))
        factors[p] = gradient
    for p in range(n):
        gradient = factors[p]
        bounded = gradient if abs(gradient) <= clip else clip if gradient > 0.0 else -clip
        factor = exp(np.float64(-rate * bounded))
        factors[p] = factor if bounded != 0.0 else 1.0  # an endless rate times 0 would be NaN
    for p in range(n):
        a = x.indices[p]
        widths[a] = min(max(widths[a] * factors[p], 1.0 / record.widest), record.widest)


descend_widths = by_record(_descend_widths, default=_descend_widths)
descend_widths.register(MixtureRecord)(descend_mixture)
evaluate.register(MixtureRecord)(evaluate_mixture)


@step.register(MixtureRecord)
@step.register(RRFRecord)
def _(record, state, scratch, x, target, weight, scores):
    g, z = scratch.common.slope, scratch.z[0]
    loss, eta, move = take_slope(record.descent, state.t, g, target, weight, scores)
    learns_widths = record.widths.rate > 0.0 and weight > 0.0 and not np.isnan(loss)
    if learns_widths and record.as_printed == 0 and move > 0.0:
        descend_widths(record, state, scratch, x, weight)
    if record.descent.regularization > 0.0:
        shrink(state.weights, 1.0 - eta * record.descent.regularization)
    if move > 0.0:
        descend(state.weights, move * record.square, g, z)
    if learns_widths and record.as_printed == 1:
        evaluate_linear(state.weights, z, scratch.again)
        if moves(record.descent, slope(record.descent.loss, target, scratch.again, g), g):
            descend_widths(record, state, scratch, x, weight)
    return loss
