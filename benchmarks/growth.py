"""How cost grows: lines on log-log paper through the measured points, and what follows for a billion rows."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kernelstream import ALGORITHMS

from .measure import Range, range_of
from .results import Record, Results

BILLION, MILLION = 10**9, 10**6
DAY = 86_400.0
ROOM = 16 * 2**30  # bytes of memory of a machine on a desk
SQUARE = ("polk", "npbsgd")  # keep a factor of their Gram matrix, without a bound


class Fit(NamedTuple):
    """cost = factor * x^exponent. `exponent` is the median over the turns with their range; `last` that between the two
    largest x, where what does not grow weighs least.
    """

    exponent: Range
    factor: float
    last: float
    xs: tuple[float, ...]

    def at(self, x: float) -> float:
        return float(self.factor * x**self.exponent.median)


def fit(xs: Sequence[float], ys: Sequence[Sequence[float]]) -> Fit | None:
    """Least squares in logarithms: ys[i] are the values at xs[i], one a turn."""
    if len(set(xs)) < 2:
        return None
    logs = np.log(np.asarray(xs, float))
    turns = np.log(np.array([list(y) for y in ys], float)).T
    slopes = [float(np.polyfit(logs, turn, 1)[0]) for turn in turns]
    middle = np.log([np.median(y) for y in ys])
    slope = float(np.median(slopes))
    order = np.argsort(logs)[-2:]
    last = float(np.diff(middle[order])[0] / np.diff(logs[order])[0])
    return Fit(range_of(slopes), math.exp(float(np.mean(middle - slope * logs))), last, tuple(sorted(xs)))


def per_row(record: Record) -> list[float]:
    return [seconds / record["rows"] for seconds in record["seconds"]["ours"]]


def over_floor(record: Record) -> list[float]:
    pairs = zip(record["seconds"]["ours"], record["seconds"]["floor"], strict=True)
    return [ours / floor for ours, floor in pairs]


def whole(record: Record) -> list[float]:
    return list(record["seconds"]["ours"])


class Growth(NamedTuple):
    """A factor that cost may grow with: where its records are and what its x is."""

    title: str
    part: str
    x: str
    label: str
    cost: Callable[[Record], list[float]] = per_row
    kept: Callable[[Record], bool] = lambda record: True


GROWTHS = (
    Growth("rows of a stream", "rows", "rows", "rows (seconds in all)", whole),
    Growth("budget", "budgets", "budget", "budget", kept=lambda r: r["full"]),
    Growth("components", "components", "n_components", "components"),
    Growth("dimension, dense", "dimension", "d", "features"),
    Growth("classes", "classes", "K", "outputs"),
    Growth("features present, of 10,000", "nonzeros", "present", "features present", kept=lambda r: r["d"] == 10_000),
    Growth("features, 16 present", "nonzeros", "d", "features in all", kept=lambda r: r["present"] == 16),
)


def points(results: Results, growth: Growth, learner: str) -> list[Record]:
    return [record for record in results.records(growth.part, learner=learner) if growth.kept(record)]


def fits(results: Results, growth: Growth) -> dict[str, Fit]:
    """The line of every learner that was measured at two points or more."""
    found = {}
    for name in ALGORITHMS:
        records = points(results, growth, name)
        line = fit([r[growth.x] for r in records], [growth.cost(r) for r in records])
        if line is not None:
            found[name] = line
    return found


class Forecast(NamedTuple):
    """What a stream costs: seconds with their range, bytes of the model, and how it was worked out."""

    learner: str
    seconds: Range
    size: float
    bytes: float
    extrapolated: bool

    @property
    def feasible(self) -> bool:
        return self.seconds.median <= 7 * DAY and self.bytes <= ROOM


def billion_rows(results: Results) -> list[Forecast]:
    """Every learner on a billion rows like cod-rna's, quickest first: cost a row times rows where memory is bounded;
    where it is not, the lines of cost and size against rows, drawn on.
    """
    forecasts = []
    for name, spec in ALGORITHMS.items():
        record = results.one(name)
        if record is None:
            continue
        if spec.bounded:
            seconds = range_of([BILLION * s for s in per_row(record)])
            forecasts.append(Forecast(name, seconds, record["size"], record["bytes"], False))
            continue
        records = results.records("rows", learner=name)
        xs = [r["rows"] for r in records]
        cost = fit(xs, [whole(r) for r in records])
        if cost is None:
            continue
        longest = records[-1]
        top = math.log(BILLION / longest["rows"])
        reach = [float(np.median(whole(longest)) * math.exp(slope * top)) for slope in cost.exponent]
        sizes = fit(xs, [[r["size"]] for r in records])
        assert sizes is not None
        size = sizes.at(BILLION)
        room = longest["bytes"] * (size / longest["size"]) ** (2 if name in SQUARE else 1)
        forecasts.append(Forecast(name, Range(*reach), size, room, True))
    return sorted(forecasts, key=lambda forecast: forecast.seconds.median)


class WideForecast(NamedTuple):
    """A million features: seconds a row and bytes of the model, sparse (16 present) and dense."""

    learner: str
    size: int
    sparse: float
    sparse_exponent: Range
    dense: float | None
    bytes: float


def million_features(results: Results) -> list[WideForecast]:
    """Sparse rows and memory from their lines against the number of features; dense rows in proportion to it, from the
    widest that were measured (their line bends where the dictionary leaves the caches).
    """
    sparse, dense = (next(g for g in GROWTHS if g.title == t) for t in ("features, 16 present", "dimension, dense"))
    forecasts = []
    for name, line in fits(results, sparse).items():
        records = points(results, sparse, name)
        memory = fit([r["d"] for r in records], [[r["bytes"]] for r in records])
        wide = max(points(results, dense, name), key=lambda r: r["d"], default=None)
        drawn = None if wide is None else float(np.median(per_row(wide))) * MILLION / wide["d"]
        assert memory is not None
        size = int(records[0].get("budget") or records[0]["n_components"])
        forecasts.append(WideForecast(name, size, line.at(MILLION), line.exponent, drawn, memory.at(MILLION)))
    return sorted(forecasts, key=lambda forecast: forecast.sparse)


def time_words(seconds: float) -> str:
    """Seconds as people say them."""
    for unit, length in (("years", 365 * DAY), ("days", DAY), ("hours", 3600.0), ("minutes", 60.0), ("s", 1.0)):
        if seconds >= (2 if unit != "s" else 1) * length:
            return f"{seconds / length:,.1f} {unit}" if seconds < 100 * length else f"{seconds / length:,.0f} {unit}"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} us"


def bytes_words(count: float) -> str:
    for unit, length in (("PB", 2**50), ("TB", 2**40), ("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if count >= length:
            return f"{count / length:.{1 if count < 100 * length else 0}f} {unit}"
    return f"{count:.0f} B"
