"""Laws of Learner, which hold whatever kernel and loss are in it."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from ..algorithms import ALGORITHMS
from ..encoding import Columns
from ..engine import learn_rows, score_rows
from ..engine.opening import LAST
from ..engine.state import leaves
from ..kernels import Gaussian, Kernel
from ..learner import Learner
from ..losses import as_loss
from ..numerics.compile import specialisations
from ..tasks import BINARY, MULTICLASS, Binary, Classification, Multiclass, Task
from .agreement import N_ROWS, require, require_refusal, require_same, require_same_bits, snapshot
from .cases import SMALL, Case, learn_in_blocks, selection
from .examples import TASKS, adjusted, bad_inputs, example_kernels, sparse_rows, stream

ALGORITHM = "algorithm"


def answers_before_learning(case: Case) -> None:
    X, _ = stream(case.task, n=5)
    learner = case.learner()
    scores, shown = learner.scores(X), learner.predict(X)
    require(
        scores.shape == (5, learner.task.n_outputs) and not scores.any(),
        f"{case}: scores before learning are {scores}.",
    )
    known = getattr(learner.task, "classes", np.zeros(1))
    require(np.isin(shown, known).all(), f"{case}: before learning {shown} is shown.")
    require(learner.n_seen == learner.size == learner.n_bytes == 0, f"{case}: an empty learner has a size.")


def bad_input_is_refused(case: Case) -> None:
    """The error names what is wrong, and a trained and a fresh learner are bit for bit what they were."""
    X, y = stream(case.task)
    trained, fresh = case.learner("float32"), case.learner("float32")
    trained.learn(X, y)
    before, empty = snapshot(trained), snapshot(fresh)
    for bad in bad_inputs(case.task):
        require_refusal(case, bad.what, partial(trained.learn, bad.X, bad.y, bad.weight), *bad.words)
        require_same(case, f"a learner after {bad.what}", snapshot(trained), before)
        if bad.what not in ("a narrower block", "a wider block"):
            require_refusal(case, bad.what, partial(fresh.learn, bad.X, bad.y, bad.weight), *bad.words)
            require_same(case, f"a fresh learner after {bad.what}", snapshot(fresh), empty)
    require_refusal(case, "scores of NaN", lambda: trained.scores(np.full((2, 6), np.nan)), "Row 0")
    require_refusal(case, "scores of narrow rows", lambda: trained.scores(X[:, :4]), "4", "6")


def a_row_at_a_time_has_the_bits_of_a_block(case: Case) -> None:
    """Dictionaries, each predicted and then learned: what was computed for the prediction serves the step."""
    X, y = stream(case.task)
    rows = [dict(enumerate(x)) for x in X.tolist()]
    whole, single = (case.learner("float32", columns=Columns()) for _ in range(2))
    expected, lane, short = whole.learn(rows, y), None, 0
    for t, (row, label) in enumerate(zip(rows, y.tolist(), strict=True)):
        if lane is not None and t % 5 and lane.score(row):
            require_same_bits(case, f"scores of row {t}", lane.scores, expected[t])
        target = single.task.encode_one(label)
        if lane is not None and target is not None and lane.learn(row, target, 1.0):
            short += 1
        else:
            single.learn_one(row, label)
            lane = single.lane()
    require(lane is None or short > 0, f"{case}: no row went the short way.")
    require_same(case, "the state after single rows", snapshot(single), snapshot(whole))


def a_snapshot_stands_apart(case: Case) -> None:
    """It is the learner as it was, while the learner goes on, also where the arrays of an earlier one are written."""
    X, y = stream(case.task)
    learner, twin = case.learner("float32"), None
    for start in range(0, N_ROWS, 37):
        learner.learn(X[start : start + 37], y[start : start + 37])
        before, scores = snapshot(learner), learner.scores(X[:20])
        twin = learner.snapshot(twin)
        learner.learn(X[:5], y[:5])
        require_same(case, "a snapshot after its learner went on", snapshot(twin), before)
        require_same_bits(case, "scores of a snapshot", twin.scores(X[:20]), scores)


def merge_with_an_empty_learner_is_the_identity(case: Case) -> None:
    X, y = stream(case.task)
    learner, empty = case.learner(), case.learner()
    learner.learn(X[:100], y[:100])
    before = snapshot(learner)
    require_same(case, "a learner after taking in an empty one", snapshot(learner.merge(empty)), before)
    require_same(case, "an empty learner", snapshot(empty), snapshot(case.learner()))
    empty.merge(learner)
    require_same(case, "an empty learner after taking in another", snapshot(empty), before)
    scores = empty.learn(X[100:], y[100:])
    require_same(case, "the other, after the merged learner went on", snapshot(learner), before)
    require_same_bits(case, "scores of both", scores, learner.learn(X[100:], y[100:]))
    blank = case.learner().merge(case.learner())
    require_same(case, "two empty learners", snapshot(blank), snapshot(case.learner()))


def _strangers(case: Case) -> Iterator[tuple[str, Learner]]:
    """Learners that do not fit the case's own, with the word that says why."""
    spec, kernel = case.spec, case.spec.kernel
    yield "dtype", case.learner("float32")
    if case.task == BINARY:
        yield "classes", case.learner(task=Binary([0, 1]))
    if case.task == MULTICLASS:
        yield "classes", case.learner(task=Multiclass(["high", "low", "middle", "other"]))
    for task in spec.tasks:
        if task != case.task:
            yield "task", replace(case, spec=adjusted(spec, loss="auto"), task=task).learner()
    for another in _other_kernels(kernel):
        try:
            yield "kernel", case.adjusted(kernel=another).learner()
        except ValueError:  # the algorithm does not take it
            continue
    for name in ("budget", "rank", "n_components"):
        if hasattr(spec, name):
            yield name, case.adjusted(**{name: (getattr(spec, name) or N_ROWS) - 1}).learner()
    for name, value in (("learning_rate", 0.01), ("loss", as_loss(case.loss))):
        if hasattr(spec, name):
            yield name, case.adjusted(**{name: value}).learner()
    for other in ALGORITHMS.values():
        if type(other) is not type(spec) and case.task in other.tasks:
            stranger = adjusted(other, kernel=Gaussian(gamma=0.3), **SMALL)
            yield ALGORITHM, Learner(stranger, TASKS[case.task](), seed=5, dtype="float64")


