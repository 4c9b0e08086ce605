"""Every law for every algorithm in the table and for the skeleton; laws of one algorithm alone; the kit itself."""

import zlib
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array

from kernelstream import (
    ALGORITHMS,
    AROW,
    FOGD,
    KOIL,
    NOGD,
    OGD,
    OMKC,
    SCW,
    UFOMKL,
    AdaRaker,
    Binary,
    BudgetKRLS,
    KRLSTracker,
    Learner,
    Multiclass,
    Pegasos,
    Perceptron,
    ProsNKons,
    Raker,
    Regression,
    Ridge,
    laws,
    make,
)
from kernelstream import algorithms as table
from kernelstream.algorithms._skeleton import Skeleton
from kernelstream.engine.runner import Runner
from kernelstream.kernels import KERNELS, Gaussian, Kernel, Laplacian, Polynomial
from kernelstream.laws import checking
from kernelstream.laws.agreement import N_ROWS, ROUNDING, snapshot
from kernelstream.laws.cases import Case, learn_in_blocks, one_a_task
from kernelstream.laws.examples import TASKS, composite_kernels, example_kernels, sparse_rows, stream
from kernelstream.losses import BORDERED, LOSSES, Hinge, Logistic, Loss
from kernelstream.numerics.compile import INTERPRETED
from kernelstream.schedules import InverseSqrt, InverseTime
from kernelstream.tasks import BINARY, MULTICLASS, REGRESSION

SPECS = {
    **{name: spec for name, spec in ALGORITHMS.items() if name != "stack"},  # it is tried in test_stack
    "pegasos, average": Pegasos(output="average"),
    "fogd, structured map": FOGD(map="structured"),
    "fogd, quasi map": FOGD(map="quasi"),
    "fogd, binning": FOGD(kernel=Laplacian(), map="binning"),
    "ridge, exact": Ridge(solve="exact", forward=True),
    "ridge, nystrom": Ridge(map="nystrom", forget=0.98),
    "ridge, exact nystrom": Ridge(map="nystrom", solve="exact"),
    "krls-fb, relabelling": BudgetKRLS(relabelling=0.5),
    "krls-t, forgetting": KRLSTracker(forget=0.98),
    "raker, fixed rate": Raker(hedge=0.5),
    "adaraker, from zero": AdaRaker(begin="zero"),
    "omkc, deterministic": OMKC(update="deterministic"),
    "omkc, three metrics": OMKC(candidates=(Gaussian(0.3), Laplacian(0.2), Polynomial(degree=2, gamma=0.2))),
    "ufo-mkl, sparse": UFOMKL(sparsity=0.05),
    "arow, diagonal": AROW(covariance="diagonal"),
    "scw, second": SCW(variant=2),
    "koil, oldest": KOIL(replacement="oldest"),
    "pros-n-kons, whole": ProsNKons(restart="whole"),
    **{f"{name}, no budget": make(name, budget=None) for name in ("lasvm", "qklms", "krls", "kapa")},
    "skeleton": Skeleton(),
}
GAUSSIAN = Gaussian(gamma=0.3)
BUDGET = "budget_is_never_exceeded"


CASES = {name: laws.cases_by_law(spec) for name, spec in SPECS.items()}

# Sums and products of kernels have records like others: learners that see them in each way stand for all.
SUM, NESTED, _, SPECTRAL, *_ = composite_kernels()
WITH_COMPOSITES = {
    name: one_a_task(laws.selection(SPECS[name], [SPECTRAL] if name == "fogd" else [SUM, NESTED]))
    for name in ("ogd", "polk", "nogd", "fogd")
}
NOT_OF_KERNELS = laws.LEARNER_LAWS.keys() - {"nothing_is_recompiled", "settling_does_not_depend_on_the_cut"}


def in_turn(law, name):
    """One case a task, another for every law and learner: together they have every kernel and every loss many times.

    The reference is compared with on all.
    """
    tried = CASES[name][law]
    if law == "equals_its_reference":
        return tried
    by_task = {task: [case for case in tried if case.task == task] for task in SPECS[name].tasks}
    turn = zlib.crc32(f"{law} {name}".encode())
    return [some[turn % len(some)] for some in by_task.values() if some]


# One algorithm after the other: workers that share the tests compile or load each of them once.
LAWS_OF_ALL = [
    pytest.param(law, name, id=f"{law}-{name}") for name in SPECS for law, tried in CASES[name].items() if tried
]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_block_size_has_no_effect_with_what_a_learner_settles_itself(name):
    for task in ALGORITHMS[name].tasks:
        X, y = stream(task, n=300)
        whole = Learner(name, TASKS[task]())
        expected = whole.learn(X, y)
        for height in (1, 70):
            learner = Learner(name, TASKS[task]())
            assert np.array_equal(learn_in_blocks(learner, X, y, height), expected), (task, height)
            assert snapshot(learner) == snapshot(whole), (task, height)


