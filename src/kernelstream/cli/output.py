"""What a command writes when it ends: tables, JSON, CSV, Markdown, the page."""

import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.console import Console

from .. import __version__
from ..evaluate.run import Trace
from .options import STDOUT, check_writable

PREQUENTIAL = "Every row was predicted before it was learned from."


class Outputs(NamedTuple):
    """Where results go; STDOUT is allowed for the texts, and then the table goes to stderr."""

    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    report: Path | None = None

    def check(self) -> None:
        check_writable(*self)
        if [self.json, self.csv, self.markdown].count(STDOUT) > 1:
            raise ValueError("only one of --json, --csv and --markdown can go to stdout (-).")

    @property
    def console(self) -> Console:
        """Where the table is printed."""
        return Console(stderr=STDOUT in (self.json, self.csv, self.markdown))

    def write(
        self,
        traces: Sequence[Trace],
        record: dict[str, Any],
        *,
        title: str,
        facts: dict[str, str],
        notes: Sequence[str] = (),
        lead: str = PREQUENTIAL,
    ) -> None:
        """Write what was asked for. `record` is the JSON value; the others are for the page."""
        from ..report.tables import csv_table, markdown_table

        if self.json is not None:
            _write(self.json, json.dumps(record, indent=2, allow_nan=False) + "\n")
        if self.csv is not None:
            _write(self.csv, csv_table(traces))
        if self.markdown is not None:
            _write(self.markdown, markdown_table(traces))
        if self.report is not None and traces:
            from ..report.page import write_page

            facts = {**facts, "made with": _versions()}
            write_page(self.report, traces, title=title, lead=lead, facts=facts, notes=notes)


def _write(place: str, text: str) -> None:
    if place == STDOUT:
        typer.echo(text, nl=False)
    else:
        Path(place).write_text(text, encoding="utf-8")


def _versions() -> str:
    return f"kernelstream {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
