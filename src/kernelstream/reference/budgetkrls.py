"""FB-KRLS: alpha = (K + lambda I)^-1 y; of M + 1 rows the one goes with the least |alpha_i| / [(K + lambda I)^-1]ii."""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    Y = y[:, None] if outputs == 1 else np.where(np.arange(outputs) == y[:, None], 1.0, -1.0)
    M, lam, mu = spec.budget, spec.regularization, spec.relabelling
    D, yD, scores = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), []
    for x, yn in zip(X, Y, strict=True):
        f = np.zeros(outputs)
        if len(D):
            K, k = matrix(spec.kernel, D, D), matrix(spec.kernel, D, x)[:, 0]
            f = k @ np.linalg.solve(K + lam * np.eye(len(D)), yD)
            near = k / np.sqrt(np.diag(K) * matrix(spec.kernel, x, x)[0, 0])
            yD = yD - mu * near[:, None] * (yD - yn)
        scores.append(f)
        D, yD = np.vstack([D, x]), np.vstack([yD, yn])
        if len(D) > M:
            inverse = np.linalg.inv(matrix(spec.kernel, D, D) + lam * np.eye(len(D)))
            errors = np.linalg.norm(inverse @ yD, axis=1) / np.diag(inverse)
            i = int(np.argmin(errors))
            D, yD = np.delete(D, i, axis=0), np.delete(yD, i, axis=0)
    return np.array(scores), len(D)
