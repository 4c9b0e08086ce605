"""The algorithms, one file each. A row in ALGORITHMS is all that the faces, the laws and the benchmarks need."""

from typing import Any

from ..engine import Algorithm
from .fogd import FOGD
from .nogd import NOGD
from .ogd import OGD
from .perceptron import Perceptron

__all__ = ["ALGORITHMS", "FOGD", "NOGD", "OGD", "Perceptron", "as_algorithm", "make"]

ALGORITHMS: dict[str, type[Algorithm]] = {
    "perceptron": Perceptron,
    "ogd": OGD,
    "fogd": FOGD,
    "nogd": NOGD,
}


def make(name: str, **parameters: Any) -> Algorithm:
    """A spec by its name: ``make("fogd", n_components=100)``."""
    if name not in ALGORITHMS:
        raise ValueError(f"algorithm {name!r} is not known; choose one of {', '.join(ALGORITHMS)}.")
    return ALGORITHMS[name](**parameters)


def as_algorithm(algorithm: "str | Algorithm") -> Algorithm:
    """A spec by its name with the defaults, or the spec itself."""
    if isinstance(algorithm, Algorithm):
        return algorithm
    if not isinstance(algorithm, str):
        raise ValueError(f"algorithm={algorithm!r} must be a spec such as FOGD() or one of {', '.join(ALGORITHMS)}.")
    return make(algorithm)
