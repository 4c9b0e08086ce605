"""Laws of algorithms. Nothing here knows one of them: a law that cannot hold is named in the algorithm (`exempt`)."""

import tempfile
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..algorithms import make
from ..engine import Algorithm
from ..engine.runner import Sharing
from ..engine.state import leaves
from ..learner import DTYPES, Learner
from ..tasks import REGRESSION, Binary, Classification, Multiclass
from .agreement import (
    N_ROWS,
    ROUNDING,
    require,
    require_close,
    require_refusal,
    require_same,
    require_same_bits,
    require_shrunk,
    snapshot,
)
from .cases import Case, learn_in_blocks, reference_loss, reference_of
from .examples import labels, sparse_rows, stream


def equals_its_reference(case: Case) -> None:
    """Compiled and in NumPy, from the same random draws: the same scores and losses before every round."""
    module, values = reference_of(case.spec), []
    assert module is not None
    loss = reference_loss(case)

    def noted(target: float, scores: np.ndarray) -> Any:
        value, slope = loss(target, scores)
        values.append(value)
        return value, slope

    X, y = stream(case.task)
    learner = case.learner()
    scores = learner.learn(X, y)
    targets = learner.task.encode(y)
    expected, size, *own = module.learn(learner.settled, noted, X, targets, learner.task.n_outputs, learner.seed)
    require_close(case, "scores", scores, expected, ROUNDING["float64"])
    require(learner.size == size, f"{case}: size is {learner.size}, the reference's is {size}.")
    # Losses that are the algorithm's own are given; a box that has no need of the value has the loss of its scores.
    values = own[0] if own else values or [loss(target, f)[0] for target, f in zip(targets, expected, strict=True)]
    require_close(case, "losses", learner.losses, values, ROUNDING["float64"])


def float32_follows_float64(case: Case) -> None:
    X, y = stream(case.task)
    X = X.astype(np.float32)
    double, single = (case.learner(dtype).learn(X, y) for dtype in ("float64", "float32"))
    require_close(case, "float32 scores", single, double, ROUNDING["float32"])


def block_size_has_no_effect(case: Case) -> None:
    """Nor has it on sparse rows, some of them nearly dense: a block that has no others is lifted as a dense one."""
    X, y = stream(case.task)
    few = 70  # of sparse ones, which are slow to cut: enough to fill a budget
    for dtype, given in ((DTYPES[0], X), (DTYPES[1], X), (DTYPES[0], sp.csr_array(X[:few]))):
        whole, known = case.learner(dtype), y[: given.shape[0]]
        expected = whole.learn(given, known)
        for height in (1, 7, 64):
            learner = case.learner(dtype)
            what = f"blocks of {height} rows in {dtype}, {type(given).__name__}"
            require_same_bits(case, f"scores in {what}", learn_in_blocks(learner, given, known, height), expected)
            require_same(case, f"the state after {what}", snapshot(learner), snapshot(whole))


def threads_have_no_effect(case: Case) -> None:
    """Learned from and scored by several threads, in small chunks: the same bits as in one thread."""
    X, y = stream(case.task)
    for dtype, rows, given in ((DTYPES[0], 8, X), (DTYPES[1], 12, X), (DTYPES[0], 20, sp.csr_array(X))):
        one = case.learner(dtype, threads=1)
        expected, afterwards = one.learn(given, y), one.scores(given)
        for threads in (2, 3):
            several = case.learner(dtype, threads=threads)
            several.sharing = everything_shared(rows)
            what = f"{threads} threads with chunks of {rows} rows in {dtype}"
            require_same_bits(case, f"scores of {what}", several.learn(given, y), expected)
            require_same(case, f"the state of {what}", snapshot(several), snapshot(one))
            require_same_bits(case, f"scores afterwards of {what}", several.scores(given), afterwards)


