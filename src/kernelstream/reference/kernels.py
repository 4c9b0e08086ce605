"""Kernel values between the rows of A and of B, straight from each kernel's formula."""

import numpy as np
from scipy.spatial.distance import cdist

from .. import kernels as k


def matrix(kernel: k.Kernel, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    A, B = np.atleast_2d(A), np.atleast_2d(B)
    match kernel:
        case k.Gaussian(width=g):
            return np.exp(-g * squared(A, B))
        case k.Laplacian(width=g):
            return np.exp(-g * cdist(A, B, "cityblock"))
        case k.Cauchy(width=g):
            return 1 / (1 + g * squared(A, B))
        case k.Matern(width=g, nu=1.5):
            a = np.sqrt(3) * np.sqrt(2 * g * squared(A, B))
            return (1 + a) * np.exp(-a)
        case k.Matern(width=g, nu=2.5):
            a = np.sqrt(5) * np.sqrt(2 * g * squared(A, B))
            return (1 + a + a**2 / 3) * np.exp(-a)
        case k.Linear():
            return A @ B.T
        case k.Polynomial(width=g, degree=p, offset=c):
            return (g * (A @ B.T) + c) ** p
        case k.Sigmoid(width=g, offset=c):
            return np.tanh(g * (A @ B.T) + c)
    raise ValueError(f"no reference for {kernel}")


def squared(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return cdist(A, B, "sqeuclidean")
