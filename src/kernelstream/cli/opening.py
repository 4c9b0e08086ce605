"""From what a command line names to sources, specs and learners."""

import contextlib
import zipfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from rich.console import Console

from .. import ALGORITHMS
from ..engine import Algorithm
from ..evaluate.models import Model, OwnModel
from ..evaluate.settings import spec_from
from ..learner import Learner
from ..metrics import Metric, metrics_from
from ..sources import ReadAhead, Shuffled, Source, open_source
from ..sources.survey import AUTO, Survey, survey
from ..tasks import Task
from .options import UNLABELLED
from .others import other


def opened(data: str, reading: dict[str, Any]) -> Source:
    """The source that DATA names, read with these options."""
    label: Any = None if reading["label"] == UNLABELLED else reading["label"]
    with contextlib.suppress(ValueError, TypeError):
        label = int(label)
    given = {name: value for name, value in reading.items() if value is not None}
    return open_source(data, **given | {"label": label})


def ahead(source: Source, seed: int | None) -> Source:
    """The source to learn from: read in a thread, in a random order where a seed is given."""
    return ReadAhead(source if seed is None else Shuffled(source, seed))


def surveyed(
    source: Source, console: Console, *, task: str, scale: str, on_block: Callable[[int], None] | None = None
) -> Survey:
    """What is found out in a pass ahead; says how the task was decided."""
    found = survey(source, task=task, scale=scale, on_block=on_block)
    if task == AUTO:
        say(console, f"task: {found.task.name} ({found.reason}); --task overrules")
    return found


def refuse_a_second_pass(source: Source, option: str) -> None:
    if not source.restartable:
        raise ValueError(f"{option} reads the data more than once, and {source.name} passes once; save it to a file.")


def say(console: Console, *sentences: str) -> None:
    for sentence in sentences:
        console.print(sentence, highlight=False, markup=False, soft_wrap=True)


def learner(spec: Algorithm, found: Survey, *, seed: int, dtype: str, threads: int | None) -> Learner:
    return Learner(
        spec,
        found.task,
        seed=seed,
        dtype=dtype,
        grow_features=found.sparse,
        grow_classes=found.grow_classes,
        scaling=found.fresh_scaling(),
        threads=threads,
    )


def chosen_metrics(names: str | None, task: Task) -> list[Metric] | None:
    return None if names is None else metrics_from(names.split(","), task)


def contestants(
    names: Sequence[str], settings: Iterable[str], found: Survey, *, seed: int, dtype: str, threads: int | None
) -> list[Model]:
    """The models that ``compare`` was asked for: names of algorithms, or dotted names of classes of other libraries.

    A setting belongs to every algorithm that has its parameter; ``name:parameter=value`` belongs to one.
    """
    own = [name for name in names if "." not in name]
    shares = shared_settings(own, settings)
    models: list[Model] = []
    for name in names:
        if name in shares:
            spec = spec_from(name, shares[name])
            models.append(OwnModel(learner(spec, found, seed=seed, dtype=dtype, threads=threads), name))
        else:
            models.append(other(name, found))
    return models


def algorithm_names(asked: str, task: str) -> list[str]:
    """``a,b,c``, or ``all`` that do a task."""
    if asked == "all":
        return [name for name, spec in ALGORITHMS.items() if task in spec.tasks]
    names = [name.strip() for name in asked.split(",") if name.strip()]
    if not names:
        raise ValueError(f"--algorithms {asked!r} names no algorithm; give some, such as fogd,nogd, or all.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"--algorithms names {twice} twice; name each once.")
    return names


def shared_settings(names: Sequence[str], settings: Iterable[str]) -> dict[str, list[str]]:
    """Which settings each algorithm gets."""
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


def row_orders(path: str) -> list[np.ndarray]:
    """The row orders of a .npz file: its array `perm`, an order a line."""
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is no .npz file; make one with np.savez({path!r}, perm=orders), an order a line.")
    with np.load(path, allow_pickle=False) as file:
        if "perm" not in file:
            raise ValueError(f"{path} has no array 'perm' but {', '.join(file)}; save np.savez(path, perm=orders).")
        return [np.asarray(order, np.int64) for order in np.atleast_2d(file["perm"])]
