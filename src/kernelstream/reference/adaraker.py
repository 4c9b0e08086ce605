"""AdaRaker, Alg. 2: h_I <- h_I exp(-eta_I (l(f_I) - l(f)) / u), f = sum_I h_I f_I / sum_I h_I, f_I a Raker in I."""

import numpy as np

from ..schedules import as_schedule
from .raker import features
from .stack import AdaHedge


class Interval:
    def __init__(self, spec, theta, n):
        self.theta, self.method = theta.copy(), AdaHedge(len(theta))
        self.h = self.eta = min(0.5, 1 / np.sqrt(n))
        self.spec, self.short = spec, np.sqrt(spec.shortest / n)

    def say(self, z):
        self.w, self.f = self.method.weights(), np.einsum("pkj,pj->pk", self.theta, z)
        return self.w @ self.f

    def learn(self, loss, z, yt, step):
        L, eps = np.zeros(len(z)), self.spec.threshold
        for p in range(len(z)):
            L[p], g = loss(yt, self.f[p])
            self.theta[p] *= 1 - self.short * step * self.spec.regularization
            if L[p] > eps or eps == 0:
                self.theta[p] -= self.short * step * np.outer(g, z[p])
        self.method.learn(self.w, L)


def learn(spec, loss, X, y, outputs, seed):
    schedule, Z, scores, own, R = as_schedule(spec.learning_rate), features(spec, seed, X), [], [], []
    lengths = spec.shortest * 2 ** np.arange(spec.n_levels)
    zero = np.zeros((Z.shape[1], outputs, Z.shape[2]))
    active = {lengths[-1]: Interval(spec, zero, lengths[-1])}
    for t, (z, yt) in enumerate(zip(Z, y, strict=True), start=1):
        said = {n: I.say(z) for n, I in active.items()}
        H = sum(I.h for I in active.values())
        f = sum(I.h / H * said[n] for n, I in active.items())
        scores.append(f)
        own.append(loss(yt, f)[0])
        r = {n: loss(yt, said[n])[0] - own[-1] for n in active}
        R += list(r.values()) if len(r) > 1 else []
        u = np.sqrt(np.mean(np.square(R))) if np.any(R) else np.inf
        for n, I in active.items():
            I.learn(loss, z, yt, schedule.rate / t**schedule.power)
            I.h *= np.exp(-I.eta * np.clip(r[n] / u, -1, 1))
        for n in lengths[:-1]:
            if t % n == 0:
                active[n] = Interval(spec, zero if spec.begin == "zero" else active[lengths[-1]].theta, n)
    return np.array(scores), Z.shape[1] * Z.shape[2], own
