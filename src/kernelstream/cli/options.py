"""Requests: the options of commands as the fields of frozen records, and how a command ends.

A command that `takes` a request has an option for each of its fields; an option is added by adding the field. A field
that names files is marked READ or WRITTEN, and no file may be both.

Exit codes: 0 done, 2 what was asked for or given cannot be used (one line on stderr says why), 130 interrupted.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Annotated, Any, NamedTuple, NoReturn, TypeVar, get_args, get_origin, get_type_hints

import typer

from ..encoding.values import FILE_DATES
from ..evaluate.interrupts import Interrupts
from ..extras import MissingExtra
from ..parameters import LARGEST_SEED
from ..report import words
from ..sources import Source, open_source
from ..sources.base import DEFAULT_BLOCK_ROWS, MAX_FEATURES
from ..sources.survey import AUTO, SCALES, SCALES_OF_ALL_ROWS, TASKS, UNSCALED
from .places import check_places
from .wording import in_words, reason

BAD_INPUT, INTERRUPTED = 2, 130
MOST_RUNS = 1_000_000  # what is kept of each is in memory
NONE = "none"


class Place(NamedTuple):
    """Marks an option that names files: whether they are read or written."""

    written: bool


READ, WRITTEN = Place(False), Place(True)

Data = Annotated[
    str,
    typer.Argument(
        help="A file (LIBSVM, CSV, JSON lines, ARFF, Parquet, Arrow, NPZ, NPY; plain or .gz .bz2 .xz .zst), a "
        "directory, a glob, - for standard input, a pipe, a stream of messages (redis://host/stream, "
        "nats://host/stream), a data set (`kernelstream datasets`), digits, or a generator such as checkerboard."
    ),
    READ,
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter, such as kernel.gamma=0.1 or kernel=gaussian+linear; repeatable.",
    ),
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Cores: all for many runs, two for one, if not given.")]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a source is to be read. `given` names the options that stand on the command line."""

    label: Annotated[
        str, typer.Option(help="The label's column: a name or a position; none to predict without one.")
    ] = "-1"
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether a CSV file has one; else it shows.")
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(help="Of a CSV file: a comma, a tab for .tsv, a semicolon beside decimal commas.")
    ] = None
    zero_based: Annotated[bool, typer.Option("--zero-based", help="A LIBSVM file counts features from 0.")] = False
    decimal: Annotated[str, typer.Option(metavar=".|,", help="The decimal sign of a CSV file.")] = "."
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out, by name or position; repeatable.")
    ] = None
    max_features: Annotated[int, typer.Option(min=1, help="The highest index that a LIBSVM file may have.")] = (
        MAX_FEATURES
    )
    renumber: Annotated[
        bool,
        typer.Option(
            "--renumber", help="A LIBSVM file's features get places as they appear: width grows with those seen."
        ),
    ] = False
    categorical: Annotated[
        str,
        typer.Option(
            metavar="auto|onehot|hash|refuse",
            help="Columns of words: a feature a word (auto: where most are words), or hashed.",
        ),
    ] = AUTO
    categorical_columns: Annotated[
        list[str] | None,
        typer.Option(
            "--categorical-column", metavar="COLUMN", help="A column of words that does not show; repeatable."
        ),
    ] = None
    missing: Annotated[
        str, typer.Option(metavar="mean|refuse", help="Missing values: the mean of the rows before.")
    ] = "mean"
    dates: Annotated[
        str,
        typer.Option(
            metavar="PART,...", help="What dates become, of hour, day, week, year and trend; none: they are words."
        ),
    ] = ",".join(FILE_DATES)
    on_error: Annotated[str, typer.Option(metavar="stop|skip", help="Rows that cannot be read: skip counts them.")] = (
        "stop"
    )
    format: Annotated[
        str | None,
        typer.Option(
            metavar="libsvm|csv|jsonl|arff|parquet|arrow|npz|npy", help="Overrules the suffix; of - too, if not LIBSVM."
        ),
    ] = None
    block_rows: Annotated[int, typer.Option(min=1, help="Rows read at a time.")] = DEFAULT_BLOCK_ROWS
    given: frozenset[str] = frozenset()

    @property
    def reading(self) -> dict[str, Any]:
        """The options of reading by their names."""
        return {field.name: getattr(self, field.name) for field in fields(Reading) if field.name != "given"}

    def opened(
        self, data: str, *, encoding: Any = None, names: list[str] | None = None, unlabelled: str | None = None
    ) -> Source:
        """The source that DATA names; columns become features as an encoding says, or in the order of these names."""
        label: Any = None if self.label == NONE else self.label
        with contextlib.suppress(ValueError, TypeError):
            label = int(label)
        options = self.reading | {"encoding": encoding, "names": names, "unlabelled": unlabelled}
        if self.delimiter == r"\t":
            options["delimiter"] = "\t"
        options["dates"] = () if self.dates == NONE else self.dates.split(",")
        return open_source(
            data, **{name: value for name, value in options.items() if value is not None} | {"label": label}
        )


