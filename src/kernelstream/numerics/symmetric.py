"""A symmetric matrix that follows a dictionary beside its factor: product, sum with v v', a point more.

Its rows lie in memory as vector instructions want them, so both halves of it are kept.
"""

from .compile import compiled, reduction
from .expansion import dot


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
def add_to_diagonal(M, n, multiplier, share):
    """M = multiplier * M + share, of the first n."""
    for i in range(n):
        row = M[i, :n]
        for j in range(n):
            row[j] *= multiplier
        row[i] += share


@compiled
def append_zeros(M, n, corner):
    """A row and a column more, of zeros but for the corner."""
    for j in range(n):
        M[n, j] = 0.0
        M[j, n] = 0.0
    M[n, n] = corner
