"""Kernel values between the rows of A and of B, straight from each kernel's formula."""

import numpy as np

from .. import kernels as k


def matrix(kernel: k.Kernel, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    A, B = np.atleast_2d(A), np.atleast_2d(B)
    inner = A @ B.T
    difference = A[:, None, :] - B[None, :, :]
    squared = (difference**2).sum(-1)
    match kernel:
        case k.Gaussian(width=g):
            return np.exp(-g * squared)
        case k.Laplacian(width=g):
            return np.exp(-g * np.abs(difference).sum(-1))
        case k.Cauchy(width=g):
            return 1 / (1 + g * squared)
        case k.Matern(width=g, nu=1.5):
            a = np.sqrt(3) * np.sqrt(2 * g * squared)
            return (1 + a) * np.exp(-a)
        case k.Matern(width=g, nu=2.5):
            a = np.sqrt(5) * np.sqrt(2 * g * squared)
            return (1 + a + a**2 / 3) * np.exp(-a)
        case k.Linear():
            return inner
        case k.Polynomial(width=g, degree=p, offset=c):
            return (g * inner + c) ** p
        case k.Sigmoid(width=g, offset=c):
            return np.tanh(g * inner + c)
    raise ValueError(f"no reference for {kernel}")
