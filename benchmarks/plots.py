"""The pictures of the page, in the style of the reports."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from kernelstream import ALGORITHMS
from kernelstream.report.plots import LIGHT, line_style, log_axis, styled

from .growth import GROWTHS, fits, points
from .measure import over, range_of
from .results import Results
from .targets import NEAR, WITHIN

_PANEL = (4.6, 3.6)


def write_plots(results: Results, folder: Path) -> list[tuple[str, str]]:
    """Write all pictures that there are results for; (file name, caption) of each."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with styled(LIGHT):
        for name, caption, draw in (
            ("floors", "Time over the floor; lines at 1.5 and 2. Bars are the range over turns.", _floors),
            ("peers", "Rows a second at the base point, beside scikit-learn's and River's nearest.", _peers),
            ("growth", "Cost against each factor, both axes logarithmic.", _growth),
        ):
            figure = draw(results)
            if figure is not None:
                figure.savefig(folder / f"{name}.png", dpi=90)
                made.append((f"{name}.png", caption))
    return made


def _bars(results: Results, height: float) -> tuple[Figure, Any, list[str]]:
    names = [name for name in ALGORITHMS if results.one(name)]
    figure = Figure(figsize=(8.2, 1.2 + height * max(1, len(names))), layout="constrained")
    panel = figure.subplots()
    panel.set_yticks(range(len(names)), names)
    panel.invert_yaxis()
    panel.grid(axis="x", color=LIGHT.faint, linewidth=0.7)
    panel.set_axisbelow(True)
    return figure, panel, names


def _floors(results: Results) -> Figure | None:
    figure, panel, names = _bars(results, 0.24)
    series = (
        ("cod-rna, d = 8", lambda name: results.one(name)),
        ("d = 128", lambda name: results.one("wide", learner=name)),
    )
    for place, (label, record_of) in enumerate(series):
        found = [(row, over(record, "ours", "floor")) for row, name in enumerate(names) if (record := record_of(name))]
        if found:
            middle = [value.median for _, value in found]
            ends = [[v.median - v.least for _, v in found], [v.largest - v.median for _, v in found]]
            rows = [row + 0.24 * place - 0.12 for row, _ in found]
            panel.errorbar(
                middle, rows, xerr=ends, fmt="os"[place], markersize=5, color=LIGHT.curves[place], label=label
            )
    if not names:
        return None
    panel.set_xscale("log")
    right = max(1.1 * WITHIN, panel.get_xlim()[1])
    panel.set_xticks([0.5, 1, 1.5, 2, 5, 10, 20, 50, 100])
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_xlim(0.45, right)
    for line in (NEAR, WITHIN):
        panel.axvline(line, color=LIGHT.text, linewidth=1.0, linestyle=(0, (4, 3)))
    panel.legend(loc="lower center", ncols=2, bbox_to_anchor=(0.5, 1.0))
    return figure


def _peers(results: Results) -> Figure | None:
    figure, panel, names = _bars(results, 0.24)
    if not names:
        return None
    for place, (work, label) in enumerate((("ours", "kernelstream"), ("sklearn", "scikit-learn"), ("river", "River"))):
        rates = []
        for name in names:
            record = results.one(name)
            assert record is not None
            rates.append(record["rows_of"][work] / range_of(record["seconds"][work]).median)
        panel.plot(rates, range(len(names)), "osD"[place], markersize=5, color=LIGHT.curves[place], label=label)
    log_axis(panel.xaxis)
    panel.set_xlabel("rows a second, one core")
    panel.legend(loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.0))
    return figure


def _growth(results: Results) -> Figure | None:
    shown = [growth for growth in GROWTHS if fits(results, growth)]
    if not shown:
        return None
    columns = min(3, len(shown))
    lines = -(-len(shown) // columns)
    figure = Figure(figsize=(_PANEL[0] * columns, _PANEL[1] * lines + 1.2), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).reshape(-1)
    for panel, growth in zip(panels, shown, strict=False):
        for name in fits(results, growth):
            records = sorted(points(results, growth, name), key=lambda r: r[growth.x])
            style = line_style(list(ALGORITHMS).index(name), LIGHT)
            unit = 1.0 if growth.part == "rows" else 1e6
            costs = [unit * range_of(growth.cost(r)).median for r in records]
            panel.plot([r[growth.x] for r in records], costs, marker="o", markersize=3, label=name, **style)
        for axis in (panel.xaxis, panel.yaxis):
            log_axis(axis)
        panel.set_title(growth.title)
        panel.set_xlabel(growth.label)
        panel.set_ylabel("seconds" if growth.part == "rows" else "us a row")
        panel.grid(color=LIGHT.faint, linewidth=0.7)
    for panel in panels[len(shown) :]:
        panel.set_visible(False)
    handles = {line.get_label(): line for panel in panels for line in panel.get_lines()}
    order = [name for name in ALGORITHMS if name in handles]
    figure.legend(
        [handles[name] for name in order], order, loc="outside lower center", ncols=min(9, len(order)), fontsize=8
    )
    return figure
