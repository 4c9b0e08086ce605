"""What larger budgets and more components bring, and what they cost, on the papers' data sets.

    python -m benchmarks.sizes [LEARNER ...] [--rows N]     # needs the papers' data sets (KERNELSTREAM_DATA)

Every learner is run as `make` gives it but for its size, over at most so many rows of each set in random order. A cell
has the geometric mean over the sets of its error, prequential, divided by that at the first size; the rows it takes
in a second of processor time there, the geometric mean too; and those of drawn rows of 16 features with labels at
random, which fill every dictionary, after as many as five times its size. All learners together rewrite the table of
decision 018.
"""

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelstream import Learner, Regression, make
from kernelstream.sources.datasets import open_dataset
from kernelstream.tasks import classification

PAGE = Path(__file__).parents[1] / "docs" / "decisions" / "018-default-sizes.md"
BEGIN, END = "<!-- benchmarks.sizes -->", "<!-- end -->"
CLASSES = {
    "cod-rna": "train",
    "a9a": "train",
    "w8a": "train",
    "german": "scaled",
    "spambase": "fogd",
    "covtype": "all",
    "mnist": "train",
    "satimage": "fogd",
    "dna": "fogd",
    "shuttle": "train",
}
VALUES = {"abalone": "scaled", "cpusmall": "raw", "housing": "fogd", "mg": "fogd01"}
# Features that are 0 and 1, or grey levels.
AS_THEY_ARE = ("a9a", "w8a", "dna", "mnist")
# What is measured: the parameter and its values; a step costs what is in proportion to them, or to their squares.
LINEAR = {
    "fogd": ("n_components", (200, 400, 800, 1600, 3200)),
    "rbp": ("budget", (100, 200, 400, 800, 1600)),
    "forgetron": ("budget", (100, 200, 400, 800, 1600)),
    "bogd": ("budget", (100, 200, 400, 800, 1600)),
    "bpa-s": ("budget", (100, 200, 400, 800, 1600)),
    "bsgd-m": ("budget", (100, 200, 400, 800, 1600)),
    "bsgd-r": ("budget", (100, 200, 400, 800, 1600)),
}
SQUARE = {
    "npbsgd": ("budget", (100, 200, 400, 800)),
    "nogd": ("budget", (200, 400, 800)),
    "bsgd-p": ("budget", (100, 200, 400, 800)),
    "projectron": ("budget", (100, 200, 400, 800)),
    "bpa-p": ("budget", (100, 200, 400, 800)),
    "bpa-nn": ("budget", (100, 200, 400, 800)),
}


def rows_of(data: str, split: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most so many rows in random order, standardised where they are measurements; so are values."""
    blocks = []
    for X, y in open_dataset(data, split):
        blocks.append((sp.csr_array(X), y))
        if sum(len(y) for _, y in blocks) > 200_000:
            break
    width = max(X.shape[1] for X, _ in blocks)
    whole = sp.vstack([sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width)) for X, _ in blocks])
    y = np.concatenate([y for _, y in blocks])
    order = np.random.default_rng(0).permutation(len(y))[:most]
    X, y = sp.csr_array(whole)[order].toarray().astype(np.float32), y[order]
    if data == "mnist":
        X /= 255
    if data not in AS_THEY_ARE:
        deviation = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    return X, (y - y.mean()) / y.std() if data in VALUES else y


def measured(
    name: str, parameter: str, size: int, X: np.ndarray, y: np.ndarray, regression: bool
) -> tuple[float, float]:
    """The error over all rows, each shown before it is learned, and the seconds of processor time a row."""
    learner = Learner(
        make(name, **{parameter: size}), Regression() if regression else classification(np.unique(y)), threads=1
    )
    start = time.process_time()
    scores = learner.learn(X, y)
    seconds = time.process_time() - start
    shown = learner.task.decode(scores)
    return float(np.mean((shown - y) ** 2 if regression else shown != y)), seconds / len(y)


def full(name: str, parameter: str, size: int) -> float:
    """Rows a second of processor time when the dictionary is full."""
    rng = np.random.default_rng(0)
    rows = 5 * size + 4000
    X, y = rng.normal(size=(rows, 16)).astype(np.float32), rng.choice([-1, 1], rows)
    learner = Learner(make(name, **{parameter: size}), classification(np.unique(y)), threads=1)
    learner.learn(X[:-4000], y[:-4000])
    start = time.process_time()
    learner.learn(X[-4000:], y[-4000:])
    return 4000 / (time.process_time() - start)


def line(name: str, rows: int) -> list[tuple[int, float, float, float]]:
    """(size, error beside that of the first size, rows a second, and when full) for each size of a learner."""
    parameter, sizes = (LINEAR | SQUARE)[name]
    spec = make(name)
    errors: dict[int, list[float]] = {size: [] for size in sizes}
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    for sets, regression in ((CLASSES, False), (VALUES, True)):
        if regression and "regression" not in spec.tasks:
            continue
        for data, split in sets.items():
            X, y = rows_of(data, split, rows)
            measured(name, parameter, sizes[0], X[:300], y[:300], regression)  # compiles
            for size in sizes:
                error, took = measured(name, parameter, size, X, y, regression)
                errors[size].append(error)
                seconds[size].append(took)
            print(f"{name} {data}", *(f"{errors[size][-1]:.4f}" for size in sizes), file=sys.stderr, flush=True)
    found = []
    for size in sizes:
        ratio = np.array(errors[size]) / np.array(errors[sizes[0]])
        found.append((size, _geometric(ratio), 1 / _geometric(seconds[size]), full(name, parameter, size)))
    return found


def _geometric(values: Any) -> float:
    return math.exp(float(np.mean(np.log(values))))


def table(lines: dict[str, list[tuple[int, float, float, float]]]) -> str:
    out = ["| learner | size | error | rows/s | rows/s when full |", "| --- | --- | --- | --- | --- |"]
    for name, found in lines.items():
        out += [f"| {name} | {size:,} | {ratio:.3f} | {a:,.0f} | {b:,.0f} |" for size, ratio, a, b in found]
    return "\n".join(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("learners", nargs="*", default=[*LINEAR, *SQUARE], metavar="LEARNER")
    parser.add_argument("--rows", type=int, default=4000, help="of each data set, at most")
    given = parser.parse_args()
    lines = {}
    for name in given.learners:
        lines[name] = line(name, given.rows)
        print(*table({name: lines[name]}).splitlines()[2:], sep="\n", flush=True)
    if list(lines) == [*LINEAR, *SQUARE]:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{table(lines)}\n\n{END}{rest.partition(END)[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
