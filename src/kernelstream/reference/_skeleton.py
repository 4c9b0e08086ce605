"""Kernel least mean squares, Liu et al. 2008: e_t = d_t - f_{t-1}(u_t), f_t = f_{t-1} + eta e_t k(u_t, .)."""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    eta, S, alpha, scores = spec.learning_rate, np.zeros((0, X.shape[1])), np.zeros((0, outputs)), []
    for u, d in zip(X, y, strict=True):
        f = alpha.T @ matrix(spec.kernel, S, u)[:, 0] if len(S) else np.zeros(outputs)
        scores.append(f)
        e = d - f
        if e.any():
            S, alpha = np.vstack([S, u]), np.vstack([alpha, eta * e])
    return np.array(scores), len(S)
