"""NumPy's own files, streamed block by block: ``X`` and ``y`` of a .npz archive, a .npy array with a label column.

Nothing is unpickled. X keeps its own numeric dtype; y becomes float64, or str when it was saved as text.
"""

import contextlib
import lzma
import math
import os
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .base import DEFAULT_BLOCK_ROWS, FileSource, LabelledBlock, SourceError, as_labels

_TRUSTED_BYTES = 2**26
# What Python's reader of archives says of one that is damaged: a bit may ask for a method that is not there
# (NotImplementedError), a password (RuntimeError), or a name that is none.
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError, UnicodeError)


class _Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class _ArraySource(FileSource):
    """What .npz and .npy have in common: the number of rows is known, and arrays come behind a header."""

    n_rows: int

    def __init__(self, path: str | os.PathLike[str], *, block_rows: int = DEFAULT_BLOCK_ROWS):
        super().__init__(path, block_rows=block_rows)
        self._served = 0

    def progress(self) -> float | None:
        return self._served / max(self.n_rows, 1)

    def _sizes(self) -> Iterator[int]:
        """The sizes of a new pass's blocks."""
        self._served = 0
        for start in range(0, self.n_rows, self.block_rows):
            size = min(self.block_rows, self.n_rows - start)
            self._served = start + size
            yield size

    def _header(self, stream: IO[bytes], name: str) -> _Header:
        try:
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran_order, dtype = read(stream)
        except (OSError, *_DAMAGE):
            raise
        except Exception as error:  # it is a piece of Python, and fails in any of its ways
            raise self._error(f"the header of {name!r} cannot be read ({error}); save it again") from error
        if any(length < 0 for length in shape) or dtype.itemsize == 0:
            raise self._error(f"the header of {name!r} says {dtype} of the shape {shape}; save it again")
        if dtype.hasobject:
            raise self._error(f"{name!r} holds Python objects, which are never unpickled; save numbers or str")
        if fortran_order:
            raise self._error(f"{name!r} is stored column by column; save np.ascontiguousarray({name}) instead")
        return _Header(shape, dtype)

    def _read(self, stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        size = math.prod(shape) * dtype.itemsize
        # No more memory than has come: a header can say anything.
        data = bytearray(min(size, _TRUSTED_BYTES))
        filled = 0
        while filled < size:
            if filled == len(data):
                data += bytes(min(size - filled, filled))
            with memoryview(data) as view:
                got = stream.readinto(view[filled:])  # type: ignore[attr-defined]
            if got == 0:
                raise self._error(f"the file ends {size - filled} bytes early; fetch or save it again")
            filled += got
        return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)

    def _check_finite(self, rows: NDArray[Any]) -> None:
        """Refuse a block of the pass with an infinite value; what is missing (NaN) is the learner's to refuse."""
        if rows.dtype.kind == "f" and np.isinf(rows).any():
            row, column = np.argwhere(np.isinf(rows))[0]
            place = self._served - len(rows) + int(row) + 1
            raise self._error(f"row {place}, column {column + 1} is {rows[row, column]}; correct it or drop the row")

    def _check_end(self, stream: IO[bytes]) -> None:
        """Read to the end of the compressed data, where its checksum is, and refuse more than the header says."""
        if stream.read(1):
            raise self._error("there are bytes behind the array that its header describes; save it again")

    def _error(self, what: str) -> SourceError:
        return SourceError(what, path=self.path)


