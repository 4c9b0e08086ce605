"""The line that shows how far a run is, in a terminal only."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ..evaluate import Trace
from ..sources import Source
from . import words


class ProgressLine:
    """Used as a context; shows nothing when the console is not a terminal. `trace` is the run so far.

    `check` is called after each block.
    """

    def __init__(self, console: Console, source: Source, check: Callable[[], None]):
        self._check = check
        self._source = source
        self.trace: Trace | None = None
        self._shown = console.is_terminal
        columns = (TextColumn("{task.description}"), BarColumn(24), TimeRemainingColumn(compact=True))
        self._progress = Progress(*columns, console=console, transient=True, disable=not self._shown)
        self._line = self._progress.add_task("reading", total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._progress.stop()

    def looked_ahead(self, rows: int) -> None:
        self._show(f"looking ahead: {words.count(rows)} rows", self._source)

    def learning(self, source: Source) -> Callable[[Trace], None]:
        """What `prequential` calls after each block of this source."""
        self._progress.reset(self._line, total=None, description="compiling")

        def learned(trace: Trace) -> None:
            self.trace = trace
            last = trace.last
            value = words.metric_value(trace.headline, last.metrics[trace.headline])
            parts = (
                f"{words.count(last.rows)} rows",
                f"{words.count(trace.rows_per_second)} rows/s",
                f"{words.metric_name(trace.headline)} {value}",
                f"size {words.count(last.size)}",
            )
            self._show("  ".join(parts), source)

        return learned

    def _show(self, text: str, source: Source) -> None:
        self._check()
        if self._shown:
            fraction = source.progress()
            total = None if fraction is None else 1.0
            self._progress.update(self._line, description=text, completed=fraction or 0.0, total=total)
