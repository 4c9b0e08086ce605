"""Second-order Perceptron: f = v'(a + S S')^-1 z, S the mistakes, v = S y; the paper's is f / (1 + z'A^-1 z)."""

import numpy as np

from .features import frequencies


def learn(spec, loss, X, y, outputs, seed):
    u = frequencies(spec, seed, X.shape[1])
    Z = np.hstack([np.sin(X @ u), np.cos(X @ u)]) / np.sqrt(spec.n_components)
    D, a = Z.shape[1], spec.regularization
    A, v, w, scores = a * np.eye(D), np.zeros((outputs, D)), np.zeros((outputs, D)), []
    s = np.full(D, 1 / a)
    for z, yt in zip(Z, y, strict=True):
        f = w @ z
        scores.append(f)
        _, g = loss(yt, f)
        if not g.any():
            continue
        if spec.covariance == "full":
            A, v = A + np.outer(z, z), v - np.outer(g, z)
            w = np.linalg.solve(A, v.T).T
        else:
            b = 1 / (1 + z @ (s * z))
            w, s = w + b * np.outer(-g - f, s * z), s - b * (s * z) ** 2
    return np.array(scores), D
