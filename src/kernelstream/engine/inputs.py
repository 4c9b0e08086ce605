"""Scaling of features and of targets, as part of a model: as they come, by fixed numbers, by what was seen so far, or
by a metric that is learned from the first rows.

They are one protocol, so that nothing else asks which of them it has. What is online is causal: a row is scaled by
the rows learned before it and by itself, a prediction is scaled back by the targets learned before it. With itself
among them a value is at most sqrt(n) deviations from the mean of n rows: the first rows cannot be far out.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..numerics.compile import compiled, inlined
from ..numerics.relevance import learned_metric
from ..numerics.rows import LARGEST, as_csr
from .opening import LAST

Matrix: TypeAlias = Any  # an ndarray or a csr_array; SciPy ships no types to say so
Reals: TypeAlias = NDArray[np.float64]

NONE, ONLINE = "none", "online"
FITTED = ("minmax", "standard")
METRICS = ("metric", "full-metric")
SCALINGS = (NONE, *FITTED, ONLINE, *METRICS)


class Scaling:
    """Base of them: rows as they come, which is nothing to do."""

    kind: str = NONE
    changes: ClassVar[bool] = False  # whether rows and targets are any different for it
    follows: ClassVar[bool] = False  # whether learning rows changes it
    settles: ClassVar[bool] = False  # whether it is settled on the first rows (`Opening`)

    def width(self, X: Matrix) -> int:
        """The width of these rows when they are scaled; ValueError where they cannot be."""
        return int(X.shape[1])

    def learn(self, X: Matrix) -> Matrix:
        """The rows as a model learns them, each scaled by those before it and itself, and taken in. Requires: finite
        numbers of at most 1e15.
        """
        return self.learn_beside(X, X[:0])[0]

    def learn_beside(self, X: Matrix, shown: Matrix) -> tuple[Matrix, Matrix]:
        """`learn`, and row t of those shown, if there is one, as `apply` gives it before row t of X is taken in."""
        return X, shown

    def apply(self, X: Matrix) -> Matrix:
        """The rows as a model is shown them: as `learn` would give each, had it come next."""
        return X

    def learn_one(self, x: Reals) -> Matrix:
        """`learn` for one dense row (d,)."""
        return self.learn(x[None])[0]

    def apply_one(self, x: Reals) -> Matrix:
        """`apply` for one dense row (d,)."""
        return self.apply(x[None])[0]

    def known(self, X: Matrix) -> Matrix:
        """Rows that were learned before, by all that was learned since."""
        return X

    def learn_targets(self, y: Reals) -> tuple[Reals, Reals, Reals]:
        """The targets scaled as `learn` does; and for each the offset and the unit of its prediction, from the targets
        before it.
        """
        return y, np.zeros(len(y)), np.ones(len(y))

    def undo(self, X: Reals) -> Reals:
        """Values (n, d) as they were, by the newest numbers."""
        return X

    def settle(self, rows: "list[tuple[Matrix, Reals, Reals]]") -> None:
        """Fix what depends on the first rows: blocks of them as they came, with the outputs (n, K) that are to be
        learned and the rows' weights.
        """

    def attributes(self) -> dict[str, Any]:
        """What it shows of itself, by name."""
        return {}

    def merge(self, other: "Scaling", since: "Scaling | None" = None) -> None:
        """Take in what another scaling of the same kind has seen; `since` is the one that both went on from, if they
        did.
        """

    def differences(self, other: "Scaling") -> list[tuple[str, Any, Any]]:
        """(name, here, there) of all that must be equal in models that are merged."""
        return [("scaling", self.kind, other.kind)]

    def copy(self) -> Self:
        return self

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `scaling_from` needs besides the kind."""
        return {}


