"""Kernels: each one a metric, one line of mathematics on it, and (shift-invariant ones) a spectral sampler.

A kernel of your own is a subclass like those below: a dataclass with its parameters, the `metric` that it is a function
of, the numbers that its formula needs (`constants`), and `formula(constants, row)`, which turns a row of metric values
into kernel values in place. It is compiled on first use and runs at the speed of the built-in ones; write literals as
``one = row.dtype.type(1)`` where float32 speed matters.

``gamma="scale"`` is settled on the first block as 1 / (number of features * variance of X).
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaincinv, ndtri

from . import rng
from ._compile import Pointer, call_for_effect, inlined
from .elementary import exp
from .parameters import Parameters, at_least, one_of, positive, whole

DOT, SQUARED_DISTANCE, MANHATTAN = range(3)

# Points are visited in tiles whose metric values, features and coefficients stay in the first-level cache.
TILE = 1024

# What a key's random numbers are for.
_FREQUENCY, _MIXTURE, SIGNS = range(3)


class KernelRecord(NamedTuple):
    """What compiled code sees of a kernel."""

    metric: int
    formula: int  # address of the kernel's own formula
    constants: np.ndarray
    tile: int  # address of `_kernel_tile`
    four: int  # address of `_four_metrics`
    column: int  # address of `_metric_column`


@dataclass
class Kernel(Parameters):
    """Base of all kernels."""

    metric: ClassVar[int]
    shift_invariant: ClassVar[bool] = False
    isotropic: ClassVar[bool] = False  # shift-invariant and a mixture of Gaussians
    positive_definite: ClassVar[bool] = True
    _pointer: ClassVar[Pointer]

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        if "formula" in cls.__dict__:
            cls._pointer = Pointer(cls.formula, "rr", value=False)

    @staticmethod
    def formula(constants: Any, row: Any) -> None:
        """Replace the metric values in `row` by kernel values."""
        raise NotImplementedError

    def constants(self) -> tuple[float, ...]:
        """The numbers that `formula` uses."""
        raise NotImplementedError

    @property
    def depends_on_data(self) -> bool:
        """Whether something is left for `settle` to fix."""
        return False

    def settle(self, variance: float, n_features: int) -> Self:
        """The kernel with every data-dependent parameter fixed from the first block."""
        return self

    def lower(self, dtype: Any) -> KernelRecord:
        constants = np.array(self.constants(), dtype)
        shared = _TILE.address(dtype), _FOUR.address(dtype), _COLUMN.address(dtype)
        return KernelRecord(self.metric, self._pointer.address(dtype), constants, *shared)

    def frequencies(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        """Spectral samples, (features, n_components) in float64: each entry a function of (seed, feature,
        component).
        """
        raise ValueError(
            f"{type(self).__name__} has no spectral sampler: random Fourier features need a shift-invariant kernel "
            "(Gaussian, Laplacian, Cauchy, Matern). NOGD takes any kernel."
        )

    def scales(self, seed: int, n_components: int) -> np.ndarray:
        """For an isotropic kernel: the scale of each component's normal draws, a function of (seed, component)."""
        raise ValueError(
            f"{type(self).__name__} is not a mixture of Gaussians, so its frequencies have preferred directions: "
            "map='structured' needs an isotropic kernel (Gaussian, Cauchy, Matern). Use map='plain'."
        )


@dataclass
class _Scaled(Kernel):
    """A kernel with a width."""

    gamma: float | str = "scale"

    def check(self) -> None:
        if self.gamma != "scale":
            positive(gamma=self.gamma)

    @property
    def depends_on_data(self) -> bool:
        return self.gamma == "scale"

    def settle(self, variance: float, n_features: int) -> Self:
        if self.gamma != "scale":
            return self
        return dataclasses.replace(self, gamma=1.0 / (n_features * variance) if variance > 0 else 1.0)

    @property
    def width(self) -> float:
        if isinstance(self.gamma, str):
            raise ValueError(
                f'{type(self).__name__}(gamma="{self.gamma}") is settled by the first block; there was none yet.'
            )
        return float(self.gamma)

    def constants(self) -> tuple[float, ...]:
        return (self.width,)