def everything_shared(rows: int) -> Sharing:
    """Every block of some chunks is worth several threads, and a chunk has at most so many rows (of 4 each)."""
    return Sharing(rows, _always)


def _always(lifting: float, learning: float, chunks: float) -> bool:
    return True


def sparse_equals_dense(case: Case) -> None:
    X = sparse_rows(N_ROWS)
    y = labels(case.task, X, np.random.default_rng(2))
    for dtype in DTYPES:
        dense, sparse = case.learner(dtype), case.learner(dtype)
        require_close(case, f"{dtype} scores", sparse.learn(sp.csr_array(X), y), dense.learn(X, y), ROUNDING[dtype])
        require_close(
            case, f"{dtype} scores afterwards", sparse.scores(X), dense.scores(sp.csr_array(X)), ROUNDING[dtype]
        )


def resumes_bit_for_bit(case: Case) -> None:
    """Save, load, go on: nothing differs from never having stopped."""
    X, y = stream(case.task)
    for dtype, cut in zip(2 * DTYPES, (0, 10, 70, N_ROWS), strict=True):
        whole, first = case.learner(dtype), case.learner(dtype)
        expected = whole.learn(X, y)
        if cut > 0:
            first.learn(X[:cut], y[:cut])
        with tempfile.TemporaryDirectory() as directory:
            first.save(Path(directory) / "model.ks")
            resumed = Learner.load(Path(directory) / "model.ks")
        require_same(case, f"the model loaded after {cut} rows", snapshot(resumed), snapshot(first))
        if cut < N_ROWS:
            require_same_bits(case, f"scores resumed after {cut} rows", resumed.learn(X[cut:], y[cut:]), expected[cut:])
        require_same(case, f"the model resumed after {cut} rows", snapshot(resumed), snapshot(whole))


def budget_is_never_exceeded(case: Case) -> None:
    X, y = stream(case.task)
    learner, budget = case.learner("float32"), int(case.spec.budget)  # type: ignore[attr-defined]
    for t in range(N_ROWS):
        learner.learn(X[t : t + 1], y[t : t + 1])
        require(learner.size <= budget, f"{case}: {learner.size} points after row {t} with a budget of {budget}.")
    other = case.learner("float32", seed=5)
    other.learn(X, y)
    learner.merge(other)
    require(learner.size <= budget, f"{case}: {learner.size} points after a merge with a budget of {budget}.")


def memory_is_flat(case: Case) -> None:
    """A bounded learner's state does not grow after the first pass over the stream."""
    X, y = stream(case.task)
    learner = case.learner("float32")
    learner.learn(X, y)
    after_one = learner.n_bytes
    for _ in range(4):
        learner.learn(X, y)
    require(learner.n_bytes == after_one, f"{case}: {after_one} bytes after 1 pass, {learner.n_bytes} after 5.")


def scores_change_nothing(case: Case) -> None:
    X, y = stream(case.task)
    learner, silent = case.learner("float32"), case.learner("float32")
    for t in range(0, N_ROWS, 30):
        before = snapshot(learner)
        first = learner.scores(X[:40])
        require_same_bits(case, "scores asked for twice", learner.scores(X[:40]), first)
        learner.predict(X[:40])
        require_same(case, "the state after scores and predict", snapshot(learner), before)
        learner.learn(X[t : t + 30], y[t : t + 30])
        silent.learn(X[t : t + 30], y[t : t + 30])
    require_same(case, "a learner that was asked and one that was not", snapshot(learner), snapshot(silent))


def scores_are_what_learning_predicts(case: Case) -> None:
    """`learn` returns for its first row exactly what `scores` said of it."""
    X, y = stream(case.task)
    for dtype in DTYPES:
        learner = case.learner(dtype)
        learner.learn(X[:100], y[:100])
        asked = learner.scores(X[100:])
        require_same_bits(case, f"the next row's {dtype} scores", learner.learn(X[100:], y[100:])[:1], asked[:1])


