"""``kernelstream convert`` and ``kernelstream datasets``."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..evaluate.interrupts import Interrupts
from ..report import words
from ..report.live import ProgressLine
from ..sources import ReadAhead
from . import options as o
from .looking import say


@dataclass(frozen=True, kw_only=True)
class ConvertRequest(o.Reading):
    data: o.Data
    out: Annotated[
        Path, typer.Argument(help="The file to write; its suffix says the format and the compression."), o.WRITTEN
    ]


@o.takes(ConvertRequest)
def convert(request: ConvertRequest) -> None:
    """Write data in another format.

    LIBSVM, CSV, JSON lines, ARFF, Parquet, Arrow, NPZ or NPY; block by block, and the file appears when it is complete.
    """
    from ..sources.writers import convert as written

    file = request.opened(request.data)
    console, interrupts = Console(stderr=True), Interrupts()
    line = ProgressLine(console, file, interrupts.check)
    rows = 0
    with interrupts, line:
        rows = written(ReadAhead(file), request.out, on_block=line.looked_ahead)
    if interrupts.seen:
        say(console, f"interrupted; {request.out} was not written")
        raise typer.Exit(o.INTERRUPTED)
    say(console, f"wrote {words.count(rows)} rows to {request.out}", *file.notices)


def datasets(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the papers' data sets, and which are at hand.

    KERNELSTREAM_DATA names a directory that has them; the others are fetched when they are first used.
    """
    from ..report.tables import datasets_table
    from ..sources.datasets import at_hand

    rows = at_hand()
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        Console().print(datasets_table(rows))
