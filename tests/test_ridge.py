"""Ridge: shards merge into the model of all rows and are taken out again; exact solutions, forgetting, how sure it is,
Vovk's, Azoury's and Warmuth's bound; classes that come later; what a file may say. The rest are laws.
"""

from dataclasses import replace

import numpy as np
import pytest

from kernelstream import FOGD, Binary, Learner, Multiclass, OnlineKernelRegressor, Regression, Ridge
from kernelstream.engine import files
from kernelstream.engine.inputs import fitted
from kernelstream.engine.state import ModelFileError, copied
from kernelstream.kernels import Gaussian, Polynomial
from kernelstream.laws.agreement import snapshot
from kernelstream.laws.examples import stream
from kernelstream.numerics.lifts.fourier import Fourier
from kernelstream.reference import ridge as reference

SPEC = Ridge(kernel=Gaussian(gamma=0.3), n_components=30)
EXACT = replace(SPEC, solve="exact")
NYSTROM = replace(SPEC, map="nystrom")
TASKS = {
    "regression": Regression(),
    "binary": Binary([-1, 1]),
    "multiclass": Multiclass(["low", "middle", "high"]),
}


# Merging and taking out.


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


def _nothing(task, X, y, spec=SPEC):
    """A learner that saw one row of no weight."""
    learner = Learner(spec, TASKS[task], dtype="float64")
    learner.learn(X[:1], y[:1], [0.0])
    return learner


