"""KOIL: kernelized online imbalanced learning, pairs of rows of both classes on two budgets of points.

Hu, Yang, King, Lyu, So: Kernelized Online Imbalanced Learning with Fixed Budgets (2015).

A row (x, y) is compared with the stored points s of the other class; V are the k nearest of those that it is not ahead
of by a margin, 1 - y (f(x) - f(s)) > 0:

    f <- (1 - eta lambda) f + eta y sum_{s in V} (k(x, .) - k(s, .))

A class has room for N points. In a full one x replaces a point r, and r's coefficient goes to the point most like it of
that class: the compensation of RS++ and FIFO++. Either r is the oldest (FIFO++), or x is taken with probability N over
the rows of its class so far, as in a reservoir, and r drawn at random (RS++); where x is not taken, its own coefficient
goes to the point most like it.

Remarks. The paper has steps eta C and shrinks by 1 - eta: here learning_rate is eta C, regularization 1 / C, and 0 does
not shrink. From the authors' program are: the nearest are looked for among the points that x is not ahead of; a row
without such a pair is not stored; rows are, with one step, while there is no point of their class or of the other.
Pairs are ranked, not told apart, so for labels a threshold is added, halfway between the means of f over the stored
points of each class (the program's divides its stored points best). f at the stored points and their Gram matrix are
kept: a step costs k / 4 and a few passes over them. A sample weight multiplies the step. Two classes only.
On w8a and the rarest classes of shuttle it ranks better than opauc, fogd and ridge, on satimage as well as the best, on
cod-rna, where no class is rare, worse (`benchmarks/imbalance.py`); the defaults were chosen on these sets. For
mistakes it is not meant: koil is on no front of docs/choosing.md.

Symbols: 2 N budget, k n_neighbours, eta learning_rate, lambda regularization, b bias, f(s) values.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, common, step
from ..engine.state import Limits, ModelFileError, tally
from ..kernels import KernelRecord
from ..losses import too_long
from ..numerics import expansion, rng
from ..numerics.budgets import first_largest, random_slot
from ..numerics.compile import inlined, reduction
from ..numerics.expansion import Expansion, KernelRow, dot
from ..numerics.gram import add_rows, gram_matrix
from ..numerics.neighbours import room_for_gram, write_point
from ..numerics.projection import projected
from ..numerics.selection import Selection, find_largest, room_to_select
from ..parameters import at_least, one_of, positive, whole
from ..tasks import BINARY
from ._dual import DualAlgorithm, biased_record, joined, mean_bias


@biased_record
class KOILRecord(NamedTuple):
    kernel: KernelRecord
    learning_rate: float
    regularization: float
    n_neighbours: int
    half: int  # N
    oldest: int  # 1 when the oldest point is replaced


class KOILState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    dual: np.ndarray  # (budget,) the coefficients, in float64
    side: np.ndarray  # (budget,) y of each point
    values: np.ndarray  # (budget,) f at each point
    slots: np.ndarray  # (2, N) those of each class, the negative first
    sizes: np.ndarray  # (2,) how many those are
    oldest: np.ndarray  # (2,) which of them was filled first
    seen: np.ndarray  # (2,) rows of each class
    bias: np.ndarray  # b, 0-d
    gram: np.ndarray  # Gram matrix of the points, in their precision
    generator: np.ndarray


class KOILScratch(NamedTuple):
    common: Common
    row: KernelRow
    select: Selection  # of V, and of a point most like another
    slots: np.ndarray  # (k + 1,) points whose coefficients change
    shares: np.ndarray  # (k + 1,) by how much


@dataclass
class KOIL(DualAlgorithm):
    """budget: the most points that are kept, half of them of each class.
    n_neighbours: k, how many points of the other class a row is paired with.
    learning_rate: eta, the length of a step with one of them.
    regularization: lambda, which shrinks f each round.
    replacement: what makes room in a full class: "reservoir", a point at random for some of the rows, or "oldest".
    """

    budget: int = 800
    n_neighbours: int = 20
    learning_rate: float = 0.05
    regularization: float = 0.003
    replacement: str = "reservoir"

    name: ClassVar[str] = "koil"
    paper: ClassVar[str] = "Hu et al. 2015"
    tasks: ClassVar[tuple[str, ...]] = (BINARY,)
    bounded: ClassVar[bool] = True

    def check(self) -> None:
        super().check()
        whole(2, budget=self.budget)
        whole(1, n_neighbours=self.n_neighbours)
        positive(learning_rate=self.learning_rate)
        at_least(0.0, regularization=self.regularization)
        one_of(("reservoir", "oldest"), replacement=self.replacement)

    @property
    def capacity(self) -> int:
        return self.budget

    @property
    def half(self) -> int:
        """N, the room of a class."""
        return self.budget // 2

    def losses(self, task: str) -> tuple[str, ...]:
        return ("hinge",)

    def lower(self, task: str, dtype: Any) -> KOILRecord:
        numbers = float(self.learning_rate), float(self.regularization), int(self.n_neighbours), self.half
        return KOILRecord(self.kernel.lower(dtype), *numbers, int(self.replacement == "oldest"))

    def init(self, shape: Shape) -> KOILState:
        f, t = super().init(shape)
        dual, side, values = (np.zeros(self.budget) for _ in range(3))
        sizes, oldest, seen = (np.zeros(2, np.int64) for _ in range(3))
        slots, gram = np.zeros((2, self.half), np.int64), room_for_gram(self.budget, shape.dtype)
        generator = rng.generator(shape.seed)
        return KOILState(f, t, dual, side, values, slots, sizes, oldest, seen, np.zeros(()), gram, generator)

    def scratch(self, state: KOILState, shape: Shape) -> KOILScratch:
        shared = common(shape.width, shape.n_outputs, shape.dtype)
        slots, shares = np.zeros(self.n_neighbours + 1, np.int64), np.zeros(self.n_neighbours + 1)
        select = room_to_select(self.budget, shape.dtype)
        return KOILScratch(shared, expansion.kernel_row(state.f), select, slots, shares)

    def limits(self, state: KOILState) -> Limits:
        most, room = self.budget - 1, self.half
        own = {"side": (-1.0, 1.0), "slots": (0, most), "sizes": (0, room), "oldest": (0, room - 1)}
        return {**super().limits(state), **own}

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> KOILState:
        state: KOILState = super().restore(arrays, shape)
        n = int(state.f.size)
        listed = [np.sort(slots[:size]) for slots, size in zip(state.slots, state.sizes, strict=True)]
        if not all(np.array_equal(slots, of) for slots, of in zip(listed, slots_of(state.side[:n]), strict=True)):
            raise ModelFileError("The file's array slots is not a list of its points of each class.")
        if sum(map(len, listed)) != n:
            raise ModelFileError("The file's array side has points of neither class.")
        return state

    def merge(
        self, record: Any, state: KOILState, other: KOILState, weight: float, since: KOILState | None = None
    ) -> KOILState:
        """Coefficients and b are averaged; a class that has too many points is projected on those of its own that tell
        most. The other's points count as younger.
        """
        f, dual, places = joined(state, other, weight)
        n, size = int(state.f.size), len(dual)
        side = np.zeros(size)
        side[places] = other.side[: len(places)]
        side[:n] = state.side[:n]
        f.coef[0, :size] = dual
        if max(map(len, slots_of(side))) > self.half:
            classes = (expansion.taken(f, slots, size) for slots in slots_of(side))
            below, above = (projected(self.kernel, one, self.half, self.budget) for one in classes)
            fewer = expansion.append(below, above, 1.0)
            kept = expansion.places_of(f, fewer)
            f, dual = fewer, fewer.coef[0, : len(kept)].astype(np.float64)
            side, size = side[kept], len(kept)
        merged = self.init(Shape(len(f.points), 1, 0, f.points.dtype))
        bias, generator = mean_bias(state, other, weight), state.generator.copy()
        merged = merged._replace(f=self.reduced(f), bias=bias, generator=generator)
        merged.dual[:size], merged.side[:size] = dual, side
        for c, slots in enumerate(slots_of(side)):
            merged.slots[c, : len(slots)], merged.sizes[c] = slots, len(slots)
        merged.gram[:size, :size] = gram_matrix(self.kernel, merged.f)
        merged.values[:size] = merged.gram[:size, :size].astype(np.float64) @ dual
        return merged._replace(**tally(state, other, since, "t", "seen"))


def slots_of(side: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slots of the points of each class."""
    return np.flatnonzero(side == -1.0), np.flatnonzero(side == 1.0)


