"""OnlineKernelClassifier: the scikit-learn face of classification."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets

from ..engine import Algorithm
from ..engine.inputs import NONE, Inputs, Scaling
from ..learner import Learner
from ..learner.drift import WARN
from ..numerics.rows import as_reals
from ..tasks import NO_INTERVALS, Classification, classification, require_one_sort
from ..teaching import explained
from .base import OnlineKernelEstimator, one_target
from .class_weights import check_class_weight, joined_counts, row_weights


@explained(
    y="the label of each row, (n,): numbers, truth values or words",
    classes="all labels there will be, on the first call; by default those of its rows",
    other="a fitted classifier with the same parameters and the same seed",
)
class OnlineKernelClassifier(ClassifierMixin, OnlineKernelEstimator):  # type: ignore[misc]
    """Online kernel classification, binary and multiclass.

    Parameters
    ----------
    algorithm : "auto", which needs no parameter and takes features as they are; a spec such as
        ``FOGD(n_components=400)``; or a name of ``kernelstream algorithms``
    epochs : passes over the data in `fit`
    random_state : seed of the random choices that an algorithm makes
    dtype : "float32" or "float64"
    grow_features : accept blocks with more features later
    grow_classes : accept labels that were never announced
    scaling : "none"; "online", by what was seen so far, features and the targets of a regression; "metric", features by
        how much each matters, learned from the first 256 rows, or "full-metric", directions; "standard" or "minmax",
        fitted by `fit` on the features of all rows; or a fitted one, as `sources.fit_scaling` gives it
    threads : on how many cores one call may run (two, where there are two); they change no result
    drift : what looks out for a change of the errors or of a feature, such as "adwin" or "kswin:on=2", as of `Learner`
    on_drift : what is done about it: "warn", "restart" or "forget"
    class_weight : a dict of what a row of each class counts, 1 where none is named; or "balanced", n / (K n_c) of the
        rows so far, n_c of them of the row's class, K classes, so that all classes count the same. It multiplies the
        sample weights
    n_components, gamma, ... : any parameter of the algorithm or of its kernel by its own name:
        ``OnlineKernelClassifier("ridge", n_components=2000)`` is ``OnlineKernelClassifier(Ridge(n_components=2000))``;
        ``kernel="laplacian"`` names a kernel ("rbf" and "poly" as in scikit-learn)

    Attributes
    ----------
    classes_ : labels, in the order of the outputs
    size_, n_seen_ : stored points or features; rows learned from
    algorithm_ : the spec with data-dependent parameters settled
    drifts_ : what was found of drift
    feature_importances_ : of "auto" and of a learned metric, the share of each feature
    points_, coef_, ... : what the algorithm shows of its model (``degradation_`` of BSGD, ``damage_`` of Forgetron)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kernelstream import OnlineKernelClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = OnlineKernelClassifier("fogd", scaling="online", random_state=0)
    >>> shown = clf.predict_learn(X, y)  # each row is predicted, then learned
    >>> bool((shown == y).mean() > 0.9), clf.predict_proba(X).shape
    (True, (569, 2))
    """

    _lacks: ClassVar = {"predict_interval": NO_INTERVALS}

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
        class_weight: dict[Any, float] | str | None = None,
        drift: Any = None,
        on_drift: str = WARN,
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
            drift=drift,
            on_drift=on_drift,
            **parameters,
        )
        self.grow_classes = grow_classes
        self.class_weight = class_weight

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of the outputs."""
        task = self._fitted().task
        assert isinstance(task, Classification)
        return task.classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, starting afresh.

        >>> from kernelstream import OnlineKernelClassifier
        >>> OnlineKernelClassifier("fogd").fit([[0.0], [1.0]] * 20, ["no", "yes"] * 20).classes_.tolist()
        ['no', 'yes']
        """
        X = self._rows(X, reset=True)
        y = _labels(y)
        return self._fit(self._task(y), X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; the first call begins a model.

        >>> from kernelstream import OnlineKernelClassifier
        >>> clf = OnlineKernelClassifier("fogd").partial_fit([[0.0], [1.0]], ["no", "yes"], classes=["no", "so", "yes"])
        >>> clf.partial_fit([[2.0]], ["so"]).n_seen_
        3
        """
        self._continue(X, y, classes, sample_weight)
        return self

    def predict_learn(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> np.ndarray:
        """The label predicted for each row before learning from it, (n,); one pass that predicts and learns.

        >>> from kernelstream import OnlineKernelClassifier
        >>> OnlineKernelClassifier("fogd").predict_learn([[0.0], [0.0]], ["no", "yes"]).tolist()
        ['yes', 'no']
        """
        scores = self._continue(X, y, classes, sample_weight)
        return self.learner_.task.decode(scores)

    def _task(self, classes: Any) -> Classification:
        """Begin with these classes."""
        if (spec := self._spec(self.algorithm)).without_labels:
            loss = f" with loss={spec.loss!r}" if hasattr(spec, "loss") else ""
            raise ValueError(
                f"{spec.name}{loss} learns from rows alone and would tell no class from another. For rows that are odd "
                f"take OnlineKernelOutlier(algorithm); for classes {'another loss' if loss else 'another learner'}."
            )
        task = classification(classes, grow=self.grow_classes)
        check_class_weight(self.class_weight, task.classes, grow=self.grow_classes)
        self._class_counts = np.zeros(len(task.classes), np.int64)  # rows of each class, where they count for weights
        return task

    def _continue(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> np.ndarray:
        first = not hasattr(self, "learner_")
        y = _labels(y) if first or type(y) is not np.ndarray or y.ndim != 1 else y
        if first:
            learner = self._begin(self._task(y if classes is None else classes))
        else:
            learner = self.learner_
            if classes is not None and not self.grow_classes:
                self._check_same_classes(classes)
        scores = self._learn(learner, self._rows(X, reset=first), y, sample_weight)
        self.learner_ = learner
        return scores

    def _learn(self, learner: Learner, X: Any, y: Any, sample_weight: Any) -> np.ndarray:
        if self.class_weight is None:
            return learner.learn(X, y, sample_weight)
        before, task = learner.rows_learned, learner.task
        assert isinstance(task, Classification)
        weights, classes = row_weights(self.class_weight, task, self._class_counts, y, grow=self.grow_classes)
        if sample_weight is not None:
            weights = weights * as_reals(sample_weight, "sample weights")
        try:
            return learner.learn(X, y, weights)
        finally:
            learned = np.bincount(classes[: learner.rows_learned - before], minlength=len(self._class_counts))
            self._class_counts = joined_counts(self._class_counts, learned)

    def _check_same_classes(self, classes: Any) -> None:
        given = classification(classes).classes
        if given.shape != self.classes_.shape or (given != self.classes_).any():
            raise ValueError(
                f"classes={given.tolist()} is not the same as on the first call to partial_fit: "
                f"{self.classes_.tolist()}. "
                "Set grow_classes=True if labels may appear later."
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: (n,) for two classes, positive for ``classes_[1]``; (n, classes) otherwise.

        >>> from kernelstream import OnlineKernelClassifier
        >>> clf = OnlineKernelClassifier("ridge", gamma=1.0).fit([[-1.0], [1.0]] * 20, ["no", "yes"] * 20)
        >>> (clf.decision_function([[-1.0], [1.0]]) > 0).tolist()
        [False, True]
        """
        learner = self._fitted()
        scores = learner.scores(self._rows(X, reset=False))
        if len(self.classes_) != 2:
            return scores
        return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """The label of each row, (n,).

        >>> from kernelstream import OnlineKernelClassifier
        >>> clf = OnlineKernelClassifier("ridge", gamma=1.0).fit([[-1.0], [1.0]] * 20, ["no", "yes"] * 20)
        >>> clf.predict([[-1.0], [1.0]]).tolist()
        ['no', 'yes']
        """
        learner = self._fitted()
        return learner.task.decode(learner.scores(self._rows(X, reset=False)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, (n, classes): where the algorithm or its loss models them (auto, ridge, stack, logistic,
        softmax for several classes) its own, else by a link from scores to chances that is fitted while it learns.

        >>> from kernelstream import OnlineKernelClassifier
        >>> clf = OnlineKernelClassifier("ridge", gamma=1.0).fit([[-1.0], [1.0]] * 20, ["no", "yes"] * 20)
        >>> clf.predict_proba([[-1.0], [1.0]]).round().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        return self._fitted().probabilities(self._rows(X, reset=False))

    def merge(self, other: "OnlineKernelEstimator") -> Self:
        """Take in what another fitted classifier learned, weighted by the rows each has seen.

        >>> from kernelstream import OnlineKernelClassifier
        >>> one, two = (OnlineKernelClassifier("ridge", gamma=1.0, random_state=1) for _ in range(2))
        >>> one.fit([[0.0], [1.0]], ["no", "yes"]).merge(two.fit([[2.0], [3.0]], ["no", "yes"])).n_seen_
        4
        """
        super().merge(other)
        assert isinstance(other, OnlineKernelClassifier)
        self._class_counts = joined_counts(self._class_counts, other._class_counts)
        return self

    def _header(self) -> dict[str, Any]:
        given: Any = self.class_weight
        if isinstance(given, dict):
            given = [[_plain(label), float(weight)] for label, weight in given.items()]
        return {"class_weight": given, "class_counts": self._class_counts.tolist()}

    def _restore(self, learner: Learner, header: dict[str, Any]) -> Self:
        super()._restore(learner, header)
        check_class_weight(self.class_weight, self.classes_, grow=self.grow_classes)
        self._class_counts = np.array(header.get("class_counts", [0] * len(self.classes_)), np.int64)
        if self._class_counts.shape != self.classes_.shape or (self._class_counts < 0).any():
            raise ValueError(f"it counts {header['class_counts']} rows of the classes {self.classes_.tolist()}")
        return self


def _plain(label: Any) -> Any:
    """A label as JSON has it."""
    return label.item() if isinstance(label, np.generic) else label


def _labels(y: Any) -> Any:
    if isinstance(y, list | tuple):
        require_one_sort(y)
    y = one_target(y)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return y
