"""A block of rows is learned: cut where new classes come and where something is settled, then handed to the engine."""

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.cores import DEFAULT_THREADS
from ..engine.runner import Runner
from ..numerics.rows import as_matrix, cut, n_rows, sample_of, to_block
from ..tasks import Binary, Classification, Task
from .names import has_names, heads_of, taking_names
from .room import examples_of, fitting_width, known, make_room, outputs_of, weights_of
from .watching import Watched, find_features

if TYPE_CHECKING:
    from .learner import Learner

TOGETHER = 16_384  # rows of a call that are learned before predictions of other threads, and interrupts, have a turn


def learn(learner: "Learner", X: Any, y: Any, sample_weight: Any, shown: Any) -> tuple[np.ndarray, np.ndarray]:
    """Predict, then learn; the scores of the rows, and of those shown."""
    X = list(X) if isinstance(X, Iterator) else X
    with learner._turns.learning:
        learn = _learn_named if has_names(learner, X) else _learn_block
        found = learn(learner, X, y, sample_weight, shown)
        learner._heads = learner._heads or heads_of(X)
        return found


def _learn_named(
    learner: "Learner", rows: Any, y: Any, sample_weight: Any, shown: Any
) -> tuple[np.ndarray, np.ndarray]:
    if learner.columns is not None and learner.columns.width == learner.width:
        X = learner.columns.complete_table(rows)
        if X is not None:
            shown = None if shown is None else learner.columns.show(shown)
            return _learn_block(learner, X, y, sample_weight, shown)
    with taking_names(learner, rows) as columns:
        with learner._turns.alone():
            X = columns.take(rows)
        return _learn_block(learner, X, y, sample_weight, None if shown is None else columns.show(shown))


def _learn_block(learner: "Learner", X: Any, y: Any, sample_weight: Any, shown: Any) -> tuple[np.ndarray, np.ndarray]:
    """Find what is wrong with the block, before anything changes; then learn it."""
    matrix = as_matrix(X)
    n = n_rows(to_block(matrix, learner.dtype)[0])
    weights = weights_of(sample_weight, n)
    given = np.shape(y)[0] if np.ndim(y) else "no list of"
    if given != n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {n} rows and {given} labels.")
    width = fitting_width(learner, matrix)
    find_features(learner, matrix)
    ahead = cut(matrix, slice(0))
    if shown is not None:
        ahead = as_matrix(shown)
        to_block(ahead, learner.dtype)
        fitting_width(learner, ahead)
        if ahead.shape[0] != n:
            raise ValueError(f"There are {n} rows to learn and {ahead.shape[0]} to show; give as many of both.")
    before, pieces = learner.task, _pieces(learner, y)
    parts, losses = [], []
    for some, task, targets in pieces:
        with learner._turns.alone():
            if learner._watching is not None:
                learner._watching.brings_class = task is not learner.task
            make_room(learner, width, task)
        found, kept = _learn_piece(learner, cut(matrix, some), targets, weights[some], cut(ahead, some))
        parts.append(found)
        losses.append(kept)
    learner.losses = _joined(losses)
    if learner.task is before:
        return parts[0]
    tasks = [before, *(task for _, task, _ in pieces)]
    scores, late = (_with_later_classes(part, tasks) for part in zip(*parts, strict=True))
    return scores, late


def _pieces(learner: "Learner", y: Any) -> list[tuple[slice, Task, np.ndarray]]:
    """The block cut where labels come that were never seen, each piece with the task that it is learned with."""
    if not learner.grow_classes or not isinstance(learner.task, Classification):
        return [(slice(0, len(y)), learner.task, learner.task.encode(y))]
    task: Task = learner.task
    places, are_known = learner.task.positions(y)
    if are_known.all():
        return [(slice(0, len(y)), task, learner.task.targets_at(places))]
    pieces, start, labels = [], 0, np.asarray(y)
    for new in learner.task.newcomers(y):
        if new > start:
            pieces.append((slice(start, new), task, task.encode(labels[start:new])))
        task, start = task.grown(labels[new : new + 1]), new
    return [*pieces, (slice(start, len(labels)), task, task.encode(labels[start:]))]


