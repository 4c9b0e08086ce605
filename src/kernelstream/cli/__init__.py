"""The command line: one file a command, and what they share: requests, jobs, outcomes."""

from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from .. import __version__
from .values import Command, Group


class _Named(NamedTuple):
    """A command before it is asked for: its file, and what the list of commands says of it."""

    file: str
    sentence: str


# Their files import what learns, which takes five times as long as all else that a list or a completion needs.
_NAMED = {
    "run": _Named("run", "Stream data through one learner: predict, score, learn."),
    "compare": _Named("compare", "Run several learners over one reading of the data."),
    "tune": _Named("tuning", "Search good parameters on a part of the data."),
    "predict": _Named("predict", "Write a saved model's predictions, learning nothing."),
    "inspect": _Named("inspecting", "Show what is in a saved model, and draw it."),
    "export": _Named("exporting", "Write a saved model as a graph of ONNX, which predicts without kernelstream."),
    "serve": _Named("serving", "Serve models that keep learning: HTTP, a page to look at, metrics."),
    "convert": _Named("data", "Write data in another format."),
    "datasets": _Named("data", "List the papers' data sets, and which are at hand; add one that you have."),
    "reproduce": _Named(
        "reproduce", "Run the papers' experiments and show each published number beside ours, with a verdict."
    ),
    "algorithms": _Named("showing", "List the algorithms by what they are for."),
    "demo": _Named("showing", "Run eight learners on three small real data sets."),
    "warm": _Named("warming", "Compile learners for this very processor, once for all later runs."),
    "token": _Named("serving", "Make, list and revoke the tokens of a service."),
}


class _Commands(Group):
    """The commands, by their names until one is asked for."""

    def __init__(self, **attributes: Any):
        super().__init__(**attributes)
        self.commands = {name: Command(name, help=one.sentence) for name, one in _NAMED.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that arguments ask for, whose file is imported, and what is left of them."""
        if args[0] in _NAMED:
            self.commands[args[0]] = command(args[0])
        return super().resolve_command(ctx, args)


def command(name: str) -> Any:
    """A command, with its options."""
    holder = typer.Typer(rich_markup_mode=None)
    found = getattr(import_module(f".{_NAMED[name].file}", __name__), name)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name)
    else:
        holder.command(cls=Command)(found)
    return typer.main.get_group(holder).commands[name]


def import_for(arguments: list[str]) -> None:
    """Import the file of the command that arguments ask for, if they name one."""
    if arguments and arguments[0] in _NAMED:
        import_module(f".{_NAMED[arguments[0]].file}", __name__)


app = typer.Typer(
    name="kernelstream",
    cls=_Commands,
    help="Nonlinear models learned from streams with kernels: one example at a time, in bounded memory.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


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
