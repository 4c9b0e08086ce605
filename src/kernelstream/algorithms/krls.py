"""KRLS: recursive least squares in the kernel's space, on those rows that earlier ones do not tell.

Engel, Mannor, Meir: The Kernel Recursive Least-Squares Algorithm (2004), Fig. 1.

    a = K^-1 k_t,  delta = k(x, x) - k_t'a,  e = y - k_t'alpha
    delta > nu:   add the point;  P <- [P 0; 0 1],  alpha <- [alpha - a e / delta; e / delta]
    else:         q = P a / (1 + a'Pa);  P <- P - q a'P,  alpha <- alpha + K^-1 q e

Remarks. K^-1 is a Cholesky factor, P stays as in the paper: it begins at 1 and only falls, and a factor of its inverse
would cost half as much again. nu is in the unit of k(x, x), 1 for the paper's kernels. Once the budget is full every
row is taken as dependent; budget=None is the paper's. A weight w is w equal rows: 1 / w stands for the 1 beside a'Pa,
and in P's corner. There is no ridge and so no prior: what it says of how sure it is would be nothing where no point is,
and is left out; krls-t has it. Merged models are least squares of what both sides' rows tell, which adds up as in
ridge: of each side its points' values with the precision P^-1, in terms of the points of both that are not dependent,
and within the budget of those that tell most of that function.

Symbols: nu dependence.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Shape, evaluate, step
from ..engine.state import tally
from ..losses import slope
from ..numerics import expansion
from ..numerics.expansion import Expansion
from ..numerics.gram import backward, cross_matrix, extend_factor, factor, forward
from ..numerics.projection import chosen
from ..numerics.symmetric import add_square, append_zeros, product
from ..parameters import at_least
from ._dictionary import ROUNDING, find_coordinates, find_residual
from ._expansion import Budgeted, ask_for_room
from ._recursive import (
    RecursiveAlgorithm,
    RecursiveRecord,
    find_errors,
    fits,
    gram_of,
    move,
    padded_square,
    write_out,
)


class KRLSRecord(NamedTuple):
    shared: RecursiveRecord
    dependence: float
    most: int  # points, 0 for any number


class KRLSState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d
    factor: np.ndarray  # Cholesky factor of the points' Gram matrix
    alpha: np.ndarray  # (K, room) f's coefficients in float64
    P: np.ndarray  # (room, room) inverse of sum a a'


@dataclass
class KRLS(Budgeted, RecursiveAlgorithm):
    """budget: the most points that are kept; None keeps all that are not dependent.
    dependence: nu, how far from the span of the points a row may be and count as in it: squared, a share of k(x, x).
    """

    budget: int | None = 200  # a row takes B^2
    dependence: float = 0.1

    name: ClassVar[str] = "krls"
    paper: ClassVar[str] = "Engel, Mannor, Meir 2004"
    matrices: ClassVar[tuple[str, ...]] = ("factor", "P")

    def check(self) -> None:
        super().check()
        at_least(0.0, dependence=self.dependence)

    def lower(self, task: str, dtype: Any) -> KRLSRecord:
        return KRLSRecord(self.shared(task, dtype), float(self.dependence), self.budget or 0)

    def init(self, shape: Shape) -> KRLSState:
        f, t = super().init(shape)
        room = f.points.shape[1]
        return KRLSState(f, t, factor(room), np.zeros((shape.n_outputs, room)), np.zeros((room, room)))

    def merge(
        self, record: Any, state: KRLSState, other: KRLSState, weight: float, since: KRLSState | None = None
    ) -> KRLSState:
        sides = [(state, 1.0), (other, 1.0)] + ([] if since is None else [(since, -1.0)])
        f = self.joined(state.f, other.f)
        alpha, P = self.solved(f, sides)
        n, most = int(f.size), int(self.budget or f.size)
        if n > most:
            f.coef[:, :n] = alpha
            kept, _, _ = chosen(self.kernel, f, most)
            f = expansion.taken(f, kept, self.first_capacity)
            alpha, P = self.solved(f, sides)
        counts = tally(state, other, since, "t")
        return self.made(f, alpha, state._replace(P=padded_square(P, f.points.shape[1]), **counts))

    def solved(self, f: Expansion, sides: Any) -> tuple[np.ndarray, np.ndarray]:
        """(alpha, P) of what the rows of some models tell together, in terms of f's points."""
        told = [(self.told(f, one), sign) for one, sign in sides]
        P = np.linalg.inv(sum(sign * precision for (precision, _), sign in told))
        pull = sum(sign * pull for (_, pull), sign in told)
        return np.linalg.solve(gram_of(self.kernel, f), P @ pull).T, (P + P.T) / 2.0

    def joined(self, f: Expansion, other: Expansion) -> Expansion:
        """f's points and those of the other that are not dependent on them."""
        n, both = int(f.size), expansion.append(f, other, 1.0)
        K, least = gram_of(self.kernel, both), max(self.dependence, ROUNDING[f.coef.dtype.name])
        kept, R = list(range(n)), np.zeros_like(K)
        R[:n, :n] = np.linalg.cholesky(K[:n, :n]) if n else 0.0
        for i in range(n, len(K)):
            m = len(kept)
            half = np.linalg.solve(R[:m, :m], K[kept, i])
            residual = K[i, i] - half @ half
            if residual > least * K[i, i]:
                R[m, :m], R[m, m] = half, np.sqrt(residual)
                kept.append(i)
        return expansion.taken(both, kept, max(self.first_capacity, len(kept)))

    def told(self, f: Expansion, one: KRLSState) -> tuple[np.ndarray, np.ndarray]:
        """What a model's rows tell of the values at f's points: the precision, and its product with the values."""
        m = int(one.f.size)
        T = np.linalg.solve(gram_of(self.kernel, f), cross_matrix(self.kernel, f, one.f))
        inner = np.linalg.inv(one.P[:m, :m])
        values = gram_of(self.kernel, one.f) @ one.alpha[:, :m].T
        return T @ inner @ T.T, T @ (inner @ values)


