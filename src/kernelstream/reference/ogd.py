"""OGD: f_{t+1} = (1 - eta lambda) f_t - eta l'(f_t(x_t)) k(x_t, .)."""

import numpy as np

from ..schedules import as_schedule
from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    schedule, lam, eps = as_schedule(spec.learning_rate), spec.regularization, spec.threshold
    S, alpha, scores = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), []
    for t, (x, yt) in enumerate(zip(X, y, strict=True), start=1):
        eta = schedule.rate / t**schedule.power
        f = alpha.T @ matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(outputs)
        scores.append(f)
        value, g = loss(yt, f)
        alpha = (1 - eta * lam) * alpha
        if g.any() and (value > eps or eps == 0):
            S, alpha = np.vstack([S, x]), np.vstack([alpha, -eta * g])
    return np.array(scores), len(S)
