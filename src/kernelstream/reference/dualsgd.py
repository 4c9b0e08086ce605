"""DualSGD: Pegasos in b = lambda (t_0 + t) a on f(x) = sum a_i k(s_i, x) + w'z(x); when full the k smallest terms leave
for w.
"""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    lam, D = spec.regularization, spec.n_components
    u = spec.kernel.frequencies(seed, range(X.shape[1]), D)
    S, b, w, scores = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), np.zeros((outputs, 2 * D)), []

    def z(x):
        return np.concatenate([np.sin(u.T @ x), np.cos(u.T @ x)]) / np.sqrt(D)

    for t, (x, yt) in enumerate(zip(X, y, strict=True)):
        k = matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(0)
        f = (b.T @ k + w @ z(x)) / (lam * (spec.start + t)) if t else np.zeros(outputs)
        scores.append(f)
        _, g = loss(yt, f)
        if not g.any():
            continue
        if len(S) == spec.budget:
            for _ in range(min(spec.leaving, spec.budget)):
                m = int(np.argmin((b**2).sum(axis=1)))
                w = w + np.outer(b[m], z(S[m]))
                S[m], b[m] = S[-1], b[-1]
                S, b = S[:-1], b[:-1]
        S, b = np.vstack([S, x]), np.vstack([b, -g])
    return np.array(scores), len(S)
