"""What `auto` settles after its first N rows, and what its parts learn of these rows anew: work in steps, which depends
on nothing but those rows and on what was settled before.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine import Shape
from ..numerics import boxes as boxing
from ..numerics import recent as forgetting
from ..numerics.cells import finding
from ..numerics.parts import Parts, learn_again
from ..numerics.second_order import add_rows, fold, least_squares, solution
from ..numerics.settling import (
    FIRST_METRIC,
    FIRST_SEARCH,
    LAST,
    NEWEST,
    SIZES,
    Columns,
    FewRows,
    Metrics,
    Search,
    columns_of,
    directions,
    lifted,
    settle,
    since,
    standardised,
    stretched,
    trending,
)
from ..numerics.shifts import no_shift
from ..numerics.squared_hinge import squared_hinge
from ..numerics.stack import stack_prior
from ..numerics.stepwise import Stepwise

if TYPE_CHECKING:
    from ._auto_state import AutoRecord, AutoState, Kept
    from .auto import Auto

BLOCK = 512  # rows that are learned together
N_GIVEN = 1 + len(forgetting.RATES)  # parts of the stack whose weights are least squares
REFIT = 256  # newest rows that the fast parts learn; after the last settling all of them
VALUES, TWO, SEVERAL = range(3)  # what is learned: numbers, or one of so many classes
FARTHEST = 1e4  # units that a target is from the others at most, until the next settling: their squares are summed
UNKNOWN = 1e-12  # unit of targets that are all alike; the first other one becomes it
TRENDS = 64  # rows from which on it can be told whether a column has a trend


def learned_anew(spec: "Auto", record: "AutoRecord", state: "AutoState", N: int, last: int) -> Stepwise["Anew"]:
    """What the first N rows come to; `last` is the row after which it is used."""
    X, metrics = state.kept.x[:N].astype(np.float64), state.metrics
    columns = columns_of(X)
    if N >= FIRST_SEARCH:
        metrics = yield from found_metrics(spec, record, state, columns, X)
    yield
    anew = Anew(spec, record, state, columns, X, last, metrics)
    yield from anew.learn(state.kept, 0, N)
    yield from anew.find_margins(state.kept, N)
    return anew


def found_metrics(
    spec: "Auto", record: "AutoRecord", state: "AutoState", columns: Columns, X: np.ndarray
) -> Stepwise[Metrics]:
    """The metric, width and ridge that are best after the rows X, the first of those that are kept."""
    d, dtype, seed, N = len(state.map), state.map.dtype, int(state.seed), len(X)
    targets, share = state.kept.targets[:N], state.kept.weights[:N]
    Y = outputs_of(record.task, targets, scale_of(record.task, targets, share), len(state.mean)).astype(dtype)
    first = max(0, N - NEWEST) // 3 * 3
    omega = spec.omega(d, since(SIZES[spec.size].searched, N) // 2, seed)
    V = standardised(columns, X[first:], dtype)
    yield
    kind = FewRows if N < FIRST_METRIC else Search
    search = kind(V, Y[first:], share[first:], omega, classes=record.task != VALUES)
    return (yield from settle(search, state.metrics, columns, N, spec.first_width(d)))


class Anew:
    """A state with the map that was found, whose parts learn the kept rows from the first one on."""

    def __init__(
        self,
        spec: "Auto",
        record: "AutoRecord",
        state: "AutoState",
        columns: Columns,
        X: np.ndarray,
        last: int,
        metrics: Metrics,
    ):
        d, K, seed, dtype, N = len(state.map), len(state.mean), int(state.seed), state.map.dtype, len(X)
        self.record, self.columns = record, columns
        n_varying = int((columns.scale > 0).sum())
        self.metrics = metrics._replace(n_varying=np.array(n_varying))
        self.scale = scale_of(record.task, state.kept.targets[:N], state.kept.weights[:N])
        self.refit = 0 if N == LAST else max(0, last - REFIT)
        self.new = new = spec.empty(Shape(d, K, seed, dtype), N)
        U = stretched(metrics.metric, metrics.width, spec.omega(d, new.map.shape[1], seed), n_varying)
        P = directions(d, new.recent.map.shape[1], seed + 1).copy()
        if N >= TRENDS:
            P[trending(self.columns, X)] = 0.0
        new.map[...] = np.where(columns.scale[:, None] > 0, U, 0.0)  # what wakes is for least squares that forgets
        new.recent.map[...] = stretched(np.ones(d), forgetting.WIDTH, P, n_varying)
        self.importances = importances_of(metrics, columns)
        if len(new.boxes.cells):
            shares = self.importances if N >= FIRST_METRIC else (columns.scale > 0) / max(1, n_varying)
            new.boxes.edges[...] = boxing.edges_of(state.kept.x[:N])
            new.boxes.pick[...], new.boxes.offset[...] = boxing.draw_boxes(shares, len(new.boxes.cells), seed)
        n = N if record.task != VALUES and N >= FIRST_METRIC else 0
        self.lifted = np.empty((n, new.weights.shape[1]), dtype)  # z of the first rows
        self.finding, self.boxing = finding(*new.tables), boxing.finding(new.boxes)
        self.room = np.zeros((len(new.parts.b), K)), np.zeros(len(new.tables.pick), np.int32)

    def learn(self, kept: "Kept", first: int, stop: int) -> Stepwise[None]:
        for row in range(first, stop, BLOCK):
            yield
            self.learn_block(kept, row, min(stop, row + BLOCK))

    def learn_block(self, kept: "Kept", first: int, stop: int) -> None:
        new, some, dtype, task = self.new, slice(first, stop), self.new.map.dtype, self.record.task
        V = standardised(self.columns, kept.x[some].astype(np.float64), dtype)
        Y, share = outputs_of(task, kept.targets[some], self.scale, len(new.mean)), kept.weights[some]
        heads = heads_of(task, Y, kept.errors[some] / self.scale[1], len(new.weights)).astype(dtype)
        projected = V @ new.map
        Z, plain, root = lifted(projected), lifted(V @ new.recent.map), np.sqrt(share).astype(dtype)[:, None]
        self.lifted[some] = Z[: max(0, len(self.lifted) - first)]
        add_rows(new.sums, root * Z, root * heads)
        forgetting.add(new.recent, root * plain, root * Y.astype(dtype))
        if len(new.boxes.cells):
            rest = kept.rest[some].astype(np.float64)
            left = Y - ((rest - self.scale[0]) / self.scale[1] if task == VALUES else rest)
            codes, error = np.zeros(len(new.boxes.cells), np.int32), np.zeros(len(new.mean))
            boxing.learn_rows_anew(new.boxes, self.boxing, kept.x[some], left, share, codes, error)
        n = stop - max(first, self.refit)
        if n > 0:
            steps, rows = self.record.steps, (Z[-n:], projected[-n:])
            learn_again(steps, N_GIVEN, new.parts, self.finding, rows, Y[-n:], share[-n:], *self.room)

    def find_margins(self, kept: "Kept", N: int) -> Stepwise[None]:
        """The last of the hinge learners begins with what the squared hinge of the first N rows says."""
        if len(self.lifted) == 0:
            return
        new, Y = self.new, outputs_of(self.record.task, kept.targets[:N], self.scale, len(self.new.mean))
        fold(new.sums.A, new.sums.newer)
        Z, self.lifted = self.lifted, np.empty_like(self.lifted, shape=(0, self.lifted.shape[1]))
        ridge = float(self.metrics.ridge)
        new.parts.hinge[-1] = yield from squared_hinge(Z, Y, kept.weights[:N], new.sums.A, ridge)

    def state(self, old: "AutoState") -> "AutoState":
        """It, after the same rows as the old one."""
        new, t, metrics = self.new, int(old.t), self.metrics
        for i in range(len(forgetting.RATES)):
            forgetting.solve(new.recent, i)
        for mine, theirs in zip(new.kept, old.kept, strict=True):
            mine[: min(t, len(mine))] = theirs[: min(t, len(mine))]
        scale = np.array([*self.scale, *old.scale[2:]])
        state = new._replace(
            columns=self.columns,
            ridge=metrics.ridge.copy(),
            parts=new.parts._replace(**in_unit(old.parts, old.scale[1] / scale[1])),
            t=old.t,
            mean=old.mean,
            scale=scale,
            noise=old.noise * [old.scale[1] / scale[1], 1.0],
            link=old.link,
            importances=self.importances,
            metrics=metrics,
            shown=old.shown,
            waking=old.waking,
            shift=no_shift()._replace(heirs=old.shift.heirs),
        )
        state.weights[...] = ridge_weights(self.record, state)
        return state


def has_few_rows(state: "AutoState") -> bool:
    """Whether least squares is faster solved from the rows so far, which are lifted anew, than from their sums."""
    return 2 * int(state.t) <= state.weights.shape[1]


def ridge_weights(record: "AutoRecord", state: "AutoState") -> np.ndarray:
    """The ridge's solution while rows are kept. Requires: no row waits, or they are few."""
    t, kept, ridge, dtype = int(state.t), state.kept, float(state.ridge), state.map.dtype
    if not has_few_rows(state):
        return solution(state.sums, ridge, dtype.type)
    center, unit = state.scale[:2]
    Z = lifted(standardised(state.columns, kept.x[:t].astype(np.float64), dtype) @ state.map)
    Y = outputs_of(record.task, kept.targets[:t], (center, unit), len(state.mean))
    root = np.sqrt(kept.weights[:t])[:, None]
    Y = root * heads_of(record.task, Y, kept.errors[:t] / unit, len(state.weights))
    (weights,) = least_squares(root.astype(dtype) * Z, Y.astype(dtype), (ridge,))
    return weights


