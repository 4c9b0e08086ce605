"""What is in a model, in words."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..evaluate.settings import flat
from ..learner import Learner
from ..tasks import Classification
from . import words
from .drifts import summary
from .inside import in_words, inside

_MOST_CLASSES = 10  # named


def describe(learner: Learner, names: Sequence[str] | None = None) -> dict[str, str]:
    """What is in a model, by name: what was asked for and settled, what was seen, how large it is, what it shows.
    names: of the features.
    """
    spec = learner.algorithm if learner.settled is None else learner.settled
    lines = {
        "algorithm": learner.algorithm.name,
        "parameters": " ".join(words.settings(flat(spec))),
        "task": learner.task.name,
    }
    if isinstance(learner.task, Classification):
        lines["classes"] = _classes(learner.task)
    lines |= {
        "features": words.known(learner.width),
        "rows seen": words.count(learner.n_seen),
        "size": words.count(learner.size),
        "memory": words.size_in_bytes(learner.n_bytes),
        "dtype": learner.dtype,
        "seed": str(learner.seed),
        "scaling": learner.inputs.features.kind,
    }
    drift, on_drift = learner.drift_choice
    if drift is not None:
        watches = drift if isinstance(drift, list) else [drift]
        lines["rows learned"] = words.count(learner.rows_learned)
        lines["drift"] = "\n".join([f"{', '.join(map(str, watches))}; then {on_drift}", *summary(learner.drifts)])
    lines |= {name: _summary(value) for name, value in learner.attributes.items()}
    shown = inside(learner, names)
    if shown.features:
        lines["feature_importances"] = in_words(shown.features)
    if len(shown.moments):
        last = zip(shown.parts, shown.moments[-1, 1:], strict=True)
        lines["weights"] = ", ".join(f"{part} {weight:.3g}" for part, weight in last)
    return lines


def label_text(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)


def _classes(task: Classification) -> str:
    names = [label_text(label) for label in task.classes[:_MOST_CLASSES].tolist()]
    rest = len(task.classes) - len(names)
    return f"{len(task.classes)}: {', '.join(names)}" + (f" and {rest} more" if rest else "")


def _summary(value: Any) -> str:
    """A number as it is, an array by its shape and range."""
    if not isinstance(value, np.ndarray):
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    shape = " x ".join(words.count(n) for n in value.shape)
    return f"{shape}, from {value.min():.4g} to {value.max():.4g}" if value.size else shape
