"""Cases: an algorithm with every kernel, loss and task that it takes, made from its spec alone."""

import copy
import functools
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..engine import Algorithm
from ..kernels import DOT, Kernel
from ..learner import Learner
from ..losses import as_loss
from ..reference import losses as reference_losses
from ..tasks import Task
from .agreement import require
from .examples import TASKS, adjusted, example_kernels

# Parameters that are set, by name, so that a short stream reaches every phase of an algorithm.
SMALL = {"budget": 20, "rank": 8, "n_components": 24, "coverage": 4.0, "size": "small"}
SMALL |= {"n_kernels": 3, "shortest": 8, "n_levels": 4, "n_neighbours": 4}

# ... and those that rows would settle.
FIXED = {"start": 2.0, "parsimony": 0.3, "reach": 2.0, "aggressiveness": 1.0, "largest": 10.0}


@dataclass(frozen=True)
class Case:
    """An algorithm with a kernel, a loss and a task."""

    spec: Algorithm
    task: str
    loss: str

    def __str__(self) -> str:
        return f"{self.spec.name} {self.spec.kernel} {self.loss} {self.task}"

    def learner(self, dtype: str = "float64", *, seed: int = 5, task: Task | None = None, **options: Any) -> Learner:
        return Learner(copy.deepcopy(self.spec), task or TASKS[self.task](), seed=seed, dtype=dtype, **options)

    def adjusted(self, **values: Any) -> "Case":
        return replace(self, spec=adjusted(self.spec, **values))

    def settling(self) -> "Case":
        """With a kernel whose width is settled on data, where the kernel has one."""
        kernel = copy.deepcopy(self.spec.kernel)
        widths = [name for name in kernel.get_params() if name.split("__")[-1] == "gamma"]
        return self.adjusted(kernel=kernel.set_params(**dict.fromkeys(widths, "scale")))

    def unregularized(self) -> "Case":
        """Without the shrinking that every round brings, where the algorithm can do without it."""
        return replace(self, spec=_unregularized(self.spec))


def _unregularized(spec: Any) -> Any:
    if hasattr(spec, "parts"):
        return replace(spec, parts=tuple(map(_unregularized, spec.parts)))
    try:
        return adjusted(spec, regularization=0.0)
    except ValueError:
        return spec


def cases(algorithm: Algorithm | type[Algorithm], kernels: Sequence[Kernel] | None = None) -> list[Case]:
    """Every kernel that the algorithm takes x task x loss, with small parameters; kernels: others than the examples."""
    spec = algorithm() if isinstance(algorithm, type) else algorithm
    sizes = {name: size for name, size in SMALL.items() if not without(spec, name)}
    found = []
    for kernel in example_kernels() if kernels is None else kernels:
        # Long steps on an unbounded kernel diverge: k(x, x) is about 1 for the others.
        rate = 0.05 if kernel.metric == DOT else 0.3
        # Without a learning rate of its own an algorithm steps by 1 / regularization.
        stepping = any(hasattr(one, "learning_rate") for one in (spec, *getattr(spec, "parts", ())))
        shrinkage = 0.01 if stepping else 1.0 / rate
        try:
            small = adjusted(spec, kernel=kernel, learning_rate=rate, regularization=shrinkage, **sizes)
        except ValueError:  # an algorithm refuses a kernel that lacks what it needs
            continue
        found += [Case(fixed(small, task, loss), task, loss) for task in spec.tasks for loss in spec.losses(task)]
    require(found, f"{spec.name} takes none of the kernels that it is tried with.")
    return found


def without(spec: Algorithm, name: str) -> bool:
    """Whether a spec has no bound of this name, where its kind has one by default."""
    return getattr(spec, name, 0) is None and getattr(type(spec)(), name) is not None


def fixed(spec: Algorithm, task: str, loss: str) -> Algorithm:
    """The spec with a loss, and with nothing that rows settle."""
    chosen = adjusted(spec, loss=loss)
    return adjusted(chosen, **FIXED) if chosen.depends_on_data(task) else chosen


def selection(algorithm: Algorithm | type[Algorithm], kernels: Sequence[Kernel] | None = None) -> list[Case]:
    """Some of the cases: every kernel once, and every loss of every task once."""
    return selected(cases(algorithm, kernels))


def selected(everything: Sequence[Case]) -> list[Case]:
    """Those of an algorithm's cases that have every kernel once, and every loss of every task once."""
    by_name = {(str(c.spec.kernel), c.task, c.loss): c for c in everything}
    kernels = list(dict.fromkeys(kernel for kernel, _, _ in by_name))
    losses = list(dict.fromkeys((task, loss) for _, task, loss in by_name))
    chosen = range(max(len(kernels), len(losses)))
    return [by_name[(kernels[i % len(kernels)], *losses[i % len(losses)])] for i in chosen]


def one_a_task(some: Sequence[Case]) -> list[Case]:
    """The first case of every task."""
    found: dict[str, Case] = {}
    for case in some:
        found.setdefault(case.task, case)
    return list(found.values())


def learn_in_blocks(learner: Learner, X: Any, y: Any, height: int) -> np.ndarray:
    starts = range(0, len(y), height)
    return np.concatenate([learner.learn(rows_of(X, t, t + height), y[t : t + height]) for t in starts])


def rows_of(X: Any, start: int, stop: int) -> Any:
    """Some rows of a matrix. For sparse ones SciPy takes longer to cut a block out than learning from it takes."""
    if not sp.issparse(X):
        return X[start:stop]
    ends = X.indptr[start : stop + 1]
    inside = slice(ends[0], ends[-1])
    return type(X)((X.data[inside], X.indices[inside], ends - ends[0]), shape=(len(ends) - 1, X.shape[1]))


def reference_of(spec: Algorithm) -> ModuleType | None:
    """The oracle of an algorithm of ours: the reference named like its class in lower case, or like its file."""
    package, _, file = type(spec).__module__.rpartition(".")
    return _reference(package, type(spec).__name__.lower(), file)


@functools.cache
def _reference(package: str, *names: str) -> ModuleType | None:
    for name in names:
        path = f"kernelstream.reference.{name}"
        if package == "kernelstream.algorithms" and importlib.util.find_spec(path) is not None:
            return importlib.import_module(path)
    return None


def reference_loss(case: Case) -> Callable[..., Any]:
    """The loss of a case; parameters of it that are the algorithm's own (epsilon) come from the spec."""
    loss = as_loss(case.loss)
    parameters = {f.name for f in fields(case.spec)}
    own = {f.name: getattr(case.spec, f.name) for f in fields(loss) if f.name in parameters}
    return reference_losses.of(replace(loss, **own), case.task)
