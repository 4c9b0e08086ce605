"""OPAUC (Gao et al. 2013) on random Fourier features: a gradient step on the mean squared loss of a row's pairs with
the other class, of which the mean c and the covariance S are kept; a threshold halfway between the classes.
"""

import numpy as np

from .features import frequencies


def learn(spec, loss, X, y, outputs, seed):
    D, eta, lam = spec.n_components, spec.learning_rate, spec.regularization
    u = frequencies(spec, seed, X.shape[1])
    w, b, rows, scores, losses = np.zeros(2 * D), 0.0, {-1: [], 1: []}, [], []
    for x, yt in zip(X, y.astype(int), strict=True):
        z = np.concatenate([np.sin(u.T @ x), np.cos(u.T @ x)]) / np.sqrt(D)
        scores.append(np.array([w @ z + b]))
        rows[yt].append(z)
        losses.append(0.0)
        if not rows[-yt]:
            continue
        others = np.array(rows[-yt])
        c, S = others.mean(axis=0), np.cov(others.T, bias=True)
        losses[-1] = (1 - yt * w @ (z - c)) ** 2 / 2 + w @ S @ w / 2
        w = w - eta * (lam * w - yt * (z - c) * (1 - yt * w @ (z - c)) + S @ w)
        b = -(w @ np.mean(rows[1], axis=0) + w @ np.mean(rows[-1], axis=0)) / 2
    return np.array(scores), 2 * D, losses
