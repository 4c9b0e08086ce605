"""Raker, Alg. 1: f = sum w_p f_p, f_p = theta_p'z_p; theta_p -= eta l'(f_p) z_p, w_p *= exp(-eta l(f_p))."""

import numpy as np

from ..numerics import rng
from ..schedules import as_schedule
from .stack import AdaHedge


def learn(spec, loss, X, y, outputs, seed):
    schedule, lam, eps, P = as_schedule(spec.learning_rate), spec.regularization, spec.threshold, len(spec.kernels)
    Z, scores, own = features(spec, seed, X), [], []
    theta, method = np.zeros((P, outputs, Z.shape[2])), AdaHedge(P) if spec.hedge == "auto" else Hedge(P, spec.hedge)
    for t, (z, yt) in enumerate(zip(Z, y, strict=True), start=1):
        eta, w = schedule.rate / t**schedule.power, method.weights()
        f = np.einsum("pkj,pj->pk", theta, z)
        scores.append(w @ f)
        own.append(loss(yt, scores[-1])[0])
        L = np.zeros(P)
        for p in range(P):
            L[p], g = loss(yt, f[p])
            theta[p] *= 1 - eta * lam
            if L[p] > eps or eps == 0:
                theta[p] -= eta * np.outer(g, z[p])
        method.learn(w, L)
    return np.array(scores), theta.shape[0] * theta.shape[2], own


def features(spec, seed, X):
    """(T, P, 2D)."""
    D, Z = spec.n_components, []
    for p, kernel in enumerate(spec.kernels):
        u = kernel.frequencies(int(rng.key(seed, rng.PARTS, p)), range(X.shape[1]), D)
        Z.append(np.hstack([np.sin(X @ u), np.cos(X @ u)]) / np.sqrt(D))
    return np.stack(Z, axis=1)


class Hedge:
    def __init__(self, M, eta):
        self.w, self.eta = np.ones(M), eta

    def weights(self):
        return self.w / self.w.sum()

    def learn(self, w, loss):
        self.w = self.w * np.exp(-self.eta * loss)
