"""A case: a learner with its settings on some rows. It can be run, and it knows its course, for the floor."""

import copy
import functools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kernelstream import ALGORITHMS, Binary, Learner, Multiclass, make
from kernelstream.kernels import Gaussian
from kernelstream.learner.room import make_room

from .data import Data


class Course(NamedTuple):
    """What happened in a run, row by row: the floor is the arithmetic of these rows and no others."""

    sizes: np.ndarray  # points before the row
    moved: np.ndarray  # whether the model moved
    gone: np.ndarray  # points that the row made leave
    slots: np.ndarray  # the first place whose point changed; the size where none did
    changed: np.ndarray  # coefficients that changed


# The papers' settings where the defaults are others: LSOKL sec. 7 (FOGD, NOGD), AVM's and RRF's tables. B = 400.
PAPERS: dict[str, dict[str, Any]] = {
    "fogd": {"n_components": 1600},
    "nogd": {"rank": 80, "learning_rate": 0.2},
    "rrf": {"kernel": Gaussian(gamma=0.5), "n_components": 100},
    "dualsgd": {"budget": 100, "n_components": 200},
    "koil": {"n_neighbours": 10, "regularization": 0.0},  # so that what a move changes can be counted
    "avm": {"kernel": Gaussian(gamma=0.0625), "regularization": 8.398e-5, "coverage": 1.0},
}
BUDGET = 400
UNBOUNDED = ("perceptron", "ogd", "norma", "pegasos", "pa-1", "pa-2")
# These cost O(B^2) or more an update: fewer rows show their rate.
SLOW = {"bpa-p": 3_000, "bpa-nn": 10_000, "tvm": 3_000, "bsgd-p": 20_000, "npbsgd": 20_000}


@dataclass
class Case:
    """`warm` rows are learned before the clock starts, so that a budget is full."""

    learner: str
    data: Data
    parameters: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    warm: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        if self.dtype != "float32":
            self.data = self.data._replace(X=self.data.X.astype(self.dtype))

    @property
    def n_outputs(self) -> int:
        return 1 if self.data.y.min() < 0 else int(self.data.y.max()) + 1

    @property
    def X(self) -> Any:
        return self.data.X[self.warm :]

    @property
    def y(self) -> np.ndarray:
        return self.data.y[self.warm :]

    @functools.cached_property
    def spec(self) -> Any:
        """The settled spec."""
        return self.started.settled

    @functools.cached_property
    def started(self) -> Learner:
        """The learner before the rows that are timed."""
        task = Binary([-1, 1]) if self.n_outputs == 1 else Multiclass(range(self.n_outputs))
        learner = Learner(make(self.learner, **self.parameters), task, dtype=self.dtype, threads=self.threads)
        make_room(learner, self.data.X.shape[1], task)
        if self.warm:
            learner.learn(self.data.X[: self.warm], self.data.y[: self.warm])
        return learner

    def ours(self) -> Callable[[], Any]:
        """A work: a fresh copy of the learner, and its learning. The last copies are kept, so that a new one lies on
        other pages: on which ones can make a fifth of the time.
        """
        learner = copy.deepcopy(self.started)
        self.copies.append(learner)
        self.pass_over()
        return lambda: learner.learn(self.X, self.y)

    def pass_over(self) -> None:
        """Make a copy of the learner that is not used. A large one empties the caches: so neither the learner nor its
        floor finds there what it has just written, or read in the run before.
        """
        copy.deepcopy(self.started)

    @functools.cached_property
    def copies(self) -> deque[Learner]:
        return deque(maxlen=5)

    @functools.cached_property
    def finished(self) -> Learner:
        learner = copy.deepcopy(self.started)
        learner.learn(self.X, self.y)
        return learner

    @functools.cached_property
    def course(self) -> Course:
        """Found by learning one row at a time, which gives the same model bit for bit."""
        learner, n = copy.deepcopy(self.started), len(self.y)
        course = Course(*(np.zeros(n, kind) for kind in (np.int64, bool, np.int64, np.int64, np.int64)))
        for t in range(n):
            before, size = _remembered(learner), learner.size
            scores = learner.learn(self.X[t : t + 1], self.y[t : t + 1])
            after, left = _remembered(learner), learner.size
            kept = min(size, left)
            changed = int((before.coef[:, :kept] != after.coef[:, :kept]).any(0).sum())
            same = before.weights.shape == after.weights.shape  # auto learns all of them anew with a larger map
            changed += int((before.weights != after.weights).any(-2).sum()) if same else after.weights.shape[-1]
            points = before.norms[:kept] != after.norms[:kept]
            moved = changed > 0 or left != size or points.any()
            if self.learner == "norma":  # which shrinks f in every round
                moved = after.border > before.border
            elif self.learner == "budget-perceptron":  # which may take a row in and drop it again
                moved = margins(scores, self.y[t : t + 1])[0] <= 0
            elif self.learner == "stack":  # whose parts have courses of their own
                moved = True
            course.sizes[t], course.moved[t], course.changed[t] = size, moved, changed
            course.gone[t] = max(0, size + moved - left)
            course.slots[t] = points.argmax() if points.any() else kept
        return course

    def facts(self) -> dict[str, Any]:
        """What identifies the case in the results."""
        spec = self.spec
        facts: dict[str, Any] = {"learner": self.learner, "data": self.data.name, "d": self.data.width}
        facts |= {name: getattr(spec, name) for name in ("budget", "n_components") if getattr(spec, name, None)}
        return facts | {"K": self.n_outputs, "dtype": self.dtype, "rows": len(self.y)}


def margins(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """y f(x), or the score of the right class less the best other one."""
    if scores.shape[1] == 1:
        return scores[:, 0] * y
    right = np.arange(scores.shape[1]) == y[:, None]
    return scores[right] - np.where(right, -np.inf, scores).max(1)


class _Remembered(NamedTuple):
    coef: np.ndarray
    weights: np.ndarray
    norms: np.ndarray
    border: float


def _remembered(learner: Learner) -> _Remembered:
    """Copies of what a step may change."""
    state, none = learner._state, np.zeros((1, 0))
    weights = state.weights.copy() if hasattr(state, "weights") else none
    if not hasattr(state, "f"):
        return _Remembered(none, weights, none[0], 0.0)
    n = learner.size
    return _Remembered(
        state.f.coef[:, :n].copy(), weights, state.f.norms[:n].copy(), float(getattr(state, "raised", 0.0))
    )


def base_parameters(name: str) -> dict[str, Any]:
    """The papers' sizes, on rows min-max to [-1, 1]."""
    budget = {"budget": BUDGET} if hasattr(ALGORITHMS[name], "budget") and name not in UNBOUNDED else {}
    return {"kernel": Gaussian(gamma=1.0), **budget, **PAPERS.get(name, {})}


def rows_for(name: str, most: int) -> int:
    return min(SLOW.get(name, most), most)
