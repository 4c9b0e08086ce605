"""The laws that every kernel, loss and algorithm obeys: a test kit for ours and for yours.

    check_kernel(MyKernel(gamma=0.5))
    check_loss(MyLoss())
    check_algorithm(MyAlgorithm())

A law is a function of what is checked; it raises AssertionError with the case and the numbers. KERNEL_LAWS, LOSS_LAWS
and ALGORITHM_LAWS hold them by name. Nothing here knows an algorithm but `LIMITS` and `OPT_OUTS`: cases are made from a
spec's own tasks, losses and parameter names, so a row in ALGORITHMS is enough to be covered.
"""

import copy
import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from . import engine, expansion
from ._compile import INTERPRETED, compiled, specialisations
from .algorithms import ALGORITHMS, OGD
from .engine import Algorithm
from .kernels import DOT, KERNELS, Gaussian, Kernel
from .learner import DTYPES, Learner
from .losses import BINARY, MULTICLASS, REGRESSION, Loss, as_loss, slope
from .parameters import from_json
from .reference import losses as reference_losses
from .rows import as_matrix, row_of, spread, to_block
from .state import leaves
from .tasks import Binary, Classification, Multiclass, Regression, Task

# What rounding may do to a stream's scores, relative to the largest. Every round adds a few units in the last place, so
# N_ROWS rounds of 40 units each are allowed in float32; float64 has room to spare and is held to 1e-9.
N_ROWS = 150
ROUNDING = {"float64": 1e-9, "float32": N_ROWS * 40 * float(np.finfo(np.float32).eps)}

# One kernel value: the sum over features, the formula and its constants are a few dozen roundings.
KERNEL_ROUNDING = {"float64": 64 * float(np.finfo(np.float64).eps), "float32": 64 * float(np.finfo(np.float32).eps)}

# Parameters that are set, by name, so that a short stream reaches every phase of an algorithm.
SMALL = {"budget": 20, "rank": 8, "n_components": 24, "regularization": 0.01}

# Parameters that a kernel has besides its width, and their other values.
KERNEL_VARIANTS: dict[str, list[dict[str, Any]]] = {"matern": [{"nu": 2.5}], "polynomial": [{"degree": 3}]}

TASKS: dict[str, Callable[[], Task]] = {
    BINARY: lambda: Binary([-1, 1]),
    MULTICLASS: lambda: Multiclass(["low", "middle", "high"]),  # not in alphabetical order, on purpose
    REGRESSION: Regression,
}

OPT_OUTS: dict[tuple[str, str], str] = {}  # (law, algorithm) -> why it cannot hold


