"""The command line: one file a command, and what they share: requests, jobs, outcomes."""

from typing import Annotated

import typer

from .. import __version__
from .compare import compare
from .data import convert, datasets
from .exporting import export
from .inspecting import inspect
from .predict import predict
from .reproduce import reproduce
from .run import run
from .serving import serve, token
from .showing import algorithms, demo
from .tuning import tune

app = typer.Typer(
    name="kernelstream",
    help="Nonlinear models learned from streams with kernels: one example at a time, in bounded memory.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (run, compare, tune, predict, inspect, export, serve, convert, reproduce, algorithms, demo):
    app.command()(command)
app.add_typer(datasets, name="datasets")
app.add_typer(token, name="token")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"kernelstream {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
