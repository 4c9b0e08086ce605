"""AROW: adaptive regularisation of weights on random features, least squares that hears only rows with a small margin.

Crammer, Kulesza, Dredze: Adaptive Regularization of Weight Vectors (2009), Fig. 1.

    where m < 1:  b = 1 / (z'Sz + r),  W <- W + (1 - m) b y (Sz)',  S <- S - b (Sz)(Sz)'

Remarks. The paper begins with S = 1; only the ratio of S to r matters, and here S begins with 1 / r and r is 1, so that
r is a regularization as ridge has it: S^-1 = r + sum z z' over the rows that were heard. With several classes m is the
margin to the best other class, both outputs move by (1 - m) / (2 z'Sz + r), and S, which all outputs share, takes the
row in once (the paper is about two classes). A regression of this kind would be ridge.

Symbols: r regularization, S Sigma, D n_components.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import step
from ..losses import LossRecord
from ._confidence import Regularised, hear, learn_confidently
from ._features import on_features


@on_features
class AROWRecord(NamedTuple):
    lift: Any
    loss: LossRecord


@dataclass
class AROW(Regularised):
    """regularization: r, how much a row is told against what is known; z'z estimates k(x, x)."""

    regularization: float = 0.3

    name: ClassVar[str] = "arow"
    paper: ClassVar[str] = "Crammer et al. 2009"
    record: ClassVar[Any] = AROWRecord
    loss_name: ClassVar[str] = "hinge"


@step.register(AROWRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, heard, v = hear(record, state, scratch, x, target, weight, scores)
    if heard:
        outputs, r = 0.0, 1.0 / weight
        for k in range(g.shape[0]):
            outputs += np.float64(g[k]) * np.float64(g[k])
        for k in range(g.shape[0]):
            scratch.c[k] = -loss * np.float64(g[k]) / (outputs * v + r)
        if not learn_confidently(state, scratch, 1.0 / (v + r)):
            return np.nan
    if np.isfinite(loss):
        state.t[()] += 1
    return loss
