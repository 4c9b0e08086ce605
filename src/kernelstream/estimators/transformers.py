"""scikit-learn transformers of the engine's parts: random features, Nystrom features, scaling that follows a stream.

`fit` starts afresh, `partial_fit` goes on. However rows are cut into calls, the result is the same, bit for bit: what
is left to the data is settled on the first 256 rows, as learners settle it.
"""

import copy
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..algorithms._features import WAVES, Map
from ..engine import Common, Shape, common
from ..engine.cores import DEFAULT_THREADS, FEWEST_CHUNKS, in_pieces
from ..engine.inputs import OnlineScaling
from ..engine.opening import LAST
from ..kernels import EVALUATED, POSITIVE_DEFINITE, Kernel, Need, as_kernel
from ..numerics.landmarks import TOGETHER, choose, lower_factor, no_landmarks, write_features, writing
from ..numerics.lifts import Fourier, Lift, Structured, lift_scaled
from ..numerics.lifts.fourier import FourierMap, write_waves
from ..numerics.lifts.structured import written_out
from ..numerics.memory import aligned, one_blas_thread
from ..numerics.rows import (
    Block,
    as_matrix,
    filled,
    n_rows,
    require_inside,
    require_unnamed,
    sample_of,
    to_block,
    unmasked,
)
from ..parameters import fraction, one_of, whole
from ..teaching import explained

_WIDE = 32  # features from which on BLAS multiplies dense rows faster
_WIDEST = 192  # ... and up to which it takes less time than a structured map, from 1,000 components on


class _Room(NamedTuple):
    common: Common
    lifted: Any