@pytest.mark.parametrize(("law", "name"), LAWS_OF_ALL)
def test_law(law, name):
    laws.check_law(law, in_turn(law, name))


@pytest.mark.parametrize(("law", "name"), LAWS_OF_ALL)
def test_law_in_every_case(law, name):
    laws.check_law(law, CASES[name][law])


def test_the_cases_in_turn_have_every_kernel_and_loss():
    chosen = [
        case
        for name, tried in CASES.items()
        for law in tried
        if law != "equals_its_reference"
        for case in in_turn(law, name)
    ]
    everything = [case for tried in CASES.values() for cases in tried.values() for case in cases]
    for of in (lambda case: (type(case.spec.kernel), case.task), lambda case: (case.loss, case.task)):
        assert set(map(of, chosen)) == set(map(of, everything))


@pytest.mark.parametrize("law", [law for law in laws.ALGORITHM_LAWS if law not in NOT_OF_KERNELS])
@pytest.mark.parametrize("name", WITH_COMPOSITES)
def test_law_with_sums_and_products_of_kernels(law, name):
    laws.check_law(law, [case for case in WITH_COMPOSITES[name] if laws.applies(law, case)])


# What the table covers.


@pytest.mark.parametrize("name", SPECS)
def test_every_kernel_loss_and_task_of_an_algorithm_is_in_a_case(name):
    spec = SPECS[name]
    chosen = laws.selection(spec)
    assert {(c.task, c.loss) for c in chosen} == {(task, loss) for task in spec.tasks for loss in spec.losses(task)}
    kernels = {type(c.spec.kernel) for c in chosen}
    assert kernels == {kernel for kernel in KERNELS.values() if takes(spec, kernel)}


def takes(spec, kernel):
    try:
        replace(spec, kernel=kernel())
    except ValueError as refusal:
        assert kernel.__name__ in str(refusal)  # by name
        return False
    return True


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_a_reference_and_its_name_in_the_table(name):
    assert ALGORITHMS[name].name == name
    assert laws.applies("equals_its_reference", laws.selection(ALGORITHMS[name])[0])


def test_every_kernel_has_an_example_and_every_loss_a_case():
    assert {type(k) for k in example_kernels()} == set(KERNELS.values())
    assert {case.loss for spec in SPECS.values() for case in laws.selection(spec)} == {*LOSSES, *BORDERED}


@pytest.mark.parametrize("name", SPECS)
def test_a_law_of_learner_is_tried_once_a_task_and_the_others_on_every_kernel_and_loss(name):
    spec = SPECS[name]
    for law, tried in CASES[name].items():
        if law in laws.LEARNER_LAWS:
            asked = law not in spec.exempt and (law != "nothing_is_recompiled" or not INTERPRETED)
            settles = law == "settling_does_not_depend_on_the_cut"
            tasks = [task for task in spec.tasks if asked and (spec.depends_on_data(task) or not settles)]
            assert [case.task for case in tried] == tasks
        elif tried and law not in ("late_classes_add_an_output", "a_third_class_keeps_the_margin"):
            covered = laws.selection(spec)
            assert {str(c.spec.kernel) for c in tried} == {str(c.spec.kernel) for c in covered}
            assert {(c.task, c.loss) for c in tried} == {(c.task, c.loss) for c in covered}


@pytest.mark.parametrize("name", [name for name in SPECS if CASES[name][BUDGET]])
def test_the_budget_is_reached_in_the_cases_that_check_it(name):
    sizes = []
    for case in CASES[name][BUDGET]:
        learner = case.learner("float32")
        learner.learn(*stream(case.task))
        sizes.append(learner.size == case.spec.budget)
    assert np.mean(sizes) > 0.5


# Beyond one tile of points, one tile of columns and one chunk of rows.


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "spec",
    [
        OGD(kernel=GAUSSIAN, loss="logistic", learning_rate=0.1),
        OGD(kernel=SUM, loss="logistic", learning_rate=0.1),
        FOGD(kernel=GAUSSIAN, n_components=300),
        NOGD(kernel=GAUSSIAN, budget=1100, rank=30, loss="logistic", learning_rate=0.1),
    ],
    ids=lambda spec: spec.name,
)
def test_block_size_has_no_effect_on_large_models(spec, dtype):
    X, y = stream(BINARY, n=1300)
    whole = Learner(spec, Binary([-1, 1]), dtype=dtype)
    expected = whole.learn(X, y)
    for height in (1, 97):
        learner = Learner(spec, Binary([-1, 1]), dtype=dtype)
        assert np.array_equal(learn_in_blocks(learner, X, y, height), expected)
        assert snapshot(learner) == snapshot(whole)


