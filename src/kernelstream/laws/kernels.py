"""Laws of kernels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernels import Kernel
from ..learner import DTYPES
from ..numerics import expansion
from ..numerics.rows import Sample, as_matrix, dense_row, to_block
from ..numerics.tiles import TILE
from ..parameters import from_json
from ..reference.kernels import matrix
from ..tasks import REGRESSION
from ._loops import add_rows, all_kernel_rows
from .agreement import KERNEL_ROUNDING, require, require_close
from .examples import sparse_rows, stream


def dictionary(kernel: Kernel, points: Any, dtype: Any) -> expansion.Expansion:
    """An expansion with the rows of `points` as its points and coefficients 1."""
    block, width = to_block(as_matrix(points), dtype)
    f = expansion.empty(width, points.shape[0], 1, dtype)
    add_rows(kernel.lower(dtype), f, block, dense_row(width, dtype), np.ones(1, dtype))
    return f


def kernel_rows(kernel: Kernel, X: Any, points: Any, dtype: Any) -> np.ndarray:
    """k(row of X, point) as compiled learners compute it, from dense or sparse rows."""
    f = dictionary(kernel, points, dtype)
    block, width = to_block(as_matrix(X), dtype)
    out = np.zeros((X.shape[0], points.shape[0]), dtype)
    all_kernel_rows(kernel.lower(dtype), f, block, dense_row(width, dtype), expansion.kernel_row(f), out)
    return out


def kernel_matrix(kernel: Kernel, X: Any, points: Any) -> np.ndarray:
    """k(row of X, point), compiled where the kernel has a formula, else from its definition."""
    return kernel_rows(kernel, X, points, "float64") if kernel.evaluated else matrix(kernel, X, points)


def kernel_is_symmetric(kernel: Kernel) -> None:
    X = stream(REGRESSION, n=40).X
    K = kernel_matrix(kernel, X, X)
    require(np.isfinite(K).all(), f"{kernel}: a value is not finite.")
    require_close(kernel, "k(x, z) and k(z, x)", K, K.T, KERNEL_ROUNDING["float64"])


def kernel_is_positive(kernel: Kernel) -> None:
    """Gram matrices have no negative eigenvalue. Kernels that are not positive definite opt out (Sigmoid)."""
    X = stream(REGRESSION, n=40).X
    K = kernel_matrix(kernel, X, X)
    values = np.linalg.eigvalsh((K + K.T) / 2.0)
    limit = -len(X) * 1e-14 * values[-1]
    require(
        values[0] >= limit, f"{kernel}: a Gram matrix has the eigenvalue {values[0]:.3g} (largest {values[-1]:.3g})."
    )


def kernel_sparse_equals_dense(kernel: Kernel) -> None:
    X, points = sparse_rows(20), sparse_rows(30, seed=4)
    for dtype in DTYPES:
        dense = kernel_rows(kernel, X, points, dtype)
        sparse = kernel_rows(kernel, sp.csr_array(X), points, dtype)
        require_close(kernel, f"{dtype} values from sparse rows", sparse, dense, 4 * KERNEL_ROUNDING[dtype])


def kernel_float32_follows_float64(kernel: Kernel) -> None:
    X = stream(REGRESSION, n=40).X.astype(np.float32)
    single, double = (kernel_rows(kernel, X, X, dtype) for dtype in ("float32", "float64"))
    require_close(kernel, "float32 values", single, double, KERNEL_ROUNDING["float32"])


def kernel_does_not_depend_on_its_neighbours(kernel: Kernel) -> None:
    """A point's value is the same alone and among more points than one tile holds."""
    rng = np.random.default_rng(5)
    points, X = rng.normal(size=(TILE + 37, 3)), rng.normal(size=(2, 3))
    together = kernel_rows(kernel, X, points, "float64")
    for i in (0, 1, TILE - 1, TILE, len(points) - 1):
        alone = kernel_rows(kernel, X, points[i : i + 1], "float64")[:, 0]
        require_close(
            kernel, f"values of point {i}, alone and in company,", together[:, i], alone, KERNEL_ROUNDING["float64"]
        )


def kernel_spectrum_gives_the_kernel(kernel: Kernel) -> None:
    """E cos(u'(x - z)) = k(x, z) over the sampled frequencies, to five standard errors."""
    if not kernel.shift_invariant:
        return
    n, X = 40_000, stream(REGRESSION, n=8).X
    frequencies = kernel.frequencies(11, range(X.shape[1]), n)
    expected = kernel_matrix(kernel, X[1:], X[:1])[:, 0]
    waves = np.cos((X[1:] - X[0]) @ frequencies)
    allowed = 5.0 * waves.std(axis=1) / np.sqrt(n) + 1e-12
    gap = np.abs(waves.mean(axis=1) - expected)
    worst = int(np.argmax(gap - allowed))
    require(
        gap[worst] <= allowed[worst],
        f"{kernel}: {n} frequencies give {waves[worst].mean():.5f} for k(x, z) = {expected[worst]:.5f}; "
        f"{allowed[worst]:.2g} is five standard errors.",
    )
    fewer = kernel.frequencies(11, range(2, X.shape[1]), 7)
    require((fewer == frequencies[2:, :7]).all(), f"{kernel}: frequencies depend on how many are asked for.")


def parameters_survive_json(part: Any) -> None:
    """What is written to a model file comes back equal."""
    again = from_json(part.to_json())
    require(again == part and type(again) is type(part), f"{part}: comes back from JSON as {again}.")
    require(type(part)(**part.get_params(deep=False)) == part, f"{part}: get_params does not rebuild it.")


# They are about compiled rows, which a kernel that is sampled only has not.
_OF_ROWS = {
    law.__name__
    for law in (
        kernel_sparse_equals_dense,
        kernel_float32_follows_float64,
        kernel_does_not_depend_on_its_neighbours,
    )
}


KERNEL_LAWS: dict[str, Callable[[Kernel], None]] = {
    law.__name__: law
    for law in (
        kernel_is_symmetric,
        kernel_is_positive,
        kernel_sparse_equals_dense,
        kernel_float32_follows_float64,
        kernel_does_not_depend_on_its_neighbours,
        kernel_spectrum_gives_the_kernel,
        parameters_survive_json,
    )
}


def kernel_laws(kernel: Kernel) -> dict[str, Callable[[Kernel], None]]:
    """Those that say something about a kernel."""
    return {name: law for name, law in KERNEL_LAWS.items() if kernel.evaluated or name not in _OF_ROWS}


def check_kernel(kernel: Kernel, *, positive: bool = True) -> None:
    """Every law of kernels; `positive=False` for one that is not positive definite."""
    settled = kernel.settle(Sample(1.0, 6))
    for name, law in kernel_laws(kernel).items():
        if positive or name != kernel_is_positive.__name__:
            law(settled)
