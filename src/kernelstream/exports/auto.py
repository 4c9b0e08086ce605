"""Scores of auto: its parts, on rows as it takes them in, and their stack."""

import math
from typing import Any

import numpy as np

from ..algorithms.auto import AutoState
from ..numerics.cells import inverse_steps
from ..numerics.parts import CLIP, HINGE
from ..numerics.settling import FIRST, Columns
from .graph import Tensor
from .lifts import waves

GOLDEN = 0x9E3779B97F4A7C15 - 2**64  # what a hash is multiplied by, as a signed number
FIRST_WORD, NEXT_WORD, NEXT_BITS = 7919, 1_000_003, 29


def auto_scores(state: AutoState, x: Tensor, width: int, *, classes: bool) -> Tensor:
    """w'e, e what the parts say (`numerics.parts`); of a regression in the unit of its targets."""
    K, parts = len(state.mean), state.parts
    if state.t < FIRST:
        return x @ np.zeros((width, K)) + state.mean
    v = standardised(state.columns, folded_up(x, width, len(state.map)))
    projected = v @ state.map
    z, plain = waves(projected), waves(v @ state.recent.map)
    short, shorter = (1.0 / math.sqrt(map.shape[1]) for map in (state.map, state.recent.map))  # what waves lack
    w = iter(stack_weights(state))
    heard = [limited(z, short * state.weights[:K], next(w), classes=classes)]
    heard += [limited(plain, shorter * weights, next(w), classes=classes) for weights in state.recent.weights]
    heard += [(z @ (next(w) * short * weights).T).cast(np.float64) for weights in parts.lms]
    for weights, step in zip(parts.hinge, HINGE, strict=True):
        f, own = (z @ (short / step * weights).T).cast(np.float64), next(w)
        heard += [own * f.node("Tanh")] if classes else []
    constant = sum(next(w) * average for average in parts.averages)
    heard += [next(w) * summed_cells(state, projected)] if len(parts.cells) else []
    total = heard[0] + constant
    for other in heard[1:]:
        total = total + other
    if not classes:
        center, unit, low, high = state.scale
        total = (center + unit * total).clip(low, high)
    return total.cast(x.dtype)


def stack_weights(state: AutoState) -> Any:
    A = np.tril(state.parts.A)
    return np.linalg.solve(A + np.tril(A, -1).T, state.parts.b)


def folded_up(x: Tensor, width: int, d: int) -> Tensor:
    """Rows of d features; those beyond are added to the others."""
    if width <= d:
        return x
    groups = -(-width // d)
    x = x.node("Pad", np.array([0, 0, 0, groups * d - width]))
    return x.reshape(-1, groups, d).sum(1)


def standardised(columns: Columns, x: Tensor) -> Tensor:
    wide = x.cast(np.float64)
    heavy = columns.heavy > 0.0
    if heavy.any():
        sizes = 1.0 + wide.node("Abs") / np.where(heavy, columns.heavy, 1.0)
        tamed = wide.node("Sign") * sizes.node("Log")
        wide = x.graph.node("Where", heavy, tamed, wide, dtype=np.float64)
    return ((wide - columns.center) * columns.scale).cast(x.dtype)


def limited(z: Tensor, weights: np.ndarray, w: float, *, classes: bool) -> Tensor:
    """w times what least squares says; of a class it is clipped."""
    if not classes:
        return (z @ (w * weights).T).cast(np.float64)
    return w * (z @ weights.T).cast(np.float64).clip(-CLIP, CLIP)


def summed_cells(state: AutoState, projected: Tensor) -> Tensor:
    """(rows, K) the sum of a row's cells (`numerics.cells`)."""
    tables, n_cells, K = state.parts.cells.shape
    code = cell_codes(state, projected, n_cells) + n_cells * np.arange(tables)
    cells = projected.graph.constant(state.parts.cells.reshape(-1, K).astype(np.float64))
    return cells.taken(code, 0).sum(1)


def cell_codes(state: AutoState, projected: Tensor, n_cells: int) -> Tensor:
    """(rows, tables) the cell of a row in each table; products wrap around."""
    pick, offset = state.tables
    tables = len(pick)
    inverse = inverse_steps(tables)
    code = None
    for j in range(pick.shape[1]):
        cut = (projected.taken(pick[:, j], 1).cast(np.float64) + offset[:, j]) * inverse
        step = cut.node("Floor").cast(np.int64) + NEXT_WORD
        before = code if code is not None else step.like(FIRST_WORD * np.arange(tables) + 1)
        code = step.node("BitwiseXor", before) * GOLDEN
        above = code.cast(np.uint64).node("BitShift", np.array(NEXT_BITS, np.uint64), direction="RIGHT")
        code = code.node("BitwiseXor", above.cast(np.int64))
    assert code is not None
    return code.node("BitwiseAnd", code.like(n_cells - 1))
