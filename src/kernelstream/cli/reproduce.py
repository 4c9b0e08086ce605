"""``kernelstream reproduce``: the papers' tables and figures from our code."""

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..evaluate.interrupts import Interrupts
from ..evaluate.trace import Trace
from . import options as o
from .looking import say
from .places import check_directory

EVERYTHING = "all"


def reproduce(
    item: Annotated[
        str | None, typer.Argument(help="paper/table or paper/figure, a paper, or all; without it, a list.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, max=o.MOST_RUNS, help="Row orders; the paper's number if not given.")
    ] = None,
    jobs: o.Jobs = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small data sets only.")] = False,
    stored: Annotated[bool, typer.Option("--stored", help="Judge what DIR holds from before; nothing is run.")] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where Markdown, CSV, PNG and JSON go; DIR.md gathers all.")
    ] = Path("reproduction"),
) -> None:
    """Run the papers' experiments and show each published number beside ours, with a verdict."""
    from ..papers import find, names
    from ..papers.items import ItemError, papers
    from ..papers.pages import stored_result, write_page, write_result
    from ..papers.results import counted
    from ..papers.trials import run_item

    if item is None:
        Console().print(_listed())
        return
    chosen = [name for name in names() if item in (EVERYTHING, name, name.partition("/")[0])]
    if not chosen:
        raise ItemError(f"there is no item {item!r}; there are {', '.join(papers())} and {', '.join(names())}")
    check_directory("--out", out)
    console, interrupts = Console(stderr=True), Interrupts()
    with interrupts:
        for name in chosen:
            one = find(name).narrowed(quick=quick)
            if not one.data:
                continue

            def told(data: str, trace: Trace, name: str = name) -> None:
                interrupts.check()
                if console.is_terminal:
                    last = trace.last
                    shown = f"{name}  {data}  {trace.algorithm}  {last.metrics.get(trace.headline):.4g}"
                    console.print(shown, end="\r", soft_wrap=False, highlight=False)

            if stored:
                before = stored_result(out, name)
                if before is None:
                    continue
                result = before
            else:
                result = run_item(one, runs=runs, jobs=jobs, on_run=told)
            written = write_result(out, one, result, surfaces=not stored)
            if one.kind == "table":
                Console().print(_shown(one, result))
            counts = {word: n for word, n in counted(one, result).items() if n}
            say(
                Console(),
                f"{name}: {', '.join(f'{n} {word}' for word, n in counts.items())}; {result.seconds:.3g} s",
            )
            say(console, f"wrote {written[1]}")
    say(console, f"wrote {write_page(out)}")
    if interrupts.seen:
        raise typer.Exit(o.INTERRUPTED)


def _listed() -> Table:
    """Every item: what it needs, what is at hand, how long it takes."""
    from ..papers import find, names
    from ..papers.rows import at_hand

    table = Table(box=box.SIMPLE_HEAD)
    for name in ("item", "shows", "at hand", "missing", "time (5 runs)"):
        table.add_column(name, overflow="fold")
    for name in names():
        item = find(name)
        here = [data.label for data in item.data if at_hand(data)]
        gone = [data.label for data in item.data if data.label not in here]
        table.add_row(name, escape(item.title), ", ".join(here), ", ".join(gone), escape(item.budget_of_time))
    return table


def _shown(item: object, result: object) -> Table:
    from ..papers.items import Item, Published
    from ..papers.pages import number_with_deviation, ours, shown_verdict
    from ..papers.results import Result, verdict

    assert isinstance(item, Item) and isinstance(result, Result)
    table = Table(box=box.SIMPLE_HEAD, title=escape(f"{item.path}: {item.title}"), title_justify="left")
    for name in ("data", "learner", "here", "paper", "verdict"):
        table.add_column(name)
    for name in ("s", "paper", "size"):
        table.add_column(name, justify="right")
    before = ""
    for cell in result.cells:
        published = item.published.get((cell.data, cell.learner), Published(None))
        here = cell.absent or number_with_deviation(ours(cell))
        parameter = "" if cell.swept is None else f" {item.label}={cell.swept:g}"
        seconds = f"{cell.mean_seconds:.3g}" if cell.ran else ""
        printed = "" if published.seconds is None else f"{published.seconds:g}"
        size = f"{cell.size:,.0f}" if cell.size else ""
        table.add_row(
            "" if cell.data == before else escape(cell.data),
            escape(cell.learner + parameter),
            escape(here),
            escape(number_with_deviation(published)),
            shown_verdict(item, cell, verdict(item, cell)),
            seconds,
            printed,
            size,
        )
        before = cell.data
    return table
