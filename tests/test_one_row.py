"""Laws of single rows: the bits of blocks, the refusals of blocks, and few microseconds beside the step."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelstream import FOGD, NOGD, OGD, RBP, Binary, Learner, Multiclass, OnlineKernelClassifier, Regression
from kernelstream.kernels import Gaussian
from kernelstream.laws.agreement import snapshot
from kernelstream.laws.examples import TASKS, stream

GAUSSIAN = Gaussian(gamma=0.3)
SPECS = [
    FOGD(kernel=GAUSSIAN, n_components=30),
    OGD(kernel=GAUSSIAN),  # its room doubles at 256 points
    NOGD(kernel=GAUSSIAN, budget=20, rank=5),  # its map is made on the way
    RBP(kernel=GAUSSIAN, budget=10),
    FOGD(n_components=30),  # its width is settled on the way
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scaling", ["none", "online"])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_rows_one_by_one_have_the_bits_of_a_block(spec, scaling, dtype):
    for task in spec.tasks:
        X, y = stream(task, n=400)
        block, rows = (Learner(spec, TASKS[task](), dtype=dtype, scaling=scaling) for _ in range(2))
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


def test_a_wrong_width_is_refused():
    learner = Learner(SPECS[0], Binary([-1, 1]))
    learner.learn(*stream("binary"))
    for width in (5, 7):
        with pytest.raises(ValueError, match=f"{width} features"):
            learner.learn_one(np.zeros(width), 1)
        with pytest.raises(ValueError, match=f"{width} features"):
            learner.scores_one(np.zeros(width))


def test_rows_of_any_kind_are_taken():
    X, y = stream("binary")
    learner, plain = (Learner(SPECS[0], Binary([-1, 1])) for _ in range(2))
    learner.learn(X, y)
    plain.learn(X, y)
    read_only = X[0].copy()
    read_only.setflags(write=False)
    integers = np.arange(6)
    for x in (X[0].tolist(), read_only, np.repeat(X[0], 2)[::2], X[0].astype(np.float32).astype(float), integers):
        expected = plain.learn(np.asarray(x, float)[None], [1])[0]
        assert np.array_equal(learner.learn_one(x, 1), expected)


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


def test_an_estimator_takes_the_short_way_with_the_same_bits():
    X, y = stream("binary")
    whole = OnlineKernelClassifier(SPECS[0], random_state=0).partial_fit(X, y)
    single = OnlineKernelClassifier(SPECS[0], random_state=0)
    for t in range(len(y)):
        single.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
    assert snapshot(single.learner_) == snapshot(whole.learner_)
    sparse = whole.decision_function(sp.csr_array(X[:1]))
    assert np.array_equal(single.decision_function(X[:1]), sparse)
