"""Two learners become one: what fits, and in which order what each still has to settle is learned by the other."""

import contextlib
import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..encoding import Columns
from ..engine.cores import DEFAULT_THREADS
from ..engine.inputs import Inputs
from ..engine.opening import Opening
from ..engine.runner import Runner
from ..numerics.interrupts import held
from ..numerics.memory import one_blas_thread
from ..numerics.rows import to_block
from ..parameters import Parameters
from ..tasks import Classification
from .copies import become
from .learning import advance
from .room import examples_of, known, make_room

if TYPE_CHECKING:
    from .learner import Learner


def merge(learner: "Learner", other: "Learner", since: "Learner | None" = None) -> None:
    """Take in what another learner learned, weighted by the rows each has seen; refuses what does not fit.

    A learner that still keeps its first rows has them learned by the other. Where it fails, neither has changed.

    since: the learner that both went on from, as it was then, if they did. Its rows count once, and the weights are
        those of the rows behind them: so several copies learn apart and become one, again and again.
    """
    with _both(learner, other), held():
        _check_mergeable(learner, other)
        if learner._watching is not None:
            learner._watching.begin()
        if since is not None:
            _merge_forks(learner, other, since)
            return
        merged = copy.copy(learner)
        merged._watching = None  # the other's rows are not its own
        if learner._calibration:
            merged._calibration = learner._calibration.copy()
        columns = [one.columns for one in (learner, other) if one.columns is not None and one.n_seen]
        _join(merged, other)
        merged._heads = learner._heads or other._heads
        _join_columns(merged, columns)
        vars(learner).update(vars(merged), _turns=learner._turns, _watching=learner._watching)


def _require_learner(one: Any) -> None:
    if not hasattr(one, "_turns"):
        raise TypeError(f"{one!r:.60} is no Learner. A file's is Learner.load(path), an estimator's its learner_.")


def _merge_forks(learner: "Learner", other: "Learner", since: "Learner") -> None:
    _require_learner(since)
    if since._runner is None or since._opening is not None or since._first_rows():
        raise ValueError(
            f"What both went on from has learned {since.n_seen} rows and still keeps them, to settle something on. "
            "Let it learn more before it is copied."
        )
    for one in (learner, other):
        _check_mergeable(one, since)
        if one.n_seen < since.n_seen:
            raise ValueError(
                f"What both went on from has learned {since.n_seen} rows, but one of them only {one.n_seen}."
            )
    if other.n_seen > since.n_seen:
        merged = copy.copy(learner)
        _merge_settled(merged, other, since)
        vars(learner).update(vars(merged), _turns=learner._turns)


def distance(learner: "Learner", other: "Learner") -> float:
    """How far apart two models of one kind are: the norm of the difference of their functions in the kernel's
    space. Both have learned rows.
    """
    with _both(learner, other):
        _check_mergeable(learner, other, "compared")
        mine, theirs = learner._runner, other._runner
        if mine is None or theirs is None:
            raise ValueError("A model that has learned no row is no function yet; let both learn.")
        shape = mine.shape._replace(width=max(learner.width, other.width))
        return mine.spec.distance(*(mine.spec.grow(runner.state, shape) for runner in (mine, theirs)))


def unmerge(learner: "Learner", other: "Learner") -> None:
    """Forget what another learner learned, whose rows this one has learned or merged; refuses what does not fit.

    Forks of one model merge without counting its rows twice: ``a.merge(b).unmerge(ancestor)``.
    """
    with _both(learner, other), held():
        _leave(learner, other)


@contextlib.contextmanager
def _both(learner: "Learner", other: "Learner") -> Iterator[None]:
    """A context in which nobody else reads or changes either; two that wait for each other begin with the same. BLAS
    has one thread.
    """
    _require_learner(other)
    first, second = (learner, other) if id(learner) < id(other) else (other, learner)
    with first._turns.changing(), second._turns.changing(), one_blas_thread():
        yield


def _join(learner: "Learner", other: "Learner") -> None:
    """`merge` for a learner that may fail half way: a copy, whose arrays belong to another as long as it has not
    made its own.
    """
    if other._runner is None or other.n_seen == 0:
        return
    if learner._runner is None or learner.n_seen == 0:
        become(learner, other)
    elif other._opening is not None:
        become(learner, learner)
        _learn_opening(learner, other._opening)
    elif learner._opening is not None:
        mine = learner._opening
        become(learner, other)
        _learn_opening(learner, mine)
    elif theirs := other._first_rows():
        become(learner, learner)
        _learn_first(learner, theirs, other.inputs)
    elif kept := learner._first_rows():
        inputs = learner.inputs
        become(learner, other)
        _learn_first(learner, kept, inputs)
    else:
        _merge_settled(learner, other)


def _join_columns(learner: "Learner", columns: list[Columns]) -> None:
    """Know the names that either knew, and the means of both."""
    if columns:
        learner.columns = columns[0].copy()
        for one in columns[1:]:
            learner.columns.merge(one)


