"""Synthetic streams. Row t is a function of (seed, t), and blocks of any size hold the same rows. Nothing is stored but
the trajectories of series.
"""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from ..numerics import rng
from ..teaching import constructed, explained
from .base import DEFAULT_BLOCK_ROWS, LabelledBlock, Source, positive
from .chaotic import lorenz, mackey_glass

_MEANS, _ROWS, _AXES, _BEGINNING, _NOISE = range(5)  # what a seed's numbers are for
_ROWS_A_TURN = 100_000  # of what drifts: slow enough to be learned, fast enough that what was learned goes stale

# What help() says of their parameters.
_WORDS = {
    "n_rows": "how many there are",
    "start": "the number of the first one in the endless stream",
    "seed": "of the stream",
    "name": "what the source is called in traces",
    "block_rows": "how many rows a block has at most",
}
_SERIES_WORDS = {
    "n_features": "values one after the other that a row has",
    "horizon": "how many values behind them its label lies",
    "noise": "the standard deviation of what is added to each value",
}


def _normals(key: np.uint64, counter: np.ndarray) -> np.ndarray:
    """Pairs of independent normal numbers, (n, 2): those of counter c come from the uniform numbers c and c + 1."""
    radius = np.sqrt(-2.0 * np.log(rng.uniform(key, counter)))
    angle = 2.0 * np.pi * rng.uniform(key, counter + 1)
    return radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


class Generated(Source):
    """Rows `start` to ``start + n_rows`` of an endless stream that the seed determines."""

    n_rows: int

    def __init__(self, n_rows: int, start: int, seed: int, name: str, block_rows: int):
        if start < 0:
            raise ValueError(f"start is {start}; it must be at least 0")
        self.n_rows = positive(n_rows, "n_rows")
        self.start, self.seed, self.name = int(start), int(seed), name
        self.block_rows = positive(block_rows, "block_rows")
        self._served = 0

    def __iter__(self) -> Iterator[LabelledBlock]:
        self._served = 0
        for first in range(0, self.n_rows, self.block_rows):
            self._served = min(first + self.block_rows, self.n_rows)
            yield self._rows(np.arange(self.start + first, self.start + self._served))

    @abstractmethod
    def _rows(self, t: np.ndarray) -> LabelledBlock:
        """The rows t, which may be any."""

    def progress(self) -> float | None:
        return self._served / self.n_rows


@constructed(**_WORDS)
class Multidist(Generated):
    """Five classes of three Gaussian modes each in the plane (Koppel et al. 2019, sec. 5.2).

    A label y in 1 .. 5 and one of its modes are drawn uniformly, x ~ N(mu, 0.2^2 I). The means are drawn once, mu ~
    N(theta_y, I), with theta_1 .. theta_5 evenly spaced around the unit circle: how far the classes overlap depends on
    the seed.

    The paper writes sigma^2 = 0.2, and likewise "bandwidth sigma^2 = 0.6" of the kernel. Both are standard deviations
    here: with variances, one draw of the means in a million allows the 4 % error that it reports; with standard
    deviations one in twenty does, and the published model orders (16 and 129, 16 and 75) lie within the range over such
    draws. The default seed is one of them, with a best possible error of 3.5 % on the 2,500 test rows.

    >>> from kernelstream.sources import Multidist
    >>> X, y = next(iter(Multidist(100)))
    >>> X.shape, y.shape
    ((100, 2), (100,))
    """

    N_CLASSES, N_MODES, DEVIATION = 5, 3, 0.2

    def __init__(
        self,
        n_rows: int = 5000,
        *,
        start: int = 0,
        seed: int = 478,
        name: str = "multidist",
        block_rows: int = DEFAULT_BLOCK_ROWS,
    ):
        super().__init__(n_rows, start, seed, name, block_rows)
        angle = 2.0 * np.pi * np.arange(self.N_CLASSES) / self.N_CLASSES
        centres = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        around = _normals(rng.key(seed, _MEANS), 2 * np.arange(self.N_CLASSES * self.N_MODES))
        self.means = centres[:, None, :] + around.reshape(self.N_CLASSES, self.N_MODES, 2)

    def _rows(self, t: np.ndarray) -> LabelledBlock:
        key, counter = rng.key(self.seed, _ROWS), 4 * t  # a row takes four numbers
        label = (rng.uniform(key, counter) * self.N_CLASSES).astype(np.int64)
        mode = (rng.uniform(key, counter + 1) * self.N_MODES).astype(np.int64)
        X = self.means[label, mode] + self.DEVIATION * _normals(key, counter + 2)
        return X, label + 1.0


