"""What `make bench` stands on: turns that notice a disturbance, floors that compute what they say, lines, verdicts."""

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks import bare
from benchmarks.cases import Case, base_parameters, margins
from benchmarks.data import sparse_synthetic, synthetic
from benchmarks.floors import FLOORS, floor, words
from benchmarks.growth import billion_rows, fit, time_words
from benchmarks.measure import Plan, in_turns, over
from benchmarks.page import write_page
from benchmarks.results import Results
from benchmarks.targets import verdicts
from matplotlib.image import imread

from kernelstream import ALGORITHMS

ROOT = Path(__file__).parents[1]


class Clock:
    """A clock that works move on, each by the next of its own numbers of seconds."""

    def __init__(self, **seconds):
        self.now = 0.0
        self.works = {name: self.work(iter(times)) for name, times in seconds.items()}

    def work(self, times):
        def run():
            self.now += next(times)

        return lambda: run

    def __call__(self):
        return self.now


def test_ratios_are_taken_turn_by_turn():
    # A run of each comes before the turns, and the floor stands on both sides of one.
    clock = Clock(floor=[1, 1, 1, 2, 2], ours=[3, 3, 6])
    turns = in_turns(Plan(turns=2, shortest=0.0), clock.works, yardstick="floor", clock=clock)
    assert turns.seconds == {"floor": [1, 2], "ours": [3, 6]}
    assert over(turns.as_json(), "ours", "floor") == (3, 3, 3)
    assert not turns.disturbed


def test_a_disturbed_turn_is_repeated():
    clock = Clock(floor=[1, 1, 1.2, 1, 1, 1, 1.05], ours=[3, 9, 4, 4])
    turns = in_turns(Plan(turns=2, shortest=0.0), clock.works, yardstick="floor", clock=clock)
    assert turns.seconds["ours"] == [4, 4]
    assert (turns.rejected, turns.disturbed) == (1, False)


def test_a_figure_that_stays_disturbed_says_so():
    floors = [1, *([1, 2] * 3), 1, 1.5, *([1, 2] * 4)]
    clock = Clock(floor=floors, ours=[3, *range(8)])
    turns = in_turns(Plan(turns=2, shortest=0.0), clock.works, yardstick="floor", clock=clock)
    assert (turns.rejected, turns.disturbed) == (8, True)
    assert turns.seconds["ours"][0] == 3, "the least disturbed turn comes first"


def test_a_short_work_is_repeated_until_it_can_be_timed():
    clock = Clock(floor=[1] * 99, ours=[0.25] * 99)
    turns = in_turns(Plan(turns=1, shortest=1.0), clock.works, yardstick="floor", clock=clock)
    assert turns.seconds == {"floor": [1], "ours": [0.25]}
    assert clock.now == 2 * (1 + 0.25) + 1 + 4 * 0.25 + 1


def test_every_learner_has_a_floor_in_words():
    assert list(FLOORS) == list(ALGORITHMS)
    assert all(words(name) for name in FLOORS)


def case_of(name, data, **parameters):
    return Case(name, data, {**base_parameters(name), **parameters})


@pytest.mark.parametrize("classes", [2, 3])
def test_the_course_is_that_of_the_run(classes):
    """The Perceptron stores a row exactly when its margin was not positive; RBP never holds more than its budget."""
    data = synthetic(300, 4, classes)
    case = case_of("perceptron", data)
    mistakes = margins(case.ours()(), data.y) <= 0
    course = case.course
    np.testing.assert_array_equal(course.moved, mistakes)
    np.testing.assert_array_equal(course.sizes, np.concatenate([[0], np.cumsum(mistakes)[:-1]]))
    assert not course.gone.any()
    budgeted = case_of("rbp", data, budget=20).course
    assert budgeted.sizes.max() == 20
    np.testing.assert_array_equal(budgeted.gone > 0, budgeted.moved & (budgeted.sizes == 20))


def test_margins_are_those_of_the_losses():
    scores = np.array([[1.0, 2.0, 0.5], [3.0, -1.0, 2.5]])
    np.testing.assert_array_equal(margins(scores, np.array([0, 2])), [-1.0, -0.5])
    np.testing.assert_array_equal(margins(scores[:, :1], np.array([-1, 1])), [-1.0, 3.0])


