"""NORMA: f <- (1 - eta lambda) f - eta l'(f(x), y) k(x, .). Where a border tunes itself: a loss (-m, |r| or -f) above
it adds eta u k(x, .) and raises it by eta (1 - nu), else it sinks by eta nu; of novelty f - rho is shown.
"""

import numpy as np

from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    if spec.loss == "novelty":
        return novelty(spec, X)
    eta, lam, nu = spec.learning_rate, spec.regularization, spec.nu
    S, alpha, scores, losses = [], [], [], []
    border = {"margin": -spec.margin, "tube": spec.epsilon}.get(spec.loss)
    for x, yt in zip(X, y, strict=True):
        f = np.array(alpha).T @ matrix(spec.kernel, np.array(S), x)[:, 0] if S else np.zeros(outputs)
        scores.append(f)
        value, g = loss(yt, f)
        losses.append(value if border is None else max(0.0, value - border))
        alpha = [(1 - eta * lam) * a for a in alpha]
        adds = border is None or value > border
        if border is not None:
            border += eta * (1 - nu) if adds else -eta * nu
        if adds and g.any():
            S, alpha = [*S, x], [*alpha, -eta * g]
        if spec.budget is not None:
            S, alpha = S[-spec.budget :], alpha[-spec.budget :]
    return np.array(scores), len(S), losses


def novelty(spec, X):
    """Descent on max(0, rho - f(x)) - nu rho + (lambda / 2) ||f||^2 in f and rho, from 0 and 0."""
    eta, lam, nu, rho = spec.learning_rate, spec.regularization, spec.nu, 0.0
    S, alpha, gaps = np.zeros((0, X.shape[1])), np.zeros(0), []
    for x in X:
        f = matrix(spec.kernel, S, x)[:, 0] @ alpha if len(S) else 0.0
        gaps.append(f - rho)
        alpha = (1 - eta * lam) * alpha
        if f < rho:
            S, alpha, rho = np.vstack([S, x]), np.append(alpha, eta), rho - eta * (1 - nu)
        else:
            rho += eta * nu
        if spec.budget is not None:
            S, alpha = S[-spec.budget :], alpha[-spec.budget :]
    return np.array(gaps)[:, None], len(S), np.maximum(0.0, -np.array(gaps))
