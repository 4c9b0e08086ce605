"""Parameters of an algorithm and of its kernel by their own names, as estimators take them."""

import copy
from typing import Any

from ..engine import Algorithm


def _place(spec: Algorithm, name: str) -> str:
    """Where a parameter is that goes by its own name: in a spec, or in its kernel."""
    mine, of_kernel = (list(part.get_params(deep=False)) for part in (spec, spec.kernel))
    if name not in mine and name not in of_kernel:
        raise ValueError(
            f"{spec.name} has no parameter {name!r}; it has {', '.join(mine)}, and its kernel {', '.join(of_kernel)}."
        )
    return name if name in mine else f"kernel__{name}"


def changed(spec: Algorithm, parameters: dict[str, Any]) -> Algorithm:
    """The spec with parameters of its own, or of its kernel, by their own names."""
    spec, rest = copy.deepcopy(spec), dict(parameters)
    if "kernel" in rest:
        spec.set_params(kernel=rest.pop("kernel"))
    return spec.set_params(**{_place(spec, name): value for name, value in rest.items()})
