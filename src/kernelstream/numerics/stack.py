"""A stack: f = w'e, e the scores of several parts. w = A^-1 b is least squares of the targets on e that forgets.

A and b begin as a prior that says "the first part alone", to which they return where rows are forgotten. All outputs
share w: their parts speak of the same things in the same unit.
"""

import math

import numpy as np

from .compile import inlined

FORGET = 0.999
PRIOR = 10.0  # rows that the prior counts for


def stack_prior(n_parts: int) -> tuple[np.ndarray, np.ndarray]:
    """A (M, M), its lower triangle, and b (M,) before any row."""
    A = PRIOR * np.eye(n_parts)
    return A, A[0].copy()


@inlined
def stack_weights(A, b, L, w):
    """w = A^-1 b by Cholesky; L is room for the factor, with one over each number of its diagonal."""
    M = w.shape[0]
    for i in range(M):
        for j in range(i + 1):
            a = A[i, j]
            for q in range(j):
                a -= L[i, q] * L[j, q]
            L[i, j] = 1.0 / math.sqrt(a) if i == j else a * L[j, j]
    for i in range(M):
        a = b[i]
        for q in range(i):
            a -= L[i, q] * w[q]
        w[i] = a * L[i, i]
    for i in range(M - 1, -1, -1):
        a = w[i]
        for q in range(i + 1, M):
            a -= L[q, i] * w[q]
        w[i] = a * L[i, i]


@inlined
def learn_stack(A, b, e, y, weight):
    """A row's scores e (M, K) and targets y (K,) go into A and b, and older ones fade."""
    M, K = e.shape
    fading = (1.0 - FORGET) * min(weight, 1.0)
    for i in range(M):
        for j in range(i + 1):
            a = 0.0
            for k in range(K):
                a += e[i, k] * e[j, k]
            A[i, j] = (1.0 - fading) * A[i, j] + weight * a / K
        A[i, i] += fading * PRIOR
        a = 0.0
        for k in range(K):
            a += e[i, k] * y[k]
        b[i] = (1.0 - fading) * b[i] + weight * a / K
    b[0] += fading * PRIOR