def test_a_row_is_spread_out_or_not_whatever_rows_are_beside_it():
    X = sparse_rows(60)
    X[::2] = np.random.default_rng(1).normal(size=(30, 40))  # dense and sparse rows in turn
    y = np.where(X[:, 0] > 0, 1, -1)
    whole, single = (Learner(OGD(kernel=GAUSSIAN), Binary([-1, 1])) for _ in range(2))
    assert np.array_equal(whole.learn(csr_array(X), y), learn_in_blocks(single, csr_array(X), y, 1))


# Steps by hand.


@pytest.mark.parametrize("weight", [1, 2, 5])
def test_one_weighted_step_by_hand(weight):
    x, z = np.array([[1.0, -2.0, 0.5]]), np.array([[0.5, 0.0, 1.0]])
    k = np.exp(-0.3 * ((x - z) ** 2).sum())
    hinge = Learner(OGD(kernel=GAUSSIAN, learning_rate=0.25), Binary([-1, 1]), dtype="float64")
    hinge.learn(x, [-1], weight)  # the slope at 0 is +1
    assert hinge.scores(z)[0, 0] == pytest.approx(-0.25 * weight * k, rel=1e-14)
    squared = Learner(NOGD(kernel=GAUSSIAN, learning_rate=0.25), Regression(), dtype="float64")
    squared.learn(x, [3.0], weight)  # the slope at 0 is -3
    assert squared.scores(z)[0, 0] == pytest.approx(0.25 * weight * 3.0 * k, rel=1e-14)
    classes = Learner(Perceptron(kernel=GAUSSIAN), Multiclass(["a", "b", "c"]), dtype="float64")
    classes.learn(x, ["c"], weight)  # a tie: the lowest other class pays
    assert classes.scores(z)[0] == pytest.approx([-weight * k, 0.0, weight * k], rel=1e-14)


def test_regularization_shrinks_the_function_every_round():
    X, y = stream(BINARY)
    learner = Learner(OGD(kernel=GAUSSIAN, learning_rate=0.5, regularization=0.1), Binary([-1, 1]), dtype="float64")
    learner.learn(X, y)
    before = learner.scores(X)
    learner.learn(X[:3], y[:3], 0.0)
    np.testing.assert_allclose(learner.scores(X), before * 0.95**3, rtol=1e-12)


def test_the_sixteen_kernels_of_omkcs_paper_are_learned_side_by_side():
    powers = [Polynomial(degree=degree, gamma=1.0, offset=0.0) for degree in (1, 2, 3)]
    widths = [Gaussian(sigma=2.0**power) for power in range(-6, 7)]
    for update in ("deterministic", "stochastic"):
        spec = OMKC(candidates=(*powers, *widths), update=update, budget=None)
        laws.check_law("equals_its_reference", [Case(spec, BINARY, "perceptron")])
    with pytest.raises(ValueError, match=r"function of several metrics.*Give its parts as candidates"):
        OMKC(candidates=(Gaussian(1.0) + Polynomial(gamma=1.0),))


# Merging that is exact for a reason of the algorithm's own.


@pytest.mark.parametrize("kernel", [GAUSSIAN, Polynomial(gamma=0.1)], ids=str)
def test_nogd_frozen_on_one_dictionary_merges_into_the_weighted_sum(kernel, tmp_path):
    X, y = stream(REGRESSION)
    spec = NOGD(kernel=kernel, budget=20, rank=8, learning_rate=0.05)
    a = Learner(spec, Regression(), dtype="float64")
    a.learn(X[:60], y[:60])
    assert a.size == 20
    a.save(tmp_path / "a.ks")
    b = Learner.load(tmp_path / "a.ks")
    a.learn(X[60:90], y[60:90])
    b.learn(X[90:], y[90:])
    expected = (a.n_seen * a.scores(X) + b.n_seen * b.scores(X)) / (a.n_seen + b.n_seen)
    a.merge(b)
    np.testing.assert_allclose(a.scores(X), expected, atol=ROUNDING["float64"])


