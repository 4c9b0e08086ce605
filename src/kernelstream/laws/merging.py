"""Laws of merging."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ..algorithms import ALGORITHMS
from ..engine.state import leaves
from ..kernels import Gaussian, Kernel
from ..learner import Learner
from ..losses import as_loss
from ..tasks import BINARY, MULTICLASS, Binary, Classification, Multiclass, Task
from .agreement import (
    N_ROWS,
    ROUNDING,
    require,
    require_close,
    require_refusal,
    require_same,
    require_same_bits,
    snapshot,
)
from .cases import Case
from .examples import TASKS, adjusted, example_kernels, stream


def merge_is_the_weighted_sum(case: Case) -> None:
    """Without compression: f = (n_1 f_1 + n_2 f_2) / (n_1 + n_2). Counts add, the other stays, learning goes on."""
    case = case.adjusted(budget=2 * N_ROWS)
    X, y = stream(case.task)
    probe = stream(case.task, n=30, seed=9).X
    a, b = case.learner(), case.learner()
    a.learn(X[:90], y[:90])
    b.learn(X[90:], y[90:])
    expected = (90 * a.scores(probe) + 60 * b.scores(probe)) / 150
    before = snapshot(b)
    require(a.merge(b) is a and a.n_seen == N_ROWS, f"{case}: {a.n_seen} rows seen after merging 90 and 60.")
    require_close(case, "scores after a merge", a.scores(probe), expected, ROUNDING["float64"])
    a.learn(X, y)
    require_same(case, "the other after the merged learner went on", snapshot(b), before)
    require(a.n_seen == 2 * N_ROWS, f"{case}: {a.n_seen} rows seen after {2 * N_ROWS}.")


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
            yield name, case.adjusted(**{name: getattr(spec, name) - 1}).learner()
    for name, value in (("learning_rate", 0.01), ("loss", as_loss(case.loss))):
        if hasattr(spec, name):
            yield name, case.adjusted(**{name: value}).learner()
    for other in ALGORITHMS.values():
        if type(other) is not type(spec) and case.task in other.tasks:
            stranger = replace(other, kernel=Gaussian(gamma=0.3))
            yield "algorithm", Learner(stranger, TASKS[case.task](), seed=5, dtype="float64")


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
    if "seed" in leaves(learner._state):
        strangers.append(("seed", case.learner(seed=6)))
    for word, other in strangers:
        if word not in ("seed", "learning_rate", "loss"):
            empty = snapshot(other)
            require_refusal(case, f"a merge into an empty one of another {word}", partial(other.merge, learner), word)
            require_same(case, f"an empty learner of another {word}", snapshot(other), empty)
        other.learn(X, _any_labels(other.task, X))
        theirs = snapshot(other)
        require_refusal(case, f"a merge with another {word}", partial(learner.merge, other), word)
        require_same(case, f"a learner that refused another {word}", snapshot(learner), before)
        require_same(case, f"one that was refused for its {word}", snapshot(other), theirs)
