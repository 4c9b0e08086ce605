"""LASVM (Bordes et al. 2005): PROCESS, then REPROCESS; dual alpha with A <= alpha <= B and sum 0, gradient g."""

import numpy as np

from .kernels import matrix


def without(a, s):
    """The last one takes the place of s."""
    a[s] = a[-1]
    return a[:-1]


def learn(spec, loss, X, y, outputs, seed):
    C, tau, b, scores = spec.aggressiveness, spec.tolerance, 0.0, []
    S, Y, alpha, g = np.zeros((0, X.shape[1])), np.zeros(0), np.zeros(0), np.zeros(0)

    def extremes(but=-1):
        others = np.arange(len(S)) != but
        up, down = (alpha < np.maximum(0, C * Y)) & others, (alpha > np.minimum(0, C * Y)) & others
        i, j = np.where(up, g, -np.inf), np.where(down, g, np.inf)
        return (i.argmax() if up.any() else -1), (j.argmin() if down.any() else -1)

    def move(i, j, most=np.inf):
        K = matrix(spec.kernel, S, S[[i, j]])
        curvature = max(K[i, 0] + K[j, 1] - 2 * K[i, 1], 1e-12)
        room = min(max(0, C * Y[i]) - alpha[i], alpha[j] - min(0, C * Y[j]))
        step = min((g[i] - g[j]) / curvature, room) if most == np.inf else min(most, room)
        alpha[i], alpha[j] = alpha[i] + step, alpha[j] - step
        alpha[np.abs(alpha) < 1e-12 * C] = 0
        alpha[np.abs(alpha) > (1 - 1e-12) * C] = C * Y[np.abs(alpha) > (1 - 1e-12) * C]
        g[:] -= step * (K[:, 0] - K[:, 1])
        if most == np.inf and step < room:
            g[j] = g[i]  # so they are

    for x, yt in zip(X, y, strict=True):
        f = alpha @ matrix(spec.kernel, S, x)[:, 0] if len(S) else 0.0
        scores.append(np.array([f + b]))
        # PROCESS; only an example of a violating pair, or the first one of its class, is stored
        i, j = extremes()
        gap = (yt - f - g[j] if yt > 0 else g[i] - yt + f) if min(i, j) >= 0 else np.inf
        if gap > tau and (min(i, j) >= 0 or yt not in Y):
            S, Y, alpha, g = np.vstack([S, x]), np.append(Y, yt), np.append(alpha, 0.0), np.append(g, yt - f)
            i, j = extremes()
            i, j = (len(S) - 1, j) if yt > 0 else (i, len(S) - 1)
            if min(i, j) >= 0:
                move(i, j)
        for _ in range(spec.reprocess):
            i, j = extremes()
            if min(i, j) < 0:
                break
            violating = g[i] - g[j] > tau
            if violating:
                move(i, j)
                i, j = extremes()
            b = (g[i] + g[j]) / 2
            if not violating:
                break
            gone = (alpha == 0) & np.where(Y < 0, g >= g[i], g <= g[j])
            for s in np.flatnonzero(gone)[::-1]:
                S, Y, alpha, g = (without(a, s) for a in (S, Y, alpha, g))
        if spec.budget is not None and len(S) > spec.budget:
            far = np.where(alpha == 0, np.inf, np.abs(g - b))
            far[(Y[:, None] == Y).sum(axis=1) == 1] = -1  # the last one of a class
            s = np.flatnonzero(far >= (1 - 1e-12) * far.max())[0]
            while alpha[s] != 0:
                i, j = extremes(but=s)
                move(i, s, alpha[s]) if alpha[s] > 0 else move(s, j, -alpha[s])
            S, Y, alpha, g = (without(a, s) for a in (S, Y, alpha, g))
    return np.array(scores), len(S)
