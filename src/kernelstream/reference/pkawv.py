"""PKAWV, sec. 4: f_t = argmin sum (y_s - f(x_s))^2 + lambda |f|^2 + f(x_t)^2 in the span of points drawn by leverage
(KORS)."""

import numpy as np

from ..numerics import rng
from .kernels import matrix

TOLERANCE = 1e-4  # of k(x, x): what is left of a row that becomes no point


def learn(spec, loss, X, y, outputs, seed):
    Y = y[:, None] if outputs == 1 else np.where(np.arange(outputs) == y[:, None], 1.0, -1.0)
    S, lam, scores = Points(spec, seed, X), spec.regularization, []
    A, b = np.zeros((0, 0)), np.zeros((0, outputs))
    for x, yt in zip(X, Y, strict=True):
        z = S.embed(x)
        P = np.linalg.inv(A + lam * np.eye(len(z)))
        scores.append(z @ P @ b / (1 + z @ P @ z))
        if S.draw(x):
            z, A, b = S.embed(x), np.pad(A, (0, 1)), np.pad(b, ((0, 1), (0, 0)))
        A, b = A + np.outer(z, z), b + np.outer(z, yt)
    return np.array(scores), len(S.points)


class Points:
    """KORS: p = min(1, beta r / (r + alpha)), r = k(x, x) - k'D (D K D + alpha)^-1 D k."""

    def __init__(self, spec, seed, X):
        self.spec, self.points, self.d = spec, X[:0], np.zeros(0)
        self.key, self.draws = rng.key(seed), 0

    def embed(self, x):
        if not len(self.points):
            return np.zeros(0)
        R = np.linalg.cholesky(matrix(self.spec.kernel, self.points, self.points)).T
        return np.linalg.solve(R.T, matrix(self.spec.kernel, self.points, x)[:, 0])

    def draw(self, x):
        kernel, alpha, z, own = self.spec.kernel, self.spec.regularization, self.embed(x), self.own(x)
        if len(self.points) == self.spec.budget or own - z @ z <= TOLERANCE * own:
            return False
        r = own
        if len(self.points):
            k = self.d * matrix(kernel, self.points, x)[:, 0]
            DKD = self.d[:, None] * matrix(kernel, self.points, self.points) * self.d
            r = own - k @ np.linalg.solve(DKD + alpha * np.eye(len(k)), k)
        p = min(1, self.spec.sampling * r / (r + alpha))
        self.draws += 1
        if rng.uniform(self.key, self.draws - 1) >= p:
            return False
        self.points, self.d = np.vstack([self.points, x]), np.append(self.d, p**-0.5)
        return True

    def own(self, x):
        return matrix(self.spec.kernel, x, x)[0, 0]