@inlined
def find_pairs(state, here, y, row, select, most):
    """Write V into select.search.places; return how many there are and what they lose together."""
    keys, n, none = select.keys, state.f.size[()], row.dtype.type(-np.inf)
    side, values, ahead, some = state.side, state.values, y * here - 1.0, np.int32(0)
    for s in range(n):
        behind = (side[s] != y) & (y * values[s] > ahead)
        keys[s] = row[s] if behind else none
        some = np.int32(some + np.int32(behind))
    if some == 0:
        return 0, 0.0
    count, loss, near = find_largest(select, n, most), 0.0, select.search.places
    for p in range(count):
        loss += y * values[near[p]] - ahead
    return count, loss


@inlined
def most_like(state, y, row, r, at_r, keys):
    """The slot of the point of class y with the largest of the kernel values in row, `at_r` for slot r; the lowest of
    equals.
    """
    n, none = state.f.size[()], row.dtype.type(-np.inf)
    for s in range(n):
        keys[s] = row[s] if state.side[s] == y else none
    if r >= 0:
        keys[r] = at_r
    return first_largest(keys, n)


@inlined
def replaced(record, state, c):
    """The slot of the point of a full class that makes room, -1 if the row is not to be stored."""
    n = state.sizes[c]
    if record.oldest == 1:
        place = state.oldest[c]
        state.oldest[c] = (place + 1) % n
        return state.slots[c, place]
    if not rng.draw(state.generator) < n / np.float64(state.seen[c]):
        return -1
    return state.slots[c, random_slot(state.generator, n)]


