"""f = W'z for rows z of explicit features: evaluate, step, shrink. W is (K, D), outputs outermost."""

from .compile import inlined, reduction
from .expansion import dot


@reduction
def _four_dots(w0, w1, w2, w3, z, scores):
    a = b = c = e = z.dtype.type(0)
    for j in range(z.shape[0]):
        a += w0[j] * z[j]
        b += w1[j] * z[j]
        c += w2[j] * z[j]
        e += w3[j] * z[j]
    scores[0], scores[1], scores[2], scores[3] = a, b, c, e


@inlined
def evaluate_linear(weights, z, scores):
    """scores = W'z, four outputs at a time."""
    fours = scores.shape[0] // 4 * 4
    for k in range(0, fours, 4):
        _four_dots(weights[k], weights[k + 1], weights[k + 2], weights[k + 3], z, scores[k : k + 4])
    for k in range(fours, scores.shape[0]):
        scores[k] = dot(weights[k], z)


@inlined
def descend(weights, step, g, z):
    """W = W - step * g z'. Outputs without slope are not touched."""
    for k in range(g.shape[0]):
        if g[k] != 0:
            c = weights.dtype.type(step * g[k])
            w = weights[k]
            for j in range(w.shape[0]):
                w[j] -= c * z[j]


@inlined
def shrink(weights, factor):
    """W = factor * W."""
    c = weights.dtype.type(factor)
    for k in range(weights.shape[0]):
        w = weights[k]
        for j in range(w.shape[0]):
            w[j] *= c
