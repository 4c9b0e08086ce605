"""What learners share whose whole model is an expansion f: its birth, growth and merging."""

from typing import Any, NamedTuple

import numpy as np

from .. import expansion
from ..engine import Algorithm, Common, Shape, common
from ..expansion import Expansion, KernelRow
from ..state import restored

FIRST_CAPACITY = 256


class ExpansionState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d


class ExpansionScratch(NamedTuple):
    common: Common
    row: KernelRow


class ExpansionAlgorithm(Algorithm):
    """A learner whose state is (f, t) and whose dictionary grows with the stream."""

    def init(self, shape: Shape) -> ExpansionState:
        f = expansion.empty(shape.width, FIRST_CAPACITY, shape.n_outputs, shape.dtype)
        return ExpansionState(f, np.zeros((), np.int64))

    def scratch(self, state: ExpansionState, shape: Shape) -> ExpansionScratch:
        return ExpansionScratch(common(shape.width, shape.n_outputs, shape.dtype), expansion.kernel_row(state.f))

    def prepare(self, record: Any, state: ExpansionState) -> ExpansionState:
        capacity = state.f.points.shape[1]
        if state.f.size < capacity:
            return state
        return state._replace(f=expansion.resized(state.f, capacity=2 * capacity))

    def grow(self, state: ExpansionState, shape: Shape) -> ExpansionState:
        return state._replace(f=expansion.resized(state.f, n_features=shape.width, n_outputs=shape.n_outputs))

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> ExpansionState:
        points = arrays.get("f.points", np.zeros((0, 0)))
        template = self.init(shape)
        template = template._replace(f=expansion.resized(template.f, capacity=points.shape[-1]))
        state: ExpansionState = restored(template, arrays)
        expansion.check_size(state.f)
        return state

    def size(self, state: ExpansionState) -> int:
        return int(state.f.size)

    def merge(self, record: Any, state: ExpansionState, other: ExpansionState, weight: float) -> ExpansionState:
        f = expansion.append(state.f, other.f, weight)
        f.coef[:, : int(state.f.size)] *= 1.0 - weight
        return state._replace(f=f, t=state.t + other.t)
