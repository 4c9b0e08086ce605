"""``kernelstream tune``, which writes a configuration file for ``run --config``."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from ..evaluate.interrupts import Interrupts
from ..metrics import default_metrics
from ..report import words
from ..report.live import ProgressLine
from ..sources import ArraySource, Source
from ..sources.survey import Survey
from . import options as o
from .job import all_over
from .looking import looked, say


@dataclass(frozen=True, kw_only=True)
class TuneRequest(o.Learning):
    algorithm: Annotated[str, typer.Option(help="What is tuned; `kernelstream algorithms` lists all.")] = "fogd"
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter that is not to be searched; repeatable."),
    ] = None
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the TOML for `run --config` goes."), o.WRITTEN] = (
        Path("tuned.toml")
    )
    rows: Annotated[int, typer.Option(min=10, help="How many rows are used.")] = 5000
    subset: Annotated[str, typer.Option(metavar="random|prefix", help="Which ones.")] = "random"
    trials: Annotated[int, typer.Option(min=1, max=o.MOST_RUNS, help="Settings that are tried.")] = 32
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Try them in a random order; a file sorted by label needs it.")
    ] = False


@o.takes(TuneRequest)
def tune(request: TuneRequest) -> None:
    """Search good parameters on a part of the data.

    Random settings are tried on few rows, and the better ones on more. Kernel width, step size, regularization and the
    algorithm's own parameters are searched; sizes (budget, n_components, rank) stay as they are. A setting is judged by
    its mistakes before learning from each row. With --task auto, the labels of the rows that are used decide.
    """
    from ..evaluate.tune import Trial, subset, write_config
    from ..evaluate.tune import tune as search

    file = request.opened(request.data)
    console, interrupts = Console(stderr=True), Interrupts()
    line = ProgressLine(console, file, interrupts.check)
    with interrupts, line:
        found = None if request.all_rows_for is None else _found(request, file, console, line)
        X, y = subset(file, request.rows, how=request.subset, seed=request.seed)
        if found is None:
            chosen = ArraySource(X, y, name=file.name, block_rows=len(y))
            found = _found(replace(request, survey=True), chosen, console, line)
        if request.shuffle:
            order = np.random.default_rng(request.seed).permutation(len(y))
            X, y = X[order], y[order]
        metric = default_metrics(found.task.name)[-1].name
        if found.scaling.settles:
            raise ValueError(f"--scale {found.scaling.kind} is learned with each model; tune with --scale online.")
        X = found.scaling.copy().learn(X)

        def tried(trial: Trial) -> None:
            interrupts.check()
            tally = words.metric_value(metric, trial.value) if math.isfinite(trial.value) else trial.outcome
            say(console, f"{words.count(trial.rows)} rows  {tally}  {_shown(trial.settings)}")

        with all_over(request.ray):
            tuned = search(
                request.algorithm,
                X,
                y,
                found.task,
                trials=request.trials,
                seed=request.seed,
                jobs=request.jobs,
                settings=request.settings or (),
                on_trial=tried,
            )
        how = f"{request.subset}, shuffled" if request.shuffle else request.subset
        write_config(request.out, tuned, data=f"{len(y)} rows of {request.data} ({how})", scale=request.scale)
    if interrupts.seen:
        say(console, f"interrupted; {request.out} was not written")
        raise typer.Exit(o.INTERRUPTED)
    best, default = (words.metric_value(metric, trial) for trial in (tuned.value, tuned.trials[0].value))
    say(
        Console(),
        f"best {words.metric_name(metric)} of {len(tuned.trials)} trials: {best}  {_shown(tuned.settings)}",
        f"the defaults: {default}",
    )
    say(
        console,
        f"wrote {request.out}; take it with: run --config {request.out}{' --shuffle' if request.shuffle else ''}",
    )


def _found(request: TuneRequest, source: Source, console: Console, line: ProgressLine) -> Survey:
    return looked(request, source, console, line.looked_ahead).found


def _shown(settings: Sequence[str]) -> str:
    return " ".join(settings) or "(the defaults)"
