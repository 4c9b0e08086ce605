"""Random frequencies u (d, D) of a spec: plain draws, those of Sobol's points, or SORF (Yu et al. 2016), sqrt(p) H S1 H
S2 H S3, row by row.
Random boxes (Rahimi, Recht 2007, Alg. 2), hashed into 4096 places a table.
"""

import functools

import numpy as np
from scipy.linalg import hadamard

from ..numerics import rng
from ..numerics.lifts.structured import GROUP as p
from ..numerics.lifts.structured import signs


def frequencies(spec, seed, d):
    D = spec.n_components
    if spec.map == "plain":
        return spec.kernel.frequencies(seed, range(d), D)
    if spec.map == "quasi":
        return spec.kernel.quasi_frequencies(seed, range(d), D)
    return structured(seed, -(-d // p), -(-D // p))[:d, :D] * spec.kernel.scales(seed, D)


@functools.lru_cache(4)  # two products of matrices of 1,024 rows, which many cases share
def structured(seed, groups, blocks):
    H = hadamard(p) / np.sqrt(p)
    u = np.zeros((groups * p, blocks * p))
    for g in range(groups):
        for b in range(blocks):
            s3, s2, s1 = signs(seed, g, b)
            W = np.sqrt(p) * (H * s1) @ (H * s2) @ (H * s3)
            u[g * p : (g + 1) * p, b * p : (b + 1) * p] = W.T
    return u


def boxes(spec, seed, X):
    """(n, D): the place of each row's box in every table."""
    D, hashed = spec.n_components, np.zeros((len(X), spec.n_components), np.uint64)
    for j in range(X.shape[1]):
        uniform, offset, word = (rng.key(seed, rng.BINS, j, what) for what in range(3))
        steps = spec.kernel.steps(rng.uniform(uniform, np.arange(D)))
        inverse, offset = (a.astype(np.float32).astype(float) for a in (1 / steps, rng.uniform(offset, np.arange(D))))
        steps_from_0 = np.floor(X[:, j : j + 1] * inverse + offset).astype(np.int64)
        hashed += steps_from_0.astype(np.uint64) * rng.bits(word, np.arange(D))
    return np.arange(D) * 4096 + (hashed >> np.uint64(52)).astype(int)
