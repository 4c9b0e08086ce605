"""Models of other libraries by their names, for ``compare``."""

import importlib
from collections.abc import Set
from typing import Any

import numpy as np

from ..engine.inputs import named
from ..evaluate.models import Model, OwnModel, RiverModel, Shown, SklearnModel, as_model
from ..sources import Matrix, Scaling
from ..sources.survey import Survey
from ..tasks import Binary, Classification


def other(name: str, found: Survey) -> Model:
    """A model of a class by its dotted name, such as sklearn.linear_model.SGDClassifier, with its defaults."""
    module, _, kind = name.rpartition(".")
    try:
        made = getattr(importlib.import_module(module), kind)()
    except (ImportError, AttributeError, TypeError) as error:
        raise ValueError(f"{name!r} cannot be made ({error}); name an algorithm, or a class as module.Class.") from None
    # Both libraries tell by a base class what a model is for.
    classifies = isinstance(found.task, Classification)
    wrong = {"RegressorMixin", "Regressor"} if classifies else {"ClassifierMixin", "Classifier"}
    if wrong & {base.__name__ for base in type(made).__mro__}:
        raise ValueError(f"{name} is not for a {found.task.name} task; leave it out, or set another --task.")
    model = as_model(made, found.task)
    if found.scaling.settles:
        raise ValueError(
            f"--scale {found.scaling.kind} is learned with a model of ours, and {name} has none; take --scale online."
        )
    return _OnScaledRows(model, found.scaling.copy()) if found.scaling.changes else model


def knows_its_classes(model: Model) -> bool:
    """Whether a model must be told all classes before it begins."""
    model = model.model if isinstance(model, _OnScaledRows) else model
    if isinstance(model, OwnModel):
        return not getattr(model.learner, "grow_classes", True)
    return isinstance(model, SklearnModel) or (isinstance(model, RiverModel) and isinstance(model.task, Binary))


class _OnScaledRows(Model):
    """A model that gets the rows as our learners see them, who scale for themselves."""

    def __init__(self, model: Model, scaling: Scaling):
        self.model, self.scaling = model, scaling
        self.name, self.task, self.seed = model.name, model.task, model.seed

    @property
    def n_bytes(self) -> int:  # type: ignore[override]
        return self.model.n_bytes

    @property
    def parameters(self) -> dict[str, Any]:
        return self.model.parameters

    def show(self, X: Matrix, kinds: Set[str]) -> Shown:
        return self.model.show(self.scaling.apply(X), kinds)

    def learn(self, X: Matrix, y: np.ndarray, kinds: Set[str]) -> Shown:
        scaled = self.scaling.learn(X)
        return self.model.learn(scaled, y, kinds)

    def restart(self) -> None:
        self.model.restart()
        self.scaling = named(self.scaling.kind) if self.scaling.follows else self.scaling
