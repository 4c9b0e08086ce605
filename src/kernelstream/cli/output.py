"""What came of a request, and what is shown and written of it: table, JSON, CSV, Markdown, the page."""

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

from .. import __version__
from ..engine import disk
from ..evaluate.experiments import summarized
from ..evaluate.trace import Trace
from ..metrics import METRICS
from ..report import words
from ..report.crew import crew_notes
from ..report.drifts import summary
from ..report.inside import Inside, in_words
from ..report.machine import machine
from ..report.tables import csv_table, markdown_table, run_table, traces_table
from ..sources.servers import shown
from ..sources.survey import Survey
from . import options as o
from .hints import doubtful
from .looking import echo, say
from .places import is_stdout
from .request import Request

if TYPE_CHECKING:
    from ..distributed.coordinator import Result


_MOST_CLASSES = 5  # that came later and are shown


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a request.

    found: None when it was interrupted before it was known. looking_ahead_seconds: None when a run was resumed.
    test, passes: the rows it was judged by instead of its own, after how many passes.
    saved: where the model is. insides: what is in the models, by their names. crew: what several workers did.
    naive: what is reached without looking at a row, where a page shows it.
    """

    source: str
    traces: Sequence[Trace]
    interrupted: bool
    found: Survey | None
    looking_ahead_seconds: float | None
    skipped: int
    notices: tuple[str, ...]
    test: str | None = None
    passes: int = 1
    saved: Path | None = None
    insides: dict[str, Inside] = field(default_factory=dict)
    crew: "Result | None" = None
    naive: Sequence[Trace] = ()

    @property
    def learners(self) -> list[str]:
        return list(dict.fromkeys(trace.algorithm for trace in self.traces))


def finish(request: Request, outcome: Outcome) -> None:
    """Show and write what was asked for, and end the command with its exit code."""
    console = Console(stderr=True)
    if not any(trace.last.rows for trace in outcome.traces):
        say(console, f"interrupted before the first {'run was done' if request.repeated else 'block was learned'}")
        raise typer.Exit(o.INTERRUPTED)
    Console(stderr=request.to_stdout).print(_table(request, outcome))
    say(console, *(f"stopped: {trace.stopped}" for trace in outcome.traces if trace.stopped))
    if not request.alone:
        say(console, *(f"classes: {_classes(trace)}" for trace in outcome.traces[:1] if trace.newcomers))
    say(console, *outcome.notices)
    if request.json_file is not None:
        _write(request.json_file, json.dumps(_record(request, outcome), indent=2, allow_nan=False) + "\n")
    if request.csv_file is not None:
        _write(request.csv_file, csv_table(outcome.traces))
    if request.markdown_file is not None:
        _write(request.markdown_file, markdown_table(outcome.traces))
    if request.report is not None:
        _write_page(request.report, request, outcome)
    if outcome.interrupted:
        raise typer.Exit(o.INTERRUPTED)


def _table(request: Request, outcome: Outcome) -> Table:
    if not request.alone:
        return traces_table(outcome.traces)
    trace = outcome.traces[0]
    notes = {"scale": request.scale}
    if outcome.found is not None and doubtful(outcome.found):
        notes["task"] = f"{trace.task}, for {outcome.found.reason.rstrip(',')}; --task multiclass if they are classes"
    if trace.newcomers:
        notes["classes"] = _classes(trace)
    if outcome.test is not None:
        notes["judged by"] = outcome.test if trace.last.metrics else "nothing yet"
    if request.delay > 0:
        notes["delay"] = f"{words.count(request.delay)} rows"
    if request.rule is not None:
        notes["labels asked for"] = f"by {request.ask}"
    if request.drift:
        notes["drift"] = "\n".join(summary(trace.drifts))
    if outcome.looking_ahead_seconds is not None:
        notes["looking ahead"] = words.seconds(outcome.looking_ahead_seconds)
    if outcome.skipped > 0:
        notes["rows skipped"] = words.count(outcome.skipped)
    shown = outcome.insides.get(trace.algorithm)
    if shown is not None and shown.features:
        notes["features that matter"] = in_words(shown.features)
    if shown is not None and len(shown.moments):
        last = zip(shown.parts, shown.moments[-1, 1:], strict=True)
        notes["weights"] = ", ".join(f"{part} {weight:.3g}" for part, weight in last)
    if outcome.crew is not None:
        notes |= crew_notes(outcome.crew.workers, outcome.crew.synchronisations)
    if outcome.saved is not None:
        notes["model"] = str(outcome.saved)
    return run_table(trace, notes, interrupted=outcome.interrupted)


def _classes(trace: Trace) -> str:
    """How many there are, and where those came that nobody had announced."""
    came = [
        f"{newcomer.label!r} came at row {words.count(newcomer.row)}" for newcomer in trace.newcomers[:_MOST_CLASSES]
    ]
    rest = len(trace.newcomers) - len(came)
    ended = [name for name in trace.last.metrics if name in METRICS and trace.task not in METRICS[name].tasks]
    return ", ".join(
        [
            words.count(len(trace.classes)),
            *came,
            *([f"{words.count(rest)} more later"] if rest else []),
            *(f"where {words.metric_name(name)} ended, which is of two" for name in ended),
        ]
    )


def _record(request: Request, outcome: Outcome) -> dict[str, Any]:
    """The JSON value."""
    written: dict[str, Any] = {"version": __version__, "data": shown(request.data), "scale": request.scale}
    written |= {"shuffle": request.shuffle, "dtype": request.dtype, "delay": request.delay}
    written |= {"ask": request.ask} if request.ask else {}
    written |= {"drift": request.drift, "on_drift": request.on_drift} if request.drift else {}
    if outcome.looking_ahead_seconds is not None:
        written["looking_ahead_seconds"] = outcome.looking_ahead_seconds
    if outcome.found is not None:
        written["survey"] = outcome.found.to_json() | {"all_rows_for": request.all_rows_for}
    if outcome.test is not None:
        written |= {"test": outcome.test, "passes": outcome.passes}
    if outcome.crew is not None:
        written["workers"] = [vars(one) | {"rows_per_second": one.rows_per_second} for one in outcome.crew.workers]
        written["synchronisations"] = [one._asdict() for one in outcome.crew.synchronisations]
    written["interrupted"] = outcome.interrupted
    if request.alone:
        return written | {"skipped": outcome.skipped} | outcome.traces[0].to_json()
    if request.repeated and len(outcome.learners) == 1:
        written["summary"] = {name: {"mean": mean, "sd": sd} for name, (mean, sd) in summarized(outcome.traces).items()}
    return written | {"runs": [trace.to_json() for trace in outcome.traces]}


def _write_page(path: Path, request: Request, outcome: Outcome) -> None:
    from ..report.page import write_page

    names = outcome.learners
    facts = {"data": shown(request.data), "scale": request.scale}
    facts["rows"] = "shuffled" if request.shuffle or request.repeated else "in their order"
    facts |= {"rows": "as workers took them"} if outcome.crew is not None else {}
    facts |= {"delay of labels": f"{request.delay} rows"} if request.delay else {}
    facts |= {"labels asked for": f"by {request.ask}"} if request.ask else {}
    facts |= {"drift": f"{', '.join(request.drift)}; then {request.on_drift}"} if request.drift else {}
    if outcome.crew is not None:
        facts |= crew_notes(outcome.crew.workers, outcome.crew.synchronisations)
    facts["made with"] = f"kernelstream {__version__}, Python {platform.python_version()}"
    facts["machine"] = machine()
    lead = "Every row was predicted before it was learned from."
    if outcome.test is not None:
        lead = f"Learned from {request.data}, judged by {outcome.test}."
    title = f"{names[0] if len(names) == 1 else f'{len(names)} learners'} on {outcome.source}"
    write_page(
        path,
        outcome.traces,
        title=title,
        lead=lead,
        facts=facts,
        notes=outcome.notices,
        insides=outcome.insides,
        naive=outcome.naive,
    )


def _write(place: str, text: str) -> None:
    if is_stdout(place):
        echo(text)
    else:
        disk.write_text(place, text)
