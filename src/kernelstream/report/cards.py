"""The card of a model, in Markdown: what it is, on what it was trained, how far off it was, where it ends."""

import math
import re
from typing import Any

from ..learner import Learner
from ..tasks import Classification
from . import words
from .description import describe
from .inside import name_of

_MOST_NAMES = 20  # of features
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")


def card(title: str, learner: Learner, header: dict[str, Any]) -> str:
    """header: of its file."""
    names = header.get("feature_names")
    facts = [f"- {_text(name)}: {_text(value)}" for name, value in describe(learner, names).items()]
    parts = [
        [f"# {_text(title)}"],
        ["## What it is", "", *facts],
        ["## On what it was trained", "", *_training(learner, header)],
        ["## How far off it was", "", *_errors(header)],
        ["## Limits", "", *_limits(learner)],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _text(value: Any) -> str:
    """A value as it is read, whatever it holds."""
    return _SPECIAL.sub(r"\\\1", words.printable(str(value)).replace("\n", " "))


def _judged(header: dict[str, Any]) -> dict[str, Any] | None:
    """What a file says of the run that it comes from, unless it says nothing, or what no run says."""
    found = header.get("judged")
    if not (isinstance(found, dict) and {"source", "test", "metrics"} <= set(found)):
        return None
    metrics = found["metrics"].values() if isinstance(found["metrics"], dict) else ["none"]
    return found if all(value is None or isinstance(value, int | float) for value in metrics) else None


def _training(learner: Learner, header: dict[str, Any]) -> list[str]:
    judged, names = _judged(header), header.get("feature_names")
    source = _text(judged["source"]) if judged else "not noted: it was not written by `kernelstream run --save`"
    lines = [f"- source: {source}", f"- rows: {words.count(learner.n_seen)}, each learned in the order it came"]
    if names:
        shown = [_text(name_of(i, names)) for i in range(min(len(names), _MOST_NAMES))]
        rest = len(names) - len(shown)
        lines.append(f"- features: {', '.join(shown)}" + (f" and {words.count(rest)} more" if rest else ""))
    return lines


def _errors(header: dict[str, Any]) -> list[str]:
    judged = _judged(header)
    if judged is None:
        return ["Not noted: `kernelstream run --save` notes it, and `kernelstream predict` compares with labels."]
    how = "Each row was predicted before it was learned."
    if judged["test"] is not None:
        how = f"After learning, on rows of {_text(judged['test'])}, none of which it learned from there."
    table = [
        f"| {_text(words.metric_name(name))} | {words.metric_value(name, math.nan if value is None else value)} |"
        for name, value in judged["metrics"].items()
    ]
    return [how, "", "| measure | value |", "| --- | --- |", *table]


def _limits(learner: Learner) -> list[str]:
    """What follows from the kind of model it is."""
    shown, spec = learner.attributes, learner.spec
    lines = [
        f"It takes rows of {words.count(learner.width)} features, finite numbers of at most 1e15, in the units and the "
        "order of its training.",
        "Its errors are those of the rows above. Of rows from elsewhere, or from later, they say nothing.",
    ]
    if isinstance(learner.task, Classification):
        lines.append(
            "It answers with one of its classes whatever the row, also where a row is like none that it knows."
        )
    if spec.kernels and all(kernel.shift_invariant for kernel in spec.kernels) and "points" in shown:
        lines.append("Far from all of its points every score tends to 0.")
    if _holds_rows(learner):
        lines.append("It holds some of the rows that it learned from: whoever has the file can read them.")
    if not spec.bounded:
        lines.append("Its memory has no bound: it may grow with every row that it learns.")
    return [f"- {line}" for line in lines]


def _holds_rows(learner: Learner) -> bool:
    """Whether rows can be read from its file: points, or first rows on which something is settled."""
    _, arrays = learner.to_parts()
    return any(
        array.size > 0 and (name.startswith("opening.") or name.endswith((".points", ".kept.x")))
        for name, array in arrays.items()
    )
