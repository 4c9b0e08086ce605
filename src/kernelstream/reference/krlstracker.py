"""KRLS-T in the paper's mu, Sigma, Q = K^-1: forget, predict, include, and one basis less where there are M + 1. K has
a jitter on its diagonal, as the authors' program has it.
"""

import numpy as np

from .kernels import matrix

JITTER = 1e-12


def learn(spec, loss, X, y, outputs, seed):
    Y = y[:, None] if outputs == 1 else np.where(np.arange(outputs) == y[:, None], 1.0, -1.0)
    M, sn2, lam, scores = spec.budget, spec.regularization, spec.forget, []
    D, mu, Sigma = np.zeros((0, X.shape[1])), np.zeros((0, outputs)), np.zeros((0, 0))
    for x, yt in zip(X, Y, strict=True):
        K = covariance(spec.kernel, D) if len(D) else np.zeros((0, 0))
        Sigma, mu = lam * Sigma + (1 - lam) * K, np.sqrt(lam) * mu
        k = matrix(spec.kernel, D, x)[:, 0] if len(D) else np.zeros(0)
        ktt = matrix(spec.kernel, x, x)[0, 0]
        q, jitter = np.linalg.solve(K, k), JITTER * abs(ktt)
        y_mean, gamma2, h = q @ mu, max(ktt - k @ q, 0.0), Sigma @ q
        scores.append(y_mean)
        spanned = gamma2 <= 2 * jitter
        gamma2 += 0.0 if spanned else jitter
        sf2 = gamma2 + q @ h
        p, sy2 = np.append(h, sf2), sn2 + sf2
        mu = np.vstack([mu, y_mean]) + np.outer(p, yt - y_mean) / sy2
        Sigma = np.block([[Sigma, h[:, None]], [h[None], sf2 * np.ones((1, 1))]]) - np.outer(p, p) / sy2
        D = np.vstack([D, x])
        if spanned or len(D) > M:
            r = len(D) - 1
            if not spanned:
                Q = np.linalg.inv(covariance(spec.kernel, D))
                r = int(np.argmin(np.linalg.norm(Q @ mu, axis=1) / np.diag(Q)))
            D, mu, Sigma = np.delete(D, r, 0), np.delete(mu, r, 0), np.delete(np.delete(Sigma, r, 0), r, 1)
    return np.array(scores), len(D)


def covariance(kernel, D):
    K = matrix(kernel, D, D)
    return K + JITTER * np.diag(np.abs(np.diag(K)))
