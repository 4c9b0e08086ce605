"""OnlineKernelPCA: CCIPCA (Weng et al. 2003) of z(x) = (sin u'x, cos u'x) / sqrt(D), around the mean so far.
Shown are the principal axes of sum_i v_i v_i' / |v_i|, by an eigen-decomposition of that matrix.
"""

import numpy as np

EXTRA = 5


def learn(X, u, k, forget=1.0):
    """Mean (2D,), variances (k,), projections on the axes (n, k), and the variance in all directions."""
    Z = np.hstack([np.sin(X @ u), np.cos(X @ u)]) / np.sqrt(u.shape[1])
    m, v, W, C = np.zeros(Z.shape[1]), [], 0.0, 0.0
    for z in Z:
        c, W = W, forget * W + 1
        w = np.sqrt(1 - 1 / W) * (z - m)
        m = m + (z - m) / W
        if c == 0:
            continue
        C = C + (w @ w - C) / c
        for i in range(k + EXTRA):
            if i == len(v):
                if w @ w > 1e-12:
                    v.append(np.linalg.norm(w) * w / c)
                break
            v[i] = (1 - 1 / c) * v[i] + (w @ v[i]) / np.linalg.norm(v[i]) * w / c
            w = w - (w @ v[i]) / (v[i] @ v[i]) * v[i]
    values, vectors = np.linalg.eigh(sum(np.outer(a, a) / np.linalg.norm(a) for a in v))
    E = vectors[:, ::-1][:, :k]
    E = E * np.sign(E[np.abs(E).argmax(axis=0), np.arange(k)])
    return m, values[::-1][:k], (Z - m) @ E, C
