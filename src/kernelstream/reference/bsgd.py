"""BSGD: Pegasos in b = lambda (t_0 + t) a; over budget remove a term, project the smallest on the rest, or merge it
with its best partner.
"""

import numpy as np

from ..numerics import rng
from .kernels import matrix

ROUNDING = 1e-12


def learn(spec, loss, X, y, outputs, seed):
    lam, S, b, scores = spec.regularization, np.zeros((0, X.shape[1])), np.zeros((0, outputs)), []
    draw = (rng.uniform(rng.key(seed), i) for i in range(10**9))
    oldest = 0
    for t, (x, yt) in enumerate(zip(X, y, strict=True)):
        k = matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(0)
        f = b.T @ k / (lam * (spec.start + t)) if t else np.zeros(outputs)
        scores.append(f)
        _, g = loss(yt, f)
        if not g.any():
            continue
        if spec.maintenance == "projection" and len(S):
            d = np.linalg.solve(matrix(spec.kernel, S, S), k)
            kxx = matrix(spec.kernel, x, x)[0, 0]
            if kxx - k @ d <= ROUNDING * abs(kxx):
                b = b - np.outer(d, g)
                continue
        S, b = np.vstack([S, x]), np.vstack([b, -g])
        if len(S) <= spec.budget:
            continue
        m = int(np.argmin((b**2).sum(axis=1)))
        if spec.maintenance == "projection":
            rest = np.delete(np.arange(len(S)), m)
            d = np.linalg.solve(matrix(spec.kernel, S[rest], S[rest]), matrix(spec.kernel, S[rest], S[m])[:, 0])
            S, b = S[rest], b[rest] + np.outer(d, b[m])
        elif spec.maintenance == "merging":
            S, b = merged(spec.kernel.gamma, S, b, m)
        else:
            if spec.removal == "random":
                m = int(next(draw) * len(S))
            elif spec.removal == "oldest":
                m, oldest = oldest, (oldest + 1) % spec.budget
            S[m], b[m] = S[-1], b[-1]
            S, b = S[:-1], b[:-1]
    return np.array(scores), len(S)


def merged(gamma, S, b, m):
    """Terms m and n become one at n's place; n loses least among those that agree with m (looked up), h by search
    on the pair.
    """
    from ..numerics.pairs import RATIOS, VALUES, table

    k = np.exp(-gamma * ((S - S[m]) ** 2).sum(axis=1))
    size, inner = np.sqrt((b**2).sum(axis=1)), b @ b[m]
    u, v = size[m] / size * (RATIOS - 1), k * (VALUES - 1)
    i, j = np.minimum(u.astype(int), RATIOS - 2), np.minimum(v.astype(int), VALUES - 2)
    u, v = u - i, v - j
    along, turn = (
        (1 - v) * ((1 - u) * T[i, j] + u * T[i + 1, j]) + v * ((1 - u) * T[i, j + 1] + u * T[i + 1, j + 1])
        for T in table()
    )
    lost = size[m] ** 2 * along + 2 * (size[m] * size - inner) * turn
    others = np.arange(len(S)) != m
    agree = others & (inner > 0)
    n = int(np.argmin(np.where(agree if agree.any() else others, lost, np.inf)))
    grid = np.linspace(0, 1, 2001)
    a_z = np.linalg.norm(np.outer(b[m], k[n] ** ((1 - grid) ** 2)) + np.outer(b[n], k[n] ** (grid**2)), axis=0)
    best = grid[np.argmax(a_z)]
    lo, hi = max(0, best - 1e-3), min(1, best + 1e-3)
    for _ in range(60):  # where d/dh ||a_z||^2 changes its sign
        best = (lo + hi) / 2
        p, q = k[n] ** ((1 - best) ** 2), k[n] ** (best**2)
        slope = (b[m] * p + b[n] * q) @ (b[m] * (1 - best) * p - b[n] * best * q)
        lo, hi = (best, hi) if slope > 0 else (lo, best)
    S, b = S.copy(), b.copy()
    b[n] = b[m] * k[n] ** ((1 - best) ** 2) + b[n] * k[n] ** (best**2)
    S[n] = best * S[m] + (1 - best) * S[n]
    S[m], b[m] = S[-1], b[-1]
    return S[:-1], b[:-1]
