"""What a learner without parameters settles on its first rows: the scale of columns, a metric, a width, a ridge.

Features are z(x) = (sin, cos)(U'v) / sqrt(D/2) of standardised columns v, U = sqrt(2 c / d) T Omega: T is the metric, c
the width, Omega has orthogonal directions. A metric is learned from average gradient outer products, T <- M^(1/2), M =
sum_k E grad f_k grad f_k' (Radhakrishnan, Beaglehole, Pandit, Belkin 2022), all of it or its diagonal. Every third row
is not learned from and judges: the squared error, or, of classes, the squared hinge of the margin to the rival. Before
there is a metric every row judges, left out of the others.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .blas import add_products
from .compile import compiled
from .elementary import sincos
from .memory import zeros
from .second_order import least_squares, products
from .stepwise import Stepwise

RIDGES = 0.01, 0.1, 1.0
WIDTHS = 0.004, 40.0  # no width is tried beyond these
FIRST_WIDTH = 0.08
KURTOSIS, TAIL = 10.0, 4.0  # beyond which a column has heavy tails
# A metric from more rows is welcome if it is hardly worse; a second step, and a third, have to pay.
GAINS = 1.02, 0.995, 0.995
LEAST = 1e-3  # of the mean eigenvalue of M is added to all
BLOCK = 512  # rows that are lifted together
LINE = 16  # numbers that a cache line holds at most
DIAGONAL, FULL = 0, 1
# Rows at which things are settled: at all, by comparing, boxes, a metric, for the last time.
FIRST, FIRST_SEARCH, FIRST_BOXES, FIRST_METRIC, LAST = 2, 64, 64, 256, 8192
TREND = 0.5  # a column leaves the range of its past in more than this share of the newest rows
NEWEST = 6144  # rows, on which settings are compared
WIDEST_FULL = 256  # features; beyond, a metric is a diagonal
ONE_KIND, WORSE = 2048, 1.005  # from which row on a kind of metric that is so much worse is given up
NEAR = 1.01  # where one way is no worse than this, the best width lies between, and the other way is not tried


class Size(NamedTuple):
    """From which settling on a map has how many features, while it is searched for and when it is used."""

    searched: tuple[tuple[int, int], ...]
    used: tuple[tuple[int, int], ...]
    tables: int
    cells: int  # of a table; a power of two
    recent: int  # features of least squares that forgets
    boxes: int  # tables of them
    places: int  # of such a table; a power of two


SIZES = {
    "small": Size(((0, 128),), ((0, 128), (1024, 256)), 16, 1 << 12, 64, 32, 1 << 10),
    "default": Size(((0, 512), (1024, 256), (4096, 512)), ((0, 512), (1024, 1024)), 64, 1 << 13, 256, 128, 1 << 12),
    "large": Size(((0, 512),), ((0, 512), (1024, 1024), (8192, 2048)), 64, 1 << 16, 256, 256, 1 << 13),
}


def since(steps: tuple[tuple[int, int], ...], row: int) -> int:
    """The value of the newest step up to a row."""
    return [value for first, value in steps if row >= first][-1]


class Columns(NamedTuple):
    """v = (g(x) - center) * scale; g is a signed logarithm of x / heavy where a column has heavy tails."""

    heavy: np.ndarray  # (d,) float64; 0: the column as it is
    center: np.ndarray  # (d,) float64
    scale: np.ndarray  # (d,) float64; 0: the column is constant


def no_columns(width: int) -> Columns:
    return Columns(np.zeros(width), np.zeros(width), np.zeros(width))


def columns_of(X: np.ndarray) -> Columns:
    """How the columns of these rows are standardised. Requires: float64."""
    center = X.mean(axis=0)
    squares = (X - center) ** 2
    variance = squares.mean(axis=0)
    squares *= squares
    kurtosis = squares.mean(axis=0) / np.maximum(variance, 1e-24) ** 2
    deviation, heavy = np.sqrt(variance), np.zeros(X.shape[1])
    for j in np.flatnonzero(kurtosis > KURTOSIS):
        sizes = np.abs(X[X[:, j] != 0, j])
        if len(sizes) > 3 and sizes.max() > TAIL * np.median(sizes):
            heavy[j] = np.median(sizes)
            tamed = _logarithm(X[:, j], heavy[j])
            center[j], deviation[j] = tamed.mean(), tamed.std()
    some = varies(center, deviation)
    return Columns(heavy, center, np.where(some, 1.0 / np.where(some, deviation, 1.0), 0.0))


def varies(center: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Whether columns are more than constant."""
    return np.asarray(deviation > 1e-9 * (np.abs(center) + 1e-9))


