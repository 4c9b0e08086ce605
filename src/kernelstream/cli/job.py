"""A request being carried out: one pass, train and test, or many row orders."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console

from ..engine import disk, files
from ..evaluate.asking import Asking
from ..evaluate.building import learner_for
from ..evaluate.experiments import Repetition, holdout, repeated
from ..evaluate.interrupts import Interrupts
from ..evaluate.models import Model, OwnModel
from ..evaluate.naive import by_labels, naive
from ..evaluate.run import Run, every_rows, follow, prequential
from ..evaluate.settings import refuse_other
from ..evaluate.standing import check_standing
from ..evaluate.trace import Trace
from ..forms import agree, by_name
from ..learner import Learner, OnlineLearner
from ..metrics import Metric, default_metrics
from ..report.drifts import in_words
from ..report.inside import inside
from ..report.live import ProgressLine
from ..sources import LabelledBlock, ReadAhead, Shuffled, Source
from ..sources.survey import Survey
from ..tasks import MULTICLASS
from .looking import looked, refuse_a_second_pass, say
from .options import Reading
from .others import knows_its_classes, other
from .output import Outcome
from .request import Request, RunRequest
from .sink import Sink

if TYPE_CHECKING:
    from ..distributed.coordinator import Result


class Kept(NamedTuple):
    """The file in which a run is kept on its way; `asked` is what it must have been begun with to be resumed."""

    path: Path
    every: int
    resume: bool
    asked: dict[str, Any]

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """While this is open, no other run can have the same file."""
        try:
            with disk.held(self.path):
                yield
        except BlockingIOError:
            raise ValueError(f"{self.path} is in use by another run; let that end, or name another file.") from None

    def resumed(self) -> "_Resumed | None":
        if not (self.resume and self.path.exists()):
            return None
        model, header = Learner.load_with_header(self.path)
        if "run" not in header or "asked" not in header:
            raise ValueError(
                f"{self.path} is a model, but not a checkpoint of a run, and none can go on from it; name another file "
                "with --checkpoint, or remove it."
            )
        with files.named(self.path):
            by_name(header["asked"], "asked")
            for name in ("algorithm", "seed", "dtype"):
                agree(f"asked.{name}", header["asked"].get(name), header[name], name)
        refuse_other(self.path, header["asked"], self.asked)
        with files.named(self.path):
            check_standing(header["run"])
            found = Survey.from_json(header.get("survey"), model.task)
            grows = found.grow_classes and MULTICLASS in model.algorithm.tasks
            agree("grow_classes", model.grow_classes, grows, "survey")
            agree("survey.sparse", found.sparse, model.grow_features, "grow_features")
            return _Resumed(model, header["run"], found)

    def keep(self, model: OnlineLearner, run: Run, found: Survey, encoding: Any) -> None:
        # At the end, rows that waited for their labels are learned: a run that went on would do so again.
        ended = run.delay > 0 and run.over
        if run.rows > 0 and not ended:
            model.save(self.path, run=run.state(), asked=self.asked, survey=found.to_json(), encoding=encoding)


class _Resumed(NamedTuple):
    """What a run goes on with."""

    learner: Learner
    state: dict[str, Any]
    found: Survey


class Job:
    """One call of `run` or `compare`. `models` are those that learn."""

    def __init__(self, request: Request):
        self.request = request
        self.file = request.opened(request.data)
        self.models: list[Model] = []
        self._console, self._interrupts = Console(stderr=True), Interrupts()
        self._line = ProgressLine(self._console, self.file, self._interrupts.check)
        self._found: Survey | None = None
        self._looking_ahead_seconds: float | None = None
        self.crew: Result | None = None

    def stream(self, kept: Kept | None = None, *, predictions: str | None = None) -> Outcome:
        """One pass with all learners side by side, from the start or from a checkpoint of the one that there is.

        predictions: the stream to which those of the only learner are sent.
        """
        request = self.request
        held = contextlib.nullcontext() if kept is None else kept.held()
        sink = contextlib.nullcontext() if predictions is None else Sink(predictions)
        with held, sink as sent, self._interrupts, self._line:
            resumed = None if kept is None else kept.resumed()
            if resumed is None:
                rows = self._rows()
            else:
                resumed.learner.threads = request.jobs
                self.models = [self._asking(resumed.learner, None, seen=int(resumed.state["rows"]))]
                self._found = resumed.found
                rows = self._found.checked(Shuffled(self.file, request.seed) if request.shuffle else self.file)
            source = ReadAhead(rows)
            runs = [
                Run(
                    model,
                    source,
                    metrics=request.judges(model.task),
                    checkpoints=None if request.window is None else every_rows(request.window),
                    delay=request.delay,
                    drift=request.plan,
                    every=None if kept is None else kept.every,
                    on_mark=lambda run: self._keep(kept, run),
                    on_shown=None if sent is None else sent.send,
                )
                for model in self.models
            ]
            beside = [] if resumed is not None else self._naive_runs(source)
            if resumed is not None and kept is not None:
                with files.named(kept.path):
                    runs[0].restore(resumed.state)
                say(self._console, f"resumed after {runs[0].rows:,} rows from {kept.path}")
            on_block = self._line.learning(source)
            self._line.traces = [run.trace for run in runs]
            told = {run.model.name: len(run.trace.drifts) for run in runs}

            def learned(traces: list[Trace]) -> None:
                on_block(traces)
                for trace in traces:
                    whose = "" if len(traces) == 1 else f"{trace.algorithm}, "
                    new = trace.drifts[told[trace.algorithm] :]
                    say(self._console, *(f"drift: {whose}{in_words(drift)}" for drift in new))
                    told[trace.algorithm] = len(trace.drifts)

            try:
                follow(runs, source, on_block=learned, beside=beside)
            finally:
                if self._interrupts.seen:
                    self._keep(kept, runs[0])
            self._keep(kept, runs[0])
        return self._outcome(self._line.traces, naive=[run.trace for run in beside])

    def on_workers(self, kept: Kept | None = None) -> Outcome:
        """One pass, learned by several workers of Ray."""
        from ..distributed import Checkpoints, Coordinator, train

        request = self.request
        assert isinstance(request, RunRequest)
        held = contextlib.nullcontext() if kept is None else kept.held()
        with held, self._interrupts, self._line:
            found, _ = self._look(None)
            show = self._line.learning(self.file)

            def learned(coordinator: Coordinator) -> None:
                self.crew = coordinator.result
                self.models = [OwnModel(coordinator.result.model)]
                self._line.crew = coordinator.result.workers
                show(coordinator.result.trace)

            train(
                self.file,
                learner_for(found, request.spec, seed=request.seed, dtype=request.dtype, threads=1),
                workers=request.workers,
                every=request.every if "every" in request.given else None,
                apart=request.apart,
                metrics=request.judges(found.task),
                address=request.ray,
                checkpoints=None if kept is None else Checkpoints(kept.path, kept.resume, kept.asked),
                on_round=learned,
            )
            if self.crew is not None:
                self.file = self.crew.source
            beside = [prequential(one, self.file, metrics=by) for one, by in self._naive(in_order=False)]
        return self._outcome(self._line.traces, naive=beside)

    def train_and_test(self, test: str, passes: int) -> Outcome:
        """Learn from one source and be judged by another."""
        if passes > 1:
            refuse_a_second_pass(self.file, f"--passes {passes}")
        judged = _TestRows(test, self.file, self.request)
        with self._interrupts, self._line:
            source = ReadAhead(self._rows())
            model = self.models[0]
            metrics = self.request.judges(model.task)
            on_block = self._line.learning(source)
            holdout(model, source, judged, metrics=metrics, passes=passes, on_block=on_block)
            again = self.file.restartable
            beside = [holdout(one, source, judged, metrics=by) for one, by in self._naive(in_order=False) if again]
        return self._outcome(self._line.traces, test=test, passes=passes, naive=beside)

    def repeat(self) -> Outcome:
        """Every learner over many row orders."""
        request = self.request
        refuse_a_second_pass(self.file, "--orders" if request.runs is None else "--runs")
        traces: list[Trace] = []
        with self._interrupts, self._line:
            orders = request.row_orders()
            found, _ = self._look(orders[0])
            metrics = request.judges(found.task)
            each = []
            for name, spec in request.specs(found.task.name).items():
                if spec is None:
                    raise ValueError(
                        f"--runs repeats our own algorithms only, and {name} is none; leave one of them out."
                    )
                each.append(Repetition(spec, self.file, found, request.dtype, metrics, request.delay, request.rule))
            show = self._line.learning(self.file)

            def finished(trace: Trace) -> None:
                traces.append(trace)
                show(trace)

            with all_over(request.ray):
                repeated(each, orders, jobs=request.jobs, on_run=finished)
            rows = Shuffled(self.file, orders[0])
            beside = [
                prequential(one, rows, metrics=by, delay=request.delay) for one, by in self._naive(in_order=False)
            ]
        return self._outcome(traces, naive=beside)

    def save(self, path: Path | None, outcome: Outcome) -> None:
        """Write the model, if it was shown anything, with what came of it."""
        metrics = outcome.traces[-1].last.to_json()["metrics"] if outcome.traces else {}
        judged = {"source": outcome.source, "test": outcome.test, "metrics": metrics}
        shown = any(trace.last.rows for trace in outcome.traces)
        for model in self.models:
            if path is not None and isinstance(model, OwnModel) and shown:
                file = self.file
                model.learner.save(path, encoding=file.encoding, feature_names=file.feature_names, judged=judged)

    def _look(self, order: Any) -> tuple[Survey, Source]:
        self._found, self._looking_ahead_seconds, rows = looked(
            self.request, self.file, self._console, self._line.looked_ahead, order=order
        )
        return self._found, rows

    def _rows(self) -> Source:
        """The rows to learn from, for which the models are made."""
        request = self.request
        found, rows = self._look(request.seed if request.shuffle else None)
        common: dict[str, Any] = {"seed": request.seed, "dtype": request.dtype, "threads": request.jobs}
        specs = request.specs(found.task.name)
        strange = next((name for name, spec in specs.items() if spec is None), None)
        if request.ask is not None and strange is not None:
            raise ValueError(
                f"--ask asks for labels for our own algorithms only, and {strange} is none; leave one out."
            )
        self.models = [
            other(name, found) if spec is None else self._asking(learner_for(found, spec, **common), name)
            for name, spec in specs.items()
        ]
        return found.checked(rows, growing=not any(knows_its_classes(model) for model in self.models))

    def _asking(self, learner: OnlineLearner, name: str | None, *, seen: int = 0) -> OwnModel:
        """A model of the learner, which asks for labels if that is wanted."""
        rule, name = self.request.rule, learner.name if name is None else name
        return (
            OwnModel(learner, name) if rule is None else Asking(learner, rule, seed=learner.seed, name=name, seen=seen)
        )

    def _naive(self, *, in_order: bool) -> list[tuple[Model, list[Metric]]]:
        """What a page shows beside the learners, each with what it can be judged by."""
        if self.request.report is None or self._found is None:
            return []
        task = self._found.task
        by = by_labels(self.request.judges(task) or default_metrics(task.name))
        return [(model, by) for model in naive(task, in_order=in_order)] if by else []

    def _naive_runs(self, source: Source) -> list[Run]:
        in_order = not self.request.shuffle
        return [Run(one, source, metrics=by, delay=self.request.delay) for one, by in self._naive(in_order=in_order)]

    def _keep(self, kept: Kept | None, run: Run) -> None:
        if kept is not None and self._found is not None and isinstance(run.model, OwnModel):
            kept.keep(run.model.learner, run, self._found, self.file.encoding)

    def _outcome(self, traces: list[Trace], **judged: Any) -> Outcome:
        return Outcome(
            source=self.file.name,
            traces=traces,
            interrupted=self._interrupts.seen,
            found=self._found,
            looking_ahead_seconds=self._looking_ahead_seconds,
            skipped=self.file.skipped if self.crew is None else self.crew.skipped,
            notices=self.file.notices if self.crew is None else self.crew.notices,
            insides={
                model.name: inside(model.learner, self.file.feature_names)
                for model in self.models
                if isinstance(model, OwnModel) and model.learner.n_seen > 0
            },
            crew=self.crew,
            **judged,
        )


def all_over(address: str | None) -> contextlib.AbstractContextManager[None]:
    """Where repetitions run: in a Ray cluster, if one is named."""
    if address is None:
        return contextlib.nullcontext()
    from ..distributed.on_ray import everywhere

    return everywhere(address)


class _TestRows(Source):
    """The rows to be judged by, with the categories that training has met when they are read."""

    def __init__(self, data: str, trained_on: Source, reading: Reading):
        self.data, self.trained_on, self.reading = data, trained_on, reading
        self.name = reading.opened(data).name  # which refuses now what cannot be opened

    def __iter__(self) -> Iterator[LabelledBlock]:
        encoding = self.trained_on.encoding
        names = self.trained_on.feature_names if encoding is None else None
        return iter(ReadAhead(self.reading.opened(self.data, encoding=encoding, names=names)))

    def progress(self) -> float | None:
        return None
