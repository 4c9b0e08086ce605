"""States of models, nested NamedTuples of arrays: leaves by name, copies, places in memory, what a file may hold."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ..numerics.memory import aligned

# Fields of a state that follow from the others: no file holds them, and none is believed about them.
DERIVED = ("present", "ordered")


# What the leaves of a state may hold, by their dotted names: the smallest number and the largest.
Limits: TypeAlias = dict[str, tuple[float, float]]

# Of whole numbers with a sign for which nothing is said: they count something, and go on counting for years.
COUNTS = (0, 2**53)


class ModelFileError(ValueError):
    """A file is not a model that can be loaded; the message says why."""


class NoModelFile(ModelFileError, FileNotFoundError):
    """There is no such file."""


def leaves(state: Any, prefix: str = "", *, derived: bool = False) -> dict[str, np.ndarray]:
    """The arrays of a nested NamedTuple by their dotted names; those that follow from others only if asked for."""
    found: dict[str, np.ndarray] = {}
    for name, value in zip(state._fields, state, strict=True):
        if hasattr(value, "_fields"):
            found.update(leaves(value, f"{prefix}{name}.", derived=derived))
        elif derived or name not in DERIVED:
            found[prefix + name] = value
    return found


def rebuilt(state: Any, arrays: dict[str, np.ndarray], prefix: str = "") -> Any:
    """A NamedTuple of the same kind as `state` from named arrays, all of them."""
    parts = [
        rebuilt(value, arrays, f"{prefix}{name}.") if hasattr(value, "_fields") else arrays[prefix + name]
        for name, value in zip(state._fields, state, strict=True)
    ]
    return type(state)(*parts)


def on_lines(parts: Any) -> Any:
    """The NamedTuple with its arrays aligned; a scalar, as NumPy makes of a sum of 0-d arrays, becomes one of them."""
    found = leaves(parts, derived=True).items()
    return rebuilt(parts, {name: part if isinstance(part, int) else aligned(np.asarray(part)) for name, part in found})


def copied(parts: Any) -> Any:
    """The NamedTuple with copies of its arrays."""
    return rebuilt(parts, {name: part.copy() for name, part in leaves(parts, derived=True).items()})


def split(state: Any, one: Any, two: Any) -> Any:
    """The state of (-f/2, f/2), whose margin is f, from that of f.

    one, two: states of the same model with one output and with two. An array in which they differ has a place for each
    output; the others do not speak of outputs.
    """
    found = leaves(state, derived=True)
    ones, twos = leaves(one, derived=True), leaves(two, derived=True)
    for name, array in found.items():
        axes = [axis for axis, (a, b) in enumerate(zip(ones[name].shape, twos[name].shape, strict=True)) if a != b]
        if axes:
            half = array.dtype.type(0.5) * array
            found[name] = np.concatenate([-half, half], axis=axes[0])
    return rebuilt(state, found)


def tally(state: Any, other: Any, since: Any, *names: str) -> dict[str, Any]:
    """What two states have counted, by the fields' names; what `since` had, from which both went on, counts once."""
    common = {name: 0 if since is None else getattr(since, name) for name in names}
    return {name: getattr(state, name) + getattr(other, name) - common[name] for name in names}


def prefixed(name: str, limits: Limits) -> Limits:
    """Those of the part of a state that has this name."""
    return {f"{name}.{leaf}": limit for leaf, limit in limits.items()}


def compare_shapes(arrays: dict[str, np.ndarray], outline: dict[str, tuple[int | None, ...]]) -> None:
    """Refuse arrays that do not have these shapes; None stands for any length."""
    for name, shape in outline.items():
        found = arrays[name].shape if name in arrays else ()
        if len(found) != len(shape) or any(b is not None and a != b for a, b in zip(found, shape, strict=True)):
            needed = ", ".join("any" if length is None else str(length) for length in shape)
            raise ModelFileError(f"The file's array {name} has shape {list(found)}; its header says [{needed}].")


def require_kinds(arrays: dict[str, np.ndarray], expected: dict[str, np.ndarray], what: str = "model") -> None:
    """Refuse arrays that are not of the kinds and shapes of those expected, or not finite."""
    if set(expected) != set(arrays):
        raise ModelFileError(f"The file's arrays {sorted(arrays)} are not the {what}'s {sorted(expected)}.")
    for name, array in arrays.items():
        like = expected[name]
        if array.dtype != like.dtype or array.shape != like.shape:
            raise ModelFileError(
                f"The file's array {name} is {array.dtype}{list(array.shape)}; "
                f"the {what} needs {like.dtype}{list(like.shape)}."
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelFileError(f"The file's array {name} holds NaN or infinity.")


def require_limits(arrays: dict[str, np.ndarray], said: Limits) -> None:
    """Refuse numbers beyond what is said of their arrays."""
    for name, array in arrays.items():
        low, high = said.get(name, COUNTS if array.dtype.kind == "i" else (-np.inf, np.inf))
        if array.size and not (low <= array.min() and array.max() <= high):
            found = array.max() if low <= array.min() else array.min()
            raise ModelFileError(f"The file's array {name} holds {found}; it must be between {low:g} and {high:g}.")


def restored(template: Any, arrays: dict[str, np.ndarray], limits: Callable[[Any], Limits] = lambda state: {}) -> Any:
    """A state like `template` from a file's arrays; anything that could not have been written is refused.

    What follows from others is still the template's. limits: what the leaves of such a state may hold.
    """
    require_kinds(arrays, leaves(template))
    state = rebuilt(template, {**leaves(template, derived=True), **arrays})
    require_limits(arrays, limits(state))
    return state
