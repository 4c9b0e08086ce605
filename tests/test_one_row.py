"""Laws of single rows: the bits of blocks, the refusals of blocks, and few microseconds beside the step."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelstream import FOGD, NOGD, OGD, RBP, Binary, Learner, Multiclass, OnlineKernelClassifier, Regression
from kernelstream.engine.inputs import Inputs, Scaling, fitted
from kernelstream.kernels import Gaussian
from kernelstream.laws.agreement import snapshot
from kernelstream.laws.examples import TASKS, stream
from kernelstream.learner import learning

GAUSSIAN = Gaussian(gamma=0.3)
SPECS = [
    FOGD(kernel=GAUSSIAN, n_components=30),
    OGD(kernel=GAUSSIAN),  # its room doubles at 256 points
    NOGD(kernel=GAUSSIAN, budget=20, rank=5),  # its map is made on the way
    RBP(kernel=GAUSSIAN, budget=10),
    FOGD(n_components=30),  # its width is settled on the way
]


SCALINGS = ["none", "online", "standard", "metric"]


def inputs_of(scaling, task, X, y):
    """What `scaling` stands for; fitted on the rows, and on a regression's targets, where it must be."""
    if scaling != "standard":
        return scaling
    return Inputs(fitted(scaling, [X]), fitted(scaling, [y[:, None]]) if task == "regression" else Scaling())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_rows_one_by_one_have_the_bits_of_a_block(spec, scaling, dtype):
    for task in spec.tasks:
        X, y = stream(task, n=400)
        inputs = inputs_of(scaling, task, X, y)
        block, rows = (Learner(spec, TASKS[task](), dtype=dtype, scaling=inputs) for _ in range(2))
        expected = block.learn(X, y)
        for t in range(len(y)):
            if t % 50 == 7:
                assert np.array_equal(rows.scores_one(X[t]), expected[t])
            assert np.array_equal(rows.learn_one(X[t], y[t]), expected[t])
            assert rows.losses[0] == block.losses[t]
        assert snapshot(rows) == snapshot(block)
        assert np.array_equal(rows.scores_one(X[3]), block.scores(X)[3])


def test_a_weight_is_that_of_a_block():
    X, y = stream("binary")
    block, rows = (Learner(SPECS[0], Binary([-1, 1])) for _ in range(2))
    weights = np.arange(150) % 3 / 2.0
    block.learn(X, y, weights)
    for x, label, weight in zip(X, y, weights, strict=True):
        rows.learn_one(x, label, weight)
    assert snapshot(rows) == snapshot(block)


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(
    ("x", "label", "weight", "words"),
    [
        (np.full(6, np.nan), 1, 1.0, "Row 0, feature 0"),
        (np.full(6, 1e30), 1, 1.0, "exceeds 1e"),
        (np.zeros(6), 7, 1.0, "label 7"),
        (np.zeros(6), [1], 1.0, "one a row"),
        (np.zeros(6), 1, -1.0, "sample weight -1.0"),
        (np.zeros(6), 1, np.nan, "sample weight nan"),
        (np.array(["a"] * 6), 1, 1.0, "must be numbers"),
    ],
)
def test_what_a_block_refuses_is_refused_and_changes_nothing(x, label, weight, words, warm):
    learner = Learner(SPECS[0], Binary([-1, 1]))
    if warm:
        learner.learn(*stream("binary"))
    before = snapshot(learner)
    with pytest.raises(ValueError, match=words):
        learner.learn_one(x, label, weight)
    assert snapshot(learner) == before


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("x", [np.zeros((1, 6)), [[0.0] * 6], sp.csr_array(np.ones((1, 6))), np.float64(1.0), 3.0])
def test_what_is_no_row_is_refused_by_its_shape(x, warm):
    learner = Learner(SPECS[0], Binary([-1, 1]))
    if warm:
        learner.learn(*stream("binary"))
    before = snapshot(learner)
    asked = (learner.scores_one, lambda x: learner.learn_one(x, 1), lambda x: learner.predict(x, id=1))
    for ask in asked:
        with pytest.raises(ValueError, match=r"One row is .* got shape \("):
            ask(x)
    assert snapshot(learner) == before


@pytest.mark.parametrize(("weight", "words"), [("much", "must be numbers"), ([1.0, 2.0], "must be 1D array or scalar")])
def test_a_weight_is_a_number_and_none_counts_as_one(weight, words):
    X, y = stream("binary")
    left, right = (Learner(SPECS[0], Binary([-1, 1])) for _ in range(2))
    with pytest.raises(ValueError, match=words):
        left.learn_one(X[0], y[0], weight=weight)
    for t, one in enumerate([None, 1, np.float32(1.0)]):
        assert np.array_equal(left.learn_one(X[t], y[t], weight=one), right.learn_one(X[t], y[t]))
    assert snapshot(left) == snapshot(right)


