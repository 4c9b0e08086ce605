"""Streams of labelled blocks from files, never read whole: ``for X, y in open_source("a9a.libsvm.xz"): ...``."""

import difflib
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .base import DEFAULT_BLOCK_ROWS, STDIN, ArraySource, LabelledBlock, Matrix, Source, SourceError
from .formats import open_file
from .servers import is_server

if TYPE_CHECKING:
    from ..engine.inputs import FixedScaling, OnlineScaling, Scaling
    from .delimited import DelimitedSource
    from .generators import Checkerboard, Hyperplane, Lorenz, MackeyGlass, Multidist
    from .libsvm import LibsvmSource
    from .messages import MessageSource
    from .npz import NpzSource
    from .rows import RowSource, as_source
    from .stdin import NamedPipe, StandardInput
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
    "Lorenz",
    "MackeyGlass",
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


# What is imported when it is asked for.
_PLACES = {
    "..engine.inputs": ("FixedScaling", "OnlineScaling", "Scaling"),
    ".delimited": ("DelimitedSource",),
    ".generators": ("Checkerboard", "Hyperplane", "Lorenz", "MackeyGlass", "Multidist"),
    ".libsvm": ("LibsvmSource",),
    ".messages": ("MessageSource",),
    ".npz": ("NpzSource",),
    ".rows": ("RowSource", "as_source"),
    ".stdin": ("NamedPipe", "StandardInput"),
    ".streams": ("ChainedSource", "Peekable", "ReadAhead", "open_files"),
    ".transform": ("Scaled", "Shuffled", "fit_scaling"),
}


def __getattr__(name: str) -> Any:
    place = next((place for place, names in _PLACES.items() if name in names), None)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(place, __name__), name)


def open_source(path: str | os.PathLike[str], *, block_rows: int = DEFAULT_BLOCK_ROWS, **options: Any) -> Source:
    """The source of what is named.

    Parameters
    ----------
    path : a name of the list below
    block_rows : how many rows a block has at most
    options : of files, as `open_file` has them: label, header, delimiter, categorical, missing, dates, ...

    Notes
    -----
    What can be named:

    - ``-``: standard input, LIBSVM text unless ``format="csv"``, or a named pipe;
    - a stream of messages, ``redis://host/stream`` or ``nats://host/stream``, each an object of JSON unless
      ``format="csv"`` or ``"arrow"``;
    - a generator, ``checkerboard`` or ``checkerboard:rows=100000,seed=3``, or one of scikit-learn's bundled data sets;
    - a file, or all files of a directory or of a pattern such as ``part-*.csv``, one after the other;
    - a data set of the papers, ``cod-rna``, ``cod-rna/test`` or ``cod-rna/train+test``, where no file has that name.

    Examples
    --------
    >>> from kernelstream.sources import open_source
    >>> X, y = next(iter(open_source("checkerboard:rows=1000,seed=3")))
    >>> X.shape, sum(len(y) for X, y in open_source("digits"))
    ((1000, 2), 1797)
    """
    name = os.fspath(path)
    if not name:
        raise ValueError(
            "the data has no name; give a file, a directory ('.' for all files of this directory) or a URL."
        )
    place = Path(name)
    if name == STDIN or is_server(name) or place.is_fifo():
        return _passing(name, block_rows=block_rows, **options)
    from .bundled import BUNDLED, bundled
    from .generators import GENERATED, generated

    if name in BUNDLED:
        return bundled(name, block_rows=block_rows)
    if name.partition(":")[0] in GENERATED:
        return generated(name, block_rows=block_rows)
    if place.is_file():
        return open_file(place, block_rows=block_rows, **options)
    if place.is_dir() or any(letter in name for letter in "*?["):
        from .streams import open_files

        return open_files(place, block_rows=block_rows, **options)
    from .datasets import DATASETS, open_dataset

    data_set, _, split = name.partition("/")
    if data_set in DATASETS:
        return open_dataset(data_set, split or None, block_rows=block_rows, **options)
    if place.exists():
        raise FileNotFoundError(f"{name!r} is neither a file nor a directory nor a pipe; name one of these")
    names = [*BUNDLED, *GENERATED, *DATASETS]
    near = [*difflib.get_close_matches(name, names), *_near_files(place)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"and the built-in names are {', '.join(names)}"
    raise FileNotFoundError(f"there is no file {name!r}, {hint}")


def _passing(name: str, **options: Any) -> Source:
    """What passes once: standard input, a pipe, messages of a server."""
    from .messages import MessageSource
    from .stdin import NamedPipe, StandardInput
    from .streams import Peekable

    if name == STDIN:
        return Peekable(StandardInput(**options))
    return Peekable(MessageSource(name, **options) if is_server(name) else NamedPipe(Path(name), **options))


def _near_files(place: Path) -> list[str]:
    """The files beside a place whose names are nearly its own."""
    beside = [file.name for file in place.parent.iterdir()] if place.parent.is_dir() else []
    return [str(place.parent / name) for name in difflib.get_close_matches(place.name, beside)]
