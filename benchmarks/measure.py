"""Timing in turns. What is compared is run one after the other, several times; a turn that was disturbed is rejected.

A turn begins and ends with the yardstick, which is the floor wherever there is one. When both times of it differ by
more than DISTURBED, something else used the machine meanwhile: the turn is repeated. A figure that could not be had
undisturbed is kept with what there is, and says so.

One-thread works are timed in CPU seconds of the process (all its threads): that is what they cost, and other processes
disturb it less. Whatever uses two threads or other processes is timed by the clock on the wall.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernelstream.numerics.compile import compiled

# A work is called to get ready, and gives what is timed.
Work = Callable[[], Callable[[], Any]]

DISTURBED = 0.10
# Turns are repeated up to this many times as often as asked for.
PATIENCE = 4
# A timing that is shorter is repeated until it is as long, in seconds.
SHORTEST = 0.02
# ... but getting ready may take this many times as long.
LONG = 20


class Plan(NamedTuple):
    """How much is measured: turns a figure, rows at most, points of a sweep at most."""

    turns: int = 5
    most_rows: int = 100_000
    points: int = 99
    shortest: float = SHORTEST


QUICK = Plan(turns=2, most_rows=1500, points=2, shortest=0.002)


class Turns(NamedTuple):
    """Seconds of each work, a list each; turns that were rejected; whether all that were kept are sound."""

    seconds: dict[str, list[float]]
    rejected: int
    disturbed: bool

    def as_json(self) -> dict[str, Any]:
        seconds = {name: [float(f"{t:.4g}") for t in times] for name, times in self.seconds.items()}
        return {"seconds": seconds, "rejected": self.rejected, "disturbed": self.disturbed}


class Range(NamedTuple):
    """Median, least and largest of some numbers."""

    median: float
    least: float
    largest: float


def range_of(values: list[float]) -> Range:
    return Range(statistics.median(values), min(values), max(values))


def over(record: dict[str, Any], numerator: str, denominator: str) -> Range:
    """The ratio of two works of a record, turn by turn, per row where they had different numbers of rows."""
    rows = record.get("rows_of", {})
    scale = rows.get(denominator, 1) / rows.get(numerator, 1) if rows else 1.0
    pairs = zip(record["seconds"][numerator], record["seconds"][denominator], strict=True)
    return range_of([scale * a / b for a, b in pairs])


@compiled
def _sum_of_squares(values, times):
    total = 0.0
    for _ in range(times):
        for j in range(values.shape[0]):
            total += values[j] * values[j]
    return total


def _yardstick() -> Callable[[], Any]:
    values = np.ones(4096)
    return lambda: _sum_of_squares(values, 2000)


def in_turns(
    plan: Plan,
    works: dict[str, Work],
    *,
    yardstick: str | None = None,
    clock: Callable[[], float] = time.process_time,
) -> Turns:
    """Time the works in turns. `yardstick` names the one that stands before and after; None takes a fixed loop."""
    works = dict(works)
    if yardstick is None:
        yardstick = "yardstick"
        works[yardstick] = _yardstick
    others = [name for name in works if name != yardstick]
    counts = {}
    for name, work in works.items():
        once = _seconds(work, 1, clock)  # compiles, fills the caches
        start = clock()
        if once < LONG * plan.shortest:
            once = _seconds(work, 1, clock)
        ready = clock() - start - once  # what getting ready takes is paid in every run
        counts[name] = max(1, round(min(plan.shortest / max(once, 1e-7), LONG * plan.shortest / max(ready, 1e-7))))
    attempts: list[tuple[float, dict[str, float]]] = []
    while sum(gap <= DISTURBED for gap, _ in attempts) < plan.turns and len(attempts) < PATIENCE * plan.turns:
        before = _seconds(works[yardstick], counts[yardstick], clock)
        times = {name: _seconds(works[name], counts[name], clock) for name in others}
        after = _seconds(works[yardstick], counts[yardstick], clock)
        times[yardstick] = (before + after) / 2
        attempts.append((max(before, after) / min(before, after) - 1, times))
    # The undisturbed ones as they came; then, where they are too few, the least disturbed.
    kept = sorted(attempts, key=lambda attempt: max(attempt[0], DISTURBED))[: plan.turns]
    seconds = {name: [times[name] for _, times in kept] for name in works}
    rejected = sum(gap > DISTURBED for gap, _ in attempts)
    return Turns(seconds, rejected, len(attempts) - rejected < plan.turns)


def _seconds(work: Work, count: int, clock: Callable[[], float]) -> float:
    """Mean seconds of `count` runs; getting ready is not timed."""
    total = 0.0
    for _ in range(count):
        timed = work()
        start = clock()
        timed()
        total += clock() - start
    return total / count
