"""Components and clusters of a kernel that follow a stream, with scikit-learn's face: on random features, without
labels.

However rows are cut into calls, the result is the same, bit for bit.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ..engine import common
from ..engine.cores import DEFAULT_THREADS, FEWEST_CHUNKS, in_pieces, in_turn
from ..engine.opening import LAST
from ..kernels import Kernel
from ..numerics.clusters import Clusters, assign, follow_clusters, measure, room_for, seeded
from ..numerics.components import Axes, Components, axes, follow_components, no_components, project
from ..numerics.landmarks import TOGETHER
from ..numerics.lifts import lift_scaled
from ..numerics.rows import Block, filled, n_rows, to_block
from ..parameters import fraction
from ..teaching import explained
from .transformers import _Drawn, _KernelFeatures, _Room


class _OnFeatures(_Drawn):
    """What learns on z(x) = (sin u_1'x, ..., cos u_D'x) / sqrt(D), for which |z(x)| = 1."""

    n_frequencies: int
    forget: float

    @property
    def _n_drawn(self) -> int:
        return self.n_frequencies

    def _begin(self, width: int, dtype: Any) -> None:
        fraction(forget=self.forget)
        super()._begin(width, dtype)

    def _rooms(self, n: int) -> list[_Room]:
        """One for each thread that n rows are worth."""
        threads = (self.threads or DEFAULT_THREADS) if n >= FEWEST_CHUNKS * TOGETHER else 1
        shared = common(self._shape.width, 1, self._dtype)._replace(chunk=TOGETHER)
        return [_Room(shared, self._lift.lifted(self._map, TOGETHER)) for _ in range(threads)]

    def _lifting(self, block: Block) -> Callable[[_Room, int, int], None]:
        record, map, dtype = self._lift.record(self._shape.dtype), self._map, self._shape.dtype
        factor = dtype.type(self.n_frequencies**-0.5)
        return lambda room, start, stop: lift_scaled(record, map, block, start, stop, factor, room.lifted)

    def _follow_rows(self, block: Block, follow: Callable[[np.ndarray, int], None]) -> None:
        """Have z of all rows followed, TOGETHER at a time, in their order."""
        lift = self._lifting(block)

        def learn(room: _Room, start: int, stop: int) -> bool:
            follow(room.lifted.z, stop - start)
            return True

        in_turn(lift, learn, self._rooms(n_rows(block)), 0, n_rows(block))

    def _write(self, X: Any, out: Callable[[int], np.ndarray], write: Callable[..., None]) -> np.ndarray:
        """What `write` makes of each row's z, into what `out` gives for so many rows."""
        block = filled(to_block(self._matrix(X, reset=False), self._dtype)[0], self._shape.width)
        n, lift = n_rows(block), self._lifting(block)
        found = out(n)

        def work(room: _Room, start: int, stop: int) -> None:
            for first in range(start, stop, TOGETHER):
                last = min(first + TOGETHER, stop)
                lift(room, first, last)
                write(room.lifted.z, last - first, found[first:last])

        in_pieces(work, self._rooms(n), 0, n)
        return found


