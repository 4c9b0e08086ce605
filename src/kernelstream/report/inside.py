"""What people want to see of a model beside its errors: which features matter to it, which parts it trusts."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..learner import OnlineLearner

MOST = 15  # features that are shown
SMALLEST = 0.0005  # share that is shown: 0.1 %, rounded
_LONGEST = 28  # letters of a name
_IN_WORDS = 6  # features of a table
_BAR = 10  # letters of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"


class Share(NamedTuple):
    name: str
    share: float


class Inside(NamedTuple):
    """features: the largest shares first. parts: of a stack. moments: (n, 1 + parts), rows and the weights then."""

    features: list[Share]
    parts: list[str]
    moments: np.ndarray


def inside(learner: OnlineLearner, names: Sequence[str] | None = None) -> Inside:
    """names: of the features, as far as they are known."""
    shown = getattr(learner, "attributes", {})
    parts = [part.name for part in getattr(learner.spec, "parts", ())]
    twice = {name for name in parts if parts.count(name) > 1}
    parts = [f"{name} {i}" if name in twice else name for i, name in enumerate(parts)]
    moments = np.asarray(shown.get("weights_over_time", np.zeros((0, 1 + len(parts)))))
    if len(moments):
        moments = np.vstack([moments, [learner.n_seen, *shown["weights"]]])
    return Inside(ranked(shown.get("feature_importances", ()), names), parts, moments)


def ranked(shares: Sequence[float], names: Sequence[str] | None = None) -> list[Share]:
    """Features that matter, the largest first; those of no share to speak of are left out."""
    order = np.argsort(-np.asarray(shares, np.float64), kind="stable")
    return [Share(name_of(int(i), names), float(shares[i])) for i in order if shares[i] >= SMALLEST]


def name_of(i: int, names: Sequence[str] | None) -> str:
    if names is None or i >= len(names):
        return f"feature {i}"
    return names[i] if len(names[i]) <= _LONGEST else f"{names[i][: _LONGEST - 1]}…"


def _bar(share: float) -> str:
    whole, rest = divmod(round(8 * _BAR * share), 8)
    return "█" * whole + _EIGHTHS[rest].strip()


def in_words(features: Sequence[Share]) -> str:
    """The first of them as lines with bars."""
    lines = [
        f"{_bar(share / features[0].share):<{_BAR}} {100 * share:5.1f} %  {name}"
        for name, share in features[:_IN_WORDS]
    ]
    rest = len(features) - len(lines)
    return "\n".join([*lines, f"and {rest} more"] if rest > 0 else lines)
