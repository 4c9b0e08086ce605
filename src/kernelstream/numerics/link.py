"""From scores of -1 and 1 to chances of classes: softmax_k(a log((1 + f_k) / 2) + c f_k), a and c learned as rows come.

Least squares of -1 and 1 estimates 2p - 1, so that a = 1, c = 0 is where it begins; a Newton step of the log loss a row
corrects what is too bold or too timid, and forgets. Of two classes the one score f stands for (-f, f).
"""

import math

import numpy as np

from .compile import inlined

FLOOR = 0.005  # of (1 + f) / 2
FORGET, PRIOR = 0.9995, 20.0
LIMITS = ((0.2, 5.0), (-1.0, 10.0))


def first_link() -> np.ndarray:
    """(2, 3): a and c, each with its row of the curvature of the losses so far."""
    return np.array([[1.0, PRIOR, 0.0], [0.0, 0.0, PRIOR]])


def chances(link: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """(n, classes) of scores (n, K)."""
    both = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
    f = np.where(np.isfinite(both), both, -2.0).astype(np.float64)  # a class that a row could not know
    said = link[0, 0] * np.log(np.maximum((1.0 + f) / 2.0, FLOOR)) + link[1, 0] * f
    grown = np.exp(said - said.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True))


def is_learned(link: np.ndarray) -> bool:
    """Whether rows can have left it so: within its limits, with a curvature that is positive."""
    (a, a_a, a_c), (c, _, c_c) = link.tolist()
    known = all(low <= one <= high for one, (low, high) in zip((a, c), LIMITS, strict=True))
    return known and 0 < a_a < 1e100 and 0 < c_c < 1e100 and abs(a_c) < math.sqrt(a_a * c_c)


@inlined
def log_share(f):
    return math.log(max((1.0 + f) / 2.0, FLOOR))


@inlined
def learn_link(link, f, right, weight):
    """A Newton step for scores f (K,) of a row; `right` is the place of its class, and of two classes 0 or 1."""
    K = f.shape[0]
    n = 2 if K == 1 else K
    a, c = link[0, 0], link[1, 0]
    top = -1e300
    for k in range(n):
        s = f[k] if K > 1 else (f[0] if k == 1 else -f[0])
        top = max(top, a * log_share(s) + c * s)
    total, m0, m1, q00, q01, q11, r0, r1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        s = f[k] if K > 1 else (f[0] if k == 1 else -f[0])
        h = log_share(s)
        p = math.exp(a * h + c * s - top)
        total += p
        m0 += p * h
        m1 += p * s
        q00 += p * h * h
        q01 += p * h * s
        q11 += p * s * s
        if k == right:
            r0, r1 = h, s
    m0, m1, q00, q01, q11 = m0 / total, m1 / total, q00 / total, q01 / total, q11 / total
    fading = (1.0 - FORGET) * min(weight, 1.0)
    link[0, 1] = (1.0 - fading) * link[0, 1] + fading * PRIOR + weight * (q00 - m0 * m0)
    link[1, 2] = (1.0 - fading) * link[1, 2] + fading * PRIOR + weight * (q11 - m1 * m1)
    link[0, 2] = (1.0 - fading) * link[0, 2] + weight * (q01 - m0 * m1)
    link[1, 1] = link[0, 2]
    g0, g1 = weight * (m0 - r0), weight * (m1 - r1)
    size = link[0, 1] * link[1, 2] - link[0, 2] * link[0, 2]
    a -= (link[1, 2] * g0 - link[0, 2] * g1) / size
    c -= (link[0, 1] * g1 - link[0, 2] * g0) / size
    link[0, 0] = min(max(a, LIMITS[0][0]), LIMITS[0][1])
    link[1, 0] = min(max(c, LIMITS[1][0]), LIMITS[1][1])
