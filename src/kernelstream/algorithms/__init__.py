"""The algorithms, one file each. A row in ALGORITHMS is all that the faces, the laws and the benchmarks need."""

import copy
from dataclasses import replace
from typing import Any

from ..engine import Algorithm
from ..parameters import did_you_mean
from .auto import Auto
from .avm import AVM
from .bogd import BOGD
from .bpa import BPA
from .bsgd import BSGD
from .budget_perceptron import BudgetPerceptron
from .dualsgd import DualSGD
from .fogd import FOGD
from .forgetron import Forgetron
from .nogd import NOGD
from .norma import NORMA
from .npbsgd import NPBSGD
from .ogd import OGD
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
    "NOGD",
    "NORMA",
    "NPBSGD",
    "OGD",
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

# Each learner's spec with its defaults; a row's name is the spec's own `name`.
ALGORITHMS: dict[str, Algorithm] = {
    spec.name: spec
    for spec in (
        Auto(),
        Ridge(),
        Stack(),
        FOGD(),
        NOGD(),
        RRF(),
        DualSGD(),
        Perceptron(),
        OGD(),
        NORMA(),
        Pegasos(),
        PA(variant=1),
        PA(variant=2),
        BudgetPerceptron(),
        RBP(),
        Forgetron(),
        Projectron(),
        Projectron(aggressive=True),
        BOGD(sampling="uniform"),
        BOGD(sampling="nonuniform"),
        BPA(maintenance="simple"),
        BPA(maintenance="projection"),
        BPA(maintenance="nearest"),
        BSGD(maintenance="removal"),
        BSGD(maintenance="projection"),
        BSGD(maintenance="merging"),
        NPBSGD(),
        POLK(),
        AVM(),
        TVM(),
    )
}


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
