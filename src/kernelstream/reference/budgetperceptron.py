"""Budget Perceptron: over budget drop argmax_j u_j . (f(s_j) - a_j k(s_j, s_j)), u_j the direction of a_j."""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    S, alpha, scores = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), []
    for x, yt in zip(X, y, strict=True):
        f = alpha.T @ matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(outputs)
        scores.append(f)
        _, g = loss(yt, f)
        if not g.any():
            continue
        S, alpha = np.vstack([S, x]), np.vstack([alpha, -spec.learning_rate * g])
        if len(S) > spec.budget:
            K = matrix(spec.kernel, S, S)
            u = alpha / np.linalg.norm(alpha, axis=1, keepdims=True)
            margins = (u * (K @ alpha - np.diag(K)[:, None] * alpha)).sum(axis=1)
            r = int(np.argmax(margins))
            S[r], alpha[r] = S[-1], alpha[-1]
            S, alpha = S[:-1], alpha[:-1]
    return np.array(scores), len(S)