class FixedScaling(Scaling):
    """The map x -> (x - offset) * factor of each feature. A feature that was constant has factor 0."""

    changes = True

    def __init__(self, kind: str, offset: Reals, factor: Reals):
        self.kind, self.offset, self.factor = kind, offset, factor

    def learn_beside(self, X: Matrix, shown: Matrix) -> tuple[Matrix, Matrix]:
        return self.apply(X), self.apply(shown)

    def width(self, X: Matrix) -> int:
        width = len(self.offset)
        if X.shape[1] > width or (X.shape[1] < width and not issparse(X)):
            raise ValueError(
                f"the rows have {X.shape[1]} features, the scaling was fitted on {width}; "
                "fit it on data that has all of them, or drop the new ones"
            )
        return width

    def apply(self, X: Matrix) -> Matrix:
        """The scaled rows: dense, or sparse when X is and no offset would fill its zeros."""
        width = self.width(X)
        if not issparse(X):
            return (X - self.offset) * self.factor
        if self.offset.any():
            return (as_csr(X.data, X.indices, X.indptr, width).toarray() - self.offset) * self.factor
        return as_csr(X.data * self.factor[X.indices], X.indices, X.indptr, width)

    known = learn = apply

    def apply_one(self, x: Reals) -> Matrix:
        return (x - self.offset) * self.factor if x.shape == self.offset.shape else self.apply(x[None])[0]

    learn_one = apply_one

    def learn_targets(self, y: Reals) -> tuple[Reals, Reals, Reals]:
        return (y - self.offset[0]) * self.factor[0], np.full(len(y), self.offset[0]), np.full(len(y), self._units[0])

    def undo(self, X: Reals) -> Reals:
        """Values as they were; a feature that was constant has its value."""
        return np.asarray(self.offset[: X.shape[1]] + self._units[: X.shape[1]] * X)

    @property
    def _units(self) -> Reals:
        """What a scaled 1 is; of a feature that was constant 0."""
        return np.divide(1.0, self.factor, out=np.zeros_like(self.factor), where=self.factor != 0)

    def differences(self, other: Scaling) -> list[tuple[str, Any, Any]]:
        theirs = other.arrays()
        pairs = [(f"scaling.{name}", a.tolist(), theirs[name].tolist()) for name, a in self.arrays().items() if theirs]
        return super().differences(other) + pairs

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"offset": self.offset, "factor": self.factor}


