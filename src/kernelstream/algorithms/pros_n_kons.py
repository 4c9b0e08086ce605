"""PROS-N-KONS: online Newton steps on an embedding whose points are drawn as rows come, and that begins anew with each.

Calandriello, Lazaric, Valko: Efficient Second-Order Online Kernel Learning with Adaptive Embedding (2017), Alg. 1.

    w <- w - (z'w - f) Sz / z'Sz,  f = z'w cut off at -C and C      (before a row is learned)
    S^-1 <- S^-1 + sigma l'^2 z z',  w <- w - l' Sz;      a point more: S = 1 / alpha, w = 0

Remarks. `_embedding` says how points are drawn and what z is. For a loss l(f, y) in which all scores are at most C in
size, sigma = 1 / (4 C^2) is what the half square's curvature is at least in units of its squared slopes; the paper has
sigma / 2 with r^2. restart="matrix" keeps w when a point comes, which changes no score, and begins only S anew; the
paper's is "whole". A row is shown before it is drawn; the slope is the one at what was shown. Scores begin at 0 and end
at C, so that targets far from 0 ask for scaling="online" (housing as it comes: 1.04 times the squared error of the
mean; .32 standardised). On the data sets of docs/compared.md it earns its place nowhere, and pros-n-kons is on no front
of docs/choosing.md: PKAWV on the same points is better where nothing changes, and QKLMS, in less than a third of the
time, on every set of the latter.

Symbols: alpha regularization, beta sampling, C reach, sigma curvature.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import evaluate, step
from ..losses import Loss, LossRecord, as_loss, slope, too_long
from ..numerics.compile import inlined
from ..numerics.confidence import learn_spread
from ..numerics.rows import Sample
from ..parameters import one_of, positive
from ..tasks import BINARY, REGRESSION
from ._embedding import Embedded, EmbeddingRecord, draw_point, embed, say_embedded, spread_embedded

LOSSES = {BINARY: ("squared-hinge", "logistic"), REGRESSION: ("squared",)}
WHOLE, MATRIX = "whole", "matrix"
LEAST = 1e-12  # z'Sz that rounding leaves: there is nothing to move along


class ProsNKonsRecord(NamedTuple):
    embedding: EmbeddingRecord
    loss: LossRecord
    reach: float
    curvature: float
    whole: int  # whether w begins anew with S


@dataclass
class ProsNKons(Embedded):
    """loss: a name, a loss, or "auto" (squared hinge for classification, squared for regression).
    reach: C, the largest score that is shown; "auto" is 1 for classes and 4 deviations of the first targets.
    curvature: sigma; "auto" is 1 / (4 C^2).
    restart: "whole": S and w begin anew with each point; "matrix": S alone.
    """

    loss: str | Loss = "auto"
    reach: float | str = "auto"
    curvature: float | str = "auto"
    restart: str = MATRIX

    name: ClassVar[str] = "pros-n-kons"
    paper: ClassVar[str] = "Calandriello et al. 2017"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, REGRESSION)
    exempt: ClassVar[dict[str, str]] = {
        "weight_scales_the_step": "scores are cut off, and a slope counts by its square too",
    }

    def check(self) -> None:
        super().check()
        if self.loss != "auto":
            as_loss(self.loss)
        for name in ("reach", "curvature"):
            if getattr(self, name) != "auto":
                positive(**{name: getattr(self, name)})
        one_of((WHOLE, MATRIX), restart=self.restart)

    def losses(self, task: str) -> tuple[str, ...]:
        return LOSSES[task]

    def depends_on_data(self, task: str) -> bool:
        return super().depends_on_data(task) or self.reach == "auto"

    def settle(self, task: str, sample: Sample) -> Self:
        named = LOSSES[task][0] if self.loss == "auto" else self.loss
        reach = self.reach
        if isinstance(reach, str):
            reach = 4.0 * sample.deviation if task == REGRESSION else 1.0
        curvature = (
            1.0 / (4.0 * min(max(reach, 1e-150), 1e150) ** 2) if isinstance(self.curvature, str) else self.curvature
        )
        return replace(super().settle(task, sample), loss=named, reach=reach, curvature=curvature)

    def lower(self, task: str, dtype: Any) -> ProsNKonsRecord:
        numbers = float(self.reach), float(self.curvature), int(self.restart == WHOLE)
        return ProsNKonsRecord(self.embedding(dtype), as_loss(self.loss).lower(task, dtype), *numbers)

    def weighed(self, A: np.ndarray, told: list[np.ndarray], means: list[np.ndarray], weight: float) -> np.ndarray:
        return (1.0 - weight) * means[0] + weight * means[1]


@evaluate.register(ProsNKonsRecord)
def _(record, state, scratch, x, scores):
    n = embed(record.embedding, state, scratch, x)
    say_embedded(state, scratch, n)
    scores[0] = min(max(scratch.y[0], -record.reach), record.reach)


@inlined
def begin_anew(record, state, n):
    """S of n points, and w where it is asked for, as they were before any row."""
    S = state.covariance.S
    for i in range(n):
        state.weights[0, i] *= 0.0 if record.whole == 1 else 1.0
        for j in range(i):
            S[i, j] = 0.0
        S[i, i] = 1.0 / record.embedding.regularization


@step.register(ProsNKonsRecord)
def _(record, state, scratch, x, target, weight, scores):
    g, u, w, n = scratch.common.slope, scratch.u, state.weights[0], state.f.size[()]
    loss = slope(record.loss, target, scores, g)
    if not np.isfinite(loss) or too_long(g, weight):
        return np.nan
    state.t[()] += 1
    if weight == 0.0:
        return loss
    over = scratch.y[0] - min(max(scratch.y[0], -record.reach), record.reach)
    if over != 0.0:
        v = spread_embedded(state, scratch, n)
        for j in range(n if v > LEAST else 0):
            w[j] -= over / v * u[j]
    if draw_point(record.embedding, state, scratch, x):
        n += 1
        begin_anew(record, state, n)
    length = weight * np.float64(g[0])
    if length != 0.0:
        told = record.curvature * length * length
        v = spread_embedded(state, scratch, n)
        if v > LEAST:
            for j in range(n):
                w[j] -= length / (1.0 + told * v) * u[j]
            learn_spread(state.covariance, u[:n], told / (1.0 + told * v))
    return loss
