"""Stack: f = w'e, e what parts say, w by forgetting least squares, AdaHedge, Squint or BOA, in the papers' symbols."""

import importlib
from dataclasses import fields, replace

import numpy as np
from scipy.integrate import quad
from scipy.special import softmax

from ..losses import as_loss
from . import losses


def learn(spec, loss, X, y, outputs, seed):
    regression = outputs == 1 and loss(1.0, np.array([3.0]))[0] > 0
    task = "regression" if regression else "binary" if outputs == 1 else "multiclass"
    said, sizes = zip(*(said_by(part, task, X, y, outputs, seed) for part in spec.parts), strict=True)
    B = 1.0 if not regression else spec.bound or np.inf
    E = np.clip(np.array(said), -B, B)
    Y = y[:, None] if outputs == 1 else np.where(np.arange(outputs) == y[:, None], 1.0, -1.0)
    method = {"least-squares": LeastSquares, "adahedge": AdaHedge, "squint": Squint, "boa": BOA}[spec.combine](len(E))
    scores, own = [], []
    for t in range(len(X)):
        w = method.weights()
        scores.append(w @ E[:, t])
        own.append(loss(y[t], scores[-1])[0])
        if spec.combine == "least-squares":
            method.learn(E[:, t], Y[t])
        else:
            method.learn(w, np.mean(((np.clip(Y[t], -B, B) - E[:, t]) / (2 * B)) ** 2, axis=1))
    return np.array(scores), sum(sizes), own


def said_by(part, task, X, y, outputs, seed):
    module = importlib.import_module(f"{__package__}.{type(part).__name__.lower()}")
    named = getattr(part, "loss", "auto")
    loss = as_loss(part.losses(task)[0] if named == "auto" else named)
    loss = replace(loss, **{f.name: getattr(part, f.name) for f in fields(loss) if hasattr(part, f.name)})
    return module.learn(part, losses.of(loss, task), X, y, outputs, seed)[:2]


class LeastSquares:
    def __init__(self, M):
        self.A, self.b, self.prior, self.squares = 10 * np.eye(M), 10 * np.eye(M)[0], 10 * np.eye(M), []

    def weights(self):
        return np.linalg.solve(self.A, self.b)

    def learn(self, e, y):
        self.squares.append(np.mean(y**2))
        s = np.mean(self.squares) or 1.0
        self.A = 0.999 * self.A + 0.001 * self.prior + e @ e.T / (len(y) * s)
        self.b = 0.999 * self.b + 0.001 * self.prior[0] + e @ y / (len(y) * s)


class AdaHedge:
    def __init__(self, M):
        self.L, self.Delta = np.zeros(M), 0.0

    def weights(self):
        if self.Delta == 0:
            return (leads := self.L.min() >= self.L) / leads.sum()
        return softmax(-np.log(len(self.L)) / self.Delta * self.L)

    def learn(self, w, loss):
        M = np.min if self.Delta == 0 else lambda L: mix(np.log(len(L)) / self.Delta, L)
        m = M(self.L + loss) - M(self.L)
        self.L = self.L + loss
        self.Delta += max(0.0, w @ loss - m)


def mix(eta, L):
    """-1/eta ln mean exp(-eta L)."""
    return L.min() - np.log(np.mean(np.exp(-eta * (L - L.min())))) / eta


class Squint:
    def __init__(self, M):
        self.R, self.V = np.zeros(M), np.zeros(M)

    def weights(self):
        w = np.array([evidence(R, V) for R, V in zip(self.R, self.V, strict=True)])
        return w / w.sum()

    def learn(self, w, loss):
        r = w @ loss - loss
        self.R, self.V = self.R + r, self.V + r**2


def evidence(R, V):
    """int_0^1/2 exp(eta R - eta^2 V) d eta."""
    return quad(lambda eta: np.exp(eta * R - eta**2 * V), 0.0, 0.5, epsabs=0.0, epsrel=1e-12)[0]


class BOA:
    def __init__(self, M):
        self.R, self.V = np.zeros(M), np.zeros(M)

    def eta(self):
        return np.minimum(0.5, np.sqrt(np.log(len(self.V)) / (1 + self.V)))

    def weights(self):
        w = self.eta() * np.exp(self.eta() * self.R)
        return w / w.sum()

    def learn(self, w, loss):
        r = w @ loss - loss
        self.R, self.V = self.R + r - self.eta() * r**2, self.V + r**2
