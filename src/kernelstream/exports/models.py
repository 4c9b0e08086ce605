"""Scores of every learner: what its `evaluate` computes, of many rows at once."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from .. import algorithms
from ..algorithms import NOGD, OMKC, PKAWV, RRF, Auto, DualSGD, ProsNKons, Ridge, Stack
from ..algorithms._expansion import ExpansionAlgorithm
from ..algorithms._features import FeatureAlgorithm
from ..algorithms._mixture import frequencies
from ..algorithms._parts import unlisted
from ..engine import Algorithm
from ..kernels import Kernel
from ..tasks import REGRESSION
from .auto import auto_scores
from .graph import Tensor
from .kernels import Metrics, OwnMetrics, kernel_values
from .lifts import evaluated, lifted, waves


class Model(NamedTuple):
    """What the scores of a learner depend on."""

    spec: Any  # settled
    state: Any
    task: str
    width: int


def scores_of(model: Model, x: Tensor) -> Tensor:
    """(rows, K) scores of rows as the model takes them."""
    spec, state, width = model.spec, model.state, model.width
    if not type(spec).__module__.startswith(f"{algorithms.__name__}."):
        raise ValueError(
            f"{spec.name} is an algorithm of your own, and what it computes for a row is not known to a graph. "
            "Hand the model on by its file (save, load)."
        )
    if isinstance(spec, Auto):
        return auto_scores(state, x, width, classes=model.task != REGRESSION)
    if isinstance(spec, Stack):
        return stack_scores(model, x)
    if isinstance(spec, Ridge):
        return ridge_scores(spec, state, x, width)
    if isinstance(spec, NOGD) and not state.map.frozen:
        f, n = state.map.f, int(state.map.f.size)
        return expansion_scores(spec.kernel, f.points[:, :n].T, f.coef[:, :n].T, x)
    if isinstance(spec, RRF):
        if spec.mixture is not None:
            return waves(x @ frequencies(spec.mixture, state)) @ state.weights.T
        return waves(x @ (state.widths[:, None] * state.map.frequencies)) @ state.weights.T
    if isinstance(spec, OMKC):
        return votes(spec, state, x)
    if isinstance(spec, PKAWV | ProsNKons):
        return embedded_scores(spec, state, x)
    if isinstance(spec, ExpansionAlgorithm):
        return own_expansion_scores(spec, state, x, width)
    assert isinstance(spec, FeatureAlgorithm)
    scores = evaluated(spec.lift, state.map, spec.shown_weights(state), x, width)
    return shifted(spec, spec.attributes(state), scores)


def shifted(spec: Algorithm, shown: dict[str, Any], f: Tensor) -> Tensor:
    """f with its bias, or how far it is above a border, where these are shown."""
    if spec.without_labels:
        return f - shown["rho"]
    return f + shown["bias"] if "bias" in shown else f


def own_expansion_scores(spec: ExpansionAlgorithm, state: Any, x: Tensor, width: int) -> Tensor:
    """f(x), or the mean where that is shown."""
    shown = spec.attributes(state)
    scores = expansion_scores(spec.kernel, shown["points"], shown.get("average", shown["coef"]), x)
    if isinstance(spec, DualSGD):
        return scores + evaluated(spec.lift, state.map, state.weights / spec.unit(state), x, width)
    return shifted(spec, shown, scores)


def votes(spec: OMKC, state: Any, x: Tensor) -> Tensor:
    """sum_p w_p sign(f_p); of several outputs one for the largest of f_p, none where all are equal."""
    shown = spec.attributes(state)
    total = x.cast(np.float64).sum(1, keep=True) * 0.0
    for kernel, coef, w in zip(spec.kernels, shown["kernel_coef"], shown["kernel_weights"], strict=True):
        said, K = expansion_scores(kernel, shown["points"], coef, x), coef.shape[1]
        if K == 1:
            vote = said.node("Sign")
        else:
            best = said.node("ArgMax", dtype=np.int64, axis=1, keepdims=1)
            vote = best.node("Equal", np.arange(K)[None], dtype=np.bool_).cast(said.dtype)
            apart = said.node("ReduceMax", np.array([1])) - said.node("ReduceMin", np.array([1]))
            vote = vote * apart.node("Sign")
        total = total + w * vote.cast(np.float64)
    return total.cast(x.dtype)


def embedded_scores(spec: PKAWV | ProsNKons, state: Any, x: Tensor) -> Tensor:
    """w'z cut off at -C and C, or w'z / (1 + z'Sz)."""
    n, points, coef = int(state.f.size), spec.attributes(state)["points"], spec.coefficients(state)
    if isinstance(spec, ProsNKons):
        C = float(spec.reach)
        return expansion_scores(spec.kernel, points, coef, x).clip(-C, C)
    S = np.tril(state.covariance.S[:n, :n])
    S = S + np.tril(S, -1).T
    half = np.linalg.solve(state.factor[:n, :n], np.linalg.cholesky(S)) if n else np.zeros((0, 1))
    parts = (expansion_scores(spec.kernel, points, part, x) for part in (coef, half))
    said, v = (part.cast(np.float64) for part in parts)
    return (said / ((v * v).sum(1, keep=True) + 1.0)).cast(x.dtype)


def expansion_scores(kernel: Kernel, points: np.ndarray, coef: np.ndarray, x: Tensor) -> Tensor:
    """sum_i coef_i k(point_i, x); points (n, d), coef (n, K)."""
    none = max(0, 2 - len(points))  # so many terms of 0: a product with fewer is none, or one with a single number
    points, coef = (np.pad(array, ((0, none), (0, 0))) for array in (points, coef))
    return kernel_values(kernel, Metrics(x, points)) @ coef


def ridge_scores(spec: Ridge, state: Any, x: Tensor, width: int) -> Tensor:
    """W'z; where every row sees all before it, with those that wait: + h'u (`numerics.pending`), and with itself in the
    matrix over 1 + z'Pz.
    """
    gathers, n, pending = spec.gathers(state), int(state.sums.n_waiting), state.pending
    if not (spec.exact or gathers):
        return evaluated(spec.lift, state.map, state.weights, x, width)
    C, u, roots = pending.factor[:n, :n], pending.u[:, :n], pending.roots[:n]
    if gathers:
        points = state.map.f.points[:, :n].T
        if n == 0:
            return expansion_scores(spec.kernel, points, u.T, x)
        values = kernel_values(spec.kernel, Metrics(x, points)).cast(np.float64)
        h = values @ solve_triangular(C, np.diag(roots), trans="T").T
        scores, square = h @ u.T, kernel_values(spec.kernel, OwnMetrics(x)).cast(np.float64)
        share = 1.0 / spec.ridge
    else:
        z, R = lifted(spec.lift, state.map, x, width).cast(np.float64), pending.whitening.astype(np.float64)
        scores, v = z @ state.weights.T, z @ R.T
        square, share = (v * v).sum(1, keep=True), float(spec.forget) ** -(n + 1.0)
        h = v @ solve_triangular(C, pending.rows[:n], trans="T").T if n else v * 0.0
        scores = scores + h @ u.T if n else scores
    if spec.forward:
        spread = square - (h * h).sum(1, keep=True)
        scores = scores / (1.0 + share * spread.node("Max", spread.like(0.0)))
    return scores.cast(x.dtype)


def stack_scores(model: Model, x: Tensor) -> Tensor:
    """w'e, e what the parts say, clipped to what targets can be."""
    spec: Stack = model.spec
    unit = 1.0 if model.task != REGRESSION else math.inf if spec.bound is None else float(spec.bound)
    total = x.cast(np.float64).sum(1, keep=True) * 0.0
    weights = spec.attributes(model.state)["weights"]
    for part, own, w in zip(spec.learners, unlisted(model.state.parts), weights, strict=True):
        said = scores_of(model._replace(spec=part, state=own), x).cast(np.float64)
        total = total + w * said.clip(-unit, unit)
    return total.cast(x.dtype)
