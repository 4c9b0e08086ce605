"""Auto: nothing to set. f(x) = w'e(x), the stack of what these parts say of a raw row, each learned in one pass:

    ridge      least squares on random Fourier features z of a learned metric
    lms        least mean squares on z, with a short step and a long one
    hinge      for classes: descent of the hinge loss on z, likewise
    averages   of the newest labels, over about 2 rows and 10
    cells      random binning in the learned metric, by least mean squares; from row 8,192 on

The scale of columns, the metric, its width and the ridge are settled after rows 8, 16, ..., 8,192 on all rows so far
(`numerics.settling`), which are kept until then: the ridge learns them all anew, the other parts the newest of them,
the stack goes on. The ridge's system is solved when rows have grown by an eighth. From row 16,384 on one of two rows,
from row 131,072 on one of four, goes into it and counts for all: beyond some rows a feature more tell hardly anything
new, and the product is what a row costs. All of this happens at fixed rows, so that the cut of a stream changes no bit.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Algorithm, Common, Shape, common, evaluate, lift, step
from ..engine.state import copied, restored
from ..kernels import ISOTROPIC, Need
from ..losses import LossRecord, as_loss, slope
from ..numerics.cells import add_to_cells, draw_tables, fewer_cells, find_cells, inverse_steps, sum_cells
from ..numerics.compile import Pointer, call_for_effect, compiled, inlined
from ..numerics.elementary import sincos
from ..numerics.expansion import dot
from ..numerics.products import MULTIPLY
from ..numerics.second_order import (
    Sums,
    for_outputs,
    no_sums,
    of_both,
    products,
    solution,
    solved,
    wait,
    with_waiting,
)
from ..numerics.settling import (
    FIRST,
    FIRST_WIDTH,
    LAST,
    NEWEST,
    SIZES,
    WIDEST_FULL,
    Columns,
    Metrics,
    Search,
    columns_of,
    directions,
    lifted,
    no_columns,
    no_metrics,
    settle,
    settling_row,
    since,
    standardised,
    stretched,
)
from ..numerics.stack import learn_stack, stack_prior, stack_weights
from ..parameters import one_of
from ..tasks import BINARY, MULTICLASS, REGRESSION
from .ridge import chances

LMS, HINGE, AVERAGES = (0.3, 1.0), (1.0, 10.0), (0.5, 0.9)
N_PARTS = 1 + len(LMS) + len(HINGE) + len(AVERAGES) + 1
WIDEST = 1024  # features; those beyond are added to the others
PIECE = 512  # rows that wait to go into the ridge's sums
GROWTH, LONGEST = 8, 4096  # the ridge is solved anew when rows have grown by 1/8, at the latest after so many
THINNED = 16_384, 131_072  # from these rows on one of two, then one of four, goes into the sums
REFIT = 256  # newest rows that the fast parts learn anew with a new map; after the last settling all of them
CLIP = 2.0  # what the ridge says of a class is no farther from 0
NEVER = 1 << 60
_REGRESSION, _BINARY, _MULTICLASS = range(3)


class AutoRecord(NamedTuple):
    loss: LossRecord
    task: int
    multiply: int
    sincos: int
    lms: np.ndarray
    hinge: np.ndarray
    averages: np.ndarray
    inverse: np.ndarray  # of the cells' steps


class Kept(NamedTuple):
    """The first rows; there is no room for any once all is settled."""

    x: np.ndarray  # (room, d)
    targets: np.ndarray  # (room,)
    weights: np.ndarray  # (room,)


class Parts(NamedTuple):
    """What is learned row by row, and the stack."""

    lms: np.ndarray  # (2, K, D)
    hinge: np.ndarray  # (2, K, D)
    averages: np.ndarray  # (2, K)
    cells: np.ndarray  # (tables, cells, K); no tables before the last settling
    A: np.ndarray  # (M, M)
    b: np.ndarray  # (M,)


class AutoState(NamedTuple):
    columns: Columns
    map: np.ndarray  # (d, D/2)
    weights: np.ndarray  # (K, D), the ridge's solution
    ridge: np.ndarray  # 0-d
    parts: Parts
    sums: Sums
    t: np.ndarray  # rows so far, 0-d
    due: np.ndarray  # (2,) the rows after which the ridge is solved, and after which anything is to be done
    mean: np.ndarray  # (K,) of the targets before anything is settled
    scale: np.ndarray  # (4,) of a regression's targets: center, unit, smallest, largest
    importances: np.ndarray  # (d,)
    kept: Kept
    metrics: Metrics
    pick: np.ndarray  # the cells': which projections
    offset: np.ndarray  # and where they are cut
    seed: np.ndarray  # 0-d


class AutoScratch(NamedTuple):
    common: Common
    indptr: np.ndarray  # the standardised rows as a block
    indices: np.ndarray
    values: np.ndarray  # (chunk * d,)
    projected: np.ndarray  # (chunk, D/2)
    z: np.ndarray  # (chunk, D)
    codes: np.ndarray  # (chunk, tables) their cells
    e: np.ndarray  # (M, K) what the parts say
    y: np.ndarray  # (K,) what they are to say
    w: np.ndarray  # (M,)
    factor: np.ndarray  # (M, M)


@dataclass
class Auto(Algorithm):
    """size: "small" (about 2 MB), "default" (at most 32 MB) or "large" (about 100 MB).
    kernel: Gaussian, Cauchy or Matern; its width is only where the search begins.
    """

    size: str = "default"

    name: ClassVar[str] = "auto"
    paper: ClassVar[str] = "ours"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = (ISOTROPIC,)
    models_probabilities: ClassVar[bool] = True
    exempt: ClassVar[dict[str, str]] = {
        "memory_is_flat": "the first 8,192 rows are kept",
        "late_features_count_as_zero_before": "directions are drawn for the features that there are",
        "late_classes_add_an_output": "an output is least squares of -1 and 1: it knows that earlier rows said -1",
        "a_third_class_keeps_the_margin": "each of two outputs says -1 or 1, so that their margin is twice that of one",
        "weight_zero_learns_nothing": "things are settled after so many rows, whatever they weigh",
        "weight_scales_the_step": "a weight scales what a row tells",
        "merge_is_the_weighted_sum": "what rows tell adds up, and only models of one map can be merged",
        "merge_refuses_strangers": "while rows are kept, whatever their learner's seed, they are learned",
    }

    def check(self) -> None:
        super().check()
        one_of(tuple(SIZES), size=self.size)

    def losses(self, task: str) -> tuple[str, ...]:
        return ("squared",) if task == REGRESSION else ("squared-hinge",)

    @property
    def depends_on_data(self) -> bool:
        return False  # what does is part of the state

    def settle(self, task: str, sample: Any) -> "Auto":
        return self

    def lower(self, task: str, dtype: Any) -> AutoRecord:
        loss = as_loss(self.losses(task)[0]).lower(task, dtype)
        kind = {REGRESSION: _REGRESSION, BINARY: _BINARY, MULTICLASS: _MULTICLASS}[task]
        hinge = np.array(() if task == REGRESSION else HINGE)
        steps = np.array(LMS), hinge, np.array(AVERAGES), inverse_steps(SIZES[self.size].tables)
        return AutoRecord(loss, kind, MULTIPLY.address(dtype), SINCOS.address(dtype), *steps)

    # The state, whose shapes are a function of the row of the last settling.

    def init(self, shape: Shape) -> AutoState:
        return self.empty(shape, 0)

    def empty(self, shape: Shape, settled: int) -> AutoState:
        K, D, dtype, size = shape.n_outputs, since(SIZES[self.size].used, settled), shape.dtype, SIZES[self.size]
        d, room = min(shape.width, WIDEST), 0 if settled == LAST else max(FIRST, 2 * settled)
        cells = np.zeros((size.tables, self.n_cells(K), K) if settled == LAST else (0, 1, K), dtype)
        fast = np.zeros((len(LMS), K, D), dtype), np.zeros((len(HINGE), K, D), dtype), np.zeros((len(AVERAGES), K))
        return AutoState(
            columns=no_columns(d),
            map=np.zeros((d, D // 2), dtype),
            weights=np.zeros((K, D), dtype),
            ridge=np.ones(()),
            parts=Parts(*fast, cells, *stack_prior(N_PARTS)),
            sums=no_sums(D, K, dtype, PIECE),
            t=np.zeros((), np.int64),
            due=np.array([NEVER, FIRST]),
            mean=np.zeros(K),
            scale=np.array([0.0, 1.0, 0.0, 0.0]),
            importances=np.zeros(d),
            kept=Kept(np.zeros((room, d), dtype), np.zeros(room), np.zeros(room)),
            metrics=no_metrics(d, self.first_width(d), settled),
            **dict(zip(("pick", "offset"), draw_tables(size.tables, size.used[0][1] // 2, shape.seed), strict=True)),
            seed=np.array(shape.seed, np.int64),
        )

    def n_cells(self, n_outputs: int) -> int:
        """Fewer where there are many outputs, so that all of them have room."""
        return max(256, SIZES[self.size].cells >> max(0, (n_outputs - 1).bit_length() - 2))

    def first_width(self, d: int) -> float:
        gamma = getattr(self.kernel, "gamma", "scale")
        return FIRST_WIDTH if isinstance(gamma, str) else float(np.clip(gamma * d, 0.01, 10.0))

    def scratch(self, state: AutoState, shape: Shape) -> AutoScratch:
        (d, half), K, dtype = state.map.shape, shape.n_outputs, shape.dtype
        shared = common(shape.width, K, dtype, 2 * half)
        chunk = shared.chunk
        block = np.arange(0, chunk * d + 1, d), np.arange(d), np.zeros(chunk * d, dtype)
        rows = np.zeros((chunk, half), dtype), np.zeros((chunk, 2 * half), dtype)
        codes = np.zeros((chunk, len(state.pick)), np.int32)
        stack = np.zeros((N_PARTS, K)), np.zeros(K), np.zeros(N_PARTS), np.zeros((N_PARTS, N_PARTS))
        return AutoScratch(shared, *block, *rows, codes, *stack)

    def lifts_ahead(self, state: AutoState) -> bool:
        return bool(state.t >= LAST)

    def n_stored(self, state: AutoState) -> int:
        return int(state.weights.shape[1])

    def attributes(self, state: AutoState) -> dict[str, Any]:
        """feature_importances: how much of the metric each feature has; they add up to 1."""
        return {"feature_importances": state.importances.copy()}

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        return chances(scores)

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> AutoState:
        t = int(arrays["t"]) if "t" in arrays and arrays["t"].shape == () else 0
        state = restored(self.empty(shape, settling_row(max(0, t))), arrays)
        solve, due = (int(row) for row in state.due)
        at_most = min(PIECE, t) if t >= FIRST else 0
        settled = settling_row(max(0, t))
        build = NEVER if settled == LAST else max(FIRST, 2 * settled)
        if not (0 <= t <= due <= min(solve, build, t + PIECE * share_of(t)) and 0 <= state.sums.n_waiting <= at_most):
            raise ValueError("its rows are counted as no run counts them")
        if due - t + int(state.sums.n_waiting) > PIECE * share_of(t):
            raise ValueError("more rows wait than can")
        n_projections = state.map.shape[1]
        if not ((state.pick >= 0) & (state.pick < n_projections)).all():
            raise ValueError("its cells are of projections that it does not have")
        return state

    def first_rows(self, state: AutoState) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        n = min(int(state.t), len(state.kept.x))
        return [tuple(array[:n].copy() for array in state.kept)] if n else []  # type: ignore[list-item]

    # More features, more outputs.

    def grow(self, state: AutoState, shape: Shape) -> AutoState:
        d, K, known = min(shape.width, WIDEST), shape.n_outputs, len(state.weights)
        before = len(state.map)

        def wider(array: np.ndarray, axis: int, fill: float = 0.0) -> np.ndarray:
            return longer(array, axis, d, fill)

        metrics = state.metrics._replace(diagonal=wider(state.metrics.diagonal, 1, 1.0))
        if d > WIDEST_FULL:
            metrics = metrics._replace(full=np.zeros((2, 0, 0)), widths=metrics.widths * [1.0, 0.0])
            if not metrics.widths.any():  # the one that goes was the only one
                metrics = metrics._replace(widths=state.metrics.widths[::-1].copy())
        elif metrics.full.shape[1] > 0:
            full = wider(wider(metrics.full, 1), 2)
            full[:, range(before, d), range(before, d)] = 1.0
            metrics = metrics._replace(full=full)
        state = state._replace(
            columns=Columns(*(wider(array, 0) for array in state.columns)),
            map=wider(state.map, 0),
            importances=wider(state.importances, 0),
            kept=state.kept._replace(x=wider(state.kept.x, 1)),
            metrics=metrics,
        )
        if known == K:
            return state
        parts, sums = state.parts, state.sums
        cells = parts.cells
        if len(cells):
            cells = fewer_cells(cells, min(cells.shape[1], self.n_cells(K)))
        parts = parts._replace(
            lms=longer(parts.lms, 1, K),
            hinge=longer(parts.hinge, 1, K),
            averages=longer(parts.averages, 1, K, -1.0),
            cells=longer(cells, 2, K),
        )
        sums = for_outputs(sums, K)
        weights = longer(state.weights, 0, K)
        if state.t >= FIRST:
            weights[known:] = solved(sums.A + sums.newer, sums.b[known:], float(state.ridge))
        return state._replace(parts=parts, sums=sums, weights=weights, mean=longer(state.mean, 0, K, -1.0))

    def split(self, state: AutoState, shape: Shape) -> AutoState:
        halves: AutoState = super().split(state, shape)
        parts, sums = halves.parts, halves.sums
        parts = parts._replace(lms=2 * parts.lms, averages=2 * parts.averages, cells=2 * parts.cells)
        return halves._replace(
            weights=2 * halves.weights,
            mean=2 * halves.mean,
            parts=parts,
            sums=sums._replace(b=2 * sums.b, waiting_y=2 * sums.waiting_y),
            kept=halves.kept._replace(targets=(halves.kept.targets + 1.0) / 2.0),
        )

    def merge(self, record: Any, state: AutoState, other: AutoState, weight: float) -> AutoState:
        """What rows tell the ridge adds up; the other parts are averaged."""
        if not np.array_equal(state.map, other.map):
            raise ValueError(
                f"These learners have settled on different first rows. Have one learn the first {LAST:,} rows, save "
                "it, and begin every other from its file."
            )

        def mean(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
            return ((1.0 - weight) * mine + weight * theirs).astype(mine.dtype)

        sums = of_both(*(with_waiting(copied(one.sums)) for one in (state, other)))
        scale = state.scale.copy()
        scale[2:] = min(scale[2], other.scale[2]), max(scale[3], other.scale[3])
        parts = Parts(*(mean(*pair) for pair in zip(state.parts, other.parts, strict=True)))
        merged = state._replace(parts=parts, sums=sums, t=state.t + other.t, scale=scale)
        return self.after(self.solved(merged), solves=True)

    # What is done after fixed rows.

    def prepare(self, record: AutoRecord, state: AutoState) -> AutoState:
        t = int(state.t)
        if t < state.due[1]:
            return state
        state = state._replace(sums=with_waiting(state.sums))
        if t == settling_row(t):
            return self.after(self.settled(record, state, t), solves=True)
        if t == state.due[0]:
            return self.after(self.solved(state), solves=True)
        return self.after(state, solves=False)

    def after(self, state: AutoState, *, solves: bool) -> AutoState:
        """With the rows that are due next."""
        t = int(state.t)
        solve = t + max(FIRST, min(LONGEST, t // GROWTH)) if solves else int(state.due[0])
        settled, piece = settling_row(t), PIECE * share_of(t)
        build = NEVER if settled == LAST else 2 * settled
        return state._replace(due=np.array([solve, min(solve, build, (t // piece + 1) * piece)]))

    def solved(self, state: AutoState) -> AutoState:
        return state._replace(weights=solution(state.sums, float(state.ridge)).astype(state.weights.dtype))

    def settled(self, record: AutoRecord, state: AutoState, N: int) -> AutoState:
        """With a new map, on which the parts learn the rows so far."""
        (d, _), K, dtype, seed = state.map.shape, len(state.weights), state.map.dtype, int(state.seed)
        X, targets, share = state.kept.x[:N].astype(np.float64), state.kept.targets[:N], state.kept.weights[:N]
        scale = state.scale.copy()
        if record.task == _REGRESSION:
            scale[:2] = targets.mean(), targets.std() + 1e-12
        Y = outputs_of(record.task, targets, scale, K).astype(dtype)
        columns = columns_of(X)
        V = standardised(columns, X, dtype)
        first = max(0, N - NEWEST) // 3 * 3
        omega = self.omega(d, since(SIZES[self.size].searched, N) // 2, seed)
        search = Search(V[first:], Y[first:], share[first:], omega, classes=record.task != _REGRESSION)
        fit, metric, metrics = settle(search, state.metrics, columns, N, self.first_width(d))

        new = self.empty(Shape(d, K, seed, dtype), N)
        omega = self.omega(d, new.map.shape[1], seed)
        U = stretched(metric, fit.width, omega, int((columns.scale > 0).sum())).astype(dtype)
        Z, root = lifted(V, U), np.sqrt(share).astype(dtype)[:, None]
        rows = Z * root if (share != 1).any() else Z
        A, b = products(rows).astype(np.float64), ((root * Y).T @ rows).astype(np.float64)
        sums = new.sums._replace(A=A, b=b, total=(root[:, 0] @ rows).astype(np.float64))
        n, known = min(N, REFIT if N < LAST else N), ("averages", "A", "b")
        parts = new.parts._replace(**{name: getattr(state.parts, name).copy() for name in known})
        weights = solved(A, b, fit.ridge).astype(dtype)
        again = Z[-n:], V[-n:] @ U, Y[-n:].astype(np.float64), share[-n:], (new.pick, new.offset)
        learn_again(record, parts, weights, *again, np.zeros((N_PARTS, K)), np.zeros(len(new.pick), np.int32))
        for mine, theirs in zip(new.kept, state.kept, strict=True):
            mine[:N] = theirs[: len(mine)]
        squares = np.where(columns.scale > 0, metric**2 if metric.ndim == 1 else (metric * metric).sum(axis=0), 0.0)
        return new._replace(
            columns=columns,
            map=U,
            weights=weights,
            ridge=np.array(fit.ridge),
            parts=parts._replace(**{name: getattr(state.parts, name) for name in known}),
            sums=sums,
            t=state.t,
            mean=state.mean,
            scale=scale,
            importances=squares / max(squares.sum(), 1e-300),
            metrics=metrics,
        )

    def omega(self, d: int, n: int, seed: int) -> np.ndarray:
        return directions(d, n, seed) * type(self.kernel)(**self.kernel.get_params() | {"gamma": 0.5}).scales(seed, n)


def share_of(t: int) -> int:
    """How many rows one stands for that goes into the sums."""
    return 1 if t < THINNED[0] else 2 if t < THINNED[1] else 4


def longer(array: np.ndarray, axis: int, n: int, fill: float = 0.0) -> np.ndarray:
    """The array with n places along an axis; what is new is `fill`."""
    shape = list(array.shape)
    shape[axis] = n - shape[axis]
    return np.concatenate([array, np.full(shape, fill, array.dtype)], axis=axis)


def outputs_of(task: int, targets: np.ndarray, scale: np.ndarray, K: int) -> np.ndarray:
    """(n, K): what each output is to say, +-1 or a standardised value."""
    if task == _MULTICLASS:
        return np.where(np.arange(K) == targets[:, None], 1.0, -1.0)
    return targets[:, None] if task == _BINARY else ((targets - scale[0]) / scale[1])[:, None]


def _sincos_rows(projected, n, z):
    half = projected.shape[1]
    c = z.dtype.type(1.0 / math.sqrt(half))
    for i in range(n):
        sincos(projected[i], z[i, :half], z[i, half:])
        for j in range(2 * half):
            z[i, j] *= c


SINCOS = Pointer(_sincos_rows, "mim", value=False)


@inlined
def spread_out(indices, values, row):
    """The row with all of its features; those beyond its length are added to the others."""
    d = row.shape[0]
    for j in range(d):
        row[j] = 0
    for p in range(values.shape[0]):
        j = indices[p]
        row[j % d if j >= d else j] += values[p]


@lift.register(AutoRecord)
def _(record, state, scratch, block, start, stop):
    columns, d, n = state.columns, state.map.shape[0], stop - start
    for i in range(n):
        lo, hi = block.indptr[start + i], block.indptr[start + i + 1]
        row = scratch.values[i * d : (i + 1) * d]
        spread_out(block.indices if block.shared == 1 else block.indices[lo:hi], block.values[lo:hi], row)
        for j in range(d):
            v, heavy = np.float64(row[j]), columns.heavy[j]
            tamed = math.copysign(math.log1p(abs(v) / heavy), v) if heavy > 0.0 else v
            row[j] = (tamed - columns.center[j]) * columns.scale[j]
    rows = scratch.indptr, scratch.indices, scratch.values
    call_for_effect(record.multiply, 1, rows[0], rows[1], rows[2], 0, n, state.map, scratch.projected)
    call_for_effect(record.sincos, scratch.projected, n, scratch.z)
    cells = state.parts.cells
    if cells.shape[0] > 0:
        for i in range(n):
            find_cells(scratch.projected[i], state.pick, state.offset, record.inverse, cells.shape[1], scratch.codes[i])


@inlined
def say(record, weights, parts, z, codes, e):
    """e = what each part says of a row; the hinge learners what they compare, see `squash`."""
    last, n_lms, n_averages = e.shape[0] - 1, record.lms.shape[0], record.averages.shape[0]
    for k in range(e.shape[1]):
        ridge = np.float64(dot(weights[k], z))
        e[0, k] = ridge if record.task == _REGRESSION else min(max(ridge, -CLIP), CLIP)
        for q in range(n_lms):
            e[1 + q, k] = dot(parts.lms[q, k], z)
        for q in range(record.hinge.shape[0]):
            e[1 + n_lms + q, k] = dot(parts.hinge[q, k], z)
        for q in range(n_averages):
            e[last - n_averages + q, k] = parts.averages[q, k]
        e[last, k] = sum_cells(parts.cells, codes, k)


@inlined
def squash(record, part, score):
    """What the stack hears of a part's score: of the hinge learners something between -1 and 1."""
    q = part - 1 - record.lms.shape[0]
    return math.tanh(score / record.hinge[q]) if q >= 0 and q < record.hinge.shape[0] else score


