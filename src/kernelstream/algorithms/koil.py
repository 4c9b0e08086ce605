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
cod-rna, where no class is rare, worse (`benchmarks/imbalance.py`); the defaults were chosen on these sets.

Symbols: 2 N budget, k n_neighbours, eta learning_rate, lambda regularization, b bias, f(s) values.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, common, evaluate, step
from ..engine.state import Limits, ModelFileError, tally
from ..kernels import KernelRecord
from ..losses import too_long
from ..numerics import expansion, rng
from ..numerics.budgets import first_largest, random_slot
from ..numerics.compile import inlined, reduction
from ..numerics.expansion import Expansion, KernelRow, dot
from ..numerics.gram import gram_matrix
from ..numerics.neighbours import room_for_gram, write_point
from ..numerics.projection import projected
from ..parameters import at_least, one_of, positive, whole
from ..tasks import BINARY
from ._expansion import ExpansionAlgorithm


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
    near: np.ndarray  # (k,) slots of V, the nearest first
    keys: np.ndarray  # (budget,) kernel values of points that are candidates


@dataclass
class KOIL(ExpansionAlgorithm):
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
        near, keys = np.zeros(self.n_neighbours, np.int64), np.zeros(self.budget, shape.dtype)
        return KOILScratch(shared, expansion.kernel_row(state.f), near, keys)

    def limits(self, state: KOILState) -> Limits:
        most, room = self.budget - 1, self.half
        own = {"side": (-1.0, 1.0), "slots": (0, most), "sizes": (0, room), "oldest": (0, room - 1)}
        return {**super().limits(state), **own}

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> KOILState:
        state: KOILState = super().restore(arrays, shape)
        n = int(state.f.size)
        if not np.array_equal(state.gram[:n, :n], state.gram[:n, :n].T):
            raise ModelFileError("The file's array gram is not symmetric.")
        listed = [np.sort(slots[:size]) for slots, size in zip(state.slots, state.sizes, strict=True)]
        if not all(np.array_equal(slots, of) for slots, of in zip(listed, slots_of(state.side[:n]), strict=True)):
            raise ModelFileError("The file's array slots is not a list of its points of each class.")
        if sum(map(len, listed)) != n:
            raise ModelFileError("The file's array side has points of neither class.")
        return state

    def attributes(self, state: KOILState) -> dict[str, Any]:
        """bias: b, which is added to f."""
        return {**super().attributes(state), "bias": float(state.bias)}

    def merge(
        self, record: Any, state: KOILState, other: KOILState, weight: float, since: KOILState | None = None
    ) -> KOILState:
        """Coefficients and b are averaged; a class that has too many points is projected on those of its own that tell
        most. The other's points count as younger.
        """
        n, m = int(state.f.size), int(other.f.size)
        joined = expansion.append(state.f, other.f, weight)
        size, places = int(joined.size), expansion.places_of(state.f, other.f)
        dual, side = np.zeros(size), np.zeros(size)
        side[places] = other.side[:m]
        dual[:n], side[:n] = (1.0 - weight) * state.dual[:n], state.side[:n]
        np.add.at(dual, places, weight * other.dual[:m])
        joined.coef[0, :size] = dual
        if max(map(len, slots_of(side))) > self.half:
            classes = (expansion.taken(joined, slots, size) for slots in slots_of(side))
            below, above = (projected(self.kernel, one, self.half, self.budget) for one in classes)
            fewer = expansion.append(below, above, 1.0)
            kept = expansion.places_of(joined, fewer)
            joined, dual = fewer, fewer.coef[0, : len(kept)].astype(np.float64)
            side, size = side[kept], len(kept)
        bias = np.asarray((1.0 - weight) * state.bias + weight * other.bias)
        merged = self.init(Shape(len(joined.points), 1, 0, joined.points.dtype))
        merged = merged._replace(f=self.reduced(joined), bias=bias, generator=state.generator.copy())
        merged.dual[:size], merged.side[:size] = dual, side
        for c, slots in enumerate(slots_of(side)):
            merged.slots[c, : len(slots)], merged.sizes[c] = slots, len(slots)
        merged.gram[:size, :size] = gram_matrix(self.kernel, merged.f)
        merged.values[:size] = merged.gram[:size, :size].astype(np.float64) @ dual
        return merged._replace(**tally(state, other, since, "t", "seen"))


