"""Small streams, kernels and bad blocks that the laws are tried on."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..kernels import DOT, KERNELS, Cauchy, Gaussian, Kernel, Laplacian, Linear, Polynomial
from ..tasks import BINARY, MULTICLASS, REGRESSION, Binary, Multiclass, Regression, Task
from .agreement import N_ROWS

# Parameters that a kernel has besides its width, and their other values.
KERNEL_VARIANTS: dict[str, list[dict[str, Any]]] = {
    "matern": [{"nu": 2.5}],
    "polynomial": [{"degree": 3}],
    "spectral-mixture": [{"n_parts": 3, "means": ((1.0, 0.5), (0.0, 0.0, 2.0))}],
}

TASKS: dict[str, Callable[[], Task]] = {
    BINARY: lambda: Binary([-1, 1]),
    MULTICLASS: lambda: Multiclass(["low", "middle", "high"]),  # not in alphabetical order, on purpose
    REGRESSION: Regression,
}


def example_kernels() -> list[Kernel]:
    """Every registered kernel, with a fixed width where it has one, and its variants."""
    examples = []
    for name, kind in KERNELS.items():
        width = {"gamma": 0.1 if kind.metric == DOT else 0.3} if "gamma" in {f.name for f in fields(kind)} else {}
        examples += [kind(**width, **variant) for variant in [{}, *KERNEL_VARIANTS.get(name, [])]]
    return examples


def composite_kernels() -> list[Kernel]:
    """Sums and products: of each metric and of several, nested, and with a spectrum."""
    gaussian, laplacian, cauchy = (kind(gamma=0.3) for kind in (Gaussian, Laplacian, Cauchy))
    return [
        gaussian + Linear(),
        (gaussian + 0.5 * laplacian) * Polynomial(gamma=0.1),
        gaussian * Gaussian(gamma=0.1),
        0.25 * laplacian + 0.75 * cauchy * gaussian,
        2.0 * Linear() + Polynomial(gamma=0.1, degree=3),
        laplacian * (laplacian + 0.1 * laplacian),
    ]


def adjusted(spec: Any, **values: Any) -> Any:
    """The spec with those of the values for which it, or one of its parts, has a parameter."""
    names = {field.name for field in fields(spec)}
    taken = {name: value for name, value in values.items() if name in names}
    if "parts" in names:
        taken["parts"] = tuple(adjusted(part, **values) for part in spec.parts)
    return replace(spec, **taken)


class Stream(NamedTuple):
    X: np.ndarray
    y: np.ndarray


def stream(task: str, *, n: int = N_ROWS, width: int = 6, seed: int = 1) -> Stream:
    """A short stream with a nonlinear truth, some noise and two zeros in five.

    No row is all zeros: its scores are sums of coefficients, which tie, and rounding would choose among the classes.
    """
    rng = np.random.default_rng(seed)
    present = (rng.random((n, width)) < 0.6) | (np.arange(width) == 3)
    X = np.where(present, rng.normal(size=(n, width)), 0.0)
    return Stream(X, labels(task, X, rng))


def labels(task: str, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    truth = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))
    if task == REGRESSION:
        return np.asarray(np.sin(truth))
    if task == BINARY:
        return np.where(truth > 0.0, 1, -1)
    return np.array(["low", "middle", "high"])[np.digitize(truth, [-0.3, 0.3])]


def sparse_rows(n: int, *, width: int = 40, seed: int = 3) -> np.ndarray:
    """Rows with about a tenth of their features present, and the first one always."""
    rng = np.random.default_rng(seed)
    present = (rng.random((n, width)) < 0.1) | (np.arange(width) == 0)
    return np.where(present, rng.normal(size=(n, width)), 0.0)


class BadInput(NamedTuple):
    what: str
    X: Any
    y: Any
    weight: Any
    words: tuple[str, ...]


def bad_inputs(task: str) -> Iterator[BadInput]:
    """Blocks that must be refused; where one row is to blame it is row 3."""
    X, y = stream(task, n=6)
    for value in (np.nan, np.inf, -np.inf, 1e30):
        spoilt = X.copy()
        spoilt[3, 2] = value
        yield BadInput(f"the feature {value}", spoilt, y, None, ("Row 3", "feature 2"))
        yield BadInput(f"the sparse feature {value}", sp.csr_array(spoilt), y, None, ("Row 3", "feature 2"))
    yield BadInput("a narrower block", X[:, :4], y, None, ("4", "6"))
    yield BadInput("a wider block", np.hstack([X, X]), y, None, ("12", "6"))
    yield BadInput("an empty block", X[:0], y[:0], None, ("0 sample",))
    yield BadInput("a block without features", X[:, :0], y, None, ("0 feature",))
    yield BadInput("text", X.astype(str), y, None, ("numbers",))
    yield BadInput("complex features", X + 1j, y, None, ("omplex",))
    yield BadInput("a single row as a vector", X[0], y[:1], None, ("1D",))
    yield BadInput("too few labels", X, y[:4], None, ("6", "4"))
    yield BadInput("a column of labels", X, y[:, None], None, ("shape",))
    for weight in (-1.0, np.nan, np.inf):
        yield BadInput(f"the weight {weight}", X, y, np.where(np.arange(6) == 3, weight, 1.0), ("Row 3", "weight"))
    yield BadInput("too few weights", X, y, np.ones(4), ("(4,)",))
    if task == REGRESSION:
        for value in (np.nan, np.inf, 1e30):
            yield BadInput(f"the target {value}", X, np.where(np.arange(6) == 3, value, y), None, ("Row 3",))
        yield BadInput("targets of text", X, ["one"] * 6, None, ("numbers",))
        yield BadInput("complex targets", X, y + 1j, None, ("omplex",))
    else:
        unseen = y.astype(object)
        unseen[3] = "unseen" if task == MULTICLASS else 7
        yield BadInput("an unseen class", X, np.array(list(unseen)), None, ("Row 3", str(unseen[3])))
