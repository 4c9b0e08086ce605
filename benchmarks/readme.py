"""The short table in README.md: the numbers that a newcomer wants."""

from collections.abc import Callable
from pathlib import Path

from .measure import over, range_of
from .results import Record, Results
from .tables import rate, table, times
from .targets import WITHIN, at_base, microseconds

BEGIN, END = "<!-- bench begins -->", "<!-- bench ends -->"


def write_readme(results: Results, path: Path) -> None:
    """The numbers that a newcomer wants, between the markers."""
    text = path.read_text()
    head, rest = text.split(BEGIN)
    path.write_text(f"{head}{BEGIN}\n{table(('what', 'measured'), _rows(results))}\n{END}{rest.split(END)[1]}")


def _rows(results: Results) -> list[list[str]]:
    rows: list[list[str]] = []

    def add(record: Record | None, what: str, measured: Callable[[Record], str]) -> None:
        if record is not None:
            rows.append([what, measured(record)])

    for name, what in (
        ("fogd", "FOGD, 3,200 features"),
        ("rbp", "RBP, 400 points"),
    ):
        add(
            results.one(name),
            f"{what}: rows a second (cod-rna, 8 features); times scikit-learn's nearest; times River's",
            lambda r: f"{rate(r)}; {times(over(r, 'sklearn', 'ours'))}; {_times(over(r, 'river', 'ours').median)}",
        )
    near = [over(record, "ours", "floor").median for record in at_base(results)]
    if near:
        within = sum(value <= WITHIN for value in near)
        rows.append(
            [
                "time over the bare arithmetic of the same rows, median of the learners measured; within 2x",
                f"{range_of(near).median:.2f}x; {within} of {len(near)}",
            ]
        )
    one = results.one("calls", learner="fogd")
    add(
        one,
        "one row: partial_fit, predict",
        lambda r: f"{microseconds(r, 'partial_fit').median:.0f} us, {microseconds(r, 'predict').median:.0f} us",
    )
    add(
        results.one("command"),
        "`kernelstream run digits`, first time, later",
        lambda r: f"{range_of(r['seconds']['cold']).median:.1f} s, {range_of(r['seconds']['warm']).median:.1f} s",
    )
    add(
        results.one("memory", format=".npz"),
        "memory above the imports, 3,000,000 rows streamed",
        lambda r: f"{r['megabytes']:.0f} MB",
    )
    return rows


def _times(value: float) -> str:
    return f"{value:,.0f}x"
