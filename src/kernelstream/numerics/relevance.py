"""A metric from few rows: how much each feature, or each direction, changes what is to be learned.

Radhakrishnan, Beaglehole, Pandit, Belkin: Mechanism for feature learning in neural networks and backpropagation-free
machine learning models (2024), recursive feature machines. Kernel ridge regression is fitted, its average gradient
outer product M = sum_k E grad f_k grad f_k' becomes the metric, and again; a round counts if it lowers the error that
leaves one row out.
"""

import numpy as np

from .memory import one_blas_thread

ROUNDS = 4
RIDGE = 0.1
GAIN = 0.01  # of the leave-one-out error that a round must bring, so that noise is not followed
FLOOR = 1e-3  # of the mean of M, which every direction keeps


def learned_metric(X: np.ndarray, Y: np.ndarray, weights: np.ndarray, *, full: bool) -> np.ndarray:
    """T, (d,) or with `full` (d, d): rows are to be compared as XT. Its mean square is 1 a feature.

    Requires: standardised rows X (n, d), targets Y (n, K) of mean 0, and what each row counts.
    """
    d = X.shape[1]
    T = np.eye(d) if full else np.ones(d)
    best, chosen = np.inf, T
    with one_blas_thread():
        for _ in range(ROUNDS):
            error, M = _round(X, Y, weights, T)
            if not error < (1.0 - GAIN) * best:
                break
            best, chosen = error, T
            T = _root(M)
    return chosen


def _round(X: np.ndarray, Y: np.ndarray, weights: np.ndarray, T: np.ndarray) -> tuple[float, np.ndarray]:
    """The leave-one-out error of kernel ridge regression on XT, and M of its fit: a matrix or its diagonal, as T is."""
    V = X @ T if T.ndim == 2 else X * T
    squares = (V * V).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2.0 * V @ V.T, 0.0)
    gamma = 2.0 / max(float(distances.mean()), 1e-300)
    K = np.exp(-gamma * distances)
    root = np.sqrt(weights)
    inverse = np.linalg.inv(K * np.outer(root, root) + RIDGE * np.eye(len(K)))
    coef = inverse @ (root[:, None] * Y)
    error = float(((coef / np.diag(inverse)[:, None]) ** 2).sum())
    M = np.zeros_like(T)
    for k in range(Y.shape[1]):
        pull = K * (root * coef[:, k])
        slopes = -2.0 * gamma * (pull.sum(axis=1)[:, None] * V - pull @ V)
        slopes = root[:, None] * (slopes @ T.T if T.ndim == 2 else slopes * T)
        M += slopes.T @ slopes if T.ndim == 2 else (slopes * slopes).sum(axis=0)
    return error, M


def _root(M: np.ndarray) -> np.ndarray:
    """M^(1/2), a little of it in every direction, of mean square 1 a feature."""
    d = len(M)
    if M.ndim == 1:
        T = np.sqrt(M + FLOOR * M.mean())
    else:
        values, vectors = np.linalg.eigh(M)
        T = (vectors * np.sqrt(np.maximum(values, 0.0) + FLOOR * np.trace(M) / d)) @ vectors.T
    size = np.sqrt((T * T).sum() / d)
    return T / size if size > 0 else np.eye(d) if M.ndim == 2 else np.ones(d)