@explained(y="not looked at")
class _Rows(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer that follows a stream of rows, in the precision of the first ones."""

    _KEPT: tuple[str, ...] = ("n_seen_", "_dtype")  # what was learned
    n_seen_: int
    _dtype: Any

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the rows, starting afresh."""
        fresh = copy.copy(self)
        for name in self._KEPT:
            fresh.__dict__.pop(name, None)
        self.__dict__.update(fresh.partial_fit(X).__dict__)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more rows; the first call begins."""
        self._follow(X)
        return self

    def _follow(self, X: Any) -> Any:
        """`partial_fit`; what `_learn` makes of the rows."""
        first = not hasattr(self, "n_seen_")
        matrix = self._matrix(X, reset=first)
        dtype = np.dtype(np.float32 if matrix.dtype == np.float32 else np.float64) if first else self._dtype
        block, width = to_block(matrix, dtype)
        if first:
            self._begin(width, dtype)
            self._dtype, self.n_seen_ = dtype, 0
        found = self._learn(matrix, block)
        self.n_seen_ += n_rows(block)
        return found

    def _begin(self, width: int, dtype: Any) -> None:
        """Look at the parameters, and begin."""

    def _learn(self, matrix: Any, block: Block) -> Any:
        raise NotImplementedError

    def _matrix(self, X: Any, *, reset: bool) -> Any:
        require_unnamed(X)
        require_inside(X)
        X = unmasked(X, "features")
        plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiu" and len(X) > 0
        if plain and not reset and X.shape[1] == self.n_features_in_ and not hasattr(self, "feature_names_in_"):
            return X  # nothing is left to book
        return as_matrix(validate_data(self, X, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@explained()
class _KernelFeatures(ClassNamePrefixFeaturesOutMixin, _Rows):  # type: ignore[misc]
    """Rows as the numbers that a linear model needs to be one of a kernel."""

    _KEPT = (*_Rows._KEPT, "kernel_", "_map", "_shape", "_first", "_landmarks", "_lower")
    _needs: tuple[Need, ...]
    _sizes: tuple[str, ...] = ("n_components",)

    n_components: int
    kernel: str | Kernel
    gamma: float | str | None
    threads: int | None
    kernel_: Kernel

    def _begin(self, width: int, dtype: Any) -> None:
        whole(1, **{name: getattr(self, name) for name in self._sizes})
        if self.threads is not None:
            whole(1, threads=self.threads)
        kernel = self._given()
        for need in self._needs:
            need.check(kernel)
        self._shape = Shape(width, 1, self._seed(), dtype)
        self.kernel_ = kernel
        # The first rows, while the kernel's width is still settled on them.
        self._first: list[Any] | None = [] if kernel.depends_on_data else None
        if not kernel.depends_on_data:
            kernel.require_finite(dtype)
            self._draw()

    def _given(self) -> Kernel:
        """The kernel that was asked for."""
        kernel = as_kernel(self.kernel)
        return kernel if self.gamma is None else copy.deepcopy(kernel).set_params(gamma=self.gamma)

    def _seed(self) -> int:
        """Of what is drawn."""
        return 0

    def _learn(self, matrix: Any, block: Block) -> None:
        if self._first is None:
            self.kernel_.require_values(block, self._dtype)
            self._take_in(filled(block, self._shape.width))
            return
        room = LAST - self.n_seen_
        first = [*self._first, matrix[:room].copy()]
        blocks = [to_block(part, self._dtype)[0] for part in first]
        kernel = self._given().settle(sample_of(blocks, self._shape.width, np.zeros(1)))
        kernel.require_finite(self._dtype)
        kernel.require_values(block, self._dtype)
        self.kernel_, self._first = kernel, first if n_rows(block) < room else None
        self._draw()
        if n_rows(block) > room:
            blocks.append(to_block(matrix[room:], self._dtype)[0])
        for part in blocks:
            self._take_in(filled(part, self._shape.width))

    def _draw(self) -> None:
        """Begin a map, for the kernel as it is settled."""
        raise NotImplementedError

    def _take_in(self, block: Block) -> None:
        """Choose what the map is made of from more rows."""

    def transform(self, X: Any) -> Any:
        """The features of each row, (n, number of features).

        >>> from kernelstream import FourierFeatures
        >>> FourierFeatures(3, gamma=1.0).fit([[0.0, 0.0]]).transform([[0.5, -1.0], [2.0, 0.0]]).shape
        (2, 6)
        """
        check_is_fitted(self, "n_seen_")
        block = filled(to_block(self._matrix(X, reset=False), self._dtype)[0], self._shape.width)
        self.kernel_.require_values(block, self._dtype)
        n, out = n_rows(block), np.empty((n_rows(block), self._n_features_out), self._dtype)
        threads = (self.threads or DEFAULT_THREADS) if n >= FEWEST_CHUNKS * TOGETHER else 1
        shared = common(self._shape.width, 1, self._dtype)._replace(chunk=TOGETHER)
        with one_blas_thread():
            in_pieces(self._writer(block, out), [_Room(shared, self._room()) for _ in range(threads)], 0, n)
        return out

    def _room(self) -> Any:
        """One thread's, for rows that are lifted together."""
        raise NotImplementedError

    def _writer(self, block: Block, out: np.ndarray) -> Callable[[_Room, int, int], None]:
        """What writes the features of the rows start .. stop-1."""
        raise NotImplementedError


class _Drawn(_KernelFeatures):
    """Rows as their map says, which is drawn."""

    _maps: ClassVar[dict[str, Map]] = WAVES
    map: str
    random_state: Any

    def _begin(self, width: int, dtype: Any) -> None:
        one_of(tuple(self._maps), map=self.map)
        super()._begin(width, dtype)

    @property
    def _needs(self) -> tuple[Need, ...]:  # type: ignore[override]
        return self._maps[self.map].needs

    @property
    def _n_drawn(self) -> int:
        """How many frequencies."""
        return self.n_components

    @property
    def _lift(self) -> Lift:
        return self._maps[self.map].lift(self.kernel_, self._n_drawn)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _draw(self) -> None:
        self._map: Any = self._lift.map(self._shape)


class _Waves(_Drawn):
    """Sines and cosines of random frequencies."""

    @property
    def _n_features_out(self) -> int:
        return 2 * self.n_components

    def _room(self) -> Any:
        room = np.empty((TOGETHER, self.n_components), self._dtype)
        return self._lift.lifted(self._map, 1)._replace(projected=aligned(room))

    def _writer(self, block: Block, out: np.ndarray) -> Callable[[_Room, int, int], None]:
        record, map, factor = self._lift.record(self._dtype), self._map, self._dtype.type(self.n_components**-0.5)
        wide = block.shared and self._shape.width >= _WIDE and isinstance(map, FourierMap)
        rows = block.values.reshape(n_rows(block), -1) if wide else None

        def write(room: _Room, start: int, stop: int) -> None:
            for first in range(start, stop, TOGETHER):
                last = min(first + TOGETHER, stop)
                lifted = room.lifted._replace(z=out[first:last])
                if rows is not None:
                    write_waves(record, map, rows[first:last], factor, lifted)
                else:
                    lift_scaled(record, map, block, first, last, factor, lifted)

        return write


class FourierFeatures(_Waves):
    """Random Fourier features: z(x) = (sin u_1'x, ..., sin u_D'x, cos u_1'x, ..., cos u_D'x) / sqrt(D), for which
    z(x)'z(x') estimates k(x, x'), off by about 1 / sqrt(2 D).

    Rahimi, Recht: Random Features for Large-Scale Kernel Machines (2007).

    Parameters
    ----------
    n_components : D, how many frequencies are drawn; each gives a sine and a cosine
    kernel : a shift-invariant one: "gaussian" ("rbf"), "laplacian", "cauchy", "matern", "spectral-mixture", or such as
        ``Matern(nu=2.5)``
    gamma : the kernel's, where it is not to be the kernel's own; "scale" is settled on the first 256 rows
    map : "plain", independent draws; "quasi", those of a Sobol sequence, evenly spread, which err less
    random_state : seed of the frequencies, which depend on it, the feature and the component alone
    threads : on how many cores `transform` may run (two, where there are two); they change no result

    Attributes
    ----------
    kernel_ : the kernel with its width settled
    frequencies_ : (features, n_components), the u
    n_seen_, n_features_in_, feature_names_in_ : rows so far, and what is known of their features

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream import FourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> FourierFeatures(200, gamma=0.1, random_state=0).fit_transform(X).shape
    (1000, 400)
    """

    _maps: ClassVar[dict[str, Map]] = {name: WAVES[name] for name in ("plain", "quasi")}

    def __init__(
        self,
        n_components: int = 400,
        *,
        kernel: str | Kernel = "gaussian",
        gamma: float | str | None = None,
        map: str = "plain",
        random_state: Any = None,
        threads: int | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.map = map
        self.random_state = random_state
        self.threads = threads

    @property
    def frequencies_(self) -> np.ndarray:
        """(features, n_components)."""
        check_is_fitted(self, "n_seen_")
        return self._map.frequencies.copy()


class StructuredFeatures(_Waves):
    """Random Fourier features whose frequencies are rows of products of Hadamard matrices and random signs: orthogonal,
    so that they err less, and for 192 features or more O(log d) a component instead of O(d). For fewer, the frequencies
    are written out: products with them take less time.

    Yu, Suresh, Choromanski, Holtmann-Rice, Kumar: Orthogonal Random Features (2016), SORF.

    Parameters
    ----------
    n_components : how many frequencies are drawn; each gives a sine and a cosine
    kernel : an isotropic one: "gaussian" ("rbf"), "cauchy", "matern", or such as ``Matern(nu=2.5)``
    gamma : the kernel's, where it is not to be the kernel's own; "scale" is settled on the first 256 rows
    random_state : seed of the signs
    threads : on how many cores `transform` may run (two, where there are two); they change no result

    Attributes
    ----------
    kernel_ : the kernel with its width settled
    n_seen_, n_features_in_, feature_names_in_ : rows so far, and what is known of their features

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream import StructuredFeatures
    >>> X = np.random.default_rng(0).normal(size=(1000, 300))
    >>> StructuredFeatures(1000, gamma=0.002, random_state=0).fit_transform(X).shape
    (1000, 2000)
    """

    def __init__(
        self,
        n_components: int = 400,
        *,
        kernel: str | Kernel = "gaussian",
        gamma: float | str | None = None,
        random_state: Any = None,
        threads: int | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state
        self.threads = threads

    map = "structured"

    @property
    def frequencies_(self) -> np.ndarray:
        raise AttributeError("StructuredFeatures are made of signs; FourierFeatures has frequencies.")

    @property
    def _lift(self) -> Lift:
        return (Fourier if self._shape.width < _WIDEST else Structured)(self.kernel_, self.n_components)

    def _draw(self) -> None:
        map = Structured(self.kernel_, self.n_components).map(self._shape)
        if self._shape.width < _WIDEST:
            written = np.ascontiguousarray(written_out(map, self._shape.width), self._shape.dtype)
            self._map = FourierMap(aligned(written), map.seed)
        else:
            self._map = map


class NystromFeatures(_KernelFeatures):
    """Nystrom features, z(x)'z(x') = k_x' K^-1 k_x' for k_x the kernel values of x and the landmarks, of Gram matrix K.

    Landmarks are chosen as rows come (`numerics.landmarks`): a row becomes one while there is room and those there are
    leave more than `tolerance` of its k(x, x) unexplained. A landmark adds a column and changes none of those before
    it: a linear model that learns on them goes on as it is. Columns of landmarks that are still to come are 0.

    Williams, Seeger: Using the Nystrom Method to Speed Up Kernel Machines (2001); Engel, Mannor, Meir: The Kernel
    Recursive Least-Squares Algorithm (2004).

    Parameters
    ----------
    n_components : how many landmarks there may be
    kernel : any that is positive definite: "gaussian" ("rbf"), "polynomial", ..., or such as ``Polynomial(degree=3)``
    gamma : the kernel's, where it is not to be the kernel's own; "scale" is settled on the first 256 rows
    tolerance : the share of k(x, x) that may stay unexplained
    threads : on how many cores `transform` may run (two, where there are two); they change no result

    Attributes
    ----------
    kernel_ : the kernel with its width settled
    landmarks_ : (so many as there are, features)
    n_seen_, n_features_in_, feature_names_in_ : rows so far, and what is known of their features

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream import NystromFeatures
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> NystromFeatures(100, gamma=0.1).fit_transform(X).shape
    (1000, 100)
    """

    _needs = (EVALUATED, POSITIVE_DEFINITE)

    def __init__(
        self,
        n_components: int = 400,
        *,
        kernel: str | Kernel = "gaussian",
        gamma: float | str | None = None,
        tolerance: float = 0.01,
        threads: int | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.tolerance = tolerance
        self.threads = threads

    @property
    def landmarks_(self) -> np.ndarray:
        """(number of landmarks so far, features)."""
        check_is_fitted(self, "n_seen_")
        f = self._landmarks.f
        return np.ascontiguousarray(f.points[:, : int(f.size)].T)

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def _room(self) -> Any:
        return writing(self.kernel_, self._landmarks, self._lower)

    def _writer(self, block: Block, out: np.ndarray) -> Callable[[_Room, int, int], None]:
        return lambda room, start, stop: write_features(room.lifted, block, start, stop, out)

    def _begin(self, width: int, dtype: Any) -> None:
        fraction(tolerance=self.tolerance)
        super()._begin(width, dtype)

    def _draw(self) -> None:
        self._landmarks = no_landmarks(self._shape.width, self.n_components, self._shape.dtype)
        self._lower = lower_factor(self._landmarks)

    def _take_in(self, block: Block) -> None:
        choose(self.kernel_, self._landmarks, block, max(self.tolerance, _ROUNDING[self._shape.dtype.name]))
        if len(self._lower) < int(self._landmarks.f.size):
            self._lower = lower_factor(self._landmarks)


# Shares of k(x, x) that rounding leaves.
_ROUNDING = {"float32": 3e-5, "float64": 1e-12}


@explained(y="not looked at")
class OnlineScaler(OneToOneFeatureMixin, _Rows):  # type: ignore[misc]
    """Scaling by the rows so far, as of learners with ``scaling="online"``: dense rows become (x - mean) / deviation,
    sparse ones keep their zeros and become x / root mean square.

    A row is scaled by the rows learned before it and by itself, so that among n rows nothing is more than sqrt(n)
    deviations off; a feature that has not varied becomes 0. `transform_learn` is what a stream goes through.

    Attributes
    ----------
    mean_, scale_ : of each feature so far; the mean is 0 for sparse rows
    n_seen_, n_features_in_, feature_names_in_ : rows so far, and what is known of their features

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream import OnlineScaler
    >>> X = np.random.default_rng(0).normal(5.0, 100.0, size=(1000, 3))
    >>> scaled = OnlineScaler().transform_learn(X)
    >>> bool(abs(scaled[100:].mean()) < 0.1), bool(abs(scaled[100:].std() - 1) < 0.1)
    (True, True)
    """

    _KEPT = (*_Rows._KEPT, "_scaling")

    @property
    def mean_(self) -> np.ndarray:
        """Of each feature; 0 for sparse rows."""
        check_is_fitted(self, "n_seen_")
        return self._scaling.mean.copy()

    @property
    def scale_(self) -> np.ndarray:
        """The deviation of each feature, or of sparse rows the root mean square."""
        check_is_fitted(self, "n_seen_")
        return np.asarray(np.sqrt(self._scaling.squares / self.n_seen_))

    def transform(self, X: Any) -> Any:
        """The rows, each scaled by all that were learned and itself; learns nothing."""
        check_is_fitted(self, "n_seen_")
        matrix = self._matrix(X, reset=False)
        to_block(matrix, self._dtype)
        return self._out(self._scaling.apply(matrix))

    def transform_learn(self, X: Any, y: Any = None) -> Any:
        """The rows, each scaled by those learned before it and itself; learns them in the same pass.

        >>> from kernelstream import OnlineScaler
        >>> OnlineScaler().transform_learn([[0.0], [2.0], [1.0]]).tolist()
        [[0.0], [1.0], [0.0]]
        """
        return self._out(self._follow(X))

    def _begin(self, width: int, dtype: Any) -> None:
        self._scaling = OnlineScaling()

    def _learn(self, matrix: Any, block: Block) -> Any:
        return self._scaling.learn(matrix)

    def _out(self, rows: Any) -> Any:
        return rows.astype(self._dtype)
