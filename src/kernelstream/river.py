"""The River face: KernelClassifier, KernelRegressor and KernelAnomalyDetector, on rows that are dictionaries.

A row goes from its dictionary to the compiled step without a detour, and `learn_many` learns a table with the bits of
`learn_one` on its rows. Names, words and classes that come later grow the model.
"""

import math
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .extras import needing

with needing("river"):
    from river import base

from .algorithms import Density, as_algorithm
from .encoding import Columns
from .encoding.values import DEFAULT_HASH_FEATURES, ONEHOT, ZERO
from .engine import Algorithm
from .engine.inputs import NONE, ONLINE, Inputs, Scaling
from .engine.lane import Lane
from .learner import Learner
from .learner.drift import WARN, Drift
from .learner.naming import changed
from .learner.watching import watched
from .tasks import MULTICLASS, Binary, Classification, Regression, Task, classification
from .teaching import explained

# What the methods' parameters are.
_ROWS = {
    "x": "a row: a dictionary of numbers, words, dates, with what is missing left out",
    "X": "a table of pandas, a row each",
    "w": "how much a row counts, 1 where it is not given",
    "kwargs": "River's, which are not looked at",
}


@explained()
class _KernelEstimator(base.Estimator):
    """What the two have in common."""

    algorithm: str | Algorithm

    def _settings(self, parameters: dict[str, Any]) -> None:
        """Keep the constructor's parameters as River looks for them; what is wrong with them is said now."""
        for name in ("self", "__class__"):
            parameters.pop(name, None)
        vars(self).update(parameters)
        self._learner: Learner | None = None
        self._lane: Lane | None = None
        self._new_columns()
        task = Regression() if isinstance(self, base.Regressor) else Binary([False, True])
        watched(task, 0, parameters["drift"], parameters["on_drift"])
        as_algorithm(self.algorithm)

    def _spec(self) -> Algorithm:
        return as_algorithm(self.algorithm)

    def _new_columns(self) -> Columns:
        own = vars(self)
        options = {name: own[name] for name in ("categorical", "hash_features", "missing")}
        return Columns(**options, dates=own["dates"] or ())

    def _begin(self, task: Task) -> Learner:
        own, spec = vars(self), self._spec()
        return Learner(
            spec,
            task,
            seed=random.randrange(2**31) if own["seed"] is None else own["seed"],
            dtype=own["dtype"],
            grow_classes=isinstance(task, Classification) and MULTICLASS in spec.tasks,
            scaling=own["scaling"],
            threads=own["threads"],
            drift=own["drift"],
            on_drift=own["on_drift"],
            columns=self._new_columns(),
        )

    def _learn_one(self, learner: Learner, x: dict[Any, Any], y: Any, w: float) -> None:
        """The long way for a row, after which the short one may be open."""
        learner.learn_one(x, y, w)
        self._learner, self._lane = learner, learner.lane()

    def _learn_many(self, learner: Learner, X: Any, y: Any, w: Any) -> None:
        learner.learn(X, y, w)
        self._learner, self._lane = learner, None

    @property
    def learner(self) -> Learner | None:
        """What learns; None before the first row."""
        return self._learner

    @property
    def drifts(self) -> list[Drift]:
        """What was found of drift, the newest thousand; `row` is how many rows had been learned."""
        return [] if self._learner is None else self._learner.drifts

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of the model and of the names that it knows."""
        if self._learner is None:
            return sys.getsizeof(self)
        assert self._learner.columns is not None
        names = sum(sys.getsizeof(name) + sys.getsizeof(rest) for _, name, rest in self._learner.columns.entries)
        return sys.getsizeof(self) + self._learner.n_bytes + names

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, with the names that it knows, to a file that `Learner.load` reads."""
        if self._learner is None:
            raise ValueError("No row was learned yet; there is nothing to save.")
        self._learner.save(path)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}


