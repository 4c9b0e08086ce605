"""Landmarks that are chosen as rows come: a row becomes one where those there are leave enough of it unexplained.

Engel, Mannor, Meir: The Kernel Recursive Least-Squares Algorithm (2004), sec. 2.1: approximate linear dependence. With
K = R'R the Gram matrix of the landmarks, z(x) = R'^-1 (k(s_1, x), ..., k(s_n, x)) has z(x)'z(x') = k_x' K^-1 k_x', the
Nystrom approximation, and |z(x)|^2 is what the landmarks explain of k(x, x). R is triangular: a landmark adds a number
to z and changes none of those before it.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import expansion
from .blas import solve_lower
from .compile import compiled
from .expansion import Expansion, KernelRow
from .gram import extend_factor, factor, forward
from .memory import aligned
from .rows import Block, DenseRow, alone, dense_row, n_rows, row_of

if TYPE_CHECKING:
    from ..kernels import Kernel


TOGETHER = 64  # rows whose systems are solved in one call


class Landmarks(NamedTuple):
    f: Expansion  # its points; the coefficients are not used
    factor: np.ndarray  # (room, room) R, in float64


class Room(NamedTuple):
    row: KernelRow
    dense: DenseRow
    values: np.ndarray  # (room,) kernel values in float64
    half: np.ndarray  # (room,) z of the row
    slope: np.ndarray  # (1,) of zero


def no_landmarks(width: int, room: int, dtype: Any) -> Landmarks:
    return Landmarks(expansion.empty(width, room, 1, dtype), factor(room))


@compiled
def _choose(kernel, landmarks, block, n, tolerance, room):
    f, R = landmarks.f, landmarks.factor
    for t in range(n):
        if expansion.full(f):
            return
        x = alone(row_of(block, t, -1, room.dense))
        expansion.kernel_values(kernel, f, x, room.row)
        size = f.size[()]
        for i in range(size):
            room.values[i] = room.row.values[i]
        own = expansion.own_value(kernel, x, room.row)
        residual = own - forward(R, size, room.values, room.half)
        if residual > tolerance * own:
            extend_factor(R, size, room.half, residual)
            expansion.store(kernel, f, size, x, 0.0, room.slope)


def choose(kernel: "Kernel", landmarks: Landmarks, block: Block, tolerance: float) -> None:
    """Take those rows in, while there is room, of whose k(x, x) more than the share `tolerance` is unexplained."""
    (width, most), dtype = landmarks.f.points.shape, landmarks.f.points.dtype
    if int(landmarks.f.size) == most:
        return
    row = expansion.kernel_row(landmarks.f)
    room = Room(row, dense_row(width, dtype), np.zeros(most), np.zeros(most), np.zeros(1, dtype))
    _choose(kernel.lower_for_rows(dtype), landmarks, block, n_rows(block), tolerance, room)


@compiled
def _kernel_rows(kernel, f, block, start, stop, dense, row, out):
    expansion.kernel_rows(kernel, f, block, start, stop, dense, row, out)


class Writing(NamedTuple):
    """What `write_features` needs: L = R' in the landmarks' precision, the kernel's record, room for TOGETHER rows."""

    f: Expansion
    lower: np.ndarray  # (n, n)
    kernel: Any
    row: KernelRow
    dense: DenseRow
    values: np.ndarray  # (TOGETHER, n)


def lower_factor(landmarks: Landmarks) -> np.ndarray:
    """L of `Writing`, which lasts until there are more landmarks."""
    n = int(landmarks.f.size)
    return np.ascontiguousarray(landmarks.factor[:n, :n].T, landmarks.f.points.dtype)


def writing(kernel: "Kernel", landmarks: Landmarks, lower: np.ndarray) -> Writing:
    """Requires: `lower_factor` of these landmarks."""
    f, n = landmarks.f, int(landmarks.f.size)
    width, dtype = len(f.points), f.points.dtype
    values = aligned(np.zeros((TOGETHER, n), dtype))
    return Writing(f, lower, kernel.lower(dtype), expansion.kernel_row(f), dense_row(width, dtype), values)


def write_features(w: Writing, block: Block, start: int, stop: int, out: np.ndarray) -> None:
    """out[t] = z(row t) for the rows start .. stop-1, zero where there is no landmark yet.

    So many rows are solved for at a time, whether they are there or not, that a row's bits do not depend on the others.
    """
    n = len(w.lower)
    out[start:stop, n:] = 0.0
    for first in range(start, stop if n > 0 else start, TOGETHER):
        last = min(first + TOGETHER, stop)
        _kernel_rows(w.kernel, w.f, block, first, last, w.dense, w.row, w.values)
        solve_lower(w.lower, w.values)
        out[first:last, :n] = w.values[: last - first]
