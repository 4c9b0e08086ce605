"""The arithmetic of the floors, bare: compiled loops over arrays that are ready, and products by BLAS.

Nothing here validates, decides or keeps a model. exp, sin and cos, the triangular solves and the place of a largest
value are the library's, because they are faster than NumPy's and OpenBLAS's (`pieces` measures that); all other loops
are written anew.
"""

import math
from typing import Any

import numpy as np

from kernelstream.numerics.budgets import first_largest
from kernelstream.numerics.compile import call_for_effect, compiled, reduction
from kernelstream.numerics.elementary import exp
from kernelstream.numerics.gram import backward, forward

TILE = 1024
STEPS = 30  # of a golden section search to the eighth digit


@reduction
def dot(a, b):
    total = a.dtype.type(0)
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@compiled
def gaussian_rows(X, points, coef, sizes, gamma, row):
    """For each row of X the Gaussian kernel values with the first sizes[t] points, and their dots with coef (K, n)."""
    total = 0.0
    d = X.shape[1]
    for t in range(X.shape[0]):
        for lo in range(0, sizes[t], TILE):
            n = min(TILE, sizes[t] - lo)
            k = row[:n]
            a = d % 4
            if a == 0:
                p, q, r, s = points[0, lo:], points[1, lo:], points[2, lo:], points[3, lo:]
                u, v, w, z = X[t, 0], X[t, 1], X[t, 2], X[t, 3]
                for j in range(n):
                    e, f, g, h = p[j] - u, q[j] - v, r[j] - w, s[j] - z
                    k[j] = e * e + f * f + g * g + h * h
                a = 4
            else:
                for j in range(n):
                    k[j] = 0
                for b in range(a):
                    p, u = points[b, lo:], X[t, b]
                    for j in range(n):
                        e = p[j] - u
                        k[j] += e * e
            while a < d:
                p, q, r, s = points[a, lo:], points[a + 1, lo:], points[a + 2, lo:], points[a + 3, lo:]
                u, v, w, z = X[t, a], X[t, a + 1], X[t, a + 2], X[t, a + 3]
                for j in range(n):
                    e, f, g, h = p[j] - u, q[j] - v, r[j] - w, s[j] - z
                    k[j] = k[j] + e * e + f * f + g * g + h * h
                a += 4
            for j in range(n):
                k[j] = exp(-gamma * k[j])
            for c in range(coef.shape[0]):
                total += dot(coef[c, lo : lo + n], k)
    return total


@compiled
def sparse_gaussian_rows(indptr, indices, values, points, norms, coef, sizes, gamma, row):
    """The same for sparse rows: ||z||^2 + ||x||^2 - 2 x'z over what is present."""
    total = 0.0
    for t in range(indptr.shape[0] - 1):
        first, last = indptr[t], indptr[t + 1]
        own = dot(values[first:last], values[first:last])
        for lo in range(0, sizes[t], TILE):
            n = min(TILE, sizes[t] - lo)
            k = row[:n]
            for j in range(n):
                k[j] = norms[lo + j] + own
            for i in range(first, last):
                p, u = points[indices[i], lo:], -2 * values[i]
                for j in range(n):
                    k[j] += u * p[j]
            for j in range(n):
                k[j] = exp(-gamma * k[j])
            for c in range(coef.shape[0]):
                total += dot(coef[c, lo : lo + n], k)
    return total


@compiled
def finish_products(G, squares, norms, coef, sizes, gamma):
    """From products x'z to kernel values, and their dots with coef."""
    total = 0.0
    for t in range(G.shape[0]):
        n = sizes[t]
        k = G[t, :n]
        for j in range(n):
            k[j] = exp(-gamma * (squares[t] + norms[j] - 2 * k[j]))
        for c in range(coef.shape[0]):
            total += dot(coef[c, :n], k)
    return total


@compiled
def sparse_products(indptr, indices, values, start, stop, matrix, out):
    """out[i] = (sparse row start + i) times the matrix."""
    for t in range(start, stop):
        sums = out[t - start]
        for j in range(sums.shape[0]):
            sums[j] = 0
        for i in range(indptr[t], indptr[t + 1]):
            u, v = matrix[indices[i]], values[i]
            for j in range(sums.shape[0]):
                sums[j] += v * u[j]


