"""How a model takes in what it is given: the scaling of its features and that of its targets, as part of the model."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .moments import Moments, merged, moments_of
from .scaling import (
    FITTED,
    METRICS,
    NONE,
    ONLINE,
    SCALINGS,
    FixedScaling,
    Matrix,
    MetricScaling,
    OnlineScaling,
    Scaling,
)
from .state import ModelFileError, compare_shapes, require_kinds, require_limits

__all__ = [
    "FITTED",
    "METRICS",
    "NONE",
    "ONLINE",
    "SCALINGS",
    "FixedScaling",
    "Inputs",
    "MetricScaling",
    "OnlineScaling",
    "Scaling",
    "as_inputs",
    "fitted",
    "named",
    "scaling_from",
]


def scaling_from(kind: str, arrays: dict[str, NDArray[Any]], width: int | None = None) -> Scaling:
    """The scaling whose `arrays` these are; ModelFileError for what none can have.

    width: how many features the model has, where that is known; 0 before its first row
    """
    known = kind in (NONE, ONLINE, *METRICS)
    scaling = named(kind) if known else FixedScaling(kind, np.zeros(0), np.zeros(0))
    compare_shapes(arrays, scaling.outline)
    require_kinds(arrays, scaling.template(arrays), "scaling")
    require_limits(arrays, scaling.limits)
    scaling.take(arrays)
    if width is not None and not scaling.fits(width):
        found = ", ".join(f"{name}{list(arrays[name].shape)}" for name in scaling.outline)
        raise ModelFileError(f"The file's scaling has {found}; it scales {width} features.")
    return scaling


class Inputs(NamedTuple):
    """How a model takes in what it is given: the scaling of its features and that of its targets."""

    features: Scaling
    targets: Scaling

    @property
    def follows(self) -> bool:
        return self.features.follows or self.targets.follows

    def copy(self) -> "Inputs":
        return Inputs(*(part.copy() for part in self))

    def merge(self, other: "Inputs", since: "Inputs | None" = None) -> None:
        """since: those that both went on from, if they did."""
        for mine, theirs, past in zip(self, other, since or (None, None), strict=True):
            mine.merge(theirs, past)

    def differences(self, other: "Inputs") -> list[tuple[str, Any, Any]]:
        return [pair for mine, theirs in zip(self, other, strict=True) for pair in mine.differences(theirs)]

    def to_json(self) -> dict[str, str]:
        return {name: part.kind for name, part in self._asdict().items()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        parts = self._asdict().items()
        return {f"{name}.{key}": array for name, part in parts for key, array in part.arrays().items()}

    @classmethod
    def from_json(cls, kinds: dict[str, str], arrays: dict[str, NDArray[Any]], width: int | None = None) -> "Inputs":
        """width: of the model, as `scaling_from` takes it."""

        def one(name: str, width: int | None) -> Scaling:
            prefix = f"{name}."
            own = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
            return scaling_from(kinds[name], own, width)

        return cls(one("features", width), one("targets", 1))


def as_inputs(scaling: "str | Scaling | Inputs", *, regression: bool) -> Inputs:
    """What ``scaling=`` stands for; online and by a metric, targets of a regression are scaled too. The learner owns
    the result.
    """
    if isinstance(scaling, Inputs):
        scaling.targets.width(np.zeros((1, 1)))  # which refuses one of several columns
        return scaling.copy()
    if isinstance(scaling, str):
        if scaling in FITTED:
            raise ValueError(
                f"scaling={scaling!r} is fitted on rows, and there are none yet: fit an estimator, take what "
                f"fit_scaling gives, or scaling={ONLINE!r}, which follows the rows as they come."
            )
        if scaling not in SCALINGS:
            raise ValueError(f"scaling={scaling!r} must be one of {', '.join(SCALINGS)}, or a fitted one.")
        scaling = named(scaling)
    if not isinstance(scaling, Scaling):
        raise ValueError(f"scaling={scaling!r} must be one of {', '.join(SCALINGS)}, or a fitted one.")
    both = (scaling.follows or scaling.settles) and regression
    return Inputs(scaling.copy(), OnlineScaling() if both else Scaling())


def named(kind: str) -> Scaling:
    """The scaling of a kind that needs no rows beforehand, before any row."""
    return MetricScaling(kind) if kind in METRICS else OnlineScaling() if kind == ONLINE else Scaling()


def fitted(kind: str, blocks: Iterable[Matrix], refuse: Callable[[str], Exception] = ValueError) -> FixedScaling:
    """The scaling that all rows together give: "minmax" maps each feature onto [-1, 1], "standard" to mean 0 and
    variance 1.

    Constant features become 0. The zeros that sparse rows leave out count, also those before a feature first appeared.
    refuse: makes the error for rows that cannot be scaled from what is wrong with them.
    """
    if kind not in FITTED:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(FITTED)}")
    total: Moments | None = None
    for X in blocks:
        total = moments_of(X) if total is None else merged(total, moments_of(X))
        broken = np.flatnonzero(~np.isfinite(total.high - total.low))
        if len(broken) > 0:
            raise refuse(
                f"feature {broken[0]} has a value that is NaN, infinite or too large "
                f"in rows {total.n_rows - X.shape[0]} to {total.n_rows - 1}; impute or drop such rows before scaling"
            )
    if total is None:
        raise refuse("there are no rows; a scaling needs at least one")
    if kind == "minmax":
        offset, scale = total.low / 2 + total.high / 2, total.high / 2 - total.low / 2
        constant = scale == 0
    else:
        variance = total.squares / total.n_rows
        offset, scale = total.mean, np.sqrt(variance)
        # Rounding alone leaves this much variance in a constant feature (Chan, Golub, LeVeque 1983).
        noise = total.n_rows * np.finfo(float).eps
        constant = variance <= noise * variance + (noise * offset) ** 2
    # Below the smallest normal number a reciprocal overflows.
    constant |= scale < np.finfo(float).tiny
    return FixedScaling(kind, offset, np.divide(1.0, scale, out=np.zeros_like(scale), where=~constant))
