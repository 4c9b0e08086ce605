"""KOIL (Hu et al. 2015): a pairwise hinge step with the k nearest points of the other class; two buffers of N points,
in which a row replaces another at random (RS++) or the oldest one (FIFO++), whose coefficient goes to the nearest.
"""

import numpy as np

from ..numerics import rng
from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    eta, lam, k, N = spec.learning_rate, spec.regularization, spec.n_neighbours, spec.budget // 2
    S, Y, alpha, age = np.zeros((0, X.shape[1])), np.zeros(0), np.zeros(0), np.zeros(0)
    seen, b, key, draws, scores, losses = {-1: 0, 1: 0}, 0.0, rng.key(seed), 0, [], []
    for t, (x, yt) in enumerate(zip(X, y.astype(int), strict=True)):
        K, near = matrix(spec.kernel, S, S), matrix(spec.kernel, S, x)[:, 0]
        f = alpha @ near
        scores.append(np.array([f + b]))
        seen[yt] += 1
        lost = np.where(-yt == Y, 1 - yt * (f - K @ alpha), 0.0)
        V = [i for i in np.argsort(-near, kind="stable") if lost[i] > 0][:k]
        losses.append(lost[V].sum())
        alpha = (1 - eta * lam) * alpha
        alpha[V] -= eta * yt
        new = eta * yt * (len(V) or float(yt not in Y or -yt not in Y))  # the first of a class has no pair
        own = np.flatnonzero(yt == Y)
        if new != 0 and len(own) < N:
            S, Y, alpha, age = np.vstack([S, x]), np.append(Y, yt), np.append(alpha, new), np.append(age, t)
        elif new != 0:
            if spec.replacement == "oldest":
                r = own[age[own].argmin()]
            else:
                taken = rng.uniform(key, draws) < N / seen[yt]
                draws += 1
                if taken:
                    r = own[int(rng.uniform(key, draws) * N)]
                    draws += 1
                else:
                    r = None
            if r is None:
                alpha[own[near[own].argmax()]] += new
            else:
                handed, similar = alpha[r], np.where(np.arange(len(S)) == r, near[r], K[r])
                S[r], alpha[r], age[r] = x, new, t
                alpha[own[similar[own].argmax()]] += handed
        if len(S):
            values = matrix(spec.kernel, S, S) @ alpha
            b = -(values[Y > 0].mean() + values[Y < 0].mean()) / 2 if len({*Y}) == 2 else 0.0
    return np.array(scores), len(S), losses
