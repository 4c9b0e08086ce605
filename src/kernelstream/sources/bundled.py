"""Small data sets that come with scikit-learn, read from its files: importing it would take two seconds."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .base import DEFAULT_BLOCK_ROWS, ArraySource

Rows = tuple[np.ndarray, np.ndarray]


def bundled(name: str, *, block_rows: int = DEFAULT_BLOCK_ROWS) -> ArraySource:
    """One of BUNDLED, the same numbers as scikit-learn's own loader gives."""
    X, y = BUNDLED[name]()
    return ArraySource(X, y, name=name, block_rows=block_rows)


def _digits() -> Rows:
    return _label_last(_read("digits.csv.gz", delimiter=","))


def _breast_cancer() -> Rows:
    return _label_last(_read("breast_cancer.csv", delimiter=",", skiprows=1))


def _diabetes() -> Rows:
    X = _read("diabetes_data_raw.csv.gz")
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X / len(X) ** 0.5, _read("diabetes_target.csv.gz")


BUNDLED: dict[str, Callable[[], Rows]] = {
    "digits": _digits,
    "breast-cancer": _breast_cancer,
    "diabetes": _diabetes,
}


def _label_last(table: np.ndarray) -> Rows:
    return np.ascontiguousarray(table[:, :-1]), table[:, -1]


def _read(file: str, **format: Any) -> np.ndarray:
    found = importlib.util.find_spec("sklearn")
    if found is None or found.origin is None:
        raise FileNotFoundError("the built-in data sets are scikit-learn's; install scikit-learn.")
    return np.loadtxt(Path(found.origin).parent / "datasets" / "data" / file, **format)
