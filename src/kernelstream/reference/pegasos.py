"""Kernel Pegasos: f_{t+1} = (1 - 1/t) f_t - l'(f_t(x_t)) k(x_t, .) / (lambda t)."""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    lam, S, a, scores = spec.regularization, np.zeros((0, X.shape[1])), np.zeros((0, outputs)), []
    for t, (x, yt) in enumerate(zip(X, y, strict=True), start=1):
        f = a.T @ matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(outputs)
        scores.append(f)
        _, g = loss(yt, f)
        a = (1 - 1 / t) * a
        if g.any():
            S, a = np.vstack([S, x]), np.vstack([a, -g / (lam * t)])
    return np.array(scores), len(S)
