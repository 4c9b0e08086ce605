"""KAP: coherent rows become points; alpha + eta H'(epsilon I + H H')^-1 (d - H alpha), H of the last p rows."""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    Y = y[:, None] if outputs == 1 else np.where(np.arange(outputs) == y[:, None], 1.0, -1.0)
    eta, eps, mu0, p = spec.learning_rate, spec.regularization, spec.coherence, spec.rows
    D, alpha, scores = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), []
    for n, u in enumerate(X):
        h = matrix(spec.kernel, D, u)[:, 0] if len(D) else np.zeros(0)
        scores.append(h @ alpha)
        own = matrix(spec.kernel, u, u)[0, 0]
        sizes = np.sqrt(own * np.array([matrix(spec.kernel, c, c)[0, 0] for c in D]))
        if (spec.budget is None or len(D) < spec.budget) and (len(D) == 0 or np.max(np.abs(h) / sizes) <= mu0):
            D, alpha = np.vstack([D, u]), np.vstack([alpha, np.zeros(outputs)])
        last = slice(max(0, n + 1 - p), n + 1)
        H = matrix(spec.kernel, X[last], D)
        ridge = max(eps, 1e-10 * np.max((H**2).sum(axis=1)))
        alpha = alpha + eta * H.T @ np.linalg.solve(H @ H.T + ridge * np.eye(len(H)), Y[last] - H @ alpha)
    return np.array(scores), len(D)
