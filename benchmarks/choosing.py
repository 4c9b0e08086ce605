"""Which learner? Every learner on every development data set, as it comes: error against time, memory, drift, labels.

    python -m benchmarks.choosing            # runs what is missing, writes picture and table of docs/choosing.md
    python -m benchmarks.choosing --anew     # runs everything

Each learner has its defaults, features and targets in units of their deviation so far (`auto` takes them raw), and the
first ROWS rows of each set, in one random order or in time; errors are of rows before they were learned. An error is
divided by the least that any learner has on that set; a learner's number is the geometric mean of these over the sets
whose task it does. Times (of the processor) and sizes (of the model in memory) are medians over the sets. DRIFTING are
streams that change with time.
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from kernelstream import ALGORITHMS, Binary, Learner, Multiclass, Regression
from kernelstream.algorithms import PURPOSES

from . import asking
from .no_tuning.sets import DESIGN, SETS, Rows, rows_of

ROWS, BLOCK = 10_000, 500
CHOSEN = (*DESIGN, "sea", "hyperplane", "led")
DRIFTING = tuple(name for name in CHOSEN if SETS[name].in_time)
WITHOUT_ERRORS = ("density",)  # no label is looked at
DOCS, FILE = Path(__file__).parents[1] / "docs", Path(__file__).with_suffix(".json")
BEGIN, END = "<!-- choosing begins -->", "<!-- choosing ends -->"
TICKS = (1, 1.5, 2, 3, 4)
AREA = 26.0  # of a learner's point in the picture


def run(name: str, rows: Rows) -> dict[str, float] | None:
    """The error, seconds a row and bytes of one run; None where the learner does not do the task."""
    classes = np.unique(rows.y)
    task = Regression() if rows.regression else (Binary if len(classes) == 2 else Multiclass)(classes)
    spec = ALGORITHMS[name]
    if task.name not in spec.tasks:
        return None
    scaling = "none" if name == "auto" else "online"
    learner = Learner(spec, task, seed=0, scaling=scaling, threads=1)
    learner.warm_up()
    wrong, seconds = 0.0, 0.0
    for first in range(0, len(rows.y), BLOCK):
        X, y = rows.X[first : first + BLOCK], rows.y[first : first + BLOCK]
        begun = time.process_time()
        try:
            shown = learner.predict_learn(X, y)
        except FloatingPointError:
            return {"error": math.inf, "seconds": math.nan, "bytes": float(learner.n_bytes)}
        seconds += time.process_time() - begun
        wrong += float(np.square(shown - y).sum()) if rows.regression else float((shown != y).sum())
    n = len(rows.y)
    error = wrong / n / float(rows.y.var()) if rows.regression else wrong / n
    return {"error": error, "seconds": seconds / n, "bytes": float(learner.n_bytes)}


def measured(path: Path, *, anew: bool) -> dict[str, dict[str, Any]]:
    """By data set, then by learner; kept as it grows."""
    found: dict[str, dict[str, Any]] = {} if anew or not path.exists() else json.loads(path.read_text())
    for data in CHOSEN:
        known = found.setdefault(data, {})
        missing = [name for name in ALGORITHMS if name not in known and name not in WITHOUT_ERRORS]
        for name in missing:
            result = run(name, rows_of(data).first(ROWS))
            known[name] = None if result is None else {k: float(f"{v:.4g}") for k, v in result.items()}
        path.write_text(json.dumps(found, indent=1) + "\n")
        print(data, flush=True)
    return found


def summaries(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """By learner: how many times the least error, over all sets and over those that drift; microseconds; bytes."""
    least = {data: min(one["error"] for one in runs.values() if one) for data, runs in found.items()}

    def ratio(name: str, sets: Any) -> float:
        # An error of 0 counts as one row of a thousand.
        pairs = [(found[data][name]["error"], least[data]) for data in sets if found[data].get(name)]
        ratios = [min(max(mine, 1e-3) / max(best, 1e-3), 100.0) for mine, best in pairs]
        return math.exp(float(np.mean(np.log(ratios)))) if ratios else math.nan

    shown = {}
    for name in ALGORITHMS:
        runs = [runs[name] for runs in found.values() if runs.get(name)]
        if runs:
            shown[name] = {
                "error": ratio(name, found),
                "drift": ratio(name, DRIFTING),
                "microseconds": 1e6 * float(np.nanmedian([one["seconds"] for one in runs])),
                "bytes": float(np.median([one["bytes"] for one in runs])),
            }
    return shown


def draw(shown: dict[str, dict[str, float]], path: Path) -> None:
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    from kernelstream.report.plots import LIGHT
    from kernelstream.report.scatter import label_points, lay_out

    plt.style.use(DOCS / "examples" / "kernelstream.mplstyle")
    figure, places = plt.subplots(2, 2, figsize=(14.5, 16.0), sharey=False)
    *axes, last = places.flat
    panels = (
        ("microseconds", "error", "microseconds a row, one core", "times the least error, all sets"),
        ("bytes", "error", "bytes of the model", "times the least error, all sets"),
        ("error", "drift", "times the least error, all sets", "times the least error, streams that drift"),
    )
    colours = plt.get_cmap("tab20")
    for axis, (across, up, below, beside) in zip(axes, panels, strict=True):
        for k, (purpose, names) in enumerate(PURPOSES.items()):
            points = [(name, shown[name][across], shown[name][up]) for name in names if name in shown]
            if not points:
                continue
            axis.scatter([p[1] for p in points], [p[2] for p in points], color=colours(k), s=AREA, label=purpose)
        axis.set(xscale="log", yscale="log", xlabel=below, ylabel=beside)
        for side, what in ((axis.xaxis, across), (axis.yaxis, up)):
            if what in ("error", "drift"):
                side.set_major_locator(FixedLocator(TICKS))
                side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                side.set_minor_formatter(NullFormatter())
    draw_labels(last, json.loads(asking.FILE.read_text()))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)
    lay_out(figure)
    for axis, (across, up, *_) in zip(axes, panels, strict=True):
        places = [(one[across], one[up]) for one in shown.values()]
        label_points(axis, list(shown), places, np.full(len(shown), AREA), LIGHT, fontsize=7.5)
    figure.savefig(path, dpi=110)


def draw_labels(axis: Any, cases: list[dict[str, Any]]) -> None:
    """What few labels cost where rules ask for them, and as many at random; mistakes as multiples of those with all."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    colours = dict(zip(dict.fromkeys(one["learner"] for one in cases), ("C0", "C1", "C2"), strict=True))
    marks = dict(zip(dict.fromkeys(one["data"] for one in cases), "os", strict=True))
    for one in cases:
        colour, mark, across = colours[one["learner"]], marks[one["data"]], 100 * one["share"]
        up = [one["random"] / one["all"], one["mistakes"] / one["all"]]
        axis.plot([across, across], up, color=colour, lw=0.8)
        axis.scatter(across, up[0], marker=mark, facecolor="none", edgecolor=colour, s=2 * AREA)
        axis.scatter(across, up[1], marker=mark, color=colour, s=2 * AREA)
    for name, colour in colours.items():
        axis.plot([], [], color=colour, label=name)
    for name, mark in marks.items():
        axis.scatter([], [], marker=mark, color="grey", label=name)
    axis.scatter([], [], facecolor="none", edgecolor="grey", s=2 * AREA, label="as many at random")
    axis.set(xscale="log", yscale="log", xlabel="labels asked for, %", ylabel="times the mistakes with all labels")
    for side, ticks in ((axis.xaxis, (5, 10, 20, 50, 100)), (axis.yaxis, (1, 1.5, 2, 2.5))):
        side.set_major_locator(FixedLocator(ticks))
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        side.set_minor_formatter(NullFormatter())
    axis.legend(loc="upper right")


def table(shown: dict[str, dict[str, float]]) -> str:
    """The page's: learners by their error."""
    lines = ["| learner | times the least error | where it drifts | microseconds a row | model |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for name, one in sorted(shown.items(), key=lambda pair: pair[1]["error"]):
        size = f"{one['bytes'] / 1e3:,.0f} kB"
        lines.append(f"| `{name}` | {one['error']:.2f} | {one['drift']:.2f} | {one['microseconds']:,.1f} | {size} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anew", action="store_true", help="run everything, whatever is known")
    shown = summaries(measured(FILE, anew=parser.parse_args().anew))
    draw(shown, DOCS / "choosing.png")
    page = DOCS / "choosing.md"
    head, rest = page.read_text().split(BEGIN)
    page.write_text(f"{head}{BEGIN}\n{table(shown)}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
