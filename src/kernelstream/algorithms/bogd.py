"""BOGD and BOGD++: online gradient descent on a budget, whose removals do not change the model on average.

Zhao, Wang, Wu, Jin, Hoi: Fast Bounded Online Gradient Descent Algorithms for Scalable Kernel-Based Online Learning
(2012), Alg. 1.

    f <- (1 - eta lambda) f - eta l'(f(x), y) k(x, .)
    to add to B terms: term j is drawn with probability p_j and dropped, the others become a_i / (1 - p_i)  (eq. 7, 10)
    then no a_i is above gamma eta (without a removal: the added one)                                      (eq. 3)

    uniform      p_i = 1 / B                                                                               (BOGD)
    nonuniform   p_i = 1 - s a_i sqrt(k(s_i, s_i)),  s = (B - 1) / sum_i a_i sqrt(k(s_i, s_i))  (BOGD++, eq. 15, 16)
    oldest       the oldest term is dropped, the others are not rescaled: f is biased but cannot grow      (LSOKL)

Remarks. The expectation over j of what remains is f, for any probabilities below 1. Eq. 16 is negative for a
coefficient larger than the mean of the others allows: such a term gets p_i = 0 (it stays, only shrunk) and the rest are
weighted among themselves, until none is negative. A coefficient of 0 gets p_i = 1, at no cost; several share it. A
budget of 1 has nothing to rescale. With several outputs a_i is the largest entry of the coefficient vector, which is
scaled as a whole: term i is kept as a_i u_i k(s_i, .), 1 the largest entry of u_i, and a removal costs O(B) however
many outputs there are. clipping="all" is what LSOKL's script does for binary tasks, where eq. 3 clips each coefficient:
all are scaled by the factor that the largest one needs. In regression what rescaling adds to the noise is as long as
the coefficients: gamma follows the deviation of the first targets where slopes do, and where they are bounded none is
above one step, without which BOGD errs as much as a constant on standardised abalone.

Symbols: B budget, eta learning_rate, lambda regularization, gamma largest, a sizes, u coef of f.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import Common, Shape, common, evaluate, step
from ..engine.state import Limits
from ..kernels import KernelRecord
from ..losses import Squared, as_loss, in_the_targets_unit
from ..numerics import expansion, rng
from ..numerics.budgets import PIECE, largest, oldest_slot, random_slot
from ..numerics.compile import compiled, inlined, reduction
from ..numerics.expansion import Expansion, KernelRow, dot
from ..numerics.gram import gram_matrix
from ..numerics.rows import Sample
from ..parameters import one_of, positive, whole
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._descent import Descent, DescentRecord, take_slope
from ._expansion import ExpansionAlgorithm

LARGEST = 10.0  # gamma by default, for slopes of about 1

NOTHING = 1e-290  # sizes that sum to less are all taken as 0: their inverse would not be finite
UNIFORM, NONUNIFORM, OLDEST = range(3)
SAMPLING = {"uniform": "bogd", "nonuniform": "bogd++", "oldest": "bogd"}  # in the order of the codes
CLIPPING = ("each", "all")


class BOGDRecord(NamedTuple):
    kernel: KernelRecord
    descent: DescentRecord
    largest: float  # gamma
    sampling: int
    clip_all: int


class BOGDState(NamedTuple):
    f: Expansion  # its coefficients are the u_i
    t: np.ndarray  # rounds so far, 0-d
    sizes: np.ndarray  # (capacity,) a_i
    own: np.ndarray  # (capacity,) sqrt(k(s_i, s_i)); kept for sampling="nonuniform"
    oldest: np.ndarray  # the slot that was filled first, 0-d; kept for sampling="oldest"
    generator: np.ndarray


class BOGDScratch(NamedTuple):
    common: Common
    row: KernelRow
    norms: np.ndarray  # (capacity,) a_i sqrt(k(s_i, s_i))
    chances: np.ndarray  # (capacity,) p_i


@dataclass
class BOGD(Descent, ExpansionAlgorithm):
    """budget: B, the most points that are kept.
    sampling: which term makes room: "nonuniform" (BOGD++), "uniform" (BOGD) or "oldest" (LSOKL's).
    largest: gamma, no coefficient is above gamma times the learning rate. "auto" is 10; for the squared loss
        times the deviation of the targets, if that is above 1; for the others of a regression with steps that are
        "auto" the largest slope.
    clipping: "each" coefficient that is, or "all" by the factor that the largest one needs.
    """

    budget: int = 800
    sampling: str = "nonuniform"
    largest: float | str = "auto"
    clipping: str = "each"

    paper: ClassVar[str] = "Zhao et al. 2012"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = True
    parent: ClassVar[str | None] = "ogd"

    @property
    def name(self) -> str:  # type: ignore[override]
        return SAMPLING[self.sampling]

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget)
        one_of(tuple(SAMPLING), sampling=self.sampling)
        one_of(CLIPPING, clipping=self.clipping)
        if self.largest != "auto":
            positive(largest=self.largest)

    @property
    def capacity(self) -> int:
        return self.budget

    def depends_on_data(self, task: str) -> bool:
        squared = isinstance(as_loss(self.named_loss(task)), Squared)
        return super().depends_on_data(task) or (self.largest == "auto" and squared)

    def settle(self, task: str, sample: Sample) -> Self:
        settled = super().settle(task, sample)
        if self.largest != "auto":
            return settled
        loss, largest = as_loss(settled.loss), LARGEST
        if isinstance(loss, Squared):
            largest *= max(1.0, loss.steepness(sample.deviation))
        elif in_the_targets_unit(loss) and self.learning_rate == "auto":
            largest = loss.steepness(sample.deviation)
        return replace(settled, largest=largest)

    def lower(self, task: str, dtype: Any) -> BOGDRecord:
        codes = tuple(SAMPLING).index(self.sampling), int(self.clipping == "all")
        return BOGDRecord(self.kernel.lower(dtype), self.descent(task, dtype), float(self.largest), *codes)

    def init(self, shape: Shape) -> BOGDState:
        f, t = super().init(shape)
        sizes, own = np.zeros(self.budget, shape.dtype), np.zeros(self.budget)
        return BOGDState(f, t, sizes, own, np.zeros((), np.int64), rng.generator(shape.seed))

    def limits(self, state: BOGDState) -> Limits:
        sizes = (0.0, math.inf)
        return {**super().limits(state), "oldest": (0, self.budget - 1), "sizes": sizes, "own": sizes}

    def scratch(self, state: BOGDState, shape: Shape) -> BOGDScratch:
        shared = common(shape.width, shape.n_outputs, shape.dtype)
        return BOGDScratch(shared, expansion.kernel_row(state.f), np.zeros(self.budget), np.zeros(self.budget))

    def written_out(self, state: BOGDState) -> BOGDState:
        f = state.f._replace(coef=(state.f.coef * state.sizes).astype(state.f.coef.dtype))
        return state._replace(f=f, sizes=np.ones_like(state.sizes))

    def merge(
        self, record: Any, state: BOGDState, other: BOGDState, weight: float, since: BOGDState | None = None
    ) -> BOGDState:
        """Coefficients above gamma eta, which a projection may have, are clipped by the next removal."""
        merged: BOGDState = super().merge(record, state, other, weight, since)
        f, n = merged.f, int(merged.f.size)
        sizes, own = np.zeros_like(state.sizes), np.zeros_like(state.own)
        sizes[:n] = np.abs(f.coef[:, :n]).max(axis=0)
        f.coef[:, :n] /= np.where(sizes[:n] > 0.0, sizes[:n], 1.0)
        own[:n] = np.sqrt(np.abs(np.diag(gram_matrix(self.kernel, f))))
        return merged._replace(sizes=sizes, own=own, oldest=np.zeros_like(state.oldest))


@reduction
def count_and_total(sizes, chances, n):
    """Number of the terms that have a chance, and the sum of their sizes."""
    count = 0
    total = 0.0
    for i in range(n):
        size, some = sizes[i], chances[i] > 0.0  # read whatever the chance is, for vector instructions
        count += some
        total += size if some else 0.0
    return count, total


@compiled
def find_chances(sizes, chances, n):
    """Write p_i of eq. 16 into `chances`; terms for which it is negative get 0, the rest are weighted among themselves.

    Ensures: 0 <= p_i <= 1, sum p_i = 1, and p_i < 1 unless sizes_i = 0 (or n = 1).
    """
    for i in range(n):
        chances[i] = 1.0
    again = True
    while again:
        count, total = count_and_total(sizes, chances, n)
        some = total > NOTHING
        rest = 1.0 if some else 1.0 / max(count, 1)
        scale = (count - 1) / total if some else 0.0
        negative = 0
        for i in range(n):
            chance = rest - scale * sizes[i]
            positive = chances[i] > 0.0 and chance > 0.0
            negative += not positive
            chances[i] = chance if positive else 0.0
        again = negative > n - count


@compiled
def draw_slot(generator, chances, n):
    """A slot drawn with these probabilities; one of positive probability whatever rounding does."""
    u = rng.draw(generator)
    slot = -1
    for lo in range(0, n, PIECE):
        piece = chances[lo : min(lo + PIECE, n)]
        share = total_of(piece)
        if u > share:
            u -= share
            continue
        for i in range(piece.shape[0]):
            if piece[i] > 0.0:
                slot = lo + i
                u -= piece[i]
                if u < 0.0:
                    return slot
    while slot < 0 and n > 1:
        n -= 1
        slot = n if chances[n] > 0.0 else -1
    return max(slot, 0)


@reduction
def total_of(values):
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i]
    return total


@inlined
def multiply(sizes, n, factor):
    """Multiply all sizes, in their precision."""
    factor = sizes.dtype.type(factor)
    for i in range(n):
        sizes[i] *= factor


@inlined
def clip(sizes, n, top, clip_all):
    """Let no size be above `top`: those that are become it, or all are multiplied by one factor. Return the factor, 1
    where each is clipped by itself.
    """
    factor = 1.0
    if clip_all == 1:
        factor = min(1.0, top / np.float64(largest(sizes, n)))
        multiply(sizes, n, factor)
    limit = sizes.dtype.type(top)
    for i in range(n):
        sizes[i] = min(sizes[i], limit)
    return factor


@evaluate.register(BOGDRecord)
def _(record, state, scratch, x, scores):
    f, values, sizes = state.f, scratch.row.values, state.sizes
    n = f.size[()]
    expansion.find_values(record.kernel, f, x, scratch.row)
    for i in range(n):
        values[i] *= sizes[i]
    for k in range(scores.shape[0]):
        scores[k] = dot(f.coef[k, :n], values[:n])


@step.register(BOGDRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, kernel, sizes = state.f, record.kernel, state.sizes
    loss, eta, move = take_slope(record.descent, state.t, g, target, weight, scores)
    shrink, top = 1.0 - eta * record.descent.regularization, record.largest * eta
    n = f.size[()]
    slot = n
    if move > 0.0 and expansion.full(f):
        if record.sampling == NONUNIFORM:
            norms, chances = scratch.norms, scratch.chances
            for i in range(n):
                norms[i] = sizes[i] * state.own[i]
            find_chances(norms, chances, n)
            slot = draw_slot(state.generator, chances, n)
            chances[slot] = 0.0  # it is replaced below, whatever it is multiplied by
            for i in range(n):
                sizes[i] *= shrink / (1.0 - chances[i])
        else:
            uniform = record.sampling == UNIFORM
            slot = random_slot(state.generator, n) if uniform else oldest_slot(state.oldest, n)
            multiply(sizes, n, shrink / (1.0 - 1.0 / n) if uniform and n > 1 else shrink)
        sizes[slot] = 0
        move *= clip(sizes, n, top, record.clip_all)
    elif shrink < 1.0:
        multiply(sizes, n, shrink)
    if move > 0.0:
        size = 0.0
        for k in range(g.shape[0]):
            size = max(size, abs(np.float64(g[k])))
        for k in range(g.shape[0]):
            g[k] /= size
        expansion.put(kernel, f, slot, x, -1.0, g, scratch.row)
        sizes[slot] = min(move * size, top)
        if record.sampling == NONUNIFORM:
            state.own[slot] = math.sqrt(abs(expansion.own_value(kernel, x, scratch.row)))
    return loss
