"""What the estimators are: parameters, what a fitted one shows, learning, merging, files.

`fit` starts afresh, `partial_fit` goes on, `predict_learn` predicts each row before learning from it. However a stream
is cut into calls, the model is the same.
"""

import inspect
import os
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..algorithms import as_algorithm
from ..engine import Algorithm
from ..engine.inputs import FITTED, NONE, Inputs, Scaling, fitted
from ..learner import Learner
from ..learner.drift import WARN
from ..learner.naming import changed
from ..numerics.rows import as_matrix, require_inside, require_unnamed, unmasked
from ..tasks import Task
from ..teaching import explained


@explained(other="a fitted estimator with the same parameters and the same seed")
class OnlineKernelEstimator(BaseEstimator):  # type: ignore[misc]
    _lacks: ClassVar[dict[str, str]] = {}  # methods that others have: why this kind has none

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
        drift: Any = None,
        on_drift: str = WARN,
        **parameters: Any,
    ):
        self.algorithm = changed(self._spec(algorithm), parameters) if parameters else algorithm
        self.epochs = epochs
        self.random_state = random_state
        self.dtype = dtype
        self.grow_features = grow_features
        self.scaling = scaling
        self.threads = threads
        self.drift = drift
        self.on_drift = on_drift

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name. One of the algorithm or its kernel goes by its own name or, also where the
        algorithm is only named, as in ``algorithm__n_components`` and ``algorithm__kernel__gamma``.

        >>> from kernelstream import OnlineKernelRegressor
        >>> OnlineKernelRegressor("ridge").set_params(n_components=100).algorithm.n_components
        100
        """
        own = self._get_param_names()
        if any(name not in own for name in params):
            flat = {name: value for name, value in params.items() if name.partition("__")[0] not in own}
            nested = {name: value for name, value in params.items() if name not in flat}
            params = {**nested, "algorithm": changed(self._spec(params.get("algorithm", self.algorithm)), flat)}
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
        """Rows learned from, since the model began anew if it did."""
        return self._fitted().n_seen

    @property
    def drifts_(self) -> list[Any]:
        """What was found of drift, the newest thousand, each a `Drift`; of several targets a list of each one's."""
        return self._fitted().drifts

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
        why = self._lacks.get(name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{f': {why}' if why else '.'}")

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
            drift=self.drift,
            on_drift=self.on_drift,
        )

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """X as a matrix, with scikit-learn's bookkeeping of names and widths.

        A plain array of the known width takes the short way: nothing is left to book.
        """
        require_unnamed(X)
        require_inside(X)
        X = unmasked(X, "features")
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
            self._learn(learner, X, y, sample_weight)
        self.learner_ = learner
        return self

    def _learn(self, learner: Learner, X: Any, y: Any, sample_weight: Any) -> np.ndarray:
        """Predict, then learn, rows; their scores from before."""
        return learner.learn(X, y, sample_weight)

    def merge(self, other: "OnlineKernelEstimator") -> Self:
        """Take in what another fitted estimator learned, weighted by the rows each has seen.

        >>> from kernelstream import OnlineKernelRegressor
        >>> one, two = (OnlineKernelRegressor("ridge", gamma=1.0, random_state=1) for _ in range(2))
        >>> one.fit([[0.0], [1.0]], [0.0, 1.0]).merge(two.fit([[2.0]], [2.0])).n_seen_
        3
        """
        theirs = _fitted(other)
        mine, others = ([str(name) for name in getattr(one, "feature_names_in_", ())] for one in (self, other))
        if mine and others and mine != others:
            raise ValueError(
                f"These estimators cannot be merged: feature_names_in_ differs, {mine} here and {others} there. Fit "
                "both on tables with the same columns, in the same order."
            )
        self._fitted().merge(theirs)
        return self

    def unmerge(self, other: "OnlineKernelEstimator") -> Self:
        """Forget what another fitted estimator learned, whose rows this one has learned or merged. Forks of one model
        merge without counting its rows twice: ``a.merge(b).unmerge(ancestor)``. For ridge.
        """
        self._fitted().unmerge(_fitted(other))
        return self

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Of rows that were learned once, what is left of each target under the model of all rows but this one: (n,),
        or (n, classes) for several classes, whose targets are -1 and 1. For ridge.

        sample_weight: as the rows were learned
        """
        learner = self._fitted()
        left = learner.leave_one_out(self._rows(X, reset=False), y, sample_weight)
        return left[:, 0] if left.shape[1] == 1 else left

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file; `kernelstream.load` reads it, and learning goes on bit for bit.

        >>> import tempfile
        >>> import kernelstream
        >>> from kernelstream import OnlineKernelRegressor
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     OnlineKernelRegressor("ridge", gamma=1.0).fit([[0.0], [1.0]], [0.0, 1.0]).save(f"{directory}/model.ks")
        ...     model = kernelstream.load(f"{directory}/model.ks").partial_fit([[2.0]], [2.0])
        >>> model.n_seen_
        3
        """
        learner = self._fitted()
        names = getattr(self, "feature_names_in_", None)
        random_state = self.random_state if isinstance(self.random_state, int | np.integer) else None
        learner.save(
            path,
            epochs=int(self.epochs),
            random_state=None if random_state is None else int(random_state),
            feature_names=None if names is None else [str(n) for n in names],
            estimator_scaling=self.scaling if isinstance(self.scaling, str) else None,
            **self._header(),
        )

    def _header(self) -> dict[str, Any]:
        """What a model file's header says of the estimator besides."""
        return {}

    def _restore(self, learner: Learner, header: dict[str, Any]) -> Self:
        self.learner_ = learner
        if learner.settled is not None:
            self.n_features_in_ = learner.width
        if header.get("feature_names") is not None:
            self.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        return self


def _fitted(other: Any) -> Learner:
    """What another estimator has learned."""
    if not isinstance(other, OnlineKernelEstimator):
        raise TypeError(f"{other!r:.60} is no estimator of online kernels. A file's is kernelstream.load(path).")
    return other._fitted()


def one_target(y: Any) -> Any:
    """y as one target a row."""
    return column_or_1d(required(y), warn=True)


def required(y: Any) -> Any:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    return unmasked(y, "labels")
