"""AVM: every law for its coverages, coin and outputs; its own laws; the paper's cod-rna number."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from kernelstream import ALGORITHMS, Binary, Learner, Multiclass, Pegasos, Regression, laws
from kernelstream.algorithms.avm import AVM, surely_inside
from kernelstream.kernels import Gaussian, Laplacian, Matern
from kernelstream.laws.agreement import ROUNDING, snapshot
from kernelstream.laws.cases import Case, learn_in_blocks
from kernelstream.laws.examples import stream
from kernelstream.numerics.budgets import first_largest
from kernelstream.reference import avm as reference
from kernelstream.reference import losses as reference_losses
from kernelstream.sources import open_source
from kernelstream.tasks import BINARY, MULTICLASS, REGRESSION

# A diameter that puts several rows of the laws' streams into a cell.
WIDE = 4.0
SPECS = {
    "sphere": AVM(coverage=WIDE),
    "rectangle": AVM(coverage=WIDE, cells="rectangle"),
    "coin": AVM(coverage=WIDE, beta=2.0, rho=0.5),
    "average": AVM(coverage=WIDE, output="average"),
    "suffix": AVM(coverage=WIDE, output="suffix", suffix=0.3),
    "known": AVM(coverage=WIDE, output="suffix", suffix=0.3, rounds=150),
}

# Compiles every algorithm in the table, a minute; test_laws runs it for all of them.
ELSEWHERE = "merge_refuses_strangers"

GAUSSIAN = Gaussian(gamma=0.3)


def parameters():
    for which, spec in SPECS.items():
        if which == "sphere":  # the table's row
            continue
        for law, tried in laws.cases_by_law(spec).items():
            all_cases = law != "equals_its_reference" or which == "rectangle"
            kept = tried if all_cases else laws.selection(spec)
            if kept and law != ELSEWHERE:
                yield pytest.param(law, kept, id=f"{law}-{which}")


def test_spheres_of_this_diameter_are_what_the_laws_try_in_the_tables_row():
    assert laws.cases(SPECS["sphere"]) == laws.cases(ALGORITHMS["avm"])


@pytest.mark.parametrize(("law", "kept"), list(parameters()))
def test_law(law, kept):
    laws.check_law(law, kept)


@pytest.mark.parametrize("task", [BINARY, MULTICLASS, REGRESSION])
def test_the_papers_losses_are_offered_and_the_default_comes_first(task):
    offered = AVM().losses(task)
    if task == REGRESSION:
        assert offered[0] == "squared" and {"absolute", "epsilon-insensitive"} <= set(offered)
    else:
        assert offered[0] == "hinge" and {"smooth-hinge", "logistic"} <= set(offered)


@pytest.mark.parametrize("which", SPECS)
def test_rows_share_cells_in_the_cases_that_the_laws_are_tried_on(which):
    X, y = stream(BINARY)
    spec = replace(SPECS[which], kernel=GAUSSIAN)
    learner = Learner(spec, Binary([-1, 1]))
    learner.learn(X, y)
    cells = learner.attributes["cells"]
    assert 1 < cells <= learner.size < 0.8 * len(y)
    assert (cells < learner.size) == (which == "coin")


# Cells.


@pytest.mark.parametrize("cells", ["sphere", "rectangle"])
@pytest.mark.parametrize("output", ["last", "average", "suffix"])
def test_small_cells_are_pegasos(cells, output):
    X, y = stream(BINARY)
    tiny = AVM(kernel=GAUSSIAN, coverage=1e-9, cells=cells, output=output, suffix=0.005)
    learner, plain = (Learner(s, Binary([-1, 1]), dtype="float64") for s in (tiny, Pegasos(kernel=GAUSSIAN)))
    shown, expected = learner.learn(X, y), plain.learn(X, y)
    assert learner.size == len(y)
    assert np.count_nonzero(learner.attributes["coef"]) == plain.size
    if output != "average":  # 1/200 of 150 rounds is the last one
        assert np.abs(shown - expected).max() <= ROUNDING["float64"] * np.abs(expected).max()


def test_a_coin_that_never_approximates_is_pegasos():
    X, y = stream(BINARY)
    specs = AVM(kernel=GAUSSIAN, coverage=9.0, beta=1e9), Pegasos(kernel=GAUSSIAN)
    learner, plain = (Learner(s, Binary([-1, 1]), dtype="float64") for s in specs)
    shown, expected = learner.learn(X, y), plain.learn(X, y)
    assert np.abs(shown - expected).max() <= ROUNDING["float64"] * np.abs(expected).max()
    assert learner.size == plain.size


@pytest.mark.parametrize("kernel", [GAUSSIAN, Gaussian(gamma=1e-7), Laplacian(gamma=0.3)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_core_points_cover_the_stream_and_lie_apart(kernel, dtype):
    """Each row is in a cell, and no core point is in another's."""
    X, y = stream(BINARY, n=400)
    learner = Learner(AVM(kernel=kernel, coverage=WIDE), Binary([-1, 1]), dtype=dtype)
    learner.learn(X, y)
    C = learner.attributes["points"].astype(np.float64)
    gap = np.sqrt(((X[:, None] - C[None]) ** 2).sum(-1))
    assert gap.min(axis=1).max() < WIDE / 2 + 1e-6
    apart = np.sqrt(((C[:, None] - C[None]) ** 2).sum(-1)) + np.diag(np.full(len(C), np.inf))
    assert apart.min() >= WIDE / 2 - 1e-6
    assert len(C) == learner.size < 200


