"""What learners share whose whole model is an expansion f: its birth, growth, evaluation and merging."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from ..engine import Algorithm, Common, Shape, common, evaluate
from ..engine.state import Limits, ModelFileError, prefixed, tally
from ..kernels import Kernel
from ..numerics import expansion
from ..numerics.compile import inlined
from ..numerics.expansion import Expansion, KernelRow
from ..numerics.gram import gram_matrix
from ..numerics.projection import projected
from ..numerics.rows import DenseRow, dense_row
from ..parameters import whole

FIRST_CAPACITY = 256

_Record = TypeVar("_Record", bound=type)


class ExpansionState(NamedTuple):
    f: Expansion
    t: np.ndarray  # rounds so far, 0-d


class ExpansionScratch(NamedTuple):
    common: Common
    row: KernelRow
    stored: DenseRow  # where a stored point is written out as a row
    at_stored: np.ndarray  # (K,) f at a stored point


class ExpansionAlgorithm(Algorithm):
    """A learner whose model is one expansion `f`, the first field of its state, with rounds `t` beside it.

    Without a budget its room doubles as it fills.
    """

    spare: ClassVar[int] = 0  # room beyond the budget, for the term that a step adds before it takes one away

    @property
    def capacity(self) -> int | None:
        """Room for points, None when it grows with the stream."""
        return None

    @property
    def first_capacity(self) -> int:
        """Room for points before any example."""
        return self.capacity or FIRST_CAPACITY

    def init(self, shape: Shape) -> Any:
        f = expansion.empty(shape.width, self.first_capacity, shape.n_outputs, shape.dtype)
        return ExpansionState(f, np.zeros((), np.int64))

    def scratch(self, state: Any, shape: Shape) -> Any:
        shared = common(shape.width, shape.n_outputs, shape.dtype)
        at_stored = np.zeros(shape.n_outputs, shape.dtype)
        return ExpansionScratch(shared, expansion.kernel_row(state.f), dense_row(shape.width, shape.dtype), at_stored)

    def prepare(self, record: Any, state: Any, ahead: Any) -> Any:
        room = state.f.points.shape[1]
        if self.capacity is not None or state.f.size < room:
            return state
        return self.with_room(state, 2 * room)

    def with_room(self, state: Any, capacity: int) -> Any:
        """The same model with room for at least `capacity` points."""
        return state._replace(f=expansion.resized(state.f, capacity=capacity))

    def grow(self, state: Any, shape: Shape) -> Any:
        return state._replace(f=expansion.resized(state.f, n_features=shape.width, n_outputs=shape.n_outputs))

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> Any:
        state = super().restore(arrays, shape)
        expansion.list_all(state.f)
        return state

    def outline(self, shape: Shape) -> dict[str, tuple[int | None, ...]]:
        return {"f.points": (shape.width, self.capacity), "f.coef": (shape.n_outputs, self.capacity)}

    def template(self, arrays: dict[str, np.ndarray], shape: Shape) -> Any:
        """Room that grows is as large as the file's."""
        if self.capacity is not None:
            return self.init(shape)
        room = room_in_file(arrays, "f", at_least=self.first_capacity)
        return self.with_room(self.init(shape), room)

    def limits(self, state: Any) -> Limits:
        return prefixed("f", expansion.limits(self.most_terms(state)))

    def most_terms(self, state: Any) -> int:
        """How many terms f may have between two steps."""
        return int(state.f.points.shape[1]) - self.spare

    def n_stored(self, state: Any) -> int:
        return int(state.f.size)

    def written_out(self, state: Any) -> Any:
        """The state with whatever is kept apart from f's coefficients multiplied into them."""
        return state

    def attributes(self, state: Any) -> dict[str, Any]:
        """points: (n, d); coef: (n, K), so that f = sum_i coef_i k(point_i, .)."""
        f, n = self.written_out(state).f, int(state.f.size)
        return {"points": f.points[:, :n].T.copy(), "coef": f.coef[:, :n].T.copy()}

    def merge(self, record: Any, state: Any, other: Any, weight: float, since: Any = None) -> Any:
        state, other = self.written_out(state), self.written_out(other)
        f = weighted_sum(1.0 - weight, state.f, weight, other.f)
        return state._replace(f=self.reduced(f), **tally(state, other, since, "t"))

    def distance(self, state: Any, other: Any) -> float:
        return norm_of(self.kernel, expansion.append(self.written_out(state).f, self.written_out(other).f, -1.0))

    def reduced(self, f: Expansion) -> Expansion:
        """f within the budget, by projection."""
        return f if self.capacity is None else projected(self.kernel, f, self.capacity - self.spare, self.capacity)


class Budgeted(ExpansionAlgorithm):
    """A learner that keeps at most `budget` points, and all where that is None."""

    if TYPE_CHECKING:  # its parameter, each learner's with its own default
        budget: int | None

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return self.budget is not None

    @property
    def capacity(self) -> int | None:
        return None if self.budget is None else self.budget + self.spare

    def check(self) -> None:
        super().check()
        if self.budget is not None:
            whole(1, budget=self.budget)


def weighted_sum(a: float, f: Expansion, b: float, other: Expansion) -> Expansion:
    """a f + b other, on the points of both."""
    return expansion.append(f._replace(coef=f.coef * f.coef.dtype.type(a)), other, b)


def norm_of(kernel: Kernel, f: Expansion) -> float:
    """||f|| in the kernel's space."""
    coef = f.coef[:, : int(f.size)].astype(np.float64)
    return math.sqrt(max(0.0, float((coef @ gram_matrix(kernel, f) * coef).sum())))


def room_in_file(arrays: dict[str, np.ndarray], name: str, at_least: int) -> int:
    """Room for points of the expansion of this name in a file's arrays; refuses less than a model begins with."""
    room = int(arrays[f"{name}.points"].shape[1])
    if room < at_least:
        raise ModelFileError(f"The file's array {name}.points has room for {room} points; the model needs {at_least}.")
    return room


def evaluated_by(body: Callable[..., Any]) -> Callable[[_Record], _Record]:
    """A mark for record types: learners with such a record are evaluated by `body`, and need no `evaluate`."""

    def mark(record: _Record) -> _Record:
        evaluate.register(record)(body)
        return record

    return mark


def _evaluate(record, state, scratch, x, scores):
    """scores = f(x). Ensures: scratch.row holds the kernel values of x, for the step to use."""
    expansion.evaluate(record.kernel, state.f, x, scratch.row, scores)


# The record of a learner whose scores are f(x), with f's kernel as `kernel`.
expansion_record = evaluated_by(_evaluate)


@inlined
def ask_for_room(f, terms, scratch):
    """Have `prepare` called before the next row where f has no room for so many terms more."""
    scratch.common.halt[()] = f.size[()] + terms > f.points.shape[1]
