"""How fast `auto` learns, and how long a row waits: `python -m benchmarks.waits [ROWS]` prints a table.

Rows are drawn, with 8 features and one output. Blocks are timed by the processor's time in one thread and by the clock
in two; single rows by the clock, one call a row.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

from kernelstream import Binary, Learner  # noqa: E402
from kernelstream.algorithms.auto import building_row  # noqa: E402
from kernelstream.numerics.settling import LAST  # noqa: E402

from .tables import table  # noqa: E402

OVER = building_row(LAST)  # rows after which all is settled


def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    return X, np.where(np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1, -1)


def blocks(X: np.ndarray, y: np.ndarray, threads: int, clock: Callable[[], float]) -> tuple[float, float]:
    """Seconds of the first rows, and rows a second of the others."""
    learner = Learner("auto", Binary([-1, 1]), threads=threads)
    times = [clock()]
    for some in (slice(0, OVER), slice(OVER, None)):
        learner.learn(X[some], y[some])
        times.append(clock())
    return times[1] - times[0], (len(y) - OVER) / (times[2] - times[1])


def single(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Seconds that each row took."""
    learner = Learner("auto", Binary([-1, 1]))
    took = np.zeros(len(y))
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        began = time.perf_counter()
        learner.learn_one(x, label)
        took[t] = time.perf_counter() - began
    return took


def checkpoint(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    learner = Learner("auto", Binary([-1, 1]))
    learner.learn(X, y)
    with tempfile.TemporaryDirectory() as directory:
        path, began = Path(directory) / "m.ks", time.perf_counter()
        learner.save(path)
        return time.perf_counter() - began, path.stat().st_size / 1e6


def main() -> None:
    X, y = drawn(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
    Learner("auto", Binary([-1, 1])).learn(X[:64], y[:64])  # compiles
    one, two = blocks(X, y, 1, time.process_time), blocks(X, y, 2, time.perf_counter)
    took, (seconds, megabytes) = single(X, y), checkpoint(X, y)
    first, waits = 1e3 * took[:OVER], 1e3 * np.quantile(took[OVER:], (1.0, 0.999, 0.5))
    rows = [
        ["the first 9,216 rows, one thread", f"{one[0]:.2f} s"],
        ["after them, one thread", f"{one[1]:,.0f} rows/s"],
        ["after them, two threads", f"{two[1]:,.0f} rows/s"],
        ["longest wait of a row while things are settled", f"{first.max():.0f} ms"],
        [
            "after that: longest wait, 99.9 %, median",
            ", ".join(f"{wait:.3g}" for wait in waits) + " ms",
        ],
        ["a model file", f"{megabytes:.1f} MB in {seconds:.2f} s"],
    ]
    print(table(["what", "measured"], rows))


if __name__ == "__main__":
    main()
