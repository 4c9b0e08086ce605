"""Random binning: every table cuts space into boxes at random, and z(x) has a 1 for the box of each that x lies in.

Rahimi, Recht: Random Features for Large-Scale Kernel Machines (2007), Alg. 2. A table cuts each feature into steps of a
random length with a random offset. Two rows share a box of it with probability k(x, x'), so that z'z / tables estimates
the kernel; steps of the Laplacian kernel have a gamma distribution of shape 2. Boxes are without number: they are
hashed into CELLS places a table, by the sum of (step number * random word) over the features (Dietzfelbinger 1996).

Steps are counted from that of 0, so that a feature that is 0 adds nothing: sparse rows cost what is present, and a
feature that appears late gets the numbers it would have had from the start. A row lifts to the places of its ones.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import rng
from .base import Drawn, descend_lifted, evaluate_lifted, lift_rows

if TYPE_CHECKING:
    from ...kernels import Kernel

BITS = 12
CELLS = 1 << BITS
FARTHEST = 1e15  # steps from 0 that are counted; larger numbers have no neighbours


class BinningMap(NamedTuple):
    inverse: np.ndarray  # (d, tables) 1 / length of the steps
    offset: np.ndarray  # (d, tables) in [0, 1): where 0 lies in its step
    words: np.ndarray  # (d, tables) 64 random bits
    seed: np.ndarray  # 0-d


class BinningRecord(NamedTuple):
    tables: int


class Places(NamedTuple):
    places: np.ndarray  # (rows, tables): which of all cells of all tables
    sums: np.ndarray  # (tables,) of one row's hash


@dataclass(frozen=True)
class Binning(Drawn):
    kernel: "Kernel"
    tables: int

    def length(self, width: int) -> int:
        return self.tables * CELLS

    @property
    def square(self) -> float:
        return float(self.tables)

    def n_lifted(self, width: int) -> int:
        return self.tables

    def record(self, dtype: Any) -> BinningRecord:
        return BinningRecord(self.tables)

    def map(self, shape: Any) -> BinningMap:
        none = np.zeros((0, self.tables), np.float32)
        empty = BinningMap(none, none, none.astype(np.int64), np.array(shape.seed, np.uint64))
        return self.grown(empty, shape)

    def grown(self, map: BinningMap, shape: Any) -> BinningMap:
        new, seed, n = range(len(map.words), shape.width), int(map.seed), np.arange(self.tables)
        words = [[rng.key(seed, rng.BINS, j, what) for what in range(3)] for j in new]
        keys = np.array(words, np.uint64).reshape(-1, 3, 1)
        steps = self.kernel.steps(rng.uniform(keys[:, 0], n)).astype(np.float64)
        inverse = np.concatenate([map.inverse, (1.0 / steps).astype(np.float32)])
        offset = np.concatenate([map.offset, rng.uniform(keys[:, 1], n).astype(np.float32)])
        return BinningMap(
            inverse, offset, np.concatenate([map.words, rng.bits(keys[:, 2], n).view(np.int64)]), map.seed
        )

    def lifted(self, map: BinningMap, rows: int) -> Places:
        return Places(np.zeros((rows, self.tables), np.int64), np.zeros(self.tables, np.int64))

    def limits(self, map: BinningMap) -> dict[str, tuple[float, float]]:
        return {"words": (-(2**63), 2**63 - 1)}

    def check(self, map: BinningMap) -> None:
        if not ((map.inverse > 0).all() and ((map.offset >= 0) & (map.offset <= 1)).all()):
            raise ValueError("its steps are not some that can have been drawn")


@lift_rows.register(BinningRecord)
def _(record, map, block, start, stop, lifted):
    sums = lifted.sums
    for t in range(start, stop):
        lo, hi = block.indptr[t], block.indptr[t + 1]
        indices = block.indices if block.shared == 1 else block.indices[lo:hi]
        for r in range(record.tables):
            sums[r] = 0
        for p in range(hi - lo):
            value, j = np.float64(block.values[lo + p]), indices[p]
            inverse, offset, words = map.inverse[j], map.offset[j], map.words[j]
            for r in range(record.tables):
                place = min(max(value * np.float64(inverse[r]) + np.float64(offset[r]), -FARTHEST), FARTHEST)
                # These two wrap around without a warning when interpreted.
                sums[r] = np.add(sums[r], np.multiply(np.int64(math.floor(place)), words[r]))
        places = lifted.places[t - start]
        for r in range(record.tables):
            places[r] = r * CELLS + ((sums[r] >> (64 - BITS)) & (CELLS - 1))


@evaluate_lifted.register(BinningRecord)
def _(record, weights, lifted, place, scores):
    places = lifted.places[place]
    for k in range(scores.shape[0]):
        w, total = weights[k], weights.dtype.type(0)
        for r in range(record.tables):
            total += w[places[r]]
        scores[k] = total


@descend_lifted.register(BinningRecord)
def _(record, weights, step, g, lifted, place):
    places = lifted.places[place]
    for k in range(g.shape[0]):
        if g[k] != 0:
            c, w = weights.dtype.type(step * g[k]), weights[k]
            for r in range(record.tables):
                w[places[r]] -= c
