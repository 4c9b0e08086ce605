"""Kernel values of rows and points."""

import numpy as np

from .. import kernels as k
from .graph import Tensor


class Metrics:
    """The metric values that kernels are functions of, of rows x and points, (rows, points); each is found once."""

    def __init__(self, x: Tensor, points: np.ndarray):
        self.x, self.points = x, points
        self._found: dict[int, Tensor] = {}

    def each(self, number: float) -> np.ndarray:
        """The number for each of the points."""
        return np.full(len(self.points), number)

    def __getitem__(self, metric: int) -> Tensor:
        if metric not in self._found:
            self._found[metric] = self._find(metric)
        return self._found[metric]

    def _find(self, metric: int) -> Tensor:
        x, points = self.x.cast(np.float64), self.points.astype(np.float64)
        if metric == k.MANHATTAN:
            far = (self.x.reshape(-1, 1, points.shape[1]) - self.points).node("Abs")
            return far.sum(2)
        products = x @ points.T
        if metric == k.SQUARED_DISTANCE:  # in float64, because the terms cancel
            square = (x * x).sum(1, keep=True) - 2.0 * products + (points**2).sum(axis=1)
            products = square.node("Max", square.like(0.0))
        return products.cast(self.x.dtype)


class OwnMetrics(Metrics):
    """Those of rows with themselves, (rows, 1)."""

    def __init__(self, x: Tensor):
        super().__init__(x, np.zeros((1, 0)))

    def _find(self, metric: int) -> Tensor:
        square = (self.x * self.x).sum(1, keep=True)
        return square if metric == k.DOT else square * 0.0


def kernel_values(kernel: k.Kernel, metrics: Metrics) -> Tensor:
    """(rows, points) k(x, point)."""
    if type(kernel) is k.Linear:
        return metrics[k.DOT]
    if type(kernel) in (k.Gaussian, k.Laplacian):
        (gamma,) = kernel.constants()
        return (-gamma * metrics[kernel.metric]).node("Exp")
    if type(kernel) is k.Cauchy:
        (gamma,) = kernel.constants()
        return 1.0 / (1.0 + gamma * metrics[kernel.metric])
    if type(kernel) is k.Matern:
        factor, third = kernel.constants()
        square = factor * metrics[kernel.metric]
        a = square.node("Sqrt")
        return (1.0 + a + third * square) * (-a).node("Exp")
    if type(kernel) is k.Polynomial:
        gamma, offset, degree = kernel.constants()
        base = power = metrics.each(gamma) * metrics[kernel.metric] + offset
        for _ in range(int(degree) - 1):
            power = power * base
        return power
    if type(kernel) is k.Sigmoid:
        gamma, offset = kernel.constants()
        return (metrics.each(gamma) * metrics[kernel.metric] + offset).node("Tanh")
    if isinstance(kernel, k.Multiple):
        return metrics.each(kernel.multiplier) * kernel_values(kernel.kernel, metrics)
    if isinstance(kernel, k.Sum | k.Product):
        total, *others = (kernel_values(part, metrics) for part in kernel.parts)
        for other in others:
            total = total + other if isinstance(kernel, k.Sum) else total * other
        return total
    raise ValueError(
        f"{kernel.called} is a kernel of your own: its formula is Python, which a graph does not hold. Export a model "
        f"of {', '.join(k.KERNELS)}, their sums and products; or hand the model on by its file (save, load)."
    )
