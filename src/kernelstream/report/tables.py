"""Tables: for a terminal of 80 columns, for Markdown, and as CSV with every digit."""

import csv
import io
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from ..evaluate.trace import Trace
from ..extras import needing
from . import words
from .runs import Run, by_source, metric_names

with needing("rich"):
    from rich import box
    from rich.console import Group
from rich.table import Table

_RESULT_WIDTH = 28
_GLUE = "\N{NO-BREAK SPACE}"


def run_table(trace: Trace, notes: dict[str, str], *, interrupted: bool = False) -> Table:
    """All that is to be known of one run; `notes` are further lines above the parameters."""
    last = trace.last
    title = words.shown(f"{trace.algorithm} on {trace.source}") + (" (interrupted)" if interrupted else "")
    table = Table(box=box.SIMPLE_HEAD, show_header=False, title=title, title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    beside = {"reading": last.reading_seconds, "compiling": trace.compiling_seconds}  # 0 where nobody measures it
    lines = {
        "task": trace.task,
        "rows": words.count(last.rows),
        **{words.metric_name(name): words.metric_value(name, value) for name, value in last.metrics.items()},
        "learning": f"{words.seconds(last.seconds)}, {words.count(trace.rows_per_second)} rows/s",
        **{name: words.seconds(value) for name, value in beside.items() if value > 0.0},
        "size": f"{words.known(last.size)} ({words.size_in_bytes(last.bytes)})" if last.size else words.DASH,
        "seed": str(trace.seed),
        **notes,
        "parameters": "\n".join(words.settings(trace.parameters)),
    }
    for name, value in lines.items():
        table.add_row(name, words.shown(value))
    return table


def traces_table(traces: Iterable[Trace], waiting: str = "") -> Table:
    """One line a learner, grouped by data set, the best first; runs without rows come last, shown as `waiting`."""
    traces = list(traces)
    groups = by_source(traces)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("data set", overflow="fold")
    table.add_column("learner", overflow="fold", min_width=6)
    table.add_column("result", no_wrap=True)
    for name in ("rows", "rows/s", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    for source in dict.fromkeys(trace.source for trace in traces):
        lines = [(run.label, *_cells(run)) for run in groups.get(source, [])]
        lines += [(t.algorithm, waiting) for t in traces if t.source == source and t.last.rows == 0]
        for position, line in enumerate(lines):
            table.add_row("" if position else words.shown(source), *map(words.shown, line))
        table.add_section()
    return table


def _cells(run: Run) -> tuple[str, ...]:
    metrics = [
        f"{words.metric_name(name)} {words.metric_value(name, *run.metric(name))}".replace(" ", _GLUE)
        for name in metric_names(run.repeats)
    ]
    # A metric and its value are never parted at the end of a line.
    lines = [line.replace(_GLUE, " ") for line in textwrap.wrap(", ".join(metrics), _RESULT_WIDTH)]
    return ("\n".join(lines), *_costs(run)[:2], words.known(run.over(lambda trace: trace.last.size).mean))


def _costs(run: Run) -> tuple[str, str, str]:
    """Rows, rows a second, learning time."""
    return (
        words.count(run.over(lambda trace: trace.last.rows).mean),
        words.count(run.over(lambda trace: trace.rows_per_second).mean),
        words.seconds(run.over(lambda trace: trace.last.seconds).mean),
    )


def markdown_table(traces: Sequence[Trace]) -> str:
    """One line a learner, grouped by data set, the best first; a column for every metric."""
    groups = by_source(traces)
    names = metric_names(traces)
    head = ["data set", "learner", *map(words.metric_name, names), "rows", "rows/s", "learning", "size", "memory"]
    lines = [head, ["---", "---", *["---:"] * (len(head) - 2)]]
    for source, group in groups.items():
        for run in group:
            values = [words.metric_value(name, *run.metric(name)) for name in names]
            size = words.known(run.over(lambda trace: trace.last.size).mean)
            memory = words.size_in_bytes(run.over(lambda trace: trace.last.bytes).mean)
            lines.append([_cell(source), _cell(run.label), *values, *_costs(run), size, memory])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    """A name as Markdown shows it unchanged in a cell."""
    for mark in "\\`*_<|[":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def csv_table(traces: Sequence[Trace]) -> str:
    """One line a run, in full precision; a metric that a run does not have is empty."""
    names = metric_names(traces)
    head = ["source", "algorithm", "task", "seed", "rows", *names, "seconds", "reading_seconds", "compiling_seconds"]
    head += ["rows_per_second", "size", "bytes", "parameters"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    for trace in traces:
        last = trace.last
        line: list[Any] = [trace.source, trace.algorithm, trace.task, trace.seed, last.rows]
        line += (last.metrics.get(name, "") for name in names)
        line += [last.seconds, last.reading_seconds, trace.compiling_seconds, trace.rows_per_second]
        parameters = " ".join(f"{name}={value}" for name, value in trace.parameters.items())
        writer.writerow([*line, last.size, last.bytes, parameters])
    return text.getvalue()


def algorithms_table(algorithms: Iterable[dict[str, Any]]) -> Group:
    """What `settings.described` says of each algorithm, by what they are for; fits into 80 columns."""
    tables: dict[str, Table] = {}
    for one in algorithms:
        purpose = one["purpose"]
        if purpose not in tables:
            table = tables[purpose] = Table(box=box.SIMPLE_HEAD, show_lines=True, title=purpose, title_justify="left")
            table.add_column("algorithm", min_width=17, max_width=17)
            for name, width in (("tasks", 10), ("losses", 19), ("parameters", 0)):
                table.add_column(name, no_wrap=True, min_width=width)
        losses = dict.fromkeys(loss for names in one["losses"].values() for loss in names)
        tables[purpose].add_row(
            f"[bold]{one['name']}[/bold]\n{words.shown(one['paper'])}\n{'bounded' if one['bounded'] else 'grows'}",
            "\n".join(one["tasks"]),
            "\n".join(losses),
            "\n".join(words.settings(one["parameters"])),
        )
    return Group(*tables.values())


def facts_table(title: str, facts: dict[str, str]) -> Table:
    """Names and what is known of them."""
    table = Table(box=box.SIMPLE_HEAD, show_header=False, title=words.shown(title), title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(words.shown(name), words.shown(value))
    return table


def datasets_table(data_sets: Iterable[dict[str, Any]]) -> Table:
    """What `datasets.at_hand` says."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("data set", no_wrap=True)
    table.add_column("task")
    for name in ("rows", "features", "classes"):
        table.add_column(name, justify="right")
    table.add_column("at hand")
    for one in data_sets:
        numbers = ("" if one[name] is None else words.count(one[name]) for name in ("rows", "features", "classes"))
        table.add_row(words.shown(f"{one['name']}/{one['split']}"), one["task"], *numbers, one["where"])
    return table