@pytest.mark.parametrize("task", TASKS)
def test_exact_shards_need_no_solving_to_be_the_model_of_all_rows(task):
    X, y = stream(task, n=500)
    whole, mine, theirs = (Learner(EXACT, TASKS[task], dtype="float64") for _ in range(3))
    whole.learn(X, y)
    mine.learn(X[:205], y[:205])
    theirs.learn(X[205:], y[205:])
    np.testing.assert_allclose(mine.merge(theirs).scores(X), whole.scores(X), rtol=1e-9, atol=1e-10)
    rest, more = stream(task, n=100, seed=4), Learner(EXACT, TASKS[task], dtype="float64")
    more.learn(np.vstack([X, rest.X]), np.concatenate([y, rest.y]))
    mine.learn(*rest)
    np.testing.assert_allclose(mine.scores(X), more.scores(X), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("spec", [SPEC, EXACT], ids=["lazy", "exact"])
@pytest.mark.parametrize("task", TASKS)
def test_what_was_merged_is_taken_out_again(spec, task):
    X, y = stream(task, n=700)
    mine, theirs = (Learner(spec, TASKS[task], dtype="float64") for _ in range(2))
    mine.learn(X[:400], y[:400])
    theirs.learn(X[400:], y[400:])
    mine.merge(_nothing(task, X, y, spec))  # solves
    expected, n_seen, other = mine.scores(X), mine.n_seen, snapshot(theirs)
    assert mine.merge(theirs).unmerge(theirs) is mine
    np.testing.assert_allclose(mine.scores(X), expected, rtol=1e-8, atol=1e-9)
    assert mine.n_seen == n_seen and snapshot(theirs) == other
    np.testing.assert_allclose(mine.deviations(X[:5]), _sure(spec, task, X[:400], y[:400]).deviations(X[:5]), rtol=1e-6)


def _sure(spec, task, X, y):
    learner = Learner(spec, TASKS[task], dtype="float64")
    learner.learn(X, y)
    return learner


@pytest.mark.parametrize("spec", [SPEC, EXACT, NYSTROM, replace(NYSTROM, solve="exact")], ids=str)
def test_forks_of_one_ancestor_merge_exactly(spec, tmp_path):
    X, y = stream("regression", n=900)
    ancestor = _sure(spec, "regression", X[:300], y[:300])
    ancestor.save(tmp_path / "ancestor.ks")
    forks = [Learner.load(tmp_path / "ancestor.ks") for _ in range(3)]
    for fork, start in zip(forks, (300, 500, 700), strict=True):
        fork.learn(X[start : start + 200], y[start : start + 200])
    one, *others = forks
    for other in others:
        one.merge(other).unmerge(ancestor)
    through = Learner.load(tmp_path / "ancestor.ks")
    through.learn(X[300:], y[300:])
    empty = Learner.load(tmp_path / "ancestor.ks")
    through.merge(empty).unmerge(empty)  # solves
    assert one.n_seen == through.n_seen == 900
    np.testing.assert_allclose(one.scores(X), through.scores(X), rtol=1e-7, atol=1e-9)


def test_an_estimator_takes_out_again_too():
    X, y = stream("regression", n=400)
    a, b = (OnlineKernelRegressor(EXACT, random_state=0, dtype="float64") for _ in range(2))
    a.fit(X[:200], y[:200])
    b.fit(X[200:], y[200:])
    expected = a.predict(X)
    np.testing.assert_allclose(a.merge(b).unmerge(b).predict(X), expected, rtol=1e-8, atol=1e-9)


def test_what_cannot_be_taken_out_is_refused_by_name():
    X, y = stream("regression", n=300)
    mine, theirs = (_sure(SPEC, "regression", X[rows], y[rows]) for rows in (slice(200), slice(200, 300)))
    before = snapshot(mine)
    with pytest.raises(ValueError, match="fogd cannot take out"):
        descent = _sure(FOGD(kernel=Gaussian(gamma=0.3)), "regression", X, y)
        descent.unmerge(_sure(FOGD(kernel=Gaussian(gamma=0.3)), "regression", X[:9], y[:9]))
    with pytest.raises(ValueError, match="300 rows and this one 200"):
        mine.unmerge(_sure(SPEC, "regression", X, y))
    with pytest.raises(ValueError, match="rows that this one has not"):
        mine.unmerge(_sure(SPEC, "regression", 5 * X[200:], y[200:]))
    with pytest.raises(ValueError, match="cannot be taken apart: n_components differs"):
        mine.unmerge(_sure(replace(SPEC, n_components=9), "regression", X[:50], y[:50]))
    with pytest.raises(ValueError, match="forget=1"):
        fading = replace(SPEC, forget=0.9)
        _sure(fading, "regression", X, y).unmerge(_sure(fading, "regression", X[:50], y[:50]))
    with pytest.raises(ValueError, match="different points"):
        _sure(NYSTROM, "regression", X, y).unmerge(_sure(NYSTROM, "regression", X[50:], y[50:]))
    assert snapshot(mine) == before
    assert mine.unmerge(Learner(SPEC, Regression(), dtype="float64")) is mine and theirs.n_seen == 100


def test_a_learner_that_gathers_points_has_them_learned_by_the_other():
    X, y = stream("multiclass", n=300)
    scaling = fitted("standard", [X])
    whole, mine, theirs, early = (
        Learner(replace(NYSTROM, solve="exact"), TASKS["multiclass"], dtype="float64", scaling=scaling)
        for _ in range(4)
    )
    mine.learn(X[:200], y[:200])
    theirs.learn(X[200:220], y[200:220], np.arange(20.0))
    whole.learn(X[:200], y[:200])
    whole.learn(X[200:220], y[200:220], np.arange(20.0))
    early.learn(X[200:220], y[200:220], np.arange(20.0))
    np.testing.assert_allclose(mine.merge(theirs).scores(X), whole.scores(X), rtol=1e-9, atol=1e-10)
    other = Learner.from_parts(*whole.to_parts())
    assert early.merge(other).n_seen == 240
    with pytest.raises(ValueError, match="keeps its first rows"):
        mine.unmerge(theirs)


# Exact solutions.


def recursive(Z, y, ridge):
    """Recursive least squares as textbooks have it: the inverse by Sherman and Morrison."""
    P, w, shown = np.eye(Z.shape[1]) / ridge, np.zeros(Z.shape[1]), []
    for z, target in zip(Z, y, strict=True):
        shown.append(w @ z)
        gain = P @ z / (1.0 + z @ P @ z)
        w = w + gain * (target - w @ z)
        P = P - np.outer(gain, z @ P)
    return np.array(shown)


@pytest.mark.parametrize("n_components", [5, 150])
def test_an_exact_solution_is_recursive_least_squares(n_components):
    X, y = stream("regression", n=1500)
    spec = replace(EXACT, n_components=n_components)
    learner = Learner(spec, Regression(), dtype="float64", seed=3)
    u = Fourier(spec.kernel, n_components).kernel.frequencies(3, range(6), n_components)
    Z = np.hstack([np.sin(X @ u), np.cos(X @ u)])
    expected = recursive(Z, y, spec.ridge)
    np.testing.assert_allclose(learner.learn(X, y)[:, 0], expected, rtol=1e-9, atol=1e-9)


def test_nystrom_on_all_rows_is_kernel_ridge_regression():
    X, y = stream("regression", n=120)
    spec = Ridge(kernel=Polynomial(gamma=0.3), map="nystrom", n_components=60)
    learner = _sure(replace(spec, solve="exact"), "regression", X, y)
    K = (0.3 * X @ X.T + 1.0) ** 2  # of rank 28: the points span it all
    expected = K @ np.linalg.solve(K + spec.regularization * np.eye(120), y)
    np.testing.assert_allclose(learner.scores(X)[:, 0], expected, atol=1e-7)
    assert learner.size == 60


@pytest.mark.parametrize("spec", [EXACT, replace(NYSTROM, solve="exact"), replace(EXACT, forget=0.97)], ids=str)
def test_a_class_that_comes_inside_a_piece_is_learned_as_if_it_had_been_announced(spec):
    X, y = stream("multiclass", n=600)
    for first in (20, 300):  # while points are gathered, and later
        labels = np.where((np.arange(600) < first) & (y == "high"), "low", y)
        late = Learner(spec, Binary(["low", "middle"]), dtype="float64", grow_classes=True)
        known = Learner(spec, Multiclass(["low", "middle", "high"]), dtype="float64")
        late.learn(X, labels)
        known.learn(X, labels)
        assert late.task.classes.tolist() == ["low", "middle", "high"]
        np.testing.assert_allclose(late.scores(X), known.scores(X), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(late.deviations(X), known.deviations(X), rtol=1e-6)


# Forgetting.


@pytest.mark.parametrize("spec", [SPEC, EXACT, replace(EXACT, forward=True), NYSTROM], ids=str)
@pytest.mark.parametrize("forget", [0.7, 0.99])
def test_forgetting_equals_the_discounted_sums(spec, forget):
    X, y = stream("regression", n=400)
    spec = replace(spec, forget=forget)
    learner = Learner(spec, Regression(), dtype="float64", seed=5)
    expected, _ = reference.learn(spec, None, X, y, 1, 5)
    np.testing.assert_allclose(learner.learn(X, y), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("solve", "n"), [("lazy", 1_000_000), ("exact", 300_000)])
def test_a_million_rows_with_forgetting_in_float32(solve, n):
    """A concept that turns, and long stretches in which some features are 0: the sums are those of the rows that are
    not forgotten, and nothing that was forgotten blows up.
    """
    rng = np.random.default_rng(0)
    rows, forget = 50_000, 0.999
    spec = Ridge(kernel=Gaussian(gamma=0.3), n_components=8, solve=solve, forget=forget)
    learner, errors, guesses = Learner(spec, Regression()), [], []
    for start in range(0, n, rows):
        X = rng.normal(size=(rows, 3))
        X[:, start // rows % 3] = 0.0
        turn = 2 * np.pi * (start + np.arange(rows)) / 200_000
        y = np.cos(turn) * np.tanh(X.sum(axis=1)) + np.sin(turn) * np.cos(X[:, 0])
        errors.append(np.mean((learner.learn(X, y)[:, 0] - y) ** 2))
        guesses.append(np.var(y))
    assert max(errors) < 0.3 * min(guesses)
    sums = spec.folded(copied(learner._state.sums))
    A = np.tril(sums.A + sums.newer)
    Z, _ = reference.features(spec, 0, X)
    shares = forget ** np.arange(rows)[::-1]  # the first of these rows has 1e-22 left
    np.testing.assert_allclose(A, np.tril((Z * shares[:, None]).T @ Z), atol=1e-5 * A.max())
    np.testing.assert_allclose(sums.b[0], (shares * y) @ Z, atol=1e-5 * A.max())
    assert np.linalg.eigvalsh(A + np.tril(A, -1).T).min() > -0.01 * spec.ridge


def test_forgetting_follows_a_concept_that_turns():
    X, y = stream("regression", n=3000)
    y = np.where(np.arange(3000) < 1500, y, -y)
    errors = {}
    for forget in (1.0, 0.995):
        scores = Learner(replace(SPEC, forget=forget), Regression()).learn(X, y)
        errors[forget] = np.mean((scores[2500:, 0] - y[2500:]) ** 2)
    assert errors[0.995] < 0.5 * errors[1.0]


# How sure it is.


@pytest.mark.parametrize("spec", [SPEC, EXACT, NYSTROM, replace(NYSTROM, solve="exact", forward=True)], ids=str)
@pytest.mark.parametrize("n", [20, 333])
def test_deviations_are_those_of_bayesian_least_squares(spec, n):
    """sqrt(noise (1 + z'Pz)), the noise as it makes the targets most likely, from the kernel that features have."""
    X, y = stream("regression", n=n)
    probe = stream("regression", n=40, seed=8).X
    learner = Learner(spec, Regression(), dtype="float64", seed=5)
    learner.learn(X, y)
    if spec.map == "nystrom" and n <= spec.n_components:
        both = np.vstack([X, probe])
        K = np.exp(-0.3 * ((both[:, None] - both) ** 2).sum(axis=2))
    else:
        Z, lam = reference.features(spec, 5, np.vstack([X, probe]))
        K = Z @ Z.T / lam * spec.regularization
    inside = np.linalg.inv(K[:n, :n] / spec.regularization + np.eye(n))
    noise = y @ inside @ y / n
    cross = K[n:, :n] / spec.regularization
    spread = np.diag(K[n:, n:]) / spec.regularization - np.einsum("ij,jk,ik->i", cross, inside, cross)
    np.testing.assert_allclose(learner.deviations(probe)[:, 0], np.sqrt(noise * (1 + spread)), rtol=1e-6)


@pytest.mark.parametrize("spec", [SPEC, EXACT], ids=["lazy", "exact"])
def test_deviations_cover_what_comes(spec):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(4000, 3))
    y = 40.0 + 7.0 * (np.sin(X.sum(axis=1)) + 0.3 * rng.normal(size=4000))
    spec = replace(spec, n_components=150)
    reg = OnlineKernelRegressor(spec, random_state=0, scaling="online").fit(X[:2000], y[:2000])
    shown, std = reg.predict(X[2000:], return_std=True)
    np.testing.assert_array_equal(shown, reg.predict(X[2000:]))
    off = np.abs(y[2000:] - shown) / std
    assert 0.62 < np.mean(off < 1) < 0.74 and 0.93 < np.mean(off < 2) < 0.98
    assert np.median(std) == pytest.approx(2.1, rel=0.1)
    far = reg.predict(np.full((1, 3), 40.0), return_std=True)[1]
    assert far > 1.5 * np.median(std)  # where no row was


def test_who_does_not_know_how_sure_it_is_says_so():
    X, y = stream("regression", n=50)
    reg = OnlineKernelRegressor("fogd").fit(X, y)
    with pytest.raises(ValueError, match=r"fogd does not say how sure it is.*return_std=True"):
        reg.predict(X, return_std=True)
    with pytest.raises(ValueError, match="fogd cannot say what its model were without a row"):
        reg.leave_one_out(X, y)
    with pytest.raises(ValueError, match="fogd does not say"):
        Learner("fogd", Regression()).deviations(X)
    assert np.isinf(Learner(SPEC, Regression()).deviations(X)).all()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    "spec", [SPEC, EXACT, replace(EXACT, forward=True), NYSTROM, replace(NYSTROM, solve="exact")], ids=str
)
def test_leave_one_out_residuals_are_those_of_learning_without_the_row(spec, task):
    X, y = stream(task, n=210)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 210)
    learner = Learner(spec, TASKS[task], dtype="float64")
    learner.learn(X, y, weights)
    left = learner.leave_one_out(X, y, weights)
    targets = learner.task.encode(y)
    Y = np.where(np.arange(3) == targets[:, None], 1.0, -1.0) if task == "multiclass" else targets[:, None]
    plain = replace(spec, forward=False)
    for i in (3, 70, 209):
        others = np.delete(np.arange(210), i)
        Z, lam = reference.features(plain, 0, X)
        A = (Z[others] * weights[others, None]).T @ Z[others] + lam * np.eye(Z.shape[1])
        W = np.linalg.solve(A, (Z[others] * weights[others, None]).T @ Y[others])
        np.testing.assert_allclose(left[i], Y[i] - Z[i] @ W, rtol=1e-6, atol=1e-8)


