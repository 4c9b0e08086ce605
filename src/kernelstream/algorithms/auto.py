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
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..engine import Algorithm, Chunk, Shape, common
from ..engine.state import Limits, restored
from ..kernels import ISOTROPIC, Need
from ..losses import as_loss
from ..numerics import boxes as boxing
from ..numerics import recent as forgetting
from ..numerics.boxes import no_boxes
from ..numerics.cells import draw_tables, finding, inverse_steps, room_in
from ..numerics.gradual import n_steps, take_step
from ..numerics.link import chances, first_link, is_learned
from ..numerics.memory import one_blas_thread, zeros
from ..numerics.parts import AVERAGES, HEARD, HINGE, LMS, Steps, Tables, no_parts
from ..numerics.products import MULTIPLY, PRODUCTS
from ..numerics.recent import RATES, no_recent
from ..numerics.rows import LARGEST
from ..numerics.second_order import add_rows, no_sums, solution, with_waiting
from ..numerics.settling import (
    FIRST,
    FIRST_BOXES,
    FIRST_WIDTH,
    LAST,
    RIDGES,
    SIZES,
    directions,
    no_columns,
    no_metrics,
    settling_row,
    since,
)
from ..numerics.shifts import no_shift, notices
from ..numerics.shown import none_shown
from ..numerics.stack import PRIOR
from ..numerics.stepwise import all_steps
from ..numerics.waking import asleep, awake, none_waking
from ..parameters import one_of
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._anew import N_GIVEN, SEVERAL, TWO, VALUES, has_few_rows, learned_anew, ridge_weights
from ._auto_changed import merged, split_in_two, unmerged, with_features, with_outputs
from ._auto_rows import SINCOS
from ._auto_state import (
    EARLY,
    GROWTH,
    IDLE,
    LEFT,
    LEFT_OF_STACK,
    LONGEST,
    N_PARTS,
    NEVER,
    PIECE,
    SHARE,
    SOLVED,
    STAGED,
    STEPS,
    WIDEST,
    AutoRecord,
    AutoScratch,
    AutoState,
    building_row,
    built_row,
    no_rows,
    nothing_to_do,
    share_of,
    untried,
)
from ._heir import TRIED, Heir

if TYPE_CHECKING:
    from ..engine.ahead import Ahead


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

    def depends_on_data(self, task: str) -> bool:
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
        if not (t <= due <= t + PIECE and n <= min(t, PIECE) and state.recent.n_waiting <= min(t, PIECE)):
            raise ValueError("its rows are counted as no run counts them")
        if not (t <= build <= next_build and due <= build and (solve >= due or built == LAST)):
            raise ValueError("what is due next is not what comes next")
        coming = (
            due - t if built < LAST or due == t else (PIECE * share_of(t) - t % (PIECE * share_of(t))) // share_of(t)
        )
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
        return with_outputs(self, with_features(state, min(shape.width, WIDEST)), shape.n_outputs)

    def split(self, state: AutoState, shape: Shape) -> AutoState:
        return split_in_two(self, state, shape)

    # Models of one map.

    def merge(
        self, record: Any, state: AutoState, other: AutoState, weight: float, since: AutoState | None = None
    ) -> AutoState:
        return merged(self, state, other, weight, since)

    def unmerge(self, record: Any, state: AutoState, other: AutoState) -> AutoState:
        return unmerged(self, state, other)

    # What is done after fixed rows.

    def prepare(self, record: AutoRecord, state: AutoState, ahead: "Ahead") -> AutoState:
        t = int(state.t)
        if t < state.due[2]:
            return state
        with one_blas_thread():
            # Where memory ends in between, all is done again: what may be done but once comes last, or to a copy.
            if built_row(t - 1) < LAST:
                if t % PIECE == 0 and built_row(t - 1) == built_row(t):
                    state = self.remembered(state, t)
                state = self.settling(record, state, t, ahead)
            elif t % PIECE == 0:
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
        shift = type(state.shift)(*map(np.copy, state.shift))
        if not notices(shift) or state.shift.row > 0 or state.shown.n > 0:
            notices(state.shift)  # done again it changes nothing, and notices nothing
            return state
        parts = state.parts._replace(A=state.parts.A * LEFT_OF_STACK, b=state.parts.b * LEFT_OF_STACK)
        shift.row[()] = t
        kept = no_rows(TRIED, len(state.map), len(state.mean), state.map.dtype)
        return state._replace(recent=forgetting.faded(state.recent, LEFT), parts=parts, shift=shift, kept=kept)

    def tried(self, record: AutoRecord, state: AutoState, t: int, ahead: "Ahead") -> AutoState:
        """The state after a piece of rows, which may be that of a model which began behind the last shift."""
        n = t - int(state.shift.row)
        if state.shift.row == 0 or n == 0:
            return state
        heir = ahead.result(lambda: Heir(self, record, state, ahead).replay(n - PIECE))
        if n == TRIED:
            all_steps(heir.replay(n))
            return heir.state(state) if heir.is_better() else untried(state)
        ahead.begin(heir.replay(n))
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
        due[2] = t + SHARE if 0 < state.shift.row < t else (t // PIECE + 1) * PIECE

    def work_beside(self, state: AutoState) -> Callable[[], None] | None:
        t = int(state.t)
        if t >= state.due[2]:
            self.hand_over(state, t)
        n, i = (int(count) for count in state.beside.todo)
        if n == 0 and i == IDLE:
            return None
        state.beside.todo[:] = 0, IDLE
        sums, beside, ridge = state.sums, state.beside, float(state.ridge)

        def work() -> None:
            nonlocal n
            with one_blas_thread():
                if n > 0:
                    add_rows(sums, beside.rows[:n], beside.targets[:n])
                    n = 0
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


def expected_size(mean: float, size: np.ndarray) -> np.ndarray:
    """How large an error is to be expected where the ridge says `size`."""
    return np.maximum(size, 0.1 * mean + 1e-12)


def rates_due(state: AutoState, t: int) -> range:
    """Which solutions of least squares that forgets are computed after this piece; behind a shift, all."""
    if state.shift.row > 0:
        return range(len(RATES))
    i = t // (2 * PIECE) % len(RATES)
    return range(i, i + 1 if t // PIECE % 2 == 0 else i)


def with_awake(state: AutoState) -> AutoState:
    """The state with the columns that have been seen to vary."""
    columns = awake(state.columns, state.waking)
    return state if columns is state.columns else state._replace(columns=columns)