def test_rectangles_cover_the_stream_and_their_core_points_are_apart_in_some_feature():
    X, y = stream(BINARY, n=400)
    side = WIDE / math.sqrt(X.shape[1])
    learner = Learner(AVM(kernel=GAUSSIAN, coverage=WIDE, cells="rectangle"), Binary([-1, 1]))
    learner.learn(X, y)
    C = learner.attributes["points"].astype(np.float64)
    assert np.abs(X[:, None] - C[None]).max(-1).min(axis=1).max() < side + 1e-6
    assert (np.abs(C[:, None] - C[None]).max(-1) + np.diag(np.full(len(C), np.inf))).min() >= side - 1e-6


def test_the_nearest_sphere_and_the_first_rectangle_own_a_row():
    X = np.array([[0.0], [2.5], [1.75]])
    for cells, owner in (("sphere", 1), ("rectangle", 0)):
        spec = AVM(kernel=GAUSSIAN, loss="logistic", regularization=1.0, coverage=2.0, cells=cells)
        learner = Learner(spec, Binary([-1, 1]), dtype="float64")
        learner.learn(X[:2], [1, 1])
        before = learner._state.f.coef[0, :2].copy()
        learner.learn(X[2:], [1])
        assert np.flatnonzero(learner._state.f.coef[0, :2] != before).tolist() == [owner]


