"""The contract of an algorithm file: a spec (`Algorithm`) beside the bodies of `lift`, `evaluate` and `step`.

Learners of the second order fit it as they are. Their state has a D x D leaf, and rows that wait as leaves of their
own; a step that fills the last place for them sets `halt`, and `prepare` adds the piece by one product: so pieces end
at fixed row numbers, however the stream is cut, and a model file holds what waits. Their `merge` adds instead of
averaging, and a sample weight scales what a row tells instead of a step: they say so in `exempt`.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ..kernels import EVALUATED, Gaussian, Kernel, Need, as_kernel
from ..losses import Novelty, as_loss
from ..numerics.rows import DenseRow, Sample, dense_row
from ..parameters import Parameters
from .state import Limits, compare_shapes, restored, split

if TYPE_CHECKING:
    from .ahead import Ahead

# A chunk's lifted rows should stay in the second-level cache.
_CHUNK_BYTES = 512 * 1024
LONGEST_CHUNK = 256
_MOST = 2**31 - 1  # points, features, rows that a spec asks for

# What the help of a spec shows.
EXAMPLE = """>>> import numpy as np
>>> from kernelstream import {name}, OnlineKernelClassifier
>>> X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
>>> y = X[:, 0] * X[:, 1] > 0
>>> clf = OnlineKernelClassifier({name}(), random_state=0)
>>> shown = clf.predict_learn(X, y)  # each row is predicted, then learned
>>> bool((shown == y)[300:].mean() > 0.7)
True"""


class Common(NamedTuple):
    """The part of an algorithm's scratch that the engine knows."""

    chunk: int  # rows that are lifted together, a multiple of 4
    halt: np.ndarray  # 0-d; a step sets it to have `Algorithm.prepare` called before the next row
    learned: np.ndarray  # 0-d; the rows that the model has learned
    slope: np.ndarray  # (K,) the loss's gradient at the scores
    dense: DenseRow


