"""Which source reads a file: its suffix says."""

import os
from pathlib import Path

from .base import COMPRESSIONS, DEFAULT_BLOCK_ROWS, Source, existing_file, format_suffix
from .delimited import DelimitedSource
from .libsvm import LibsvmSource
from .npz import NpzSource

_LIBSVM_SUFFIXES = (".libsvm", ".svm", ".svmlight", ".txt")
SUFFIXES = (*_LIBSVM_SUFFIXES, ".csv", ".npz")


def open_file(
    path: str | os.PathLike[str],
    *,
    block_rows: int = DEFAULT_BLOCK_ROWS,
    label: int | str = -1,
    zero_based: bool = False,
) -> Source:
    """The source that a file's suffix asks for.

    `label` is the label's column in a CSV file, by position or name; `zero_based` says that a LIBSVM file counts its
    features from 0. Formats without the question ignore the answer.
    """
    file = existing_file(path)
    suffix = format_suffix(file)
    if suffix in _LIBSVM_SUFFIXES:
        return LibsvmSource(file, block_rows=block_rows, zero_based=zero_based)
    if suffix == ".csv":
        return DelimitedSource(file, block_rows=block_rows, label=label)
    if Path(file).suffix.lower() == ".npz":
        return NpzSource(file, block_rows=block_rows)
    raise ValueError(
        f"{str(file)!r} has no known suffix; known are {' '.join(_LIBSVM_SUFFIXES)} (LIBSVM text) and .csv, "
        f"plain or with {' '.join(COMPRESSIONS)}, and .npz: rename the file, or use its source class directly"
    )
