"""Synthetic streams. Row t is a function of (seed, t): nothing is stored, and blocks of any size hold the same rows."""

from collections.abc import Callable, Iterator

import numpy as np

from .. import rng
from .base import DEFAULT_BLOCK_ROWS, LabelledBlock, Source, positive

_MEANS, _ROWS = range(2)  # what a seed's numbers are for


def _normals(key: np.uint64, counter: np.ndarray) -> np.ndarray:
    """Pairs of independent normal numbers, (n, 2): those of counter c come from the uniform numbers c and c + 1."""
    radius = np.sqrt(-2.0 * np.log(rng.uniform(key, counter)))
    angle = 2.0 * np.pi * rng.uniform(key, counter + 1)
    return radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


class Multidist(Source):
    """Five classes of three Gaussian modes each in the plane (Koppel et al. 2019, sec. 5.2).

    A label y in 1 .. 5 and one of its modes are drawn uniformly, x ~ N(mu, 0.2^2 I). The means are drawn once, mu ~
    N(theta_y, I), with theta_1 .. theta_5 evenly spaced around the unit circle: how far the classes overlap depends on
    the seed.

    The paper writes sigma^2 = 0.2, and likewise "bandwidth sigma^2 = 0.6" of the kernel. Both are standard deviations
    here: with variances, one draw of the means in a million allows the 4 % error that it reports; with standard
    deviations one in twenty does, and the published model orders (16 and 129, 16 and 75) lie within the range over such
    draws. The default seed is one of them, with a best possible error of 3.5 % on the 2,500 test rows.
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
        if start < 0:
            raise ValueError(f"start is {start}; it must be at least 0")
        self.n_rows: int = positive(n_rows, "n_rows")
        self.start, self.seed, self.name = int(start), int(seed), name
        self.block_rows = positive(block_rows, "block_rows")
        angle = 2.0 * np.pi * np.arange(self.N_CLASSES) / self.N_CLASSES
        centres = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        around = _normals(rng.key(seed, _MEANS), 2 * np.arange(self.N_CLASSES * self.N_MODES))
        self.means = centres[:, None, :] + around.reshape(self.N_CLASSES, self.N_MODES, 2)
        self._served = 0

    def __iter__(self) -> Iterator[LabelledBlock]:
        self._served = 0
        for first in range(0, self.n_rows, self.block_rows):
            self._served = min(first + self.block_rows, self.n_rows)
            yield self._rows(self.start + first, self.start + self._served)

    def _rows(self, start: int, stop: int) -> LabelledBlock:
        key, counter = rng.key(self.seed, _ROWS), 4 * np.arange(start, stop)  # a row takes four numbers
        label = (rng.uniform(key, counter) * self.N_CLASSES).astype(np.int64)
        mode = (rng.uniform(key, counter + 1) * self.N_MODES).astype(np.int64)
        X = self.means[label, mode] + self.DEVIATION * _normals(key, counter + 2)
        return X, label + 1.0

    def progress(self) -> float | None:
        return self._served / self.n_rows


def _multidist_test(*, block_rows: int = DEFAULT_BLOCK_ROWS) -> Multidist:
    return Multidist(2500, start=5000, name="multidist-test", block_rows=block_rows)


# The paper's 5,000 rows to learn from, and the 2,500 after them.
GENERATED: dict[str, Callable[..., Source]] = {"multidist": Multidist, "multidist-test": _multidist_test}
