"""Self-tuned Forgetron: f' = f + u k(x, .); over budget f = phi (f' minus its oldest term), phi the largest with
Psi + Q <= 15 M / 32.
"""

import numpy as np

from .kernels import matrix


def largest_phi(delta, mu, Q, M):
    """The largest phi in (0, 1] with (delta phi)^2 + 2 delta phi (1 - phi mu) + Q <= (15/32) M, from the roots."""
    a, b, c = delta**2 - 2 * delta * mu, 2 * delta, Q - 15 / 32 * M
    if a + b + c <= 0:
        return 1.0
    roots = np.roots([a, b, c])
    return min(r.real for r in roots if abs(r.imag) < 1e-12 and r.real > 0)


def learn(spec, loss, X, y, outputs, seed):
    S, alpha, scores, Q, M, eta = [], [], [], 0.0, 0, spec.learning_rate
    unit = 1.0 if outputs == 1 and (np.abs(y) != 1).any() else eta  # 1 in regression
    for x, yt in zip(X, y, strict=True):
        f = np.array(alpha).T @ matrix(spec.kernel, np.array(S), x)[:, 0] if S else np.zeros(outputs)
        scores.append(f)
        _, g = loss(yt, f)
        if not g.any():
            continue
        M += 1
        S, alpha = [*S, x], [*alpha, -eta * g]
        if len(S) > spec.budget:
            a_r, s_r = alpha[0] / unit, S[0]
            delta = np.abs(a_r).max()
            mu = a_r / delta @ (np.array(alpha).T @ matrix(spec.kernel, np.array(S), s_r)[:, 0]) / unit
            phi = largest_phi(delta, mu, Q, M)
            Q += (delta * phi) ** 2 + 2 * delta * phi * (1 - phi * mu)
            S, alpha = S[1:], [phi * a for a in alpha[1:]]
    return np.array(scores), len(S)
