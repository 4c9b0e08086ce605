"""The page, and the table at the head of README.md, from the results that there are."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kernelstream import ALGORITHMS

from ..tables import DASH, table
from .measure import DELAYS, FEWER, LATE_SEEDS, OVER_ALL, SECOND_HALF, Results
from .peers import BLOCK, FOLDED, PACKAGES, RIVER_TREES, SAMPLED, SETTINGS, TREES
from .picture import write_picture
from .sets import CALIBRATED, DESIGN, DRAWN, DRIFT, LATE, MOST, SETS, SHORT, shown

ROOT = Path(__file__).parents[2]
PAGE, README, PICTURE = ROOT / "docs" / "no-tuning.md", ROOT / "README.md", "no-tuning.png"
BEGIN, END = "<!-- no tuning begins -->", "<!-- no tuning ends -->"
DESIGNS = "some 150"  # compared on the data sets of the first table before one was kept
NAMES = {
    "auto": "`auto`",
    "fogd tuned": f"FOGD, best of {SETTINGS} settings",
    "nogd tuned": f"NOGD, best of {SETTINGS} settings",
    "svm": "SVM",
    "lightgbm": "LightGBM",
    "sgd": f"scikit-learn's RBFSampler({SAMPLED:,}) + SGD",
    "mlp": "scikit-learn's MLP",
    "srp": f"CapyMOA's streaming random patches of {TREES}",
    "arf": f"CapyMOA's adaptive random forest of {TREES}",
    "leveraging bagging": f"CapyMOA's leveraging bagging of {TREES}",
    "river arf": f"River's adaptive random forest of {RIVER_TREES}",
    "no change": "no change",
}

HEAD = f"""# Without tuning

What people get who set nothing: raw rows, one pass, every row predicted before it is learned. Written by
`python -m benchmarks.no_tuning` from benchmarks/no_tuning.json. Errors are mistake rates, or for regressions squared
error over the variance of the targets, **over all rows / over the second half**. `auto` is the mean of several seeds,
with the standard deviation of its error over all rows; the others are one run on the very same rows. Rows/s are rows a
second of processor time in one thread, and count all that `auto` settles; those of River and CapyMOA are of an Intel
Xeon, all others of an AMD EPYC, so that ratios to these two tell little within a factor of 2. *No change* repeats the
newest label that is known: where it is good, labels are mostly copied, and an error means something beside it only.

**These figures of `auto` are optimistic**: {DESIGNS} designs were compared on the data sets of the first table before
one was kept.
"""

FIRST = f"""## Twenty data sets

At most {MOST:,} rows, in one random order or in time. *Sketch* is the design that `auto` began from. FOGD (400
components) and NOGD (400 points) have the best of {SETTINGS} settings of width and step **in hindsight**, on features
(and targets) that are standardised by all rows. The SVM and LightGBM learn the first half and are judged on the second:
the SVM all of it, standardised, with width and C by three folds of at most {FOLDED:,} of its rows; LightGBM all of it,
with its defaults. On streams in time order a batch model that stops learning at half time is no yardstick.
airlines-nyc2013 stands in for the papers' airlines of 2008, which cannot be had here: the same eight variables, of
departures from New York in 2013.
"""

STREAMS = f"""## Beside the learners of streams

The first {FEWER:,} rows. CapyMOA's adaptive random forest and streaming random patches (SOKNL for regressions) have
{TREES} members, River's forest {RIVER_TREES} trees (of regressions behind its `StandardScaler`); scikit-learn's
learn {BLOCK} rows at a time, standardised as they come (targets by the first {BLOCK}); all else is their default.
"""

LATE_WORDS = f"""## Labels that come late

The label of row t is learned after row t + delay has been predicted (`kernelstream run --delay`). The forest is
CapyMOA's, of {TREES} adaptive trees. `auto` is the mean of {LATE_SEEDS} seeds. Before the first label everybody
shows the smallest class.
"""

DRIFT_WORDS = f"""## Drift

