"""The estimator that a model file holds."""

import os
from typing import Any

from ..engine import files
from ..engine.inputs import METRICS, NONE, ONLINE
from ..learner import Learner
from ..tasks import Classification
from .classifier import OnlineKernelClassifier
from .outlier import OnlineKernelOutlier
from .regressor import OnlineKernelRegressor
from .side_by_side import SideBySide

Estimator = OnlineKernelClassifier | OnlineKernelRegressor | OnlineKernelOutlier


def load_estimator(path: str | os.PathLike[str]) -> Estimator:
    """The estimator that a model file holds: one that finds outliers where its loss does, else a classifier or a
    regressor, as its task is.
    """
    header, arrays = files.read(path)
    try:
        model: Any = (SideBySide if "targets" in header else Learner).from_parts(header, arrays)
        return _estimator(model, header)
    except Exception as error:  # whatever a part stumbles over, it is the file's
        raise files.damaged(path, error) from None


def _estimator(model: Any, header: dict[str, Any]) -> Estimator:
    learner: Learner = model.learners[0] if isinstance(model, SideBySide) else model
    scaling: Any = header.get("estimator_scaling")
    if scaling is None:  # written by a learner or with a fitted one, which goes on as it is
        kind = learner.inputs.features.kind
        scaling = kind if kind in (NONE, ONLINE, *METRICS) else learner.inputs
    drift, on_drift = learner.drift_choice
    common: dict[str, Any] = {
        "drift": drift,
        "on_drift": on_drift,
        "epochs": header.get("epochs", 1),
        "random_state": header.get("random_state"),
        "dtype": learner.dtype,
        "grow_features": learner.grow_features,
        "scaling": scaling,
        "threads": learner.threads,
    }
    if learner.without_labels:
        return OnlineKernelOutlier(learner.algorithm, **common)._restore(learner, header)
    if isinstance(learner.task, Classification):
        given = header.get("class_weight")
        weight = dict(given) if isinstance(given, list) else given
        classifier = OnlineKernelClassifier(
            learner.algorithm, grow_classes=learner.grow_classes, class_weight=weight, **common
        )
        return classifier._restore(learner, header)
    return OnlineKernelRegressor(learner.algorithm, **common)._restore(model, header)