class OnlineScaling(Scaling):
    """By the statistics of the rows so far.

    Dense rows become (x - mean) / deviation. Sparse rows keep their zeros: x / root mean square. The rows learned first
    decide which of the two it is; later ones of the other form are converted. A feature that has not varied (sparse:
    appeared) so far becomes 0, and one that is new was 0 so far. Values are cut off at 1e15, the largest a learner
    takes. What comes out does not depend on how the rows are cut into blocks, bit for bit.
    """

    kind = ONLINE
    changes = follows = True

    def __init__(self) -> None:
        self.n_rows = 0
        self.centred = True
        self.mean: Reals = np.zeros(0)  # stays 0 for sparse rows
        self.squares: Reals = np.zeros(0)  # the sum of squared deviations from the mean

    def learn_beside(self, X: Matrix, shown: Matrix) -> tuple[Matrix, Matrix]:
        self.centred = self._centres(X)
        self._widen(X.shape[1])
        known, width = len(self.mean), max(len(self.mean), shown.shape[1])
        rows, ahead = self._written(X, known), self._written(shown, width)
        mean, squares = _padded(self.mean, width), _padded(self.squares, width)
        self._scale(rows, mean, squares, 1, ahead)
        self.mean, self.squares = mean[:known], squares[:known]
        self.n_rows += X.shape[0]
        return rows, ahead

    def apply(self, X: Matrix) -> Matrix:
        return self._scaled(X, 0)

    def known(self, X: Matrix) -> Matrix:
        return self._scaled(X, -1)

    def learn_one(self, x: Reals) -> Matrix:
        if not self._knows(x):
            return super().learn_one(x)
        rows = x[None].astype(np.float64)
        self._scale(rows, self.mean, self.squares, 1, rows[:0])
        self.n_rows += 1
        return rows[0]

    def apply_one(self, x: Reals) -> Matrix:
        if not (self._knows(x) and self.mean.flags.writeable and self.squares.flags.writeable):
            return super().apply_one(x)
        rows = x[None].astype(np.float64)
        self._scale(rows, self.mean, self.squares, 0, rows[:0])
        return rows[0]

    def _knows(self, x: Reals) -> bool:
        """Whether a row is no wider than those before, and these were dense."""
        return self.centred and self.n_rows > 0 and x.shape == self.mean.shape

    def _scaled(self, X: Matrix, counts: int) -> Matrix:
        width = max(X.shape[1], len(self.mean))
        # Arrays of a model that is mapped from a file can only be read, and compiled code knows one kind of array.
        mean, squares = (np.require(_padded(array, width), requirements="W") for array in (self.mean, self.squares))
        rows = self._written(X, width)
        self._scale(rows, mean, squares, counts, rows[:0])
        return rows

    def _scale(self, rows: Matrix, mean: Reals, squares: Reals, counts: int, shown: Matrix) -> None:
        if issparse(rows):
            _scale_sparse(*_parts(rows), squares, self.n_rows, counts, *_parts(shown))
        else:
            _scale_dense(rows, mean, squares, self.n_rows, counts, shown)

    def _centres(self, X: Matrix) -> bool:
        return self.centred if self.n_rows > 0 else not issparse(X)

    def _widen(self, width: int) -> None:
        width = max(width, len(self.mean))
        self.mean, self.squares = _padded(self.mean, width), _padded(self.squares, width)

    def _written(self, X: Matrix, width: int) -> Matrix:
        """A copy of the rows in float64, dense or sparse as they are scaled."""
        if not self._centres(X):
            X = csr_array(X)
            return as_csr(X.data.astype(np.float64), X.indices, X.indptr, width)
        rows = np.zeros((X.shape[0], width))
        rows[:, : X.shape[1]] = X.toarray() if issparse(X) else X
        return rows

    def learn_targets(self, y: Reals) -> tuple[Reals, Reals, Reals]:
        self._widen(1)
        scaled, offsets, units = y.copy(), np.zeros(len(y)), np.ones(len(y))
        _scale_targets(scaled, self.mean, self.squares, self.n_rows, offsets, units)
        self.n_rows += len(y)
        return scaled, offsets, units

    def undo(self, X: Reals) -> Reals:
        if self.n_rows == 0:
            return X
        mean, squares = _padded(self.mean, X.shape[1]), _padded(self.squares, X.shape[1])
        return np.asarray(mean + X * np.sqrt(squares / self.n_rows))

    def merge(self, other: Scaling, since: Scaling | None = None) -> None:
        """Requires: equal `centred`, unless one has seen no rows."""
        assert isinstance(other, OnlineScaling)
        if other.n_rows == 0:
            return
        width = max(len(self.mean), len(other.mean))
        mine, theirs = (s._padded_to(width) for s in (self, other))
        self.mean, self.squares = joined(mine, theirs)
        self.n_rows, self.centred = self.n_rows + other.n_rows, other.centred
        if isinstance(since, OnlineScaling) and since.n_rows > 0:
            # Taken apart as it was put together, for a number of rows below zero.
            n, mean, squares = since._padded_to(width)
            self.mean, squares = joined((self.n_rows, self.mean, self.squares), (-n, mean, -squares))
            self.squares = np.maximum(squares, 0.0)
            self.n_rows -= n

    def _padded_to(self, width: int) -> tuple[int, Reals, Reals]:
        return self.n_rows, _padded(self.mean, width), _padded(self.squares, width)

    def differences(self, other: Scaling) -> list[tuple[str, Any, Any]]:
        pairs = super().differences(other)
        if isinstance(other, OnlineScaling) and self.n_rows and other.n_rows:
            pairs.append(("scaling.centred", self.centred, other.centred))
        return pairs

    def copy(self) -> Self:
        copied = type(self).__new__(type(self))
        vars(copied).update(vars(self), mean=self.mean.copy(), squares=self.squares.copy())
        return copied

    def arrays(self) -> dict[str, NDArray[Any]]:
        counts = np.array([self.n_rows, self.centred], np.int64)
        return {"counts": counts, "mean": self.mean, "squares": self.squares}


