"""What recursive least squares in the kernel's space share: coefficients in float64 beside f, and a Cholesky factor.

f has the coefficients in the model's precision, to be evaluated; `alpha` has them in float64, to be updated: a
coefficient that follows a million rows by small corrections keeps its digits.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..engine import Chunk, Common, Shape, common
from ..kernels import KernelRecord
from ..numerics import expansion
from ..numerics.budgets import first_largest, remove
from ..numerics.compile import compiled, inlined
from ..numerics.expansion import Expansion, KernelRow, dot
from ..numerics.gram import backward, gram_matrix, inverse_diagonal, reduce_factor
from ..numerics.lists import close_gap
from ..numerics.rows import MOST_DOUBLE, MOST_SINGLE, DenseRow, dense_row
from ._dictionary import ROUNDING, DictionaryAlgorithm, count_out
from ._expansion import ExpansionAlgorithm, evaluated_by
from ._squares import SquaredErrors, SquaresRecord, to_say
from .ridge import chances


class RecursiveRecord(NamedTuple):
    """The part of a record that is common."""

    kernel: KernelRecord
    squares: SquaresRecord


class RecursiveScratch(NamedTuple):
    common: Common
    row: KernelRow
    stored: DenseRow
    values: np.ndarray  # (room,) kernel values in float64
    half: np.ndarray  # (room,) after `forward`
    coordinates: np.ndarray  # (room,), or (K,) where there are more outputs
    rounding: float
    errors: np.ndarray  # (K,) what the outputs were to say, less what they said
    gain: np.ndarray  # (room,)
    told: np.ndarray  # (room,)
    kept: np.ndarray  # (chunk, room) kernel values of a chunk's rows
    own: np.ndarray  # (chunk,) k(x, x) of them


class RecursiveAlgorithm(DictionaryAlgorithm, SquaredErrors):
    """A learner whose state has `alpha` beside f and `factor`. By name, the leaves that have a place for each point
    (`lines`: for each output as well) or for two of them, or one for each output.
    """

    budget: int | None
    matrices: ClassVar[tuple[str, ...]] = ("factor",)
    lines: ClassVar[tuple[str, ...]] = ("alpha",)
    vectors: ClassVar[tuple[str, ...]] = ()
    totals: ClassVar[tuple[str, ...]] = ()
    models_probabilities: ClassVar[bool] = True
    exempt: ClassVar[dict[str, str]] = {
        "merge_is_the_weighted_sum": "what rows tell is put together, and the solution is not linear in it",
        "weight_scales_the_step": "a weight scales what a row tells",
    }

    @property
    def capacity(self) -> int | None:
        return None if self.budget is None else self.budget + self.spare

    def shared(self, task: str, dtype: Any) -> RecursiveRecord:
        return RecursiveRecord(self.kernel.lower(dtype), self.squares(task, dtype))

    def scratch(self, state: Any, shape: Shape) -> RecursiveScratch:
        room = state.f.points.shape[1]
        kept = room if self.models_deviations else 0
        shared = common(shape.width, shape.n_outputs, shape.dtype, kept)
        return RecursiveScratch(
            shared,
            expansion.kernel_row(state.f),
            dense_row(shape.width, shape.dtype),
            np.zeros(room),
            np.zeros(room),
            np.zeros(max(room, shape.n_outputs)),
            ROUNDING[np.dtype(shape.dtype).name],
            np.zeros(shape.n_outputs),
            np.zeros(room),
            np.zeros(room),
            np.zeros((shared.chunk if kept else 0, kept), shape.dtype),
            np.zeros(shared.chunk if kept else 0),
        )

    def with_room(self, state: Any, capacity: int) -> Any:
        larger = ExpansionAlgorithm.with_room(self, state, capacity)
        more = larger.f.points.shape[1] - len(state.factor)
        padding = {name: [(0, more), (0, more)] for name in self.matrices}
        padding |= {name: [(0, 0), (0, more)] for name in self.lines} | {name: [(0, more)] for name in self.vectors}
        return larger._replace(**{name: np.pad(getattr(state, name), by) for name, by in padding.items()})

    def grow(self, state: Any, shape: Shape) -> Any:
        """An output more has said nothing so far, and was to say nothing."""
        more = shape.n_outputs - len(state.alpha)
        padding = {name: [(0, more), (0, 0)] for name in self.lines} | {name: [(0, more)] for name in self.totals}
        return (
            super()
            .grow(state, shape)
            ._replace(**{name: np.pad(getattr(state, name), by) for name, by in padding.items() if more})
        )

    def probabilities(self, state: Any, scores: np.ndarray) -> np.ndarray:
        return chances(scores)

    def made(self, f: Expansion, alpha: np.ndarray, like: Any) -> Any:
        """A state like another with these points and coefficients (K, n), and the factor of their Gram matrix."""
        n, room = int(f.size), f.points.shape[1]
        wide = np.zeros((len(alpha), room))
        wide[:, :n] = alpha
        f.coef[:, :n] = alpha
        return self.factored(like._replace(f=f, alpha=wide))


def gram_of(kernel: Any, f: Expansion) -> np.ndarray:
    return gram_matrix(kernel, f) if f.size > 0 else np.zeros((0, 0))


def padded_square(matrix: np.ndarray, room: int) -> np.ndarray:
    """With zeros up to the room that there is."""
    square = np.zeros((room, room))
    square[: len(matrix), : len(matrix)] = matrix
    return square


def whitened(state: Any, chunks: Iterator[Chunk]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """k(x, x) and half = R'^-1 k of each chunk's rows: |half|^2 is what of k(x, .) lies inside."""
    n = int(state.f.size)
    for chunk in chunks:
        rows = len(chunk.scores)
        k = chunk.scratch.kept[:rows, :n].T.astype(np.float64)
        yield chunk.scratch.own[:rows].copy(), solve_triangular(state.factor[:n, :n], k, trans="T")


def _evaluate(record, state, scratch, x, scores):
    """scores = f(x). Ensures: the kernel values of x are kept, for `deviations`."""
    expansion.evaluate(record.shared.kernel, state.f, x, scratch.row, scores)
    if x.place >= 0:
        kept = scratch.kept[x.place]
        for i in range(state.f.size[()]):
            kept[i] = scratch.row.values[i]
        scratch.own[x.place] = expansion.own_value(record.shared.kernel, x, scratch.row)


# The record of a learner whose scores are f(x), and that has deviations.
keeping_record = evaluated_by(_evaluate)


@inlined
def find_values(state, scratch):
    """Write the kernel values of x, that `evaluate` has left, into scratch.values in float64."""
    for i in range(state.f.size[()]):
        scratch.values[i] = scratch.row.values[i]


@inlined
def find_errors(record, state, target, scratch):
    """scratch.errors, in float64. Requires: scratch.values are the kernel values of x and the points."""
    n = state.f.size[()]
    for k in range(scratch.errors.shape[0]):
        said = dot(state.alpha[k, :n], scratch.values[:n])
        scratch.errors[k] = to_say(record.squares, k, target) - said


@compiled
def fits(state, errors, share, direction, n):
    """Whether alpha + share * errors direction', of the first n, are numbers that coefficients may be."""
    most = MOST_SINGLE if state.f.coef.itemsize == 4 else MOST_DOUBLE
    bad = 0
    for k in range(errors.shape[0]):
        alpha, length = state.alpha[k], share * errors[k]
        for i in range(n):
            bad += not abs(alpha[i] + length * direction[i]) <= most
    return bad == 0


