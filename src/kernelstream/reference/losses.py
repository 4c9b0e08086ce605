"""Value and gradient of each loss at scores f, straight from its definition."""

from collections.abc import Callable

import numpy as np

from .. import losses as L
from ..tasks import BINARY, REGRESSION


def phi(loss: L.Loss, m: float) -> tuple[float, float]:
    """phi(m) and phi'(m), m a margin or a residual."""
    match loss:
        case L.PerceptronLoss():
            return (-m, -1.0) if m <= 0 else (0.0, 0.0)
        case L.Margin():
            return -m, -1.0
        case L.Hinge():
            return (1 - m, -1.0) if m < 1 else (0.0, 0.0)
        case L.SquaredHinge():
            return ((1 - m) ** 2 / 2, m - 1) if m < 1 else (0.0, 0.0)
        case L.SmoothHinge(tau=tau):
            if m >= 1:
                return 0.0, 0.0
            return (1 - m - tau / 2, -1.0) if m <= 1 - tau else ((1 - m) ** 2 / (2 * tau), (m - 1) / tau)
        case L.Logistic():
            return float(np.logaddexp(0, -m)), float(-np.exp(-np.logaddexp(0, m)))
        case L.Squared(half=half):
            return (m**2 / 2, m) if half else (m**2, 2 * m)
        case L.Absolute():
            return abs(m), float(np.sign(m))
        case L.Quantile(level=level):
            return max((1 - level) * m, -level * m), (1 - level if m > 0 else -level if m < 0 else 0.0)
        case L.EpsilonInsensitive(epsilon=e):
            return (abs(m) - e, float(np.sign(m))) if abs(m) > e else (0.0, 0.0)
        case L.Huber(delta=d):
            return (m**2 / 2, m) if abs(m) <= d else (d * (abs(m) - d / 2), d * float(np.sign(m)))
    raise ValueError(f"no reference for {loss}")


def of(loss: L.Loss, task: str) -> Callable[[float, np.ndarray], tuple[float, np.ndarray]]:
    """loss(y, f) -> (value, gradient) for targets as the task encodes them."""

    def value_and_gradient(y: float, f: np.ndarray) -> tuple[float, np.ndarray]:
        if task == BINARY:
            value, slope = phi(loss, y * f[0])
            return value, np.array([y * slope])
        if task == REGRESSION:
            value, slope = phi(loss, f[0] - y)
            return value, np.array([slope])
        k = int(y)
        if isinstance(loss, L.Softmax):
            p = np.exp(f - f.max()) / np.exp(f - f.max()).sum()
            return float(-np.log(p[k])), p - np.eye(len(f))[k]
        s = max((r for r in range(len(f)) if r != k), key=lambda r: f[r])
        value, slope = phi(loss, f[k] - f[s])
        return value, slope * (np.eye(len(f))[k] - np.eye(len(f))[s])

    return value_and_gradient
