"""Random Fourier features: z(x) = (sin u_1'x, ..., sin u_D'x, cos u_1'x, ..., cos u_D'x), u from the kernel's spectrum.

Rahimi, Recht: Random Features for Large-Scale Kernel Machines (2007). z'z / D estimates the kernel. Frequencies are a
function of (seed, feature, component): a feature that appears late gets the numbers it would have had from the start.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..compile import Pointer, call_for_effect, compiled, inlined
from ..elementary import sincos
from ..memory import aligned
from ..products import MULTIPLY, multiply
from .base import Waves, lift_rows


class FourierMap(NamedTuple):
    frequencies: np.ndarray  # (d, D)
    seed: np.ndarray  # 0-d


class FourierRecord(NamedTuple):
    """Where the compiled parts are."""

    multiply: int
    sincos: int


class Lifted(NamedTuple):
    """Where rows are lifted."""

    projected: np.ndarray  # (rows, D)
    z: np.ndarray  # (rows, 2D)


@dataclass(frozen=True)
class Fourier(Waves):
    def record(self, dtype: Any) -> FourierRecord:
        return FourierRecord(MULTIPLY.address(dtype), SINCOS.address(dtype))

    def map(self, shape: Any) -> FourierMap:
        return FourierMap(self._drawn(shape.seed, range(shape.width), shape.dtype), np.array(shape.seed, np.uint64))

    def outline(self, shape: Any) -> dict[str, tuple[int | None, ...]]:
        return {"frequencies": (shape.width, self.n_components)}

    def grown(self, map: FourierMap, shape: Any) -> FourierMap:
        known = map.frequencies
        new = self._drawn(int(map.seed), range(len(known), shape.width), known.dtype)
        return map._replace(frequencies=np.concatenate([known, new]))

    def _drawn(self, seed: int, features: range, dtype: Any) -> np.ndarray:
        return self.kernel.frequencies(seed, features, self.n_components).astype(dtype)

    def lifted(self, map: FourierMap, rows: int) -> Lifted:
        D, dtype = self.n_components, map.frequencies.dtype
        return Lifted(aligned(np.zeros((rows, D), dtype)), aligned(np.zeros((rows, 2 * D), dtype)))


@dataclass(frozen=True)
class Quasi(Fourier):
    """Frequencies that lie more evenly than independent draws do (Yang, Sindhwani, Avron, Mahoney: Quasi-Monte Carlo
    Feature Maps for Shift-Invariant Kernels, 2014): those of the points of a Sobol sequence (`numerics.quasi`).
    """

    def _drawn(self, seed: int, features: range, dtype: Any) -> np.ndarray:
        return self.kernel.quasi_frequencies(seed, features, self.n_components).astype(dtype)


def _sincos_rows(projected, n, z):
    width = projected.shape[1]
    for i in range(n):
        sincos(projected[i], z[i, :width], z[i, width:])


SINCOS = Pointer(_sincos_rows, "mim", value=False)


@lift_rows.register(FourierRecord)
def _(record, map, block, start, stop, lifted):
    multiply(record.multiply, block, start, stop, map.frequencies, lifted.projected)
    call_for_effect(record.sincos, lifted.projected, stop - start, lifted.z)


@inlined
def slope_of_projection(weights, g, z, v):
    """v_j = d loss / d p_j, from the slope g of the loss at the scores W'(sin p, cos p)."""
    D = v.shape[0]
    for j in range(D):
        v[j] = 0
    for k in range(g.shape[0]):
        if g[k] != 0:
            c, on_sine, on_cosine = g[k], weights[k, :D], weights[k, D:]
            sine, cosine = z[:D], z[D:]
            for j in range(D):
                v[j] += c * (on_sine[j] * cosine[j] - on_cosine[j] * sine[j])


@compiled
def _waves(sincos, projected, n, factor, z):
    call_for_effect(sincos, projected, n, z)
    for i in range(n):
        for j in range(z.shape[1]):
            z[i, j] *= factor


def write_waves(record: FourierRecord, map: FourierMap, rows: np.ndarray, factor: Any, lifted: Lifted) -> None:
    """lifted.z = factor * z of dense rows (n, d), with a product by BLAS.

    Requires: n <= rows of lifted.projected. As many as those are multiplied, whether they are there or not: so a row's
    bits do not depend on the others.
    """
    n, room = len(rows), len(lifted.projected)
    if n < room:
        rows = np.concatenate([rows, np.zeros((room - n, rows.shape[1]), rows.dtype)])
    np.matmul(rows, map.frequencies, out=lifted.projected)
    _waves(record.sincos, lifted.projected, n, factor, lifted.z)
