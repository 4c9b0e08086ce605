"""What learners share that combine several kernels: which ones they are, and their random features side by side.

z(x) holds the sines of all kernels, then the cosines of all, each in the kernels' order: one product and one pass of
sines and cosines serve all of them. What is kernel p's own are two stretches of it, each as long as it has frequencies.
"""

import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import Algorithm, Common, Shape, common
from ..kernels import SHIFT_INVARIANT, Kernel, Need, as_kernel
from ..numerics import rng
from ..numerics.compile import inlined
from ..numerics.expansion import dot
from ..numerics.lifts import Fourier
from ..numerics.rows import Sample
from ..parameters import positive, whole
from ._features import FeatureAlgorithm


def widths_of(kernel: Kernel, n: int, ratio: float) -> tuple[Kernel, ...]:
    """n kernels whose gammas are the kernel's own times a power of the ratio, its own in the middle; of a kernel
    without a gamma itself alone.
    """
    given = kernel.get_params()
    gammas = {name: value for name, value in given.items() if name.split("__")[-1] == "gamma"}
    if not gammas:
        return (kernel,)
    powers = [float(ratio) ** (i - (n - 1) / 2) for i in range(n)]
    settled = {name: value for name, value in gammas.items() if not isinstance(value, str)}
    return tuple(
        copy.deepcopy(kernel).set_params(**{name: power * value for name, value in settled.items()}) for power in powers
    )


@dataclass
class ManyKernels(Algorithm):
    """Which kernels are combined.

    n_kernels: P, how many widths of `kernel`.
    ratio: of a gamma to the next smaller one; that of `kernel` is in the middle.
    candidates: the kernels themselves, such as (Gaussian(0.1), Laplacian()), instead of widths of one.
    """

    n_kernels: int = 5
    ratio: float = 4.0
    candidates: tuple[Kernel, ...] | None = None

    def check(self) -> None:
        super().check()
        whole(1, n_kernels=self.n_kernels)
        positive(ratio=self.ratio)
        if self.candidates is not None:
            self.candidates = tuple(map(as_kernel, self.candidates))
            if not self.candidates:
                raise ValueError("candidates=() must be at least one kernel; None takes widths of `kernel`.")
            for kernel in self.candidates:
                for need in self.needs:
                    need.check(kernel)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return self.candidates or widths_of(self.kernel, self.n_kernels, self.ratio)

    @property
    def depends_on_data(self) -> bool:
        return any(kernel.depends_on_data for kernel in self.kernels)

    def settle(self, task: str, sample: Sample) -> Self:
        settled = super().settle(task, sample)
        if self.candidates is None:
            return settled
        return replace(settled, candidates=tuple(kernel.settle(sample) for kernel in self.candidates))


@dataclass(frozen=True)
class Spectra:
    """Of several kernels, so many components of each, in their order; independent of one another."""

    kernels: tuple[Kernel, ...]

    def frequencies(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        each, seeds = n_components // len(self.kernels), seeds_of(seed, len(self.kernels))
        parts = [kernel.frequencies(own, features, each) for kernel, own in zip(self.kernels, seeds, strict=True)]
        return np.concatenate(parts, axis=1)


def seeds_of(seed: int, n: int) -> list[int]:
    """Of each of n kernels, from that of the model."""
    return [int(rng.key(seed, rng.PARTS, p)) for p in range(n)]


class BlocksScratch(NamedTuple):
    common: Common
    lifted: Any
    said: np.ndarray  # (P, K) what each kernel's function says
    slopes: np.ndarray  # (P, K) of the losses there
    losses: np.ndarray  # (P,)
    w: np.ndarray  # (P,) the kernels' weights
    room: np.ndarray  # of none, for a way to combine that needs some


@dataclass
class KernelsOnFeatures(ManyKernels, FeatureAlgorithm):
    """n_components: D, how many frequencies are drawn for each kernel; each gives a sine and a cosine."""

    n_components: int = 320

    bounded: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = (SHIFT_INVARIANT,)

    def check(self) -> None:
        super().check()
        whole(1, n_components=self.n_components)

    @property
    def lift(self) -> Fourier:
        kernels = self.kernels
        return Fourier(Spectra(kernels), len(kernels) * self.n_components)  # type: ignore[arg-type]

    def scratch(self, state: Any, shape: Shape) -> Any:
        P, K, lift = len(self.kernels), shape.n_outputs, self.lift
        shared = common(shape.width, K, shape.dtype, lift.n_lifted(shape.width))
        said, slopes = np.zeros((P, K), shape.dtype), np.zeros((P, K), shape.dtype)
        numbers = np.zeros(P), np.zeros(P), np.zeros((0, 0))
        return BlocksScratch(shared, lift.lifted(state.map, shared.chunk), said, slopes, *numbers)

    def stretched(self, w: np.ndarray) -> np.ndarray:
        """For each number of z the weight of its kernel, of weights (P,)."""
        return np.tile(np.repeat(w, self.n_components), 2)


@inlined
def evaluate_blocks(weights, z, said):
    """said[p] = W_p'z_p for every kernel."""
    P, half = said.shape[0], z.shape[0] // 2
    D = half // P
    for k in range(said.shape[1]):
        for p in range(P):
            a, b = p * D, half + p * D
            said[p, k] = dot(weights[k, a : a + D], z[a : a + D]) + dot(weights[k, b : b + D], z[b : b + D])


@inlined
def descend_block(weights, step, g, z, p, P):
    """W_p = W_p - step * g z_p'. Outputs without slope are not touched."""
    half = z.shape[0] // 2
    D = half // P
    for k in range(g.shape[0]):
        if g[k] != 0:
            c = weights.dtype.type(step * g[k])
            for a in (p * D, half + p * D):
                w, own = weights[k, a : a + D], z[a : a + D]
                for j in range(D):
                    w[j] -= c * own[j]