def test_a_wrong_width_is_refused():
    learner = Learner(SPECS[0], Binary([-1, 1]))
    learner.learn(*stream("binary"))
    for width in (5, 7):
        with pytest.raises(ValueError, match=f"{width} features"):
            learner.learn_one(np.zeros(width), 1)
        with pytest.raises(ValueError, match=f"{width} features"):
            learner.scores_one(np.zeros(width))


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


# The same numbers, rows of them stored in other ways.
FORMS = {
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: [tuple(x) for x in X.tolist()],
    "read-only": read_only,
    "in columns": np.asfortranarray,
    "every other": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "whole numbers": lambda X: np.round(100 * X).astype(int),
    "bytes": lambda X: np.round(100 * X).astype(np.int8),
    "truth": lambda X: X > 0,
    "singles": lambda X: X.astype(np.float32),
    "halves": lambda X: X.astype(np.float16),
    "big-endian": lambda X: X.astype(">f8"),
}


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("form", FORMS)
def test_rows_of_any_kind_take_the_short_way_with_the_bits_of_a_block(form, scaling, monkeypatch):
    X, y = stream("regression", n=400)
    rows = FORMS[form](X)
    inputs = inputs_of(scaling, "regression", np.asarray(rows, float), y)
    block, single = (Learner(SPECS[0], Regression(), scaling=inputs) for _ in range(2))
    expected = block.learn(rows, y)
    single.learn(rows[:300], y[:300])  # what is settled is settled by then
    shown = block.scores(rows[:5])
    for module, name in ((learning, "learn"), (Learner, "_score")):
        monkeypatch.setattr(module, name, None)  # the long way is closed
    for t in range(300, 400):
        assert np.array_equal(single.learn_one(rows[t], y[t]), expected[t])
    assert np.array_equal([single.scores_one(x) for x in rows[:5]], shown)
    assert snapshot(single) == snapshot(block)


def test_an_interrupt_behind_a_row_loses_nothing_that_is_noted_of_it(monkeypatch):
    X, y = stream("regression")
    whole, rows = (Learner(SPECS[0], Regression(), scaling="online") for _ in range(2))
    whole.learn(X[:51], y[:51])
    rows.learn(X[:50], y[:50])
    calibration, learn_one = rows._calibration, rows._calibration.learn_one

    def interrupted(*arguments):
        monkeypatch.setattr(calibration, "learn_one", learn_one)
        raise KeyboardInterrupt

    monkeypatch.setattr(calibration, "learn_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rows.learn_one(X[50], y[50])
    assert snapshot(rows) == snapshot(whole)


def test_a_new_class_and_a_new_feature_are_taken_where_the_learner_grows():
    learner = Learner(SPECS[0], Multiclass(["a", "b"]), grow_classes=True, grow_features=True)
    for x, label in zip(np.eye(4), "abca", strict=True):
        learner.learn_one(x, label)
    assert learner.task.classes.tolist() == ["a", "b", "c"]
    learner.learn_one(np.ones(6), "b")
    assert (learner.width, learner.n_seen) == (6, 5)


def test_a_row_that_diverges_is_not_counted():
    learner = Learner(OGD(kernel=GAUSSIAN, learning_rate=1e38), Regression())
    with pytest.raises(FloatingPointError, match="no longer finite"):
        for _ in range(50):
            learner.learn_one(np.ones(3), 5.0)
    seen = learner.n_seen
    with pytest.raises(FloatingPointError):
        learner.learn_one(np.ones(3), 5.0)
    assert learner.n_seen == seen < 50


@pytest.mark.parametrize("scaling", ["none", "online"])
def test_an_estimator_takes_the_short_way_with_the_same_bits(scaling):
    X, y = stream("binary")
    whole = OnlineKernelClassifier(SPECS[0], random_state=0, scaling=scaling).partial_fit(X, y)
    single = OnlineKernelClassifier(SPECS[0], random_state=0, scaling=scaling)
    for t in range(len(y)):
        single.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
    assert snapshot(single.learner_) == snapshot(whole.learner_)
    sparse = whole.decision_function(sp.csr_array(X[:1]))
    assert np.array_equal(single.decision_function(X[:1]), sparse)
