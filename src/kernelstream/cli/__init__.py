"""The command line: one file a command, and what they share: requests, jobs, outcomes."""

from importlib import import_module
from typing import Annotated, Any

import typer

from .. import __version__
from .values import Command, Group

# The file of each command, which is imported when it is asked for.
_FILES = {
    "run": "run",
    "compare": "compare",
    "tune": "tuning",
    "predict": "predict",
    "inspect": "inspecting",
    "export": "exporting",
    "serve": "serving",
    "convert": "data",
    "datasets": "data",
    "reproduce": "reproduce",
    "algorithms": "showing",
    "demo": "showing",
    "warm": "warming",
    "token": "serving",
}


def app_for(arguments: list[str]) -> typer.Typer:
    """The command that arguments ask for; where they name none, all."""
    asked = arguments[0] if arguments else ""
    made = typer.Typer(
        name="kernelstream",
        cls=Group,
        help="Nonlinear models learned from streams with kernels: one example at a time, in bounded memory.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    made.callback()(_options)
    for name in [asked] if asked in _FILES else [] if asked == "--version" else _FILES:
        command = getattr(import_module(f".{_FILES[name]}", __name__), name)
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command(cls=Command)(command)
    return made


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = made = app_for([])
    return made


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"kernelstream {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
