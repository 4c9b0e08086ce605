"""The import vector machine (Zhu and Hastie 2005): kernel logistic regression on few points, found one after the other.

    H(A) = -(1/n) sum_i log p_{y_i}(x_i) + lambda/2 tr(A' K_SS A),   f = K_S A

The next point is the one with which a Newton step from the present A lowers H most, by the quadratic that the step
minimises; then A is refitted. Where the paper goes by H itself after the step and stops when it hardly falls, this has
as many points as it is told.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_softmax, softmax

_NEWTON_STEPS = 50
_SMALLEST_GAIN = 1e-10  # of a Newton step, below which A is fitted
_RIDGE = 1e-10  # scores may be shifted alike in all classes, which H hardly sees


class Fit:
    """Points and their coefficients (q, k), for kernel values (n, n) and classes as rows of an identity (n, k)."""

    def __init__(self, K: np.ndarray, Y: np.ndarray, regularization: float):
        self.K, self.Y, self.regularization = K, Y, regularization
        self.chosen: list[int] = []
        self.A = np.zeros((0, Y.shape[1]))

    def risk(self, A: np.ndarray) -> float:
        """H of coefficients."""
        scores = self.K[:, self.chosen] @ A
        likelihood = float((log_softmax(scores, axis=1) * self.Y).sum()) / len(self.Y)
        return -likelihood + 0.5 * self.regularization * float(np.sum(A * (self._gram() @ A)))

    def add_best(self) -> None:
        """Take in the point that helps most, and refit."""
        gains = self.gains()
        gains[self.chosen] = -np.inf
        self.chosen.append(int(np.argmax(gains)))
        self.A = np.vstack([self.A, np.zeros((1, self.Y.shape[1]))])
        self.refit()

    def refit(self) -> None:
        """Newton's method, with halved steps where a whole one would raise H."""
        before = self.risk(self.A)
        for _ in range(_NEWTON_STEPS):
            gradient, hessian = self._derivatives()
            step = cho_solve(cho_factor(hessian), gradient.ravel()).reshape(self.A.shape)
            length = 1.0
            while self.risk(self.A - length * step) > before and length > _SMALLEST_GAIN:
                length /= 2
            after = self.risk(self.A - length * step)
            if before - after < _SMALLEST_GAIN:
                return
            self.A, before = self.A - length * step, after

    def gains(self) -> np.ndarray:
        """By how much each point would lower H: r' S^-1 r / 2, S the Schur complement of its Hessian, r its slope."""
        n, k = self.Y.shape
        shares = self._shares()
        K, chosen = self.K, self.chosen
        slope = K.T @ (shares - self.Y) / n + self.regularization * K[:, chosen] @ self.A  # (n, k), a row a candidate
        schur = np.empty((n, k, k))
        across = np.empty((n, len(chosen), k, k))
        squares = K**2
        for c in range(k):
            for d in range(c, k):
                weight = shares[:, c] * ((c == d) - shares[:, d]) / n
                schur[:, c, d] = schur[:, d, c] = squares.T @ weight
                across[:, :, c, d] = across[:, :, d, c] = K.T @ (K[:, chosen] * weight[:, None])
        own = np.arange(k)
        schur[:, own, own] += self.regularization * np.diag(K)[:, None] + _RIDGE
        across[:, :, own, own] += self.regularization * K[:, chosen][:, :, None]
        if chosen:
            gradient, hessian = self._derivatives()
            flat = across.reshape(n, len(chosen) * k, k)
            solved = cho_solve(cho_factor(hessian), flat.transpose(1, 0, 2).reshape(len(chosen) * k, n * k))
            solved = solved.reshape(len(chosen) * k, n, k).transpose(1, 0, 2)
            schur -= np.einsum("nqc,nqd->ncd", flat, solved)
            slope = slope - np.einsum("nqc,q->nc", solved, gradient.ravel())
            schur[:, own, own] += _RIDGE
        return 0.5 * np.einsum("nc,nc->n", slope, np.linalg.solve(schur, slope[:, :, None])[:, :, 0])

    def _shares(self) -> np.ndarray:
        scores = self.K[:, self.chosen] @ self.A if self.chosen else np.zeros(self.Y.shape)
        return softmax(scores, axis=1)

    def _gram(self) -> np.ndarray:
        return self.K[np.ix_(self.chosen, self.chosen)]

    def _derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (q, k) and Hessian (q k, q k) of H."""
        n, k = self.Y.shape
        shares, columns, gram = self._shares(), self.K[:, self.chosen], self._gram()
        gradient = columns.T @ (shares - self.Y) / n + self.regularization * gram @ self.A
        blocks = np.empty((len(gram), k, len(gram), k))
        for c in range(k):
            for d in range(k):
                weight = shares[:, c] * ((c == d) - shares[:, d]) / n
                blocks[:, c, :, d] = columns.T @ (columns * weight[:, None]) + (c == d) * self.regularization * gram
        hessian = blocks.reshape(len(gram) * k, len(gram) * k)
        return gradient, hessian + _RIDGE * np.eye(len(hessian))
