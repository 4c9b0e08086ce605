"""Scores of auto: its parts, on rows as it takes them in, and their stack."""

import math
from typing import Any

import numpy as np

from ..algorithms._auto_state import AutoState
from ..numerics.boxes import BINS, RANKS, of_table
from ..numerics.cells import FIRST_WORD, GOLDEN, NEXT_BITS, NEXT_WORD, inverse_steps
from ..numerics.parts import CLIP, HEARD
from ..numerics.settling import FIRST, Columns
from .graph import Tensor
from .lifts import waves


def auto_scores(state: AutoState, x: Tensor, width: int, *, classes: bool) -> Tensor:
    """w'e, e what the parts say (`numerics.parts`); of a regression in the unit of its targets."""
    K, parts = len(state.mean), state.parts
    if state.t < FIRST:
        return x @ np.zeros((width, K)) + state.mean
    x = folded_up(x, width, len(state.map))
    v = standardised(state.columns, x)
    projected = v @ state.map
    z, plain = waves(projected), waves(v @ state.recent.map)
    short, shorter = (1.0 / math.sqrt(map.shape[1]) for map in (state.map, state.recent.map))  # what waves lack
    w = iter(stack_weights(state))
    heard = [limited(z, short * state.weights[:K], next(w), classes=classes)]
    heard += [limited(plain, shorter * weights, next(w), classes=classes) for weights in state.recent.weights]
    heard += [(z @ (next(w) * short * weights).T).cast(np.float64) for weights in parts.lms]
    for weights, unit in zip(parts.hinge, HEARD, strict=True):
        f, own = (z @ (short / unit * weights).T).cast(np.float64), next(w)
        heard += [own * f.node("Tanh")] if classes else []
    constant = sum(next(w) * average for average in parts.averages)
    of_cells, of_boxes = w
    if len(parts.cells):
        heard.append(of_cells * summed(parts.cells, cell_codes(state, projected)))
    if len(state.boxes.cells):
        heard.append(of_boxes * summed(state.boxes.cells, box_codes(state, x)))
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


def first_words(x: Tensor, tables: int) -> Tensor:
    return x.graph.constant(FIRST_WORD * np.arange(tables) + 1)


def hashed(code: Tensor, cut: Tensor) -> Tensor:
    """The hash of what was cut so far and of the next; products wrap around."""
    code = (cut + NEXT_WORD).node("BitwiseXor", code) * (GOLDEN - 2**64)  # as a signed number
    above = code.cast(np.uint64).node("BitShift", np.array(NEXT_BITS, np.uint64), direction="RIGHT")
    return code.node("BitwiseXor", above.cast(np.int64))


def summed(cells: np.ndarray, words: Tensor) -> Tensor:
    """(rows, K) the sum over tables of what is in a row's places there; words (rows, tables) name these."""
    tables, places, K = cells.shape
    code = words.node("BitwiseAnd", words.like(places - 1)) + places * np.arange(tables)
    return words.graph.constant(cells.reshape(-1, K).astype(np.float64)).taken(code, 0).sum(1)


def cell_codes(state: AutoState, projected: Tensor) -> Tensor:
    """(rows, tables) the hash of a row's cell in each table."""
    pick, offset = state.tables
    code = first_words(projected, len(pick))
    for j in range(pick.shape[1]):
        cut = (projected.taken(pick[:, j], 1).cast(np.float64) + offset[:, j]) * inverse_steps(len(pick))
        code = hashed(code, cut.node("Floor").cast(np.int64))
    return code


def box_codes(state: AutoState, x: Tensor) -> Tensor:
    """(rows, tables) the hash of a row's box in each table (`numerics.boxes`)."""
    boxes, tables = state.boxes, len(state.boxes.cells)
    used = np.unique(np.maximum(boxes.pick, 0))
    values, edges = x.taken(used, 1).reshape(-1, len(used), 1), boxes.edges[used].astype(x.dtype)
    above, not_below = (values.node(relation, edges, dtype=np.bool_) for relation in ("Greater", "GreaterOrEqual"))
    rank = (above.cast(np.int64) + not_below.cast(np.int64)).sum(2)
    place = np.zeros(len(boxes.edges), np.int64)
    place[used] = np.arange(len(used))
    code, bins = first_words(x, tables), of_table(BINS, tables).astype(np.int64)
    for picked, offset in zip(boxes.pick, boxes.offset.astype(np.int64), strict=True):
        cut = (rank.taken(place[np.maximum(picked, 0)], 1) * bins + offset) / np.int64(RANKS)
        code = code.graph.node("Where", picked >= 0, hashed(code, cut), code, dtype=np.int64)
    return code