{MOST:,} rows. *sea*: River's four concepts one after the other, one label in ten wrong. *hyperplane*: `kernelstream run
hyperplane`, a plane that turns half around, one label in twenty wrong. *led*: River's digits with 17 features that tell
nothing; each quarter two more features change places. River's forest has the first {FEWER:,} rows; what others err on
these stands in brackets.
"""

CALIBRATION = """## Probabilities

Of `auto`, each from before its row was learned. Calibration error: the distance between the probability of the
likeliest class and how often it came, in ten bins of equal width, weighted by rows. *Shares* is the log loss of knowing
how frequent the classes are.
"""

DRAWN_WORDS = f"""## Error and speed

![Error against rows a second]({PICTURE})

Every learner of this library with its defaults (but for `auto` on features, and targets, that are scaled as they come),
and peers as above, on all rows: errors over all rows, rows/s.
"""


def write(results: Results) -> None:
    write_picture(results, PAGE.parent / PICTURE)
    parts = [HEAD, *_twenty(results), *_streams(results), *_late(results), *_drift(results), *_calibration(results)]
    PAGE.write_text("\n".join([*parts, *_drawn(results), *_versions(results)]))
    head, rest = README.read_text().split(BEGIN)
    README.write_text(f"{head}{BEGIN}\n{_short_table(results)}\n{END}{rest.split(END)[1]}")


def said(value: float) -> str:
    if np.isnan(value):
        return DASH
    if value > 10.0:
        return "diverged"
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}"


def both(results: Results, set: str, peer: str, **which: Any) -> str:
    values = [results.error(set, peer, one, **which) for one in (OVER_ALL, SECOND_HALF)]
    return DASH if np.isnan(values).all() else " / ".join(map(said, values))


def rate(value: float) -> str:
    return DASH if np.isnan(value) else f"{value:,.0f}"


def _mean_ratio(pairs: Iterable[tuple[float, float]]) -> str:
    """The geometric mean of the ratios that are known, in words."""
    logs = np.array([np.log(a / b) for a, b in pairs])
    logs = logs[np.isfinite(logs)]
    return f"{np.exp(logs.mean()):.3f} (geometric mean of {len(logs)})" if len(logs) else DASH


def _twenty(results: Results) -> list[str]:
    rows = []
    for name, chosen in DESIGN.items():
        errors = results.errors(name, "auto", OVER_ALL)
        deviation = np.std(errors, ddof=1) if len(errors) > 1 else np.nan
        rows.append(
            [
                shown(name),
                _shape(results, name),
                f"**{both(results, name, 'auto')}** ({said(float(deviation))})",
                rate(results.speed(name, "auto")),
                " / ".join(map(said, chosen.sketch)),
                *(both(results, name, peer) for peer in ("fogd tuned", "nogd tuned")),
                *(said(results.error(name, peer, SECOND_HALF)) for peer in ("svm", "lightgbm")),
                both(results, name, "no change"),
            ]
        )
    head = ("data", "rows x features", "auto", "rows/s", "sketch", "FOGD tuned", "NOGD tuned")
    parts = [FIRST, table([*head, "SVM, second half", "LightGBM, second half", "no change"], rows), ""]

    def mine(name: str, which: int) -> float:
        return results.error(name, "auto", which)

    def least(name: str, which: int, *peers: str) -> float:
        return float(np.minimum.reduce([results.error(name, peer, which) for peer in peers]))

    for which, words in enumerate(("over all rows", "over the second half")):
        ratio = _mean_ratio((mine(name, which), chosen.sketch[which]) for name, chosen in DESIGN.items())
        parts.append(f"- `auto` over sketch, {words}: {ratio}.")
    still = [name for name in DESIGN if not SETS[name].in_time]
    ratio = _mean_ratio((mine(name, 1), least(name, 1, "svm", "lightgbm")) for name in still)
    parts.append(f"- `auto` over the better of SVM and LightGBM, second half, sets in no order: {ratio}.")
    parts.append(_beaten(results, [(name, {}) for name in DESIGN], "fogd tuned", "nogd tuned", "no change"))
    return [*parts, ""]


def _shape(results: Results, name: str) -> str:
    found = results.of(name, "auto") or results.of(name, "lightgbm")
    return f"{found[0]['rows']:,} x {found[0]['features']}" if found else DASH


def _streams(results: Results) -> list[str]:
    peers = ("sgd", "mlp", "river arf", "arf", "srp")

    def cell(name: str, peer: str) -> str:
        value, rows = both(results, name, peer, fewer=True), rate(results.speed(name, peer))
        return value if value == DASH else f"{value} ({rows})"

    rows = [
        [shown(name), *(cell(name, peer) for peer in ("auto", *peers)), both(results, name, "no change", fewer=True)]
        for name in DESIGN
    ]
    head = ["data", *(f"{NAMES[peer]} (rows/s)" for peer in ("auto", *peers)), "no change"]
    faster = []
    for peer in peers:
        ratios = [results.speed(name, "auto") / results.speed(name, peer) for name in DESIGN]
        if not np.isnan(ratios).all():
            faster.append(f"{NAMES[peer]}: {np.nanmin(ratios):,.0f} to {np.nanmax(ratios):,.0f}")
    return [
        STREAMS,
        table(head, rows),
        "",
        _beaten(results, [(name, {"fewer": True}) for name in DESIGN], *peers, "no change"),
        f"- Rows/s of `auto` over theirs. {'; '.join(faster)}.",
        "",
    ]


def _beaten(results: Results, where: list[tuple[str, dict[str, Any]]], *peers: str) -> str:
    """Where `auto` errs as often as one of these peers or more, over all rows."""
    named = []
    for name, rows in where:
        mine = results.error(name, "auto", OVER_ALL, **rows)
        others = [peer for peer in peers if results.error(name, peer, OVER_ALL, **rows) <= mine]
        late = f", delay {rows['delay']:,}" if "delay" in rows else ""
        named += [f"{shown(name)}{late} ({', '.join(NAMES[peer] for peer in others)})"] if others else []
    return f"- `auto` is not below all of them over all rows: {'; '.join(named) or 'nowhere'}."


def _late(results: Results) -> list[str]:
    peers = ("auto", "arf", "no change")
    where = [(name, {"delay": delay}) for name in LATE for delay in (0, *DELAYS)]
    rows = [
        [name, f"{late['delay']:,}", *(both(results, name, peer, **late) for peer in peers)] for name, late in where
    ]
    parts = [LATE_WORDS, table(["data", "delay", "auto", "forest", "no change"], rows), ""]
    return [*parts, _beaten(results, where, *peers[1:]), ""]


def _drift(results: Results) -> list[str]:
    peers = ("arf", "srp", "leveraging bagging", "no change")

    def cell(name: str, peer: str) -> str:
        value, few = both(results, name, peer), results.error(name, peer, OVER_ALL, fewer=True)
        return value if value == DASH else f"{value} [{said(few)}]"

    rows = [
        [
            shown(name),
            *(cell(name, peer) for peer in ("auto", *peers)),
            said(results.error(name, "river arf", OVER_ALL, fewer=True)),
        ]
        for name in DRIFT
    ]
    head = ["data", *(NAMES[peer] for peer in ("auto", *peers, "river arf"))]
    return [DRIFT_WORDS, table(head, rows), "", _beaten(results, [(name, {}) for name in DRIFT], *peers), ""]


def _calibration(results: Results) -> list[str]:
    rows = []
    for name in CALIBRATED:
        found = [r for r in results.of(name, "auto") if "log loss" in r]
        if found:
            loss, shares = np.mean([r["log loss"] for r in found], axis=0)
            gap = np.mean([r["calibration error"] for r in found])
            rows.append([name, f"{loss:.4f}", f"{shares:.4f}", f"{gap:.4f}"])
    return [CALIBRATION, table(["data", "log loss", "shares", "calibration error"], rows), ""]


def _drawn(results: Results) -> list[str]:
    peers = (*ALGORITHMS, "sgd", "mlp", "river arf", "arf", "srp", "no change")

    def cell(name: str, peer: str) -> str:
        value = results.error(name, peer, OVER_ALL)
        return DASH if np.isnan(value) else f"{said(value)} ({rate(results.speed(name, peer))})"

    rows = [[NAMES.get(peer, f"`{peer}`"), *(cell(name, peer) for name in DRAWN)] for peer in peers]
    return [DRAWN_WORDS, table(["learner", *DRAWN], rows), ""]


def _versions(results: Results) -> list[str]:
    used = {(PACKAGES[case.peer], found["version"]) for case, found in results.found.items() if "version" in found}
    return ["Peers: " + ", ".join(f"{package} {version}" for package, version in sorted(used)) + ".", ""]


def _short_table(results: Results) -> str:
    """Over all rows, whoever learns as they come; over the second half, beside who learned the first one."""

    def speeds(peer: str) -> str:
        found = [results.speed(name, peer) for name in SHORT]
        if peer == "no change" or np.isnan(found).all():
            return DASH
        return f"{float(f'{np.nanmin(found):.2g}'):,.0f} to {float(f'{np.nanmax(found):.2g}'):,.0f}"

    def errors(peer: str, which: int) -> list[str]:
        return [said(results.error(name, peer, which)) for name in SHORT]

    streams = ("auto", "sgd", "mlp", "river arf", "arf", "srp", "no change")
    rows = [[NAMES[peer], *errors(peer, OVER_ALL), speeds(peer)] for peer in streams]
    rows.append(["over the second half: `auto`", *errors("auto", SECOND_HALF), DASH])
    for peer in ("svm", "lightgbm"):
        rows.append([f"{NAMES[peer]}, which learned the first half", *errors(peer, SECOND_HALF), DASH])
    return table(["", *map(shown, SHORT), "rows/s"], rows)
