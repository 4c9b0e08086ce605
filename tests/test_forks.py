"""Copies of one model that learn apart and become one again: what they have in common counts once."""

import numpy as np
import pytest
from benchmarks.merges import rows_of

from kernelstream import ALGORITHMS, Binary, Learner, OnlineKernelRegressor, Regression, make
from kernelstream.encoding import Columns
from kernelstream.engine.inputs import OnlineScaling, fitted
from kernelstream.kernels import Gaussian
from kernelstream.numerics import expansion

ALONE = ("auto", "stack")  # are several functions
COUNTS = ("t", "mistakes")


@pytest.fixture(scope="module")
def real(data_directory):
    return rows_of("cod-rna", 6000)


def begun(name, X, y, task, n=1000, **parameters):
    parameters |= {"kernel": Gaussian(1.0 / (X.shape[1] * X.var()))} if name != "auto" else {}
    if name == "rrf":
        parameters["width_learning_rate"] = 0.0
    if hasattr(ALGORITHMS[name], "budget"):
        parameters["budget"] = 100
    learner = Learner(make(name, **parameters), task(), seed=0)
    learner.learn(X[:n], y[:n])
    return learner


def learned(learner, X, y):
    fork = learner.snapshot()
    fork.learn(X, y)
    return fork


def names():
    return [name for name in ALGORITHMS if name not in ALONE]


@pytest.mark.parametrize("name", names())
def test_forks_become_one_that_counts_common_rows_once(name, real):
    X, y, task = real
    if task().name not in ALGORITHMS[name].tasks:
        pytest.skip(f"{name} does not do {task().name}")
    model = begun(name, X, y, task)
    errors, merged = [], []
    for start in range(1000, 4000, 1000):
        parts = [learned(model, X[at : at + 500], y[at : at + 500]) for at in (start, start + 500)]
        errors += [np.mean(part.predict(X[4000:]) != y[4000:]) for part in parts]
        model = parts[0].merge(parts[1], since=model)
        merged.append(np.mean(model.predict(X[4000:]) != y[4000:]))
        assert model.n_seen == start + 1000
        again = Learner.from_parts(*model.to_parts())
        np.testing.assert_array_equal(again.scores(X[4000:4100]), model.scores(X[4000:4100]))
        with model.reading() as (_, state):
            for count in COUNTS:
                assert not hasattr(state, count) or getattr(state, count) <= model.n_seen
    assert np.mean(merged) <= 1.1 * np.mean(errors)


@pytest.mark.parametrize("name", [name for name in names() if name != "omkc"])  # whose scores are votes
def test_the_distance_is_that_of_the_functions_in_the_kernels_space(name, real):
    X, y, task = real
    if task().name not in ALGORITHMS[name].tasks:
        pytest.skip(f"{name} does not do {task().name}")
    model = begun(name, X, y, task, 300)
    other = learned(model, X[300:400], y[300:400])
    assert model.distance(model.snapshot()) <= 1e-6
    apart = model.distance(other)
    # |f(x) - g(x)| <= ||f - g|| sqrt(k(x, x)), exactly of expansions and features of the kernel's own; random features
    # have k(x, x) = z'z = 1 as well.
    seen = np.abs(model.scores(X[400:800]) - other.scores(X[400:800])).max()
    assert 0.0 < seen <= apart * (1.0 + 1e-3)


def test_a_ridge_of_forks_is_the_ridge_of_all_rows(real):
    X, y, task = real
    model, whole = (begun("ridge", X, y, task, n, solve="exact") for n in (1000, 4000))
    for start in range(1000, 4000, 1000):
        parts = [learned(model, X[at : at + 250], y[at : at + 250]) for at in range(start, start + 1000, 250)]
        merged = parts[0]
        for part in parts[1:]:
            merged.merge(part, since=model)
        model = merged
    np.testing.assert_allclose(model.scores(X[4000:]), whole.scores(X[4000:]), atol=2e-4)


@pytest.mark.parametrize("since", [True, False])
def test_an_expansion_without_a_budget_keeps_its_precision(since, real):
    X, y, task = real
    model = Learner(make("norma", kernel=Gaussian(0.5)), task(), seed=0)
    model.learn(X[:100], y[:100])
    forks = [learned(model, X[some], y[some]) for some in (slice(100, 150), slice(150, 200))]
    merged = forks[0].merge(forks[1], since=model if since else None)
    assert merged.attributes["coef"].dtype == np.float32
    Learner.from_parts(*merged.to_parts())


def test_points_that_both_have_are_one_term():
    rng = np.random.default_rng(0)
    points, new = rng.normal(size=(3, 5)), rng.normal(size=(3, 2))
    f = expansion.from_points(points.copy(), (points**2).sum(axis=0), np.ones((1, 5)))
    both = np.hstack([points[:, 3:], new])
    g = expansion.from_points(both, (both**2).sum(axis=0), np.full((1, 4), 10.0))
    joined = expansion.append(f, g, 0.5)
    assert int(joined.size) == 7
    np.testing.assert_array_equal(joined.coef[0, :7], [1, 1, 1, 6, 6, 5, 5])
    np.testing.assert_array_equal(joined.points[:, :7], np.hstack([points, new]))


