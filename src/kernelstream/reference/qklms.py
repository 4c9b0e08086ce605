"""QKLMS: f + eta e k(u, .), at the nearest c of the dictionary C instead where it is within epsilon, or C is full."""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    D = y[:, None] if outputs == 1 else np.where(np.arange(outputs) == y[:, None], 1.0, -1.0)
    C, a, scores = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), []
    for u, d in zip(X, D, strict=True):
        k, own = matrix(spec.kernel, C, u)[:, 0] if len(C) else np.zeros(0), matrix(spec.kernel, u, u)[0, 0]
        f = k @ a
        scores.append(f)
        e = d - f
        apart = own + np.array([matrix(spec.kernel, c, c)[0, 0] for c in C]) - 2 * k
        if len(C) and (apart.min() <= spec.quantization**2 * own or len(C) == spec.budget):
            a[np.argmin(apart)] += spec.learning_rate * e
        else:
            C, a = np.vstack([C, u]), np.vstack([a, spec.learning_rate * e])
    return np.array(scores), len(C)
