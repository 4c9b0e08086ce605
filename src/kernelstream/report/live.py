"""The lines that show how far runs are, in a terminal only."""

import math
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from ..evaluate.trace import Trace
from ..extras import needing
from ..sources import Source
from . import words
from .crew import crew_lines
from .runs import Run, by_source

with needing("rich"):
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Table

# Of more learners than this, the best are shown and the others counted.
_MOST_LINES = 8


class ProgressLine:
    """Used as a context; shows nothing when the console is not a terminal. `traces` are the runs so far.

    One learner has one line; several have one above that for all, and a line each. `check` is called after each block.
    """

    def __init__(self, console: Console, source: Source, check: Callable[[], None]):
        self._check = check
        self._source = source
        self.traces: list[Trace] = []
        self.crew: Sequence[Any] = ()  # workers (`distributed.Result`), where there are several
        self._shown = console.is_terminal
        self._progress = _Lines(self, console)
        self._line = self._progress.add_task("reading", total=None)

    @property
    def trace(self) -> Trace | None:
        """The run so far, the first when there are several."""
        return self.traces[0] if self.traces else None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._progress.stop()

    def looked_ahead(self, rows: int) -> None:
        self._show(f"looking ahead: {words.count(rows)} rows", self._source)

    def learning(self, source: Source) -> Callable[[Trace | Sequence[Trace]], None]:
        """What is called after each block of this source, with the run or with all runs that go on together."""
        self._progress.reset(self._line, total=None, description="compiling")

        def learned(traces: Trace | Sequence[Trace]) -> None:
            self.traces = [traces] if isinstance(traces, Trace) else list(traces)
            self._show(_summary(self.traces), source)

        return learned

    def _show(self, text: str, source: Source) -> None:
        self._check()
        if self._shown:
            fraction = source.progress()
            total = None if fraction is None else 1.0
            self._progress.update(self._line, description=text, completed=fraction or 0.0, total=total)


class _Lines(Progress):
    """The line with the bar, and below it the learners when there are several."""

    def __init__(self, of: ProgressLine, console: Console):
        self._of = of
        columns = (TextColumn("{task.description}", markup=False), BarColumn(24), TimeRemainingColumn(compact=True))
        super().__init__(*columns, console=console, transient=True, disable=not console.is_terminal)

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        # The drawing thread asks; the list it gets is never changed, only replaced.
        traces = self._of.traces
        if len(traces) > 1:
            yield _learners(traces)
        if self._of.crew:
            yield crew_lines(self._of.crew)


def _summary(traces: Sequence[Trace]) -> str:
    rows = f"{words.count(min((trace.last.rows for trace in traces), default=0))} rows"
    if len(traces) != 1:
        return f"{rows}  {len(traces)} learners"
    trace = traces[0]
    return "  ".join([rows, *_standing(trace)])


def _standing(trace: Trace) -> tuple[str, str, str]:
    value = words.metric_value(trace.headline, trace.last.metrics.get(trace.headline, math.nan))
    return (
        f"{words.count(trace.rows_per_second)} rows/s",
        f"{words.metric_name(trace.headline)} {value}",
        f"size {words.known(trace.last.size)}",
    )


def _learners(traces: Sequence[Trace]) -> Table:
    """A line a learner, the best first; those for which there is no room in one line."""
    runs = [run for group in by_source(traces).values() for run in group]
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="ellipsis", no_wrap=True, max_width=28)
    for _ in range(3):
        table.add_column(justify="right", no_wrap=True)
    for run in runs[:_MOST_LINES]:
        table.add_row(words.shown(run.label), *_means(run))
    rest = runs[_MOST_LINES:]
    if rest:
        name = rest[0].trace.headline
        first, last = (words.metric_value(name, run.headline.mean) for run in (rest[0], rest[-1]))
        table.add_row(f"and {len(rest)} more", "", f"{first} to {last}")
    return table


def _means(run: Run) -> tuple[str, str, str]:
    name = run.trace.headline
    return (
        f"{words.count(run.over(lambda trace: trace.rows_per_second).mean)} rows/s",
        f"{words.metric_name(name)} {words.metric_value(name, *run.headline)}",
        f"size {words.known(run.over(lambda trace: trace.last.size).mean)}",
    )
