"""AVM (Alg. 2-5): w_{t+1} = (1 - 1/tau) w_t - alpha_t k(c_{i_t}, .) / (lambda tau), tau = t_0 + t; every w kept and
averaged outright.
"""

import numpy as np

from ..losses import Squared, as_loss
from ..numerics import rng
from .kernels import matrix


def learn(spec, loss, X, y, outputs, seed):
    lam, delta, d = spec.regularization, spec.coverage, X.shape[1]
    named = as_loss(spec.loss)
    c = (1 if named.half else 2) if isinstance(named, Squared) else 0  # of the l2 loss c r^2 / 2
    C, w, past, scores, y_max = np.zeros((0, d)), np.zeros((0, outputs)), [], [], 0.0
    core = np.zeros(0, bool)
    key, window = rng.key(seed), (0, 0)
    for t, (x, yt) in enumerate(zip(X, y, strict=True), start=1):
        k = matrix(spec.kernel, C, x)[:, 0] if len(C) else np.zeros(0)
        scores.append(k @ output(spec, w, past, window))
        _, g = loss(yt, k @ w)
        tau = spec.start + t
        w = (1 - 1 / tau) * w
        Z = spec.beta == 0 or rng.uniform(key, t - 1) < max(0, 1 - spec.beta / t**spec.rho)
        i = cell(spec.cells, delta, C, core, x) if Z else None
        if i is None and (Z or g.any()):
            C, w, i, core = np.vstack([C, x]), np.vstack([w, np.zeros(outputs)]), len(C), np.append(core, Z)
        if g.any():
            w[i] -= g / (lam * tau)
        if lam <= c and g.any():
            y_max = max(y_max, abs(yt))
            norm = np.sqrt(max(0.0, np.sum(w * (matrix(spec.kernel, C, C) @ w))))
            w = w * min(1.0, y_max * (lam / c) ** -0.5 / norm) if norm > 0 else w
        past.append(w)
        if spec.output == "suffix" and spec.rounds is not None:
            if t == 1 + spec.rounds - max(1, round(spec.suffix * spec.rounds)):
                window = t - 1, t - 1
        elif spec.output == "suffix" and window[1] <= (1 - spec.suffix) * t:
            window = window[1], t
    return np.array(scores), len(C)


def cell(cells, delta, C, core, x):
    """i with x in P_i, or None: the nearest sphere, the first rectangle, of the core points."""
    if cells == "sphere":
        r = np.where(core, np.sqrt(((C - x) ** 2).sum(axis=1)), np.inf)
        return int(np.argmin(r)) if len(C) and r.min() < delta / 2 else None
    inside = np.flatnonzero(core & (np.abs(C - x).max(axis=1, initial=0.0) < delta / np.sqrt(len(x))))
    return int(inside[0]) if len(inside) else None


def output(spec, w, past, window):
    """w, or the mean of all w since the window began."""
    if spec.output == "last" or not past:
        return w
    shown = past[window[0] :]
    return sum(np.vstack([v, np.zeros((len(w) - len(v), w.shape[1]))]) for v in shown) / len(shown)
