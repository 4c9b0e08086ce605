"""Parameters by their own names, as estimators and detectors take them, and what their values in words are."""

import contextlib
import copy
from typing import Any

from ..engine import Algorithm
from ..kernels import Kernel, as_kernel


def _place(spec: Algorithm, kernel: Kernel, name: str) -> str:
    """Where a parameter is that goes by its own name: in a spec, or in its kernel."""
    mine, of_kernel = (list(part.get_params(deep=False)) for part in (spec, kernel))
    if name not in mine and name not in of_kernel:
        raise ValueError(
            f"{spec.name} has no parameter {name!r}; it has {', '.join(mine)}, and its kernel {', '.join(of_kernel)}."
        )
    return name if name in mine else f"kernel__{name}"


def changed(spec: Algorithm, parameters: dict[str, Any]) -> Algorithm:
    """The spec with parameters of its own, or of its kernel, by their own names; at once, as one may need another."""
    kernel = as_kernel(parameters.get("kernel", spec.kernel))
    return copy.deepcopy(spec).set_params(**{_place(spec, kernel, name): value for name, value in parameters.items()})


def number_or_text(text: str) -> int | float | str:
    """What a word stands for: a whole number, a number, or else itself."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
