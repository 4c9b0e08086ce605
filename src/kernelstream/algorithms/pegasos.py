"""Kernel Pegasos: stochastic gradient descent on the regularised risk with step 1 / (lambda t).

Shalev-Shwartz, Singer, Srebro, Cotter: Pegasos (2011); AVM paper, Alg. 1.

    f <- (1 - 1/t) f - (1 / (lambda t)) l'(f(x), y) k(x, .)

    last         the function shown is f_t, after t rounds
    average      (1/t) sum_{s <= t} f_s; steps are taken from f_t

Remarks. Any loss; the papers use the hinge. Where slopes are not bounded, and in regression, rounds are counted from
t_0 (`start`) on, see `_risk`, which says too how f is kept, and `_means` for the average. Alg. 1's mean of T functions
begins with f = 0 and ends with f_{T-1}: (T - 1) / T times the average after T - 1 rounds.

Symbols: lambda regularization.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Shape, common, evaluate, step
from ..engine.state import Limits
from ..numerics import expansion
from ..numerics.compile import inlined
from ..numerics.expansion import Expansion
from ..numerics.rows import dense_row
from ..parameters import one_of
from ._expansion import ask_for_room
from ._means import EXEMPT, MeanScratch, joined_means, mean_of, note_change, note_halving, resized, show_mean, window_of
from ._risk import RegularisedRisk, RiskRecord, evaluate_risk, risk_record, take_risk_slope, tau_of, unit_of

OUTPUTS = ("last", "average")


@risk_record
class PegasosRecord(NamedTuple):
    risk: RiskRecord


class AveragedRecord(NamedTuple):
    risk: RiskRecord


class AveragedState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    window: np.ndarray  # (K, capacity) in float64, w of all rounds, see `_means`
    harmonic: np.ndarray  # h of all rounds, 0-d


@dataclass
class Pegasos(RegularisedRisk):
    """output: "last", or "average", the mean of the functions after each round."""

    output: str = "last"

    name: ClassVar[str] = "pegasos"
    paper: ClassVar[str] = "Shalev-Shwartz et al. 2011"
    bounded: ClassVar[bool] = False

    @property
    def averages(self) -> bool:
        return self.output == "average"

    @property
    def exempt(self) -> dict[str, str]:  # type: ignore[override]
        return EXEMPT if self.averages else {}

    def check(self) -> None:
        super().check()
        one_of(OUTPUTS, output=self.output)

    def lower(self, task: str, dtype: Any) -> PegasosRecord | AveragedRecord:
        return (AveragedRecord if self.averages else PegasosRecord)(self.risk(task, dtype))

    def init(self, shape: Shape) -> Any:
        f, t = state = super().init(shape)
        return AveragedState(f, t, np.zeros(f.coef.shape), np.zeros(())) if self.averages else state

    def fitted(self, state: Any) -> Any:
        """The state with a window of the shape of f's coefficients."""
        return state._replace(window=resized(state.window, *state.f.coef.shape)) if self.averages else state

    def scratch(self, state: Any, shape: Shape) -> Any:
        if not self.averages:
            return super().scratch(state, shape)
        shared, stored = common(shape.width, shape.n_outputs, shape.dtype), dense_row(shape.width, shape.dtype)
        return MeanScratch(shared, expansion.kernel_row(state.f), stored, np.zeros(shape.n_outputs, shape.dtype))

    def with_room(self, state: Any, capacity: int) -> Any:
        return self.fitted(super().with_room(state, capacity))

    def grow(self, state: Any, shape: Shape) -> Any:
        return self.fitted(super().grow(state, shape))

    def limits(self, state: Any) -> Limits:
        return {**super().limits(state), "harmonic": (0.0, np.inf)}

    def attributes(self, state: Any) -> dict[str, Any]:
        """average: (n, K) coefficients of the mean, where it is shown."""
        found = super().attributes(state)
        return {**found, "average": (means(state) / float(self.regularization)).T} if self.averages else found

    def merge(self, record: Any, state: Any, other: Any, weight: float, since: Any = None) -> Any:
        merged = self.fitted(super().merge(record, state, other, weight, since))
        if not self.averages:
            return merged
        mean = joined_means(state.f, other.f, (1.0 - weight) * means(state), weight * means(other))
        merged.window[:, : mean.shape[1]] = window_of(merged.f, mean, float(state.harmonic), int(merged.t))
        return merged._replace(harmonic=state.harmonic.copy())


def means(state: AveragedState) -> np.ndarray:
    """(K, n) lambda times the coefficients of the mean."""
    return mean_of(state.f, state.window, float(state.harmonic), int(state.t))


@inlined
def descend(record, state, x, scratch, length):
    """Add -length g k(x, .), in units of b."""
    expansion.add(record.risk.kernel, state.f, x, -length, scratch.common.slope, scratch.row)
    ask_for_room(state.f, 1, scratch)


@step.register(PegasosRecord)
def _(record, state, scratch, x, target, weight, scores):
    loss, length = take_risk_slope(record.risk, state, scratch.common.slope, target, weight, scores)
    if length > 0.0:
        descend(record, state, x, scratch, length)
    return loss


@evaluate.register(AveragedRecord)
def _(record, state, scratch, x, scores):
    evaluate_risk(record.risk, state.f, state.t, x, scratch.row, scores)
    t, h = state.t[()], state.harmonic[()]
    for k in range(scores.shape[0]):
        scratch.current[k] = scores[k]
        if t > 0:
            scores[k] = show_mean(record.risk, state, state.window, h, t, scratch.row, k, scores[k])


@step.register(AveragedRecord)
def _(record, state, scratch, x, target, weight, scores):
    g, f = scratch.common.slope, state.f
    loss, length = take_risk_slope(record.risk, state, g, target, weight, scratch.current)
    if not np.isfinite(loss):
        return loss
    h = state.harmonic[()]
    if unit_of(record.risk, state.t) != 1.0:
        note_halving(f, state.window, h)
    if length > 0.0:
        i = f.size[()]
        descend(record, state, x, scratch, length)
        for k in range(g.shape[0]):
            note_change(state.window, h, k, i, f.coef[k, i])
    state.harmonic[()] += 1.0 / tau_of(record.risk, state.t)
    return loss
