"""Kernels: each one a metric, one line of mathematics on it, and (shift-invariant ones) a spectral sampler.

A kernel of your own is a subclass like those below: a dataclass with its parameters, the `metric` that it is a function
of, the numbers that its formula needs (`constants`), and `formula(constants, row)`, which turns a row of metric values
into kernel values in place. It is compiled on first use and runs at the speed of the built-in ones; write literals as
``one = row.dtype.type(1)`` where float32 speed matters.

Kernels add and multiply: ``Gaussian() + 0.5 * Linear()``, ``(Gaussian() + Linear()) * Polynomial()``.

``gamma="scale"`` is settled on the first rows as 1 / (number of features * variance of X); features that are 0 in all
of them do not count, so that dense and sparse rows give the same.
"""

import dataclasses
import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from .numerics import programme, quasi, rng
from .numerics.compile import Pointer
from .numerics.elementary import exp
from .numerics.normal import normal_quantiles
from .numerics.rows import MOST, Block, Sample, n_rows
from .numerics.tiles import ALONE, four_rows, one_row
from .numerics.tiles import DOT as DOT
from .numerics.tiles import MANHATTAN as MANHATTAN
from .numerics.tiles import SQUARED_DISTANCE as SQUARED_DISTANCE
from .parameters import Parameters, at_least, did_you_mean, finite, one_of, positive, whole

# The largest gamma that is settled on data: finite in float32, with room for the factors of a formula.
WIDEST = 1e30


class RowKernelRecord(NamedTuple):
    """What compiled code that takes every row alone sees of a kernel."""

    metric: int
    formula: int  # address of the kernel's own formula
    constants: np.ndarray
    tile: int  # tiles.one_row


class KernelRecord(NamedTuple):
    """What a learner's compiled code sees of a kernel."""

    metric: int
    formula: int
    constants: np.ndarray
    tile: int
    four: int  # tiles.four_rows
    column: int


class Need(NamedTuple):
    """What a learner needs of a kernel: a class variable of `Kernel` that must be true, and the refusal where it is
    not.
    """

    name: str
    refusal: str  # {kernel} stands for what the kernel is called

    def check(self, kernel: "Kernel") -> None:
        if not getattr(kernel, self.name):
            raise self.refused(kernel)

    def refused(self, kernel: "Kernel") -> ValueError:
        return ValueError(self.refusal.format(kernel=kernel.called))


EVALUATED = Need(
    "evaluated",
    "{kernel} has values that are no function of a distance or a product of two rows, so this learner cannot compute "
    "them. Use another kernel, or a learner on random features: fogd, rrf, ridge, arow, scw, opauc, density.",
)
POSITIVE_DEFINITE = Need(
    "positive_definite",
    "{kernel} is not positive definite, so nothing can be projected in its space. "
    "Use another kernel, or a learner that removes terms.",
)
SHIFT_INVARIANT = Need(
    "shift_invariant",
    "{kernel} has no spectral sampler: random Fourier features need a shift-invariant kernel with k(x, x) = 1 "
    "(Gaussian, Laplacian, Cauchy, Matern, SpectralMixture; a product of them; a sum whose multipliers add up to 1, as "
    "in 0.5 * Gaussian() + 0.5 * Laplacian()). NOGD takes any kernel, Ridge(map='nystrom') any positive definite one.",
)
ISOTROPIC = Need(
    "isotropic",
    "{kernel} is not a single isotropic kernel (Gaussian, Cauchy, Matern), whose frequencies prefer no direction: "
    "map='structured' needs one. Use map='plain'.",
)
QUASI = Need(
    "quantiles",
    "{kernel} is made of several kernels: map='quasi' needs a single shift-invariant one (Gaussian, Laplacian, Cauchy, "
    "Matern, SpectralMixture). Use map='plain'.",
)
BINNED = Need(
    "binned",
    "{kernel} is no mixture of boxes: map='binning' needs the Laplacian kernel. Use map='plain' or kernel=Laplacian().",
)


