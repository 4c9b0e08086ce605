"""FOGD: Fourier online gradient descent, a linear model on random Fourier features.

Lu, Hoi, Wang, Zhao, Liu: Large Scale Online Kernel Learning (2016), Alg. 1 (binary), 3 (multiclass), 5 (regression).

    z(x) = (sin u_1'x, ..., sin u_D'x, cos u_1'x, ..., cos u_D'x),  u ~ p(u), the kernel's spectrum (eq. 2)
    W <- (1 - eta lambda) W - eta l'(W'z(x), y) z(x)'

Remarks. The paper's z is not normalised: ||z||^2 = D, so a good step size falls with D. With normalize=True (the
default) z is divided by sqrt(D): z'z estimates the kernel and one step size serves every D and OGD alike. That is the
same as the paper's z with eta / D, and this is how it is computed. The paper's settings (eta 0.002, D = 400) need
normalize=False. The loss of Alg. 5 is r^2, and its threshold is on that: loss=Squared(half=False); ours is r^2 / 2, and
2 eta and epsilon / 2 give the same model. The paper interleaves sines and cosines; here the sines come first.
Frequencies are a function of (seed, feature, component): a feature that appears late gets the numbers it would have had
from the start.
map="structured" takes the frequencies from products of Hadamard matrices and random signs (`structured`) instead of
independent draws: for 256 features or more many times faster, and a map of a few kilobytes.
map="quasi" takes them from a Sobol sequence, which lies more evenly: the same cost, less error (`lifts.fourier.Quasi`).
map="binning" takes random boxes instead of waves (`lifts.binning`), for the Laplacian kernel: z has n_components ones
among 4096 times as many places, so that a step touches n_components numbers an output. Regularization touches all.

Symbols: D n_components, eta learning_rate, lambda regularization, epsilon threshold, u frequencies.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..engine import step
from ..numerics.lifts import descend_lifted
from ..numerics.linear import shrink
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._descent import Descent, DescentRecord, take_slope
from ._features import MAPS, Map, Mapped, on_features


@on_features
class FOGDRecord(NamedTuple):
    lift: Any
    descent: DescentRecord
    square: float  # 1 / ||z||^2 when normalised, else 1


@dataclass
class FOGD(Descent, Mapped):
    """Parameters of every gradient learner, and those of the features.

    n_components: how many frequencies are drawn; each gives a sine and a cosine. Of map="binning": how many tables.
    normalize: divide z by sqrt(n_components).
    map: "plain" (independent frequencies, any shift-invariant kernel), "quasi" (evenly spread ones, a single kernel),
        "structured" (Gaussian, Cauchy, Matern) or "binning" (Laplacian).
    """

    n_components: int = 1600
    normalize: bool = True
    map: str = "plain"

    name: ClassVar[str] = "fogd"
    paper: ClassVar[str] = "Lu et al. 2016"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = True
    maps: ClassVar[dict[str, Map]] = MAPS

    def lower(self, task: str, dtype: Any) -> FOGDRecord:
        square = 1.0 / self.n_components if self.normalize else 1.0
        return FOGDRecord(self.lift.record(dtype), self.descent(task, dtype), square)


@step.register(FOGDRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, eta, move = take_slope(record.descent, state.t, g, target, weight, scores)
    if record.descent.regularization > 0.0:
        shrink(state.weights, 1.0 - eta * record.descent.regularization)
    if move > 0.0:
        descend_lifted(record.lift, state.weights, move * record.square, g, scratch.lifted, x.place)
    return loss
