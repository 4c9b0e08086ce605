"""NORMA: f <- (1 - eta lambda) f; a loss (-m or |r|) above the border adds eta u k(x, .) and raises it by eta (1 -
nu), else eta nu lower.
"""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    eta, lam, nu = spec.learning_rate, spec.regularization, spec.nu
    S, alpha, scores, losses, border = [], [], [], [], None
    for x, yt in zip(X, y, strict=True):
        f = np.array(alpha).T @ matrix(spec.kernel, np.array(S), x)[:, 0] if S else np.zeros(outputs)
        scores.append(f)
        value, g = loss(yt, f)
        if border is None:  # only -m has a slope where it is 0 or below
            border = -spec.margin if value <= 0 and g.any() else spec.epsilon
        losses.append(max(0.0, value - border))
        alpha = [(1 - eta * lam) * a for a in alpha]
        if value > border:
            border += eta * (1 - nu)
            if g.any():
                S, alpha = [*S, x], [*alpha, -eta * g]
        else:
            border -= eta * nu
        if spec.budget is not None:
            S, alpha = S[-spec.budget :], alpha[-spec.budget :]
    return np.array(scores), len(S), losses
