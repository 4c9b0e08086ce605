"""Kernel Pegasos: f_{t+1} = (1 - 1/tau) f_t - l'(f_t(x_t)) k(x_t, .) / (lambda tau), tau = t_0 + t; every f kept and
averaged outright.
"""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    lam, S, a, scores = spec.regularization, np.zeros((0, X.shape[1])), np.zeros((0, outputs)), []
    past = []
    for t, (x, yt) in enumerate(zip(X, y, strict=True), start=1):
        k = matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(0)
        scores.append(k @ (average(past, a) if spec.output == "average" and past else a))
        _, g = loss(yt, k @ a)
        tau = spec.start + t
        a = (1 - 1 / tau) * a
        if g.any():
            S, a = np.vstack([S, x]), np.vstack([a, -g / (lam * tau)])
        past.append(a)
    return np.array(scores), len(S)


def average(past, a):
    """The mean of coefficients that became more and more."""
    return sum(np.vstack([v, np.zeros((len(a) - len(v), a.shape[1]))]) for v in past) / len(past)
