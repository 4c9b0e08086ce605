"""Curves of runs. Figures are drawn without pyplot: no display is asked for, and nothing global is changed."""

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..engine import disk
from ..evaluate.trace import Trace
from ..extras import needing
from ..learner.drift import WARN
from . import words
from .ends import End, name_lines, tell_what_is_cut
from .inside import SMALLEST, Share, name_of
from .runs import METRIC, ROWS, SECONDS, SIZE, WINDOW, Curve, Run, by_source

with needing("matplotlib"):
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator, NullFormatter


class Ink(NamedTuple):
    """The colours of a figure. Curves are told apart by colour and dashes."""

    paper: str
    text: str
    faint: str
    curves: tuple[str, ...]


# Curve colours after Okabe and Ito, darkened or lightened for a contrast of 4.5:1 with the paper: names have them too.
LIGHT = Ink(
    "#ffffff", "#1f2328", "#d8dee4", ("#0072b2", "#c04b00", "#007a5c", "#a0458a", "#7a5c00", "#5b4fc7", "#5c5c5c")
)
DARK = Ink(
    "#161b22", "#e6edf3", "#343b44", ("#58b0ee", "#f5894a", "#2fc49a", "#e58fcb", "#e5c04a", "#b5a5ff", "#b8b8b8")
)
# Lengths of ink and gap in line widths. Four of these and seven colours make 28 kinds of line.
DASHES: tuple[tuple[float, ...], ...] = ((), (6, 2), (2, 1.5), (7, 2, 1.5, 2))
NARROW, WIDE = (4.9, 3.3), (10.4, 4.2)

_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 10,
    "svg.fonttype": "none",
    "text.parse_math": False,  # a name may have dollar signs
    "svg.hashsalt": "kernelstream",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
}

_STEPS = (1, 2, 5, 10)
_COUNTS = FuncFormatter(lambda value, _: words.count(value))
_NUMBERS = FuncFormatter(lambda value, _: words.count(value) if value >= 1000 else f"{value:.4g}")
# Among more runs than this, the best ones have a colour and a name.
PROMINENT = 7
# The range of a metric's axis is that of the curves after this share of a logarithmic or linear x axis: what comes
# before is chance.
_CHANCE_LOG, _CHANCE_LINEAR = 0.03, 0.1
# A metric whose final values differ by this factor gets a logarithmic axis.
_WIDE_RANGE = 6.0


@contextmanager
def styled(ink: Ink) -> Iterator[None]:
    """All figures within look alike."""
    of_text = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor", "axes.titlecolor")
    colours: dict[Any, Any] = dict.fromkeys(of_text, ink.text)
    colours |= {"figure.facecolor": ink.paper, "axes.facecolor": ink.paper}
    with mpl.rc_context({**_STYLE, **colours}):
        yield


def as_svg(figure: Figure) -> str:
    text = io.StringIO()
    # `savefig` would draw all of it once more before, for layouts that need that.
    FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None, "Creator": None})
    return text.getvalue()


def in_the_dark(svg: str) -> str:
    """A light picture in the colours of the dark one."""
    pairs = dict(zip(_colours(LIGHT), _colours(DARK), strict=True))
    return _LIGHT_COLOUR.sub(lambda found: pairs[found.group()], svg)


def _colours(ink: Ink) -> list[str]:
    return [ink.paper, ink.text, ink.faint, *ink.curves]


_LIGHT_COLOUR = re.compile("|".join(_colours(LIGHT)))


def fit(figure: Figure, gap: float = 0.04) -> None:
    """Give panels in a row all the room that what is written around them leaves, but for a gap, in inches. Constrained
    layout measures everything twice, which took as long as drawing.
    """
    renderer, panels = FigureCanvasAgg(figure).get_renderer(), figure.axes
    width, height = figure.bbox.size
    gap *= figure.dpi
    for i, panel in enumerate(panels):
        inner = panel.get_window_extent(renderer)
        outer = panel.get_tightbbox(renderer) or inner
        left = i * width / len(panels) + gap + inner.x0 - outer.x0
        right = (i + 1) * width / len(panels) - gap - (outer.x1 - inner.x1)
        low, high = gap + inner.y0 - outer.y0, height - gap - (outer.y1 - inner.y1)
        panel.set_position((left / width, low / height, (right - left) / width, (high - low) / height))


