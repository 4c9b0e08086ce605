"""The learners of adaptive filtering beside each other, and the Mackey-Glass experiment of the fixed-budget paper.

    python -m benchmarks.filters [--rows N]     # needs the papers' data sets (KERNELSTREAM_DATA)

Every learner is run as `make` gives it, over at most so many rows of each stream, series in their order and data sets
in a random one, features and targets standardised. A cell has the root of the mean squared error of the second half of
the rows, each shown before it is learned, and the points that are kept at the end. The tables of
docs/theory/recursive.md are written anew.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from kernelstream import Learner, Regression, make
from kernelstream.kernels import Gaussian
from kernelstream.sources import Lorenz, MackeyGlass, Source

from .sizes import rows_of

PAGE = Path(__file__).parents[1] / "docs" / "theory" / "recursive.md"
LEARNERS = ("krls", "krls-sw", "krls-fb", "krls-t", "klms", "qklms", "knlms", "kapa", "ridge", "ogd")
SETS = {"cpusmall": "raw", "abalone": "scaled"}
SEEDS = 20  # of the paper's experiment


def series(source: Source) -> tuple[np.ndarray, np.ndarray]:
    X, y = (np.concatenate(parts) for parts in zip(*source, strict=True))
    return (X - y.mean()) / y.std(), (y - y.mean()) / y.std()


def streams(most: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    found = {
        "mackey-glass, tau 30": series(MackeyGlass(most, tau=30, noise=0.03)),
        "mackey-glass, tau 17": series(MackeyGlass(most, tau=17, noise=0.03)),
        "lorenz": series(Lorenz(most, noise=0.03)),
    }
    return found | {name: rows_of(name, split, most) for name, split in SETS.items()}


def course(name: str, X: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    """Error of the second half, and size."""
    learner = Learner(make(name), Regression(), seed=0)
    shown = learner.learn(X, y)[:, 0]
    return float(np.sqrt(np.mean((shown - y)[len(y) // 2 :] ** 2))), learner.size


def side_by_side(most: int) -> list[str]:
    given = streams(most)
    lines = ["| | " + " | ".join(f"{name} ({len(y):,})" for name, (_, y) in given.items()) + " |"]
    lines.append("| --- |" + " --- |" * len(given))
    for name in LEARNERS:
        cells = [course(name, X, y) for X, y in given.values()]
        lines.append(f"| `{name}` | " + " | ".join(f"{error:.3f} ({size})" for error, size in cells) + " |")
        print(lines[-1], flush=True)
    return lines


# Van Vaerenbergh, Santamaria, Liu, Principe 2010, sec. 4.1: 500 rows of 7 values of Mackey-Glass (tau 30) with noise of
# variance 0.001, 100 test rows, Gaussian kernel of sigma 1, lambda 0.1, 50 points.
EXPERIMENT = {
    "ridge regression of all rows": ("krls-sw", {"budget": 500, "regularization": 0.1}, "-"),
    "ALD-KRLS, nu = 0.43": ("krls", {"dependence": 0.43, "budget": 500}, "53"),
    "ALD-KRLS, nu = 0.008": ("krls", {"dependence": 0.008, "budget": 500}, "-"),
    "SW-KRLS": ("krls-sw", {"budget": 50, "regularization": 0.1}, "50"),
    "FB-KRLS": ("krls-fb", {"budget": 50, "regularization": 0.1}, "50"),
    "KRLS-T": ("krls-t", {"budget": 50, "regularization": 0.1}, "-"),
}


def experiment(name: str, parameters: dict[str, float], sigma: float, seed: int) -> tuple[float, int]:
    """Mean squared error of the test rows in decibel, and size."""
    X, y = (np.concatenate(p) for p in zip(*MackeyGlass(600, noise=0.001**0.5, seed=seed), strict=True))
    learner = Learner(make(name, kernel=Gaussian(sigma=sigma), **parameters), Regression(), dtype="float64")
    learner.learn(X[:500], y[:500])
    return 10 * np.log10(np.mean((learner.scores(X[500:])[:, 0] - y[500:]) ** 2)), learner.size


def the_papers(sigmas: tuple[float, ...] = (1.0, 0.5**0.5)) -> list[str]:
    lines = ["| | points, published | " + " | ".join(f"sigma = {s:.3g}: points, MSE in dB" for s in sigmas) + " |"]
    lines.append("| --- | --- |" + " --- |" * len(sigmas))
    for label, (name, parameters, published) in EXPERIMENT.items():
        cells = []
        for sigma in sigmas:
            found = np.array([experiment(name, parameters, sigma, seed) for seed in range(SEEDS)])
            (error, size), (deviation, some) = found.mean(axis=0), found.std(axis=0)
            cells.append(f"{size:.1f} ± {some:.1f}, {error:.2f} ± {deviation:.2f}")
        lines.append(f"| {label} | {published} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines


def write(mark: str, lines: list[str]) -> None:
    text = PAGE.read_text()
    begin, end = f"<!-- {mark} -->\n", "\n<!-- end -->"
    head, rest = text.split(begin)
    PAGE.write_text(head + begin + "\n".join(lines) + end + rest.split(end, 1)[1])


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.filters", description=__doc__)
    parser.add_argument("--rows", type=int, default=6000, help="of each stream, at most")
    options = parser.parse_args(arguments)
    write("benchmarks.filters", side_by_side(options.rows))
    write("the paper's", the_papers())


if __name__ == "__main__":
    main(sys.argv[1:])
