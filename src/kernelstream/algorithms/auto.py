"""Auto: nothing to set. f(x) = w'e(x), the stack of what these parts say of a raw row, each learned in one pass:

    ridge      least squares on random Fourier features z of a learned metric
    recent     least squares that forgets, at two rates, on features of a plain metric; sees columns that come alive
    lms        least mean squares on z, with a short step and a long one
    hinge      for classes: descent of the hinge loss on z, likewise; and from the squared hinge's solution on the first
               rows on (`numerics.squared_hinge`)
    averages   of the newest labels, over about 2 rows and 10
    cells      random binning in the learned metric, by least mean squares; from row 8,192 on
    boxes      random binning of the columns that matter, of what all others leave; from row 64 on

The scale of columns, the metric, its width and the ridge are settled after rows 2, 4, ..., 8,192 on all rows so far
(`numerics.settling`), which are kept until then: least squares learns them all anew, the other parts the newest of
them, the stack goes on (`_anew`). From row 1,024 on that is begun beside the stream, and used some rows later
(`engine.ahead`). After the last settling the ridge's system is solved when rows have grown by a quarter, a little after
each piece of rows (`numerics.gradual`). From row 16,384 on one of two rows, from row 131,072 on one of four, goes
into it and counts for all: beyond some rows a feature more tell hardly anything new, and the product is what a row
costs. All of this happens at fixed rows, so that the cut of a stream changes no bit.

Where labels come late the stack learns from what was said of a row when it was shown (`numerics.shown`): so it trusts
each part as far as it can be trusted at the delay at hand.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..engine import Algorithm, Chunk, Common, Shape, common, evaluate, lift, remember, step
from ..engine.state import Limits, copied, restored, split, tally
from ..kernels import ISOTROPIC, Need
from ..losses import LossRecord, as_loss, slope
from ..numerics import boxes as boxing
from ..numerics import recent as forgetting
from ..numerics.boxes import Boxes, find_boxes, learn_boxes, no_boxes, sum_boxes
from ..numerics.cells import Finding, draw_tables, fewer_cells, find_cells, finding, inverse_steps, room_in
from ..numerics.compile import Pointer, call_for_effect, inlined
from ..numerics.elementary import sincos
from ..numerics.gradual import Gradual, n_steps, nothing_begun, take_step
from ..numerics.link import chances, first_link, is_learned, learn_link
from ..numerics.memory import one_blas_thread, zeros
from ..numerics.parts import (
    AVERAGES,
    HEARD,
    HINGE,
    LMS,
    Parts,
    Steps,
    Tables,
    clipped,
    learn_parts,
    n_parts,
    no_parts,
    say,
    squash,
)
from ..numerics.pending import without
from ..numerics.products import MULTIPLY, PRODUCTS
from ..numerics.recent import RATES, Recent, no_recent
from ..numerics.rows import LARGEST
from ..numerics.second_order import (
    Sums,
    add_rows,
    for_outputs,
    no_sums,
    of_both,
    solution,
    solved,
    wait,
    with_waiting,
)
from ..numerics.settling import (
    FIRST,
    FIRST_BOXES,
    FIRST_WIDTH,
    LAST,
    RIDGES,
    SIZES,
    WIDEST_FULL,
    Columns,
    Metrics,
    directions,
    later_directions,
    no_columns,
    no_metrics,
    settling_row,
    since,
    stretched,
)
from ..numerics.shifts import Shift, add_loss, no_shift, notices
from ..numerics.shown import Shown, keep_said, none_shown, take_said
from ..numerics.stack import PRIOR, learn_stack, stack_weights
from ..numerics.stepwise import all_steps
from ..numerics.waking import Waking, asleep, awake, awake_in_either, none_waking, watch
from ..parameters import one_of
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._anew import (
    FARTHEST,
    N_GIVEN,
    SEVERAL,
    TWO,
    UNKNOWN,
    VALUES,
    has_few_rows,
    learned_anew,
    ridge_weights,
)
from ._heir import TRIED, Heir

if TYPE_CHECKING:
    from ..engine.ahead import Ahead

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


@dataclass
class Auto(Algorithm):
    """size: "small" (about 2 MB), "default" (at most 32 MB) or "large" (about 100 MB).
    kernel: Gaussian, Cauchy or Matern; its width is only where the search begins.
    """

    size: str = "default"

    name: ClassVar[str] = "auto"
    paper: ClassVar[str] = "ours"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = (ISOTROPIC,)
    models_probabilities: ClassVar[bool] = True
    models_deviations: ClassVar[bool] = True
    remembers: ClassVar[bool] = True
    exempt: ClassVar[dict[str, str]] = {
        "memory_is_flat": "the first 8,192 rows are kept",
        "late_features_count_as_zero_before": "directions are drawn for the features that there are",
        "late_classes_add_an_output": "an output is least squares of -1 and 1: it knows that earlier rows said -1",
        "a_third_class_keeps_the_margin": "each of two outputs says -1 or 1, so that their margin is twice that of one",
        "weight_zero_learns_nothing": "things are settled after so many rows, whatever they weigh",
        "weight_scales_the_step": "a weight scales what a row tells",
        "merge_is_the_weighted_sum": "what rows tell adds up, and only models of one map can be merged",
        "merge_refuses_strangers": "while rows are kept, whatever their learner's seed, they are learned",
    }

    def check(self) -> None:
        super().check()
        one_of(tuple(SIZES), size=self.size)

    def losses(self, task: str) -> tuple[str, ...]:
        return ("squared",) if task == REGRESSION else ("squared-hinge",)

    @property
    def depends_on_data(self) -> bool:
        return False  # what does is part of the state

    def settle(self, task: str, sample: Any) -> "Auto":
        return self

    def lower(self, task: str, dtype: Any) -> AutoRecord:
        loss = as_loss(self.losses(task)[0]).lower(task, dtype)
        kind = {REGRESSION: VALUES, BINARY: TWO, MULTICLASS: SEVERAL}[task]
        hinge, heard = (np.array(() if task == REGRESSION else of) for of in (HINGE, HEARD))
        inverse = inverse_steps(SIZES[self.size].tables)
        steps = Steps(int(task != REGRESSION), np.array(LMS), hinge, heard, np.array(AVERAGES), inverse)
        return AutoRecord(loss, kind, MULTIPLY.address(dtype), PRODUCTS.address(dtype), SINCOS.address(dtype), steps)

    # The state, whose shapes are a function of the row of the last map.

    def init(self, shape: Shape) -> AutoState:
        return self.empty(shape, 0)

    def empty(self, shape: Shape, built: int, *, trying: bool = False) -> AutoState:
        """trying: rows behind a shift are kept."""
        K, D, dtype, size = shape.n_outputs, since(SIZES[self.size].used, built), shape.dtype, SIZES[self.size]
        d, over, heads = min(shape.width, WIDEST), built == LAST, max(2, K)
        room = building_row(max(FIRST, 2 * built)) if not over else TRIED if trying else 0
        cells = (size.tables, self.n_cells(K)) if over else (0, 1)
        boxes = (size.boxes, self.n_places(K)) if built >= FIRST_BOXES else (0, 1)
        return AutoState(
            columns=no_columns(d),
            map=zeros((d, D // 2), dtype),
            weights=zeros((heads, D), dtype),
            ridge=np.ones(()),
            recent=no_recent(d, size.recent, K, dtype, PIECE),
            parts=no_parts(N_GIVEN, D, K, dtype, cells),
            sums=no_sums(D, heads, dtype, PIECE + 1),
            beside=nothing_to_do(D, heads, dtype, over=over),
            t=np.zeros((), np.int64),
            due=np.array([NEVER, FIRST, FIRST]),
            mean=np.zeros(K),
            scale=np.array([0.0, 1.0, 0.0, 0.0]),
            noise=np.array([0.0, 1.0]),
            link=first_link(),
            importances=np.zeros(d),
            kept=no_rows(room, d, K, dtype),
            metrics=no_metrics(d, self.first_width(d), built),
            tables=Tables(*draw_tables(size.tables, size.used[0][1] // 2, shape.seed)),
            boxes=no_boxes(d, K, dtype, *boxes),
            shown=none_shown(N_PARTS, K, dtype),
            waking=none_waking(d),
            shift=no_shift(),
            seed=np.array(shape.seed, np.int64),
        )

    def n_cells(self, n_outputs: int) -> int:
        return room_in(SIZES[self.size].cells, 256, n_outputs)

    def n_places(self, n_outputs: int) -> int:
        return room_in(SIZES[self.size].places, 128, n_outputs)

    def first_width(self, d: int) -> float:
        gamma = getattr(self.kernel, "gamma", "scale")
        return FIRST_WIDTH if isinstance(gamma, str) else float(np.clip(gamma * d, 0.01, 10.0))

    def scratch(self, state: AutoState, shape: Shape) -> AutoScratch:
        (d, half), K, dtype = state.map.shape, shape.n_outputs, shape.dtype
        shared = common(shape.width, K, dtype, 2 * half)
        chunk, plain = shared.chunk, state.recent.map.shape[1]
        block = np.arange(0, chunk * d + 1, d), np.arange(d), np.zeros(chunk * d, dtype)
        rows = np.zeros((chunk, half), dtype), np.zeros((chunk, 2 * half), dtype)
        plainly = np.zeros((chunk, plain), dtype), np.zeros((chunk, 2 * plain), dtype)
        given = np.zeros((chunk, len(state.weights)), dtype), np.zeros((len(RATES), chunk, K), dtype)
        codes = finding(*state.tables), np.zeros((chunk, len(state.tables.pick)), np.int32)
        boxed = boxing.finding(state.boxes), np.zeros((chunk, len(state.boxes.cells)), np.int32)
        said = np.zeros((N_PARTS, K)), np.zeros((N_PARTS, K))
        stack = np.zeros(len(state.weights)), np.zeros(K), np.zeros(K)
        weights = np.zeros(N_PARTS), np.zeros((N_PARTS, N_PARTS))
        watched = asleep(state.columns), np.zeros(d, dtype)
        return AutoScratch(shared, *watched, *block, *rows, *plainly, *given, *codes, *boxed, *said, *stack, *weights)

    def n_stored(self, state: AutoState) -> int:
        return int(state.weights.shape[1])

    def attributes(self, state: AutoState) -> dict[str, Any]:
        """feature_importances: how much of the metric each feature has; they add up to 1."""
        return {"feature_importances": state.importances.copy()}

    def probabilities(self, state: AutoState | None, scores: np.ndarray) -> np.ndarray:
        return chances(first_link() if state is None else state.link, scores)

    def deviations(self, record: Any, state: AutoState, chunks: Iterator[Chunk]) -> np.ndarray:
        """The size of errors is a second thing that the ridge learns, in proportion to which they are expected."""
        parts = [np.zeros((0, 1))]
        for scratch, scores in chunks:
            z = scratch.z[: len(scores)].astype(np.float64)
            parts.append(expected_size(state.noise[0], z @ state.weights[1].astype(np.float64))[:, None])
        return np.concatenate(parts) * state.scale[1] * math.sqrt(state.noise[1])

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> AutoState:
        t = int(arrays["t"]) if "t" in arrays and arrays["t"].shape == () else 0
        built, row = built_row(max(0, t)), arrays.get("shift.row", np.zeros(()))
        trying = row.shape == () and int(row) != 0
        state = restored(self.empty(shape, built, trying=trying), arrays, self.limits)
        if trying and not (built == LAST and building_row(LAST) <= row <= t < row + TRIED and row % PIECE == 0):
            raise ValueError("its rows behind a shift are counted as no run counts them")
        solve, build, due = (int(row) for row in state.due)
        n, next_build = int(state.sums.n_waiting), NEVER if built == LAST else building_row(max(FIRST, 2 * built))
        if not (t < due <= t + PIECE and n <= min(t, PIECE) and state.recent.n_waiting <= min(t, PIECE)):
            raise ValueError("its rows are counted as no run counts them")
        if not (t <= build <= next_build and due <= build and (solve >= due or built == LAST)):
            raise ValueError("what is due next is not what comes next")
        coming = due - t if built < LAST else (PIECE * share_of(t) - t % (PIECE * share_of(t))) // share_of(t)
        if n + coming > PIECE or state.recent.n_waiting + due - t > PIECE:
            raise ValueError("more rows wait than can")
        todo, progress = state.beside.todo.tolist(), int(state.beside.progress)
        begun = progress - 1 if progress > 0 else n_steps(state.weights.shape[1]) - 1 if progress == SOLVED else IDLE
        if not (0 <= todo[0] <= len(state.beside.rows) and todo[1] in (IDLE, begun) and (built == LAST or begun < 0)):
            raise ValueError("what is to be done towards a solution is no step that a run takes")
        trusted = state.parts.A.diagonal().min() >= LEFT_OF_STACK * PRIOR / 2.0
        if not (state.scale[1] > 0.0 and state.metrics.width > 0.0 and trusted):
            raise ValueError("its unit, its width and the diagonal of its stack are not as rows leave them")
        if not is_learned(state.link):
            raise ValueError("its link is none that rows leave")
        cut = state.boxes.pick >= 0
        if (cut[:, 1:] > cut[:, :-1]).any() or (cut[1:] > cut[:-1]).any():
            raise ValueError("its boxes are of columns in an order that no run leaves")
        return state

    def limits(self, state: AutoState) -> Limits:
        steps = n_steps(state.weights.shape[1])
        return {
            "tables.pick": (0, state.map.shape[1] - 1),
            "tables.offset": (0.0, 100.0),
            "boxes.pick": (-1, len(state.map) - 1),
            "boxes.offset": (0, boxing.RANKS - 1),
            "boxes.rows": (0, boxing.FULL),
            "beside.progress": (SOLVED, steps),
            "beside.todo": (IDLE, max(PIECE, steps)),
            "beside.gradual.failed": (0, 1),
            "metrics.best": (0, 1 if len(state.metrics.full) else 0),
            "metrics.widths": (0.0, 1e6),
            "metrics.ridge": (min(RIDGES), max(RIDGES)),
            "ridge": (min(RIDGES), 1e300),
            "columns.heavy": (0.0, np.inf),
            "columns.scale": (0.0, np.inf),
            "waking.variance": (0.0, np.inf),
            "noise": (0.0, np.inf),
            "kept.x": (-LARGEST, LARGEST),
            "kept.targets": (-LARGEST, LARGEST),
            "kept.weights": (0.0, LARGEST),
            "kept.errors": (0.0, np.inf),
            "sums.n_waiting": (0, PIECE),
            "recent.n_waiting": (0, PIECE),
            "shift.pieces": (0, 2**53),
            "shift.heirs": (0, 2**53),
            **dict.fromkeys(("shift.losses", "shift.mean", "shift.variance", "shift.lowest"), (0.0, 1e300)),
            "seed": (0, 2**63 - 1),
        }

    def first_rows(self, state: AutoState) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        n = min(int(state.t), len(state.kept.x)) if built_row(int(state.t)) < LAST else 0
        return [(state.kept.x[:n].copy(), state.kept.targets[:n].copy(), state.kept.weights[:n].copy())] if n else []

    # More features, more outputs.

    def grow(self, state: AutoState, shape: Shape) -> AutoState:
        return self.with_outputs(self.with_features(state, min(shape.width, WIDEST)), shape.n_outputs)

    def with_features(self, state: AutoState, d: int) -> AutoState:
        before, metrics = len(state.map), state.metrics

        def wider(array: np.ndarray, axis: int, fill: float = 0.0) -> np.ndarray:
            return longer(array, axis, d, fill)

        plain = state.recent.map
        drawn = later_directions(before, d, plain.shape[1], int(state.seed) + 1)
        rows = stretched(np.ones(d - before), forgetting.WIDTH, drawn, int(metrics.n_varying)).astype(plain.dtype)

        metrics = metrics._replace(diagonal=wider(metrics.diagonal, 0, 1.0))
        if d > WIDEST_FULL:  # from now on there is only the diagonal
            widths = np.array([metrics.widths[0] or metrics.widths[1], 0.0])
            metrics = metrics._replace(full=np.zeros((0, 0)), widths=widths, best=np.array(0))
        elif len(metrics.full) > 0:
            full = wider(wider(metrics.full, 0), 1)
            full[range(before, d), range(before, d)] = 1.0
            metrics = metrics._replace(full=full)
        return state._replace(
            columns=Columns(*(wider(array, 0) for array in state.columns)),
            map=wider(state.map, 0),
            recent=state.recent._replace(map=np.concatenate([plain, rows])),
            waking=Waking(*(wider(array, 0) for array in state.waking)),
            importances=wider(state.importances, 0),
            kept=state.kept._replace(x=wider(state.kept.x, 1)),
            boxes=state.boxes._replace(edges=wider(state.boxes.edges, 0)),
            metrics=metrics,
        )

    def with_outputs(self, state: AutoState, K: int) -> AutoState:
        """With more classes, which no row so far has had."""
        known, parts, recent = len(state.mean), state.parts, state.recent
        if known == K:
            return state
        cells = parts.cells
        if len(cells):
            cells = fewer_cells(cells, min(cells.shape[1], self.n_cells(K)))
        parts = parts._replace(
            lms=longer(parts.lms, 1, K),
            hinge=longer(parts.hinge, 1, K),
            averages=longer(parts.averages, 1, K, -1.0),
            cells=longer(cells, 2, K),
        )
        boxes = state.boxes
        if len(boxes.cells):
            boxes = boxing.fewer_places(boxes, min(boxes.rows.shape[1], self.n_places(K)))
        boxes = boxes._replace(cells=longer(boxes.cells, 2, K))
        kept = state.kept._replace(rest=longer(state.kept.rest, 1, K, -1.0))
        sums, weights = for_outputs(with_waiting(copied(state.sums)), K), longer(state.weights, 0, K)
        b = np.concatenate([recent.b, np.repeat(-recent.total[:, None], K - known, axis=1)], axis=1)
        waiting_y = np.hstack([recent.waiting_y, np.repeat(-np.abs(recent.waiting_y[:, :1]), K - known, axis=1)])
        recent = recent._replace(b=b, waiting_y=waiting_y, weights=longer(recent.weights, 1, K))
        if state.t >= FIRST:
            weights[known:] = solved(sums.A + sums.newer, sums.b[known:], float(state.ridge))
            for i in range(len(RATES)):
                forgetting.solve(recent, i)
        shown = none_shown(N_PARTS, K, parts.lms.dtype)
        changed = state._replace(
            parts=parts, sums=sums, weights=weights, recent=recent, kept=kept, boxes=boxes, shown=shown
        )
        return begun_anew(changed._replace(mean=longer(state.mean, 0, K, -1.0)))

    def split(self, state: AutoState, shape: Shape) -> AutoState:
        built, trying = built_row(int(state.t)), bool(state.shift.row > 0)
        one, two = (self.empty(shape._replace(n_outputs=K), built, trying=trying) for K in (1, 2))
        halves = split(state, one, two)
        parts, sums, recent = halves.parts, halves.sums, halves.recent
        parts = parts._replace(lms=2 * parts.lms, averages=2 * parts.averages, cells=2 * parts.cells)
        recent = recent._replace(b=2 * recent.b, weights=2 * recent.weights, waiting_y=2 * recent.waiting_y)
        b, waiting_y, weights = (np.concatenate([-a[:1], a[:1]]) for a in (sums.b, sums.waiting_y.T, state.weights))
        return begun_anew(
            halves._replace(
                weights=weights,
                mean=2 * halves.mean,
                parts=parts,
                recent=recent,
                sums=sums._replace(b=b, waiting_y=np.ascontiguousarray(waiting_y.T)),
                kept=halves.kept._replace(targets=(halves.kept.targets + 1.0) / 2.0, rest=2 * halves.kept.rest),
                boxes=halves.boxes._replace(cells=2 * halves.boxes.cells),
                shown=none_shown(N_PARTS, 2, parts.lms.dtype),
            )
        )

    # Models of one map.

    def merge(
        self, record: Any, state: AutoState, other: AutoState, weight: float, since: AutoState | None = None
    ) -> AutoState:
        """What rows tell least squares adds up; the other parts are averaged. Of two that begin behind different
        shifts one is chosen: the rows of the other tell of what is past, or are fewer.
        """
        if state.shift.heirs + other.shift.heirs > 0 and not np.array_equal(state.map, other.map):
            return copied(max(other, state, key=lambda one: (int(one.shift.heirs), int(one.t))))
        require_one_map(state, other)

        def mean(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
            return ((1.0 - weight) * mine + weight * theirs).astype(mine.dtype)

        sums, recents = [], []
        for one in (state, other):
            sums.append(with_waiting(copied(one.sums)))
            recents.append(copied(one.recent))
            forgetting.add_waiting(recents[-1])
        scale = state.scale.copy()
        scale[2:] = min(scale[2], other.scale[2]), max(scale[3], other.scale[3])
        joined = of_both(*sums) if since is None else without(of_both(*sums), with_waiting(copied(since.sums)))
        columns, waking = awake_in_either((state.columns, state.waking), (other.columns, other.waking))
        merged = state._replace(
            columns=columns,
            waking=waking,
            sums=joined,
            recent=forgetting.of_both(*recents, once=since is not None),
            parts=Parts(*(mean(*pair) for pair in zip(state.parts, other.parts, strict=True))),
            boxes=state.boxes._replace(
                cells=mean(state.boxes.cells, other.boxes.cells), rows=mean(state.boxes.rows, other.boxes.rows)
            ),
            noise=mean(state.noise, other.noise),
            link=mean(state.link, other.link),
            **tally(state, other, since, "t"),
            scale=scale,
        )
        return self.after(begun_anew(self.solved(untried(merged))))

    def unmerge(self, record: Any, state: AutoState, other: AutoState) -> AutoState:
        """Without what the other's rows tell least squares; the other parts keep what they learned of them."""
        require_one_map(state, other)
        sums = without(*(with_waiting(copied(one.sums)) for one in (state, other)))
        recent = copied(state.recent)
        forgetting.add_waiting(recent)
        rest = state._replace(sums=sums, recent=recent, t=np.maximum(state.t - other.t, building_row(LAST)))
        return self.after(begun_anew(self.solved(untried(rest))))

    # What is done after fixed rows.

    def prepare(self, record: AutoRecord, state: AutoState, ahead: "Ahead") -> AutoState:
        t = int(state.t)
        if t < state.due[2]:
            return state
        if built_row(t - 1) < LAST:
            state = self.settling(record, state, t, ahead)
            if t % PIECE == 0 and built_row(t - 1) == built_row(t):
                state = self.remembered(state, t)
        elif t % PIECE == 0:
            self.hand_over(state, t)
            state = self.tried(record, self.remembered(self.looked_for_shifts(state, t), t), t, ahead)
        else:
            ahead.go_on(1)
            state.due[2] = t + SHARE
        return state

    def remembered(self, state: AutoState, t: int) -> AutoState:
        """The state whose least squares that forgets has a piece of rows more."""
        state = with_awake(state)
        forgetting.add_waiting(state.recent)
        for i in rates_due(state, t):
            forgetting.solve(state.recent, i)
        return state

    def looked_for_shifts(self, state: AutoState, t: int) -> AutoState:
        """The state after a piece of rows; where they are another stream's, what forgets has forgotten those before."""
        if not notices(state.shift) or state.shift.row > 0 or state.shown.n > 0:
            return state
        forgetting.fade(state.recent, LEFT)
        state.parts.A[...] *= LEFT_OF_STACK
        state.parts.b[...] *= LEFT_OF_STACK
        state.shift.row[()] = t
        return state._replace(kept=no_rows(TRIED, len(state.map), len(state.mean), state.map.dtype))

    def tried(self, record: AutoRecord, state: AutoState, t: int, ahead: "Ahead") -> AutoState:
        """The state after a piece of rows, which may be that of a model which began behind the last shift."""
        n = t - int(state.shift.row)
        if state.shift.row == 0 or n == 0:
            return state
        heir = ahead.result(lambda: Heir(self, record, state, ahead).replay(0, n - PIECE))
        if n == TRIED:
            all_steps(heir.replay(n - PIECE, n))
            return heir.state(state) if heir.is_better() else untried(state)
        ahead.begin(heir.replay(n - PIECE, n))
        state.due[2] = t + SHARE
        return state

    def settling(self, record: AutoRecord, state: AutoState, t: int, ahead: "Ahead") -> AutoState:
        """The state after a row at which something is due, while rows are kept."""
        N, due, sums = settling_row(t), state.due, state.sums
        last = building_row(N)
        if t == last:
            anew = ahead.result(lambda: learned_anew(self, record, state, N, last))
            all_steps(anew.learn(state.kept, N, t))
            return self.after(anew.state(state)._replace(due=np.array([t, NEVER, t])))
        if t % PIECE == 0 or (t > last and not has_few_rows(state)):
            with_waiting(sums)
        if t == N:
            ahead.begin(learned_anew(self, record, state, N, last))
            due[:2] = NEVER, last
        elif t < last:
            ahead.go_on(-(-STEPS * SHARE // (last - N)))
        elif t >= due[0]:
            state.weights[...] = ridge_weights(record, state)
            due[0] = t
        due[:] = self.next_due(t, due)
        return state

    def hand_over(self, state: AutoState, t: int) -> None:
        """Rows that wait, and the next step towards a solution, become what is to be done beside the stream."""
        beside, due = state.beside, state.due
        progress = int(beside.progress)
        if progress == SOLVED:
            state.weights[...] = beside.gradual.weights
            due[0], progress = t + min(LONGEST, t // GROWTH), IDLE
        if beside.gradual.failed != 0:
            state.ridge[()] *= 10.0
            beside.gradual.failed[()] = 0
            progress = 1
        if progress == IDLE and t >= due[0]:
            progress = 0
        n = int(state.sums.n_waiting) if t % (PIECE * share_of(t)) == 0 else 0
        if n > 0:
            beside.rows[:n], beside.targets[:n] = state.sums.waiting[:n], state.sums.waiting_y[:n]
            state.sums.n_waiting[()] = 0
        beside.todo[:] = n, max(progress, IDLE)
        if progress >= 0:
            progress = progress + 1 if progress + 1 < n_steps(state.weights.shape[1]) else SOLVED
        beside.progress[()] = progress
        due[2] = (t // PIECE + 1) * PIECE

    def work_beside(self, state: AutoState) -> Callable[[], None] | None:
        n, i = (int(count) for count in state.beside.todo)
        if n == 0 and i == IDLE:
            return None
        state.beside.todo[:] = 0, IDLE
        sums, beside, ridge = state.sums, state.beside, float(state.ridge)

        def work() -> None:
            with one_blas_thread():
                if n > 0:
                    add_rows(sums, beside.rows[:n], beside.targets[:n])
                if i >= 0:
                    take_step(beside.gradual, sums, ridge, i)

        return work

    def next_due(self, t: int, due: np.ndarray) -> np.ndarray:
        """The rows after t that something is due after."""
        solve, build = int(due[0]), int(due[1])
        if solve <= t:
            solve = t + (max(FIRST, t // EARLY) if t < STAGED else min(LONGEST, t // GROWTH))
        if build <= t or build == NEVER:
            build = NEVER if built_row(t) == LAST else max(FIRST, 2 * settling_row(t))
        piece = (t // PIECE + 1) * PIECE
        if settling_row(t) <= t < building_row(settling_row(t)):
            piece = t + SHARE
        return np.array([solve, build, piece if built_row(t) == LAST else min(solve, build, piece)])

    def after(self, state: AutoState) -> AutoState:
        return state._replace(due=self.next_due(int(state.t), state.due))

    def solved(self, state: AutoState) -> AutoState:
        weights = solution(state.sums, float(state.ridge)).astype(state.weights.dtype)
        return state._replace(weights=weights, due=np.array([int(state.t), *state.due[1:]]))

    def omega(self, d: int, n: int, seed: int) -> np.ndarray:
        return directions(d, n, seed) * type(self.kernel)(**self.kernel.get_params() | {"gamma": 0.5}).scales(seed, n)


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


def rates_due(state: AutoState, t: int) -> range:
    """Which solutions of least squares that forgets are computed after this piece; behind a shift, all."""
    if state.shift.row > 0:
        return range(len(RATES))
    i = t // (2 * PIECE) % len(RATES)
    return range(i, i + 1 if t // PIECE % 2 == 0 else i)


def untried(state: AutoState) -> AutoState:
    """The state that goes on without a look at a model which began later."""
    if state.shift.row == 0:
        return state
    shift = state.shift._replace(row=np.zeros((), np.int64))
    return state._replace(shift=shift, kept=no_rows(0, len(state.map), len(state.mean), state.map.dtype))


def longer(array: np.ndarray, axis: int, n: int, fill: float = 0.0) -> np.ndarray:
    """The array with n places along an axis; what is new is `fill`."""
    shape = list(array.shape)
    shape[axis] = n - shape[axis]
    return np.concatenate([array, np.full(shape, fill, array.dtype)], axis=axis)


def with_awake(state: AutoState) -> AutoState:
    """The state with the columns that have been seen to vary."""
    columns = awake(state.columns, state.waking)
    return state if columns is state.columns else state._replace(columns=columns)


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


def require_one_map(state: AutoState, other: AutoState) -> None:
    if not np.array_equal(state.map, other.map):
        raise ValueError(
            "These learners have settled on different first rows. Have one learn the first "
            f"{building_row(LAST):,} rows, save it, and begin every other from its file."
        )


def expected_size(mean: float, size: np.ndarray) -> np.ndarray:
    """How large an error is to be expected where the ridge says `size`."""
    return np.maximum(size, 0.1 * mean + 1e-12)


def _sincos_rows(projected, n, z):
    half = projected.shape[1]
    c = z.dtype.type(1.0 / math.sqrt(half))
    for i in range(n):
        sincos(projected[i], z[i, :half], z[i, half:])
        for j in range(2 * half):
            z[i, j] *= c


SINCOS = Pointer(_sincos_rows, "mim", value=False)


@inlined
def spread_out(indices, values, row):
    """The row with all of its features; those beyond its length are added to the others."""
    d = row.shape[0]
    for j in range(d):
        row[j] = 0
    for p in range(values.shape[0]):
        j = indices[p]
        row[j % d if j >= d else j] += values[p]


@lift.register(AutoRecord)
def _(record, state, scratch, block, start, stop):
    columns, d, n = state.columns, state.map.shape[0], stop - start
    for i in range(n):
        lo, hi = block.indptr[start + i], block.indptr[start + i + 1]
        row = scratch.values[i * d : (i + 1) * d]
        spread_out(block.indices if block.shared == 1 else block.indices[lo:hi], block.values[lo:hi], row)
        if state.boxes.cells.shape[0] > 0:
            find_boxes(state.boxes, scratch.boxing, row, scratch.boxed[i])
        for j in range(d):
            v, heavy = np.float64(row[j]), columns.heavy[j]
            tamed = math.copysign(math.log1p(abs(v) / heavy), v) if heavy > 0.0 else v
            row[j] = (tamed - columns.center[j]) * columns.scale[j]
    rows = scratch.indptr, scratch.indices, scratch.values
    call_for_effect(record.multiply, 1, rows[0], rows[1], rows[2], 0, n, state.map, scratch.projected)
    call_for_effect(record.sincos, scratch.projected, n, scratch.z)
    call_for_effect(record.multiply, 1, rows[0], rows[1], rows[2], 0, n, state.recent.map, scratch.plainly)
    call_for_effect(record.sincos, scratch.plainly, n, scratch.plain)
    call_for_effect(record.products, scratch.z, n, state.weights, scratch.ridge)
    for q in range(scratch.recent.shape[0]):
        call_for_effect(record.products, scratch.plain, n, state.recent.weights[q], scratch.recent[q])
    cells, inverse = state.parts.cells, record.steps.inverse
    if cells.shape[0] > 0:
        for i in range(n):
            find_cells(scratch.projected[i], scratch.finding, inverse, cells.shape[1], scratch.codes[i])


@evaluate.register(AutoRecord)
def _(record, state, scratch, x, scores):
    e, heard, w, f, ridge, recent = scratch.e, scratch.heard, scratch.w, scratch.f, scratch.ridge, scratch.recent
    if state.t[()] < FIRST:
        for k in range(scores.shape[0]):
            scores[k] = state.mean[k]
        return
    for k in range(e.shape[1]):
        e[0, k] = clipped(record.steps, np.float64(ridge[x.place, k]))
        for q in range(recent.shape[0]):
            e[1 + q, k] = clipped(record.steps, np.float64(recent[q, x.place, k]))
    say(record.steps, N_GIVEN, state.parts, scratch.z[x.place], scratch.codes[x.place], e)
    sum_boxes(state.boxes, scratch.boxed[x.place], e[e.shape[0] - 1])
    stack_weights(state.parts.A, state.parts.b, scratch.factor, w)
    for k in range(scores.shape[0]):
        f[k] = 0.0
        for i in range(w.shape[0]):
            heard[i, k] = squash(record.steps, N_GIVEN, i, e[i, k])
            f[k] += w[i] * heard[i, k]
        scores[k] = f[k]
        if record.task == VALUES:
            scores[k] = min(max(state.scale[0] + state.scale[1] * f[k], state.scale[2]), state.scale[3])


@remember.register(AutoRecord)
def _(record, state, scratch, x):
    if state.t[()] >= FIRST:
        keep_said(state.shown, x, scratch.heard)


@inlined
def stands_for(t):
    """How many rows row t stands for in the sums: 1; or 2 or 4 where it is chosen, by a hash, and 0 where not."""
    share = 1 if t < THINNED[0] else 2 if t < THINNED[1] else 4
    word = ((t // share) & 0xFFFF) * 40503
    return share if t % share == (word >> 9) & (share - 1) else 0


@inlined
def learn_noise(state, said, error, weight):
    """How large errors are, and their squares over what the ridge said of them."""
    noise = state.noise
    rate = min(weight, 1.0) * max(0.001, 1.0 / (state.t[()] + 1))
    expected = max(np.float64(said), 0.1 * noise[0] + 1e-12)
    noise[1] += rate * (min((error / expected) ** 2, 100.0) - noise[1])
    noise[0] += rate * (error - noise[0])


@inlined
def learn_lifted(record, state, scratch, x, y, weight):
    """All parts learn a row that was lifted and evaluated."""
    z, codes, e, f, w = scratch.z[x.place], scratch.codes[x.place], scratch.heard, scratch.f, scratch.w
    parts, t, K, last, left, kept = state.parts, state.t[()], e.shape[1], e.shape[0] - 1, scratch.left, state.kept
    place = t - state.shift.row[()]
    learn_parts(record.steps, N_GIVEN, parts, z, codes, scratch.e, y[:K], weight)
    for k in range(K):
        left[k] = y[k] - e[last, k]
    if state.shown.n[()] > 0:
        take_said(state.shown, x, e)
        for k in range(K):
            f[k] = 0.0
            for i in range(w.shape[0]):
                f[k] += w[i] * e[i, k]
    for k in range(K):
        rest = f[k] - w[last] * e[last, k]
        left[k] -= rest
        if place < kept.rest.shape[0]:
            kept.rest[place, k] = state.scale[0] + state.scale[1] * rest if record.task == VALUES else rest
    learn_boxes(state.boxes, scratch.boxing.steps, scratch.boxed[x.place], left, weight)
    learn_stack(parts.A, parts.b, e, y[:K], weight)
    if record.task == VALUES:
        y[1] = abs(y[0] - f[0])
        learn_noise(state, scratch.ridge[x.place, 1], y[1], weight)
    else:
        right = 0
        for k in range(K):
            if y[k] > 0:
                right = k if K > 1 else 1
        learn_link(state.link, f, right, weight)
    wait(state.recent, scratch.plain[x.place], y[:K], weight)
    if stands_for(t) > 0:
        wait(state.sums, z, y, weight * stands_for(t))


@step.register(AutoRecord)
def _(record, state, scratch, x, target, weight, scores):
    t, y, kept, scale = state.t[()], scratch.y, state.kept, state.scale
    if record.task == SEVERAL:
        for k in range(y.shape[0]):
            y[k] = 1.0 if k == target else -1.0
    else:
        if scale[1] == UNKNOWN and target != scale[0] and weight > 0.0:
            scale[1] = abs(target - scale[0])  # no part has said anything but 0 so far
        y[0] = (target - scale[0]) / scale[1]
        if t >= FIRST:
            y[0] = min(max(y[0], -FARTHEST), FARTHEST)
    place, loss = t - state.shift.row[()], slope(record.loss, target, scores, scratch.common.slope)
    if place < kept.x.shape[0]:
        spread_out(x.indices, x.values, kept.x[place])
        kept.targets[place], kept.weights[place] = target, weight
        kept.errors[place] = loss if record.task != VALUES else abs(target - scores[0]) if t > 0 else 0.0
    add_loss(state.shift, weight, loss)
    if record.task == VALUES:
        scale[2], scale[3] = (target, target) if t == 0 else (min(scale[2], target), max(scale[3], target))
    if t >= FIRST:
        learn_lifted(record, state, scratch, x, y, weight)
    else:
        for k in range(state.mean.shape[0]):
            kept.rest[t, k] = state.mean[k]
            state.mean[k] += (y[k] - state.mean[k]) / (t + 1)
    if scratch.asleep.shape[0] > 0 and t >= FIRST and weight > 0.0:
        spread_out(x.indices, x.values, scratch.raw)
        watch(state.columns, state.waking, scratch.asleep, scratch.raw)
    state.t[()] = t + 1
    scratch.common.halt[()] = t + 1 >= state.due[2]
    return loss
