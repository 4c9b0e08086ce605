"""Graphs of ONNX say what their models say: a law over learners, kernels, tasks, scalings and labels."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelstream
from kernelstream import (
    ALGORITHMS,
    AVM,
    FOGD,
    NOGD,
    NORMA,
    OGD,
    RRF,
    Auto,
    Binary,
    Density,
    FourierFeatures,
    Learner,
    Multiclass,
    OnlineKernelClassifier,
    OnlineKernelOutlier,
    OnlineKernelPCA,
    OnlineKernelRegressor,
    Pegasos,
    Regression,
    Ridge,
    Stack,
)
from kernelstream.kernels import SQUARED_DISTANCE, Gaussian, Kernel, Laplacian, Polynomial, SpectralMixture
from kernelstream.laws.cases import Case, cases, one_a_task
from kernelstream.laws.examples import composite_kernels, example_kernels, stream
from kernelstream.tasks import REGRESSION, Classification

ort = pytest.importorskip("onnxruntime", reason="pip install 'kernelstream[onnx]' brings onnxruntime")

FRESH = 150


def said_by(graph, X):
    """What the runtime says of rows, by name."""
    session = ort.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    (given,) = session.get_inputs()
    X = X.astype(np.float32 if given.type == "tensor(float)" else np.float64)
    return names, dict(zip(names, session.run(None, {given.name: X}), strict=True))


def differences(learner, X):
    """How far the graph's numbers are from the learner's, by output, and how many labels differ; of rows as their
    graph takes them.
    """
    X = X.astype(learner.dtype)
    names, said = said_by(kernelstream.to_onnx(learner), X)
    scores, shown = learner.scores(X), learner.predict(X)
    assert said[names[0]].shape == shown.shape
    if not isinstance(learner.task, Classification):
        assert names == ["value"]
        return {"value": np.abs(said["value"] - shown).max() / (np.abs(shown).max() or 1.0)}
    found = {
        "label": int((said["label"] != shown).sum()),
        "scores": np.abs(said["scores"] - scores).max() / (np.abs(scores).max() or 1.0),
    }
    if not learner.without_labels:
        found["probabilities"] = np.abs(said["probabilities"] - learner.probabilities(X)).max()
    assert set(names) == set(found) and names[0] == "label"
    return found


def require_equal(learner, X):
    off = 1e-5 if learner.dtype == "float32" else 1e-9
    found = differences(learner, X)
    assert all(value <= (0 if name == "label" else off) for name, value in found.items()), found


def learned(case, dtype="float32", n=300, **options):
    X, y = stream(case.task, n=n)
    learner = case.learner(dtype, **options)
    learner.learn(X, y)
    return learner


def fresh(width=6):
    return stream(REGRESSION, n=FRESH, width=width, seed=9).X


TABLE = [case for spec in ALGORITHMS.values() for case in one_a_task(cases(spec))]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case.spec.name}-{case.task}")
def test_every_learner_and_task(case, dtype):
    require_equal(learned(case, dtype), fresh())


# Kernels.


def taken_kernels(spec, kernels):
    loss = spec.losses(REGRESSION)[0]
    return [case for case in cases(spec, kernels) if (case.task, case.loss) == (REGRESSION, loss)]


KERNELS = [*example_kernels(), *composite_kernels()]
WITH_KERNELS = [*taken_kernels(OGD(), KERNELS), *taken_kernels(FOGD(), KERNELS)]


@pytest.mark.parametrize("case", WITH_KERNELS, ids=lambda case: f"{case.spec.name}-{case.spec.kernel}")
def test_every_kernel(case):
    require_equal(learned(case, "float64", n=60), fresh())


def with_every_kernel(spec):
    """A case of every task with every kernel that a learner takes."""
    found = {}
    for case in cases(spec, KERNELS):
        found.setdefault((str(case.spec.kernel), case.task), case)
    return list(found.values())


LAW = {name: with_every_kernel(spec) for name, spec in ALGORITHMS.items()}
SAMPLE = [case for name in ("ogd", "bsgd-m", "fogd", "nogd", "ridge") for case in LAW[name]][::13]


@pytest.mark.parametrize("name", LAW)
def test_every_learner_with_every_kernel_and_task(name):
    broken = {}
    for case in LAW[name]:
        try:
            require_equal(learned(case), fresh())
        except AssertionError as error:
            broken[str(case)] = str(error)
    assert not broken


@pytest.mark.parametrize("case", SAMPLE, ids=str)
def test_some_learners_with_some_kernels_and_tasks(case):
    require_equal(learned(case), fresh())


# What learners can be beside their defaults.

GAUSSIAN = Gaussian(gamma=0.3)
MIXTURE = SpectralMixture(0.3, n_parts=3, means=((1.0, 0.5), (0.0, 0.0, 2.0)))
VARIANTS = {
    "structured": FOGD(kernel=GAUSSIAN, n_components=1100, map="structured"),
    "quasi": FOGD(kernel=GAUSSIAN, n_components=24, map="quasi"),
    "mixture": RRF(kernel=MIXTURE, n_components=25, width_learning_rate=0.03),
    "binning": FOGD(kernel=Laplacian(gamma=0.3), n_components=24, map="binning"),
    "gathering": NOGD(kernel=GAUSSIAN, budget=400),
    "exact": Ridge(kernel=GAUSSIAN, n_components=24, solve="exact", forget=0.99),
    "forward": Ridge(kernel=GAUSSIAN, n_components=24, solve="exact", forward=True),
    "nystrom": Ridge(kernel=GAUSSIAN, n_components=24, map="nystrom"),
    "nystrom-gathering": Ridge(kernel=GAUSSIAN, n_components=400, map="nystrom", solve="exact", forward=True),
    "average": Pegasos(kernel=GAUSSIAN, regularization=0.1, start=2.0, output="average"),
    "suffix": AVM(kernel=GAUSSIAN, regularization=0.1, start=2.0, coverage=2.0, output="suffix"),
    "experts": Stack(
        parts=(Ridge(GAUSSIAN, n_components=24), FOGD(GAUSSIAN, n_components=24)), combine="squint", bound=1.0
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_every_form_of_a_learner(name):
    require_equal(learned(Case(VARIANTS[name], REGRESSION, "auto"), "float64"), fresh())


def test_one_point_and_none():
    X, _ = stream(REGRESSION, n=2)
    for kernel in (GAUSSIAN, Gaussian(gamma=0.3) + 0.7 * Polynomial(gamma=0.1)):
        for targets in ([0.0], [1.0]):  # of which the first leaves nothing to learn
            learner = Learner(OGD(kernel=kernel), Regression(), dtype="float64")
            learner.learn(X[:1], targets)
            assert learner.size == int(targets[0])
            require_equal(learner, fresh())


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_auto_from_its_first_row_to_its_cells(task):
    X, y = stream(task, n=9000, width=5)
    X[:, 1] = np.sinh(4 * X[:, 1])  # a heavy tail
    learner, start = Learner(Auto(size="small"), Case(Auto(), task, "auto").learner().task), 0
    for stop in (3, 200, 9000):
        learner.learn(X[start:stop], y[start:stop])
        require_equal(learner, X[:FRESH] * 0.9)
        start = stop
    with learner.reading() as (_, state):
        assert (state.columns.heavy > 0).any() and len(state.parts.cells) > 0


def test_auto_adds_what_is_beyond_its_widest_rows():
    X, y = stream("binary", n=40, width=1500)
    learner = Learner(Auto(size="small"), Binary([-1, 1]))
    learner.learn(X, y)
    require_equal(learner, X + 0.01)


# Scaling.


@pytest.mark.parametrize("scaling", ["online", "metric", "full-metric", "standard", "minmax"])
@pytest.mark.parametrize("regression", [True, False])
def test_every_scaling(scaling, regression):
    X, y = stream(REGRESSION if regression else "multiclass", n=400)
    X = 30.0 + X * [1.0, 100.0, 0.01, 1.0, 1.0, 0.0]
    kind = OnlineKernelRegressor if regression else OnlineKernelClassifier
    model = kind("fogd", n_components=24, gamma=0.1, scaling=scaling, random_state=0)
    model.fit(X, 1000.0 + 5.0 * y if regression else y)
    require_equal(model.learner_, X[:FRESH] * 1.01)


def test_scaling_of_sparse_rows():
    X, y = stream("binary")
    learner = Learner(FOGD(kernel=GAUSSIAN, n_components=24), Binary([-1, 1]), scaling="online", dtype="float64")
    learner.learn(csr_array(X), y)
    require_equal(learner, fresh())


# Labels.


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 7], [False, True], [-1.0, 2.0], ["a", "b", "c"], [2, 1, 9]])
def test_labels_are_as_they_were_given(labels):
    X, y = stream("multiclass" if len(labels) > 2 else "binary")
    named = np.array(labels)[np.unique(y, return_inverse=True)[1]]
    clf = OnlineKernelClassifier("fogd", n_components=24, gamma=0.3, random_state=0).fit(X, named)
    _, said = said_by(kernelstream.to_onnx(clf), fresh())
    assert said["label"].tolist() == clf.predict(fresh().astype(np.float32)).tolist()
    assert type(said["label"].tolist()[0]) is type(labels[0])
    assert np.abs(said["probabilities"] - clf.predict_proba(fresh())).max() < 1e-5


@pytest.mark.parametrize(("task", "loss"), [("binary", "logistic"), ("multiclass", "softmax")])
def test_probabilities_of_the_loss_itself(task, loss):
    case = Case(FOGD(kernel=GAUSSIAN, n_components=24, loss=loss), task, loss)
    require_equal(learned(case), fresh())


def test_classes_that_came_later():
    X, y = stream("multiclass")
    learner = Learner(FOGD(kernel=GAUSSIAN, n_components=24), Multiclass(["low"]), grow_classes=True)
    learner.learn(X[:1], ["low"])
    require_equal(learner, fresh())
    learner.learn(X, y)
    require_equal(learner, fresh())


# Faces.


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (
            make_pipeline(StandardScaler(), OnlineKernelClassifier("fogd")),
            r"A Pipeline has steps.*model\[-1\].*scaling=",
        ),
        (FourierFeatures(4), "A graph holds a Learner, or a fitted .* of FourierFeatures"),
        (OnlineKernelPCA(2), "A graph holds a Learner, or a fitted .* of OnlineKernelPCA"),
        (LogisticRegression(), "A graph holds a Learner, or a fitted .* of LogisticRegression"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_graph_is_refused_with_the_reason(model, why):
    X, y = stream("binary")
    with pytest.raises(ValueError, match=why):
        kernelstream.to_onnx(model.fit(X, y))


def test_an_estimator_that_was_not_fitted_has_no_graph():
    with pytest.raises(ValueError, match=r"This OnlineKernelClassifier has learned nothing.*: fit it first"):
        kernelstream.to_onnx(OnlineKernelClassifier("fogd"))


def test_a_regressor_of_several_targets():
    X, y = stream(REGRESSION)
    model = OnlineKernelRegressor("fogd", n_components=24, gamma=0.3, scaling="online", random_state=0)
    model.fit(X, np.column_stack([y, 100.0 + y**2]))
    _, said = said_by(kernelstream.to_onnx(model), fresh())
    shown = model.predict(fresh().astype(np.float32))
    assert said["value"].shape == shown.shape == (FRESH, 2)
    assert (np.abs(said["value"] - shown) < 1e-5 * np.abs(shown).max(axis=0)).all()


@pytest.mark.parametrize("kind", ["density", "norma"])
def test_a_detector_of_outliers(kind):
    rows = NORMA(kernel=GAUSSIAN, loss="novelty", budget=20, nu=0.2)
    spec = rows if kind == "norma" else Density(kernel=GAUSSIAN, n_components=50, nu=0.2)
    detector = OnlineKernelOutlier(spec, scaling="none", random_state=0).fit(fresh())
    names, said = said_by(kernelstream.to_onnx(detector), 1.5 * fresh())
    assert names == ["label", "scores"]  # which have no chances
    assert said["label"].tolist() == detector.predict(1.5 * fresh().astype(np.float32)).tolist()
    assert set(said["label"].tolist()) == {-1, 1}


# Refusals.


@dataclass
class Own(Kernel):
    metric = SQUARED_DISTANCE

    def constants(self):
        return ()

    @staticmethod
    def formula(constants, row):
        for j in range(row.shape[0]):
            row[j] = 1 / (1 + row[j])


class Mine(OGD):
    name = "mine"


def test_what_a_graph_cannot_hold_is_refused_by_name():
    X, y = stream(REGRESSION, n=20)
    learner = Learner(OGD(kernel=Own() + Gaussian(gamma=0.3)), Regression(), dtype="float64")
    with pytest.raises(ValueError, match="learned no row yet"):
        kernelstream.to_onnx(learner)
    learner.learn(X, y)
    with pytest.raises(ValueError, match="Own is a kernel of your own"):
        kernelstream.to_onnx(learner)
    learner = Learner(Mine(kernel=GAUSSIAN), Regression(), dtype="float64")
    learner.learn(X, y)
    with pytest.raises(ValueError, match="mine is an algorithm of your own"):
        kernelstream.to_onnx(learner)
    with pytest.raises(ValueError, match="fit it first"):
        kernelstream.to_onnx(OnlineKernelClassifier())
