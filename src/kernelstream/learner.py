"""Learner: a spec, a task and what was learned; validates what comes in, then lets the engine run.

Everything that can be wrong with a block is found before the model changes.
"""

import contextlib
import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from . import merging, tasks
from .algorithms import as_algorithm
from .encoding import Columns, is_table
from .encoding.values import MEAN
from .engine import Algorithm, Examples, Shape, files
from .engine.calibration import Calibration, calibration_from
from .engine.cores import DEFAULT_THREADS
from .engine.inputs import NONE, Inputs, Scaling, as_inputs, named
from .engine.lane import Lane
from .engine.loop import AtOnce
from .engine.opening import Opening, opening_from
from .engine.runner import AS_IT_PAYS, Runner
from .engine.state import COUNTS, copied, leaves
from .engine.turns import Turns
from .engine.waiting import MOST, Waiting, waiting_from
from .losses import as_loss
from .numerics.interrupts import held
from .numerics.intervals import Intervals, intervals_from
from .numerics.margins import MarginLink
from .numerics.rows import LARGEST, Block, Sample, as_matrix, as_reals, cut, filled, n_rows, sample_of, to_block
from .parameters import Parameters, whole
from .parameters import from_json as spec_from_json
from .tasks import MULTICLASS, Binary, Classification, Regression, Task

DTYPES = ("float32", "float64")

MOST_THREADS = 1024  # each has room of its own for rows
TOGETHER = 16_384  # rows of a call that are learned before predictions of other threads, and interrupts, have a turn

PARTS = ("model", "inputs", "opening", "link", "waiting")  # of a model file

_SMALL = {"budget": 2, "rank": 1}  # sizes that are reached within a few rows


@runtime_checkable
class OnlineLearner(Protocol):
    """Whatever learns from a stream, `Learner` or a combination of several: what evaluation, commands and files ask of
    it. Methods are as of `Learner`.
    """

    task: Task
    seed: int

    @property
    def n_seen(self) -> int: ...
    @property
    def spec(self) -> Parameters: ...
    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    def warm_up(self, *, late: bool = False) -> None: ...
    def learn(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray: ...
    def learn_late(self, X: Any, y: Any, shown: Any) -> np.ndarray: ...
    def scores(self, X: Any) -> np.ndarray: ...
    def show(self, X: Any) -> np.ndarray: ...
    def probabilities_of(self, scores: np.ndarray) -> np.ndarray: ...
    def merge(self, other: Any) -> Any: ...
    def to_parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]: ...
    def save(self, path: str | os.PathLike[str], **extra: Any) -> None: ...


