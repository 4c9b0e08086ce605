"""TVM: an SVM on B twin vectors (z, s-, s+); examples with y f(x) < 1 enter, the nearest pair is merged, the dual
is swept.
"""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    C, Z, s, alpha, scores = spec.aggressiveness, np.zeros((0, X.shape[1])), np.zeros((0, 2)), np.zeros((0, 2)), []
    for x, yt in zip(X, y, strict=True):
        f = (alpha[:, 1] - alpha[:, 0]) @ matrix(spec.kernel, Z, x)[:, 0] if len(Z) else 0.0
        scores.append(np.array([f]))
        if yt * f >= 1:
            continue
        Z = np.vstack([Z, x])
        s, alpha = np.vstack([s, [yt < 0, yt > 0]]), np.vstack([alpha, [0, 0]])
        if len(Z) > spec.budget:
            K = matrix(spec.kernel, Z, Z)
            i, j = max(((a, b) for a in range(len(Z)) for b in range(a + 1, len(Z))), key=lambda pair: K[pair])
            n_i, n_j = s[i].sum(), s[j].sum()
            Z[i] = (n_i * Z[i] + n_j * Z[j]) / (n_i + n_j)
            s[i], alpha[i] = s[i] + s[j], alpha[i] + alpha[j]
            Z[j], s[j], alpha[j] = Z[-1], s[-1], alpha[-1]
            Z, s, alpha = Z[:-1], s[:-1], alpha[:-1]
        K = matrix(spec.kernel, Z, Z)
        for _ in range(spec.sweeps):
            for i in range(len(Z)):
                for side, sign in ((0, -1), (1, 1)):
                    if K[i, i] > 0:
                        f_i = K[i] @ (alpha[:, 1] - alpha[:, 0])
                        alpha[i, side] = np.clip(alpha[i, side] + (1 - sign * f_i) / K[i, i], 0, C * s[i, side])
    return np.array(scores), len(Z)
