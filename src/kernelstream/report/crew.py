"""What several workers did, in words and lines."""

from collections.abc import Sequence
from typing import Any

from ..extras import needing
from . import words

with needing("rich"):
    from rich.table import Table

_MOST_LINES = 16


def crew_notes(workers: Sequence[Any], synchronisations: Sequence[Any]) -> dict[str, str]:
    """By what it is about. workers, synchronisations: of a `distributed.Result`."""
    lost = sum(one.lost for one in workers)
    took = sum(one.took for one in synchronisations)
    sent = words.size_in_bytes(sum(one.bytes for one in synchronisations))
    return {
        "workers": f"{len(workers)}" + (f", {words.count(lost)} times lost and back" if lost else ""),
        "rows a worker": _each(workers, "rows"),
        "rows/s a worker": _each(workers, "rows_per_second"),
        "synchronised": f"{words.count(len(synchronisations))} times, {words.seconds(took)}, {sent} sent",
    }


def _each(workers: Sequence[Any], name: str) -> str:
    values = [getattr(one, name) for one in workers]
    if len(values) > _MOST_LINES:
        return f"{words.count(min(values))} to {words.count(max(values))}"
    return ", ".join(words.count(value) for value in values)


def crew_lines(workers: Sequence[Any]) -> Table:
    """A line a worker, for the terminal while they work."""
    table = Table.grid(padding=(0, 2))
    for justify in ("left", "right", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    for one in workers[:_MOST_LINES]:
        lost = f"lost {one.lost}" if one.lost else ""
        rate = f"{words.count(one.rows_per_second)} rows/s"
        table.add_row(words.shown(one.place or "waiting"), f"{words.count(one.rows)} rows", rate, lost)
    if len(workers) > _MOST_LINES:
        table.add_row(f"and {len(workers) - _MOST_LINES} more", "", "", "")
    return table
