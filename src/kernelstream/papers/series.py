"""kafbox's Lorenz series as its demonstrations have it, and its measure of how well a series is foretold."""

import math

import numpy as np

from ..metrics import MSE

LORENZ = "kafbox-lorenz"
_VALUES, _EMBEDDING, _STEP = 10_001, 6, 0.01
FIRST = 1000


def lorenz_values() -> np.ndarray:
    """lorenz.dat, as far as it was compared: the third coordinate of the Lorenz system (10, 28, 8/3) by Euler's method
    from (10, 7, 35), rounded to six decimals. Over 10,000 steps of a chaotic system the order of operations decides.
    """
    x, y, z = 10.0, 7.0, 35.0
    values = np.empty(_VALUES)
    for t in range(_VALUES):
        values[t] = z
        slopes = -10.0 * x + 10.0 * y, -x * z + 28.0 * x - y, x * y - 8.0 / 3.0 * z
        x, y, z = x + _STEP * slopes[0], y + _STEP * slopes[1], z + _STEP * slopes[2]
    return np.round(values, 6)


def lorenz_rows() -> tuple[np.ndarray, np.ndarray]:
    """Each value from the six before it, the newest first; before the series began they are 0."""
    values = lorenz_values()
    padded = np.concatenate([np.zeros(_EMBEDDING - 1), values[:-1]])
    return np.lib.stride_tricks.sliding_window_view(padded, _EMBEDDING)[:, ::-1].copy(), values[1:]


class LateDecibels(MSE):
    """The mean squared error after the first 1,000 rows, in decibels."""

    name = "decibels"

    @property
    def value(self) -> float:
        judged = self.n - FIRST
        return 10.0 * math.log10(self.total / judged) if judged > 0 and self.total > 0.0 else math.nan

    def errors(self, y_true: np.ndarray, shown: np.ndarray) -> np.ndarray:
        errors = super().errors(y_true, shown)
        errors[: max(0, FIRST - self.n)] = 0.0
        return errors
