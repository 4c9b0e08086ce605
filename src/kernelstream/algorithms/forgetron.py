"""Forgetron, self-tuned: on a mistake add; when full, shrink all terms so far that dropping the oldest does no harm.

Dekel, Shalev-Shwartz, Singer: The Forgetron: A Kernel-Based Perceptron on a Budget (2008).

    f' = f + u k(x, .);  r the oldest term, delta = |a_r|, mu = u_r . f'(s_r)
    phi = the largest in (0, 1] with  Psi(phi) + Q <= (15/32) M,  Psi(phi) = (delta phi)^2 + 2 delta phi (1 - phi mu)
    f <- phi (f' - a_r k(s_r, .)),  Q <- Q + Psi(phi)

M counts the mistakes, Q the damage done so far.

Remarks. With several outputs a term is a_r = delta u_r with u_r = e_y - e_s, so delta is its largest entry. In
classification everything is measured in units of the learning rate, which then changes no prediction; in regression,
which the paper does not treat, in units of the targets' deviation, or for a learning rate that is given as the formula
stands, as in LSOKL (with short steps there is next to no shrinking). A sample weight enters delta. The paper proves
from Psi + Q <= (15/32) M that mistakes stay bounded for B >= 83.

Symbols: B budget, Q damage, M mistakes.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import Shape, step
from ..engine.state import Limits, tally
from ..kernels import KernelRecord
from ..numerics import expansion
from ..numerics.budgets import oldest_slot
from ..numerics.compile import inlined
from ..numerics.expansion import Expansion
from ..numerics.rows import Sample
from ..parameters import positive
from ..tasks import REGRESSION
from ._expansion import expansion_record
from ._mistakes import MistakeRecord, MistakesOnBudget, find_mistake

SHARE = 15.0 / 32.0  # of the mistakes, which the damage may be


@expansion_record
class ForgetronRecord(NamedTuple):
    kernel: KernelRecord
    mistakes: MistakeRecord
    unit: float  # what delta and mu are measured in


class ForgetronState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    oldest: np.ndarray  # the slot that was filled first, 0-d
    mistakes: np.ndarray  # M, 0-d
    damage: np.ndarray  # Q, 0-d


@dataclass
class Forgetron(MistakesOnBudget):
    """unit: what delta and mu are measured in, in regression; "auto" is 1 for a learning_rate that is given, else the
    deviation of the targets.
    """

    unit: float | str = "auto"

    name: ClassVar[str] = "forgetron"
    paper: ClassVar[str] = "Dekel, Shalev-Shwartz, Singer 2008"

    def check(self) -> None:
        super().check()
        if self.unit != "auto":
            positive(unit=self.unit)

    def settle(self, task: str, sample: Sample) -> Self:
        settled = super().settle(task, sample)
        if self.unit != "auto":
            return settled
        return replace(settled, unit=sample.deviation if self.learning_rate == "auto" else 1.0)

    def lower(self, task: str, dtype: Any) -> ForgetronRecord:
        unit = float(self.unit if task == REGRESSION else self.learning_rate)
        return ForgetronRecord(self.kernel.lower(dtype), self.mistakes(task, dtype), unit)

    def init(self, shape: Shape) -> ForgetronState:
        zero = np.zeros((), np.int64)
        f, t = super().init(shape)
        return ForgetronState(f, t, zero, zero.copy(), np.zeros(()))

    def limits(self, state: ForgetronState) -> Limits:
        damage = (-math.inf, SHARE * (int(state.mistakes) + 1))
        return {**super().limits(state), "oldest": (0, self.budget - 1), "damage": damage}

    def attributes(self, state: ForgetronState) -> dict[str, Any]:
        """mistakes: M; damage: Q, which stays below 15/32 M."""
        shown = {"mistakes": int(state.mistakes), "damage": float(state.damage)}
        return {**super().attributes(state), **shown}

    def merge(
        self,
        record: Any,
        state: ForgetronState,
        other: ForgetronState,
        weight: float,
        since: ForgetronState | None = None,
    ) -> ForgetronState:
        """Mistakes and damage add up, as far as the damage may; the first term counts as the oldest."""
        merged = super().merge(record, state, other, weight, since)
        counts = tally(state, other, since, "mistakes", "damage")
        counts["damage"] = np.minimum(counts["damage"], SHARE * counts["mistakes"])
        return merged._replace(oldest=np.zeros((), np.int64), **counts)


@inlined
def psi(phi, delta, mu):
    """The damage of dropping a term of size delta phi after shrinking by phi."""
    return (delta * phi) ** 2 + 2.0 * delta * phi * (1.0 - phi * mu)


@inlined
def shrinkage(delta, mu, room):
    """The largest phi in (0, 1] with psi(phi) <= room. Requires: room > 0.

    psi(phi) = a phi^2 + b phi with b > 0 starts at 0 and either rises for good (a >= 0) or up to its top only (a < 0).
    """
    a = delta * delta - 2.0 * delta * mu
    b = 2.0 * delta
    discriminant = b * b + 4.0 * a * room
    if psi(1.0, delta, mu) <= room or discriminant < 0.0:
        return 1.0
    return 2.0 * room / (b + math.sqrt(discriminant))  # the smaller positive root, without cancellation


@step.register(ForgetronRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, kernel, unit = state.f, record.kernel, record.unit
    loss, length = find_mistake(record.mistakes, state.t, g, target, weight, scores)
    if length == 0.0:
        return loss
    state.mistakes[()] += 1
    if not expansion.full(f):
        expansion.add(kernel, f, x, -length, g, scratch.row)
        return loss
    r = oldest_slot(state.oldest, f.size[()])
    near = scratch.row.values[r]
    at_r = scratch.at_stored
    expansion.evaluate(kernel, f, expansion.stored(f, r, scratch.stored), scratch.row, at_r)
    delta = 0.0
    inner = 0.0  # a_r . f'(s_r)
    for k in range(g.shape[0]):
        delta = max(delta, abs(np.float64(f.coef[k, r])))
        inner += np.float64(f.coef[k, r]) * (at_r[k] - length * g[k] * near)
    room = SHARE * state.mistakes[()] - state.damage[()]
    mu = inner / (delta * unit) if delta > 0.0 else 0.0  # a term that has shrunk to nothing
    phi = shrinkage(delta / unit, mu, room)
    state.damage[()] += psi(phi, delta / unit, mu)
    expansion.shrink(f, phi)
    expansion.put(kernel, f, r, x, -length * phi, g, scratch.row)
    return loss