@pytest.mark.parametrize("name", ["norma", "bsgd-p", "polk", "tvm", "nogd"])
def test_courses_of_learners_that_rescale_project_or_refit(name):
    small = {"bsgd-p": {"budget": 30}, "tvm": {"budget": 30}, "nogd": {"budget": 30, "rank": 6}}
    course = case_of(name, synthetic(400, 4), **small.get(name, {})).course
    assert 0 < course.moved.mean() < 1
    assert (np.diff(course.sizes) <= course.moved[:-1]).all(), "a row adds one point at most, and only if f moved"


@pytest.mark.parametrize("d", [3, 6, 8])
def test_kernel_rows_are_what_they_say(d):
    """All three ways give the same sum of scores as NumPy."""
    rng = np.random.default_rng(0)
    X, points, coef = rng.normal(size=(9, d)), rng.normal(size=(1500, d)), rng.normal(size=(2, 1500))
    sizes = np.array([0, 1, 5, 700, 1023, 1024, 1025, 1499, 1500])
    X[X < 0] = 0
    distances = ((X[:, None] - points[None]) ** 2).sum(2)
    kernel = np.exp(-0.3 * distances) * (np.arange(1500) < sizes[:, None])
    expected = (kernel @ coef.T).sum()
    columns, norms, row = np.ascontiguousarray(points.T), (points**2).sum(1), np.zeros(1500)
    assert bare.gaussian_rows(X, columns, coef, sizes, 0.3, row) == pytest.approx(expected)
    S = sp.csr_array(X)
    parts = S.indptr.astype(np.int64), S.indices.astype(np.int64), S.data
    assert bare.sparse_gaussian_rows(*parts, columns, norms, coef, sizes, 0.3, row) == pytest.approx(expected)
    G = X @ columns
    assert bare.finish_products(G, (X**2).sum(1), norms, coef, sizes, 0.3) == pytest.approx(expected)


def test_rounds_are_what_they_say():
    rng = np.random.default_rng(0)
    Z, weights, moved = rng.normal(size=(7, 5)), rng.normal(size=(3, 5)), np.arange(7) % 2 == 0
    W, expected = weights.copy(), 0.0
    for z, moves in zip(Z, moved, strict=True):
        expected += (W @ z).sum()
        W[:2] += moves * 0.1 * z
    assert bare.linear_rounds(Z, weights, moved, 0.1) == pytest.approx(expected)
    np.testing.assert_allclose(weights, W)


def test_a_rank_one_update_is_one():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    K = A @ A.T
    R = np.linalg.cholesky(K).T.copy()
    bare.rank_one_updates(R, np.array([6]), np.zeros(6))
    np.testing.assert_allclose(R.T @ R, K + 1e-16)
    assert not np.tril(R, -1).any()


@pytest.mark.parametrize("name", {FLOORS[name]: name for name in reversed(ALGORITHMS)}.values())
def test_every_floor_runs(name):
    data = synthetic(200, 4)
    small = {"budget": 20} if "budget" in base_parameters(name) else {}
    if hasattr(ALGORITHMS[name], "n_components"):
        small["n_components"] = 8
    if name == "nogd":
        small["rank"] = 4
    case = case_of(name, data, **small)
    floor(case)()()
    assert case.course.moved.any()


@pytest.mark.parametrize("name", ["fogd", "rrf", "nogd", "rbp", "avm"])
def test_floors_of_sparse_rows_run(name):
    data = sparse_synthetic(150, 40, 4)
    assert (np.diff(data.X.indptr) == 4).all()
    small = {"n_components": 8} if hasattr(ALGORITHMS[name], "n_components") else {}
    floor(case_of(name, data, **small))()()


def test_a_power_law_is_found():
    line = fit([1, 10, 100], [[3 * x**1.5, 3 * x**1.5] for x in (1, 10, 100)])
    assert line.exponent == pytest.approx((1.5, 1.5, 1.5))
    assert (line.factor, line.last, line.at(1000)) == pytest.approx((3, 1.5, 3 * 1000**1.5))
    assert fit([5, 5], [[1], [1]]) is None


def made_up(tmp_path, **parts):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"machine": "none", "parts": parts}))
    return Results(path)


def figure(learner, ours, floor, **facts):
    seconds = {"ours": ours, "floor": floor, "sklearn": ours, "river": ours}
    record = {"learner": learner, "data": "cod-rna", "d": 8, "rows": 1000, "K": 1, "size": 7, "bytes": 400}
    record |= {"seconds": seconds, "rows_of": {"ours": 1000, "floor": 1000, "sklearn": 500, "river": 10}}
    return record | {"rejected": 0, "disturbed": False, "names": {"sklearn": "-", "river": "-"}} | facts


