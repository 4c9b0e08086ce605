"""What came of runs, in a sentence."""

import math
from collections.abc import Mapping, Sequence

from . import words
from .runs import Run

_NAMED = 3  # of those that lie within the noise; others are counted


def headline(groups: Mapping[str, list[Run]], beside: Mapping[str, list[Run]]) -> str:
    """What came out, in a sentence."""
    if len(groups) > 1:
        return f"Best: {', '.join(_best_on(source, group) for source, group in groups.items())}."
    ((source, group),) = groups.items()
    first, n = group[0], len(group)
    tied, near = standing(group)
    rows = words.count(first.over(lambda trace: float(trace.last.rows)).mean)
    who = first.label if n == 1 else f"{_listed(tied)}, the best of {n} learners,"
    verb = "ends" if len(tied) == 1 else "end"
    said = (
        f"{words.sentence(who)} {verb} with {_article(first)}{_value(first, named=True)} after {rows} rows of {source}"
    )
    others = [f"{_listed(near)} within the noise of that"] if near else []
    if n > len(tied) + len(near):
        last = [run for run in group[len(tied) + len(near) :] if _value(run) == _value(group[-1])]
        others.append(f"{_listed(last)}, the last of them, {'has' if len(last) == 1 else 'have'} {_value(last[0])}")
    others += [f"{run.label} has {_value(run)}" for run in beside.get(source, [])]
    return f"{said}; {', '.join(others)}." if others else f"{said}."


def standing(group: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """The best runs, equal as far as they are shown, and those whose distance to them noise alone would make.

    Requires: the best first.
    """
    tied = [run for run in group if _value(run) == _value(group[0])]
    return tied, [run for run in group[len(tied) :] if _within_noise(run, group[0])]


def _within_noise(run: Run, best: Run) -> bool:
    """Whether two values differ by less than a standard error of their difference: of that over row orders, or, of one
    run, of shares of so many rows. Of other metrics of one run no error is known.
    """
    (mine, my_deviation), (theirs, their_deviation) = run.headline, best.headline
    if my_deviation is not None and their_deviation is not None:
        variance = my_deviation**2 / len(run.repeats) + their_deviation**2 / len(best.repeats)
    elif words.is_share(run.trace.headline):
        variance = sum(
            share * (1.0 - share) / max(one.trace.last.rows, 1) for share, one in ((mine, run), (theirs, best))
        )
    else:
        return False
    return abs(mine - theirs) < math.sqrt(max(variance, 0.0))


def _best_on(source: str, group: Sequence[Run]) -> str:
    tied, near = standing(group)
    noise = f"; within the noise {_listed(near)}" if near else ""
    return f"{_listed(tied)} on {source} ({_value(group[0], named=True)}{noise})"


def _listed(runs: Sequence[Run]) -> str:
    names = [run.label for run in runs[:_NAMED]]
    if len(runs) > _NAMED:
        names.append(f"{len(runs) - _NAMED} more")
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])


def _article(run: Run) -> str:
    name = words.metric_name(run.trace.headline)
    return "an " if name[:1] in "AEFHILMNORSX" or name[:1] in "aeiou" else "a "


def _value(run: Run, *, named: bool = False) -> str:
    name = run.trace.headline
    value = words.metric_value(name, *run.headline)
    return f"{words.metric_name(name)} of {value}" if named else value
