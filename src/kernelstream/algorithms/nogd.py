"""NOGD: Nystrom online gradient descent.

Lu, Hoi, Wang, Zhao, Liu: Large Scale Online Kernel Learning (2016), Alg. 2 (binary), 4 (multiclass), 6 (regression).

Phase 1 is OGD until the budget B of points is reached. Then, with K the points' Gram matrix and V_k, D_k its k leading
eigenpairs,

    z(x) = D_k^(-1/2) V_k' (k(s_1, x), ..., k(s_B, x))
    w = D_k^(1/2) V_k' alpha        (the paper's alpha (D_k^(-1/2) V_k')^-1, by pseudo-inverse)

and phase 2 is gradient descent on w.

Remarks. Eigenvalues below B * machine epsilon * the largest, and negative ones (a kernel that is not positive
definite), are left out: their features would be noise divided by nearly zero. The eigen-decomposition is float64
always. The hand-over happens between two rows, so the block size has no effect. LSOKL: k = 0.2 B, eta = 0.2.

Symbols: B budget, k rank, eta learning_rate, lambda regularization, epsilon threshold, alpha f.coef, w weights.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..engine.contract import Common, Shape, common, evaluate, lift, step
from ..engine.cores import one_blas_thread
from ..engine.state import ModelFileError
from ..kernels import KernelRecord
from ..numerics import expansion
from ..numerics.compile import call_for_effect
from ..numerics.expansion import Expansion, KernelRow
from ..numerics.features import PRODUCTS, descend, evaluate_linear, shrink
from ..numerics.gram import cross_matrix, gram_matrix
from ..parameters import whole
from ..tasks import BINARY, MULTICLASS, REGRESSION
from ._descent import Descent, DescentRecord, take_slope

TOGETHER = 32  # rows whose kernel values wait for their products with the map, in the caches; a multiple of 4


class NOGDRecord(NamedTuple):
    kernel: KernelRecord
    descent: DescentRecord
    products: int  # address of PRODUCTS


class NOGDState(NamedTuple):
    f: Expansion
    map: np.ndarray  # (k, B): D_k^(-1/2) V_k', zero in phase 1
    weights: np.ndarray  # (K, k)
    frozen: np.ndarray  # 0-d: 1 in phase 2
    t: np.ndarray  # rounds so far, 0-d


class NOGDScratch(NamedTuple):
    common: Common
    row: KernelRow
    rows: np.ndarray  # (TOGETHER, B) kernel values
    z: np.ndarray  # (chunk, k)


@dataclass
class NOGD(Descent):
    budget: int = 400
    rank: int | None = None  # a fifth of the budget

    name: ClassVar[str] = "nogd"
    paper: ClassVar[str] = "Lu et al. 2016"
    tasks: ClassVar[tuple[str, ...]] = (BINARY, MULTICLASS, REGRESSION)
    bounded: ClassVar[bool] = True
    parent: ClassVar[str | None] = "ogd"

    def check(self) -> None:
        super().check()
        whole(1, budget=self.budget)
        if self.rank is not None:
            whole(1, rank=self.rank)
            if self.rank > self.budget:
                raise ValueError(
                    f"rank={self.rank} exceeds budget={self.budget}; a Gram matrix has no more eigenvalues."
                )

    def settle(self, task: str, variance: float, n_features: int) -> Self:
        rank = max(1, self.budget // 5) if self.rank is None else self.rank
        return replace(super().settle(task, variance, n_features), rank=rank)

    def lower(self, task: str, dtype: Any) -> NOGDRecord:
        return NOGDRecord(self.kernel.lower(dtype), self.descent(task, dtype), PRODUCTS.address(dtype))

    def init(self, shape: Shape) -> NOGDState:
        rank = int(self.rank or 0)
        return NOGDState(
            expansion.empty(shape.width, self.budget, shape.n_outputs, shape.dtype),
            np.zeros((rank, self.budget), shape.dtype),
            np.zeros((shape.n_outputs, rank), shape.dtype),
            np.zeros((), np.int64),
            np.zeros((), np.int64),
        )

    def scratch(self, state: NOGDState, shape: Shape) -> NOGDScratch:
        rank, budget = state.map.shape
        desk = common(shape.width, shape.n_outputs, shape.dtype, rank)
        rows, z = np.zeros((TOGETHER, budget), shape.dtype), np.zeros((desk.chunk, rank), shape.dtype)
        return NOGDScratch(desk, expansion.kernel_row(state.f), rows, z)

    def prepare(self, record: NOGDRecord, state: NOGDState) -> NOGDState:
        if state.frozen or state.f.size < self.budget:
            return state
        map, backward = self._nystrom(state.f)
        weights = state.f.coef.astype(np.float64) @ backward.T
        dtype = state.weights.dtype
        return state._replace(map=map.astype(dtype), weights=weights.astype(dtype), frozen=np.ones((), np.int64))

    def lifts_ahead(self, state: NOGDState) -> bool:
        return bool(state.frozen)

    def _nystrom(self, f: Expansion) -> tuple[np.ndarray, np.ndarray]:
        """D_k^(-1/2) V_k' and D_k^(1/2) V_k', with zero rows where the Gram matrix has fewer than k eigenvalues."""
        with one_blas_thread():
            values, vectors = np.linalg.eigh(gram_matrix(self.kernel, f))
        values, vectors = values[::-1][: self.rank], vectors[:, ::-1][:, : self.rank]
        kept = values > values[0] * len(vectors) * np.finfo(f.points.dtype).eps
        roots = np.sqrt(np.where(kept, values, 1.0))
        return np.ascontiguousarray((vectors * (kept / roots)).T), (vectors * (kept * roots)).T

    def grow(self, state: NOGDState, shape: Shape) -> NOGDState:
        weights = np.zeros((shape.n_outputs, state.weights.shape[1]), shape.dtype)
        weights[: len(state.weights)] = state.weights
        f = expansion.resized(state.f, n_features=shape.width, n_outputs=shape.n_outputs)
        return state._replace(f=f, weights=weights)

    def merge(self, record: NOGDRecord, state: NOGDState, other: NOGDState, weight: float) -> NOGDState:
        """Terms are joined; when they exceed the budget or a side is frozen, all are projected onto one Nystrom map."""
        own, theirs = self._terms(state), self._terms(other)
        own.coef[:] *= 1.0 - weight
        joined = expansion.append(own, theirs, weight)
        t = state.t + other.t
        if not (state.frozen or other.frozen) and joined.size <= self.budget:
            return state._replace(f=expansion.taken(joined, range(int(joined.size)), self.budget), t=t)
        if state.frozen or other.frozen:
            f, map = (state.f, state.map) if state.frozen else (other.f, other.map)
        else:
            f = expansion.taken(joined, range(self.budget), self.budget)
            map = self._nystrom(f)[0].astype(state.map.dtype)
        z = cross_matrix(self.kernel, f, joined).T @ map.T.astype(np.float64)
        weights = (joined.coef[:, : int(joined.size)].astype(np.float64) @ z).astype(state.weights.dtype)
        return NOGDState(f, map, weights, np.ones((), np.int64), t)

    def _terms(self, state: NOGDState) -> Expansion:
        """The model as an expansion, a copy: in phase 2 alpha = V_k D_k^(-1/2) w."""
        coef = state.weights @ state.map if state.frozen else state.f.coef.copy()
        return state.f._replace(coef=coef)

    def restore(self, arrays: dict[str, np.ndarray], shape: Shape) -> NOGDState:
        state: NOGDState = super().restore(arrays, shape)
        expansion.check_size(state.f)
        if state.frozen and state.f.size < self.budget:
            raise ModelFileError(f"The file says phase 2 with {int(state.f.size)} of {self.budget} points.")
        return state

    def size(self, state: NOGDState) -> int:
        return int(state.f.size)


@lift.register(NOGDRecord)
def _(record, state, scratch, block, start, stop):
    if state.frozen[()] == 0:
        return
    for first in range(start, stop, TOGETHER):
        last, rows, z = min(first + TOGETHER, stop), scratch.rows, scratch.z[first - start :]
        expansion.kernel_rows(record.kernel, state.f, block, first, last, scratch.common.spread, scratch.row, rows)
        call_for_effect(record.products, rows, last - first, state.map, z)


@evaluate.register(NOGDRecord)
def _(record, state, scratch, x, scores):
    if state.frozen[()] == 0:
        expansion.evaluate(record.kernel, state.f, x, scratch.row, scores)
    else:
        evaluate_linear(state.weights, scratch.z[x.place], scores)


@step.register(NOGDRecord)
def _(record, state, scratch, x, target, weight, scores):
    g = scratch.common.slope
    loss, eta, move = take_slope(record.descent, state.t, g, target, weight, scores)
    factor = 1.0 - eta * record.descent.regularization
    if state.frozen[()] == 0:
        if factor < 1.0:
            expansion.scale(state.f, factor)
        if move > 0.0:
            expansion.add(record.kernel, state.f, x, -move, g, scratch.row)
            scratch.common.halt[()] = state.f.size[()] == state.f.points.shape[1]
    else:
        if factor < 1.0:
            shrink(state.weights, factor)
        if move > 0.0:
            descend(state.weights, move, g, scratch.z[x.place])
    return loss
