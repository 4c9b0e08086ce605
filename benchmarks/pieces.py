"""What floors are made of: each function builds, for a case, a bare computation of as much as its run had to do."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm

from kernelstream.numerics.blas import add_products
from kernelstream.numerics.lifts.fourier import SINCOS
from kernelstream.numerics.memory import aligned
from kernelstream.numerics.pairs import table
from kernelstream.numerics.second_order import solved

from . import bare
from .cases import Case, margins

Bare = Callable[[], Any]
CHUNKS = (16, 64, 256)


def fastest(*ways: Bare) -> Bare:
    """The quickest of several ways to do the same, each tried twice (the first call compiles)."""
    if len(ways) == 1:
        return ways[0]

    def seconds(way: Bare) -> float:
        way()
        start = time.process_time()
        way()
        return time.process_time() - start

    return min(ways, key=seconds)


# Kernel rows.


def _kernel_rows(case: Case, which: np.ndarray, sizes: np.ndarray) -> Bare:
    """Gaussian kernel rows over sizes[t] points for the rows `which`, and K dots each; the faster of one loop over the
    differences and products by BLAS.
    """
    X, dtype = case.X[which], case.dtype
    most = int(sizes.max(initial=1))
    points = aligned(np.ascontiguousarray(_some_points(case, most).T))
    norms = aligned((points.astype(np.float64) ** 2).sum(0).astype(dtype))
    coef, row = aligned(np.full((case.n_outputs, most), 1e-3, dtype)), aligned(np.zeros(max(most, bare.TILE), dtype))
    gamma = np.dtype(dtype).type(case.spec.kernel.settled_gamma)
    if sp.issparse(X):
        parts = X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data
        return lambda: bare.sparse_gaussian_rows(*parts, points, norms, coef, sizes, gamma, row)
    squares = (X.astype(np.float64) ** 2).sum(1).astype(dtype)

    def by_products(chunk: int) -> Bare:
        G = aligned(np.zeros((chunk, most), dtype))

        def run() -> None:
            for a in range(0, len(X), chunk):
                rows, those = X[a : a + chunk], sizes[a : a + chunk]
                n = int(those.max())
                bare.products(rows, points[:, :n], G[: len(rows), :n])
                bare.finish_products(G[: len(rows)], squares[a : a + chunk], norms, coef, those, gamma)

        return run

    def by_differences() -> None:
        bare.gaussian_rows(X, points, coef, sizes, gamma, row)

    return fastest(by_differences, *(by_products(chunk) for chunk in CHUNKS[1:])) if len(X) else lambda: None


def _some_points(case: Case, n: int) -> np.ndarray:
    """n rows of the case, written out."""
    rows = case.X[np.arange(n) % len(case.y)]
    return rows.toarray() if sp.issparse(rows) else rows


def every_row(case: Case) -> Bare:
    return _kernel_rows(case, np.arange(len(case.y)), case.course.sizes)


def again_when_full(case: Case) -> Bare:
    full = np.flatnonzero(case.course.gone > 0)
    return _kernel_rows(case, full, case.course.sizes[full])


# What moving costs.


def sizes_moved(case: Case) -> np.ndarray:
    return case.course.sizes[case.course.moved]


def sizes_all(case: Case) -> np.ndarray:
    return case.course.sizes


def sizes_full(case: Case) -> np.ndarray:
    return case.course.sizes[case.course.gone > 0]


def passes(times: int) -> Callable[[Case], Bare]:
    def build(case: Case) -> Bare:
        sizes = sizes_full(case)
        values = aligned(np.ones(int(sizes.max(initial=1)), case.dtype))
        one = values.dtype.type(1)
        return lambda: bare.passes(values, sizes, times, one)

    return build


def _largest(sizes: np.ndarray, dtype: Any) -> Bare:
    values = aligned(np.ones(int(sizes.max(initial=1)), dtype))
    bits = values.view(f"i{values.itemsize}")
    return lambda: bare.largest_of(bits, sizes)


def nearest(case: Case) -> Bare:
    return _largest(case.course.sizes, case.dtype)


def neighbours(case: Case) -> Bare:
    """The new point looks for its neighbour, and every other point at whether the new one is nearer than its own."""
    sizes = sizes_full(case)
    values, others = (aligned(np.ones(int(sizes.max(initial=1)), case.dtype)) for _ in range(2))
    first = _largest(sizes, case.dtype)

    def run() -> None:
        first()
        bare.larger(values, others, sizes)

    return run


def quotients(case: Case) -> Bare:
    sizes = sizes_full(case)
    most = int(sizes.max(initial=1))
    slots = np.random.default_rng(0).integers(0, most, most).astype(np.uint64) % max(1, int(sizes.min(initial=most)))
    values, numerators, found = (aligned(np.ones(most, dtype)) for dtype in (case.dtype, np.float64, np.float64))
    return lambda: bare.quotients(values, slots, sizes, numerators, found)


def _axpys(sizes: np.ndarray, times: np.ndarray, dtype: Any) -> Bare:
    x, y = (aligned(np.ones(int(sizes.max(initial=1)), dtype)) for _ in range(2))
    return lambda: bare.axpys(x, y, sizes, times)


def coef_axpys(case: Case) -> Bare:
    sizes = sizes_moved(case)
    return _axpys(sizes, np.full(len(sizes), min(2, case.n_outputs)), case.dtype)


def scores_at_points(case: Case) -> Bare:
    """One axpy for a term that comes, one for a term that goes."""
    sizes = sizes_moved(case)
    gone = case.course.gone[case.course.moved] > 0
    return _axpys(sizes, min(2, case.n_outputs) * (1 + gone), np.float64)


def _solve(sizes: np.ndarray, way: str) -> Bare:
    most = int(sizes.max(initial=1))
    L, a, b = (aligned(part) for part in (bare.lower_factor(most), np.ones(most), np.zeros(most)))
    solves = bare.forward_solves if way == "forward" else bare.backward_solves
    return lambda: solves(L, sizes, a, b)


def solves(way: str, rows: Callable[[Case], np.ndarray]) -> Callable[[Case], Bare]:
    return lambda case: _solve(rows(case), way)


def margin_errors(case: Case) -> np.ndarray:
    """Rows on which Projectron++ looks for a projection: margin below 1, of the scores as they were."""
    return case.course.sizes[margins(case.ours()(), case.y) < 1]


def sizes_behind(case: Case) -> np.ndarray:
    """How many points stand behind the one that goes."""
    course = case.course
    full = course.gone > 0
    return np.maximum(course.sizes[full] - course.slots[full], 0)


def columns(case: Case) -> Bare:
    """A column of the inverse: a forward solve from the point on, a backward solve of all."""
    first, second = _solve(sizes_behind(case), "forward"), _solve(sizes_full(case), "backward")

    def run() -> None:
        first()
        second()

    return run


def downdates(case: Case) -> Bare:
    behind = sizes_behind(case)
    most = int(behind.max(initial=1))
    R, x = aligned(np.eye(most)), aligned(np.zeros(most))
    return lambda: bare.rank_one_updates(R, behind, x)


def _symmetric(products: np.ndarray, updates: np.ndarray) -> Bare:
    """Products with a symmetric matrix of these sizes, and outer products that are added to one: of a triangle of it,
    half the work, or of whole rows, which need nothing but dots and axpys.
    """
    most = int(max(products.max(initial=1), updates.max(initial=1)))
    M, v, out = aligned(np.eye(most)), aligned(np.ones(most)), aligned(np.zeros(most))

    def by_triangles() -> None:
        bare.triangle_products(M, products, v, out)
        bare.triangle_updates(M, updates, v, 1e-20)

    def by_rows() -> None:
        bare.symmetric_products(M, products, v, out)
        bare.rank_ones(M, updates, v, 1e-20)

    return fastest(by_triangles, by_rows)


def symmetric(times: int, rows: Callable[[Case], np.ndarray], *, outer: bool) -> Callable[[Case], Bare]:
    """So many products with a symmetric matrix for each of the rows, or outer products that are added to one."""

    def build(case: Case) -> Bare:
        sizes, none = np.repeat(rows(case), times), np.zeros(0, np.int64)
        return _symmetric(none, sizes) if outer else _symmetric(sizes, none)

    return build


def affine_projections(case: Case) -> Bare:
    sizes = case.course.sizes
    most, last = int(sizes.max(initial=1)), case.spec.rows
    H, coef = aligned(np.ones((last, most))), aligned(np.ones((case.n_outputs, most), case.dtype))
    return lambda: bare.affine_projections(H, coef, sizes, last, 1e-20)


def merges(case: Case) -> Bare:
    sizes = sizes_full(case)
    values = np.linspace(0, 1, int(sizes.max(initial=1)))
    grid, weights = table(), values[::-1].copy()

    def run() -> None:
        bare.lookups(grid, values, weights, sizes)
        bare.line_searches(len(sizes), -0.5)

    return run


def _gram_and_scores(sizes: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    most = max(3, int(sizes.max(initial=1)))
    return aligned(np.ones((most, most), dtype)), aligned(np.ones(most))


def ascents(case: Case) -> Bare:
    course = case.course
    sizes, times = course.sizes[course.moved], course.changed[course.moved]
    K, scores = _gram_and_scores(sizes, case.dtype)
    return lambda: bare.ascents(K, scores, sizes, times)


def pair_steps(case: Case) -> Bare:
    """A step for each two dual variables that changed."""
    course = case.course
    K, gradients = _gram_and_scores(course.sizes, case.dtype)
    free, keys = (aligned(np.zeros((2, len(gradients)))) for _ in range(2))
    gradients[:] = np.random.default_rng(0).normal(size=len(gradients))
    times = (course.changed + 1) // 2
    return lambda: bare.pair_steps(K, gradients, free, keys, course.sizes, times)


def gram_points(case: Case) -> Bare:
    """Where a point came, in another's place or as one more."""
    sizes, slots = case.course.sizes, case.course.slots
    came = (slots < sizes) | (np.diff(sizes, append=sizes[-1]) > 0)
    K, values = _gram_and_scores(sizes + 1, case.dtype)
    return lambda: bare.gram_points(K, values, sizes[came], slots[came])


