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
from ..losses import slopes
from ..numerics import rng
from ..numerics.budgets import largest_size
from ..numerics.compile import inlined, reduction
from ..numerics.lifts import Fourier
from ..numerics.rows import MOST_DOUBLE, MOST_SINGLE, Sample
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

    def depends_on_data(self, task: str) -> bool:
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


@reduction
def two_dots(a, b, c, e):
    """a'b + c'e."""
    total = a.dtype.type(0)
    for j in range(a.shape[0]):
        total += a[j] * b[j] + c[j] * e[j]
    return total


@reduction
def four_dots(weights, k, a, b, D, z):
    """What `two_dots` gives for output k of four weights, of the stretches of length D from a and from b on."""
    c, e = a + D, b + D
    a0, a1, a2, a3 = weights[0, k, a:c], weights[1, k, a:c], weights[2, k, a:c], weights[3, k, a:c]
    b0, b1, b2, b3 = weights[0, k, b:e], weights[1, k, b:e], weights[2, k, b:e], weights[3, k, b:e]
    x, y = z[a:c], z[b:e]
    s = t = u = v = z.dtype.type(0)
    for j in range(D):
        s += a0[j] * x[j] + b0[j] * y[j]
        t += a1[j] * x[j] + b1[j] * y[j]
        u += a2[j] * x[j] + b2[j] * y[j]
        v += a3[j] * x[j] + b3[j] * y[j]
    return s, t, u, v


@inlined
def evaluate_four(weights, z, said):
    """`evaluate_blocks` for four weights."""
    P, half = said.shape[1], z.shape[0] // 2
    D = half // P
    for k in range(said.shape[2]):
        for p in range(P):
            four = four_dots(weights, k, p * D, half + p * D, D, z)
            said[0, p, k], said[1, p, k], said[2, p, k], said[3, p, k] = four


@inlined
def evaluate_blocks(weights, z, said):
    """said[p] = W_p'z_p for every kernel."""
    P, half = said.shape[0], z.shape[0] // 2
    D = half // P
    for k in range(said.shape[1]):
        for p in range(P):
            a, b = p * D, half + p * D
            said[p, k] = two_dots(weights[k, a : a + D], z[a : a + D], weights[k, b : b + D], z[b : b + D])


@inlined
def descend_block(weights, step, g, z, p, P):
    """W_p = W_p - step * g z_p'. Outputs without slope are not touched."""
    half = z.shape[0] // 2
    D = half // P
    for k in range(g.shape[0]):
        if g[k] != 0:
            c = weights.dtype.type(step * g[k])
            a, b = p * D, half + p * D
            first, second, sines, cosines = weights[k, a : a + D], weights[k, b : b + D], z[a : a + D], z[b : b + D]
            for j in range(D):
                first[j] -= c * sines[j]
                second[j] -= c * cosines[j]


@inlined
def find_slopes(loss, address, target, said, length, g, losses):
    """The loss of each row of `said`, and its slope; return whether all are finite and no step of this length along
    them is too long.
    """
    slopes(loss, address, target, said, g, losses)
    longest, most = np.float64(largest_size(g.reshape(g.size), g.size)), MOST_SINGLE if g.itemsize == 4 else MOST_DOUBLE
    return np.isfinite(largest_size(losses, losses.shape[0])) and length * longest <= most
