"""What came out of an item, beside what was published, with a verdict; kept as JSON."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..engine import disk
from .items import Item, Published

DEVIATIONS, RELATIVE = 3.0, 0.05
AGREES, BETTER, DIFFERS, NO_DATA, NOT_RUN, UNPUBLISHED = (
    "agrees",
    "better",
    "differs",
    "no data",
    "not run",
    "not published",
)


@dataclass
class Cell:
    """One learner on one data set: a value a run, in the unit of the paper; or why there is none (`absent`)."""

    data: str
    learner: str
    values: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    size: float = 0.0
    risks: list[float] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    swept: float | None = None
    curve: list[dict[str, float]] = field(default_factory=list)  # rows, metric, seconds, size, and risk where there is
    absent: str | None = None

    @property
    def mean(self) -> float:
        return float(np.mean(self.values)) if self.values else math.nan

    @property
    def sd(self) -> float:
        return float(np.std(self.values)) if self.values and math.isfinite(self.mean) else math.nan

    @property
    def mean_risk(self) -> float:
        return float(np.mean(self.risks)) if self.risks else math.nan

    @property
    def mean_seconds(self) -> float:
        return float(np.mean(self.seconds)) if self.seconds else math.nan


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
        """Write JSON; a run that diverged has no value in it."""
        written = asdict(self)
        for cell in written["cells"]:
            for name in ("values", "seconds", "risks"):
                cell[name] = [number if math.isfinite(number) else None for number in cell[name]]
        disk.write_text(path, json.dumps(written, indent=1, allow_nan=False))

    @classmethod
    def load(cls, path: Path) -> "Result":
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for cell in raw["cells"]:
            for name, otherwise in (("values", math.inf), ("seconds", math.nan), ("risks", math.inf)):
                cell[name] = [otherwise if number is None else number for number in cell[name]]
        cells = [Cell(**cell) for cell in raw.pop("cells")]
        return cls(**raw, cells=cells)


def verdict(item: Item, cell: Cell) -> str:
    """How a cell stands to the published one."""
    published = item.published.get((cell.data, cell.learner))
    if cell.absent is not None:
        return NO_DATA if _data_is_absent(item, cell) else NOT_RUN
    if published is None or published.value is None:
        return UNPUBLISHED
    if item.larger_is_better:  # judged by its errors: 5 % of an accuracy would forgive too much
        whole = 100.0 if item.percent else 1.0
        return judge(whole - cell.mean, cell.sd, published._replace(value=whole - published.value))
    return judge(cell.mean, cell.sd, published)


def judge(mean: float, sd: float, published: Published) -> str:
    """An error: better; within three combined standard deviations or 5 %; or neither."""
    assert published.value is not None
    gap = mean - published.value
    if not math.isfinite(gap):
        return DIFFERS
    deviation = math.hypot(sd, published.sd or 0.0)
    if abs(gap) <= max(DEVIATIONS * deviation, RELATIVE * abs(published.value)):
        return AGREES
    return BETTER if gap < 0 else DIFFERS


def _data_is_absent(item: Item, cell: Cell) -> bool:
    entrant = next((e for e in item.entrants if e.label == cell.learner), None)
    return entrant is None or entrant.absent is None


def counted(item: Item, result: Result) -> dict[str, int]:
    """How many cells of a table got each verdict; a figure has none."""
    verdicts = [verdict(item, cell) for cell in result.cells] if item.kind == "table" else []
    return {word: verdicts.count(word) for word in (AGREES, BETTER, DIFFERS, NO_DATA, NOT_RUN, UNPUBLISHED)}


def check_claim(item: Item, result: Result, claim: dict[str, Any]) -> tuple[bool | None, str]:
    """Whether a claim holds by our means (None: nothing to judge by), and on which data."""
    holds: dict[str, bool] = {}
    for data in dict.fromkeys(cell.data for cell in result.cells):
        tests = [
            *_ahead(item, result, data, claim),
            *_near(result, data, claim),
            *_smaller(result, data, claim),
            *_faster(result, data, claim),
        ]
        if tests:
            holds[data] = all(tests)
    if not holds:
        return None, "no data"
    share = sum(holds.values()) / len(holds)
    failed = [data for data, held in holds.items() if not held]
    where = f"{sum(holds.values())} of {len(holds)} data sets" + (f"; not on {', '.join(failed)}" if failed else "")
    return share >= claim.get("share", 1.0), where


def _means(result: Result, data: str, learners: Sequence[str]) -> list[float]:
    cells = [result.cell(data, learner) for learner in learners]
    return [cell.mean for cell in cells if cell is not None and cell.values]


def _ahead(item: Item, result: Result, data: str, claim: dict[str, Any]) -> list[bool]:
    if "better" not in claim:
        return []
    left, right = (_means(result, data, claim[side]) for side in ("better", "than"))
    if not left or not right:
        return []
    return [max(left) > max(right) if item.larger_is_better else min(left) < min(right)]


def _near(result: Result, data: str, claim: dict[str, Any]) -> list[bool]:
    pair = claim.get("near")
    values = [] if pair is None else _means(result, data, [pair["left"]]) + _means(result, data, [pair["right"]])
    return [abs(values[0] - values[1]) <= pair["within"]] if pair is not None and len(values) == 2 else []


def _smaller(result: Result, data: str, claim: dict[str, Any]) -> list[bool]:
    return _ratio(result, data, claim.get("smaller"), lambda cell: cell.size)


def _faster(result: Result, data: str, claim: dict[str, Any]) -> list[bool]:
    return _ratio(result, data, claim.get("faster"), lambda cell: cell.mean_seconds)


def _ratio(result: Result, data: str, pair: dict[str, Any] | None, of: Any) -> list[bool]:
    if pair is None:
        return []
    left, right = (result.cell(data, pair[side]) for side in ("left", "right"))
    if left is None or right is None or not left.values or not right.values:
        return []
    return [of(left) * pair.get("times", 1.0) <= of(right)]
