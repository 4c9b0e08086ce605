"""KOIL: a step is the sum over pairs with the nearest points, classes keep their room, what goes hands on its
coefficient, and a rare class is ranked.
"""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from kernelstream import FOGD, KOIL, OPAUC, Binary, Learner
from kernelstream.engine import files
from kernelstream.engine.state import ModelFileError
from kernelstream.kernels import Gaussian
from kernelstream.numerics.gram import gram_matrix
from kernelstream.reference.kernels import matrix
from kernelstream.sources import open_source

X, LABELS = load_digits(return_X_y=True)
X, Y = X / 16.0, np.where(LABELS == 8, 1, -1)
KERNEL = Gaussian(gamma=0.2)
RULES = ("reservoir", "oldest")


def koil(dtype="float64", **parameters):
    return Learner(KOIL(kernel=KERNEL, **parameters), Binary([-1, 1]), dtype=dtype)


def stored(learner):
    """Points, labels, coefficients."""
    state, n = learner._state, int(learner._state.f.size)
    return tuple(part.copy() for part in (state.f.points[:, :n].T, state.side[:n], state.dual[:n]))


def values(points, coef, rows):
    return matrix(KERNEL, rows, points) @ coef


def test_a_step_is_the_sum_over_pairs_with_the_nearest_points_of_the_other_class():
    """From kernel values alone: f moves towards the row and away from those that it is not ahead of by 1."""
    learner = koil(budget=400, n_neighbours=3, learning_rate=0.2, regularization=0.1)
    learner.learn(X[:80], Y[:80])
    for t in range(80, 120):
        (points, side, dual), x, y = stored(learner), X[t], Y[t]
        f = partial(values, points, dual)
        others = points[side == -y]
        behind = others[1.0 - y * (f(x) - f(others)) > 0.0]
        near = behind[np.argsort(-matrix(KERNEL, x, behind)[0])[:3]]
        probe = X[200:230]
        towards = len(near) * matrix(KERNEL, probe, x)[:, 0] - matrix(KERNEL, probe, near).sum(axis=1)
        expected = 0.98 * f(probe) + 0.2 * y * towards
        learner.learn(X[t : t + 1], Y[t : t + 1])
        found = learner.scores(probe)[:, 0] - learner.attributes["bias"]
        assert np.allclose(found, expected, atol=1e-12)
        assert np.isclose(learner.losses[-1], (1.0 - y * (f(x) - f(near))).sum() if len(near) else 0.0)


@pytest.mark.parametrize("rule", RULES)
def test_no_class_takes_the_others_room(rule):
    learner = koil("float32", budget=40, replacement=rule)
    learner.learn(X, Y)
    assert sorted(stored(learner)[1]) == [-1.0] * 20 + [1.0] * 20


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("regularization", [0.0, 0.05])
def test_coefficients_of_points_that_go_are_handed_on(rule, regularization):
    """All of them add up to 0, whatever was replaced, but for the step of the first row, which has no pair."""
    learner = koil(budget=20, replacement=rule, learning_rate=0.1, regularization=regularization)
    learner.learn(X[7:], Y[7:])  # the second row is of the other class
    left = -0.1 * (1 - 0.1 * regularization) ** (len(Y) - 8)
    assert stored(learner)[2].sum() == pytest.approx(left, abs=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", RULES)
def test_what_is_kept_beside_the_points_is_what_they_give(rule, dtype):
    learner = koil(dtype, budget=60, replacement=rule)
    learner.learn(X, Y)
    state, n = learner._state, int(learner._state.f.size)
    K, rounding = gram_matrix(KERNEL, state.f), 1e-12 if dtype == "float64" else 1e-5
    assert np.allclose(state.gram[:n, :n], K, atol=rounding)
    assert np.allclose(state.values[:n], K @ state.dual[:n], atol=rounding * np.abs(state.dual).sum())
    middles = [state.values[:n][state.side[:n] == y].mean() for y in (-1, 1)]
    assert np.isclose(learner.attributes["bias"], -np.mean(middles))


def test_the_oldest_goes_first():
    learner = koil(budget=20, replacement="oldest", learning_rate=100.0)
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(200, 4)), np.where(rng.random(200) < 0.5, 1, -1)
    learner.learn(rows, labels)
    points, side, _ = stored(learner)
    ages = [np.flatnonzero((rows == point).all(axis=1))[0] for point in points]
    for y in (-1, 1):
        own = sorted(age for age, label in zip(ages, side, strict=True) if label == y)
        entered = [t for t in own if labels[t] == y]
        assert own == entered and own[0] > 100


