"""What learners share that project on their dictionary: a Cholesky factor beside f, and the coordinates of a new row.

A row whose squared residual is no more than what rounding leaves (ROUNDING times k(x, x)) is taken as lying in the
span: the factor cannot grow by it. In float32 kernel values carry errors of that order, so nearly singular
dictionaries ask for
dtype="float64".
"""

from typing import Any, NamedTuple

import numpy as np

from ..engine.contract import Common, Shape, common
from ..engine.state import ModelFileError
from ..numerics import expansion
from ..numerics.budgets import project_out, spread_over
from ..numerics.compile import compiled, inlined
from ..numerics.expansion import KernelRow
from ..numerics.gram import backward, factor, forward, gram_matrix, grow, inverse_diagonal
from ..numerics.rows import Spread, spread

ROUNDING = {"float32": 3e-5, "float64": 1e-12}

# An entry of the inverse's diagonal that a removal makes this much smaller has lost two digits: it is computed anew.
LOSES_DIGITS = 0.01


class DictionaryScratch(NamedTuple):
    common: Common
    row: KernelRow
    stored: Spread
    values: np.ndarray  # (capacity,) kernel values in float64
    half: np.ndarray  # (capacity,) after `forward`
    coordinates: np.ndarray  # (capacity,), or (K,) where there are more outputs
    rounding: float


def dictionary_scratch(state: Any, shape: Shape) -> DictionaryScratch:
    room = state.f.points.shape[1]
    return DictionaryScratch(
        common(shape.width, shape.n_outputs, shape.dtype),
        expansion.kernel_row(state.f),
        spread(shape.width, shape.dtype),
        np.zeros(room),
        np.zeros(room),
        np.zeros(max(room, shape.n_outputs)),
        ROUNDING[np.dtype(shape.dtype).name],
    )


def factor_of(kernel: Any, f: expansion.Expansion, capacity: int) -> np.ndarray:
    """The factor of a dictionary that was put together outside a step (after a merge)."""
    R, n = factor(capacity), int(f.size)
    if n > 0:
        gram = gram_matrix(kernel, f)
        R[:n, :n] = np.linalg.cholesky(gram + 1e-12 * np.trace(gram) / n * np.eye(n)).T
    return R


def check_factor(state: Any) -> Any:
    """Refuse a factor that could not be solved with (a file can say anything)."""
    n = int(state.f.size)
    if not (np.diag(state.factor)[:n] > 0).all():
        raise ModelFileError("The file's Cholesky factor has a diagonal entry that is not positive.")
    return state


@inlined
def add_or_spread(kernel, f, R, x, length, g, scratch):
    """f = f + length * g k(x, .): as a new term, or over the dictionary where x lies in its span.

    Return whether the dictionary grew.
    """
    n = f.size[()]
    residual = find_residual(kernel, f, R, x, scratch)
    if residual == 0.0:
        backward(R, n, scratch.half, scratch.coordinates)
        spread_over(f, length, g, scratch.coordinates)
        return False
    grow(R, n, scratch.half, residual)
    expansion.add(kernel, f, x, length, g, scratch.row)
    return True


@inlined
def find_residual(kernel, f, R, x, scratch):
    """The squared distance of k(x, .) from the dictionary's span; 0 when it is no more than rounding.

    Requires: scratch.row holds the kernel values of x. Ensures: scratch.half is what `grow` and `backward` need.
    """
    n = f.size[()]
    for i in range(n):
        scratch.values[i] = scratch.row.values[i]
    own = expansion.own_value(kernel, x, scratch.row)
    residual = own - forward(R, n, scratch.values, scratch.half)
    return residual if residual > scratch.rounding * abs(own) else 0.0


@inlined
def count_in(diagonal, n, coordinates, residual):
    """Let the diagonal of the inverse Gram matrix follow a new point, given its coordinates and squared residual."""
    for j in range(n):
        diagonal[j] += coordinates[j] * coordinates[j] / residual
    diagonal[n] = 1.0 / residual


@compiled
def take_out(f, R, diagonal, slot, scratch):
    """Remove a point and refit to the same function; return the squared distance that this adds.

    Ensures: `diagonal` is that of the inverse Gram matrix of the points that are left.
    """
    n = f.size[()]
    column = scratch.coordinates
    added = project_out(f, R, slot, column, scratch.half, scratch.row)
    for j in range(n):
        if j == slot:
            continue
        to = j if j < slot else j - 1
        left = diagonal[j] - column[j] ** 2 / column[slot]
        if left < LOSES_DIGITS * diagonal[j]:
            left = inverse_diagonal(R, n - 1, to, scratch.half)
        diagonal[to] = left
    return added
