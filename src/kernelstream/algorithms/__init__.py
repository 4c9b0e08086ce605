"""The algorithms, one file each. A row in `_ROWS` is all that the faces, the laws and the benchmarks need."""

import copy
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..engine import Algorithm
from ..parameters import PLACES, did_you_mean

if TYPE_CHECKING:
    from .adaraker import AdaRaker
    from .arow import AROW
    from .auto import Auto
    from .avm import AVM
    from .bogd import BOGD
    from .bpa import BPA
    from .bsgd import BSGD
    from .budget_krls import BudgetKRLS
    from .budget_perceptron import BudgetPerceptron
    from .density import Density
    from .dualsgd import DualSGD
    from .fogd import FOGD
    from .forgetron import Forgetron
    from .kapa import KAPA
    from .klms import KLMS
    from .koil import KOIL
    from .krls import KRLS
    from .krls_tracker import KRLSTracker
    from .lasvm import LASVM
    from .nogd import NOGD
    from .norma import NORMA
    from .npbsgd import NPBSGD
    from .ogd import OGD
    from .omkc import OMKC
    from .opauc import OPAUC
    from .pa import PA
    from .pegasos import Pegasos
    from .perceptron import Perceptron
    from .pkawv import PKAWV
    from .polk import POLK
    from .projectron import Projectron
    from .pros_n_kons import ProsNKons
    from .qklms import QKLMS
    from .raker import Raker
    from .rbp import RBP
    from .ridge import Ridge
    from .rrf import RRF
    from .scw import SCW
    from .sliding_krls import SlidingKRLS
    from .sop import SOP
    from .stack import Stack
    from .tvm import TVM
    from .ufo_mkl import UFOMKL

__all__ = [
    "ALGORITHMS",
    "AROW",
    "AVM",
    "BOGD",
    "BPA",
    "BSGD",
    "FOGD",
    "KAPA",
    "KLMS",
    "KOIL",
    "KRLS",
    "LASVM",
    "NOGD",
    "NORMA",
    "NPBSGD",
    "OGD",
    "OMKC",
    "OPAUC",
    "PA",
    "PKAWV",
    "POLK",
    "PURPOSES",
    "QKLMS",
    "RBP",
    "RRF",
    "SCW",
    "SOP",
    "TVM",
    "UFOMKL",
    "AdaRaker",
    "Auto",
    "BudgetKRLS",
    "BudgetPerceptron",
    "Density",
    "DualSGD",
    "Forgetron",
    "KRLSTracker",
    "Pegasos",
    "Perceptron",
    "Projectron",
    "ProsNKons",
    "Raker",
    "Ridge",
    "SlidingKRLS",
    "Stack",
    "as_algorithm",
    "make",
]

# The file of each class. It is imported when the class or a spec of it is asked for: all of them take longer than
# most commands.
_FILES = {
    "AdaRaker": "adaraker",
    "AROW": "arow",
    "Auto": "auto",
    "AVM": "avm",
    "BOGD": "bogd",
    "BPA": "bpa",
    "BSGD": "bsgd",
    "BudgetPerceptron": "budget_perceptron",
    "Density": "density",
    "DualSGD": "dualsgd",
    "FOGD": "fogd",
    "Forgetron": "forgetron",
    "KRLS": "krls",
    "SlidingKRLS": "sliding_krls",
    "BudgetKRLS": "budget_krls",
    "KRLSTracker": "krls_tracker",
    "KLMS": "klms",
    "QKLMS": "qklms",
    "KAPA": "kapa",
    "KOIL": "koil",
    "LASVM": "lasvm",
    "NOGD": "nogd",
    "NORMA": "norma",
    "NPBSGD": "npbsgd",
    "OGD": "ogd",
    "OMKC": "omkc",
    "OPAUC": "opauc",
    "PA": "pa",
    "Pegasos": "pegasos",
    "Perceptron": "perceptron",
    "PKAWV": "pkawv",
    "POLK": "polk",
    "Projectron": "projectron",
    "ProsNKons": "pros_n_kons",
    "Raker": "raker",
    "RBP": "rbp",
    "Ridge": "ridge",
    "RRF": "rrf",
    "SCW": "scw",
    "SOP": "sop",
    "Stack": "stack",
    "TVM": "tvm",
    "UFOMKL": "ufo_mkl",
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
    "raker": ("Raker", {}),
    "adaraker": ("AdaRaker", {}),
    "ufo-mkl": ("UFOMKL", {}),
    "sop": ("SOP", {}),
    "arow": ("AROW", {}),
    "scw": ("SCW", {}),
    "pros-n-kons": ("ProsNKons", {}),
    "pkawv": ("PKAWV", {}),
    "perceptron": ("Perceptron", {}),
    "ogd": ("OGD", {}),
    "norma": ("NORMA", {}),
    "pegasos": ("Pegasos", {}),
    "pa-1": ("PA", {"variant": 1}),
    "pa-2": ("PA", {"variant": 2}),
    "budget-perceptron": ("BudgetPerceptron", {}),
    "rbp": ("RBP", {}),
    "omkc": ("OMKC", {}),
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
    "krls": ("KRLS", {}),
    "krls-sw": ("SlidingKRLS", {}),
    "krls-fb": ("BudgetKRLS", {}),
    "krls-t": ("KRLSTracker", {}),
    "klms": ("KLMS", {}),
    "qklms": ("QKLMS", {}),
    "knlms": ("KAPA", {"rows": 1}),
    "kapa": ("KAPA", {}),
    "avm": ("AVM", {}),
    "tvm": ("TVM", {}),
    "density": ("Density", {}),
    "lasvm": ("LASVM", {}),
    "opauc": ("OPAUC", {}),
    "koil": ("KOIL", {}),
}


# What each is for, as `kernelstream algorithms` has them.
PURPOSES: dict[str, tuple[str, ...]] = {
    "the least error with nothing set": ("auto",),
    "speed, on random features or on points that become features": ("fogd", "nogd", "rrf", "dualsgd"),
    "all rows at once, and how sure it is": ("ridge", "krls", "krls-sw", "krls-fb", "krls-t", "pkawv", "pros-n-kons"),
    "several kernels or learners at once": ("stack", "raker", "adaraker", "ufo-mkl", "omkc"),
    "classes, with what is known of each direction": ("sop", "arow", "scw"),
    "a rare class before the others": ("opauc", "koil"),
    "a budget of points, where the rest is dropped": (
        *("budget-perceptron", "rbp", "forgetron", "bogd", "bogd++", "bpa-s", "bsgd-r"),
    ),
    "a budget of points, where the rest is projected or merged": (
        *("projectron", "projectron++", "bpa-p", "bpa-nn", "bsgd-p", "bsgd-m", "npbsgd", "tvm"),
    ),
    "as many points as the error or the data ask for": ("polk", "avm", "lasvm"),
    "adaptive filters": ("klms", "qklms", "knlms", "kapa"),
    "every point kept: what a budget is measured by": ("perceptron", "ogd", "norma", "pegasos", "pa-1", "pa-2"),
    "rows without labels": ("density",),
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
