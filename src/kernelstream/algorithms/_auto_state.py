"""What `auto` is made of: its record, its state, its scratch, and how many rows make what due."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..engine import Common
from ..losses import LossRecord
from ..numerics import boxes as boxing
from ..numerics.boxes import Boxes
from ..numerics.cells import Finding
from ..numerics.gradual import Gradual, nothing_begun
from ..numerics.memory import zeros
from ..numerics.parts import Parts, Steps, Tables, n_parts
from ..numerics.recent import Recent
from ..numerics.second_order import Sums
from ..numerics.settling import Columns, Metrics, settling_row
from ..numerics.shifts import Shift
from ..numerics.shown import Shown
from ..numerics.waking import Waking
from ._anew import N_GIVEN

if TYPE_CHECKING:
    pass

N_PARTS = n_parts(N_GIVEN)
WIDEST = 1024  # features; those beyond are added to the others
PIECE = 128  # rows after which those that wait go into sums
STAGED, LATER = 1024, (128, 256)  # from this settling on a map is used a 16th of the rows later, within these
SHARE, STEPS = 16, 36  # at every 16th of these rows there is a share of so many steps towards it
EARLY, GROWTH, LONGEST = 8, 4, 16_384  # the ridge is solved when rows have grown by 1/8, from STAGED on by 1/4
THINNED = 16_384, 131_072  # from these rows on one of two, then one of four, goes into the sums
LEFT, LEFT_OF_STACK = 0.02, 0.1  # what least squares that forgets keeps at a shift of the rows before it, and the stack
NEVER = 1 << 52
IDLE, SOLVED = -1, -2  # what is done about the ridge's system, instead of the number of the next step


class AutoRecord(NamedTuple):
    loss: LossRecord
    task: int
    multiply: int
    products: int
    sincos: int
    steps: Steps


class Kept(NamedTuple):
    """The first rows, and once all is settled those behind a shift; there is room for none where there is none."""

    x: np.ndarray  # (room, d)
    targets: np.ndarray  # (room,)
    weights: np.ndarray  # (room,)
    errors: np.ndarray  # (room,) of a regression, how far off its target a row was shown; of classes, its loss
    rest: np.ndarray  # (room, K) what all parts but the boxes said when it was shown


class Beside(NamedTuple):
    """What may be worked on while rows are learned; nobody looks at it, nor at the sums, before the next piece."""

    rows: np.ndarray  # (PIECE, D) z of rows that are to go into the sums
    targets: np.ndarray  # (PIECE, K)
    gradual: Gradual
    progress: np.ndarray  # 0-d, the next step towards a solution; IDLE, SOLVED
    todo: np.ndarray  # (2,) how many of the rows, and which step (IDLE: none); both from one piece to the next


class AutoState(NamedTuple):
    columns: Columns
    map: np.ndarray  # (d, D/2)
    weights: np.ndarray  # (heads, D), the ridge's solution; the second head of a regression is for its errors' size
    ridge: np.ndarray  # 0-d
    recent: Recent
    parts: Parts
    sums: Sums
    beside: Beside
    t: np.ndarray  # rows so far, 0-d
    due: np.ndarray  # (3,) the rows after which the ridge is solved, a map built, and anything done
    mean: np.ndarray  # (K,) of the targets before anything is settled
    scale: np.ndarray  # (4,) of a regression's targets: center, unit, smallest, largest
    noise: np.ndarray  # (2,) of a regression: the mean size of errors, and of their squares over what was expected
    link: np.ndarray  # from scores to chances
    importances: np.ndarray  # (d,)
    kept: Kept
    metrics: Metrics
    tables: Tables
    boxes: Boxes
    shown: Shown
    waking: Waking
    shift: Shift
    seed: np.ndarray  # 0-d


class AutoScratch(NamedTuple):
    common: Common
    asleep: np.ndarray  # the columns that are constant so far
    raw: np.ndarray  # (d,) a row
    indptr: np.ndarray  # the standardised rows as a block
    indices: np.ndarray
    values: np.ndarray  # (chunk * d,)
    projected: np.ndarray  # (chunk, D/2)
    z: np.ndarray  # (chunk, D)
    plainly: np.ndarray  # (chunk, L/2)
    plain: np.ndarray  # (chunk, L)
    ridge: np.ndarray  # (chunk, heads) what its weights say
    recent: np.ndarray  # (2, chunk, K) likewise
    finding: Finding
    codes: np.ndarray  # (chunk, tables) their cells
    boxing: boxing.Finding
    boxed: np.ndarray  # (chunk, boxes' tables) their boxes
    e: np.ndarray  # (M, K) what the parts say
    heard: np.ndarray  # (M, K) what the stack hears of it
    y: np.ndarray  # (heads,) what they are to say
    f: np.ndarray  # (K,) what the stack said
    left: np.ndarray  # (K,) what is left for the boxes
    w: np.ndarray  # (M,)
    factor: np.ndarray  # (M, M)


def building_row(N: int) -> int:
    """The row after which the map is used that is found on the first N."""
    return N if N < STAGED else N + min(max(N // 16, LATER[0]), LATER[1])


def built_row(t: int) -> int:
    """The settling whose map is in use after t rows; 0: none."""
    N = settling_row(t)
    return N if t >= building_row(N) else N // 2


def share_of(t: int) -> int:
    """How many rows one stands for that goes into the sums."""
    return 1 if t < THINNED[0] else 2 if t < THINNED[1] else 4


def untried(state: AutoState) -> AutoState:
    """The state that goes on without a look at a model which began later."""
    if state.shift.row == 0:
        return state
    shift = state.shift._replace(row=np.zeros((), np.int64))
    return state._replace(shift=shift, kept=no_rows(0, len(state.map), len(state.mean), state.map.dtype))


def begun_anew(state: AutoState) -> AutoState:
    """A state whose sums have changed: what was begun towards a solution is let go."""
    over = len(state.beside.rows) > 0
    heads, D = state.weights.shape
    return state._replace(beside=nothing_to_do(D, heads, state.map.dtype, over=over))


def nothing_to_do(length: int, heads: int, dtype: Any, *, over: bool) -> Beside:
    """over: all is settled; before, there is no room for anything."""
    room, D = (PIECE, length) if over else (0, 0)
    handed = zeros((room, D), dtype), np.zeros((room, heads), dtype)
    return Beside(handed[0], handed[1], nothing_begun(D, heads), np.array(IDLE), np.array([0, IDLE]))


def no_rows(room: int, width: int, n_outputs: int, dtype: Any) -> Kept:
    targets, weights, errors = np.zeros((3, room))
    return Kept(zeros((room, width), dtype), targets, weights, errors, np.zeros((room, n_outputs), dtype))