def test_points_of_another_width_are_the_same_when_what_is_new_is_0():
    f = expansion.from_points(np.array([[1.0], [-0.0]]), np.ones(1), np.ones((1, 1)))
    g = expansion.from_points(np.array([[1.0, 0.0]]), np.array([1.0, 0.0]), np.ones((1, 2)))
    assert int(expansion.append(f, g, 1.0).size) == 2
    assert int(expansion.append(g, f, 1.0).size) == 2


def test_a_scaling_of_forks_is_that_of_all_rows():
    X = np.random.default_rng(0).normal(3.0, 2.0, size=(900, 4))
    whole, common = OnlineScaling(), OnlineScaling()
    whole.learn(X)
    common.learn(X[:300])
    parts = [common.copy() for _ in range(2)]
    for part, rows in zip(parts, (X[300:500], X[500:]), strict=True):
        part.learn(rows)
    parts[0].merge(parts[1], common)
    assert parts[0].n_rows == 900
    np.testing.assert_allclose(parts[0].mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(parts[0].squares, whole.squares, rtol=1e-12)


def test_what_keeps_its_first_rows_cannot_be_forked():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = Learner("fogd", Regression())  # settles its width on the first 256 rows
    model.learn(X[:20], X[:20, 0])
    fork = learned(model, X[20:], X[20:, 0])
    with pytest.raises(ValueError, match="20 rows and still keeps them"):
        fork.merge(learned(model, X[20:], X[20:, 0]), since=model)


def test_strangers_are_no_forks(real):
    X, y, task = real
    model = begun("fogd", X, y, task)
    younger = begun("fogd", X, y, task, 500)
    with pytest.raises(ValueError, match="has learned 1000 rows, but one of them only 500"):
        younger.merge(learned(model, X[:5], y[:5]), since=model)


def test_several_functions_have_no_distance(real):
    X, y, task = real
    learners = [Learner("auto", task(), seed=0) for _ in range(2)]
    for learner in learners:
        learner.learn(X[:50], y[:50])
    with pytest.raises(ValueError, match="auto is several functions"):
        learners[0].distance(learners[1])


def test_classes_can_be_announced_on_the_way():
    from kernelstream import Multiclass

    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    learner = Learner(make("fogd", kernel=Gaussian(0.5)), Multiclass(["a", "b"]), grow_classes=True)
    learner.learn(X, y)
    learner.announce(["c", "a"])
    assert learner.task.classes.tolist() == ["a", "b", "c"]
    learner.learn(X, y)
    assert np.mean(learner.predict(X) == y) > 0.8
    with pytest.raises(ValueError, match="without grow_classes"):
        Learner("fogd", Multiclass(["a", "b"])).announce(["c"])


@pytest.mark.parametrize("verb", ["merge", "unmerge", "distance"])
def test_what_is_no_learner_is_refused_by_name(verb):
    learner = Learner("fogd", Regression())
    learner.learn([[1.0]], [1.0])
    for other in ("model.ks", None, OnlineKernelRegressor()):
        with pytest.raises(TypeError, match=r"is no Learner\. A file's is Learner\.load"):
            getattr(learner, verb)(other)
    with pytest.raises(TypeError, match="is no Learner"):
        learner.merge(learner.snapshot(), since="model.ks")
    estimator = OnlineKernelRegressor("fogd").fit([[1.0]], [1.0])
    if verb != "distance":
        for other in ("model.ks", learner):
            with pytest.raises(TypeError, match="is no estimator of online kernels"):
                getattr(estimator, verb)(other)


def test_learners_and_scalings_say_what_they_are():
    learner = Learner("fogd", Regression(), scaling="online")
    learner.learn([[1.0], [2.0]], [1.0, 2.0])
    assert repr(learner) == "<Learner of fogd, regression, 2 rows>"
    assert repr(learner.inputs.features) == "<scaling online by 2 rows>"
    assert repr(Learner("fogd", Regression(), scaling="metric").inputs.features) == "<scaling metric by 0 rows>"
    fixed = fitted("standard", [np.ones((3, 2))])
    assert repr(OnlineKernelRegressor(scaling=fixed)).endswith("(scaling=<scaling standard of 2 features>)")


def test_a_copy_from_before_the_first_row_is_apart_from_its_model():
    X = np.random.default_rng(0).normal(size=(300, 2))
    fresh, model = (
        Learner("fogd", Binary([False, True]), scaling="online", columns=Columns(missing="zero")) for _ in range(2)
    )
    rows = [{"a": a, "b": b} for a, b in X.tolist()]
    model.snapshot().learn([{"c": 1.0}, *rows], [True, *(X[:, 0] > 0)])
    assert np.array_equal(model.learn(rows, X[:, 1] > 0), fresh.learn(rows, X[:, 1] > 0))
    assert np.array_equal(model.probabilities(rows), fresh.probabilities(rows))
