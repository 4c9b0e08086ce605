"""What is written into a panel of curves: names at the lines' ends, and what lies beyond its frame."""

import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

_FONT = 8.5
_LINE = 1.25 * _FONT  # from one line of text to the next, in points
_LETTERS = 18  # of a line
_GAP = 0.035  # between the panel and its names, a share of its width
_POINTS_PER_INCH = 72.0
_NEAR = 0.95  # of the panel's width: from there on a line ends beside its name
_FILLED = 0.78  # of a figure's height is its panel's


class End(NamedTuple):
    """A line's last point, in units of the data, and what it is called."""

    x: float
    y: float
    label: str
    colour: str


def name_lines(panel: Any, ends: Sequence[End]) -> None:
    """Write each name at its line's end, moved up or down until none covers another, with a hair line to the end. A
    line that ends far from its name has a dot there, and a hair line from the panel's edge, which crosses no other.

    Requires: scales and limits are those that will be drawn.
    """
    at = [_in_panel(panel, end) for end in ends]
    kept = [(end, place) for end, place in zip(ends, at, strict=True) if np.isfinite(place).all()]
    if not kept:
        return
    texts = ["\n".join(textwrap.wrap(end.label, _LETTERS) or [""]) for end, _ in kept]
    unit = _LINE / (_FILLED * _POINTS_PER_INCH * panel.figure.get_figheight())
    heights = [unit * (text.count("\n") + 1) for text in texts]
    places = apart([min(max(y, 0.0), 1.0) for _, (_, y) in kept], heights)
    for (end, (x, y)), text, place in zip(kept, texts, places, strict=True):
        if x < _NEAR:
            panel.plot(
                [end.x], [end.y], "o", markersize=4.0, color=end.colour, label="_end", scalex=False, scaley=False
            )
        panel.plot(
            [min(x, 1.0) if x >= _NEAR else 1.0, 1.0 + 0.8 * _GAP],
            [min(max(y, 0.0), 1.0), place],
            transform=panel.transAxes,
            color=end.colour,
            linewidth=0.6,
            alpha=0.6,
            clip_on=False,
            label="_end",
            scalex=False,
            scaley=False,
        )
        panel.text(
            1.0 + _GAP, place, text, transform=panel.transAxes, color=end.colour, fontsize=_FONT, va="center",
            linespacing=1.1,
        )  # fmt: skip


def apart(centres: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Places near these centres at which things so high do not overlap, in their order from below."""
    order = sorted(range(len(centres)), key=lambda i: (centres[i], -i))
    # Neighbours that overlap become one group, centred where its members would be in the mean.
    groups: list[list[int]] = []
    for i in order:
        groups.append([i])
        while len(groups) > 1 and _bottom(groups[-1], centres, heights) < _top(groups[-2], centres, heights):
            groups[-2:] = [groups[-2] + groups[-1]]
    places = [0.0] * len(centres)
    for group in groups:
        edge = _bottom(group, centres, heights)
        for i in group:
            places[i] = edge + heights[i] / 2
            edge += heights[i]
    return places


def _bottom(group: Sequence[int], centres: Sequence[float], heights: Sequence[float]) -> float:
    """Where a group begins: around its mean, and within the panel as long as there is room."""
    total = sum(heights[i] for i in group)
    mean = sum(centres[i] for i in group) / len(group)
    return max(min(mean - total / 2, 1.0 + heights[group[-1]] / 2 - total), -heights[group[0]] / 2)


def _top(group: Sequence[int], centres: Sequence[float], heights: Sequence[float]) -> float:
    return _bottom(group, centres, heights) + sum(heights[i] for i in group)


def _in_panel(panel: Any, end: End) -> np.ndarray:
    """A point as shares of the panel's width and height."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(panel.transLimits.transform(panel.transScale.transform((end.x, end.y))), float)


def tell_what_is_cut(panel: Any, values: Sequence[np.ndarray], word: Callable[[float], str]) -> None:
    """Say in a panel how far curves go beyond its upper and its lower edge, if they do."""
    shown = np.concatenate([one[np.isfinite(one)] for one in values])
    low, high = panel.get_ylim()
    cut = [
        (value, place, sign)
        for value, place, sign in (
            (shown.max(), 0.995, "↑ first rows up to"),
            (shown.min(), 0.005, "↓ first rows down to"),
        )
        if not low <= value <= high
    ]
    behind = {"facecolor": panel.get_facecolor(), "edgecolor": "none", "pad": 1.0}
    for value, place, sign in cut:
        panel.text(
            0.5,
            place,
            f"{sign} {word(float(value))}",
            transform=panel.transAxes,
            fontsize=_FONT,
            ha="center",
            va="top" if place > 0.5 else "bottom",
            bbox=behind,
            zorder=6,
        )
