"""QKLMS: quantized kernel least mean squares. A row that is near a point gives its error to that point.

Chen, Zhao, Zhu, Principe: Quantized Kernel Least Mean Square Algorithm (2012), Alg. 1.

    e = y - f(x),  c the nearest point;  ||k(x, .) - k(c, .)|| <= epsilon sqrt(k(x, x)):  a_c <- a_c + eta e
    else:                                                                                  f <- f + eta e k(x, .)

Remarks. The paper measures the distance of the rows, ||x - c||; here it is that in the kernel's space, which has the
same meaning for every width, every scale of the features and every kernel. They are one for the paper's Gaussian:
epsilon = (2 - 2 exp(-gamma ||x - c||^2))^(1/2). Points further apart than epsilon are finitely many on a bounded
domain, but may be very many: once the budget is full the nearest point is always near enough. budget=None is the
paper's, quantization=0 KLMS but for rows that come again. Weights are as in KLMS.

Symbols: eta learning_rate, epsilon quantization.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import step
from ..kernels import DOT, EVALUATED, POSITIVE_DEFINITE, KernelRecord, Need
from ..losses import any_slope, slope, too_long
from ..numerics import expansion
from ..numerics.budgets import first_largest
from ..numerics.compile import compiled
from ..parameters import at_least, positive
from ._expansion import Budgeted, ask_for_room, expansion_record
from ._squares import SquaredErrors, SquaresRecord, find_slope, step_of


@expansion_record
class QKLMSRecord(NamedTuple):
    kernel: KernelRecord
    squares: SquaresRecord
    learning_rate: float
    near: float  # epsilon^2
    most: int  # points, 0 for any number


@dataclass
class QKLMS(Budgeted, SquaredErrors):
    """learning_rate: eta, the share of an error that is made good at its row.
    quantization: epsilon, how far from a point, in the kernel's space, a row may be and count as it; sqrt(2) is as far
        as rows that have nothing in common.
    budget: the most points that are kept; None keeps all.
    """

    learning_rate: float = 0.2
    quantization: float = 0.3
    budget: int | None = 800

    name: ClassVar[str] = "qklms"
    paper: ClassVar[str] = "Chen, Zhao, Zhu, Principe 2012"
    needs: ClassVar[tuple[Need, ...]] = (EVALUATED, POSITIVE_DEFINITE)

    def check(self) -> None:
        super().check()
        positive(learning_rate=self.learning_rate)
        at_least(0.0, quantization=self.quantization)

    def lower(self, task: str, dtype: Any) -> QKLMSRecord:
        near = float(self.quantization) ** 2
        squares = self.squares(task, dtype)
        return QKLMSRecord(self.kernel.lower(dtype), squares, float(self.learning_rate), near, self.budget or 0)


@compiled
def nearest_point(kernel, f, row):
    """The point nearest in the kernel's space. Requires: row.values, a point at least."""
    n = f.size[()]
    if kernel.metric != DOT:  # k(c, c) is one number
        return first_largest(row.values, n)
    for j in range(n):
        row.ranks[j] = 2.0 * row.values[j] - expansion.own_value_of(kernel, f, j, row)
    return first_largest(row.ranks, n)


@step.register(QKLMSRecord)
def _(record, state, scratch, x, target, weight, scores):
    f, kernel, row = state.f, record.kernel, scratch.row
    g, own = scratch.common.slope, expansion.own_value(kernel, x, row)
    length = step_of(record.learning_rate, weight, own)
    loss = slope(record.squares.loss, target, scores, g)
    find_slope(record.squares, target, scores, g)
    if too_long(g, length):
        return np.nan
    state.t[()] += 1
    if length > 0.0 and any_slope(g):
        n, nearest, apart = f.size[()], 0, np.inf
        if n > 0:
            nearest = nearest_point(kernel, f, row)
            apart = own + expansion.own_value_of(kernel, f, nearest, row) - 2.0 * np.float64(row.values[nearest])
        if n > 0 and (apart <= record.near * own or n == record.most):
            for k in range(g.shape[0]):
                f.coef[k, nearest] -= length * g[k]
        else:
            expansion.add(kernel, f, x, -length, g, row)
            if record.most == 0:
                ask_for_room(f, 1, scratch)
    return loss
