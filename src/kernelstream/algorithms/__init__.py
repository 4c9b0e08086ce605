"""The algorithms, one file each. A row in `_ROWS` is all that the faces, the laws and the benchmarks need."""

import copy
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..engine import Algorithm
from ..parameters import PLACES, did_you_mean

if TYPE_CHECKING:
    from .auto import Auto
    from .avm import AVM
    from .bogd import BOGD
    from .bpa import BPA
    from .bsgd import BSGD
    from .budget_perceptron import BudgetPerceptron
    from .dualsgd import DualSGD
    from .fogd import FOGD
    from .forgetron import Forgetron
    from .lasvm import LASVM
    from .nogd import NOGD
    from .norma import NORMA
    from .npbsgd import NPBSGD
    from .ogd import OGD
    from .opauc import OPAUC
    from .pa import PA
    from .pegasos import Pegasos
    from .perceptron import Perceptron
    from .polk import POLK
    from .projectron import Projectron
    from .rbp import RBP
    from .ridge import Ridge
    from .rrf import RRF
    from .stack import Stack
    from .tvm import TVM

__all__ = [
    "ALGORITHMS",
    "AVM",
    "BOGD",
    "BPA",
    "BSGD",
    "FOGD",
    "LASVM",
    "NOGD",
    "NORMA",
    "NPBSGD",
    "OGD",
    "OPAUC",
    "PA",
    "POLK",
    "RBP",
    "RRF",
    "TVM",
    "Auto",
    "BudgetPerceptron",
    "DualSGD",
    "Forgetron",
    "Pegasos",
    "Perceptron",
    "Projectron",
    "Ridge",
    "Stack",
    "as_algorithm",
    "make",
]

# The file of each class. It is imported when the class or a spec of it is asked for: all of them take longer than
# most commands.
_FILES = {
    "Auto": "auto",
    "AVM": "avm",
    "BOGD": "bogd",
    "BPA": "bpa",
    "BSGD": "bsgd",
    "BudgetPerceptron": "budget_perceptron",
    "DualSGD": "dualsgd",
    "FOGD": "fogd",
    "Forgetron": "forgetron",
    "LASVM": "lasvm",
    "NOGD": "nogd",
    "NORMA": "norma",
    "NPBSGD": "npbsgd",
    "OGD": "ogd",
    "OPAUC": "opauc",
    "PA": "pa",
    "Pegasos": "pegasos",
    "Perceptron": "perceptron",
    "POLK": "polk",
    "Projectron": "projectron",
    "RBP": "rbp",
    "Ridge": "ridge",
    "RRF": "rrf",
    "Stack": "stack",
    "TVM": "tvm",
}
PLACES.update({kind: f"{__name__}.{file}" for kind, file in _FILES.items()})


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_FILES[name]}", __name__), name)
    globals()[name] = found
    return found


# Each learner by its spec's own `name`: the class, and what differs from its defaults.
_ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "auto": ("Auto", {}),
    "ridge": ("Ridge", {}),
    "stack": ("Stack", {}),
    "fogd": ("FOGD", {}),
    "nogd": ("NOGD", {}),
    "rrf": ("RRF", {}),
    "dualsgd": ("DualSGD", {}),
    "perceptron": ("Perceptron", {}),
    "ogd": ("OGD", {}),
    "norma": ("NORMA", {}),
    "pegasos": ("Pegasos", {}),
    "pa-1": ("PA", {"variant": 1}),
    "pa-2": ("PA", {"variant": 2}),
    "budget-perceptron": ("BudgetPerceptron", {}),
    "rbp": ("RBP", {}),
    "forgetron": ("Forgetron", {}),
    "projectron": ("Projectron", {}),
    "projectron++": ("Projectron", {"aggressive": True}),
    "bogd": ("BOGD", {"sampling": "uniform"}),
    "bogd++": ("BOGD", {"sampling": "nonuniform"}),
    "bpa-s": ("BPA", {"maintenance": "simple"}),
    "bpa-p": ("BPA", {"maintenance": "projection"}),
    "bpa-nn": ("BPA", {"maintenance": "nearest"}),
    "bsgd-r": ("BSGD", {"maintenance": "removal"}),
    "bsgd-p": ("BSGD", {"maintenance": "projection"}),
    "bsgd-m": ("BSGD", {"maintenance": "merging"}),
    "npbsgd": ("NPBSGD", {}),
    "polk": ("POLK", {}),
    "avm": ("AVM", {}),
    "tvm": ("TVM", {}),
    "lasvm": ("LASVM", {}),
    "opauc": ("OPAUC", {}),
}


class _Table(MutableMapping[str, Algorithm]):
    """Each learner's spec with its defaults, made when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Algorithm | None] = dict.fromkeys(_ROWS)

    def __getitem__(self, name: str) -> Algorithm:
        spec = self._made[name]
        if spec is None:
            kind, parameters = _ROWS[name]
            spec = self._made[name] = __getattr__(kind)(**parameters)
        return spec

    def __setitem__(self, name: str, spec: Algorithm) -> None:
        self._made[name] = spec

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._made

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._made)

    def __len__(self) -> int:
        return len(self._made)


ALGORITHMS = _Table()


def make(name: str, **parameters: Any) -> Algorithm:
    """A spec by its name, as the command line has it.

    Parameters
    ----------
    name : one of ALGORITHMS
    parameters : of the spec, where they are not to be the defaults

    Examples
    --------
    >>> import kernelstream
    >>> kernelstream.make("bsgd-m", budget=100).maintenance
    'merging'
    """
    if name not in ALGORITHMS:
        raise ValueError(
            f"algorithm {name!r} is not known; {did_you_mean(name, ALGORITHMS)} one of {', '.join(ALGORITHMS)}."
        )
    return replace(copy.deepcopy(ALGORITHMS[name]), **parameters)


def as_algorithm(algorithm: "str | Algorithm") -> Algorithm:
    """A spec by its name with the defaults, or the spec itself."""
    if isinstance(algorithm, Algorithm):
        return algorithm
    if not isinstance(algorithm, str):
        raise ValueError(f"algorithm={algorithm!r} must be a spec such as FOGD() or one of {', '.join(ALGORITHMS)}.")
    return make(algorithm)
