"""OMKC(D,D), OMKC(S,D): f = sum q_i sign f_i; on y f_i <= 0: f_i <- f_i + y k_i(x, .), w_i <- beta w_i. Budget: RBP."""

import numpy as np

from ..numerics import rng
from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    m, delta = len(spec.kernels), spec.smoothing
    S, alpha, w, scores = np.zeros((0, X.shape[1])), np.zeros((0, m, outputs)), np.ones(m), []
    key, draws = rng.key(seed), 0
    for x, yt in zip(X, y, strict=True):
        f = np.zeros((m, outputs))
        for i, kernel in enumerate(spec.kernels):
            if len(S):
                f[i] = alpha[:, i].T @ matrix(kernel, S, x)[:, 0]
        scores.append(w / w.sum() @ np.array([vote(f_i) for f_i in f]))
        z = np.array([-loss(yt, f_i)[1] for f_i in f])
        if spec.update == "stochastic":
            p = (1 - delta) * w / w.max() + delta
            z *= (rng.uniform(key, draws + np.arange(m)) < p)[:, None]
            draws += m
        w = np.where(z.any(axis=1), spec.discount * w, w)
        if not z.any():
            continue
        if spec.budget is None or len(S) < spec.budget:
            S, alpha = np.vstack([S, x]), np.concatenate([alpha, z[None]])
        else:
            r = int(rng.uniform(key, draws) * spec.budget)
            draws += 1
            S[r], alpha[r] = x, z
    return np.array(scores), len(S), [loss(yt, f)[0] for yt, f in zip(y, scores, strict=True)]


def vote(f):
    if len(f) == 1:
        return np.sign(f)
    return (np.arange(len(f)) == np.argmax(f)) * (f.max() > f.min())
