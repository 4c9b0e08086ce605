"""What learners share that project on their dictionary: a Cholesky factor beside f, and the coordinates of a new row.

A row whose squared residual is no more than what rounding leaves (ROUNDING times k(x, x)) is taken as lying in the
span: the factor cannot grow by it. In float32 kernel values carry errors of that order, so nearly singular
dictionaries ask for dtype="float64".

Verbs that add to f take the direction from scratch.common.slope, and what they need of x from where `find_residual`
left it in scratch.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Common, Shape, common
from ..engine.state import ModelFileError
from ..kernels import EVALUATED, POSITIVE_DEFINITE, Need
from ..numerics import expansion
from ..numerics.budgets import add_along, first_largest, negative_squares, project_out, smallest_slot
from ..numerics.compile import compiled, inlined
from ..numerics.expansion import KernelRow
from ..numerics.gram import backward, extend_factor, factor, forward, gram_matrix, inverse_diagonal
from ..numerics.rows import DenseRow, dense_row
from ._expansion import ExpansionAlgorithm

ROUNDING = {"float32": 3e-5, "float64": 1e-12}

# An entry of the inverse's diagonal that a removal makes this much smaller has lost two digits: it is computed anew.
LOSES_DIGITS = 0.01


class DictionaryScratch(NamedTuple):
    common: Common
    row: KernelRow
    stored: DenseRow
    values: np.ndarray  # (capacity,) kernel values in float64
    half: np.ndarray  # (capacity,) after `forward`
    coordinates: np.ndarray  # (capacity,), or (K,) where there are more outputs
    rounding: float


def dictionary_scratch(state: Any, shape: Shape) -> DictionaryScratch:
    room = state.f.points.shape[1]
    return DictionaryScratch(
        common(shape.width, shape.n_outputs, shape.dtype),
        expansion.kernel_row(state.f),
        dense_row(shape.width, shape.dtype),
        np.zeros(room),
        np.zeros(room),
        np.zeros(max(room, shape.n_outputs)),
        ROUNDING[np.dtype(shape.dtype).name],
    )


class DictionaryAlgorithm(ExpansionAlgorithm):
    """A learner whose state has `factor`, the Cholesky factor of the Gram matrix of f's points; empty in a variant that
    does not project. It may have `diagonal` too, that of the matrix's inverse.
    """

    needs: ClassVar[tuple[Need, ...]] = (EVALUATED, POSITIVE_DEFINITE)

    def scratch(self, state: Any, shape: Shape) -> Any:
        return dictionary_scratch(state, shape)

    def with_room(self, state: Any, capacity: int) -> Any:
        larger = super().with_room(state, capacity)
        room, R = len(state.factor), factor(larger.f.points.shape[1])
        R[:room, :room] = state.factor
        return larger._replace(factor=R)

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> Any:
        state = super().restore(arrays, shape)
        kept = {"Cholesky factor": np.diag(state.factor), "inverse Gram matrix": getattr(state, "diagonal", np.ones(0))}
        for name, diagonal in kept.items():
            if not (diagonal[: int(state.f.size)] > 0).all():
                raise ModelFileError(f"The file's {name} has a diagonal entry that is not positive.")
        return state

    def factored(self, state: Any) -> Any:
        """The state with the factor of a dictionary that was put together outside a step."""
        n, R = int(state.f.size), factor(state.f.points.shape[1])
        if n > 0:
            gram = gram_matrix(self.kernel, state.f)
            R[:n, :n] = np.linalg.cholesky(gram + 1e-12 * np.trace(gram) / n * np.eye(n)).T
        return state._replace(factor=R)


@inlined
def find_residual(kernel, state, x, scratch):
    """The squared distance of k(x, .) from the dictionary's span; 0 when it is no more than rounding.

    Requires: scratch.row holds the kernel values of x. Ensures: scratch.half is what `extend_factor` and `backward`
    need.
    """
    n = state.f.size[()]
    for i in range(n):
        scratch.values[i] = scratch.row.values[i]
    own = expansion.own_value(kernel, x, scratch.row)
    residual = own - forward(state.factor, n, scratch.values, scratch.half)
    return residual if residual > scratch.rounding * abs(own) else 0.0


@inlined
def find_coordinates(state, scratch):
    """Write the coordinates of k(x, .) on the dictionary into scratch.coordinates."""
    backward(state.factor, state.f.size[()], scratch.half, scratch.coordinates)


@inlined
def add_projection(state, step, scratch):
    """f = f + step * slope P k(x, .), P the projection on the dictionary's span."""
    find_coordinates(state, scratch)
    add_along(state.f, step, scratch.common.slope, scratch.coordinates)


@inlined
def add_point(kernel, state, x, step, residual, scratch):
    """f = f + step * slope k(x, .), with x as a point of the dictionary. Requires: room, residual > 0."""
    extend_factor(state.factor, state.f.size[()], scratch.half, residual)
    expansion.add(kernel, state.f, x, step, scratch.common.slope, scratch.row)


@inlined
def add_or_project(kernel, state, x, step, scratch):
    """f = f + step * slope k(x, .), without a new point where x lies in the dictionary's span; return whether there is
    one.
    """
    residual = find_residual(kernel, state, x, scratch)
    if residual == 0.0:
        add_projection(state, step, scratch)
        return False
    add_point(kernel, state, x, step, residual, scratch)
    return True


@inlined
def project_smallest(state, scratch):
    """Replace the smallest term by its projection on the others; return the squared norm that is lost."""
    slot = smallest_slot(state.f, scratch.row)
    return project_out(state.f, state.factor, slot, scratch.coordinates, scratch.half, scratch.row)


# Where the diagonal of the inverse Gram matrix is kept.


@inlined
def count_in(state, n, coordinates, residual):
    """The diagonal, when a point with these coordinates and residual becomes the n-th."""
    diagonal = state.diagonal
    for j in range(n):
        diagonal[j] += coordinates[j] * coordinates[j] / residual
    diagonal[n] = 1.0 / residual


@inlined
def count_out(diagonal, R, column, slot, n, half):
    """The diagonal, when a point has left n of them: R is the factor without it, `column` the inverse's of before."""
    for j in range(n):
        if j == slot:
            continue
        to = j if j < slot else j - 1
        left = diagonal[j] - column[j] ** 2 / column[slot]
        if left < LOSES_DIGITS * diagonal[j]:
            left = inverse_diagonal(R, n - 1, to, half)
        diagonal[to] = left


@inlined
def add_counted(kernel, state, x, step, residual, scratch):
    """`add_point`, and the diagonal follows. Requires: `find_coordinates`."""
    count_in(state, state.f.size[()], scratch.coordinates, residual)
    add_point(kernel, state, x, step, residual, scratch)


@compiled
def cheapest_slot(f, diagonal, n, row):
    """The slot, of the first n, from which `take_out` moves f least."""
    negative_squares(f, row.ranks)
    for j in range(n):
        row.ranks[j] /= diagonal[j]
    return first_largest(row.ranks, n)


@compiled
def take_out(f, R, diagonal, slot, scratch):
    """Remove a point and refit to the same function; return the squared distance that this adds.

    Ensures: `diagonal` is that of the inverse Gram matrix of the points that are left.
    """
    n = f.size[()]
    column = scratch.coordinates
    added = project_out(f, R, slot, column, scratch.half, scratch.row)
    count_out(diagonal, R, column, slot, n, scratch.half)
    return added
