"""KNLMS and KAPA: affine projection onto the last p rows, in coefficients of points that are far enough apart.

Richard, Bermudez, Honeine: Online Prediction of Time Series Data With Kernels (2009), sec. IV: KAP, and KNLMS where
p = 1. Liu, Principe: Kernel Affine Projection Algorithms (2008): KAPA-2, on all rows.

    x becomes a point where  max_j |k(x_j, x)| / (k(x_j, x_j) k(x, x))^(1/2) <= mu_0        (coherence)
    H the kernel values of the last p rows at the points, d their targets
    alpha <- alpha + eta H'(epsilon + H H')^-1 (d - H alpha)

Remarks. With p = 1 this is alpha + eta e h / (epsilon + h'h). The paper's kernels have k(x, x) = 1; others are divided
by it. Points of a coherence below 1 are finitely many on a bounded domain, but may be very many: once the budget is
full none is added; budget=None is the paper's. epsilon is at least 1e-10 of the largest h'h, so that equal rows do no
harm. A weight below 1 multiplies the step of its row, one above 1 makes good what so many
steps would; a row of weight 0 is not one of the last p. It moves along the
coefficients and not along the function, which takes long where points are near each other: on four of the five
streams of docs/theory/recursive.md it is behind qklms in one pass, with a fraction of its points, and kapa is on no
front of docs/choosing.md. Merged models are sums of functions, whose
points may be nearer to each other than mu_0; the last rows are one side's.

Symbols: eta learning_rate, epsilon regularization, p rows, mu_0 coherence.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, common, step
from ..engine.state import Limits, prefixed
from ..kernels import DOT, EVALUATED, POSITIVE_DEFINITE, KernelRecord, Need
from ..losses import slope
from ..numerics import expansion
from ..numerics.budgets import largest, largest_size
from ..numerics.compile import compiled, inlined
from ..numerics.expansion import Expansion, KernelRow, dot
from ..numerics.gram import cross_matrix
from ..numerics.rows import MOST_DOUBLE, MOST_SINGLE
from ..parameters import at_least, positive, whole
from ._expansion import Budgeted, ExpansionAlgorithm, ask_for_room, expansion_record
from ._squares import SquaredErrors, SquaresRecord, step_of, to_say

LEAST_RIDGE = 1e-10


@expansion_record
class KAPARecord(NamedTuple):
    kernel: KernelRecord
    squares: SquaresRecord
    learning_rate: float
    regularization: float
    coherence: float
    most: int  # points, 0 for any number


class KAPAState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    last: Expansion  # the last p rows, with their targets for coefficients
    H: np.ndarray  # (p, room) kernel values of the last rows at the points
    oldest: np.ndarray  # the place of the last rows that is filled next, 0-d


class KAPAScratch(NamedTuple):
    common: Common
    row: KernelRow
    among: KernelRow  # of the last rows
    values: np.ndarray  # (room,) kernel values in float64
    column: np.ndarray  # (p,) kernel values of the last rows and x
    G: np.ndarray  # (p, p) epsilon + H H', then its factor
    sizes: np.ndarray  # (p,)
    shares: np.ndarray  # (K, p)


@dataclass
class KAPA(Budgeted, SquaredErrors):
    """rows: p, how many of the last rows a step makes good together; 1 is KNLMS.
    learning_rate: eta, the share of their errors that is made good, below 2.
    regularization: epsilon, beside the squared kernel values.
    coherence: mu_0, how much a row may have in common with a point and become one, from 0 to 1.
    budget: the most points that are kept; None keeps all.
    """

    rows: int = 4
    learning_rate: float = 0.2
    regularization: float = 1.0
    coherence: float = 0.7
    budget: int | None = 800

    paper: ClassVar[str] = "Richard, Bermudez, Honeine 2009"
    needs: ClassVar[tuple[Need, ...]] = (EVALUATED, POSITIVE_DEFINITE)

    @property
    def name(self) -> str:  # type: ignore[override]
        return "knlms" if self.rows == 1 else "kapa"

    def check(self) -> None:
        super().check()
        whole(1, rows=self.rows)
        positive(learning_rate=self.learning_rate)
        at_least(0.0, regularization=self.regularization, coherence=self.coherence)
        if self.learning_rate >= 2.0:
            raise ValueError(
                f"learning_rate={self.learning_rate!r} must be below 2: it is the share of an error that is made good, "
                "and from 2 on each step leaves more of it than there was."
            )
        if self.coherence > 1.0:
            raise ValueError(f"coherence={self.coherence!r} must be at most 1, what a row has in common with itself.")

    def lower(self, task: str, dtype: Any) -> KAPARecord:
        kernel, squares = self.kernel.lower(dtype), self.squares(task, dtype)
        numbers = float(self.learning_rate), float(self.regularization), float(self.coherence)
        return KAPARecord(kernel, squares, *numbers, self.budget or 0)

    def init(self, shape: Shape) -> KAPAState:
        f, t = super().init(shape)
        last = expansion.empty(shape.width, self.rows, shape.n_outputs, shape.dtype)
        return KAPAState(f, t, last, np.zeros((self.rows, f.points.shape[1])), np.zeros((), np.int64))

    def scratch(self, state: KAPAState, shape: Shape) -> KAPAScratch:
        K, p, room = shape.n_outputs, self.rows, state.f.points.shape[1]
        rows = expansion.kernel_row(state.f), expansion.kernel_row(state.last)
        shared = common(shape.width, K, shape.dtype)
        return KAPAScratch(shared, *rows, np.zeros(room), np.zeros(p), np.zeros((p, p)), np.zeros(p), np.zeros((K, p)))

    def with_room(self, state: KAPAState, capacity: int) -> KAPAState:
        larger: KAPAState = super().with_room(state, capacity)
        more = larger.f.points.shape[1] - state.H.shape[1]
        return larger._replace(H=np.pad(state.H, [(0, 0), (0, more)]))

    def grow(self, state: KAPAState, shape: Shape) -> KAPAState:
        larger: KAPAState = super().grow(state, shape)
        last = expansion.resized(state.last, n_features=shape.width, n_outputs=shape.n_outputs)
        return larger._replace(last=last)

    def outline(self, shape: Shape) -> dict[str, tuple[int | None, ...]]:
        return {**super().outline(shape), "last.points": (shape.width, self.rows)}

    def limits(self, state: KAPAState) -> Limits:
        own = prefixed("last", expansion.limits(self.rows))
        return {**super().limits(state), **own, "oldest": (0, self.rows - 1)}

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> KAPAState:
        state: KAPAState = super().restore(arrays, shape)
        expansion.list_all(state.last)
        return state

    def merge(
        self, record: Any, state: KAPAState, other: KAPAState, weight: float, since: KAPAState | None = None
    ) -> KAPAState:
        merged: KAPAState = ExpansionAlgorithm.merge(self, record, state, other, weight, since)
        n, m, room = int(merged.f.size), int(state.last.size), merged.f.points.shape[1]
        H = np.zeros((self.rows, room))
        H[:m, :n] = cross_matrix(self.kernel, state.last, merged.f)
        return merged._replace(H=H)


@compiled
def most_in_common(kernel, f, own, row):
    """max_j |k(x_j, x)| / sqrt(k(x_j, x_j) k(x, x)). Requires: row.values, a point at least, own > 0."""
    n = f.size[()]
    if kernel.metric != DOT:  # k(x_j, x_j) is k(x, x)
        return np.float64(largest_size(row.values, n)) / own
    for j in range(n):
        size = expansion.own_value_of(kernel, f, j, row) * own
        row.ranks[j] = abs(np.float64(row.values[j])) / math.sqrt(size) if size > 0.0 else 1.0
    return largest(row.ranks, n)


@compiled
def solve_in_place(G, m, b):
    """b = G^-1 b for each row of b; G becomes its Cholesky factor. Return whether it is positive definite."""
    for i in range(m):
        for j in range(i + 1):
            total = G[i, j]
            for r in range(j):
                total -= G[i, r] * G[j, r]
            if i == j:
                if not total > 0.0:
                    return False
                G[i, i] = math.sqrt(total)
            else:
                G[i, j] = total / G[j, j]
    for k in range(b.shape[0]):
        for i in range(m):
            for r in range(i):
                b[k, i] -= G[i, r] * b[k, r]
            b[k, i] /= G[i, i]
        for i in range(m - 1, -1, -1):
            for r in range(i + 1, m):
                b[k, i] -= G[r, i] * b[k, r]
            b[k, i] /= G[i, i]
    return True


@inlined
def values_of(state, slot, scratch, i):
    """The kernel values of the i-th of the last rows, of which x is to be the one in this slot."""
    n = state.f.size[()]
    return scratch.values[:n] if i == slot else state.H[i, :n]


@compiled
def find_shares(state, ridge, slot, new, g, scratch):
    """scratch.shares = (epsilon + H H')^-1 (d - H alpha) of the last rows with x and g, what it is to say, in this
    slot; say whether it can be. new: whether x becomes a point.

    Ensures: scratch.sizes has the length of each row of H. Nothing of the state changes.
    """
    f, last, G, shares, column = state.f, state.last, scratch.G, scratch.shares, scratch.column
    n, m = f.size[()], max(last.size[()], slot + 1)
    most = 0.0
    for i in range(m):
        mine = values_of(state, slot, scratch, i)
        for j in range(i + 1):
            G[i, j] = dot(mine, values_of(state, slot, scratch, j))
            if new:
                G[i, j] += column[i] * column[j]
        scratch.sizes[i] = math.sqrt(G[i, i])
        most = max(most, G[i, i])
        for k in range(shares.shape[0]):
            target = np.float64(g[k] if i == slot else last.coef[k, i])
            shares[k, i] = target - dot(mine, f.coef[k, :n])
    for i in range(m):
        G[i, i] += max(ridge, LEAST_RIDGE * most)
    return solve_in_place(G, m, shares)


@inlined
def take(record, state, x, slot, new, g, scratch):
    """x becomes the one of the last rows that is in this slot, and a point if it is new."""
    f, last, H, n = state.f, state.last, state.H, state.f.size[()]
    expansion.store(record.kernel, last, slot, x, 1.0, g)
    state.oldest[()] = (slot + 1) % H.shape[0]
    for j in range(n):
        H[slot, j] = scratch.values[j]
    if new:
        for i in range(last.size[()]):
            H[i, n] = scratch.column[i]
        expansion.add(record.kernel, f, x, 0.0, g, scratch.row)


@step.register(KAPARecord)
def _(record, state, scratch, x, target, weight, scores):
    f, kernel, row, g, shares = state.f, record.kernel, scratch.row, scratch.common.slope, scratch.shares
    loss = slope(record.squares.loss, target, scores, g)
    state.t[()] += 1
    if weight == 0.0:
        return loss
    n, own, slot = f.size[()], expansion.own_value(kernel, x, row), state.oldest[()]
    for j in range(n):
        scratch.values[j] = row.values[j]
    for k in range(g.shape[0]):
        g[k] = to_say(record.squares, k, target)
    new = own > 0.0 and (record.most == 0 or n < record.most)
    if new and n > 0:
        new = most_in_common(kernel, f, own, row) <= record.coherence
    if new:
        expansion.kernel_values(kernel, state.last, x, scratch.among)
        for i in range(state.last.size[()]):
            scratch.column[i] = scratch.among.values[i]
        scratch.column[slot] = own
    length, far = step_of(record.learning_rate, weight, 1.0), 0.0
    moves = find_shares(state, record.regularization, slot, new, g, scratch)
    for k in range(g.shape[0]):
        for i in range(max(state.last.size[()], slot + 1)):
            far += abs(length * shares[k, i]) * scratch.sizes[i]
    if moves and not far <= (MOST_SINGLE if f.coef.itemsize == 4 else MOST_DOUBLE):
        state.t[()] -= 1
        return np.nan
    take(record, state, x, slot, new, g, scratch)
    for k in range(g.shape[0] if moves else 0):
        coef = f.coef[k]
        for i in range(state.last.size[()]):
            values, share = state.H[i], length * shares[k, i]
            for j in range(f.size[()]):
                coef[j] += share * values[j]
    if record.most == 0:
        ask_for_room(f, 1, scratch)
    return loss
