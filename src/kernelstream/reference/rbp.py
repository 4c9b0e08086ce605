"""RBP: the Perceptron; over budget, S loses one element chosen uniformly (its place is taken by the new one)."""

import numpy as np

from ..numerics import rng
from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    S, alpha, scores, key, draws = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), [], rng.key(seed), 0
    for x, yt in zip(X, y, strict=True):
        f = alpha.T @ matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(outputs)
        scores.append(f)
        _, g = loss(yt, f)
        if not g.any():
            continue
        if len(S) < spec.budget:
            S, alpha = np.vstack([S, x]), np.vstack([alpha, -spec.learning_rate * g])
        else:
            r = int(rng.uniform(key, draws) * spec.budget)
            draws += 1
            S[r], alpha[r] = x, -spec.learning_rate * g
    return np.array(scores), len(S)