def test_a_reservoir_holds_rows_of_all_ages():
    """Rows that always lose: each of 2,000 is kept with the same probability."""
    rng = np.random.default_rng(1)
    rows, labels = rng.normal(size=(2000, 3)), np.where(rng.random(2000) < 0.5, 1, -1)
    learner = koil(budget=400, learning_rate=1e-6)
    learner.learn(rows, labels)
    places = {row.tobytes(): t for t, row in enumerate(rows)}
    ages = np.array([places[np.ascontiguousarray(point).tobytes()] for point in stored(learner)[0]])
    assert abs(ages.mean() - 1000) < 5 * 577 / np.sqrt(400)


def test_merged_classes_are_projected_each_on_its_own_points():
    one, other = koil(budget=60), koil(budget=60)
    one.learn(X[:900], Y[:900])
    other.learn(X[900:], Y[900:])
    probe, areas = X[::7], [roc_auc_score(Y[::7], part.scores(X[::7])[:, 0]) for part in (one, other)]
    one.merge(other)
    side = stored(one)[1]
    assert max((side > 0).sum(), (side < 0).sum()) <= 30
    assert roc_auc_score(Y[::7], one.scores(probe)[:, 0]) > min(areas) - 0.02
    one.learn(X[:200], Y[:200])


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("side", lambda a: a.__setitem__(0, 0.5), "slots"),
        ("side", lambda a: a.__setitem__(0, 7.0), "side"),
        ("slots", lambda a: a.__setitem__((0, 0), 10**6), "slots"),
        ("slots", lambda a: a.__setitem__((0, 0), a[1, 0]), "slots"),
        ("sizes", lambda a: a.__setitem__(0, 31), "sizes"),
        ("oldest", lambda a: a.__setitem__(0, -1), "oldest"),
        ("gram", lambda a: a.__setitem__((0, 1), 0.5), "symmetric"),
    ],
)
def test_a_file_that_no_run_leaves_is_refused(name, change, words, tmp_path):
    learner = koil(budget=60)
    learner.learn(X[:300], Y[:300])
    header, arrays = learner.to_parts()
    arrays[f"model.{name}"] = arrays[f"model.{name}"].copy()
    change(arrays[f"model.{name}"])
    files.write(tmp_path / "bad.ks", header, arrays)
    with pytest.raises(ModelFileError, match=words):
        Learner.load(tmp_path / "bad.ks")


@pytest.mark.parametrize(
    ("values", "words"),
    [({"budget": 1}, "budget=1"), ({"n_neighbours": 0}, "n_neighbours=0"), ({"replacement": "newest"}, "replacement")],
)
def test_what_cannot_be_is_refused_by_name(values, words):
    with pytest.raises(ValueError, match=words):
        KOIL(**values)


def test_a_rare_class_is_ranked_better_than_by_features():
    """One of ten digits, one pass, five orders: 200 points beside 200 frequencies."""
    areas = {}
    for spec in (KOIL(kernel=KERNEL, budget=200), OPAUC(kernel=KERNEL, n_components=200), FOGD(kernel=KERNEL)):
        found = []
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(len(Y))
            scores = Learner(spec, Binary([-1, 1]), seed=seed).learn(X[order], Y[order])[:, 0]
            found.append(roc_auc_score(Y[order], scores))
        areas[spec.name] = np.mean(found)
    assert areas["koil"] > max(areas["opauc"], areas["fogd"])


@pytest.mark.parametrize(
    ("spec", "source", "total", "squares"),
    [
        (KOIL(Gaussian(gamma=8.0), 100, 10, 0.1, 0.1, "oldest"), "checkerboard", 38.112351262736496, 2336.398784449173),
        (OPAUC(Gaussian(gamma=0.25), 20, 0.1, 0.01), "hyperplane", -34.674164085087305, 263.8884927050936),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_but_for_the_threshold_scores_are_those_of_the_authors_programs(spec, source, total, squares):
    """KOIL FIFO++ (eta = 0.01, C = 10) and OPAUC (on our features, eta = 0.1, lambda = 0.01), run by Octave."""
    rows, labels = next(iter(open_source(f"{source}:rows=1500")))
    learner, shown = Learner(spec, Binary([-1, 1]), dtype="float64"), [0.0]
    for t in range(1499):
        learner.learn(rows[t : t + 1], labels[t : t + 1])
        shown.append(learner.scores(rows[t + 1 : t + 2])[0, 0] - float(learner._state.bias))
    assert sum(shown) == pytest.approx(total, rel=1e-11)
    assert np.square(shown).sum() == pytest.approx(squares, rel=1e-11)
