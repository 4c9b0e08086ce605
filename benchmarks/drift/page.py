"""docs/drift.md, from the results that there are."""

import math
from collections.abc import Sequence
from pathlib import Path

from ..no_tuning.measure import OVER_ALL, SECOND_HALF, Case, Results
from . import streams

PAGE = Path(__file__).parents[2] / "docs" / "drift.md"
TEXT = """# Streams that change

Written by `python -m benchmarks.drift --rows {rows}`; results are kept in `benchmarks/drift.json`. Every learner sees
raw rows in their order, predicts each before it learns from it, and is not tuned. Of each stream only the first {limit}
rows are shown, so that River's ensembles of ten trees (adaptive random forest, leveraging bagging, streaming random
patches) come to an end. *no change* shows the newest label.

The error is that over all rows / over the second half: the share of mistakes, of `airlines` the squared error over the
variance of the targets. The least over all rows is bold; a dash: not measured, or it does no regression.

{errors}

Rows a second on one core, in processor time:

{speeds}

The streams that are drawn:

{formulas}
"""


def write(results: Results, sets: Sequence[str], peers: Sequence[str], rows: int, path: Path = PAGE) -> None:
    def error(name: str, peer: str, which: int) -> float:
        return float(results.found.get(Case(name, peer, most=rows), {}).get("errors", [math.nan] * 2)[which])

    def speed(name: str, peer: str) -> str:
        found = results.found.get(Case(name, peer, most=rows), {})
        return f"{found['rows'] / found['seconds']:,.0f}" if found.get("seconds") else "-"

    def cell(name: str, peer: str) -> str:
        both = error(name, peer, OVER_ALL), error(name, peer, SECOND_HALF)
        if math.isnan(both[0]):
            return "-"
        least = min(e for e in (error(name, one, OVER_ALL) for one in peers) if not math.isnan(e))
        text = " / ".join(f"{e:.3g}" for e in both)
        return f"**{text}**" if both[0] == least else text

    errors = table(["stream", *peers], [[name, *(cell(name, peer) for peer in peers)] for name in sets])
    timed = [peer for peer in peers if peer != "no change"]
    speeds = table(["stream", *timed], [[name, *(speed(name, peer) for peer in timed)] for name in sets])
    formulas = "\n".join(["```", *str(streams.__doc__).strip().splitlines()[2:], "```"])
    path.write_text(TEXT.format(rows=rows, limit=f"{rows:,}", errors=errors, speeds=speeds, formulas=formulas))


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---", *["---:"] * (len(head) - 1)], *lines])
