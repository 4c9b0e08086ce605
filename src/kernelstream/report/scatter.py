"""The price of a result: the metric against learning time, one labelled point a learner."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

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
    """Write each label at the nearest place beside its marker where it covers no marker and no other label, and where a
    line to it crosses no other.

    Requires: the figure is laid out.
    """
    unit = panel.figure.dpi / _POINTS_PER_INCH
    kept = np.flatnonzero(np.isfinite(points).all(axis=1)).tolist()
    centres = panel.transData.transform([points[i] for i in kept])
    radii = np.sqrt(areas[kept] / math.pi) * unit
    choices = []
    for i, (x, y), radius in zip(kept, centres, radii, strict=True):
        across, up = _size(panel, labels[i], points[i], fontsize)
        choices.append(_inside(panel, _places(x, y, radius + _GAP * unit, across, up)))
    boxes, far = _chosen(centres, radii, choices, _GAP * unit)
    for i, (x, y), box, apart in zip(kept, centres, boxes, far, strict=True):
        panel.annotate(
            labels[i],
            points[i],
            xytext=((box[0] - x) / unit, (box[1] - y) / unit),
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
            if apart
            else None,
            annotation_clip=False,
            zorder=4,
        )


def _size(panel: Any, label: str, point: tuple[float, float], fontsize: float) -> tuple[float, float]:
    """The width and height of a label."""
    text = panel.annotate(label, point, fontsize=fontsize, annotation_clip=False)
    extent = text.get_window_extent(panel.figure.canvas.get_renderer())
    text.remove()
    return extent.width, extent.height


def _inside(panel: Any, boxes: np.ndarray) -> np.ndarray:
    """Those within the panel, if there are."""
    frame = panel.get_window_extent(panel.figure.canvas.get_renderer())
    inside = (boxes[:, :2] >= frame.min).all(axis=1) & (boxes[:, 2:] <= frame.max).all(axis=1)
    return boxes[inside] if inside.any() else boxes


def _chosen(
    centres: np.ndarray, radii: np.ndarray, choices: Sequence[np.ndarray], gap: float
) -> tuple[np.ndarray, np.ndarray]:
    """Each label's box, and whether it is so far away that a line leads to it. Labels are placed so that they cover
    little, and then again so that lines do not cross: what covered nothing will not.
    """
    n = len(centres)
    markers = np.hstack([centres - radii[:, None], centres + radii[:, None]])
    boxes, far, placed = np.zeros((n, 4)), np.zeros(n, bool), np.zeros(n, bool)
    for turn, i in itertools.product(range(_ROUNDS), range(n)):
        placed[i] = False
        outside = np.maximum(np.maximum(choices[i][:, :2] - centres[i], centres[i] - choices[i][:, 2:]), 0.0)
        away = np.hypot(*outside.T) > radii[i] + 2 * gap
        lines = np.stack([centres, _middles(boxes)], axis=1)[placed & far]
        taken = np.vstack([markers, boxes[placed] + gap * np.array([-1, -1, 1, 1])])
        cost = _overlap(choices[i], taken)  # in square pixels: to cross a line is far better than to cover something
        if turn > 0:
            cost += away * _crossings(centres[i], _middles(choices[i]), lines)
        best = np.argmin(cost)
        boxes[i], far[i], placed[i] = choices[i][best], away[best], True
    return boxes, far


def _middles(boxes: np.ndarray) -> np.ndarray:
    return np.asarray(boxes[:, :2] + boxes[:, 2:]) / 2


_ROUNDS = 3
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


def _crossings(start: np.ndarray, ends: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """How many of the lines (n, 2, 2) cross that from the start to each of the ends."""

    def side(a: np.ndarray, b: np.ndarray, point: np.ndarray) -> np.ndarray:
        (across, up), (right, above) = np.moveaxis(b - a, -1, 0), np.moveaxis(point - a, -1, 0)
        return np.asarray(across * above > up * right)

    to, first, last = ends[:, None], lines[:, 0], lines[:, 1]
    apart = (side(start, to, first) != side(start, to, last)) & (side(first, last, start) != side(first, last, to))
    return np.asarray(apart.sum(axis=1))
