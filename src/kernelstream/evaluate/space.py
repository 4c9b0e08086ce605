"""What `tune` searches: for each parameter of a spec a range that suits the data, from a few distances and the labels.

Sizes (budget, n_components, rank, ...) are not searched: more of them is better and slower, which is for the user to
weigh. Neither are words, such as the kernel and the loss.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..algorithms import NORMA, Auto
from ..algorithms._mistakes import MistakeDriven
from ..kernels import MANHATTAN
from ..numerics.rows import Sample
from ..tasks import REGRESSION, Task
from .settings import flat, spec_from

_PAIRS = 500
_MOST_DRAWS = 1000


class Range(NamedTuple):
    """Log-uniform between two numbers, and 0 with a probability of `zero`."""

    low: float
    high: float
    zero: float = 0.0

    def draw(self, draws: np.random.Generator) -> float:
        uniform, chance = draws.random(2)
        return 0.0 if chance < self.zero else math.exp(math.log(self.low) + uniform * math.log(self.high / self.low))

    def __str__(self) -> str:
        return f"{'0 or ' if self.zero else ''}{self.low:.3g} to {self.high:.3g}"


def space(algorithm: str, settings: Iterable[str], X: Any, y: Any, task: Task, seed: int) -> dict[str, Range]:
    """The range of each parameter that is searched: those with a rule here that `settings` do not fix."""
    settings = list(settings)
    spec = spec_from(algorithm, settings)
    parameters = flat(spec)
    distance, squared, manhattan = _distances(X, seed)
    regression = task.name == REGRESSION
    unit = _deviation(y) if regression else 1.0
    loss = parameters.get("loss")
    # A residual's square has a slope that is in the target's unit already.
    step = unit if (spec.losses(task.name)[0] if loss == "auto" else loss) != "squared" else 1.0
    step = step if parameters.get("loss.half", True) else 0.5 * step
    rules = {
        "learning_rate": Range(2**-7 * step, step) if regression else Range(2**-6, 2**4),
        "regularization": Range(1e-8, 1e-2, zero=0.5),
        "aggressiveness": Range(2**-8 * unit, 2**4 * unit),
        "epsilon": Range(2**-8 * unit, 2**-1 * unit),
        "width_learning_rate": Range(1e-5, 1e-1),
        "nu": Range(0.05, 0.9),
        "largest": Range(1.0, 100.0),
        "parsimony": Range(2**-8 * unit, unit),
        "coverage": Range(2**-2 * distance, 2 * distance),
        "dependence": Range(1e-4, 0.3),
        "relabelling": Range(1e-3, 1.0, zero=0.5),
        "quantization": Range(0.02, 0.8),
        "coherence": Range(0.3, 0.99),
        "variance": Range(2**-4, 2**6),
        "sampling": Range(2**-3, 2**5),
        "sparsity": Range(1e-4, 1e-1, zero=0.5),
    }
    for name in parameters:
        if name.startswith("kernel.") and name.endswith(".gamma"):
            width = 1.0 / (manhattan if _holder(spec, name).metric == MANHATTAN else squared)
            rules[name] = Range(2**-6 * width, 2**6 * width)
    rules["learning_rate.rate"] = rules["learning_rate"]
    if parameters.get("regularization"):
        # Pegasos and its kin divide by it.
        default = float(flat(spec.settle(task.name, Sample(1.0, 1, unit)))["regularization"])
        rules["regularization"] = Range(1e-3 * default, 1e3 * default)
    idle = set() if regression else {"epsilon"}
    if isinstance(spec, Auto):
        idle.add("kernel.gamma")  # it finds a width itself
    if isinstance(spec, NORMA) and not spec.tunes_a_border:
        idle |= {"nu", "epsilon"}
    if isinstance(spec, MistakeDriven) and not regression:
        idle.add("learning_rate")  # it scales f and changes no prediction
    if "learning_rate.rate" in parameters:
        idle.add("learning_rate")
    fixed = {setting.partition("=")[0] for setting in settings}
    return {n: rules[n] for n in parameters if n in rules and n not in fixed and n not in idle}


def drawn(
    ranges: dict[str, Range], algorithm: str, settings: Iterable[str], draws: np.random.Generator
) -> tuple[str, ...]:
    """The settings of a random trial; combinations that the spec refuses are drawn again."""
    settings = tuple(settings)
    for _ in range(_MOST_DRAWS):
        candidate = settings + tuple(f"{name}={chosen.draw(draws):.4g}" for name, chosen in ranges.items())
        try:
            spec_from(algorithm, candidate)
        except ValueError as error:
            refusal = error
        else:
            return candidate
    raise ValueError(f"{algorithm} refused {_MOST_DRAWS} random settings in a row, the last one because {refusal}")


def _holder(spec: Any, name: str) -> Any:
    """The part of a spec that has a parameter."""
    for word in name.split(".")[:-1]:
        spec = spec[int(word)] if isinstance(spec, tuple) else getattr(spec, word)
    return spec


def _distances(X: Any, seed: int) -> tuple[float, float, float]:
    """Of random pairs of rows: the mean distance, the median squared distance, the median Manhattan distance."""
    draws = np.random.default_rng(seed)
    first, second = draws.integers(0, X.shape[0], (2, _PAIRS))
    shifts = X[first].astype(np.float64) - X[second].astype(np.float64)
    squares = np.asarray((shifts.multiply(shifts) if issparse(shifts) else np.square(shifts)).sum(axis=1)).ravel()
    sums = np.asarray(abs(shifts).sum(axis=1)).ravel()
    apart = squares > 0
    if not apart.any():
        return 1.0, 1.0, 1.0
    squares, sums = squares[apart], sums[apart]
    return float(np.sqrt(squares).mean()), float(np.median(squares)), float(np.median(sums))


def _deviation(y: Any) -> float:
    found = float(np.std(np.asarray(y, np.float64)))
    return found if found > 0 else 1.0
