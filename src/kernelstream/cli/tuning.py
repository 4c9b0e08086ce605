"""``kernelstream tune``, and the configuration file that it writes for ``run --config``."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from ..evaluate.interrupts import Interrupts
from ..metrics import default_metrics
from ..report import words
from ..report.live import ProgressLine
from . import options as o
from .opening import opened, say, surveyed


@o.reads_a_source
def tune(
    data: o.Data,
    algorithm: Annotated[str, typer.Option(help="What is tuned; `kernelstream algorithms` lists all.")] = "fogd",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter that is not to be searched; repeatable."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the TOML for `run --config` goes.")] = Path(
        "tuned.toml"
    ),
    rows: Annotated[int, typer.Option(min=10, help="How many rows are used.")] = 5000,
    subset: Annotated[str, typer.Option(metavar="random|prefix", help="Which ones.")] = "random",
    trials: Annotated[int, typer.Option(min=1, help="Settings that are tried.")] = 32,
    task: o.TaskName = o.DEFAULT_TASK,
    seed: o.Seed = 0,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Try them in a random order; a file sorted by label needs it.")
    ] = False,
    scale: o.Scale = o.DEFAULT_SCALE,
    jobs: o.Jobs = None,
    **reading: Any,
) -> None:
    """Search good parameters on a part of the data.

    Random settings are tried on few rows, and the better ones on more. Kernel width, step size, regularization and the
    algorithm's own parameters are searched; sizes (budget, n_components, rank) stay as they are. A setting is judged by
    its mistakes before learning from each row.
    """
    from ..evaluate.tune import Trial, write_config
    from ..evaluate.tune import subset as chosen
    from ..evaluate.tune import tune as search

    with o.errors_in_one_line():
        o.check_writable(out)
        file = opened(data, reading)
        console, interrupts = Console(stderr=True), Interrupts()
        line = ProgressLine(console, file, interrupts.check)
        with interrupts, line:
            found = surveyed(file, console, task=task, scale=scale, on_block=line.looked_ahead)
            X, y = chosen(file, rows, how=subset, seed=seed)
            if shuffle:
                order = np.random.default_rng(seed).permutation(len(y))
                X, y = X[order], y[order]
            metric = default_metrics(found.task.name)[-1].name
            X = found.fresh_scaling().learn(X)

            def tried(trial: Trial) -> None:
                interrupts.check()
                tally = words.metric_value(metric, trial.value) if math.isfinite(trial.value) else trial.outcome
                say(console, f"{words.count(trial.rows)} rows  {tally}  {_shown(trial.settings)}")

            tuned = search(
                algorithm,
                X,
                y,
                found.task,
                trials=trials,
                seed=seed,
                jobs=jobs,
                settings=settings or (),
                on_trial=tried,
            )
            how = f"{subset}, shuffled" if shuffle else subset
            write_config(out, tuned, data=f"{len(y)} rows of {data} ({how})", scale=scale)
        if interrupts.seen:
            say(console, f"interrupted; {out} was not written")
            raise typer.Exit(o.INTERRUPTED)
        best, default = (words.metric_value(metric, trial) for trial in (tuned.value, tuned.trials[0].value))
        say(
            Console(),
            f"best {words.metric_name(metric)} of {len(tuned.trials)} trials: {best}  {_shown(tuned.settings)}",
            f"the defaults: {default}",
        )
        say(console, f"wrote {out}; take it with: run --config {out}{' --shuffle' if shuffle else ''}")


def _shown(settings: Sequence[str]) -> str:
    return " ".join(settings) or "(the defaults)"


def from_config(path: Path, request: dict[str, Any], context: typer.Context) -> dict[str, Any]:
    """What a command was asked for, where the command line does not say so taken from a configuration file."""
    from ..evaluate.tune import read_config

    config = read_config(path)
    sources = {name: context.get_parameter_source(name) for name in request}
    given = {name for name, source in sources.items() if source is not None and source.name != "DEFAULT"}
    merged = {name: config[name] if name in config and name not in given else value for name, value in request.items()}
    if merged["algorithm"] == config.get("algorithm", merged["algorithm"]):
        named = {setting.partition("=")[0] for setting in request["set"]}
        kept = [setting for setting in config.get("set", ()) if setting.partition("=")[0] not in named]
        merged["set"] = [*kept, *request["set"]]
    else:
        merged["set"] = request["set"]
    return merged
