"""Results as Markdown, CSV and pictures, and the page that gathers all of them."""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..engine import disk
from . import items
from .claims import check_claim
from .figures import write_figure, write_surfaces
from .items import HOLDOUT, Item, Published
from .results import (
    AGREES,
    BETTER,
    DIFFERS,
    JUDGED,
    NO_DATA,
    NOT_RUN,
    UNPUBLISHED,
    VERDICTS,
    Cell,
    Result,
    counted,
    stands_elsewhere,
    verdict,
)
from .trials import trained

_TITLES = {
    "lsokl": "Large Scale Online Kernel Learning (Lu et al. 2016)",
    "bogd": "Bounded Online Gradient Descent (Zhao et al. 2012)",
    "rrf": "Random Feature Reparameterization (Nguyen et al. 2017)",
    "polk": "Parsimonious Online Learning with Kernels (Koppel et al. 2019)",
    "avm": "Approximation Vector Machines (Le et al. 2017)",
    "kafbox": "The Kernel Adaptive Filtering Toolbox (Van Vaerenbergh and Santamaria 2013)",
    "programs": "Other programs, run on the same rows",
}
_MARKS = {AGREES: "yes", BETTER: "better", DIFFERS: "**no**", NO_DATA: "", NOT_RUN: "", UNPUBLISHED: ""}
NO_REASON = "no reason was found"
SEEN = "†"  # at a cell whose settings were chosen after it had been seen


def write_result(directory: Path, item: Item, result: Result, *, surfaces: bool = True) -> list[Path]:
    """The item's files: .json, .md, .csv and .png. Surfaces are of models that are trained for them."""
    directory.mkdir(parents=True, exist_ok=True)
    stem = directory / item.path.replace("/", "-")
    paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".json", ".md", ".csv", ".png")]
    result.save(paths[0])
    disk.write_text(paths[1], markdown(item, result))
    disk.write_text(paths[2], comma_separated(item, result))
    if item.kind == "surface":
        if surfaces:
            paths[3].unlink(missing_ok=True)
            write_surfaces(paths[3], trained(item))
    elif item.kind == "convergence" and any(cell.kept for cell in result.cells):
        pass  # whose curves are in the picture alone
    else:
        paths[3].unlink(missing_ok=True)
        if any(cell.ran for cell in result.cells):
            write_figure(paths[3], item, result)
    return [path for path in paths if path.exists()]


def stored_result(directory: Path, path: str) -> Result | None:
    """What an item gave when it was last run into a directory."""
    file = directory / f"{path.replace('/', '-')}.json"
    return Result.load(file) if file.exists() else None


def write_page(directory: Path) -> Path:
    """Gather every result in a directory on one page beside it, with pictures and claims."""
    found = {path: stored_result(directory, path) for path in items.names()}
    results = {path: (items.find(path), result) for path, result in found.items() if result is not None}
    lines = ["# The papers' tables and figures", "", *_summary(list(results.values()))]
    for paper in items.papers():
        mine = {path: both for path, both in results.items() if path.startswith(f"{paper}/")}
        if not mine:
            continue
        lines += ["", f"## {_TITLES.get(paper, paper)}", "", *_claims(paper, mine)]
        for path, (item, result) in mine.items():
            lines += ["", markdown(item, result, level=3).rstrip()]
            picture = f"{path.replace('/', '-')}.png"
            if (directory / picture).exists():
                lines += ["", f"![{item.title}]({directory.name}/{picture})"]
    missing = [path for path in items.names() if path not in results]
    if missing:
        lines += ["", f"Not run so far: {', '.join(missing)}."]
    page = directory.with_name(f"{directory.name}.md")
    disk.write_text(page, "\n".join(lines) + "\n")
    return page


