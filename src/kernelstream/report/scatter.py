"""The price of a result: the metric against learning time, one labelled point a learner."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from . import words
from .plots import WIDE, Ink, as_svg, fit, line_style, metric_scale, seconds_axis, styled
from .runs import Run

_SMALLEST, _LARGEST = 36.0, 260.0  # areas of markers, in points squared
_GAP = 3.0  # between a marker and its label, in points
_POINTS_PER_INCH = 72.0


def scatter_title(group: Sequence[Run]) -> str:
    return words.sentence(f"{words.metric_name(group[0].trace.headline)} and learning time of each learner")


def scatter_svg(group: Sequence[Run], ink: Ink, size: tuple[float, float] = WIDE) -> str:
    """SVG text; the larger the model, the larger the marker. A model of unknown size is a ring."""
    name = group[0].trace.headline
    x = [max(run.over(lambda trace: trace.last.seconds).mean, 1e-9) for run in group]
    y = [run.headline.mean for run in group]
    sizes = np.array([run.over(lambda trace: float(trace.last.size)).mean for run in group])
    areas = _areas(sizes)
    with styled(ink):
        figure = Figure(figsize=size)
        panel = figure.subplots()
        for run, x_i, y_i, area, known in zip(group, x, y, areas, sizes > 0, strict=True):
            colour = line_style(run.position, ink)["color"]
            face = colour if known else "none"
            panel.scatter([x_i], [y_i], s=area, facecolor=face, edgecolor=colour, linewidth=1.2, alpha=0.85, zorder=3)
            if run.headline.deviation is not None:
                panel.errorbar([x_i], [y_i], run.headline.deviation, color=colour, linewidth=1.2, zorder=2)
        seconds_axis(panel.xaxis)
        logarithmic = metric_scale(panel.yaxis, name, y)
        panel.margins(x=0.12, y=0.14)
        panel.set_xlabel("learning time (log scale)")
        panel.set_ylabel(words.metric_name(name) + (" (log)" if logarithmic else ""))
        panel.grid(color=ink.faint, linewidth=0.7)
        panel.set_axisbelow(True)
        fit(figure)
        label_points(panel, [run.label for run in group], list(zip(x, y, strict=True)), areas, ink)
        return as_svg(figure)


def _areas(sizes: np.ndarray) -> np.ndarray:
    """Areas that grow with the logarithm of the size."""
    known = sizes[sizes > 0]
    if len(known) == 0 or known.min() == known.max():
        return np.full(len(sizes), 2 * _SMALLEST)
    share = np.log(np.maximum(sizes, known.min()) / known.min()) / math.log(known.max() / known.min())
    return _SMALLEST + (_LARGEST - _SMALLEST) * share


def lay_out(figure: Figure) -> None:
    """Lay the figure out for good."""
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def label_points(
    panel: Any,
    labels: Sequence[str],
    points: Sequence[tuple[float, float]],
    areas: np.ndarray,
    ink: Ink,
    fontsize: float = 9,
) -> None:
    """Write each label at the nearest place beside its marker where it covers no marker and no other label.

    Requires: the figure is laid out.
    """
    renderer = panel.figure.canvas.get_renderer()
    unit = panel.figure.dpi / _POINTS_PER_INCH
    frame = panel.get_window_extent(renderer)
    centres = panel.transData.transform(points)
    radii = np.sqrt(areas / math.pi) * unit
    taken = [Bbox.from_extents(*(c - r), *(c + r)) for c, r in zip(centres, radii, strict=True)]
    for label, (x, y), radius, point in zip(labels, centres, radii, points, strict=True):
        if not np.isfinite(point).all():
            continue
        text = panel.annotate(label, point, fontsize=fontsize, color=ink.text, annotation_clip=False, zorder=4)
        extent = text.get_window_extent(renderer)
        boxes = _places(x, y, radius + _GAP * unit, extent.width, extent.height)
        inside = (boxes[:, :2] >= frame.min).all(axis=1) & (boxes[:, 2:] <= frame.max).all(axis=1)
        boxes = boxes[inside] if inside.any() else boxes
        box = Bbox.from_extents(*boxes[np.argmin(_overlap(boxes, np.array([one.extents for one in taken])))])
        taken.append(box.padded(_GAP * unit))
        text.remove()
        far = math.hypot(max(box.x0 - x, x - box.x1, 0), max(box.y0 - y, y - box.y1, 0)) > radius + 2 * _GAP * unit
        panel.annotate(
            label,
            point,
            xytext=((box.x0 - x) / unit, (box.y0 - y) / unit),
            textcoords="offset points",
            fontsize=fontsize,
            color=ink.text,
            arrowprops={
                "arrowstyle": "-",
                "color": ink.text,
                "alpha": 0.8,
                "linewidth": 0.7,
                "shrinkA": 0,
                "shrinkB": 2,
            }
            if far
            else None,
            annotation_clip=False,
            zorder=4,
        )


_RINGS = 9
_TURNS = (0, 12, 6, 18, 2, 22, 10, 14, 4, 20, 8, 16, 1, 23, 11, 13, 3, 21, 9, 15, 5, 19, 7, 17)


def _places(x: float, y: float, reach: float, width: float, height: float) -> np.ndarray:
    """Boxes of a label around a point, as their left, lower, right and upper edges: right, left, above and below, then
    in wider and wider rings.
    """
    ring, turn = (grid.ravel() for grid in np.meshgrid(np.arange(_RINGS), _TURNS, indexing="ij"))
    across, up = np.cos(turn * math.pi / 12), np.sin(turn * math.pi / 12)
    distance = reach + 0.9 * ring * height
    # The point of the box that is nearest to the marker lies on the ring.
    left = x + distance * across - width * (1 - across) / 2
    bottom = y + distance * up - height * (1 - up) / 2
    return np.stack([left, bottom, left + width, bottom + height], axis=1)


def _overlap(boxes: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """The area of each box that is taken."""
    low, high = np.maximum(boxes[:, None, :2], taken[:, :2]), np.minimum(boxes[:, None, 2:], taken[:, 2:])
    return np.maximum(high - low, 0.0).prod(axis=2).sum(axis=1)