@explained()
class OnlineKernelPCA(_OnFeatures):
    """Kernel principal components that follow a stream: the directions in which random features of the rows vary most.

    A row costs O(D (d + n_components)), and no row is kept. Components are those of the kernel up to the error of the
    features, about 1 / sqrt(2 D).

    Weng, Zhang, Hwang: Candid Covariance-Free Incremental Principal Component Analysis (2003); Schoelkopf, Smola,
    Mueller: Nonlinear Component Analysis as a Kernel Eigenvalue Problem (1998).

    Parameters
    ----------
    n_components : how many components are shown
    n_frequencies : D, how many frequencies are drawn; each gives a sine and a cosine
    kernel : a shift-invariant one: "gaussian" ("rbf"), "laplacian", "cauchy", "matern", or such as ``Matern(nu=2.5)``
    gamma : the kernel's, where it is not to be the kernel's own; "scale" is settled on the first 256 rows
    map : "plain", independent frequencies; "quasi", evenly spread ones; "structured", for 64 dense features or more
    forget : what a row's weight is multiplied by with every later row; 1 forgets nothing
    random_state : seed of the frequencies
    threads : on how many cores a call may run (two, where there are two); they change no result

    Attributes
    ----------
    components_ : (n_components, 2 D), orthonormal; zero where the rows have shown no further direction
    explained_variance_, explained_variance_ratio_ : of each component, falling; as a share of all variance
    mean_ : (2 D,), of the features
    kernel_ : the kernel with its width settled
    n_seen_, n_features_in_, feature_names_in_ : rows so far, and what is known of their features

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream import OnlineKernelPCA
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> pca = OnlineKernelPCA(3, gamma=0.1, random_state=0)
    >>> for start in range(0, 1000, 100):
    ...     pca = pca.partial_fit(X[start : start + 100])
    >>> pca.transform(X).shape, pca.n_seen_
    ((1000, 3), 1000)
    """

    _KEPT = (*_KernelFeatures._KEPT, "_components")

    def __init__(
        self,
        n_components: int = 10,
        *,
        n_frequencies: int = 400,
        kernel: str | Kernel = "gaussian",
        gamma: float | str | None = None,
        map: str = "plain",
        forget: float = 1.0,
        random_state: Any = None,
        threads: int | None = None,
    ):
        self.n_components = n_components
        self.n_frequencies = n_frequencies
        self.kernel = kernel
        self.gamma = gamma
        self.map = map
        self.forget = forget
        self.random_state = random_state
        self.threads = threads

    _sizes = ("n_components", "n_frequencies")

    @property
    def components_(self) -> np.ndarray:
        """(n_components, 2 D), orthonormal."""
        return self._axes().directions

    @property
    def explained_variance_(self) -> np.ndarray:
        """Of each component."""
        return self._axes().variances

    @property
    def explained_variance_ratio_(self) -> np.ndarray:
        """Of each component, as a share of the variance in all directions; 0 where nothing has varied."""
        found = self._axes().variances
        return np.asarray(found / max(float(self._components.variance), np.finfo(float).tiny))

    @property
    def mean_(self) -> np.ndarray:
        """Of the features."""
        check_is_fitted(self, "n_seen_")
        return self._components.mean.copy()

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def _draw(self) -> None:
        super()._draw()
        self._components = no_components(self.n_components, 2 * self.n_frequencies)

    def _take_in(self, block: Block) -> None:
        components = Components(*(part.copy() for part in self._components))
        forget, u = float(self.forget), np.zeros(len(components.mean))
        self._follow_rows(block, lambda z, n: follow_components(components, z, n, forget, u))
        self._components = components

    def _axes(self) -> Axes:
        check_is_fitted(self, "n_seen_")
        return axes(self._components, self.n_components)

    def transform(self, X: Any) -> Any:
        """How far each row is along each component, (n, n_components)."""
        directions, variances, offset = self._axes()
        k = len(variances)

        def write(z: np.ndarray, n: int, out: np.ndarray) -> None:
            project(directions, offset, z, n, np.empty(directions.shape[1]), np.empty(k), out)

        return self._write(X, lambda n: np.empty((n, k), self._dtype), write)


