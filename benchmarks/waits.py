"""`auto`: how fast it learns whole streams from their first row on, how long a row waits for it, what a file takes."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kernelstream import Binary, Learner, Multiclass, Regression
from kernelstream.algorithms._auto_state import building_row
from kernelstream.numerics.settling import LAST
from kernelstream.tasks import Task

from .measure import Plan
from .no_tuning.sets import MOST, all_rows_of, rows_of
from .results import Record
from .tables import table

OVER = building_row(LAST)  # rows after which all is settled
STREAMS = ("cod-rna", "covtype", "elec2 in time", "airlines")
LONG = "covtype", "covtype in time"  # all of their rows too


def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
    """8 features, one output."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    return X, np.where(np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1, -1)


def task_of(y: np.ndarray, *, regression: bool = False) -> Task:
    classes = np.unique(y)
    return Regression() if regression else Binary(classes) if len(classes) == 2 else Multiclass(classes)


def seconds(task: Task, X: np.ndarray, y: np.ndarray, threads: int, clock: Callable[[], float]) -> tuple[float, float]:
    """Of the rows until all is settled, and of the others."""
    learner, times = Learner("auto", task, threads=threads), [clock()]
    for first, stop in ((0, min(OVER, len(y))), (OVER, len(y))):
        if first < stop:
            learner.learn(X[first:stop], y[first:stop])
        times.append(clock())
    return times[1] - times[0], times[2] - times[1]


def single(task: Task, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Milliseconds that each row took, one call a row, in one thread."""
    learner, took = Learner("auto", task, threads=1), np.zeros(len(y))
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        began = time.perf_counter()
        learner.learn_one(x, label)
        took[t] = time.perf_counter() - began
    return 1e3 * took


def checkpoint(task: Task, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Megabytes of a file, and the seconds of writing it."""
    learner = Learner("auto", task)
    learner.learn(X, y)
    with tempfile.TemporaryDirectory() as directory:
        path, began = Path(directory) / "m.ks", time.perf_counter()
        learner.save(path)
        return path.stat().st_size / 1e6, time.perf_counter() - began


def measured(name: str, X: np.ndarray, y: np.ndarray, task: Task, plan: Plan) -> Record:
    X, y = X[: plan.most_rows], y[: plan.most_rows]
    single(task, X[:64], y[:64])  # compiles
    seconds(task, X[:64], y[:64], 1, time.process_time)
    first, rest = min(seconds(task, X, y, 1, time.process_time) for _ in range(2))
    record: dict[str, Any] = {"stream": name, "rows": len(y), "d": X.shape[1], "outputs": task.n_outputs}
    record |= {"first": round(first, 3), "whole": round(len(y) / (first + rest))}
    if len(y) > OVER:
        record |= {"later": round((len(y) - OVER) / rest)}
    if OVER < len(y) <= MOST:
        two = min(seconds(task, X, y, 2, time.perf_counter)[1] for _ in range(2))
        took = single(task, X[: OVER + 20_000], y[: OVER + 20_000])
        waits = np.quantile(took[OVER:], (0.5, 0.999, 1.0))
        megabytes, writing = checkpoint(task, X[:OVER], y[:OVER])
        record |= {"two": round((len(y) - OVER) / two)}
        record |= {"settling": round(took[:OVER].max()), "waits": [float(f"{wait:.3g}") for wait in waits]}
        record |= {"megabytes": round(megabytes, 1), "writing": round(writing, 2)}
    return record


def waits(plan: Plan) -> list[Record]:
    """Streams of 50,000 rows at most, one drawn and some of data, in one thread and in two; and a longer one."""
    X, y = drawn(min(MOST, plan.most_rows))
    found = [measured("drawn", X, y, task_of(y), plan)]
    for name in STREAMS if plan.points > 2 else ():
        rows = rows_of(name)
        found.append(measured(name, rows.X, rows.y, task_of(rows.y, regression=rows.regression), plan))
    for name in LONG if plan.points > 2 else ():
        rows = all_rows_of(name)
        found.append(measured(f"{name}, all", rows.X, rows.y, task_of(rows.y), plan._replace(most_rows=len(rows.y))))
    return found


HEAD = (
    "stream",
    "rows x d, outputs",
    f"first {OVER:,} rows, s",
    "whole, rows/s",
    "then, rows/s",
    "on two cores",
    "longest wait before, ms",
    "after: median, 99.9 %, longest, ms",
    "file, MB, s",
)


def section(records: list[Record]) -> str:
    """The part of the page."""
    rows = []
    for r in records:
        cells = [r["stream"], f"{r['rows']:,} x {r['d']}, {r['outputs']}", f"{r['first']:.2f}", f"{r['whole']:,}"]
        if "later" in r:
            cells.append(f"{r['later']:,}")
        if "two" in r:
            cells += [f"{r['two']:,}", f"{r['settling']}", ", ".join(f"{w:g}" for w in r["waits"])]
            cells.append(f"{r['megabytes']}, {r['writing']}")
        rows.append(cells + ["-"] * (len(HEAD) - len(cells)))
    text = (
        f"## Nothing set: `auto`\n\nUntil row {OVER:,} it looks for a metric; then all is settled. One thread by the "
        "processor's time, the better of two runs; two by the clock; how long a row waits by the clock, one call a "
        "row, one thread. Wanted: 0.6 s; 40,000 rows/s; 60,000 at one output; 1.6 times that on two cores; 150 ms; "
        "5 ms; 40 MB in 0.2 s; of all rows of covtype 80,000 a second.\n\n"
    )
    return text + table(HEAD, rows) if rows else ""


PARTS: dict[str, Callable[[Plan], list[Record]]] = {"auto-waits": waits}
