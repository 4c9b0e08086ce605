"""Kernel Perceptron: f_{t+1} = f_t - eta l'(f_t(x_t)) k(x_t, .) whenever there is a slope (u on a mistake)."""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    S, alpha, scores = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), []
    for x, yt in zip(X, y, strict=True):
        f = alpha.T @ matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(outputs)
        scores.append(f)
        _, g = loss(yt, f)
        if g.any():
            S, alpha = np.vstack([S, x]), np.vstack([alpha, -spec.learning_rate * g])
    return np.array(scores), len(S)
