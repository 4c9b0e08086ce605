"""Streams of labelled blocks from files, never read whole: ``for X, y in open_source("a9a.libsvm.xz"): ...``."""

import os
from pathlib import Path

from .base import (
    COMPRESSIONS,
    DEFAULT_BLOCK_ROWS,
    ArraySource,
    LabelledBlock,
    Matrix,
    Source,
    SourceError,
    format_suffix,
)
from .bundled import BUNDLED, bundled
from .delimited import DelimitedSource
from .generators import GENERATED, Multidist
from .libsvm import LibsvmSource
from .npz import NpzSource
from .transform import Scaled, Scaling, Shuffled, fit_scaling

__all__ = [
    "ArraySource",
    "DelimitedSource",
    "LabelledBlock",
    "LibsvmSource",
    "Matrix",
    "Multidist",
    "NpzSource",
    "Scaled",
    "Scaling",
    "Shuffled",
    "Source",
    "SourceError",
    "fit_scaling",
    "open_source",
]

_LIBSVM_SUFFIXES = (".libsvm", ".svm", ".svmlight", ".txt")


def open_source(
    path: str | os.PathLike[str],
    *,
    block_rows: int = DEFAULT_BLOCK_ROWS,
    label: int | str = -1,
    zero_based: bool = False,
) -> Source:
    """The source that a file's suffix asks for, or by name one of scikit-learn's bundled data sets or a generator.

    `label` is the label's column in a CSV file, by position or name; `zero_based` says that a LIBSVM file counts its
    features from 0. Formats without the question ignore the answer.
    """
    if path in BUNDLED:
        return bundled(str(path), block_rows=block_rows)
    if path in GENERATED:
        return GENERATED[str(path)](block_rows=block_rows)
    file = Path(path)
    if not file.is_file():
        names = ", ".join([*BUNDLED, *GENERATED])
        raise FileNotFoundError(f"there is no file {str(file)!r}, and the built-in names are {names}")
    suffix = format_suffix(file)
    if suffix in _LIBSVM_SUFFIXES:
        return LibsvmSource(file, block_rows=block_rows, zero_based=zero_based)
    if suffix == ".csv":
        return DelimitedSource(file, block_rows=block_rows, label=label)
    if file.suffix.lower() == ".npz":
        return NpzSource(file, block_rows=block_rows)
    raise ValueError(
        f"{str(file)!r} has no known suffix; known are {' '.join(_LIBSVM_SUFFIXES)} (LIBSVM text) and .csv, "
        f"plain or with {' '.join(COMPRESSIONS)}, and .npz: rename the file, or use its source class directly"
    )
