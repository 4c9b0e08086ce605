"""kernelstream: nonlinear models learned from streams with kernels, one example at a time, in bounded memory."""

import os
from typing import TYPE_CHECKING, Any

from .algorithms import (
    ALGORITHMS,
    AVM,
    BOGD,
    BPA,
    BSGD,
    FOGD,
    NOGD,
    NORMA,
    NPBSGD,
    OGD,
    PA,
    POLK,
    RBP,
    RRF,
    TVM,
    Auto,
    BudgetPerceptron,
    DualSGD,
    Forgetron,
    Pegasos,
    Perceptron,
    Projectron,
    Ridge,
    Stack,
    make,
)
from .learner import Learner
from .tasks import Binary, Multiclass, Regression

if TYPE_CHECKING:
    from .estimators import (
        FourierFeatures,
        NystromFeatures,
        OnlineKernelClassifier,
        OnlineKernelOutlier,
        OnlineKernelRegressor,
        OnlineScaler,
        StructuredFeatures,
    )

__version__ = "0.1.0"

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
    "Binary",
    "BudgetPerceptron",
    "DualSGD",
    "Forgetron",
    "FourierFeatures",
    "Learner",
    "Multiclass",
    "NystromFeatures",
    "OnlineKernelClassifier",
    "OnlineKernelOutlier",
    "OnlineKernelRegressor",
    "OnlineScaler",
    "Pegasos",
    "Perceptron",
    "Projectron",
    "Regression",
    "Ridge",
    "Stack",
    "StructuredFeatures",
    "load",
    "make",
    "to_onnx",
]


# scikit-learn takes most of a second to import; only its face needs it.
_FACE = (
    "FourierFeatures",
    "NystromFeatures",
    "OnlineKernelClassifier",
    "OnlineKernelOutlier",
    "OnlineKernelRegressor",
    "OnlineScaler",
    "StructuredFeatures",
)


def __getattr__(name: str) -> Any:
    if name in _FACE:
        from . import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def load(path: str | os.PathLike[str]) -> "OnlineKernelClassifier | OnlineKernelRegressor | OnlineKernelOutlier":
    """The estimator that a model file holds; `Learner.load` gives the bare learner. Runs no code from the file."""
    from .estimators import load_estimator

    return load_estimator(path)


def to_onnx(model: Any) -> Any:
    """A learner or a fitted estimator as a graph of ONNX (`onnx.ModelProto`), with its scaling and its classes inside.

    Its first output is the label or the value; of classes the probabilities and the scores follow. Rows come in as
    ``X``, in the model's own dtype. Brought by ``pip install 'kernelstream[onnx]'``.
    """
    from .exports import graph_of

    return graph_of(model, __version__)