@constructed(**_WORDS)
class Checkerboard(Generated):
    """Points uniform in [-1, 1]^2, labelled +-1 by the colour of their cell on a board that rotates about the origin.

    Cells have side 1/2. Row t sees the board turned by t / 100,000 of a full turn; a quarter turn swaps the colours.

    >>> from kernelstream.sources import Checkerboard
    >>> X, y = next(iter(Checkerboard(100)))
    >>> X.shape, y.shape
    ((100, 2), (100,))
    """

    CELL = 0.5

    def __init__(
        self,
        n_rows: int = 20_000,
        *,
        start: int = 0,
        seed: int = 0,
        name: str = "checkerboard",
        block_rows: int = DEFAULT_BLOCK_ROWS,
    ):
        super().__init__(n_rows, start, seed, name, block_rows)

    def _rows(self, t: np.ndarray) -> LabelledBlock:
        X = _uniform_rows(rng.key(self.seed, _ROWS), t, 2)
        cos, sin = _turned(t)
        across = np.floor((cos * X[:, 0] + sin * X[:, 1]) / self.CELL)
        along = np.floor((cos * X[:, 1] - sin * X[:, 0]) / self.CELL)
        return X, np.where((across + along) % 2 == 0, 1.0, -1.0)


@constructed(**_WORDS, n_features="of a row, 2 at least")
class Hyperplane(Generated):
    """Points uniform in [-1, 1]^d, labelled +-1 by their side of a plane through the origin whose normal drifts.

    The normal of row t lies in a plane of its own that the seed draws, turned by t / 100,000 of a full turn. One label
    in twenty is wrong, so no learner can expect an error below 5 %.

    >>> from kernelstream.sources import Hyperplane
    >>> X, y = next(iter(Hyperplane(100)))
    >>> X.shape, y.shape
    ((100, 10), (100,))
    """

    NOISE = 0.05

    def __init__(
        self,
        n_rows: int = 20_000,
        *,
        n_features: int = 10,
        start: int = 0,
        seed: int = 0,
        name: str = "hyperplane",
        block_rows: int = DEFAULT_BLOCK_ROWS,
    ):
        super().__init__(n_rows, start, seed, name, block_rows)
        if n_features < 2:
            raise ValueError(f"n_features is {n_features}; a normal needs at least 2 to drift")
        self.n_features = int(n_features)
        drawn = _normals(rng.key(seed, _AXES), 2 * np.arange(self.n_features))
        self.axes = np.linalg.qr(drawn)[0]

    def _rows(self, t: np.ndarray) -> LabelledBlock:
        drawn = _uniform_rows(rng.key(self.seed, _ROWS), t, self.n_features + 1)
        X, noise = np.ascontiguousarray(drawn[:, :-1]), drawn[:, -1]
        cos, sin = _turned(t)
        # Sums by row, because a BLAS product gives a row other bits in a block of another height.
        margin = cos * (X * self.axes[:, 0]).sum(axis=1) + sin * (X * self.axes[:, 1]).sum(axis=1)
        right = noise >= 2.0 * self.NOISE - 1.0
        return X, np.where((margin >= 0) == right, 1.0, -1.0)


class Foretold(NamedTuple):
    """What is asked of a series."""

    n_features: int
    horizon: int
    noise: float


@explained()
class Series(Generated):
    """A series to be foretold: row t has n_features values of it one after the other, from the t-th on, and its label
    is the one that comes `horizon` later.
    """

    def __init__(self, n_rows: int, start: int, seed: int, name: str, block_rows: int, asked: Foretold):
        super().__init__(n_rows, start, seed, name, block_rows)
        self.n_features, self.horizon = positive(asked.n_features, "n_features"), positive(asked.horizon, "horizon")
        if not asked.noise >= 0:
            raise ValueError(f"noise is {asked.noise}; it is a standard deviation, at least 0")
        self.noise = float(asked.noise)
        self._known: np.ndarray | None = None

    @abstractmethod
    def trajectory(self, n: int) -> np.ndarray:
        """The first values, without noise.

        n: how many
        """

    def _rows(self, t: np.ndarray) -> LabelledBlock:
        if self._known is None:
            n = self.start + self.n_rows + self.n_features + self.horizon - 1
            noise = _normals(rng.key(self.seed, _NOISE), 2 * np.arange(n))[:, 0]
            self._known = self.trajectory(n) + self.noise * noise
        X = self._known[t[:, None] + np.arange(self.n_features)]
        return X, self._known[t + self.n_features - 1 + self.horizon]

    def _beginning(self) -> float:
        """A number in (0, 1) that the seed draws."""
        return float(rng.uniform(rng.key(self.seed, _BEGINNING), np.zeros(1, np.int64))[0])


