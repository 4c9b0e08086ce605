"""The sections on growth: exponents, and what a billion rows and a million features cost."""

from kernelstream import ALGORITHMS

from .cases import BUDGET
from .growth import (
    BILLION,
    GROWTHS,
    MILLION,
    ROOM,
    Fit,
    billion_rows,
    bytes_words,
    fits,
    million_features,
    points,
    time_words,
)
from .measure import over
from .results import Results
from .tables import DASH, short, table


def grown(results: Results, shown: dict[str, str]) -> str:
    lines = {growth.title: fits(results, growth) for growth in GROWTHS}
    if not any(lines.values()):
        return ""
    rows = [[name, *(_exponent(lines[growth.title].get(name)) for growth in GROWTHS)] for name in ALGORITHMS]
    ranges = [
        f"{growth.title} {min(f.xs[0] for f in found.values()):,.0f} to {max(f.xs[-1] for f in found.values()):,.0f}"
        for growth in GROWTHS
        if (found := lines[growth.title])
    ]
    return "\n\n".join(
        [
            "## How cost grows",
            "Exponents of the line through cost against each factor on log-log paper: the median over turns with its\n"
            "range, then the exponent between the two largest values alone, where what does not grow weighs least.\n"
            "Cost is that of a row, with the budget full; against rows it is that of the whole stream. Ranges:\n"
            f"{'; '.join(ranges)}.",
            table(("learner", *(growth.title for growth in GROWTHS)), [row for row in rows if set(row[1:]) != {DASH}]),
            *(shown[name] for name in ("growth.png",) if name in shown),
            *_over_floors(results),
        ]
    )


def _over_floors(results: Results) -> list[str]:
    """A table for each factor: the median time over the floor at each of its values."""
    texts = []
    for growth in GROWTHS:
        found: dict[str, dict[int, str]] = {}
        for name in ALGORITHMS:
            for record in points(results, growth, name):
                if "floor" in record["seconds"]:
                    value = short(over(record, "ours", "floor").median)
                    found.setdefault(name, {})[record[growth.x]] = value + ("*" if record["disturbed"] else "")
        xs = sorted({x for row in found.values() for x in row})
        rows = [[name, *(row.get(x, DASH) for x in xs)] for name, row in found.items()]
        if rows:
            texts += [f"Time over the floor against {growth.title}:", table(("learner", *(f"{x:,}" for x in xs)), rows)]
    return texts


def _exponent(line: Fit | None) -> str:
    if line is None:
        return DASH
    e = line.exponent
    return f"{e.median:.2f} ({e.least:.2f} to {e.largest:.2f}), {line.last:.2f}"


def far(results: Results) -> str:
    texts = [*_billion(results), *_million(results)]
    title = "## A billion rows, a million features\n\nWorked out from the figures above, on one core of this machine."
    return "\n\n".join([title, *texts]) if texts else ""


def _billion(results: Results) -> list[str]:
    forecasts = billion_rows(results)
    if not forecasts:
        return []
    rows = [
        [
            f.learner,
            f"{time_words(f.seconds.median)} ({time_words(f.seconds.least)} to {time_words(f.seconds.largest)})",
            f"{f.size:,.0f}",
            bytes_words(f.bytes),
            "lines drawn on" if f.extrapolated else "cost a row",
            "yes" if f.feasible else "**no**",
        ]
        for f in forecasts
    ]
    texts = [
        f"**{BILLION:,} rows of 8 features.** Feasible means within a week and {bytes_words(ROOM)}:\n"
        f"{sum(f.feasible for f in forecasts)} of {len(forecasts)} learners are. Where memory is bounded, time is the\n"
        "cost of a row at the base point times the rows. Where it is not, the lines of cost and size against rows are\n"
        "drawn on from the longest stream that was measured, with the range of the exponents over turns: that is far,\n"
        "and says which learners are out of the question rather than how long they would take.",
        table(("learner", "time", "points or features", "model", "from", "feasible"), rows),
    ]
    reading = [f"{r['format']} {time_words(BILLION * r['reading'])}" for r in results.records("memory")]
    return [*texts, f"Reading a billion rows of 8 features takes as well: {', '.join(reading)}."] if reading else texts


def _million(results: Results) -> list[str]:
    forecasts = million_features(results)
    if not forecasts:
        return []
    rows = []
    for f in forecasts:
        e = f.sparse_exponent
        dense = [DASH, DASH] if f.dense is None else [time_words(f.dense), time_words(BILLION * f.dense)]
        rows.append(
            [
                f.learner,
                f"{f.size:,}",
                time_words(f.sparse),
                f"{e.median:.2f} ({e.least:.2f} to {e.largest:.2f})",
                time_words(BILLION * f.sparse),
                *dense,
                bytes_words(f.bytes),
                bytes_words(f.bytes * BUDGET / f.size),
            ]
        )
    head = ("learner", "points or components", "a sparse row", "exponent in the features", "a billion of them")
    head += ("a dense row *", "a billion of them", "model", f"model with {BUDGET}")
    return [
        f"**{MILLION:,} features**, 16 of them present in a sparse row. Points and frequencies are stored for every\n"
        "feature, so memory grows with features times points or components, whatever the rows are: it is what limits\n"
        "these learners first. A dense row of a million float32 numbers is 4 MB, and a billion of them are\n"
        f"{bytes_words(4.0 * MILLION * BILLION)}, which no one machine reads.",
        table(head, rows),
        f"\\* with {BUDGET} points or the papers' components, in proportion to the features, from the widest rows\n"
        "that were measured.",
    ]