@pytest.mark.parametrize("cells", ["sphere", "rectangle"])
def test_a_row_on_the_border_opens_a_cell(cells):
    """Cells are open sets."""
    spec = AVM(kernel=GAUSSIAN, coverage=2.0 if cells == "sphere" else 1.0, cells=cells)
    learner = Learner(spec, Binary([-1, 1]))
    learner.learn([[0.0], [1.0], [-0.75]], [1, 1, 1])
    assert learner.attributes["points"][:, 0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_the_size_depends_on_the_stream_and_the_seed_alone(beta):
    """However the stream is cut or stored; and rows that come again open no cell."""
    X, y = stream(BINARY, n=600)
    spec = AVM(kernel=GAUSSIAN, coverage=WIDE, beta=beta)
    whole = Learner(spec, Binary([-1, 1]), seed=3)
    whole.learn(X, y)
    for height in (1, 13, 256):
        cut = Learner(spec, Binary([-1, 1]), seed=3)
        learn_in_blocks(cut, X, y, height)
        assert snapshot(cut) == snapshot(whole)
    sparse = Learner(spec, Binary([-1, 1]), seed=3)
    sparse.learn(sp.csr_array(X), y)
    assert sparse.size == whole.size
    once, room = whole.size, whole.n_bytes
    if beta == 0.0:
        for _ in range(3):
            whole.learn(X, y)
        assert (whole.size, whole.n_bytes) == (once, room)


def test_a_coin_stores_as_many_rows_as_it_says():
    """Theorem 15 ii: rho = 1 stores beta (log T + 1) rows besides the cells, about."""
    X, y = np.zeros((4000, 1)), np.resize([1, -1], 4000)  # one cell, and labels by which every row moves f
    sizes = []
    for seed in range(20):
        spec = AVM(kernel=GAUSSIAN, loss="logistic", regularization=1.0, beta=5.0, coverage=1.0)
        learner = Learner(spec, Binary([-1, 1]), seed=seed)
        learner.learn(X, y)
        sizes.append(learner.size)
    expected = 5 + sum(5.0 / t for t in range(6, 4001))
    assert abs(np.mean(sizes) - expected) < 4 * math.sqrt(expected / 20)


@pytest.mark.parametrize("kernel", [GAUSSIAN, Laplacian(gamma=0.3)], ids=str)
@pytest.mark.parametrize("cells", ["sphere", "rectangle"])
def test_rows_that_are_stored_as_they_are_are_no_core_points(cells, kernel):
    """Core points lie apart, and every row that a coin did not store lies in a cell of theirs."""
    X, y = stream(BINARY, n=600)
    learner = Learner(AVM(kernel=kernel, coverage=WIDE, cells=cells, beta=3.0, rho=0.5), Binary([-1, 1]))
    learner.learn(X, y)
    points, core = learner.attributes["points"].astype(np.float64), learner._state.core[: learner.size] == 1
    assert 10 < core.sum() == learner.attributes["cells"] < learner.size - 10
    C = points[core]
    gaps = np.abs(C[:, None] - C[None])
    apart = np.sqrt((gaps**2).sum(-1)) if cells == "sphere" else gaps.max(-1)
    reach = WIDE / 2 if cells == "sphere" else WIDE / math.sqrt(X.shape[1])
    assert (apart + np.diag(np.full(len(C), np.inf))).min() >= reach - 1e-6


@pytest.mark.parametrize("suffix", [0.4, 0.9, 1e-9])
def test_a_suffix_of_a_known_number_of_rounds_is_exact(suffix):
    X, y = stream(BINARY, n=120)
    spec = AVM(kernel=GAUSSIAN, coverage=WIDE)
    last = Learner(spec, Binary([-1, 1]), dtype="float64")
    mean = Learner(replace(spec, output="suffix", suffix=suffix, rounds=120), Binary([-1, 1]), dtype="float64")
    functions = []
    for t in range(120):
        last.learn(X[t : t + 1], y[t : t + 1])
        functions.append(last.scores(X[:20]))
    mean.learn(X, y)
    asked = max(1, round(suffix * 120))
    np.testing.assert_allclose(mean.scores(X[:20]), np.mean(functions[-asked:], axis=0), rtol=1e-9, atol=1e-9)


def test_the_coverage_by_itself_follows_the_distances_of_the_first_rows():
    X, y = stream(BINARY, n=300)
    for unit in (1.0, 1e-3, 1e3):
        learner = Learner(AVM(), Binary([-1, 1]))
        learner.learn(unit * X, y)
        apart = np.sqrt(((unit * X[:256, None] - unit * X[None, :256]) ** 2).sum(-1))[np.triu_indices(256, 1)]
        assert learner.settled.coverage == pytest.approx(2.0 * (apart.mean() - apart.std()), rel=1e-4)
        sizes = learner.size
        assert 5 < sizes < 200
    sparse = Learner(AVM(), Binary([-1, 1]))
    sparse.learn(sp.csr_array(1e3 * X), y)
    assert sparse.settled.coverage == learner.settled.coverage
    same = Learner(AVM(), Binary([-1, 1]))
    same.learn(np.ones((10, 2)), np.resize([-1, 1], 10))
    assert same.settled.coverage == 1.0


def test_kernel_values_are_asked_for_the_nearest_only_where_they_tell():
    assert surely_inside(GAUSSIAN, 0.5, np.float32) == pytest.approx(math.exp(-0.3 * 0.25 * 0.99))
    assert surely_inside(Matern(gamma=1.0, nu=2.5), 0.5, np.float32) < 1.0
    assert surely_inside(Gaussian(gamma=1e-6), 0.5, np.float32) == math.inf  # all near 1
    assert surely_inside(Gaussian(gamma=1e-6), 0.5, np.float64) < 1.0
    assert surely_inside(Gaussian(gamma=1e4), 0.5, np.float32) == math.inf  # 0 within the cell
    assert surely_inside(Laplacian(gamma=1.0), 0.5, np.float64) == math.inf


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_largest_is_found_wherever_it_is(dtype):
    for n in (1, 2, 7, 8, 9, 31, 32, 33, 64, 65, 430):
        for place in range(n):
            values = np.sin(np.arange(n + 1.0) + place).astype(dtype) - 3
            values[place], values[n] = -1.5, 3.0  # what lies behind the n values does not count
            assert first_largest(values, n) == place
            values[place] = 2.0
            values[place + 1 : n] = np.maximum(values[place + 1 : n], 2.0)  # the first of equals
            assert first_largest(values, n) == place
    for values in ([-1.0, -0.0, 0.0], [-np.inf, -0.0], [-1.0, 0.0, -0.0, 0.0], [-np.inf, np.inf], [-np.inf] * 70):
        assert first_largest(np.array(values, dtype), len(values)) == np.argmax(values)
    for n in (1, 3, 64, 70):
        assert 0 <= first_largest(np.full(n + 100, np.nan, dtype), n) < n


# The projection and the outputs.


@pytest.mark.parametrize("output", ["last", "average", "suffix"])
@pytest.mark.parametrize("regularization", [1e-4, 0.05, 1.0])
@pytest.mark.parametrize("kernel", [GAUSSIAN, Laplacian(gamma=0.3)], ids=str)
def test_the_projected_squared_loss_equals_the_reference(kernel, regularization, output):
    X, y = stream(REGRESSION)
    spec = AVM(kernel=kernel, loss="squared", regularization=regularization, coverage=WIDE, output=output, start=0)
    learner = Learner(spec, Regression(), dtype="float64")
    shown = learner.learn(X, 3.0 * y)
    expected, size = reference.learn(spec, reference_losses.of(reference.Squared(), REGRESSION), X, 3.0 * y, 1, 0)
    assert np.abs(shown - expected).max() <= ROUNDING["float64"] * max(1.0, np.abs(expected).max())
    assert learner.size == size


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_kept_norm_is_the_norm_and_stays_in_the_ball(dtype):
    X, y = stream(REGRESSION, n=1000)
    spec = AVM(kernel=GAUSSIAN, loss="squared", regularization=1e-3, coverage=2.0, start=0)
    learner = Learner(spec, Regression(), dtype=dtype)
    projected = 0
    for t in range(0, 1000, 10):
        learner.learn(X[t : t + 10], y[t : t + 10])
        f, C = learner._state, learner.attributes["points"].astype(np.float64)
        b = f.f.coef[0, : learner.size].astype(np.float64)
        norm = b @ reference.matrix(GAUSSIAN, C, C) @ b
        assert float(f.norm) == pytest.approx(norm, rel=ROUNDING[dtype])
        radius = float(f.largest) / math.sqrt(1e-3)
        size = math.sqrt(float(f.norm)) / (1e-3 * float(f.t))
        assert size <= radius * (1 + 1e-12)
        projected += size > radius * (1 - 1e-9)
    assert projected > 0
    other = Learner(spec, Regression(), dtype=dtype)
    other.learn(X[::-1], y[::-1])
    learner.merge(other)
    C, b = learner.attributes["points"].astype(np.float64), learner._state.f.coef[0, : learner.size].astype(np.float64)
    assert float(learner._state.norm) == pytest.approx(b @ reference.matrix(GAUSSIAN, C, C) @ b, rel=1e-6)


def test_there_is_no_projection_above_one_nor_with_other_losses():
    squared = Case(AVM(kernel=GAUSSIAN, loss="squared", regularization=1.5, coverage=WIDE), REGRESSION, "squared")
    huber = Case(AVM(kernel=GAUSSIAN, loss="huber", regularization=0.01, coverage=WIDE), REGRESSION, "huber")
    for case in (squared, huber):
        learner = case.learner()
        learner.learn(*stream(REGRESSION))
        assert learner._state.norm == learner._state.largest == 0.0


@pytest.mark.parametrize("output", ["average", "suffix"])
@pytest.mark.parametrize("task", [BINARY, MULTICLASS])
def test_an_average_is_the_mean_of_the_last_functions(output, task):
    """A second learner shows f itself after each round; the mean of what it shows is what an average shows."""
    X, y = stream(task)
    classes = np.unique(y)
    make = Binary if task == BINARY else Multiclass
    spec = AVM(kernel=GAUSSIAN, coverage=WIDE)
    last = Learner(spec, make(classes), dtype="float64")
    mean = Learner(replace(spec, output=output, suffix=0.4), make(classes), dtype="float64")
    probe, functions = X[:20], []
    for t in range(len(y)):
        last.learn(X[t : t + 1], y[t : t + 1])
        mean.learn(X[t : t + 1], y[t : t + 1])
        functions.append(last.scores(probe))
        start = int(mean._state.start[0])
        expected = np.mean(functions[start:], axis=0)
        assert np.abs(mean.scores(probe) - expected).max() <= ROUNDING["float64"] * max(1.0, np.abs(expected).max())
        if output == "suffix":
            # A share alpha to alpha (2 - alpha), but for the rounding of the two windows' starts to whole rounds.
            assert 0.4 * (t + 1) <= t + 1 - start <= 0.64 * (t + 1) + 2.0
        else:
            assert start == 0
    assert mean.size == last.size
    shown = reference.matrix(GAUSSIAN, probe, mean.attributes["points"]) @ mean.attributes["average"]
    assert np.abs(mean.scores(probe) - shown).max() <= ROUNDING["float64"] * max(1.0, np.abs(shown).max())


# Parameters and the paper's number.


@pytest.mark.parametrize(
    "wrong",
    [
        {"coverage": 0.0}, {"coverage": "wide"}, {"cells": "cube"}, {"output": "best"}, {"suffix": 0.0}, {"rounds": 0},
        {"suffix": 1.0}, {"beta": -1.0}, {"rho": 0.0}, {"regularization": 0.0}, {"loss": "gloss"},
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_parameter_is_named(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}={next(iter(wrong.values()))!r}"):
        AVM(**wrong)


def test_cod_rna_comes_out_as_published(data_directory):
    """Table 4, AVM-Hinge: 5.61 +- 0.17 % mistakes with 436 points; parameters from the authors' scripts."""
    parts = ("train", "test")
    blocks = [b for p in parts for b in open_source(data_directory / "cod-rna" / f"cod-rna.{p}.libsvm.xz")]
    width = max(x.shape[1] for x, _ in blocks)
    X = np.concatenate(
        [sp.csr_array((x.data, x.indices, x.indptr), shape=(x.shape[0], width)).toarray() for x, _ in blocks]
    )
    y = np.concatenate([y for _, y in blocks])
    X = (2.0 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1.0).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(y))
    spec = AVM(kernel=Gaussian(gamma=0.0625), loss="hinge", regularization=8.398e-5, coverage=1.0)
    learner = Learner(spec, Binary([-1, 1]))
    shown = learner.predict_learn(X[order], y[order])
    assert len(y) == 331152
    assert 100 * np.mean(shown != y[order]) <= 6.0
    assert 400 <= learner.size <= 460