def slots_of(side: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slots of the points of each class."""
    return np.flatnonzero(side == -1.0), np.flatnonzero(side == 1.0)


@evaluate.register(KOILRecord)
def _(record, state, scratch, x, scores):
    expansion.evaluate(record.kernel, state.f, x, scratch.row, scores)
    scores[0] += state.bias[()]


@inlined
def find_pairs(state, here, y, row, scratch):
    """Write V into `near`; return how many there are and what they lose together."""
    near, keys, n = scratch.near, scratch.keys, state.f.size[()]
    most, count, loss, none = near.shape[0], 0, 0.0, row.dtype.type(-np.inf)
    side, values, ahead = state.side, state.values, y * here - 1.0
    for s in range(n):
        keys[s] = row[s] if (side[s] * y < 0.0) & (y * values[s] > ahead) else none
    least = none
    for s in range(n):
        if keys[s] > least:
            count = min(count + 1, most)
            p = count - 1
            while p > 0 and keys[near[p - 1]] < keys[s]:
                near[p] = near[p - 1]
                p -= 1
            near[p] = s
            least = keys[near[most - 1]] if count == most else none
    for p in range(count):
        loss += y * values[near[p]] - ahead
    return count, loss


@inlined
def change(state, s, by):
    """Add `by` to the coefficient of point s."""
    row = state.gram[s]
    state.dual[s] += by
    for i in range(state.f.size[()]):
        state.values[i] += by * np.float64(row[i])


@inlined
def change_all(state, slots, count, by):
    """The same for the first of some slots, four in one pass."""
    p, n, values = 0, state.f.size[()], state.values
    while p + 4 <= count:
        a, b, c, e = slots[p], slots[p + 1], slots[p + 2], slots[p + 3]
        for s in (a, b, c, e):
            state.dual[s] += by
        ka, kb, kc, ke = state.gram[a], state.gram[b], state.gram[c], state.gram[e]
        for i in range(n):
            values[i] += by * ((np.float64(ka[i]) + np.float64(kb[i])) + (np.float64(kc[i]) + np.float64(ke[i])))
        p += 4
    while p < count:
        change(state, slots[p], by)
        p += 1


@inlined
def most_like(state, y, row, r, at_r, keys):
    """The slot of the point of class y with the largest of the kernel values in row, `at_r` for slot r; the lowest of
    equals.
    """
    n, none = state.f.size[()], row.dtype.type(-np.inf)
    for s in range(n):
        keys[s] = row[s] if state.side[s] * y > 0.0 else none
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
def write(record, state, r, x, y, coefficient, scratch):
    """Make x point r, whose coefficient is 0."""
    f, row, g = state.f, scratch.row, scratch.common.slope
    own = expansion.own_value(record.kernel, x, row)
    expansion.put(record.kernel, f, r, x, 0.0, g, row)
    n = f.size[()]
    write_point(state.gram, n, r, row.values, own)
    state.dual[r], state.side[r] = 0.0, y
    state.values[r] = dot(state.dual[:n], state.gram[r, :n])
    change(state, r, coefficient)


@inlined
def add_row(record, state, x, y, coefficient, scratch):
    """Take x with a coefficient into its class, and hand the coefficient of what makes room to the point most like
    it.
    """
    row, c, n = scratch.row.values, 1 if y > 0.0 else 0, state.f.size[()]
    if state.sizes[c] < record.half:
        state.slots[c, state.sizes[c]] = n
        state.sizes[c] += 1
        write(record, state, n, x, y, coefficient, scratch)
        return
    r = replaced(record, state, c)
    if r < 0:
        change(state, most_like(state, y, row, -1, row[0], scratch.keys), coefficient)
        return
    heir, handed = most_like(state, y, state.gram[r], r, row[r], scratch.keys), state.dual[r]
    change(state, r, -handed)
    write(record, state, r, x, y, coefficient, scratch)
    change(state, heir, handed)


@reduction
def total(a):
    result = a.dtype.type(0)
    for i in range(a.shape[0]):
        result += a[i]
    return result


@inlined
def find_threshold(state):
    """Set b halfway between the means of f over the points of each class, once there are both."""
    n, below, above = state.f.size[()], state.sizes[0], state.sizes[1]
    if below > 0 and above > 0:
        both, apart = total(state.values[:n]), dot(state.side[:n], state.values[:n])
        state.bias[()] = -0.25 * ((both + apart) / above + (both - apart) / below)


@step.register(KOILRecord)
def _(record, state, scratch, x, target, weight, scores):
    row, near, g = scratch.row.values, scratch.near, scratch.common.slope
    y, length, n = np.float64(target), record.learning_rate * weight, state.f.size[()]
    g[0] = 1
    if too_long(g, length * near.shape[0]):
        return np.nan
    state.t[()] += 1
    count, loss = find_pairs(state, dot(state.dual[:n], row[:n]), y, row, scratch)
    kept = 1.0 - record.learning_rate * record.regularization
    if kept < 1.0:
        for s in range(n):
            state.dual[s] *= kept
            state.values[s] *= kept
        state.bias[()] *= kept
    if weight > 0.0:
        state.seen[1 if y > 0.0 else 0] += 1
        change_all(state, near, count, -length * y)
        if count > 0 or state.sizes[0] == 0 or state.sizes[1] == 0:
            add_row(record, state, x, y, length * y * max(count, 1), scratch)
        find_threshold(state)
    coef = state.f.coef[0]
    for s in range(state.f.size[()]):
        coef[s] = state.dual[s]
    return loss
