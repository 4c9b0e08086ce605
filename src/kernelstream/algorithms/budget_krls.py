"""Fixed-budget KRLS: the ridge regression, in the kernel's space, of M rows; the one goes that the others tell best.

Van Vaerenbergh, Santamaria, Liu, Principe: Fixed-Budget Kernel Recursive Least-Squares (2010), Alg. 1.

    alpha = (K + lambda)^-1 y of the rows kept and the new one; then the row leaves with the smallest
    |alpha_i| / ((K + lambda)^-1)_ii,  how far the others would miss its label
    before a row comes, labels near it move:  y_i <- y_i - mu k(x_i, x) (y_i - y)

Remarks. Cholesky factor and diagonal of the inverse are kept (`_rows_kept`), M^2 a row. With several outputs the sizes
are norms over them. k(x_i, x) is divided by the root of k(x_i, x_i) k(x, x), which is 1 for the paper's kernels; mu > 0
has all coefficients solved for anew, M^2 more for each output. A row of weight w has the ridge lambda / w. A merged
model is the weighted sum of both functions, in terms of M of their rows, with labels of which it is the regression. The
rows that stay are those that are hard to foretell: where labels are noisy, they are the noise. `deviations` are those
of the Gaussian process of the rows kept: rows that went told something too, which it does not know.

Symbols: M budget, lambda regularization, mu relabelling.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import step
from ..losses import slope
from ..numerics import expansion
from ..numerics.compile import compiled
from ..numerics.gram import backward, forward
from ..parameters import at_least
from ._recursive import RecursiveRecord, find_errors, find_values, keeping_record, least_missed, write_out
from ._rows_kept import KeptRows, admit, find_residual, let_go
from ._squares import to_say


@keeping_record
class BudgetKRLSRecord(NamedTuple):
    shared: RecursiveRecord
    regularization: float
    relabelling: float


@dataclass
class BudgetKRLS(KeptRows):
    """budget: M, how many rows are kept.
    regularization: lambda of lambda ||f||^2, beside the squared errors of these rows.
    relabelling: mu, how far the labels of rows that are kept move to that of a new row beside them, from 0 to 1.
    """

    budget: int = 200  # a row takes M^2
    regularization: float = 0.1
    relabelling: float = 0.0

    name: ClassVar[str] = "krls-fb"
    paper: ClassVar[str] = "Van Vaerenbergh, Santamaria, Liu, Principe 2010"
    chooses: ClassVar[bool] = True
    vectors: ClassVar[tuple[str, ...]] = ("ridges", "diagonal")

    def check(self) -> None:
        super().check()
        at_least(0.0, relabelling=self.relabelling)
        if self.relabelling > 1.0:
            raise ValueError(f"relabelling={self.relabelling!r} would move a label past the new one; it is at most 1.")

    def lower(self, task: str, dtype: Any) -> BudgetKRLSRecord:
        return BudgetKRLSRecord(self.shared(task, dtype), float(self.regularization), float(self.relabelling))


@compiled
def relabel(record, state, target, own, scratch):
    """Move the labels of rows kept to the target, as far as they are near it, and solve for alpha anew."""
    f, n = state.f, state.f.size[()]
    for i in range(n):
        size = math.sqrt(abs(own * expansion.own_value_of(record.shared.kernel, f, i, scratch.row)))
        scratch.gain[i] = record.relabelling * scratch.values[i] / size if size > 0.0 else 0.0
    for k in range(state.labels.shape[0]):
        labels, said = state.labels[k], to_say(record.shared.squares, k, target)
        for i in range(n):
            labels[i] -= scratch.gain[i] * (labels[i] - said)
        forward(state.factor, n, labels, scratch.half)
        backward(state.factor, n, scratch.half, state.alpha[k])


@step.register(BudgetKRLSRecord)
def _(record, state, scratch, x, target, weight, scores):
    own = expansion.own_value(record.shared.kernel, x, scratch.row)
    loss = slope(record.shared.squares.loss, target, scores, scratch.common.slope)
    if weight > 0.0:
        n, slot, d = state.f.size[()], -1, scratch.coordinates
        find_values(state, scratch)
        if record.relabelling > 0.0:
            relabel(record, state, target, own, scratch)
        find_errors(record.shared, state, target, scratch)
        ridge, residual = find_residual(record, state, own, weight, scratch)
        if n + 1 == state.f.points.shape[1]:  # one too many
            slot = least_missed(state, scratch.errors, -1.0 / residual, d, d, residual, scratch.row.ranks)
        if slot != n:
            if not admit(record, state, x, target, ridge, residual, scratch):
                return np.nan
            if slot >= 0:
                let_go(state, slot, scratch)
        write_out(state)
    state.t[()] += 1
    return loss
