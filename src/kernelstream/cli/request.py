"""What `run` and `compare` are asked for."""

import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .. import ALGORITHMS, __version__
from ..engine import Algorithm
from ..evaluate.asking import Rule, rule_of
from ..evaluate.settings import spec_from
from ..extras import require
from ..learner import DTYPES
from ..learner.detectors import DETECTORS
from ..learner.drift import ON_DRIFT, WARN, Plan, plan_of
from ..metrics import METRICS, AskedRate, Metric, default_metrics, metrics_from
from ..sources.base import STDIN
from ..sources.servers import is_server, open_server, shown
from ..sources.survey import SCALES_OF_ALL_ROWS
from ..tasks import Task
from . import options as o
from .places import check_sink, is_stdout

# The options that a configuration file can stand for, besides the settings.
_CONFIGURED = ("algorithm", "task", "scale", "seed")


@dataclass(frozen=True, kw_only=True)
class Request(o.Learning):
    """What both are asked for."""

    dtype: Annotated[str, typer.Option(metavar="|".join(DTYPES), help="What the model computes in.")] = DTYPES[0]
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            metavar="A,B,...",
            help=f"What to measure ({', '.join(METRICS)}); the last one is the headline.",
        ),
    ] = None
    delay: Annotated[int, typer.Option(min=0, metavar="N", help="The label of row t comes after row t + N.")] = 0
    ask: Annotated[
        str | None,
        typer.Option(
            metavar="margin[:b=B]|spread[:kappa=K]|random[:share=S]",
            help="Learn from labels that are asked for only: where the learner is unsure, where rows tell it little, "
            "or some.",
        ),
    ] = None
    drift: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:on=COLUMN,PARAMETER=VALUE,...]",
            help=f"Look out for a change of the errors, or of a column, by River's {', '.join(DETECTORS)}; repeatable.",
        ),
    ] = None
    on_drift: Annotated[
        str, typer.Option(metavar="|".join(ON_DRIFT), help="What the model does then; forget:N keeps N rows.")
    ] = WARN
    window: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Rows in a window of the curves; else they grow.")
    ] = None
    runs: Annotated[
        int | None, typer.Option(min=1, max=o.MOST_RUNS, help="Repeat over so many random orders, on all cores.")
    ] = None
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the result; - is stdout."), o.WRITTEN
    ] = None
    csv_file: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Write a line a run; - is stdout."), o.WRITTEN
    ] = None
    markdown_file: Annotated[
        str | None, typer.Option("--markdown", metavar="FILE", help="Write a table; - is stdout."), o.WRITTEN
    ] = None
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write a page with curves (HTML, self-contained)."),
        o.WRITTEN,
    ] = None

    def specs(self, task: str) -> dict[str, Algorithm | None]:
        """The learners by their names, for a task; a class of another library has no spec."""
        raise NotImplementedError

    @property
    def repeated(self) -> bool:
        """Whether the rows are learned in several orders."""
        return self.runs is not None

    @property
    def alone(self) -> bool:
        """Whether the result is one run, not a list of them."""
        return False

    def row_orders(self) -> list[Any]:
        """The orders in which the rows are learned, by their seeds or row by row."""
        return list(range(self.seed, self.seed + (self.runs or 1)))

    def judges(self, task: Task) -> list[Metric] | None:
        named = None if self.metrics is None else metrics_from(self.metrics.split(","), task)
        return named if self.ask is None else [AskedRate(), *(named or default_metrics(task.name))]

    @property
    def rule(self) -> Rule | None:
        return None if self.ask is None else rule_of(self.ask)

    @property
    def plan(self) -> Plan | None:
        return plan_of(self.drift, self.on_drift)

    @property
    def to_stdout(self) -> bool:
        return any(map(is_stdout, (self.json_file, self.csv_file, self.markdown_file)))

    def check(self) -> None:
        """Refuse options that do not go together, and what could not be written after hours of learning."""
        if self.report is not None:
            require("matplotlib")
        late = next((f"--{name}" for name in ("delay", "drift") if getattr(self, name)), None)
        if self.rule is not None and late is not None:
            raise ValueError(
                f"{late} is about labels of all rows, and with --ask {self.ask} some never come; leave one out."
            )
        if self.plan is not None and self.repeated:
            raise ValueError(
                "--drift is a matter of the rows' order, and --runs and --orders change it; leave one out."
            )


