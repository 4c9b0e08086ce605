"""What learners share that descend the regularised risk with step 1 / (lambda t): Pegasos, BSGD, NPBSGD, DualSGD.

    f <- (1 - 1/tau) f - (1 / (lambda tau)) l'(f(x), y) k(x, .),  tau = t_0 + t

f is kept as (1 / (lambda tau)) sum_i b_i k(s_i, .): a round counts t and adds b = -l'. Terms that are equal in size
stay so to the last bit, which a rule that looks for the smallest one needs.

t_0 is 0 in the papers, where slopes are at most 1 and f is a margin. The first step is then 1 / lambda long, and where
slopes grow with f (squared loss, squared hinge) or targets have a unit of their own (regression), f is thrown far off.
For the squared hinge t_0 = 1 / lambda (2 / lambda for many classes, whose steps move two outputs), so that no step is
longer than what takes f(x) to its target. In regression t_0 = 5 / (lambda u): a fifth of the way for the squared loss,
u = 1 (1/2 where it is r^2: by default f is the same), and a fifth of u where slopes are bounded, u the standard
deviation of the first targets (over delta, if that is more than 1, for the Huber loss, whose slopes are at most delta;
over the larger slope of the quantile loss: `unit_of_steps`). There lambda is in units of 1 / u as well, as f is in
those of u: 1e-3 / u by default.

In float32 a sum of b that has grown to 2^24 takes in no 1 any more, and f would fade as 1 / t. Whenever t has grown by
2^22 (then by half of what tau is), all b and tau are halved, which is exact: steps become no shorter than 1 / (lambda
(t_0 + 2^22)). In float64 it is 2^51.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine.state import tally
from ..kernels import KernelRecord
from ..losses import (
    FIRST_STEP,
    Loss,
    LossRecord,
    SquaredHinge,
    any_slope,
    as_loss,
    in_the_targets_unit,
    loss_names,
    slope,
    too_long,
    unit_of_steps,
)
from ..numerics import expansion
from ..numerics.compile import inlined
from ..numerics.rows import Sample
from ..parameters import at_least, positive
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._expansion import ExpansionAlgorithm, evaluated_by, weighted_sum

# Rounds after which b and tau are halved.
MOST_ROUNDS = {"float32": 2**22, "float64": 2**51}

# The largest t_0.
LATEST = 1e12

# lambda by default, for targets and margins of about 1.
REGULARIZATION = 1e-3


class RiskRecord(NamedTuple):
    kernel: KernelRecord
    loss: LossRecord
    regularization: float
    start: int  # t_0, even
    most: int  # tau at which it is halved, even


@dataclass
class RegularisedRisk(ExpansionAlgorithm):
    """Parameters of every Pegasos-like learner.

    loss: a name, a loss, or "auto" (hinge for classification, squared for regression).
    regularization: lambda of (lambda/2) ||f||^2. "auto" is 1e-3; in regression with bounded slopes 1e-3 over the
        deviation of the targets.
    start: t_0, rounded up to an even number: step t has length 1 / (lambda (t_0 + t)). "auto" is 0 where slopes are
        bounded and the task is one of classes, as in the papers; else a first step that does not throw f off.
    """

    loss: str | Loss = "auto"
    regularization: float | str = "auto"
    start: float | str = "auto"

    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    shorter_steps: ClassVar[str] = "raise start or regularization"

    def check(self) -> None:
        super().check()
        if self.loss != "auto":
            as_loss(self.loss)
        if self.regularization != "auto":
            positive(regularization=self.regularization)
        if self.start != "auto":
            at_least(0.0, start=self.start)
            if isinstance(self.start, str) or self.start > LATEST:
                raise ValueError(f"start={self.start!r} must be at most {LATEST:g}.")

    def losses(self, task: str) -> tuple[str, ...]:
        return loss_names(task, "squared" if task == REGRESSION else "hinge")

    def depends_on_data(self, task: str) -> bool:
        left = "auto" in (self.regularization, self.start)
        return super().depends_on_data(task) or (left and in_the_targets_unit(as_loss(self.named_loss(task))))

    def settle(self, task: str, sample: Sample) -> Self:
        named = self.named_loss(task)
        loss = as_loss(named)
        unit = unit_of_steps(loss, sample.deviation)
        regularization = REGULARIZATION / unit if self.regularization == "auto" else float(self.regularization)
        start = self.start
        if start == "auto":
            way = {BINARY: 1.0, MULTICLASS: 0.5, REGRESSION: FIRST_STEP * unit}[task]
            far = task == REGRESSION or isinstance(loss, SquaredHinge)
            start = min(1.0 / (regularization * way), LATEST) if far else 0.0
        start = 2 * math.ceil(float(start) / 2.0)
        return replace(super().settle(task, sample), loss=named, regularization=regularization, start=start)

    def risk(self, task: str, dtype: Any) -> RiskRecord:
        """Requires: a settled spec."""
        start = int(self.start)
        most = start + MOST_ROUNDS[np.dtype(dtype).name]
        loss = as_loss(self.loss).lower(task, dtype)
        return RiskRecord(self.kernel.lower(dtype), loss, float(self.regularization), start, most)

    def unit(self, state: Any) -> float:
        """lambda tau, what b is divided by; 1 before any round."""
        start, dtype = int(self.start), state.f.coef.dtype.name
        n = int(state.t) + start
        return float(self.regularization) * counted(n, start + MOST_ROUNDS[dtype]) if n > 0 else 1.0

    def written_out(self, state: Any) -> Any:
        return state._replace(f=state.f._replace(coef=state.f.coef / state.f.coef.dtype.type(self.unit(state))))

    def merge(self, record: Any, state: Any, other: Any, weight: float, since: Any = None) -> Any:
        """In terms of b: a term keeps its value in f when b is multiplied by the new tau over its own."""
        rounds = tally(state, other, since, "t")
        unit = self.unit(state._replace(**rounds))
        mine, theirs = (1.0 - weight) * unit / self.unit(state), weight * unit / self.unit(other)
        f = weighted_sum(mine, state.f, theirs, other.f)
        return state._replace(f=self.reduced(f), **rounds)


@inlined
def counted(n, most):
    """tau after n = t_0 + t rounds: n, but halved whenever it has become `most`."""
    half = most // 2
    return n if n < most else half + (n - most) % half


@inlined
def tau_of(record, t):
    return counted(record.start + t[()], record.most)


@inlined
def unit_of(record, t):
    """What this round's b is to be multiplied by: 1/2 in a round in which all b and tau are halved, else 1."""
    over = record.start + t[()] - record.most
    return 0.5 if over >= 0 and over % (record.most // 2) == 0 else 1.0


@inlined
def evaluate_risk(record, f, t, x, row, scores):
    """scores = (1 / (lambda tau)) sum_i b_i k(s_i, x); 0 before the first round."""
    expansion.evaluate(record.kernel, f, x, row, scores)
    factor = 1.0 / (record.regularization * tau_of(record, t)) if t[()] > 0 else 0.0
    for k in range(scores.shape[0]):
        scores[k] *= factor


def _evaluate(record, state, scratch, x, scores):
    evaluate_risk(record.risk, state.f, state.t, x, scratch.row, scores)


# The record of a learner whose scores are f(x), with f's kernel and lambda in `risk`.
risk_record = evaluated_by(_evaluate)


@inlined
def take_risk_slope(record, state, g, target, weight, scores):
    """Begin round t + 1, halving b where it is time: write the slope into g; return (loss, the weight of b = -g: 0 when
    there is nothing to add). Where it would be too long no round begins: the loss is NaN, the weight 0.
    """
    loss = slope(record.loss, target, scores, g)
    length = weight if any_slope(g) else 0.0
    if too_long(g, length):
        return np.nan, 0.0
    state.t[()] += 1
    unit = unit_of(record, state.t)
    if unit != 1.0:
        expansion.shrink(state.f, unit)
    return loss, unit * length
