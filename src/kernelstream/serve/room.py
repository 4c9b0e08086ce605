"""Room: how many bytes a model takes with its first row, found out before any of them is taken.

Arrays of a state are at most quadratic in a learner's sizes, in the features and in the outputs: what they come to is
carried on from states that are small.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import Algorithm, Shape
from ..engine.state import leaves
from ..numerics.rows import Sample
from ..parameters import Parameters
from ..tasks import Task
from .records import Refusal

_FEW, _FEW_OUTPUTS = 256, 16  # sizes and features, outputs, up to three times of which a state is made

_LEAST = 32  # of a size that is small beside the largest


def require_room(algorithm: Algorithm, task: Task, dtype: str, width: int, most: int) -> None:
    """Refuse a model that takes more bytes than it may."""
    found = _bytes_of(algorithm, task, Shape(width, task.n_outputs, 0, np.dtype(dtype)))
    if found > most:
        sizes = _sizes(algorithm)
        largest = max(sizes, key=lambda name: sizes[name]) if sizes else ""
        smaller = f"Choose a smaller {largest} than {sizes[largest]:,}" if sizes else "Choose a smaller learner"
        features = "1 feature" if width == 1 else f"{width:,} features"
        raise Refusal(
            f"With {features} the model {algorithm.name} takes about {found:,.0f} bytes; {most:,} are the most "
            f"(most_model_bytes). {smaller}, give it fewer features, or raise most_model_bytes."
        )


def _bytes_of(algorithm: Algorithm, task: Task, shape: Shape) -> float:
    largest = max(_sizes(algorithm).values(), default=1)

    def made(size: int, width: int, outputs: int) -> float:
        spec = _resized(algorithm, size / largest).settle(task.name, Sample(1.0, 1))
        state = spec.init(shape._replace(width=width, n_outputs=outputs))
        return sum(array.nbytes for array in leaves(state, derived=True).values())

    def of_width(size: int, width: int) -> float:
        return _carried(lambda outputs: made(size, width, outputs), shape.n_outputs, _FEW_OUTPUTS)

    def of_size(size: int) -> float:
        return _carried(lambda width: of_width(size, width), shape.width, _FEW)

    return _carried(of_size, largest, _FEW)


def _carried(f: Callable[[int], float], x: int, few: int) -> float:
    """f(x) of a quadratic f that is asked for small numbers alone, by its differences."""
    if x <= 3 * few:
        return f(x)
    a, b, c = (f(n * few) for n in (1, 2, 3))
    n = x / few - 3.0
    return c + n * (c - b) + n * (n + 1.0) / 2.0 * max(0.0, c - 2.0 * b + a)


def _sizes(spec: Parameters) -> dict[str, int]:
    """The whole numbers of a spec, and of those that it is made of, that are large."""
    found: dict[str, int] = {}
    for name, value in spec.get_params(deep=False).items():
        if _is_several(value):
            found |= {f"{name}.{i}.{inner}": n for i, part in enumerate(value) for inner, n in _sizes(part).items()}
        elif type(value) is int and value > _FEW:
            found[name] = value
    return found


def _resized(spec: Any, factor: float) -> Any:
    """The spec with its sizes multiplied; none becomes small by it."""
    changed: dict[str, Any] = {}
    for name, value in spec.get_params(deep=False).items():
        if _is_several(value):
            changed[name] = tuple(_resized(part, factor) for part in value)
        elif type(value) is int and value > _FEW:
            changed[name] = max(_LEAST, round(value * factor))
    return dataclasses.replace(spec, **changed)


def _is_several(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(part, Algorithm) for part in value)
