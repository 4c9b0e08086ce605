"""PA-I, PA-II: f_{t+1} = f_t + tau u k(x_t, .), tau = min(C, l / (||u||^2 k(x, x))) or l / (||u||^2 k(x, x) + 1 /
(2C)).
"""

import numpy as np

from .kernels import matrix


def tau(C, variant, l, u, kxx):
    reach = u @ u * kxx
    if l <= 0 or reach <= 0:
        return 0.0
    return min(C, l / reach) if variant == 1 else l / (reach + 1 / (2 * C))


def learn(spec, loss, X, y, outputs, seed):
    S, alpha, scores = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), []
    for x, yt in zip(X, y, strict=True):
        f = alpha.T @ matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(outputs)
        scores.append(f)
        l, g = loss(yt, f)
        step = tau(spec.aggressiveness, spec.variant, l, -g, matrix(spec.kernel, x, x)[0, 0])
        if step > 0:
            S, alpha = np.vstack([S, x]), np.vstack([alpha, -step * g])
    return np.array(scores), len(S)
