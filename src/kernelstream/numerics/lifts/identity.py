"""The identity: z(x) = x, every feature written out; a linear model of the features themselves."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..memory import aligned
from .base import Lift, lift_rows


class IdentityMap(NamedTuple):
    """Nothing but how many features there are, and in which precision."""

    features: np.ndarray  # (d,) zeros


class IdentityRecord(NamedTuple):
    identity: int = 1


class Written(NamedTuple):
    z: np.ndarray  # (rows, d)


@dataclass(frozen=True)
class Identity(Lift):
    def length(self, width: int) -> int:
        return width

    def record(self, dtype: Any) -> IdentityRecord:
        return IdentityRecord()

    def map(self, shape: Any) -> IdentityMap:
        return IdentityMap(np.zeros(shape.width, shape.dtype))

    def outline(self, shape: Any) -> dict[str, tuple[int | None, ...]]:
        return {"features": (shape.width,)}

    def grown(self, map: IdentityMap, shape: Any) -> IdentityMap:
        return self.map(shape)

    def lifted(self, map: IdentityMap, rows: int) -> Written:
        return Written(aligned(np.zeros((rows, len(map.features)), map.features.dtype)))


@lift_rows.register(IdentityRecord)
def _(record, map, block, start, stop, lifted):
    for t in range(start, stop):
        z = lifted.z[t - start]
        for j in range(z.shape[0]):
            z[j] = 0
        lo, hi = block.indptr[t], block.indptr[t + 1]
        indices = block.indices if block.shared == 1 else block.indices[lo:hi]
        for p in range(hi - lo):
            z[indices[p]] = block.values[lo + p]
