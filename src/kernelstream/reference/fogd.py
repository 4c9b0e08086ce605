"""FOGD, LSOKL Alg. 1, 3, 5: z(x) = (sin u'x, cos u'x), w_{t+1} = (1 - eta lambda) w_t - eta l'(w_t'z) z."""

import numpy as np

from ..schedules import as_schedule
from .features import boxes, frequencies


def learn(spec, loss, X, y, outputs, seed):
    schedule, lam, eps, D = as_schedule(spec.learning_rate), spec.regularization, spec.threshold, spec.n_components
    binning = spec.map == "binning"
    u, b = (None, boxes(spec, seed, X)) if binning else (frequencies(spec, seed, X.shape[1]), None)
    size = D * 4096 if binning else 2 * D
    w, scores = np.zeros((outputs, size)), []
    for t, (x, yt) in enumerate(zip(X, y, strict=True), start=1):
        eta = schedule.rate / t**schedule.power
        z = np.bincount(b[t - 1], minlength=size) if binning else np.concatenate([np.sin(u.T @ x), np.cos(u.T @ x)])
        z = z / (np.sqrt(D) if spec.normalize else 1.0)
        f = w @ z
        scores.append(f)
        value, g = loss(yt, f)
        w = (1 - eta * lam) * w
        if value > eps or eps == 0:
            w = w - eta * np.outer(g, z)
    return np.array(scores), size