def late_features_count_as_zero_before(case: Case) -> None:
    """Features that appear late might as well have been there, at 0, from the start; narrow rows may come again."""
    X, y = stream(case.task)
    X[:60, 4:] = 0.0
    X[100:, 5:] = 0.0
    for dtype in DTYPES:
        wide, late = case.learner(dtype), case.learner(dtype, grow_features=True)
        expected = wide.learn(X, y)
        parts = [late.learn(X[:60, :4], y[:60]), late.learn(X[60:100], y[60:100]), late.learn(X[100:, :5], y[100:])]
        require_close(case, f"{dtype} scores with late features", np.concatenate(parts), expected, ROUNDING[dtype])
        require(late.width == 6, f"{case}: the width is {late.width} after six features.")
        require_close(case, f"{dtype} scores afterwards", late.scores(X), wide.scores(X), ROUNDING[dtype])
        ignored = np.hstack([X, np.ones((N_ROWS, 2))])
        require_close(
            case, "scores of rows with unknown features", late.scores(ignored), late.scores(X), ROUNDING[dtype]
        )
        drawn = {name: a for name, a in leaves(late._state).items() if "frequencies" in name}
        for name, array in drawn.items():
            require_same_bits(case, f"{name} drawn late", array, leaves(wide._state)[name])


def shrinks(case: Case) -> bool:
    """Whether every round shrinks the function."""
    return getattr(case.spec, "regularization", 0.0) > 0.0


def _with_a_later_class(case: Case, task: Classification) -> tuple[np.ndarray, np.ndarray]:
    """The scores of all rows before the class "high" is announced and after; then it is learned."""
    X, y = stream(case.task)
    known = y != "high"
    learner = case.learner(task=task, grow_classes=True)
    learner.learn(X[known], y[known])
    before = learner.scores(X)
    learner.learn(X[~known][:1], y[~known][:1], 0.0)  # announces the class, learns nothing
    after = learner.scores(X)
    classes = snapshot(learner)["classes"]
    require(classes == ["low", "middle", "high"], f"{case}: classes are {classes}.")
    require(
        after.shape == (N_ROWS, 3) and not after[:, 2].any(),
        f"{case}: the new class starts with scores that are not 0.",
    )
    learner.learn(X, y)
    require(learner.scores(X)[:, 2].any(), f"{case}: the new class is not learned.")
    return before, after


def late_classes_add_an_output(case: Case) -> None:
    """A new label adds an output and leaves the scores of the known classes alone."""
    X, y = stream(case.task)
    case = case.unregularized().adjusted(budget=2 * N_ROWS)
    before, after = _with_a_later_class(case, Multiclass(["low", "middle"]))
    require_shrunk(case, "scores of the known classes", after[:, :2], before, shrinks=shrinks(case))
    closed = case.learner(task=Multiclass(["low", "middle"]))
    require_refusal(case, "a new class", lambda: closed.learn(X, y), "high")


def a_third_class_keeps_the_margin(case: Case) -> None:
    """A binary model to which a third label comes shows the margin it had as that between its two classes."""
    X, y = stream(case.task)
    case = case.unregularized().adjusted(budget=2 * N_ROWS)
    before, after = _with_a_later_class(case, Binary(["low", "middle"]))
    require_shrunk(case, "margins", after[:, 1:2] - after[:, :1], before, shrinks=shrinks(case))
    known = y != "high"
    order = np.argsort(np.where(known, -1, np.arange(len(y))), kind="stable")  # the third class comes last
    at_once, by_sevens = (case.learner(task=Binary(["low", "middle"]), grow_classes=True) for _ in range(2))
    at_once.learn(X[order], y[order])
    for t in range(0, N_ROWS, 7):
        by_sevens.learn(X[order[t : t + 7]], y[order[t : t + 7]])
    require_same(case, "a third class in one block and in blocks of 7", snapshot(by_sevens), snapshot(at_once))