class MetricScaling(Scaling):
    """x -> ((x - mean) / deviation) T of the first rows, T a metric that is learned from them (`relevance`): a number
    for each feature or, full, a matrix. Sparse rows keep their zeros: x / root mean square, and a number for each.

    Settled with the learner's other choices, on its first rows. A feature that has not varied in them does not count.
    """

    changes = settles = True

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.n_rows = 0  # that it was settled on
        self.offset: Reals = np.zeros(0)
        self.map: Reals = np.zeros((0, 0) if self.full else 0)
        self.importances: Reals = np.zeros(0)

    @property
    def full(self) -> bool:
        return self.kind == METRICS[1]

    def settle(self, rows: list[tuple[Matrix, Reals, Reals]]) -> None:
        sparse = issparse(rows[0][0])
        if sparse and self.full:
            raise ValueError(f"scaling={self.kind!r} mixes features, which fills sparse rows; take {METRICS[0]!r}.")
        width = max(X.shape[1] for X, _, _ in rows)
        blocks = [as_csr(X.data, X.indices, X.indptr, width).toarray() if issparse(X) else X for X, _, _ in rows]
        X = np.concatenate([np.pad(block, ((0, 0), (0, width - block.shape[1]))) for block in blocks])
        Y, weights = (np.concatenate([row[i] for row in rows]) for i in (1, 2))
        self.n_rows, d = len(X), width
        offset = np.zeros(d) if sparse else X.mean(axis=0)
        deviation = np.sqrt(((X - offset) ** 2).mean(axis=0))
        varied = deviation > 1e-9 * (1e-300 + np.abs(X).max(axis=0))
        factor = np.divide(1.0, deviation, out=np.zeros(d), where=varied)
        T = np.eye(d) if self.full else np.ones(d)
        here = np.flatnonzero(varied)
        unit = Y.std(axis=0).max()
        if len(here) and unit > 0 and weights.any():
            V = ((X - offset) * factor)[:, here]
            learned = learned_metric(V, (Y - Y.mean(axis=0)) / unit, weights, full=self.full)
            T[np.ix_(here, here) if self.full else here] = learned
        squares = np.where(varied, (T * T).sum(axis=1) if self.full else T * T, 0.0)
        self.offset, self.map = offset, factor[:, None] * T if self.full else factor * T
        self.importances = squares / max(float(squares.sum()), 1e-300)

    def apply(self, X: Matrix) -> Matrix:
        if self.n_rows == 0:
            return X
        known, width = len(self.offset), X.shape[1]
        if issparse(X) and not self.offset.any():
            factor = _padded(self.map, max(known, width))
            return as_csr(X.data * factor[X.indices], X.indices, X.indptr, width)
        given = X.toarray() if issparse(X) else X
        shifted = np.zeros((X.shape[0], known)) - self.offset
        shifted[:, : min(known, width)] += given[:, :known]
        rows = np.zeros((X.shape[0], max(known, width)))
        if self.full:
            for j in range(known):  # a BLAS product's bits would depend on how many rows there are
                rows[:, :known] += shifted[:, j : j + 1] * self.map[j]
        else:
            rows[:, :known] = shifted * self.map
        return rows

    known = learn = apply

    def learn_beside(self, X: Matrix, shown: Matrix) -> tuple[Matrix, Matrix]:
        return self.apply(X), self.apply(shown)

    def attributes(self) -> dict[str, Any]:
        """feature_importances: how much of the metric each feature has; they add up to 1."""
        return {"feature_importances": self.importances.copy()} if self.n_rows > 0 else {}

    def differences(self, other: Scaling) -> list[tuple[str, Any, Any]]:
        pairs = super().differences(other)
        if isinstance(other, MetricScaling) and self.n_rows >= LAST and other.n_rows >= LAST:
            pairs.append(("scaling.map", self.map.tolist(), other.map.tolist()))
        return pairs

    def copy(self) -> Self:
        copied = type(self)(self.kind)
        vars(copied).update(vars(self))  # arrays are replaced, never changed
        return copied

    def arrays(self) -> dict[str, NDArray[Any]]:
        counts = np.array([self.n_rows], np.int64)
        return {"counts": counts, "offset": self.offset, "map": self.map, "importances": self.importances}


