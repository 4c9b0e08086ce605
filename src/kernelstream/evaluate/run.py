"""Prequential evaluation: every row is predicted before it is learned from; the one loop behind all commands.

What a Trace holds does not depend on how the source cuts its blocks: checkpoints are at fixed rows. Several models can
learn side by side from one reading pass.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import chain, count, tee
from typing import Any, TypeAlias, TypeVar

import numpy as np
from scipy.sparse import issparse

from ..learner import Learner
from ..learner.drift import WARN, Plan, Watching, plan_of
from ..metrics import LABELS, PROBABILITIES, SCORES, Metrics, judges
from ..numerics.rows import cut
from ..sources import LabelledBlock, Matrix, RowSource, Source, as_source
from ..sources.rows import Delay, duration
from ..sources.survey import survey
from ..tasks import Classification, Task
from ..teaching import explained
from .digest import Digest, digest_form
from .interrupts import uninterrupted
from .late import InTime, InTurn
from .models import Model, Shown, as_model, stacked_kinds, widened
from .standing import check_standing, restored
from .trace import Checkpoint, Newcomer, Trace

Found = TypeVar("Found")
Times: TypeAlias = Callable[[Matrix], tuple[np.ndarray, np.ndarray]]

_FIRST_CHECKPOINT = 16
_CHECKPOINTS_PER_DOUBLING = 8


def _times(source: Source, moment: Any, delay: Delay) -> Times | None:
    """The moments of the rows of a block, and those at which their labels come; None where rows have no time."""
    by_name = callable(delay) or isinstance(delay, str)
    if isinstance(source, RowSource):
        if moment is None and not by_name:
            return None
        source.moment, source.delay = moment, delay
        return lambda X: (source.moments, source.arrivals)
    if moment is None and not by_name:
        return None
    if by_name or not isinstance(moment, int | np.integer):
        raise ValueError(
            f"moment={moment!r}, delay={delay!r}: rows of {source.name} have no names. As moment give the number of a "
            "feature and as delay a duration; or give rows that are dictionaries, or a table (RowSource)."
        )
    wait = duration(delay)

    def times(X: Matrix) -> tuple[np.ndarray, np.ndarray]:
        if not 0 <= moment < X.shape[1]:
            raise ValueError(f"moment={moment} must be the number of a feature, 0 to {X.shape[1] - 1}.")
        column = X[:, [moment]]
        moments = np.asarray(column.toarray() if issparse(column) else column, np.float64)[:, 0]
        return moments, moments + wait

    return times


def _rows_late(delay: Delay) -> int:
    """After how many rows a label comes, where rows have no time."""
    if isinstance(delay, timedelta | np.timedelta64) or not isinstance(delay, int | np.integer | None):
        raise ValueError(f"delay={delay!r} is a duration, and rows have no time; say what tells it, moment=...")
    return 0 if delay is None else int(delay)


def spaced_rows() -> Iterator[int]:
    """Row numbers 16, 17, 19, 21, ..., 32, 35, ...: eight to a doubling, 141 up to three million.

    Examples
    --------
    >>> from itertools import islice
    >>> from kernelstream.evaluate import spaced_rows
    >>> list(islice(spaced_rows(), 10))
    [16, 17, 19, 21, 23, 25, 27, 29, 32, 35]
    """
    for k in range(_CHECKPOINTS_PER_DOUBLING * 60):
        yield round(_FIRST_CHECKPOINT * 2 ** (k / _CHECKPOINTS_PER_DOUBLING))


def every_rows(n: int) -> Iterator[int]:
    """Row numbers n, 2 n, ..."""
    if n < 1:
        raise ValueError(f"checkpoints={n} must be at least 1, the rows between two.")
    return count(n, n)


def prequential(
    model: Any,
    source: Any,
    *,
    task: Task | None = None,
    metrics: Metrics = None,
    checkpoints: Iterable[int] | int | None = None,
    delay: Delay = 0,
    moment: Any = None,
    drift: Any = None,
    on_drift: str = WARN,
    on_block: Callable[[Trace], None] | None = None,
) -> Trace:
    """Learn from a source in one pass and keep the score of what was predicted before.

    Parameters
    ----------
    model : a `Learner`, a scikit-learn estimator with `partial_fit`, a River model, or a `models.Model`
    source : a `Source`, or pairs (row, label) whose rows are dictionaries, or (table, labels): then a Learner keeps
        their names
    task : of a model that does not know it; found out in a pass ahead when it is not given
    metrics : what to measure, objects or their names (`default_metrics` of the task); the last one is the headline
    checkpoints : ascending row numbers (`spaced_rows`), or how many rows lie between two, which is how long windows are
        (`Trace.course`); the last row is always one
    delay : the label of row t comes after row t + delay has been predicted; those still missing come at the end
    moment : what tells the time of a row, the name of a value, a function of the row or the number of a feature. Then a
        label comes `delay` after its row's moment: a number, a timedelta, the name of a value or a function of row and
        label. A row is shown when all labels are learned that have come by its moment; moments never fall
    drift : what looks out for a change, by River's detectors: "adwin", "page-hinkley", "kswin", "ddm" on the errors of
        rows whose labels have come, "kswin:on=price,alpha=0.001" on a feature, a detector of River's, or several of
        these. What was found is in the trace (`drifts`)
    on_drift : "warn", "restart" (the model begins anew) or "forget" (it keeps the newest 1,024 rows; "forget:500"
        fewer); of errors only when they rose
    on_block : called after each block; the trace it gets stays consistent if learning is interrupted later

    Examples
    --------
    >>> from kernelstream import Learner, Multiclass
    >>> from kernelstream.evaluate import prequential
    >>> from kernelstream.sources import open_source
    >>> trace = prequential(Learner("fogd", Multiclass(range(10)), scaling="online"), open_source("digits"))
    >>> trace.last.rows, trace.last.metrics["mistake_rate"] < 0.2
    (1797, True)
    """
    return side_by_side(
        [model],
        source,
        task=task,
        metrics=metrics,
        checkpoints=checkpoints,
        delay=delay,
        moment=moment,
        drift=drift,
        on_drift=on_drift,
        on_block=None if on_block is None else lambda traces: on_block(traces[0]),
    )[0]


def side_by_side(
    models: Sequence[Any],
    source: Any,
    *,
    task: Task | None = None,
    metrics: Metrics = None,
    checkpoints: Iterable[int] | int | None = None,
    delay: Delay = 0,
    moment: Any = None,
    drift: Any = None,
    on_drift: str = WARN,
    on_block: Callable[[list[Trace]], None] | None = None,
) -> list[Trace]:
    """`prequential` for several models, which learn from the same blocks: the source is read once.

    Parameters
    ----------
    models : a list of what `prequential` takes for one
    source, task, metrics, checkpoints, delay, moment, drift, on_drift : as of `prequential`
    on_block : called after each block with all traces

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from kernelstream import Learner, Multiclass
    >>> from kernelstream.evaluate import side_by_side
    >>> from kernelstream.sources import open_source
    >>> task = Multiclass(range(10))
    >>> traces = side_by_side([Learner("rbp", task), SGDClassifier()], open_source("digits"), task=task)
    >>> [trace.algorithm for trace in traces]
    ['rbp', 'SGDClassifier']
    """
    plan, learners = plan_of(drift, on_drift), [model for model in models if isinstance(model, Learner)]
    source = as_source(source, columns=next((one.columns for one in learners if one.columns is not None), None))
    given = (source.moment, source.delay) if isinstance(source, RowSource) else (None, None)
    if moment is None and not delay:  # what the source was told
        moment, delay = given
    times = _times(source, moment, delay)
    rows_late = _rows_late(delay) if times is None else 0
    if task is None and not all(hasattr(model, "task") for model in models):
        if not source.restartable:
            raise ValueError(f"{source.name} can be read once only, to learn: say what is learned, task=...")
        task = survey(source).task
    if checkpoints is None or isinstance(checkpoints, int):
        checkpoints = spaced_rows() if checkpoints is None else every_rows(checkpoints)
    common: dict[str, Any] = {"metrics": metrics, "delay": rows_late, "times": times, "drift": plan}
    runs = [
        Run(as_model(model, task), source, checkpoints=marks, **common)
        for model, marks in zip(models, tee(checkpoints, len(models)), strict=True)
    ]
    if not isinstance(source, RowSource):
        return follow(runs, source, on_block=on_block)
    for learner in learners:
        learner.follow(source.columns)
    try:
        return follow(runs, source, on_block=on_block)
    finally:
        source.moment, source.delay = given
        for learner in learners:
            learner.follow(source.columns.copy())


def follow(
    runs: Sequence["Run"],
    source: Source,
    *,
    on_block: Callable[[list[Trace]], None] | None = None,
    beside: Sequence["Run"] = (),
) -> list[Trace]:
    """Take runs through a source to its end. Those that have learned rows before go on behind them.

    One of several that diverges stops where it is, and its trace says so; the last one left raises.

    Parameters
    ----------
    runs : each a `Run` on this source
    source : a `Source`
    on_block : called after each block with all traces
    beside : runs that come along: nobody is told of them, and they cannot diverge

    Examples
    --------
    >>> from kernelstream import Learner, Multiclass
    >>> from kernelstream.evaluate import Run, follow
    >>> from kernelstream.evaluate.models import as_model
    >>> from kernelstream.sources import open_source
    >>> source = open_source("digits")
    >>> (trace,) = follow([Run(as_model(Learner("rbp", Multiclass(range(10)))), source)], source)
    >>> trace.last.rows
    1797
    """
    clock = _Clock()
    for run in runs:
        run.trace.compiling_seconds += clock.timed(run.warm_up)[1]
    traces = [run.trace for run in runs]
    going = list(runs)
    blocks = clock.reading(iter(source))
    row = source.first_row
    for X, y in blocks:
        for run in list(going):
            run.reading_seconds = clock.read
            try:
                run.take(X, y, row)
            except FloatingPointError as error:
                if len(going) == 1:
                    raise
                run.trace.stopped = str(error)
                going.remove(run)
        for run in beside:
            run.take(X, y, row)
        row += len(y)
        source.forget_before(min((run.rows - run.behind for run in going), default=row))
        if on_block is not None:
            on_block(traces)
    for run in (*going, *beside):
        run.finish(row)
    return traces


@explained(row="of X, the first one's", rows="all that the source has", state="what `state` gave")
class Run:
    """One model on its way through a source, for who wants to look or to stop on the way; else `prequential`.

    Parameters
    ----------
    model : a `models.Model`, as `models.as_model` makes of whatever learns
    source : the `Source` that it will be taken through
    metrics, checkpoints : as of `prequential`
    delay : how many rows later a label comes
    times : of the rows of a block and of their labels, where these come by the clock
    drift : what to look out for (`drift.plan_of`)
    every, on_mark : `on_mark(run)` is called, with all consistent, whenever the number of rows is a multiple of
        `every`; and at the end, where labels are still to come, before their rows are learned
    on_shown : called with the number of a row and the labels that were predicted for it and those behind it
    clock : what tells the seconds of learning; `time.process_time` leaves out what others do on the machine

    Attributes
    ----------
    trace : what came of it so far
    rows : how many were shown

    Examples
    --------
    >>> from kernelstream import Learner, Multiclass
    >>> from kernelstream.evaluate import Run, follow
    >>> from kernelstream.evaluate.models import as_model
    >>> from kernelstream.sources import open_source
    >>> source, marks = open_source("digits"), []
    >>> learner = Learner("rbp", Multiclass(range(10)))
    >>> run = Run(as_model(learner), source, every=500, on_mark=lambda run: marks.append(run.rows))
    >>> _ = follow([run], source)
    >>> marks, run.trace.last.rows
    ([500, 1000, 1500], 1797)
    """

    def __init__(
        self,
        model: Model,
        source: Source,
        *,
        metrics: Metrics = None,
        checkpoints: Iterable[int] | None = None,
        delay: int = 0,
        times: Times | None = None,
        drift: Plan | None = None,
        every: int | None = None,
        on_mark: Callable[["Run"], None] | None = None,
        on_shown: Callable[[int, np.ndarray], None] | None = None,
        clock: Callable[[], float] | None = None,
    ):
        if delay < 0 or (every is not None and every < 1):
            what = f"delay={delay} must not be negative" if delay < 0 else f"every={every} must be at least 1"
            raise ValueError(f"{what}.")
        self.model, self.source = model, source
        self.cumulative, self.window = (judges(metrics, model.task) for _ in range(2))
        self.kinds = frozenset(metric.needs for metric in self.cumulative)
        self.trace = Trace(source.name, model.name, model.task.name, model.seed, self.cumulative[-1].name)
        self.trace.classes = model.task.classes.tolist() if isinstance(model.task, Classification) else []
        self._began_as, self._ended = model.task.name, set[str]()  # metrics of the task as it was before a class came
        self.delay = delay
        self.rows = 0  # shown
        self.over = False  # whether the source has ended
        self.seconds = self.reading_seconds = 0.0
        self._waiting = InTurn()  # shown, but without a label so far
        self._times, self._in_time = times, InTime()
        self._every, self._on_mark, self._on_shown = every, on_mark, on_shown
        self._clock = time.perf_counter if clock is None else clock
        # What was shown so far, where it will have to be recognised, and what was shown in an earlier life.
        self._digest = None if every is None else Digest()
        self._before: str | None = None
        self._marks = iter(checkpoints if checkpoints is not None else spaced_rows())
        self._mark: float = 0
        self._next_mark()
        self._watching: Watching | None = None
        if drift is not None:
            if drift.acts and not model.restarts:
                model.restart()  # which says so
            self._watching = Watching(drift, model.task, model.seed, self.trace.drifts)
            if every is not None:
                self._watching.state()  # which refuses what could not be kept

    @property
    def behind(self) -> int:
        """How many rows before the next one a run that goes on must be shown again."""
        return self.delay + (0 if self._watching is None else self._watching.plan.kept)

    def warm_up(self) -> None:
        """Have everything compiled that the run will need."""
        self.model.warm_up(late=self.delay > 0)

    def take(self, X: Matrix, y: np.ndarray, row: int) -> None:
        """Show and learn from a block whose first row is number `row` of the source."""
        start = max(0, self.rows - row)
        if start > 0:
            self._recognise(X[:start], y[:start], row)
        if start > 0 and self.delay > 0:  # shown in an earlier life, but not learned from
            late = max(0, self.rows - self.delay - row)
            self._waiting.add(X[late : min(start, len(y))], y[late:start])
        if start > 0:
            learned = slice(max(0, self.rows - self.behind - row), max(0, self.rows - self.delay - row))
            self._keep(X[learned], y[learned])
        times = (np.zeros(0), np.zeros(0)) if self._times is None else self._times(X)
        while start < len(y):
            stop = int(min(len(y), start + self._until_mark()))
            some = slice(start, stop)
            with uninterrupted():
                self._learn(cut(X, some), y[some], (times[0][some], times[1][some]))
            start = stop

    def _recognise(self, X: Matrix, y: np.ndarray, row: int) -> None:
        """Pass over rows that were shown in an earlier life, which ends where they are not the same."""
        if self._digest is None or len(y) == 0:
            return
        self._digest.add(X, y)
        if self._before is not None and row + len(y) == self.rows and self._digest.value() != self._before:
            raise ValueError(
                f"the first {self.rows:,} rows of {self.source.name} are not those that were learned before: some were "
                "changed, removed or put elsewhere (as a shuffle of more rows does); give the data as it was, or begin "
                "anew."
            )

    def finish(self, rows: int) -> None:
        """The source has ended after so many rows: learn what is still waiting, close the trace."""
        if rows < self.rows:
            raise ValueError(
                f"{self.source.name} has {rows} rows, but {self.rows} of it were learned before; give the same data."
            )
        if self._on_mark is not None and self._waiting.n > 0:
            self._on_mark(self)  # from which it can go on behind more rows: what waits is learned from here on
        with uninterrupted():
            self.over = True
            n = self._waiting.n
            if n > 0:
                self._timed(lambda: self._learn_late(*self._waiting.take(n), range(self.rows - n, self.rows)))
            self._timed(lambda: self._in_time.rest(self._learn_late))
            if self.rows > 0 and (not self.trace.checkpoints or self.trace.checkpoints[-1].rows < self.rows):
                self.trace.checkpoints.append(self.trace.last)

    def state(self) -> dict[str, Any]:
        """Where the run stands, as a JSON value; with the model, all that is needed to go on."""
        place = self.source.place_of(max(self.rows - self.behind, 0))
        return {
            "source": self.trace.source,
            "rows": self.rows,
            "delay": self.delay,
            "seconds": self.seconds,
            "reading_seconds": self.reading_seconds,
            "compiling_seconds": self.trace.compiling_seconds,
            "metrics": {m.name: m.state() for m in self.cumulative},
            "window": {m.name: m.state() for m in self.window},
            "checkpoints": [checkpoint.to_json() for checkpoint in self.trace.checkpoints],
            "last": self.trace.last.to_json(),
            "digest": None if self._digest is None or place is not None else self._digest.value(),
            "place": place,
            "drift": None if self._watching is None else self._watching.state(),
            "newcomers": [list(newcomer) for newcomer in self.trace.newcomers],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where another run stood, with its model; ValueError for what no run can have left."""
        check_standing(state)
        mine = {"source": self.trace.source, "delay": self.delay, "metrics": [m.name for m in self.cumulative]}
        theirs = {name: list(state[name]) if name == "metrics" else state[name] for name in mine}
        for name, value in mine.items():
            if value != theirs[name]:
                raise ValueError(f"the run was begun with {name} {theirs[name]!r}, not {value!r}; resume it with that.")
        if (state["drift"] is None) != (self._watching is None):
            raise ValueError("the run was begun with another drift to look out for; resume it with that.")
        self._require_learned(state["rows"])
        self.rows, self.seconds = state["rows"], state["seconds"]
        self._before = state["digest"]
        if state["place"] is not None:
            self._digest = None
            self.source.begin_at(state["place"])
        elif self._digest is not None:
            digest_form(self._before, "run.digest")
        self.trace.compiling_seconds = state["compiling_seconds"]
        classes = self.trace.classes
        for metrics, kind in ((self.cumulative, "metrics"), (self.window, "window")):
            for metric in metrics:
                restored(metric, kind, state, classes)
        self.trace.checkpoints[:] = [Checkpoint.from_json(one) for one in state["checkpoints"]]
        self.trace.last = Checkpoint.from_json(state["last"])
        self.trace.newcomers[:] = [Newcomer(*one) for one in state["newcomers"]]
        self.trace.parameters = self.model.parameters
        if self._watching is not None:
            late = self.delay if self._times is None else self.rows
            self._watching.restore(state["drift"], self.rows, late)
        self._next_mark()

    def _require_learned(self, rows: int) -> None:
        """ValueError for a model that has not learned what a run has that has shown so many rows."""
        n, all_of_them = self.model.n_learned, max(rows - self.delay, 0)
        acts = self._watching is not None and self._watching.plan.acts
        exactly = self.model.learns_all and self._times is None and not acts
        if n is not None and (n > all_of_them or (exactly and n < all_of_them)):
            raise ValueError(f"its n_seen is {n}, where a run that has shown {rows} rows has learned {all_of_them}")

    def _until_mark(self) -> float:
        """Rows up to the next checkpoint, mark, or row from which on labels arrive."""
        ends = [self._mark - self.rows]
        if self._every is not None:
            ends.append(self._every - self.rows % self._every)
        if self._waiting.n < self.delay:
            ends.append(self.delay - self._waiting.n)
        if self._watching is not None:
            ends.append(self._watching.until(self.rows))
        return min(ends)

    def _learn(self, X: Matrix, y: np.ndarray, times: tuple[np.ndarray, np.ndarray]) -> None:
        if self._watching is not None and self._watching.is_due(self.rows):
            self.model.restart()
            relearn = self.model.learn
            self._watching.begin_anew(lambda X, y, _: self._timed(lambda: relearn(X, y, frozenset())))
        old, before = (cut(X, slice(0)), y[:0]), self.model.task  # rows whose labels come now
        if self._times is not None:
            shown = self._timed(lambda: self._show_in_time(X, y, times))
        elif self._waiting.n < self.delay:
            shown = self._timed(lambda: self.model.show(X, self.kinds))
            self._waiting.add(X, y)
        elif self.delay > 0:
            self._waiting.add(X, y)
            old = self._waiting.take(len(y))
            shown = self._timed(lambda: self.model.learn_late(*old, X, self.kinds))
        else:
            old = X, y
            shown = self._timed(lambda: self.model.learn(X, y, self.kinds))
        first = self.rows - self.delay
        self._note(before, old[1], range(first, first + len(old[1])))
        self._watch(X, y, shown, old)
        if self._digest is not None:
            self._digest.add(X, y)
        if self._on_shown is not None:
            self._on_shown(self.rows, shown[LABELS])
        self._judge(y, shown)
        self.rows += len(y)
        self.trace.last = self._checkpoint()
        self.trace.parameters = self.model.parameters  # what is settled on the first rows changes with them
        if self.rows == self._mark:
            self.trace.checkpoints.append(self.trace.last)
            self.window = [metric.fresh() for metric in self.window]
            self._next_mark()
        if self._on_mark is not None and self._every is not None and self.rows % self._every == 0:
            self._on_mark(self)

    def _judge(self, y: np.ndarray, shown: Shown) -> None:
        task = later = self.model.task
        if isinstance(task, Classification) and self.kinds & {SCORES, PROBABILITIES}:
            later = task.grown(y)  # some labels may come later than their rows
            shown = widened(shown, task, later)
        for metric in chain(self.cumulative, self.window):
            if later.name != self._began_as and later.name not in metric.tasks:
                self._ended.add(metric.name)
            elif metric.name not in self._ended:
                if isinstance(later, Classification):
                    metric.classes = later.classes
                metric.update(y, shown[metric.needs])

    def _note(self, before: Task, labels: np.ndarray, numbers: Sequence[int]) -> None:
        """Note the classes that came with rows of these numbers, which were learned."""
        task = self.model.task
        if task is before or not (isinstance(task, Classification) and isinstance(before, Classification)):
            return
        self.trace.task, self.trace.classes = task.name, task.classes.tolist()
        for place in before.newcomers(labels):
            self.trace.newcomers.append(Newcomer(numbers[place] + 1, labels[place : place + 1].tolist()[0]))

    def _learn_late(self, X: Matrix, y: np.ndarray, numbers: Sequence[int]) -> None:
        """Learn rows that were shown before."""
        before = self.model.task
        self.model.learn(X, y, frozenset())
        self._note(before, y, numbers)

    def _show_in_time(self, X: Matrix, y: np.ndarray, times: tuple[np.ndarray, np.ndarray]) -> Shown:
        model, kinds, watching = self.model, self.kinds, self._watching

        def show(rows: Matrix, labels: np.ndarray) -> Shown:
            shown = model.show(rows, kinds)
            if watching is not None:
                watching.see_shown(model.task, self._in_time.n - len(labels), labels, shown[LABELS])
            return shown

        def learn(rows: Matrix, labels: np.ndarray, numbers: list[int]) -> None:
            self._learn_late(rows, labels, numbers)
            self._keep(rows, labels)
            if watching is not None:
                watching.see_labels(numbers, [self._in_time.n] * len(numbers))

        return stacked_kinds(self._in_time.show(X, y, times, show, learn), kinds)

    def _watch(self, X: Matrix, y: np.ndarray, shown: Shown, old: LabelledBlock) -> None:
        """Let the detectors see what a user sees after these rows: their features, and the errors of old rows."""
        if self._watching is None:
            return
        self._watching.find_features(X, lambda: self.source.feature_names or (), self.source.name)
        self._watching.see_features(X, self.rows)
        if self._times is None:
            self._watching.see_shown(self.model.task, self.rows, y, shown[LABELS])
            first, n = self.rows - self.delay, len(old[1])
            self._watching.see_labels(range(first, first + n), range(self.rows + 1, self.rows + 1 + n))
            self._keep(*old)

    def _keep(self, X: Matrix, y: np.ndarray) -> None:
        if self._watching is not None:
            self._watching.kept.add(X, y, np.ones(len(y)))

    def _timed(self, learn: Callable[[], Found]) -> Found:
        start = self._clock()
        try:
            return learn()
        except (ValueError, FloatingPointError) as error:
            kind = FloatingPointError if isinstance(error, FloatingPointError) else ValueError
            place = f"{self.source.name}, {self.model.name}, counting from row {self.rows}"
            raise kind(f"{place}: {error}") from error
        finally:
            self.seconds += self._clock() - start

    def _checkpoint(self) -> Checkpoint:
        cumulative, window = (
            {m.name: math.nan if m.name in self._ended else m.value for m in metrics}
            for metrics in (self.cumulative, self.window)
        )
        model = self.model
        return Checkpoint(self.rows, cumulative, window, self.seconds, self.reading_seconds, model.size, model.n_bytes)

    def _next_mark(self) -> None:
        while self._mark <= self.rows:
            self._mark = next(self._marks, math.inf)


class _Clock:
    """Seconds of reading."""

    def __init__(self) -> None:
        self.read = 0.0

    def reading(self, blocks: Iterator[LabelledBlock]) -> Iterator[LabelledBlock]:
        while True:
            block, seconds = self.timed(lambda: next(blocks, None))
            self.read += seconds
            if block is None:
                return
            yield block

    def timed(self, work: Callable[[], Any]) -> tuple[Any, float]:
        start = time.perf_counter()
        return work(), time.perf_counter() - start