class Learner:
    """Learns one task from a stream with one algorithm.

    What a spec leaves to the data, such as ``gamma="scale"``, is settled on the first 256 rows (`engine.opening`).

    Threads may share a learner. A call that changes it has it alone; predictions go on beside one that learns, between
    pieces of at most 16,384 rows, and see the model as it is after one of them. An interrupt comes there too: `n_seen`
    is always the number of rows that were learned.

    Parameters
    ----------
    algorithm : a spec such as ``FOGD(n_components=400)``, or a name
    task : ``Regression()``, ``Binary(classes)``, ``Multiclass(classes)``, or the word "regression"
    seed : of every random choice
    dtype : "float32" or "float64"
    grow_features : accept wider rows later (what is new counts as 0 so far); otherwise they are refused
    grow_classes : accept labels that were never announced; otherwise they are refused. A third class makes a binary
        task one of several classes
    scaling : "none"; "online" (features, and targets of a regression, by what was seen so far); "metric" (features by
        how much each matters, as the first 256 rows say, targets as online) or "full-metric" (directions); or a fitted
        one, as `fit_scaling` gives it. The learner keeps its own copy
    threads : on how many cores one call may run; None means two, where there are two. They change no result
    columns : how rows with names become features; the learner keeps its own. Rows that are dictionaries have names
        anyway; of tables (pandas, polars, Arrow) the names count with `columns` only. Names that come later grow the
        model, those that a prediction brings count for nothing
    waiting : how many rows that were shown by an id (`predict`) wait for their labels; the oldest are given up

    Attributes
    ----------
    losses : the loss of each row of the newest block that was learned, from before it was learned
    task, columns, waiting : what it learns, the names that it knows, the rows that wait

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream import Binary, Learner
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> learner = Learner("fogd", Binary(["other", "same"]))
    >>> honest = learner.predict_learn(X, y)  # each row is predicted, then learned
    >>> bool((honest == y)[300:].mean() > 0.7), learner.n_seen
    (True, 600)
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
        scaling: str | Scaling | Inputs = NONE,
        threads: int | None = None,
        columns: Columns | None = None,
        waiting: int = MOST,
    ):
        if dtype not in DTYPES:
            raise ValueError(f"dtype={dtype!r} must be one of {', '.join(DTYPES)}.")
        if isinstance(task, str):
            if task != Regression.name:
                raise ValueError(f"task={task!r} needs its classes: Binary([...]) or Multiclass([...]).")
            task = Regression()
        self.algorithm = as_algorithm(algorithm)
        if task.name not in self.algorithm.tasks:
            raise ValueError(
                f"{self.algorithm.name} does not do {task.name}; it does {', '.join(self.algorithm.tasks)}."
            )
        if grow_classes and MULTICLASS not in self.algorithm.tasks:
            raise ValueError(f"grow_classes=True needs several classes, and {self.algorithm.name} does two only.")
        self.task = task
        if threads is not None:
            whole(1, threads=threads)
            if threads > MOST_THREADS:
                raise ValueError(f"threads={threads} must be at most {MOST_THREADS}.")
        self.threads = threads
        self.seed = int(seed)
        self.dtype = dtype
        self.columns = None if columns is None else columns.copy()
        whole(1, waiting=waiting)
        self.waiting = Waiting(waiting)
        self.grow_features = grow_features or columns is not None
        self.grow_classes = grow_classes
        self.inputs = as_inputs(scaling, regression=isinstance(task, Regression))
        self.losses = np.zeros(0)
        # Of the rows of a call among threads.
        self.sharing = AS_IT_PAYS._replace(beside=False) if threads == 1 else AS_IT_PAYS
        self._turns = Turns()
        self._begin()
        # A loss that does not fit the task is refused now.
        self.algorithm.settle(task.name, Sample(1.0, 1)).lowered(task.name, dtype)

    def _begin(self) -> None:
        """What is there before the first row."""
        self._runner: Runner | None = None
        # What is learned of how good the scores are: of values, and of margins; other classifiers have chances of
        # their own.
        self._calibration: Calibration | Intervals | None = None
        if not isinstance(self.task, Classification):
            self._calibration = Intervals()
        elif not (self._own_chances or self.without_labels):
            self._calibration = Calibration.of(len(self.task.classes))
        settles = self.algorithm.depends_on_data or self.inputs.features.settles
        self._opening = Opening() if settles else None

    def restart(self) -> None:
        """Begin anew, as if no row had been learned. Classes and names that are known stay, a fitted scaling does, and
        so do rows that wait for their labels.
        """
        with self._turns.learning, self._alone():
            parts = (named(part.kind) if part.follows or part.settles else part for part in self.inputs)
            self.inputs = Inputs(*parts)
            self.losses = np.zeros(0)
            self._begin()

    # What the model is.

    @property
    def settled(self) -> Algorithm | None:
        """The spec with all that it leaves to the task and the data fixed; None before the first row."""
        return None if self._runner is None else self._runner.spec

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left that first rows settle, so that copies can learn apart and be merged."""
        return self._runner is not None and self._opening is None and not self._first_rows()

    @property
    def spec(self) -> Algorithm:
        """The spec as far as it is settled."""
        return self.settled or self.algorithm

    @property
    def name(self) -> str:
        """The algorithm's."""
        return self.algorithm.name

    @property
    def n_seen(self) -> int:
        """Rows that were learned."""
        return 0 if self._runner is None else int(self._runner.learned)

    @property
    def width(self) -> int:
        """Number of features, 0 before the first block."""
        return 0 if self._runner is None else self._runner.shape.width

    @property
    def size(self) -> int:
        """Stored points, or features of an explicit map."""
        return 0 if self._runner is None else self._runner.spec.n_stored(self._runner.state)

    @property
    def n_bytes(self) -> int:
        """Bytes that the model occupies, with the statistics of its inputs, and first rows while they are kept."""
        if self._runner is None:
            return 0
        kept = [*leaves(self._runner.state, derived=True).values(), *self.inputs.arrays().values()]
        kept += self._calibration.arrays().values() if self._calibration else []
        first = self._opening.n_bytes if self._opening else 0
        return sum(array.nbytes for array in kept) + first + self.waiting.n_bytes

    @property
    def attributes(self) -> dict[str, Any]:
        """What the algorithm shows of its model by name, such as points, coefficients, what its budget cost."""
        with self._turns.reading:
            if self._runner is None:
                return {}
            return self.inputs.features.attributes() | self._runner.spec.attributes(self._runner.state)

    @property
    def link(self) -> MarginLink | None:
        """From scores that are margins to chances of classes; None where the algorithm or its loss says these."""
        return self._calibration.link if isinstance(self._calibration, Calibration) else None

    @contextlib.contextmanager
    def reading(self) -> Iterator[tuple[Algorithm, Any]]:
        """The settled spec and its state as the next row would meet them, which nobody changes meanwhile. Requires: a
        row was learned.
        """
        self._catch_up()
        with self._turns.reading:
            assert self._runner is not None
            yield self._runner.spec, self._runner.state

    @property
    def _state(self) -> Any:
        assert self._runner is not None
        return self._runner.state

    def warm_up(self, *, late: bool = False) -> None:
        """Have everything compiled that learning will run, also from labels that come late.

        A small learner of the same kind fills its budget and is thrown away: no learning time is spent on it.
        """
        labels = self.task.classes[:2] if isinstance(self.task, Classification) else np.array([-1.0, 1.0])
        twin = Learner(_small(self.algorithm), self.task, dtype=self.dtype)
        # Steps that are too long for these rows may be right for the real ones.
        with contextlib.suppress(FloatingPointError):
            rows = np.arange(1.0, 10.0)[:, None]
            twin.learn(rows, np.resize(labels, len(rows)))
            if late:
                twin.learn_late(rows, np.resize(labels, len(rows)), rows)

    # Learning and predicting.

    def learn(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Predict, then learn, one row after another; return the scores (n, K) from before each row was learned.

        FloatingPointError: the model diverged at a row, and has learned those before it.
        """
        if sample_weight is None and type(X) is type(y) is np.ndarray and X.shape[:1] == y.shape == (1,):
            scores = self._learn_row(X[0], y[0], 1.0)
            if scores is not None:
                return scores
        return self._learn(X, y, sample_weight, None)[0]

    def learn_late(self, X: Any, y: Any, shown: Any) -> np.ndarray:
        """Learn from rows whose labels came late: the scores (n, K) of the rows `shown`, row t of them from before row
        t of X is learned. Requires: as many rows in both.
        """
        return self._learn(X, y, None, shown)[1]

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> np.ndarray:
        """`learn` for one row, a vector of features: its scores (K,) from before it was learned."""
        scores = self._learn_row(x, y, weight) if 0.0 <= weight <= LARGEST else None
        return self.learn(_as_rows(x), [y], [weight])[0] if scores is None else scores[0]

    def scores_one(self, x: Any) -> np.ndarray:
        """`scores` of one row, a vector of features: (K,)."""
        scores = self._score_row(x)
        return self.scores(_as_rows(x))[0] if scores is None else scores[0]

    def _score_row(self, x: Any) -> np.ndarray | None:
        """The short way for a plain row, (1, K); None where the long one must look at it."""
        self._catch_up()
        with self._turns.reading:
            if self._runner is None or not self._plain:
                return None
            if type(x) is dict and self.columns is not None:
                x = self.columns.known(x)
            return self._runner.score_one(x)

    def lane(self) -> Lane | None:
        """The shortest way for dictionaries of the numbers that are known, for a learner that no other thread uses;
        None while there is none. It is good until the model's arrays change.
        """
        columns, runner = self.columns, self._runner
        if columns is None or runner is None or columns.plain != self.width or columns.missing == MEAN:
            return None
        if self._opening is not None or not self._plain:
            return None
        return Lane(self, columns.numbers)

    @property
    def _plain(self) -> bool:
        """Whether rows reach the model as they come."""
        return not (self.inputs.features.changes or self.inputs.targets.changes)

    def _learn_row(self, x: Any, y: Any, weight: float) -> np.ndarray | None:
        """The short way for a plain row, (1, K); None where the long one must look at it."""
        a, b, c, d = self._turns.all
        with self._turns.learning, a, b, c, d:
            runner, target = self._runner, self.task.encode_one(y)
            if runner is None or target is None or self._opening is not None or not self._plain:
                return None
            columns = self.columns if type(x) is dict else None
            row = x if columns is None else columns.complete(x)
            try:
                found = runner.learn_one(row, target, weight)
            except FloatingPointError:
                self.losses = np.zeros(0)
                raise
            if found is None:
                return None
            if columns is not None and row is not None:
                columns.note(row)
            scores, self.losses = found
            if self._calibration:
                self._calibration.learn_one(scores, target, weight, self.n_seen - 1)
            return scores

    def _learn(self, X: Any, y: Any, sample_weight: Any, shown: Any) -> tuple[np.ndarray, np.ndarray]:
        X = list(X) if isinstance(X, Iterator) else X
        with self._turns.learning:
            learn = self._learn_named if self._has_names(X) else self._learn_block
            return learn(X, y, sample_weight, shown)

    def _has_names(self, X: Any) -> bool:
        """Whether the values of these rows are known by their names."""
        if self.columns is not None and is_table(X):
            return True
        return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping)

    def follow(self, columns: Columns) -> None:
        """Go on with the columns of a source that makes features of named values. Requires: they know what these do."""
        with self._alone():
            mine = columns if self.columns is None else self._named_columns()
            known = len(mine.entries)
            for name, a, b in mine.differences(columns):
                if a != (b[:known] if name == "columns.entries" else b):
                    raise ValueError(f"{name} of the learner and of its source differ: give the source the learner's.")
            self.columns = columns
            self._named_columns()

    def _named_columns(self) -> Columns:
        """The columns, also before the first row."""
        columns = Columns() if self.columns is None else self.columns
        if self.width > max(1, columns.width):
            raise ValueError(
                f"The model has {self.width} features, and {columns.width} of them have names: it has learned from "
                "rows without. Go on with such rows."
            )
        self.columns, self.grow_features = columns, True
        return columns

    def _learn_named(self, rows: Any, y: Any, sample_weight: Any, shown: Any) -> tuple[np.ndarray, np.ndarray]:
        if self.columns is not None and self.columns.width == self.width:
            X = self.columns.complete_table(rows)
            if X is not None:
                return self._learn_block(X, y, sample_weight, None if shown is None else self.columns.show(shown))
        with self._taking_names(rows) as columns:
            with self._alone():
                X = columns.take(rows)
            return self._learn_block(X, y, sample_weight, None if shown is None else columns.show(shown))

    @contextlib.contextmanager
    def _taking_names(self, rows: Any) -> Iterator[Columns]:
        """The columns, which know of these rows those alone that were learned, where an error ends the context."""
        with self._alone():
            columns, start = self._named_columns(), self.n_seen
            mark = columns.mark()
        try:
            yield columns
        except BaseException:
            with self._alone():
                self.columns = columns.before(mark)
                if self.n_seen > start:
                    self.columns.take(rows[: self.n_seen - start])
            raise

    def _learn_block(self, X: Any, y: Any, sample_weight: Any, shown: Any) -> tuple[np.ndarray, np.ndarray]:
        matrix = as_matrix(X)
        n = n_rows(to_block(matrix, self.dtype)[0])
        weights = _weights(sample_weight, n)
        given = np.shape(y)[0] if np.ndim(y) else "no list of"
        if given != n:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {n} rows and {given} labels."
            )
        width = self._fitting_width(matrix)
        ahead = cut(matrix, slice(0))
        if shown is not None:
            ahead = as_matrix(shown)
            to_block(ahead, self.dtype)
            self._fitting_width(ahead)
            if ahead.shape[0] != n:
                raise ValueError(f"There are {n} rows to learn and {ahead.shape[0]} to show; give as many of both.")
        before, pieces = self.task, self._pieces(y)
        parts, losses = [], []
        for some, task, targets in pieces:
            with self._alone():
                self._make_room(width, task)
            found, kept = self._learn_piece(cut(matrix, some), targets, weights[some], cut(ahead, some))
            parts.append(found)
            losses.append(kept)
        self.losses = _joined(losses)
        if self.task is before:
            return parts[0]
        tasks = [before, *(task for _, task, _ in pieces)]
        scores, late = (_with_later_classes(part, tasks) for part in zip(*parts, strict=True))
        return scores, late

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody reads the model meanwhile, and no interrupt comes between what is learned and what is noted of it."""
        with self._turns.changing(), held():
            yield

    def _learn_piece(
        self, matrix: Any, targets: np.ndarray, weights: np.ndarray, ahead: Any
    ) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """Learn rows of one task, some at a time; the scores of these and of those shown, and the losses."""
        parts, losses = [], []
        for start in range(0, max(1, len(targets)), TOGETHER):
            some = slice(start, start + TOGETHER)
            with self._alone():
                learn = self._advance if self._opening is None else self._open
                parts.append(learn(cut(matrix, some), targets[some], weights[some], cut(ahead, some)))
                losses.append(self.losses)
        scores, late = (_joined(part) for part in zip(*parts, strict=True))
        return (scores, late), _joined(losses)

    def _pieces(self, y: Any) -> list[tuple[slice, Task, np.ndarray]]:
        """The block cut where labels come that were never seen, each piece with the task that it is learned with."""
        if not self.grow_classes or not isinstance(self.task, Classification):
            return [(slice(0, len(y)), self.task, self.task.encode(y))]
        task: Task = self.task
        places, known = self.task.positions(y)
        if known.all():
            return [(slice(0, len(y)), task, self.task.targets_at(places))]
        pieces, start, labels = [], 0, np.asarray(y)
        for new in self.task.newcomers(y):
            if new > start:
                pieces.append((slice(start, new), task, task.encode(labels[start:new])))
            task, start = task.grown(labels[new : new + 1]), new
        return [*pieces, (slice(start, len(labels)), task, task.encode(labels[start:]))]

    def _open(self, matrix: Any, targets: np.ndarray, weights: np.ndarray, ahead: Any) -> tuple[np.ndarray, np.ndarray]:
        """`_advance` from one row at which things are settled to the next."""
        start, n, parts = 0, len(targets), []
        losses = []
        while start < n:
            opening = self._opening
            stop = n if opening is None else min(n, start + opening.until_settling)
            some = slice(start, stop)
            try:
                parts.append(self._advance(cut(matrix, some), targets[some], weights[some], cut(ahead, some)))
            finally:
                learned = slice(start, start + len(self.losses))
                if opening is not None:
                    opening.add(cut(matrix, learned), targets[learned], weights[learned])
            losses.append(self.losses)
            if opening is not None and opening.settles:
                self._settle()
            start = stop
        self.losses = np.concatenate(losses)
        scores, late = (np.concatenate(part) for part in zip(*parts, strict=True))
        return scores, late

    def _settle(self) -> None:
        """Fix what depends on data from all rows so far, and learn them anew."""
        assert self._opening is not None and self._runner is not None
        self.inputs.features.settle([(X, self._outputs(targets), w) for X, targets, w in self._opening.parts()])
        parts = [(self.inputs.features.known(X), *rest) for X, *rest in self._opening.parts()]
        shape = self._runner.shape
        blocks = [self._known(*to_block(X, self.dtype)) for X, *_ in parts]
        known = [self.inputs.targets.known(targets[:, None])[:, 0] for _, targets, _ in parts]
        spec = self.algorithm.settle(self.task.name, sample_of(blocks, shape.width, np.concatenate(known)))
        fresh = Runner(spec, self.task.name, spec.init(shape), shape, self.sharing)
        for block, targets, (*_, weights) in zip(blocks, known, parts, strict=True):
            fresh.learn(self._examples(block, targets, weights), self.threads or DEFAULT_THREADS)
        vars(self).update(_runner=fresh, _opening=None if self._opening.is_over else self._opening)

    def _outputs(self, targets: np.ndarray) -> np.ndarray:
        """(n, K): a target, or for each of several classes whether it is the row's."""
        K = self.task.n_outputs
        return targets[:, None] if K == 1 else (targets[:, None] == np.arange(K)).astype(np.float64)

    def _advance(
        self, matrix: Any, targets: np.ndarray, weights: np.ndarray, ahead: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predict, then learn; the scores of the rows, and of those shown."""
        assert self._runner is not None
        runner, start = self._runner, self.n_seen
        inputs = self.inputs.copy() if self.inputs.follows else self.inputs
        losses = np.zeros(0)

        def undone(scores: np.ndarray) -> np.ndarray:
            n = len(scores)
            return offsets[:n, None] + units[:n, None] * scores if inputs.targets.changes else scores

        try:
            rows, shown = inputs.features.learn_beside(matrix, ahead)
            scaled, offsets, units = inputs.targets.learn_targets(targets)
            examples = self._examples(self._known(*to_block(rows, self.dtype)), scaled, weights)
            for kernel in runner.spec.kernels:
                kernel.require_values(examples.block, self.dtype)
            late = np.zeros_like(examples.scores[: shown.shape[0]])
            beside = (self._known(*to_block(shown, self.dtype)), late) if len(late) else None
            losses = examples.losses
            runner.learn(examples, self.threads or DEFAULT_THREADS, beside)
            self.inputs = inputs
        except BaseException:
            learned = self.n_seen - start
            if self.inputs.follows and learned > 0:
                self.inputs.features.learn(matrix[:learned])
                self.inputs.targets.learn_targets(targets[:learned])
            raise
        finally:
            n = self.n_seen - start
            self.losses = losses[:n]
            if self._calibration and n > 0:
                self._calibration.learn(undone(examples.scores)[:n], targets[:n], weights[:n], start)
        return undone(examples.scores), undone(late)

    def _examples(self, block: Block, targets: np.ndarray, weights: np.ndarray) -> Examples:
        n = len(targets)
        return Examples(block, targets, weights, np.zeros((n, self.task.n_outputs), self.dtype), np.zeros(n), AtOnce())

    def predict_learn(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """The label or value shown for each row before learning from it; learns in the same pass."""
        return self.task.decode(self.learn(X, y, sample_weight))

    def scores(self, X: Any) -> np.ndarray:
        """f(x) for each row, (n, K); learns nothing. Before any learning every score is 0."""
        if type(X) is np.ndarray and X.shape[:1] == (1,):
            found = self._score_row(X[0])
            if found is not None:
                return found
        self._catch_up()
        with self._turns.reading:
            return self._score(X)

    def _catch_up(self) -> None:
        """Do what an interrupt has left to be done before the next row. Who learns at the moment does so anyway."""
        if self._runner is not None and self._runner.is_due and self._turns.learning.acquire(blocking=False):
            try:
                with self._turns.changing():
                    self._runner.make_ready()
            finally:
                self._turns.learning.release()

    def _score(self, X: Any) -> np.ndarray:
        block = self._shown(X)
        scores = np.zeros((n_rows(block), self.task.n_outputs), self.dtype)
        if self._runner is None:
            return scores
        self._runner.score(block, scores, self.threads or DEFAULT_THREADS)
        return self.inputs.targets.undo(scores) if self.inputs.targets.changes else scores

    def _shown(self, X: Any) -> Block:
        """Rows that are only looked at, as the model sees them."""
        X = list(X) if isinstance(X, Iterator) else X
        if self._has_names(X):
            X = np.zeros((len(X), 1)) if self.columns is None else self.columns.show(X)
        matrix = as_matrix(X)
        block, width = to_block(matrix, self.dtype)  # what is wrong with the rows is said of them as they came
        if self._runner is None:
            return block
        self._fitting_width(matrix)
        if self.inputs.features.changes:
            block, width = to_block(self.inputs.features.apply(matrix), self.dtype)
        return self._known(block, width)

    def deviations(self, X: Any) -> np.ndarray:
        """How far from the scores of each row its targets are to be expected, a standard deviation, (n, K); infinite
        before any learning. Requires: a learner that says how sure it is, as ridge does.
        """
        block, shape = self._shown(X), (1, self.task.n_outputs)
        if self._runner is None:
            found = np.full((n_rows(block), self.task.n_outputs), np.inf)
            return found if self.algorithm.models_deviations else self.algorithm.deviations(None, None, iter(()))
        found = self._runner.spec.deviations(self._runner.record, self._runner.state, self._runner.chunks(block))
        return found * (self.inputs.targets.undo(np.ones(shape)) - self.inputs.targets.undo(np.zeros(shape)))

    def spreads(self, X: Any) -> np.ndarray:
        """How little the rows learned so far say of each row, whatever their labels were, (n,): z'Pz of ridge; infinite
        before any learning. Requires: a learner of least squares.
        """
        block = self._shown(X)
        if self._runner is None:
            found = np.full(n_rows(block), np.inf)
            return found if self.algorithm.models_spreads else self.algorithm.spreads(None, iter(()))
        return self._runner.spec.spreads(self._runner.state, self._runner.chunks(block))

    def intervals(self, X: Any, level: float = 0.9) -> np.ndarray:
        """The ends of an interval that holds the target of each row with a chance of `level`, (n, 2): of any learner,
        however wrong its model is and however the stream drifts, by the residuals of the rows so far
        (`numerics.intervals`). Infinite before the first 2 / (1 - level) - 1 rows. Requires: a regression.

        level: 0.5, 0.8, 0.9, 0.95 or 0.99
        """
        return self.intervals_of(self.scores(X), level)

    def intervals_of(self, scores: np.ndarray, level: float = 0.9) -> np.ndarray:
        """`intervals` of rows whose scores (n, 1) are known."""
        with self._turns.reading:
            return self._own_intervals().around(scores, level)

    def coverage(self, level: float = 0.9) -> float:
        """The share of rows so far whose target lay in the interval of that level from before they were learned."""
        with self._turns.reading:
            return self._own_intervals().coverage(level)

    def _own_intervals(self) -> Intervals:
        if not isinstance(self._calibration, Intervals):
            raise ValueError("Classes have no intervals; probabilities say how sure a classifier is.")
        return self._calibration

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Target minus score, (n, K), of rows that were learned once, each under the model of all rows but this one.

        sample_weight: as they were learned. Requires: a learner that knows it without learning again, as ridge does.
        """
        if self._runner is None or self.n_seen == 0:
            raise ValueError("No row was learned yet, so that none can be left out.")
        if self.inputs.follows:
            raise ValueError(
                'With scaling="online" a row is known as it was scaled when it came. Fit a scaling, or scale the rows.'
            )
        block, runner = self._shown(X), self._runner
        weights, targets = _weights(sample_weight, n_rows(block)), self.task.encode(y)
        scaled = self.inputs.targets.learn_targets(targets)[0]
        return runner.spec.left_out(runner.record, runner.state, runner.chunks(block), scaled, weights)

    def show(self, X: Any) -> np.ndarray:
        """`scores` of rows whose labels will come later: a learner that can, keeps what it needs to learn from how well
        it foresaw them.
        """
        scores = self.scores(X)
        if self._runner is not None and self.algorithm.remembers:
            with self._turns.changing(), held():
                self._runner.show(self._shown(X), np.zeros_like(scores))
        return scores

    def predict(self, X: Any, id: Any = None) -> Any:
        """The label or value of each row. With an id, of one row (a dictionary, or a vector of features), which is kept
        until `label` says what it was.
        """
        if id is None:
            return self.task.decode(self.scores(X))
        return self.task.decode(self.show_waiting(X, id))[0]

    def show_waiting(self, x: Any, id: Any) -> np.ndarray:
        """`show` one row, which is kept as it will be learned until `label` says what it was: its scores (1, K)."""
        hash(id)
        with self._turns.learning:
            if not isinstance(x, Mapping):
                return self._show_waiting(as_matrix(np.asarray(x)[None]).astype(np.float64), id)
            with self._alone(), self._taking_names([x]) as columns:
                return self._show_waiting(columns.take([x]), id)

    def _show_waiting(self, X: Any, id: Any) -> np.ndarray:
        to_block(X, self.dtype)
        width = self._fitting_width(X)
        with self._alone():
            if self._runner is not None:
                self._make_room(width, self.task)
            scores = self.show(X)
            self.waiting.add(id, X[0])
        return scores

    def label(self, id: Any, y: Any, weight: float = 1.0) -> np.ndarray:
        """Learn the label of a row that was shown by `predict(x, id=id)`; its scores (K,) by the model as it is now."""
        with self._turns.learning:
            row = self.waiting.row(id)
            row = np.pad(row, (0, max(0, self.width - len(row))))
            scores = self.learn_one(row, y, weight)
            self.waiting.drop(id)
            return scores

    def probabilities(self, X: Any) -> np.ndarray:
        """Class probabilities (n, classes). Requires: a classification."""
        return self.probabilities_of(self.scores(X))

    def probabilities_of(self, scores: np.ndarray) -> np.ndarray:
        """The class probabilities (n, classes) that scores stand for: the algorithm's own, the loss's (logistic for two
        classes, softmax for several), or by the link that was fitted while the model learned (`engine.calibration`).
        """
        if not isinstance(self.task, Classification):
            raise ValueError(
                "A regression has no classes, and so no probabilities of them. Intervals say how far off its values "
                "are to be expected; for classes choose Binary([...]) or Multiclass([...])."
            )
        if self.without_labels:
            raise ValueError("Novelty has no chances: a score lies above the border or below it (decision_function).")
        if len(self.task.classes) == 1:
            return np.ones((len(scores), 1))
        if isinstance(self._calibration, Calibration):
            with self._turns.reading:
                return self._calibration.chances(scores)
        if self.algorithm.models_probabilities:
            return self.algorithm.probabilities(None if self._runner is None else self._runner.state, scores)
        scores = scores.astype(np.float64)
        if self.task.n_outputs == 1:
            scores = np.concatenate([-scores / 2.0, scores / 2.0], axis=1)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)

    @property
    def without_labels(self) -> bool:
        """Whether labels play no role, and so no link is learned from them."""
        return self.algorithm.without_labels

    @property
    def _own_chances(self) -> bool:
        """Whether the algorithm, or its loss, says what chances scores stand for."""
        loss = getattr(self.algorithm, "loss", "auto")
        return self.algorithm.models_probabilities or (loss != "auto" and self.task.name in as_loss(loss).probabilistic)

    def _fitting_width(self, matrix: Any) -> int:
        """The width of the rows as the model sees them; refuses one that it does not take."""
        width = self.inputs.features.width(matrix)
        if self._runner is None or width == self.width or self.grow_features:
            return width
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

    def _make_room(self, width: int, task: Task) -> None:
        """Begin with the first block; grow when a block is wider or brings new classes."""
        if self._runner is None:
            shape = Shape(width, task.n_outputs, self.seed, np.dtype(self.dtype))
            spec = self.algorithm.settle(task.name, Sample(0.0, 0))
            runner, opening = Runner(spec, task.name, spec.init(shape), shape, self.sharing), self._opening
        elif width > self.width or task is not self.task:
            shape = self._runner.shape._replace(width=max(width, self.width), n_outputs=task.n_outputs)
            runner, opening = self._runner.grown(task.name, shape), self._opening
            if task.name != self.task.name and opening is not None:
                opening = opening.retargeted(lambda signs: (signs + 1.0) / 2.0)
        else:
            return
        link = self._calibration
        if isinstance(link, Calibration) and isinstance(task, Classification):
            link = link.grown(len(task.classes))
        vars(self).update(_runner=runner, _opening=opening, task=task, _calibration=link)

    def snapshot(self, reuse: "Learner | None" = None) -> "Learner":
        """The learner as it stands, apart from it, for predictions and files while this one learns on.

        reuse: what an earlier call gave and nobody uses any more; its arrays are written anew, where they still fit,
            which takes a tenth of the time.
        """
        with self._turns.learning:
            twin = None if reuse is None else self._rewritten(reuse)
            if twin is None:
                twin = copy.copy(self)
                twin._turns = Turns()
                if self._runner is not None:
                    twin._become(self)
                    twin._runner.stand_at(self._runner)  # type: ignore[union-attr]
            twin.waiting = self.waiting.copy()
        return twin

    def _rewritten(self, twin: "Learner") -> "Learner | None":
        """A twin from before with what this one knows now; None where they have grown apart."""
        mine, theirs = self._runner, twin._runner
        if (
            mine is None
            or theirs is None
            or self._opening
            or mine.spec is not theirs.spec
            or mine.shape != theirs.shape
        ):
            return None
        source, target = (leaves(one.state, derived=True) for one in (mine, theirs))
        if mine.is_due or any(a.shape != target[name].shape for name, a in source.items()):
            return None
        for name, array in source.items():
            np.copyto(target[name], array)
        if self.columns is not None:
            known = twin.columns is not None and len(twin.columns.entries) == len(self.columns.entries)
            twin.columns = twin.columns.with_means(self.columns) if known else self.columns.copy()  # type: ignore[union-attr]
        twin._calibration = self._calibration.copy() if self._calibration else None
        twin.inputs, twin.task, twin._opening = self.inputs.copy(), self.task, None
        theirs.stand_at(mine)
        return twin

    # Pickles: addresses of compiled code mean nothing in another process.

    def __getstate__(self) -> dict[str, Any]:
        runner = self._runner
        kept = None
        if runner is not None:
            kept = (runner.spec, runner.task, runner.state, runner.shape, runner.sharing, int(runner.learned))
        return {**vars(self), "_runner": kept}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        if kept["_runner"] is not None:
            self._runner = Runner(*kept["_runner"])

    # Merging.

    def merge(self, other: "Learner", since: "Learner | None" = None) -> Self:
        """Take in what another learner learned, weighted by the rows each has seen; refuses what does not fit.

        A learner that still keeps its first rows has them learned by the other. Where it fails, neither has changed.

        since: the learner that both went on from, as it was then, if they did. Its rows count once, and the weights are
            those of the rows behind them: so several copies learn apart and become one, again and again.
        """
        merging.merge(self, other, since)
        return self

    def unmerge(self, other: "Learner") -> Self:
        """Forget what another learner learned, whose rows this one has learned or merged; refuses what does not fit.

        Forks of one model merge without counting its rows twice: ``a.merge(b).unmerge(ancestor)``.
        """
        merging.unmerge(self, other)
        return self

    def distance(self, other: "Learner") -> float:
        """How far apart two models of one kind are: the norm of the difference of their functions in the kernel's
        space. Both have learned rows.
        """
        return merging.distance(self, other)

    def announce(self, classes: Any) -> None:
        """Make room for classes that no row has brought so far. Requires: `grow_classes`, and a classifier."""
        with self._turns.learning, self._alone():
            if not (self.grow_classes and isinstance(self.task, Classification)):
                raise ValueError(f"classes {list(classes)} are announced to a learner without grow_classes=True.")
            task = self.task.grown(classes)
            if self._runner is None:
                raise ValueError("Give all classes that are known to the task; more can be announced after a row.")
            self._make_room(self.width, task)

    def _become(self, other: "Learner") -> None:
        """Know what the other knows, and nothing else."""
        theirs = other._runner
        assert theirs is not None
        self._runner = Runner(
            theirs.spec, theirs.task, copied(theirs.state), theirs.shape, self.sharing, int(theirs.learned)
        )
        self._opening = None if other._opening is None else opening_from(other._opening.arrays(), theirs.shape.width)
        self.task, self.inputs = other.task, other.inputs.copy()
        self.columns = None if other.columns is None else other.columns.copy()
        self._calibration = other._calibration.copy() if other._calibration else None

    def _first_rows(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """All rows so far with their targets and weights, while the model itself keeps them, as it took them in."""
        return [] if self._runner is None else self._runner.spec.first_rows(self._runner.state)

    # Model files.

    def save(self, path: str | os.PathLike[str], **extra: Any) -> None:
        """Write the model; learning can go on from the file bit for bit. `extra` goes into the header."""
        with self._turns.reading:
            header, arrays = self.to_parts()
            for name, array in arrays.items():
                if array.dtype.kind == "f" and not np.isfinite(array).all():
                    raise FloatingPointError(
                        f"The model has diverged: its array {name} is not finite, and a file with it could not be "
                        f"loaded. {path} is left as it was; {self.spec.shorter_steps}, or scale features and targets."
                    )
            files.write(path, {**header, **extra}, arrays)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The learner as a JSON value and named arrays, of which `from_parts` makes an equal one."""
        header: dict[str, Any] = {
            "algorithm": self.algorithm.to_json(),
            "settled": None if self.settled is None else self.settled.to_json(),
            "task": self.task.to_json(),
            "seed": self.seed,
            "dtype": self.dtype,
            "grow_features": self.grow_features,
            "grow_classes": self.grow_classes,
            "threads": self.threads,
            "n_seen": self.n_seen,
            "width": self.width,
            "scaling": self.inputs.to_json(),
            "columns": None if self.columns is None else self.columns.to_json(),
            "waiting": self.waiting.to_json(),
            "opening": self._opening is not None,
        }
        parts = {
            "model": {} if self._runner is None else leaves(self._runner.state),
            "inputs": self.inputs.arrays(),
            "opening": {} if self._opening is None else self._opening.arrays(),
            "waiting": self.waiting.arrays() if len(self.waiting) else {},
            "link": self._calibration.arrays() if self._calibration else {},
        }
        return header, files.joined(parts)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Learner":
        """The learner that `to_parts` described; anything that it could not have described is refused."""
        if "targets" in header:
            raise ValueError("it holds a learner for each of several targets; kernelstream.load reads it")
        learner = cls(
            spec_from_json(header["algorithm"]),
            tasks.from_json(header["task"]),
            seed=header["seed"],
            dtype=header["dtype"],
            grow_features=header["grow_features"],
            grow_classes=header["grow_classes"],
            scaling=Inputs.from_json(header["scaling"], files.part(arrays, "inputs")),
            threads=header["threads"],
            columns=Columns.of_file(header),
            waiting=(header.get("waiting") or {"most": MOST})["most"],
        )
        learner.grow_features = header["grow_features"]
        strange = [name for name in arrays if name.partition(".")[0] not in PARTS]
        if strange:
            raise ValueError(f"it holds an array {strange[0]!r}, which is of no part of a learner")
        if header.get("waiting") is not None and header["waiting"]["ids"]:
            learner.waiting = waiting_from(header["waiting"], files.part(arrays, "waiting"))
        if isinstance(learner.task, Classification):
            if learner._calibration:
                learner._calibration = calibration_from(files.part(arrays, "link"), len(learner.task.classes))
        else:
            learner._calibration = intervals_from(files.part(arrays, "link"))
        if header["settled"] is not None:
            settled = spec_from_json(header["settled"])
            width, n_seen = header["width"], header["n_seen"]
            whole(1, width=width)
            whole(0, n_seen=n_seen)
            if type(settled) is not type(learner.algorithm) or settled.depends_on_data or n_seen > COUNTS[1]:
                raise ValueError("its header contradicts itself")
            found = settled.get_params()
            for name, size in _sizes(learner.algorithm).items():
                if found.get(name) != size:
                    raise ValueError(f"its {name} is {size}, but {found.get(name)} where it is settled")
            shape = Shape(width, learner.task.n_outputs, learner.seed, np.dtype(learner.dtype))
            state = settled.restore(files.part(arrays, "model"), shape)
            learner._runner = Runner(settled, learner.task.name, state, shape, learner.sharing, n_seen)
            learner._opening = opening_from(files.part(arrays, "opening"), width) if header["opening"] else None
            if learner._opening is not None and learner._opening.n_rows != n_seen:
                raise ValueError(f"its first {n_seen} rows are {learner._opening.n_rows}")
        return learner

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Learner":
        """The learner that a file holds."""
        return cls.load_with_header(path)[0]

    @classmethod
    def load_with_header(cls, path: str | os.PathLike[str]) -> tuple["Learner", dict[str, Any]]:
        """The learner that a file holds, and the file's header with all that `save` was given."""
        header, arrays = files.read(path)
        try:
            return cls.from_parts(header, arrays), header
        except Exception as error:  # whatever a part stumbles over, it is the file's
            raise files.damaged(path, error) from None


def _as_rows(x: Any) -> Any:
    """One row as a block of rows."""
    return [x] if isinstance(x, Mapping) else np.asarray(x)[None]


def _small(spec: Any) -> Any:
    """The spec, and its parts, with sizes that are reached within a few rows."""
    sizes: dict[str, Any] = {name: size for name, size in _SMALL.items() if hasattr(spec, name)}
    if hasattr(spec, "parts"):
        sizes["parts"] = tuple(_small(part) for part in spec.parts)
    return replace(spec, **sizes)


def _with_later_classes(parts: Sequence[np.ndarray], tasks: Sequence[Any]) -> np.ndarray:
    """Scores of the pieces of a block for the classes of the last one: those that a row did not know score -inf.

    tasks: before the block, and of each piece. Of two classes the one output f is (-f/2, f/2).
    """
    joined = []
    for part, before, task in zip(parts, tasks, tasks[1:], strict=False):
        wide = np.full((len(part), tasks[-1].n_outputs), -np.inf, part.dtype)
        wide[:, : len(task.classes)] = np.hstack([-0.5 * part, 0.5 * part]) if isinstance(task, Binary) else part
        wide[:1, len(before.classes) :] = -np.inf  # the first row brings them
        joined.append(wide)
    return np.concatenate(joined)


def _weights(sample_weight: Any, n: int) -> np.ndarray:
    if sample_weight is None:
        return np.ones(n)
    weights = as_reals(sample_weight, "sample weights")
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}!")
    if not ((weights >= 0) & (weights <= LARGEST)).all():
        row = int(np.argmin((weights >= 0) & (weights <= LARGEST)))
        raise ValueError(f"Row {row}: the sample weight {weights[row]} must be between 0 and {LARGEST:g}.")
    return weights


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _sizes(spec: Algorithm) -> dict[str, int]:
    """Whole numbers that a spec states: rows settle none of them, but t_0, which becomes even."""
    stated = spec.get_params().items()
    return {name: value for name, value in stated if type(value) is int and not name.endswith("start")}
