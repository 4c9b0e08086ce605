"""Points with few features: the lists of them follow every verb, and the laws hold where they are used."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelstream import ALGORITHMS, Learner, laws
from kernelstream.algorithms import make
from kernelstream.kernels import Gaussian, Laplacian, Linear
from kernelstream.laws import algorithms as algorithm_laws
from kernelstream.laws import learners as learner_laws
from kernelstream.laws.agreement import N_ROWS
from kernelstream.laws.examples import Stream, labels
from kernelstream.numerics.budgets import remove
from kernelstream.numerics.compile import compiled
from kernelstream.numerics.expansion import Expansion, blend, empty, kernel_row, move, store, stored
from kernelstream.numerics.lists import COMPLETE
from kernelstream.numerics.rows import Row, dense_row
from kernelstream.tasks import BINARY

WIDTH = 160
FEATURES = ("auto", "ridge", "stack", "fogd", "rrf", "raker", "adaraker", "ufo-mkl", "sop", "arow", "scw")
POINTS = [name for name in ALGORITHMS if name not in FEATURES]


def mixed_rows(n, width=WIDTH, seed=3):
    """Rows with some 8 features present; of every six, one has more than a list holds and one so many that it is dense
    out.
    """
    rng = np.random.default_rng(seed)
    share = np.array([8, 8, 30, 8, 80, 8])[np.arange(n) % 6] / width
    present = (rng.random((n, width)) < share[:, None]) | (np.arange(width) < 3)
    return np.where(present, 0.5 * rng.normal(size=(n, width)), 0.0)


def mixed_stream(task, *, n=N_ROWS, width=WIDTH, seed=3):
    X = mixed_rows(n, width, seed)
    return Stream(X, labels(task, X, np.random.default_rng(seed)))


def sparse_stream(task, **sizes):
    X, y = mixed_stream(task, **sizes)
    return Stream(sp.csr_array(X), y)


def some_cases(name):
    """One case of each metric."""
    return list({case.spec.kernel.metric: case for case in laws.selection(ALGORITHMS[name])}.values())


def require_lists(f):
    """Every point's list, of those in no term too, is what its values say."""
    assert f.present.shape == (f.points.shape[1] + 1, 1 + min(1024, len(f.points) // 8))
    for point, (count, *features) in zip(f.points.T, f.present[:-1].tolist(), strict=True):
        expected = np.flatnonzero(point).tolist()
        if len(expected) > len(features):
            assert count == COMPLETE
        else:
            assert features[:count] == expected


def expansions(state):
    """Those among a state's fields, or its lift's."""
    parts = [*state, *(getattr(state, "map", None) or ())]
    return [part for part in parts if isinstance(part, Expansion)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", POINTS)
def test_lists_follow_a_learner_all_its_life(name, dtype, tmp_path):
    for case in some_cases(name):
        X, y = mixed_stream(case.task)
        X[10] = 0.0
        rows = sp.csr_array(X)
        rows.data[::7] = 0.0  # written down as zeros
        rows.data[3::50] = 1e-40  # zeros where they are multiplied in float32
        kinds = set()
        learner, other = case.learner(dtype, grow_features=True), case.learner(dtype, grow_features=True)

        def check(learner, kinds=kinds):
            for f in expansions(learner._state):
                require_lists(f)
                kinds.update((f.present[: int(f.size), 0] == COMPLETE).tolist())

        for t in range(0, N_ROWS, 15):
            part = slice(t, t + 15)
            learner.learn(rows[part] if t % 2 else X[part], y[part])
            check(learner)
        assert kinds == {True, False}
        learner.save(tmp_path / "model.ks")
        check(Learner.load(tmp_path / "model.ks"))
        other.learn(X[:, :100], y)
        other.learn(sp.csr_array(np.hstack([X, X])), y)
        check(other)
        check(learner.merge(other))
        learner.learn(sp.csr_array(np.hstack([X, X])), y)
        check(learner)


SPARSE_LAWS = (
    "block_size_has_no_effect",
    "threads_have_no_effect",
    "resumes_bit_for_bit",
    "scores_are_what_learning_predicts",
    "merge_with_an_empty_learner_is_the_identity",
)


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("law", SPARSE_LAWS)
def test_laws_hold_on_points_with_few_features(law, name, monkeypatch):
    for module in (algorithm_laws, learner_laws):
        monkeypatch.setattr(module, "stream", sparse_stream)
    laws.check_law(law, some_cases(name))


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("law", ["equals_its_reference", "sparse_equals_dense", "resumes_bit_for_bit"])
def test_laws_hold_on_dense_rows_with_few_features(law, name, monkeypatch):
    monkeypatch.setattr(algorithm_laws, "stream", mixed_stream)
    monkeypatch.setattr(algorithm_laws, "sparse_rows", mixed_rows)
    laws.check_law(law, some_cases(name))


# The verbs themselves.


@compiled
def _store(kernel, f, i, x, g):
    store(kernel, f, i, x, 1.0, g)


@compiled
def _move(f, source, target, row):
    move(f, source, target, row)


@compiled
def _remove(f, i, row):
    remove(f, i, row)


@compiled
def _blend(kernel, f, i, mine, j, theirs, row):
    blend(kernel, f, i, mine, j, theirs, row)


@compiled
def _stored(f, i, room, indices, values):
    x = stored(f, i, room)
    n = x.indices.shape[0]
    for p in range(n):
        indices[p], values[p] = x.indices[p], x.values[p]
    return n


@pytest.mark.parametrize(
    "kernel", [Gaussian(gamma=1.0), Laplacian(gamma=1.0), Linear()], ids=lambda k: type(k).__name__
)
@pytest.mark.parametrize("width", [40, WIDTH, 5000])
def test_every_verb_keeps_points_norms_and_lists(kernel, width):
    """Against a plain matrix that goes the same way."""
    rng = np.random.default_rng(width)
    record, capacity, g = kernel.lower("float64"), 12, np.ones(1)
    f = empty(width, capacity, 1, "float64")
    row, room = kernel_row(f), dense_row(width, "float64")
    plain = np.zeros((capacity, width))
    rows = np.vstack([mixed_rows(40, width), rng.normal(size=(2, width)), np.zeros((1, width))])
    for _ in range(400):
        n = int(f.size)
        verb = rng.integers(4) if n > 1 else 0
        i, j = (int(k) for k in rng.integers(max(n, 1), size=2))
        if verb == 0:
            x = rows[rng.integers(len(rows))]
            written = np.flatnonzero((x != 0) | (rng.random(width) < 0.01)) if rng.random() < 0.8 else np.arange(width)
            slot = n if n < capacity else i
            _store(record, f, slot, Row(written, x[written], -1, x[:0]), g)
            plain[slot] = x
        elif verb == 1:
            _move(f, i, j, row)
            plain[j] = plain[i]
        elif verb == 2:
            _remove(f, i, row)
            plain[i : n - 1] = plain[i + 1 : n]
        elif i != j:
            share = float(rng.choice([0.0, 0.3, 0.5, 1.0]))
            if rng.random() < 0.2:  # half of both is nothing
                plain[j] = -plain[i]
                _store(record, f, j, Row(np.arange(width), plain[j], -1, plain[j, :0]), g)
            _blend(record, f, i, share, j, 1.0 - share, row)
            plain[i] = share * plain[i] + (1.0 - share) * plain[j]
        n = int(f.size)
        np.testing.assert_allclose(f.points[:, :n].T, plain[:n], rtol=0.0, atol=1e-15)
        plain[:] = f.points.T
        norms = np.abs(plain).sum(1) if isinstance(kernel, Laplacian) else (plain**2).sum(1)
        np.testing.assert_allclose(f.norms[:n], norms[:n], rtol=1e-12, atol=1e-300)
        if width >= 64:
            require_lists(f)
        else:
            assert (f.present == COMPLETE).all() and f.present.shape == (capacity + 1, 1)
        for k in range(n):
            indices, values = np.zeros(width, int), np.zeros(width)
            written = _stored(f, k, room, indices, values)
            whole = np.zeros(width)
            whole[indices[:written]] = values[:written]
            assert np.array_equal(whole, plain[k])
            assert written == (width if f.present[k, 0] == COMPLETE else f.present[k, 0])


@pytest.mark.parametrize("name", POINTS)
def test_a_step_touches_no_feature_that_is_not_there(name):
    """Neither the rows nor the points have the upper half of the features. What is written there is never read, and
    stays.
    """
    case = laws.cases(ALGORITHMS[name])[0].adjusted(growth=0.0)  # a growing dictionary is copied, all of it
    X = np.zeros((N_ROWS, 2000))
    X[:, :40] = mixed_rows(6 * N_ROWS, 40)[::6]
    y = labels(case.task, X, np.random.default_rng(0))
    X = sp.csr_array(X)
    learner, twin = case.learner("float32"), case.learner("float32")
    learner.learn(X[:75], y[:75])
    twin.learn(X[:75], y[:75])
    (f, *_) = expansions(learner._state)
    there = np.random.default_rng(1).normal(size=f.points[1000:].shape).astype("float32")
    f.points[1000:] = there
    assert np.array_equal(learner.learn(X[75:], y[75:]), twin.learn(X[75:], y[75:]))
    assert expansions(learner._state)[0] is f
    assert np.array_equal(f.points[1000:], there)


def test_lists_take_a_quarter_of_the_points_room_and_are_counted():
    learner = Learner(make("rbp", kernel=Gaussian(gamma=0.1), budget=20), laws.examples.TASKS[BINARY]())
    learner.learn(*sparse_stream(BINARY))
    f = learner._state.f
    assert f.present[:20, 1:].nbytes <= f.points.nbytes / 4
    assert learner.n_bytes >= f.present.nbytes + f.points.nbytes
