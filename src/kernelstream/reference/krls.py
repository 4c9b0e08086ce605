"""KRLS: a = K^-1 k_t, delta = k_tt - k_t'a; a new point for delta > nu, else alpha + K^-1 q e, q = P a / (1 + a'Pa)."""

import numpy as np

from .kernels import matrix

ROUNDING = 1e-12


def learn(spec, loss, X, y, outputs, seed):
    Y = y[:, None] if outputs == 1 else np.where(np.arange(outputs) == y[:, None], 1.0, -1.0)
    D, alpha, P, scores = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), np.zeros((0, 0)), []
    for x, yt in zip(X, Y, strict=True):
        k = matrix(spec.kernel, D, x)[:, 0] if len(D) else np.zeros(0)
        scores.append(k @ alpha)
        e, ktt = yt - k @ alpha, matrix(spec.kernel, x, x)[0, 0]
        K = matrix(spec.kernel, D, D) if len(D) else np.zeros((0, 0))
        a = np.linalg.solve(K, k)
        delta = ktt - k @ a
        if delta > max(spec.dependence, ROUNDING) * ktt and (spec.budget is None or len(D) < spec.budget):
            D, alpha = np.vstack([D, x]), np.vstack([alpha - np.outer(a, e) / delta, e / delta])
            P = np.block([[P, np.zeros((len(P), 1))], [np.zeros((1, len(P))), np.ones((1, 1))]])
        else:
            q = P @ a / (1 + a @ P @ a)
            P, alpha = P - np.outer(q, a @ P), alpha + np.outer(np.linalg.solve(K, q), e)
    return np.array(scores), len(D)
