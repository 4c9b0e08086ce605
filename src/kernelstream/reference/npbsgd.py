"""NPBSGD: Pegasos in b = lambda (t_0 + t) a; over budget the budget grows with probability min(1, beta / t), else the
smallest term is projected.
"""

import numpy as np

from ..numerics import rng
from .kernels import matrix

ROUNDING = 1e-12


def learn(spec, loss, X, y, outputs, seed):
    lam, B, key, draws = spec.regularization, spec.budget, rng.key(seed), 0
    S, b, scores = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), []
    for t, (x, yt) in enumerate(zip(X, y, strict=True)):
        k = matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(0)
        f = b.T @ k / (lam * (spec.start + t)) if t else np.zeros(outputs)
        scores.append(f)
        _, g = loss(yt, f)
        if not g.any():
            continue
        if len(S):
            d, kxx = np.linalg.solve(matrix(spec.kernel, S, S), k), matrix(spec.kernel, x, x)[0, 0]
            if kxx - k @ d <= ROUNDING * abs(kxx):
                b = b - np.outer(d, g)
                continue
        S, b = np.vstack([S, x]), np.vstack([b, -g])
        if len(S) > B:
            grows = rng.uniform(key, draws) < min(1, spec.growth / (t + 1))
            draws += 1
            if grows:
                B += 1
                continue
            m = int(np.argmin((b**2).sum(axis=1)))
            rest = np.delete(np.arange(len(S)), m)
            d = np.linalg.solve(matrix(spec.kernel, S[rest], S[rest]), matrix(spec.kernel, S[rest], S[m])[:, 0])
            S, b = S[rest], b[rest] + np.outer(d, b[m])
    return np.array(scores), len(S)