def require(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def require_close(subject: Any, what: str, got: Any, expected: Any, tolerance: float) -> None:
    """The largest difference, relative to the largest expected number (or 1), is within the tolerance."""
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    require(got.shape == expected.shape, f"{subject}: {what} have shape {got.shape}, expected {expected.shape}.")
    if got.size == 0:
        return
    gap = np.abs(got - expected) / max(1.0, float(np.abs(expected).max()))
    worst = np.unravel_index(np.argmax(np.where(np.isnan(gap), np.inf, gap)), gap.shape)
    require(
        gap[worst] <= tolerance,
        f"{subject}: {what} differ by {gap[worst]:.3g} (allowed {tolerance:.3g}) at {tuple(map(int, worst))}: "
        f"{got[worst]!r} instead of {expected[worst]!r}.",
    )


def require_refusal(subject: Any, what: str, action: Callable[[], Any], *words: str) -> None:
    """The action raises a ValueError whose message holds all the words."""
    try:
        action()
    except ValueError as error:
        missing = [word for word in words if word not in str(error)]
        require(not missing, f"{subject}: {what} is refused without naming {missing}: {error}")
    else:
        raise AssertionError(f"{subject}: {what} is not refused.")


def adjusted(spec: Any, **values: Any) -> Any:
    """The spec with those of the values for which it has a parameter."""
    names = {field.name for field in fields(spec)}
    return replace(spec, **{name: value for name, value in values.items() if name in names})


# Kernels.


def example_kernels() -> list[Kernel]:
    """Every registered kernel, with a fixed width where it has one, and its variants."""
    examples = []
    for name, kind in KERNELS.items():
        width = {"gamma": 0.1 if kind.metric == DOT else 0.3} if "gamma" in {f.name for f in fields(kind)} else {}
        examples += [kind(**width, **variant) for variant in [{}, *KERNEL_VARIANTS.get(name, [])]]
    return examples


@compiled
def _add_rows(kernel, f, block, desk, g):
    for t in range(block.indptr.shape[0] - 1):
        expansion.add(kernel, f, row_of(block, t, 0, desk), 1.0, g)


@compiled
def _kernel_rows(kernel, f, block, desk, row, out):
    for t in range(out.shape[0]):
        expansion.kernel_values(kernel, f, row_of(block, t, 0, desk), row)
        for i in range(out.shape[1]):
            out[t, i] = row.values[i]


def dictionary(kernel: Kernel, points: Any, dtype: Any) -> expansion.Expansion:
    """An expansion with the rows of `points` as its points and coefficients 1."""
    block, width = to_block(as_matrix(points), dtype)
    f = expansion.empty(width, points.shape[0], 1, dtype)
    _add_rows(kernel.lower(dtype), f, block, spread(width, dtype), np.ones(1, dtype))
    return f


def kernel_rows(kernel: Kernel, X: Any, points: Any, dtype: Any) -> np.ndarray:
    """k(row of X, point) as compiled learners compute it, from dense or sparse rows."""
    f = dictionary(kernel, points, dtype)
    block, width = to_block(as_matrix(X), dtype)
    out = np.zeros((X.shape[0], points.shape[0]), dtype)
    _kernel_rows(kernel.lower(dtype), f, block, spread(width, dtype), expansion.kernel_row(f), out)
    return out


def sparse_rows(n: int, *, width: int = 40, seed: int = 3) -> np.ndarray:
    """Rows with about a tenth of their features present."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, width)) < 0.1, rng.normal(size=(n, width)), 0.0)


def kernel_is_symmetric(kernel: Kernel) -> None:
    X = stream(REGRESSION, n=40).X
    matrix = kernel_rows(kernel, X, X, "float64")
    require(np.isfinite(matrix).all(), f"{kernel}: a value is not finite.")
    require_close(kernel, "k(x, z) and k(z, x)", matrix, matrix.T, KERNEL_ROUNDING["float64"])


def kernel_is_positive(kernel: Kernel) -> None:
    """Gram matrices have no negative eigenvalue. Kernels that are not positive definite opt out (Sigmoid)."""
    X = stream(REGRESSION, n=40).X
    matrix = kernel_rows(kernel, X, X, "float64")
    values = np.linalg.eigvalsh((matrix + matrix.T) / 2.0)
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
    points, X = rng.normal(size=(expansion.TILE + 37, 3)), rng.normal(size=(2, 3))
    together = kernel_rows(kernel, X, points, "float64")
    for i in (0, 1, expansion.TILE - 1, expansion.TILE, len(points) - 1):
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
    expected = kernel_rows(kernel, X[1:], X[:1], "float64")[:, 0]
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


def check_kernel(kernel: Kernel, *, positive: bool = True) -> None:
    """Every law of kernels; `positive=False` for one that is not positive definite."""
    settled = kernel.settle(1.0, 6)
    for name, law in KERNEL_LAWS.items():
        if positive or name != kernel_is_positive.__name__:
            law(settled)


# Losses.


@compiled
def _all_slopes(loss, targets, scores, slopes, values):
    for t in range(targets.shape[0]):
        values[t] = slope(loss, targets[t], scores[t], slopes[t])


def slopes(loss: Loss, task: str, targets: Any, scores: Any, dtype: Any = "float64") -> tuple[np.ndarray, np.ndarray]:
    """Values (n,) and gradients (n, K) of a loss at scores (n, K), as compiled learners compute them."""
    scores = np.ascontiguousarray(scores, dtype)
    values, gradients = np.zeros(len(scores)), np.full_like(scores, np.nan)
    _all_slopes(loss.lower(task, dtype), np.ascontiguousarray(targets, np.float64), scores, gradients, values)
    return values, gradients


def loss_points(task: str, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Targets and scores around the usual kinks, none of them on one."""
    rng = np.random.default_rng(7)
    outputs = 4 if task == MULTICLASS else 1
    scores = rng.normal(size=(n, outputs)) * rng.choice([0.3, 1.5, 8.0], size=(n, 1))
    if task == BINARY:
        return rng.choice([-1.0, 1.0], size=n), scores
    return (rng.integers(outputs, size=n).astype(np.float64) if task == MULTICLASS else rng.normal(size=n)), scores


def loss_slope_is_the_derivative(loss: Loss, task: str) -> None:
    """Central differences of the value; points where the slope jumps within a step are at a kink and left out."""
    targets, scores = loss_points(task)
    h = 1e-6
    gradients = slopes(loss, task, targets, scores)[1]
    checked = 0
    for k in range(scores.shape[1]):
        step = h * np.eye(scores.shape[1])[k]
        ahead, behind = (slopes(loss, task, targets, scores + side * step) for side in (1, -1))
        smooth = np.abs(ahead[1] - behind[1]).max(axis=1) < 1e-3
        difference = (ahead[0] - behind[0]) / (2 * h)
        require_close(f"{loss} for {task}", f"slopes in output {k}", gradients[smooth, k], difference[smooth], 1e-7)
        checked += int(smooth.sum())
    require(checked > 0.9 * scores.size, f"{loss} for {task}: only {checked} of {scores.size} slopes could be checked.")


def loss_is_convex(loss: Loss, task: str) -> None:
    """value(b) >= value(a) + <slope(a), b - a>: the value and the slope belong together."""
    targets, scores = loss_points(task)
    others = scores[::-1] * 1.7 + 0.1
    here, there = slopes(loss, task, targets, scores), slopes(loss, task, targets, others)
    tangent = here[0] + (here[1] * (others - scores)).sum(axis=1)
    gap = tangent - there[0]
    worst = int(np.argmax(gap))
    require(
        gap[worst] <= 1e-9 * max(1.0, float(np.abs(tangent).max())),
        f"{loss} for {task}: the tangent at {scores[worst]} lies {gap[worst]:.3g} above the loss at {others[worst]}.",
    )


def loss_is_never_negative(loss: Loss, task: str) -> None:
    values, gradients = slopes(loss, task, *loss_points(task))
    require(
        (values >= 0).all() and np.isfinite(values).all(), f"{loss} for {task}: the smallest value is {values.min()}."
    )
    require(np.isfinite(gradients).all(), f"{loss} for {task}: a slope is not finite.")


def loss_gradient_sums_to_zero(loss: Loss, task: str) -> None:
    """Class scores matter only through their differences."""
    if task != MULTICLASS:
        return
    _, gradients = slopes(loss, task, *loss_points(task))
    require_close(f"{loss} for {task}", "sums of the gradient", gradients.sum(axis=1), np.zeros(len(gradients)), 1e-14)


def loss_float32_follows_float64(loss: Loss, task: str) -> None:
    targets, scores = loss_points(task)
    scores, targets = scores.astype(np.float32), targets.astype(np.float32)
    (single, coarse), (double, fine) = (slopes(loss, task, targets, scores, dtype) for dtype in ("float32", "float64"))
    require_close(f"{loss} for {task}", "float32 values", single, double, 1e-6)
    require_close(f"{loss} for {task}", "float32 slopes", coarse, fine, 1e-6)


LOSS_LAWS: dict[str, Callable[[Loss, str], None]] = {
    law.__name__: law
    for law in (
        loss_slope_is_the_derivative,
        loss_is_convex,
        loss_is_never_negative,
        loss_gradient_sums_to_zero,
        loss_float32_follows_float64,
    )
}


def check_loss(loss: Loss, *, convex: bool = True) -> None:
    """Every law of losses, for each of the loss's tasks; `convex=False` for one that is not."""
    require(loss.tasks, f"{loss} names no task.")
    parameters_survive_json(loss)
    for task in loss.tasks:
        for name, law in LOSS_LAWS.items():
            if convex or name != loss_is_convex.__name__:
                law(loss, task)


# Algorithms: cases.


class Stream(NamedTuple):
    X: np.ndarray
    y: np.ndarray


def stream(task: str, *, n: int = N_ROWS, width: int = 6, seed: int = 1) -> Stream:
    """A short stream with a nonlinear truth, some noise and two zeros in five."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, width)) < 0.6, rng.normal(size=(n, width)), 0.0)
    return Stream(X, labels(task, X, rng))


def labels(task: str, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    truth = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))
    if task == REGRESSION:
        return np.asarray(np.sin(truth))
    if task == BINARY:
        return np.where(truth > 0.0, 1, -1)
    return np.array(["low", "middle", "high"])[np.digitize(truth, [-0.3, 0.3])]


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


def cases(algorithm: Algorithm | type[Algorithm]) -> list[Case]:
    """Every kernel that the algorithm takes x task x loss, with small parameters."""
    spec = algorithm() if isinstance(algorithm, type) else algorithm
    found = []
    for kernel in example_kernels():
        # Long steps on an unbounded kernel diverge: k(x, x) is about 1 for the others.
        rate = 0.05 if kernel.metric == DOT else 0.3
        try:
            small = adjusted(spec, kernel=kernel, learning_rate=rate, **SMALL)
        except ValueError:  # an algorithm refuses a kernel that lacks what it needs
            continue
        found += [Case(adjusted(small, loss=loss), task, loss) for task in spec.tasks for loss in spec.losses(task)]
    require(found, f"{spec.name} takes none of the kernels {', '.join(KERNELS)}.")
    return found


def selection(algorithm: Algorithm | type[Algorithm]) -> list[Case]:
    """Some of the cases: every kernel once, and every loss of every task once."""
    everything = {(str(c.spec.kernel), c.task, c.loss): c for c in cases(algorithm)}
    kernels, losses = (list(dict.fromkeys(part)) for part in ((k[0] for k in everything), (k[1:] for k in everything)))
    n = max(len(kernels), len(losses))
    return [everything[(kernels[i % len(kernels)], *losses[i % len(losses)])] for i in range(n)]


def snapshot(learner: Learner) -> dict[str, Any]:
    """Everything that a learner has learned, bit for bit."""
    kept: dict[str, Any] = {"n_seen": learner.n_seen, "width": learner.width, "size": learner.size}
    kept["classes"] = list(getattr(learner.task, "classes", ()))
    if learner.settled is not None:
        for name, array in leaves(learner._state).items():
            kept[name] = (str(array.dtype), array.shape, array.tobytes())
    return kept


def require_same(subject: Any, what: str, got: dict[str, Any], expected: dict[str, Any]) -> None:
    differing = [name for name in {**got, **expected} if got.get(name) != expected.get(name)]
    require(not differing, f"{subject}: {what}: {', '.join(differing)} differ.")


def require_same_bits(subject: Any, what: str, got: np.ndarray, expected: np.ndarray) -> None:
    rows = np.flatnonzero((got != expected).reshape(len(got), -1).any(axis=1))
    require(not rows.size, f"{subject}: {what}: row {rows[:1]} is {got[rows[:1]]} instead of {expected[rows[:1]]}.")


def learn_in_blocks(learner: Learner, X: Any, y: Any, height: int) -> np.ndarray:
    return np.concatenate([learner.learn(X[t : t + height], y[t : t + height]) for t in range(0, len(y), height)])


def reference_of(spec: Algorithm) -> ModuleType | None:
    """The oracle of an algorithm: the reference named like its class in lower case, or like its file."""
    for name in (type(spec).__name__.lower(), type(spec).__module__.rpartition(".")[2]):
        path = f"{__package__}.reference.{name}"
        if importlib.util.find_spec(path) is not None:
            return importlib.import_module(path)
    return None


def reference_loss(case: Case) -> Callable[..., Any]:
    """The loss of a case; parameters of it that are the algorithm's own (epsilon) come from the spec."""
    loss = as_loss(case.loss)
    own = {f.name: getattr(case.spec, f.name) for f in fields(loss) if hasattr(case.spec, f.name)}
    return reference_losses.of(replace(loss, **own), case.task)


# Algorithms: laws.


def equals_its_reference(case: Case) -> None:
    """Compiled and in NumPy, from the same random draws, the same scores before every round."""
    module = reference_of(case.spec)
    assert module is not None
    X, y = stream(case.task)
    learner = case.learner()
    scores = learner.learn(X, y)
    outputs = learner.task.n_outputs
    expected, size = module.run(learner.settled, reference_loss(case), X, learner.task.encode(y), outputs, learner.seed)
    require_close(case, "scores", scores, expected, ROUNDING["float64"])
    require(learner.size == size, f"{case}: size is {learner.size}, the reference's is {size}.")


def float32_follows_float64(case: Case) -> None:
    X, y = stream(case.task)
    X = X.astype(np.float32)
    double, single = (case.learner(dtype).learn(X, y) for dtype in ("float64", "float32"))
    require_close(case, "float32 scores", single, double, ROUNDING["float32"])


def block_size_has_no_effect(case: Case) -> None:
    X, y = stream(case.task)
    for dtype in DTYPES:
        whole = case.learner(dtype)
        expected = whole.learn(X, y)
        for height in (1, 7, 64):
            learner = case.learner(dtype)
            scores = learn_in_blocks(learner, X, y, height)
            require_same_bits(case, f"scores in blocks of {height} rows in {dtype}", scores, expected)
            require_same(
                case, f"the state after blocks of {height} rows in {dtype}", snapshot(learner), snapshot(whole)
            )


def sparse_equals_dense(case: Case) -> None:
    X = sparse_rows(N_ROWS)
    y = labels(case.task, X, np.random.default_rng(2))
    for dtype in DTYPES:
        dense, sparse = case.learner(dtype), case.learner(dtype)
        require_close(case, f"{dtype} scores", sparse.learn(sp.csr_array(X), y), dense.learn(X, y), ROUNDING[dtype])
        require_close(
            case, f"{dtype} scores afterwards", sparse.scores(X), dense.scores(sp.csr_array(X)), ROUNDING[dtype]
        )


def resumes_bit_for_bit(case: Case) -> None:
    """Save, load, go on: nothing differs from never having stopped."""
    X, y = stream(case.task)
    for dtype, cut in zip(2 * DTYPES, (0, 10, 70, N_ROWS), strict=True):
        whole, first = case.learner(dtype), case.learner(dtype)
        expected = whole.learn(X, y)
        if cut > 0:
            first.learn(X[:cut], y[:cut])
        with tempfile.TemporaryDirectory() as directory:
            first.save(Path(directory) / "model.ks")
            resumed = Learner.load(Path(directory) / "model.ks")
        require_same(case, f"the model loaded after {cut} rows", snapshot(resumed), snapshot(first))
        if cut < N_ROWS:
            require_same_bits(case, f"scores resumed after {cut} rows", resumed.learn(X[cut:], y[cut:]), expected[cut:])
        require_same(case, f"the model resumed after {cut} rows", snapshot(resumed), snapshot(whole))


def budget_is_never_exceeded(case: Case) -> None:
    X, y = stream(case.task)
    learner, budget = case.learner("float32"), int(case.spec.budget)  # type: ignore[attr-defined]
    for t in range(N_ROWS):
        learner.learn(X[t : t + 1], y[t : t + 1])
        require(learner.size <= budget, f"{case}: {learner.size} points after row {t} with a budget of {budget}.")
    other = case.learner("float32", seed=5)
    other.learn(X, y)
    learner.merge(other)
    require(learner.size <= budget, f"{case}: {learner.size} points after a merge with a budget of {budget}.")


def memory_is_flat(case: Case) -> None:
    """A bounded learner's state does not grow after the first pass over the stream."""
    X, y = stream(case.task)
    learner = case.learner("float32")
    learner.learn(X, y)
    after_one = learner.n_bytes
    for _ in range(4):
        learner.learn(X, y)
    require(learner.n_bytes == after_one, f"{case}: {after_one} bytes after 1 pass, {learner.n_bytes} after 5.")


def scores_change_nothing(case: Case) -> None:
    X, y = stream(case.task)
    learner, silent = case.learner("float32"), case.learner("float32")
    for t in range(0, N_ROWS, 30):
        before = snapshot(learner)
        first = learner.scores(X[:40])
        require_same_bits(case, "scores asked for twice", learner.scores(X[:40]), first)
        learner.predict(X[:40])
        require_same(case, "the state after scores and predict", snapshot(learner), before)
        learner.learn(X[t : t + 30], y[t : t + 30])
        silent.learn(X[t : t + 30], y[t : t + 30])
    require_same(case, "a learner that was asked and one that was not", snapshot(learner), snapshot(silent))


def scores_are_what_learning_predicts(case: Case) -> None:
    """`learn` returns for its first row exactly what `scores` said of it."""
    X, y = stream(case.task)
    for dtype in DTYPES:
        learner = case.learner(dtype)
        learner.learn(X[:100], y[:100])
        asked = learner.scores(X[100:])
        require_same_bits(case, f"the next row's {dtype} scores", learner.learn(X[100:], y[100:])[:1], asked[:1])


def answers_before_learning(case: Case) -> None:
    X, _ = stream(case.task, n=5)
    learner = case.learner()
    scores, shown = learner.scores(X), learner.predict(X)
    require(
        scores.shape == (5, learner.task.n_outputs) and not scores.any(),
        f"{case}: scores before learning are {scores}.",
    )
    known = getattr(learner.task, "classes", np.zeros(1))
    require(np.isin(shown, known).all(), f"{case}: before learning {shown} is shown.")
    require(learner.n_seen == learner.size == learner.n_bytes == 0, f"{case}: an empty learner has a size.")


def merge_is_the_weighted_sum(case: Case) -> None:
    """Without compression: f = (n_1 f_1 + n_2 f_2) / (n_1 + n_2). Counts add, the other stays, learning goes on."""
    case = case.adjusted(budget=2 * N_ROWS)
    X, y = stream(case.task)
    probe = stream(case.task, n=30, seed=9).X
    a, b = case.learner(), case.learner()
    a.learn(X[:90], y[:90])
    b.learn(X[90:], y[90:])
    expected = (90 * a.scores(probe) + 60 * b.scores(probe)) / 150
    before = snapshot(b)
    require(a.merge(b) is a and a.n_seen == N_ROWS, f"{case}: {a.n_seen} rows seen after merging 90 and 60.")
    require_close(case, "scores after a merge", a.scores(probe), expected, ROUNDING["float64"])
    a.learn(X, y)
    require_same(case, "the other after the merged learner went on", snapshot(b), before)
    require(a.n_seen == 2 * N_ROWS, f"{case}: {a.n_seen} rows seen after {2 * N_ROWS}.")


def merge_with_an_empty_learner_is_the_identity(case: Case) -> None:
    X, y = stream(case.task)
    learner, empty = case.learner(), case.learner()
    learner.learn(X[:100], y[:100])
    before = snapshot(learner)
    require_same(case, "a learner after taking in an empty one", snapshot(learner.merge(empty)), before)
    require_same(case, "an empty learner", snapshot(empty), snapshot(case.learner()))
    empty.merge(learner)
    require_same(case, "an empty learner after taking in another", snapshot(empty), before)
    scores = empty.learn(X[100:], y[100:])
    require_same(case, "the other, after the merged learner went on", snapshot(learner), before)
    require_same_bits(case, "scores of both", scores, learner.learn(X[100:], y[100:]))
    blank = case.learner().merge(case.learner())
    require_same(case, "two empty learners", snapshot(blank), snapshot(case.learner()))


def _strangers(case: Case) -> Iterator[tuple[str, Learner]]:
    """Learners that do not fit the case's own, with the word that says why."""
    spec, kernel = case.spec, case.spec.kernel
    yield "dtype", case.learner("float32")
    if case.task == BINARY:
        yield "classes", case.learner(task=Binary([0, 1]))
    if case.task == MULTICLASS:
        yield "classes", case.learner(task=Multiclass(["high", "low", "middle", "other"]))
    for task in spec.tasks:
        if task != case.task:
            yield "task", replace(case, spec=adjusted(spec, loss="auto"), task=task).learner()
    for another in _other_kernels(kernel):
        try:
            yield "kernel", case.adjusted(kernel=another).learner()
        except ValueError:  # the algorithm does not take it
            continue
    for name in ("budget", "rank", "n_components"):
        if hasattr(spec, name):
            yield name, case.adjusted(**{name: getattr(spec, name) - 1}).learner()
    for name, value in (("learning_rate", 0.01), ("loss", as_loss(case.loss))):
        if hasattr(spec, name):
            yield name, case.adjusted(**{name: value}).learner()
    for kind in ALGORITHMS.values():
        if kind.name != spec.name and case.task in kind.tasks:
            yield "algorithm", Learner(kind(kernel=Gaussian(gamma=0.3)), TASKS[case.task](), seed=5, dtype="float64")


def _other_kernels(kernel: Kernel) -> Iterator[Kernel]:
    """Kernels of every other type, and those of the same type that differ in one parameter."""
    yield from (another for another in example_kernels() if another != kernel)
    for name, value in kernel.get_params().items():
        if name in ("gamma", "offset"):
            yield replace(kernel, **{name: value + 1.0})


def _any_labels(task: Task, X: np.ndarray) -> np.ndarray:
    return np.asarray(task.classes)[(X[:, 0] > 0).astype(int)] if isinstance(task, Classification) else X[:, 0]


def merge_refuses_strangers(case: Case) -> None:
    """What does not fit is named, and both learners stay as they were; an empty learner is as strict."""
    X, y = stream(case.task)
    learner = case.learner()
    learner.learn(X, y)
    before = snapshot(learner)
    strangers = list(_strangers(case))
    if "seed" in leaves(learner._state):
        strangers.append(("seed", case.learner(seed=6)))
    for word, other in strangers:
        if word not in ("seed", "learning_rate", "loss"):
            empty = snapshot(other)
            require_refusal(case, f"a merge into an empty one of another {word}", partial(other.merge, learner), word)
            require_same(case, f"an empty learner of another {word}", snapshot(other), empty)
        other.learn(X, _any_labels(other.task, X))
        theirs = snapshot(other)
        require_refusal(case, f"a merge with another {word}", partial(learner.merge, other), word)
        require_same(case, f"a learner that refused another {word}", snapshot(learner), before)
        require_same(case, f"one that was refused for its {word}", snapshot(other), theirs)


def nothing_is_recompiled(case: Case) -> None:
    """One compilation an algorithm and dtype serves every kernel, loss, task, shape, storage and history."""
    warm, (X, y) = case.learner("float32"), stream(case.task)
    warm.learn(X, y)
    warm.scores(X)
    before = specialisations(engine.run), specialisations(engine.run_scores)
    read_only = [np.array(a) for a in (X, y, np.ones(N_ROWS))]
    for array in read_only:
        array.setflags(write=False)
    warm.learn(*read_only)
    warm.merge(case.learner("float32").merge(warm))
    warm.learn(X, y)
    for other in selection(case.spec):
        for width in (1, 3, 40):
            X = sparse_rows(12, width=max(width, 3))[:, :width]
            y = stream(other.task, n=12).y
            learner = other.learner("float32")
            learner.learn(X, y)
            learner.learn(sp.csr_array(X), y, np.full(12, 2.0))
            learner.scores(X[::-1])
    after = specialisations(engine.run), specialisations(engine.run_scores)
    require(after == before, f"{case}: run and run_scores had {before} specialisations, {after} after other data.")


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


def bad_input_is_refused(case: Case) -> None:
    """The error names what is wrong, and a trained and a fresh learner are bit for bit what they were."""
    X, y = stream(case.task)
    trained, fresh = case.learner("float32"), case.learner("float32")
    trained.learn(X, y)
    before, empty = snapshot(trained), snapshot(fresh)
    for bad in bad_inputs(case.task):
        require_refusal(case, bad.what, partial(trained.learn, bad.X, bad.y, bad.weight), *bad.words)
        require_same(case, f"a learner after {bad.what}", snapshot(trained), before)
        if bad.what not in ("a narrower block", "a wider block"):
            require_refusal(case, bad.what, partial(fresh.learn, bad.X, bad.y, bad.weight), *bad.words)
            require_same(case, f"a fresh learner after {bad.what}", snapshot(fresh), empty)
    require_refusal(case, "scores of NaN", lambda: trained.scores(np.full((2, 6), np.nan)), "Row 0")
    require_refusal(case, "scores of narrow rows", lambda: trained.scores(X[:, :4]), "4", "6")


def late_features_count_as_zero_before(case: Case) -> None:
    """Features that appear late might as well have been there, at 0, from the start; narrow rows may come again."""
    X, y = stream(case.task)
    X[:60, 4:] = 0.0
    X[100:, 5:] = 0.0
    for dtype in DTYPES:
        wide, late = case.learner(dtype), case.learner(dtype, grow_features=True)
        expected = wide.learn(X, y)
        parts = [late.learn(X[:60, :4], y[:60]), late.learn(X[60:100], y[60:100]), late.learn(X[100:, :5], y[100:])]
        require_close(case, f"{dtype} scores with late features", np.concatenate(parts), expected, ROUNDING[dtype])
        require(late.width == 6, f"{case}: the width is {late.width} after six features.")
        require_close(case, f"{dtype} scores afterwards", late.scores(X), wide.scores(X), ROUNDING[dtype])
        ignored = np.hstack([X, np.ones((N_ROWS, 2))])
        require_close(
            case, "scores of rows with unknown features", late.scores(ignored), late.scores(X), ROUNDING[dtype]
        )
        drawn = {name: a for name, a in leaves(late._state).items() if "frequencies" in name}
        for name, array in drawn.items():
            require_same_bits(case, f"{name} drawn late", array, leaves(wide._state)[name])


def late_classes_add_an_output(case: Case) -> None:
    """A new label adds an output and leaves the scores of the known classes alone."""
    X, y = stream(case.task)
    case = case.adjusted(regularization=0.0)
    known = y != "high"
    learner = case.learner(task=Multiclass(["low", "middle"]), grow_classes=True)
    learner.learn(X[known], y[known])
    before = learner.scores(X)
    learner.learn(X[~known][:1], y[~known][:1], 0.0)  # announces the class, learns nothing
    after = learner.scores(X)
    require(list(learner.task.classes) == ["low", "middle", "high"], f"{case}: classes are {learner.task.classes}.")
    require(
        after.shape == (N_ROWS, 3) and not after[:, 2].any(),
        f"{case}: the new class starts with scores that are not 0.",
    )
    require_close(case, "scores of the known classes", after[:, :2], before, ROUNDING["float64"])
    for _ in range(3):
        learner.learn(X, y)
    require((learner.predict(X) == "high").any(), f"{case}: the new class is never predicted.")
    closed = case.learner(task=Multiclass(["low", "middle"]))
    require_refusal(case, "a new class", lambda: closed.learn(X, y), "high")


def weight_zero_learns_nothing(case: Case) -> None:
    """Rows of weight 0 count as rounds and leave the function as it is (but for the shrinking of regularization)."""
    case = case.adjusted(regularization=0.0)
    X, y = stream(case.task)
    learner = case.learner()
    learner.learn(X[:60], y[:60])
    size, before = learner.size, learner.scores(X)
    learner.learn(X[60:], y[60:], np.zeros(90))
    require_close(case, "scores after rows of weight 0", learner.scores(X), before, ROUNDING["float64"])
    require(learner.n_seen == N_ROWS, f"{case}: {learner.n_seen} rows seen after {N_ROWS}.")
    require(learner.size == size, f"{case}: rows of weight 0 changed the size from {size} to {learner.size}.")


def weight_scales_the_step(case: Case) -> None:
    """From f = 0 one row of weight w leads to w times what weight 1 leads to; weight 1 is no weight."""
    X, y = stream(case.task)
    first = int(np.argmax(np.abs(y))) if case.task == REGRESSION else 0  # far from a flat part of the loss
    x, label = X[first : first + 1], y[first : first + 1]
    once, thrice, plain = case.learner(), case.learner(), case.learner()
    once.learn(x, label, [1.0])
    thrice.learn(x, label, 3)
    plain.learn(x, label)
    require(once.scores(X).any(), f"{case}: nothing was learned from a row.")
    require_same(case, "weight 1 and no weight", snapshot(once), snapshot(plain))
    require_close(case, "scores after weight 3", thrice.scores(X), 3.0 * once.scores(X), ROUNDING["float64"])


# What an algorithm becomes at the end of a parameter's range: pairs of specs that give equal scores.
LIMITS: dict[str, Callable[[Any], tuple[Algorithm, Algorithm]]] = {
    "nogd": lambda spec: (
        replace(spec, budget=N_ROWS + 1),
        OGD(**{f.name: getattr(spec, f.name) for f in fields(OGD)}),
    ),
    "fogd": lambda spec: (
        replace(spec, normalize=False, learning_rate=spec.learning_rate / spec.n_components, regularization=0.0),
        replace(spec, normalize=True, regularization=0.0),
    ),
}


def limit_is_reached(case: Case) -> None:
    X, y = stream(case.task)
    extreme, parent = (replace(case, spec=spec).learner() for spec in LIMITS[case.spec.name](case.spec))
    scores, expected = extreme.learn(X, y), parent.learn(X, y)
    require_close(case, f"scores of {extreme.algorithm} and {parent.algorithm}", scores, expected, ROUNDING["float64"])


ALGORITHM_LAWS: dict[str, Callable[[Case], None]] = {
    law.__name__: law
    for law in (
        equals_its_reference,
        float32_follows_float64,
        block_size_has_no_effect,
        sparse_equals_dense,
        resumes_bit_for_bit,
        budget_is_never_exceeded,
        memory_is_flat,
        scores_change_nothing,
        scores_are_what_learning_predicts,
        answers_before_learning,
        limit_is_reached,
        merge_is_the_weighted_sum,
        merge_with_an_empty_learner_is_the_identity,
        merge_refuses_strangers,
        nothing_is_recompiled,
        bad_input_is_refused,
        late_features_count_as_zero_before,
        late_classes_add_an_output,
        weight_zero_learns_nothing,
        weight_scales_the_step,
    )
}

_APPLIES: dict[str, Callable[[Case], bool]] = {
    equals_its_reference.__name__: lambda case: reference_of(case.spec) is not None,
    budget_is_never_exceeded.__name__: lambda case: hasattr(case.spec, "budget"),
    memory_is_flat.__name__: lambda case: case.spec.bounded,
    limit_is_reached.__name__: lambda case: case.spec.name in LIMITS,
    nothing_is_recompiled.__name__: lambda case: not INTERPRETED,
    late_classes_add_an_output.__name__: lambda case: case.task == MULTICLASS,
}


def applies(law: str, case: Case) -> bool:
    """Whether a law says anything about a case."""
    return (law, case.spec.name) not in OPT_OUTS and (law not in _APPLIES or _APPLIES[law](case))


def check_algorithm(algorithm: Algorithm | type[Algorithm]) -> None:
    """Every law of algorithms: the reference on every case, the others on some that cover kernels and losses."""
    for name, law in ALGORITHM_LAWS.items():
        for case in cases(algorithm) if name == equals_its_reference.__name__ else selection(algorithm):
            if applies(name, case):
                law(case)