@dataclass(frozen=True, kw_only=True)
class CompareRequest(Request):
    algorithms: Annotated[
        str,
        typer.Option(
            metavar="A,B,...|all",
            help="Names of `kernelstream algorithms`, or other libraries' classes: sklearn.linear_model.SGDClassifier.",
        ),
    ] = "auto,fogd,nogd,rbp,bogd++,avm,bpa-s"
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="[NAME:]PARAMETER=VALUE",
            help="For every algorithm that has the parameter, or for the one named; repeatable.",
        ),
    ] = None

    def check(self) -> None:
        super().check()
        if self.ray is not None and not self.repeated:
            raise ValueError(
                f"--ray {self.ray} is for repetitions, and without --runs all learn side by side in one pass; say how "
                "many, --runs N, or leave it out."
            )

    def specs(self, task: str) -> dict[str, Algorithm | None]:
        names = self._names(task)
        shares = _shared([name for name in names if "." not in name], self.settings or ())
        return {name: spec_from(name, shares[name]) if name in shares else None for name in names}

    def _names(self, task: str) -> list[str]:
        if self.algorithms == "all":
            return [name for name, spec in ALGORITHMS.items() if task in spec.tasks]
        names = [name.strip() for name in self.algorithms.split(",") if name.strip()]
        if not names:
            raise ValueError(
                f"--algorithms {self.algorithms!r} names no algorithm; give some, such as fogd,nogd, or all."
            )
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"--algorithms names {twice} twice; name each once.")
        return names


@dataclass(frozen=True, kw_only=True)
class RunRequest(Request):
    algorithm: Annotated[str, typer.Option(help="What learns; `kernelstream algorithms` lists all.")] = "auto"
    settings: o.Settings = None
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A TOML file as `tune` writes it; other options overrule it."),
        o.READ,
    ] = None
    test: Annotated[str | None, typer.Option(metavar="DATA", help="Judge by these rows instead."), o.READ] = None
    passes: Annotated[int, typer.Option(min=1, help="Over the data, with --test.")] = 1
    orders: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Repeat over the row orders `perm` of a .npz file."), o.READ
    ] = None
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the model."), o.WRITTEN] = None
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep model and numbers in a file on the way."), o.WRITTEN
    ] = None
    every: Annotated[int, typer.Option(min=1, metavar="N", help="Rows between two checkpoints.")] = 100_000
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, max=o.MOST_RUNS, metavar="N", help="Learn on so many of Ray's, here or at --ray; --every rows apart."
        ),
    ] = None
    apart: Annotated[
        float | None,
        typer.Option(metavar="D", help="Synchronise workers whose models have moved farther than this."),
    ] = None
    predictions: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Send what is predicted of each row to a stream: redis://host/stream."),
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from --checkpoint, or begin if there is none yet.")
    ] = False

    @property
    def spec(self) -> Algorithm:
        return spec_from(self.algorithm, self.settings or ())

    def specs(self, task: str) -> dict[str, Algorithm | None]:
        return {self.algorithm: self.spec}

    @property
    def repeated(self) -> bool:
        return self.runs is not None or self.orders is not None

    @property
    def alone(self) -> bool:
        return not self.repeated

    def row_orders(self) -> list[Any]:
        return super().row_orders() if self.orders is None else _orders_in(self.orders)[: self.runs]

    def check(self) -> None:
        super().check()
        spec_from(self.algorithm, self.settings or ())  # refuses settings that make no sense
        if self.resume and self.checkpoint is None:
            raise ValueError("--resume needs --checkpoint FILE, the file to go on from.")
        if self.checkpoint is not None and not self.resume and self.checkpoint.exists():
            raise ValueError(
                f"{self.checkpoint} is there already, and this run would replace it; go on from it with --resume, "
                "remove it, or name another file."
            )
        single = [name for name in ("checkpoint", "save", "test", "predictions") if getattr(self, name) is not None]
        if self.repeated and single:
            raise ValueError(f"--{single[0]} is for one run, --runs and --orders are for many; leave one of them out.")
        if self.passes > 1 and self.test is None:
            raise ValueError(f"--passes {self.passes} goes with --test; a stream has one pass.")
        if self.test == "":
            raise ValueError("--test: the data has no name; give a file, a directory or a URL.")
        if self.test == self.data == STDIN:
            raise ValueError("standard input passes once, and --test would read it again; save it to a file.")
        streaming: dict[str, Any] = {
            "checkpoint": self.checkpoint,
            "delay": self.delay or None,
            "predictions": self.predictions,
        }
        streaming |= {"drift": self.plan, "window": self.window, "ask": self.ask}
        if self.test is not None and any(value is not None for value in streaming.values()):
            options = ", ".join(f"--{name}" for name in streaming)
            raise ValueError(f"--test goes with none of {options}; leave one of them out.")
        again = f"--delay {self.delay}" if self.delay > 0 else ""
        if self.plan is not None and self.plan.kept > 0:
            again = again or f"--on-drift {self.on_drift}"
        if self.resume and again and is_server(self.data) and not open_server(self.data).replays:
            raise ValueError(
                f"{again}: {shown(self.data)} keeps no messages, and rows that are needed again would be lost; "
                "leave it out, or --resume."
            )
        if self.predictions is not None:
            check_sink("--predictions", self.predictions, self.data)
        self._check_workers()

    @property
    def several(self) -> bool:
        """Whether one model is learned by several workers."""
        return self.workers is not None or (self.ray is not None and not self.repeated)

    def _check_workers(self) -> None:
        if not self.several:
            if self.apart is not None:
                raise ValueError("--apart is how far models of several workers may move; say how many, --workers N.")
            return
        others: dict[str, Any] = {
            "shuffle": self.shuffle,
            "delay": self.delay > 0,
            "drift": self.plan,
            "window": self.window,
            "ask": self.ask,
        }
        others |= {"test": self.test, "predictions": self.predictions, "runs": self.runs, "orders": self.orders}
        others |= {"survey": self.survey}
        wrong = next((name for name, value in others.items() if value), None)
        if wrong is not None:
            raise ValueError(f"--{wrong} needs all rows in one place, and workers have them in several; leave one out.")
        if self.scale in SCALES_OF_ALL_ROWS:
            raise ValueError(f"--scale {self.scale} needs all rows in one place; take --scale online with --workers.")

    def configured(self) -> "RunRequest":
        """The request with what its configuration file says, where the command line does not."""
        if self.config is None:
            return self
        from ..evaluate.tune import read_config

        config = read_config(self.config)
        taken = {name: config[name] for name in _CONFIGURED if name in config and name not in self.given}
        merged = replace(self, **taken)
        if merged.algorithm != config.get("algorithm", merged.algorithm):
            return merged
        named = {setting.partition("=")[0] for setting in self.settings or ()}
        kept = [setting for setting in config.get("set", ()) if setting.partition("=")[0] not in named]
        return replace(merged, settings=[*kept, *(self.settings or ())])

    def decisive(self) -> dict[str, Any]:
        """All that decides what a run learns; a checkpoint can be resumed when it is the same."""
        names = ("data", "task", "classes", "survey", "seed", "scale", "shuffle", "dtype", "delay", "metrics")
        reading = {name: value for name, value in self.reading.items() if name != "block_rows"}
        asked: dict[str, Any] = {"version": __version__, "algorithm": self.spec.to_json(), "window": self.window}
        asked |= {"workers": self.workers, "apart": self.apart} if self.several else {}
        asked |= {"drift": self.drift, "on_drift": self.on_drift} if self.drift else {"drift": None}
        asked["ask"] = self.ask
        return asked | {name: getattr(self, name) for name in names} | {"data": shown(self.data)} | reading


