"""Arrays ``X`` and ``y`` of a .npz file, streamed out of the zip archive block by block.

Nothing is unpickled. X keeps its own numeric dtype; y becomes float64, or str when it was saved as text.
"""

import contextlib
import os
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .base import DEFAULT_BLOCK_ROWS, FileSource, LabelledBlock, SourceError, as_labels


class _Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class NpzSource(FileSource):
    """``np.savez(path, X=X, y=y)`` or ``np.savez_compressed``; other arrays in the file are ignored."""

    n_rows: int

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
        self._served = 0

    def __iter__(self) -> Iterator[LabelledBlock]:
        self._served = 0
        with self._member("X") as (rows, X), self._member("y") as (labels, y):
            for start in range(0, self.n_rows, self.block_rows):
                n = min(self.block_rows, self.n_rows - start)
                block = self._read(rows, (n, *X.shape[1:]), X.dtype), as_labels(self._read(labels, (n,), y.dtype))
                self._served = start + n
                yield block

    def progress(self) -> float | None:
        return self._served / max(self.n_rows, 1)

    @contextlib.contextmanager
    def _member(self, name: str) -> Iterator[tuple[IO[bytes], _Header]]:
        """One array of the archive, opened behind its header. Damage becomes a `SourceError`."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                self._check_names(set(archive.namelist()), name)
                with archive.open(f"{name}.npy") as member:
                    yield member, self._header(member, name)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise self._error(f"the archive is damaged ({error}); fetch or save it again") from error

    def _check_names(self, members: set[str], wanted: str) -> None:
        if f"{wanted}.npy" in members:
            return
        if {"format.npy", "data.npy"} <= members:
            raise self._error("this is a scipy.sparse.save_npz file; save sparse rows as LIBSVM text instead")
        names = ", ".join(sorted(member.removesuffix(".npy") for member in members))
        raise self._error(f"there is no array {wanted!r} among {names}; save with np.savez(path, X=X, y=y)")

    def _header(self, member: IO[bytes], name: str) -> _Header:
        try:
            version = npy.read_magic(member)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran_order, dtype = read(member)
        except ValueError as error:
            raise self._error(f"the header of {name!r} cannot be read ({error}); save it again") from error
        if dtype.hasobject:
            raise self._error(f"{name!r} holds Python objects, which are never unpickled; save numbers or str")
        if fortran_order:
            raise self._error(f"{name!r} is stored column by column; save np.ascontiguousarray({name}) instead")
        return _Header(shape, dtype)

    def _read(self, member: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        array = np.empty(shape, dtype)
        view = array.reshape(-1).view(np.uint8).data
        filled = 0
        while filled < len(view):
            got = member.readinto(view[filled:])  # type: ignore[attr-defined]
            if got == 0:
                raise self._error(f"the archive ends {len(view) - filled} bytes early; fetch or save it again")
            filled += got
        return array.astype(dtype.newbyteorder("="), copy=False)

    def _error(self, what: str) -> SourceError:
        return SourceError(what, path=self.path)