def test_nogd_with_a_full_rank_merges_over_its_budget_by_projection():
    """Terms beyond the budget are projected: what lies in the span of the kept points survives exactly."""
    X, y = stream(REGRESSION, n=20)
    a, b = (Learner(NOGD(kernel=GAUSSIAN, budget=25, rank=25), Regression(), dtype="float64") for _ in range(2))
    a.learn(X, y)
    b.learn(X[::-1], y[::-1])
    a.learn(np.full((1, 6), 3.0), [1.0])
    expected = (21 * a.scores(X) + 20 * b.scores(X)) / 41
    assert a.size + b.size > 25
    np.testing.assert_allclose(a.merge(b).scores(X), expected, atol=1e-7)  # points appear twice: a singular Gram matrix
    assert a.size <= 25


@pytest.mark.parametrize(
    ("name", "mine", "theirs"),
    [("loss", Hinge(), Logistic()), ("learning_rate", InverseSqrt(0.5), InverseTime(0.5))],
    ids=["loss", "learning_rate"],
)
def test_merge_sees_the_difference_of_nested_specs(name, mine, theirs):
    X, y = stream(BINARY)
    a, b = (Learner(replace(OGD(kernel=GAUSSIAN), **{name: part}), Binary([-1, 1])) for part in (mine, theirs))
    a.learn(X, y)
    b.learn(X, y)
    with pytest.raises(ValueError, match=name):
        a.merge(b)


def test_merging_grows_to_the_wider_of_two_learners():
    X, y = stream(BINARY)
    for spec in (OGD(kernel=GAUSSIAN), FOGD(kernel=GAUSSIAN, n_components=20), NOGD(kernel=GAUSSIAN, budget=400)):
        narrow, wide = (Learner(spec, Binary([-1, 1]), dtype="float64", grow_features=True) for _ in range(2))
        narrow.learn(X[:75, :4], y[:75])
        wide.learn(X[75:], y[75:])
        probe = np.where(np.arange(6) < 4, X, 0.0)  # features that a learner has never seen count as 0
        expected = (narrow.scores(probe) + wide.scores(probe)) / 2
        assert narrow.merge(wide).width == 6
        np.testing.assert_allclose(narrow.scores(probe), expected, atol=ROUNDING["float64"])
        narrow.learn(X, y)


# The kit itself: it runs on what users write, and it can fail.


@dataclass
class Wave(Kernel):
    """A kernel of a user's: 1 / (1 + d) with d the Manhattan distance."""

    metric: ClassVar[int] = 2

    def constants(self):
        return ()

    @staticmethod
    def formula(constants, row):
        one = row.dtype.type(1)
        for j in range(row.shape[0]):
            row[j] = one / (one + row[j])


@dataclass
class Skewed(Kernel):
    """Not positive definite."""

    metric: ClassVar[int] = 1

    def constants(self):
        return ()

    @staticmethod
    def formula(constants, row):
        pass


@dataclass
class Quartic(Loss):
    tasks: ClassVar[tuple[str, ...]] = (REGRESSION,)

    @staticmethod
    def formula(constants, m, slope):
        slope[0] = m**3
        return m**4 / 4


@dataclass
class Contradictory(Loss):
    """Its slope belongs to another value."""

    tasks: ClassVar[tuple[str, ...]] = (REGRESSION,)

    @staticmethod
    def formula(constants, m, slope):
        slope[0] = m
        return m * m


@dataclass
class Even(Skeleton):
    """An algorithm of a user's: both sides of a merge count the same, however many rows each has seen."""

    exempt: ClassVar[dict[str, str]] = {"merge_is_the_weighted_sum": "it is the mean"}

    def merge(self, record, state, other, weight):
        return super().merge(record, state, other, 0.5)


def test_the_kit_runs_on_what_users_write():
    laws.check_kernel(Wave())
    laws.check_loss(Quartic())
    laws.check_algorithm(Even)


def test_the_kit_catches_a_kernel_that_is_not_positive_definite():
    with pytest.raises(AssertionError, match="eigenvalue"):
        laws.check_kernel(Skewed())


def test_the_kit_catches_a_slope_that_is_not_the_values_derivative():
    with pytest.raises(AssertionError, match="slopes in output 0"):
        laws.check_loss(Contradictory())


def case_of(spec, task=BINARY):
    return next(c for c in laws.selection(spec) if c.task == task)


def test_the_kit_catches_a_budget_that_is_exceeded(monkeypatch):
    monkeypatch.setattr(NOGD, "n_stored", lambda self, state: int(state.map.f.size) + 1)
    with pytest.raises(AssertionError, match="21 points"):
        laws.ALGORITHM_LAWS["budget_is_never_exceeded"](case_of(NOGD))


