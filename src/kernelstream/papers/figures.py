"""The pictures of items: tables as points beside the published ones, curves, sweeps, error against time."""

import math
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..extras import needing
from ..learner import Learner
from ..report.inspection import write_surface
from ..report.plots import LIGHT, line_style, linear_rows, log_axis, styled, write_png
from ..report.scatter import label_points, lay_out
from .items import Item
from .results import Cell, Result

with needing("matplotlib"):
    from matplotlib.figure import Figure
    from matplotlib.image import imread

_PANEL = (4.6, 3.4)
_COLUMNS = 3
_AREA = 40.0  # of a marker


def write_figure(path: Path, item: Item, result: Result) -> None:
    """The picture of an item as a PNG."""
    with styled(LIGHT):
        figure = {
            "table": _table,
            "scatter": _scatter,
            "sweep": _sweep,
            "convergence": _convergence,
        }[item.kind](item, result)
        write_png(path, figure, dpi=90)


def write_surfaces(path: Path, models: Iterable[tuple[str, Learner]]) -> None:
    """Decision surfaces side by side."""
    with tempfile.TemporaryDirectory() as folder:
        pictures = []
        for position, (title, learner) in enumerate(models):
            file = Path(folder) / f"{position}.png"
            write_surface(file, learner, learner.attributes.get("points"))
            pictures.append((title, imread(file)))
    if not pictures:
        return
    with styled(LIGHT):
        figure, panels = _panels([title for title, _ in pictures], height=4.0)
        for panel, (_, picture) in zip(panels, pictures, strict=False):
            panel.imshow(picture)
            panel.set_axis_off()
        write_png(path, figure, dpi=110)


def _data(result: Result) -> dict[str, list[Cell]]:
    """The cells that were run, a data set at a time."""
    found: dict[str, list[Cell]] = {}
    for cell in result.cells:
        if cell.ran and math.isfinite(cell.mean):
            found.setdefault(cell.data, []).append(cell)
    return found


def _panels(titles: Sequence[str], *, height: float = _PANEL[1]) -> tuple[Figure, list[Any]]:
    columns = min(_COLUMNS, len(titles))
    lines = math.ceil(len(titles) / columns)
    figure = Figure(figsize=(_PANEL[0] * columns, height * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).reshape(-1).tolist()
    for panel, title in zip(panels, titles, strict=False):
        panel.set_title(title)
        panel.grid(color=LIGHT.faint, linewidth=0.7)
        panel.set_axisbelow(True)
    for panel in panels[len(titles) :]:
        panel.set_visible(False)
    return figure, panels


def _unit(item: Item) -> str:
    return f"{item.metric.replace('_', ' ')}{' (%)' if item.percent else ''}"


def _quantity(item: Item, y: str) -> str:
    names = {"metric": _unit(item), "seconds": "learning time (s)", "size": "model size"}
    return names.get(y, item.risk.replace("_", " "))


def _table(item: Item, result: Result) -> Figure:
    """Ours as a point with its deviation, the published value as a ring."""
    data = _data(result)
    longest = max(len(cells) for cells in data.values())
    figure, panels = _panels(list(data), height=1.2 + 0.24 * longest)
    for panel, (name, cells) in zip(panels, data.items(), strict=False):
        places = range(len(cells))
        ours = [cell.mean for cell in cells]
        panel.errorbar(ours, places, xerr=[cell.sd for cell in cells], fmt="o", color=LIGHT.curves[0], label="here")
        shown = [(item.published.get((name, cell.learner)), place) for cell, place in zip(cells, places, strict=True)]
        printed = [(cell, place) for cell, place in shown if cell is not None and cell.value is not None]
        if printed:
            panel.errorbar(
                [cell.value for cell, _ in printed],
                [place + 0.25 for _, place in printed],
                xerr=[cell.sd or 0.0 for cell, _ in printed],
                fmt="s",
                color=LIGHT.curves[1],
                markerfacecolor="none",
                label="published",
            )
        panel.set_yticks(list(places), [cell.learner for cell in cells])
        panel.invert_yaxis()
        panel.set_xlabel(_unit(item))
    panels[0].legend(loc="best", fontsize=8)
    return figure


def _scatter(item: Item, result: Result) -> Figure:
    data = _data(result)
    figure, panels = _panels(list(data))
    for panel, cells in zip(panels, data.values(), strict=False):
        for position, cell in enumerate(cells):
            panel.scatter(cell.mean_seconds, cell.mean, s=_AREA, color=line_style(position, LIGHT)["color"])
        log_axis(panel.xaxis)
        panel.margins(0.2)
        panel.set_xlabel("learning time (s)")
        panel.set_ylabel(_unit(item))
    lay_out(figure)
    for panel, cells in zip(panels, data.values(), strict=False):
        points = [(cell.mean_seconds, cell.mean) for cell in cells]
        label_points(panel, [cell.learner for cell in cells], points, np.full(len(cells), _AREA), LIGHT)
    return figure


def _sweep(item: Item, result: Result) -> Figure:
    data = _data(result)
    titles = [name for name in data for _ in item.y]
    figure, panels = _panels(titles)
    of = {"metric": lambda c: c.mean, "seconds": lambda c: c.mean_seconds, "size": lambda c: c.size}
    places = [(cells, y) for cells in data.values() for y in item.y]
    for panel, (cells, y) in zip(panels, places, strict=False):
        for position, learner in enumerate(dict.fromkeys(cell.learner for cell in cells)):
            mine = [cell for cell in cells if cell.learner == learner]
            xs, ys = [cell.swept for cell in mine], [of[y](cell) for cell in mine]
            panel.plot(xs, ys, marker="o", markersize=3, label=learner, **line_style(position, LIGHT))
        panel.set_xlabel(item.label)
        panel.set_ylabel(_quantity(item, y))
    _legend(figure, panels)
    return figure


def _convergence(item: Item, result: Result) -> Figure:
    data = _data(result)
    figure, panels = _panels([name for name in data for _ in item.y])
    places = [(cells, y) for cells in data.values() for y in item.y]
    for panel, (cells, y) in zip(panels, places, strict=False):
        for position, cell in enumerate(cells):
            if cell.curve:
                xs, ys = ([point[name] for point in cell.curve] for name in ("rows", y))
                panel.plot(xs, ys, label=cell.learner, **line_style(position, LIGHT))
        linear_rows(panel)
        panel.set_ylabel(_quantity(item, y))
        if y in ("seconds", "risk"):
            log_axis(panel.yaxis)
    _legend(figure, panels)
    return figure


def _legend(figure: Figure, panels: Sequence[Any]) -> None:
    handles = {line.get_label(): line for panel in panels for line in panel.get_lines()}
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=min(5, len(handles)), fontsize=8
    )
