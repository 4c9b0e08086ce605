"""Options that several commands take, and how a command ends.

Exit codes: 0 done, 2 what was asked for or given cannot be used (one line on stderr says why), 130 interrupted.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ..learner import DTYPES
from ..sources.base import DEFAULT_BLOCK_ROWS
from ..sources.survey import AUTO, SCALES, TASKS, UNSCALED

BAD_INPUT, INTERRUPTED = 2, 130
STDOUT = "-"
UNLABELLED = "none"
_LARGEST_SEED = 2**63 - 1

Data = Annotated[
    str,
    typer.Argument(
        help="A file (LIBSVM, CSV, Parquet, Arrow, NPZ, NPY; plain or .gz .bz2 .xz .zst), a directory, a glob, - for "
        "standard input, a data set (`kernelstream datasets`), digits, or a generator such as checkerboard."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter, such as kernel.gamma=0.1; repeatable."),
]
TaskName = Annotated[str, typer.Option("--task", metavar="|".join(TASKS), help="auto looks at the labels.")]
Seed = Annotated[int, typer.Option(min=0, max=_LARGEST_SEED, help="Of every random choice.")]
Shuffle = Annotated[bool, typer.Option("--shuffle", help="Put the rows into a random order first.")]
Scale = Annotated[
    str, typer.Option(metavar="|".join(SCALES), help="The features; minmax and standard take a pass ahead.")
]
Dtype = Annotated[str, typer.Option(metavar="|".join(DTYPES), help="What the model computes in.")]
MetricNames = Annotated[
    str | None, typer.Option("--metrics", metavar="A,B,...", help="What to measure; the last one is the headline.")
]
Delay = Annotated[int, typer.Option(min=0, metavar="N", help="The label of row t comes after row t + N.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Cores: all for many runs, two for one, if not given.")]
JsonFile = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the result; - is stdout.")]
CsvFile = Annotated[str | None, typer.Option("--csv", metavar="FILE", help="Write a line a run; - is stdout.")]
MarkdownFile = Annotated[str | None, typer.Option("--markdown", metavar="FILE", help="Write a table; - is stdout.")]
ReportFile = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write a page with curves (HTML, self-contained).")
]

# How a source is to be read: these are added to every command that opens one, which gets them as keywords.
_READING: dict[str, tuple[Any, Any]] = {
    "label": (
        Annotated[str, typer.Option(help="The label's column: a name or a position; none to predict without one.")],
        "-1",
    ),
    "header": (
        Annotated[bool | None, typer.Option("--header/--no-header", help="Whether a CSV file has one; else it shows.")],
        None,
    ),
    "delimiter": (Annotated[str | None, typer.Option(help="Of a CSV file: a comma, or a tab for .tsv.")], None),
    "zero_based": (Annotated[bool, typer.Option("--zero-based", help="A LIBSVM file counts features from 0.")], False),
    "categorical": (
        Annotated[
            str, typer.Option(metavar="refuse|onehot|hash", help="Columns of words: a feature a word, or hashed.")
        ],
        "refuse",
    ),
    "missing": (
        Annotated[str, typer.Option(metavar="refuse|mean", help="Missing values: the mean of the rows before.")],
        "refuse",
    ),
    "on_error": (
        Annotated[str, typer.Option(metavar="stop|skip", help="Rows that cannot be read: skip counts them.")],
        "stop",
    ),
    "format": (
        Annotated[
            str | None,
            typer.Option(metavar="libsvm|csv|parquet|arrow|npz|npy", help="Overrules the suffix; needed for - if CSV."),
        ],
        None,
    ),
    "block_rows": (Annotated[int, typer.Option(min=1, help="Rows read at a time.")], DEFAULT_BLOCK_ROWS),
}

DEFAULT_TASK, DEFAULT_SCALE, DEFAULT_DTYPE = AUTO, UNSCALED, DTYPES[0]


def reads_a_source(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of reading; they arrive in its keyword arguments."""
    signature = inspect.signature(command)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _READING.items()
    ]

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> None:
        command(*arguments, **options)

    wrapped.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in [*own, *added]}
    del wrapped.__wrapped__
    return wrapped


@contextlib.contextmanager
def errors_in_one_line() -> Iterator[None]:
    """What is wrong with the input ends the command with one line on stderr."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (ValueError, OSError, FloatingPointError) as error:
        typer.echo(f"kernelstream: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(BAD_INPUT) from None


def check_writable(*paths: str | Path | None) -> None:
    """Refuse now what could not be written after hours of learning."""
    for path in paths:
        if path is None or str(path) == STDOUT:
            continue
        folder, name = Path(path).parent, Path(path).name
        if not folder.is_dir():
            raise ValueError(f"there is no directory {str(folder)!r} to write {name!r} into; make it first.")
        if Path(path).is_dir():
            raise ValueError(f"{str(path)!r} is a directory; name a file in it.")