def write_png(path: Path, figure: Figure, *, dpi: int = 150) -> None:
    with disk.appearing(path) as file:
        figure.set_dpi(dpi)
        FigureCanvasAgg(figure).print_png(file)


def write_curves(path: Path, traces: Sequence[Trace]) -> None:
    """A picture with one panel a data set: the metric so far against rows."""
    groups = by_source(traces)
    with styled(LIGHT):
        figure = Figure(figsize=(4.9 * len(groups), 3.6))
        panels = figure.subplots(1, len(groups), squeeze=False)[0]
        for panel, (source, group) in zip(panels, groups.items(), strict=True):
            _draw(panel, group, ROWS, METRIC, LIGHT)
            panel.set_title(source)
        fit(figure, 0.12)
        write_png(path, figure)


def write_widths(path: Path, widths: Sequence[float], names: Sequence[str] | None = None, *, most: int = 20) -> None:
    """RRF's learned widths as the relevance of features: a PNG of the `most` that matter most, the largest on top.

    A width above 1 makes the model look closer at a feature than it did at the start, one below 1 lets it look away.
    """
    _write_bars(path, widths, names, most, start=1.0, label="learned width (1 at the start)")


def write_importances(
    path: Path, shares: Sequence[float], names: Sequence[str] | None = None, *, most: int = 20
) -> None:
    """The share of each feature in a learned metric: a PNG of the `most` that matter most, the largest on top."""
    most = min(most, max(1, sum(share >= SMALLEST for share in shares)))
    _write_bars(path, shares, names, most, start=0.0, label="share of the learned metric")


def _write_bars(
    path: Path, values: Sequence[float], names: Sequence[str] | None, most: int, *, start: float, label: str
) -> None:
    labels = [name_of(i, names) for i in range(len(values))]
    order = sorted(range(len(labels)), key=lambda i: -values[i])[:most][::-1]
    with styled(LIGHT):
        figure = Figure(figsize=(6.4, 1.0 + 0.28 * len(order)), layout=ConstrainedLayoutEngine())
        panel = figure.add_subplot()
        panel.barh(
            [labels[i] for i in order], [float(values[i]) - start for i in order], left=start, color=LIGHT.curves[0]
        )
        panel.axvline(start, color=LIGHT.text, linewidth=1.0)
        panel.set_xlabel(label)
        panel.margins(y=0.02)
        panel.grid(axis="x", color=LIGHT.faint, linewidth=0.7)
        panel.set_axisbelow(True)
        write_png(path, figure)


def features_svg(features: Sequence[Share], ink: Ink, size: tuple[float, float] = NARROW) -> str:
    """Shares of features as bars, the largest on top."""
    with styled(ink):
        figure = Figure(figsize=(size[0], 0.5 + 0.27 * len(features)), layout="constrained")
        panel = figure.subplots()
        shares = [one.share for one in features][::-1]
        bars = panel.barh(range(len(shares)), shares, color=ink.curves[0], height=0.72)
        panel.bar_label(bars, [f"{100 * share:.1f} %" for share in shares], padding=4)
        panel.set_yticks(range(len(shares)), [one.name.replace("$", r"\$") for one in features][::-1])
        panel.set_xlim(0, 1.15 * max(shares))
        panel.margins(y=0.02)
        panel.tick_params(left=False, bottom=False, labelbottom=False)
        panel.spines[:].set_visible(False)
        return as_svg(figure)


def weights_svg(moments: np.ndarray, parts: Sequence[str], ink: Ink, size: tuple[float, float] = WIDE) -> str:
    """A stack's weights against rows."""
    with styled(ink):
        figure = Figure(figsize=size, layout="constrained")
        draw_weights(figure.subplots(), moments, parts, ink)
        return as_svg(figure)


