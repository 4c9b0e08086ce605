"""A symmetric matrix that follows a dictionary beside its factor: product, sum with v v', a point more, a point less.

Its rows lie in memory as vector instructions want them, so both halves of it are kept.
"""

from .compile import compiled, reduction
from .expansion import dot
from .lists import close_gap


@reduction
def product(M, n, v, out):
    """out = M v, of the first n. Four rows are taken together, so that v is read once for them."""
    known = v[:n]
    whole = n - n % 4
    for i in range(0, whole, 4):
        r0, r1, r2, r3 = M[i, :n], M[i + 1, :n], M[i + 2, :n], M[i + 3, :n]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(n):
            a = known[j]
            s0 += r0[j] * a
            s1 += r1[j] * a
            s2 += r2[j] * a
            s3 += r3[j] * a
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
    for i in range(whole, n):
        out[i] = dot(M[i, :n], known)


@compiled
def add_square(M, n, multiplier, share, v):
    """M = multiplier * (M + share * v v'), of the first n."""
    for i in range(n):
        row = M[i, :n]
        c = multiplier * share * v[i]
        for j in range(n):
            row[j] = multiplier * row[j] + c * v[j]


@compiled
def append_zeros(M, n, corner):
    """A row and a column more, of zeros but for the corner."""
    for j in range(n):
        M[n, j] = 0.0
        M[j, n] = 0.0
    M[n, n] = corner


@compiled
def take_projected(M, n, i, column):
    """M = P M P' without row and column i, P = 1 - column e_i' / column_i: what M becomes when k(point_i, .) is
    replaced by its projection on the others. column: of the inverse Gram matrix.
    """
    c = column[i]
    own = M[i, i] / (c * c)
    for j in range(n):
        if j != i:
            mine = column[j] * own - M[j, i] / c
            theirs = column[j] / c
            row, left = M[j, :n], M[i, :n]
            for r in range(n):
                row[r] += mine * column[r] - theirs * left[r]
    for j in range(n):
        close_gap(M[j], i, n)
    for j in range(i, n - 1):
        row, below = M[j, : n - 1], M[j + 1, : n - 1]
        for r in range(n - 1):
            row[r] = below[r]
