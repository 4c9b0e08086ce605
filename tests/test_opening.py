"""What is settled on data: files inside it, the newest setting, merges. That the cut changes nothing is a law."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelstream import FOGD, OGD, Binary, Learner, make
from kernelstream.engine import files
from kernelstream.engine.opening import LAST
from kernelstream.engine.state import ModelFileError
from kernelstream.kernels import Gaussian
from kernelstream.laws.agreement import snapshot
from kernelstream.laws.examples import TASKS, stream

N = LAST + 44


@pytest.mark.parametrize("name", ["fogd", "nogd", "ogd", "rrf", "bsgd-m"])
@pytest.mark.parametrize("cut", [1, 2, 3, 100, LAST - 1, LAST, LAST + 1])
def test_learning_goes_on_from_a_file_inside_the_opening_and_behind_it(name, cut, tmp_path):
    X, y = stream("multiclass" if name == "nogd" else "regression", n=N)
    task = TASKS["multiclass" if name == "nogd" else "regression"]
    mixed = [X[: cut // 2], sp.csr_array(X[cut // 2 : cut])]  # dense and sparse rows
    through, first = (Learner(name, task(), scaling="online") for _ in range(2))
    for one in (through, first):
        for rows, labels in zip(mixed, (y[: cut // 2], y[cut // 2 : cut]), strict=True):
            if rows.shape[0]:
                one.learn(rows, labels)
    first.save(tmp_path / "m.ks")
    resumed = Learner.load(tmp_path / "m.ks")
    assert snapshot(resumed) == snapshot(first)
    assert np.array_equal(resumed.learn(X[cut:], y[cut:]), through.learn(X[cut:], y[cut:]))
    assert snapshot(resumed) == snapshot(through)


def test_predictions_come_from_the_newest_setting():
    X, y = stream("binary", n=N)
    learner = Learner("ogd", Binary([-1, 1]))
    for n in (1, 2, 4, 64, LAST):
        learner.learn(X[learner.n_seen : n], y[learner.n_seen : n])
        settled = Learner(learner.settled, Binary([-1, 1]))
        settled.learn(X[:n], y[:n])
        assert np.array_equal(learner.scores(X), settled.scores(X))


def test_the_first_rows_are_kept_no_longer_than_they_are_needed():
    X, y = stream("binary", n=N)
    learner = Learner(FOGD(n_components=10), Binary([-1, 1]))
    learner.learn(X[: LAST - 1], y[: LAST - 1])
    before = learner.n_bytes
    learner.learn(X[LAST - 1 :], y[LAST - 1 :])
    assert before - learner.n_bytes >= (LAST - 1) * 6 * 8
    fixed = Learner(FOGD(n_components=10, kernel=Gaussian(gamma=1.0)), Binary([-1, 1]))
    fixed.learn(X, y)
    assert fixed.n_bytes == learner.n_bytes


def test_a_learner_that_diverges_in_its_opening_keeps_what_it_has_learned():
    X, y = stream("regression", n=60)
    learner = Learner(OGD(learning_rate=1e30), TASKS["regression"]())
    with pytest.raises(FloatingPointError):
        learner.learn(X, y)
    assert learner.n_seen == learner._opening.n_rows < 60


# Merging.


def test_rows_that_are_still_kept_are_learned_by_the_other():
    X, y = stream("binary", n=2 * LAST)
    whole, early, late = (Learner(make("fogd", n_components=20), Binary([-1, 1])) for _ in range(3))
    whole.learn(X[: LAST + 50], y[: LAST + 50])
    early.learn(X[:LAST], y[:LAST])
    late.learn(X[LAST : LAST + 50], y[LAST : LAST + 50])
    before = snapshot(late)
    early.merge(late)
    assert snapshot(early) == snapshot(whole)
    assert snapshot(late) == before
    late.merge(whole)
    assert late.n_seen == LAST + 100 and late.settled == whole.settled


def test_two_openings_join_into_one():
    X, y = stream("binary", n=90)
    whole, a, b = (Learner("ogd", Binary([-1, 1])) for _ in range(3))
    whole.learn(X, y)
    a.learn(X[:40], y[:40])
    b.learn(X[40:], y[40:])
    assert snapshot(a.merge(b)) == snapshot(whole)


def test_learners_that_settled_differently_refuse_with_a_remedy():
    X, y = stream("binary", n=2 * LAST)
    a, b = (Learner("fogd", Binary([-1, 1])) for _ in range(2))
    a.learn(X[:LAST], y[:LAST])
    b.learn(3.0 * X[LAST:], y[LAST:])
    with pytest.raises(ValueError, match=r"kernel__gamma differs.*its own first rows.*Learner\(first\.settled"):
        a.merge(b)
    c = Learner(a.settled, Binary([-1, 1]))
    c.learn(X[LAST:], y[LAST:])
    d = Learner(a.settled, Binary([-1, 1]))
    d.learn(X[:LAST], y[:LAST])
    assert d.merge(c).n_seen == 2 * LAST


# Files.


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("indices", lambda a: a[::-1].copy()),
        ("indices", lambda a: -a),
        ("lengths", lambda a: a + 1),
        ("values", lambda a: a * np.nan),
        ("targets", lambda a: a[:-1]),
        ("dense", lambda a: a[:-1]),
        ("weights", lambda a: a - 2.0),
    ],
)
def test_first_rows_that_cannot_have_been_kept_are_refused(name, change, tmp_path):
    X, y = stream("binary", n=20)
    learner = Learner("ogd", Binary([-1, 1]))
    learner.learn(X, y)
    header, arrays = learner.to_parts()
    arrays[f"opening.{name}"] = change(arrays[f"opening.{name}"])
    files.write(tmp_path / "m.ks", header, arrays)
    with pytest.raises(ModelFileError, match=r"m\.ks is damaged.*first rows"):
        Learner.load(tmp_path / "m.ks")