@evaluate.register(KRLSRecord)
def _(record, state, scratch, x, scores):
    expansion.evaluate(record.shared.kernel, state.f, x, scratch.row, scores)


@step.register(KRLSRecord)
def _(record, state, scratch, x, target, weight, scores):
    kernel, n = record.shared.kernel, state.f.size[()]
    errors, a, gain = scratch.errors, scratch.coordinates, scratch.gain
    loss = slope(record.shared.squares.loss, target, scores, scratch.common.slope)
    if weight == 0.0:
        state.t[()] += 1
        return loss
    delta = find_residual(kernel, state, x, scratch)
    find_errors(record.shared, state, target, scratch)
    find_coordinates(state, scratch)
    new = delta > record.dependence * expansion.own_value(kernel, x, scratch.row)
    if new and (record.most == 0 or n < record.most):
        a[n] = -1.0
        if not fits(state, errors, -1.0 / delta, a, n + 1):
            return np.nan
        extend_factor(state.factor, n, scratch.half, delta)
        append_zeros(state.P, n, 1.0 / weight)
        expansion.add(kernel, state.f, x, 0.0, scratch.common.slope, scratch.row)
        move(state, errors, -1.0 / delta, a, n + 1, 1.0)
    else:
        product(state.P, n, a, gain)
        total = 1.0 / weight
        for i in range(n):
            total += a[i] * gain[i]
        forward(state.factor, n, gain, scratch.half)
        backward(state.factor, n, scratch.half, a)
        if not (total > 0.0 and fits(state, errors, 1.0 / total, a, n)):
            return np.nan
        add_square(state.P, n, 1.0, -1.0 / total, gain)
        move(state, errors, 1.0 / total, a, n, 1.0)
    write_out(state)
    state.t[()] += 1
    if record.most == 0:
        ask_for_room(state.f, 1, scratch)
    return loss