def weight_zero_learns_nothing(case: Case) -> None:
    """Rows of weight 0 count as rounds and leave the function as it is, but for the shrinking of regularization."""
    case = case.unregularized()
    X, y = stream(case.task)
    learner = case.learner()
    learner.learn(X[:60], y[:60])
    size, before = learner.size, learner.scores(X)
    learner.learn(X[60:], y[60:], np.zeros(90))
    require_shrunk(case, "scores after rows of weight 0", learner.scores(X), before, shrinks=shrinks(case))
    require(learner.n_seen == N_ROWS, f"{case}: {learner.n_seen} rows seen after {N_ROWS}.")
    require(learner.size == size, f"{case}: rows of weight 0 changed the size from {size} to {learner.size}.")


def weight_scales_the_step(case: Case) -> None:
    """From f = 0 one row of weight w below 1 leads to w times what weight 1 leads to; weight 1 is no weight."""
    X, y = stream(case.task)
    first = int(np.argmax(np.abs(y))) if case.task == REGRESSION else 0  # far from a flat part of the loss
    x, label = X[first : first + 1], y[first : first + 1]
    once, partly, plain = case.learner(), case.learner(), case.learner()
    once.learn(x, label, [1.0])
    partly.learn(x, label, 0.25)
    plain.learn(x, label)
    require(once.scores(X).any(), f"{case}: nothing was learned from a row.")
    require_same(case, "weight 1 and no weight", snapshot(once), snapshot(plain))
    require_close(case, "scores after weight 1/4", partly.scores(X), 0.25 * once.scores(X), ROUNDING["float64"])


def merge_is_the_weighted_sum(case: Case) -> None:
    """Without compression: f = (n_1 f_1 + n_2 f_2) / (n_1 + n_2), also of points that both have. Counts add, the other
    stays, learning goes on.
    """
    case = case.adjusted(budget=2 * N_ROWS)
    X, y = stream(case.task)
    probe = stream(case.task, n=30, seed=9).X
    a, b = case.learner(), case.learner()
    a.learn(X[:90], y[:90])
    b.learn(X[70:], y[70:])
    expected = (90 * a.scores(probe) + 80 * b.scores(probe)) / 170
    before = snapshot(b)
    require(a.merge(b) is a and a.n_seen == 170, f"{case}: {a.n_seen} rows seen after merging 90 and 80.")
    require_close(case, "scores after a merge", a.scores(probe), expected, ROUNDING["float64"])
    a.learn(X, y)
    require_same(case, "the other after the merged learner went on", snapshot(b), before)
    require(a.n_seen == 170 + N_ROWS, f"{case}: {a.n_seen} rows seen after {170 + N_ROWS}.")


def parent_of(spec: Algorithm) -> Algorithm:
    """The learner that a spec names as its parent, with the parameters that they share."""
    parent = make(str(spec.parent))
    shared = {f.name: getattr(spec, f.name) for f in fields(parent) if hasattr(spec, f.name) and f.name != "budget"}
    return replace(parent, **shared)


def limits(spec: Any) -> Iterator[tuple[Algorithm, Algorithm]]:
    """Pairs of specs that give equal scores: what an algorithm becomes at the end of a parameter's range."""
    if spec.parent is not None:
        yield replace(spec, budget=N_ROWS + 1), parent_of(spec)
    if hasattr(spec, "normalize"):
        plain = replace(spec, regularization=0.0)
        yield replace(plain, normalize=False, learning_rate=spec.learning_rate / spec.n_components), plain


def limit_is_reached(case: Case) -> None:
    X, y = stream(case.task)
    for pair in limits(case.spec):
        extreme, parent = (replace(case, spec=spec).learner() for spec in pair)
        scores, expected = extreme.learn(X, y), parent.learn(X, y)
        what = f"scores of {extreme.algorithm} and {parent.algorithm}"
        require_close(case, what, scores, expected, ROUNDING["float64"])