@inlined
def _in_deviations(shift, squares, n):
    """A shift in units of the deviation of n rows; 0 when there is none."""
    deviation = np.sqrt(squares / max(n, 1))
    if not deviation > 0.0:
        return 0.0
    return min(max(shift / deviation, -LARGEST), LARGEST)


@inlined
def _scale_row(row, mean, squares, n, counts):
    """Scale a row in place: by itself and the n rows before it, which it joins where `counts` is 1; by those alone
    where it is -1.
    """
    for j in range(row.shape[0]):
        value = row[j]
        shift = value - mean[j]
        middle = mean[j] + shift / (n + 1)
        total = squares[j] + shift * (value - middle)
        row[j] = _in_deviations(shift, squares[j], n) if counts < 0 else _in_deviations(value - middle, total, n + 1)
        if counts == 1:
            mean[j], squares[j] = middle, total


@compiled
def _scale_dense(rows, mean, squares, n, counts, shown):
    """Scale rows in place, and before row t joins what is known, row t of `shown`."""
    for t in range(rows.shape[0]):
        if t < shown.shape[0]:
            _scale_row(shown[t], mean, squares, n, 0)
        _scale_row(rows[t], mean, squares, n, counts)
        n += counts == 1


@inlined
def _scale_present(indices, values, squares, n, counts):
    """`_scale_row` for the features that are present, around a mean of 0."""
    for p in range(indices.shape[0]):
        value = values[p]
        total = squares[indices[p]] + value * value
        if counts < 0:
            values[p] = _in_deviations(value, squares[indices[p]], n)
        else:
            values[p] = _in_deviations(value, total, n + 1)
        if counts == 1:
            squares[indices[p]] = total


@compiled
def _scale_sparse(indptr, indices, values, squares, n, counts, shown_indptr, shown_indices, shown_values):
    """`_scale_dense` for sparse rows."""
    for t in range(indptr.shape[0] - 1):
        if t + 1 < shown_indptr.shape[0]:
            a, b = shown_indptr[t], shown_indptr[t + 1]
            _scale_present(shown_indices[a:b], shown_values[a:b], squares, n, 0)
        a, b = indptr[t], indptr[t + 1]
        _scale_present(indices[a:b], values[a:b], squares, n, counts)
        n += counts == 1


@compiled
def _scale_targets(y, mean, squares, n, offsets, units):
    """Scale targets in place; what a prediction for each is scaled back by is known before it."""
    for t in range(y.shape[0]):
        if n > 0:
            offsets[t], units[t] = mean[0], np.sqrt(squares[0] / n)
        _scale_row(y[t : t + 1], mean, squares, n, 1)
        n += 1