def test_leave_one_out_by_brute_force():
    X, y = stream("regression", n=60)
    reg = OnlineKernelRegressor(EXACT, random_state=0, dtype="float64").fit(X, y)
    left = reg.leave_one_out(X, y)
    for i in (0, 31, 59):
        others = np.delete(np.arange(60), i)
        without = OnlineKernelRegressor(EXACT, random_state=0, dtype="float64").fit(X[others], y[others])
        assert left[i] == pytest.approx(y[i] - without.predict(X[i : i + 1])[0], rel=1e-8)


def test_leave_one_out_refuses_what_it_cannot_know():
    X, y = stream("regression", n=60)
    with pytest.raises(ValueError, match="forget=1"):
        _sure(replace(SPEC, forget=0.9), "regression", X, y).leave_one_out(X, y)
    online = Learner(SPEC, Regression(), scaling="online")
    with pytest.raises(ValueError, match="No row was learned"):
        online.leave_one_out(X, y)
    online.learn(X, y)
    with pytest.raises(ValueError, match="scaling"):
        online.leave_one_out(X, y)


# Vovk's, Azoury's and Warmuth's forecaster.


def bound(Z, y, lam):
    """What its squared errors are at most: those of the best w, lam |w|^2, and max y^2 ln det(1 + A / lam)."""
    A = Z.T @ Z
    w = np.linalg.solve(A + lam * np.eye(len(A)), Z.T @ y)
    best = ((y - Z @ w) ** 2).sum() + lam * w @ w
    return best + (y**2).max() * np.linalg.slogdet(np.eye(len(A)) + A / lam)[1]


