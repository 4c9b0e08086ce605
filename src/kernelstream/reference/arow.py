"""AROW, Fig. 1: where m < 1, b = 1 / (z'Sigma z + r), mu += (1 - m) b Sigma y z, Sigma -= b Sigma z z'Sigma."""

import numpy as np

from .features import frequencies


def learn(spec, loss, X, y, outputs, seed):
    u = frequencies(spec, seed, X.shape[1])
    Z = np.hstack([np.sin(X @ u), np.cos(X @ u)]) / np.sqrt(spec.n_components)
    D, r = Z.shape[1], spec.regularization
    mu, Sigma, scores = np.zeros((outputs, D)), np.eye(D), []
    for z, yt in zip(Z, y, strict=True):
        f = mu @ z
        scores.append(f)
        value, g = loss(yt, f)
        if g.any():
            x = Sigma @ z
            v, pair = z @ x, g @ g  # of two outputs that move, the margin's variance is twice that of one
            mu = mu - value / (pair * v + r) * np.outer(g, x)
            Sigma = Sigma - np.outer(x, x) / (v + r)
            if spec.covariance == "diagonal":
                Sigma = np.diag(np.diag(Sigma))
    return np.array(scores), D
