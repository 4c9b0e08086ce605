"""Whatever can be evaluated, behind one face: our learners, scikit-learn's `partial_fit` estimators, River's models.

A model shows something for each row before it learns from it. What is shown has kinds: LABELS always (labels, or values
of a regression), SCORES (n, K) and PROBABILITIES (n, classes) where the model has them and a metric asks.
"""

from collections.abc import Set
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..learner import OnlineLearner
from ..metrics import LABELS, PROBABILITIES, SCORES
from ..sources import Matrix
from ..tasks import Binary, Classification, Task
from ..teaching import explained
from .settings import flat

Shown: TypeAlias = dict[str, np.ndarray]


@explained(
    kinds="what is wanted of each row: labels, scores, chances, intervals",
    shown="rows whose labels come later",
)
class Model:
    """What the evaluation sees of a learner. `size` and `n_bytes` are 0 where they are not known."""

    name: str
    task: Task
    seed: int = 0
    size: int = 0
    n_bytes: int = 0
    n_learned: int | None = None  # rows, where that is known
    learns_all: bool = True  # that it is shown

    @property
    def parameters(self) -> dict[str, Any]:
        """Flat settings, for people."""
        raise NotImplementedError

    def show(self, X: Matrix, kinds: Set[str]) -> Shown:
        """What is predicted for rows, learning nothing."""
        raise NotImplementedError

    def learn(self, X: Matrix, y: np.ndarray, kinds: Set[str]) -> Shown:
        """What is predicted for each row before it is learned from; learns them in their order."""
        raise NotImplementedError

    def learn_late(self, X: Matrix, y: np.ndarray, shown: Matrix, kinds: Set[str]) -> Shown:
        """What is predicted for row t of `shown` before row t of X is learned."""
        parts = []
        for t in range(len(y)):
            parts.append(self.show(shown[t : t + 1], kinds))
            self.learn(X[t : t + 1], y[t : t + 1], frozenset())
        return stacked_kinds(parts, kinds)

    def warm_up(self, *, late: bool = False) -> None:
        """Have everything compiled that learning will run, also from labels that come late."""

    def restart(self) -> None:
        """Begin anew, knowing no row, with the classes and names that are known."""
        raise ValueError(f"{self.name} cannot begin anew; let a run of it warn only, on_drift='warn'.")

    @property
    def restarts(self) -> bool:
        return type(self).restart is not Model.restart


class OwnModel(Model):
    """A learner of ours, or a combination of several."""

    def __init__(self, learner: OnlineLearner, name: str | None = None):
        self.learner = learner
        self.name = learner.name if name is None else name
        self.seed = learner.seed

    @property
    def task(self) -> Task:  # type: ignore[override]
        return self.learner.task

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.learner.size

    @property
    def n_bytes(self) -> int:  # type: ignore[override]
        return self.learner.n_bytes

    @property
    def n_learned(self) -> int:  # type: ignore[override]
        return self.learner.n_seen

    @property
    def parameters(self) -> dict[str, Any]:
        return flat(self.learner.spec)

    def warm_up(self, *, late: bool = False) -> None:
        self.learner.warm_up(late=late)

    def show(self, X: Matrix, kinds: Set[str]) -> Shown:
        return self._shown(self.learner.show(X), kinds)

    def learn(self, X: Matrix, y: np.ndarray, kinds: Set[str]) -> Shown:
        return self._shown(self.learner.learn(X, y), kinds)

    def learn_late(self, X: Matrix, y: np.ndarray, shown: Matrix, kinds: Set[str]) -> Shown:
        return self._shown(self.learner.learn_late(X, y, shown), kinds)

    def restart(self) -> None:
        self.learner.restart()

    def _shown(self, scores: np.ndarray, kinds: Set[str]) -> Shown:
        shown = {LABELS: self.learner.task.decode(scores), SCORES: scores}
        if PROBABILITIES in kinds:
            shown[PROBABILITIES] = self.learner.probabilities_of(scores)
        return shown


def widened(shown: Shown, task: Task, later: Task) -> Shown:
    """What a model of one task has shown, for the classes of one that grew from it: of a class that it did not know
    it says a score of -inf, and a chance of 0.
    """
    if later is task:
        return shown
    found = dict(shown)
    for kind, nothing in ((SCORES, -np.inf), (PROBABILITIES, 0.0)):
        given = shown.get(kind)
        if given is not None:
            if isinstance(task, Binary) and given.shape[1] == 1:
                given = np.hstack([-0.5 * given, 0.5 * given])
            found[kind] = np.pad(given, ((0, 0), (0, later.n_outputs - given.shape[1])), constant_values=nothing)
    return found


