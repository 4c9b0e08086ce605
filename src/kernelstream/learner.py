"""Learner: a spec, a task and what was learned; validates what comes in, then lets the engine run.

Everything that can be wrong with a block is found before the model changes.
"""

import os
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from . import tasks
from .algorithms import as_algorithm
from .engine import state as model_files
from .engine.contract import Algorithm, Shape
from .engine.cores import DEFAULT_THREADS
from .engine.runner import AS_IT_PAYS, Runner
from .engine.state import ModelFileError, leaves, on_lines
from .losses import as_loss
from .numerics.rows import Block, as_matrix, filled, n_rows, to_block
from .parameters import Parameters, whole
from .parameters import from_json as spec_from_json
from .sources.transform import OnlineScaling, Scaling, scaling_from
from .tasks import Classification, Multiclass, Regression, Task

DTYPES = ("float32", "float64")
_SCALING = "scaling."  # what a scaling's arrays are called in a file


class Learner:
    """Learns one task from a stream with one algorithm.

    algorithm: a spec such as ``FOGD(n_components=400)``, or a name.
    task: ``Regression()``, ``Binary(classes)``, ``Multiclass(classes)``, or the word "regression".
    seed: of every random choice.
    grow_features: accept wider rows later (what is new counts as 0 so far); otherwise they are refused.
    grow_classes: accept labels that were never announced (needs a `Multiclass` task); otherwise they are refused.
    scaling: of the features, as `fit_scaling` gives it, or `OnlineScaling()`, of which the learner keeps its own copy.
    threads: on how many cores one call may run; None means two, where there are two. They change no result.
    """

    def __init__(
        self,
        algorithm: str | Algorithm,
        task: Task | str,
        *,
        seed: int = 0,
        dtype: str = "float32",
        grow_features: bool = False,
        grow_classes: bool = False,
        scaling: Scaling | OnlineScaling | None = None,
        threads: int | None = None,
    ):
        if dtype not in DTYPES:
            raise ValueError(f"dtype={dtype!r} must be one of {', '.join(DTYPES)}.")
        if isinstance(task, str):
            if task != Regression.name:
                raise ValueError(f"task={task!r} needs its classes: Binary([...]) or Multiclass([...]).")
            task = Regression()
        if grow_classes and not isinstance(task, Multiclass):
            raise ValueError("grow_classes=True needs a Multiclass task: Multiclass(classes) also takes two classes.")
        self.algorithm = as_algorithm(algorithm)
        if task.name not in self.algorithm.tasks:
            raise ValueError(
                f"{self.algorithm.name} does not do {task.name}; it does {', '.join(self.algorithm.tasks)}."
            )
        self.task = task
        if threads is not None:
            whole(1, threads=threads)
        self.threads = threads
        self.sharing = AS_IT_PAYS  # among the threads; one of another kind is set before the first block
        self.seed = int(seed)
        self.dtype = dtype
        self.grow_features = grow_features
        self.grow_classes = grow_classes
        self.scaling = scaling.copy() if isinstance(scaling, OnlineScaling) else scaling
        self.n_seen = 0
        self.settled: Algorithm | None = None
        self._lowered(self.algorithm.settle(task.name, 1.0, 1))  # a loss that does not fit the task is refused now

    def _lowered(self, spec: Algorithm) -> Any:
        return spec.lower(self.task.name, self.dtype)

    # What the model is.

    @property
    def width(self) -> int:
        """Number of features, 0 before the first block."""
        return self._shape.width if self.settled is not None else 0

    @property
    def size(self) -> int:
        """Stored points, or features of an explicit map."""
        return 0 if self.settled is None else self.settled.size(self._state)

    @property
    def n_bytes(self) -> int:
        """Bytes that the model's state occupies."""
        return 0 if self.settled is None else sum(a.nbytes for a in leaves(self._state, derived=True).values())

    @property
    def attributes(self) -> dict[str, Any]:
        """What the algorithm shows of its model: points, coefficients, what its budget cost, ..."""
        return {} if self.settled is None else self.settled.attributes(self._state)

    # Learning and predicting.

    def learn(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Predict, then learn, one row after another; return the scores (n, K) from before each row was learned.

        FloatingPointError: the model diverged at a row, and has learned those before it; an online scaling has then
        taken in the whole block.
        """
        return self._learn(X, y, sample_weight, None)

    def learn_late(self, X: Any, y: Any, shown: Any) -> np.ndarray:
        """Learn from rows whose labels came late: the scores (n, K) of the rows `shown`, row t of them from before row
        t of X is learned. Requires: as many rows in both, and no online scaling.
        """
        return self._learn(X, y, None, shown)

    def _learn(self, X: Any, y: Any, sample_weight: Any, shown: Any) -> np.ndarray:
        matrix = self._readable(X)
        block, width = to_block(matrix, self.dtype)
        n = n_rows(block)
        weights = _weights(sample_weight, n)
        given = np.shape(y)[0] if np.ndim(y) else "no list of"
        if given != n:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {n} rows and {given} labels."
            )
        self._check_width(width)
        ahead = None if shown is None else to_block(self._scaled(as_matrix(shown)), self.dtype)
        if ahead is not None:
            self._check_width(ahead[1])
        task = self.task.grown(y) if self.grow_classes else self.task
        targets = task.encode(y)
        if isinstance(self.scaling, OnlineScaling):
            matrix = self.scaling.learn(matrix)
            block, width = to_block(matrix, self.dtype)
        self._make_room(matrix, width, task)
        block = self._known(block, width)
        scores = np.zeros((n, self.task.n_outputs), self.dtype)
        losses = np.zeros(n)
        if ahead is None:
            self._run(block, targets, weights, scores, losses)
            return scores
        late = np.zeros_like(scores)
        self._run(block, targets, weights, scores, losses, (self._known(*ahead), late))
        return late

    def predict_learn(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """The label or value shown for each row before learning from it; learns in the same pass."""
        return self.task.decode(self.learn(X, y, sample_weight))

    def scores(self, X: Any) -> np.ndarray:
        """f(x) for each row, (n, K); learns nothing. Before any learning every score is 0."""
        block, width = to_block(self._scaled(as_matrix(X)), self.dtype)
        scores = np.zeros((n_rows(block), self.task.n_outputs), self.dtype)
        if self.settled is None:
            return scores
        self._check_width(width)
        self._runner.score(self._known(block, width), scores, self.threads or DEFAULT_THREADS)
        return scores

    def predict(self, X: Any) -> np.ndarray:
        return self.task.decode(self.scores(X))

    def probabilities(self, X: Any) -> np.ndarray:
        """Class probabilities (n, classes). Requires: a loss that models them."""
        return self.probabilities_of(self.scores(X))

    def probabilities_of(self, scores: np.ndarray) -> np.ndarray:
        """The class probabilities (n, classes) that scores stand for. Requires: a loss that models them."""
        if not self.probabilistic:
            raise ValueError("Scores give probabilities only with a logistic (binary) or softmax (multiclass) loss.")
        scores = scores.astype(np.float64)
        if self.task.n_outputs == 1:
            scores = np.concatenate([-scores / 2.0, scores / 2.0], axis=1)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)

    @property
    def probabilistic(self) -> bool:
        loss = getattr(self.algorithm, "loss", "auto")
        return loss != "auto" and self.task.name in as_loss(loss).probabilistic

    def settle(self, X: Any) -> None:
        """Fix what depends on the data (a kernel's width) from these rows, learning nothing; the first `learn` does
        it else.
        """
        if self.settled is None:
            matrix = self._readable(X)
            _, width = to_block(matrix, self.dtype)
            if isinstance(self.scaling, OnlineScaling):
                matrix = self.scaling.copy().learn(matrix)
            self._make_room(matrix, width, self.task)

    def _readable(self, X: Any) -> Any:
        """The rows to validate before learning; an online scaling may take them in only after that."""
        return as_matrix(X) if isinstance(self.scaling, OnlineScaling) else self._scaled(as_matrix(X))

    def _scaled(self, matrix: Any) -> Any:
        """The rows as the model sees them when it predicts."""
        if isinstance(self.scaling, OnlineScaling):
            _, width = to_block(matrix, self.dtype)  # what is wrong with them is said of the rows as they came
            self._check_width(width)
        return matrix if self.scaling is None else self.scaling.apply(matrix)

    def _check_width(self, width: int) -> None:
        if self.settled is None or width == self.width or self.grow_features:
            return
        raise ValueError(
            f"X has {width} features, but the model is expecting {self.width} features as input. "
            "Set grow_features=True if features may appear later."
        )

    def _known(self, block: Block, width: int) -> Block:
        """The block as the model takes it: without the features that it has never seen, which count as 0."""
        if width <= self.width:
            return filled(block, self.width)
        known = block.indices < self.width
        if block.shared:
            values = block.values.reshape(n_rows(block), -1)[:, : self.width]
            indptr = np.arange(0, values.size + 1, self.width)
            return Block(indptr, block.indices[known], np.ascontiguousarray(values).reshape(-1), 1)
        counts = np.concatenate([[0], np.cumsum(known)])
        return filled(Block(counts[block.indptr], block.indices[known], block.values[known], 0), self.width)

    def _make_room(self, matrix: Any, width: int, task: Task) -> None:
        """Settle on the first block; grow when the block is wider or brings new classes."""
        if self.settled is None:
            self.task = task
            variance = _variance(matrix) if self.algorithm.kernel.depends_on_data else 1.0
            self.settled = self.algorithm.settle(task.name, variance, width)
            self._shape = Shape(width, task.n_outputs, self.seed, np.dtype(self.dtype))
            self._adopt(self.settled.init(self._shape))
        elif width > self.width or task is not self.task:
            self.task = task
            self._shape = self._shape._replace(width=max(width, self.width), n_outputs=task.n_outputs)
            self._adopt(self.settled.grow(self._state, self._shape))

    def _adopt(self, state: Any) -> None:
        assert self.settled is not None
        self._record = self._lowered(self.settled)
        self._settle_in(state)

    def _settle_in(self, state: Any) -> None:
        """Take a state of the same spec, task and shape."""
        assert self.settled is not None
        self._state = on_lines(state)
        self._runner = Runner(self.settled, self._record, self._state, self._shape, self.sharing)

    def _run(
        self,
        block: Block,
        targets: Any,
        weights: Any,
        scores: Any,
        losses: Any,
        shown: tuple[Block, np.ndarray] | None = None,
    ) -> None:
        assert self.settled is not None
        given = block, targets, weights, scores, losses
        start = 0
        while start < len(targets):
            state = self.settled.prepare(self._record, self._state)
            if state is not self._state:
                self._settle_in(state)
            runner = self._runner
            try:
                if shown is None:
                    runner.learn(given, start, self.threads or DEFAULT_THREADS)
                else:
                    runner.learn_late(given, start, *shown)
            finally:
                self.n_seen += max(runner.reached, -1 - runner.reached) - start
            if runner.reached < 0:
                raise FloatingPointError(
                    f"Row {-1 - runner.reached}: the model's scores are no longer finite. The steps are too long for "
                    "this data: lower learning_rate, or scale features and targets. The rows before it were learned."
                )
            start = runner.reached

    # Pickles: addresses of compiled code mean nothing in another process.

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_record", "_runner")}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        if self.settled is not None:
            self._adopt(self._state)

    # Merging.

    def merge(self, other: "Learner") -> Self:
        """Take in what another learner learned, weighted by the rows each has seen; refuses what does not fit."""
        self._check_mergeable(other)
        if other.settled is None or other.n_seen == 0:
            return self
        if self.settled is None or self.n_seen == 0:
            self.settled, self._shape, self.n_seen = other.settled, other._shape, other.n_seen
            self._adopt(model_files.copied(other._state))
            self._merge_scaling(other)
            return self
        width = max(self.width, other.width)
        shape = self._shape._replace(width=width)
        weight = other.n_seen / (self.n_seen + other.n_seen)
        mine, theirs = self.settled.grow(self._state, shape), self.settled.grow(other._state, shape)
        merged = self.settled.merge(self._record, mine, theirs, weight)
        self._shape = shape
        self._adopt(merged)
        self.n_seen += other.n_seen
        self._merge_scaling(other)
        return self

    def _merge_scaling(self, other: "Learner") -> None:
        if isinstance(self.scaling, OnlineScaling) and isinstance(other.scaling, OnlineScaling):
            self.scaling.merge(other.scaling)

    def _check_mergeable(self, other: "Learner") -> None:
        pairs: list[tuple[str, Any, Any]] = [
            ("task", self.task.name, other.task.name),
            ("dtype", self.dtype, other.dtype),
            ("algorithm", self.algorithm.name, other.algorithm.name),
        ]
        pairs += _scalings(self.scaling, other.scaling)
        if isinstance(self.task, Classification) and isinstance(other.task, Classification):
            pairs.append(("classes", self.task.classes.tolist(), other.task.classes.tolist()))
        settled = self.settled is not None and other.settled is not None
        mine, theirs = (self.settled, other.settled) if settled else (self.algorithm, other.algorithm)
        if mine is not None and theirs is not None and type(mine) is type(theirs):
            ours, others = mine.get_params(), theirs.get_params()
            shared = [k for k in ours if k in others]
            pairs += [(k, ours[k], others[k]) for k in shared if not isinstance(ours[k], Parameters)]
            pairs += [(k, ours[k], others[k]) for k in shared if isinstance(ours[k], Parameters)]
            if settled and not self.grow_features:
                pairs.append(("width", self.width, other.width))
        for name, a, b in pairs:
            if a != b:
                raise ValueError(f"These learners cannot be merged: {name} differs, {a!r} here and {b!r} there.")

    # Model files.

    def save(self, path: str | os.PathLike[str], **extra: Any) -> None:
        """Write the model; learning can go on from the file bit for bit. `extra` goes into the header."""
        header: dict[str, Any] = {
            "algorithm": self.algorithm.to_json(),
            "settled": None if self.settled is None else self.settled.to_json(),
            "task": self.task.to_json(),
            "seed": self.seed,
            "dtype": self.dtype,
            "grow_features": self.grow_features,
            "grow_classes": self.grow_classes,
            "n_seen": self.n_seen,
            "width": self.width,
            "scaling": None if self.scaling is None else self.scaling.kind,
            **extra,
        }
        arrays = {} if self.settled is None else leaves(self._state)
        if self.scaling is not None:
            arrays.update({_SCALING + name: array for name, array in self.scaling.arrays().items()})
        model_files.write(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Learner":
        """The learner that a file holds."""
        return cls._from_file(path, *model_files.read(path))

    @classmethod
    def load_with_header(cls, path: str | os.PathLike[str]) -> tuple["Learner", dict[str, Any]]:
        """The learner that a file holds, and the file's header with all that `save` was given."""
        header, arrays = model_files.read(path)
        return cls._from_file(path, header, arrays), header

    @classmethod
    def _from_file(cls, path: Any, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Learner":
        try:
            scaling = None
            if header["scaling"] is not None:
                names = [name for name in arrays if name.startswith(_SCALING)]
                scaling = scaling_from(header["scaling"], {n.removeprefix(_SCALING): arrays.pop(n) for n in names})
            learner = cls(
                spec_from_json(header["algorithm"]),
                tasks.from_json(header["task"]),
                seed=header["seed"],
                dtype=header["dtype"],
                grow_features=header["grow_features"],
                grow_classes=header["grow_classes"],
                scaling=scaling,
            )
            if header["settled"] is not None:
                settled = spec_from_json(header["settled"])
                width, n_seen = header["width"], header["n_seen"]
                if type(settled) is not type(learner.algorithm) or not (isinstance(width, int) and width > 0):
                    raise ValueError("its header contradicts itself")
                learner.settled, learner.n_seen = settled, int(n_seen)
                learner._shape = Shape(width, learner.task.n_outputs, learner.seed, np.dtype(learner.dtype))
                learner._adopt(settled.restore(arrays, learner._shape))
            return learner
        except ModelFileError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, MemoryError) as error:
            raise ModelFileError(f"{path} is damaged or not a kernelstream model ({error}).") from None


def _scalings(
    mine: Scaling | OnlineScaling | None, theirs: Scaling | OnlineScaling | None
) -> list[tuple[str, Any, Any]]:
    """What must be equal in the scalings of learners that are merged."""
    pairs: list[tuple[str, Any, Any]] = [("scaling", mine and mine.kind, theirs and theirs.kind)]
    if isinstance(mine, OnlineScaling) and isinstance(theirs, OnlineScaling) and mine.n_rows and theirs.n_rows:
        pairs.append(("scaling.centred", mine.centred, theirs.centred))
    if isinstance(mine, Scaling) and isinstance(theirs, Scaling):
        fields = zip(mine._fields, mine, theirs, strict=True)
        pairs += [(_SCALING + name, np.asarray(a).tolist(), np.asarray(b).tolist()) for name, a, b in fields]
    return pairs


def _weights(sample_weight: Any, n: int) -> np.ndarray:
    if sample_weight is None:
        return np.ones(n)
    given = np.asarray(sample_weight)
    if given.dtype.kind == "c":
        raise ValueError("Complex data not supported: sample weights must be real numbers.")
    weights = np.array(given, np.float64)  # a copy: compiled code knows one kind of array only
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}!")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        row = int(np.argmin(np.isfinite(weights) & (weights >= 0)))
        raise ValueError(f"Row {row}: the sample weight {weights[row]} must be finite and not negative.")
    return weights


def _variance(X: Any) -> float:
    """Variance of all entries, implicit zeros included."""
    if sp.issparse(X):
        X = X.astype(np.float64)
        return float(X.multiply(X).mean() - X.mean() ** 2)
    return float(np.var(X, dtype=np.float64))
