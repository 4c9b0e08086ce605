"""OnlineKernelOutlier: the scikit-learn face of novelty detection."""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin

from ..algorithms import NORMA, Density, as_algorithm
from ..engine import Algorithm
from ..engine.inputs import METRICS, ONLINE, Inputs, Scaling
from ..learner import Learner
from ..learner.drift import WARN
from ..tasks import NO_CHANCES, Binary, Task
from ..teaching import explained
from .base import OnlineKernelEstimator


@explained(y="not looked at")
class OnlineKernelOutlier(OutlierMixin, OnlineKernelEstimator):  # type: ignore[misc]
    """Online detection of outliers: rows that are unlike those that came before.

    Parameters
    ----------
    algorithm : "auto", `Density`, how many rows there were like this one; or a spec such as ``NORMA(nu=0.05)``, whose
        rule for novelty keeps rows themselves
    epochs : passes over the data in `fit`
    random_state : seed of the random choices that an algorithm makes
    dtype : "float32" or "float64"
    grow_features : accept blocks with more features later
    scaling : "online", by what was seen so far; "none"; "standard" or "minmax", fitted by `fit` on all rows; or a
        fitted one, as `sources.fit_scaling` gives it
    threads : on how many cores one call may run (two, where there are two); they change no result
    drift : what looks out for a change of the errors or of a feature, such as "adwin" or "kswin:on=2", as of `Learner`
    on_drift : what is done about it: "warn", "restart" or "forget"
    nu, gamma, ... : any parameter of the algorithm or of its kernel by its own name: ``OnlineKernelOutlier(nu=0.01)``
        takes about one row of a hundred for an outlier

    Attributes
    ----------
    offset_ : the border; a row whose score is below it is an outlier
    size_, n_seen_ : stored points; rows learned from
    algorithm_ : the spec with data-dependent parameters settled
    drifts_ : what was found of drift

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream import OnlineKernelOutlier
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> detector = OnlineKernelOutlier(nu=0.05).fit(X)
    >>> detector.predict(X[:1] * 0.0).tolist(), detector.predict(X[:1] * 0.0 + 9.0).tolist()
    ([1], [-1])
    """

    _lacks: ClassVar = {"predict_proba": NO_CHANCES}

    def __init__(
        self,
        algorithm: str | Algorithm = "auto",
        *,
        epochs: int = 1,
        random_state: Any = None,
        dtype: str = "float32",
        grow_features: bool = False,
        scaling: str | Scaling | Inputs = ONLINE,
        threads: int | None = None,
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

    def _spec(self, algorithm: str | Algorithm) -> Algorithm:
        spec = Density() if algorithm == "auto" else as_algorithm(algorithm)
        if isinstance(spec, NORMA) and spec.loss == "auto":
            spec = replace(spec, loss="novelty")
        if not spec.without_labels:
            raise ValueError(
                f"{spec.name} with loss={getattr(spec, 'loss', None)!r} does not find outliers. Density and NORMA do: "
                "OnlineKernelOutlier(nu=0.05), OnlineKernelOutlier(NORMA(nu=0.05))."
            )
        return spec

    def _begin(self, task: Task, rows: Any = None) -> Learner:
        if isinstance(self.scaling, str) and self.scaling in METRICS:
            raise ValueError(f"scaling={self.scaling!r} is learned from labels, and there are none; take 'online'.")
        return super()._begin(task, rows)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, starting afresh."""
        X = self._rows(X, reset=True)
        return self._fit(Binary([-1, 1]), X, np.ones(X.shape[0]), sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; the first call begins a model."""
        self.predict_learn(X, y, sample_weight)
        return self

    def predict_learn(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """1 or -1 for each row before learning from it, (n,); one pass that predicts and learns.

        >>> from kernelstream import OnlineKernelOutlier
        >>> OnlineKernelOutlier(gamma=1.0).predict_learn([[0.0]] * 50 + [[9.0]])[-1:].tolist()
        [-1]
        """
        first = not hasattr(self, "learner_")
        learner = self._begin(Binary([-1, 1])) if first else self.learner_
        X = self._rows(X, reset=first)
        scores = learner.learn(X, learner.task.decode(np.ones((X.shape[0], 1))), sample_weight)
        self.learner_ = learner
        return _signs(scores)

    def decision_function(self, X: Any) -> np.ndarray:
        """How far the score of each row is above the border, (n,): negative for an outlier."""
        return self._fitted().scores(self._rows(X, reset=False))[:, 0].astype(np.float64)

    def score_samples(self, X: Any) -> np.ndarray:
        """f, (n,): large where rows were many."""
        return self.decision_function(X) + self.offset_

    @property
    def offset_(self) -> float:
        """rho, what `decision_function` subtracts from `score_samples`."""
        return float(self._fitted().attributes["rho"])

    def predict(self, X: Any) -> np.ndarray:
        """1 for what is usual, -1 for an outlier, (n,)."""
        return _signs(self._fitted().scores(self._rows(X, reset=False)))


def _signs(scores: np.ndarray) -> np.ndarray:
    return np.where(scores[:, 0] >= 0.0, 1, -1)
