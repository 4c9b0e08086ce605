"""What every lift z of rows provides, so that f = W'z(x) can be learned on any of them.

A lift is a value: what it is made from (a kernel, a number of components). Its *map* is the state that it draws or
fits, a NamedTuple of arrays that a model keeps; its *record* is what compiled code reads, and its type chooses the body
of `lift_rows`; its *lifted* is scratch whose field `z` holds the lifted rows of a chunk.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..compile import by_record, compiled
from ..linear import descend, evaluate_linear

if TYPE_CHECKING:
    from ...kernels import Kernel


class Lift:
    """Base of all lifts."""

    def length(self, width: int) -> int:
        """How many numbers a row of so many features lifts to."""
        raise NotImplementedError

    def n_lifted(self, width: int) -> int:
        """How many of them are written down for a row: all, unless they are places of ones."""
        return self.length(width)

    def record(self, dtype: Any) -> Any:
        """What compiled code reads; its type chooses the body of `lift_rows`."""
        raise NotImplementedError

    def map(self, shape: Any) -> Any:
        """The map of a model of this shape (`engine.Shape`)."""
        raise NotImplementedError

    def grown(self, map: Any, shape: Any) -> Any:
        """The map for more features or outputs; what was drawn stays as it is."""
        raise NotImplementedError

    def lifted(self, map: Any, rows: int) -> Any:
        """Scratch for a chunk of so many rows; its field `z` is (rows, length), unless it has verbs of its own."""
        raise NotImplementedError

    @property
    def square(self) -> float:
        """z(x)'z(x) where k(x, x) = 1: the norm of W'z in the kernel's space is ||W|| times its root."""
        return 1.0

    def ready(self, map: Any) -> bool:
        """Whether the map stays as it is from now on, so that rows may be lifted ahead of the steps."""
        return True

    def outline(self, shape: Any) -> dict[str, tuple[int | None, ...]]:
        """The shapes of the map's leaves that tell how large the others are, by name."""
        return {}

    def limits(self, map: Any) -> dict[str, tuple[float, float]]:
        """What the leaves of a map may hold, by name."""
        return {}

    def check(self, map: Any) -> None:
        """ValueError for a map that compiled code could not run on (a file can say anything)."""

    def require_same(self, mine: Any, theirs: Any) -> None:
        """ValueError unless both maps lift alike: a mean of weights is then a mean of functions."""


class Drawn(Lift):
    """A lift whose map is drawn, a function of its seed."""

    def require_same(self, mine: Any, theirs: Any) -> None:
        if mine.seed != theirs.seed:
            raise ValueError(f"seed differs: {mine.seed} and {theirs.seed}. Maps are equal only for equal seeds.")


@dataclass(frozen=True)
class Waves(Drawn):
    """A lift to sines and cosines of as many projections as it has components."""

    kernel: "Kernel"
    n_components: int

    def length(self, width: int) -> int:
        return 2 * self.n_components

    @property
    def square(self) -> float:
        return float(self.n_components)


@by_record
def lift_rows(record, map, block, start, stop, lifted):
    """lifted.z[i] = z(row start + i of the block), for the rows up to `stop`."""


@compiled
def lift_scaled(record, map, block, start, stop, factor, lifted):
    """`lift_rows`, each z multiplied by a factor."""
    lift_rows(record, map, block, start, stop, lifted)
    for i in range(stop - start):
        z = lifted.z[i]
        for j in range(z.shape[0]):
            z[j] *= factor


def _evaluate(record, weights, lifted, place, scores):
    """scores = W'z of the row at a place of its chunk."""
    evaluate_linear(weights, lifted.z[place], scores)


def _descend(record, weights, step, g, lifted, place):
    """W = W - step * g z' of the row at a place of its chunk."""
    descend(weights, step, g, lifted.z[place])


evaluate_lifted = by_record(_evaluate, default=_evaluate)
descend_lifted = by_record(_descend, default=_descend)
