"""UFO-MKL, Alg. 1: theta <- theta - l' z, v_j = max(0, |theta_j| - alpha t),
w_j = theta_j v_j / |theta_j| (v_j / |v|_q)^(q-2) / (lambda t).
"""

import numpy as np

from .raker import features


def learn(spec, loss, X, y, outputs, seed):
    lam, alpha, Z, scores = spec.regularization, spec.sparsity, features(spec, seed, X), []
    F = Z.shape[1]
    q, theta, w = max(2, 2 * np.log(F)), np.zeros((F, outputs, Z.shape[2])), np.zeros((F, outputs, Z.shape[2]))
    for t, (z, yt) in enumerate(zip(Z, y, strict=True), start=1):
        f = np.einsum("jkd,jd->k", w, z)
        scores.append(f)
        _, g = loss(yt, f)
        theta = theta - g[None, :, None] * z[:, None, :]
        norms = np.sqrt((theta**2).sum(axis=(1, 2)))
        v = np.maximum(0, norms - alpha * t)
        c = np.zeros(F)
        c[v > 0] = v[v > 0] / norms[v > 0] * (v[v > 0] / np.linalg.norm(v, q)) ** (q - 2) / (lam * t)
        w = c[:, None, None] * theta
    return np.array(scores), F * Z.shape[2]