def merged_scores(case: Case) -> Bare:
    sizes = sizes_full(case)
    K, scores = _gram_and_scores(sizes, case.dtype)
    weights = aligned(np.ones(len(scores)))
    return lambda: bare.merged_scores(K, scores, weights, sizes)


# Explicit features.


def _frequencies(case: Case) -> np.ndarray:
    """Numbers like the kernel's frequencies, (d, D)."""
    draws = np.random.default_rng(0).standard_normal((case.data.width, case.spec.n_components), np.float32)
    return aligned(np.asarray(np.sqrt(2 * case.spec.kernel.settled_gamma) * draws, case.dtype))


def _projections(case: Case, chunk: int, D: int) -> tuple[Callable[[int], int], np.ndarray, np.ndarray]:
    """(projects rows a .. a + chunk - 1 and tells how many there were, the projections, room for the features)."""
    X, dtype = case.X, case.dtype
    U = _frequencies(case)
    P, Z = aligned(np.zeros((chunk, D), dtype)), aligned(np.zeros((chunk, 2 * D), dtype))
    address, n = SINCOS.address(dtype), len(case.y)
    parts = (X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data) if sp.issparse(X) else None

    def run(a: int) -> int:
        b = min(a + chunk, n)
        if parts is None:
            bare.products(X[a:b], U, P[: b - a])
        else:
            bare.sparse_products(*parts, a, b, U, P)
        bare.sines_and_cosines(address, P, b - a, Z)
        return b - a

    return run, P, Z


