"""Models of every library behind one face: numbers are those of a plain loop, also when labels come late."""

import numpy as np
import pytest
import scipy.sparse as sp
from river import linear_model, tree
from sklearn.linear_model import SGDClassifier, SGDRegressor

from kernelstream import Binary, Learner, Multiclass, OnlineKernelClassifier, Regression, make
from kernelstream.evaluate.models import SklearnModel, as_model
from kernelstream.evaluate.run import prequential, side_by_side
from kernelstream.kernels import Gaussian
from kernelstream.metrics import AUC, LogLoss, MistakeRate, metrics_from
from kernelstream.sources import ArraySource, OnlineScaling, open_source

TASKS = {"binary": Binary([0.0, 1.0]), "multiclass": Multiclass([0.0, 1.0, 2.0]), "regression": Regression()}
BLOCKS = (1, 37, 1000)


def stream(task, n=400):
    draws = np.random.default_rng(5)
    X = draws.normal(size=(n, 4))
    f = X[:, 0] - 0.5 * X[:, 1] ** 2
    if task == "regression":
        return X, f
    return X, np.digitize(f, [-0.4] if task == "binary" else [-0.9, 0.3]).astype(float)


def final(trace):
    return trace.last.metrics[trace.headline]


def mean_error(shown, y, task):
    return np.sqrt(np.mean((shown - y) ** 2)) if task == "regression" else np.mean(shown != y)


SKLEARN = {
    "binary": lambda: SGDClassifier(random_state=0),
    "multiclass": lambda: SGDClassifier(loss="log_loss", random_state=0),
    "regression": lambda: SGDRegressor(random_state=0),
}


@pytest.mark.parametrize("task", TASKS)
def test_an_estimator_of_scikit_learn_gets_the_numbers_of_a_plain_loop(task):
    X, y = stream(task)
    model, shown = SKLEARN[task](), []
    for t in range(len(y)):
        shown.append(model.predict(X[t : t + 1])[0] if t else 1.0 if task == "binary" else 0.0)
        model.partial_fit(X[t : t + 1], y[t : t + 1], **({} if task == "regression" else {"classes": np.unique(y)}))
    for block_rows in BLOCKS:
        trace = prequential(SKLEARN[task](), ArraySource(X, y, block_rows=block_rows))
        assert final(trace) == pytest.approx(mean_error(np.array(shown), y, task), rel=1e-12)
    assert (trace.algorithm, trace.last.bytes > 0) == (type(model).__name__, True)


RIVER = {
    "binary": lambda: linear_model.LogisticRegression(),
    "multiclass": lambda: tree.HoeffdingTreeClassifier(grace_period=50),
    "regression": lambda: linear_model.LinearRegression(),
}


@pytest.mark.parametrize("task", TASKS)
def test_a_model_of_river_gets_the_numbers_of_a_plain_loop(task):
    X, y = stream(task)
    model, shown = RIVER[task](), []
    for x, label in zip(X, y, strict=True):
        row = dict(enumerate(x))
        prediction = model.predict_one(row)
        shown.append((1.0 if task == "binary" else 0.0) if prediction is None else prediction)
        model.learn_one(row, label)
    for block_rows in BLOCKS:
        trace = prequential(RIVER[task](), ArraySource(X, y, block_rows=block_rows), task=TASKS[task])
        assert final(trace) == pytest.approx(mean_error(np.array(shown), y, task), rel=1e-12)


@pytest.mark.parametrize("classes", [(-1.0, 1.0), (1.0, 2.0), ("no", "yes"), ("yes", "no")])
def test_a_binary_model_of_river_is_told_true_and_false(classes):
    """It would take -1 and 1, or any two words, for true both."""
    X, y = stream("binary")
    model, task = linear_model.LogisticRegression(), Binary(np.array(classes))
    shown = []
    for x, label in zip(X, y, strict=True):
        row = dict(enumerate(x))
        shown.append(model.predict_one(row))
        model.learn_one(row, bool(label))
    metrics = metrics_from(["auc", "log_loss", "mistake_rate"], task)
    source = ArraySource(X, np.array(classes)[y.astype(int)])
    trace = prequential(linear_model.LogisticRegression(), source, task=task, metrics=metrics)
    assert final(trace) == np.mean(np.array(shown) != y.astype(bool)) < 0.4
    assert trace.last.metrics["auc"] > 0.7 and trace.last.metrics["log_loss"] < 0.69


def test_sparse_rows_reach_a_model_of_river_without_their_zeros():
    X, y = stream("binary")
    X[np.abs(X) < 0.7] = 0.0
    dense, sparse = (ArraySource(rows, y) for rows in (X, sp.csr_array(X)))
    values = [final(prequential(RIVER["binary"](), source, task=TASKS["binary"])) for source in (dense, sparse)]
    assert values[0] == values[1] < 0.5


def test_an_estimator_of_ours_equals_its_learner():
    X, y = stream("binary")
    spec = make("fogd", kernel=Gaussian(gamma=0.3))
    estimator = OnlineKernelClassifier(spec, random_state=0, dtype="float64")
    trace = prequential(SklearnModel(estimator, TASKS["binary"]), ArraySource(X, y))
    learner = Learner(spec, TASKS["binary"], seed=estimator.learner_.seed, dtype="float64")
    assert final(trace) == final(prequential(learner, ArraySource(X, y)))


