"""The batch learners that the papers compare with, from scikit-learn and SciPy, and the way most people would start:
RBFSampler and SGD, in chunks.

    svc              LIBSVM with a Gaussian kernel; size: its support vectors
    linear-nystroem  landmarks by k-means, the Nystrom map that they make, a linear machine (LLSVM); size: the landmarks
    linear-fourier   random Fourier features, a linear machine; size: the features
    kernel-lbfgs     mean loss + lambda/2 ||f||^2 over all points by L-BFGS; size: all points
    ivm              the import vector machine, see `import_vectors`; size: its points
    rbfsampler-sgd   random Fourier features, SGD; the only one that is judged as it learns

The linear machine is LIBLINEAR's own default for loss=hinge (the hinge is squared, one class against the rest), and
multinomial logistic regression for loss=logistic. gamma is that of exp(-gamma ||x - z||^2).
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.cluster import MiniBatchKMeans
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC

from ..tasks import REGRESSION, Task
from .import_vectors import Fit

LOSSES = ("hinge", "logistic")
CHUNK_ROWS = 256
_CACHE = 2000  # MB of kernel values that LIBSVM may keep


class Fitted(NamedTuple):
    """A learned model: labels or values for rows, and how much it has to keep."""

    predict: Callable[[Any], np.ndarray]
    size: int


def fit_baseline(name: str, parameters: dict[str, Any], X: Any, y: Any, task: Task, seed: int) -> Fitted:
    """Learn from all rows, dense or CSR, and their labels."""
    if name not in BASELINES:
        raise ValueError(f"there is no batch baseline {name!r}; there are {', '.join(BASELINES)}")
    if task.name == REGRESSION and name != "svc":
        raise ValueError(f"{name} classifies only; for a regression take svc or rbfsampler-sgd")
    fit, defaults = BASELINES[name]
    return fit(_completed(name, defaults, parameters), X, np.asarray(y), task, seed)


def run_rbfsampler_sgd(parameters: dict[str, Any], X: Any, y: Any, task: Task, seed: int) -> tuple[float, float]:
    """The mistake rate, or the mean squared error, of rows that are predicted before they are learned, and the seconds
    (the processor's).

    A chunk is predicted, then learned. What the first chunk is told before anything was learned is the first class,
    or 0.
    """
    settings = _completed("rbfsampler-sgd", RBFSAMPLER_SGD, parameters)
    y = np.asarray(y)
    regression = task.name == REGRESSION
    rates = {"learning_rate": "constant", "eta0": settings["learning_rate"], "alpha": settings["regularization"]}
    sampler = _sampler(settings, seed).fit(X[:1])
    model: Any
    if regression:
        model, first = SGDRegressor(loss="squared_error", random_state=seed, **rates), {}
    else:
        loss = "hinge" if settings["loss"] == "hinge" else "log_loss"
        model, first = SGDClassifier(loss=loss, random_state=seed, **rates), {"classes": np.unique(y)}
    total = 0.0
    began = time.process_time()
    for start in range(0, len(y), CHUNK_ROWS):
        chunk = slice(start, start + CHUNK_ROWS)
        Z = sampler.transform(X[chunk])
        shown = model.predict(Z) if start else np.full(len(Z), 0.0 if regression else first["classes"][0])
        total += float(((shown - y[chunk]) ** 2).sum() if regression else (shown != y[chunk]).sum())
        model.partial_fit(Z, y[chunk], **first)
    return total / len(y), time.process_time() - began


def _completed(name: str, defaults: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """The defaults with the parameters in their places; a default of None must be given."""
    for given in parameters:
        if given not in defaults:
            raise ValueError(f"{name} has no parameter {given!r}; it has {', '.join(defaults)}")
    settings = {**defaults, **parameters}
    missing = [parameter for parameter, value in settings.items() if value is None]
    if missing:
        raise ValueError(f"{name} needs {' and '.join(missing)}; set {'it' if len(missing) == 1 else 'them'}")
    if "loss" in settings and settings["loss"] not in LOSSES:
        raise ValueError(f"{name}: loss={settings['loss']!r} is not known; choose one of {', '.join(LOSSES)}")
    return settings


def _svc(settings: dict[str, Any], X: Any, y: np.ndarray, task: Task, seed: int) -> Fitted:
    if task.name == REGRESSION:
        model = SVR(C=settings["C"], gamma=settings["gamma"], epsilon=settings["epsilon"], cache_size=_CACHE).fit(X, y)
    else:
        model = SVC(C=settings["C"], gamma=settings["gamma"], cache_size=_CACHE).fit(X, y)
    return Fitted(model.predict, len(model.support_))


def _linear_nystroem(settings: dict[str, Any], X: Any, y: np.ndarray, task: Task, seed: int) -> Fitted:
    n = min(settings["n_components"], len(y))
    landmarks = MiniBatchKMeans(n, n_init=1, batch_size=max(1024, 3 * n), random_state=seed).fit(X).cluster_centers_
    # Fitted on the landmarks, all of which it takes: they are its basis.
    features = Nystroem(gamma=settings["gamma"], n_components=n, random_state=seed).fit(landmarks)
    machine = _linear(settings, seed).fit(features.transform(X), y)
    return Fitted(make_pipeline(features, machine).predict, n)


def _linear_fourier(settings: dict[str, Any], X: Any, y: np.ndarray, task: Task, seed: int) -> Fitted:
    model = make_pipeline(_sampler(settings, seed), _linear(settings, seed)).fit(X, y)
    return Fitted(model.predict, settings["n_components"])


def _sampler(settings: dict[str, Any], seed: int) -> Any:
    return RBFSampler(gamma=settings["gamma"], n_components=settings["n_components"], random_state=seed)


def _linear(settings: dict[str, Any], seed: int) -> Any:
    if settings["loss"] == "hinge":
        return LinearSVC(C=settings["C"], random_state=seed)
    return LogisticRegression(C=settings["C"], max_iter=settings["max_iterations"])


def _kernel_lbfgs(settings: dict[str, Any], X: Any, y: np.ndarray, task: Task, seed: int) -> Fitted:
    """One output a class. The hinge is sum_r max(0, 1 + f_r - f_y)^2, as L-BFGS wants a gradient without jumps.

    The unknowns are v = L'a with G = LL', in which ||f|| is the Euclidean norm: in a itself the problem is as badly
    conditioned as G. L is factored with pivots and ends where what is left of G is rounding.
    """
    classes, index = np.unique(y, return_inverse=True)
    n, k = len(y), len(classes)
    gram = rbf_kernel(X, gamma=settings["gamma"]).astype(np.float64, copy=False)
    factor, order, rank, _ = dpstrf(gram.T, lower=1, overwrite_a=1)
    order -= 1  # LAPACK counts from 1
    L = np.tril(factor)[:, :rank]
    chosen = np.eye(k)[index[order]]
    regularization = settings["regularization"]
    loss = _squared_hinge if settings["loss"] == "hinge" else _negative_log_likelihood

    def risk(flat: np.ndarray) -> tuple[float, np.ndarray]:
        v = flat.reshape(rank, k)
        value, slope = loss(L @ v, chosen)
        gradient = L.T @ (slope / n) + regularization * v
        return value / n + 0.5 * regularization * float(flat @ flat), gradient.ravel()

    options = {"maxiter": settings["max_iterations"]}
    found = minimize(risk, np.zeros(rank * k), jac=True, method="L-BFGS-B", options=options)
    coef = solve_triangular(L[:rank], found.x.reshape(rank, k), lower=True, trans="T", check_finite=False)
    points = X[order[:rank]]

    def predict(rows: Any) -> np.ndarray:
        return classes[(rbf_kernel(rows, points, gamma=settings["gamma"]) @ coef).argmax(axis=1)]

    return Fitted(predict, n)


def _ivm(settings: dict[str, Any], X: Any, y: np.ndarray, task: Task, seed: int) -> Fitted:
    classes, index = np.unique(y, return_inverse=True)
    gram = rbf_kernel(X, gamma=settings["gamma"]).astype(np.float64, copy=False)
    fit = Fit(gram, np.eye(len(classes))[index], settings["regularization"])
    for _ in range(min(settings["n_points"], len(y))):
        fit.add_best()
    points, coef = X[fit.chosen], fit.A

    def predict(rows: Any) -> np.ndarray:
        return classes[(rbf_kernel(rows, points, gamma=settings["gamma"]) @ coef).argmax(axis=1)]

    return Fitted(predict, len(fit.chosen))


def _squared_hinge(scores: np.ndarray, chosen: np.ndarray) -> tuple[float, np.ndarray]:
    """The sum over rows of sum_r max(0, 1 + f_r - f_y)^2, and its slope."""
    own = (scores * chosen).sum(axis=1, keepdims=True)
    excess = np.maximum(0.0, 1.0 + scores - own) * (1.0 - chosen)
    slope = 2.0 * (excess - chosen * excess.sum(axis=1, keepdims=True))
    return float((excess**2).sum()), slope


def _negative_log_likelihood(scores: np.ndarray, chosen: np.ndarray) -> tuple[float, np.ndarray]:
    share = softmax(scores, axis=1)
    return -float(np.log(np.maximum((share * chosen).sum(axis=1), np.finfo(np.float64).tiny)).sum()), share - chosen


# Each baseline's parameters with their defaults; None: must be given.
_LINEAR: dict[str, Any] = {"gamma": None, "n_components": 1000, "C": 1.0, "loss": "hinge", "max_iterations": 1000}
BASELINES: dict[str, tuple[Callable[[dict[str, Any], Any, np.ndarray, Task, int], Fitted], dict[str, Any]]] = {
    "svc": (_svc, {"gamma": None, "C": 1.0, "epsilon": 0.1}),
    "linear-nystroem": (_linear_nystroem, _LINEAR),
    "linear-fourier": (_linear_fourier, _LINEAR),
    "kernel-lbfgs": (
        _kernel_lbfgs, {"gamma": None, "regularization": 1e-6, "loss": "logistic", "max_iterations": 200}
    ),
    "ivm": (_ivm, {"gamma": None, "regularization": 1e-6, "n_points": None}),
}  # fmt: skip
RBFSAMPLER_SGD: dict[str, Any] = {
    "gamma": None, "n_components": 100, "loss": "hinge", "learning_rate": 0.1, "regularization": 1e-4
}  # fmt: skip
