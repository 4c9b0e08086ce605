"""CapyMOA's wrappers of scikit-learn estimators run ours as they are."""

import numpy as np
import pytest

from kernelstream import FOGD, OnlineKernelClassifier, OnlineKernelRegressor
from kernelstream.kernels import Gaussian

base = pytest.importorskip("capymoa.base", reason="CapyMOA needs Java; it is in the extra `peers`")
from capymoa.evaluation import prequential_evaluation  # noqa: E402
from capymoa.stream import NumpyStream  # noqa: E402

SPEC = FOGD(kernel=Gaussian(gamma=0.3), n_components=30)
X = np.random.default_rng(0).normal(size=(300, 4))


def test_a_classifier_has_the_accuracy_of_a_plain_loop():
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    stream = NumpyStream(X, y, dataset_name="drawn")
    wrapped = base.SKClassifier(OnlineKernelClassifier(SPEC, random_state=0), schema=stream.get_schema())
    found = prequential_evaluation(stream, wrapped, window_size=100).cumulative.accuracy()
    shown = OnlineKernelClassifier(SPEC, random_state=0).predict_learn(X, y, classes=[0, 1])
    right = np.sum(shown[1:] == y[1:])
    # Of the first row the wrapper predicts nothing, which CapyMOA may count as one class or the other.
    assert round(3 * found) in (right, right + 1)


def test_a_regressor_has_the_error_of_a_plain_loop():
    y = X[:, 0] * X[:, 1]
    stream = NumpyStream(X, y, dataset_name="drawn", target_type="numeric")
    wrapped = base.SKRegressor(OnlineKernelRegressor(SPEC, random_state=0), schema=stream.get_schema())
    found = prequential_evaluation(stream, wrapped, window_size=100).cumulative.rmse()
    shown = OnlineKernelRegressor(SPEC, random_state=0).predict_learn(X, y)
    assert found == pytest.approx(np.sqrt(np.mean((shown - y) ** 2)), rel=1e-5)
