"""POLK: f~ = (1 - eta lambda) f - (eta / B) sum l'(f(x), y) k(x, .); then points of D go while gamma <= eps (KOMP)."""

import numpy as np

from ..numerics import rng
from ..schedules import as_schedule
from .kernels import matrix

ROUNDING, REACH_ROUNDING = 1e-12, 32 * np.finfo(float).eps


def learn(spec, loss, X, y, outputs, seed):
    schedule, lam, B, key = as_schedule(spec.learning_rate), spec.regularization, spec.batch_size, rng.key(seed)
    D, w, scores, batch, t, draws = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), [], [], 0, 0
    for u, (x, yt) in enumerate(zip(X, y, strict=True), start=1):
        f = w.T @ matrix(spec.kernel, D, x)[:, 0] if len(D) else np.zeros(outputs)
        scores.append(f)
        value, g = loss(yt, f)
        if g.any() and (value > spec.threshold or spec.threshold == 0):
            batch.append((x, g))
        if u % B:
            continue
        t += 1
        eta = schedule.rate / t**schedule.power
        eps = spec.parsimony * eta ** (1.5 if schedule.power == 0 else 2)
        w = (1 - eta * lam) * w
        for x, g in batch:
            D, w = include(spec.kernel, D, w, x, -eta / B * g)
        if batch or spec.idle == "prune":
            I, w, draws = komp(matrix(spec.kernel, D, D), w, eps, key if spec.pruning == "random" else None, draws)
            D = D[I]
        batch = []
    return np.array(scores), len(D)


def include(kernel, D, w, x, step):
    """f + step k(x, .), over D when x lies in its span."""
    if len(D):
        k, kxx = matrix(kernel, D, x)[:, 0], matrix(kernel, x, x)[0, 0]
        d = np.linalg.solve(matrix(kernel, D, D), k)
        if kxx - k @ d <= max(ROUNDING, REACH_ROUNDING * (1 + np.abs(d).sum()) ** 2) * abs(kxx):
            return D, w + np.outer(d, step)
    return np.vstack([D, x]), np.vstack([w, step])


def komp(K, w_tilde, eps, key, draws):
    """The indices I that are left of f~ = sum_j w~_j k(d_j, .), and the best weights w for them. No key: Alg. 1."""
    I, w = list(range(len(K))), w_tilde
    while I:
        rest = w_tilde.copy()
        rest[I] -= w
        gamma2 = np.sum(rest * (K @ rest)) + (w**2).sum(axis=1) / np.diag(np.linalg.inv(K[np.ix_(I, I)]))
        j = int(np.argmin(gamma2)) if key is None else int(rng.uniform(key, draws) * len(I))
        draws += 1
        if gamma2[j] > eps**2:
            break
        del I[j]
        w = np.linalg.solve(K[np.ix_(I, I)], K[I] @ w_tilde)  # (20)
    return I, w, draws
