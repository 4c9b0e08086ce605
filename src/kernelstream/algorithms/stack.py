"""Stack: f = w'e, several learners side by side and e what they say of a row, each by its own algorithm.

combine="least-squares" finds w by least squares that forgets (`numerics.stack`); "adahedge", "squint" and "boa" by how
much each part lost (`numerics.combining`): then f is a mean, whose loss is that of the best part but for a regret that
is bounded whatever comes.

Remarks. The parts are learners as they are: a record, a state and scratch each, in a list that the compiled loop goes
through, so that a part has the bits that it would have alone and the cut of the stream changes none. A list of other
types is another loop to compile. Parts with equal lifts lift a row once.

e is clipped: of classes to [-1, 1], targets being -1 and 1, of a regression to [-bound, bound], where there is a bound.
An expert's loss is its squared error over the largest there can be, (2 bound)^2, mean over outputs; without a bound
there is none, so that experts of a regression need one. Least squares begins with the first part alone, experts begin
alike. Where labels come late, w is learned from what was said of a row when it was shown (`numerics.shown`).

A merge merges the parts as they do; of least squares A and b are averaged, what experts lost adds up. A part that
diverges does not stop the others: a step that is too long is not taken, and scores that are not finite are heard as 0.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine import Algorithm, Common, Shape, common, evaluate, lift, remember, step
from ..engine.state import Limits, leaves, restored, tally
from ..kernels import Gaussian, Kernel
from ..losses import LossRecord, as_loss, slope
from ..numerics.combining import LEAST_SQUARES, METHODS, Squares, find_weights, learn_row, merged
from ..numerics.compile import inlined
from ..numerics.lifts import Fourier, Structured
from ..numerics.link import chances, first_link, is_learned, learn_link
from ..numerics.rows import Sample
from ..numerics.shown import Shown, keep_said, none_shown, take_said
from ..parameters import one_of, positive
from ..tasks import REGRESSION
from ._auto_state import WIDEST
from ._features import FeatureAlgorithm
from ._parts import LiftedAlready, evaluate_parts, lift_parts, listed, remember_parts, step_parts, unlisted
from .fogd import FOGD
from .ridge import Ridge

MOMENTS = 128  # at which the weights are kept; half of them when they are full


class StackRecord(NamedTuple):
    parts: Any
    loss: LossRecord
    classes: int  # whether targets are classes
    unit: float  # what is said and targets are within -unit .. unit


class Moments(NamedTuple):
    """The weights, as they came."""

    rows: np.ndarray  # (MOMENTS,) after how many rows
    weights: np.ndarray  # (MOMENTS, M)
    n: np.ndarray  # 0-d
    every: np.ndarray  # 0-d, rows from one to the next


class Own(NamedTuple):
    combined: Any  # what w is found from
    link: np.ndarray  # from scores to chances
    shown: Shown
    moments: Moments
    t: np.ndarray  # rows so far, 0-d


class StackState(NamedTuple):
    parts: Any
    own: Own


class StackScratch(NamedTuple):
    common: Common
    parts: Any
    said: np.ndarray  # (M, K) what the parts say
    e: np.ndarray  # (M, K) what is heard of it
    y: np.ndarray  # (K,) what they are to say
    f: np.ndarray  # (K,)
    w: np.ndarray  # (M,)
    losses: np.ndarray  # (M,)
    factor: np.ndarray  # (M, M)


def leaves_open(part: Algorithm) -> bool:
    """Whether a part's kernel is the default, and rows settle it."""
    return part.kernel == Gaussian() and any(map(part.depends_on_data, part.tasks))


