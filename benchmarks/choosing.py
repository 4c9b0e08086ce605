"""Which learner? Every learner on every development data set, as it comes: error against time, memory, drift, labels.

    python -m benchmarks.choosing            # runs what is missing, writes picture and table of docs/choosing.md
    python -m benchmarks.choosing --anew     # runs everything

Each learner has its defaults, features and targets in units of their deviation so far (`auto` takes them raw), and the
first ROWS rows of each set, in one random order or in time; errors are of rows before they were learned. An error is
divided by the least that any learner has on that set, both no less than LEAST; a learner's number is the geometric mean
of these. Every number of a column is over the same sets, CLASSES, TWO, VALUES or DRIFTING; who does not do all of them
has none. Times (of the processor) and sizes (of the model in memory) are medians. A learner is on the front of a set
where no other errs no more in no more time, or where none does in no more memory.
"""

import argparse
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelstream import ALGORITHMS, Binary, Learner, Multiclass, Regression
from kernelstream.algorithms import PURPOSES
from kernelstream.tasks import BINARY

from . import asking
from .no_tuning.sets import DESIGN, SETS, Rows, rows_of

Found = dict[str, dict[str, Any]]  # by data set, then by learner: a run
Shown = dict[str, dict[str, float]]  # by learner

ROWS, BLOCK = 10_000, 500
CHOSEN = (*DESIGN, "sea", "hyperplane", "led")
CLASSES = tuple(name for name in CHOSEN if not SETS[name].regression)
TWO = tuple(name for name in CLASSES if SETS[name].task == BINARY)
DRIFTING = tuple(name for name in CLASSES if SETS[name].in_time)
VALUES = tuple(name for name in CHOSEN if SETS[name].regression)
LEAST = 1e-3  # of an error that counts
WITHOUT_ERRORS = ("density",)  # no label is looked at
DOCS, FILE = Path(__file__).parents[1] / "docs", Path(__file__).with_suffix(".json")
BEGIN, END = "<!-- choosing begins -->", "<!-- choosing ends -->"
TICKS = (1, 1.5, 2, 3, 4, 6)
COSTS = "microseconds a row | model | fronts |"
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
        shown = learner.predict_learn(X, y)
        seconds += time.process_time() - begun
        wrong += float(np.square(shown - y).sum()) if rows.regression else float((shown != y).sum())
    n = len(rows.y)
    error = wrong / n / float(rows.y.var()) if rows.regression else wrong / n
    return {"error": error, "seconds": seconds / n, "bytes": float(learner.n_bytes)}


def measured(path: Path, *, anew: bool) -> Found:
    """Of each set and learner; kept as it grows."""
    found: Found = {} if anew or not path.exists() else json.loads(path.read_text())
    for data in CHOSEN:
        known = found.setdefault(data, {})
        missing = [name for name in ALGORITHMS if name not in known and name not in WITHOUT_ERRORS]
        for name in missing:
            result = run(name, rows_of(data).first(ROWS))
            known[name] = None if result is None else {k: float(f"{v:.4g}") for k, v in result.items()}
        path.write_text(json.dumps(found, indent=1) + "\n")
        print(data, flush=True)
    return found


def summaries(found: Found, sets: Sequence[str]) -> Shown:
    """Of learners that do all of these sets: how many times the least error, microseconds a row, bytes, and on how many
    of the sets they are on a front.
    """
    shown = {}
    for name in ALGORITHMS:
        runs = [one for data in sets if (one := found[data].get(name))]
        if len(runs) == len(sets):
            shown[name] = {
                "error": math.exp(float(np.mean([math.log(times_the_least(found[data], name)) for data in sets]))),
                "microseconds": 1e6 * float(np.median([one["seconds"] for one in runs])),
                "bytes": float(np.median([one["bytes"] for one in runs])),
                "fronts": sum(name in front(found[data]) for data in sets),
            }
    return shown


def times_the_least(runs: dict[str, Any], name: str) -> float:
    least = min(one["error"] for one in runs.values() if one)
    return max(runs[name]["error"], LEAST) / max(least, LEAST)


def front(runs: dict[str, Any]) -> set[str]:
    """Who of a set's learners errs less than all that take no more time, or than all that take no more memory."""
    done = {name: one for name, one in runs.items() if one}

    def first(name: str, cost: str) -> bool:
        mine = done[name]
        return not any(
            one["error"] <= mine["error"] and one[cost] <= mine[cost] and one != mine for one in done.values()
        )

    return {name for name in done if first(name, "seconds") or first(name, "bytes")}


def on_no_front(found: Found) -> set[str]:
    """Learners whose headers say so."""
    there = {name for runs in found.values() for name in front(runs)}
    return {name for name in ALGORITHMS if name not in there and name not in WITHOUT_ERRORS}


