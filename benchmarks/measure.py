"""Timing in turns, the data that is timed on, and a figure with what is wanted of it."""

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from kernelstream.sources import open_source


class Figure(NamedTuple):
    what: str
    shown: str
    wanted: str
    met: bool


def data_directory() -> Path:
    """The mirror of the papers' data sets."""
    named = os.environ.get("KERNELSTREAM_DATA")
    directory = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not directory.is_dir():
        raise SystemExit(f"no data sets in {directory}; set KERNELSTREAM_DATA to their directory")
    return directory


def cod_rna() -> tuple[np.ndarray, np.ndarray]:
    """cod-rna's training rows, 59,535 x 8, min-max to [-1, 1], permuted; float64 as read."""
    blocks = list(open_source(data_directory() / "cod-rna" / "cod-rna.train.libsvm.xz"))
    width = blocks[-1][0].shape[1]
    X = np.concatenate(
        [sp.csr_array((x.data, x.indices, x.indptr), shape=(x.shape[0], width)).toarray() for x, _ in blocks]
    )
    y = np.concatenate([y for _, y in blocks])
    X = 2 * (X - X.min(0)) / (X.max(0) - X.min(0)) - 1
    order = np.random.default_rng(0).permutation(len(y))
    return np.ascontiguousarray(X[order]), y[order]


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(*works: Callable[[], Any], repeats: int = 5) -> list[list[float]]:
    """Seconds of each work, measured one after the other `repeats` times; each is run once before."""
    for work in works:
        work()
    rounds = [[seconds(work) for work in works] for _ in range(repeats)]
    return [list(times) for times in zip(*rounds, strict=True)]


def ratio(numerators: list[float], denominators: list[float]) -> tuple[float, str]:
    """Median of the ratios of neighbours, and how to show it."""
    ratios = [a / b for a, b in zip(numerators, denominators, strict=True)]
    middle = statistics.median(ratios)
    return middle, f"**{middle:.2f}x** ({min(ratios):.2f} to {max(ratios):.2f})"