@dataclass
class Stack(Algorithm):
    """parts: two learners or more, such as (Ridge(), FOGD(n_components=200)).
    kernel: of those parts that leave theirs open.
    combine: "least-squares", "adahedge", "squint" or "boa".
    bound: the largest target of a regression, and the smallest with a minus; what is beyond counts as it.
    """

    parts: tuple[Algorithm, ...] = field(default_factory=lambda: (Ridge(), FOGD()))
    combine: str = LEAST_SQUARES
    bound: float | None = None

    name: ClassVar[str] = "stack"
    paper: ClassVar[str] = "ours"
    models_probabilities: ClassVar[bool] = True
    remembers: ClassVar[bool] = True

    def check(self) -> None:
        self.parts = tuple(self.parts)
        for i, part in enumerate(self.parts):
            if not isinstance(part, Algorithm):
                raise ValueError(f"parts[{i}]={part!r} must be a spec such as FOGD(n_components=200).")
        if len(self.parts) < 2:
            raise ValueError(f"parts={self.parts!r} must be at least 2; one learner needs no stack.")
        one_of(tuple(METHODS), combine=self.combine)
        if self.bound is not None:
            positive(bound=self.bound)
        super().check()
        if self.learners and not self.tasks:
            each = "; ".join(f"{part.name} does {', '.join(part.tasks)}" for part in self.parts)
            raise ValueError(f"No task is done by all parts: {each}. Leave one of them out.")

    @property
    def learners(self) -> tuple[Any, ...]:
        """The parts, with the kernel where they leave theirs open."""
        return tuple(replace(part, kernel=self.kernel) if leaves_open(part) else part for part in self.parts)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(kernel for part in self.learners for kernel in part.kernels)

    @property
    def tasks(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(task for task in self.parts[0].tasks if all(task in part.tasks for part in self.parts))

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return all(part.bounded for part in self.parts)

    @property
    def exempt(self) -> dict[str, str]:  # type: ignore[override]
        laws = {law: f"{part.name}: {reason}" for part in self.parts for law, reason in part.exempt.items()}
        return laws | {
            "merge_is_the_weighted_sum": "weights are found anew from what both know",
            "weight_scales_the_step": "it scales those of the parts, and what is heard of them is clipped",
            "a_third_class_keeps_the_margin": "what is heard of each of two outputs is clipped",
        }

    def losses(self, task: str) -> tuple[str, ...]:
        return ("squared",) if task == REGRESSION else ("squared-hinge",)

    def depends_on_data(self, task: str) -> bool:
        return any(part.depends_on_data(task) for part in self.learners)

    def settle(self, task: str, sample: Sample) -> Self:
        parts = tuple(part.settle(task, sample) for part in self.learners)
        return replace(self, kernel=self.kernel.settle(sample), parts=parts)

    def lower(self, task: str, dtype: Any) -> StackRecord:
        unit = 1.0 if task != REGRESSION else math.inf if self.bound is None else float(self.bound)
        if unit == math.inf and self.combine != LEAST_SQUARES:
            raise ValueError(
                f"combine={self.combine!r} needs losses that are bounded, and those of a regression are not. Say how "
                f'large targets can be, as in bound=10.0, or take combine="{LEAST_SQUARES}".'
            )
        records = []
        for part, lender in zip(self.learners, self.lenders, strict=True):
            record = part.lowered(task, dtype)
            records.append(record if lender is None else record._replace(lift=LiftedAlready(0)))
        loss = as_loss(self.losses(task)[0]).lower(task, dtype)
        return StackRecord(listed(records), loss, int(task != REGRESSION), unit)

    @property
    def lenders(self) -> list[int | None]:
        """For each part an earlier one with the same lift, if there is one."""
        lifts = [part.lift if isinstance(part, FeatureAlgorithm) else None for part in self.learners]
        return [
            next((i for i in range(j) if mine == lifts[i]), None) if isinstance(mine, Fourier | Structured) else None
            for j, mine in enumerate(lifts)
        ]

    # The state.

    def init(self, shape: Shape) -> StackState:
        return StackState(listed([part.init(shape) for part in self.learners]), self.own(shape))

    def own(self, shape: Shape) -> Own:
        M = len(self.parts)
        rows, weights = np.zeros(MOMENTS, np.int64), np.zeros((MOMENTS, M))
        moments = Moments(rows, weights, np.zeros((), np.int64), np.ones((), np.int64))
        shown = none_shown(M, shape.n_outputs, shape.dtype)
        return Own(METHODS[self.combine](M), first_link(), shown, moments, np.zeros((), np.int64))

    def scratch(self, state: StackState, shape: Shape) -> StackScratch:
        M, K = len(self.parts), shape.n_outputs
        rooms: list[Any] = []
        for part, own, lender in zip(self.learners, unlisted(state.parts), self.lenders, strict=True):
            room = part.scratch(own, shape)
            rooms.append(room if lender is None else room._replace(lifted=rooms[lender].lifted))
        shared = common(shape.width, K, shape.dtype)
        shared = shared._replace(chunk=min(room.common.chunk for room in rooms))
        said, outputs = np.zeros((M, K), shape.dtype), (np.zeros((M, K)), np.zeros(K), np.zeros(K))
        return StackScratch(shared, listed(rooms), said, *outputs, np.zeros(M), np.zeros(M), np.zeros((M, M)))

    def each(self, state: StackState, do: Callable[[Any, Any], Any]) -> StackState:
        """The state with what is done to each part; the very same where nothing was."""
        before = unlisted(state.parts)
        after = [do(part, own) for part, own in zip(self.learners, before, strict=True)]
        if all(mine is own for mine, own in zip(after, before, strict=True)):
            return state
        return state._replace(parts=listed(after))

    def prepare(self, record: StackRecord, state: StackState, ahead: Any) -> StackState:
        given = iter([(record, ahead.part(i)) for i, record in enumerate(unlisted(record.parts))])

        def prepared(part: Algorithm, own: Any) -> Any:
            record, ahead = next(given)
            return part.prepare(record, own, ahead)

        return self.each(state, prepared)

    def work_beside(self, state: StackState) -> Callable[[], None] | None:
        asked = (part.work_beside(own) for part, own in zip(self.learners, unlisted(state.parts), strict=True))
        found = [work for work in asked if work is not None]

        def work() -> None:
            for one in found:
                one()

        return work if found else None

    def lifts_ahead(self, state: StackState) -> bool:
        return all(part.lifts_ahead(own) for part, own in zip(self.learners, unlisted(state.parts), strict=True))

    def grow(self, state: StackState, shape: Shape) -> StackState:
        state = self.each(state, lambda part, own: part.grow(own, shape))
        return self.hearing(state, shape)

    def split(self, state: StackState, shape: Shape) -> StackState:
        state = self.each(state, lambda part, own: part.split(own, shape))
        return self.hearing(state, shape._replace(n_outputs=2))

    def hearing(self, state: StackState, shape: Shape) -> StackState:
        """With room for what is said of so many outputs."""
        if state.own.shown.said.shape[2] == shape.n_outputs:
            return state
        return state._replace(own=state.own._replace(shown=self.own(shape).shown))

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> StackState:
        def below(name: str) -> dict[str, np.ndarray]:
            return {key.removeprefix(name): array for key, array in arrays.items() if key.startswith(name)}

        states, place = [], "parts."
        for i, part in enumerate(self.learners):
            states.append(part.restore(below(f"{place}first."), shape))
            lender = self.lenders[i]
            if lender is not None:
                part.lift.require_same(states[lender].map, states[i].map)
            place += "rest."
        state = StackState(listed(states), restored(self.own(shape), below("own."), self.limits))
        if set(leaves(state)) != set(arrays):
            raise ValueError("it holds arrays that are of no part of it")
        if isinstance(state.own.combined, Squares):
            A = state.own.combined.A
            np.linalg.cholesky(np.tril(A) + np.tril(A, -1).T)
        if not is_learned(state.own.link):
            raise ValueError("its link is none that rows leave")
        moments, n = state.own.moments, int(state.own.moments.n)
        if (np.diff(moments.rows[:n]) <= 0).any() or moments.rows[:n].max(initial=0) > state.own.t:
            raise ValueError("its moments are not in their order")
        return state

    def limits(self, state: Any) -> Limits:
        return {
            "moments.n": (0, MOMENTS),
            "moments.every": (1, 2**53),
            "combined.gap": (0.0, np.inf),
            "combined.square": (0.0, np.inf),
            "combined.squares": (0.0, np.inf),
            "combined.total": (0.0, 1e35),  # weights of at most 1e15, of 2^53 rows and so many outputs
        }

    def n_stored(self, state: StackState) -> int:
        return sum(part.n_stored(own) for part, own in zip(self.learners, unlisted(state.parts), strict=True))

    def attributes(self, state: StackState) -> dict[str, Any]:
        """weights: of the parts. weights_over_time: (moments, 1 + parts), the number of rows and the weights then."""
        M, moments, n = len(self.parts), state.own.moments, int(state.own.moments.n)
        w = np.zeros(M)
        find_weights(state.own.combined, w, np.zeros((M, M)))
        return {"weights": w, "weights_over_time": np.column_stack([moments.rows[:n], moments.weights[:n]])}

    def probabilities(self, state: StackState | None, scores: np.ndarray) -> np.ndarray:
        return chances(first_link() if state is None else state.own.link, scores)

    def first_rows(self, state: StackState) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        kept = (part.first_rows(own) for part, own in zip(self.learners, unlisted(state.parts), strict=True))
        return next((rows for rows in kept if rows and rows[0][0].shape[1] < WIDEST), [])  # no longer as they came

    def merge(
        self, record: StackRecord, state: StackState, other: StackState, weight: float, since: StackState | None = None
    ) -> StackState:
        each = zip(self.learners, *(unlisted(own) for own in (record.parts, state.parts, other.parts)), strict=True)
        past = [None] * len(self.learners) if since is None else unlisted(since.parts)
        known = [() if since is None else (was,) for was in past]
        parts = [part.merge(*own, weight, *was) for (part, *own), was in zip(each, known, strict=True)]
        mine, theirs, own = state.own, other.own, None if since is None else since.own
        combined = merged(mine.combined, theirs.combined, weight, None if own is None else own.combined)
        link = (1.0 - weight) * mine.link + weight * theirs.link
        return StackState(listed(parts), mine._replace(combined=combined, link=link, **tally(mine, theirs, own, "t")))


@lift.register(StackRecord)
def _(record, state, scratch, block, start, stop):
    lift_parts(record.parts, state.parts, scratch.parts, block, start, stop)


@inlined
def weighted(w, e, f):
    for k in range(f.shape[0]):
        f[k] = 0.0
        for i in range(w.shape[0]):
            f[k] += w[i] * e[i, k]


@evaluate.register(StackRecord)
def _(record, state, scratch, x, scores):
    said, e, f, w, unit = scratch.said, scratch.e, scratch.f, scratch.w, record.unit
    evaluate_parts(record.parts, state.parts, scratch.parts, x, said, 0)
    for i in range(e.shape[0]):
        for k in range(e.shape[1]):
            e[i, k] = min(max(said[i, k], -unit), unit) if np.isfinite(said[i, k]) else 0.0
    find_weights(state.own.combined, w, scratch.factor)
    weighted(w, e, f)
    for k in range(scores.shape[0]):
        scores[k] = f[k]


@remember.register(StackRecord)
def _(record, state, scratch, x):
    remember_parts(record.parts, state.parts, scratch.parts, x)
    if state.own.t[()] > 0:
        keep_said(state.own.shown, x, scratch.e)


@inlined
def keep_weights(moments, t, w):
    """The weights are those after t rows; where there is no room, every second of those before goes."""
    if t % moments.every[()] != 0:
        return
    n = moments.n[()]
    if n == moments.rows.shape[0]:
        n //= 2
        for q in range(n):
            moments.rows[q] = moments.rows[2 * q]
            for i in range(w.shape[0]):
                moments.weights[q, i] = moments.weights[2 * q, i]
        moments.every[()] *= 2
        moments.n[()] = n
        if t % moments.every[()] != 0:
            return
    moments.rows[n] = t
    for i in range(w.shape[0]):
        moments.weights[n, i] = w[i]
    moments.n[()] = n + 1


@step.register(StackRecord)
def _(record, state, scratch, x, target, weight, scores):
    own, e, y, f, w, K = state.own, scratch.e, scratch.y, scratch.f, scratch.w, scores.shape[0]
    loss = slope(record.loss, target, scores, scratch.common.slope)
    if not np.isfinite(loss):
        return loss
    asks = step_parts(record.parts, state.parts, scratch.parts, x, target, weight, scratch.said, 0)
    scratch.common.halt[()] = asks > 0
    right = np.int64(target) if K > 1 else np.int64(target > 0.0)
    for k in range(K):
        y[k] = target if K == 1 else (1.0 if k == right else -1.0)
    if own.shown.n[()] > 0:
        take_said(own.shown, x, e)
        weighted(w, e, f)
    if record.classes == 1:
        learn_link(own.link, f, right, weight)
    keep_weights(own.moments, own.t[()], w)
    own.t[()] += 1
    learn_row(own.combined, w, e, y, weight, record.unit, scratch.losses)
    return loss
