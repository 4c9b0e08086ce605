"""Learners of several kernels and of the second order beside others: docs/compared.md.

    python -m benchmarks.families [LEARNER ...]

Six data sets, their first 20,000 rows as `benchmarks.no_tuning` orders them, features scaled as they come, every
learner with its defaults, one thread, each row predicted before it is learned. Given names, only those are measured
anew.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from kernelstream import Binary, Learner, Multiclass, Regression, make

from .no_tuning.sets import SETS, Rows, rows_of

NAMES = ("fogd", "ridge", "auto", "raker", "adaraker", "ufo-mkl", "omkc", "sop", "arow", "scw", "pros-n-kons", "pkawv")
DATA = ("cod-rna", "elec2 in time", "covtype", "a9a", "bike", "cpusmall")
MOST = 20_000
ROOT = Path(__file__).parents[1]
FILE = ROOT / "benchmarks" / "families.json"
PAGE = ROOT / "docs" / "compared.md"
MARK = "<!-- written by python -m benchmarks.families -->"


def measured(algorithm: Any, rows: Rows) -> tuple[float, float]:
    """Progressive error (mistakes a row; squared error over the targets' variance), and rows a second."""
    classes = np.unique(rows.y)
    task = Regression() if rows.regression else Binary(classes) if len(classes) == 2 else Multiclass(classes)
    learner, twin = (Learner(algorithm, task, seed=0, scaling="online", threads=1) for _ in range(2))
    twin.warm_up()
    twin.learn(rows.X[:512], rows.y[:512])
    start = time.process_time()
    shown = task.decode(learner.learn(rows.X, rows.y))
    seconds = time.process_time() - start
    if rows.regression:
        return float(np.mean((shown - rows.y) ** 2) / rows.y.var()), len(rows.y) / seconds
    return float(np.mean(shown != rows.y)), len(rows.y) / seconds


def measure(names: tuple[str, ...]) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    for data in DATA:
        rows = rows_of(data).first(MOST)
        for name in names:
            if SETS[data].task in make(name).tasks:
                found.setdefault(name, {})[data] = list(measured(name, rows))
                print(data, name, found[name][data], flush=True)
                FILE.write_text(json.dumps(found, indent=1) + "\n")
    return found


def table(found: dict[str, dict[str, list[float]]]) -> str:
    """Errors, the least of a column in bold, and how many times fogd's time a row takes, as the median of the sets."""
    lines = ["| learner | " + " | ".join(DATA) + " | time, fogd = 1 |", "| --- |" + " ---: |" * (len(DATA) + 1)]
    least = {data: min(found[name][data][0] for name in NAMES if data in found[name]) for data in DATA}
    for name in NAMES:
        cells = []
        for data in DATA:
            error = found[name].get(data, [np.nan])[0]
            cell = "-" if np.isnan(error) else f"{error:.3g}"
            cells.append(f"**{cell}**" if error == least[data] else cell)
        ratio = float(np.median([found["fogd"][data][1] / found[name][data][1] for data in found[name]]))
        lines.append(f"| `{name}` | {' | '.join(cells)} | {ratio:.2g} |")
    return "\n".join(lines)


def main() -> None:
    found = measure(tuple(sys.argv[1:]) or NAMES)
    before, _, behind = PAGE.read_text().partition(MARK)
    _, _, behind = behind.partition(MARK)
    PAGE.write_text(f"{before}{MARK}\n\n{table(found)}\n\n{MARK}{behind}")


if __name__ == "__main__":
    main()