def _summary(results: Sequence[tuple[Item, Result]]) -> list[str]:
    totals = {word: sum(counted(item, result)[word] for item, result in results) for word in VERDICTS}
    seen = {word: sum(counted(item, result, seen=True)[word] for item, result in results) for word in VERDICTS}
    near = sum(counted(item, result, deviations=False)[AGREES] for item, result in results)
    judged = sum(totals[word] for word in JUDGED)
    share = f"{100 * totals[AGREES] / judged:.1f} %" if judged else "none"
    hours = sum(result.seconds for _, result in results) / 3600
    without = [
        f"{item.path} {cell.data} / {cell.learner} ({verdict(item, cell)})"
        for item, result in results
        for cell in (result.cells if item.kind == "table" else [])
        if verdict(item, cell) in (BETTER, DIFFERS) and not stands_elsewhere(item, cell) and not _explained(item, cell)
    ]
    unknown = f"; for {', '.join(without)} {NO_REASON}" if without else ""
    return [
        f"Written by `kernelstream reproduce` {__version__}. Of {judged} published cells that were run "
        f"**{totals[AGREES]} agree ({share})**: ours lies within three combined standard deviations, or within 5 %, of "
        f"the published value, above or below it ({near} within 5 %). {totals[BETTER]} are better, which is no "
        f"agreement: other settings, not better mathematics; {totals[DIFFERS]} are worse. {SEEN} "
        f"marks cells for which something was chosen after they had been seen: {seen[AGREES]} of those that agree, "
        f"{seen[BETTER]} of the better, {seen[DIFFERS]} of the worse. A cell that stands in two papers counts once.",
        "",
        "Each cell that does not agree says below its table which settings give the printed number, or which "
        f"difference is known{unknown}.",
        "",
        f"{totals[NO_DATA]} published cells have no data here (`kernelstream datasets add` takes in files of yours), "
        f"{totals[NOT_RUN]} are of methods that were not run; {totals[UNPUBLISHED]} cells of the tables have no "
        f"published number. All of it took {hours:.2g} hours.",
        "",
        "A cell reads: ours (published). Seconds are of learning, the mean of the runs, test seconds of predicting all "
        "test rows, their median: ours the "
        "processor's own, which other work on the machine moves little, beside the published ones, which are of other "
        "machines and mostly of Matlab or C++ code. No verdict looks at them. Batch methods learn once, from the first "
        "order.",
    ]


def _claims(paper: str, mine: dict[str, tuple[Item, Result]]) -> list[str]:
    lines = []
    for claim in items.claims(paper):
        path = f"{paper}/{claim['table']}"
        if path in mine:
            held, where = check_claim(*mine[path], claim)
            word = {True: "yes", False: "**no**", None: "-"}[held]
            reason = f". {claim['reason']}" if held is False and "reason" in claim else ""
            lines.append(f"| {claim['text']} | {claim['table']} | {word} | {where}{reason} |")
    return ["| the paper claims | where | here | |", "| --- | --- | --- | --- |", *lines] if lines else []


def markdown(item: Item, result: Result, *, level: int = 1) -> str:
    """The item as a page: a table a data set, what differs and why."""
    counts = counted(item, result)
    lines = [f"{'#' * level} {item.path}: {item.title}", ""]
    lines.append(f"{result.runs} of the paper's {item.runs} runs, {result.seconds:.3g} s. ")
    if item.settings_source:
        lines[-1] += f"Settings: {item.settings_source}."
    judged = sum(counts[word] for word in JUDGED)
    elsewhere = sum(cell.absent is None and stands_elsewhere(item, cell) for cell in result.cells)
    if item.kind == "table" and judged + elsewhere:
        line = f"{counts[AGREES]} of {judged} cells agree, {counts[BETTER]} are better, {counts[DIFFERS]} worse"
        there = f"; {elsewhere} more stand in {item.stands_in} too and are counted there" if elsewhere else ""
        lines += ["", f"{line}{there}."]
    last = [label for label in item.averaged if any(c.kept and c.learner == label for c in result.cells)]
    if item.kind == "table" and last:
        lines += [
            "",
            f"{' and '.join(last)}: after the last row, kept from an earlier run; the paper averages its end.",
        ]
    if item.kind == "table" and (kept := sum(bool(cell.kept) for cell in result.cells)):
        lines += ["", f"{kept} cells are kept from an earlier run, which timed learning by the clock on the wall."]
    unit = f"{item.metric.replace('_', ' ')}{', %' if item.percent else ''}"
    absent: dict[str, str] = {}
    for data in item.data:
        cells = [cell for cell in result.cells if cell.data == data.label]
        if cells and all(cell.absent is not None for cell in cells):
            absent[data.label] = cells[0].absent or ""
        elif item.kind == "table":
            lines += ["", *_table(item, data.label, cells, unit)]
    lines += [f"\n{name}: {why}." for name, why in absent.items()]
    return "\n".join(lines) + "\n"


