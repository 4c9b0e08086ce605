"""KLMS: e_t = d_t - f_{t-1}(u_t), f_t = f_{t-1} + eta e_t k(u_t, .)."""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    d = y[:, None] if outputs == 1 else np.where(np.arange(outputs) == y[:, None], 1.0, -1.0)
    scores, alpha = np.zeros((len(X), outputs)), np.zeros((len(X), outputs))
    for t, u in enumerate(X):
        if t:
            scores[t] = matrix(spec.kernel, X[:t], u)[:, 0] @ alpha[:t]
        alpha[t] = spec.learning_rate * (d[t] - scores[t])
    return scores, len(X)
