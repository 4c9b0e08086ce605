"""Columns of Arrow as arrays of NumPy and back, by their buffers.

pyarrow's own ways between them (`array`, `scalar`, `to_numpy`, `fill_null` of a value of Python) import pandas where it
is installed, which takes longer than most commands do.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def array_of(column: Any) -> NDArray[Any]:
    """A column of numbers, dates or booleans as an array of its own; what stands where a value is missing is open."""
    chunks = [_chunk(chunk) for chunk in getattr(column, "chunks", [column])]
    return np.concatenate([np.empty(0, _dtype(column.type)), *chunks])


def known_in(column: Any) -> NDArray[np.bool_]:
    """Where a column has a value."""
    chunks = getattr(column, "chunks", [column])
    return np.concatenate([np.empty(0, bool), *(_bits(chunk, 0) for chunk in chunks)])


def _dtype(kind: Any) -> np.dtype[Any]:
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return np.dtype(bool)
    letter = "f" if pa.types.is_floating(kind) else "u" if pa.types.is_unsigned_integer(kind) else "i"
    return np.dtype(f"{letter}{kind.bit_width // 8}")


def _chunk(chunk: Any) -> NDArray[Any]:
    dtype = _dtype(chunk.type)
    if dtype.kind == "b":
        return _bits(chunk, 1)
    values = chunk.buffers()[1]
    if values is None or len(chunk) == 0:
        return np.zeros(len(chunk), dtype)
    return np.frombuffer(values, dtype, len(chunk), chunk.offset * dtype.itemsize)


def _bits(chunk: Any, which: int) -> NDArray[np.bool_]:
    """One of a chunk's buffers, a bit a row; without the buffer all are 1."""
    buffer = chunk.buffers()[which]
    if buffer is None:
        return np.ones(len(chunk), bool)
    start, stop = chunk.offset // 8, -(-(chunk.offset + len(chunk)) // 8)
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8, stop - start, start), bitorder="little")
    return bits[chunk.offset % 8 :][: len(chunk)].astype(bool)


def column_of(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Any:
    """A column of numbers, booleans or words, with nothing where it is `missing`."""
    import pyarrow as pa

    known = None if missing is None or not missing.any() else _packed(~missing)
    if values.dtype.kind == "b":
        return pa.Array.from_buffers(pa.bool_(), len(values), [known, _packed(values)])
    if values.dtype.kind in "UO":
        return _words(values.tolist(), known)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [known, pa.py_buffer(np.ascontiguousarray(values))])


def column_of_values(values: Sequence[Any], kind: Any) -> Any:
    """A column of Python's values, None where one is missing; kind: of numbers, dates or words."""
    import pyarrow as pa

    missing = np.array([value is None for value in values], bool)
    if pa.types.is_timestamp(kind):
        moments = np.array(values, "datetime64[us]").view(np.int64)
        return column_of(moments, missing).view(kind)
    if pa.types.is_floating(kind):
        return column_of(np.array(values, np.float64), missing)
    words = ["" if value is None else value for value in values]
    return _words(words, _packed(~missing))


def word_of(text: str) -> Any:
    """A word as a value of Arrow."""
    return _words([text], None)[0]


def _words(words: Sequence[str], known: Any) -> Any:
    import pyarrow as pa

    coded = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, coded)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(coded), [known, pa.py_buffer(ends), pa.py_buffer(b"".join(coded))])


def _packed(flags: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(flags, bitorder="little"))