def noise(rng, shown):
    return rng.choice([-1.0, 1.0])


def against(rng, shown):
    return -1.0 if shown >= 0 else 1.0


def sign_of_first(rng, shown):
    return 1.0 if rng.random() < 0.9 else against(rng, shown)


@pytest.mark.parametrize("adversary", [noise, against, sign_of_first])
@pytest.mark.parametrize("regularization", [0.01, 1.0])
def test_the_forward_forecaster_keeps_its_bound(adversary, regularization):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    X[200:] = X[rng.integers(0, 5, 200)]  # few directions, again and again
    spec = Ridge(
        kernel=Gaussian(gamma=0.5), n_components=12, regularization=regularization, solve="exact", forward=True
    )
    forward, plain = (Learner(replace(spec, forward=f), Regression(), dtype="float64", seed=2) for f in (True, False))
    y, shown, beside = [], [], []
    for x in X:
        shown.append(forward.scores_one(x)[0])
        beside.append(plain.scores_one(x)[0])
        y.append(adversary(rng, shown[-1]))
        assert forward.learn_one(x, y[-1])[0] == shown[-1]
        plain.learn_one(x, y[-1])
    Z, lam = reference.features(spec, 2, X)
    y, shown, beside = np.array(y), np.array(shown), np.array(beside)
    assert ((y - shown) ** 2).sum() <= bound(Z, y, lam)
    if adversary is against and regularization < 0.1:
        assert ((y - beside) ** 2).sum() > ((y - shown) ** 2).sum()  # ridge itself is not as careful


