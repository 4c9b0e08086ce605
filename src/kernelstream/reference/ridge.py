"""Ridge: W = (sum_i rho^(t-i) z z' + lambda)^-1 sum_i rho^(t-i) y z', solved after some rows or after each of them."""

import numpy as np

from .features import frequencies
from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    rho, forward, Y = spec.forget, spec.forward, y[:, None]
    if outputs > 1:
        Y = np.where(np.arange(outputs) == y[:, None], 1.0, -1.0)
    scores, B = [], spec.n_components if spec.map == "nystrom" else 0
    for t in range(min(B, len(X))):  # all rows in the kernel's own space
        k, K = matrix(spec.kernel, X[:t], X[t]), matrix(spec.kernel, X[:t], X[:t]) + spec.regularization * np.eye(t)
        own = matrix(spec.kernel, X[t], X[t]) - k.T @ np.linalg.solve(K, k)
        scores.append((k.T @ np.linalg.solve(K, Y[:t]))[0] / (1 + forward * own[0, 0] / spec.regularization))
    if len(X) <= B:
        return np.array(scores), len(X)
    Z, lam = features(spec, seed, X)
    D = Z.shape[1]
    A, b, m = Z[:B].T @ Z[:B], Z[:B].T @ Y[:B], spec.piece(spec.lift.length(X.shape[1]))
    ridge, solve, W = lam, B if B else 1, np.zeros((D, outputs))
    for t in range(B, len(X)):
        if spec.solve == "exact" or t == solve:
            if spec.solve == "lazy" or t == B or t % m == 0:
                ridge = lam
            W = np.linalg.solve(A + ridge * np.eye(D), b)
            counted = t if rho == 1 else min(t, int(1 / (1 - rho)))
            solve = t + max(1, min(4096, counted // 8))
        f = Z[t] @ W
        if forward:
            f = f / (1 + Z[t] @ np.linalg.solve(A + ridge * np.eye(D), Z[t]) / rho)
        scores.append(f)
        A, b, ridge = rho * A + np.outer(Z[t], Z[t]), rho * b + np.outer(Z[t], Y[t]), rho * ridge
    return np.array(scores), B or D


def features(spec, seed, X):
    """Z, and lambda in the unit of z'z."""
    if spec.map != "nystrom":
        u = frequencies(spec, seed, X.shape[1])
        return np.hstack([np.sin(X @ u), np.cos(X @ u)]), spec.regularization * spec.n_components
    S = X[: spec.n_components]
    d, V = np.linalg.eigh(matrix(spec.kernel, S, S))
    kept = d > d[-1] * len(S) * np.finfo(float).eps
    return matrix(spec.kernel, X, S) @ V[:, kept] / np.sqrt(d[kept]), spec.regularization
