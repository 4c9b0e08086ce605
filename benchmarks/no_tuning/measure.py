"""The one loop: a peer on a set, judged; and the file in which every result is kept as soon as it is there."""

import json
import math
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernelstream import ALGORITHMS

from .errors import calibration_error, errors_of, log_loss, shares_loss
from .peers import PACKAGES, peer
from .sets import CALIBRATED, DESIGN, DRAWN, DRIFT, LATE, SETS, SHORT, Rows, rows_of

FILE = Path(__file__).parents[1] / "no_tuning.json"
FEWER = 10_000  # rows that slow peers are given
DELAYS = (1, 10, 100, 1_000)
SEEDS, LATE_SEEDS = 5, 3  # of `auto`; where labels come late
OVER_ALL, SECOND_HALF = range(2)
Record = dict[str, Any]


class Case(NamedTuple):
    """One run: which peer sees which rows. `most` rows of the set at most."""

    set: str
    peer: str
    delay: int = 0
    seed: int = 0
    most: int = 50_000


def cases() -> Iterator[Case]:
    """All that the page shows."""
    for name, chosen in SETS.items():
        slow = chosen.most if name in SHORT or chosen.in_time else FEWER
        if name in DESIGN:
            yield from (Case(name, who) for who in ("fogd tuned", "nogd tuned", "svm", "lightgbm", "sgd", "mlp"))
        yield Case(name, "river arf", most=slow if name in SHORT else FEWER)
        yield from (Case(name, who, most=slow) for who in ("arf", "srp"))
        if name in DRIFT and not chosen.regression:
            yield Case(name, "leveraging bagging")
        if chosen.in_time:
            yield Case(name, "no change")
        if name in LATE:
            yield from (Case(name, who, delay) for delay in DELAYS for who in ("no change", "arf"))
            yield from (Case(name, "auto", delay, seed) for delay in DELAYS for seed in range(LATE_SEEDS))
        if name in DRAWN:
            house = [who for who, spec in ALGORITHMS.items() if who != "auto" and chosen.task in spec.tasks]
            yield from (Case(name, who) for who in house)
        yield from (Case(name, "auto", seed=seed) for seed in range(SEEDS))


def measured(case: Case) -> Record:
    """The errors of a run (over all its rows, and over the first FEWER of them), its time on one core, and what its
    probabilities are worth.
    """
    rows = rows_of(case.set).first(case.most)
    record: Record = {"rows": len(rows.y), "features": rows.X.shape[1]}
    if case.peer in PACKAGES:
        record["version"] = version(PACKAGES[case.peer])
    run = peer(case.peer)(rows, case.delay, case.seed)
    began = time.process_time()
    try:
        answer = run()
    except FloatingPointError as error:
        return record | {"stopped": str(error)}
    record["seconds"] = round(time.process_time() - began, 4)
    record["errors"] = _errors(answer.shown, rows)
    if len(rows.y) > FEWER:
        record["fewer"] = _errors(answer.shown[:FEWER], rows.first(FEWER))
    if answer.setting:
        record["setting"] = answer.setting
    if answer.chances is not None and case.set in CALIBRATED:
        codes = np.unique(rows.y, return_inverse=True)[1]
        record["log loss"] = [log_loss(answer.chances, codes), shares_loss(codes)]
        record["calibration error"] = calibration_error(answer.chances, codes)
    return record


def _errors(shown: np.ndarray, rows: Rows) -> list[float | None]:
    return [None if math.isnan(e) else e for e in errors_of(shown, rows.y, regression=rows.regression)]


class Results:
    """All results there are, a line each in a file."""

    def __init__(self, path: Path = FILE):
        self.path = path
        self.found: dict[Case, Record] = {}
        self.read()

    def read(self) -> None:
        lines = json.loads(self.path.read_text()) if self.path.exists() else []
        self.found = {Case(**line["case"]): line["found"] for line in lines}

    def keep(self, case: Case, found: Record) -> None:
        self.read()  # another process may have kept some
        self.found[case] = found
        kept = [json.dumps({"case": one._asdict(), "found": self.found[one]}) for one in sorted(self.found)]
        self.path.write_text("[\n" + ",\n".join(kept) + "\n]\n")

    def of(self, set: str, peer: str, delay: int = 0) -> list[Record]:
        """Of each seed; the run with the most rows where there are several."""
        found = {case.seed: found for case, found in sorted(self.found.items()) if case[:3] == (set, peer, delay)}
        return list(found.values())

    def errors(self, set: str, peer: str, which: int, *, delay: int = 0, fewer: bool = False) -> list[float]:
        """Of each seed, over all rows or the second half; of all rows of the set or of the first FEWER. Infinity where
        it diverged, NaN where it showed nothing, nothing where it saw fewer rows than others.
        """
        n = max((found["rows"] for case, found in self.found.items() if case.set == set), default=0)
        found = []
        for record in self.of(set, peer, delay):
            given = record.get("errors", [math.inf] * 2)
            given = record.get("fewer", given) if fewer else given
            if fewer or record["rows"] == n:
                found.append(math.nan if given[which] is None else given[which])
        return found

    def error(self, set: str, peer: str, which: int, **rows: Any) -> float:
        """The mean over seeds; NaN where there is none."""
        return float(np.mean(self.errors(set, peer, which, **rows) or [math.nan]))

    def speed(self, set: str, peer: str) -> float:
        """Rows a second, the mean over seeds; NaN where there is none."""
        found = [record["rows"] / record["seconds"] for record in self.of(set, peer) if record.get("seconds")]
        return float(np.mean(found or [math.nan]))
