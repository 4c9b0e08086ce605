"""kernelstream: nonlinear models learned from streams with kernels, one example at a time, in bounded memory."""

from __future__ import annotations

# As typing's, which takes the command longer to import than it may take to be interrupted without a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from .algorithms import (
        ALGORITHMS,
        AROW,
        AVM,
        BOGD,
        BPA,
        BSGD,
        FOGD,
        KAPA,
        KLMS,
        KOIL,
        KRLS,
        LASVM,
        NOGD,
        NORMA,
        NPBSGD,
        OGD,
        OMKC,
        OPAUC,
        PA,
        PKAWV,
        POLK,
        QKLMS,
        RBP,
        RRF,
        SCW,
        SOP,
        TVM,
        UFOMKL,
        AdaRaker,
        Auto,
        BudgetKRLS,
        BudgetPerceptron,
        Density,
        DualSGD,
        Forgetron,
        KRLSTracker,
        Pegasos,
        Perceptron,
        Projectron,
        ProsNKons,
        Raker,
        Ridge,
        SlidingKRLS,
        Stack,
        make,
    )
    from .estimators import (
        FourierFeatures,
        NystromFeatures,
        OnlineKernelClassifier,
        OnlineKernelKMeans,
        OnlineKernelOutlier,
        OnlineKernelPCA,
        OnlineKernelRegressor,
        OnlineScaler,
        StructuredFeatures,
    )
    from .learner import Learner
    from .tasks import Binary, Multiclass, Regression

__version__ = "0.1.0"

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
    "QKLMS",
    "RBP",
    "RRF",
    "SCW",
    "SOP",
    "TVM",
    "UFOMKL",
    "AdaRaker",
    "Auto",
    "Binary",
    "BudgetKRLS",
    "BudgetPerceptron",
    "Density",
    "DualSGD",
    "Forgetron",
    "FourierFeatures",
    "KRLSTracker",
    "Learner",
    "Multiclass",
    "NystromFeatures",
    "OnlineKernelClassifier",
    "OnlineKernelKMeans",
    "OnlineKernelOutlier",
    "OnlineKernelPCA",
    "OnlineKernelRegressor",
    "OnlineScaler",
    "Pegasos",
    "Perceptron",
    "Projectron",
    "ProsNKons",
    "Raker",
    "Regression",
    "Ridge",
    "SlidingKRLS",
    "Stack",
    "StructuredFeatures",
    "load",
    "make",
    "to_onnx",
]


# What is asked for is imported then: scikit-learn alone takes most of a second, and the command must be able to end
# at once while it starts.
_FACE = (
    "FourierFeatures",
    "NystromFeatures",
    "OnlineKernelClassifier",
    "OnlineKernelKMeans",
    "OnlineKernelOutlier",
    "OnlineKernelPCA",
    "OnlineKernelRegressor",
    "OnlineScaler",
    "StructuredFeatures",
)
_PLACES = dict.fromkeys(_FACE, "estimators") | dict.fromkeys(("Binary", "Multiclass", "Regression"), "tasks")
_PLACES |= {"Learner": "learner"}
_ROOMS = (
    *("algorithms", "client", "distributed", "encoding", "engine", "evaluate", "kernels", "laws", "learner", "losses"),
    *("metrics", "numerics", "parameters", "river", "schedules", "sources", "tasks"),
)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name in __all__:
        found = getattr(import_module(f".{_PLACES.get(name, 'algorithms')}", __name__), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def load(path: str | os.PathLike[str]) -> OnlineKernelClassifier | OnlineKernelRegressor | OnlineKernelOutlier:
    """The estimator that a model file holds; `Learner.load` gives the bare learner. Runs no code from the file.

    Parameters
    ----------
    path : of a file that `save` wrote

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import kernelstream
    >>> clf = kernelstream.OnlineKernelClassifier("rbp").fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     clf.save(pathlib.Path(directory) / "model.ks")
    ...     again = kernelstream.load(pathlib.Path(directory) / "model.ks")
    >>> again.n_seen_, again.partial_fit([[2.0]], ["yes"]).n_seen_
    (2, 3)
    """
    from .estimators import load_estimator

    return load_estimator(path)


def to_onnx(model: Any) -> Any:
    """A learner or a fitted estimator as a graph of ONNX (`onnx.ModelProto`), with its scaling and its classes inside.

    Its first output is the label or the value; of classes the probabilities and the scores follow. Rows come in as
    ``X``, in the model's own dtype. Brought by ``pip install 'kernelstream[onnx]'``.

    Parameters
    ----------
    model : a `Learner` that has learned rows, or a fitted estimator

    Examples
    --------
    >>> import kernelstream
    >>> clf = kernelstream.OnlineKernelClassifier("rbp").fit([[0.0], [1.0]], ["no", "yes"])
    >>> [output.name for output in kernelstream.to_onnx(clf).graph.output]
    ['label', 'probabilities', 'scores']
    """
    from .exports import graph_of

    return graph_of(model, __version__)
