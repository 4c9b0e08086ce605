"""Streams of labelled blocks from files, never read whole: ``for X, y in open_source("a9a.libsvm.xz"): ...``."""

import os
from pathlib import Path
from typing import Any

from .base import DEFAULT_BLOCK_ROWS, ArraySource, LabelledBlock, Matrix, Source, SourceError
from .bundled import BUNDLED, bundled
from .delimited import DelimitedSource
from .formats import open_file
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
    "open_file",
    "open_source",
]


def open_source(path: str | os.PathLike[str], *, block_rows: int = DEFAULT_BLOCK_ROWS, **options: Any) -> Source:
    """The source of a file (`open_file` says what `options` there are), or by name one of scikit-learn's bundled data
    sets or a generator.
    """
    if path in BUNDLED:
        return bundled(str(path), block_rows=block_rows)
    if path in GENERATED:
        return GENERATED[str(path)](block_rows=block_rows)
    if not Path(path).is_file():
        names = ", ".join([*BUNDLED, *GENERATED])
        raise FileNotFoundError(f"there is no file {str(path)!r}, and the built-in names are {names}")
    return open_file(path, block_rows=block_rows, **options)
