"""What came out of an item, beside what was published, with a verdict; kept as JSON."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..engine import disk
from .items import Item, Published, find

DEVIATIONS, RELATIVE = 3.0, 0.05
AGREES, BETTER, DIFFERS, NO_DATA, NOT_RUN, UNPUBLISHED = (
    "agrees",
    "better",
    "differs",
    "no data",
    "not run",
    "not published",
)
VERDICTS = (AGREES, BETTER, DIFFERS, NO_DATA, NOT_RUN, UNPUBLISHED)
JUDGED = (AGREES, BETTER, DIFFERS)


@dataclass
class Cell:
    """One learner on one data set: a value a run, in the unit of the paper; or why there is none (`absent`)."""

    data: str
    learner: str
    values: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    test_seconds: list[float] = field(default_factory=list)  # of predicting, where there are test rows
    size: float = 0.0
    risks: list[float] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    swept: float | None = None
    curve: list[dict[str, float]] = field(default_factory=list)  # rows, metric, seconds, size, and risk where there is
    absent: str | None = None
    kept: dict[str, float] = field(default_factory=dict)  # of runs whose values were not: mean, sd, seconds, risk

    @property
    def ran(self) -> bool:
        return bool(self.values or self.kept)

    @property
    def mean(self) -> float:
        return self._mean("mean", self.values)

    @property
    def sd(self) -> float:
        if not math.isfinite(self.mean):
            return math.nan
        return float(np.std(self.values, ddof=min(1, len(self.values) - 1))) if self.values else self.kept["sd"]

    @property
    def mean_risk(self) -> float:
        return self._mean("risk", self.risks)

    @property
    def mean_seconds(self) -> float:
        return self._mean("seconds", self.seconds)

    @property
    def median_test_seconds(self) -> float:
        """The median: a process's first prediction loads what the others find."""
        return float(np.median(self.test_seconds)) if self.test_seconds else math.nan

    def _mean(self, name: str, values: list[float]) -> float:
        return float(np.mean(values)) if values else self.kept.get(name, math.nan)


@dataclass
class Result:
    """An item that was run."""

    path: str
    runs: int
    seconds: float
    cells: list[Cell]

    def cell(self, data: str, learner: str) -> Cell | None:
        return next((c for c in self.cells if (c.data, c.learner) == (data, learner)), None)

    def save(self, path: Path) -> None:
        """Write JSON, a line a cell; a run that diverged has no value in it."""
        written = asdict(self)
        for cell in written["cells"]:
            for name in ("values", "seconds", "test_seconds", "risks"):
                cell[name] = [number if math.isfinite(number) else None for number in cell[name]]
            cell["kept"] = {name: number for name, number in cell["kept"].items() if math.isfinite(number)}
        lines = ",\n".join(json.dumps(cell, allow_nan=False) for cell in written.pop("cells"))
        head = json.dumps(written, allow_nan=False)
        disk.write_text(path, f'{head[:-1]}, "cells": [\n{lines}\n]}}\n')

    @classmethod
    def load(cls, path: Path) -> "Result":
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for cell in raw["cells"]:
            for name in ("values", "risks"):
                cell[name] = [math.inf if number is None else number for number in cell[name]]
            for name in ("seconds", "test_seconds"):
                cell[name] = [math.nan if number is None else number for number in cell.get(name, [])]
        cells = [Cell(**cell) for cell in raw.pop("cells")]
        return cls(**raw, cells=cells)


def verdict(item: Item, cell: Cell, *, deviations: bool = True) -> str:
    """How a cell stands to the published one; without `deviations`, by the 5 % alone."""
    published = item.published.get((cell.data, cell.learner))
    if published is None or published.value is None:
        return UNPUBLISHED
    if cell.absent is not None:
        return NO_DATA if _data_is_absent(item, cell) else NOT_RUN
    sd, published = (cell.sd, published) if deviations else (0.0, published._replace(sd=None))
    if item.larger_is_better:  # judged by its errors: 5 % of an accuracy would forgive too much
        whole = 100.0 if item.percent else 1.0
        return judge(whole - cell.mean, sd, published._replace(value=whole - (published.value or 0.0)))
    return judge(cell.mean, sd, published)


def judge(mean: float, sd: float, published: Published) -> str:
    """An error agrees within three combined deviations or 5 %, on either side; else it is better, or differs."""
    assert published.value is not None
    gap = mean - published.value
    if not math.isfinite(gap):
        return DIFFERS
    if abs(gap) <= max(DEVIATIONS * math.hypot(sd, published.sd or 0.0), RELATIVE * abs(published.value)):
        return AGREES
    return BETTER if gap < 0 else DIFFERS


def _data_is_absent(item: Item, cell: Cell) -> bool:
    entrant = next((e for e in item.entrants if e.label == cell.learner), None)
    return entrant is None or entrant.absent is None


def stands_elsewhere(item: Item, cell: Cell) -> bool:
    """Whether another paper's table has the same cell, which is counted there."""
    return bool(item.stands_in) and (cell.data, cell.learner) in find(item.stands_in).published


def counted(item: Item, result: Result, *, seen: bool = False, deviations: bool = True) -> dict[str, int]:
    """How many cells of a table got each verdict; a figure has none.

    A cell that stands in two papers counts once. With `seen` only those whose settings were chosen after a look at
    them; without `deviations` by the 5 % alone.
    """
    verdicts = [
        verdict(item, cell, deviations=deviations)
        for cell in (result.cells if item.kind == "table" else [])
        if not stands_elsewhere(item, cell) and (not seen or (cell.data, cell.learner) in item.seen)
    ]
    return {word: verdicts.count(word) for word in VERDICTS}