@compiled
def move(state, errors, share, direction, n, multiplier):
    """alpha = multiplier * (alpha + share * errors direction'), of the first n."""
    for k in range(errors.shape[0]):
        alpha, length = state.alpha[k], share * errors[k]
        for i in range(n):
            alpha[i] = multiplier * (alpha[i] + length * direction[i])


@inlined
def write_out(state):
    """f has the coefficients that `alpha` has."""
    for k in range(state.alpha.shape[0]):
        alpha, coef = state.alpha[k], state.f.coef[k]
        for i in range(state.f.size[()]):
            coef[i] = alpha[i]


@compiled
def least_missed(state, errors, share, direction, coordinates, residual, ranks):
    """The point, of those that there are and the new one behind them, at which the others would miss alpha's function
    least: |alpha_i| / (inverse)_ii, with alpha + share * errors direction' and a new point of these coordinates and
    residual.
    """
    n, diagonal = state.f.size[()], state.diagonal
    for i in range(n + 1):
        ranks[i] = 0.0
    for k in range(errors.shape[0]):
        alpha, length = state.alpha[k], share * errors[k]
        for i in range(n):
            missed = (alpha[i] + length * direction[i]) / (diagonal[i] + coordinates[i] * coordinates[i] / residual)
            ranks[i] -= missed * missed
        ranks[n] -= (length * direction[n] * residual) ** 2
    return first_largest(ranks, n + 1)


@compiled
def withdraw(state, slot, scratch):
    """Take a point out of f, factor and diagonal, and refit alpha: the function's projection on the others where the
    factor is the Gram matrix's, the solution without that row where it has the ridge in it.

    Ensures: scratch.half and scratch.gain are the rotations of `reduce_factor`; alpha is 0 behind the points.
    """
    f, R, diagonal, n = state.f, state.factor, state.diagonal, state.f.size[()]
    column, half = scratch.coordinates, scratch.half
    inverse_diagonal(R, n, slot, half)
    backward(R, n, half, column)
    for k in range(state.alpha.shape[0]):
        alpha = state.alpha[k]
        share = alpha[slot] / column[slot]
        for j in range(n):
            alpha[j] -= share * column[j]
        close_gap(alpha, slot, n)
        alpha[n - 1] = 0.0
    reduce_factor(R, n, slot, half, scratch.gain)
    if diagonal.shape[0] > 0:
        count_out(diagonal, R, column, slot, n, scratch.values)
    remove(f, slot, scratch.row)