@dataclass
class Kernel(Parameters):
    """Base of all kernels."""

    metric: ClassVar[int]
    shift_invariant: ClassVar[bool] = False
    isotropic: ClassVar[bool] = False  # shift-invariant and a Gaussian of random width, see `scales`
    quantiles: ClassVar[bool] = False  # a frequency is made of quantiles, see `quasi_frequencies`
    binned: ClassVar[bool] = False  # the chance that two rows share a box of random sides, see `steps`
    evaluated: ClassVar[bool] = True  # by a formula on a metric; else there is a spectral sampler alone
    gaussian: ClassVar[bool] = False  # two terms become one by the closed form of `numerics.pairs`
    positive_definite: ClassVar[bool] = True
    _pointer: ClassVar[Pointer]

    __array_ufunc__ = None  # so that NumPy's numbers leave products with kernels to kernels

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

    def __add__(self, other: Any) -> "Sum":
        return Sum((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> "Product | Multiple":
        return Product((self, other)) if isinstance(other, Kernel) else self.__rmul__(other)

    def __rmul__(self, other: Any) -> "Multiple":
        return Multiple(other, self) if isinstance(other, numbers.Real) else NotImplemented  # type: ignore[arg-type]

    def spelled(self, word: Callable[["Kernel"], str]) -> str:
        """Its formula, with a word for each of the single parts."""
        return word(self)

    @property
    def called(self) -> str:
        """What it is called in messages."""
        return self.spelled(lambda single: type(single).__name__)

    @property
    def single_parts(self) -> "tuple[Kernel, ...]":
        """The kernels that it is made of, which are made of no others."""
        return (self,)

    @property
    def depends_on_data(self) -> bool:
        """Whether something is left for `settle` to fix."""
        return False

    def settle(self, sample: Sample) -> Self:
        """The kernel with every parameter fixed that depends on the first rows."""
        return self

    def require_finite(self, dtype: Any) -> None:
        """Refuse numbers that are not finite in this precision: kernel values would be NaN. Requires: settled."""
        with np.errstate(over="ignore"):
            found = np.array(self.constants(), dtype)
        if not np.isfinite(found).all():
            raise ValueError(
                f"{self!r} needs the number {self.constants()[int(np.argmin(np.isfinite(found)))]:g}, which is not "
                f"finite in {np.dtype(dtype).name} (largest {np.finfo(dtype).max:.2g}). Scale the features instead."
            )

    def require_values(self, block: Block, dtype: Any) -> None:
        """Refuse a row x whose k(x, x) is too large to compute with in this precision: a kernel of products may be."""
        if self.metric != DOT or len(block.values) == 0:
            return
        squares = np.zeros(n_rows(block), dtype)
        filled = np.diff(block.indptr) > 0
        squares[filled] = np.add.reduceat(block.values**2, block.indptr[:-1][filled])
        row = int(np.argmax(squares))
        with np.errstate(over="ignore", invalid="ignore"):
            own = self.own_value(squares[row])
        most = MOST[np.dtype(dtype).name]
        if not abs(own) <= most:
            raise ValueError(
                f"Row {row}: {self.called} gives k(x, x) = {own:g}, which exceeds {most:g}, the largest "
                f"value that is computed with in {np.dtype(dtype).name}. Scale the features."
            )

    def own_value(self, square: Any) -> Any:
        """k(x, x) for ||x||^2 = square, in its precision."""
        own = np.array([square if self.metric == DOT else 0], square.dtype)
        self.formula(np.array(self.constants(), own.dtype), own)
        return own[0]

    @property
    def at_zero(self) -> float:
        """k(x, x) of a shift-invariant kernel."""
        return 1.0

    def lower(self, dtype: Any) -> KernelRecord:
        return KernelRecord(*self.lower_for_rows(dtype), *four_rows(self.metric, dtype))

    def lower_for_rows(self, dtype: Any) -> RowKernelRecord:
        constants = np.array(self.constants(), dtype)
        return RowKernelRecord(self.metric, self._pointer.address(dtype), constants, one_row(dtype))

    def instructions(self, dtype: Any) -> list[float]:
        """It as a part of a programme."""
        return programme.part(self.metric, self._pointer.address(dtype), self.constants())

    def frequencies(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        """Spectral samples of k / k(x, x), (features, n_components) in float64: each entry a function of (seed,
        feature, component).
        """
        raise SHIFT_INVARIANT.refused(self)

    def quasi_frequencies(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        """The same from quasi-random numbers: evenly spread, for a kernel that makes each of a number for its feature
        and one for its component.
        """
        raise QUASI.refused(self)

    def scales(self, seed: int, n_components: int) -> np.ndarray:
        """For an isotropic kernel: the scale of each component's normal draws, a function of (seed, component)."""
        raise ISOTROPIC.refused(self)

    def steps(self, uniforms: np.ndarray) -> np.ndarray:
        """For a binned kernel: the sides of random boxes, from a uniform draw for each feature of each."""
        raise BINNED.refused(self)


@dataclass
class _Scaled(Kernel):
    """A kernel with a width.

    gamma: a number, or "scale": 1 / (number of features * variance of X), settled on the first 256 rows.
    """

    gamma: float | str = "scale"

    def check(self) -> None:
        if self.gamma != "scale":
            if not isinstance(self.gamma, numbers.Real):
                raise ValueError(f"gamma={self.gamma!r} must be 'scale' or a number greater than 0.")
            positive(gamma=self.gamma)

    @property
    def depends_on_data(self) -> bool:
        return self.gamma == "scale"

    def settle(self, sample: Sample) -> Self:
        if self.gamma != "scale":
            return self
        apart = sample.n_features * self.unit(sample.variance)
        return dataclasses.replace(self, gamma=min(1.0 / apart, WIDEST) if apart > 0 else 1.0)

    def unit(self, variance: float) -> float:
        """What the metric is measured in."""
        return variance

    @property
    def settled_gamma(self) -> float:
        if isinstance(self.gamma, str):
            raise ValueError(
                f'{type(self).__name__}(gamma="{self.gamma}") is settled by the first rows; there were none yet.'
            )
        return float(self.gamma)

    def constants(self) -> tuple[float, ...]:
        return (self.settled_gamma,)


@dataclass
class _Spectral(_Scaled):
    """A shift-invariant kernel; a frequency is a scale of its component times a draw for its (feature, component)."""

    shift_invariant: ClassVar[bool] = True
    isotropic: ClassVar[bool] = True
    quantiles: ClassVar[bool] = True

    def frequencies(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        keys = np.array([rng.key(seed, rng.FREQUENCY, int(f)) for f in features], np.uint64)
        draws = self.draws(rng.uniform(keys[:, None], np.arange(n_components)))
        return draws * self._mixed(seed, n_components)

    def quasi_frequencies(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        own, others = self._even(seed, features, n_components)
        return self.draws(others) * self.mixture(own)

    def _even(self, seed: int, features: Any, n_components: int) -> tuple[np.ndarray, np.ndarray]:
        """Evenly spread numbers: one for each component (the first coordinate, so that features may come later), and
        (features, n_components).
        """
        own, *others = quasi.points(seed, [0, *(int(f) + 1 for f in features)], n_components)
        return own, np.array(others).reshape(-1, n_components)

    def scales(self, seed: int, n_components: int) -> np.ndarray:
        if not self.isotropic:
            return super().scales(seed, n_components)
        return self._mixed(seed, n_components)

    def _mixed(self, seed: int, n_components: int) -> np.ndarray:
        return self.mixture(rng.uniform(rng.key(seed, rng.MIXTURE), np.arange(n_components)))

    def draws(self, uniforms: np.ndarray) -> np.ndarray:
        """Independent draws for (feature, component): standard normal unless said otherwise."""
        return normal_quantiles(uniforms)

    def mixture(self, uniforms: np.ndarray) -> np.ndarray:
        """The scale of each component: these kernels are Gaussians of random width."""
        raise NotImplementedError


@dataclass
class Gaussian(_Spectral):
    """exp(-gamma ||x - z||^2).

    sigma: s, which means gamma = 1 / (2 s^2).
    """

    sigma: dataclasses.InitVar[float | None] = None

    metric: ClassVar[int] = SQUARED_DISTANCE
    gaussian: ClassVar[bool] = True

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
        return np.full(uniforms.shape, math.sqrt(2.0 * self.settled_gamma))


@dataclass
class Laplacian(_Spectral):
    """exp(-gamma ||x - z||_1).

    gamma: a number, or "scale": 1 / (number of features * standard deviation of X), settled on the first 256 rows.
    """

    metric: ClassVar[int] = MANHATTAN
    isotropic: ClassVar[bool] = False
    binned: ClassVar[bool] = True

    def unit(self, variance: float) -> float:
        return math.sqrt(variance)

    @staticmethod
    def formula(constants: Any, row: Any) -> None:
        for j in range(row.shape[0]):
            row[j] = exp(-constants[0] * row[j])

    def draws(self, uniforms: np.ndarray) -> np.ndarray:
        return np.asarray(np.tan(np.pi * (uniforms - 0.5)))  # standard Cauchy

    def steps(self, uniforms: np.ndarray) -> np.ndarray:
        from scipy.special import gammaincinv

        return np.asarray(gammaincinv(2.0, uniforms) / self.settled_gamma)  # a density of s k''(s), k = exp(-gamma s)

    def mixture(self, uniforms: np.ndarray) -> np.ndarray:
        return np.full(uniforms.shape, self.settled_gamma)


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
        return np.asarray(np.sqrt(-2.0 * self.settled_gamma * np.log(uniforms)))


@dataclass
class Matern(_Spectral):
    """With r = sqrt(2 gamma) ||x - z||: (1 + a) e^-a, a = sqrt(3) r (nu 3/2); (1 + a + a^2/3) e^-a, a = sqrt(5) r
    (nu 5/2).

    A length scale l is gamma = 1 / (2 l^2), so that nu -> infinity is the Gaussian of the same gamma.

    nu: 1.5 or 2.5.
    """

    nu: float = 1.5

    metric: ClassVar[int] = SQUARED_DISTANCE

    def check(self) -> None:
        super().check()
        one_of((1.5, 2.5), nu=self.nu)

    def constants(self) -> tuple[float, ...]:
        return (4.0 * self.nu * self.settled_gamma, 1.0 / 3.0 if self.nu == 2.5 else 0.0)  # a^2 = 2 nu r^2

    @staticmethod
    def formula(constants: Any, row: Any) -> None:
        one = row.dtype.type(1)
        for j in range(row.shape[0]):
            square = constants[0] * row[j]
            a = np.sqrt(square)
            row[j] = (one + a + constants[1] * square) * exp(-a)

    def mixture(self, uniforms: np.ndarray) -> np.ndarray:
        from scipy.special import gammaincinv

        # Student's t with 2 nu degrees of freedom.
        return np.asarray(np.sqrt(2.0 * self.settled_gamma * self.nu / gammaincinv(self.nu, uniforms)))


@dataclass
class SpectralMixture(_Spectral):
    """The mean over q of exp(-gamma ||x - z||^2) cos(m_q'(x - z)): patterns that come again along the directions m_q
    (Wilson, Adams: Gaussian Process Kernels for Pattern Discovery and Extrapolation, 2013).

    Its spectrum is a mixture of normal laws around the means m_q. Weights and widths that differ are sums:
    ``0.8 * SpectralMixture(0.1, means=((0.26,),)) + 0.2 * Gaussian(1.0)``. Learners on random features take it; the
    others, which compute kernel values, refuse it. RRF learns means and widths of each part.

    n_parts: how many normal laws are mixed, with equal shares.
    means: those of the first parts, a tuple of numbers each: the frequency along each feature, 2 pi / period. What is
    left out is 0; with no means it is the Gaussian kernel, from which RRF learns some.
    """

    n_parts: int = 2
    means: tuple[tuple[float, ...], ...] = ()

    metric: ClassVar[int] = SQUARED_DISTANCE  # what gamma is measured by
    isotropic: ClassVar[bool] = False
    evaluated: ClassVar[bool] = False

    def check(self) -> None:
        super().check()
        whole(1, n_parts=self.n_parts)
        if not (isinstance(self.means, tuple) and all(isinstance(one, tuple) for one in self.means)):
            raise ValueError(f"means={self.means!r} must be a tuple of tuples, as in means=((0.26, 0.0), (0.52,)).")
        if len(self.means) > self.n_parts:
            raise ValueError(f"means has {len(self.means)} parts and n_parts={self.n_parts}; give no more than those.")
        for number in (number for one in self.means for number in one):
            finite(means=number)

    def constants(self) -> tuple[float, ...]:
        return (self.settled_gamma, *(float(number) for one in self.means for number in one))

    def mixture(self, uniforms: np.ndarray) -> np.ndarray:
        return np.full(uniforms.shape, self.deviation)

    @property
    def deviation(self) -> float:
        """Of a frequency from the mean of its part, in every feature."""
        return math.sqrt(2.0 * self.settled_gamma)

    def part_means(self, features: Any) -> np.ndarray:
        """(features, n_parts) in float64."""
        known = np.zeros((max(map(len, self.means), default=0) + 1, self.n_parts))  # a row more, for all others
        for q, one in enumerate(self.means):
            known[: len(one), q] = one
        return known[np.minimum(np.fromiter(features, np.int64), len(known) - 1)]

    def deviations(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        """(features, n_components): of component j from the mean of part j modulo n_parts, which it belongs to."""
        return super().frequencies(seed, features, n_components)

    def frequencies(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        means = self.part_means(features)[:, np.arange(n_components) % self.n_parts]
        return self.deviations(seed, features, n_components) + means

    def quasi_frequencies(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        # The component's own number chooses the part: every other point of a Sobol sequence lies in one half.
        own, others = self._even(seed, features, n_components)
        means = self.part_means(features)[:, np.int64(own * self.n_parts)]
        return self.draws(others) * self.deviation + means


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
    """(gamma <x, z> + offset)^degree.

    degree: a whole number.
    offset: 0 or more.
    """

    degree: int = 2
    offset: float = 1.0

    metric: ClassVar[int] = DOT

    def check(self) -> None:
        super().check()
        whole(1, degree=self.degree)
        at_least(0.0, offset=self.offset)

    def constants(self) -> tuple[float, ...]:
        return (self.settled_gamma, float(self.offset), float(self.degree))

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
    """tanh(gamma <x, z> + offset). Not positive definite: NOGD drops its negative eigenvalues.

    offset: any number.
    """

    offset: float = 0.0

    metric: ClassVar[int] = DOT
    positive_definite: ClassVar[bool] = False

    def constants(self) -> tuple[float, ...]:
        return (self.settled_gamma, float(self.offset))

    @staticmethod
    def formula(constants: Any, row: Any) -> None:
        one = row.dtype.type(1)
        for j in range(row.shape[0]):
            a = constants[0] * row[j] + constants[1]
            e = exp(-abs(a) - abs(a))
            t = (one - e) / (one + e)
            row[j] = t if a >= 0 else -t


@dataclass(repr=False)
class _Composite(Kernel):
    """A kernel that is made of others: its record holds a programme (`numerics.programme`)."""

    formula = staticmethod(programme.formula)

    @property
    def operands(self) -> tuple[Kernel, ...]:
        """The kernels that it is made of, which may be made of others."""
        raise NotImplementedError

    def check(self) -> None:
        for one in self.operands:
            if not isinstance(one, Kernel):
                raise ValueError(f"{one!r} is no kernel, and a {type(self).__name__} is made of kernels.")
        n = len(self.single_parts)
        if n > programme.MOST_PARTS:
            raise ValueError(f"{self.called} has {n} parts, and a kernel has at most {programme.MOST_PARTS}.")

    def __repr__(self) -> str:
        return self.spelled(repr)

    def _inside(self, word: Callable[[Kernel], str]) -> list[str]:
        """The operands' formulas, in parentheses where they need them."""
        return [
            f"({one.spelled(word)})" if isinstance(one, _Composite) and not isinstance(self, Sum) else one.spelled(word)
            for one in self.operands
        ]

    @property
    def single_parts(self) -> tuple[Kernel, ...]:
        return tuple(single for one in self.operands for single in one.single_parts)

    @property
    def _metrics(self) -> set[int]:
        return {single.metric for single in self.single_parts}

    @property
    def metric(self) -> int:  # type: ignore[override]
        """Of several the first: products, with which k(x, x) is one of x, before distances."""
        return min(self._metrics)

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        return all(one.positive_definite for one in self.operands)

    @property
    def evaluated(self) -> bool:  # type: ignore[override]
        return all(one.evaluated for one in self.operands)

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        return all(one.shift_invariant for one in self.single_parts) and math.isclose(self.at_zero, 1.0)

    @property
    def depends_on_data(self) -> bool:
        return any(one.depends_on_data for one in self.operands)

    def require_finite(self, dtype: Any) -> None:
        for one in self.operands:
            one.require_finite(dtype)

    def lower(self, dtype: Any) -> KernelRecord:
        together = four_rows(self.metric, dtype) if len(self._metrics) == 1 else (ALONE, ALONE)
        return KernelRecord(*self.lower_for_rows(dtype), *together)

    def lower_for_rows(self, dtype: Any) -> RowKernelRecord:
        text = programme.header(self.metric, self._metrics) + self.instructions(dtype)
        tile = one_row(dtype) if len(self._metrics) == 1 else programme.one_row(dtype)
        return RowKernelRecord(self.metric, self._pointer.address(dtype), np.array(text, dtype), tile)


@dataclass(repr=False)
class _OfSeveral(_Composite):
    """Several kernels that one operation joins; those that it joined before are taken one by one."""

    parts: tuple[Kernel, ...]

    sign: ClassVar[str]
    operation: ClassVar[int]  # of a programme

    def __post_init__(self) -> None:
        if not (isinstance(self.parts, tuple) and len(self.parts) > 1):
            raise ValueError(f"parts={self.parts!r} must be a tuple of at least two kernels.")
        if any(isinstance(part, type(self)) for part in self.parts):
            groups = [part.parts if isinstance(part, type(self)) else (part,) for part in self.parts]
            self.parts = tuple(part for group in groups for part in group)
        self.check()

    @property
    def operands(self) -> tuple[Kernel, ...]:
        return self.parts

    def spelled(self, word: Callable[[Kernel], str]) -> str:
        return f" {self.sign} ".join(self._inside(word))

    def settle(self, sample: Sample) -> Self:
        return dataclasses.replace(self, parts=tuple(part.settle(sample) for part in self.parts))

    def instructions(self, dtype: Any) -> list[float]:
        first, *others = (part.instructions(dtype) for part in self.parts)
        return first + [number for other in others for number in (*other, self.operation)]

    def samples(self, seed: int, features: Any, n_components: int) -> list[np.ndarray]:
        """Frequencies of each part, independent of those of the others."""
        seeds = [int(rng.key(seed, rng.PARTS, i)) for i in range(len(self.parts))]
        return [part.frequencies(own, features, n_components) for part, own in zip(self.parts, seeds, strict=True)]


@dataclass(repr=False)
class Sum(_OfSeveral):
    """k_1 + k_2 + ...: ``Gaussian() + Linear()``."""

    sign: ClassVar[str] = "+"
    operation: ClassVar[int] = programme.ADD

    @property
    def at_zero(self) -> float:
        return sum(part.at_zero for part in self.parts)

    def own_value(self, square: Any) -> Any:
        return sum(part.own_value(square) for part in self.parts)

    def frequencies(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        """Each component is one of a part, which is drawn by the parts' shares of k(x, x)."""
        shares = np.cumsum([part.at_zero for part in self.parts])
        uniforms = rng.uniform(rng.key(seed, rng.MIXTURE), np.arange(n_components))
        chosen = np.searchsorted(shares[:-1] / shares[-1], uniforms)
        return np.choose(chosen, self.samples(seed, features, n_components))


@dataclass(repr=False)
class Product(_OfSeveral):
    """k_1 k_2 ...: ``Gaussian() * Polynomial()``."""

    sign: ClassVar[str] = "*"
    operation: ClassVar[int] = programme.MULTIPLY

    @property
    def at_zero(self) -> float:
        return math.prod(part.at_zero for part in self.parts)

    def own_value(self, square: Any) -> Any:
        return math.prod(part.own_value(square) for part in self.parts)

    def frequencies(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        """The spectrum of a product is that of a sum of independent frequencies."""
        return np.sum(self.samples(seed, features, n_components), axis=0)


@dataclass(repr=False)
class Multiple(_Composite):
    """multiplier * kernel: ``0.5 * Gaussian()``."""

    multiplier: float
    kernel: Kernel

    def __post_init__(self) -> None:
        positive(multiplier=self.multiplier)
        if isinstance(self.kernel, Multiple):
            self.multiplier, self.kernel = self.multiplier * self.kernel.multiplier, self.kernel.kernel
        self.check()

    @property
    def operands(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def spelled(self, word: Callable[[Kernel], str]) -> str:
        return f"{float(self.multiplier)!r} * {self._inside(word)[0]}"

    @property
    def at_zero(self) -> float:
        return float(self.multiplier) * self.kernel.at_zero

    def settle(self, sample: Sample) -> Self:
        return dataclasses.replace(self, kernel=self.kernel.settle(sample))

    def require_finite(self, dtype: Any) -> None:
        super().require_finite(dtype)
        if not float(self.multiplier) <= float(np.finfo(dtype).max):
            raise ValueError(
                f"{self!r} has a multiplier that is not finite in {np.dtype(dtype).name} "
                f"(largest {np.finfo(dtype).max:.2g}). Make it smaller."
            )

    def own_value(self, square: Any) -> Any:
        return square.dtype.type(self.multiplier) * self.kernel.own_value(square)

    def instructions(self, dtype: Any) -> list[float]:
        return [*self.kernel.instructions(dtype), programme.TIMES, float(self.multiplier)]

    def frequencies(self, seed: int, features: Any, n_components: int) -> np.ndarray:
        return self.kernel.frequencies(seed, features, n_components)


KERNELS: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "cauchy": Cauchy,
    "matern": Matern,
    "spectral-mixture": SpectralMixture,
    "polynomial": Polynomial,
    "linear": Linear,
    "sigmoid": Sigmoid,
}

_OTHER_NAMES = {"rbf": "gaussian", "poly": "polynomial"}  # scikit-learn's


def as_kernel(kernel: "str | Kernel") -> Kernel:
    """A kernel by its name, with its defaults, or the kernel itself."""
    if isinstance(kernel, Kernel):
        return kernel
    found = KERNELS.get(_OTHER_NAMES.get(kernel, kernel)) if isinstance(kernel, str) else None
    if found is None:
        names = [*KERNELS, *_OTHER_NAMES]
        raise ValueError(
            f"kernel={kernel!r} is not known; {did_you_mean(kernel, names)} one of {', '.join(names)}, or a kernel "
            "such as Gaussian(gamma=0.5)."
        )
    return found()
