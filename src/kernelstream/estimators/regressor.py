"""OnlineKernelRegressor: the scikit-learn face of regression, of one target or of several."""

import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from ..tasks import NO_CLASSES, Regression
from ..teaching import explained
from .base import OnlineKernelEstimator, one_target, required
from .side_by_side import SideBySide


@explained(y="the target of each row, (n,); or several, (n, targets)")
class OnlineKernelRegressor(RegressorMixin, OnlineKernelEstimator):  # type: ignore[misc]
    """Online kernel regression. Where y has columns, (n, targets), there is a model for each of them.

    Parameters
    ----------
    algorithm : "auto", which needs no parameter and takes features as they are; a spec such as
        ``FOGD(n_components=400)``; or a name of ``kernelstream algorithms``
    epochs : passes over the data in `fit`
    random_state : seed of the random choices that an algorithm makes
    dtype : "float32" or "float64"
    grow_features : accept blocks with more features later
    scaling : "none"; "online", features and targets by what was seen so far; "metric", features by how much each
        matters, learned from the first 256 rows, or "full-metric", directions; "standard" or "minmax", fitted by `fit`
        on the features of all rows; or a fitted one, as `sources.fit_scaling` gives it
    threads : on how many cores one call may run (two, where there are two); they change no result
    drift : what looks out for a change of the errors or of a feature, such as "adwin" or "kswin:on=2", as of `Learner`
    on_drift : what is done about it: "warn", "restart" or "forget"
    n_components, gamma, ... : any parameter of the algorithm or of its kernel by its own name:
        ``OnlineKernelRegressor("ridge", n_components=2000)`` is ``OnlineKernelRegressor(Ridge(n_components=2000))``;
        ``kernel="laplacian"`` names a kernel ("rbf" and "poly" as in scikit-learn)

    Attributes
    ----------
    size_, n_seen_ : stored points or features; rows learned from
    algorithm_ : the spec with data-dependent parameters settled
    drifts_ : what was found of drift
    feature_importances_ : of "auto" and of a learned metric, the share of each feature
    points_, coef_, ... : what the algorithm shows of its model; of several targets a list

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kernelstream import OnlineKernelRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = OnlineKernelRegressor("ridge", gamma=0.02, scaling="online", random_state=0).fit(X, y)
    >>> bool(reg.score(X, y) > 0.5), reg.predict(X[:2]).shape
    (True, (2,))
    """

    _lacks: ClassVar = {"predict_proba": NO_CLASSES}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, starting afresh."""
        X = self._rows(X, reset=True)
        targets = _targets(y)
        self._n_targets = _columns(targets)
        return self._fit(Regression(), X, targets, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more rows; the first call begins a model."""
        self.predict_learn(X, y, sample_weight)
        return self

    def predict_learn(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """The value predicted for each row before learning from it, (n,) or (n, targets); one pass that predicts and
        learns.

        >>> from kernelstream import OnlineKernelRegressor
        >>> OnlineKernelRegressor("fogd").predict_learn([[0.0], [0.0]], [5.0, 5.0]).shape
        (2,)
        """
        first = not hasattr(self, "learner_")
        targets = _targets(y)
        if first:
            self._n_targets = _columns(targets)
        elif _columns(targets) != self._n_targets:
            raise ValueError(f"y has {_words(_columns(targets))}; the model was begun with {_words(self._n_targets)}.")
        learner = self._begin(Regression()) if first else self.learner_
        scores = learner.learn(self._rows(X, reset=first), targets, sample_weight)
        self.learner_ = learner
        return self._decoded(scores)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The value of each row, (n,) or (n, targets); with `return_std` also how far from it the target is to be
        expected, a standard deviation (of learners that say how sure they are, as ridge does; `predict_interval` has
        all of them).

        return_std: whether values come with their standard deviations, as a pair

        >>> from kernelstream import OnlineKernelRegressor
        >>> values, deviations = OnlineKernelRegressor("ridge").fit([[0.0], [1.0]], [0.0, 1.0]).predict([[9.0]], True)
        >>> values.shape, deviations.shape
        ((1,), (1,))
        """
        learner = self._fitted()
        rows = self._rows(X, reset=False)
        deviations = self._decoded(learner.deviations(rows)) if return_std else None
        shown = self._decoded(learner.scores(rows))
        return (shown, deviations) if return_std else shown

    def predict_interval(self, X: Any, level: float = 0.9) -> np.ndarray:
        """The ends of an interval that holds the target of each row with a chance of `level`, (n, 2); of several
        targets (n, targets, 2). By the residuals of the rows so far, of any learner, and it holds while a stream
        drifts; infinite before the first 2 / (1 - level) - 1 rows.

        >>> from kernelstream import OnlineKernelRegressor
        >>> reg = OnlineKernelRegressor("ridge", gamma=1.0).fit([[0.0], [1.0]] * 20, [0.0, 1.0] * 20)
        >>> reg.predict_interval([[0.0], [1.0]], level=0.8).shape
        (2, 2)
        """
        return np.asarray(self._fitted().intervals(self._rows(X, reset=False), level))

    def _begin(self, task: Any, rows: Any = None) -> Any:
        learner = super()._begin(task, rows)
        if self._n_targets == 0:
            return learner
        return SideBySide([learner, *(copy.deepcopy(learner) for _ in range(self._n_targets - 1))])

    def _decoded(self, scores: np.ndarray) -> np.ndarray:
        return np.asarray((scores if self._n_targets else scores[:, 0]).astype(np.float64))

    def _restore(self, learner: Any, header: dict[str, Any]) -> Self:
        self._n_targets = learner.n_targets if isinstance(learner, SideBySide) else 0
        return super()._restore(learner, header)


def _targets(y: Any) -> Any:
    """(n,), or (n, targets) where y has columns."""
    targets = np.asarray(required(y))
    return targets if targets.ndim == 2 and targets.shape[1] > 0 else one_target(y)


def _columns(targets: np.ndarray) -> int:
    """How many there are; 0 where a row has one target, in no column."""
    return targets.shape[1] if targets.ndim == 2 else 0


def _words(columns: int) -> str:
    return f"{columns} columns" if columns else "one target a row, in one dimension"