def fourier(case: Case) -> Bare:
    D, dtype, moved = case.spec.n_components, case.dtype, case.course.moved

    def way(chunk: int) -> Bare:
        lift, _, Z = _projections(case, chunk, D)
        weights = aligned(np.zeros((case.n_outputs, 2 * D), dtype))

        def run() -> None:
            for a in range(0, len(case.y), chunk):
                n = lift(a)
                bare.linear_rounds(Z[:n], weights, moved[a : a + n], weights.dtype.type(1e-20))

        return run

    return fastest(*(way(chunk) for chunk in CHUNKS))


def second_order(case: Case) -> Bare:
    """Rows of the model's length by syrk, as many as go into its sums, and the solutions at the rows that are due."""
    length, n = case.finished.size, len(case.y)
    Z, sums = np.ones((512, length), case.dtype), np.zeros((length, length), case.dtype)
    A, b = np.eye(length), np.zeros((case.n_outputs, length))

    def run() -> None:
        due = 8
        for t in range(0, n, 512):
            add_products(sums, Z[: min(512, n - t)])
            while due <= t:
                solved(A, b, 1.0)
                due += max(8, min(4096, due // 8))

    return run


def lifted_rows(case: Case) -> Bare:
    """Projections, sines and cosines of rows by a map of the model's own length."""
    half, width, dtype = case.finished.size // 2, case.data.width, case.dtype
    X = np.ones((256, width), dtype)
    U, P, Z = np.ones((width, half), dtype), np.zeros((256, half), dtype), np.zeros((256, 2 * half), dtype)
    address = SINCOS.address(dtype)

    def run() -> None:
        for a in range(0, len(case.y), 256):
            rows = min(256, len(case.y) - a)
            bare.products(X[:rows], U, P[:rows])
            bare.sines_and_cosines(address, P, rows, Z)

    return run


def block_rounds(case: Case) -> Bare:
    """Dots with all features, and axpys on those whose kernels moved."""
    length, dtype = case.finished.size, case.dtype
    Z, weights = np.ones((256, length), dtype), aligned(np.zeros((case.n_outputs, length), dtype))
    changed, small = np.minimum(case.course.changed, length), weights.dtype.type(1e-20)

    def run() -> None:
        for a in range(0, len(case.y), 256):
            some = changed[a : a + 256]
            bare.partial_rounds(Z[: len(some)], weights, some, small)

    return run


def level_rounds(case: Case) -> Bare:
    """Dots for each interval that has begun, and axpys on those of their features that moved."""
    length, dtype, spec = case.finished.size, case.dtype, case.spec
    Z = np.ones((256, length), dtype)
    levels = [aligned(np.zeros((case.n_outputs, length), dtype)) for _ in range(spec.n_levels)]
    changed, small = case.course.changed, levels[0].dtype.type(1e-20)

    def run() -> None:
        for a in range(0, len(case.y), 256):
            some = changed[a : a + 256]
            begun = 1 + sum(a >= spec.shortest << level for level in range(spec.n_levels - 1))
            for level, weights in enumerate(levels[:begun]):
                bare.partial_rounds(Z[: len(some)], weights, np.clip(some - level * length, 0, length), small)

    return run


def other_kernels(case: Case) -> Bare:
    """For all kernels but one, of the same points: exp, and a dot for each output."""
    sizes = case.course.sizes
    most = int(sizes.max(initial=1))
    values, coef = aligned(np.ones(most, case.dtype)), aligned(np.ones((case.n_outputs, most), case.dtype))
    return lambda: bare.more_kernels(values, coef, sizes, len(case.spec.kernels) - 1)


def block_norms(case: Case) -> Bare:
    """The norm of all weights where they moved."""
    length, moved = case.finished.size, int(case.course.moved.sum())
    weights = aligned(np.zeros((1, length), case.dtype))
    Z, none = np.zeros((256, length), case.dtype), np.zeros(256, np.int64)

    def run() -> None:
        for a in range(0, moved * min(2, case.n_outputs), 256):
            bare.partial_rounds(Z[: min(256, moved - a)], weights, none, weights.dtype.type(0))

    return run


def plain_rounds(case: Case) -> Bare:
    """A dot for each output, and no move."""
    length, n = case.finished.size, len(case.y)
    Z, weights = np.ones((256, length), case.dtype), aligned(np.zeros((case.n_outputs, length), case.dtype))
    none = np.zeros(256, np.int64)

    def run() -> None:
        for a in range(0, n, 256):
            bare.partial_rounds(Z[: min(256, n - a)], weights, none, weights.dtype.type(0))

    return run


def covariances(case: Case) -> Bare:
    """Where the model moved: a product, and an update by rank one."""
    sizes = np.full(int(case.course.moved.sum()), case.finished.size)
    return _symmetric(sizes, sizes)


def sizes_of_rows(case: Case) -> np.ndarray:
    return case.course.sizes


def sizes_drawn(case: Case) -> np.ndarray:
    """Of rows that may still become points."""
    sizes = case.course.sizes
    return sizes[sizes < case.spec.budget]


def sized_covariances(case: Case) -> Bare:
    """A product a row with the covariance of the points there are, and an update of it by rank one."""
    return _symmetric(case.course.sizes, case.course.sizes)


def uncertain_covariances(case: Case) -> Bare:
    """A product where the margin may be too small for what the model is unsure of; an update where it moved."""
    spec, outputs = case.spec, 1.0 if case.n_outputs == 1 else 2.0
    most = float(norm.ppf(spec.confidence)) * np.sqrt(outputs * spec.variance)
    small = int((margins(case.ours()(), case.y) < most).sum())
    length, moved = case.finished.size, int(case.course.moved.sum())
    return _symmetric(np.full(small, length), np.full(moved, length))


def fourier_of_leavers(case: Case) -> Bare:
    """Features of the points that leave, several at a time, and their axpys."""
    D, K, gone = case.spec.n_components, case.n_outputs, int(case.course.gone.sum())
    lift, _, Z = _projections(case, 16, D)
    weights, moved = np.zeros((min(2, K), 2 * D), case.dtype), np.ones(16, bool)

    def run() -> None:
        for _ in range(0, gone, 16):
            lift(0)
            bare.linear_rounds(Z, weights, moved, weights.dtype.type(1e-20))

    return run


def widths(case: Case) -> Bare:
    D, dtype = case.spec.n_components, case.dtype
    X = case.X
    if not sp.issparse(X):
        n, d = X.shape
        X = sp.csr_array((X.reshape(-1), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), shape=X.shape)
    U = _frequencies(case)
    weights = aligned(np.zeros((case.n_outputs, 2 * D), dtype))
    room = tuple(aligned(np.zeros(shape, dtype)) for shape in (case.data.width, (1, D), (1, 2 * D)))
    parts = X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data
    address, one, small = SINCOS.address(dtype), weights.dtype.type(1), weights.dtype.type(1e-20)
    return lambda: bare.moving_widths(address, *parts, U, weights, case.course.moved, one, small, *room)


def nystrom(case: Case) -> Bare:
    """Kernel rows over the points; once they are full the decomposition, then products with the map and the rounds."""
    B, rank, dtype = case.spec.budget, case.spec.rank, case.dtype
    n = len(case.y)
    frozen = int(np.argmax(case.course.sizes >= B)) if (case.course.sizes >= B).any() else n
    rows = _kernel_rows(case, np.arange(n), case.course.sizes)
    gram, map = np.eye(B) + 1e-3, np.ones((B, rank), dtype)
    weights = aligned(np.zeros((case.n_outputs, rank), dtype))
    K, Z = aligned(np.ones((256, B), dtype)), aligned(np.zeros((256, rank), dtype))

    def run() -> None:
        rows()
        if frozen < n and not case.warm:
            np.linalg.eigh(gram)
        for a in range(frozen, n, 256):
            m = min(256, n - a)
            bare.products(K[:m], map, Z[:m])
            bare.linear_rounds(Z[:m], weights, case.course.moved[a : a + m], weights.dtype.type(1e-20))

    return run


def covariances_of_classes(case: Case) -> Bare:
    """For each row a product with the covariance of one class, and an outer product added to that of the other."""
    sizes = np.full(len(case.y), 2 * case.spec.n_components)
    return _symmetric(sizes, sizes)
