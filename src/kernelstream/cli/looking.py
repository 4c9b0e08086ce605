"""From what a command line names to rows that can be learned from."""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from ..report import words
from ..sources import Peekable, Shuffled, Source
from ..sources.survey import AUTO, SCALES_OF_ALL_ROWS, Survey, survey
from .options import Learning


class Looked(NamedTuple):
    """What was found out about a source, in how many seconds, and its rows, in the order in which they are learned."""

    found: Survey
    seconds: float
    rows: Source


def looked(
    request: Learning, source: Source, console: Console, on_block: Callable[[int], None], *, order: Any = None
) -> Looked:
    """Find out what a request leaves open, and say how the task was decided.

    order: of the rows, by its seed or row by row; they come as they are when it is not given.
    """
    start = time.perf_counter()
    classes = None if request.classes is None else [name.strip() for name in request.classes.split(",")]
    rows = source if order is None else Shuffled(source, order)
    whole = request.all_rows_for is not None
    if whole:
        if request.survey:
            refuse_a_second_pass(source, "--survey")
        if request.scale in SCALES_OF_ALL_ROWS and source.restartable:
            say(console, f"scale: {request.scale} takes all rows, which are read once more to learn from them")
    elif not isinstance(rows, Peekable):
        rows = Peekable(rows)
    try:
        found = survey(
            source if whole else rows,
            task=request.task,
            scale=request.scale,
            classes=classes,
            all_rows=whole,
            on_block=on_block,
        )
    except BaseException:
        if isinstance(rows, Peekable):
            rows.close()
        raise
    if isinstance(order, np.ndarray) and not whole:  # which may leave rows out
        found = replace(found, all_rows=False)
    if request.task == AUTO:
        say(console, f"task: {found.task.name} ({found.reason}); --task overrules")
    first = rows.peek(1) if isinstance(rows, Peekable) else []
    if first:
        from .hints import hints

        say(console, *hints(request, found, *first[0], in_order=order is None, names=rows.feature_names))
    return Looked(found, time.perf_counter() - start, rows)


def refuse_a_second_pass(source: Source, option: str) -> None:
    if not source.restartable:
        raise ValueError(f"{option} reads the data more than once, and {source.name} passes once; save it to a file.")


def say(console: Console, *sentences: str) -> None:
    for sentence in sentences:
        console.print(words.printable(sentence), highlight=False, markup=False, soft_wrap=True)


def echo(text: str) -> None:
    """Write to standard output; a terminal gets no character that steers it."""
    sys.stdout.write(words.printable(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()
