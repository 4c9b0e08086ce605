"""BOGD(++), ICML 2012 Alg. 1: over budget drop j with probability p_j, survivors (1 - lambda eta) / (1 - p_i)
alpha_i, clip to gamma eta. Of sampling="oldest": drop the oldest, p = 0; of
clipping="all": all by one factor.
"""

import numpy as np

from ..numerics import rng
from ..schedules import as_schedule
from .kernels import matrix


def probabilities(size):
    """Eq. 16 among the terms for which it is not negative; 0 for the others."""
    p, R = np.zeros(len(size)), np.arange(len(size))
    while True:
        total = size[R].sum()
        q = 1 - (len(R) - 1) * size[R] / total if total > 1e-290 else np.full(len(R), 1 / len(R))
        if (q > 0).all():
            p[R] = q
            return p
        R = R[q > 0]


def learn(spec, loss, X, y, outputs, seed):
    schedule, lam, eps, gamma, B = (
        as_schedule(spec.learning_rate),
        spec.regularization,
        spec.threshold,
        spec.largest,
        spec.budget,
    )
    S, alpha, scores, key, draws = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), [], rng.key(seed), 0

    def clipped(alpha, top):
        size = np.abs(alpha).max(axis=1, initial=0)
        return alpha * np.minimum(1, top / np.where(size > 0, size, 1))[:, None]

    for t, (x, yt) in enumerate(zip(X, y, strict=True), start=1):
        eta = schedule.rate / t**schedule.power
        f = alpha.T @ matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(outputs)
        scores.append(f)
        value, g = loss(yt, f)
        if not (g.any() and (value > eps or eps == 0)):
            alpha = (1 - eta * lam) * alpha
            continue
        if len(S) < B:
            S, alpha = np.vstack([S, x]), np.vstack([(1 - eta * lam) * alpha, clipped(-eta * g[None], gamma * eta)])
            continue
        own = np.sqrt(np.abs(np.diag(matrix(spec.kernel, S, S))))
        if spec.sampling == "oldest":
            p, j = np.zeros(B), draws % B
        else:
            p = np.full(B, 1 / B) if spec.sampling == "uniform" else probabilities(np.abs(alpha).max(axis=1) * own)
            j = min(int(np.searchsorted(np.cumsum(p), rng.uniform(key, draws), side="right")), np.flatnonzero(p)[-1])
        draws += 1
        rest = np.arange(B) != j
        alpha[rest] = (1 - lam * eta) / (1 - p[rest])[:, None] * alpha[rest]
        fit = min(1, gamma * eta / np.abs(alpha[rest]).max(initial=1e-300)) if spec.clipping == "all" else 1
        alpha[rest] = clipped(fit * alpha[rest], gamma * eta)
        S[j], alpha[j] = x, clipped(-fit * eta * g[None], gamma * eta)[0]
    return np.array(scores), len(S)
