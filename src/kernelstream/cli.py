"""The command line: ``kernelstream run DATA``, ``kernelstream algorithms``, ``kernelstream demo``."""

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from . import ALGORITHMS, __version__
from .evaluate import Trace, prequential
from .interrupts import Interrupts
from .learner import DTYPES, Learner
from .report.live import ProgressLine
from .report.tables import algorithms_table, run_table
from .settings import described, spec_from
from .sources import Shuffled, open_source
from .sources.base import DEFAULT_BLOCK_ROWS
from .survey import AUTO, SCALES, TASKS, UNSCALED, survey

BAD_INPUT, INTERRUPTED = 2, 130
STDOUT = "-"
_LARGEST_SEED = 2**63 - 1

app = typer.Typer(
    name="kernelstream",
    help="Nonlinear models learned from streams with kernels: one example at a time, in bounded memory.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """The console entry."""
    app()


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


@app.command()
def run(
    data: Annotated[str, typer.Argument(help="A LIBSVM, CSV or NPZ file (text also as .xz .gz .bz2), or digits etc.")],
    algorithm: Annotated[str, typer.Option(help="What learns; `kernelstream algorithms` lists all.")] = "fogd",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter, such as kernel.gamma=0.1; repeatable."),
    ] = None,
    task: Annotated[str, typer.Option(metavar="|".join(TASKS), help="auto looks at the labels.")] = AUTO,
    seed: Annotated[int, typer.Option(min=0, max=_LARGEST_SEED, help="Of every random choice.")] = 0,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Put the rows into a random order first.")] = False,
    scale: Annotated[str, typer.Option(metavar="|".join(SCALES), help="The features; takes a pass ahead.")] = UNSCALED,
    label: Annotated[str, typer.Option(help="The label's column in a CSV file: a name or a position.")] = "-1",
    dtype: Annotated[str, typer.Option(metavar="|".join(DTYPES), help="What the model computes in.")] = DTYPES[0],
    block_rows: Annotated[int, typer.Option(min=1, help="Rows read at a time.")] = DEFAULT_BLOCK_ROWS,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the model.")] = None,
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the result; - is stdout.")
    ] = None,
) -> None:
    """Stream a file through a learner: each row is predicted, scored, then learned from.

    With --task auto, text labels mean classification, and so do whole numbers with at most 20 different values in the
    first 4,096 rows; everything else is regression. Classification takes one pass over all labels first, to know the
    classes.
    """
    with _errors_in_one_line():
        spec = spec_from(algorithm, settings or ())
        file = open_source(data, block_rows=block_rows, label=_column(label))
        _check_writable(save)
        _check_writable(None if json_file in (None, STDOUT) else json_file)
        console = Console(stderr=True)
        record: dict[str, Any] = {"version": __version__, "data": data}
        record |= {"scale": scale, "shuffle": shuffle, "dtype": dtype}
        interrupts = Interrupts()
        line = ProgressLine(console, file, interrupts.check)
        with interrupts, line:
            start = time.perf_counter()
            found = survey(file, task=task, scale=scale, on_block=line.looked_ahead)
            record["looking_ahead_seconds"] = time.perf_counter() - start
            if task == AUTO:
                decided = f"task: {found.task.name} ({found.reason}); --task overrules"
                console.print(decided, highlight=False, markup=False, soft_wrap=True)
            source = Shuffled(file, seed, block_rows=block_rows) if shuffle else file
            on_block = line.learning(source)
            learner = Learner(
                spec, found.task, seed=seed, dtype=dtype, grow_features=found.sparse, scaling=found.scaling
            )
            prequential(learner, source, on_block=on_block)
            if save is not None:
                learner.save(save)
        _show(line.trace, record | {"interrupted": interrupts.seen}, save, json_file)
        if interrupts.seen:
            raise typer.Exit(INTERRUPTED)


@app.command()
def algorithms(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the algorithms: paper, tasks, losses, whether memory is bounded, parameters with their defaults."""
    rows = [described(name) for name in ALGORITHMS]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        Console().print(algorithms_table(rows))


@app.command()
def demo(
    output: Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and curve.png go.")] = Path(),
) -> None:
    """Stream three small real data sets through every learner and write report.html and curve.png."""
    from .demo import run_demo

    with _errors_in_one_line():
        run_demo(output, Console())


def _show(trace: Trace | None, record: dict[str, Any], save: Path | None, json_file: str | None) -> None:
    """The table and the JSON of a run that ended, or was interrupted."""
    console = Console(stderr=json_file == STDOUT)
    if trace is None:
        Console(stderr=True).print("interrupted before the first block was learned")
        return
    notes = {"looking ahead": f"{record['looking_ahead_seconds']:.3g} s", "scale": record["scale"]}
    if save is not None and not record["interrupted"]:
        notes["model"] = str(save)
    console.print(run_table(trace, notes, interrupted=record["interrupted"]))
    if json_file is not None:
        text = json.dumps(record | trace.to_json(), indent=2, allow_nan=False)
        if json_file == STDOUT:
            typer.echo(text)
        else:
            Path(json_file).write_text(text + "\n")


def _column(label: str) -> int | str:
    try:
        return int(label)
    except ValueError:
        return label


def _check_writable(path: str | Path | None) -> None:
    """Refuse now what could not be written after hours of learning."""
    if path is None:
        return
    folder, name = Path(path).parent, Path(path).name
    if not folder.is_dir():
        raise ValueError(f"there is no directory {str(folder)!r} to write {name!r} into; make it first.")
    if Path(path).is_dir():
        raise ValueError(f"{str(path)!r} is a directory; name a file in it.")


@contextlib.contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """What is wrong with the input ends the command with one line on stderr."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (ValueError, OSError, FloatingPointError) as error:
        typer.echo(f"kernelstream: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(BAD_INPUT) from None


if __name__ == "__main__":
    main()
