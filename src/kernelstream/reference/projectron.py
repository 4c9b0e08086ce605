"""Projectron(++): d = K^-1 k_t, delta^2 = k(x, x) - k_t'd; on a mistake project (delta small, or full) or add; ++
also on margin errors.
"""

import numpy as np

from .kernels import matrix

ROUNDING = 1e-12


def learn(spec, loss, X, y, outputs, seed):
    S, alpha, scores, eta, B = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), [], spec.learning_rate, spec.budget
    for x, yt in zip(X, y, strict=True):
        k = matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(0)
        f = alpha.T @ k
        scores.append(f)
        _, g = loss(yt, f)
        d = np.linalg.solve(matrix(spec.kernel, S, S), k) if len(S) else np.zeros(0)
        kxx = matrix(spec.kernel, x, x)[0, 0]
        delta2 = kxx - k @ d
        delta2 = delta2 if delta2 > ROUNDING * abs(kxx) else 0.0
        if g.any():
            if delta2 == 0 or len(S) == B or (len(S) and np.sqrt(delta2) <= spec.threshold):
                alpha = alpha - eta * np.outer(d, g)
            else:
                S, alpha = np.vstack([S, x]), np.vstack([alpha, -eta * g])
        elif spec.aggressive:
            u = yt * np.ones(1) if outputs == 1 else direction(int(yt), f)
            short = 1 - u @ f
            captured = kxx - delta2
            tau = min(short / captured, 1.0) if captured > 0 and short > 0 else 0.0
            if tau > 0 and 2 * short - tau * captured - 2 * np.sqrt(delta2) >= 0:
                alpha = alpha + eta * tau * np.outer(d, u)
    return np.array(scores), len(S)


def direction(y, f):
    s = max((r for r in range(len(f)) if r != y), key=lambda r: f[r])
    return np.eye(len(f))[y] - np.eye(len(f))[s]
