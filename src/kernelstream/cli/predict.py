"""``kernelstream predict``: what a saved model says about rows."""

import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from ..interrupts import Interrupts
from ..learner import Learner
from ..metrics import default_metrics
from ..report import words
from ..report.live import ProgressLine
from . import options as o
from .opening import ahead, opened, say


@o.reads_a_source
def predict(
    model: Annotated[Path, typer.Argument(help="A file that `run --save` wrote.")],
    data: o.Data,
    out: Annotated[str, typer.Option(metavar="FILE", help="A CSV file; - is stdout.")] = o.STDOUT,
    scores: Annotated[bool, typer.Option("--scores", help="Write the scores too.")] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Write the probability of each class (logistic and softmax losses).")
    ] = False,
    **reading: Any,
) -> None:
    """Write a prediction a row, learning nothing. The labels in the data are only compared with."""
    with o.errors_in_one_line():
        o.check_writable(out)
        learner, header = Learner.load_with_header(model)
        file = opened(data, reading | {"encoding": header.get("encoding")})
        console, interrupts = Console(stderr=True), Interrupts()
        line = ProgressLine(console, file, interrupts.check)
        metric = default_metrics(learner.task.name)[-1]
        with interrupts, line:
            _write(out, _lines(learner, ahead(file, None), metric, line, scores, probabilities))
        say(
            console,
            f"{words.count(metric.n)} rows, {words.metric_name(metric.name)} against their labels "
            f"{words.metric_value(metric.name, metric.value)}",
            *file.notices,
        )
        if interrupts.seen:
            raise typer.Exit(o.INTERRUPTED)


def _lines(
    learner: Learner, source: Any, metric: Any, line: ProgressLine, scores: bool, probabilities: bool
) -> Iterator[str]:
    """The text of the CSV file, block by block."""
    classes = [str(c) for c in getattr(learner.task, "classes", [])]
    outputs = classes if learner.task.n_outputs > 1 else [""]
    names = ["prediction"]
    names += [f"score {name}".strip() for name in outputs] if scores else []
    names += [f"probability {name}" for name in classes] if probabilities else []
    yield _csv([names])
    for X, y in source:
        raw = learner.scores(X)
        labels = learner.task.decode(raw)
        if labels.dtype.kind == y.dtype.kind or {labels.dtype.kind, y.dtype.kind} <= set("biuf"):
            metric.update(y, labels)
        columns = [labels.tolist()]
        columns += np.asarray(raw, np.float64).T.tolist() if scores else []
        columns += learner.probabilities_of(raw).T.tolist() if probabilities else []
        yield _csv(list(zip(*columns, strict=True)))
        line.looked_ahead(metric.n)


def _csv(rows: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _write(out: str, pieces: Iterator[str]) -> None:
    if out == o.STDOUT:
        for piece in pieces:
            sys.stdout.write(piece)
        sys.stdout.flush()
        return
    with open(out, "w", encoding="utf-8") as file:
        for piece in pieces:
            file.write(piece)
