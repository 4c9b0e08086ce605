"""Scalings of features and of targets: as they come, by fixed numbers, by what was seen so far, or by a metric that is
learned from the first rows.

They are one protocol, so that nothing else asks which of them it has. What is online is causal: a row is scaled by
the rows learned before it and by itself, a prediction is scaled back by the targets learned before it. With itself
among them a value is at most sqrt(n) deviations from the mean of n rows: the first rows cannot be far out.
"""

from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..numerics.deviations import scale_dense, scale_sparse, scale_targets
from ..numerics.relevance import learned_metric
from ..numerics.rows import as_csr
from .moments import Reals, joined, padded
from .opening import LAST
from .state import Limits, compare_shapes

Matrix: TypeAlias = Any  # an ndarray or a csr_array; SciPy ships no types to say so

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

    def __repr__(self) -> str:
        return f"<scaling {self.kind}>"

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `scaling_from` needs besides the kind."""
        return {}

    # What a file's arrays may be, as an algorithm says of its state's.
    outline: ClassVar[dict[str, tuple[int | None, ...]]] = {}
    limits: ClassVar[Limits] = {}

    def template(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Arrays of the kinds and shapes that they must have. Requires: they have the shapes of the outline."""
        return {}

    def take(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Be what these arrays say."""

    def fits(self, width: int) -> bool:
        """Whether a model of so many features can have it; 0 before its first row."""
        return True


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

    def __repr__(self) -> str:
        return f"<scaling {self.kind} of {len(self.offset)} features>"

    outline: ClassVar = {"offset": (None,)}

    def template(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        return dict.fromkeys(("offset", "factor"), np.zeros(len(arrays["offset"])))

    def take(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.offset, self.factor = arrays["offset"], arrays["factor"]

    def fits(self, width: int) -> bool:
        return width in (0, len(self.offset))


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
        mean, squares = padded(self.mean, width), padded(self.squares, width)
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
        mean, squares = (np.require(padded(array, width), requirements="W") for array in (self.mean, self.squares))
        rows = self._written(X, width)
        self._scale(rows, mean, squares, counts, rows[:0])
        return rows

    def _scale(self, rows: Matrix, mean: Reals, squares: Reals, counts: int, shown: Matrix) -> None:
        if issparse(rows):
            scale_sparse(*_parts(rows), squares, self.n_rows, counts, *_parts(shown))
        else:
            scale_dense(rows, mean, squares, self.n_rows, counts, shown)

    def _centres(self, X: Matrix) -> bool:
        return self.centred if self.n_rows > 0 else not issparse(X)

    def _widen(self, width: int) -> None:
        width = max(width, len(self.mean))
        self.mean, self.squares = padded(self.mean, width), padded(self.squares, width)

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
        scale_targets(scaled, self.mean, self.squares, self.n_rows, offsets, units)
        self.n_rows += len(y)
        return scaled, offsets, units

    def undo(self, X: Reals) -> Reals:
        if self.n_rows == 0:
            return X
        mean, squares = padded(self.mean, X.shape[1]), padded(self.squares, X.shape[1])
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
        return self.n_rows, padded(self.mean, width), padded(self.squares, width)

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

    def __repr__(self) -> str:
        return f"<scaling {self.kind} by {self.n_rows:,} rows>"

    outline: ClassVar = {"mean": (None,)}
    limits: ClassVar = {"squares": (0.0, np.inf)}

    def template(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        width = np.zeros(len(arrays["mean"]))
        return {"counts": np.zeros(2, np.int64), "mean": width, "squares": width}

    def take(self, arrays: dict[str, NDArray[Any]]) -> None:
        n_rows, centred = arrays["counts"].tolist()
        self.n_rows, self.centred, self.mean, self.squares = n_rows, bool(centred), arrays["mean"], arrays["squares"]

    def fits(self, width: int) -> bool:
        return len(self.mean) <= width


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
            factor = padded(self.map, max(known, width))
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

    def __repr__(self) -> str:
        return f"<scaling {self.kind} by {self.n_rows:,} rows>"

    outline: ClassVar = {"offset": (None,)}
    limits: ClassVar = {"counts": (0, LAST), "importances": (0.0, 1.0)}

    def template(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        d = len(arrays["offset"])
        compare_shapes(arrays, {"map": (d, d) if self.full else (d,)})  # before room is made for it
        kinds = {"counts": np.zeros(1, np.int64), "map": np.zeros(arrays["map"].shape)}
        return kinds | dict.fromkeys(("offset", "importances"), np.zeros(d))

    def take(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.n_rows = int(arrays["counts"][0])
        self.offset, self.map, self.importances = (arrays[name] for name in ("offset", "map", "importances"))

    def fits(self, width: int) -> bool:
        return len(self.offset) <= width


def _parts(X: csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64], Reals]:
    return X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int64, copy=False), X.data
