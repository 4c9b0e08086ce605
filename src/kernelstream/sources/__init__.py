"""Streams of labelled blocks from files, never read whole: ``for X, y in open_source("a9a.libsvm.xz"): ...``."""

import difflib
import os
from pathlib import Path
from typing import Any

from ..engine.inputs import FixedScaling, OnlineScaling, Scaling
from .base import DEFAULT_BLOCK_ROWS, ArraySource, LabelledBlock, Matrix, Source, SourceError
from .bundled import BUNDLED, bundled
from .delimited import DelimitedSource
from .formats import open_file
from .generators import GENERATED, Checkerboard, Hyperplane, Multidist, generated
from .libsvm import LibsvmSource
from .messages import MessageSource
from .npz import NpzSource
from .rows import RowSource, as_source
from .servers import is_server
from .stdin import STDIN, NamedPipe, StandardInput
from .streams import ChainedSource, Peekable, ReadAhead, open_files
from .transform import Scaled, Shuffled, fit_scaling

__all__ = [
    "ArraySource",
    "ChainedSource",
    "Checkerboard",
    "DelimitedSource",
    "FixedScaling",
    "Hyperplane",
    "LabelledBlock",
    "LibsvmSource",
    "Matrix",
    "MessageSource",
    "Multidist",
    "NamedPipe",
    "NpzSource",
    "OnlineScaling",
    "Peekable",
    "ReadAhead",
    "RowSource",
    "Scaled",
    "Scaling",
    "Shuffled",
    "Source",
    "SourceError",
    "StandardInput",
    "as_source",
    "fit_scaling",
    "open_file",
    "open_files",
    "open_source",
]


def open_source(path: str | os.PathLike[str], *, block_rows: int = DEFAULT_BLOCK_ROWS, **options: Any) -> Source:
    """The source of what is named:

    - ``-``: standard input, LIBSVM text unless ``format="csv"``, or a named pipe;
    - a stream of messages, ``redis://host/stream`` or ``nats://host/stream``, each an object of JSON unless
      ``format="csv"`` or ``"arrow"``;
    - a generator, ``checkerboard`` or ``checkerboard:rows=100000,seed=3``, or one of scikit-learn's bundled data sets;
    - a file, or all files of a directory or of a pattern such as ``part-*.csv``, one after the other;
    - a data set of the papers, ``cod-rna``, ``cod-rna/test`` or ``cod-rna/train+test``, where no file has that name.

    `open_file` says what `options` there are for files.
    """
    # The data sets' files are opened by this package.
    from .datasets import DATASETS, open_dataset

    name = os.fspath(path)
    place = Path(name)
    if name == STDIN:
        return Peekable(StandardInput(block_rows=block_rows, **options))
    if is_server(name):
        return Peekable(MessageSource(name, block_rows=block_rows, **options))
    if name in BUNDLED:
        return bundled(name, block_rows=block_rows)
    if name.partition(":")[0] in GENERATED:
        return generated(name, block_rows=block_rows)
    if place.is_fifo():
        return Peekable(NamedPipe(place, block_rows=block_rows, **options))
    if place.is_file():
        return open_file(place, block_rows=block_rows, **options)
    if place.is_dir() or any(letter in name for letter in "*?["):
        return open_files(place, block_rows=block_rows, **options)
    data_set, _, split = name.partition("/")
    if data_set in DATASETS:
        return open_dataset(data_set, split or None, block_rows=block_rows, **options)
    names = [*BUNDLED, *GENERATED, *DATASETS]
    near = [*difflib.get_close_matches(name, names), *_near_files(place)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"and the built-in names are {', '.join(names)}"
    raise FileNotFoundError(f"there is no file {name!r}, {hint}")


def _near_files(place: Path) -> list[str]:
    """The files beside a place whose names are nearly its own."""
    beside = [file.name for file in place.parent.iterdir()] if place.parent.is_dir() else []
    return [str(place.parent / name) for name in difflib.get_close_matches(place.name, beside)]