def write_weights(path: Path, moments: np.ndarray, parts: Sequence[str]) -> None:
    """`weights_svg` as a PNG."""
    with styled(LIGHT):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        draw_weights(figure.subplots(), moments, parts, LIGHT)
        write_png(path, figure)


def draw_weights(panel: Any, moments: np.ndarray, parts: Sequence[str], ink: Ink) -> None:
    for i, part in enumerate(parts):
        panel.plot(moments[:, 0], moments[:, 1 + i], **line_style(i, ink), linewidth=1.7, label=part)
    linear_rows(panel)
    panel.set_ylabel("weight")
    _finish(panel, ink)
    panel.figure.legend(loc="outside upper left", ncols=4, frameon=False)


def curve_svg(group: Sequence[Run], x: str, y: str, ink: Ink, size: tuple[float, float] = NARROW) -> str:
    """One panel as SVG text: runs on one data set, `y` (METRIC, WINDOW or SIZE) against `x` (ROWS or SECONDS)."""
    with styled(ink):
        figure = Figure(figsize=size)
        _draw(figure.subplots(), group, x, y, ink)
        fit(figure)
        return as_svg(figure)


def course_svg(run: Run, ink: Ink, size: tuple[float, float] = WIDE) -> str:
    """The metric of a single run against rows: so far, and over it in windows."""
    with styled(ink):
        figure = Figure(figsize=size, layout="constrained")
        panel = figure.subplots()
        curves = [run.curve(ROWS, METRIC), run.curve(ROWS, WINDOW)]
        for curve, colour, label in zip(curves, ink.curves, ("so far", "in windows"), strict=False):
            style = {"marker": "o", "markersize": 3.0, "linewidth": 1.0} if label == "in windows" else {"linewidth": 2}
            panel.plot(curve.x, curve.y, color=colour, label=label, **style)
        _draw_drifts(panel, run, ink.text)
        linear_rows(panel)
        _metric_axis(panel, [run], curves)
        panel.set_ylabel(words.metric_name(run.trace.headline))
        _finish(panel, ink)
        figure.legend(loc="outside upper right", ncols=2)
        return as_svg(figure)


def curve_title(group: Sequence[Run], x: str, y: str) -> str:
    """What a panel shows, in words."""
    return words.sentence(f"{_quantity(group, y)} against {x}")


def line_style(position: int, ink: Ink) -> dict[str, Any]:
    """Colour and dashes of the run at a position."""
    dashes = DASHES[position % len(DASHES)]
    return {"color": ink.curves[position % len(ink.curves)], "linestyle": (0, dashes) if dashes else "-"}


def metric_scale(axis: Any, name: str, values: Sequence[float]) -> bool:
    """Give an axis the scale and labels of a metric; True when its values lie so far apart that it is logarithmic."""
    finite = [value for value in values if math.isfinite(value)]
    logarithmic = bool(finite) and min(finite) > 0 and max(finite) > _WIDE_RANGE * min(finite)
    if logarithmic:
        axis.axes.set_yscale("log")
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(6, steps=_STEPS))
    if words.is_share(name):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g} %"))
    elif logarithmic:
        axis.set_major_formatter(_NUMBERS)
    return logarithmic


def seconds_axis(axis: Any) -> None:
    # Labels with units are longer, so that fewer fit.
    log_axis(axis, EngFormatter("s"), decades=2)


def _quantity(group: Sequence[Run], y: str) -> str:
    if y == SIZE:
        return "model size"
    return f"{words.metric_name(group[0].trace.headline)} {'so far' if y == METRIC else 'in windows'}"