def test_forward_needs_an_exact_solution():
    with pytest.raises(ValueError, match='solve="exact"'):
        Ridge(forward=True)
    for wrong in ({"forget": 0.0}, {"forget": 1.5}, {"solve": "always"}, {"map": "fourier"}, {"forward": "yes"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Ridge(**wrong)


# Rows of weight; classes; descent; files.


def test_weights_count_as_repeated_rows_do():
    X, y = stream("regression", n=300)
    times = np.random.default_rng(0).integers(0, 4, 300)
    for spec in (SPEC, EXACT):
        weighted, repeated = (Learner(spec, Regression(), dtype="float64") for _ in range(2))
        weighted.learn(X, y, times.astype(float))
        repeated.learn(np.repeat(X, times, axis=0), np.repeat(y, times))
        for learner in (weighted, repeated):
            learner.merge(_nothing("regression", X, y, spec))
        np.testing.assert_allclose(weighted.scores(X), repeated.scores(X), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(weighted.deviations(X), repeated.deviations(X), rtol=1e-7)


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


CHANGES = (
    ("t", -1),
    ("t", 10**6),
    ("due", [9, 5]),
    ("due", [10**6, 10**6]),
    ("sums.n_waiting", 2000),
    ("sums.n_waiting", -1),
    ("pending.factor", 0.0),
    ("map.f.size", 7),
)


@pytest.mark.parametrize("spec", [SPEC, EXACT, NYSTROM], ids=["lazy", "exact", "nystrom"])
def test_what_a_file_says_is_checked(spec, tmp_path):
    X, y = stream("binary", n=300)
    n = 20 if spec is NYSTROM else 300
    learner = Learner(spec, TASKS["binary"])
    learner.learn(X[:n], y[:n])
    learner.save(tmp_path / "m.ks")
    header, arrays = files.read(tmp_path / "m.ks")
    tried = 0
    for name, value in CHANGES:
        like = arrays.get(f"model.{name}")
        if like is None or like.size == 0:
            continue
        tried += 1
        changed = arrays | {f"model.{name}": np.broadcast_to(np.array(value, like.dtype), like.shape).copy()}
        files.write(tmp_path / "bad.ks", header, changed)
        with pytest.raises(ModelFileError):
            Learner.load(tmp_path / "bad.ks")
    assert tried >= 6
