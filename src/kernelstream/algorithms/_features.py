"""What learners share whose model is linear on lifted rows, f = W'z(x): its birth, growth and merging.

A spec names its `lift` (`numerics.lifts`), or has a `map` that does; a record with a field `lift` that is marked by
`on_features` is lifted and evaluated here. `fogd.py` shows what is left for a learner to say: its parameters and its
step.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Algorithm, Common, Shape, common, evaluate, lift
from ..engine.state import Limits, prefixed, tally
from ..kernels import BINNED, ISOTROPIC, QUASI, SHIFT_INVARIANT, Need
from ..numerics.lifts import Binning, Fourier, Lift, Quasi, Structured, evaluate_lifted, lift_rows
from ..parameters import one_of, whole


class Map(NamedTuple):
    """What a learner's `map` may be."""

    lift: Callable[..., Lift]  # of a kernel and a number of components
    needs: tuple[Need, ...]  # what the kernel must be


WAVES = {
    "plain": Map(Fourier, (SHIFT_INVARIANT,)),
    "quasi": Map(Quasi, (SHIFT_INVARIANT, QUASI)),
    "structured": Map(Structured, (SHIFT_INVARIANT, ISOTROPIC)),
}
MAPS = {**WAVES, "binning": Map(Binning, (BINNED,))}


class FeatureState(NamedTuple):
    map: Any  # the lift's
    weights: np.ndarray  # (K, length of z)
    t: np.ndarray  # rounds so far, 0-d


class FeatureScratch(NamedTuple):
    common: Common
    lifted: Any  # the lift's; lifted.z[x.place] is z(x)


class FeatureAlgorithm(Algorithm):
    """A learner of weights on lifted rows; its state has the fields of `FeatureState`, and more where it needs them."""

    @property
    def lift(self) -> Lift:
        """Requires: a settled spec."""
        raise NotImplementedError

    def init(self, shape: Shape) -> Any:
        weights = np.zeros((shape.n_outputs, self.lift.length(shape.width)), shape.dtype)
        return FeatureState(self.lift.map(shape), weights, np.zeros((), np.int64))

    def scratch(self, state: Any, shape: Shape) -> Any:
        shared = common(shape.width, shape.n_outputs, shape.dtype, self.lift.n_lifted(shape.width))
        return FeatureScratch(shared, self.lift.lifted(state.map, shared.chunk))

    def lifts_ahead(self, state: Any) -> bool:
        return self.lift.ready(state.map)

    def grow(self, state: Any, shape: Shape) -> Any:
        weights = padded(state.weights, shape.n_outputs, self.lift.length(shape.width))
        return state._replace(map=self.lift.grown(state.map, shape), weights=weights)

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> Any:
        state = super().restore(arrays, shape)
        self.lift.check(state.map)
        return state

    def outline(self, shape: Shape) -> dict[str, tuple[int | None, ...]]:
        lifted = {f"map.{name}": lengths for name, lengths in self.lift.outline(shape).items()}
        return {"weights": (shape.n_outputs, self.lift.length(shape.width)), **lifted}

    def limits(self, state: Any) -> Limits:
        return prefixed("map", self.lift.limits(state.map))

    def n_stored(self, state: Any) -> int:
        return int(state.weights.shape[-1])

    def shown_weights(self, state: Any) -> np.ndarray:
        """W (K, length of z) of the function f = W'z that is shown, where that is one."""
        return np.asarray(state.weights)

    def merge(self, record: Any, state: Any, other: Any, weight: float, since: Any = None) -> Any:
        self.lift.require_same(state.map, other.map)
        weights = ((1.0 - weight) * state.weights + weight * other.weights).astype(state.weights.dtype)
        return state._replace(weights=weights, **tally(state, other, since, "t"))

    def distance(self, state: Any, other: Any) -> float:
        self.lift.require_same(state.map, other.map)
        mine, theirs = (self.shown_weights(one).astype(np.float64) for one in (state, other))
        return float(np.sqrt(self.lift.square) * np.linalg.norm(mine - theirs))


class Mapped(FeatureAlgorithm):
    """A learner whose lift is that of its `map`, with `n_components`."""

    maps: ClassVar[dict[str, Map]] = WAVES
    if TYPE_CHECKING:  # its parameters, each learner's with its own default
        n_components: int
        map: str

    def check(self) -> None:
        one_of(tuple(self.maps), map=self.map)
        super().check()
        whole(1, n_components=self.n_components)

    @property
    def needs(self) -> tuple[Need, ...]:  # type: ignore[override]
        return self.maps[self.map].needs

    @property
    def lift(self) -> Lift:
        return self.maps[self.map].lift(self.kernel, self.n_components)


def padded(weights: np.ndarray, n_outputs: int, length: int) -> np.ndarray:
    """The weights (K, D) with room for more outputs or longer z; what is added is 0."""
    larger = np.zeros((n_outputs, length), weights.dtype)
    larger[: weights.shape[0], : weights.shape[1]] = weights
    return larger


def _lift(record, state, scratch, block, start, stop):
    lift_rows(record.lift, state.map, block, start, stop, scratch.lifted)


def _evaluate(record, state, scratch, x, scores):
    evaluate_lifted(record.lift, state.weights, scratch.lifted, x.place, scores)


def lifted_first(record: Any) -> Any:
    """Marks a record with a field `lift`: rows are lifted by it."""
    lift.register(record)(_lift)
    return record


def on_features(record: Any) -> Any:
    """Marks a record with a field `lift`: rows are lifted by it, and evaluated as W'z."""
    evaluate.register(record)(_evaluate)
    return lifted_first(record)
