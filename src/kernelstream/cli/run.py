"""``kernelstream run``: one learner, one stream; also over many row orders, or judged by a test file."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import __version__
from ..engine import Algorithm
from ..evaluate.experiments import Repetition, holdout, repeated, summarized
from ..evaluate.interrupts import Interrupts
from ..evaluate.models import OwnModel
from ..evaluate.run import Run, Trace, follow
from ..evaluate.settings import spec_from
from ..learner import Learner
from ..report import words
from ..report.live import ProgressLine
from ..report.tables import run_table, traces_table
from ..sources import LabelledBlock, Source
from ..sources.survey import Survey
from . import options as o
from .opening import ahead, chosen_metrics, learner, opened, refuse_a_second_pass, row_orders, say, surveyed
from .output import PREQUENTIAL, Outputs
from .tuning import from_config


@o.reads_a_source
def run(
    context: typer.Context,
    data: o.Data,
    algorithm: Annotated[str, typer.Option(help="What learns; `kernelstream algorithms` lists all.")] = "fogd",
    settings: o.Settings = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A TOML file as `tune` writes it; other options overrule it.")
    ] = None,
    task: o.TaskName = o.DEFAULT_TASK,
    seed: o.Seed = 0,
    shuffle: o.Shuffle = False,
    scale: o.Scale = o.DEFAULT_SCALE,
    dtype: o.Dtype = o.DEFAULT_DTYPE,
    metrics: o.MetricNames = None,
    delay: o.Delay = 0,
    test: Annotated[str | None, typer.Option(metavar="DATA", help="Judge by these rows instead.")] = None,
    passes: Annotated[int, typer.Option(min=1, help="Over the data, with --test.")] = 1,
    runs: Annotated[int | None, typer.Option(min=1, help="Repeat over so many random orders, on all cores.")] = None,
    orders: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Repeat over the row orders `perm` of a .npz file.")
    ] = None,
    jobs: o.Jobs = None,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the model.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep model and numbers in a file on the way.")
    ] = None,
    every: Annotated[int, typer.Option(min=1, metavar="N", help="Rows between two checkpoints.")] = 100_000,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from --checkpoint, or begin if there is none yet.")
    ] = False,
    json_file: o.JsonFile = None,
    csv_file: o.CsvFile = None,
    markdown_file: o.MarkdownFile = None,
    report: o.ReportFile = None,
    **reading: Any,
) -> None:
    """Stream data through one learner: predict, score, learn.

    Each row is predicted before it is learned from. With --task auto, text labels mean classification, and so do whole
    numbers with at most 20 different values in the first 4,096 rows; everything else is regression. Classification
    takes one pass over all labels first, to know the classes. Ctrl-C ends with the table so far, and the model so far
    is saved.

    Exit codes: 0 done, 2 bad options or data (one line on stderr says what), 130 interrupted.
    """
    with o.errors_in_one_line():
        request: dict[str, Any] = {"algorithm": algorithm, "task": task, "scale": scale, "seed": seed}
        request["set"] = list(settings or ())
        if config is not None:
            request = from_config(config, request, context)
        spec = spec_from(request["algorithm"], request["set"])
        outputs = Outputs(json_file, csv_file, markdown_file, report)
        outputs.check()
        o.check_writable(save, checkpoint)
        many = runs is not None or orders is not None
        _refuse_mixtures(
            many=many, test=test, passes=passes, checkpoint=checkpoint, resume=resume, save=save, delay=delay
        )
        job = _Job(data, opened(data, reading), spec, request, shuffle, dtype, metrics, delay, jobs, reading)
        if many:
            refuse_a_second_pass(job.file, "--orders" if runs is None else "--runs")
            job.repeat(runs, orders, outputs)
        elif test is not None:
            if passes > 1:
                refuse_a_second_pass(job.file, f"--passes {passes}")
            job.train_and_test(test, passes, save, outputs)
        else:
            job.stream(save, checkpoint, every, resume, outputs)


def _refuse_mixtures(**given: Any) -> None:
    if given["resume"] and given["checkpoint"] is None:
        raise ValueError("--resume needs --checkpoint FILE, the file to go on from.")
    single = [name for name in ("checkpoint", "save", "test") if given[name] is not None]
    if given["many"] and single:
        raise ValueError(f"--{single[0]} is for one run, --runs and --orders are for many; leave one of them out.")
    if given["passes"] > 1 and given["test"] is None:
        raise ValueError(f"--passes {given['passes']} goes with --test; a stream has one pass.")
    if given["test"] is not None and (given["checkpoint"] is not None or given["delay"] > 0):
        raise ValueError("--test goes with neither --checkpoint nor --delay; leave one of them out.")


class _Job:
    """One call of the command."""

    def __init__(
        self,
        data: str,
        file: Source,
        spec: Algorithm,
        request: dict[str, Any],
        shuffle: bool,
        dtype: str,
        metrics: str | None,
        delay: int,
        jobs: int | None,
        reading: dict[str, Any],
    ):
        self.data, self.file, self.spec = data, file, spec
        self.seed: int = request["seed"]
        self.shuffle, self.dtype, self.metrics, self.delay = shuffle, dtype, metrics, delay
        self.task, self.scale = request["task"], request["scale"]
        self.jobs, self.reading = jobs, reading
        self.console = Console(stderr=True)
        self.record: dict[str, Any] = {"version": __version__, "data": data}
        self.record |= {"scale": self.scale, "shuffle": shuffle, "dtype": dtype, "delay": delay}

    @property
    def asked(self) -> dict[str, Any]:
        """All that decides what a run learns; a checkpoint can be resumed when it is the same."""
        reading = {name: value for name, value in self.reading.items() if name != "block_rows"}
        asked = {"data": self.data, "algorithm": self.spec.to_json(), "task": self.task, "seed": self.seed}
        return {**asked, **self.record, "metrics": self.metrics, **reading}

    def survey(self, line: ProgressLine) -> Survey:
        start = time.perf_counter()
        found = surveyed(self.file, self.console, task=self.task, scale=self.scale, on_block=line.looked_ahead)
        self.record["looking_ahead_seconds"] = time.perf_counter() - start
        return found

    def stream(self, save: Path | None, checkpoint: Path | None, every: int, resume: bool, outputs: Outputs) -> None:
        """One pass, from the start or from a checkpoint."""
        interrupts = Interrupts()
        line = ProgressLine(self.console, self.file, interrupts.check)
        model: Learner | None = None
        asked = self.asked
        with interrupts, line:
            source = ahead(self.file, self.seed if self.shuffle else None)
            state = None
            if resume and checkpoint is not None and checkpoint.exists():
                model, state = _resumed(checkpoint, asked)
                model.threads = self.jobs
            else:
                model = learner(self.spec, self.survey(line), seed=self.seed, dtype=self.dtype, threads=self.jobs)
            kept = model

            def keep(run: Run) -> None:
                # At the end, rows that waited for their labels are learned: a run that went on would do so again.
                ended = self.delay > 0 and kept.n_seen == run.rows
                if checkpoint is not None and not ended:
                    kept.save(checkpoint, run=run.state(), asked=asked, encoding=self.file.encoding)

            run = Run(
                OwnModel(model),
                source,
                metrics=chosen_metrics(self.metrics, model.task),
                delay=self.delay,
                every=every if checkpoint is not None else None,
                on_mark=keep,
            )
            if state is not None:
                run.restore(state)
                say(self.console, f"resumed after {run.rows:,} rows from {checkpoint}")
            on_block = line.learning(source)
            line.traces = [run.trace]
            try:
                follow([run], source, on_block=on_block)
            finally:
                if interrupts.seen and run.rows > 0:
                    keep(run)
            keep(run)
        self.save(model, save)
        self.finish(line.trace, interrupts.seen, save, outputs)

    def train_and_test(self, test: str, passes: int, save: Path | None, outputs: Outputs) -> None:
        """Learn from one source and be judged by another."""
        interrupts = Interrupts()
        line = ProgressLine(self.console, self.file, interrupts.check)
        model: Learner | None = None
        self.record |= {"test": test, "passes": passes}
        judged = _TestRows(test, self.file, self.reading)
        with interrupts, line:
            found = self.survey(line)
            model = learner(self.spec, found, seed=self.seed, dtype=self.dtype, threads=self.jobs)
            source = ahead(self.file, self.seed if self.shuffle else None)
            on_block = line.learning(source)
            metrics = chosen_metrics(self.metrics, model.task)
            holdout(model, source, judged, metrics=metrics, passes=passes, on_block=on_block)
        self.save(model, save)
        self.finish(line.trace, interrupts.seen, save, outputs)

    def repeat(self, runs: int | None, orders: Path | None, outputs: Outputs) -> None:
        """Many row orders; a table with mean and standard deviation."""
        interrupts = Interrupts()
        line = ProgressLine(self.console, self.file, interrupts.check)
        traces: list[Trace] = []
        with interrupts, line:
            found = self.survey(line)
            metrics = chosen_metrics(self.metrics, found.task)
            one = Repetition(self.spec, self.file, found, self.dtype, metrics, self.delay)
            given: list[Any] = list(range(self.seed, self.seed + (runs or 0)))
            if orders is not None:
                given = row_orders(str(orders))[:runs]
            show = line.learning(self.file)

            def finished(trace: Trace) -> None:
                traces.append(trace)
                show(trace)

            repeated([one], given, jobs=self.jobs, on_run=finished)
        if not traces:
            say(self.console, "interrupted before the first run was done")
            raise typer.Exit(o.INTERRUPTED)
        outputs.console.print(traces_table(traces))
        say(self.console, *self.file.notices)
        summary = {name: {"mean": mean, "sd": sd} for name, (mean, sd) in summarized(traces).items()}
        record = self.record | {"interrupted": interrupts.seen, "summary": summary}
        record["runs"] = [trace.to_json() for trace in traces]
        self.write(traces, record, outputs)
        if interrupts.seen:
            raise typer.Exit(o.INTERRUPTED)

    def save(self, model: Learner | None, path: Path | None) -> None:
        if path is not None and model is not None and model.n_seen > 0:
            model.save(path, encoding=self.file.encoding)

    def finish(self, trace: Trace | None, interrupted: bool, save: Path | None, outputs: Outputs) -> None:
        """The table, the files, the exit code."""
        if trace is None or trace.last.rows == 0:
            say(self.console, "interrupted before the first block was learned")
            raise typer.Exit(o.INTERRUPTED)
        notes = {"scale": self.scale}
        if "test" in self.record:
            notes["judged by"] = self.record["test"] if trace.last.metrics else "nothing yet"
        if self.delay > 0:
            notes["delay"] = f"{words.count(self.delay)} rows"
        if "looking_ahead_seconds" in self.record:
            notes["looking ahead"] = words.seconds(self.record["looking_ahead_seconds"])
        if self.file.skipped > 0:
            notes["rows skipped"] = words.count(self.file.skipped)
        if save is not None:
            notes["model"] = str(save)
        outputs.console.print(run_table(trace, notes, interrupted=interrupted))
        say(self.console, *self.file.notices)
        record = self.record | {"interrupted": interrupted, "skipped": self.file.skipped}
        self.write([trace], record | trace.to_json(), outputs)
        if interrupted:
            raise typer.Exit(o.INTERRUPTED)

    def write(self, traces: list[Trace], record: dict[str, Any], outputs: Outputs) -> None:
        mixed = self.shuffle or len(traces) > 1
        facts = {"data": self.data, "scale": self.scale, "rows": "shuffled" if mixed else "in their order"}
        facts |= {"delay of labels": f"{self.delay} rows"} if self.delay else {}
        title, lead = f"{self.spec.name} on {self.file.name}", PREQUENTIAL
        if "test" in self.record:
            lead = f"Learned from {self.data}, judged by {self.record['test']}."
        outputs.write(traces, record, title=title, facts=facts, notes=self.file.notices, lead=lead)


class _TestRows(Source):
    """The rows to be judged by, with the categories that training has met when they are read."""

    def __init__(self, data: str, trained_on: Source, reading: dict[str, Any]):
        self.data, self.trained_on, self.reading = data, trained_on, reading
        self.name = opened(data, reading).name  # which refuses now what cannot be opened

    def __iter__(self) -> Iterator[LabelledBlock]:
        return iter(ahead(opened(self.data, self.reading | {"encoding": self.trained_on.encoding}), None))

    def progress(self) -> float | None:
        return None


def _resumed(path: Path, asked: dict[str, Any]) -> tuple[Learner, dict[str, Any]]:
    """The learner and the state of the run in a checkpoint, which must be of the same run."""
    model, header = Learner.load_with_header(path)
    if "run" not in header or "asked" not in header:
        raise ValueError(f"{path} is a model, but not a checkpoint of a run; begin without --resume.")
    for name, value in asked.items():
        if header["asked"].get(name) != value:
            before = header["asked"].get(name)
            raise ValueError(f"{path} was begun with {name} {before!r}, not {value!r}; resume it with that.")
    return model, header["run"]