def common(width: int, n_outputs: int, dtype: Any, lifted: int = 0) -> Common:
    """Scratch for rows that lift to `lifted` numbers each."""
    fitting = _CHUNK_BYTES // max(1, lifted * np.dtype(dtype).itemsize)
    chunk = max(8, min(LONGEST_CHUNK, fitting // 4 * 4))
    zero = np.zeros((), np.int64)
    return Common(chunk, zero, zero.copy(), np.zeros(n_outputs, dtype), dense_row(width, dtype))


class Chunk(NamedTuple):
    """Rows that were lifted and evaluated together."""

    scratch: Any  # where they were: the algorithm's own
    scores: np.ndarray  # (n, K)


class Shape(NamedTuple):
    """What the state of a model is sized by."""

    width: int
    n_outputs: int
    seed: int
    dtype: Any


@dataclass
class Algorithm(Parameters):
    """Base of all specs: what an algorithm file provides besides the three compiled bodies.

    kernel: a kernel such as Gaussian(gamma=0.5), or its name ("gaussian" or "rbf", "laplacian", ...).
    """

    kernel: Kernel = field(default_factory=Gaussian)

    name: ClassVar[str]
    paper: ClassVar[str]
    tasks: ClassVar[tuple[str, ...]]
    bounded: ClassVar[bool]
    needs: ClassVar[tuple[Need, ...]] = (EVALUATED,)  # what the kernel must be
    parent: ClassVar[str | None] = None  # the learner that it equals while its budget is not reached
    models_probabilities: ClassVar[bool] = False  # whatever its loss, by `probabilities`
    models_deviations: ClassVar[bool] = False  # by `deviations`
    models_spreads: ClassVar[bool] = False  # by `spreads`
    remembers: ClassVar[bool] = False  # something of rows that are shown before their labels come, by `remember`
    exempt: ClassVar[dict[str, str]] = {}  # a law of `laws` that cannot hold: the reason
    shorter_steps: ClassVar[str] = ""  # what helps against divergence; by default a smaller learning_rate, or float64

    @property
    def cure(self) -> str:
        """What helps against divergence."""
        otherwise = "lower learning_rate" if hasattr(self, "learning_rate") else 'use dtype="float64"'
        return self.shorter_steps or otherwise

    @classmethod
    def _introduced(cls, prose: str) -> str:
        """The module's: what it learns, the paper, the update, and where it deviates."""
        return inspect.getdoc(sys.modules.get(cls.__module__)) or prose

    @classmethod
    def _example(cls) -> str:
        """Of a spec that people can import."""
        return "" if cls.__module__.rpartition(".")[2].startswith("_") else EXAMPLE.format(name=cls.__name__)

    def losses(self, task: str) -> tuple[str, ...]:
        """Names of the losses that can be chosen for a task; the first is the default."""
        raise NotImplementedError

    def named_loss(self, task: str) -> Any:
        """The loss that the spec names, or the default."""
        loss = getattr(self, "loss", "auto")
        return self.losses(task)[0] if loss == "auto" else loss

    def __post_init__(self) -> None:
        self.kernel = as_kernel(self.kernel)
        super().__post_init__()

    def set_params(self, **params: Any) -> Self:
        if "kernel" in params:
            params["kernel"] = as_kernel(params["kernel"])
        return super().set_params(**params)

    def check(self) -> None:
        for need in self.needs:
            need.check(self.kernel)
        for name, value in self.get_params(deep=False).items():
            if type(value) is int and value > _MOST and not name.endswith("start"):  # that of a schedule is no size
                raise ValueError(f"{name}={value} must be at most {_MOST:,}, which no machine has room for; take less.")

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Those that it computes with."""
        return (self.kernel,)

    @property
    def without_labels(self) -> bool:
        """Whether labels play no role: it says which rows are odd."""
        loss = getattr(self, "loss", "auto")
        return loss != "auto" and isinstance(as_loss(loss), Novelty)

    def depends_on_data(self, task: str) -> bool:
        """Whether `settle` needs rows for a task: then the first ones are kept until they are enough (`Opening`)."""
        return self.kernel.depends_on_data

    def settle(self, task: str, sample: Sample) -> Self:
        """The spec with every parameter fixed that depends on the task or on the first rows."""
        return replace(self, kernel=self.kernel.settle(sample))

    def lower(self, task: str, dtype: Any) -> Any:
        """The record that compiled code reads."""
        raise NotImplementedError

    def lowered(self, task: str, dtype: Any) -> Any:
        """`lower`, for a kernel whose numbers are finite in this precision; ValueError where they are not."""
        for kernel in self.kernels:
            if not kernel.depends_on_data:  # a learner may settle its kernel's width as a part of its state
                kernel.require_finite(dtype)
        return self.lower(task, dtype)

    def init(self, shape: Shape) -> Any:
        """The state before any example."""
        raise NotImplementedError

    def scratch(self, state: Any, shape: Shape) -> Any:
        """Room for one run's intermediate results; nothing in it outlives a call."""
        raise NotImplementedError

    def prepare(self, record: Any, state: Any, ahead: "Ahead") -> Any:
        """The state, made ready for more rows: called before each run and after each halt.

        ahead: where long work can be begun for a row to come. Ensures: what it does depends on the state alone, so that
        how often it is called changes nothing.
        """
        return state

    def work_beside(self, state: Any) -> Callable[[], None] | None:
        """What `prepare` has left to be done in place while more rows are learned, on arrays that no step reads; asked
        for once after each `prepare`, and done before the next one, or before anybody else looks at the state.
        """
        return None

    def lifts_ahead(self, state: Any) -> bool:
        """Whether `lift` reads nothing that a step from this state may change: then it may run ahead of the steps, in
        other threads.
        """
        return False

    def grow(self, state: Any, shape: Shape) -> Any:
        """The same function for more features or outputs."""
        raise NotImplementedError

    def split(self, state: Any, shape: Shape) -> Any:
        """(-f/2, f/2), two outputs whose margin is f, from the one output f of a binary task."""
        return split(state, self.init(shape._replace(n_outputs=1)), self.init(shape._replace(n_outputs=2)))

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> Any:
        """The state that a model file holds; ValueError for one that no run could have left.

        The header's sizes are compared with the arrays before anything is made of them. `outline`, `template` and
        `limits` say what a file may hold; what several leaves must have in common, a learner checks here itself.
        """
        compare_shapes(arrays, self.outline(shape))
        return restored(self.template(arrays, shape), arrays, self.limits)

    def outline(self, shape: Shape) -> dict[str, tuple[int | None, ...]]:
        """The shapes of those leaves that tell how large the others are, by name; None for a length that grows."""
        return {}

    def template(self, arrays: dict[str, np.ndarray], shape: Shape) -> Any:
        """A state with the shapes that a file's arrays must have. Requires: they have the shapes of the outline."""
        return self.init(shape)

    def limits(self, state: Any) -> Limits:
        """What the leaves of this state may hold, by name. Whole numbers that are not named count something."""
        return {}

    def n_stored(self, state: Any) -> int:
        """Stored points or features."""
        raise NotImplementedError

    def attributes(self, state: Any) -> dict[str, Any]:
        """What a model of this kind shows besides its size, by name; an estimator adds an underscore."""
        return {}

    def first_rows(self, state: Any) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """All rows so far, with targets and weights, while the state keeps them: a merge has the other learn them."""
        return []

    def probabilities(self, state: Any, scores: np.ndarray) -> np.ndarray:
        """The class probabilities that scores (n, K) stand for; the state is None before the first row."""
        raise NotImplementedError

    def merge(self, record: Any, state: Any, other: Any, weight: float, since: Any = None) -> Any:
        """(1 - weight) * state + weight * other, compressed as the algorithm does. No argument is changed.

        since: the state that both went on from, if they did: what it has counted, they have not counted apart. It is
            handed over only where there is one.
        """
        raise NotImplementedError

    def distance(self, state: Any, other: Any) -> float:
        """The norm in the kernel's space of the difference of two functions."""
        raise ValueError(
            f"{self.name} is several functions, whose difference has no norm in one kernel's space. Count rows instead."
        )

    def unmerge(self, record: Any, state: Any, other: Any) -> Any:
        """The state without what it learned from the other's rows. Neither argument is changed."""
        raise ValueError(
            f"{self.name} cannot take out again what was merged: what it learned later depends on it. A learner can in "
            "which what rows tell adds up, as in ridge; or keep the model from before the merge."
        )

    def deviations(self, record: Any, state: Any, chunks: Iterator[Chunk]) -> np.ndarray:
        """(n, K): how far from the scores of some rows the targets are to be expected, as a standard deviation."""
        raise ValueError(
            f"{self.name} does not say how sure it is of a single value. Auto, ridge, krls-sw, krls-fb and krls-t do: "
            'OnlineKernelRegressor("ridge").predict(X, return_std=True). Intervals have all: predict_interval(X).'
        )

    def spreads(self, state: Any, chunks: Iterator[Chunk]) -> np.ndarray:
        """(n,): how little the rows so far say of each row, whatever their targets were."""
        raise ValueError(
            f'{self.name} does not say how much it knows of a row. Ridge does: Learner("ridge", task).spreads(X).'
        )

    def left_out(
        self, record: Any, state: Any, chunks: Iterator[Chunk], targets: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """(n, K): what is left of the targets of rows that were learned once, with these weights, under the model
        without the row.
        """
        raise ValueError(
            f"{self.name} cannot say what its model were without a row. Ridge can: "
            'OnlineKernelRegressor("ridge").leave_one_out(X, y).'
        )