def _leave(learner: "Learner", other: "Learner") -> None:
    _check_mergeable(learner, other, "taken apart")
    if learner.inputs.follows:
        raise ValueError('scaling="online" cannot be taken apart. Fit a scaling, or scale rows before.')
    if other._runner is None or other.n_seen == 0:
        return
    if learner._runner is None or other.n_seen > learner.n_seen:
        raise ValueError(
            f"The other has learned {other.n_seen} rows and this one {learner.n_seen}: it cannot hold them all."
        )
    mine, theirs = learner._runner, other._runner
    if any(one._opening is not None or one._first_rows() for one in (learner, other)):
        raise ValueError("One of them still keeps its first rows, on which something is settled. Let both learn more.")
    shape = mine.shape._replace(width=max(learner.width, other.width))
    state, leaving = (mine.spec.grow(runner.state, shape) for runner in (mine, theirs))
    rest = mine.spec.unmerge(mine.record, state, leaving)
    learner._runner = Runner(mine.spec, mine.task, rest, shape, learner.sharing, learner.n_seen - other.n_seen)


def _learn_opening(learner: "Learner", opening: Opening) -> None:
    """Learn another's first rows, which are kept as they came."""
    for X, targets, weights in opening.parts():
        make_room(learner, X.shape[1], learner.task)
        advance(learner, X, targets, weights, X[:0])


def _learn_first(learner: "Learner", rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]], inputs: Inputs) -> None:
    """Learn the rows that another model kept; `inputs` took them in."""
    for X, targets, weights in rows:
        make_room(learner, X.shape[1], learner.task)
        assert learner._runner is not None
        start, undo = learner.n_seen, inputs.targets.undo
        examples = examples_of(learner, known(learner, *to_block(X, learner.dtype)), targets, weights)
        learner._runner.learn(examples, learner.threads or DEFAULT_THREADS)
        if learner._calibration:
            learner._calibration.learn(undo(examples.scores), undo(targets[:, None])[:, 0], weights, start)
    learner.inputs.merge(inputs)


def _merge_settled(learner: "Learner", other: "Learner", since: "Learner | None" = None) -> None:
    mine, theirs, past = learner._runner, other._runner, None if since is None else since._runner
    assert mine is not None and theirs is not None
    shape = mine.shape._replace(width=max(learner.width, other.width))
    common = 0 if since is None else since.n_seen
    weight = (other.n_seen - common) / (learner.n_seen + other.n_seen - 2 * common)
    state, joining, begun = (
        None if runner is None else mine.spec.grow(runner.state, shape) for runner in (mine, theirs, past)
    )
    merged = mine.spec.merge(mine.record, state, joining, weight, *([] if begun is None else [begun]))
    n_seen = learner.n_seen + other.n_seen - common
    learner._runner = Runner(mine.spec, mine.task, merged, shape, learner.sharing, n_seen)
    learner.inputs = learner.inputs.copy()
    learner.inputs.merge(other.inputs, None if since is None else since.inputs)
    if learner._calibration and other._calibration:
        past_link = None if since is None else since._calibration
        learner._calibration = learner._calibration.merged(other._calibration, weight, past_link)


def _check_mergeable(learner: "Learner", other: "Learner", what: str = "merged") -> None:
    for one in (learner, other):
        if one._watching is not None and one._watching.plan.acts and what != "compared":
            raise ValueError(
                f"These learners cannot be {what}: one of them begins anew on drift, with "
                f"on_drift={one._watching.choice()[1]!r}, and the other would bring back what it gave up. Let those "
                "that merge warn alone, on_drift='warn'."
            )
    pairs: list[tuple[str, Any, Any]] = [
        ("task", learner.task.name, other.task.name),
        ("dtype", learner.dtype, other.dtype),
        ("algorithm", learner.algorithm.name, other.algorithm.name),
        *learner.inputs.differences(other.inputs),
    ]
    if isinstance(learner.task, Classification) and isinstance(other.task, Classification):
        pairs.append(("classes", learner.task.classes.tolist(), other.task.classes.tolist()))
    if learner.columns is not None and other.columns is not None and learner.n_seen and other.n_seen:
        pairs += learner.columns.differences(other.columns)
    if learner.columns is other.columns is None and learner._heads and other._heads:
        pairs.append(("columns of the tables", learner._heads, other._heads))
    both = [one for one in (learner, other) if one.settled is not None and one._opening is None]
    mine, theirs = (one.settled or one.algorithm if len(both) == 2 else one.algorithm for one in (learner, other))
    if type(mine) is type(theirs):
        ours, others = mine.get_params(), theirs.get_params()
        shared = [k for k in ours if k in others]
        pairs += [(k, ours[k], others[k]) for k in shared if not isinstance(ours[k], Parameters)]
        pairs += [(k, ours[k], others[k]) for k in shared if isinstance(ours[k], Parameters)]
    if learner.settled is not None and other.settled is not None and not learner.grow_features:
        pairs.append(("width", learner.width, other.width))
    for name, a, b in pairs:
        if a != b:
            remedy = ""
            if learner.algorithm == other.algorithm and name.startswith(("kernel", "scaling.map")):
                remedy = (
                    " Each was settled on its own first rows: begin both with one setting, as with "
                    "Learner(first.settled, ...), or give the kernel a width."
                )
            raise ValueError(f"These learners cannot be {what}: {name} differs, {a!r} here and {b!r} there.{remedy}")
