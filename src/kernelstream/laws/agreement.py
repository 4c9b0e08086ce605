"""What it means that numbers agree, and assertions that say where they do not."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..learner import Learner

# What rounding may do to a stream's scores, relative to the largest. Every round adds a few units in the last place, so
# N_ROWS rounds of 40 units each are allowed in float32; float64 has room to spare and is held to 1e-9.
N_ROWS = 150

ROUNDING = {"float64": 1e-9, "float32": N_ROWS * 40 * float(np.finfo(np.float32).eps)}

# One kernel value: the sum over features, the formula and its constants are a few dozen roundings.
KERNEL_ROUNDING = {"float64": 64 * float(np.finfo(np.float64).eps), "float32": 64 * float(np.finfo(np.float32).eps)}


def require(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def require_close(subject: Any, what: str, got: Any, expected: Any, tolerance: float) -> None:
    """The largest difference, relative to the largest expected number (or 1), is within the tolerance."""
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    require(got.shape == expected.shape, f"{subject}: {what} have shape {got.shape}, expected {expected.shape}.")
    if got.size == 0:
        return
    gap = np.abs(got - expected) / max(1.0, float(np.abs(expected).max()))
    worst = np.unravel_index(np.argmax(np.where(np.isnan(gap), np.inf, gap)), gap.shape)
    require(
        gap[worst] <= tolerance,
        f"{subject}: {what} differ by {gap[worst]:.3g} (allowed {tolerance:.3g}) at {tuple(map(int, worst))}: "
        f"{got[worst]!r} instead of {expected[worst]!r}.",
    )


def require_shrunk(subject: Any, what: str, got: np.ndarray, expected: np.ndarray, *, shrinks: bool) -> None:
    """One factor takes the expected numbers to those that were got: 1, or with `shrinks` one in (0, 1]."""
    factor = float((got * expected).sum() / (expected * expected).sum()) if shrinks else 1.0
    require(0.0 < factor <= 1.0 + ROUNDING["float64"], f"{subject}: {what} grew by {factor}.")
    require_close(subject, what, got, factor * expected, ROUNDING["float64"])


def require_same_bits(subject: Any, what: str, got: np.ndarray, expected: np.ndarray) -> None:
    rows = np.flatnonzero((got != expected).reshape(len(got), -1).any(axis=1))
    require(not rows.size, f"{subject}: {what}: row {rows[:1]} is {got[rows[:1]]} instead of {expected[rows[:1]]}.")


def require_refusal(subject: Any, what: str, action: Callable[[], Any], *words: str) -> None:
    """The action raises a ValueError whose message holds all the words."""
    try:
        action()
    except ValueError as error:
        missing = [word for word in words if word not in str(error)]
        require(not missing, f"{subject}: {what} is refused without naming {missing}: {error}")
    else:
        raise AssertionError(f"{subject}: {what} is not refused.")


def snapshot(learner: Learner) -> dict[str, Any]:
    """Everything that a learner has learned, bit for bit."""
    kept: dict[str, Any] = {"n_seen": learner.n_seen, "width": learner.width, "size": learner.size}
    kept["classes"] = list(getattr(learner.task, "classes", ()))
    for name, array in learner.to_parts()[1].items():
        kept[name] = (str(array.dtype), array.shape, array.tobytes())
    return kept


def require_same(subject: Any, what: str, got: dict[str, Any], expected: dict[str, Any]) -> None:
    differing = [name for name in {**got, **expected} if got.get(name) != expected.get(name)]
    require(not differing, f"{subject}: {what}: {', '.join(differing)} differ.")
