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
from .items import Item, Published
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
}
_MARKS = {AGREES: "yes", BETTER: "better", DIFFERS: "**no**", NO_DATA: "", NOT_RUN: "", UNPUBLISHED: ""}
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
    return [
        f"Written by `kernelstream reproduce` {__version__}. Of {judged} published cells that were run "
        f"**{totals[AGREES]} agree ({share})**: ours lies within three combined standard deviations, or within 5 %, of "
        f"the published value, above or below it ({near} within 5 %). {totals[BETTER]} are better, which is no "
        f"agreement: other settings, not better mathematics; {totals[DIFFERS]} are worse. {SEEN} "
        f"marks cells for which something was chosen after they had been seen: {seen[AGREES]} of those that agree, "
        f"{seen[BETTER]} of the better, {seen[DIFFERS]} of the worse. A cell that stands in two papers counts once.",
        "",
        f"{totals[NO_DATA]} published cells have no data here (`kernelstream datasets add` takes in files of yours), "
        f"{totals[NOT_RUN]} are of methods that were not run; {totals[UNPUBLISHED]} cells of the tables have no "
        f"published number. All of it took {hours:.2g} hours.",
        "",
        "A cell reads: ours (published). Times are seconds of learning, ours beside the published ones, which are of "
        "other machines and mostly of Matlab or C++ code.",
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
    last, rule = (f" {item.risk.replace('_', ' ')} |", " ---: |") if item.risk else ("", "")
    lines = [f"| {data} | {unit} | agrees | seconds | size |{last}", f"| --- | --- | --- | ---: | ---: |{rule}"]
    notes, chosen = [], []
    for cell in cells:
        published = item.published.get((cell.data, cell.learner), Published(None))
        if cell.absent is not None:
            printed = _in_brackets(number_with_deviation(published))
            lines.append(f"| {cell.learner} | {cell.absent} {printed} | | | |{_risk(item, cell, published)}")
            continue
        word = verdict(item, cell)
        value = (
            f"{number_with_deviation(Published(cell.mean, cell.sd))} {_in_brackets(number_with_deviation(published))}"
        )
        seconds = f"{cell.mean_seconds:.3g} {_in_brackets(_number(published.seconds))}"
        size = f"{cell.size:,.0f} {_in_brackets(_number(published.size))}" if cell.size else ""
        mark = shown_verdict(item, cell, _MARKS[word])
        lines.append(f"| {cell.learner} | {value} | {mark} | {seconds} | {size} |{_risk(item, cell, published)}")
        if word in (BETTER, DIFFERS):
            notes.append((cell.learner, f"{word}: {_explained(item, cell)}"))
        if mark.endswith(SEEN):
            chosen.append((cell.learner, item.seen[cell.data, cell.learner]))
    return [*lines, *_gathered(notes), *_gathered(chosen, f"{SEEN} ")]


def _explained(item: Item, cell: Cell) -> str:
    """Why a cell does not agree, as its table says, or the one that has the same cell."""
    tables = [item, *([items.find(item.stands_in)] if item.stands_in else [])]
    found = (table.explained.get((cell.data, cell.learner)) for table in tables)
    return next((reason for reason in found if reason), "not explained so far")


def _gathered(notes: Sequence[tuple[str, str]], mark: str = "") -> list[str]:
    """A line a reason, which several learners may share."""
    reasons: dict[str, list[str]] = {}
    for learner, reason in notes:
        reasons.setdefault(reason, []).append(learner)
    return ["", *(f"- {mark}{', '.join(who)}: {why}." for why, who in reasons.items())] if reasons else []


def shown_verdict(item: Item, cell: Cell, word: str) -> str:
    """A verdict with the mark of what was chosen after a look at the cell."""
    return f"{word} {SEEN}" if word and (cell.data, cell.learner) in item.seen else word


def _risk(item: Item, cell: Cell, published: Published) -> str:
    """A table's last column, where it has one."""
    ours = f"{cell.mean_risk:.3g} " if math.isfinite(cell.mean_risk) else ""
    return f" {ours}{_in_brackets(_number(published.risk))} |" if item.risk else ""


def number_with_deviation(cell: Published) -> str:
    """A number as a table shows it."""
    if cell.value is None:
        return ""
    digits = 2 if abs(cell.value) >= 0.5 else 5
    text = f"{cell.value:.{digits}f}" if math.isfinite(cell.value) else "diverged"
    return text if cell.sd is None or not math.isfinite(cell.sd) else f"{text} ± {cell.sd:.{digits}f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _in_brackets(text: str) -> str:
    return f"({text})" if text else ""


def comma_separated(item: Item, result: Result) -> str:
    """A line a cell, with every digit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = (
        "data,learner,value,sd,seconds,size,risk,published,published_sd,published_seconds,published_size,"
        "published_risk,verdict,seen,settings"
    )
    writer.writerow([*names.split(","), item.label or "parameter"])
    for cell in result.cells:
        published = item.published.get((cell.data, cell.learner), Published(None))
        mine: list[Any] = [cell.mean, cell.sd, cell.mean_seconds, cell.size] if cell.ran else [""] * 4
        mine.append(cell.mean_risk if math.isfinite(cell.mean_risk) else "")
        printed = ["" if number is None else number for number in published]
        swept = "" if cell.swept is None else cell.swept
        seen = item.seen.get((cell.data, cell.learner), "")
        word = verdict(item, cell)
        writer.writerow([cell.data, cell.learner, *mine, *printed, word, seen, " ".join(cell.settings), swept])
    return text.getvalue()