def in_unit(parts: Parts, unit: float) -> dict[str, np.ndarray]:
    """What rows told the stack beyond its prior, of targets whose unit was so many of what it is now."""
    A, b = stack_prior(len(parts.b))
    return {"A": A + unit**2 * (parts.A - A), "b": b + unit**2 * (parts.b - b)}


def importances_of(metrics: Metrics, columns: Columns) -> np.ndarray:
    """(d,) how much of the metric each column has; they add up to 1."""
    T = metrics.metric
    squares = np.where(columns.scale > 0, T**2 if T.ndim == 1 else (T * T).sum(axis=0), 0.0)
    return np.asarray(squares / max(squares.sum(), 1e-300))


def scale_of(task: int, targets: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """The center and the unit of a regression's targets, weighed as their rows; UNKNOWN while all are alike."""
    if task != VALUES or not weights.any():
        return 0.0, 1.0
    known = targets[weights > 0]
    if known.min() == known.max():
        return float(known[0]), UNKNOWN
    center = np.average(targets, weights=weights)
    return float(center), float(np.sqrt(np.average((targets - center) ** 2, weights=weights))) + UNKNOWN


def heads_of(task: int, Y: np.ndarray, errors: np.ndarray, n: int) -> np.ndarray:
    """(rows, n): what each head of the ridge is to say, the outputs and, of a regression, the size of its errors."""
    heads = np.zeros((len(Y), n))
    heads[:, : Y.shape[1]] = Y
    if task == VALUES:
        heads[:, 1] = errors
    return heads


def outputs_of(task: int, targets: np.ndarray, scale: tuple[float, float], K: int) -> Any:
    """(n, K): what each output is to say, +-1 or a standardised value."""
    if task == SEVERAL:
        return np.where(np.arange(K) == targets[:, None], 1.0, -1.0)
    return np.clip((targets - scale[0]) / scale[1], -FARTHEST, FARTHEST)[:, None]
