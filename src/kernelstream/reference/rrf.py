"""RRF, IJCAI 2017 Alg. 1: z(x) = [cos x'u, sin x'u], u = e^diag(gamma) e; SGD on w and on the log-widths gamma.

A spectral mixture (sec. 1): u = m + e^diag(gamma) e with m and gamma of the part of each component, SGD on both.
"""

import numpy as np

from ..kernels import SpectralMixture
from ..schedules import Schedule, as_schedule

WIDEST = 1000.0


def projection_gradient(w, p, g):
    """d l / d p for a loss whose gradient with respect to the scores w [cos p, sin p] is g."""
    to_z, D = g @ w, len(p)
    return -np.sin(p) * to_z[:D] + np.cos(p) * to_z[D:]


def width_gradient(w, gamma, e, x, g):
    """Eq. 9 times e^gamma: d l / d gamma."""
    return np.exp(gamma) * x * (e @ projection_gradient(w, (np.exp(gamma) * x) @ e, g))


def learn(spec, loss, X, y, outputs, seed):
    schedule, lam, eps, D = as_schedule(spec.learning_rate), spec.regularization, spec.threshold, spec.n_components
    rho, own = spec.width_learning_rate, isinstance(spec.width_learning_rate, Schedule)
    features, mixed = range(X.shape[1]), isinstance(spec.kernel, SpectralMixture)
    Q, c = (spec.kernel.n_parts, np.sqrt(2 * spec.kernel.settled_gamma)) if mixed else (1, 0.0)
    e = (spec.kernel.deviations if mixed else spec.kernel.frequencies)(seed, features, D)
    start = spec.kernel.part_means(features).T if mixed else np.zeros((1, X.shape[1]))
    part, gamma, m = np.arange(D) % Q, np.zeros(start.shape), np.zeros(start.shape)  # m in units of c
    w, scores, losses = np.zeros((outputs, 2 * D)), [], []
    scale = np.sqrt(D) if spec.normalize else 1.0
    clip, widest = (np.inf, np.inf) if spec.as_printed else (spec.width_clip, WIDEST)
    for t, (x, yt) in enumerate(zip(X, y, strict=True), start=1):
        eta = schedule.rate / t**schedule.power
        eta_gamma = rho.rate / t**rho.power if own else rho
        p = np.array([x @ (start[q] + c * m[q] + np.exp(gamma[q]) * e[:, j]) for j, q in enumerate(part)])
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
            v = projection_gradient(w_old / scale, p, g)
            to_gamma = np.array([np.exp(gamma[q]) * x * (e[:, part == q] @ v[part == q]) for q in range(Q)])
            to_m = np.array([c * x * v[part == q].sum() for q in range(Q)])
            gamma = np.clip(gamma - eta_gamma * np.clip(to_gamma, -clip, clip), -np.log(widest), np.log(widest))
            m = np.clip(m - eta_gamma * np.clip(to_m, -clip, clip), -widest, widest)
    return np.array(scores), 2 * D, losses
