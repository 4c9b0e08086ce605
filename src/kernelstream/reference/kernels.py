"""Kernel values between the rows of A and of B, straight from each kernel's formula."""

import numpy as np
from scipy.spatial.distance import cdist

from .. import kernels as k


def matrix(kernel: k.Kernel, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    A, B = np.atleast_2d(A), np.atleast_2d(B)
    match kernel:
        case k.Gaussian(settled_gamma=g):
            return np.exp(-g * squared(A, B))
        case k.Laplacian(settled_gamma=g):
            return np.exp(-g * cdist(A, B, "cityblock"))
        case k.Cauchy(settled_gamma=g):
            return 1 / (1 + g * squared(A, B))
        case k.Matern(settled_gamma=g, nu=1.5):
            a = np.sqrt(3) * np.sqrt(2 * g * squared(A, B))
            return (1 + a) * np.exp(-a)
        case k.Matern(settled_gamma=g, nu=2.5):
            a = np.sqrt(5) * np.sqrt(2 * g * squared(A, B))
            return (1 + a + a**2 / 3) * np.exp(-a)
        case k.SpectralMixture(settled_gamma=g):
            m = kernel.part_means(range(A.shape[1]))
            return np.exp(-g * squared(A, B)) * np.cos((A @ m)[:, None] - B @ m).mean(axis=2)
        case k.Linear():
            return A @ B.T
        case k.Polynomial(settled_gamma=g, degree=p, offset=c):
            return (g * (A @ B.T) + c) ** p
        case k.Sigmoid(settled_gamma=g, offset=c):
            return np.tanh(g * (A @ B.T) + c)
        case k.Sum(parts=parts):
            return np.sum([matrix(part, A, B) for part in parts], axis=0)
        case k.Product(parts=parts):
            return np.prod([matrix(part, A, B) for part in parts], axis=0)
        case k.Multiple(multiplier=c, kernel=part):
            return c * matrix(part, A, B)
    raise ValueError(f"no reference for {kernel}")


def squared(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return cdist(A, B, "sqeuclidean")