def _draw(panel: Any, group: Sequence[Run], x: str, y: str, ink: Ink) -> None:
    """Curves of runs; of several, each has its name at its end."""
    curves = [run.curve(x, y) for run in group]
    ends = []
    for rank, (run, curve) in reversed(list(enumerate(zip(group, curves, strict=True)))):
        prominent = rank < PROMINENT
        style = line_style(run.position, ink) if prominent else {"color": ink.text, "linestyle": "-"}
        # The best lie over the others, and broken lines over whole ones, so that equal curves are all seen.
        order = 2.0 + prominent + 0.5 * (style["linestyle"] != "-")
        width, alpha = (1.9, 1.0) if prominent else (0.8, 0.3)
        panel.plot(curve.x, curve.y, **style, linewidth=width, alpha=alpha, label=run.label, zorder=order)
        if prominent and len(curve.x):
            ends.append(End(float(curve.x[-1]), float(curve.y[-1]), run.label, style["color"]))
        if prominent and y != WINDOW and curve.deviation.any():
            low, high = curve.y - curve.deviation, curve.y + curve.deviation
            panel.fill_between(curve.x, low, high, color=style["color"], alpha=0.09, linewidth=0)
        if x == ROWS:
            _draw_drifts(panel, run, style["color"])
    if y == METRIC:
        if x == SECONDS:
            seconds_axis(panel.xaxis)
        else:
            log_axis(panel.xaxis, _COUNTS, decades=3)
        panel.set_xlabel(f"{x} (log scale)")
    else:
        linear_rows(panel)
    if y == SIZE:
        panel.yaxis.set_major_locator(MaxNLocator(6, steps=_STEPS))
        panel.yaxis.set_major_formatter(_COUNTS)
        panel.set_ylim(bottom=0)
        panel.set_ylabel(_quantity(group, y))
    else:
        logarithmic = _metric_axis(panel, group, curves)
        panel.set_ylabel(_quantity(group, y) + (" (log)" if logarithmic else ""))
    _finish(panel, ink)
    if len(group) > 1:
        name_lines(panel, ends)


def _draw_drifts(panel: Any, run: Run, colour: str) -> None:
    """A line where drift was found, a whole one where the model was changed."""
    for drift in run.trace.drifts:
        style = (0, (1, 2)) if drift.did == WARN else "-"
        panel.axvline(drift.row, color=colour, linestyle=style, linewidth=0.9, alpha=0.7, zorder=1.5, label="_drift")


def _metric_axis(panel: Any, group: Sequence[Run], curves: Sequence[Curve]) -> bool:
    """Scale and range of a metric's axis: what happened by chance in the first rows is cut off."""
    name = group[0].trace.headline
    share = _CHANCE_LOG if panel.get_xscale() == "log" else _CHANCE_LINEAR
    ends = [curve.y[curve.x >= share * curve.x[-1]] for curve in curves if len(curve.x) > 0]
    shown = np.concatenate([*ends, [run.headline.mean for run in group]])
    shown = shown[np.isfinite(shown)]
    logarithmic = metric_scale(panel.yaxis, name, [run.headline.mean for run in group])
    if len(shown) == 0:
        return logarithmic
    low, high = float(shown.min()), float(shown.max())
    if logarithmic:
        panel.set_ylim(max(low, 0.5 * min(run.headline.mean for run in group)) / 1.1, high * 1.1)
    else:
        margin = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
        panel.set_ylim(max(low - margin, 0.0) if low >= 0 else low - margin, high + margin)
    tell_what_is_cut(panel, [curve.y for curve in curves], lambda value: words.metric_value(name, value))
    return logarithmic


def linear_rows(panel: Any) -> None:
    panel.xaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    panel.xaxis.set_major_formatter(_COUNTS)
    panel.set_xlabel(ROWS)


def _finish(panel: Any, ink: Ink) -> None:
    panel.margins(x=0.02)
    panel.grid(color=ink.faint, linewidth=0.7)
    panel.set_axisbelow(True)


def log_axis(axis: Any, formatter: Any = _NUMBERS, *, decades: int = 2) -> None:
    """A logarithmic axis: ticks at 1, 2 and 5 when it spans fewer decades than given, else at powers of ten."""
    low, high = axis.get_data_interval()
    if not 0.0 < high < math.inf:  # no time was measured, or no value is a number
        return
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 10**decades * low else (1.0,)))
    axis.set_major_formatter(formatter)
    axis.set_minor_formatter(NullFormatter())
