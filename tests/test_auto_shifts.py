"""Auto behind a shift of the stream: when one is noticed, the model that begins there, and when it takes over."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelstream import Auto, Binary, Learner, Multiclass, Regression
from kernelstream.algorithms._auto_state import building_row
from kernelstream.algorithms._heir import TRIED
from kernelstream.engine.state import ModelFileError
from kernelstream.laws.agreement import snapshot
from kernelstream.numerics.settling import LAST
from kernelstream.reference import auto as reference

SMALL = Auto(size="small")
OVER = building_row(LAST)  # rows after which all is settled
SHIFT = OVER + 1200
TASKS = {"binary": Binary([-1, 1]), "multiclass": Multiclass([0, 1, 2]), "regression": Regression()}


def stream(task, n, shift=SHIFT, seed=0):
    """Columns 0 and 1 tell the targets of the first `shift` rows, 2 and 1 those of the others, in another way."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    truth = np.where(np.arange(n) < shift, np.sin(2 * X[:, 0]) * X[:, 1], np.cos(2 * X[:, 2]) - X[:, 1])
    truth += 0.1 * rng.normal(size=n)
    if task == "regression":
        return X, 1000 + 5 * truth
    return X, np.where(truth > 0, 1, -1) if task == "binary" else np.digitize(truth, [-0.3, 0.3])


def began_at(learner):
    return int(learner._runner.state.shift.row), int(learner._runner.state.shift.heirs)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_behind_a_shift_a_model_takes_over_that_begins_there(task, dtype):
    X, y = stream(task, SHIFT + 2600)
    learner = Learner(SMALL, TASKS[task], dtype=dtype)
    scores = learner.learn(X[: SHIFT + 300], y[: SHIFT + 300])
    row, heirs = began_at(learner)
    assert (heirs, [row]) == (0, reference.shifts(learner.losses)) and SHIFT < row <= SHIFT + 256
    scores = np.vstack([scores, learner.learn(X[SHIFT + 300 :], y[SHIFT + 300 :])])
    fresh = Learner(SMALL, TASKS[task], dtype=dtype)
    begun = fresh.learn(X[row:], y[row:])
    assert began_at(learner) == (0, 1)
    assert np.array_equal(scores[row + TRIED :], begun[TRIED:])
    differing = {name for name, array in snapshot(learner).items() if array != snapshot(fresh)[name]}
    assert {name for name in differing if not name.startswith("link.")} == {"n_seen", "model.shift.heirs"}


def test_a_model_that_is_worse_behind_a_shift_does_not_take_over():
    X, y = stream("binary", OVER + 6000, shift=OVER + 6000)
    few = slice(SHIFT, SHIFT + 200)
    y[few] = np.random.default_rng(0).choice([-1, 1], 200)  # soon all is as it was
    learner, alarms = Learner(SMALL, TASKS["binary"]), set()
    losses = []
    for t in range(0, len(y), 128):
        learner.learn(X[t : t + 128], y[t : t + 128])
        losses.append(learner.losses)
        alarms.add(began_at(learner)[0])
    assert sorted(alarms - {0}) == reference.shifts(np.concatenate(losses)) != []
    assert began_at(learner) == (0, 0) and len(learner._runner.state.kept.x) == 0


def test_single_rows_that_are_far_off_are_no_shift_and_hide_none():
    X, y = stream("regression", SHIFT + 300)
    y[OVER + 1100] = 1200.0
    learner = Learner(SMALL, Regression())
    learner.learn(X[:SHIFT], y[:SHIFT])
    assert began_at(learner) == (0, 0)
    learner.learn(X[SHIFT:], y[SHIFT:])
    assert began_at(learner)[0] > SHIFT


def test_rows_of_no_weight_are_no_shift():
    X, y = stream("regression", SHIFT + 2000, shift=SHIFT + 2000)
    odd = np.arange(len(y)) % 2 == 1
    y[SHIFT:][odd[SHIFT:]] = 0.0
    learner = Learner(SMALL, Regression())
    learner.learn(X, y, np.where(odd, 0.0, 3.0))
    assert began_at(learner) == (0, 0)


