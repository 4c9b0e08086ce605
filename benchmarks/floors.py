"""The floor of each learner: the arithmetic that its algorithm cannot avoid on the rows it was given, timed bare.

A floor is a list of pieces. A piece says in words what is counted, and builds it for a case: how many kernel rows over
how many points, which rows moved the model, how many points left, all taken from the course of the very run that it is
compared with. Arrays begin on cache lines, as the learners' do. Rescaling all coefficients is not counted (it can be
kept as one factor), nor is storing a point.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from .cases import Case
from .pieces import (
    Bare,
    again_when_full,
    ascents,
    coef_axpys,
    columns,
    covariances,
    downdates,
    every_row,
    fourier,
    fourier_of_leavers,
    lifted_rows,
    margin_errors,
    merged_scores,
    merges,
    nearest,
    neighbours,
    nystrom,
    passes,
    quotients,
    scores_at_points,
    second_order,
    sizes_moved,
    solves,
    widths,
)


class Piece(NamedTuple):
    words: str
    build: Callable[[Case], Bare]


ROW = Piece("a row: one kernel row, a dot for each output", every_row)
SECOND_ROW = Piece("a removal: one more kernel row", again_when_full)
ONE_PASS = Piece("a removal: one pass over the points", passes(1))
TWO_PASSES = Piece("a removal: two passes over the points", passes(2))
FORWARD = Piece("a move: one forward solve", solves("forward", sizes_moved))
BACKWARD = Piece("a move: one backward solve", solves("backward", sizes_moved))
SPREADING = Piece("a move: one axpy on the coefficients (two with several outputs)", coef_axpys)
COLUMN = Piece("a removal: a column of the inverse Gram matrix (two solves)", columns)
DOWNDATE = Piece("a removal: a rank-one update of the factor behind the point", downdates)
PROJECTION = (ROW, FORWARD, COLUMN, DOWNDATE, ONE_PASS)

SUMS = (
    Piece("a row: projections (BLAS), sin and cos", lifted_rows),
    Piece("rows: their outer products (BLAS), the systems' solutions (LAPACK)", second_order),
)


def of_parts(case: Case) -> Bare:
    """The floors of the parts, each with its own settings."""
    parts = [replace(case, learner=part.name, parameters=part.get_params(deep=False)) for part in case.spec.parts]
    pieces = [piece.build(part) for part in parts for piece in FLOORS[part.learner]]

    def run() -> None:
        for piece in pieces:
            piece()

    return run


FLOORS: dict[str, tuple[Piece, ...]] = {
    "auto": SUMS,
    "ridge": SUMS,
    "stack": (Piece("the floors of its parts", of_parts),),
    "fogd": (
        Piece("a row: projections (BLAS), sin and cos, a dot for each output; a move: one axpy (or two)", fourier),
    ),
    "nogd": (
        Piece(
            "a row: one kernel row, its product with the map (BLAS), a dot for each output; a move: one axpy (or two); "
            "once: the eigen-decomposition",
            nystrom,
        ),
    ),
    "rrf": (
        Piece(
            "a row: one projection (the widths change from row to row), sin and cos, a dot for each output; a move: "
            "one axpy (or two), the slope of the projection, a dot for each feature",
            widths,
        ),
    ),
    "dualsgd": (
        ROW,
        Piece("a row: projections (BLAS), sin and cos, a dot for each output", fourier),
        Piece("a point that leaves: its projection, sin and cos, one axpy (or two)", fourier_of_leavers),
    ),
    "perceptron": (ROW,),
    "ogd": (ROW,),
    "norma": (ROW,),
    "pegasos": (ROW,),
    "pa-1": (ROW,),
    "pa-2": (ROW,),
    "budget-perceptron": (
        ROW,
        Piece("a move: an axpy on the scores at the points for what comes, one for what goes", scores_at_points),
        ONE_PASS,
        SECOND_ROW,
    ),
    "rbp": (ROW,),
    "forgetron": (ROW, SECOND_ROW),
    "projectron": (ROW, FORWARD, BACKWARD, SPREADING),
    "projectron++": (
        ROW,
        Piece("a mistake or margin error: one forward solve", solves("forward", margin_errors)),
        BACKWARD,
        SPREADING,
    ),
    "bogd": (ROW, ONE_PASS),
    "bogd++": (ROW, TWO_PASSES),
    "bpa-s": (ROW, ONE_PASS),
    "bpa-p": PROJECTION,
    "bpa-nn": (
        ROW,
        ONE_PASS,
        Piece("a removal: for each point the kernel value at its neighbour, and a quotient in float64", quotients),
        Piece(
            "a removal: the new point's largest kernel value; for each point whether the new one is nearer", neighbours
        ),
    ),
    "bsgd-r": (ROW, ONE_PASS),
    "bsgd-p": PROJECTION,
    "bsgd-m": (
        ROW,
        SECOND_ROW,
        ONE_PASS,
        Piece("a removal: a look-up for every partner, one line search of 30 steps", merges),
    ),
    "npbsgd": PROJECTION,
    "polk": (ROW, FORWARD, BACKWARD, COLUMN, DOWNDATE, TWO_PASSES),
    "avm": (ROW, Piece("a row: the largest of its kernel values", nearest)),
    "tvm": (
        ROW,
        SECOND_ROW,
        TWO_PASSES,
        Piece(
            "a removal: on the scores at the points two axpys for the pair, one for what it became; its score",
            merged_scores,
        ),
        Piece(
            "a move: an axpy on the scores at the points for every dual variable that changes, one after the other",
            ascents,
        ),
    ),
    "lasvm": (
        ROW,
        Piece("a move: an axpy on the gradients for every dual variable that changes", ascents),
        ONE_PASS,
    ),
    "opauc": (
        Piece("a row: projections (BLAS), sin and cos, a dot for each output; a move: one axpy", fourier),
        Piece("a row: a product with one covariance, an outer product added to the other (BLAS)", covariances),
    ),
}


def words(name: str) -> str:
    """What is counted for a learner."""
    return "; ".join(piece.words for piece in FLOORS[name])


def floor(case: Case) -> Callable[[], Bare]:
    """The work that times a case's floor."""
    pieces = [piece.build(case) for piece in FLOORS[case.learner]]

    def run() -> None:
        for piece in pieces:
            piece()

    def ready() -> Bare:
        case.pass_over()
        return run

    return ready