def _shared(names: Sequence[str], settings: Iterable[str]) -> dict[str, list[str]]:
    """Which settings each algorithm gets: every one that has its parameter, or the one in ``name:parameter=value``."""
    shares: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        spec_from(name, ())  # refuses an unknown one by name
    for setting in settings:
        owner, colon, rest = setting.partition(":")
        if colon and "=" not in owner:
            if owner not in shares:
                raise ValueError(f"the setting {setting!r} is for {owner!r}, which is not among {', '.join(names)}.")
            shares[owner].append(rest)
            continue
        parameter = setting.partition("=")[0].partition(".")[0]
        takers = [name for name in names if hasattr(ALGORITHMS[name], parameter)]
        if not takers:
            raise ValueError(f"none of {', '.join(names)} has a parameter {parameter!r} (in {setting!r}).")
        for name in takers:
            shares[name].append(setting)
    return shares


def _orders_in(path: Path) -> list[np.ndarray]:
    """The row orders of a .npz file: its array `perm`, an order a line."""
    name = str(path)
    if not zipfile.is_zipfile(name):
        raise ValueError(f"{name} is no .npz file; make one with np.savez({name!r}, perm=orders), an order a line.")
    wanted = "it must be whole numbers, an order a line: perm.astype(int)."
    try:
        with np.load(name, allow_pickle=False) as file:
            if "perm" not in file:
                raise ValueError(f"it has none but {', '.join(file)}; save np.savez(path, perm=orders).")
            orders = np.atleast_2d(file["perm"])
    except (ValueError, EOFError, zipfile.BadZipFile) as error:  # Python's objects among them
        raise ValueError(f"the array 'perm' of {name} cannot be read ({error}); {wanted}") from None
    if orders.ndim != 2 or orders.dtype.kind not in "iu":
        raise ValueError(f"the array 'perm' of {name} is {orders.dtype} of shape {orders.shape}; {wanted}")
    return [np.asarray(order, np.int64) for order in orders]
