"""``kernelstream convert`` and ``kernelstream datasets``."""

import contextlib
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
from .values import Command, Group


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


datasets = typer.Typer(cls=Group, invoke_without_command=True, rich_markup_mode=None)


@datasets.callback()
def list_datasets(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the papers' data sets, and which are at hand; add one that you have.

    KERNELSTREAM_DATA names a directory that has them; the others are fetched when they are first used.
    """
    from ..report.tables import datasets_table
    from ..sources.datasets import at_hand

    if context.invoked_subcommand is not None:
        return
    rows = at_hand()
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        Console().print(datasets_table(rows))


@dataclass(frozen=True, kw_only=True)
class AddRequest(o.Reading):
    file: Annotated[Path, typer.Argument(help="The file that you have, in any format."), o.READ]
    name: Annotated[
        str, typer.Option("--as", metavar="NAME[/SPLIT]", help="The data set that it is; its rows tell the split.")
    ]
    labels: Annotated[
        str | None,
        typer.Option(metavar="LABEL=NUMBER,...", help="Numbers of its labels, where they are not the papers'."),
    ] = None


@datasets.command("add", cls=Command)
@o.takes(AddRequest)
def add_dataset(request: AddRequest) -> None:
    """Check a file of yours against what is known of a data set, and put it where it is looked for.

    Its shape and its labels must be those of the papers; where their rows are known by a checksum, its rows too. It is
    converted into the directory that KERNELSTREAM_DATA names, or into the cache.
    """
    from ..sources.adding import add, open_copy

    chosen = {name: value for name, value in request.reading.items() if name in request.given}
    if "label" in chosen:
        with contextlib.suppress(ValueError):
            chosen["label"] = int(chosen["label"])
    source = open_copy(request.file, request.name, **chosen)
    console, interrupts = Console(stderr=True), Interrupts()
    line = ProgressLine(console, source, interrupts.check)
    with interrupts, line:
        added = add(source, request.name, labels=_codes(request.labels), on_block=line.looked_ahead)
    if interrupts.seen:
        say(console, f"interrupted; {request.name} was not added")
        raise typer.Exit(o.INTERRUPTED)
    checked = (
        "its rows are those that the tables here were made with"
        if added.known
        else "shape and labels are right; no checksum of its rows is known, so that nothing says they are the papers'"
    )
    say(console, f"wrote {words.count(added.rows)} rows to {added.path} as {added.name}", checked)
    say(console, f"SHA-256 of the rows: {added.digest}")


def _codes(text: str | None) -> dict[str, float] | None:
    """``g=1,h=-1`` as what each label stands for."""
    if text is None:
        return None
    try:
        return {label: float(number) for label, number in (pair.rsplit("=", 1) for pair in text.split(","))}
    except ValueError:
        raise ValueError(f"labels={text!r} cannot be read; write LABEL=NUMBER,LABEL=NUMBER, as in g=1,h=-1") from None
