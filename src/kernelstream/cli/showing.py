"""``kernelstream algorithms`` and ``kernelstream demo``."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..algorithms import ALGORITHMS, PURPOSES
from ..evaluate.settings import described
from ..report.tables import algorithms_table
from .places import check_directory


def algorithms(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the algorithms by what they are for.

    Their papers, tasks, losses, whether memory is bounded, and their parameters with the defaults.
    """
    grouped = list(dict.fromkeys([*(name for names in PURPOSES.values() for name in names), *ALGORITHMS]))
    rows = [described(name) for name in grouped]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        Console().print(algorithms_table(rows))


def demo(
    output: Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and curve.png go.")] = Path(),
) -> None:
    """Run eight learners on three small real data sets.

    Writes report.html and curve.png.
    """
    from .demo import run_demo

    check_directory("--output", output)
    run_demo(output, Console())