def scaling_from(kind: str, arrays: dict[str, NDArray[Any]]) -> Scaling:
    """The scaling whose `arrays` these are; ValueError when they cannot be."""
    if kind == NONE:
        return Scaling()
    if kind in METRICS:
        metric, d = MetricScaling(kind), len(arrays["offset"])
        shapes = {"counts": (1,), "offset": (d,), "map": (d, d) if metric.full else (d,), "importances": (d,)}
        if any(arrays[name].shape != shape or not np.isfinite(arrays[name]).all() for name, shape in shapes.items()):
            raise ValueError("its metric is not one that can have been learned")
        metric.n_rows = int(arrays["counts"][0])
        metric.offset, metric.map, metric.importances = (arrays[name] for name in ("offset", "map", "importances"))
        return metric
    if kind != ONLINE:
        return FixedScaling(kind, arrays["offset"], arrays["factor"])
    scaling = OnlineScaling()
    n_rows, centred = arrays["counts"].tolist()
    mean, squares = arrays["mean"], arrays["squares"]
    sound = mean.dtype == squares.dtype == np.float64 and mean.ndim == 1 and mean.shape == squares.shape
    if not (sound and n_rows >= 0 and np.isfinite(mean).all() and np.isfinite(squares).all() and (squares >= 0).all()):
        raise ValueError("its scaling is not one that can have been learned")
    scaling.n_rows, scaling.centred, scaling.mean, scaling.squares = int(n_rows), bool(centred), mean, squares
    return scaling


class Inputs(NamedTuple):
    """How a model takes in what it is given: the scaling of its features and that of its targets."""

    features: Scaling
    targets: Scaling

    @property
    def follows(self) -> bool:
        return self.features.follows or self.targets.follows

    def copy(self) -> "Inputs":
        return Inputs(*(part.copy() for part in self))

    def merge(self, other: "Inputs", since: "Inputs | None" = None) -> None:
        """since: those that both went on from, if they did."""
        for mine, theirs, past in zip(self, other, since or (None, None), strict=True):
            mine.merge(theirs, past)

    def differences(self, other: "Inputs") -> list[tuple[str, Any, Any]]:
        return [pair for mine, theirs in zip(self, other, strict=True) for pair in mine.differences(theirs)]

    def to_json(self) -> dict[str, str]:
        return {name: part.kind for name, part in self._asdict().items()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        parts = self._asdict().items()
        return {f"{name}.{key}": array for name, part in parts for key, array in part.arrays().items()}

    @classmethod
    def from_json(cls, kinds: dict[str, str], arrays: dict[str, NDArray[Any]]) -> "Inputs":
        def one(name: str) -> Scaling:
            prefix = f"{name}."
            own = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
            return scaling_from(kinds[name], own)

        return cls(one("features"), one("targets"))


def as_inputs(scaling: "str | Scaling | Inputs", *, regression: bool) -> Inputs:
    """What ``scaling=`` stands for; online and by a metric, targets of a regression are scaled too. The learner owns
    the result.
    """
    if isinstance(scaling, Inputs):
        return scaling.copy()
    if isinstance(scaling, str):
        if scaling in FITTED:
            raise ValueError(
                f"scaling={scaling!r} is fitted on rows, and there are none yet: fit an estimator, take what "
                f"fit_scaling gives, or scaling={ONLINE!r}, which follows the rows as they come."
            )
        if scaling not in SCALINGS:
            raise ValueError(f"scaling={scaling!r} must be one of {', '.join(SCALINGS)}, or a fitted one.")
        scaling = named(scaling)
    if not isinstance(scaling, Scaling):
        raise ValueError(f"scaling={scaling!r} must be one of {', '.join(SCALINGS)}, or a fitted one.")
    both = (scaling.follows or scaling.settles) and regression
    return Inputs(scaling.copy(), OnlineScaling() if both else Scaling())


def named(kind: str) -> Scaling:
    """The scaling of a kind that needs no rows beforehand, before any row."""
    return MetricScaling(kind) if kind in METRICS else OnlineScaling() if kind == ONLINE else Scaling()


class _Moments(NamedTuple):
    """The number of rows, and for each feature its extremes, mean and sum of squared deviations from the mean."""

    n_rows: int
    low: Reals
    high: Reals
    mean: Reals
    squares: Reals


def fitted(kind: str, blocks: Iterable[Matrix], refuse: Callable[[str], Exception] = ValueError) -> FixedScaling:
    """The scaling that all rows together give: "minmax" maps each feature onto [-1, 1], "standard" to mean 0 and
    variance 1.

    Constant features become 0. The zeros that sparse rows leave out count, also those before a feature first appeared.
    refuse: makes the error for rows that cannot be scaled from what is wrong with them.
    """
    if kind not in FITTED:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(FITTED)}")
    total: _Moments | None = None
    for X in blocks:
        moments = _sparse_moments(X) if issparse(X) else _dense_moments(np.asarray(X, np.float64))
        total = moments if total is None else _merged(total, moments)
        broken = np.flatnonzero(~np.isfinite(total.high - total.low))
        if len(broken) > 0:
            raise refuse(
                f"feature {broken[0]} has a value that is NaN, infinite or too large "
                f"in rows {total.n_rows - X.shape[0]} to {total.n_rows - 1}; impute or drop such rows before scaling"
            )
    if total is None:
        raise refuse("there are no rows; a scaling needs at least one")
    if kind == "minmax":
        offset, scale = total.low / 2 + total.high / 2, total.high / 2 - total.low / 2
        constant = scale == 0
    else:
        variance = total.squares / total.n_rows
        offset, scale = total.mean, np.sqrt(variance)
        # Rounding alone leaves this much variance in a constant feature (Chan, Golub, LeVeque 1983).
        noise = total.n_rows * np.finfo(float).eps
        constant = variance <= noise * variance + (noise * offset) ** 2
    # Below the smallest normal number a reciprocal overflows.
    constant |= scale < np.finfo(float).tiny
    return FixedScaling(kind, offset, np.divide(1.0, scale, out=np.zeros_like(scale), where=~constant))