@evaluate.register(AutoRecord)
def _(record, state, scratch, x, scores):
    e, w = scratch.e, scratch.w
    if state.t[()] < FIRST:
        for k in range(scores.shape[0]):
            scores[k] = state.mean[k]
        return
    say(record, state.weights, state.parts, scratch.z[x.place], scratch.codes[x.place], e)
    stack_weights(state.parts.A, state.parts.b, scratch.factor, w)
    for k in range(scores.shape[0]):
        f = 0.0
        for i in range(w.shape[0]):
            f += w[i] * squash(record, i, e[i, k])
        if record.task == _REGRESSION:
            f = min(max(state.scale[0] + state.scale[1] * f, state.scale[2]), state.scale[3])
        scores[k] = f


@inlined
def add_row(w, amount, z):
    c = z.dtype.type(amount)
    for j in range(z.shape[0]):
        w[j] += c * z[j]


@inlined
def learn_parts(record, parts, z, codes, e, y, weight):
    """All parts but the ridge, and the stack, learn a row. Requires: e as `say` left it; it is squashed."""
    K, n_lms, last = e.shape[1], record.lms.shape[0], e.shape[0] - 1
    step = min(weight, 1.0)
    right = 0
    for k in range(K):
        if y[k] > 0:
            right = k
    for q in range(record.hinge.shape[0]):
        i, length = 1 + n_lms + q, weight * record.hinge[q]
        if K == 1:
            if y[0] * e[i, 0] < 1.0:
                add_row(parts.hinge[q, 0], length * y[0], z)
        else:
            rival = 1 if right == 0 else 0
            for k in range(K):
                if k != right and e[i, k] > e[i, rival]:
                    rival = k
            if e[i, right] - e[i, rival] < 1.0:
                add_row(parts.hinge[q, right], length, z)
                add_row(parts.hinge[q, rival], -length, z)
        for k in range(K):
            e[i, k] = squash(record, i, e[i, k])
    learn_stack(parts.A, parts.b, e, y, weight)
    for k in range(K):
        if parts.cells.shape[0] > 0:
            add_to_cells(parts.cells, codes, k, step * (y[k] - e[last, k]))
        for q in range(n_lms):
            add_row(parts.lms[q, k], step * record.lms[q] * (y[k] - e[1 + q, k]), z)
        for q in range(record.averages.shape[0]):
            parts.averages[q, k] += step * (1.0 - record.averages[q]) * (y[k] - parts.averages[q, k])


