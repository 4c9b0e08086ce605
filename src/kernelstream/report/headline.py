"""What came of runs, in a sentence."""

from collections.abc import Mapping

from . import words
from .runs import Run


def headline(groups: Mapping[str, list[Run]], beside: Mapping[str, list[Run]]) -> str:
    """What came out, in a sentence."""
    if len(groups) > 1:
        ends = (f"{group[0].label} on {source} ({_value(group[0], named=True)})" for source, group in groups.items())
        return f"Best: {', '.join(ends)}."
    ((source, group),) = groups.items()
    first, n = group[0], len(group)
    rows = words.count(first.over(lambda trace: float(trace.last.rows)).mean)
    who = first.label if n == 1 else f"{first.label}, the best of {n} learners,"
    said = f"{words.sentence(who)} ends with {_article(first)}{_value(first, named=True)} after {rows} rows of {source}"
    others = [f"{run.label} has {_value(run)}" for run in beside.get(source, [])]
    if n > 1:
        others.append(f"{group[-1].label}, the last, has {_value(group[-1])}")
    return f"{said}; {', '.join(others)}." if others else f"{said}."


def _article(run: Run) -> str:
    name = words.metric_name(run.trace.headline)
    return "an " if name[:1] in "AEFHILMNORSX" or name[:1] in "aeiou" else "a "


def _value(run: Run, *, named: bool = False) -> str:
    name = run.trace.headline
    value = words.metric_value(name, *run.headline)
    return f"{words.metric_name(name)} of {value}" if named else value
