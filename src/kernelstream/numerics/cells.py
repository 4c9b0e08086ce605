"""Random binning with hashed cells: a row falls into one cell of every table, and f(x) is the sum of its cells.

A cell is a box: some projections of the row, cut into steps with a random offset (Rahimi, Recht 2007). The boxes that a
table can tell apart are without number; they are hashed into a fixed number of places.
"""

from typing import NamedTuple

import numpy as np

from .compile import inlined, reduction

PROJECTIONS = 8  # of a cell
STEPS = 2.0, 4.0  # how long they are, in one half of the tables each
GOLDEN, FIRST_WORD, NEXT_WORD, NEXT_BITS = 0x9E3779B97F4A7C15, 7919, 1_000_003, 29  # of the hash


def draw_tables(n_tables: int, n_projections: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Which projections each table cuts, and where: (tables, PROJECTIONS) each."""
    generator = np.random.default_rng([seed, 1])
    size = n_tables, PROJECTIONS
    return generator.integers(0, n_projections, size), generator.uniform(0.0, 100.0, size)


def inverse_steps(n_tables: int) -> np.ndarray:
    """(tables,) 1 / length of a table's steps."""
    return np.repeat(1.0 / np.array(STEPS), n_tables // len(STEPS))


class Finding(NamedTuple):
    """What `find_cells` reads, and where it computes: table beside table, so that vectors of them are taken at once."""

    pick: np.ndarray  # (PROJECTIONS, tables) uint32
    offset: np.ndarray  # (PROJECTIONS, tables)
    cut: np.ndarray  # (PROJECTIONS, tables)
    mixed: np.ndarray  # (tables,) uint64


def finding(pick: np.ndarray, offset: np.ndarray) -> Finding:
    turned = np.ascontiguousarray(pick.T, np.uint32), np.ascontiguousarray(offset.T)
    return Finding(*turned, np.zeros(offset.T.shape), np.zeros(len(pick), np.uint64))


@inlined
def first_word(r):
    """The hash of nothing, in table r."""
    return np.uint64(r * FIRST_WORD + 1)


@inlined
def next_word(word, cut):
    """The hash of what was cut so far, and of the next."""
    a = (word ^ np.uint64(cut + NEXT_WORD)) * np.uint64(GOLDEN)
    return a ^ (a >> np.uint64(NEXT_BITS))


@inlined
def find_cells(projected, finding, inverse, n_cells, codes):
    """codes[r] = the cell of a row in table r. Requires: n_cells is a power of two."""
    pick, offset, cut, mixed = finding.pick, finding.offset, finding.cut, finding.mixed
    n = codes.shape[0]
    for j in range(pick.shape[0]):
        for r in range(n):
            cut[j, r] = projected[pick[j, r]]
    for j in range(pick.shape[0]):
        for r in range(n):
            cut[j, r] = np.floor((cut[j, r] + offset[j, r]) * inverse[r])
    for r in range(n):
        mixed[r] = first_word(r)
    for j in range(pick.shape[0]):
        for r in range(n):
            mixed[r] = next_word(mixed[r], np.int64(cut[j, r]))
    for r in range(n):
        codes[r] = np.int32(mixed[r] & np.uint64(n_cells - 1))


@reduction
def sum_cells(cells, codes, k):
    total = 0.0
    for r in range(cells.shape[0]):
        total += cells[r, np.uint32(codes[r]), k]
    return total


@inlined
def add_to_cells(cells, codes, k, amount):
    """Every table takes its share of a change of f_k."""
    c = cells.dtype.type(amount / cells.shape[0])
    for r in range(cells.shape[0]):
        cells[r, np.uint32(codes[r]), k] += c


def room_in(places: int, least: int, n_outputs: int) -> int:
    """So many places in a table; fewer, but at least so many, where there are many outputs, so that all have room."""
    return max(least, places >> max(0, (n_outputs - 1).bit_length() - 1))


def fewer_cells(cells: np.ndarray, n_cells: int) -> np.ndarray:
    """The tables with fewer cells: those that fall together become their mean. Requires: powers of two."""
    tables, _, K = cells.shape
    return np.ascontiguousarray(
        cells.reshape(tables, -1, n_cells, K).mean(axis=1, dtype=np.float64).astype(cells.dtype)
    )
