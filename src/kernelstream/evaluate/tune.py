"""tune: random search with successive halving over a learner's parameters, on a part of a stream, on all cores.

Every trial is a prequential run over the rows it is given, so that what is compared is what `run` will show. All trials
get few rows; the better third gets three times as many, and so on, up to all rows. The first trial is the defaults,
which are never halved: the outcome is at least as good as they are on these rows. It depends on the seed, not on the
number of processes.
"""

import json
import math
import os
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from ..engine import disk
from ..learner.naming import number_or_text
from ..metrics import default_metrics, metrics_from
from ..numerics.memory import one_blas_thread
from ..parameters import LARGEST_SEED
from ..sources import ArraySource, LabelledBlock, Matrix, Source
from ..sources.survey import Survey
from ..tasks import Task
from .building import learner_for
from .processes import Processes, cores
from .run import prequential
from .settings import spec_from
from .space import drawn, space

FACTOR = 3
# Fewer rows than this say little about a setting.
_FEWEST_ROWS = 200
# Seconds of learning that take longer than starting processes, which takes a few.
_WORTH_PROCESSES = 10.0
FINISHED, HALVED, DIVERGED = "finished", "halved", "diverged"
HOW = ("random", "prefix")
_KEYS: dict[str, type] = {"algorithm": str, "task": str, "scale": str, "seed": int, "set": dict}
_IN_WORDS = {str: "text", int: "a whole number", dict: "a table"}


class Trial(NamedTuple):
    """Settings, the rows they were last given, the metric there, and the seconds of learning over all that they were
    given.

    outcome: finished (all rows), halved (others were better on these rows), diverged (the value is infinitely bad).
    """

    settings: tuple[str, ...]
    rows: int
    value: float
    seconds: float
    outcome: str


class Tuned(NamedTuple):
    """The best settings, for `settings.spec_from`, what they reached, and everything that was tried."""

    algorithm: str
    task: str
    metric: str
    seed: int
    settings: list[str]
    value: float
    trials: list[Trial]
    searched: dict[str, str]  # the range of each parameter