def standardised(columns: Columns, X: np.ndarray, dtype: Any) -> np.ndarray:
    V = X - columns.center
    for j in np.flatnonzero(columns.heavy):
        V[:, j] = _logarithm(X[:, j], columns.heavy[j]) - columns.center[j]
    return (V * columns.scale).astype(dtype)


def _logarithm(x: np.ndarray, unit: float) -> np.ndarray:
    return np.asarray(np.copysign(np.log1p(np.abs(x) / unit), x))


def as_they_came(columns: Columns) -> np.ndarray:
    """The metric under which columns count as they came, scaled all by one number."""
    deviation = np.where(columns.scale > 0, 1.0 / np.where(columns.scale > 0, columns.scale, 1.0), 0.0)
    present = deviation[deviation > 0]
    return deviation / math.sqrt((present**2).mean()) if len(present) else deviation


def trending(columns: Columns, X: np.ndarray) -> np.ndarray:
    """(d,) whether a column goes where it never was, as a date or a row number does: most of the newest quarter of the
    rows lies outside the range of the others. What is learned of such values tells nothing of those to come.
    """
    n = len(X) - len(X) // 4
    low, high = np.quantile(X[:n], (0.01, 0.99), axis=0)
    outside = ((X[n:] < low) | (X[n:] > high)).mean(axis=0)
    return (outside > TREND) & (columns.scale > 0)