@compiled
def sines_and_cosines(address, projected, n, z):
    call_for_effect(address, projected, n, z)


@compiled
def exponentials(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = exp(x[i, j])


@compiled
def linear_rounds(Z, weights, moved, rate):
    """For each row K dots; where the model moved one axpy, or two where there are several outputs."""
    total = 0.0
    outputs = weights.shape[0]
    for t in range(Z.shape[0]):
        z = Z[t]
        for c in range(outputs):
            total += dot(weights[c], z)
        if moved[t]:
            for c in range(min(2, outputs)):
                w = weights[c]
                for j in range(w.shape[0]):
                    w[j] += rate * z[j]
    return total


@compiled
def partial_rounds(Z, weights, changed, rate):
    """`linear_rounds`, whose axpys are of so many of the columns."""
    total = 0.0
    outputs = weights.shape[0]
    for t in range(Z.shape[0]):
        z = Z[t]
        for c in range(outputs):
            total += dot(weights[c], z)
        for c in range(min(2, outputs)):
            w = weights[c, : changed[t]]
            for j in range(w.shape[0]):
                w[j] += rate * z[j]
    return total


@compiled
def more_kernels(values, coef, sizes, times):
    """So often, for each row: exp of sizes[t] values, and their dots with coef (K, n)."""
    total = 0.0
    for t in range(sizes.shape[0]):
        row = values[: sizes[t]]
        for _ in range(times):
            for j in range(row.shape[0]):
                row[j] = exp(-row[j])
            for c in range(coef.shape[0]):
                total += dot(coef[c, : row.shape[0]], row)
    return total


@reduction
def symmetric_product(S, z, u):
    """u = Sz, from the lower triangle."""
    n = z.shape[0]
    for i in range(n):
        u[i] = 0.0
    for i in range(n):
        row, part, scale, total = S[i, :i], u[:i], z[i], 0.0
        for j in range(i):
            total += row[j] * z[j]
            part[j] += scale * row[j]
        u[i] += total + S[i, i] * z[i]


@compiled
def symmetric_update(S, u, rate):
    """S = S - rate * u u', its lower triangle."""
    for i in range(u.shape[0]):
        c, row = rate * u[i], S[i, : i + 1]
        for j in range(i + 1):
            row[j] -= c * u[j]


@compiled
def triangle_products(S, sizes, z, u):
    """For each n a product of the first n rows and columns with a vector."""
    for n in sizes:
        symmetric_product(S, z[:n], u[:n])


@compiled
def triangle_updates(S, sizes, u, rate):
    """For each n an update of the first n rows and columns by rank one."""
    for n in sizes:
        symmetric_update(S, u[:n], rate)


@compiled
def moving_widths(address, indptr, indices, values, frequencies, weights, moved, width, rate, scaled, p, z):
    """RRF's round: one projection of one row, its sines and cosines, K dots; where the model moved the axpys, the slope
    of the projection and one dot for each feature that is present.
    """
    total = 0.0
    D = frequencies.shape[1]
    outputs = weights.shape[0]
    s, features = p[0], z[0]
    for t in range(indptr.shape[0] - 1):
        first, last = indptr[t], indptr[t + 1]
        for j in range(D):
            s[j] = 0
        for i in range(first, last):
            scaled[i - first] = values[i] * width
        i = first
        while i + 4 <= last:
            a, b, c, e = scaled[i - first], scaled[i - first + 1], scaled[i - first + 2], scaled[i - first + 3]
            ua, ub = frequencies[indices[i]], frequencies[indices[i + 1]]
            uc, ue = frequencies[indices[i + 2]], frequencies[indices[i + 3]]
            for j in range(D):
                s[j] += a * ua[j] + b * ub[j] + c * uc[j] + e * ue[j]
            i += 4
        while i < last:
            u, a = frequencies[indices[i]], scaled[i - first]
            for j in range(D):
                s[j] += a * u[j]
            i += 1
        call_for_effect(address, p, 1, z)
        for k in range(outputs):
            total += dot(weights[k], features)
        if moved[t]:
            for k in range(min(2, outputs)):
                on_sine, on_cosine, sine, cosine = weights[k, :D], weights[k, D:], features[:D], features[D:]
                for j in range(D):
                    s[j] += on_sine[j] * cosine[j] - on_cosine[j] * sine[j]
                w = weights[k]
                for j in range(w.shape[0]):
                    w[j] += rate * features[j]
            for i in range(first, last):
                total += scaled[i - first] * dot(frequencies[indices[i]], s)
    return total


@compiled
def passes(values, sizes, times, factor):
    """`times` passes over the first n values, a multiplication each."""
    for t in range(sizes.shape[0]):
        v = values[: sizes[t]]
        for _ in range(times):
            for j in range(v.shape[0]):
                v[j] *= factor


@compiled
def largest_of(bits, sizes):
    """The largest of the first n kernel values, for each n. They are not negative, so their bits, read as integers,
    have their order, and integers are compared in SIMD.
    """
    total = 0
    for t in range(sizes.shape[0]):
        largest = bits[0]
        for j in range(sizes[t]):
            largest = max(largest, bits[j])
        total += largest
    return total


@compiled
def larger(values, others, sizes):
    """How many of the first n values are larger than others, for each n."""
    total = 0
    for t in range(sizes.shape[0]):
        a, b = values[: sizes[t]], others[: sizes[t]]
        count = np.int32(0)
        for j in range(a.shape[0]):
            count = np.int32(count + np.int32(a[j] > b[j]))
        total += count
    return total


@compiled
def axpys(x, y, sizes, times):
    """times[t] axpys of length sizes[t]."""
    small = x.dtype.type(1e-20)
    for t in range(sizes.shape[0]):
        a, b = x[: sizes[t]], y[: sizes[t]]
        for _ in range(times[t]):
            for j in range(a.shape[0]):
                b[j] += small * a[j]


@compiled
def ascents(K, scores, sizes, times):
    """times[t] axpys of rows of K on the first sizes[t] scores, each by what the one before left there."""
    small = 1e-20
    for t in range(sizes.shape[0]):
        n = sizes[t]
        s = scores[:n]
        for i in range(times[t]):
            row = K[i, :n]
            change = min(max(small * s[i], -small), small)
            for j in range(n):
                s[j] += change * row[j]


@compiled
def pair_steps(K, gradients, free, keys, sizes, times):
    """times[t] steps on pairs: two rows of K taken off the first sizes[t] gradients, and then the largest and the
    smallest of those that are free, which are the next pair. free: (2, capacity) of 0, or -inf where one is not.
    """
    i = j = 0
    for t in range(sizes.shape[0]):
        n = sizes[t]
        g, up, down = gradients[:n], keys[0, :n], keys[1, :n]
        rising, falling = free[0, :n], free[1, :n]
        for _ in range(times[t]):
            first, second = K[i, :n], K[j, :n]
            for s in range(n):
                g[s] -= 1e-20 * (np.float64(first[s]) - np.float64(second[s]))
                up[s], down[s] = rising[s] + g[s], falling[s] - g[s]
            i, j = first_largest(up, n), first_largest(down, n)
    return i + j


@compiled
def gram_points(K, values, sizes, slots):
    """For each row the kernel values of a new point, written into its row and its column of the Gram matrix."""
    for t in range(sizes.shape[0]):
        r, n = slots[t], sizes[t]
        row = K[r]
        for i in range(n):
            row[i] = values[i]
            K[i, r] = values[i]


@compiled
def merged_scores(K, scores, weights, sizes):
    """Two terms go and one comes: three axpys on the scores, and the score of what came, a dot."""
    total = 0.0
    for t in range(sizes.shape[0]):
        n = sizes[t]
        a, b, c, s = K[0, :n], K[1, :n], K[2, :n], scores[:n]
        for j in range(n):
            s[j] += 1e-20 * a[j] + 1e-20 * b[j] + 1e-20 * c[j]
        total += dot(weights[:n], c)
    return total


@compiled
def quotients(values, neighbours, sizes, numerators, found):
    """For each of n points the value at its neighbour, and a quotient in float64."""
    for t in range(sizes.shape[0]):
        n = sizes[t]
        a, q, slots = numerators[:n], found[:n], neighbours[:n]
        for j in range(n):
            q[j] = values[slots[j]]
        for j in range(n):
            q[j] = a[j] / (2.0 - q[j])


@compiled
def forward_solves(L, sizes, k, half):
    total = 0.0
    for t in range(sizes.shape[0]):
        total += forward(L, sizes[t], k, half)
    return total


@compiled
def backward_solves(L, sizes, half, k):
    for t in range(sizes.shape[0]):
        backward(L, sizes[t], half, k)


@compiled
def rank_one_updates(R, sizes, x):
    """Of the upper factor R (n, n): what removing a point asks for, of the n points behind it."""
    for t in range(sizes.shape[0]):
        n = sizes[t]
        for j in range(n):
            x[j] = 1e-8
        for k in range(n):
            row, rest = R[k, k:n], x[k:n]
            length = math.sqrt(row[0] * row[0] + rest[0] * rest[0])
            c, s = row[0] / length, rest[0] / length
            for j in range(row.shape[0]):
                a, b = row[j], rest[j]
                row[j] = c * a + s * b
                rest[j] = c * b - s * a


@compiled
def lookups(grid, values, weights, sizes):
    """For each of n partners what merging with it would lose: bilinear, from a table of (ratio, kernel value)."""
    total = 0.0
    high = grid.shape[1] - 1
    for t in range(sizes.shape[0]):
        least = math.inf
        for j in range(sizes[t]):
            u, v = weights[j] * high, values[j] * high
            a, b = min(int(u), high - 1), min(int(v), high - 1)
            u, v = u - a, v - b
            g = grid[0]
            low = g[a, b] + u * (g[a + 1, b] - g[a, b])
            top = g[a, b + 1] + u * (g[a + 1, b + 1] - g[a, b + 1])
            least = min(least, low + v * (top - low))
        total += least
    return total


@compiled
def line_searches(times, log_k):
    """Golden section searches for the h that maximises k^((1-h)^2) + k^(h^2), two exponentials a step."""
    total = 0.0
    for _ in range(times):
        lo, hi = 0.0, 1.0
        for _ in range(STEPS):
            h = lo + 0.381966 * (hi - lo)
            value = math.exp((1.0 - h) ** 2 * log_k) + math.exp(h * h * log_k)
            if value > 1.5:
                lo = h
            else:
                hi = h
        total += lo
    return total


def lower_factor(n: int) -> np.ndarray:
    """Something to solve with."""
    return np.tril(np.full((n, n), 1e-4)) + np.eye(n)


def products(rows: Any, matrix: np.ndarray, out: np.ndarray) -> None:
    """BLAS."""
    np.matmul(rows, matrix, out=out)


@reduction
def symmetric_products(M, sizes, v, out):
    """For each row a product of a symmetric matrix of this size with a vector."""
    for n in sizes:
        for i in range(n):
            out[i] = dot(M[i, :n], v[:n])


@compiled
def rank_ones(M, sizes, v, share):
    """For each row an outer product that is added to a matrix of this size."""
    for n in sizes:
        for i in range(n):
            row, c = M[i, :n], share * v[i]
            for j in range(n):
                row[j] += c * v[j]


@reduction
def dots(H, coef, n, last):
    """The dots of one of the last rows with all of them and with the coefficients of every output."""
    total = 0.0
    for i in range(last):
        total += dot(H[i, :n], H[0, :n])
        for k in range(coef.shape[0]):
            total += dot(H[i, :n], coef[k, :n])
    return total


@compiled
def affine_projections(H, coef, sizes, last, share):
    """For each row the dots of a projection onto the last rows, and an axpy for each of them and each output."""
    total = 0.0
    for n in sizes:
        total += dots(H, coef, n, last)
        for k in range(coef.shape[0]):
            row = coef[k]
            for i in range(last):
                values = H[i]
                for j in range(n):
                    row[j] += share * values[j]
    return total