@dataclass(frozen=True, kw_only=True)
class Learning(Reading):
    """What is asked of every command that learns from a source."""

    data: Data
    task: Annotated[
        str, typer.Option(metavar="|".join(TASKS), help="auto looks at the labels of the first 4,096 rows.")
    ] = AUTO
    classes: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="All classes there are; else those that come later are added."),
    ] = None
    survey: Annotated[bool, typer.Option("--survey", help="Read all rows first, to know the task and all classes.")] = (
        False
    )
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Of every random choice.")] = 0
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Put the rows into a random order first.")] = False
    scale: Annotated[
        str, typer.Option(metavar="|".join(SCALES), help="The features; minmax and standard read all rows first.")
    ] = UNSCALED
    jobs: Jobs = None
    ray: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="A Ray cluster, auto or ray://host:10001, for many runs and for trials."),
    ] = None

    @property
    def all_rows_for(self) -> str | None:
        """The option for which all rows are read before learning begins."""
        if self.scale in SCALES_OF_ALL_ROWS:
            return f"--scale {self.scale}"
        return "--survey" if self.survey else None


_Request = TypeVar("_Request", bound=Reading)


def takes(kind: type[_Request]) -> Callable[[Callable[[_Request], None]], Callable[..., None]]:
    """Make a command of a function that is handed a request."""
    hints = get_type_hints(kind, include_extras=True)
    defaults = {field.name: field.default for field in fields(kind)}
    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    parameters += [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if defaults[name] is MISSING else defaults[name],
            annotation=hints[name],
        )
        for name in _own_first(kind)
        if get_origin(hints[name]) is Annotated
    ]

    def decorate(function: Callable[[_Request], None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(context: typer.Context, **options: Any) -> None:
            sources = {name: context.get_parameter_source(name) for name in options}
            given = frozenset(name for name, source in sources.items() if source and source.name != "DEFAULT")
            request = kind(**options, given=given)
            called = spelled(context.command)
            check_places(_places(hints, request, READ, called), _places(hints, request, WRITTEN, called))
            function(request)

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        del command.__wrapped__
        return command

    return decorate


def spelled(command: Any) -> dict[str, str]:
    """How each option of a command is written, by its parameter's name: ``--yes/--no`` where it is one of two."""
    found = {}
    for one in command.params:
        words = [next((word for word in some if word.startswith("--")), "") for some in (one.opts, one.secondary_opts)]
        if words[0]:
            found[one.name] = "/".join(filter(None, words))
    return found


def _places(hints: dict[str, Any], request: Reading, mark: Place, called: dict[str, str]) -> dict[str, Any]:
    """What the options so marked name, by how they are written."""
    names = [name for name, hint in hints.items() if mark in get_args(hint)[1:]]
    return {called.get(name, name.upper()): getattr(request, name) for name in names}


def _own_first(kind: type) -> list[str]:
    """The names of a record's fields, those that its class adds before those of the class that it extends."""
    inherited = _own_first(kind.__base__) if kind.__base__ is not None and is_dataclass(kind.__base__) else []
    return [field.name for field in fields(kind) if field.name not in inherited] + inherited


@contextlib.contextmanager
def errors_in_one_line(options: Mapping[str, str]) -> Iterator[None]:
    """What is wrong with the input ends the command with one line on stderr, in which parameters are called as the
    options are.
    """
    interrupts = Interrupts()
    try:
        with interrupts:
            interrupts.check()
            yield
    except BrokenPipeError:
        raise
    except MemoryError as error:
        _end(f"there is not enough memory ({error}); take a smaller budget or rank, or fewer components.", {})
    except OSError as error:
        _end(reason(error), options)
    except (ValueError, FloatingPointError, MissingExtra) as error:
        _end(str(error), options)
    if interrupts.seen:
        typer.echo("kernelstream: interrupted", err=True)
        raise typer.Exit(INTERRUPTED)


def _end(message: str, options: Mapping[str, str]) -> NoReturn:
    typer.echo(f"kernelstream: {words.printable(in_words(message, options))}", err=True)
    raise typer.Exit(BAD_INPUT) from None