def test_a_target_that_is_missed_is_named(tmp_path):
    sizes = [figure("rbp", [2.4, 2.6], [1, 1], budget=100), figure("rbp", [1.1, 1.1], [1, 1], budget=400)]
    results = made_up(
        tmp_path, rbp=[figure("rbp", [1.9, 1.8], [1, 1])], tvm=[figure("tvm", [50, 60], [1, 1])], budgets=sizes
    )
    every, _, _, budgets, near, *_ = verdicts(results)
    assert every.holds is False
    assert [miss.split(":")[0] for miss in every.misses] == ["tvm (cod-rna)"]
    assert "27x" in every.misses[0] or "28x" in every.misses[0]
    assert budgets.holds is False and budgets.measured == "1 of 2; 1.10x to 2.50x"
    assert budgets.misses[0].startswith("rbp, B = 100: 2.50x (2.40 to 2.60), 25 % above: what a row costs")
    assert near.holds is False, "1.85 is above 1.5"
    assert near.misses[0].startswith("rbp (cod-rna): 1.85x (1.80 to 1.90), 23 % above")


def test_a_billion_rows_follow_from_the_figures(tmp_path):
    lengths = (1000, 10_000)
    quadratic = [figure("ogd", [n**2 / 1e6] * 2, [1, 1], rows=n, size=n // 10, bytes=4 * n) for n in lengths]
    results = made_up(
        tmp_path, rbp=[figure("rbp", [2.0, 2.0], [1, 1])], ogd=[figure("ogd", [1, 1], [1, 1])], rows=quadratic
    )
    quick, slow = billion_rows(results)
    assert (quick.learner, quick.seconds.median, quick.bytes) == ("rbp", pytest.approx(2e6), 400)
    assert (slow.learner, slow.seconds.median, slow.size) == ("ogd", pytest.approx(1e12), pytest.approx(1e8))
    assert not slow.feasible


def test_the_page_is_written_from_any_part_of_the_results(tmp_path):
    for parts in ({}, {"rbp": [figure("rbp", [1.9, 1.8], [1, 1], disturbed=True)]}):
        write_page(made_up(tmp_path, **parts), tmp_path / "performance.md")
        text = (tmp_path / "performance.md").read_text()
        assert ("1.85x (1.80 to 1.90) *" in text) == bool(parts)
        assert ("stayed disturbed: rbp" in text) == bool(parts)


@pytest.mark.parametrize(
    ("seconds", "said"), [(3e-5, "30 us"), (0.5, "500 ms"), (90, "90.0 s"), (7200, "2.0 hours"), (1e9, "31.7 years")]
)
def test_times_in_words(seconds, said):
    assert time_words(seconds) == said


def bench(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )


def test_a_part_can_be_measured_alone(data_directory, tmp_path):
    readme = (ROOT / "README.md").read_bytes()
    for part in ("rbp", "river"):
        done = bench("--quick", "--out", str(tmp_path), part)
        assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results.json").read_text())["parts"]
    assert set(results) == {"rbp", "river"}, "what was measured before is kept"
    (record,) = results["rbp"]
    assert {"ours", "floor", "sklearn", "river"} == set(record["seconds"])
    assert all(t > 0 for times in record["seconds"].values() for t in times)
    page = (tmp_path / "performance.md").read_text()
    assert "| rbp | B = 400 |" in page
    (day,) = set(json.loads((tmp_path / "results.json").read_text())["days"].values())
    assert f"\nMeasured on {date.fromisoformat(day)}. " in page
    assert "| rbp, 200 points |" in page
    assert imread(tmp_path / "performance" / "floors.png").std() > 0, "something is drawn"
    assert (ROOT / "README.md").read_bytes() == readme


@pytest.mark.parametrize(("arguments", "words"), [(["nonsense"], "there is no part nonsense"), (["--quick"], "--out")])
def test_wrong_arguments_are_refused(arguments, words, monkeypatch, capsys):
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")  # what the import sets is taken back with it
    from benchmarks.__main__ import main

    with pytest.raises(SystemExit):
        main(arguments)
    assert words in capsys.readouterr().err
