"""Spectral mixtures beside the Gaussian kernel: the tables of docs/theory/features.md.

    python -m benchmarks.mixtures

First a clock alone: rows in the order of time whose one feature is their number, raw, so that every row lies beyond all
before it. The periods are known (a day, its half and third, a week and its half; one part has mean 0), and the parts
are as wide as so many weeks. Then the first 20,000 rows of data sets, features scaled as they come, where RRF begins
from the Gaussian kernel and learns what it can; Mackey-Glass too. Mistakes, or the mean squared error as a share of the
variance, each row predicted before it is learned; mean of five seeds of the features.
"""

import numpy as np

from kernelstream import FOGD, RRF, Binary, Learner, Multiclass, Regression
from kernelstream.engine import Algorithm
from kernelstream.kernels import Gaussian, SpectralMixture
from kernelstream.sources import MackeyGlass
from kernelstream.sources.datasets import open_dataset

from .no_tuning.sets import Rows, rows_of

CLOCKS = {"bike": 24, "elec2": 48}  # rows a day
WEEKS = (1, 4, 13)
SETS = ("mg", "bike", "cpusmall", "airlines", "cod-rna", "elec2 in time", "covtype")
SEEDS, MOST, COMPONENTS = range(5), 20_000, 400


def error(spec: Algorithm, rows: Rows, scaling: str) -> float:
    classes, found = np.unique(rows.y), []
    for seed in SEEDS:
        task = Regression() if rows.regression else Binary(classes) if len(classes) == 2 else Multiclass(classes)
        learner = Learner(spec, task, seed=seed, scaling=scaling)
        shown = task.decode(learner.learn(rows.X, rows.y))
        off = (shown - rows.y) ** 2 / rows.y.var() if rows.regression else shown != rows.y
        found.append(np.mean(off))
    return float(np.mean(found))


def in_time(name: str) -> Rows:
    """All rows in their order; targets that are no classes in units of their deviation."""
    blocks = [(X.toarray(), y) for X, y in open_dataset(name)]
    X, y = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    regression = len(np.unique(y)) > 2
    return Rows(X, (y - y.mean()) / y.std() if regression else y, regression)


def show(name: str, cells: list[float]) -> None:
    print(f"| {name} | " + " | ".join(f"{cell:.3g}" for cell in cells) + " |", flush=True)


def clocks() -> None:
    heads = ["fogd, all columns", "fogd, Gaussian"]
    heads += [f"{name}, mixture of {weeks} w" for name in ("fogd", "rrf") for weeks in WEEKS]
    print("| data | " + " | ".join(heads) + " |\n| --- |" + " ---: |" * len(heads))
    for name, day in CLOCKS.items():
        rows = in_time(name)
        clock = rows._replace(X=np.arange(len(rows.y), dtype=np.float64)[:, None])
        means = tuple((2 * np.pi / period,) for period in (day, day / 2, day / 3, 7 * day, 3.5 * day))
        widths = [1.0 / (2.0 * (7 * day * weeks) ** 2) for weeks in WEEKS]
        mixtures = [SpectralMixture(gamma, n_parts=6, means=means) for gamma in widths]
        gaussians = [Gaussian(1.0 / (2.0 * hours**2)) for hours in (day / 8, day / 2, 2 * day, 7 * day)]
        cells = [error(FOGD(n_components=COMPONENTS), rows, "online")]
        cells.append(min(error(FOGD(kernel=kernel, n_components=COMPONENTS), clock, "none") for kernel in gaussians))
        specs = [kind(kernel=one, n_components=COMPONENTS) for kind in (FOGD, RRF) for one in mixtures]
        cells += [error(spec, clock, "none") for spec in specs]
        show(name, cells)


def learned() -> None:
    kernels = {
        "Gaussian": Gaussian(),
        "1 part": SpectralMixture(n_parts=1),
        "2 parts": SpectralMixture(n_parts=2),
        "4 parts": SpectralMixture(n_parts=4),
    }
    rates = ("auto", 0.01)
    heads = ["fogd", *(f"rrf, {name}, {rate}" for rate in rates for name in kernels)]
    print("\n| data | " + " | ".join(heads) + " |\n| --- |" + " ---: |" * len(heads))
    X, y = (np.concatenate(parts) for parts in zip(*MackeyGlass(MOST), strict=True))
    for name in ("mackey-glass", *SETS):
        rows = Rows(X, y, True) if name == "mackey-glass" else rows_of(name).first(MOST)
        cells = [error(FOGD(n_components=COMPONENTS), rows, "online")]
        for rate in rates:
            specs = [RRF(kernel=one, n_components=COMPONENTS, width_learning_rate=rate) for one in kernels.values()]
            cells += [error(spec, rows, "online") for spec in specs]
        show(name, cells)


if __name__ == "__main__":
    clocks()
    learned()