class SklearnModel(Model):
    """An estimator with `partial_fit`, which it gets a row at a time."""

    def __init__(self, estimator: Any, task: Task, *, name: str | None = None):
        self.estimator = estimator
        self.task = task
        self.name = type(estimator).__name__ if name is None else name
        self._classes = {"classes": task.classes} if isinstance(task, Classification) else {}
        self._n_seen = 0

    @property
    def parameters(self) -> dict[str, Any]:
        return {k: str(v) for k, v in self.estimator.get_params().items()} if self._has("get_params") else {}

    @property
    def n_bytes(self) -> int:  # type: ignore[override]
        """Of the arrays that it learned."""
        return sum(value.nbytes for value in vars(self.estimator).values() if isinstance(value, np.ndarray))

    def show(self, X: Matrix, kinds: Set[str]) -> Shown:
        if self._n_seen == 0:
            return _before_learning(self.task, X.shape[0])
        estimator, shown = self.estimator, {}
        shown[LABELS] = np.asarray(estimator.predict(X))
        if SCORES in kinds:
            given = estimator.decision_function(X) if self._has("decision_function") else estimator.predict(X)
            shown[SCORES] = np.asarray(given, np.float64).reshape(X.shape[0], -1)
        if PROBABILITIES in kinds:
            if not self._has("predict_proba"):
                raise ValueError(f"{self.name} has no predict_proba, which log_loss needs; leave that metric out.")
            shown[PROBABILITIES] = np.asarray(estimator.predict_proba(X))
        return shown

    def learn(self, X: Matrix, y: np.ndarray, kinds: Set[str]) -> Shown:
        parts = []
        for t in range(len(y)):
            row = slice(t, t + 1)
            parts.append(self.show(X[row], kinds))
            self.estimator.partial_fit(X[row], y[row], **(self._classes if self._n_seen == 0 else {}))
            self._n_seen += 1
        return stacked_kinds(parts, kinds)

    def restart(self) -> None:
        from sklearn.base import clone

        self.estimator, self._n_seen = clone(self.estimator), 0

    def _has(self, name: str) -> bool:
        return hasattr(self.estimator, name)


class RiverModel(Model):
    """A model with `predict_one` and `learn_one`. Features are called 0, 1, ...; the zeros of sparse rows are left
    out. Of two classes the second is True: River's binary models take any other label for its truth value, and -1 and 1
    are both true.
    """

    def __init__(self, model: Any, task: Task, *, name: str | None = None):
        self.model = model
        self.task = task
        self.name = type(model).__name__ if name is None else name
        # What our labels are called there.
        self._names: dict[Any, Any] = {}
        if isinstance(task, Classification):
            labels = task.classes.tolist()
            self._names = dict(zip(labels, (False, True) if isinstance(task, Binary) else labels, strict=True))
        self._labels = {name: label for label, name in self._names.items()}

    @property
    def parameters(self) -> dict[str, Any]:
        given: dict[str, Any] = getattr(self.model, "_get_params", dict)()
        return {k: str(v) for k, v in given.items()}

    def show(self, X: Matrix, kinds: Set[str]) -> Shown:
        return stacked_kinds([self._show(x, kinds) for x in _dicts(X)], kinds)

    def learn(self, X: Matrix, y: np.ndarray, kinds: Set[str]) -> Shown:
        parts = []
        for x, label in zip(_dicts(X), y.tolist(), strict=True):
            parts.append(self._show(x, kinds))
            self.model.learn_one(x, self._names.get(label, label))
        return stacked_kinds(parts, kinds)

    def restart(self) -> None:
        self.model = self.model.clone()

    def _show(self, x: dict[int, float], kinds: Set[str]) -> Shown:
        label = self.model.predict_one(x)
        shown = _before_learning(self.task, 1)
        if label is not None:
            shown[LABELS] = np.array([self._labels.get(label, label)])
        if kinds & {SCORES, PROBABILITIES} and isinstance(self.task, Classification):
            chances = self.model.predict_proba_one(x)
            row = np.array([[float(chances.get(self._names.get(c, c), 0.0)) for c in self.task.classes.tolist()]])
            if row.sum() > 0.0:
                shown[PROBABILITIES] = row
                shown[SCORES] = row[:, 1:] - row[:, :1] if row.shape[1] == 2 else row
        return shown


def as_model(model: Any, task: Task | None = None) -> Model:
    """The face of a learner. What is not ours needs to be told its task."""
    if isinstance(model, Model):
        return model
    if isinstance(model, OnlineLearner):
        return OwnModel(model)
    for kind, method in ((SklearnModel, "partial_fit"), (RiverModel, "learn_one")):
        if hasattr(model, method):
            if task is None:
                raise ValueError(f"{type(model).__name__} does not know its task; give task=Binary([...]) or another.")
            return kind(model, task)
    raise ValueError(
        f"{type(model).__name__} has neither partial_fit nor learn_one; give a Learner, an estimator that learns "
        "online, or a River model."
    )


def _before_learning(task: Task, n: int) -> Shown:
    """What is shown by a model that has seen nothing: scores of 0."""
    scores = np.zeros((n, task.n_outputs))
    shown = {LABELS: task.decode(scores), SCORES: scores}
    if isinstance(task, Classification):
        shown[PROBABILITIES] = np.full((n, len(task.classes)), 1.0 / len(task.classes))
    return shown


def _dicts(X: Matrix) -> Any:
    if sp.issparse(X):
        for t in range(X.shape[0]):
            span = slice(X.indptr[t], X.indptr[t + 1])
            yield dict(zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True))
    else:
        for row in X.tolist():
            yield dict(enumerate(row))


def stacked_kinds(parts: list[Shown], kinds: Set[str]) -> Shown:
    """What was shown of some rows after others, as one."""
    return {kind: np.concatenate([part[kind] for part in parts]) for kind in kinds | {LABELS}}
