"""Auto: a stack of ridges, LMS, hinge, label averages and cells on features of a metric, learned at t = 2, 4, ..., and
of boxes, which learn what the others leave.
"""

import math

import numpy as np

from ..numerics.boxes import draw_boxes
from ..numerics.cells import draw_tables
from ..numerics.settling import SIZES, directions

RATES = 0.999, 0.9998


def learn(spec, loss, X, y, outputs, seed):
    model = Model(spec, outputs, seed, regression=outputs == 1 and loss(1.0, np.array([3.0]))[0] > 0)
    scores, losses = [], []
    for x, target in zip(X, y, strict=True):
        scores.append(model.show(x))
        losses.append(loss(target, scores[-1])[0])
        model.learn(x, target)
    return np.array(scores), model.D, losses


class Model:
    def __init__(self, spec, K, seed, *, regression):
        self.spec, self.K, self.seed, self.regression = spec, K, seed, regression
        self.size = SIZES[spec.size]
        self.D, self.X, self.targets, self.U = self.size.used[0][1], [], [], None
        self.center, self.unit, self.solve_at, self.build_at = 0.0, 1.0, math.inf, math.inf
        M = 1 + 2 + 2 + 3 + 2 + 1 + 1
        self.rest, self.boxes = [], None
        self.SA, self.Sb, self.averages = 10.0 * np.eye(M), 10.0 * np.eye(M)[0], np.zeros((2, K))
        self.kinds, self.start, self.watched = None, None, {}
        self.pick, self.offset = draw_tables(self.size.tables, self.size.used[0][1] // 2, seed)

    # A row.

    def show(self, x):
        t = len(self.X)
        if t < 2:
            return np.mean(self.all_outputs(0.0, 1.0), axis=0) if t else np.zeros(self.K)
        v = standardised(x[None], *self.standards)
        self.z, self.plain = self.lift(v)[0], fourier(v, self.P)[0]
        self.e = self.say(self.z, self.plain)
        self.e[-1] = self.boxes.sum(x) if self.boxes else 0.0
        self.w = np.linalg.solve(self.SA, self.Sb)
        f = self.w @ self.heard(self.e)
        if not self.regression:
            return f
        return np.clip(self.center + self.unit * f, min(self.targets), max(self.targets))

    def outputs(self, target, center, unit):
        if self.regression:
            return np.array([(target - center) / unit])
        if self.K == 1:
            return np.array([target])
        return np.where(np.arange(self.K) == target, 1.0, -1.0)

    def say(self, z, plain):
        ridges = np.vstack([self.W @ z, self.R @ plain])
        if not self.regression:
            ridges = np.clip(ridges, -1.0, 1.0)
        hinge = self.H @ z if not self.regression else np.zeros((3, self.K))
        return np.vstack([ridges, self.V @ z, hinge, self.averages, np.zeros((2, self.K))])

    def heard(self, e):
        e = e.copy()
        e[5], e[6], e[7] = np.tanh(e[5] / 1.0), np.tanh(e[6] / 10.0), np.tanh(e[7] / 1.0)
        return e

    def learn(self, x, target):
        if self.unit == 1e-12 and target != self.center:
            self.unit = abs(target - self.center)
        y = self.outputs(target, self.center, self.unit)
        if len(self.X) >= 2:
            y = np.clip(y, -1e4, 1e4)
        rest = self.w[:-1] @ self.heard(self.e)[:-1] if len(self.X) >= 2 else self.show(x)
        if self.boxes:
            self.boxes.learn(x, y - rest)
        self.rest.append(self.center + self.unit * rest)
        self.X.append(x)
        self.targets.append(target)
        t = len(self.X)
        if t > 2:
            self.watch(x)
            h = self.heard(self.e)
            self.learn_fast(self.z, y, self.e)
            self.SA = 0.999 * self.SA + h @ h.T / self.K + 0.01 * np.eye(len(h))
            self.Sb = 0.999 * self.Sb + h @ y / self.K + 0.01 * np.eye(len(h))[0]
            self.learn_averages(y)
            self.Z, self.Y = np.vstack([self.Z, self.z]), np.vstack([self.Y, y])
            self.plains = np.vstack([self.plains, self.plain])
        if t in 2 ** np.arange(1, 14):
            self.settle(t)
            self.build_at, self.solve_at = t if t < 1024 else t + min(max(t // 16, 128), 256), math.inf
        if t == self.build_at:
            self.build(t)
        elif t == self.solve_at:
            self.solve()
        elif t % 128 == 0:
            self.wake()
            self.fade(t - len(self.ages[0]))
            if t % 256 == 0:
                self.solve_recent(t // 256 % 2)
        if t in (self.build_at, self.solve_at):
            self.solve_at = t + (max(2, t // 8) if t < 1024 else t // 4)

    def watch(self, x):
        """The mean and variance of a constant column since it has been another, and how often it was."""
        _, center, inverse = self.standards
        for j in np.flatnonzero(inverse == 0):
            other = abs(x[j] - center[j]) > 1e-6 * abs(center[j])
            if other or j in self.watched:
                others, n, m, s = self.watched.get(j, (0, 0, 0.0, 0.0))
                r = max(1 / (n + 1), 1 / 1024)
                self.watched[j] = others + other, n + 1, m + r * (x[j] - m), (1 - r) * (s + r * (x[j] - m) ** 2)

    def wake(self):
        _, center, inverse = self.standards
        for j, (others, _, m, s) in self.watched.items():
            if inverse[j] == 0 and others >= 8 and math.sqrt(s) > 1e-9 * (abs(m) + 1e-9):
                center[j], inverse[j] = m, 1 / math.sqrt(s)

    def learn_fast(self, z, y, e):
        if not self.regression:
            for q, step in enumerate((1.0, 10.0, 0.02)):
                f = e[5 + q]
                if self.K == 1:
                    self.H[q, 0] += step * y[0] * z * (y[0] * f[0] < 1)
                else:
                    right = int(np.argmax(y))
                    rival = int(np.argmax(np.where(np.arange(self.K) == right, -np.inf, f)))
                    if f[right] - f[rival] < 1:
                        self.H[q, right] += step * z
                        self.H[q, rival] -= step * z
        for q, step in enumerate((0.3, 1.0)):
            self.V[q] += step * np.outer(y - e[3 + q], z)

    def learn_averages(self, y):
        self.averages = self.averages + np.array([[0.5], [0.1]]) * (y - self.averages)

    def solve(self):
        A = self.Z.T @ self.Z + self.ridge * np.eye(self.D)
        self.W = np.linalg.solve(A, self.Z.T @ self.Y).T

    def fade(self, n):
        """n newest rows join those that least squares of the recent past knows, whose shares fade by as many."""
        self.ages = [np.append(share * rate**n, np.ones(n)) for share, rate in zip(self.ages, RATES, strict=True)]

    def solve_recent(self, i):
        Z, Y = self.plains[: len(self.ages[i])], self.Y[: len(self.ages[i])]
        A = Z.T @ (self.ages[i][:, None] * Z) + 0.1 * np.eye(Z.shape[1])
        self.R[i] = np.linalg.solve(A, Z.T @ (self.ages[i][:, None] * Y)).T

    # A new map.

    def settle(self, N):
        """Find a metric, a width and a ridge for it."""
        X, d = np.array(self.X), len(self.X[0])
        self.found = self.columns(X), self.scale()
        V, Y = standardised(X, *self.found[0]), self.all_outputs(*self.found[1])
        gamma = getattr(self.spec.kernel, "gamma", "scale")
        first = 0.08 if gamma == "scale" else min(max(gamma * d, 0.01), 10.0)
        if N < 64:
            self.metric, self.ridge, self.width = np.ones(d), 0.1, first
        else:
            omega = self.omega(d, self.searched(N) // 2)
            compared = (LeftOut if N < 256 else Compared)(V, Y, omega, self.d, classes=not self.regression)
            if N < 256:
                fits = [compared.widened(compared.fit(T, first), 2.0) for T in (np.ones(d), self.raw)]
                _loss, self.ridge, _, self.metric, self.width = min(fits, key=lambda fit: fit[0])
                self.start = self.metric, self.width
            else:
                if self.kinds is None:
                    T, c = self.start
                    self.kinds = dict.fromkeys((np.diag, np.asarray)[: 2 if d <= 256 else 1], (T, c))
                kinds = self.kinds if N < 8192 else {self.kind: self.kinds[self.kind]}
                ends = {kind: compared.improved(kind, *begun, known=N > 256) for kind, begun in kinds.items()}
                self.kind = min(ends, key=lambda kind: ends[kind][0])
                best = ends[self.kind]
                self.kinds = {k: fit[3:] for k, fit in ends.items() if N < 2048 or fit[0] <= 1.005 * best[0]}
                _, self.ridge, _, self.metric, self.width = best

    def build(self, t):
        """Learn all rows anew with what was found."""
        X, N, L = np.array(self.X), 2 ** int(math.log2(t)), self.size.recent
        self.convert(self.unit / self.found[1][1])
        self.standards, (self.center, self.unit) = self.found
        V, d, self.Y = standardised(X, *self.standards), X.shape[1], self.all_outputs(self.center, self.unit)
        self.D = [D for first, D in self.size.used if first <= N][-1]
        self.U = stretched(self.metric, self.width, self.omega(d, self.D // 2), self.d)
        self.U[self.standards[2] == 0] = 0.0
        self.Z = self.lift(V)
        self.solve()
        plain = directions(d, L // 2, self.seed + 1).copy()
        if N >= 64:
            n = N - N // 4
            low, high = np.quantile(X[:n], 0.01, axis=0), np.quantile(X[:n], 0.99, axis=0)
            plain[np.mean((X[n:N] < low) | (X[n:N] > high), axis=0) > 0.5] = 0.0
        self.P = stretched(np.ones(d), 0.3, plain, self.d)
        self.plains, self.ages, self.R = fourier(V, self.P), [np.zeros(0)] * 2, np.zeros((2, self.K, L))
        for first in range(0, t, 512):
            self.fade(min(512, t - first))
        self.V, self.H = np.zeros((2, self.K, self.D)), np.zeros((3, self.K, self.D))
        self.averages = np.zeros((2, self.K))
        margins = not self.regression and N >= 256
        for i in range(max(0, t - 256), t):
            if margins and i == N:
                self.H[2] = squared_hinge(self.Z[:N], self.Y[:N], self.ridge)
            self.learn_fast(self.Z[i], self.Y[i], self.say(self.Z[i], self.plains[i]))
            self.learn_averages(self.Y[i])
        if margins and t == N:
            self.H[2] = squared_hinge(self.Z, self.Y, self.ridge)
        self.solve_recent(0)
        self.solve_recent(1)
        if N >= 64:
            self.box(X, N)

    def convert(self, unit):
        """What rows told the stack beyond its prior was of targets in a unit that is so many of the new one."""
        prior = 10.0 * np.eye(len(self.SA))
        self.SA = prior + unit**2 * (self.SA - prior)
        self.Sb = prior[0] + unit**2 * (self.Sb - prior[0])

    def box(self, X, N):
        """Boxes of the columns that matter, which learn what was left of all rows."""
        varying = self.standards[2] > 0
        T = np.diag(self.metric) if self.metric.ndim == 1 else self.metric
        squares = varying * np.sum(T**2, axis=0) if N >= 256 else varying * 1.0
        places = max(128, self.size.places >> max(0, math.ceil(math.log2(self.K)) - 1))
        edges = np.sort(X[:N], axis=0)[[(2 * i + 1) * N // 128 for i in range(64)]]
        self.boxes = Boxes(
            *draw_boxes(squares / max(squares.sum(), 1e-300), self.size.boxes, self.seed), edges, places, self.K
        )
        for x, y, rest in zip(X, self.Y, self.rest, strict=True):
            self.boxes.learn(x, y - (rest - self.center) / self.unit)

    def searched(self, N):
        return [D for first, D in self.size.searched if first <= N][-1]

    def omega(self, d, n):
        kernel = type(self.spec.kernel)(**{**self.spec.kernel.get_params(), "gamma": 0.5})
        return directions(d, n, self.seed) * kernel.scales(self.seed, n)

    def scale(self):
        if not self.regression:
            return 0.0, 1.0
        if min(self.targets) == max(self.targets):
            return self.targets[0], 1e-12
        return np.mean(self.targets), np.std(self.targets) + 1e-12

    def all_outputs(self, center, unit):
        return np.array([self.outputs(target, center, unit) for target in self.targets])

    def columns(self, X):
        """What tames, centers and scales the columns of these rows."""
        d = X.shape[1]
        heavy = np.zeros(d)
        for j in range(d):
            x = X[:, j]
            sizes = np.abs(x[x != 0])
            tailed = np.mean(((x - x.mean()) / max(x.std(), 1e-12)) ** 4) > 10
            if tailed and len(sizes) > 3 and sizes.max() > 4 * np.median(sizes):
                heavy[j] = np.median(sizes)
        G = tamed(X, heavy)
        m, s = G.mean(axis=0), G.std(axis=0)
        varies = s > 1e-9 * (np.abs(m) + 1e-9)
        inverse = np.array([1 / a if v else 0.0 for a, v in zip(s, varies, strict=True)])
        self.d = max(1, np.count_nonzero(inverse))
        self.raw = np.where(varies, s, 0.0) / (math.sqrt(np.mean(s[varies] ** 2)) if varies.any() else 1.0)
        return heavy, m, inverse

    def lift(self, V):
        return fourier(V, self.U)


def squared_hinge(Z, Y, ridge):
    """Least squares whose targets lie beyond the margin where f does, with momentum, until a step gains little."""
    A, before, momentum = Z.T @ Z + ridge * np.eye(Z.shape[1]), math.inf, 1.0
    W = V = np.linalg.solve(A, Z.T @ Y).T
    for _ in range(48):
        F = Z @ V.T
        left = np.sum(np.maximum(1 - Y * F, 0) ** 2) + ridge * np.sum(V**2)
        if left > 0.998 * before:
            break
        new = np.linalg.solve(A, Z.T @ (Y * np.maximum(1, Y * F))).T
        later = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        V, W, momentum, before = new + (momentum - 1) / later * (new - W), new, later, left
    return W


def shifts(losses):
    """After which rows another model is tried, as long as none takes over: pieces of 128 rows are of another stream."""
    found, pieces, m, s, lowest = [], 0, 0.0, 0.0, None
    for t in range(8192 + 256 + 128, len(losses) + 1, 128):
        piece = np.array(losses[t - 128 : t])
        spread, own = max(math.sqrt(s), 0.03 * m), piece.std() / math.sqrt(128)
        sudden = pieces >= 8 and piece.mean() > m + 5 * max(spread, own)
        slow = lowest is not None and m > max(1.3 * lowest, lowest + 5 * math.sqrt(s / 63))
        if sudden or slow:
            pieces, lowest = 0, None
            if not found or t > found[-1] + 1280:
                found.append(t)
            continue
        off = piece.mean() - m if pieces < 8 else min(piece.mean() - m, 5 * spread)
        pieces += 1
        r = max(1 / pieces, 1 / 32)
        m, s = m + r * off, (1 - r) * (s + r * off**2)
        if pieces >= 32:
            lowest = m if lowest is None else min(lowest, m)
    return found


def tamed(X, heavy):
    return np.array(
        [[math.copysign(math.log1p(abs(a) / h), a) if h else a for a, h in zip(x, heavy, strict=True)] for x in X]
    )


def standardised(X, heavy, m, inverse):
    return (tamed(X, heavy) - m) * inverse


def fourier(V, U):
    return np.hstack([np.sin(V @ U), np.cos(V @ U)]) / math.sqrt(U.shape[1])


def stretched(metric, width, omega, d):
    T = np.diag(metric) if metric.ndim == 1 else metric
    return math.sqrt(2 * width / d) * T @ omega


class Boxes:
    """The sum of a row's boxes; each cuts the columns `pick` at quantiles."""

    def __init__(self, pick, offset, edges, places, K):
        self.pick, self.offset, self.edges, self.places = pick, offset, edges, places
        self.tables = pick.shape[1]
        self.bins = np.repeat([4, 6, 8, 16], self.tables // 4)
        self.f, self.n = np.zeros((self.tables, places, K)), np.zeros((self.tables, places), int)

    def of(self, x):
        ranks = np.sum(self.edges < x, axis=0) + np.sum(self.edges <= x, axis=0)
        found = []
        for r in range(self.tables):
            word = 7919 * r + 1
            for j, offset in zip(self.pick[:, r], self.offset[:, r], strict=True):
                if j >= 0:
                    cut = (int(ranks[j]) * int(self.bins[r]) + int(offset)) // 128
                    word = (word ^ (cut + 1_000_003)) * 0x9E3779B97F4A7C15 % 2**64
                    word ^= word >> 29
            found.append(word % self.places)
        return np.arange(self.tables), np.array(found)

    def sum(self, x):
        return self.f[self.of(x)].sum(axis=0)

    def learn(self, x, y):
        box = self.of(x)
        self.n[box] += 1
        steps = np.maximum(0.05, 2.0 / np.sqrt(self.n[box])) / self.tables
        self.f[box] += np.outer(steps, y - self.f[box].sum(axis=0))


class Compared:
    """Settings that are compared on every third row."""

    def __init__(self, V, Y, omega, d, *, classes):
        self.V, self.Y, self.omega, self.d, self.classes = V, Y, omega, d, classes
        self.judges = np.arange(len(V)) % 3 == 2

    def fit(self, metric, width):
        Z = self.lift(metric, width)
        Za, Ya, best = Z[~self.judges], self.Y[~self.judges], None
        for ridge in (0.01, 0.1, 1.0):
            W = np.linalg.solve(Za.T @ Za + ridge * np.eye(Z.shape[1]), Za.T @ Ya)
            loss = self.loss(Z[self.judges] @ W, self.Y[self.judges])
            if best is None or loss < best[0]:
                best = loss, ridge, W, metric, width
        return best

    def lift(self, metric, width):
        return fourier(self.V, stretched(metric, width, self.omega, self.d))

    def gradients(self, kind, W, metric, width):
        """M^(1/2) of trace d; `kind` takes M, or its diagonal."""
        U = stretched(metric, width, self.omega, self.d)
        Z, half = self.lift(metric, width)[~self.judges], U.shape[1]
        M = 0.0
        for w in W.T:
            G = (Z[:, half:] * w[:half] - Z[:, :half] * w[half:]) @ U.T
            M = M + G.T @ G
        if kind is np.diag:
            M = np.diag(np.diag(M))
        values, vectors = np.linalg.eigh(M)
        share = 1e-3 * max(values.sum(), 1e-30) / self.d
        if kind is np.diag:
            M = np.diag(M) + share
            return np.sqrt(M * self.d / M.sum())
        values = np.maximum(values, 0) + share
        return (vectors * np.sqrt(values * self.d / values.sum())) @ vectors.T

    def improved(self, kind, metric, width, *, known):
        best = self.fit(metric, width)
        if not known:
            best = self.widened(best, 2.0)
        for gain in (1.02, 0.995, 0.995):
            new = self.widened(self.fit(self.gradients(kind, *best[2:]), best[4]), 2.0)
            if new[0] >= best[0] * gain:
                break
            best, known = new, False
        return self.widened(best, 2.0) if known else best

    def loss(self, S, Y):
        if not self.classes:
            return np.sum(np.mean((S - Y) ** 2, axis=1))
        if Y.shape[1] == 1:
            return np.sum(np.maximum(0, 1 - S * Y) ** 2)
        margins = [(s[y > 0][0] - s[y < 0].max()) / 2 for s, y in zip(S, Y, strict=True)]
        return np.sum(np.maximum(0, 1 - np.array(margins)) ** 2)

    def widened(self, best, factor):
        first, tried = best[4], math.inf
        for by in (factor, 1 / factor):
            width = first * by
            while 0.004 < width < 40:
                new = self.fit(best[3], width)
                tried = new[0]
                if new[0] >= best[0]:
                    break
                best, width = new, width * by
            if best[4] != first or tried < 1.01 * best[0]:
                break
        return best


class LeftOut(Compared):
    """Settings that are compared on every row, as if it had not been learned."""

    def fit(self, metric, width):
        Z, best = self.lift(metric, width), None
        A, b = Z.T @ Z, Z.T @ self.Y
        for ridge in (0.01, 0.1, 1.0):
            system = A + ridge * np.eye(Z.shape[1])
            said = [
                z @ np.linalg.solve(system - np.outer(z, z), b - np.outer(z, y)) for z, y in zip(Z, self.Y, strict=True)
            ]
            loss = self.loss(np.array(said), self.Y)
            if best is None or loss < best[0]:
                best = loss, ridge, None, metric, width
        return best
