"""Curves of runs. Figures are drawn without pyplot: no display is asked for, and nothing global is changed."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, PercentFormatter

from ..evaluate import Checkpoint, Trace
from . import words


class Ink(NamedTuple):
    """The colours of a figure. Curves are told apart by colour, dashes and, where there is room, their own label."""

    paper: str
    text: str
    faint: str
    curves: tuple[str, ...]


# Curve colours after Okabe and Ito, darkened or lightened for a contrast of 3:1 with the paper.
LIGHT = Ink(
    "#ffffff", "#1f2328", "#d8dee4", ("#0072b2", "#c44e00", "#008060", "#a0458a", "#806000", "#2f8fc4", "#5c5c5c")
)
DARK = Ink(
    "#161b22", "#e6edf3", "#343b44", ("#58b0ee", "#f5894a", "#2fc49a", "#e58fcb", "#e5c04a", "#9ad4f5", "#b8b8b8")
)
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)))

_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 10,
    "svg.fonttype": "none",
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

ROWS, SECONDS = "rows", "learning time"
METRIC, SIZE = "metric", "size"


def by_source(traces: Iterable[Trace]) -> dict[str, list[Trace]]:
    """The runs on each data set, in the order in which they come."""
    groups: dict[str, list[Trace]] = {}
    for trace in traces:
        groups.setdefault(trace.source, []).append(trace)
    return groups


def write_curves(path: Path, traces: Sequence[Trace]) -> None:
    """A picture with one panel a data set: the metric so far against rows."""
    groups = by_source(traces)
    with mpl.rc_context({**_STYLE, **_colours(LIGHT)}):
        figure = Figure(figsize=(4.4 * len(groups), 4.2), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12))
        panels = figure.subplots(1, len(groups), squeeze=False)[0]
        for panel, (source, group) in zip(panels, groups.items(), strict=True):
            _draw(panel, group, ROWS, METRIC, LIGHT)
            panel.set_title(source)
        handles = {line.get_label(): line for panel in panels for line in panel.get_lines()}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
        figure.savefig(path, dpi=150, format="png")


def write_widths(path: Path, widths: Sequence[float], names: Sequence[str] | None = None, *, most: int = 20) -> None:
    """RRF's learned widths as the relevance of features: a PNG of the `most` that matter most, the largest on top.

    A width above 1 makes the model look closer at a feature than it did at the start, one below 1 lets it look away.
    """
    labels = [f"feature {i}" for i in range(len(widths))] if names is None else list(names)
    order = sorted(range(len(labels)), key=lambda i: -widths[i])[:most][::-1]
    with mpl.rc_context({**_STYLE, **_colours(LIGHT)}):
        figure = Figure(figsize=(6.4, 1.0 + 0.28 * len(order)), layout=ConstrainedLayoutEngine())
        panel = figure.add_subplot()
        panel.barh([labels[i] for i in order], [float(widths[i]) for i in order], color=LIGHT.curves[0])
        panel.axvline(1.0, color=LIGHT.text, linewidth=1.0, linestyle=(0, (4, 3)))
        panel.set_xlabel("learned width (1 at the start)")
        figure.savefig(path, dpi=150)


def curve_svg(group: Sequence[Trace], x: str, y: str, ink: Ink) -> str:
    """One panel as SVG text: runs on one data set, `y` (METRIC or SIZE) against `x` (ROWS or SECONDS)."""
    with mpl.rc_context({**_STYLE, **_colours(ink)}):
        figure = Figure(figsize=(4.8, 3.5), layout="constrained")
        panel = figure.subplots()
        _draw(panel, group, x, y, ink)
        figure.legend(loc="outside upper left", ncols=4, columnspacing=1.0, handlelength=2.2, fontsize=9)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def curve_title(group: Sequence[Trace], x: str, y: str) -> str:
    """What a panel shows, in words."""
    return f"{_quantity(group, y)} against {x}"


def _quantity(group: Sequence[Trace], y: str) -> str:
    return f"{words.metric_name(group[0].headline)} so far" if y == METRIC else "model size"


def _draw(panel: Any, group: Sequence[Trace], x: str, y: str, ink: Ink) -> None:
    for position, trace in enumerate(group):
        panel.plot(
            [_x(checkpoint, x) for checkpoint in trace.checkpoints],
            [checkpoint.size if y == SIZE else checkpoint.metrics[trace.headline] for checkpoint in trace.checkpoints],
            color=ink.curves[position % len(ink.curves)],
            linestyle=_DASHES[position % len(_DASHES)],
            linewidth=1.8,
            label=trace.algorithm,
        )
    if y == METRIC:
        # Labels with units are longer, so that fewer fit.
        if x == SECONDS:
            _log_axis(panel.xaxis, EngFormatter("s"), decades=2)
        else:
            _log_axis(panel.xaxis, _COUNTS, decades=3)
    else:
        panel.xaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
        panel.xaxis.set_major_formatter(_COUNTS)
    panel.set_xlabel(f"{x} (log scale)" if y == METRIC else x)
    panel.margins(x=0.02)
    panel.yaxis.set_major_locator(MaxNLocator(6, steps=_STEPS))
    if y == SIZE:
        panel.yaxis.set_major_formatter(_COUNTS)
        panel.set_ylim(bottom=0)
    elif group[0].headline.endswith("_rate"):
        panel.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        panel.set_ylim(bottom=0)
    panel.set_ylabel(_quantity(group, y))
    panel.grid(color=ink.faint, linewidth=0.7)
    panel.set_axisbelow(True)


def _log_axis(axis: Any, formatter: Any, *, decades: int) -> None:
    """A logarithmic axis: ticks at 1, 2 and 5 when it spans fewer decades than given, else at powers of ten."""
    low, high = axis.get_data_interval()
    axis.axes.set_xscale("log")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 10**decades * low else (1.0,)))
    axis.set_major_formatter(formatter)
    axis.set_minor_formatter(NullFormatter())


def _x(checkpoint: Checkpoint, x: str) -> float:
    return checkpoint.rows if x == ROWS else checkpoint.seconds


def _colours(ink: Ink) -> dict[Any, Any]:
    of_text = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor", "axes.titlecolor")
    return {**dict.fromkeys(of_text, ink.text), "figure.facecolor": ink.paper, "axes.facecolor": ink.paper}