@explained(y="not looked at")
class OnlineKernelKMeans(ClusterMixin, _OnFeatures):  # type: ignore[misc]
    """Kernel k-means that follows a stream: each row moves the nearest of the centres, which are means of random
    features. Clusters need not be round, as those of the rows themselves must.

    The first 256 rows are kept and clustered together, by k-means++ and Lloyd's iteration; from then on a row costs
    O(D (d + n_clusters)), and none is kept.

    MacQueen: Some Methods for Classification and Analysis of Multivariate Observations (1967); Sculley: Web-Scale
    K-Means Clustering (2010); Chitta, Jin, Jain: Efficient Kernel Clustering Using Random Fourier Features (2012).

    Parameters
    ----------
    n_clusters : how many centres there are; one beyond the first 256 rows begins with a row that lies on no other
    n_frequencies : D, how many frequencies are drawn; each gives a sine and a cosine
    kernel : a shift-invariant one: "gaussian" ("rbf"), "laplacian", "cauchy", "matern", or such as ``Matern(nu=2.5)``
    gamma : the kernel's, where it is not to be the kernel's own; "scale" is settled on the first 256 rows
    map : "plain", independent frequencies; "quasi", evenly spread ones; "structured", for 64 dense features or more
    forget : what a row's weight is multiplied by with every later row; 1 forgets nothing
    random_state : seed of the frequencies and of the first centres
    threads : on how many cores a call may run (two, where there are two); they change no result

    Attributes
    ----------
    cluster_centers_ : (n_clusters, 2 D), in the space of the features; zero for a centre without rows
    counts_ : (n_clusters,), how many rows each centre is the mean of
    labels_ : of the rows of `fit`, by the centres at its end; `partial_fit` keeps none
    kernel_ : the kernel with its width settled
    n_seen_, n_features_in_, feature_names_in_ : rows so far, and what is known of their features

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream import OnlineKernelKMeans
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> X[500:] += 9.0
    >>> clusters = OnlineKernelKMeans(2, gamma=0.1, random_state=0)
    >>> for start in range(0, 500, 50):
    ...     clusters = clusters.partial_fit(X[start::500])
    >>> len(set(clusters.predict(X[:500]))), len(set(clusters.predict(X)))
    (1, 2)
    """

    _KEPT = (*_KernelFeatures._KEPT, "_clusters", "_opening", "labels_")

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_frequencies: int = 400,
        kernel: str | Kernel = "gaussian",
        gamma: float | str | None = None,
        map: str = "plain",
        forget: float = 1.0,
        random_state: Any = None,
        threads: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.n_frequencies = n_frequencies
        self.kernel = kernel
        self.gamma = gamma
        self.map = map
        self.forget = forget
        self.random_state = random_state
        self.threads = threads

    _sizes = ("n_clusters", "n_frequencies")

    @property
    def cluster_centers_(self) -> np.ndarray:
        """(n_clusters, 2 D), in the space of the features."""
        return self._state().centres.copy()

    @property
    def counts_(self) -> np.ndarray:
        """How many rows each centre is the mean of; fewer, where rows fade."""
        return self._state().counts.copy()

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the rows in their order, starting afresh."""
        super().fit(X)
        self.labels_ = self.predict(X)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more rows; the first call begins."""
        super().partial_fit(X)
        self.__dict__.pop("labels_", None)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The number of the cluster whose centre is nearest, for each row."""
        clusters = self._state()

        def write(z: np.ndarray, n: int, out: np.ndarray) -> None:
            assign(clusters, z, n, room_for(clusters), out)

        return self._write(X, lambda n: np.empty(n, np.int64), write)

    def transform(self, X: Any) -> Any:
        """The distance of each row from each centre, (n, n_clusters); 1 from a centre without rows."""
        clusters = self._state()

        def write(z: np.ndarray, n: int, out: np.ndarray) -> None:
            measure(clusters, z, n, room_for(clusters), out)

        return self._write(X, lambda n: np.empty((n, self.n_clusters), self._dtype), write)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the sum of the rows' squared distances from the nearest centre."""
        there = self._state().counts > 0.0
        return -float(np.square(np.asarray(self.transform(X), np.float64)[:, there].min(axis=1)).sum())

    def _draw(self) -> None:
        super()._draw()
        self._clusters: Clusters | None = None
        self._opening: list[np.ndarray] = []  # z of the first rows, until centres begin on them

    def _take_in(self, block: Block) -> None:
        forget, opening = float(self.forget), list(self._opening)
        clusters = None if self._clusters is None else Clusters(*(part.copy() for part in self._clusters))
        room = None if clusters is None else room_for(clusters)
        n_first = sum(map(len, opening))

        def follow(z: np.ndarray, n: int) -> None:
            nonlocal clusters, room, n_first
            if clusters is None:
                some = min(n, LAST - n_first)
                opening.append(z[:some].copy())
                n_first += some
                if n_first < LAST:
                    return
                clusters = self._seeded(opening)
                room, z, n = room_for(clusters), z[some:], n - some
            follow_clusters(clusters, z, n, forget, room)

        self._follow_rows(block, follow)
        self._clusters, self._opening = clusters, opening if clusters is None else []

    def _seeded(self, opening: list[np.ndarray]) -> Clusters:
        Z = np.concatenate(opening).astype(np.float64)
        return seeded(Z, self.n_clusters, self._shape.seed)

    def _state(self) -> Clusters:
        check_is_fitted(self, "n_seen_")
        return self._seeded(self._opening) if self._clusters is None else self._clusters
