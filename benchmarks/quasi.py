"""How far off z'z is from the kernel with frequencies of a Sobol sequence, as a share of what independent draws leave.

    python -m benchmarks.quasi

Files that are sorted by class would make a stream of one label after the other: the first 100,000 rows are permuted,
and 20,000 of them taken. 500 of these, features in units of their deviation, the Gaussian kernel with gamma = 1 /
features: the root of the mean squared error over pairs of rows, mean of eight seeds. Then FOGD's own error along the
stream with both maps, mean and deviation of eight seeds, each an order of the rows too: mistakes, or the mean squared
error as a share of the variance. Last, the same errors of other sequences.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.sparse import issparse
from scipy.special import ndtri
from scipy.stats import qmc
from sklearn.metrics.pairwise import rbf_kernel

from kernelstream import FOGD, FourierFeatures, Learner, Multiclass, Regression, StructuredFeatures
from kernelstream.kernels import Gaussian
from kernelstream.sources.datasets import open_dataset

CLASSES, NUMBERS = ("cod-rna", "satimage", "covtype"), ("abalone", "cpusmall", "housing")
SIZES, SEEDS = (100, 400, 1600), range(8)
READ, MOST = 100_000, 20_000


def rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    parts, n = [], 0
    for X, y in open_dataset(name):
        parts.append((X.toarray() if issparse(X) else np.asarray(X), np.asarray(y)))
        n += len(y)
        if n >= READ:
            break
    width = max(X.shape[1] for X, _ in parts)
    X = np.concatenate([np.pad(X, ((0, 0), (0, width - X.shape[1]))) for X, _ in parts])[:READ]
    y = np.concatenate([y for _, y in parts])[:READ]
    order = np.random.default_rng(0).permutation(len(y))[:MOST]
    X, y = X[order], y[order]
    deviations = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0), y


def error(X: np.ndarray, features: FourierFeatures | StructuredFeatures) -> float:
    Z = features.fit_transform(X)
    apart = (Z @ Z.T - rbf_kernel(X, gamma=1 / X.shape[1]))[np.triu_indices(len(X), 1)]
    return float(np.sqrt(np.mean(apart**2)))


def mean_error(X: np.ndarray, n: int, map: str) -> float:
    given = {"gamma": 1 / X.shape[1]}
    kinds = (
        StructuredFeatures(n, random_state=seed, **given)
        if map == "structured"
        else FourierFeatures(n, map=map, random_state=seed, **given)
        for seed in SEEDS
    )
    return float(np.mean([error(X, kind) for kind in kinds]))


def other_sequences(X: np.ndarray, n: int) -> dict[str, float]:
    """The mean error of sequences that were not taken: SciPy's own scramblings of Sobol's and Halton's, and Halton's
    with a shift.
    """
    d, found = X.shape[1], {}
    kinds: dict[str, Callable[[int], np.ndarray]] = {
        "Sobol, Owen's": lambda seed: qmc.Sobol(d, rng=seed).random_base2((n - 1).bit_length())[:n],
        "Halton, Owen's": lambda seed: qmc.Halton(d, rng=seed).random(n),
        "Halton, shifted": lambda seed: (
            (qmc.Halton(d, scramble=False).random(n + 1)[1:] + np.random.default_rng(seed).random(d)) % 1.0
        ),
    }
    exact = rbf_kernel(X, gamma=1 / d)[np.triu_indices(len(X), 1)]
    for kind, points in kinds.items():
        errors = []
        for seed in SEEDS:
            projected = X @ (ndtri(points(seed)) * np.sqrt(2 / d)).T
            Z = np.hstack([np.sin(projected), np.cos(projected)]) / np.sqrt(n)
            errors.append(np.sqrt(np.mean(((Z @ Z.T)[np.triu_indices(len(X), 1)] - exact) ** 2)))
        found[kind] = float(np.mean(errors))
    return found


def learned(name: str, X: np.ndarray, y: np.ndarray, spec: FOGD) -> str:
    found = []
    for seed in SEEDS:
        task = Multiclass(np.unique(y)) if name in CLASSES else Regression()
        order = np.random.default_rng(seed).permutation(len(y))
        shown, told = Learner(spec, task, seed=seed).predict_learn(X[order], y[order]), y[order]
        found.append(np.mean(shown != told) if name in CLASSES else np.mean((shown - told) ** 2) / y.var())
    return f"{np.mean(found):.4f} ({np.std(found, ddof=1):.4f})"


def main() -> None:
    others: dict[str, dict[str, float]] = {}
    print("| data, features | " + " | ".join(f"quasi, {n}" for n in SIZES) + f" | structured, {SIZES[1]} |", end="")
    print(f" FOGD plain, {SIZES[1]} | quasi |\n" + "| --- " * (len(SIZES) + 4) + "|")
    for name in (*CLASSES, *NUMBERS):
        X, y = rows(name)
        if name in NUMBERS:
            y = (y - y.mean()) / y.std()
        some = X[:500]
        plain = {n: mean_error(some, n, "plain") for n in SIZES}
        cells = [f"{mean_error(some, n, 'quasi') / plain[n]:.2f}" for n in SIZES]
        cells.append(f"{mean_error(some, SIZES[1], 'structured') / plain[SIZES[1]]:.2f}")
        others[f"{name}, {X.shape[1]}"] = {
            kind: found / plain[SIZES[1]] for kind, found in other_sequences(some, SIZES[1]).items()
        }
        spec = FOGD(kernel=Gaussian(gamma=1 / X.shape[1]), n_components=SIZES[1])
        cells += [learned(name, X, y, replace(spec, map=map)) for map in ("plain", "quasi")]
        print(f"| {name}, {X.shape[1]} | " + " | ".join(cells) + " |", flush=True)
    kinds = next(iter(others.values()))
    print(f"\n| data, features; {SIZES[1]} | " + " | ".join(kinds) + " |\n" + "| --- " * (len(kinds) + 1) + "|")
    for named, found in others.items():
        print(f"| {named} | " + " | ".join(f"{value:.2f}" for value in found.values()) + " |")


if __name__ == "__main__":
    main()
