"""SW-KRLS: alpha = (K + c I)^-1 y of the last M rows."""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    Y = y[:, None] if outputs == 1 else np.where(np.arange(outputs) == y[:, None], 1.0, -1.0)
    M, c, scores = spec.budget, spec.regularization, [np.zeros(outputs)]
    for n in range(1, len(X)):
        window = slice(max(0, n - M), n)
        K = matrix(spec.kernel, X[window], X[window])
        alpha = np.linalg.solve(K + c * np.eye(len(K)), Y[window])
        scores.append(matrix(spec.kernel, X[window], X[n])[:, 0] @ alpha)
    return np.array(scores), min(M, len(X))