def test_scores_and_probabilities_reach_the_metrics_that_need_them():
    X, y = stream("binary")
    metrics = [AUC([0.0, 1.0]), LogLoss([0.0, 1.0]), MistakeRate()]
    logistic = Learner(make("fogd", kernel=Gaussian(gamma=0.3), loss="logistic"), TASKS["binary"])
    margins = Learner(make("fogd", kernel=Gaussian(gamma=0.3)), TASKS["binary"])
    models = [logistic, margins, SGDClassifier(loss="log_loss", random_state=0), RIVER["binary"]()]
    for trace in side_by_side(models, ArraySource(X, y), task=TASKS["binary"], metrics=metrics):
        assert trace.last.metrics["auc"] > 0.6
        assert 0.1 < trace.last.metrics["log_loss"] < 10
    with pytest.raises(ValueError, match="no predict_proba"):
        prequential(SGDClassifier(loss="hinge"), ArraySource(X, y), metrics=metrics)


def test_what_cannot_learn_online_is_refused():
    with pytest.raises(ValueError, match="neither partial_fit nor learn_one"):
        as_model(object(), TASKS["binary"])
    with pytest.raises(ValueError, match="does not know its task"):
        as_model(SGDClassifier())


class Counted(ArraySource):
    """An array source that counts its passes."""

    passes = 0

    def __iter__(self):
        self.passes += 1
        return super().__iter__()


def test_models_side_by_side_read_once_and_get_the_numbers_they_get_alone():
    X, y = stream("binary")
    source = Counted(X, y, block_rows=64)

    def models():
        learners = [Learner(make(name, kernel=Gaussian(gamma=0.3)), TASKS["binary"]) for name in ("fogd", "rbp")]
        return [*learners, SGDClassifier(random_state=0)]

    together = side_by_side(models(), source, task=TASKS["binary"])
    assert source.passes == 1
    for trace, model in zip(together, models(), strict=True):
        alone = prequential(model, ArraySource(X, y), task=TASKS["binary"])
        assert [c.metrics for c in trace.checkpoints] == [c.metrics for c in alone.checkpoints]
        assert trace.last.size == alone.last.size


# Labels that come late.


def late_loop(model, X, y, delay):
    """What is shown for each row when the label of row t comes after row t + delay was shown."""
    shown = []
    for t in range(len(y)):
        shown.append(model.predict(X[t : t + 1])[0])
        if t >= delay:
            model.learn(X[t - delay : t - delay + 1], y[t - delay : t - delay + 1])
    return np.array(shown)


@pytest.mark.parametrize("delay", [1, 40, 1000])
@pytest.mark.parametrize(
    ("algorithm", "task"), [("fogd", "binary"), ("nogd", "multiclass"), ("bogd++", "regression"), ("avm", "binary")]
)
def test_late_labels_give_the_numbers_of_a_plain_loop(algorithm, task, delay):
    X, y = stream(task)
    spec = make(algorithm, kernel=Gaussian(gamma=0.3))
    model = Learner(spec, TASKS[task], dtype="float64")
    shown = late_loop(model, X, y, delay)
    for block_rows in BLOCKS:
        learner = Learner(spec, TASKS[task], dtype="float64")
        trace = prequential(learner, ArraySource(X, y, block_rows=block_rows), delay=delay)
        assert final(trace) == pytest.approx(mean_error(shown, y, task), rel=1e-12)
        assert learner.n_seen == len(y)  # the labels that were missing came at the end


def test_late_labels_with_sparse_rows_that_widen_and_with_a_scaling_that_learns():
    X, y = stream("binary")
    X[:200, 3] = 0.0
    spec = make("rbp", kernel=Gaussian(gamma=0.3))
    wide = Learner(spec, TASKS["binary"], grow_features=True)
    dense = Learner(spec, TASKS["binary"])
    traces = [
        prequential(learner, ArraySource(rows, y, block_rows=64), delay=30)
        for learner, rows in ((dense, X), (wide, sp.csr_array(X)))
    ]
    assert final(traces[0]) == final(traces[1])
    model = Learner(spec, TASKS["binary"], scaling=OnlineScaling())
    shown = late_loop(model, X, y, 30)
    trace = prequential(Learner(spec, TASKS["binary"], scaling=OnlineScaling()), ArraySource(X, y), delay=30)
    assert final(trace) == np.mean(shown != y)


def test_late_labels_for_models_of_other_libraries():
    X, y = stream("binary", 150)
    model, shown = SGDClassifier(random_state=0), []
    for t in range(len(y)):
        shown.append(model.predict(X[t : t + 1])[0] if t > 10 else 1.0)
        if t >= 10:
            model.partial_fit(X[t - 10 : t - 9], y[t - 10 : t - 9], classes=[0.0, 1.0])
    trace = prequential(SGDClassifier(random_state=0), ArraySource(X, y), delay=10)
    assert final(trace) == np.mean(np.array(shown) != y)


def test_a_longer_delay_is_worse_when_the_data_drifts():
    source = open_source("checkerboard:rows=20000")
    errors = []
    for delay in (0, 5000):
        learner = Learner(make("fogd", kernel=Gaussian(gamma=8.0)), Binary([-1.0, 1.0]))
        errors.append(final(prequential(learner, source, delay=delay)))
    assert errors[0] < errors[1]


@pytest.mark.parametrize("dtype", ["float64", np.float64, np.dtype("float64")])
def test_a_dtype_may_be_numpys(dtype):
    assert Learner("rbp", TASKS["binary"], dtype=dtype).dtype == "float64"
    estimator = OnlineKernelClassifier("rbp", dtype=dtype).fit([[0.0], [1.0]], [0, 1])
    assert estimator.learner_.dtype == "float64"
    with pytest.raises(ValueError, match="dtype='float16' must be one of float32, float64"):
        Learner("rbp", TASKS["binary"], dtype=np.float16)
