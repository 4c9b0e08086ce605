"""``kernelstream compare``: several learners over the same stream, which is read once."""

import time
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import __version__
from ..evaluate.experiments import Repetition, repeated
from ..evaluate.interrupts import Interrupts
from ..evaluate.run import Trace, side_by_side
from ..evaluate.settings import spec_from
from ..report.live import ProgressLine
from ..report.tables import traces_table
from . import options as o
from .opening import (
    ahead,
    algorithm_names,
    chosen_metrics,
    contestants,
    opened,
    refuse_a_second_pass,
    say,
    shared_settings,
    surveyed,
)
from .output import Outputs


@o.reads_a_source
def compare(
    data: o.Data,
    algorithms: Annotated[
        str,
        typer.Option(
            metavar="A,B,...|all",
            help="Names of `kernelstream algorithms`, or other libraries' classes: sklearn.linear_model.SGDClassifier.",
        ),
    ] = "fogd,nogd,rbp,bogd++,avm,bpa-s",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="[NAME:]PARAMETER=VALUE",
            help="For every algorithm that has the parameter, or for the one named; repeatable.",
        ),
    ] = None,
    task: o.TaskName = o.DEFAULT_TASK,
    seed: o.Seed = 0,
    shuffle: o.Shuffle = False,
    scale: o.Scale = o.DEFAULT_SCALE,
    dtype: o.Dtype = o.DEFAULT_DTYPE,
    metrics: o.MetricNames = None,
    delay: o.Delay = 0,
    runs: Annotated[int | None, typer.Option(min=1, help="Repeat over so many random orders, on all cores.")] = None,
    jobs: o.Jobs = None,
    json_file: o.JsonFile = None,
    csv_file: o.CsvFile = None,
    markdown_file: o.MarkdownFile = None,
    report: o.ReportFile = None,
    **reading: Any,
) -> None:
    """Run several learners over one reading of the data.

    The table has the best first. Estimators of scikit-learn that have partial_fit and models of River, with their
    defaults, are taken too; they learn row by row.
    """
    with o.errors_in_one_line():
        outputs = Outputs(json_file, csv_file, markdown_file, report)
        outputs.check()
        file = opened(data, reading)
        console, interrupts = Console(stderr=True), Interrupts()
        line = ProgressLine(console, file, interrupts.check)
        record: dict[str, Any] = {"version": __version__, "data": data, "scale": scale, "shuffle": shuffle}
        record |= {"dtype": dtype, "delay": delay}
        traces: list[Trace] = []
        with interrupts, line:
            start = time.perf_counter()
            found = surveyed(file, console, task=task, scale=scale, on_block=line.looked_ahead)
            record["looking_ahead_seconds"] = time.perf_counter() - start
            names = algorithm_names(algorithms, found.task.name)
            judged = chosen_metrics(metrics, found.task)
            if runs is None:
                models = contestants(names, settings or (), found, seed=seed, dtype=dtype, threads=jobs)
                source = ahead(file, seed if shuffle else None)
                show = line.learning(source)

                def shown(now: list[Trace]) -> None:
                    traces[:] = now
                    show(now)

                side_by_side(models, source, metrics=judged, delay=delay, on_block=shown)
            else:
                _refuse_others(names)
                refuse_a_second_pass(file, "--runs")
                shares = shared_settings(names, settings or ())
                each = [Repetition(spec_from(name, shares[name]), file, found, dtype, judged, delay) for name in names]
                show = line.learning(file)

                def finished(trace: Trace) -> None:
                    traces.append(trace)
                    show(trace)

                repeated(each, range(seed, seed + runs), jobs=jobs, on_run=finished)
        if not traces:
            say(console, "interrupted before the first block was learned")
            raise typer.Exit(o.INTERRUPTED)
        notices = file.notices
        outputs.console.print(traces_table(traces))
        say(console, *(f"stopped: {trace.stopped}" for trace in traces if trace.stopped))
        say(console, *notices)
        record |= {"interrupted": interrupts.seen, "runs": [trace.to_json() for trace in traces]}
        facts = {"data": data, "scale": scale, "rows": "shuffled" if shuffle or runs else "in their order"}
        facts |= {"delay of labels": f"{delay} rows"} if delay else {}
        outputs.write(traces, record, title=f"{len(names)} learners on {file.name}", facts=facts, notes=notices)
        if interrupts.seen:
            raise typer.Exit(o.INTERRUPTED)


def _refuse_others(names: list[str]) -> None:
    others = [name for name in names if "." in name]
    if others:
        raise ValueError(f"--runs repeats our own algorithms only, and {others[0]} is none; leave one of them out.")
