"""Boxes: random binning along the columns themselves, of what others leave of the targets.

A row falls into one box of every table, and f(x) is the sum of its boxes. A table cuts some columns, each where
quantiles of the first rows are, with a random offset: few columns finely, many coarsely. Columns are drawn in
proportion to what they have of the metric, a tenth of them each alike. The boxes that a table can tell apart are hashed
into a fixed number of places. A box takes its share of a change of f by least mean squares, with a step that falls as
it fills, STEP / sqrt(rows), and not below LEAST.
"""

from typing import Any, NamedTuple

import numpy as np

from .cells import fewer_cells, first_word, next_word, sum_cells
from .compile import compiled, inlined
from .memory import zeros

COLUMNS = 12, 8, 4, 2  # of a table's boxes, in a quarter of the tables each
BINS = 4, 6, 8, 16  # that a column is cut into there
EDGES = 64  # quantiles of a column
RANKS = 2 * EDGES  # a value lies above so many of them, counting those that equal it as one half; a power of two
RANK_BITS = RANKS.bit_length() - 1
BY_IMPORTANCE = 0.9  # of the columns are drawn so, the others each alike
STEP, LEAST = 2.0, 0.05
FULL = int((STEP / LEAST) ** 2)  # rows of a box whose step falls no more


class Boxes(NamedTuple):
    edges: np.ndarray  # (d, EDGES) in ascending order
    pick: np.ndarray  # (12, tables) the columns of a table; -1 behind the last
    offset: np.ndarray  # (12, tables) within RANKS
    cells: np.ndarray  # (tables, places, K); or no tables
    rows: np.ndarray  # (tables, places) that fell into them, at most FULL


class Finding(NamedTuple):
    """Where boxes are found, table beside table, so that vectors of them are taken at once."""

    used: np.ndarray  # the columns that some table cuts
    reach: np.ndarray  # (12,) how many tables cut so many columns and one more; they come first
    bins: np.ndarray  # (tables,)
    rank: np.ndarray  # (d,)
    cut: np.ndarray  # (12, tables)
    mixed: np.ndarray  # (tables,) uint64
    steps: np.ndarray  # (FULL + 1,) of a box by its rows, over the number of tables


def no_boxes(width: int, n_outputs: int, dtype: Any, tables: int, places: int) -> Boxes:
    """Before any row."""
    drawn = np.full((COLUMNS[0], tables), -1, np.int32), np.zeros((COLUMNS[0], tables), np.int32)
    cells = zeros((tables, places, n_outputs), dtype), zeros((tables, places), np.uint16)
    return Boxes(np.zeros((width, EDGES), dtype), *drawn, *cells)


def of_table(values: tuple[int, ...], tables: int) -> np.ndarray:
    """(tables,) a value for each quarter of them."""
    return np.repeat(values, tables // len(values))


def edges_of(X: np.ndarray) -> np.ndarray:
    """(d, EDGES) quantiles of the columns of these rows, each a value that a row has."""
    chosen = (2 * np.arange(EDGES) + 1) * len(X) // (2 * EDGES)
    return np.ascontiguousarray(np.sort(X, axis=0)[chosen].T)


def draw_boxes(importances: np.ndarray, tables: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The columns of every table, and where they are cut: (12, tables) each. A column of importance 0 is not cut."""
    generator = np.random.default_rng([seed, 2])
    varying = np.flatnonzero(importances > 0)
    chance = BY_IMPORTANCE * importances[varying] + (1.0 - BY_IMPORTANCE) * importances.sum() / max(1, len(varying))
    pick = np.full((COLUMNS[0], tables), -1, np.int32)
    for r, n in enumerate(of_table(COLUMNS, tables)):
        n = min(n, len(varying))
        # The largest of x^(1/p), x uniform: without replacement, in proportion to p.
        keys = np.log(generator.uniform(size=len(varying))) / chance
        pick[:n, r] = varying[np.argsort(-keys, kind="stable")[:n]]
    return pick, generator.integers(0, RANKS, pick.shape).astype(np.int32)


def finding(boxes: Boxes) -> Finding:
    tables = boxes.pick.shape[1]
    used = np.unique(boxes.pick[boxes.pick >= 0])
    steps = np.maximum(LEAST, STEP / np.sqrt(np.maximum(1, np.arange(FULL + 1)))) / max(1, tables)
    return Finding(
        used.astype(np.int64),
        (boxes.pick >= 0).sum(axis=1),
        of_table(BINS, tables).astype(np.int32),
        np.zeros(len(boxes.edges), np.int32),
        np.zeros(boxes.pick.shape, np.int32),
        np.zeros(tables, np.uint64),
        steps,
    )


@inlined
def find_boxes(boxes, finding, x, codes):
    """codes[r] = the place of a raw row's box in table r. Requires: as many places as a power of two."""
    edges, pick, offset = boxes.edges, boxes.pick, boxes.offset
    rank, bins, cut, mixed = finding.rank, finding.bins, finding.cut, finding.mixed
    for p in range(finding.used.shape[0]):
        j, n = finding.used[p], np.int32(0)
        for i in range(EDGES):
            n += np.int32(edges[j, i] < x[j]) + np.int32(edges[j, i] <= x[j])
        rank[j] = n
    # Whole numbers of one width at a time, and places without a sign, which need not be looked at: half of the time.
    for i in range(pick.shape[0]):
        for r in range(finding.reach[i]):
            cut[i, r] = (rank[np.uint32(pick[i, r])] * bins[r] + offset[i, r]) >> RANK_BITS
    for r in range(codes.shape[0]):
        mixed[r] = first_word(r)
    for i in range(pick.shape[0]):
        for r in range(finding.reach[i]):
            mixed[r] = next_word(mixed[r], np.int64(cut[i, r]))
    last = np.uint64(boxes.cells.shape[1] - 1)
    for r in range(codes.shape[0]):
        codes[r] = np.int32(mixed[r] & last)


@inlined
def sum_boxes(boxes, codes, f):
    """f[k] = the sum of a row's boxes."""
    for k in range(f.shape[0]):
        f[k] = sum_cells(boxes.cells, codes, k)


@inlined
def learn_boxes(boxes, steps, codes, error, weight):
    """Every table takes its share of an error (K,) of a row."""
    cells, rows = boxes.cells, boxes.rows
    share, more = min(weight, 1.0), 1 if weight > 0.0 else 0
    for r in range(cells.shape[0]):
        place = np.uint32(codes[r])
        n = min(np.int64(rows[r, place]) + more, FULL)
        rows[r, place] = n
        step, box = share * steps[n], cells[r, place]
        for k in range(box.shape[0]):
            box[k] += cells.dtype.type(step * error[k])


@compiled
def learn_rows_anew(boxes, finding, X, residuals, weights, codes, error):
    """The boxes learn raw rows (n, d), of which others left so much (n, K); codes and error are room for one."""
    for i in range(X.shape[0]):
        find_boxes(boxes, finding, X[i], codes)
        sum_boxes(boxes, codes, error)
        for k in range(error.shape[0]):
            error[k] = residuals[i, k] - error[k]
        learn_boxes(boxes, finding.steps, codes, error, weights[i])


def fewer_places(boxes: Boxes, places: int) -> Boxes:
    """With fewer places in every table: those that fall together become their mean. Requires: powers of two."""
    rows = boxes.rows.reshape(len(boxes.rows), -1, places).max(axis=1)
    return boxes._replace(cells=fewer_cells(boxes.cells, places), rows=np.ascontiguousarray(rows))
