"""What is wanted, and whether the results hold it; where not, by how much and why."""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kernelstream import ALGORITHMS

from .growth import GROWTHS, fits, over_floor
from .measure import Range, over, range_of
from .results import Record, Results
from .tables import short, times, with_range

WITHIN = 2.0
ONE_ROW = {"partial_fit": 12.0, "predict": 12.0, "learn_one": 5.0, "scores_one": 5.0}  # microseconds
BEYOND = " beyond its share of a block"
FOLLOWING = 10.0  # of `learn_one` and `scores_one` where scaling follows the rows
NEAR, NEAREST = 1.5, ("fogd", "rrf", "rbp", "avm", "bogd")

# Where the time goes of learners that are farther from their floor than wanted; shown only where they are.
WHY = {
    "tvm": "a dual variable is moved by what the one before left: its new value takes as long to find as its axpy, "
    "and nothing else can be done meanwhile",
    "lasvm": "what is let go of, what makes room and the pair to begin with are a pass each beside those of the steps",
    "bpa-nn": "a move changes some five points' lists of neighbours, one by one",
    "bogd": "a move rescales the sizes of all coefficients and clips them, two passes where the floor has one",
    "bogd++": "a move finds all probabilities, in about nine passes",
    "bsgd-m": "a partner's look-up takes a square root, a division and two tables",
    "dualsgd": "the points that leave are found one by one, a pass each, and projected one by one",
    "nogd": "products that do not depend on the block are slower than BLAS",
    "fogd": "products that do not depend on the block are slower than BLAS",
}


FROM_TEXT = ": one thread alone reads the first block, and decomposes NOGD's Gram matrix"
COMPILED = {
    "cold": ": most of it goes into compiling the loop over the rows and the products with the map",
    "warm": "",
}
OTHERWISE = "what a row costs whatever the size: calls through pointers, the loss, the step"


class Verdict(NamedTuple):
    """holds is None where nothing was measured; `misses` names what does not hold, by how much, and why."""

    target: str
    measured: str
    holds: bool | None
    misses: tuple[str, ...] = ()


def _label(record: Record) -> str:
    return f"{record['learner']} ({record['data']})"


def _budget(record: Record) -> str:
    return f"{record['learner']}, B = {record['budget']:,}"


def _each(
    target: str,
    records: Iterable[Record],
    ratio: tuple[str, str],
    most: float,
    label: Callable[[Record], str] = _label,
) -> Verdict:
    """A target that every record is to hold: a ratio of at most `most`."""
    found = {label(r): (r, over(r, *ratio)) for r in records}
    if not found:
        return Verdict(target, "not measured", None)
    late = sorted(((v.median, name) for name, (_, v) in found.items() if v.median > most), reverse=True)
    misses = tuple(_missed(name, found[name], most, "floor" in ratio) for _, name in late)
    best, worst = (f(v.median for _, v in found.values()) for f in (min, max))
    measured = f"{len(found) - len(late)} of {len(found)}; {short(best)}x to {short(worst)}x"
    return Verdict(target, measured, not late, misses)


def _missed(label: str, found: tuple[Record, Range], most: float, of_floor: bool) -> str:
    record, value = found
    why = WHY.get(record["learner"], OTHERWISE) if of_floor else ""
    by = f"{100 * (value.median / most - 1):.0f} % above" if value.median < 3 * most else f"{value.median / most:.0f}x"
    return f"{label}: {times(value)}, {by}{f': {why}' if why else ''}{_disturbed(record)}"


def _disturbed(record: Record) -> str:
    return " (disturbed)" if record.get("disturbed") else ""


def _at_least(target: str, record: Record | None, ratio: tuple[str, str], least: float, why: str = "") -> Verdict:
    if record is None:
        return Verdict(target, "not measured", None)
    value = over(record, *ratio)
    equal = record.get("equal", True)
    misses = () if value.median >= least else (f"{100 * (1 - value.median / least):.0f} % short{why}",)
    return Verdict(
        target,
        times(value) + _disturbed(record),
        value.median >= least and equal,
        misses + (() if equal else ("the results differ",)),
    )


def at_base(results: Results) -> list[Record]:
    return [record for name in ALGORITHMS for record in results.records(name)]


def verdicts(results: Results) -> list[Verdict]:
    floor = ("ours", "floor")
    low = [r for r in results.records("dimension") if r["d"] <= 128]
    nearest = [r for r in at_base(results) if r["learner"] in NEAREST]
    found = [
        _each(
            "every learner within 2x of its floor, cod-rna, d = 8, the papers' sizes", at_base(results), floor, WITHIN
        ),
        _each("every learner within 2x of its floor, d = 128, budget full", results.records("wide"), floor, WITHIN),
        _each("one learner of each kind within 2x, d = 8, 32, 128", low, floor, WITHIN),
        _each("every budget of 100 to 4,000 within 2x, d = 16", results.records("budgets"), floor, WITHIN, _budget),
        _each(f"{', '.join(NEAREST)} within 1.5x at the papers' sizes", nearest, floor, NEAR),
        _each("float64: every learner within 2x of its floor", results.records("precision"), floor, WITHIN),
        _each("sparse rows within 2x of their floor, a9a and w8a", results.records("sparse"), floor, WITHIN),
        *_in_proportion(results),
        _each(
            "covtype, 7 classes, at most 2.5x one class against the rest",
            results.records("covtype"),
            ("ours", "binary"),
            2.5,
        ),
    ]
    for part, why in (("threads", ""), ("files", FROM_TEXT)):
        for record in results.records(part):
            target = f"two threads at least 1.6x, equal bits: {_label(record)}"
            found.append(_at_least(target, record, ("one", "two"), 1.6, why))
    for what in ("row orders", "tuning trials"):
        record = results.one("processes", what=what)
        found.append(_at_least(f"{what} in two processes at least 1.8x", record, ("one", "two"), 1.8))
    for record in results.records("river"):
        target = f"a dictionary at a time at least as fast as River's LogisticRegression: {record['learner']}"
        found.append(_at_least(target, record, ("logistic", "ours"), 1.0))
    return [*found, _structured(results), *_calls(results), *_started(results)]


