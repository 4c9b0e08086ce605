"""RRF, IJCAI 2017 Alg. 1: z(x) = [cos x'u, sin x'u], u = e^diag(gamma) e; SGD on w and on the log-widths gamma."""

import numpy as np

from ..schedules import Schedule, as_schedule

RANGE = np.log(1000.0)  # of a log-width, to both sides of 0


def width_gradient(w, gamma, e, x, g):
    """Eq. 9 times e^gamma: d l / d gamma for a loss whose gradient with respect to the scores w z is g."""
    p, D = (np.exp(gamma) * x) @ e, e.shape[1]
    to_z = g @ w  # d l / d z
    return np.exp(gamma) * x * (e @ (-np.sin(p) * to_z[:D] + np.cos(p) * to_z[D:]))


def learn(spec, loss, X, y, outputs, seed):
    schedule, lam, eps, D = as_schedule(spec.learning_rate), spec.regularization, spec.threshold, spec.n_components
    rho, own = spec.width_learning_rate, isinstance(spec.width_learning_rate, Schedule)
    e = spec.kernel.frequencies(seed, range(X.shape[1]), D)
    gamma, w, scores, losses = np.zeros(X.shape[1]), np.zeros((outputs, 2 * D)), [], []
    scale = np.sqrt(D) if spec.normalize else 1.0
    clip, widest = (np.inf, np.inf) if spec.as_printed else (spec.width_clip, RANGE)
    for t, (x, yt) in enumerate(zip(X, y, strict=True), start=1):
        eta = schedule.rate / t**schedule.power
        eta_gamma = rho.rate / t**rho.power if own else rho
        p = (np.exp(gamma) * x) @ e
        z = np.concatenate([np.cos(p), np.sin(p)]) / scale
        f = w @ z
        scores.append(f)
        value, g = loss(yt, f)
        losses.append(value)
        w_old, w = w, (1 - eta * lam) * w
        if value > eps or eps == 0:
            w = w - eta * np.outer(g, z)  # line 13
        if spec.as_printed:  # line 14 with the w of line 13
            (value, g), w_old = loss(yt, w @ z), w
        if value > eps or eps == 0:
            slope = width_gradient(w_old / scale, gamma, e, x, g)
            gamma = np.clip(gamma - eta_gamma * np.clip(slope, -clip, clip), -widest, widest)
    return np.array(scores), 2 * D, losses
