"""Files that earlier releases wrote are read: `tests/files` keeps some of every format.

From 1.0 on a release that changes the format adds its own by ``python tests/test_old_files.py`` and lets those that are
there be; before, one that refuses a file writes it anew. Names behind it write theirs alone. Files are packed.
"""

import json
import lzma
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import kernelstream
from kernelstream import ALGORITHMS, FOGD, RBP, Auto, Binary, Learner, Multiclass, Regression, Ridge, Stack, make
from kernelstream.encoding import Columns
from kernelstream.engine.files import VERSION, read
from kernelstream.kernels import Gaussian

FILES = Path(__file__).parent / "files"
LARGEST, MOST = 60_000, 200_000  # bytes in the repository: of one, of all
GAUSSIAN = Gaussian(gamma=0.5)
FEW = FOGD(kernel=GAUSSIAN, n_components=8)
LEARNERS = {
    "auto": lambda: Learner(Auto(size="small"), Binary(["no", "yes"]), seed=1),
    "fogd": lambda: Learner(FEW, Binary(["no", "yes"]), seed=1, scaling="online"),
    "named": lambda: Learner(FEW, Multiclass(["low", "high"]), seed=1, columns=Columns(missing="mean")),
    "rbp": lambda: Learner(RBP(kernel=GAUSSIAN, budget=8), Regression(), seed=1),
    "ridge": lambda: Learner(Ridge(kernel=GAUSSIAN, n_components=4, map="nystrom"), Binary([0, 1]), seed=1),
    "stack": lambda: Learner(Stack(parts=(Ridge(kernel=GAUSSIAN, n_components=4), FEW)), Regression(), seed=1),
    "waiting": lambda: Learner(RBP(kernel=GAUSSIAN, budget=8), Regression(), seed=1, waiting=5),
}
SMALL = {"budget": 8, "n_components": 4, "rank": 4, "n_kernels": 2}


def small(name):
    """A learner of a kind that has no file of its own above, of two classes."""
    sizes = {size: value for size, value in SMALL.items() if getattr(make(name), size, None) is not None}
    return Learner(make(name, kernel=GAUSSIAN, **sizes), Binary([-1, 1]), seed=1)


LEARNERS |= {name: partial(small, name) for name in ALGORITHMS if name not in LEARNERS}
OLD = {path.name.partition(".")[0]: path for path in sorted(FILES.glob("*.ks*"))}


def rows(n, first=0):
    """Rows that no generator of random numbers has a part in."""
    t = np.arange(first, first + n)[:, None]
    return np.sin(t * np.array([[0.7, 1.3]]) + [[0.0, 1.0]])


def as_taken(learner, X):
    """The rows as a learner takes them: by names, one of words, if it knows any."""
    if learner.columns is None:
        return X
    return [{"width": a if a > -0.9 else None, "colour": "red" if b > 0 else "blue"} for a, b in X.tolist()]


def labels(learner, X):
    if isinstance(learner.task, Regression):
        return X[:, 0] * X[:, 1]
    return learner.task.classes[(X[:, 0] * X[:, 1] > 0).astype(int)]


def write_files(names):
    for name in names:
        learner, X = LEARNERS[name](), rows(16 if name == "auto" else 60)  # later its numbers do not pack small
        learner.learn(as_taken(learner, X), labels(learner, X))
        if name == "waiting":
            for t, x in enumerate(rows(7, first=60)):
                learner.predict(x, id=t)
        path = FILES / f"{name}-{VERSION}.ks"
        learner.save(path)
        path.with_suffix(".ks.xz").write_bytes(lzma.compress(path.read_bytes()))
        path.unlink()
        said = {"scores": learner.scores(as_taken(learner, rows(5, first=100))).tolist()}
        path.with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n")


@pytest.fixture
def unpacked(tmp_path):
    """Where an old file can be read, by its name."""

    def place(name):
        if OLD[name].suffix != ".xz":
            return OLD[name]
        path = tmp_path / f"{name}.ks"
        path.write_bytes(lzma.decompress(OLD[name].read_bytes()))
        return path

    return place


def of(learner):
    return [name for name in OLD if name.startswith(f"{learner}-")]


@pytest.mark.parametrize("name", OLD)
def test_an_old_file_says_what_it_said_and_learns_on(name, unpacked):
    expected = np.array(json.loads((FILES / f"{name}.json").read_text())["scores"])
    learner, X = Learner.load(unpacked(name)), rows(20, first=200)
    before = learner.n_seen
    assert np.abs(learner.scores(as_taken(learner, rows(5, first=100))) - expected).max() < 1e-5
    learner.learn(as_taken(learner, X), labels(learner, X))
    assert learner.n_seen == before + 20 >= 36 and np.isfinite(learner.scores(as_taken(learner, X))).all()
    estimator = kernelstream.load(unpacked(name))
    assert estimator.predict(np.resize(X, (20, estimator.n_features_in_))).shape == (20,)


@pytest.mark.parametrize("name", of("waiting"))
def test_rows_of_an_old_file_still_wait_for_their_labels(name, unpacked):
    learner, plain = (Learner.load(unpacked(name)) for _ in range(2))
    for t in (6, 3, 2):
        learner.label(t, 0.5)
        plain.learn_one(rows(7, first=60)[t], 0.5)
    assert len(learner.waiting) == 2 and learner.n_seen == 63
    assert np.array_equal(learner.scores(rows(5)), plain.scores(rows(5)))
    with pytest.raises(ValueError, match="one of more than 5"):
        learner.label(1, 0.5)


@pytest.mark.parametrize("name", of("named"))
def test_an_old_file_knows_its_names_and_words(name, unpacked):
    learner = Learner.load(unpacked(name))
    assert sorted(learner.columns.feature_names) == ["colour=blue", "colour=red", "width"]
    red, strange = learner.scores([{"colour": "red", "width": 1.0}, {"colour": "green", "width": 1.0}])
    assert (red != strange).any()


def test_there_are_files_of_the_format_that_is_written(unpacked):
    written = {name.rpartition("-")[0] for name in OLD if read(unpacked(name))[0]["version"] == VERSION}
    assert written == set(LEARNERS)
    sizes = [path.stat().st_size for path in OLD.values()]
    assert max(sizes) < LARGEST and sum(sizes) < MOST


if __name__ == "__main__":
    write_files(sys.argv[1:] or LEARNERS)