@constructed(**_WORDS, **_SERIES_WORDS, tau="the delay in the equation")
class MackeyGlass(Series):
    """The Mackey-Glass series, dx/dt = 0.2 x(t - tau) / (1 + x(t - tau)^10) - 0.1 x, a value every 6 units of time,
    with normal noise of the standard deviation that is asked for. Chaotic from tau = 17 on; the seed draws where it
    begins.

    >>> from kernelstream.sources import MackeyGlass
    >>> X, y = next(iter(MackeyGlass(100)))
    >>> X.shape, y.shape
    ((100, 7), (100,))
    """

    EVERY = 6

    def __init__(
        self,
        n_rows: int = 5000,
        *,
        tau: int = 30,
        n_features: int = 7,
        horizon: int = 1,
        noise: float = 0.0,
        start: int = 0,
        seed: int = 0,
        block_rows: int = DEFAULT_BLOCK_ROWS,
    ):
        super().__init__(n_rows, start, seed, "mackey-glass", block_rows, Foretold(n_features, horizon, noise))
        self.tau = positive(tau, "tau")

    def trajectory(self, n: int) -> np.ndarray:
        return mackey_glass(n, self.tau, self.EVERY, 0.5 + self._beginning())


@constructed(**_WORDS, **_SERIES_WORDS)
class Lorenz(Series):
    """The first coordinate of the Lorenz system (10, 28, 8/3), a value every 0.01 units of time, divided by 8, about
    its standard deviation; with normal noise of the standard deviation that is asked for. The seed draws where it
    begins.

    >>> from kernelstream.sources import Lorenz
    >>> X, y = next(iter(Lorenz(100)))
    >>> X.shape, y.shape
    ((100, 5), (100,))
    """

    UNIT = 8.0

    def __init__(
        self,
        n_rows: int = 5000,
        *,
        n_features: int = 5,
        horizon: int = 10,
        noise: float = 0.0,
        start: int = 0,
        seed: int = 0,
        block_rows: int = DEFAULT_BLOCK_ROWS,
    ):
        super().__init__(n_rows, start, seed, "lorenz", block_rows, Foretold(n_features, horizon, noise))

    def trajectory(self, n: int) -> np.ndarray:
        return lorenz(n, 1, 20.0 * self._beginning() - 10.0) / self.UNIT


def _uniform_rows(key: np.uint64, t: np.ndarray, width: int) -> np.ndarray:
    """Rows of independent numbers, uniform in (-1, 1)."""
    return 2.0 * rng.uniform(key, width * t[:, None] + np.arange(width)) - 1.0


def _turned(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    angle = 2.0 * np.pi / _ROWS_A_TURN * (t % _ROWS_A_TURN)
    return np.cos(angle), np.sin(angle)


# Of multidist, the paper's 5,000 rows to learn from, and the 2,500 after them.
GENERATED: dict[str, Callable[..., Generated]] = {
    "multidist": Multidist,
    "multidist-test": partial(Multidist, n_rows=2500, start=5000, name="multidist-test"),
    "checkerboard": Checkerboard,
    "hyperplane": Hyperplane,
    "mackey-glass": MackeyGlass,
    "lorenz": Lorenz,
}
_OPTIONS = {"rows": "n_rows", "start": "start", "seed": "seed", "features": "n_features"}
_OPTIONS |= {"tau": "tau", "horizon": "horizon", "noise": "noise"}


def generated(text: str, *, block_rows: int = DEFAULT_BLOCK_ROWS) -> Generated:
    """A generator by name, with options if wanted: ``checkerboard`` or ``checkerboard:rows=100000,seed=3``."""
    name, _, options = text.partition(":")
    make = GENERATED[name]
    parameters = inspect.signature(make).parameters
    known = [option for option, parameter in _OPTIONS.items() if parameter in parameters]
    given: dict[str, float] = {}
    for item in filter(None, options.split(",")):
        option, _, value = item.partition("=")
        if option not in known:
            raise ValueError(f"{text!r}: {name} has no option {option!r}; it has {', '.join(known)}")
        kind, words = (float, "a number, as in noise=0.1") if option == "noise" else (int, "a whole number")
        try:
            given[_OPTIONS[option]] = kind(value)
        except ValueError:
            words = words if option == "noise" else f"{words}, as in {option}=3"
            raise ValueError(f"{text!r}: {option} is {value!r}; write {words}") from None
    return make(**given, block_rows=block_rows)