@dataclass
class _Spectral(_Scaled):
    """A shift-invariant kernel; a frequency is a scale of its component times a draw for its (feature, component)."""

    shift_invariant: ClassVar[bool] = True
    isotropic: ClassVar[bool] = True

    def frequencies(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        keys = np.array([rng.key(seed, _FREQUENCY, int(f)) for f in features], np.uint64)
        draws = self.draws(rng.uniform(keys[:, None], np.arange(n_components)))
        return draws * self._mixed(seed, n_components)

    def scales(self, seed: int, n_components: int) -> np.ndarray:
        if not self.isotropic:
            return super().scales(seed, n_components)
        return self._mixed(seed, n_components)

    def _mixed(self, seed: int, n_components: int) -> np.ndarray:
        return self.mixture(rng.uniform(rng.key(seed, _MIXTURE), np.arange(n_components)))

    def draws(self, uniforms: np.ndarray) -> np.ndarray:
        """Independent draws for (feature, component): standard normal unless said otherwise."""
        return np.asarray(ndtri(uniforms))

    def mixture(self, uniforms: np.ndarray) -> np.ndarray:
        """The scale of each component: these kernels are Gaussians of random width."""
        raise NotImplementedError


@dataclass
class Gaussian(_Spectral):
    """exp(-gamma ||x - z||^2). ``Gaussian(sigma=s)`` means gamma = 1 / (2 s^2)."""

    sigma: dataclasses.InitVar[float | None] = None

    metric: ClassVar[int] = SQUARED_DISTANCE

    def __post_init__(self, sigma: float | None) -> None:
        if sigma is not None:
            if self.gamma != "scale":
                raise ValueError(f"Give gamma or sigma, not both (gamma={self.gamma!r}, sigma={sigma!r}).")
            positive(sigma=sigma)
            self.gamma = 1.0 / (2.0 * sigma**2)
        self.check()

    def set_params(self, **params: Any) -> Self:
        if "sigma" in params:
            if "gamma" in params:
                raise ValueError(
                    f"Give gamma or sigma, not both (gamma={params['gamma']!r}, sigma={params['sigma']!r})."
                )
            params["gamma"] = Gaussian(sigma=params.pop("sigma")).gamma
        return super().set_params(**params)

    @staticmethod
    def formula(constants: Any, row: Any) -> None:
        for j in range(row.shape[0]):
            row[j] = exp(-constants[0] * row[j])

    def mixture(self, uniforms: np.ndarray) -> np.ndarray:
        return np.full(uniforms.shape, math.sqrt(2.0 * self.width))


@dataclass
class Laplacian(_Spectral):
    """exp(-gamma ||x - z||_1). ``gamma="scale"`` is 1 / (number of features * standard deviation of X)."""

    metric: ClassVar[int] = MANHATTAN
    isotropic: ClassVar[bool] = False

    def settle(self, variance: float, n_features: int) -> Self:
        return super().settle(math.sqrt(variance), n_features)

    @staticmethod
    def formula(constants: Any, row: Any) -> None:
        for j in range(row.shape[0]):
            row[j] = exp(-constants[0] * row[j])

    def draws(self, uniforms: np.ndarray) -> np.ndarray:
        return np.asarray(np.tan(np.pi * (uniforms - 0.5)))  # standard Cauchy

    def mixture(self, uniforms: np.ndarray) -> np.ndarray:
        return np.full(uniforms.shape, self.width)


@dataclass
class Cauchy(_Spectral):
    """1 / (1 + gamma ||x - z||^2): a Gaussian whose gamma is scaled by a standard exponential."""

    metric: ClassVar[int] = SQUARED_DISTANCE

    @staticmethod
    def formula(constants: Any, row: Any) -> None:
        one = row.dtype.type(1)
        for j in range(row.shape[0]):
            row[j] = one / (one + constants[0] * row[j])

    def mixture(self, uniforms: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(-2.0 * self.width * np.log(uniforms)))


@dataclass
class Matern(_Spectral):
    """With r = sqrt(2 gamma) ||x - z||: (1 + a) e^-a, a = sqrt(3) r (nu 3/2); (1 + a + a^2/3) e^-a, a = sqrt(5) r
    (nu 5/2).

    A length scale l is gamma = 1 / (2 l^2), so that nu -> infinity is the Gaussian of the same gamma.
    """

    nu: float = 1.5

    metric: ClassVar[int] = SQUARED_DISTANCE

    def check(self) -> None:
        super().check()
        one_of((1.5, 2.5), nu=self.nu)

    def constants(self) -> tuple[float, ...]:
        return (4.0 * self.nu * self.width, 1.0 / 3.0 if self.nu == 2.5 else 0.0)  # a^2 = 2 nu r^2

    @staticmethod
    def formula(constants: Any, row: Any) -> None:
        one = row.dtype.type(1)
        for j in range(row.shape[0]):
            square = constants[0] * row[j]
            a = np.sqrt(square)
            row[j] = (one + a + constants[1] * square) * exp(-a)

    def mixture(self, uniforms: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(2.0 * self.width * self.nu / gammaincinv(self.nu, uniforms)))  # Student's t, 2 nu


@dataclass
class Linear(Kernel):
    """<x, z>."""

    metric: ClassVar[int] = DOT

    @staticmethod
    def formula(constants: Any, row: Any) -> None:
        pass

    def constants(self) -> tuple[float, ...]:
        return ()


@dataclass
class Polynomial(_Scaled):
    """(gamma <x, z> + offset)^degree."""

    degree: int = 2
    offset: float = 1.0

    metric: ClassVar[int] = DOT

    def check(self) -> None:
        super().check()
        whole(1, degree=self.degree)
        at_least(0.0, offset=self.offset)

    def constants(self) -> tuple[float, ...]:
        return (self.width, float(self.offset), float(self.degree))

    @staticmethod
    def formula(constants: Any, row: Any) -> None:
        degree = int(constants[2])
        for j in range(row.shape[0]):
            row[j] = constants[0] * row[j] + constants[1]
        if degree == 2:
            for j in range(row.shape[0]):
                row[j] = row[j] * row[j]
        elif degree > 2:
            for j in range(row.shape[0]):
                base = row[j]
                for _ in range(degree - 1):
                    row[j] *= base


@dataclass
class Sigmoid(_Scaled):
    """tanh(gamma <x, z> + offset). Not positive definite: NOGD drops its negative eigenvalues."""

    offset: float = 0.0

    metric: ClassVar[int] = DOT
    positive_definite: ClassVar[bool] = False

    def constants(self) -> tuple[float, ...]:
        return (self.width, float(self.offset))

    @staticmethod
    def formula(constants: Any, row: Any) -> None:
        one = row.dtype.type(1)
        for j in range(row.shape[0]):
            a = constants[0] * row[j] + constants[1]
            e = exp(-abs(a) - abs(a))
            t = (one - e) / (one + e)
            row[j] = t if a >= 0 else -t


@inlined
def _add_feature(metric, v, z, sums):
    """Add to the metric sums of x and some points what one feature gives: v of x, z of the points."""
    if metric == DOT:
        for j in range(z.shape[0]):
            sums[j] += v * z[j]
    elif metric == SQUARED_DISTANCE:
        for j in range(z.shape[0]):
            t = z[j] - v
            sums[j] += t * t
    else:
        for j in range(z.shape[0]):
            sums[j] += abs(z[j] - v)


def _kernel_tile(metric, formula, constants, indices, values, points, norms, lo, row, wide):
    """Write the kernel values of x = (indices, values) and the points lo, lo+1, ... into `row`."""
    n = row.shape[0]
    complete = indices.shape[0] == points.shape[0]
    if metric == DOT or complete:
        for j in range(n):
            row[j] = 0
    else:
        for j in range(n):
            wide[j] = norms[lo + j]
    # Four features at a time, in the order that one at a time would have: the same bits, a quarter of the traffic.
    first = 0
    while metric == SQUARED_DISTANCE and first + 4 <= indices.shape[0]:
        a, b, c, e = values[first], values[first + 1], values[first + 2], values[first + 3]
        za, zb = points[indices[first], lo : lo + n], points[indices[first + 1], lo : lo + n]
        zc, ze = points[indices[first + 2], lo : lo + n], points[indices[first + 3], lo : lo + n]
        if complete:
            for j in range(n):
                ta, tb, tc, te = za[j] - a, zb[j] - b, zc[j] - c, ze[j] - e
                row[j] = row[j] + ta * ta + tb * tb + tc * tc + te * te
        else:
            # Features that x lacks count through the norm of the point; float64 because the terms cancel.
            ua, ub, uc, ue = np.float64(a), np.float64(b), np.float64(c), np.float64(e)
            for j in range(n):
                wide[j] = (
                    wide[j]
                    + ua * (ua - 2.0 * za[j])
                    + ub * (ub - 2.0 * zb[j])
                    + uc * (uc - 2.0 * zc[j])
                    + ue * (ue - 2.0 * ze[j])
                )
        first += 4
    for p in range(first, indices.shape[0]):
        z = points[indices[p], lo : lo + n]
        if metric == DOT or complete:
            _add_feature(metric, values[p], z, row)
            continue
        u = np.float64(values[p])
        if metric == SQUARED_DISTANCE:
            for j in range(n):
                wide[j] += u * (u - 2.0 * z[j])
        else:
            for j in range(n):
                wide[j] += abs(z[j] - u) - abs(np.float64(z[j]))
    if metric != DOT and not complete:
        for j in range(n):
            row[j] = wide[j] if wide[j] > 0.0 else 0.0
    call_for_effect(formula, constants, row)


_TILE = Pointer(_kernel_tile, "iirxrmwirw", value=False)


@inlined
def _squares(total, a, b, c, e, za, zb, zc, ze):
    a, b, c, e = za - a, zb - b, zc - c, ze - e
    return total + a * a + b * b + c * c + e * e


def _four_metrics(metric, values, points, n, out):
    """Write the metric values of four complete rows, one after the other in `values`, and the first n points into the
    rows of `out`.

    Ensures: bit for bit what `_kernel_tile` hands to the formula for each row alone. The points are read once for four
    rows.
    """
    d = points.shape[0]
    x0, x1, x2, x3 = values[:d], values[d : 2 * d], values[2 * d : 3 * d], values[3 * d :]
    for lo in range(0, n, TILE):
        hi = min(lo + TILE, n)
        s0, s1, s2, s3 = out[0, lo:hi], out[1, lo:hi], out[2, lo:hi], out[3, lo:hi]
        for j in range(hi - lo):
            s0[j] = s1[j] = s2[j] = s3[j] = 0
        first = 0
        while metric != MANHATTAN and first + 4 <= d:
            p, q, r, s = first, first + 1, first + 2, first + 3
            z0, z1, z2, z3 = points[p, lo:hi], points[q, lo:hi], points[r, lo:hi], points[s, lo:hi]
            a0, b0, c0, e0 = x0[p], x0[q], x0[r], x0[s]
            a1, b1, c1, e1 = x1[p], x1[q], x1[r], x1[s]
            a2, b2, c2, e2 = x2[p], x2[q], x2[r], x2[s]
            a3, b3, c3, e3 = x3[p], x3[q], x3[r], x3[s]
            # All is read before anything is written: else the compiler reads the points again for each row.
            if metric == SQUARED_DISTANCE:
                for j in range(hi - lo):
                    za, zb, zc, ze = z0[j], z1[j], z2[j], z3[j]
                    t0 = _squares(s0[j], a0, b0, c0, e0, za, zb, zc, ze)
                    t1 = _squares(s1[j], a1, b1, c1, e1, za, zb, zc, ze)
                    t2 = _squares(s2[j], a2, b2, c2, e2, za, zb, zc, ze)
                    t3 = _squares(s3[j], a3, b3, c3, e3, za, zb, zc, ze)
                    s0[j], s1[j], s2[j], s3[j] = t0, t1, t2, t3
            else:
                for j in range(hi - lo):
                    za, zb, zc, ze = z0[j], z1[j], z2[j], z3[j]
                    t0 = s0[j] + a0 * za + b0 * zb + c0 * zc + e0 * ze
                    t1 = s1[j] + a1 * za + b1 * zb + c1 * zc + e1 * ze
                    t2 = s2[j] + a2 * za + b2 * zb + c2 * zc + e2 * ze
                    t3 = s3[j] + a3 * za + b3 * zb + c3 * zc + e3 * ze
                    s0[j], s1[j], s2[j], s3[j] = t0, t1, t2, t3
            first += 4
        for p in range(first, d):
            z = points[p, lo:hi]
            _add_feature(metric, x0[p], z, s0)
            _add_feature(metric, x1[p], z, s1)
            _add_feature(metric, x2[p], z, s2)
            _add_feature(metric, x3[p], z, s3)


_FOUR = Pointer(_four_metrics, "irmim", value=False)


def _metric_column(metric, values, points, i, out):
    """Write the metric values of the last three of four complete rows and point i into column i of `out`.

    Ensures: bit for bit what `_four_metrics` gives. Nothing ever waits for the first row's.
    """
    d = points.shape[0]
    x1, x2, x3 = values[d : 2 * d], values[2 * d : 3 * d], values[3 * d :]
    s1 = s2 = s3 = out.dtype.type(0)
    for p in range(d):
        z = points[p, i]
        if metric == DOT:
            s1 += x1[p] * z
            s2 += x2[p] * z
            s3 += x3[p] * z
        else:
            a, b, c = z - x1[p], z - x2[p], z - x3[p]
            if metric == SQUARED_DISTANCE:
                s1 += a * a
                s2 += b * b
                s3 += c * c
            else:
                s1 += abs(a)
                s2 += abs(b)
                s3 += abs(c)
    out[1, i], out[2, i], out[3, i] = s1, s2, s3


_COLUMN = Pointer(_metric_column, "irmim", value=False)


@inlined
def kernel_tile(kernel, x, points, norms, lo, row, wide):
    """row[j] = k(point lo + j, x); `wide` is scratch of at least that length."""
    call_for_effect(
        kernel.tile, kernel.metric, kernel.formula, kernel.constants, x.indices, x.values, points, norms, lo, row, wide
    )


@inlined
def four_metrics(kernel, values, points, n, out):
    """out[r, j] = the metric of point j < n and row r of four complete rows, one after the other in `values`."""
    call_for_effect(kernel.four, kernel.metric, values, points, n, out)


@inlined
def metric_column(kernel, values, points, i, out):
    """The same for point i alone and rows 1 to 3."""
    call_for_effect(kernel.column, kernel.metric, values, points, i, out)


@inlined
def apply_formula(kernel, row):
    """Metric values become kernel values."""
    call_for_effect(kernel.formula, kernel.constants, row)


KERNELS: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "cauchy": Cauchy,
    "matern": Matern,
    "polynomial": Polynomial,
    "linear": Linear,
    "sigmoid": Sigmoid,
}
