"""NORMA: naive online regularised risk minimisation, with any loss, or with a border that tunes itself.

Kivinen, Smola, Williamson: Online Learning with Kernels (2004), sec. III to V.

    f <- (1 - eta lambda) f - eta l'(f(x), y) k(x, .), with a loss l that is named; else f <- (1 - eta lambda) f, then

    margin       classes: if m < rho add eta u k(x, .) and rho <- rho - eta (1 - nu), else rho <- rho + eta nu
    tube         regression: if |r| > epsilon add eta sign(r) k(x, .) and epsilon <- epsilon + eta (1 - nu), else
                 epsilon <- epsilon - eta nu
    novelty      whatever the label: if f(x) < rho add eta k(x, .) and rho <- rho - eta (1 - nu), else rho <- rho +
                 eta nu; what is shown is f(x) - rho, which is negative for what is new

With a budget only the newest terms are kept (the paper's truncation); without one the dictionary grows.

Remarks. The three rules are one: a loss (-m, |r|, -f) above a border (-rho, epsilon, -rho) adds a term and raises the
border. The first rho of a margin is `margin`, that of novelty 0 (f and rho are then in units of eta, and eta lambda
alone counts), the first epsilon `epsilon`. nu is the share of rows that become terms in the long run. A sample weight
multiplies the term and the move of the border. In regression the default eta is in units of the deviation of the first
targets, and lambda in those of its inverse, where slopes are bounded. LSOKL's regression tables: eta 0.03, nu 0.4. f is
kept as multiplier sum_i b_i k(s_i, .), so that a round costs no pass over the coefficients.

Symbols: eta learning_rate, lambda regularization, tau budget, b coef of f.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import Shape, evaluate, step
from ..engine.state import Limits
from ..kernels import KernelRecord
from ..losses import (
    BORDERED,
    Loss,
    LossRecord,
    Margin,
    Novelty,
    Tube,
    any_slope,
    as_loss,
    in_the_targets_unit,
    loss_names,
    slope,
    too_long,
    unit_of_steps,
)
from ..numerics import expansion
from ..numerics.budgets import oldest_slot
from ..numerics.expansion import Expansion
from ..numerics.rows import Sample
from ..parameters import at_least, positive, whole
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._expansion import ExpansionAlgorithm, ask_for_room

# eta and lambda by default, for slopes that are as large as targets are apart.
RATE, REGULARIZATION = 0.3, 1e-4

# What is compared: the loss with nothing; with the border; with the border, which is in the scores already.
NOTHING, BORDER, SHOWN = range(3)

# A multiplier below this is multiplied into the coefficients: those that come are divided by it.
SMALLEST = 2.0**-20


class NORMARecord(NamedTuple):
    kernel: KernelRecord
    loss: LossRecord
    compared: int
    learning_rate: float
    regularization: float
    nu: float
    first_border: float
    truncates: int  # 1 with a budget


class NORMAState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    multiplier: np.ndarray  # of f, 0-d
    raised: np.ndarray  # how far the border is above where it began, 0-d
    oldest: np.ndarray  # the slot that was filled first, 0-d


@dataclass
class NORMA(ExpansionAlgorithm):
    """loss: a name, a loss, or one of the rules whose border tunes itself: "margin", "tube", "novelty" (of two classes,
        the second is what is usual). "auto" is the margin for classes and the tube for regression.
    learning_rate: eta, the length of a step; "auto" is 0.3 for classes and the squared loss, 0.3 times the deviation of
        the targets for the others.
    regularization: lambda, which shrinks the model by 1 - learning_rate * lambda each round; "auto" is 1e-4, over the
        deviation of the targets where steps are in units of it.
    nu: the share of rows that become terms in the long run; it, margin and epsilon belong to the rules with a border.
    margin: the first rho, below which a margin asks for a step (classification).
    epsilon: the first width of the tube within which residuals are no errors (regression).
    budget: how many of the newest terms are kept; None keeps all.
    """

    loss: str | Loss = "auto"
    learning_rate: float | str = "auto"
    regularization: float | str = "auto"
    nu: float = 0.4
    margin: float = 1.0
    epsilon: float = 0.1
    budget: int | None = None

    name: ClassVar[str] = "norma"
    paper: ClassVar[str] = "Kivinen, Smola, Williamson 2004"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = False
    parent: ClassVar[str | None] = "norma"

    def check(self) -> None:
        super().check()
        if self.loss != "auto":
            as_loss(self.loss)
        at_least(0.0, margin=self.margin, epsilon=self.epsilon, nu=self.nu)
        if self.learning_rate != "auto":
            positive(learning_rate=self.learning_rate)
        if self.regularization != "auto":
            at_least(0.0, regularization=self.regularization)
        if self.nu > 1.0:
            raise ValueError(f"nu={self.nu!r} is a share of the rows: it must be between 0 and 1.")
        left = "auto" in (self.learning_rate, self.regularization)
        shrinkage = 0.0 if left else float(self.learning_rate) * float(self.regularization)
        if shrinkage > 1.0:
            raise ValueError(
                f"learning_rate * regularization = {shrinkage:g} exceeds 1: "
                "a round would turn the model's sign. Lower one of them."
            )
        if self.budget is not None:
            whole(1, budget=self.budget)

    @property
    def capacity(self) -> int | None:
        return self.budget

    @property
    def tunes_a_border(self) -> bool:
        return self.loss == "auto" or isinstance(as_loss(self.loss), tuple(BORDERED.values()))

    def losses(self, task: str) -> tuple[str, ...]:
        own = [name for name, loss in BORDERED.items() if task in loss.tasks]
        return (*own, *loss_names(task, ""))

    def depends_on_data(self, task: str) -> bool:
        left = "auto" in (self.learning_rate, self.regularization)
        return super().depends_on_data(task) or (left and in_the_targets_unit(as_loss(self.named_loss(task))))

    def settle(self, task: str, sample: Sample) -> Self:
        loss = self.named_loss(task)
        rate, shrinkage = self.learning_rate, self.regularization
        given = 0.0 if isinstance(shrinkage, str) else shrinkage
        unit = unit_of_steps(as_loss(loss), sample.deviation, given)
        rate = RATE * unit if isinstance(rate, str) else rate
        shrinkage = min(REGULARIZATION / unit, 1.0 / rate) if isinstance(shrinkage, str) else shrinkage
        return replace(super().settle(task, sample), loss=loss, learning_rate=rate, regularization=shrinkage)

    def lower(self, task: str, dtype: Any) -> NORMARecord:
        """Requires: a settled spec."""
        loss = as_loss(self.loss)
        compared = (SHOWN if isinstance(loss, Novelty) else BORDER) if self.tunes_a_border else NOTHING
        border = self.epsilon if task == REGRESSION else -self.margin
        return NORMARecord(
            self.kernel.lower(dtype),
            loss.lower(task, dtype),
            compared,
            float(self.learning_rate),
            float(self.regularization),
            float(self.nu),
            float(border),
            int(self.budget is not None),
        )

    def init(self, shape: Shape) -> NORMAState:
        f, t = super().init(shape)
        return NORMAState(f, t, np.ones(()), np.zeros(()), np.zeros((), np.int64))

    def limits(self, state: NORMAState) -> Limits:
        return {**super().limits(state), "oldest": (0, (self.budget or 1) - 1), "multiplier": (SMALLEST, 1.0)}

    def written_out(self, state: NORMAState) -> NORMAState:
        coef = (state.f.coef * state.multiplier).astype(state.f.coef.dtype)
        return state._replace(f=state.f._replace(coef=coef), multiplier=np.ones(()))

    def attributes(self, state: NORMAState) -> dict[str, Any]:
        """rho, or epsilon: where the border is."""
        found, raised = super().attributes(state), float(state.raised)
        loss = as_loss(self.loss)
        if isinstance(loss, Tube):
            return {**found, "epsilon": self.epsilon + raised}
        if isinstance(loss, Margin):
            return {**found, "rho": (0.0 if isinstance(loss, Novelty) else self.margin) - raised}
        return found

    def merge(
        self, record: Any, state: NORMAState, other: NORMAState, weight: float, since: NORMAState | None = None
    ) -> NORMAState:
        raised = (1.0 - weight) * state.raised + weight * other.raised
        merged: NORMAState = super().merge(record, state, other, weight, since)
        return merged._replace(raised=np.asarray(raised), oldest=np.zeros((), np.int64))


@evaluate.register(NORMARecord)
def _(record, state, scratch, x, scores):
    expansion.evaluate(record.kernel, state.f, x, scratch.row, scores)
    for k in range(scores.shape[0]):
        scores[k] *= state.multiplier[()]
        if record.compared == SHOWN:
            scores[k] += state.raised[()]


@step.register(NORMARecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, eta = state.f, record.learning_rate
    usual = 1.0 if record.compared == SHOWN else target
    excess = slope(record.loss, usual, scores, g)
    if record.compared == BORDER:
        excess -= record.first_border + state.raised[()]
    if too_long(g, eta * weight / SMALLEST):
        return np.nan
    state.t[()] += 1
    if weight == 0.0:
        return max(0.0, excess)
    state.multiplier[()] *= 1.0 - eta * record.regularization
    if state.multiplier[()] < SMALLEST:
        expansion.shrink(f, state.multiplier[()])
        state.multiplier[()] = 1.0
    if record.compared != NOTHING:
        if excess <= 0.0:
            state.raised[()] -= weight * (eta * record.nu)
            return 0.0
        state.raised[()] += weight * (eta * (1.0 - record.nu))
    n = f.size[()]
    if any_slope(g):
        slot = oldest_slot(state.oldest, n) if record.truncates == 1 and expansion.full(f) else n
        expansion.put(record.kernel, f, slot, x, -eta * weight / state.multiplier[()], g, scratch.row)
        if record.truncates == 0:
            ask_for_room(f, 1, scratch)
    return excess