@explained(**_ROWS, y="the label; of a table a sequence of them")
class KernelClassifier(_KernelEstimator, base.MiniBatchClassifier):
    """Online kernel classification of rows that are dictionaries, with any learner of kernelstream.

    Parameters
    ----------
    algorithm
        "auto", which needs no parameter and takes features as they are; a spec such as ``FOGD(n_components=400)``; or
        a name of ``kernelstream algorithms``.
    classes
        Labels to begin with. Others are added when they come; of True and False both are known at once. Where two are
        announced, the learner begins with one output for both.
    categorical
        What words become: "onehot", a feature each when it first comes, or "hash", one of `hash_features` places.
    hash_features
        A power of two.
    missing
        What counts for a value that is absent, None or NaN: "zero", nothing; "mean", the mean of those before it; or it
        is refused, "refuse".
    dates
        What dates become, some of "hour", "day", "week", "year" and "trend"; without any they are refused.
    scaling
        "none", or "online", "metric", "full-metric" as of `Learner`.
    seed
        Of the random choices that a learner makes.
    dtype
        "float32" or "float64".
    threads
        On how many cores one call may run.
    drift, on_drift
        What looks out for a change, such as "adwin" or "adwin:on=price", and what is done about it: "warn", "restart"
        or "forget", as of `Learner`. What was found is in `drifts`.

    Examples
    --------
    >>> from kernelstream.river import KernelClassifier
    >>> from river import datasets, evaluate, metrics
    >>> model = KernelClassifier("fogd", scaling="online", seed=1)
    >>> accuracy = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> accuracy.get() > 0.85
    True
    """

    def __init__(
        self,
        algorithm: str | Algorithm = "auto",
        *,
        classes: Sequence[Any] | None = None,
        categorical: str = ONEHOT,
        hash_features: int = DEFAULT_HASH_FEATURES,
        missing: str = ZERO,
        dates: str | Sequence[str] | None = None,
        scaling: str | Scaling | Inputs = NONE,
        seed: int | None = None,
        dtype: str = "float32",
        threads: int | None = None,
        drift: Any = None,
        on_drift: str = WARN,
    ):
        self._settings(locals())
        self._task: Classification | None = None
        self._labels: list[Any] = []
        self._heads: Any = None  # the labels as pandas knows them, once somebody asks for a table of chances
        self._encode: Callable[[Any], float | None] = float
        self._two = False

    @property
    def _multiclass(self) -> bool:
        return MULTICLASS in as_algorithm(self.algorithm).tasks

    def _beginning(self, label: Any) -> Learner:
        """A learner whose first row has this label."""
        classes: Any = vars(self)["classes"]
        if classes is None and isinstance(label, bool | np.bool_):
            task: Classification = Binary([False, True])
        elif classes is None and not self._multiclass:
            raise ValueError(
                f"{self._spec().name} learns two classes, and the first label is {label!r}: announce both, "
                f"classes=[{label!r}, ...], or give labels that are True and False."
            )
        else:
            task = classification([label] if classes is None else classes, grow=classes is None or len(classes) < 2)
        return self._begin(task)

    def _foreseen(self) -> list[Any]:
        """The labels that are known before any row; who learns two classes alone takes them for False and True."""
        classes: Any = vars(self)["classes"]
        if classes is None:
            return [] if self._multiclass else [False, True]
        return classification(classes, grow=True).classes.tolist()

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from a row."""
        lane = self._lane
        if lane is not None:
            target = self._encode(y)
            if target is not None and lane.learn(x, target, w):
                return
        self._learn_one(self._beginning(y) if self._learner is None else self._learner, x, y, w)
        self._look()

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from the rows of a table, in their order.

        >>> import pandas as pd
        >>> from kernelstream.river import KernelClassifier
        >>> model = KernelClassifier("fogd", seed=1)
        >>> model.learn_many(pd.DataFrame({"colour": ["red", "blue"], "width": [2.0, 3.0]}), ["poppy", "iris"])
        >>> model.learner.n_seen
        2
        """
        plain = getattr(getattr(y, "dtype", None), "kind", "O") in "biuf"
        labels = (y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)) if plain else list(y)
        if len(labels) == 0:
            raise ValueError("The table has no rows; give one at least.")
        self._learn_many(self._beginning(labels[0]) if self._learner is None else self._learner, X, labels, w)
        self._look()

    def _look(self) -> None:
        """Look what the classes are by now, as Python's own values."""
        assert self._learner is not None
        task = self._learner.task
        if task is self._task:
            return
        assert isinstance(task, Classification)
        self._task, self._labels, self._encode, self._heads = task, task.classes.tolist(), task.encode_one, None
        self._two = isinstance(task, Binary)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """The label of a row; None before any was learned.

        >>> from kernelstream.river import KernelClassifier
        >>> model = KernelClassifier("fogd", seed=1)
        >>> model.learn_one({"colour": "red", "width": 2.0}, "poppy")
        >>> model.predict_one({"colour": "blue"})
        'poppy'
        """
        lane = self._lane
        if lane is not None and lane.score(x):
            return self._labels[lane.first_score[0] >= 0 if self._two else int(lane.scores.argmax())]
        if self._learner is None:
            return None
        scores = self._learner.scores_one(x)
        return self._labels[bool(scores[0] >= 0) if self._two else int(scores.argmax())]

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each class so far, and of those that were announced."""
        learner = self._learner
        if learner is None:
            labels = self._foreseen()
            return dict.fromkeys(labels, 1.0 / max(1, len(labels)))
        lane = self._lane
        scores = lane.scores if lane is not None and lane.score(x) else learner.scores_one(x)
        return dict(zip(self._labels, learner.probabilities_of(scores[None])[0].tolist(), strict=True))

    def predict_many(self, X: Any) -> Any:
        """The label of each row of a table.

        >>> import pandas as pd
        >>> from kernelstream.river import KernelClassifier
        >>> model, table = KernelClassifier("fogd", seed=1), pd.DataFrame({"width": [2.0, 3.0]})
        >>> model.learn_many(table, ["poppy", "poppy"])
        >>> model.predict_many(table).tolist()
        ['poppy', 'poppy']
        """
        import pandas as pd

        shown: Any = [None] * len(X) if self._learner is None else self._learner.predict(X)
        return pd.Series(shown, index=X.index, dtype=object if self._learner is None else None, copy=False)

    def predict_proba_many(self, X: Any) -> Any:
        """The probability of each class so far, and of those that were announced, for each row of a table."""
        import pandas as pd

        if self._learner is None:
            labels = self._foreseen()
            return pd.DataFrame(1.0 / max(1, len(labels)), columns=labels, index=X.index)
        if self._heads is None:
            self._heads = pd.Index(self._labels)  # takes longer than all chances of a small table
        return pd.DataFrame(self._learner.probabilities(X), columns=self._heads, index=X.index, copy=False)


@explained(**_ROWS, y="the value; of a table a sequence of them")
class KernelRegressor(_KernelEstimator, base.MiniBatchRegressor):
    """Online kernel regression on rows that are dictionaries, with any learner of kernelstream.

    Parameters
    ----------
    algorithm
        "auto", which needs no parameter and takes features as they are; a spec, or a name.
    categorical, hash_features
        What words become: "onehot", a feature each, or "hash", one of `hash_features` places, a power of two.
    missing
        What counts for a value that is absent, None or NaN: "zero", "mean", or "refuse".
    dates
        What dates become, some of "hour", "day", "week", "year" and "trend"; without any they are refused.
    scaling
        "none", or "online", "metric", "full-metric" as of `Learner`; targets are scaled too.
    seed
        Of the random choices that a learner makes.
    dtype
        "float32" or "float64".
    threads
        On how many cores one call may run.
    drift, on_drift
        What looks out for a change, such as "adwin" or "adwin:on=price", and what is done about it: "warn", "restart"
        or "forget", as of `Learner`. What was found is in `drifts`.

    Examples
    --------
    >>> from kernelstream.river import KernelRegressor
    >>> from river import datasets, evaluate, metrics
    >>> model = KernelRegressor("ridge", scaling="online", seed=1)
    >>> error = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> error.get() < 1.0
    True
    """

    def __init__(
        self,
        algorithm: str | Algorithm = "auto",
        *,
        categorical: str = ONEHOT,
        hash_features: int = DEFAULT_HASH_FEATURES,
        missing: str = ZERO,
        dates: str | Sequence[str] | None = None,
        scaling: str | Scaling | Inputs = NONE,
        seed: int | None = None,
        dtype: str = "float32",
        threads: int | None = None,
        drift: Any = None,
        on_drift: str = WARN,
    ):
        self._settings(locals())
        self._encode = Regression().encode_one

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from a row."""
        lane = self._lane
        if lane is not None:
            target = self._encode(y)
            if target is not None and lane.learn(x, target, w):
                return
        self._learn_one(self._begin(Regression()) if self._learner is None else self._learner, x, y, w)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from the rows of a table, in their order.

        >>> import pandas as pd
        >>> from kernelstream.river import KernelRegressor
        >>> model = KernelRegressor("fogd", seed=1)
        >>> model.learn_many(pd.DataFrame({"colour": ["red", "blue"], "width": [2.0, 3.0]}), [1.0, 2.0])
        >>> model.learner.n_seen
        2
        """
        self._learn_many(self._begin(Regression()) if self._learner is None else self._learner, X, y, w)

    def predict_one(self, x: dict[Any, Any], with_interval: bool = False, level: float = 0.9, **kwargs: Any) -> Any:
        """The value of a row; 0 before any was learned. With `with_interval` River's Interval, which holds the target
        with a chance of `level`.

        with_interval: whether an interval is asked for
        """
        if with_interval:
            from river.conf.interval import Interval

            return Interval(*((-np.inf, np.inf) if self._learner is None else self._learner.intervals([x], level)[0]))
        lane = self._lane
        if lane is not None and lane.score(x):
            return lane.first_score[0]
        return 0.0 if self._learner is None else float(self._learner.scores_one(x)[0])

    def predict_many(self, X: Any) -> Any:
        """The value of each row of a table.

        >>> import pandas as pd
        >>> from kernelstream.river import KernelRegressor
        >>> model = KernelRegressor("fogd", seed=1)
        >>> model.predict_many(pd.DataFrame({"width": [2.0, 3.0]})).tolist()  # before any was learned
        [0.0, 0.0]
        """
        import pandas as pd

        shown = np.zeros(len(X)) if self._learner is None else self._learner.predict(X)
        return pd.Series(shown, index=X.index, copy=False)


@explained(**_ROWS)
class KernelAnomalyDetector(_KernelEstimator, base.AnomalyDetector):
    """Online detection of rows that are unlike those before, on rows that are dictionaries.

    Parameters
    ----------
    algorithm
        "auto", which is ``Density()``; or a spec such as ``NORMA(loss="novelty")``.
    categorical, hash_features, missing, dates, seed, dtype, threads, drift, on_drift
        As of `KernelRegressor`.
    scaling
        "online", or "none".
    kwargs
        Any parameter of the algorithm or of its kernel by its own name: ``KernelAnomalyDetector(nu=0.01)``.

    Examples
    --------
    >>> import random
    >>> from kernelstream.river import KernelAnomalyDetector
    >>> draw = random.Random(0)
    >>> model = KernelAnomalyDetector(nu=0.05, seed=1)
    >>> for _ in range(500):
    ...     model.learn_one({"a": draw.gauss(0, 1), "b": draw.gauss(5, 2)})
    >>> model.score_one({"a": 0.0, "b": 5.0}) < 0.5 < model.score_one({"a": 6.0, "b": -4.0})
    True
    """

    def __init__(
        self,
        algorithm: str | Algorithm = "auto",
        *,
        categorical: str = ONEHOT,
        hash_features: int = DEFAULT_HASH_FEATURES,
        missing: str = ZERO,
        dates: str | Sequence[str] | None = None,
        scaling: str | Scaling | Inputs = ONLINE,
        seed: int | None = None,
        dtype: str = "float32",
        threads: int | None = None,
        drift: Any = None,
        on_drift: str = WARN,
        **kwargs: Any,
    ):
        own = locals()
        if given := own.pop("kwargs"):
            own["algorithm"] = changed(_of_anomalies(algorithm), given)
        self._settings(own)
        if not self._spec().without_labels:
            raise ValueError(f"{self._spec().name} does not find what is odd. Density() and NORMA(loss='novelty') do.")

    def _spec(self) -> Algorithm:
        return _of_anomalies(self.algorithm)

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Learn from a row."""
        self._learn_one(self._begin(Binary([-1, 1])) if self._learner is None else self._learner, x, 1, 1.0)

    def score_one(self, x: dict[Any, Any]) -> float:
        """How odd a row is, from 0 to 1: above 0.5 for one that is called so; 0.5 before any was learned. It is
        1 / (1 + exp(4 s)), s from about -1 to 1 what `Learner` shows: River's measures look between 0 and 1.
        """
        shown = 0.0 if self._learner is None else float(self._learner.scores_one(x)[0])
        return 0.5 - 0.5 * math.tanh(2.0 * shown)


def _of_anomalies(algorithm: str | Algorithm) -> Algorithm:
    return Density() if algorithm == "auto" else as_algorithm(algorithm)