def plan(trials: int, rows: int) -> list[tuple[int, int]]:
    """(trials, rows each is given) of every round: the defaults, and of the others a third as many each time."""
    others, halvings = trials - 1, 0
    while FACTOR ** (halvings + 1) <= others and rows // FACTOR ** (halvings + 1) >= _FEWEST_ROWS:
        halvings += 1
    return [(1 + math.ceil(others / FACTOR**k), rows // FACTOR ** (halvings - k)) for k in range(halvings + 1)]


def tune(
    algorithm: str,
    X: Any,
    y: Any,
    task: Task,
    *,
    trials: int = 32,
    seed: int = 0,
    jobs: int | None = None,
    settings: Sequence[str] = (),
    metric: str | None = None,
    on_trial: Callable[[Trial], None] | None = None,
) -> Tuned:
    """Search settings for these rows, which are scaled already (`OnlineScaling().learn(X)` for scale=online).

    settings: what is not searched. metric: a name (the headline of `default_metrics`). jobs: processes; None means all
    cores when the work is worth starting them, else none besides this one.
    on_trial: called after each trial of each round, in an order that does not depend on `jobs`.
    """
    if trials < 1 or (jobs is not None and jobs < 1):
        raise ValueError(f"trials={trials} and jobs={jobs} must be at least 1.")
    names = [metric or default_metrics(task.name)[-1].name]
    judged_by = metrics_from(names, task)[0]
    rows = ArraySource(X, y)
    if rows.n_rows == 0:
        raise ValueError("there are no rows to tune on; give at least one.")
    ranges = space(algorithm, settings, rows.X, rows.y, task, seed)
    draws = np.random.default_rng(seed)
    chosen = [tuple(settings)]
    if ranges:  # otherwise all trials would be the same
        chosen += [drawn(ranges, algorithm, settings, draws) for _ in range(trials - 1)]
    sign = -1.0 if judged_by.larger_is_better else 1.0
    work = _Work(algorithm, rows.X, rows.y, task, seed, names[0], sign * math.inf)
    table = [Trial(c, 0, sign * math.inf, 0.0, FINISHED) for c in chosen]
    alive = list(range(len(chosen)))
    rounds = plan(len(chosen), rows.n_rows)
    if jobs is None:
        _, seconds, _ = _measured(work, (chosen[0], rounds[0][1]))
        expected = seconds / rounds[0][1] * sum(count * given for count, given in rounds)
        jobs = cores() if expected > _WORTH_PROCESSES else 1
    jobs = min(jobs, len(chosen))
    if jobs > 1:
        _measured(work, (chosen[0], 1))  # compiles: the workers take what they run from the cache
    with Processes(_measured, work, jobs) as processes:
        # The defaults are in every round: what they will be asked there fills the gaps, the longest first.
        default = {given: processes.call((chosen[0], given), later=True) for _, given in reversed(rounds)}
        for count, given in rounds:
            for i in alive[count:]:
                table[i] = table[i]._replace(outcome=HALVED)
            alive = alive[:count]
            calls = [default[given] if i == 0 else processes.call((chosen[i], given)) for i in alive]
            for i, call in zip(alive, calls, strict=True):
                value, seconds, outcome = processes.result(call)
                table[i] = Trial(chosen[i], given, value, table[i].seconds + seconds, outcome)
                if on_trial is not None:
                    on_trial(table[i])
            # The defaults come first, so that no cut removes them.
            alive = sorted(
                (i for i in alive if table[i].outcome != DIVERGED), key=lambda i: (i > 0, sign * table[i].value, i)
            )
    searched = {name: str(found) for name, found in ranges.items()}
    winner = min(table, key=lambda trial: (trial.outcome == DIVERGED, -trial.rows, sign * trial.value))
    return Tuned(algorithm, task.name, names[0], seed, list(winner.settings), winner.value, table, searched)


class _Work(NamedTuple):
    """What all trials have in common."""

    algorithm: str
    X: Matrix
    y: Any
    task: Task
    seed: int
    metric: str
    worst: float


_Question = tuple[tuple[str, ...], int]
_Answer = tuple[float, float, str]


def _measured(work: _Work, question: _Question) -> _Answer:
    """(value, seconds, outcome) of settings on the first rows."""
    settings, rows = question
    found = Survey(work.task, sparse=issparse(work.X))
    learner = learner_for(found, spec_from(work.algorithm, settings), seed=work.seed, threads=1)
    start = time.perf_counter()
    try:
        with one_blas_thread():
            source = ArraySource(work.X[:rows], work.y[:rows])
            trace = prequential(learner, source, metrics=metrics_from([work.metric], work.task), checkpoints=())
    except FloatingPointError:
        return work.worst, time.perf_counter() - start, DIVERGED
    value = trace.last.metrics[work.metric]
    return (work.worst if math.isnan(value) else value), trace.last.seconds, FINISHED


# The rows to tune on.


def subset(source: Source, rows: int, how: str = "random", seed: int = 0) -> LabelledBlock:
    """Some rows of a source in the order of the stream: a uniformly random choice, or its prefix.

    One pass, in the memory of twice as many rows and a block; the choice does not depend on how rows come in blocks.
    """
    if rows < 1:
        raise ValueError(f"rows={rows} must be at least 1.")
    if how not in HOW:
        raise ValueError(f"how={how!r} must be one of {', '.join(HOW)}.")
    draws = np.random.default_rng(seed)
    kept: list[tuple[Matrix, Any, Any]] = []
    n, limit = 0, math.inf
    for X, y in source:
        # A row's rank is random, or its place; those with the smallest ranks stay.
        ranks = draws.random(len(y)) if how == "random" else np.arange(n, n + len(y), dtype=np.float64)
        n += len(y)
        chosen = np.flatnonzero(ranks < limit)
        kept.append((X[chosen], y[chosen], ranks[chosen]))
        if sum(len(part[1]) for part in kept) >= 2 * rows:
            kept = [_lowest(kept, rows)]
            limit = kept[0][2].max()
        if how == "prefix" and n >= rows:
            break
    if n == 0:
        raise ValueError(f"{source.name} has no rows; there is nothing to tune on.")
    X, y, _ = _lowest(kept, rows)
    return X, y


def _lowest(parts: list[tuple[Matrix, Any, Any]], rows: int) -> tuple[Matrix, Any, Any]:
    """The rows with the smallest ranks, in their order."""
    ranks = np.concatenate([part[2] for part in parts])
    chosen = np.sort(np.argsort(ranks, kind="stable")[:rows])
    blocks = [part[0] for part in parts]
    if issparse(blocks[0]):
        width = max(X.shape[1] for X in blocks)
        X = vstack([csr_array((X.data, X.indices, X.indptr), (X.shape[0], width)) for X in blocks], "csr")
    else:
        X = np.concatenate(blocks)
    return X[chosen], np.concatenate([part[1] for part in parts])[chosen], ranks[chosen]


# Configuration files.


def to_toml(tuned: Tuned, *, data: str, scale: str) -> str:
    """A configuration for `run`. `data` says in words which rows were used, `scale` how they were scaled."""
    outcomes = [trial.outcome for trial in tuned.trials]
    counts = ", ".join(f"{outcomes.count(word)} {word}" for word in (FINISHED, HALVED, DIVERGED))
    default = tuned.trials[0]
    comments = [
        f"Tuned on {' '.join(data.split())}: {tuned.metric} {tuned.value:.6g} with these settings",
        f"({default.value:.6g} with the defaults on {default.rows} rows).",
        f"{len(outcomes)} trials: {counts}. Searched:",
        *(f"    {name}: {found}" for name, found in tuned.searched.items()),
    ]
    head = {"algorithm": tuned.algorithm, "task": tuned.task, "scale": scale, "seed": str(tuned.seed)}
    lines = [f"# {comment}" for comment in comments]
    lines += [f"{key} = {_toml(value)}" for key, value in head.items()]
    lines += ["", "[set]"]
    for setting in tuned.settings:
        name, _, value = setting.partition("=")
        lines.append(f"{json.dumps(name)} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def write_config(path: str | os.PathLike[str], tuned: Tuned, *, data: str, scale: str) -> None:
    """Write what `to_toml` gives."""
    disk.write_text(path, to_toml(tuned, data=data, scale=scale))


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The keys of a configuration file that are there; "set" is a list of name=value settings for `spec_from`."""
    try:
        config = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML ({error}).") from None
    for key, value in config.items():
        if key not in _KEYS:
            raise ValueError(f"{path} has a key {key!r}; it may have {', '.join(_KEYS)}.")
        if type(value) is not _KEYS[key]:
            raise ValueError(f"{path} has {key} = {value!r}; it must be {_IN_WORDS[_KEYS[key]]}.")
    if not 0 <= config.get("seed", 0) <= LARGEST_SEED:
        raise ValueError(f"{path} has seed = {config['seed']}; it must be within 0 and {LARGEST_SEED}.")
    if "set" in config:
        config["set"] = list(_settings(config["set"]))
    return config


def _settings(table: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _settings(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}={value}"


def _toml(text: str) -> str:
    """A setting's value as TOML: numbers and truth values as they are, everything else as text."""
    if text.lower() in ("true", "false"):
        return text.lower()
    value = number_or_text(text)
    return json.dumps(value) if isinstance(value, str) else repr(value)
