"""NOGD, LSOKL Alg. 2, 4, 6: OGD until |S| = B, then gradient descent on z(x) = D_k^-0.5 V_k' (k(x, s_1) ... k(x,
s_B))'.
"""

import numpy as np

from ..schedules import as_schedule
from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    schedule, lam, eps = as_schedule(spec.learning_rate), spec.regularization, spec.threshold
    B, k = spec.budget, spec.rank
    S, alpha, w, scores = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), None, []
    for t, (x, yt) in enumerate(zip(X, y, strict=True), start=1):
        eta = schedule.rate / t**schedule.power
        if w is None and len(S) == B:
            d, V = np.linalg.eigh(matrix(spec.kernel, S, S))
            d, V = d[-k:], V[:, -k:]
            kept = d > d[-1] * B * np.finfo(float).eps
            d, V = d[kept], V[:, kept]
            w = alpha.T @ np.linalg.pinv(np.diag(d**-0.5) @ V.T)
        if w is None:
            f = alpha.T @ matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(outputs)
        else:
            z = np.diag(d**-0.5) @ V.T @ matrix(spec.kernel, S, x)[:, 0]
            f = w @ z
        scores.append(f)
        value, g = loss(yt, f)
        moves = g.any() and (value > eps or eps == 0)
        if w is None:
            alpha = (1 - eta * lam) * alpha
            if moves:
                S, alpha = np.vstack([S, x]), np.vstack([alpha, -eta * g])
        else:
            w = (1 - eta * lam) * w - (eta * np.outer(g, z) if moves else 0)
    return np.array(scores), len(S)