def _table(item: Item, data: str, cells: Sequence[Cell], unit: str) -> list[str]:
    columns = ["seconds", *(["test seconds"] if item.protocol == HOLDOUT else []), "size"]
    columns += [item.risk.replace("_", " ")] if item.risk else []
    lines = [f"| {' | '.join([data, unit, 'agrees', *columns])} |", f"| --- | --- | --- |{' ---: |' * len(columns)}"]
    notes, chosen = [], []
    for cell in cells:
        published = item.published.get((cell.data, cell.learner), Published(None))
        word = verdict(item, cell)
        mine = cell.absent or number_with_deviation(ours(cell))
        mark = shown_verdict(item, cell, _MARKS[word])
        numbers = [_beside(_measured(cell.mean_seconds), published.seconds)]
        if item.protocol == HOLDOUT:
            numbers.append(_beside(_measured(cell.median_test_seconds), published.test_seconds))
        numbers.append(_beside(f"{cell.size:,.0f}" if cell.size else "", published.size))
        if item.risk:
            numbers.append(_beside(_measured(cell.mean_risk), published.risk))
        value = f"{mine} {_in_brackets(number_with_deviation(published))}".strip()
        lines.append(f"| {' | '.join([cell.learner, value, mark, *numbers])} |")
        if word in (BETTER, DIFFERS) or (cell.ran and _explained(item, cell)):
            notes.append((cell.learner, f"{word}: {_reason(item, cell)}"))
        if mark.endswith(SEEN):
            chosen.append((cell.learner, item.seen[cell.data, cell.learner]))
    return [*lines, *_gathered(notes), *_gathered(chosen, f"{SEEN} ")]


def _explained(item: Item, cell: Cell) -> str | None:
    """Why a cell does not agree, as its table says, or the one that has the same cell."""
    tables = [item, *([items.find(item.stands_in)] if item.stands_in else [])]
    return next(
        (table.explained[key] for table in tables if (key := (cell.data, cell.learner)) in table.explained), None
    )


def _reason(item: Item, cell: Cell) -> str:
    """The same, or what was tried in vain."""
    tried = item.tried.get((cell.data, cell.learner))
    return _explained(item, cell) or (f"{NO_REASON}: {tried}" if tried else NO_REASON)


def _gathered(notes: Sequence[tuple[str, str]], mark: str = "") -> list[str]:
    """A line a reason, which several learners may share."""
    reasons: dict[str, list[str]] = {}
    for learner, reason in notes:
        reasons.setdefault(reason, []).append(learner)
    return ["", *(f"- {mark}{', '.join(who)}: {why}." for why, who in reasons.items())] if reasons else []


def shown_verdict(item: Item, cell: Cell, word: str) -> str:
    """A verdict with the mark of what was chosen after a look at the cell."""
    return f"{word} {SEEN}" if word and (cell.data, cell.learner) in item.seen else word


def ours(cell: Cell) -> Published:
    """The mean of a cell's runs and, of several, its deviation."""
    return Published(cell.mean, None if len(cell.values) == 1 else cell.sd)


def number_with_deviation(cell: Published) -> str:
    """A number as a table shows it."""
    if cell.value is None:
        return ""
    digits = 2 if abs(cell.value) >= 0.5 else 5
    text = f"{cell.value:.{digits}f}" if math.isfinite(cell.value) else "diverged"
    return text if cell.sd is None or not math.isfinite(cell.sd) else f"{text} ± {cell.sd:.{digits}f}"


def _measured(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else ""


def _beside(ours: str, printed: float | None) -> str:
    return f"{ours} {_in_brackets('' if printed is None else f'{printed:g}')}".strip()


def _in_brackets(text: str) -> str:
    return f"({text})" if text else ""


def comma_separated(item: Item, result: Result) -> str:
    """A line a cell, with every digit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = (
        "data,learner,runs,value,sd,seconds,size,risk,test_seconds,published,published_sd,published_seconds,"
        "published_size,published_risk,published_test_seconds,verdict,seen,settings"
    )
    writer.writerow([*names.split(","), item.label or "parameter"])
    for cell in result.cells:
        published = item.published.get((cell.data, cell.learner), Published(None))
        n = len(cell.values) or result.runs
        mine: list[Any] = [n, cell.mean, cell.sd, cell.mean_seconds, cell.size] if cell.ran else [""] * 5
        mine += [mean if math.isfinite(mean) else "" for mean in (cell.mean_risk, cell.median_test_seconds)]
        printed = ["" if number is None else number for number in published]
        swept = "" if cell.swept is None else cell.swept
        seen = item.seen.get((cell.data, cell.learner), "")
        word = verdict(item, cell)
        writer.writerow([cell.data, cell.learner, *mine, *printed, word, seen, " ".join(cell.settings), swept])
    return text.getvalue()