class NpzSource(_ArraySource):
    """``np.savez(path, X=X, y=y)`` or ``np.savez_compressed``; other arrays in the file are ignored.

    Parameters
    ----------
    path : of the file
    block_rows : how many rows a block has at most

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from kernelstream.sources import NpzSource
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     np.savez(f"{directory}/rows.npz", X=np.eye(3), y=np.array(["a", "b", "b"]))
    ...     blocks = [(X.shape, y.tolist()) for X, y in NpzSource(f"{directory}/rows.npz", block_rows=2)]
    >>> blocks
    [((2, 3), ['a', 'b']), ((1, 3), ['b'])]
    """

    def __init__(self, path: str | os.PathLike[str], *, block_rows: int = DEFAULT_BLOCK_ROWS):
        super().__init__(path, block_rows=block_rows)
        with self._member("X") as (_, X), self._member("y") as (_, y):
            pass
        if len(X.shape) != 2 or X.dtype.kind not in "biuf":
            raise self._error(f"X is {X.dtype} of shape {X.shape}; it must be a 2-D array of real numbers")
        if len(y.shape) != 1 or y.dtype.kind not in "biufUS":
            raise self._error(f"y is {y.dtype} of shape {y.shape}; it must be a 1-D array of real numbers or text")
        if X.shape[0] != y.shape[0]:
            raise self._error(f"X has {X.shape[0]} rows and y has {y.shape[0]} labels; save one label a row")
        self.n_rows = X.shape[0]

    def __iter__(self) -> Iterator[LabelledBlock]:
        with self._member("X") as (rows, X), self._member("y") as (labels, y):
            for n in self._sizes():
                block = self._read(rows, (n, *X.shape[1:]), X.dtype)
                self._check_finite(block)
                yield block, as_labels(self._read(labels, (n,), y.dtype))
            self._check_end(rows)
            self._check_end(labels)

    @contextlib.contextmanager
    def _member(self, name: str) -> Iterator[tuple[IO[bytes], _Header]]:
        """One array of the archive, opened behind its header. Damage becomes a `SourceError`."""
        try:
            with zipfile.ZipFile(self._seekable_file()) as archive:
                self._check_names(set(archive.namelist()), name)
                with archive.open(f"{name}.npy") as member:
                    yield member, self._header(member, name)
        except (*_DAMAGE, OSError) as error:
            if isinstance(error, OSError) and error.filename is not None:
                raise  # of the file, not of a place in it
            raise self._error(f"the archive is damaged ({error}); fetch or save it again") from error

    def _check_names(self, members: set[str], wanted: str) -> None:
        if f"{wanted}.npy" in members:
            return
        if {"format.npy", "data.npy"} <= members:
            raise self._error("this is a scipy.sparse.save_npz file; save sparse rows as LIBSVM text instead")
        names = ", ".join(sorted(member.removesuffix(".npy") for member in members))
        raise self._error(f"there is no array {wanted!r} among {names}; save with np.savez(path, X=X, y=y)")


class NpySource(_ArraySource):
    """A 2-D array saved by ``np.save``; `label` is the position of the label's column, negative from the end.

    When it is None, every column is a feature, and labels are NaN.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, block_rows: int = DEFAULT_BLOCK_ROWS, label: int | str | None = -1
    ):
        super().__init__(path, block_rows=block_rows)
        with self._opened() as stream:
            shape, dtype = self._header(stream, "the array")
        fewest = 1 if label is None else 2
        if len(shape) != 2 or shape[1] < fewest or dtype.kind not in "biuf":
            what = f"the array is {dtype} of shape {shape}"
            raise self._error(f"{what}; it must be 2-D, real numbers, with a column for the label and for a feature")
        self.n_rows = shape[0]
        self.label: int | None = None
        if label is None:
            return
        if not isinstance(label, int) or not -shape[1] <= label < shape[1]:
            what = f"label={label!r} is not one of the {shape[1]} columns"
            raise self._error(f"{what}; give a position: -1 is the last, 0 the first")
        self.label = label % shape[1]

    def __iter__(self) -> Iterator[LabelledBlock]:
        with self._opened() as stream:
            (_, width), dtype = self._header(stream, "the array")
            for n in self._sizes():
                rows = self._read(stream, (n, width), dtype)
                self._check_finite(rows)
                if self.label is None:
                    yield rows, np.full(n, np.nan)
                    continue
                yield np.delete(rows, self.label, axis=1), rows[:, self.label].astype(np.float64)
            self._check_end(stream)
