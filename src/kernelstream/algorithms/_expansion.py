"""What learners share whose whole model is an expansion f: its birth, growth and merging."""

from typing import Any, NamedTuple

import numpy as np

from ..engine import Algorithm, Common, Shape, common
from ..engine.state import restored
from ..numerics import expansion
from ..numerics.budgets import within
from ..numerics.expansion import Expansion, KernelRow
from ..numerics.rows import Spread, spread

FIRST_CAPACITY = 256


class ExpansionState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d


class ExpansionScratch(NamedTuple):
    common: Common
    row: KernelRow
    stored: Spread  # where a stored point is written out as a row
    at_stored: np.ndarray  # (K,) f at a stored point


class ExpansionAlgorithm(Algorithm):
    """A learner whose model is one expansion `f`, the first field of its state, with rounds `t` beside it.

    Without a budget its room doubles as it fills.
    """

    @property
    def capacity(self) -> int | None:
        """Room for points, None when it grows with the stream."""
        return None

    def init(self, shape: Shape) -> Any:
        f = expansion.empty(shape.width, self.capacity or FIRST_CAPACITY, shape.n_outputs, shape.dtype)
        return ExpansionState(f, np.zeros((), np.int64))

    def scratch(self, state: Any, shape: Shape) -> Any:
        desk = common(shape.width, shape.n_outputs, shape.dtype)
        at_stored = np.zeros(shape.n_outputs, shape.dtype)
        return ExpansionScratch(desk, expansion.kernel_row(state.f), spread(shape.width, shape.dtype), at_stored)

    def prepare(self, record: Any, state: Any) -> Any:
        room = state.f.points.shape[1]
        if self.capacity is not None or state.f.size < room:
            return state
        return state._replace(f=expansion.resized(state.f, capacity=2 * room))

    def grow(self, state: Any, shape: Shape) -> Any:
        return state._replace(f=expansion.resized(state.f, n_features=shape.width, n_outputs=shape.n_outputs))

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> Any:
        template = self.init(shape)
        if self.capacity is None:
            points = arrays.get("f.points", np.zeros((0, 0)))
            template = template._replace(f=expansion.resized(template.f, capacity=points.shape[-1]))
        state = restored(template, arrays)
        expansion.check_size(state.f)
        return state

    def size(self, state: Any) -> int:
        return int(state.f.size)

    def written_out(self, state: Any) -> Any:
        """The state with whatever is kept apart from f's coefficients multiplied into them."""
        return state

    def attributes(self, state: Any) -> dict[str, Any]:
        """points: (n, d); coef: (n, K), in the units in which they are kept."""
        f, n = self.written_out(state).f, int(state.f.size)
        return {"points": f.points[:, :n].T.copy(), "coef": f.coef[:, :n].T.copy()}

    def merge(self, record: Any, state: Any, other: Any, weight: float) -> Any:
        state, other = self.written_out(state), self.written_out(other)
        f = expansion.append(state.f, other.f, weight)
        f.coef[:, : int(state.f.size)] *= 1.0 - weight
        return state._replace(f=self.reduced(f), t=state.t + other.t)

    def reduced(self, f: Expansion) -> Expansion:
        """f within the budget, as the algorithm compresses; where it removes terms, the smallest go."""
        return f if self.capacity is None else within(f, self.capacity, self.capacity)