@inlined
def change(state, slots, shares, count):
    """Add shares to the coefficients of the points in some slots."""
    dual, coef = state.dual, state.f.coef[0]
    for p in range(count):
        dual[slots[p]] += shares[p]
        coef[slots[p]] = dual[slots[p]]
    add_rows(state.gram, state.f.size[()], slots, shares, count, state.values)


@inlined
def write(record, state, r, x, y, here, scratch):
    """Make x point r, whose coefficient is 0, and where f is `here`."""
    row, g = scratch.row, scratch.common.slope
    own = expansion.own_value(record.kernel, x, row)
    expansion.put(record.kernel, state.f, r, x, 0.0, g, row)
    write_point(state.gram, state.f.size[()], r, row.values, own)
    state.dual[r], state.side[r], state.values[r] = 0.0, y, here


@inlined
def learn_pairs(record, state, x, y, length, count, here, scratch):
    """A step along each of the pairs in select.search.places: x, where f is `here`, becomes a point of its class, and
    the coefficient of what makes room, or its own, goes to the point most like it.
    """
    row, near, keys = scratch.row.values, scratch.select.search.places, scratch.select.keys
    slots, shares, c, r, heir, handed = scratch.slots, scratch.shares, 1 if y > 0.0 else 0, state.f.size[()], -1, 0.0
    own = length * max(count, 1)
    for p in range(count):
        slots[p], shares[p] = near[p], -length
        here -= length * np.float64(row[near[p]])
    if state.sizes[c] < record.half:
        state.slots[c, state.sizes[c]] = r
        state.sizes[c] += 1
    else:
        r = replaced(record, state, c)
        if r < 0:
            slots[count], shares[count] = most_like(state, y, row, -1, row[0], keys), own
        else:
            heir, handed = most_like(state, y, state.gram[r], r, row[r], keys), state.dual[r]
            slots[count], shares[count] = r, -handed
            here -= handed * np.float64(row[r])
        count += 1
    change(state, slots, shares, count)
    if r >= 0:
        write(record, state, r, x, y, here, scratch)
        slots[0], shares[0], slots[1], shares[1] = r, own, heir, handed
        change(state, slots, shares, 1 if heir < 0 else 2)


@inlined
def shrink(state, kept):
    """f = kept * f."""
    dual, values, coef = state.dual, state.values, state.f.coef[0]
    for s in range(state.f.size[()]):
        dual[s] *= kept
        values[s] *= kept
        coef[s] = dual[s]
    state.bias[()] *= kept


@reduction
def sums(side, values):
    """The sum of the values, and of side_s values_s."""
    both = apart = 0.0
    for s in range(values.shape[0]):
        both += values[s]
        apart += side[s] * values[s]
    return both, apart


@inlined
def find_threshold(state):
    """Set b halfway between the means of f over the points of each class, once there are both."""
    n, below, above = state.f.size[()], state.sizes[0], state.sizes[1]
    if below > 0 and above > 0:
        both, apart = sums(state.side[:n], state.values[:n])
        state.bias[()] = -0.25 * ((both + apart) / above + (both - apart) / below)


@step.register(KOILRecord)
def _(record, state, scratch, x, target, weight, scores):
    row, g, n = scratch.row.values, scratch.common.slope, state.f.size[()]
    y, length = np.float64(target), record.learning_rate * weight
    g[0] = 1
    if too_long(g, length * record.n_neighbours):
        return np.nan
    state.t[()] += 1
    here = dot(state.dual[:n], row[:n])
    count, loss = find_pairs(state, here, y, row, scratch.select, record.n_neighbours)
    kept = 1.0 - record.learning_rate * record.regularization
    if kept < 1.0:
        shrink(state, kept)
    if weight > 0.0:
        state.seen[1 if y > 0.0 else 0] += 1
        if count > 0 or state.sizes[0] == 0 or state.sizes[1] == 0:
            learn_pairs(record, state, x, y, length * y, count, kept * here, scratch)
            find_threshold(state)
    return loss
