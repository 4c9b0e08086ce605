"""Gram matrices of dictionaries, and a Cholesky factor that follows a dictionary as it grows and shrinks.

The factor L (K = L L', lower triangular, float64 always) stands in for the inverse Gram matrix of the papers: a grown
inverse is off by many orders of magnitude on a nearly singular dictionary, the factor is not.
"""

import math

import numpy as np

from ._compile import compiled, reduction
from .expansion import Expansion, dot, kernel_row, kernel_values
from .kernels import Kernel
from .rows import Spread, complete_row


@compiled
def _fill(kernel, f, columns, every, row, out):
    for j in range(out.shape[1]):
        kernel_values(kernel, f, complete_row(Spread(every, columns[j])), row)
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
    _fill(kernel.lower(np.float64), wide, columns, np.arange(width), kernel_row(wide), out)
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


@reduction
def forward(L, n, k, half):
    """Solve L half = k. Return |half|^2, the squared norm of the projection of k(x, .) on the dictionary's span.

    With k_i = k(point_i, x), the residual of x is k(x, x) minus what is returned. Four rows are taken together, so that
    what is known of `half` is read once for them.
    """
    captured = 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        r0, r1, r2, r3 = L[i], L[i + 1], L[i + 2], L[i + 3]
        a = b = c = e = 0.0
        for j in range(i):
            h = half[j]
            a += r0[j] * h
            b += r1[j] * h
            c += r2[j] * h
            e += r3[j] * h
        h0 = (k[i] - a) / r0[i]
        h1 = (k[i + 1] - b - r1[i] * h0) / r1[i + 1]
        h2 = (k[i + 2] - c - r2[i] * h0 - r2[i + 1] * h1) / r2[i + 2]
        h3 = (k[i + 3] - e - r3[i] * h0 - r3[i + 1] * h1 - r3[i + 2] * h2) / r3[i + 3]
        half[i], half[i + 1], half[i + 2], half[i + 3] = h0, h1, h2, h3
        captured += h0 * h0 + h1 * h1 + h2 * h2 + h3 * h3
    for i in range(whole, n):
        half[i] = (k[i] - dot(L[i, :i], half[:i])) / L[i, i]
        captured += half[i] * half[i]
    return captured


@compiled
def backward(L, n, half, coordinates):
    """Solve L' coordinates = half: with `forward` before it, the coordinates of k(x, .) on the dictionary."""
    for i in range(n):
        coordinates[i] = half[i]
    whole = n - n % 4
    for i in range(n - 1, whole - 1, -1):
        coordinates[i] /= L[i, i]
        row = L[i]
        for j in range(i):
            coordinates[j] -= coordinates[i] * row[j]
    for i in range(whole - 4, -1, -4):
        r0, r1, r2, r3 = L[i], L[i + 1], L[i + 2], L[i + 3]
        c3 = coordinates[i + 3] / r3[i + 3]
        c2 = (coordinates[i + 2] - c3 * r3[i + 2]) / r2[i + 2]
        c1 = (coordinates[i + 1] - c3 * r3[i + 1] - c2 * r2[i + 1]) / r1[i + 1]
        c0 = (coordinates[i] - c3 * r3[i] - c2 * r2[i] - c1 * r1[i]) / r0[i]
        coordinates[i], coordinates[i + 1], coordinates[i + 2], coordinates[i + 3] = c0, c1, c2, c3
        for j in range(i):
            coordinates[j] -= c0 * r0[j] + c1 * r1[j] + c2 * r2[j] + c3 * r3[j]


@compiled
def grow(L, n, half, residual):
    """Append a point. Requires: residual > 0 and `half` from `forward`. Ensures: L[:n+1, :n+1] is the factor."""
    for j in range(n):
        L[n, j] = half[j]
    L[n, n] = math.sqrt(residual)


@compiled
def shrink(L, n, i):
    """Remove point i, O((n - i)^2). Ensures: L[:n-1, :n-1] is the factor of the other points, in their order.

    Without row i the rest is lower triangular but for one entry a row, which Givens rotations of columns (j, j+1)
    clear.
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
        L[j, j] = length
        L[j, j + 1] = 0.0
        for r in range(j + 1, n - 1):
            p = L[r, j]
            q = L[r, j + 1]
            L[r, j] = c * p + s * q
            L[r, j + 1] = c * q - s * p
    for j in range(n):
        L[n - 1, j] = 0.0


@compiled
def inverse_diagonal(L, n, i, half):
    """Entry (i, i) of the inverse Gram matrix, O((n - i)^2): the squared norm of column i of L^-1.

    Its inverse is the squared distance of k(point_i, .) from the span of the others.
    """
    total = 0.0
    for r in range(i, n):
        half[r] = ((1.0 if r == i else 0.0) - dot(L[r, i:r], half[i:r])) / L[r, r]
        total += half[r] * half[r]
    return total
