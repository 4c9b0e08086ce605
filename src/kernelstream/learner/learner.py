"""Learner: a spec, a task and what was learned; what it does with rows stands in the modules beside this one."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np

from ..algorithms import as_algorithm
from ..encoding import Columns
from ..engine import Algorithm, files
from ..engine.calibration import Calibration
from ..engine.cores import DEFAULT_THREADS
from ..engine.inputs import NONE, Inputs, Scaling, as_inputs, named
from ..engine.lane import Lane
from ..engine.opening import Opening
from ..engine.runner import AS_IT_PAYS, Runner
from ..engine.state import leaves
from ..engine.turns import Turns
from ..engine.waiting import MOST, Waiting
from ..numerics.intervals import Intervals
from ..numerics.margins import MarginLink
from ..numerics.rows import LARGEST, Sample, n_rows
from ..parameters import whole
from ..tasks import MULTICLASS, Classification, Regression, Task
from ..teaching import explained
from . import answers, copies, learning, merging, names, parts, single
from .drift import WARN, Drift
from .room import make_room, shown
from .watching import watched

DTYPES = ("float32", "float64")

MOST_THREADS = 1024  # each has room of its own for rows

_SMALL = {"budget": 2, "rank": 1}  # sizes that are reached within a few rows


@explained(
    X="rows: an array (n, features), lists, a sparse matrix; dictionaries; with `columns` a table, whose names count",
    other="a learner of the same spec, task and seed",
)
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
    dtype : "float32" or "float64", or NumPy's of these names
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
    drift : what looks out for a change, by River's detectors: "adwin", "page-hinkley", "kswin", "ddm" on the error of
        each row from before it was learned, "kswin:on=price,alpha=0.001" on a feature, a `Watch`, or a list of these
    on_drift : "warn", "restart" (the model begins anew) or "forget" (it does, and learns the newest 1,024 rows again;
        "forget:500" fewer); of errors only when they rose. A file of the model has both choices, and goes on with them

    Attributes
    ----------
    losses : the loss of each row of the newest block that was learned, from before it was learned
    task, columns, waiting : what it learns, the names that it knows, the rows that wait
    drifts : what was found of drift, the newest thousand, each a `Drift`

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

    One that begins anew where its errors rise, and learns the newest 100 rows again:

    >>> learner = Learner("fogd", Binary(["other", "same"]), drift="adwin", on_drift="forget:100")
    >>> scores = learner.learn(X, y), learner.learn(X, np.where(y == "same", "other", "same"))
    >>> learner.drifts[-1].did, learner.times_begun_anew, learner.rows_learned, learner.n_seen < 700
    ('forget', 1, 1200, True)
    """

    def __init__(
        self,
        algorithm: str | Algorithm,
        task: Task | str,
        *,
        seed: int = 0,
        dtype: Any = "float32",
        grow_features: bool = False,
        grow_classes: bool = False,
        scaling: str | Scaling | Inputs = NONE,
        threads: int | None = None,
        columns: Columns | None = None,
        waiting: int = MOST,
        drift: Any = None,
        on_drift: str = WARN,
    ):
        dtype = getattr(dtype, "__name__", str(dtype))
        if dtype not in DTYPES:
            raise ValueError(f"dtype={dtype!r} must be one of {', '.join(DTYPES)}.")
        if isinstance(task, str):
            if task != Regression.name:
                raise ValueError(f"task={task!r} needs its classes: Binary([...]) or Multiclass([...]).")
            task = Regression()
        self.algorithm = as_algorithm(algorithm)
        if task.name not in self.algorithm.tasks:
            raise ValueError(
                f"{self.algorithm.name} does not do {task.name}; it does {', '.join(self.algorithm.tasks)}. Choose "
                "another learner: auto, fogd and most others do all three."
            )
        if grow_classes and MULTICLASS not in self.algorithm.tasks:
            raise ValueError(
                f"grow_classes=True needs several classes, and {self.algorithm.name} does {self.algorithm.tasks[0]} "
                "only: leave it out, or choose another learner: auto, fogd and most others do several."
            )
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
        self.grow_features = bool(grow_features) or columns is not None
        self.grow_classes = bool(grow_classes)
        self.inputs = as_inputs(scaling, regression=isinstance(task, Regression))
        self.losses = np.zeros(0)
        # Of the rows of a call among threads.
        self.sharing = AS_IT_PAYS._replace(beside=False) if threads == 1 else AS_IT_PAYS
        self._turns = Turns()
        self._watching = watched(task, self.seed, drift, on_drift)
        self._begin()
        # A loss that does not fit the task is refused now.
        self.algorithm.settle(task.name, Sample(1.0, 1)).lowered(task.name, dtype)

    def _begin(self) -> None:
        """What is there before the first row."""
        self._runner: Runner | None = None
        self._heads: list[str] = []  # of the first table that was learned by position
        self._calibration: Calibration | Intervals | None = answers.calibration_for(self)
        settles = self.algorithm.depends_on_data(self.task.name) or self.inputs.features.settles
        self._opening = Opening() if settles else None

    def restart(self) -> None:
        """Begin anew, as if no row had been learned and no drift found. Classes and names that are known stay, a fitted
        scaling does, and so do rows that wait for their labels.
        """
        with self._turns.alone():
            parts = (named(part.kind) if part.follows or part.settles else part for part in self.inputs)
            self.inputs = Inputs(*parts)
            self.losses = np.zeros(0)
            if self._watching is not None:
                self._watching = self._watching.fresh(self.task, self.seed)
            self._begin()

    def __repr__(self) -> str:
        """What it learns with which algorithm, and from how many rows so far."""
        return f"<Learner of {self.name}, {self.task.name}, {self.n_seen:,} rows>"

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
        """Rows that were learned, since the model began anew if it did."""
        return 0 if self._runner is None else int(self._runner.learned)

    @property
    def rows_learned(self) -> int:
        """Rows that were learned, also those before the model began anew on drift."""
        return self.n_seen + (0 if self._watching is None else self._watching.given_up)

    @property
    def drifts(self) -> list[Drift]:
        """What was found of drift, the newest thousand; `row` is how many rows had been learned."""
        return [] if self._watching is None else self._watching.found.copy()

    @property
    def times_begun_anew(self) -> int:
        """How often the model began anew on drift."""
        return 0 if self._watching is None else self._watching.times

    @property
    def drift_choice(self) -> tuple[Any, str]:
        """`drift` and `on_drift` of a learner that does the same."""
        return (None, WARN) if self._watching is None else self._watching.choice()

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
        first += self._watching.kept.n_bytes if self._watching else 0
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
        with self._turns.reading:
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

        >>> from kernelstream import Learner, Regression
        >>> Learner("fogd", Regression()).learn([[1.0], [1.0]], [5.0, 5.0]).shape
        (2, 1)
        """
        if sample_weight is None and type(X) is type(y) is np.ndarray and X.shape[:1] == y.shape == (1,):
            scores = single.learn_row(self, X[0], y[0], 1.0)
            if scores is not None:
                return scores
        return learning.learn(self, X, y, sample_weight, None)[0]

    def learn_late(self, X: Any, y: Any, shown: Any) -> np.ndarray:
        """Learn from rows whose labels came late: the scores (n, K) of the rows `shown`, row t of them from before row
        t of X is learned. Requires: as many rows in both.

        shown: other rows, (n, features), of which only scores are asked

        >>> from kernelstream import Learner, Regression
        >>> learner = Learner("fogd", Regression())
        >>> scores = learner.show([[0.0], [1.0]])
        >>> learner.learn_late([[0.0], [1.0]], [3.0, 4.0], shown=[[2.0], [3.0]]).shape, learner.n_seen
        ((2, 1), 2)
        """
        return learning.learn(self, X, y, None, shown)[1]

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> np.ndarray:
        """`learn` for one row: its scores (K,) from before it was learned.

        y: its label or value. weight: how much it counts

        >>> from kernelstream import Binary, Learner
        >>> learner = Learner("fogd", Binary(["no", "yes"]))
        >>> learner.learn_one([0.5, -1.0], "yes").tolist(), learner.n_seen
        ([0.0], 1)
        """
        if not (type(weight) is float and 0.0 <= weight <= LARGEST):
            weight = single.as_weight(weight)
        scores = single.learn_row(self, x, y, weight)
        return self.learn(single.as_rows(x), [y], [weight])[0] if scores is None else scores[0]

    def scores_one(self, x: Any) -> np.ndarray:
        """`scores` of one row: (K,).

        >>> from kernelstream import Learner, Regression
        >>> Learner("fogd", Regression()).scores_one([0.5, -1.0]).tolist()
        [0.0]
        """
        scores = single.score_row(self, x)
        return self.scores(single.as_rows(x))[0] if scores is None else scores[0]

    def lane(self) -> Lane | None:
        """The shortest way for dictionaries of the numbers that are known, for a learner that no other thread uses;
        None while there is none. It is good until the model's arrays change.
        """
        return single.lane_of(self)

    def follow(self, columns: Columns) -> None:
        """Go on with the columns of a source that makes features of named values. Requires: they know what these do.

        columns: the source's
        """
        names.follow(self, columns)

    def predict_learn(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """The label or value shown for each row before learning from it, (n,); learns in the same pass."""
        return self.task.decode(self.learn(X, y, sample_weight))

    def scores(self, X: Any) -> np.ndarray:
        """f(x) for each row, (n, K): K is 1 for a value or two classes, else the number of classes. Learns nothing;
        before any learning every score is 0.

        >>> from kernelstream import Learner, Multiclass
        >>> Learner("fogd", Multiclass(["a", "b", "c"])).scores([[0.5], [1.0]]).shape
        (2, 3)
        """
        if type(X) is np.ndarray and X.shape[:1] == (1,):
            found = single.score_row(self, X[0])
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
        block = shown(self, X)
        scores = np.zeros((n_rows(block), self.task.n_outputs), self.dtype)
        if self._runner is None:
            return scores
        self._runner.score(block, scores, self.threads or DEFAULT_THREADS)
        return self.inputs.targets.undo(scores) if self.inputs.targets.changes else scores

    def deviations(self, X: Any) -> np.ndarray:
        """How far from the scores of each row its targets are to be expected, a standard deviation, (n, K); infinite
        before any learning. Requires: a learner that says how sure it is, as ridge does.
        """
        return answers.deviations(self, X)

    def spreads(self, X: Any) -> np.ndarray:
        """How little the rows learned so far say of each row, whatever their labels were, (n,): z'Pz of ridge; infinite
        before any learning. Requires: a learner of least squares.
        """
        return answers.spreads(self, X)

    def intervals(self, X: Any, level: float = 0.9) -> np.ndarray:
        """The ends of an interval that holds the target of each row with a chance of `level`, (n, 2): of any learner,
        however wrong its model is and however the stream drifts, by the residuals of the rows so far
        (`numerics.intervals`). Infinite before the first 2 / (1 - level) - 1 rows. Requires: a regression.

        >>> import numpy as np
        >>> from kernelstream import Learner, Regression
        >>> X = np.linspace(0.0, 1.0, 100)[:, None]
        >>> learner = Learner("ridge", Regression())
        >>> scores = learner.learn(X, X[:, 0])
        >>> learner.intervals(X[:3], level=0.8).shape
        (3, 2)
        """
        return self.intervals_of(self.scores(X), level)

    def intervals_of(self, scores: np.ndarray, level: float = 0.9) -> np.ndarray:
        """`intervals` of rows whose scores are known."""
        with self._turns.reading:
            return answers.intervals_in(self).around(scores, level)

    def coverage(self, level: float = 0.9) -> float:
        """The share of rows so far whose target lay in the interval of that level from before they were learned."""
        with self._turns.reading:
            return answers.intervals_in(self).coverage(level)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Target minus score, (n, K), of rows that were learned once, each under the model of all rows but this one.
        Requires: a learner that knows it without learning again, as ridge does.

        sample_weight: as they were learned
        """
        return answers.leave_one_out(self, X, y, sample_weight)

    def show(self, X: Any) -> np.ndarray:
        """`scores` of rows whose labels will come later: a learner that can, keeps what it needs to learn from how well
        it foresaw them.

        >>> from kernelstream import Learner, Regression
        >>> learner = Learner("fogd", Regression())
        >>> shown = learner.show([[0.0], [1.0]])
        >>> learner.learn([[0.0], [1.0]], [3.0, 4.0]).shape  # when the labels have come
        (2, 1)
        """
        scores = self.scores(X)
        if self._runner is not None and self.algorithm.remembers:
            with self._turns.alone():
                self._runner.show(shown(self, X), np.zeros_like(scores))
        return scores

    def predict(self, X: Any, id: Any = None) -> Any:
        """The label or value of each row, (n,). With an id, of one row, which is kept until `label` says what it was.

        X: rows, as `learn` takes them; with an id one row, a dictionary or a vector of features
        id: what the row goes by, text or a whole number

        >>> from kernelstream import Learner, Regression
        >>> learner = Learner("fogd", Regression())
        >>> float(learner.predict([0.5, -1.0], id="tx-1")), learner.label("tx-1", 3.0).shape, learner.n_seen
        (0.0, (1,), 1)
        """
        if id is None:
            return self.task.decode(self.scores(X))
        return self.task.decode(self.show_waiting(X, id))[0]

    def show_waiting(self, x: Any, id: Any) -> np.ndarray:
        """`show` one row, which is kept as it will be learned until `label` says what it was: its scores (1, K).

        id: what the row goes by
        """
        return single.show_waiting(self, x, id)

    def label(self, id: Any, y: Any, weight: float = 1.0) -> np.ndarray:
        """Learn the label of a row that was shown by `predict(x, id=id)`; its scores (K,) by the model as it is now.

        id: what the row goes by. y: its label or value. weight: how much it counts

        >>> from kernelstream import Binary, Learner
        >>> learner = Learner("fogd", Binary(["no", "yes"]))
        >>> shown = learner.predict({"amount": 5.0}, id="tx-1")
        >>> learner.label("tx-1", "yes").shape, learner.n_seen, len(learner.waiting)
        ((1,), 1, 0)
        """
        return single.learn_waiting(self, id, y, weight)

    def probabilities(self, X: Any) -> np.ndarray:
        """Class probabilities (n, classes). Requires: a classification.

        >>> from kernelstream import Binary, Learner
        >>> Learner("ridge", Binary([0, 1])).probabilities([[2.0]]).tolist()
        [[0.5, 0.5]]
        """
        return self.probabilities_of(self.scores(X))

    def probabilities_of(self, scores: np.ndarray) -> np.ndarray:
        """The class probabilities (n, classes) that scores stand for: the algorithm's own, the loss's (logistic for two
        classes, softmax for several), or by the link that was fitted while the model learned (`engine.calibration`).
        """
        return answers.probabilities_of(self, scores)

    @property
    def without_labels(self) -> bool:
        """Whether labels play no role, and so no link is learned from them."""
        return self.algorithm.without_labels

    def snapshot(self, reuse: "Learner | None" = None) -> "Learner":
        """The learner as it stands, apart from it, for predictions and files while this one learns on.

        reuse: what an earlier call gave and nobody uses any more; its arrays are written anew, where they still fit,
            which takes a tenth of the time.

        >>> from kernelstream import Learner, Regression
        >>> learner = Learner("fogd", Regression())
        >>> scores = learner.learn([[0.0]], [1.0])
        >>> kept = learner.snapshot()
        >>> scores = learner.learn([[1.0]], [2.0])
        >>> kept.n_seen, learner.n_seen
        (1, 2)
        """
        return copies.snapshot(self, reuse)

    def __getstate__(self) -> dict[str, Any]:
        return copies.pickled(self)

    def __setstate__(self, kept: dict[str, Any]) -> None:
        copies.unpickle(self, kept)

    # Merging.

    def merge(self, other: "Learner", since: "Learner | None" = None) -> Self:
        """Take in what another learner learned, weighted by the rows each has seen; refuses what does not fit.

        A learner that still keeps its first rows has them learned by the other. Where it fails, neither has changed.

        since: the learner that both went on from, as it was then, if they did. Its rows count once, and the weights are
            those of the rows behind them: so several copies learn apart and become one, again and again.

        >>> from kernelstream import Learner, Regression
        >>> one, two = (Learner("fogd", Regression(), seed=1) for _ in range(2))
        >>> scores = one.learn([[0.0]], [1.0]), two.learn([[2.0], [3.0]], [1.0, 2.0])
        >>> one.merge(two).n_seen
        3
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
        """Make room for classes that no row has brought so far. Requires: `grow_classes`, and a classifier.

        classes: labels; those that are known already may be among them
        """
        with self._turns.alone():
            if not (self.grow_classes and isinstance(self.task, Classification)):
                raise ValueError(f"classes {list(classes)} are announced to a learner without grow_classes=True.")
            task = self.task.grown(classes)
            if self._runner is None:
                raise ValueError("Give all classes that are known to the task; more can be announced after a row.")
            make_room(self, self.width, task)

    def _first_rows(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """All rows so far with their targets and weights, while the model itself keeps them, as it took them in."""
        return [] if self._runner is None else self._runner.spec.first_rows(self._runner.state)

    # Model files.

    def save(self, path: str | os.PathLike[str], **extra: Any) -> None:
        """Write the model; learning can go on from the file bit for bit.

        extra: what goes into the file's header besides, as JSON has it

        >>> import tempfile
        >>> from kernelstream import Learner, Regression
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     Learner("fogd", Regression()).save(f"{directory}/model.ks", source="nowhere")
        ...     learner, header = Learner.load_with_header(f"{directory}/model.ks")
        >>> learner.name, header["source"]
        ('fogd', 'nowhere')
        """
        with self._turns.reading:
            header, arrays = self.to_parts()
            parts.require_finite(self, arrays, path)
            files.write(path, {**header, **extra}, arrays)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The learner as a JSON value and named arrays, of which `from_parts` makes an equal one."""
        return parts.to_parts(self)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Learner":
        """The learner that `to_parts` described; anything that it could not have described is refused.

        header: the JSON value. arrays: by their names
        """
        return parts.from_parts(cls, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Learner":
        """The learner that a file holds.

        >>> import tempfile
        >>> from kernelstream import Learner, Regression
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     Learner("fogd", Regression(), seed=7).save(f"{directory}/model.ks")
        ...     learner = Learner.load(f"{directory}/model.ks")
        >>> learner.name, learner.seed
        ('fogd', 7)
        """
        return cls.load_with_header(path)[0]

    @classmethod
    def load_with_header(cls, path: str | os.PathLike[str]) -> tuple["Learner", dict[str, Any]]:
        """The learner that a file holds, and the file's header with all that `save` was given."""
        header, arrays = files.read(path)
        try:
            return cls.from_parts(header, arrays), header
        except Exception as error:  # whatever a part stumbles over, it is the file's
            raise files.damaged(path, error) from None


def _small(spec: Any) -> Any:
    """The spec, and its parts, with sizes that are reached within a few rows."""
    sizes: dict[str, Any] = {name: size for name, size in _SMALL.items() if hasattr(spec, name)}
    if hasattr(spec, "parts"):
        sizes["parts"] = tuple(_small(part) for part in spec.parts)
    return replace(spec, **sizes)
