"""Gram matrices of dictionaries, and a Cholesky factor that follows a dictionary as it grows and shrinks.

The factor L (K = L L', lower triangular, float64 always) stands in for the inverse Gram matrix of the papers: a grown
inverse is off by many orders of magnitude on a nearly singular dictionary, the factor is not.
"""

import math

import numpy as np

from ._compile import compiled
from .expansion import TILE, Expansion, KernelRow, dot, kernel_values
from .kernels import Kernel
from .rows import Row


@compiled
def _fill(kernel, f, columns, every, row, out):
    for j in range(out.shape[1]):
        kernel_values(kernel, f, Row(every, columns[j], 0), row)
        for i in range(out.shape[0]):
            out[i, j] = row.values[i]


def cross_matrix(kernel: Kernel, f: Expansion, g: Expansion) -> np.ndarray:
    """k(point_i of f, point_j of g) in float64."""
    n, m = int(f.size), int(g.size)
    width = max(len(f.points), len(g.points))
    points, columns = (_widened(e.points[:, :k], width) for e, k in ((f, n), (g, m)))
    wide = Expansion(points, f.norms[:n].copy(), np.zeros((1, n)), np.array(n))
    out = np.zeros((n, m))
    columns = np.ascontiguousarray(columns.T)
    _fill(kernel.lower(np.float64), wide, columns, np.arange(width), KernelRow(np.zeros(n), np.zeros(TILE)), out)
    return out


def gram_matrix(kernel: Kernel, f: Expansion) -> np.ndarray:
    """k(point_i, point_j) in float64, exactly symmetric."""
    matrix = cross_matrix(kernel, f, f)
    return (matrix + matrix.T) / 2.0


def _widened(points: np.ndarray, width: int) -> np.ndarray:
    wide = np.zeros((width, points.shape[1]))
    wide[: len(points)] = points
    return wide


def factor(capacity: int) -> np.ndarray:
    """Room for the factor of up to `capacity` points."""
    return np.zeros((capacity, capacity))


@compiled
def forward(L, n, k, half):
    """Solve L half = k. Return |half|^2, the squared norm of the projection of k(x, .) on the dictionary's span.

    With k_i = k(point_i, x), the residual of x is k(x, x) minus what is returned.
    """
    captured = 0.0
    for i in range(n):
        half[i] = (k[i] - dot(L[i, :i], half[:i])) / L[i, i]
        captured += half[i] * half[i]
    return captured


@compiled
def backward(L, n, half, coordinates):
    """Solve L' coordinates = half: with `forward` before it, the coordinates of k(x, .) on the dictionary."""
    for i in range(n):
        coordinates[i] = half[i]
    for i in range(n - 1, -1, -1):
        coordinates[i] /= L[i, i]
        row = L[i, :i]
        for j in range(i):
            coordinates[j] -= coordinates[i] * row[j]


@compiled
def grow(L, n, half, residual):
    """Append a point. Requires: residual > 0 and `half` from `forward`. Ensures: L[:n+1, :n+1] is the factor."""
    for j in range(n):
        L[n, j] = half[j]
    L[n, n] = math.sqrt(residual)


@compiled
def shrink(L, n, i):
    """Remove point i, O((n - i)^2). Ensures: L[:n-1, :n-1] is the factor of the other points, in their order.

    Without row i the rest is lower triangular but for one entry a row, which Givens rotations of columns (j, j+1) clear.
    """
    for r in range(i, n - 1):
        for j in range(r + 2):
            L[r, j] = L[r + 1, j]
    for j in range(i, n - 1):
        a = L[j, j]
        b = L[j, j + 1]
        length = math.hypot(a, b)
        c = a / length
        s = b / length
        for r in range(j, n - 1):
            p = L[r, j]
            q = L[r, j + 1]
            L[r, j] = c * p + s * q
            L[r, j + 1] = c * q - s * p
    for j in range(n):
        L[n - 1, j] = 0.0