def draw(found: Found, path: Path) -> None:
    import matplotlib.pyplot as plt

    from kernelstream.report.plots import LIGHT
    from kernelstream.report.scatter import label_points, lay_out

    plt.style.use(DOCS / "examples" / "kernelstream.mplstyle")
    figure, places = plt.subplots(3, 2, figsize=(15, 25))
    classes, two, values, drifting = (summaries(found, sets) for sets in (CLASSES, TWO, VALUES, DRIFTING))
    alone = {name: one for name, one in two.items() if name not in classes}
    changing = {name: {**one, "drift": drifting[name]["error"]} for name, one in classes.items()}
    many = f"classes: times the least error, {len(CLASSES)} sets"
    beside = f"values: times the least error, {len(VALUES)} sets"
    time, memory = "microseconds a row, one core", "bytes of the model"
    panels = (
        (places[0, 0], classes | alone, "microseconds", "error", time, many),
        (places[0, 1], values, "microseconds", "error", time, beside),
        (places[1, 0], classes | alone, "bytes", "error", memory, many),
        (places[1, 1], values, "bytes", "error", memory, beside),
        (places[2, 0], changing, "error", "drift", many, f"the same, {len(DRIFTING)} streams that drift"),
    )
    looks = dict(zip(PURPOSES, [(colour, mark) for mark in "o^" for colour in LIGHT.curves], strict=False))
    for axis, shown, across, up, below, left in panels:
        hollow = set() if shown is values else set(alone)
        for purpose, (colour, mark) in looks.items():
            for name in (name for name in PURPOSES[purpose] if name in shown):
                face = "none" if name in hollow else colour
                axis.scatter(
                    shown[name][across], shown[name][up], marker=mark, facecolor=face, edgecolor=colour, s=AREA
                )
        axis.set(xscale="log", yscale="log", xlabel=below, ylabel=left)
        for side, what in ((axis.xaxis, across), (axis.yaxis, up)):
            if what in ("error", "drift"):
                mark_times(side, TICKS)
    draw_labels(places[2, 1], json.loads(asking.FILE.read_text()))
    keys = [
        places[2, 1].scatter([], [], marker=mark, color=colour, s=AREA, label=purpose)
        for purpose, (colour, mark) in looks.items()
        if not set(PURPOSES[purpose]) <= set(WITHOUT_ERRORS)
    ]
    binary = f"of two classes alone: over the {len(TWO)} sets of these"
    keys.append(places[2, 1].scatter([], [], facecolor="none", edgecolor="grey", s=AREA, label=binary))
    figure.legend(handles=keys, loc="outside lower center", ncols=3, fontsize=9)
    lay_out(figure)
    for axis, shown, across, up, *_ in panels:
        points = [(one[across], one[up]) for one in shown.values()]
        label_points(axis, list(shown), points, np.full(len(shown), AREA), LIGHT, fontsize=7.5)
    figure.savefig(path, dpi=110)


def mark_times(side: Any, ticks: Sequence[float]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    side.set_major_locator(FixedLocator(ticks))
    side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    side.set_minor_formatter(NullFormatter())


def draw_labels(axis: Any, cases: list[dict[str, Any]]) -> None:
    """What few labels cost where rules ask for them, and as many at random; mistakes as multiples of those with all."""
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
        mark_times(side, ticks)
    axis.legend(loc="upper right")


def tables(found: Found) -> str:
    """The page's: learners by their error."""
    classes, two, values, drifting = (summaries(found, sets) for sets in (CLASSES, TWO, VALUES, DRIFTING))
    lines = [f"| classes | {len(CLASSES)} sets | {len(TWO)} of two classes | {len(DRIFTING)} that drift | {COSTS}"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    alone = {name: one for name, one in two.items() if name not in classes}
    for name, one in [*by_error(classes), *by_error(alone)]:
        errors = [shown[name]["error"] if name in shown else None for shown in (classes, two, drifting)]
        cells = ["-" if error is None else f"{error:.2f}" for error in errors]
        lines.append(f"| `{name}` | {' | '.join(cells)} | {costs(one)}")
    lines += ["", f"| values | {len(VALUES)} sets | {COSTS}", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [f"| `{name}` | {one['error']:.2f} | {costs(one)}" for name, one in by_error(values)]
    return "\n".join(lines)


def by_error(shown: Shown) -> list[tuple[str, dict[str, float]]]:
    return sorted(shown.items(), key=lambda pair: pair[1]["error"])


def costs(one: dict[str, float]) -> str:
    return f"{one['microseconds']:,.1f} | {one['bytes'] / 1e3:,.0f} kB | {one['fronts']} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anew", action="store_true", help="run everything, whatever is known")
    found = measured(FILE, anew=parser.parse_args().anew)
    draw(found, DOCS / "choosing.png")
    page = DOCS / "choosing.md"
    head, rest = page.read_text().split(BEGIN)
    page.write_text(f"{head}{BEGIN}\n{tables(found)}\n{END}{rest.split(END)[1]}")
    print("on no front:", ", ".join(sorted(on_no_front(found))))


if __name__ == "__main__":
    main()
