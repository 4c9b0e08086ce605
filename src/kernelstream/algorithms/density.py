"""Density: how like the rows so far a row is, and which share of rows is odd; no label is looked at.

Parzen: On Estimation of a Probability Density Function and Mode (1962), on the random features of Rahimi, Recht (2007).

    f(x) = m'z(x),  m <- (1 - c) m + c z(x),  c = w / W,  W <- forget W + w:  the mean of k(x_s, x), older rows fading
    shown is f(x) - rho, which is negative for what is odd; rho is the nu-quantile of the last 500 f

Remarks. f is the mean embedding of the rows: with the Gaussian kernel a density, up to a factor. The border is that of
rows judged before they were learned; it is 0 until 1 / nu - 1 of them have come. After a burst of odd rows it has come
down to them when they are a share nu of the last 500. `gamma="scale"` is divided by 10: to tell odd rows a wider kernel
is better than for a border between classes (measured on shuttle, kddcup99, mnist). Rows of no weight count for nothing;
other weights count in the mean, and alike for the border. Features in other units need a scaling.

Symbols: m weights, W total, w the row's weight.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import Common, Shape, evaluate, step
from ..engine.state import Limits, ModelFileError
from ..losses import LossRecord, Novelty, slope
from ..numerics.conformal import RECENT, Window, in_order, no_window, quantile_of, replace_oldest
from ..numerics.intervals import joined_windows
from ..numerics.lifts import descend_lifted, evaluate_lifted
from ..numerics.linear import shrink
from ..numerics.rows import Sample
from ..parameters import fraction, share
from ..tasks import BINARY
from ._features import MAPS, FeatureState, Map, Mapped, lifted_first

# What the help shows.
EXAMPLE = """>>> import numpy as np
>>> from kernelstream import Density, OnlineKernelOutlier
>>> X = np.random.default_rng(0).normal(size=(1000, 3))
>>> detector = OnlineKernelOutlier(Density(nu=0.05), random_state=0).fit(X)
>>> detector.predict([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]]).tolist()
[1, -1]"""

WIDER = 10.0  # "scale" over this is the gamma


@lifted_first
class DensityRecord(NamedTuple):
    lift: Any
    loss: LossRecord
    nu: float
    forget: float
    square: float  # 1 / ||z||^2


class DensityState(NamedTuple):
    map: Any  # the lift's
    weights: np.ndarray  # (1, length of z), the mean of z
    t: np.ndarray  # rounds so far, 0-d
    total: np.ndarray  # of the rows' weights, faded, 0-d
    seen: Window  # of f


class DensityScratch(NamedTuple):
    common: Common
    lifted: Any
    f: np.ndarray  # (1,)


@dataclass
class Density(Mapped):
    """nu: the share of rows that is to be called odd.
    forget: what a row's weight is multiplied by with every later row; 1 forgets nothing.
    n_components, map: as of FOGD.
    """

    nu: float = 0.1
    forget: float = 0.9999
    n_components: int = 800
    map: str = "plain"

    name: ClassVar[str] = "density"
    paper: ClassVar[str] = "Parzen 1962"
    tasks: ClassVar[tuple[str, ...]] = (BINARY,)
    bounded: ClassVar[bool] = True
    maps: ClassVar[dict[str, Map]] = MAPS
    exempt: ClassVar[dict[str, str]] = {
        "merge_is_the_weighted_sum": "what is shown is how far f is above a border, a quantile",
        "weight_scales_the_step": "f is a mean: one row alone is all of it, whatever it weighs",
    }

    @classmethod
    def _example(cls) -> str:
        return EXAMPLE

    def check(self) -> None:
        super().check()
        share(nu=self.nu)
        if self.nu > 0.5:
            raise ValueError(f"nu={self.nu!r} is the share of rows that is odd: it must be at most 0.5.")
        fraction(forget=self.forget)

    @property
    def without_labels(self) -> bool:
        return True

    def losses(self, task: str) -> tuple[str, ...]:
        return ("novelty",)

    def settle(self, task: str, sample: Sample) -> Self:
        settled: Self = super().settle(task, sample)
        if not self.kernel.depends_on_data or not hasattr(settled.kernel, "gamma"):
            return settled
        kernel: Any = settled.kernel
        return replace(settled, kernel=replace(kernel, gamma=kernel.gamma / WIDER))

    def lower(self, task: str, dtype: Any) -> DensityRecord:
        loss = Novelty().lower(task, dtype)
        return DensityRecord(self.lift.record(dtype), loss, float(self.nu), float(self.forget), 1.0 / self.n_components)

    def init(self, shape: Shape) -> DensityState:
        lifting: FeatureState = super().init(shape)
        return DensityState(*lifting, np.zeros(()), no_window())

    def scratch(self, state: DensityState, shape: Shape) -> DensityScratch:
        found = super().scratch(state, shape)
        return DensityScratch(found.common, found.lifted, np.zeros(1))

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> DensityState:
        state: DensityState = super().restore(arrays, shape)
        n = int(state.seen.n)
        if n > int(state.t) or state.seen.recent[min(n, RECENT) :].any():
            raise ModelFileError("The file counts scores of more rows than there were.")
        return state._replace(seen=state.seen._replace(ordered=in_order(state.seen.recent, n)))

    def shown_weights(self, state: DensityState) -> np.ndarray:
        return np.asarray(state.weights / self.n_components)

    def limits(self, state: DensityState) -> Limits:
        most = 1.0 / (1.0 - self.forget) if self.forget < 1.0 else np.inf
        return {**super().limits(state), "total": (0.0, most * 1e16)}

    def attributes(self, state: DensityState) -> dict[str, Any]:
        """rho: the border."""
        return {"rho": float(quantile_of(state.seen, self.nu))}

    def merge(
        self, record: Any, state: DensityState, other: DensityState, weight: float, since: DensityState | None = None
    ) -> DensityState:
        merged: DensityState = super().merge(record, state, other, weight, since)
        total = state.total + other.total - (0.0 if since is None else min(since.total, other.total))
        past = None if since is None else since.seen
        return merged._replace(total=np.asarray(total), seen=joined_windows(state.seen, other.seen, weight, past))


@evaluate.register(DensityRecord)
def _(record, state, scratch, x, scores):
    evaluate_lifted(record.lift, state.weights, scratch.lifted, x.place, scores)
    scratch.f[0] = scores[0] * record.square
    scores[0] = scratch.f[0] - quantile_of(state.seen, record.nu)


@step.register(DensityRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss = max(0.0, slope(record.loss, 1.0, scores, g))
    state.t[()] += 1
    if weight == 0.0:
        return loss
    replace_oldest(state.seen, scratch.f[0])
    state.total[()] = record.forget * state.total[()] + weight
    c = weight / state.total[()]
    shrink(state.weights, 1.0 - c)
    g[0] = -1
    descend_lifted(record.lift, state.weights, c, g, scratch.lifted, x.place)
    return loss
