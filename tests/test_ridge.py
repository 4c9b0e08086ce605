"""Ridge: shards merge into the model of all rows; classes that come later; what a file may say. The rest are laws."""

import numpy as np
import pytest

from kernelstream import Binary, Learner, Multiclass, Regression, Ridge
from kernelstream.engine import files
from kernelstream.engine.state import ModelFileError
from kernelstream.kernels import Gaussian
from kernelstream.laws.examples import stream

SPEC = Ridge(kernel=Gaussian(gamma=0.3), n_components=30)
TASKS = {
    "regression": Regression(),
    "binary": Binary([-1, 1]),
    "multiclass": Multiclass(["low", "middle", "high"]),
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("n_shards", [2, 5])
def test_shards_merge_into_the_model_of_all_rows(task, n_shards):
    X, y = stream(task, n=900)
    whole, *shards = (Learner(SPEC, TASKS[task], dtype="float64") for _ in range(1 + n_shards))
    whole.learn(X, y)
    for shard, rows in zip(shards, np.array_split(np.arange(900), n_shards), strict=True):
        shard.learn(X[rows], y[rows])
    for other in shards[1:]:
        shards[0].merge(other)
    # The one that saw all rows solves again when they have grown by an eighth; so does a merge.
    lately = Learner(SPEC, TASKS[task], dtype="float64")
    lately.learn(X, y)
    lately.merge(_nothing(task, X, y))
    np.testing.assert_allclose(shards[0].scores(X), lately.scores(X), rtol=1e-7, atol=1e-9)


def _nothing(task, X, y):
    """A learner that saw one row of no weight."""
    learner = Learner(SPEC, TASKS[task], dtype="float64")
    learner.learn(X[:1], y[:1], [0.0])
    return learner


def test_weights_count_as_repeated_rows_do():
    X, y = stream("regression", n=300)
    times = np.random.default_rng(0).integers(0, 4, 300)
    weighted, repeated = (Learner(SPEC, Regression(), dtype="float64") for _ in range(2))
    weighted.learn(X, y, times.astype(float))
    repeated.learn(np.repeat(X, times, axis=0), np.repeat(y, times))
    for learner in (weighted, repeated):
        learner.merge(_nothing("regression", X, y))
    np.testing.assert_allclose(weighted.scores(X), repeated.scores(X), rtol=1e-7, atol=1e-9)


def test_a_class_that_comes_late_is_learned_as_if_it_had_been_announced():
    X, y = stream("multiclass", n=600)
    y = np.where((np.arange(600) < 300) & (y == "high"), "low", y)
    late = Learner(SPEC, Binary(["low", "middle"]), dtype="float64", grow_classes=True)
    known = Learner(SPEC, Multiclass(["low", "middle", "high"]), dtype="float64")
    late.learn(X, y)
    known.learn(X, y)
    assert late.task.classes.tolist() == ["low", "middle", "high"]
    np.testing.assert_allclose(late.scores(X), known.scores(X), rtol=1e-7, atol=1e-9)


def test_it_learns_more_of_the_same_rows_than_descent():
    X, y = stream("regression", n=900)
    ridge, descent = (Learner(name, Regression(), scaling="online") for name in (Ridge(), "fogd"))
    errors = [np.mean((one.learn(X, y)[450:, 0] - y[450:]) ** 2) for one in (ridge, descent)]
    assert errors[0] < errors[1]


def test_what_a_file_says_is_checked(tmp_path):
    X, y = stream("binary", n=300)
    learner = Learner(SPEC, TASKS["binary"])
    learner.learn(X, y)
    learner.save(tmp_path / "m.ks")
    header, arrays = files.read(tmp_path / "m.ks")
    for name, value in (("t", -1), ("t", 10**6), ("due", [9, 5]), ("due", [10**6, 10**6]), ("sums.n_waiting", 257)):
        like = arrays[f"model.{name}"]
        changed = arrays | {f"model.{name}": np.broadcast_to(np.array(value, like.dtype), like.shape).copy()}
        files.write(tmp_path / "bad.ks", header, changed)
        with pytest.raises(ModelFileError):
            Learner.load(tmp_path / "bad.ks")
