"""The rows of a data set as a paper used them: its cut, its scale, its classes."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..engine.opening import stacked
from ..sources import Matrix, datasets, open_source
from ..tasks import BINARY, REGRESSION, Binary, Multiclass, Regression, Task
from . import series
from .items import DataSet, ItemError

SEED_OF_TUNED_ROWS = 20170101
_WIDEST_DENSE = 1000
_SCALES = ("none", "minmax", "unit", "standard")
TEXTONS = "brodatz-textons"


class Missing(Exception):
    """The data is not at hand; the message says so in a few words."""


class Rows(NamedTuple):
    """All rows of a data set, and of those it is judged by, if they are others; `reported` are row numbers."""

    X: Matrix
    y: np.ndarray
    task: Task
    reported: np.ndarray
    test: tuple[Matrix, np.ndarray] | None


def load(data: DataSet) -> Rows:
    """Read a data set; `Missing` when it is not at hand."""
    if data.absent is not None:
        raise Missing(data.absent)
    X, y = _read(data.source, data.sparse)
    if data.rows is not None and len(y) != data.rows:
        raise ItemError(f"{data.source} has {len(y)} rows, but the paper has {data.rows}: it is another cut")
    test = None if data.test is None else _read(data.test, data.sparse)
    if test is not None:
        X, narrow = _of_one_width(X, test[0])
        test = (narrow, test[1])
    X, test_X = _scaled(data, X, None if test is None else test[0])
    y, test_y = (_labels(data, labels, y) for labels in (y, None if test is None else test[1]))
    order = np.random.default_rng(SEED_OF_TUNED_ROWS).permutation(len(y))
    reported = np.sort(order[data.tuned_rows :])
    return Rows(X, y, _task(data, y), reported, None if test is None else (test_X, test_y))


def orders(data: DataSet, rows: Rows, runs: int) -> list[np.ndarray]:
    """Row orders: a series' own, the authors' where they are at hand, else random ones."""
    if data.in_order:
        return [rows.reported]
    if data.orders is None:
        return [np.random.default_rng(k).permutation(rows.reported) for k in range(runs)]
    if data.tuned_rows:
        raise ItemError(f"{data.label} has given row orders, which cannot leave out tuned_rows")
    name, _, extra = data.orders.partition("/")
    path = datasets.find(name, extra)
    if path is None:
        raise Missing(f"its row orders {data.orders} are not at hand")
    with np.load(path, allow_pickle=False) as file:
        return [np.asarray(order, np.int64) for order in file["perm"][:runs]]


def at_hand(data: DataSet) -> bool:
    """Whether the files of a data set are here, without reading them."""
    if data.absent is not None:
        return False
    name, _, split = data.source.partition("/")
    if data.source.startswith(TEXTONS):
        return datasets.find("brodatz", "images") is not None
    if name not in datasets.DATASETS:
        return True  # a generator
    splits = split.split("+") if split else [next(iter(datasets.DATASETS[name].splits))]
    return all(datasets.find(name, one) is not None for one in splits)


@lru_cache(maxsize=4)
def _read(name: str, sparse: bool | None) -> tuple[Matrix, np.ndarray]:
    if name.startswith(TEXTONS):
        from .textons import brodatz_rows

        path = datasets.find("brodatz", "images")
        if path is None:
            raise Missing("the brodatz images are not at hand")
        X_train, y_train, X_test, y_test = brodatz_rows(path)
        return (X_test, y_test) if name.endswith("-test") else (X_train, y_train)
    if name == series.LORENZ:
        return series.lorenz_rows()
    try:
        blocks = list(open_source(name))
    except FileNotFoundError:
        raise Missing(f"{name} is not at hand") from None
    X, y = stacked([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])
    if sp.issparse(X) and (X.shape[1] <= _WIDEST_DENSE if sparse is None else not sparse):
        X = X.toarray()
    return X, y


def _of_one_width(*parts: Matrix) -> list[Matrix]:
    """Rows whose last features are 0 in one file may be narrower there."""
    width = max(part.shape[1] for part in parts)
    return [
        sp.csr_array((part.data, part.indices, part.indptr), (part.shape[0], width))
        if sp.issparse(part)
        else np.pad(part, ((0, 0), (0, width - part.shape[1])))
        for part in parts
    ]


def _scaled(data: DataSet, X: Matrix, test: Matrix | None) -> tuple[Matrix, Matrix]:
    """Features divided and scaled as the training rows say."""
    if data.scale not in _SCALES:
        raise ItemError(f"{data.label} has scale {data.scale!r}; it must be one of {', '.join(_SCALES)}")
    parts = [part if part is None or data.divide == 1 else part / data.divide for part in (X, test)]
    if data.scale == "none":
        return parts[0], parts[1]
    dense = [part.toarray() if part is not None and sp.issparse(part) else part for part in parts]
    train = np.asarray(dense[0], np.float64)
    low, high = train.min(axis=0), train.max(axis=0)
    if data.scale == "standard":
        offset, width = train.mean(axis=0), train.std(axis=0)
    elif data.scale == "unit":
        offset, width = low, high - low
    else:
        offset, width = low / 2 + high / 2, high / 2 - low / 2
    width = np.where(width > 0, width, 1.0)
    scaled = [None if part is None else (part - offset) / width for part in dense]
    return scaled[0], scaled[1]


def _labels(data: DataSet, labels: np.ndarray | None, y: np.ndarray) -> np.ndarray:
    if labels is None:
        return np.zeros(0)
    if data.positive is not None:
        return np.where(labels == data.positive, 1.0, -1.0)
    if data.scale_target:
        return (labels - y.min()) / (y.max() - y.min())
    return labels


def _task(data: DataSet, y: np.ndarray) -> Task:
    if data.task == REGRESSION:
        return Regression()
    return Binary(np.unique(y)) if data.task == BINARY else Multiclass(np.unique(y))
