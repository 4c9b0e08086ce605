"""How figures are written: tables, ratios with their range, sizes."""

from collections.abc import Sequence

from .measure import Range, over, range_of
from .results import Record

DASH = "-"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def short(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def times(value: Range) -> str:
    return f"{short(value.median)}x ({short(value.least)} to {short(value.largest)})"


def with_range(value: Range, unit: str, digits: int = 2) -> str:
    return f"{value.median:.{digits}f} {unit} ({value.least:.{digits}f} to {value.largest:.{digits}f})"


def size(record: Record) -> str:
    parts = [f"B = {record['budget']:,}"] if record.get("budget") else []
    parts += [f"D = {record['n_components']:,}"] if record.get("n_components") else []
    return ", ".join(parts) or f"{record.get('size', 0):,} points"


def ratio(record: Record | None, *names: str) -> str:
    if record is None:
        return DASH
    return times(over(record, *names)) + (" *" if record["disturbed"] else "")


def rate(record: Record) -> str:
    return f"{record['rows'] / range_of(record['seconds']['ours']).median:,.0f}"
