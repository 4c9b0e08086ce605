"""The scikit-learn face: OnlineKernelClassifier, OnlineKernelRegressor and OnlineKernelOutlier.

`fit` starts afresh, `partial_fit` goes on, `predict_learn` predicts each row before learning from it. However a stream
is cut into calls, the model is the same.
"""

import copy
import inspect
import os
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .algorithms import NORMA, as_algorithm
from .engine import Algorithm
from .engine.inputs import FITTED, METRICS, NONE, ONLINE, Inputs, Scaling, fitted
from .learner import Learner
from .losses import Novelty, as_loss
from .numerics.rows import as_matrix
from .tasks import Binary, Classification, Regression, Task, classification

# What finds outliers by default: one row in ten, by the last ten thousand, of which one in ten is a term.
DETECTOR = NORMA(loss="novelty", learning_rate=1.0, regularization=1e-4, nu=0.1, budget=1000)


class _OnlineKernelEstimator(BaseEstimator):  # type: ignore[misc]
    def __init_subclass__(cls, **options: Any):
        """What others see of the constructor are the estimator's own parameters: tools try each of them by its name."""
        super().__init_subclass__(**options)
        own = list(inspect.signature(cls.__init__).parameters.values())[1:]
        cls.__signature__ = inspect.Signature([one for one in own if one.kind is not one.VAR_KEYWORD])

    def __init__(
        self,
        algorithm: str | Algorithm = "auto",
        *,
        epochs: int = 1,
        random_state: Any = None,
        dtype: str = "float32",
        grow_features: bool = False,
        scaling: str | Scaling | Inputs = NONE,
        threads: int | None = None,
        **parameters: Any,
    ):
        self.algorithm = _changed(self._spec(algorithm), parameters) if parameters else algorithm
        self.epochs = epochs
        self.random_state = random_state
        self.dtype = dtype
        self.grow_features = grow_features
        self.scaling = scaling
        self.threads = threads

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name. One of the algorithm or its kernel goes by its own name or, also where the
        algorithm is only named, as in ``algorithm__n_components`` and ``algorithm__kernel__gamma``.
        """
        own = self._get_param_names()
        if any(name not in own for name in params):
            flat = {name: value for name, value in params.items() if name.partition("__")[0] not in own}
            nested = {name: value for name, value in params.items() if name not in flat}
            params = {**nested, "algorithm": _changed(self._spec(params.get("algorithm", self.algorithm)), flat)}
        return super().set_params(**params)

    def _spec(self, algorithm: str | Algorithm) -> Algorithm:
        """What `algorithm` stands for."""
        return as_algorithm(algorithm)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # What a fitted estimator shows.

    @property
    def size_(self) -> int:
        """Stored points, or features of an explicit map."""
        return self._fitted().size

    @property
    def n_seen_(self) -> int:
        """Rows learned from."""
        return self._fitted().n_seen

    @property
    def algorithm_(self) -> Algorithm:
        """The spec with data-dependent parameters settled."""
        settled = self._fitted().settled
        assert settled is not None
        return settled

    def __getattr__(self, name: str) -> Any:
        learner = self.__dict__.get("learner_")
        if learner is not None and name.endswith("_") and not name.endswith("__") and name[:-1] in learner.attributes:
            return learner.attributes[name[:-1]]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _fitted(self) -> Learner:
        if "learner_" not in self.__dict__:
            check_is_fitted(self, "learner_")
        learner: Learner = self.learner_
        return learner

    # Learning.

    def _begin(self, task: Task, rows: Any = None) -> Learner:
        """A learner; `rows` are all that a "standard" or "minmax" scaling is fitted on."""
        scaling = self.scaling
        if isinstance(scaling, str) and scaling in FITTED and rows is not None:
            scaling = fitted(scaling, [as_matrix(rows)])
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return Learner(
            self._spec(self.algorithm),
            task,
            seed=seed,
            dtype=self.dtype,
            grow_features=self.grow_features,
            grow_classes=getattr(self, "grow_classes", False),
            scaling=scaling,
            threads=self.threads,
        )

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """X as a matrix, with scikit-learn's bookkeeping of names and widths.

        A plain array of the known width takes the short way: nothing is left to book.
        """
        own = self.__dict__
        known = None if reset else own.get("n_features_in_")
        plain = type(X) is np.ndarray and X.ndim == 2 and X.shape[1] == known and len(X) > 0 and X.dtype.kind in "fiu"
        if plain and "feature_names_in_" not in own:
            return X
        if self.grow_features and not reset and hasattr(X, "shape") and len(X.shape) == 2 and X.shape[1] != known:
            reset = X.shape[1] > known
            if not reset:
                return X
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=False)

    def _fit(self, task: Task, X: Any, y: Any, sample_weight: Any) -> Self:
        if not (isinstance(self.epochs, int | np.integer) and self.epochs >= 1):
            raise ValueError(f"epochs={self.epochs!r} must be a whole number not less than 1.")
        if sample_weight is not None and not np.asarray(sample_weight).any():
            raise ValueError("Every sample weight is zero: there is nothing to learn from.")
        learner = self._begin(task, X)
        for _ in range(self.epochs):
            learner.learn(X, y, sample_weight)
        self.learner_ = learner
        return self

    def merge(self, other: "_OnlineKernelEstimator") -> Self:
        """Take in what another fitted estimator learned, weighted by the rows each has seen."""
        self._fitted().merge(other._fitted())
        return self

    def unmerge(self, other: "_OnlineKernelEstimator") -> Self:
        """Forget what another fitted estimator learned, whose rows this one has learned or merged. Forks of one model
        merge without counting its rows twice: ``a.merge(b).unmerge(ancestor)``. For ridge.
        """
        self._fitted().unmerge(other._fitted())
        return self

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Of rows that were learned once, what is left of each target under the model of all rows but this one: (n,),
        or (n, classes) for several classes, whose targets are -1 and 1. For ridge.
        """
        learner = self._fitted()
        left = learner.leave_one_out(self._rows(X, reset=False), y, sample_weight)
        return left[:, 0] if left.shape[1] == 1 else left

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file; `kernelstream.load` reads it, and learning goes on bit for bit."""
        learner = self._fitted()
        names = getattr(self, "feature_names_in_", None)
        random_state = self.random_state if isinstance(self.random_state, int | np.integer) else None
        learner.save(
            path,
            epochs=int(self.epochs),
            random_state=None if random_state is None else int(random_state),
            feature_names=None if names is None else [str(n) for n in names],
            estimator_scaling=self.scaling if isinstance(self.scaling, str) else None,
        )

    def _restore(self, learner: Learner, header: dict[str, Any]) -> Self:
        self.learner_ = learner
        if learner.settled is not None:
            self.n_features_in_ = learner.width
        if header.get("feature_names") is not None:
            self.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        return self


def _place(spec: Algorithm, name: str) -> str:
    """Where a parameter is that goes by its own name: in a spec, or in its kernel."""
    mine, of_kernel = (list(part.get_params(deep=False)) for part in (spec, spec.kernel))
    if name not in mine and name not in of_kernel:
        raise ValueError(
            f"{spec.name} has no parameter {name!r}; it has {', '.join(mine)}, and its kernel {', '.join(of_kernel)}."
        )
    return name if name in mine else f"kernel__{name}"


def _changed(spec: Algorithm, parameters: dict[str, Any]) -> Algorithm:
    """The spec with parameters of its own, or of its kernel, by their own names."""
    spec = copy.deepcopy(spec)
    if "kernel" in parameters:
        spec.set_params(kernel=parameters["kernel"])
    return spec.set_params(**{_place(spec, name): value for name, value in parameters.items()})


def _models_probabilities(estimator: "OnlineKernelClassifier") -> bool:
    if hasattr(estimator, "learner_"):
        return estimator.learner_.probabilistic
    algorithm = as_algorithm(estimator.algorithm)
    loss = getattr(algorithm, "loss", "auto")
    return algorithm.models_probabilities or (loss != "auto" and bool(as_loss(loss).probabilistic))


class OnlineKernelClassifier(ClassifierMixin, _OnlineKernelEstimator):  # type: ignore[misc]
    """Online kernel classification, binary and multiclass.

    Parameters
    ----------
    algorithm : "auto", which needs no parameter and takes features as they are; a spec such as
        ``FOGD(n_components=400)``; or a name of ``kernelstream algorithms``
    epochs : passes over the data in `fit`
    random_state : seed of the random choices that an algorithm makes
    dtype : "float32" or "float64"
    grow_features : accept blocks with more features later
    scaling : "none"; "online", by what was seen so far, features and the targets of a regression; "metric", features by
        how much each matters, learned from the first 256 rows, or "full-metric", directions; "standard" or "minmax",
        fitted by `fit` on the features of all rows; or a fitted one, as `sources.fit_scaling` gives it
    threads : on how many cores one call may run (two, where there are two); they change no result
    grow_classes : accept labels that were never announced
    n_components, gamma, ... : any parameter of the algorithm or of its kernel by its own name:
        ``OnlineKernelClassifier("ridge", n_components=2000)`` is ``OnlineKernelClassifier(Ridge(n_components=2000))``

    Attributes
    ----------
    classes_ : labels, in the order of the outputs
    size_, n_seen_ : stored points or features; rows learned from
    algorithm_ : the spec with data-dependent parameters settled
    feature_importances_ : of "auto" and of a learned metric, the share of each feature
    points_, coef_, ... : what the algorithm shows of its model (``degradation_`` of BSGD, ``damage_`` of Forgetron)
    """

    def __init__(
        self,
        algorithm: str | Algorithm = "auto",
        *,
        epochs: int = 1,
        random_state: Any = None,
        dtype: str = "float32",
        grow_features: bool = False,
        grow_classes: bool = False,
        scaling: str | Scaling | Inputs = NONE,
        threads: int | None = None,
        **parameters: Any,
    ):
        super().__init__(
            algorithm,
            epochs=epochs,
            random_state=random_state,
            dtype=dtype,
            grow_features=grow_features,
            scaling=scaling,
            threads=threads,
            **parameters,
        )
        self.grow_classes = grow_classes

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of the outputs."""
        task = self._fitted().task
        assert isinstance(task, Classification)
        return task.classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, starting afresh."""
        X = self._rows(X, reset=True)
        y = _labels(y)
        return self._fit(classification(y, grow=self.grow_classes), X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows. `classes` announces all labels on the first call (default: those of its rows)."""
        self._continue(X, y, classes, sample_weight)
        return self

    def predict_learn(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> np.ndarray:
        """The label predicted for each row before learning from it; one pass that predicts and learns."""
        scores = self._continue(X, y, classes, sample_weight)
        return self.learner_.task.decode(scores)

    def _continue(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> np.ndarray:
        first = not hasattr(self, "learner_")
        y = _labels(y) if first or type(y) is not np.ndarray or y.ndim != 1 else y
        if first:
            learner = self._begin(classification(y if classes is None else classes, grow=self.grow_classes))
        else:
            learner = self.learner_
            if classes is not None and not self.grow_classes:
                self._check_same_classes(classes)
        scores = learner.learn(self._rows(X, reset=first), y, sample_weight)
        self.learner_ = learner
        return scores

    def _check_same_classes(self, classes: Any) -> None:
        given = classification(classes).classes
        if given.shape != self.classes_.shape or (given != self.classes_).any():
            raise ValueError(
                f"classes={given.tolist()} is not the same as on the first call to partial_fit: "
                f"{self.classes_.tolist()}. "
                "Set grow_classes=True if labels may appear later."
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: (n,) for two classes, positive for ``classes_[1]``; (n, classes) otherwise."""
        learner = self._fitted()
        scores = learner.scores(self._rows(X, reset=False))
        if len(self.classes_) != 2:
            return scores
        return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        learner = self._fitted()
        return learner.task.decode(learner.scores(self._rows(X, reset=False)))

    @available_if(_models_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities: of "auto", and where the loss models them (logistic, softmax for several classes)."""
        return self._fitted().probabilities(self._rows(X, reset=False))


class OnlineKernelRegressor(RegressorMixin, _OnlineKernelEstimator):  # type: ignore[misc]
    """Online kernel regression.

    Parameters and attributes as of `OnlineKernelClassifier`, without those of classes.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, starting afresh."""
        X = self._rows(X, reset=True)
        return self._fit(Regression(), X, _targets(y), sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more rows."""
        self.predict_learn(X, y, sample_weight)
        return self

    def predict_learn(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """The value predicted for each row before learning from it; one pass that predicts and learns."""
        first = not hasattr(self, "learner_")
        learner = self._begin(Regression()) if first else self.learner_
        scores = learner.learn(self._rows(X, reset=first), _targets(y), sample_weight)
        self.learner_ = learner
        return learner.task.decode(scores)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The value of each row; with `return_std` also how far from it the target is to be expected, a standard
        deviation (of learners that say how sure they are: ridge).
        """
        learner = self._fitted()
        rows = self._rows(X, reset=False)
        deviations = learner.deviations(rows)[:, 0] if return_std else None
        shown = learner.task.decode(learner.scores(rows))
        return (shown, deviations) if return_std else shown


class OnlineKernelOutlier(OutlierMixin, _OnlineKernelEstimator):  # type: ignore[misc]
    """Online detection of outliers: rows that are unlike those that came before.

    Parameters and attributes as of `OnlineKernelClassifier`, without those of classes. `algorithm` is NORMA, whose rule
    for novelty needs no labels; ``OnlineKernelOutlier(nu=0.01)`` takes about one row of a hundred for an outlier.

    Attributes
    ----------
    offset_ : the border; a row whose score is below it is an outlier
    """

    def _spec(self, algorithm: str | Algorithm) -> Algorithm:
        spec = copy.deepcopy(DETECTOR) if algorithm == "auto" else as_algorithm(algorithm)
        if isinstance(spec, NORMA) and spec.loss == "auto":
            spec = replace(spec, loss="novelty")
        if not _finds_outliers(spec):
            raise ValueError(
                f"{spec.name} with loss={getattr(spec, 'loss', None)!r} does not find outliers. NORMA does: "
                "OnlineKernelOutlier(NORMA(nu=0.05))."
            )
        return spec

    def _begin(self, task: Task, rows: Any = None) -> Learner:
        if isinstance(self.scaling, str) and self.scaling in METRICS:
            raise ValueError(f"scaling={self.scaling!r} is learned from labels, and there are none; take 'online'.")
        return super()._begin(task, rows)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, starting afresh; y does not count."""
        X = self._rows(X, reset=True)
        return self._fit(Binary([-1, 1]), X, np.ones(X.shape[0]), sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; y does not count."""
        self.predict_learn(X, y, sample_weight)
        return self

    def predict_learn(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """1 or -1 for each row before learning from it; one pass that predicts and learns."""
        first = not hasattr(self, "learner_")
        learner = self._begin(Binary([-1, 1])) if first else self.learner_
        X = self._rows(X, reset=first)
        scores = learner.learn(X, learner.task.decode(np.ones((X.shape[0], 1))), sample_weight)
        self.learner_ = learner
        return _signs(scores)

    def decision_function(self, X: Any) -> np.ndarray:
        """How far the score of each row is above the border, (n,): negative for an outlier."""
        return self._fitted().scores(self._rows(X, reset=False))[:, 0]

    def score_samples(self, X: Any) -> np.ndarray:
        """f, (n,): large where rows were many."""
        return self.decision_function(X).astype(np.float64) + self.offset_

    @property
    def offset_(self) -> float:
        """rho, what `decision_function` subtracts from `score_samples`."""
        return float(self._fitted().attributes["rho"])

    def predict(self, X: Any) -> np.ndarray:
        """1 for what is usual, -1 for an outlier."""
        return _signs(self._fitted().scores(self._rows(X, reset=False)))


def _signs(scores: np.ndarray) -> np.ndarray:
    return np.where(scores[:, 0] >= 0.0, 1, -1)


def _finds_outliers(spec: Algorithm) -> bool:
    return getattr(spec, "loss", "auto") != "auto" and isinstance(as_loss(spec.loss), Novelty)  # type: ignore[attr-defined]


def _labels(y: Any) -> Any:
    y = _targets(y)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return y


def _targets(y: Any) -> Any:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    return column_or_1d(y, warn=True)


def load_estimator(
    path: str | os.PathLike[str],
) -> OnlineKernelClassifier | OnlineKernelRegressor | OnlineKernelOutlier:
    """The estimator that a model file holds: one that finds outliers where its loss does, else a classifier or a
    regressor, as its task is.
    """
    learner, header = Learner.load_with_header(path)
    scaling: Any = header.get("estimator_scaling")
    if scaling is None:  # written by a learner or with a fitted one, which goes on as it is
        kind = learner.inputs.features.kind
        scaling = kind if kind in (NONE, ONLINE, *METRICS) else learner.inputs
    common: dict[str, Any] = {
        "epochs": header.get("epochs", 1),
        "random_state": header.get("random_state"),
        "dtype": learner.dtype,
        "grow_features": learner.grow_features,
        "scaling": scaling,
        "threads": learner.threads,
    }
    if _finds_outliers(learner.algorithm):
        return OnlineKernelOutlier(learner.algorithm, **common)._restore(learner, header)
    if isinstance(learner.task, Classification):
        classifier = OnlineKernelClassifier(learner.algorithm, grow_classes=learner.grow_classes, **common)
        return classifier._restore(learner, header)
    return OnlineKernelRegressor(learner.algorithm, **common)._restore(learner, header)
