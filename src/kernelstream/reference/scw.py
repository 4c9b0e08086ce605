"""SCW, Alg. 1: on phi sqrt(v) - m > 0: mu += alpha y Sigma x, Sigma -= beta Sigma x x'Sigma, by Prop. 1 or 2."""

import numpy as np
from scipy.stats import norm

from .features import frequencies


def learn(spec, loss, X, y, outputs, seed):
    u = frequencies(spec, seed, X.shape[1])
    Z = np.hstack([np.sin(X @ u), np.cos(X @ u)]) / np.sqrt(spec.n_components)
    D, C, phi, scores, own = Z.shape[1], spec.aggressiveness, norm.ppf(spec.confidence), [], []
    mu, Sigma, psi, zeta = np.zeros((outputs, D)), spec.variance * np.eye(D), 1 + phi**2 / 2, 1 + phi**2
    for z, yt in zip(Z, y, strict=True):
        f = mu @ z
        scores.append(f)
        value, g = loss(yt, f)
        m, x = -value, Sigma @ z
        v = g @ g * (z @ x)
        own.append(max(0.0, phi * np.sqrt(v) - m))
        if own[-1] == 0:
            continue
        if spec.variant == 1:
            alpha = min(C, max(0, (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta)))
        else:
            n = v + 1 / (2 * C)
            gamma = phi * np.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
            alpha = max(0, (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2)))
        root = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2
        mu = mu - alpha * np.outer(g, x)
        Sigma = Sigma - alpha * phi / (root + z @ x * alpha * phi) * np.outer(x, x)
        if spec.covariance == "diagonal":
            Sigma = np.diag(np.diag(Sigma))
    return np.array(scores), D, own
