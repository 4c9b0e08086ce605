"""The data sets: raw rows, in one random order or, where it is said, in their own."""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from kernelstream.sources import Source
from kernelstream.sources.datasets import open_dataset
from kernelstream.sources.generators import generated
from kernelstream.tasks import BINARY, MULTICLASS, REGRESSION

MOST = 50_000


class Rows(NamedTuple):
    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,)
    regression: bool

    def first(self, n: int) -> "Rows":
        return self._replace(X=self.X[:n], y=self.y[:n])


class Set(NamedTuple):
    source: Callable[[], Source] | Callable[[], tuple[np.ndarray, np.ndarray]]
    task: str = BINARY
    in_time: bool = False
    most: int = MOST
    sketch: tuple[float, float] = (math.nan, math.nan)  # errors of the design that `auto` began from

    @property
    def regression(self) -> bool:
        return self.task == REGRESSION


def _of(name: str, split: str) -> Callable[[], Source]:
    return partial(open_dataset, name, split)


def sea() -> tuple[np.ndarray, np.ndarray]:
    """River's SEA concepts, 12,500 rows of each, one label in ten wrong."""
    from river.datasets import synth

    return _taken([synth.SEA(variant=k, noise=0.1, seed=k) for k in range(4)])


def led() -> tuple[np.ndarray, np.ndarray]:
    """River's LED digits, 24 features; with each quarter two more of those that tell change places with others."""
    from river.datasets import synth

    drifts = [
        synth.LEDDrift(seed=k, noise_percentage=0.1, irrelevant_features=True, n_drift_features=n)
        for k, n in enumerate((0, 2, 4, 6))
    ]
    return _taken(drifts)


def _taken(concepts: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    rows = [pair for concept in concepts for pair in concept.take(MOST // len(concepts))]
    return np.array([list(x.values()) for x, _ in rows], float), np.array([float(label) for _, label in rows])


# The data sets on which `auto` was designed.
DESIGN = {
    "german": Set(_of("german", "raw"), sketch=(0.258, 0.262)),
    "spambase": Set(_of("spambase", "fogd"), sketch=(0.076, 0.061)),
    "a9a": Set(_of("a9a", "train"), sketch=(0.157, 0.156)),
    "w8a": Set(_of("w8a", "train"), sketch=(0.0160, 0.0128)),
    "cod-rna": Set(_of("cod-rna", "train"), sketch=(0.0512, 0.0480)),
    "satimage": Set(_of("satimage", "raw_train"), MULTICLASS, sketch=(0.117, 0.107)),
    "dna": Set(_of("dna", "train"), MULTICLASS, sketch=(0.081, 0.047)),
    "shuttle": Set(_of("shuttle", "train"), MULTICLASS, sketch=(0.0017, 0.0006)),
    "mnist": Set(_of("mnist", "train"), MULTICLASS, most=20_000, sketch=(0.086, 0.061)),
    "covtype": Set(_of("covtype", "all"), MULTICLASS, sketch=(0.215, 0.196)),
    "covtype in time": Set(_of("covtype", "all"), MULTICLASS, in_time=True, sketch=(0.062, 0.020)),
    "elec2 in time": Set(_of("elec2", "all"), in_time=True, sketch=(0.069, 0.079)),
    "kddcup99 in time": Set(_of("kddcup99", "train10pct"), in_time=True, sketch=(0.0013, 0.0014)),
    "housing": Set(_of("housing", "raw"), REGRESSION, sketch=(0.210, 0.185)),
    "abalone": Set(_of("abalone", "scaled"), REGRESSION, sketch=(0.446, 0.432)),
    "cpusmall": Set(_of("cpusmall", "raw"), REGRESSION, sketch=(0.039, 0.026)),
    "bike": Set(_of("bike", "hour"), REGRESSION, sketch=(0.092, 0.074)),
    "parkinsons": Set(_of("parkinsons", "total_UPDRS"), REGRESSION, sketch=(0.087, 0.019)),
    "mg": Set(_of("mg", "fogd01"), REGRESSION, sketch=(0.317, 0.287)),
    "airlines": Set(_of("airlines-nyc2013", "all"), REGRESSION, sketch=(0.699, 0.688)),
}
SETS = DESIGN | {
    "airlines in time": Set(_of("airlines-nyc2013", "all"), REGRESSION, in_time=True),
    "sea": Set(sea, in_time=True),
    "hyperplane": Set(partial(generated, f"hyperplane:rows={MOST}"), in_time=True),
    "led": Set(led, MULTICLASS, in_time=True),
}
LATE = ("elec2 in time", "covtype in time", "kddcup99 in time")
DRIFT = ("sea", "hyperplane", "led", *LATE, "airlines in time")
CALIBRATED = ("spambase", "a9a", "cod-rna", "satimage", "covtype", "elec2 in time")
DRAWN = ("elec2 in time", "covtype", "cod-rna", "bike")
SHORT = ("elec2 in time", "covtype", "airlines", "kddcup99 in time", "cod-rna", "bike")  # in README


def shown(name: str) -> str:
    """What a set is called on pages: that of flights is not the papers' airlines."""
    return name.replace("airlines", "airlines-nyc2013")


@lru_cache(maxsize=1)
def rows_of(name: str) -> Rows:
    """The rows of a set, at most as many as it says."""
    return _read(SETS[name], name)


def all_rows_of(name: str) -> Rows:
    return _read(SETS[name]._replace(most=10**9), name)


def _read(chosen: Set, name: str) -> Rows:
    source = chosen.source()
    if isinstance(source, tuple):
        return Rows(*source, chosen.regression)
    blocks, n = [], 0
    for X, y in source:
        blocks.append((sp.csr_array(X), y))
        n += len(y)
        if chosen.in_time and n >= chosen.most:
            break
    width = max(X.shape[1] for X, _ in blocks)
    X = sp.vstack([sp.csr_array((X.data, X.indices, X.indptr), (X.shape[0], width)) for X, _ in blocks], "csr")
    y = np.concatenate([y for _, y in blocks])
    order = np.arange(len(y)) if chosen.in_time else np.random.default_rng(0).permutation(len(y))
    order = order[: chosen.most]
    y = (y[order] != 0).astype(float) if name.startswith("kddcup99") else y[order]
    return Rows(X[order].toarray(), y, chosen.regression)