def _other_kernels(kernel: Kernel) -> Iterator[Kernel]:
    """Kernels of every other type, and those of the same type that differ in one parameter."""
    yield from (another for another in example_kernels() if another != kernel)
    for name, value in kernel.get_params().items():
        if name in ("gamma", "offset"):
            yield replace(kernel, **{name: value + 1.0})


def _any_labels(task: Task, X: np.ndarray) -> np.ndarray:
    return np.asarray(task.classes)[(X[:, 0] > 0).astype(int)] if isinstance(task, Classification) else X[:, 0]


def merge_refuses_strangers(case: Case) -> None:
    """What does not fit is named, and both learners stay as they were; an empty learner is as strict."""
    X, y = stream(case.task)
    learner = case.learner()
    learner.learn(X, y)
    before = snapshot(learner)
    strangers = list(_strangers(case))
    if any(name.endswith("seed") for name in leaves(learner._state)):
        strangers.append(("seed", case.learner(seed=6)))
    first = next(other for word, other in strangers if word == ALGORITHM)
    for word, other in strangers:
        if word not in ("seed", "learning_rate", "loss"):
            empty = snapshot(other)
            require_refusal(case, f"a merge into an empty one of another {word}", partial(other.merge, learner), word)
            require_same(case, f"an empty learner of another {word}", snapshot(other), empty)
        if word != ALGORITHM or other is first:  # names are compared, whatever was learned
            other.learn(X, _any_labels(other.task, X))
        theirs = snapshot(other)
        require_refusal(case, f"a merge with another {word}", partial(learner.merge, other), word)
        require_same(case, f"a learner that refused another {word}", snapshot(learner), before)
        require_same(case, f"one that was refused for its {word}", snapshot(other), theirs)


def nothing_is_recompiled(case: Case) -> None:
    """One compilation an algorithm and dtype serves every kernel, loss, task, shape, storage and history."""
    warm, (X, y) = case.learner("float32"), stream(case.task)
    warm.learn(X, y)
    warm.scores(X)
    before = specialisations(learn_rows), specialisations(score_rows)
    read_only = [np.array(a) for a in (X, y, np.ones(N_ROWS))]
    for array in read_only:
        array.setflags(write=False)
    warm.learn(*read_only)
    warm.merge(case.learner("float32").merge(warm))
    warm.learn(X, y)
    for other in selection(case.spec):
        for width in (1, 3, 40):
            X = sparse_rows(12, width=max(width, 3))[:, :width]
            y = stream(other.task, n=12).y
            learner = other.learner("float32")
            learner.learn(X, y)
            learner.learn(sp.csr_array(X), y, np.full(12, 2.0))
            learner.scores(X[::-1])
    after = specialisations(learn_rows), specialisations(score_rows)
    require(after == before, f"{case}: {before} specialisations of the loop became {after} after other data.")


def settling_does_not_depend_on_the_cut(case: Case) -> None:
    """Where a width is left to the data: blocks of any size, dense and sparse, give one model and the same scores."""
    case = case.settling()
    X, y = stream(case.task, n=LAST + 30)
    for given in (X, sp.csr_array(X)):
        whole = case.learner("float32")
        expected = whole.learn(given, y)
        for height in (1, 100):
            learner = case.learner("float32")
            what = f"blocks of {height} rows, {type(given).__name__}"
            require_same_bits(case, f"scores in {what}", learn_in_blocks(learner, given, y, height), expected)
            require_same(case, f"the state after {what}", snapshot(learner), snapshot(whole))
