"""Tables in a terminal: one run, several runs side by side, the algorithms that exist."""

from collections.abc import Iterable
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from ..evaluate import Trace
from . import words


def run_table(trace: Trace, notes: dict[str, str], *, interrupted: bool = False) -> Table:
    """All that is to be known of one run; `notes` are further lines above the parameters."""
    last = trace.last
    title = escape(f"{trace.algorithm} on {trace.source}") + (" (interrupted)" if interrupted else "")
    table = Table(box=box.SIMPLE_HEAD, show_header=False, title=title, title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    lines = {
        "task": trace.task,
        "rows": words.count(last.rows),
        **{words.metric_name(name): words.metric_value(name, value) for name, value in last.metrics.items()},
        "learning": f"{words.seconds(last.seconds)}, {words.count(trace.rows_per_second)} rows/s",
        "reading": words.seconds(last.reading_seconds),
        "compiling": words.seconds(trace.compiling_seconds),
        "size": f"{words.count(last.size)} ({words.size_in_bytes(last.bytes)})",
        "seed": str(trace.seed),
        **notes,
        "parameters": "\n".join(words.settings(trace.parameters)),
    }
    for name, value in lines.items():
        table.add_row(name, escape(value))
    return table


def traces_table(traces: Iterable[Trace], waiting: str = "") -> Table:
    """One line a run, grouped by data set. A run without rows is shown as `waiting`."""
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("data set", "learner", "result"):
        table.add_column(name, no_wrap=True)
    for name in ("rows", "rows/s", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    before = ""
    for trace in traces:
        if before and trace.source != before:
            table.add_section()
        table.add_row("" if trace.source == before else escape(trace.source), trace.algorithm, *_cells(trace, waiting))
        before = trace.source
    return table


def _cells(trace: Trace, waiting: str) -> tuple[str, ...]:
    last = trace.last
    if last.rows == 0:
        return (waiting,)
    return (
        f"{words.metric_name(trace.headline)} {words.metric_value(trace.headline, last.metrics[trace.headline])}",
        words.count(last.rows),
        words.count(trace.rows_per_second),
        words.count(last.size),
    )


def algorithms_table(algorithms: Iterable[dict[str, Any]]) -> Table:
    """What `settings.described` says of each algorithm; fits into 80 columns."""
    table = Table(box=box.SIMPLE_HEAD, show_lines=True)
    table.add_column("algorithm", min_width=17, max_width=17)
    for name in ("tasks", "losses", "parameters"):
        table.add_column(name, no_wrap=True)
    for one in algorithms:
        losses = dict.fromkeys(loss for names in one["losses"].values() for loss in names)
        table.add_row(
            f"[bold]{one['name']}[/bold]\n{escape(one['paper'])}\n{'bounded' if one['bounded'] else 'grows'}",
            "\n".join(one["tasks"]),
            "\n".join(losses),
            "\n".join(words.settings(one["parameters"])),
        )
    return table
