"""Gram matrices of dictionaries, and a Cholesky factor that follows a dictionary as it grows and shrinks.

The factor R (K = R'R, upper triangular, float64 always) stands in for the inverse Gram matrix of the papers: a grown
inverse is off by many orders of magnitude on a nearly singular dictionary, the factor is not. It is the upper one, so
that removing a point turns pairs of rows, which lie in memory as vector instructions want them.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from .compile import compiled, inlined, reduction
from .expansion import Expansion, dot, from_points, kernel_row, kernel_values
from .rows import DenseRow, complete_row

if TYPE_CHECKING:
    from ..kernels import Kernel


@compiled
def _fill(kernel, f, columns, every, row, out):
    for j in range(out.shape[1]):
        kernel_values(kernel, f, complete_row(DenseRow(every, columns[j])), row)
        for i in range(out.shape[0]):
            out[i, j] = row.values[i]


def cross_matrix(kernel: "Kernel", f: Expansion, g: Expansion) -> np.ndarray:
    """k(point_i of f, point_j of g) in float64."""
    n, m = int(f.size), int(g.size)
    width = max(len(f.points), len(g.points))
    points, columns = (_widened(e.points[:, :k], width) for e, k in ((f, n), (g, m)))
    wide = from_points(points, f.norms[:n].copy(), np.zeros((1, n)))
    out = np.zeros((n, m))
    columns = np.ascontiguousarray(columns.T)
    _fill(kernel.lower_for_rows(np.float64), wide, columns, np.arange(width), kernel_row(wide), out)
    return out


def gram_matrix(kernel: "Kernel", f: Expansion) -> np.ndarray:
    """k(point_i, point_j) in float64, exactly symmetric."""
    matrix = cross_matrix(kernel, f, f)
    return (matrix + matrix.T) / 2.0


def _widened(points: np.ndarray, width: int) -> np.ndarray:
    wide = np.zeros((width, points.shape[1]))
    wide[: len(points)] = points
    return wide


@inlined
def add_rows(gram, n, slots, shares, count, values):
    """values = values + sum_p shares_p gram[slots_p] over n points, four rows a pass."""
    p = 0
    while p + 4 <= count:
        a, b, c, e = shares[p], shares[p + 1], shares[p + 2], shares[p + 3]
        ka, kb, kc, ke = gram[slots[p]], gram[slots[p + 1]], gram[slots[p + 2]], gram[slots[p + 3]]
        for i in range(n):
            first = a * np.float64(ka[i]) + b * np.float64(kb[i])
            values[i] += first + (c * np.float64(kc[i]) + e * np.float64(ke[i]))
        p += 4
    while p + 2 <= count:
        a, b, ka, kb = shares[p], shares[p + 1], gram[slots[p]], gram[slots[p + 1]]
        for i in range(n):
            values[i] += a * np.float64(ka[i]) + b * np.float64(kb[i])
        p += 2
    if p < count:
        a, ka = shares[p], gram[slots[p]]
        for i in range(n):
            values[i] += a * np.float64(ka[i])


def factor(capacity: int) -> np.ndarray:
    """Room for the factor of up to `capacity` points."""
    return np.zeros((capacity, capacity))


@compiled
def _solve(R, n, first, half):
    """Solve R' h = half in place, where half[:first] is 0 and is not looked at. Return |h|^2.

    Four rows are taken together, so that what is left of `half` is read once for them.
    """
    total = 0.0
    i = first
    while i + 4 <= n:
        r0, r1, r2, r3 = R[i, i:n], R[i + 1, i:n], R[i + 2, i:n], R[i + 3, i:n]
        h = half[i:n]
        h0 = h[0] / r0[0]
        h1 = (h[1] - h0 * r0[1]) / r1[1]
        h2 = (h[2] - h0 * r0[2] - h1 * r1[2]) / r2[2]
        h3 = (h[3] - h0 * r0[3] - h1 * r1[3] - h2 * r2[3]) / r3[3]
        h[0], h[1], h[2], h[3] = h0, h1, h2, h3
        total += h0 * h0 + h1 * h1 + h2 * h2 + h3 * h3
        r0, r1, r2, r3, h = r0[4:], r1[4:], r2[4:], r3[4:], h[4:]
        for j in range(h.shape[0]):
            h[j] -= h0 * r0[j] + h1 * r1[j] + h2 * r2[j] + h3 * r3[j]
        i += 4
    while i < n:
        half[i] /= R[i, i]
        total += half[i] * half[i]
        for j in range(i + 1, n):
            half[j] -= half[i] * R[i, j]
        i += 1
    return total


@compiled
def forward(R, n, k, half):
    """Solve R' half = k. Return |half|^2, the squared norm of the projection of k(x, .) on the dictionary's span.

    With k_i = k(point_i, x), the residual of x is k(x, x) minus what is returned.
    """
    for i in range(n):
        half[i] = k[i]
    return _solve(R, n, 0, half)


@compiled
def inverse_diagonal(R, n, i, half):
    """Entry (i, i) of the inverse Gram matrix, O((n - i)^2). Ensures: `backward` of half is column i of the inverse.

    Its inverse is the squared distance of k(point_i, .) from the span of the others.
    """
    for j in range(n):
        half[j] = 0.0
    half[i] = 1.0
    return _solve(R, n, i, half)


@reduction
def backward(R, n, half, coordinates):
    """Solve R coordinates = half: with `forward` before it, the coordinates of k(x, .) on the dictionary."""
    whole = n - n % 4
    for i in range(n - 1, whole - 1, -1):
        coordinates[i] = (half[i] - dot(R[i, i + 1 : n], coordinates[i + 1 : n])) / R[i, i]
    for i in range(whole - 4, -1, -4):
        known, r0, r1, r2, r3 = coordinates[i:n], R[i, i:n], R[i + 1, i:n], R[i + 2, i:n], R[i + 3, i:n]
        c, z0, z1, z2, z3 = known[4:], r0[4:], r1[4:], r2[4:], r3[4:]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(c.shape[0]):
            v = c[j]
            s0 += z0[j] * v
            s1 += z1[j] * v
            s2 += z2[j] * v
            s3 += z3[j] * v
        c3 = (half[i + 3] - s3) / r3[3]
        c2 = (half[i + 2] - s2 - r2[3] * c3) / r2[2]
        c1 = (half[i + 1] - s1 - r1[3] * c3 - r1[2] * c2) / r1[1]
        c0 = (half[i] - s0 - r0[3] * c3 - r0[2] * c2 - r0[1] * c1) / r0[0]
        known[0], known[1], known[2], known[3] = c0, c1, c2, c3


@compiled
def extend_factor(R, n, half, residual):
    """Append a point. Requires: residual > 0 and `half` from `forward`. Ensures: R[:n+1, :n+1] is the factor."""
    for j in range(n):
        R[j, n] = half[j]
    R[n, n] = math.sqrt(residual)


@compiled
def reduce_factor(R, n, i, half, sines):
    """Remove point i, O((n - i)^2). Ensures: R[:n-1, :n-1] is the factor of the other points, in their order.

    Without column i the rest is upper triangular but for one entry a column, which Givens rotations of rows (j, j+1)
    clear; `half` is where a row waits, turned, for the next one, and holds the cosines in the end.
    """
    for j in range(i):
        row = R[j, i:n]
        for r in range(row.shape[0] - 1):
            row[r] = row[r + 1]
    for r in range(i, n - 1):
        half[r] = R[i, r + 1]
    for j in range(i, n - 1):
        upper, lower, turned = half[j : n - 1], R[j + 1, j + 1 : n], R[j, j : n - 1]
        length = math.hypot(upper[0], lower[0])
        c = upper[0] / length
        s = lower[0] / length
        for r in range(turned.shape[0]):
            a, b = upper[r], lower[r]
            turned[r] = c * a + s * b
            upper[r] = c * b - s * a
        upper[0], sines[j] = c, s
    for j in range(n):
        R[j, n - 1] = 0.0


@compiled
def turn(M, n, i, cosines, sines):
    """M = Q M Q' without its last row and column, M symmetric: in the coordinates half = R'^-1 k, what M becomes when
    `reduce_factor` has taken point i out of R with these rotations, and what lies outside the others' span is dropped.
    """
    _turn_rows(M, n, i, 0, cosines, sines)
    for j in range(i, n):
        for r in range(i, j):
            M[j, r], M[r, j] = M[r, j], M[j, r]
    _turn_rows(M, n, i, i, cosines, sines)
    for r in range(i):
        for j in range(i, n - 1):
            M[r, j] = M[j, r]


@inlined
def _turn_rows(M, n, i, first, cosines, sines):
    for j in range(i, n - 1):
        upper, lower, c, s = M[j, first:n], M[j + 1, first:n], cosines[j], sines[j]
        for r in range(upper.shape[0]):
            a, b = upper[r], lower[r]
            upper[r] = c * a + s * b
            lower[r] = c * b - s * a
