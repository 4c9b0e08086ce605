"""OnlineKernelKMeans: k-means++ and Lloyd's iteration on the first 256 rows, the best of 8, then MacQueen's step, of
z(x) = (sin u'x, cos u'x) / sqrt(D).
"""

import numpy as np

from ..numerics import rng

FIRST, TRIES = 256, 8


def learn(X, u, k, seed, forget=1.0):
    """Centres (k, 2D), and how many rows each stands for."""
    Z = np.hstack([np.sin(X @ u), np.cos(X @ u)]) / np.sqrt(u.shape[1])
    tries = [lloyd(Z[:FIRST], plus_plus(Z[:FIRST], k, seed, attempt)) for attempt in range(TRIES)]
    found = min(tries, key=lambda c: apart(Z[:FIRST], c).min(axis=1).sum())
    c, n = np.zeros((k, Z.shape[1])), np.zeros(k)
    c[: len(found)] = found
    n[: len(found)] = np.bincount(apart(Z[:FIRST], found).argmin(axis=1), minlength=len(found))
    for z in Z[FIRST:]:
        distance = np.where(n > 0, apart(z[None], c)[0], np.inf)
        j = distance.argmin()
        if (n == 0).any() and distance[j] > 1e-12:
            j = (n == 0).argmax()
        n = forget * n
        n[j] += 1
        c[j] += (z - c[j]) / n[j]
    return c, n


def apart(Z, c):
    return ((Z[:, None, :] - c[None, :, :]) ** 2).sum(axis=2)


def plus_plus(Z, k, seed, attempt):
    """Arthur, Vassilvitskii (2007)."""
    chances = rng.uniform(rng.key(seed, rng.SEEDS, attempt), np.arange(k))
    c, D2 = [Z[int(chances[0] * len(Z))]], np.inf
    for chance in chances[1:]:
        D2 = np.minimum(D2, apart(Z, c[-1][None])[:, 0])
        D2[D2 <= 1e-12] = 0
        if not D2.any():
            break
        c.append(Z[np.flatnonzero(np.cumsum(D2) > chance * D2.sum())[0]])
    return np.array(c)


def lloyd(Z, c):
    for _ in range(100):
        labels = apart(Z, c).argmin(axis=1)
        new = np.array([Z[labels == j].mean(axis=0) if (labels == j).any() else c[j] for j in range(len(c))])
        if np.array_equal(new, c):
            break
        c = new
    return c
