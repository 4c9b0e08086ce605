"""Laws of losses: value and slope belong together."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..losses import Loss
from ..tasks import BINARY, MULTICLASS
from ._loops import all_slopes
from .agreement import require, require_close
from .kernels import parameters_survive_json


def slopes(loss: Loss, task: str, targets: Any, scores: Any, dtype: Any = "float64") -> tuple[np.ndarray, np.ndarray]:
    """Values (n,) and gradients (n, K) of a loss at scores (n, K), as compiled learners compute them."""
    scores = np.ascontiguousarray(scores, dtype)
    values, gradients = np.zeros(len(scores)), np.full_like(scores, np.nan)
    all_slopes(loss.lower(task, dtype), np.ascontiguousarray(targets, np.float64), scores, gradients, values)
    return values, gradients


def loss_points(task: str, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Targets and scores around the usual kinks, none of them on one."""
    rng = np.random.default_rng(7)
    outputs = 4 if task == MULTICLASS else 1
    scores = rng.normal(size=(n, outputs)) * rng.choice([0.3, 1.5, 8.0], size=(n, 1))
    if task == BINARY:
        return rng.choice([-1.0, 1.0], size=n), scores
    return (rng.integers(outputs, size=n).astype(np.float64) if task == MULTICLASS else rng.normal(size=n)), scores


def loss_slope_is_the_derivative(loss: Loss, task: str) -> None:
    """Central differences of the value; points where the slope jumps within a step are at a kink and left out."""
    targets, scores = loss_points(task)
    h = 1e-6
    gradients = slopes(loss, task, targets, scores)[1]
    checked = 0
    for k in range(scores.shape[1]):
        step = h * np.eye(scores.shape[1])[k]
        ahead, behind = (slopes(loss, task, targets, scores + side * step) for side in (1, -1))
        smooth = np.abs(ahead[1] - behind[1]).max(axis=1) < 1e-3
        difference = (ahead[0] - behind[0]) / (2 * h)
        require_close(f"{loss} for {task}", f"slopes in output {k}", gradients[smooth, k], difference[smooth], 1e-7)
        checked += int(smooth.sum())
    require(checked > 0.9 * scores.size, f"{loss} for {task}: only {checked} of {scores.size} slopes could be checked.")


def loss_is_convex(loss: Loss, task: str) -> None:
    """value(b) >= value(a) + <slope(a), b - a>: the value and the slope belong together."""
    targets, scores = loss_points(task)
    others = scores[::-1] * 1.7 + 0.1
    here, there = slopes(loss, task, targets, scores), slopes(loss, task, targets, others)
    tangent = here[0] + (here[1] * (others - scores)).sum(axis=1)
    gap = tangent - there[0]
    worst = int(np.argmax(gap))
    require(
        gap[worst] <= 1e-9 * max(1.0, float(np.abs(tangent).max())),
        f"{loss} for {task}: the tangent at {scores[worst]} lies {gap[worst]:.3g} above the loss at {others[worst]}.",
    )


def loss_is_never_negative(loss: Loss, task: str) -> None:
    values, gradients = slopes(loss, task, *loss_points(task))
    require(
        (values >= 0).all() and np.isfinite(values).all(), f"{loss} for {task}: the smallest value is {values.min()}."
    )
    require(np.isfinite(gradients).all(), f"{loss} for {task}: a slope is not finite.")


def loss_gradient_sums_to_zero(loss: Loss, task: str) -> None:
    """Class scores matter only through their differences."""
    if task != MULTICLASS:
        return
    _, gradients = slopes(loss, task, *loss_points(task))
    require_close(f"{loss} for {task}", "sums of the gradient", gradients.sum(axis=1), np.zeros(len(gradients)), 1e-14)


def loss_float32_follows_float64(loss: Loss, task: str) -> None:
    targets, scores = loss_points(task)
    scores, targets = scores.astype(np.float32), targets.astype(np.float32)
    (single, coarse), (double, fine) = (slopes(loss, task, targets, scores, dtype) for dtype in ("float32", "float64"))
    require_close(f"{loss} for {task}", "float32 values", single, double, 1e-6)
    require_close(f"{loss} for {task}", "float32 slopes", coarse, fine, 1e-6)


LOSS_LAWS: dict[str, Callable[[Loss, str], None]] = {
    law.__name__: law
    for law in (
        loss_slope_is_the_derivative,
        loss_is_convex,
        loss_is_never_negative,
        loss_gradient_sums_to_zero,
        loss_float32_follows_float64,
    )
}


def check_loss(loss: Loss, *, convex: bool = True) -> None:
    """Every law of losses, for each of the loss's tasks; `convex=False` for one that is not."""
    require(loss.tasks, f"{loss} names no task.")
    parameters_survive_json(loss)
    for task in loss.tasks:
        for name, law in LOSS_LAWS.items():
            if convex or name != loss_is_convex.__name__:
                law(loss, task)