@pytest.mark.parametrize("task", TASKS)
def test_a_stream_that_stays_the_same_has_no_shift(task):
    for seed in range(3):
        X, y = stream(task, 40_000, shift=40_000, seed=seed)
        learner = Learner(SMALL, TASKS[task], seed=seed)
        learner.learn(X, y)
        assert reference.shifts(learner.losses) == [] and began_at(learner) == (0, 0)


@pytest.mark.parametrize("task", TASKS)
def test_cuts_and_files_inside_a_trial_change_no_bit(task, tmp_path):
    X, y = stream(task, SHIFT + 3000)
    whole = Learner(SMALL, TASKS[task])
    whole.learn(X, y)
    row = len(y) - int(whole._runner.state.t)
    assert began_at(whole) == (0, 1)
    cut = Learner(SMALL, TASKS[task])
    ends = [row + n for n in (-1, 0, 1, 16, 640, 777, 1000, TRIED - 1, TRIED)] + [len(y)]
    for first, stop in zip([0, *ends[:-1]], ends, strict=True):
        cut.learn(X[first:stop], y[first:stop])
        cut.save(tmp_path / "m.ks")
        cut = Learner.load(tmp_path / "m.ks")
    assert snapshot(cut) == snapshot(whole)


def test_features_and_classes_may_come_inside_a_trial():
    X, y = stream("binary", SHIFT + 4000)
    for at in (300, 1100):
        learner = Learner(SMALL, Binary([-1, 1]), grow_features=True, grow_classes=True)
        first = SHIFT + at
        learner.learn(X[:first], y[:first])
        row, _ = began_at(learner)
        assert row > 0
        wide, more = np.hstack([X, X[:, :1]])[first:], np.where(np.arange(first, len(y)) % 9 == 0, 5, y[first:])
        learner.learn(wide, more)
        assert began_at(learner)[0] == 0 and set(learner.task.classes) == {-1, 1, 5}
        probe = learner.scores(wide[-500:])
        assert probe.shape == (500, 3) and np.isfinite(probe).all()


def test_of_models_that_begin_behind_different_shifts_one_is_chosen():
    X, y = stream("binary", SHIFT + OVER + 400)
    before, trying, after = (Learner(SMALL, TASKS["binary"]) for _ in range(3))
    for learner, n in ((before, OVER + 100), (trying, SHIFT + 300), (after, len(y))):
        learner.learn(X[:n], y[:n])
    assert (began_at(before), began_at(after), began_at(trying)[1]) == ((0, 0), (0, 1), 0)
    for one, other in ((before, after), (after, before)):
        merged = one.snapshot().merge(other)
        assert np.array_equal(merged.scores(X[:50]), after.scores(X[:50]))
        assert merged.n_seen == one.n_seen + other.n_seen
    assert began_at(before.merge(trying)) == (0, 0)


def test_columns_that_are_folded_and_sparse_rows_are_kept_as_they_were_learned():
    X, y = stream("binary", SHIFT + 2600)
    wide = sp.hstack([sp.csr_array(X), sp.random_array((len(y), 3000), density=1e-3, rng=0, format="csr")], "csr")
    learner, fresh = Learner(SMALL, TASKS["binary"]), Learner(SMALL, TASKS["binary"])
    learner.learn(wide[: SHIFT + 300], y[: SHIFT + 300])
    row, _ = began_at(learner)
    scores, begun = learner.learn(wide[SHIFT + 300 :], y[SHIFT + 300 :]), fresh.learn(wide[row:], y[row:])
    assert began_at(learner) == (0, 1) and np.array_equal(scores[-500:], begun[-500:])


@pytest.mark.parametrize(
    ("name", "value"),
    [("row", 5), ("row", SHIFT), ("row", OVER - 128), ("row", -1), ("heirs", -1), ("pieces", -3), ("variance", -1.0)],
)
def test_what_a_file_says_of_a_trial_is_checked(name, value, tmp_path):
    X, y = stream("binary", SHIFT + 400)
    learner = Learner(SMALL, TASKS["binary"])
    learner.learn(X, y)
    getattr(learner._runner.state.shift, name)[()] = value
    learner.save(tmp_path / "m.ks")
    with pytest.raises(ModelFileError):
        Learner.load(tmp_path / "m.ks")
