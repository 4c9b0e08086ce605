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
    affine_projections,
    again_when_full,
    ascents,
    block_norms,
    block_rounds,
    coef_axpys,
    columns,
    covariances,
    covariances_of_classes,
    downdates,
    every_row,
    fourier,
    fourier_of_leavers,
    gram_points,
    level_rounds,
    lifted_rows,
    margin_errors,
    merged_scores,
    merges,
    nearest,
    neighbours,
    nystrom,
    other_kernels,
    pair_steps,
    passes,
    plain_rounds,
    quotients,
    scores_at_points,
    second_order,
    sized_covariances,
    sizes_all,
    sizes_drawn,
    sizes_full,
    sizes_moved,
    sizes_of_rows,
    solves,
    symmetric,
    uncertain_covariances,
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
COEFFICIENTS = Piece("a move: one axpy on the coefficients (two with several outputs)", coef_axpys)
COLUMN = Piece("a removal: a column of the inverse Gram matrix (two solves)", columns)
DOWNDATE = Piece("a removal: a rank-one update of the factor behind the point", downdates)
PROJECTION = (ROW, FORWARD, COLUMN, DOWNDATE, ONE_PASS)

TOLD = Piece("a row: one product with a symmetric matrix", symmetric(1, sizes_all, outer=False))
OUTER = Piece("and one outer product that is added to it", symmetric(1, sizes_all, outer=True))
FORWARD_EVER = Piece("a row: one forward solve", solves("forward", sizes_all))
BACKWARD_EVER = Piece("one backward solve", solves("backward", sizes_all))
FORWARD_AGAIN = Piece("a row: another forward solve", solves("forward", sizes_all))
BACKWARD_AGAIN = Piece("another backward solve", solves("backward", sizes_all))
NEAREST = Piece("a row: the largest of its kernel values", nearest)
PROJECTIONS = Piece(
    "a row: its dots with the last rows' kernel values, theirs with the coefficients; axpys of all of them",
    affine_projections,
)

STORED = Piece("a point that comes: its row and its column of the Gram matrix", gram_points)

LIFTED = Piece("a row: projections (BLAS), sin and cos", lifted_rows)
BLOCKS = Piece(
    "a row: a dot for each output; a move: an axpy (or two) on the features of each kernel that moved", block_rounds
)
LINEAR = Piece("a row: a dot for each output", plain_rounds)
CONFIDENCE = Piece("a move: a product with the covariance, a rank-one update of it", covariances)
EMBEDDED = Piece("a row: one forward solve", solves("forward", sizes_of_rows))
DRAWN = Piece("a row while points are drawn: another forward solve", solves("forward", sizes_drawn))
KNOWN = Piece("a row: a product with the covariance, a rank-one update of it", sized_covariances)
SUMS = (
    LIFTED,
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
    "raker": (LIFTED, BLOCKS),
    "adaraker": (
        LIFTED,
        Piece(
            "a row: for each interval that has begun a dot for each output; a move: an axpy on the features that moved",
            level_rounds,
        ),
    ),
    "ufo-mkl": (LIFTED, BLOCKS, Piece("a move: the norm of each kernel's features", block_norms)),
    "sop": (LIFTED, LINEAR, CONFIDENCE),
    "arow": (LIFTED, LINEAR, CONFIDENCE),
    "scw": (
        LIFTED,
        LINEAR,
        Piece(
            "a row whose margin is small: a product with the covariance; a move: a rank-one update of it",
            uncertain_covariances,
        ),
    ),
    "pros-n-kons": (ROW, EMBEDDED, DRAWN, KNOWN),
    "pkawv": (ROW, EMBEDDED, DRAWN, KNOWN),
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
    "omkc": (ROW, Piece("a row: for each other kernel an exp a point, a dot for each output", other_kernels)),
    "forgetron": (ROW, SECOND_ROW),
    "projectron": (ROW, FORWARD, BACKWARD, COEFFICIENTS),
    "projectron++": (
        ROW,
        Piece("a mistake or margin error: one forward solve", solves("forward", margin_errors)),
        BACKWARD,
        COEFFICIENTS,
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
    "krls": (ROW, FORWARD_EVER, BACKWARD_EVER, TOLD, OUTER, FORWARD_AGAIN, BACKWARD_AGAIN),
    "krls-sw": (ROW, FORWARD_EVER, BACKWARD_EVER, COLUMN, DOWNDATE),
    "krls-fb": (ROW, FORWARD_EVER, BACKWARD_EVER, COLUMN, DOWNDATE, ONE_PASS),
    "krls-t": (
        ROW,
        FORWARD_EVER,
        BACKWARD_EVER,
        TOLD,
        OUTER,
        COLUMN,
        DOWNDATE,
        ONE_PASS,
        Piece(
            "a removal: a symmetric matrix is turned on both sides, as two outer products",
            symmetric(2, sizes_full, outer=True),
        ),
    ),
    "klms": (ROW,),
    "qklms": (ROW, NEAREST),
    "knlms": (ROW, NEAREST, PROJECTIONS),
    "kapa": (ROW, NEAREST, PROJECTIONS),
    "avm": (ROW, NEAREST),
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
    "density": (Piece("a row: projections (BLAS), sin and cos, a dot and an axpy", fourier),),
    "lasvm": (
        ROW,
        Piece(
            "a step on a pair: two rows of the Gram matrix taken off the gradients, the pair that violates most then",
            pair_steps,
        ),
        STORED,
    ),
    "opauc": (
        Piece("a row: projections (BLAS), sin and cos, a dot for each output; a move: one axpy", fourier),
        Piece("a row: a product with one covariance, an outer product added to the other", covariances_of_classes),
    ),
    "koil": (
        ROW,
        Piece("a move: an axpy on f at the points for every coefficient that changes", ascents),
        ONE_PASS,
        STORED,
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