def test_the_kit_catches_memory_that_grows(monkeypatch):
    monkeypatch.setattr(OGD, "bounded", True)
    case = case_of(OGD)
    assert laws.applies("memory_is_flat", case)
    with pytest.raises(AssertionError, match="bytes"):
        laws.ALGORITHM_LAWS["memory_is_flat"](case)


def test_the_kit_catches_an_effect_of_the_block_size(monkeypatch):
    original = Runner.learn

    def forgetful(self, *given):  # called once a block, and not for a single row
        self.state.f.coef[...] *= 0.999
        original(self, *given)

    monkeypatch.setattr(Runner, "learn", forgetful)
    with pytest.raises(AssertionError, match="in blocks of 7 rows"):
        laws.ALGORITHM_LAWS["block_size_has_no_effect"](case_of(OGD))


def test_the_kit_catches_a_state_that_a_file_does_not_hold(monkeypatch):
    original = Learner.save

    def lossy(self, path, **extra):
        if self.settled is not None:
            self._state.t[()] = 0
        original(self, path, **extra)

    monkeypatch.setattr(Learner, "save", lossy)
    with pytest.raises(AssertionError, match="t differ"):
        laws.ALGORITHM_LAWS["resumes_bit_for_bit"](case_of(OGD))


def test_the_kit_catches_a_merge_with_the_wrong_weights(monkeypatch):
    original = FOGD.merge
    monkeypatch.setattr(FOGD, "merge", lambda self, record, a, b, weight: original(self, record, a, b, 0.5))
    with pytest.raises(AssertionError, match="scores after a merge"):
        laws.ALGORITHM_LAWS["merge_is_the_weighted_sum"](case_of(FOGD))


def test_a_row_in_the_table_is_all_that_a_new_algorithm_needs(monkeypatch):
    monkeypatch.setitem(table.ALGORITHMS, "skeleton", Skeleton())
    case = case_of(table.make("skeleton"), REGRESSION)
    applicable = [name for name in laws.ALGORITHM_LAWS if laws.applies(name, case)]
    excused = set(checking._APPLIES) - {"equals_its_reference", "nothing_is_recompiled"}
    assert set(laws.ALGORITHM_LAWS) - set(applicable) <= excused | ({"nothing_is_recompiled"} if INTERPRETED else set())
    laws.ALGORITHM_LAWS["merge_refuses_strangers"](case_of(OGD, MULTICLASS))


@pytest.mark.parametrize(
    ("name", "law"), [(name, law) for name, spec in SPECS.items() for law in spec.exempt], ids=lambda word: word
)
def test_an_exemption_is_of_a_law_that_does_not_hold(name, law, monkeypatch):
    spec = SPECS[name]
    assert not CASES[name][law]
    monkeypatch.setattr(type(spec), "exempt", {})
    with pytest.raises((AssertionError, ValueError)):
        for case in laws.cases_by_law(spec)[law]:
            laws.ALGORITHM_LAWS[law](case)


def test_an_algorithm_of_a_user_says_itself_which_law_cannot_hold(monkeypatch):
    law = "merge_is_the_weighted_sum"
    assert laws.cases_by_law(Skeleton)[law] and not laws.cases_by_law(Even)[law]
    monkeypatch.setattr(Even, "exempt", {})
    with pytest.raises(AssertionError, match="scores after a merge"):
        laws.check_algorithm(Even)


def test_a_law_that_fails_names_all_the_cases_in_which_it_does():
    good, bad = (Case(spec, REGRESSION, "squared") for spec in (Skeleton(kernel=GAUSSIAN), Even(kernel=Polynomial())))
    with pytest.raises(AssertionError) as failure:
        laws.check_law("merge_is_the_weighted_sum", [good, bad, good, bad])
    said = str(failure.value)
    assert said.startswith("merge_is_the_weighted_sum fails in 2 of 4 cases (") and "scores after a merge" in said
    assert said.count(str(bad)) >= 2 and str(good) not in said


def test_an_exemption_from_a_law_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setattr(Even, "exempt", {"merge_is_the_mean": "a slip of the pen"})
    with pytest.raises(ValueError, match="skeleton is exempt from merge_is_the_mean, which is no law; laws are"):
        laws.check_algorithm(Even)


def test_streams_of_the_laws_are_long_enough_to_mean_something():
    """Learners beat guessing on them, so scores are not noise around zero."""
    X, y = stream(BINARY)
    learner = Learner(OGD(kernel=GAUSSIAN), Binary([-1, 1]))
    shown = learner.predict_learn(X, y)
    assert np.mean(shown[N_ROWS // 2 :] == y[N_ROWS // 2 :]) > 0.7
