"""``kernelstream predict``: what a saved model says about rows."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from scipy.sparse import csr_array, issparse

from ..encoding.known import RENUMBERED
from ..encoding.values import REFUSE
from ..engine import disk
from ..evaluate.interrupts import Interrupts
from ..learner import Learner
from ..metrics import Metric, default_metrics
from ..report import words
from ..report.live import ProgressLine
from ..sources import Matrix, ReadAhead, Source
from ..sources.servers import is_server
from ..tasks import NO_INTERVALS, REGRESSION, Classification
from . import options as o
from .looking import echo, say
from .places import STDOUT, is_stdout
from .sink import Sink, plain


@dataclass(frozen=True, kw_only=True)
class PredictRequest(o.Reading):
    model: Annotated[Path, typer.Argument(help="A file that `run --save` wrote."), o.READ]
    data: o.Data
    out: Annotated[
        str, typer.Option(metavar="FILE|URL", help="A CSV file, or a stream of a server; - is stdout."), o.WRITTEN
    ] = STDOUT
    scores: Annotated[bool, typer.Option("--scores", help="Write the scores too.")] = False
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Write the probability of each class.")] = False
    intervals: Annotated[
        float | None,
        typer.Option(metavar="LEVEL", help="Write the ends of an interval that holds a value this often: 0.9."),
    ] = None


@o.takes(PredictRequest)
def predict(request: PredictRequest) -> None:
    """Write a saved model's predictions, learning nothing.

    The labels in the data are only compared with. Columns of words are encoded as they were for the model.
    """
    learner, header = Learner.load_with_header(request.model)
    encoding = header.get("encoding")
    if request.renumber and RENUMBERED not in (encoding or {}):
        raise ValueError(
            f"{request.model} knows features by their numbers, and --renumber would give them others; leave it out."
        )
    if encoding is None and "categorical" not in request.given:  # a model that knows no words
        request = replace(request, categorical=REFUSE)
    names = learner.columns.feature_names if encoding is None and learner.columns is not None else None
    file = request.opened(request.data, encoding=encoding, names=names, unlabelled="keep")
    console, interrupts = Console(stderr=True), Interrupts()
    line = ProgressLine(console, file, interrupts.check)
    metric = default_metrics(learner.task.name)[-1]
    task = _Predicting(learner, metric, request)
    with interrupts, line:
        _write(request.out, task.tables(ReadAhead(file), line))
    if interrupts.seen:
        say(console, f"interrupted after {words.count(task.rows)} rows" + _unwritten(request.out))
        raise typer.Exit(o.INTERRUPTED)
    found = f"{words.metric_name(metric.name)} {words.metric_value(metric.name, metric.value)} against their labels"
    if metric.n == 0:
        found = "not compared: they have no labels, or of another kind than the model's"
    say(console, f"{words.count(task.rows)} rows, {found}", *file.notices)


class _Predicting:
    """What is written, block by block; counts the rows and compares them with their labels."""

    def __init__(self, learner: Learner, metric: Metric, request: PredictRequest):
        self.learner, self.metric, self.rows = learner, metric, 0
        self.scores, self.probabilities, self.level = request.scores, request.probabilities, request.intervals
        if self.level is not None and learner.task.name != REGRESSION:
            raise ValueError(f"--intervals {self.level}: {NO_INTERVALS}")
        nothing = np.zeros((0, learner.task.n_outputs))
        self._beside(nothing)  # refuses what a model does not have before anything is written

    def tables(self, source: Source, line: ProgressLine) -> Iterator[list[Any]]:
        """The names of the columns, then their values in the rows of each block."""
        yield [self._names()]
        for X, y in source:
            X = self._fitting(X)
            raw = self.learner.scores(X)
            labels = self.learner.task.decode(raw)
            known = _known(y)
            if (labels.dtype.kind == "U") == (y.dtype.kind == "U") and known.any():
                self.metric.update(y[known], labels[known])
            self.rows += len(y)
            yield list(zip(plain(labels), *self._beside(raw), strict=True))
            line.looked_ahead(self.rows)

    def _beside(self, raw: np.ndarray) -> list[Any]:
        """The columns beside the predictions."""
        columns = np.asarray(raw, np.float64).T.tolist() if self.scores else []
        columns += self.learner.probabilities_of(raw).T.tolist() if self.probabilities else []
        return columns + (self.learner.intervals_of(raw, self.level).T.tolist() if self.level is not None else [])

    def _fitting(self, X: Matrix) -> Matrix:
        """The rows as wide as the model's; features that a sparse row does not name are 0."""
        width = self.learner.width
        if X.shape[1] == width or self.learner.grow_features:
            return X
        if issparse(X) and X.shape[1] < width:
            return csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
        raise ValueError(
            f"the rows have {X.shape[1]} features, the model learned from {width}; give the columns that it learned "
            "from: --label none if no label is among them, --drop what it did not have."
        )

    def _names(self) -> list[str]:
        task = self.learner.task
        classes = plain(task.classes) if isinstance(task, Classification) else []
        outputs = classes if task.n_outputs > 1 else [""]
        names = ["prediction"]
        names += [f"score {name}".strip() for name in outputs] if self.scores else []
        names += [f"probability {name}" for name in classes] if self.probabilities else []
        return names + (["low", "high"] if self.level is not None else [])


def _known(y: np.ndarray) -> np.ndarray:
    """Which of these labels do not stand for none."""
    return np.asarray(y != "" if y.dtype.kind == "U" else ~np.isnan(y))


def _csv(rows: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([words.cell(value) for value in row] for row in rows)
    return text.getvalue()


def _write(out: str, tables: Iterator[list[Any]]) -> None:
    if is_server(out):
        names, row = next(tables)[0], 0
        with Sink(out) as sink:
            for rows in tables:
                sink.send_values(row, names, rows)
                row += len(rows)
        return
    pieces = map(_csv, tables)
    if is_stdout(out):
        for piece in pieces:
            echo(piece)
        return
    with disk.appearing(out) as file:
        for piece in pieces:
            file.write(piece.encode())


def _unwritten(out: str) -> str:
    return "" if is_stdout(out) or is_server(out) else f"; {out} was not written"