@compiled
def learn_again(record, parts, weights, Z, projected, Y, share, tables, e, codes):
    """The parts learn rows that they know, with a new map; e and codes are room for what is found of a row."""
    pick, offset = tables
    for i in range(Z.shape[0]):
        if parts.cells.shape[0] > 0:
            find_cells(projected[i], pick, offset, record.inverse, parts.cells.shape[1], codes)
        say(record, weights, parts, Z[i], codes, e)
        learn_parts(record, parts, Z[i], codes, e, Y[i], share[i])


@inlined
def stands_for(t):
    """How many rows row t stands for in the sums: 1; or 2 or 4 where it is chosen, by a hash, and 0 where not."""
    share = 1 if t < THINNED[0] else 2 if t < THINNED[1] else 4
    word = np.uint64(t // share) * np.uint64(0x9E3779B97F4A7C15)
    return share if t % share == np.int64((word >> np.uint64(40)) & np.uint64(share - 1)) else 0


@step.register(AutoRecord)
def _(record, state, scratch, x, target, weight, scores):
    t, y, kept, scale = state.t[()], scratch.y, state.kept, state.scale
    if record.task == _MULTICLASS:
        for k in range(y.shape[0]):
            y[k] = 1.0 if k == target else -1.0
    else:
        y[0] = target if record.task == _BINARY else (target - scale[0]) / scale[1]
    if record.task == _REGRESSION:
        scale[2], scale[3] = (target, target) if t == 0 else (min(scale[2], target), max(scale[3], target))
    if t < kept.x.shape[0]:
        spread_out(x.indices, x.values, kept.x[t])
        kept.targets[t], kept.weights[t] = target, weight
    if t >= FIRST:
        z = scratch.z[x.place]
        learn_parts(record, state.parts, z, scratch.codes[x.place], scratch.e, y, weight)
        if stands_for(t) > 0:
            wait(state.sums, z, y, weight * stands_for(t))
    else:
        for k in range(y.shape[0]):
            state.mean[k] += (y[k] - state.mean[k]) / (t + 1)
    state.t[()] = t + 1
    scratch.common.halt[()] = t + 1 >= state.due[1]
    return slope(record.loss, target, scores, scratch.common.slope)