@lru_cache(maxsize=4)
def directions(width: int, n: int, seed: int) -> np.ndarray:
    """Omega, (width, n): orthogonal directions, `width` of them at a time, with the lengths of normal vectors. Those of
    a larger n begin with the same: what is found with few features holds for more of them. Not to be written to: every
    settling of a model asks for the same ones.
    """
    turns, lengths = np.random.default_rng(seed).spawn(2)
    times = -(-n // width)
    turned = np.linalg.qr(turns.standard_normal((times, width, width)))[0]
    turned *= np.sqrt(lengths.chisquare(width, (times, 1, width)))
    found = np.ascontiguousarray(turned.transpose(1, 0, 2).reshape(width, -1)[:, :n])
    found.setflags(write=False)
    return found


def later_directions(first: int, width: int, n: int, seed: int) -> np.ndarray:
    """(width - first, n): rows for columns that come later, each a function of (seed, column), as normal as Omega's."""
    rows = [np.random.default_rng([seed, 3, column]).standard_normal(n) for column in range(first, width)]
    return np.array(rows).reshape(-1, n)


def stretched(metric: np.ndarray, width: float, omega: np.ndarray, n_varying: int) -> np.ndarray:
    """U = sqrt(2 width / d) T Omega; a metric is (d,), its diagonal, or (d, d)."""
    turned = metric[:, None] * omega if metric.ndim == 1 else metric @ omega
    return turned * math.sqrt(2.0 * width / max(1, n_varying))


@compiled
def _sincos_rows(projected, z):
    half = projected.shape[1]
    c = z.dtype.type(1.0 / math.sqrt(half))
    for i in range(projected.shape[0]):
        sincos(projected[i], z[i, :half], z[i, half:])
        for j in range(2 * half):
            z[i, j] *= c


def lifted(projected: np.ndarray) -> np.ndarray:
    """z of the rows VU."""
    Z = np.empty((len(projected), 2 * projected.shape[1]), projected.dtype)
    _sincos_rows(projected, Z)
    return Z


class Fit(NamedTuple):
    loss: float  # on the rows that judge
    ridge: float
    weights: np.ndarray  # (K, D)
    metric: np.ndarray  # from the rows learned from
    width: float
    products: np.ndarray | None  # (D, D) Z'Z of the rows learned from, its lower triangle; None where they are few


class Search:
    """Metrics, widths and ridges on some rows: V standardised (n, d), Y targets (n, K), shares (n,)."""

    def __init__(self, V: np.ndarray, Y: np.ndarray, share: np.ndarray, omega: np.ndarray, *, classes: bool):
        judges = np.arange(len(V)) % 3 == 2
        order = np.argsort(judges, kind="stable")  # those that judge come last
        self.omega, self.classes, self.n_varying = omega, classes, int((V != 0).any(axis=0).sum())
        self.V, self.n_known = V[order], int((~judges).sum())
        self.judging, self.share = Y[judges], share[judges]
        self.root = np.sqrt(share[~judges]).astype(V.dtype)[:, None]
        D, K = 2 * omega.shape[1], Y.shape[1]
        # Targets lie behind the features, so that one product has what both come to; rows begin on cache lines.
        self.rows = zeros((len(V), -(-(D + K) // LINE) * LINE), V.dtype)[:, : D + K]
        self.rows[: self.n_known, D:] = self.known = self.root * Y[~judges]
        self.Z = self.rows[:, :D]

    def fit(self, metric: np.ndarray, width: float) -> Fit:
        U, n, (D, K) = self.map(metric, width), self.n_known, (self.Z.shape[1], self.known.shape[1])
        sums = None if n < D else np.zeros((D + K, D + K), self.Z.dtype)
        for first in range(0, n, BLOCK):
            self.lift(U, first, min(first + BLOCK, n))
            if sums is not None:
                add_products(sums, self.rows[first : min(first + BLOCK, n)])
        known = None if sums is None else (sums[:D, :D], sums[D:, :D])
        weights = np.stack(list(least_squares(self.Z[:n], self.known, RIDGES, known)))
        scores = self.lift(U, n, len(self.V)) @ weights.reshape(-1, D).T
        losses = [self.loss(scores[:, i * K : (i + 1) * K]) for i in range(len(RIDGES))]
        best = int(np.argmin(losses))
        return Fit(losses[best], RIDGES[best], weights[best], metric, width, None if known is None else known[0])

    def lift(self, U: np.ndarray, first: int, stop: int) -> np.ndarray:
        """z of these rows, times the root of their shares where they are learned from."""
        rows = self.Z[first:stop]
        _sincos_rows(self.V[first:stop] @ U, rows)
        if first < self.n_known and (self.root[first:stop] != 1).any():
            rows *= self.root[first:stop]
        return rows

    def map(self, metric: np.ndarray, width: float) -> np.ndarray:
        return stretched(metric, width, self.omega, self.n_varying).astype(self.V.dtype)

    def loss(self, scores: np.ndarray) -> float:
        """Of scores for the rows that judge."""
        Y = self.judging
        if not self.classes:
            losses = ((scores - Y) ** 2).mean(axis=1)
        elif Y.shape[1] == 1:
            losses = np.maximum(0.0, 1.0 - scores * Y)[:, 0] ** 2
        else:
            right, rival = (scores * (Y > 0)).sum(axis=1), np.where(Y > 0, -np.inf, scores).max(axis=1)
            losses = np.maximum(0.0, 1.0 - (right - rival) / 2.0) ** 2
        return float(losses @ self.share)

    def widened(self, best: Fit, factor: float) -> Stepwise[Fit]:
        """Narrower or wider for as long as it helps."""
        first, tried = best.width, math.inf
        for by in (factor, 1.0 / factor):
            width = first * by
            while WIDTHS[0] < width < WIDTHS[1]:
                yield
                new = self.fit(best.metric, width)
                tried = new.loss
                if new.loss >= best.loss:
                    break
                best, width = new, width * by
            if best.width != first or tried < NEAR * best.loss:
                break
        return best

    def learned_metric(self, kind: int, fit: Fit) -> np.ndarray:
        """M^(1/2) of trace d: of the gradients of fit's function at the rows learned from.

        Of z = (s, c) and weights (a, b) a gradient is U (a c - b s), so that the sum of their outer products is U Q U',
        Q = sum_k a_k a_k' * sum c c' + b_k b_k' * sum s s' - a_k b_k' * sum c s' - its transpose, * number by number.
        """
        U, half, A = self.map(fit.metric, fit.width), self.omega.shape[1], fit.products
        if A is None:
            A = products(self.lift(U, 0, self.n_known))
        W, A, U = fit.weights.astype(np.float64), A.astype(np.float64), U.astype(np.float64)
        P = W.T @ W
        Q = np.tril(A[half:, half:] * P[:half, :half] + A[:half, :half] * P[half:, half:])
        Q[np.diag_indices(half)] /= 2.0
        Q -= A[half:, :half] * P[:half, half:]
        UQ = U @ (Q + Q.T)
        M = (UQ * U).sum(axis=1) if kind == DIAGONAL else UQ @ U.T
        d = max(1, self.n_varying)
        if kind == DIAGONAL:
            M = np.maximum(M, 0.0)
            M = M + LEAST * max(M.sum(), 1e-30) / d
            return np.asarray(np.sqrt(M * d / M.sum()))
        values, vectors = np.linalg.eigh(M)
        values = np.maximum(values, 0.0) + LEAST * max(values.sum(), 1e-30) / d
        return np.asarray((vectors * np.sqrt(values * d / values.sum())) @ vectors.T)

    def improved(self, kind: int, metric: np.ndarray, width: float, *, known: bool) -> Stepwise[Fit]:
        """The best after some steps of the metric, each with the width that fits it.

        known: an earlier search found this width; it is looked for again only where no step helps.
        """
        best = self.fit(metric, width)
        if not known:
            best = yield from self.widened(best, 2.0)
        for gain in GAINS:
            yield
            new = yield from self.widened(self.fit(self.learned_metric(kind, best), best.width), 2.0)
            if new.loss >= best.loss * gain:
                break
            best, known = new, False
        return (yield from self.widened(best, 2.0)) if known else best


class FewRows(Search):
    """The same where no row can be spared: each judges what is learned of the others."""

    def __init__(self, V: np.ndarray, Y: np.ndarray, share: np.ndarray, omega: np.ndarray, *, classes: bool):
        super().__init__(V, Y, share, omega, classes=classes)
        self.V, self.judging, self.share = V, Y, share

    def fit(self, metric: np.ndarray, width: float) -> Fit:
        """Without itself row i is off by a_i / C_ii, C = (ZZ' + ridge)^-1, a = CY; one spectrum serves all ridges."""
        root = np.sqrt(self.share)[:, None]
        Z, Y = root * lifted(self.V @ self.map(metric, width)), root * self.judging
        values, vectors = np.linalg.eigh(Z @ Z.T)
        turned, squares, best = vectors.T @ Y, vectors**2, None
        for ridge in RIDGES:
            inverse = 1.0 / (np.maximum(values, 0.0) + ridge)
            off = (vectors * inverse) @ turned / (squares @ inverse)[:, None]
            loss = self.loss(self.judging - np.divide(off, root, out=np.zeros_like(off), where=root > 0))
            if best is None or loss < best.loss:
                best = Fit(loss, ridge, np.empty((0, 0)), metric, width, None)
        assert best is not None
        return best


class Metrics(NamedTuple):
    """What was found, and where the next search begins."""

    diagonal: np.ndarray  # (d,)
    full: np.ndarray  # (d, d), or empty
    widths: np.ndarray  # (2,) of DIAGONAL and FULL; 0: none, or given up
    best: np.ndarray  # 0-d, which of them is used
    ridge: np.ndarray  # 0-d
    n_varying: np.ndarray  # 0-d, columns that were not constant

    @property
    def metric(self) -> np.ndarray:
        return self.full if self.best == FULL else self.diagonal

    @property
    def width(self) -> float:
        return float(self.widths[int(self.best)])


def no_metrics(d: int, width: float, settled: int) -> Metrics:
    """Before any search; with the shapes that they have after settling at a row."""
    full = d if settled >= FIRST_METRIC and d <= WIDEST_FULL else 0
    found = np.array(DIAGONAL), np.array(RIDGES[1]), np.zeros((), np.int64)
    return Metrics(np.ones(d), np.eye(full), np.array([width, 0.0]), *found)


def settling_row(t: int) -> int:
    """The last row up to t at which things are settled; 0: none."""
    return 0 if t < FIRST else min(LAST, 1 << (t.bit_length() - 1))


def settle(search: Search, metrics: Metrics, columns: Columns, N: int, width: float) -> Stepwise[Metrics]:
    """What is best after N rows, found in steps of one fit.

    Requires: N is a row at which things are settled, and not the first of them.
    """
    d = len(columns.scale)
    if N < FIRST_METRIC:
        fits = []
        for metric in (np.ones(d), as_they_came(columns)):
            fits.append((yield from search.widened(search.fit(metric, width), 2.0)))
        fit = min(fits, key=lambda fit: fit.loss)
        return metrics._replace(diagonal=fit.metric, widths=np.array([fit.width, 0.0]), ridge=np.array(fit.ridge))
    begun = {DIAGONAL: metrics.diagonal, FULL: metrics.full}
    widths = metrics.widths
    if N == FIRST_METRIC and d <= WIDEST_FULL:
        begun[FULL], widths = np.diag(metrics.diagonal), np.repeat(widths[:1], 2)
    found = {}
    for kind in begun:
        # The other kind is looked at for the searches to come, of which there are none after the last one.
        if widths[kind] > 0 and (N < LAST or kind == metrics.best):
            yield
            found[kind] = yield from search.improved(kind, begun[kind], float(widths[kind]), known=N > FIRST_METRIC)
    best = min(found, key=lambda kind: found[kind].loss)
    kept = [kind for kind, fit in found.items() if N < ONE_KIND or fit.loss <= WORSE * found[best].loss]
    return metrics._replace(
        diagonal=found[DIAGONAL].metric if DIAGONAL in kept else metrics.diagonal,
        full=found[FULL].metric if FULL in kept else begun[FULL],
        widths=np.array([found[kind].width if kind in kept else 0.0 for kind in (DIAGONAL, FULL)]),
        best=np.array(best),
        ridge=np.array(found[best].ridge),
    )