def _dense_moments(X: Reals) -> _Moments:
    with np.errstate(invalid="ignore", over="ignore"):
        mean = X.mean(axis=0)
        return _Moments(len(X), X.min(axis=0), X.max(axis=0), mean, np.square(X - mean).sum(axis=0))


def _sparse_moments(X: csr_array) -> _Moments:
    n, width = X.shape
    values = X.data.astype(np.float64)
    present = np.bincount(X.indices, minlength=width)
    low, high = np.where(present < n, 0.0, np.inf), np.where(present < n, 0.0, -np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        np.minimum.at(low, X.indices, values)
        np.maximum.at(high, X.indices, values)
        mean = np.bincount(X.indices, values, width) / n
        deviations = np.bincount(X.indices, np.square(values - mean[X.indices]), width)
        return _Moments(n, low, high, mean, deviations + (n - present) * mean**2)


def _merged(a: _Moments, b: _Moments) -> _Moments:
    """The moments of both parts together: Chan's update. A feature that a part did not have was 0 there."""
    width = max(len(a.mean), len(b.mean))
    a, b = (_Moments(m.n_rows, *(_padded(array, width) for array in m[1:])) for m in (a, b))
    mean, squares = joined((a.n_rows, a.mean, a.squares), (b.n_rows, b.mean, b.squares))
    return _Moments(a.n_rows + b.n_rows, np.minimum(a.low, b.low), np.maximum(a.high, b.high), mean, squares)


def joined(a: tuple[int, Reals, Reals], b: tuple[int, Reals, Reals]) -> tuple[Reals, Reals]:
    """The mean and the sum of squared deviations of two parts together, each given with its number of rows."""
    share = b[0] / (a[0] + b[0])
    with np.errstate(invalid="ignore", over="ignore"):
        shift = b[1] - a[1]
        return a[1] + shift * share, a[2] + b[2] + shift**2 * (a[0] * share)


def _padded(array: Reals, width: int) -> Reals:
    """The same array when it has that width, else one with zeros behind it."""
    return array if len(array) == width else np.pad(array, (0, width - len(array)))


def _parts(X: csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64], Reals]:
    return X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int64, copy=False), X.data
