"""What is in a model as pictures, where it can be drawn."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..extras import needing
from ..learner import Learner
from ..tasks import Classification, Multiclass
from . import words
from .description import label_text
from .inside import inside
from .plots import LIGHT, styled, write_importances, write_png, write_weights, write_widths

with needing("matplotlib"):
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

_GRID = 300  # points of a decision surface along each side
_MARGIN = 0.15
_MOST_IMAGES = 64
_SMALLEST_SIDE = 4  # an image of 3 by 3 pixels is none
# Beside squares: pictures of faces as scikit-learn ships them.
_IMAGE_SHAPES = {2914: (62, 47)}
_DEVIATIONS = 3.0


def write_inspection(
    directory: Path,
    learner: Learner,
    *,
    image_shape: tuple[int, int] | None = None,
    names: Sequence[str] | None = None,
) -> list[Path]:
    """Draw what can be drawn of a model, as PNG files: ``surface.png`` (two features), ``widths.png`` (learned widths),
    ``importances.png`` (shares of a learned metric), ``weights.png`` (of a stack's parts, over time), ``points.png``
    (points that are images of `image_shape`, height and width; squares are recognised). names: of the features.

    All in the units of the data before scaling. The files written are returned; there may be none.
    """
    if image_shape is not None and math.prod(image_shape) != learner.width:
        raise ValueError(
            f"image_shape={image_shape} has {math.prod(image_shape)} pixels, the model has {learner.width} features; "
            "give height and width whose product is the number of features."
        )
    directory.mkdir(parents=True, exist_ok=True)
    shown, written = learner.attributes, []
    points = shown.get("points")
    if points is not None and len(points) == 0:
        points = None
    if learner.width == 2:
        written.append(directory / "surface.png")
        write_surface(written[-1], learner, None if points is None else _unscaled(learner, points))
    if "widths" in shown:
        written.append(directory / "widths.png")
        write_widths(written[-1], shown["widths"], names)
    if "feature_importances" in shown:
        written.append(directory / "importances.png")
        write_importances(written[-1], shown["feature_importances"], names)
    if "weights_over_time" in shown:
        known = inside(learner)
        written.append(directory / "weights.png")
        write_weights(written[-1], known.moments, known.parts)
    shape = image_shape or _image_shape(learner.width)
    if shape is not None and points is not None:
        written.append(directory / "points.png")
        _write_images(written[-1], learner, _unscaled(learner, points), shown["coef"], shape)
    return written


def _unscaled(learner: Learner, points: np.ndarray) -> np.ndarray:
    """Points in the units of the data."""
    points = points.astype(np.float64)
    return learner.inputs.features.undo(points)


def _image_shape(width: int) -> tuple[int, int] | None:
    side = math.isqrt(width)
    if side * side == width and side >= _SMALLEST_SIDE:
        return side, side
    return _IMAGE_SHAPES.get(width)


# The decision surface.


def write_surface(path: Path, learner: Learner, points: np.ndarray | None) -> None:
    """What a model of two features predicts everywhere, and its points, in the units of the data."""
    low, high = _region(learner, points)
    axes = [np.linspace(a, b, _GRID) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    with styled(LIGHT):
        figure = Figure(figsize=(6.4, 5.4), layout="constrained")
        panel = figure.subplots()
        extent = (low[0], high[0], low[1], high[1])
        if isinstance(learner.task, Classification):
            _draw_classes(panel, learner, learner.task, grid, extent, points)
        else:
            values = learner.scores(grid)[:, 0].reshape(_GRID, _GRID)
            image = panel.imshow(values, origin="lower", extent=extent, aspect="auto", cmap="viridis")
            figure.colorbar(image, label="predicted value")
            if points is not None:
                panel.scatter(points[:, 0], points[:, 1], s=18, facecolor="white", edgecolor=LIGHT.text, linewidth=0.8)
        panel.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="feature 0", ylabel="feature 1")
        what = f"{words.count(learner.size)} stored points" if points is not None else "no stored points"
        panel.set_title(f"{learner.algorithm.name} after {words.count(learner.n_seen)} rows, {what}")
        write_png(path, figure)


def _draw_classes(
    panel: Any, learner: Learner, task: Classification, grid: np.ndarray, extent: Any, points: np.ndarray | None
) -> None:
    """A region a class, pale where the decision is narrow; each point in the colour of the class it speaks for."""
    scores = learner.scores(grid).astype(np.float64)
    regions = _winner(task, scores)
    margin = np.abs(scores[:, 0]) if task.n_outputs == 1 else np.diff(np.sort(scores, axis=1)[:, -2:])[:, 0]
    strength = np.minimum(margin / max(float(np.quantile(margin, 0.8)), 1e-12), 1.0)
    colours = _class_colours(len(task.classes))
    pale = 0.18 + 0.42 * strength[:, None]
    image = 1.0 - pale * (1.0 - colours[regions])
    panel.imshow(image.reshape(_GRID, _GRID, 3), origin="lower", extent=extent, aspect="auto")
    voices = None if points is None else _winner(task, learner.attributes["coef"])
    for k, label in enumerate(task.classes.tolist()):
        if not (regions == k).any() and (voices is None or not (voices == k).any()):
            continue
        mine = np.empty((0, 2)) if points is None or voices is None else points[voices == k]
        x, y = mine.T
        panel.scatter(x, y, s=24, color=[colours[k]], edgecolor=LIGHT.text, linewidth=0.6, label=label_text(label))
    columns = math.ceil(len(panel.get_legend_handles_labels()[1]) / 20)
    panel.figure.legend(title="class", loc="outside right upper", ncols=columns)


def _winner(task: Classification, scores: np.ndarray) -> np.ndarray:
    """The class index for which scores, or a point's coefficients, speak."""
    return scores.argmax(axis=1) if isinstance(task, Multiclass) else (scores[:, 0] >= 0).astype(np.int64)


def _class_colours(n: int) -> np.ndarray:
    """(n, 3): the colours of curves, repeated in lighter shades."""
    base = np.array(ListedColormap(LIGHT.curves)(np.arange(len(LIGHT.curves))))[:, :3]
    shades = [base + (1.0 - base) * shade / 4.0 for shade in range(math.ceil(n / len(base)))]
    return np.concatenate(shades)[:n].clip(0.0, 1.0)


def _region(learner: Learner, points: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The corners of what is drawn: around the points; without points what the scaling says of the data, and without
    that a few widths of the kernel around 0.
    """
    if points is not None and (np.ptp(points, axis=0) > 0).all():
        low, high = points.min(axis=0), points.max(axis=0)
        return low - _MARGIN * (high - low), high + _MARGIN * (high - low)
    kernel = getattr(learner.settled, "kernel", None)
    gamma = getattr(kernel, "gamma", 0.5)
    scaling = learner.inputs.features
    reach = _DEVIATIONS if scaling.changes else _DEVIATIONS / math.sqrt(2.0 * gamma)
    if scaling.kind == "minmax":
        reach = 1.0
    corners = _unscaled(learner, np.array([[-reach, -reach], [reach, reach]]))
    # A feature that was constant is shown with some width around it.
    flat = corners[0] == corners[1]
    return corners[0] - flat, corners[1] + flat


# Points that are images.


def _write_images(path: Path, learner: Learner, points: np.ndarray, coef: np.ndarray, shape: tuple[int, int]) -> None:
    """A grid of the points with the largest coefficients, the largest first."""
    order = np.argsort(-np.abs(coef).max(axis=1), kind="stable")[:_MOST_IMAGES]
    columns = min(8, len(order))
    rows = math.ceil(len(order) / columns)
    low, high = points[order].min(), points[order].max()
    with styled(LIGHT):
        figure = Figure(figsize=(1.05 * columns, 0.45 + 1.2 * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel in panels:
            panel.set_axis_off()
        for panel, i, title in zip(panels, order, _titles(learner, coef[order]), strict=False):
            panel.imshow(points[i].reshape(shape), cmap="gray_r", vmin=low, vmax=high, interpolation="nearest")
            panel.set_title(title, fontsize=9, fontweight="normal", loc="center", pad=2)
        about = (
            f"{learner.algorithm.name}: {len(order)} of {words.count(len(points))} points, largest coefficients first"
        )
        figure.suptitle(about, fontsize=10, x=0.01, ha="left")
        write_png(path, figure)


def _titles(learner: Learner, coef: np.ndarray) -> Iterator[str]:
    if isinstance(learner.task, Classification):
        for k in _winner(learner.task, coef):
            yield label_text(learner.task.classes.tolist()[k])
    else:
        yield from (f"{value:+.3g}" for value in coef[:, 0])
