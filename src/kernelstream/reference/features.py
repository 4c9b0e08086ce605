"""Random frequencies u (d, D) of a spec: plain draws, or SORF (Yu et al. 2016): sqrt(p) H S1 H S2 H S3, row by row."""

import functools

import numpy as np
from scipy.linalg import hadamard

from ..numerics.lifts.structured import GROUP as p
from ..numerics.lifts.structured import signs


def frequencies(spec, seed, d):
    D = spec.n_components
    if spec.map == "plain":
        return spec.kernel.frequencies(seed, range(d), D)
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
