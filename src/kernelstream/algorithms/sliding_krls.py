"""Sliding-window KRLS: the ridge regression, in the kernel's space, of the last M rows.

Van Vaerenbergh, Via, Santamaria: A Sliding-Window Kernel RLS Algorithm and Its Application to Nonlinear Channel
Identification (2006), Alg. 1.

    alpha = (K + c)^-1 y,  K the Gram matrix of the last M rows

Remarks. The paper follows the inverse as rows come and go; this follows its Cholesky factor, which stays one however
long the stream is. alpha follows what comes and what goes: rounding stays with the row in which it arose, and leaves
with it. A row of weight w has the ridge c / w. A merged model is the weighted sum of both functions, in terms of M of
their rows, which leave in the order in which they came. `deviations` are those of the Gaussian process of the window's
rows whose noise is c times its variance (`_rows_kept`). It follows a change within M rows, and knows nothing of what
was before them: on the five streams of docs/theory/recursive.md, which do not change, krls-t of its size errs less.

Symbols: M budget, c regularization.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import step
from ..losses import slope
from ..numerics import expansion
from ._recursive import RecursiveRecord, find_errors, find_values, keeping_record, write_out
from ._rows_kept import KeptRows, admit, find_residual, let_go


@keeping_record
class SlidingKRLSRecord(NamedTuple):
    shared: RecursiveRecord
    regularization: float


@dataclass
class SlidingKRLS(KeptRows):
    """budget: M, how many of the last rows are kept.
    regularization: c of c ||f||^2, beside the squared errors of these rows.
    """

    budget: int = 200  # a row takes M^2
    regularization: float = 0.1

    name: ClassVar[str] = "krls-sw"
    paper: ClassVar[str] = "Van Vaerenbergh, Via, Santamaria 2006"
    chooses: ClassVar[bool] = False

    def lower(self, task: str, dtype: Any) -> SlidingKRLSRecord:
        return SlidingKRLSRecord(self.shared(task, dtype), float(self.regularization))


@step.register(SlidingKRLSRecord)
def _(record, state, scratch, x, target, weight, scores):
    own = expansion.own_value(record.shared.kernel, x, scratch.row)
    loss = slope(record.shared.squares.loss, target, scores, scratch.common.slope)
    if weight > 0.0:
        find_values(state, scratch)
        find_errors(record.shared, state, target, scratch)
        ridge, residual = find_residual(record, state, own, weight, scratch)
        if not admit(record, state, x, target, ridge, residual, scratch):
            return np.nan
        if expansion.full(state.f):
            let_go(state, 0, scratch)
        write_out(state)
    state.t[()] += 1
    return loss
