"""Kernel values of sums and products of kernels: a programme, written as the constants of one kernel.

A programme is read from the left and works on a stack of values, a few points at a time:

    PART metric n address constants      push the values of a kernel, by its formula and n constants
    ADD, MULTIPLY                        replace the two uppermost values by one
    TIMES multiplier                     multiply the uppermost one

before which stand HEADER numbers: the metric that `formula` is given, and the metrics of all parts as bits. So a sum is
a record like that of any other kernel, and no learner is compiled for it.

Where all parts have one metric, a sum is a formula on it. Where they have several, every row is taken alone, by
`_tile`. What is stored of a point is then its square: for the Manhattan distance of a sparse row all features of the
points are read.
"""

from typing import Any, NamedTuple

import numpy as np

from .compile import Pointer, call_for_effect, inlined, room_on_stack
from .tiles import MANHATTAN, TILE_ARGUMENTS, metric_tile

PART, ADD, MULTIPLY, TIMES = range(4)
HEADER = 2

# Parts of one programme, and so values on its stack.
MOST_PARTS = 8

# Points that a programme runs for at once: a call of a formula costs little beside them, and they stay in the caches.
FEW = 256

# An address is written as so many numbers of 16 bits, which float32 holds exactly.
_WORDS = 4

_metrics = room_on_stack(3, FEW)
_stack = room_on_stack(MOST_PARTS, FEW)
_norms = room_on_stack(1, FEW)


def header(metric: int, metrics: set[int]) -> list[float]:
    return [metric, sum(1 << one for one in metrics)]


def part(metric: int, formula: int, constants: tuple[float, ...]) -> list[float]:
    address = [formula >> 16 * word & 0xFFFF for word in range(_WORDS)]
    return [PART, metric, len(constants), *address, *constants]


@inlined
def _compute(programme, metrics, n, stack):
    """Make stack[0, :n] the kernel values of n points, from the rows of `metrics`."""
    depth, at = 0, HEADER
    while at < programme.shape[0]:
        code = int(programme[at])
        if code == PART:
            top, given = stack[depth, :n], metrics[int(programme[at + 1])]
            for j in range(n):
                top[j] = given[j]
            formula = 0
            for word in range(_WORDS):
                formula += int(programme[at + 3 + word]) << 16 * word
            begin = at + 3 + _WORDS
            at = begin + int(programme[at + 2])
            call_for_effect(formula, programme[begin:at], top)
            depth += 1
        elif code == TIMES:
            top, multiplier = stack[depth - 1, :n], programme[at + 1]
            for j in range(n):
                top[j] *= multiplier
            at += 2
        else:
            depth -= 1
            below, top = stack[depth - 1, :n], stack[depth, :n]
            if code == ADD:
                for j in range(n):
                    below[j] += top[j]
            else:
                for j in range(n):
                    below[j] *= top[j]
            at += 1


def formula(constants: Any, row: Any) -> None:
    """Replace values of the programme's metric in `row` by kernel values; where parts have another metric too, squares
    by k(x, x): distances of x from itself are 0.
    """
    metrics, stack = _metrics(row), _stack(row)
    metric = int(constants[0])
    for lo in range(0, row.shape[0], FEW):
        some = row[lo : min(lo + FEW, row.shape[0])]
        n = some.shape[0]
        for j in range(n):
            metrics[0, j] = metrics[1, j] = metrics[2, j] = 0
            metrics[metric, j] = some[j]
        _compute(constants, metrics, n, stack)
        for j in range(n):
            some[j] = stack[0, j]


@inlined
def _find(bits, indices, values, points, norms, first, own, metrics, at, n, wide):
    """metrics[one, at + j] = the metric `one` of x and point first + j, j < n, for those that are named in `bits`."""
    for one in range(3):
        if bits >> one & 1 == 0:
            continue
        for j in range(n):
            own[j] = 0.0 if one == MANHATTAN else norms[first + j]
        if one == MANHATTAN and indices.shape[0] < points.shape[0]:
            for p in range(points.shape[0]):
                z = points[p, first : first + n]
                for j in range(n):
                    own[j] += np.float64(abs(z[j]))
        metric_tile(one, indices, values, points, own[:n], first, metrics[one, at : at + n], wide)


def _tile(metric, formula, programme, indices, values, points, norms, lo, row, wide):
    """As `tiles._kernel_tile`, from several metrics."""
    metrics, stack, own = _metrics(row), _stack(row), _norms(wide)[0]
    for first in range(lo, lo + row.shape[0], FEW):
        some = row[first - lo : min(first - lo + FEW, row.shape[0])]
        n = some.shape[0]
        _find(int(programme[1]), indices, values, points, norms, first, own, metrics, 0, n, wide)
        _compute(programme, metrics, n, stack)
        for j in range(n):
            some[j] = stack[0, j]


def _several(bits, indices, values, points, norms, size, metrics, wide):
    own = _norms(wide)[0]
    for first in range(0, size, FEW):
        _find(bits, indices, values, points, norms, first, own, metrics, first, min(FEW, size - first), wide)


_TILE = Pointer(_tile, TILE_ARGUMENTS, value=False)
_SEVERAL = Pointer(_several, "ixrmwimw", value=False)


def one_row(dtype: Any) -> int:
    """Address of what takes a row alone where parts have several metrics."""
    return _TILE.address(dtype)


class Metrics(NamedTuple):
    """Metrics that are computed side by side, for kernels of several; as a record."""

    bits: int  # 0 where there is one alone
    address: int


def several_metrics(metrics: set[int], dtype: Any) -> Metrics:
    bits = sum(1 << one for one in metrics) if len(metrics) > 1 else 0
    return Metrics(bits, _SEVERAL.address(dtype))


@inlined
def find_metrics(several, f, x, row, metrics):
    """metrics[one, i] = the metric `one` of x and point i of f. Requires: f.norms are squares."""
    given = x.indices, x.values, f.points, f.norms
    call_for_effect(several.address, several.bits, *given, f.size[()], metrics, row.wide)
