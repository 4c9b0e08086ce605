"""SOP: the second-order Perceptron on random features, which on a mistake learns along what mistakes have not told yet.

Cesa-Bianchi, Conconi, Gentile: A Second-Order Perceptron Algorithm (2005).

    A = a + sum z z',  v = sum y z over the mistakes;  f(x) = v'A^-1 z(x)

Remarks. The paper puts the row itself into the matrix that it is predicted by: f / (1 + z'A^-1 z), which has the same
sign, and the same largest of several outputs, whose A is one. So f itself is shown, and a row that is no mistake costs
2 D numbers an output instead of (2 D)^2. Its dual form keeps every mistake and costs their number squared a row; on
features it is bounded, and S = A^-1 and W = v'S follow a mistake by rank one: W <- W + (u - f(x)) (Sz)' / (1 + z'Sz), u
= y, or e_y - e_s for several classes, s the best other one. covariance="diagonal" keeps that of S alone. On the data
sets of docs/compared.md it earns its place nowhere, of those of docs/choosing.md on shuttle alone: FOGD makes fewer
mistakes on all others, in about the same time. AROW is what it becomes when rows with a small margin are heard too.

Symbols: a regularization, D n_components.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import step
from ..losses import LossRecord
from ._confidence import Regularised, hear, learn_confidently
from ._features import on_features


@on_features
class SOPRecord(NamedTuple):
    lift: Any
    loss: LossRecord


@dataclass
class SOP(Regularised):
    """regularization: a, beside the sums over mistakes; z'z estimates k(x, x)."""

    regularization: float = 1.0

    name: ClassVar[str] = "sop"
    paper: ClassVar[str] = "Cesa-Bianchi et al. 2005"
    record: ClassVar[Any] = SOPRecord
    loss_name: ClassVar[str] = "perceptron"


@step.register(SOPRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, heard, v = hear(record, state, scratch, x, target, weight, scores)
    if heard:
        b = 1.0 / (v + 1.0 / weight)
        for k in range(g.shape[0]):
            scratch.c[k] = -b * (np.float64(g[k]) + np.float64(scores[k]))
        if not learn_confidently(state, scratch, b):
            return np.nan
    if np.isfinite(loss):
        state.t[()] += 1
    return loss