def _learn_piece(
    learner: "Learner", matrix: Any, targets: np.ndarray, weights: np.ndarray, ahead: Any
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Learn rows of one task, some at a time; the scores of these and of those shown, and the losses."""
    parts, losses = [], []
    for start in range(0, max(1, len(targets)), TOGETHER):
        some = slice(start, start + TOGETHER)
        with learner._turns.alone():
            parts.append(advance(learner, cut(matrix, some), targets[some], weights[some], cut(ahead, some)))
            losses.append(learner.losses)
    scores, late = (_joined(part) for part in zip(*parts, strict=True))
    return (scores, late), _joined(losses)


def advance(
    learner: "Learner", matrix: Any, targets: np.ndarray, weights: np.ndarray, ahead: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Predict, then learn, rows for which there is room; the scores of the rows, and of those shown."""
    if learner._watching is not None:
        return _watch(learner, learner._watching, matrix, targets, weights, ahead)
    learn = _advance if learner._opening is None else _open
    return learn(learner, matrix, targets, weights, ahead)


def _watch(
    learner: "Learner", watching: Watched, matrix: Any, targets: np.ndarray, weights: np.ndarray, ahead: Any
) -> tuple[np.ndarray, np.ndarray]:
    """`advance` from one row at which the model may begin anew to the next."""
    parts, losses = [], []
    for some in watching.pieces(len(targets)):
        _begin_anew(learner, watching)
        learn = _advance if learner._opening is None else _open
        parts.append(learn(learner, cut(matrix, some), targets[some], weights[some], cut(ahead, some)))
        losses.append(learner.losses)
    with contextlib.suppress(MemoryError):  # all rows were learned; the next one asks again
        _begin_anew(learner, watching)
    learner.losses = _joined(losses)
    scores, late = (_joined(part) for part in zip(*parts, strict=True))
    return scores, late


def _begin_anew(learner: "Learner", watching: Watched) -> None:
    """The model begins anew where that is due, with room for all features, and learns what was kept; where memory ends
    it stays as it is.
    """
    if not watching.is_due(watching.rows):
        return
    twin, held = copy.copy(learner), learner.n_seen
    twin._watching = None
    twin.restart()
    make_room(twin, learner.width, learner.task)
    try:
        watching.begin_anew(lambda X, y, w: advance(twin, X, twin.task.encode(y), w, X[:0]))
    except FloatingPointError:
        watching.begin()
        raise
    finally:
        if not watching.due:
            watching.given_up, watching.times = watching.given_up + held - twin.n_seen, watching.times + 1
            vars(learner).update({name: vars(twin)[name] for name in ("_runner", "_opening", "_calibration", "inputs")})


def _open(
    learner: "Learner", matrix: Any, targets: np.ndarray, weights: np.ndarray, ahead: Any
) -> tuple[np.ndarray, np.ndarray]:
    """`_advance` from one row at which things are settled to the next."""
    start, n, parts = 0, len(targets), []
    losses = []
    while start < n:
        opening = learner._opening
        stop = n if opening is None else min(n, start + opening.until_settling)
        some = slice(start, stop)
        try:
            parts.append(_advance(learner, cut(matrix, some), targets[some], weights[some], cut(ahead, some)))
        finally:
            learned = slice(start, start + len(learner.losses))
            if opening is not None:
                opening.add(cut(matrix, learned), targets[learned], weights[learned])
        losses.append(learner.losses)
        if opening is not None and opening.settles:
            _settle(learner)
        start = stop
    learner.losses = np.concatenate(losses)
    scores, late = (np.concatenate(part) for part in zip(*parts, strict=True))
    return scores, late


def _settle(learner: "Learner") -> None:
    """Fix what depends on data from all rows so far, and learn them anew."""
    opening, inputs = learner._opening, learner.inputs
    assert opening is not None and learner._runner is not None
    inputs.features.settle([(X, outputs_of(learner.task, targets), w) for X, targets, w in opening.parts()])
    parts = [(inputs.features.known(X), *rest) for X, *rest in opening.parts()]
    shape = learner._runner.shape
    blocks = [known(learner, *to_block(X, learner.dtype)) for X, *_ in parts]
    scaled = [inputs.targets.known(targets[:, None])[:, 0] for _, targets, _ in parts]
    given, weights = np.concatenate(scaled), np.concatenate([weights for *_, weights in parts])
    heard = given[weights > 0.0] if weights.any() else given
    spec = learner.algorithm.settle(learner.task.name, sample_of(blocks, shape.width, heard))
    fresh = Runner(spec, learner.task.name, spec.init(shape), shape, learner.sharing)
    for block, targets, (*_, weights) in zip(blocks, scaled, parts, strict=True):
        fresh.learn(examples_of(learner, block, targets, weights), learner.threads or DEFAULT_THREADS)
    vars(learner).update(_runner=fresh, _opening=None if opening.is_over else opening)


def _advance(
    learner: "Learner", matrix: Any, targets: np.ndarray, weights: np.ndarray, ahead: Any
) -> tuple[np.ndarray, np.ndarray]:
    assert learner._runner is not None
    runner, start = learner._runner, learner.n_seen
    inputs = learner.inputs.copy() if learner.inputs.follows else learner.inputs
    losses = np.zeros(0)

    def undone(scores: np.ndarray) -> np.ndarray:
        n = len(scores)
        return offsets[:n, None] + units[:n, None] * scores if inputs.targets.changes else scores

    try:
        rows, shown = inputs.features.learn_beside(matrix, ahead)
        scaled, offsets, units = inputs.targets.learn_targets(targets)
        examples = examples_of(learner, known(learner, *to_block(rows, learner.dtype)), scaled, weights)
        for kernel in runner.spec.kernels:
            kernel.require_values(examples.block, learner.dtype)
        late = np.zeros_like(examples.scores[: shown.shape[0]])
        beside = (known(learner, *to_block(shown, learner.dtype)), late) if len(late) else None
        losses = examples.losses
        runner.learn(examples, learner.threads or DEFAULT_THREADS, beside)
        learner.inputs = inputs
    except BaseException:
        learned = learner.n_seen - start
        if learner.inputs.follows and learned > 0:
            learner.inputs.features.learn(matrix[:learned])
            learner.inputs.targets.learn_targets(targets[:learned])
        raise
    finally:
        n = learner.n_seen - start
        learner.losses = losses[:n]
        if learner._calibration and n > 0:
            learner._calibration.learn(undone(examples.scores)[:n], targets[:n], weights[:n], start)
        if learner._watching is not None and n > 0:
            said = undone(examples.scores)[:n]
            learner._watching.learn(learner.task, cut(matrix, slice(n)), targets[:n], said, weights[:n])
    return undone(examples.scores), undone(late)


def _with_later_classes(parts: Sequence[np.ndarray], tasks: Sequence[Any]) -> np.ndarray:
    """Scores of the pieces of a block for the classes of the last one: those that a row did not know score -inf.

    tasks: before the block, and of each piece. Of two classes the one output f is (-f/2, f/2).
    """
    joined = []
    for part, before, task in zip(parts, tasks, tasks[1:], strict=False):
        wide = np.full((len(part), tasks[-1].n_outputs), -np.inf, part.dtype)
        wide[:, : len(task.classes)] = np.hstack([-0.5 * part, 0.5 * part]) if isinstance(task, Binary) else part
        wide[:1, len(before.classes) :] = -np.inf  # the first row brings them
        joined.append(wide)
    return np.concatenate(joined)


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
