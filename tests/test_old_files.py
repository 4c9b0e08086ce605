"""Files that earlier releases wrote are read: `tests/files` keeps some of every format.

A release that changes the format adds its own by ``python tests/test_old_files.py`` and lets those that are there be.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import kernelstream
from kernelstream import FOGD, RBP, Binary, Learner, Regression, Ridge
from kernelstream.engine.files import VERSION, read
from kernelstream.kernels import Gaussian

FILES = Path(__file__).parent / "files"
GAUSSIAN = Gaussian(gamma=0.5)
LEARNERS = {
    "fogd": lambda: Learner(FOGD(kernel=GAUSSIAN, n_components=8), Binary(["no", "yes"]), seed=1, scaling="online"),
    "rbp": lambda: Learner(RBP(kernel=GAUSSIAN, budget=8), Regression(), seed=1),
    "ridge": lambda: Learner(Ridge(kernel=GAUSSIAN, n_components=4, map="nystrom"), Binary([0, 1]), seed=1),
}
OLD = sorted(FILES.glob("*.ks"))


def rows(n, first=0):
    """Rows that no generator of random numbers has a part in."""
    t = np.arange(first, first + n)[:, None]
    return np.sin(t * np.array([[0.7, 1.3]]) + [[0.0, 1.0]])


def labels(learner, X):
    if isinstance(learner.task, Regression):
        return X[:, 0] * X[:, 1]
    return learner.task.classes[(X[:, 0] * X[:, 1] > 0).astype(int)]


def write_files():
    for name, make in LEARNERS.items():
        learner, X = make(), rows(60)
        learner.learn(X, labels(learner, X))
        path = FILES / f"{name}-{VERSION}.ks"
        learner.save(path)
        said = {"scores": learner.scores(rows(5, first=100)).tolist()}
        path.with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n")


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_an_old_file_says_what_it_said_and_learns_on(path):
    expected = np.array(json.loads(path.with_suffix(".json").read_text())["scores"])
    learner, X = Learner.load(path), rows(20, first=200)
    assert np.abs(learner.scores(rows(5, first=100)) - expected).max() < 1e-5
    learner.learn(X, labels(learner, X))
    assert learner.n_seen == 80 and np.isfinite(learner.scores(X)).all()
    assert kernelstream.load(path).predict(X).shape == (20,)


def test_there_are_files_of_the_format_that_is_written():
    written = {path.stem.partition("-")[0] for path in OLD if read(path)[0]["version"] == VERSION}
    assert written == set(LEARNERS)
    assert all(path.stat().st_size < 60_000 for path in OLD)


if __name__ == "__main__":
    write_files()
