"""SCW: soft confidence-weighted learning on random features; a margin must exceed what the model is unsure of.

Wang, Zhao, Hoi: Exact Soft Confidence-Weighted Learning (2012), Alg. 1, Prop. 1 (SCW-I) and 2 (SCW-II).

    loss = max(0, phi sqrt(v) - m),  v = z'Sz,  phi the eta quantile of a normal
    W <- W + alpha y (Sz)',  S <- S - beta (Sz)(Sz)'
    SCW-I:   alpha = min(C, max(0, (-m psi + sqrt(m^2 phi^4 / 4 + v phi^2 zeta)) / (v zeta)))
    SCW-II:  alpha = max(0, (-(2 m n + phi^2 m v) + gamma) / (2 (n^2 + n v phi^2))),  n = v + 1 / (2 C)
    beta = alpha phi / (sqrt(u) + v alpha phi),  u = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v))^2 / 4

with psi = 1 + phi^2 / 2, zeta = 1 + phi^2, gamma = phi sqrt(phi^2 m^2 v^2 + 4 n v (n + v phi^2)).

Remarks. The loss that is shown is this one, of the model before the row. As S only shrinks, v is at most what it was at
first: a row whose margin exceeds phi times that is none to learn from, and v is not computed for it. With several
classes m is the margin to the best other class and v its variance, 2 z'Sz; S, which all outputs share, takes the row in
once. A sample weight multiplies C, as it does in PA.

Symbols: C aggressiveness, eta confidence, a variance, S Sigma, D n_components.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import step
from ..losses import LossRecord, Margin, any_slope, slope
from ..numerics.compile import inlined
from ..numerics.normal import normal_quantiles
from ..parameters import one_of, positive
from ._confidence import LONGEST, Confident, learn_confidently, spread_of_row
from ._features import on_features


@on_features
class SCWRecord(NamedTuple):
    lift: Any
    margin: LossRecord
    aggressiveness: float
    phi: float
    most: float  # the largest v there can be
    variant: int


@dataclass
class SCW(Confident):
    """aggressiveness: C, how much a row may change.
    confidence: eta, with what chance a row is to be on its side, between 0.5 and 1.
    variance: a, of each weight before any row.
    variant: 1 (SCW-I, a step is at most C) or 2 (SCW-II, long steps cost their square).
    """

    aggressiveness: float = 1.0
    confidence: float = 0.9
    variance: float = 1.0
    variant: int = 1

    name: ClassVar[str] = "scw"
    paper: ClassVar[str] = "Wang et al. 2012"

    def check(self) -> None:
        super().check()
        positive(aggressiveness=self.aggressiveness, variance=self.variance, confidence=self.confidence)
        if not 0.5 < self.confidence < 1.0:
            raise ValueError(f"confidence={self.confidence!r} must be between 0.5 and 1, both excluded.")
        one_of((1, 2), variant=self.variant)

    @property
    def first_variance(self) -> float:
        return self.variance

    def losses(self, task: str) -> tuple[str, ...]:
        return ("margin",)

    def lower(self, task: str, dtype: Any) -> SCWRecord:
        phi = float(normal_quantiles(np.array([float(self.confidence)]))[0])
        numbers = float(self.aggressiveness), phi, float(self.variance), int(self.variant)
        return SCWRecord(self.lift.record(dtype), Margin().lower(task, dtype), *numbers)


@inlined
def step_length(record, m, v, C):
    """alpha of Prop. 1 or 2."""
    square = record.phi * record.phi
    if record.variant == 1:
        psi, zeta = 1.0 + square / 2.0, 1.0 + square
        return min(C, max(0.0, (-m * psi + math.sqrt(m * m * square * square / 4.0 + v * square * zeta)) / (v * zeta)))
    n = v + 0.5 / C
    gamma = record.phi * math.sqrt(square * m * m * v * v + 4.0 * n * v * (n + v * square))
    return max(0.0, (gamma - 2.0 * m * n - square * m * v) / (2.0 * (n * n + n * v * square)))


@step.register(SCWRecord)
def _(record, state, scratch, x, target, weight, scores):
    g, c, phi = scratch.common.slope, scratch.c, record.phi
    m = -slope(record.margin, target, scores, g)
    if not np.isfinite(m):
        return np.nan
    outputs, loss = 0.0, 0.0
    for k in range(g.shape[0]):
        outputs += np.float64(g[k]) * np.float64(g[k])
    if any_slope(g) and m < phi * math.sqrt(outputs * record.most):
        own = spread_of_row(state, scratch, x.place)
        v = outputs * own
        loss = max(0.0, phi * math.sqrt(v) - m)
        if loss > 0.0 and v > 0.0 and weight > 0.0:
            alpha = step_length(record, m, v, record.aggressiveness * weight)
            root = 0.5 * (math.sqrt(alpha * alpha * v * v * phi * phi + 4.0 * v) - alpha * v * phi)
            b = alpha * phi / (root + own * alpha * phi)
            for k in range(g.shape[0]):
                c[k] = -alpha * np.float64(g[k])
            if not (alpha * own <= LONGEST and learn_confidently(state, scratch, b)):
                return np.nan
    state.t[()] += 1
    return loss
