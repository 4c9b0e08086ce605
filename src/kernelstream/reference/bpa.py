"""BPA: over budget the term r that is best replaced by its projection on V (x; x and its neighbour; all) makes room
for tau u k(x, .).
"""

import numpy as np

from .kernels import matrix
from .pa import tau

ROUNDING = 1e-12


def learn(spec, loss, X, y, outputs, seed):
    S, alpha, scores, B = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), [], spec.budget
    for x, yt in zip(X, y, strict=True):
        k = matrix(spec.kernel, S, x)[:, 0] if len(S) else np.zeros(0)
        f = alpha.T @ k
        scores.append(f)
        l, g = loss(yt, f)
        kxx = matrix(spec.kernel, x, x)[0, 0]
        step = tau(spec.aggressiveness, 1, l, -g, kxx)
        if step == 0:
            continue
        K = matrix(spec.kernel, S, S) if len(S) else np.zeros((0, 0))
        if spec.maintenance == "projection" and len(S):
            d = np.linalg.solve(K, k)
            if kxx - k @ d <= ROUNDING * abs(kxx):
                alpha = alpha - step * np.outer(d, g)
                continue
        S, alpha = np.vstack([S, x]), np.vstack([alpha, -step * g])
        if len(S) <= B:
            continue
        K = matrix(spec.kernel, S, S)
        V = np.array([span(spec.maintenance, K, r) for r in range(B)])  # a row for each r
        k = K[V, np.arange(B)[:, None]]
        onto = (np.linalg.pinv(K[V[:, :, None], V[:, None, :]], ROUNDING, hermitian=True) @ k[:, :, None])[:, :, 0]
        lost = (alpha[:B] ** 2).sum(axis=1) * (np.diag(K)[:B] - (k * onto).sum(axis=1))
        r = int(np.argmin(lost))
        alpha[V[r]] += np.outer(onto[r], alpha[r])
        if spec.maintenance == "projection":
            S, alpha = np.delete(S, r, axis=0), np.delete(alpha, r, axis=0)
        else:
            S[r], alpha[r] = S[-1], alpha[-1]
            S, alpha = S[:-1], alpha[:-1]
    return np.array(scores), len(S)


def span(maintenance, K, r):
    """The terms that r may be projected on; the new one is last."""
    B = len(K) - 1
    others = [i for i in range(B) if i != r]
    if maintenance == "simple":
        return [B]
    return [*others, B] if maintenance == "projection" else [max(others, key=lambda i: K[r, i]), B]
