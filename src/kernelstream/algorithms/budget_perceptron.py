"""Budget Perceptron: on a mistake add; when full, drop the term that the model classifies best without it.

Crammer, Kandola, Singer: Online Classification on a Budget (2003).

    r = argmax_j u_j . (f(s_j) - a_j k(s_j, s_j))    over all terms, the new one included

Remarks. The scores f(s_j) at the stored points are kept and moved with each term that comes or goes, so a mistake
costs two kernel rows. u_j is the direction of a_j. In regression the term whose point keeps the largest margin beyond
epsilon does not exist; the same rule is used with u_j = sign(a_j): the term that the others push furthest its own way
goes.

Symbols: B budget.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import expansion
from .._compile import inlined
from ..budgets import first_largest, negative_squares, within
from ..engine import Shape, evaluate, step
from ..expansion import Expansion
from ..gram import gram_matrix
from ._mistakes import MistakeRecord, MistakesOnBudget, find_mistake


class BudgetPerceptronRecord(NamedTuple):
    mistakes: MistakeRecord


class BudgetPerceptronState(NamedTuple):
    f: Expansion  # one term more than the budget while a step runs
    t: np.ndarray  # rounds so far, 0-d
    at_points: np.ndarray  # (K, capacity) f(s_j) in float64
    own: np.ndarray  # (capacity,) k(s_j, s_j)


@dataclass
class BudgetPerceptron(MistakesOnBudget):
    name: ClassVar[str] = "budget-perceptron"
    paper: ClassVar[str] = "Crammer, Kandola, Singer 2003"

    @property
    def capacity(self) -> int:
        return self.budget + 1

    def lower(self, task: str, dtype: Any) -> BudgetPerceptronRecord:
        return BudgetPerceptronRecord(self.mistakes(task, dtype))

    def init(self, shape: Shape) -> BudgetPerceptronState:
        room = self.capacity
        f, t = super().init(shape)
        return BudgetPerceptronState(f, t, np.zeros((shape.n_outputs, room)), np.zeros(room))

    def grow(self, state: BudgetPerceptronState, shape: Shape) -> BudgetPerceptronState:
        at_points = np.zeros((shape.n_outputs, self.capacity))
        at_points[: len(state.at_points)] = state.at_points
        return super().grow(state, shape)._replace(at_points=at_points)

    def reduced(self, f: Expansion) -> Expansion:
        return within(f, self.budget, self.capacity)

    def merge(self, record: Any, state: Any, other: Any, weight: float) -> BudgetPerceptronState:
        merged = super().merge(record, state, other, weight)
        n = int(merged.f.size)
        gram = gram_matrix(self.kernel, merged.f)
        at_points, own = np.zeros_like(state.at_points), np.zeros_like(state.own)
        at_points[:, :n] = merged.f.coef[:, :n].astype(np.float64) @ gram
        own[:n] = np.diag(gram)
        return merged._replace(at_points=at_points, own=own)


@evaluate.register(BudgetPerceptronRecord)
def _(record, state, scratch, x, scores):
    expansion.evaluate(record.mistakes.kernel, state.f, x, scratch.row, scores)


@inlined
def find_margins(state, margins, squares):
    """margins[j] = u_j . (f(s_j) - a_j k(s_j, s_j))."""
    f, own = state.f, state.own
    n = f.size[()]
    if f.coef.shape[0] == 1:
        coef, at_points = f.coef[0], state.at_points[0]
        for j in range(n):
            margins[j] = math.copysign(1.0, coef[j]) * (at_points[j] - coef[j] * own[j])
        return
    for j in range(n):
        margins[j] = 0.0
    for k in range(f.coef.shape[0]):
        coef, at_points = f.coef[k], state.at_points[k]
        for j in range(n):
            margins[j] += coef[j] * (at_points[j] - coef[j] * own[j])  # |a_j| times it
    negative_squares(f, squares)
    for j in range(n):
        margins[j] /= math.sqrt(-squares[j])


@step.register(BudgetPerceptronRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    f, kernel, row = state.f, record.mistakes.kernel, scratch.row
    loss, length = find_mistake(record.mistakes, state.t, g, target, weight, scores)
    if length == 0.0:
        return loss
    n = f.size[()]
    expansion.add(kernel, f, x, -length, g, row)
    state.own[n] = expansion.own_value(kernel, x, row)
    row.values[n] = state.own[n]
    for k in range(g.shape[0]):
        state.at_points[k, n] = scores[k]
        for j in range(n + 1):
            state.at_points[k, j] -= length * g[k] * row.values[j]
    if n + 1 < f.points.shape[1]:
        return loss
    margins = row.ranks  # without the term itself
    find_margins(state, margins, row.others)
    r = first_largest(margins, n + 1)
    expansion.kernel_values(kernel, f, expansion.stored(f, r, scratch.stored), row)
    for k in range(g.shape[0]):
        for j in range(n + 1):
            state.at_points[k, j] -= f.coef[k, r] * row.values[j]
        state.at_points[k, r] = state.at_points[k, n]
    state.own[r] = state.own[n]
    expansion.move(f, n, r, row)
    f.size[()] = n
    return loss