def _in_proportion(results: Results) -> list[Verdict]:
    """A row's cost grows no faster than its features present; with those that are not it grows only as its floor does,
    which reads the same numbers from ever more distant caches.
    """
    present, absent = (
        next(g for g in GROWTHS if g.title == t) for t in ("features present, of 10,000", "features, 16 present")
    )
    found = []
    for growth, most, target in (
        (present, 1.05, "a sparse row costs in proportion to its features present: exponent at most 1.05"),
        (
            absent._replace(cost=over_floor),
            0.1,
            "... and not by those that are not: exponent of the time over its floor at most 0.1",
        ),
    ):
        lines = fits(results, growth)
        shown = ", ".join(f"{name} {line.exponent.median:.2f}" for name, line in lines.items())
        steep = {name: line.exponent for name, line in lines.items() if line.exponent.median > most}
        misses = tuple(
            f"{name}: {e.median:.3f} ({e.least:.3f} to {e.largest:.3f}), {e.median - most:.3f} above"
            for name, e in steep.items()
        )
        found.append(Verdict(target, shown or "not measured", not steep if lines else None, misses))
    return found


def _structured(results: Results) -> Verdict:
    target = "a structured map on mnist at least 3x the plain one, at equal error"
    record = results.one("structured")
    found = _at_least(target, record, ("plain", "structured"), 3.0)
    if found.holds is None or record is None:
        return found
    plain, other = record["errors"]["plain"], record["errors"]["structured"]
    noise = 2 * math.sqrt(2 * plain * (1 - plain) / record["rows"])  # two standard errors of a difference
    measured = f"{found.measured}; error {100 * other:.2f} % against {100 * plain:.2f} %"
    worse = () if other <= plain + noise else ("its error is larger by more than two standard errors",)
    return found._replace(measured=measured, holds=bool(found.holds) and not worse, misses=found.misses + worse)


def microseconds(record: Record, call: str) -> Range:
    return range_of([1e6 * s / record["rows_of"][call] for s in record["seconds"][call]])


def _calls(results: Results) -> list[Verdict]:
    found = []
    for call, most in ONE_ROW.items():
        beyond = call.endswith("_one")
        target = f"{call} of one row at most {most:g} us" + BEYOND * beyond
        records = [r for r in results.records("calls") if call in r["seconds"]]
        each = {r["learner"]: (microseconds(r, call), microseconds(r, "all rows").median * beyond) for r in records}
        shown = ", ".join(f"{name} {with_range(us, 'us', 1)}" for name, (us, _) in each.items())
        over = {name: us.median - share - most for name, (us, share) in each.items()}
        slow = tuple(f"{name}: {us:.1f} us above" for name, us in over.items() if us > 0)
        found.append(Verdict(target, shown or "not measured", not slow if each else None, slow))
    for record in results.records("other_rows"):
        for call in (call for call in ONE_ROW if call in record["seconds"]):
            beyond = call.endswith("_one")
            most = FOLLOWING if beyond and "online" in record["what"] else ONE_ROW[call]
            target = f"{call} of one row ({record['what']}) at most {most:g} us" + BEYOND * beyond
            us = microseconds(record, call)
            over = us.median - microseconds(record, "all rows").median * beyond - most
            slow = (f"{record['learner']}: {over:.1f} us above",) if over > 0 else ()
            found.append(Verdict(target, f"{record['learner']} {with_range(us, 'us', 1)}", not slow, slow))
    return [
        *found,
        _each("predict_learn at most 1.1x partial_fit", results.records("calls"), ("predict_learn", "all rows"), 1.1),
    ]


def _started(results: Results) -> list[Verdict]:
    found = []
    record = results.one("imports")
    if record is not None:
        value = over(record, "ours", "theirs")
        found.append(Verdict("import at most 1.5x that of numba and scikit-learn", times(value), value.median <= 1.5))
    record = results.one("command")
    if record is not None:
        for kind, most in (("cold", 5.0), ("warm", 2.5)):
            value = range_of(record["seconds"][kind])
            target = f"`kernelstream run digits`, {kind} compile cache, under {most:g} s"
            late = () if value.median < most else (f"{value.median - most:.2f} s above{COMPILED[kind]}",)
            found.append(Verdict(target, with_range(value, "s"), not late, late))
    for record in results.records("memory"):
        target = f"{record['rows']:,} rows from {record['format']} in less than 300 MB above the imports"
        found.append(Verdict(target, f"{record['megabytes']:.0f} MB", record["megabytes"] < 300))
    return found
