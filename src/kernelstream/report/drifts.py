"""Drift that runs found, in words."""

from collections.abc import Sequence

from ..learner.detectors import ERROR
from ..learner.drift import WARN, Drift
from . import words

_MOST = 6  # findings that are shown


def in_words(drift: Drift) -> str:
    """One finding: where, by what, from which mean to which, and what was done."""
    what = drift.on if drift.on == ERROR else f"feature {drift.on}"
    acted = "" if drift.did == WARN else f"; {drift.did}"
    return f"row {words.count(drift.row)}, {drift.detector}: {what} {drift.before:.3g} to {drift.after:.3g}{acted}"


def summary(drifts: Sequence[Drift]) -> list[str]:
    """How many, and the first of them."""
    if not drifts:
        return ["none found"]
    acted = [drift.did for drift in drifts if drift.did != WARN]
    head = f"{words.count(len(drifts))} found" + (f", {acted[0]} at {words.count(len(acted))} of them" if acted else "")
    rest = len(drifts) - _MOST
    lines = [in_words(drift) for drift in drifts[:_MOST]]
    return [head, *lines, *([f"and {words.count(rest)} more"] if rest > 0 else [])]
