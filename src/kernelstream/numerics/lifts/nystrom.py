"""Nystrom features: with K the Gram matrix of B points and V_k, D_k its k leading eigenpairs,

    z(x) = D_k^(-1/2) V_k' (k(s_1, x), ..., k(s_B, x)).

Williams, Seeger: Using the Nystrom Method to Speed Up Kernel Machines (2001). The points are gathered first, in an
expansion that its learner fills; then the map is frozen. Eigenvalues below B * machine epsilon * the largest, and
negative ones (a kernel that is not positive definite), are left out: their features would be noise divided by nearly
zero. The eigen-decomposition is float64 always.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import expansion
from ..compile import call_for_effect
from ..expansion import Expansion, KernelRow
from ..gram import gram_matrix
from ..memory import one_blas_thread
from ..products import PRODUCTS
from ..rows import DenseRow, dense_row
from .base import Lift, lift_rows

if TYPE_CHECKING:
    from ...kernels import Kernel, KernelRecord

TOGETHER = 32  # rows whose kernel values wait for their products with the map, in the caches; a multiple of 4


class NystromMap(NamedTuple):
    f: Expansion  # the points, and the function that is learned while they are gathered
    map: np.ndarray  # (k, B): D_k^(-1/2) V_k', zero before it is frozen
    frozen: np.ndarray  # 0-d: 1 once the points stay


class NystromRecord(NamedTuple):
    kernel: "KernelRecord"
    products: int  # address of PRODUCTS


class Projected(NamedTuple):
    row: KernelRow
    dense: DenseRow
    rows: np.ndarray  # (TOGETHER, B) kernel values
    z: np.ndarray  # (rows, k)


@dataclass(frozen=True)
class Nystrom(Lift):
    kernel: "Kernel"
    budget: int
    rank: int

    def length(self, width: int) -> int:
        return self.rank

    def record(self, dtype: Any) -> NystromRecord:
        return NystromRecord(self.kernel.lower(dtype), PRODUCTS.address(dtype))

    def map(self, shape: Any) -> NystromMap:
        f = expansion.empty(shape.width, self.budget, shape.n_outputs, shape.dtype)
        return NystromMap(f, np.zeros((self.rank, self.budget), shape.dtype), np.zeros((), np.int64))

    def grown(self, map: NystromMap, shape: Any) -> NystromMap:
        return map._replace(f=expansion.resized(map.f, n_features=shape.width, n_outputs=shape.n_outputs))

    def lifted(self, map: NystromMap, rows: int) -> Projected:
        (width, budget), dtype = map.f.points.shape, map.f.points.dtype
        values, z = np.zeros((TOGETHER, budget), dtype), np.zeros((rows, self.rank), dtype)
        return Projected(expansion.kernel_row(map.f), dense_row(width, dtype), values, z)

    def ready(self, map: NystromMap) -> bool:
        return bool(map.frozen)

    def outline(self, shape: Any) -> dict[str, tuple[int | None, ...]]:
        return {"f.points": (shape.width, self.budget), "map": (self.rank, self.budget)}

    def limits(self, map: NystromMap) -> dict[str, tuple[float, float]]:
        terms = {f"f.{name}": limit for name, limit in expansion.limits(self.budget).items()}
        return {**terms, "frozen": (0, 1)}

    def check(self, map: NystromMap) -> None:
        expansion.list_all(map.f)
        if map.frozen and map.f.size < self.budget:
            raise ValueError(f"The file says phase 2 with {int(map.f.size)} of {self.budget} points.")

    def require_same(self, mine: NystromMap, theirs: NystromMap) -> None:
        alike = mine.f.points.shape == theirs.f.points.shape and np.array_equal(mine.f.points, theirs.f.points)
        if not (mine.frozen and theirs.frozen and alike):
            raise ValueError(
                f"Their maps are of different points. Have one learn the first {self.budget} rows, save it, and begin "
                "every other from its file."
            )

    def frozen_on(self, f: Expansion) -> tuple[NystromMap, np.ndarray]:
        """The map of these points, and D_k^(1/2) V_k', which takes the coefficients of f to weights on z; zero rows
        where the Gram matrix has fewer than k eigenvalues.
        """
        with one_blas_thread():
            values, vectors = np.linalg.eigh(gram_matrix(self.kernel, f))
        values, vectors = values[::-1][: self.rank], vectors[:, ::-1][:, : self.rank]
        kept = values > values[0] * len(vectors) * np.finfo(f.points.dtype).eps
        roots = np.sqrt(np.where(kept, values, 1.0))
        map = np.ascontiguousarray((vectors * (kept / roots)).T).astype(f.points.dtype)
        return NystromMap(f, map, np.ones((), np.int64)), (vectors * (kept * roots)).T


@lift_rows.register(NystromRecord)
def _(record, map, block, start, stop, lifted):
    if map.frozen[()] == 0:
        return
    for first in range(start, stop, TOGETHER):
        last, rows, z = min(first + TOGETHER, stop), lifted.rows, lifted.z[first - start :]
        expansion.kernel_rows(record.kernel, map.f, block, first, last, lifted.dense, lifted.row, rows)
        call_for_effect(record.products, rows, last - first, map.map, z)
