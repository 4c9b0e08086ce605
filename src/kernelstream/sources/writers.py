"""Any source written as a file of any format, block by block.

A float64 reads back as the same double. Text formats know no types: labels that are words made of digits read back as
numbers. Tables have the columns f0, f1, ... and label; LIBSVM text counts features from 1 and leaves zeros out.
"""

import bz2
import contextlib
import gzip
import json
import lzma
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..encoding.buffers import column_of, word_of
from ..engine import disk
from ..extras import require
from ._zstd import ChecksummedZstd
from .arff import quoted
from .base import LabelledBlock, Matrix, Source, as_csr
from .formats import delimiter_of, format_of

# Numbers held at a time where sparse rows are written out, and in a row group of a Parquet file: 8 MiB.
_VALUES_AT_A_TIME = 2**20
_KNOWS_ROWS_FIRST = ("npz", "npy")
_NO_LIBSVM_LABEL = re.compile(r"[\s:,#]|^$")
_NO_WORD = re.compile(r"^$")
_NO_CSV_LABEL = re.compile(r"[\r\n]|^$")


class _Shape(NamedTuple):
    """What a fixed-width format must know ahead. `rows` is None when nobody has counted."""

    rows: int | None
    width: int
    dtype: np.dtype[Any]
    label_dtype: np.dtype[Any]
    words: frozenset[str]  # that are labels

    @property
    def has_words(self) -> bool:
        return self.label_dtype.kind == "U"


def convert(source: Source, path: str | os.PathLike[str], *, on_block: Callable[[int], None] | None = None) -> int:
    """Write a source in the format that a path's suffix names, compressed if it says so; gives the number of rows.

    .npz and .npy need the number of rows ahead, .arff the words that are labels, and sparse rows in all formats but
    LIBSVM their final width: that takes one more pass. The file appears when it is complete.

    on_block: told the number of rows read so far, in either pass.
    """
    target = Path(path)
    kind = format_of(target)
    if kind not in _KNOWS_ROWS_FIRST or target.suffix.lower() == ".zst":
        require("pyarrow")
    disk.check(target)
    counted = _Counted(source, on_block)
    blocks = iter(counted)
    first = next(blocks, None)
    if first is None:
        raise ValueError(f"{source.name} has no rows; there is nothing to write")
    shape = _shape(None, [first])
    declares = kind == "arff" and first[1].dtype.kind == "U"
    if kind in _KNOWS_ROWS_FIRST or declares or (issparse(first[0]) and kind != "libsvm"):
        shape = _shape(0, _chained(first, blocks))
        blocks = iter(counted)
    else:
        blocks = _chained(first, blocks)
    writers: dict[str, Callable[[Iterable[LabelledBlock], _Shape, Any], None]] = {
        "libsvm": _write_libsvm,
        "csv": partial(_write_csv, delimiter=delimiter_of(target)),
        "jsonl": _write_jsonl,
        "arff": partial(_write_arff, relation=source.name),
        "parquet": _write_parquet,
        "arrow": _write_arrow,
        "npz": _write_npz,
        "npy": _write_npy,
    }
    with disk.appearing(target) as file:
        with _compressed(file, target.suffix.lower()) as sink:
            writers[kind](blocks, shape, sink)
        if shape.rows not in (None, counted.rows):
            raise ValueError(f"{source.name} had {shape.rows} rows at first and {counted.rows} then; let it rest")
    return counted.rows


class _Counted:
    """A source's blocks; `rows` counts those of the newest pass."""

    def __init__(self, source: Source, on_block: Callable[[int], None] | None):
        self.source = source
        self.on_block = on_block
        self.rows = 0

    def __iter__(self) -> Iterator[LabelledBlock]:
        self.rows = 0
        for X, y in self.source:
            yield X, y
            self.rows += len(y)
            if self.on_block is not None:
                self.on_block(self.rows)


def _chained(first: LabelledBlock, rest: Iterator[LabelledBlock]) -> Iterator[LabelledBlock]:
    yield first
    yield from rest


def _shape(rows: int | None, blocks: Iterable[LabelledBlock]) -> _Shape:
    """The shape of all blocks together; `rows` is 0 to count them, None not to."""
    width = 0
    dtypes: set[np.dtype[Any]] = set()
    label_dtypes: set[np.dtype[Any]] = set()
    words: set[str] = set()
    for X, y in blocks:
        rows = None if rows is None else rows + len(y)
        width = max(width, X.shape[1])
        dtypes.add(X.dtype)
        label_dtypes.add(y.dtype)
        words.update(np.unique(y).tolist() if y.dtype.kind == "U" else ())
    return _Shape(rows, width, np.result_type(*dtypes), np.result_type(*label_dtypes), frozenset(words))


def _compressed(file: IO[bytes], suffix: str) -> Any:
    if suffix == ".zst":
        return ChecksummedZstd(file)
    openers: dict[str, Callable[[Any, str], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return openers[suffix](file, "wb") if suffix in openers else contextlib.nullcontext(file)


def _dense(blocks: Iterable[LabelledBlock], width: int, dtype: Any) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The blocks with every value written out, few enough rows at a time."""
    at_a_time = max(_VALUES_AT_A_TIME // width, 1)
    for X, y in blocks:
        if X.shape[1] > width or (X.shape[1] < width and not issparse(X)):
            raise ValueError(f"a block has {X.shape[1]} features and those before it {width}; all must have as many")
        for start in range(0, len(y), at_a_time):
            rows = X[start : start + at_a_time]
            if issparse(rows):
                rows = as_csr(rows.data, rows.indices, rows.indptr, width).toarray()
            yield rows.astype(dtype, copy=False), y[start : start + at_a_time]


def _write_libsvm(blocks: Iterable[LabelledBlock], shape: _Shape, sink: Any) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    names_width = True
    for X, y in blocks:
        _check_labels(y, _NO_LIBSVM_LABEL, "LIBSVM text separates by blanks, ':' and ','")
        indptr, indices, values = _entries(X, names_width)
        names_width = False
        pairs = pc.binary_join_element_wise(_text(indices + 1), _text(values.astype(np.float64)), word_of(":"))
        features = pc.binary_join(pa.ListArray.from_arrays(column_of(indptr.astype(np.int32)), pairs), word_of(" "))
        lines = pc.binary_join_element_wise(_text(y), features, word_of(" "))
        sink.write("".join(f"{line}\n" for line in lines.to_pylist()).encode())


def _entries(X: Matrix, names_width: bool) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The parts of X as CSR. `names_width`: a dense X keeps its last feature in the first row, also when it is 0."""
    if issparse(X):
        return X.indptr, X.indices.astype(np.int64), X.data
    present = X != 0
    if names_width:
        present[0, -1] = True
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    return indptr, np.nonzero(present)[1], X[present]


def _write_csv(blocks: Iterable[LabelledBlock], shape: _Shape, sink: Any, delimiter: str) -> None:
    import pyarrow.csv

    schema = _schema(shape, np.float64)
    options = pyarrow.csv.WriteOptions(delimiter=delimiter)
    with pyarrow.csv.CSVWriter(sink, schema, write_options=options) as writer:
        for X, y in _dense(blocks, shape.width, np.float64):
            _check_labels(y, _NO_CSV_LABEL, "a CSV file has one row a line")
            writer.write_table(_table(X, y, schema))


def _write_jsonl(blocks: Iterable[LabelledBlock], shape: _Shape, sink: Any) -> None:
    names = [*(f"f{feature}" for feature in range(shape.width)), "label"]
    for X, y in _dense(blocks, shape.width, np.float64):
        rows = (dict(zip(names, [*x, label], strict=True)) for x, label in zip(X.tolist(), y.tolist(), strict=True))
        sink.write("".join(f"{json.dumps(row)}\n" for row in rows).encode())


def _write_arff(blocks: Iterable[LabelledBlock], shape: _Shape, sink: Any, relation: str) -> None:
    """Sparse rows stay sparse. Labels that are words are nominal."""
    kind = f"{{{','.join(map(quoted, sorted(shape.words)))}}}" if shape.has_words else "numeric"
    head = [f"@relation {quoted(relation)}", *(f"@attribute f{feature} numeric" for feature in range(shape.width))]
    sink.write("\n".join([*head, f"@attribute label {kind}", "@data", ""]).encode())
    for X, y in blocks:
        _check_labels(y, _NO_WORD, "an empty one would be missing")
        labels = [quoted(label) if shape.has_words else repr(label) for label in y.tolist()]
        if issparse(X):
            places, values = X.indices.tolist(), X.data.astype(np.float64).tolist()
            for label, start, stop in zip(labels, X.indptr.tolist(), X.indptr[1:].tolist(), strict=False):
                entries = [f"{places[at]} {values[at]!r}" for at in range(start, stop)]
                sink.write(f"{{{', '.join([*entries, f'{shape.width} {label}'])}}}\n".encode())
        else:
            rows = X.astype(np.float64).tolist()
            lines = (f"{','.join(map(repr, row))},{label}\n" for row, label in zip(rows, labels, strict=True))
            sink.write("".join(lines).encode())


def _write_parquet(blocks: Iterable[LabelledBlock], shape: _Shape, sink: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    schema = _schema(shape, _float(shape.dtype))
    with pyarrow.parquet.ParquetWriter(sink, schema, write_page_checksum=True) as writer:
        waiting: list[Any] = []
        for X, y in _dense(blocks, shape.width, _float(shape.dtype)):
            waiting.append(_table(X, y, schema))
            if sum(table.num_rows for table in waiting) * shape.width >= _VALUES_AT_A_TIME:
                writer.write_table(pa.concat_tables(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.concat_tables(waiting))


def _write_arrow(blocks: Iterable[LabelledBlock], shape: _Shape, sink: Any) -> None:
    import pyarrow as pa

    schema = _schema(shape, _float(shape.dtype))
    with pa.ipc.new_file(sink, schema) as writer:
        for X, y in _dense(blocks, shape.width, _float(shape.dtype)):
            writer.write_table(_table(X, y, schema))


def _write_npz(blocks: Iterable[LabelledBlock], shape: _Shape, sink: Any) -> None:
    # zipfile believes gzip's stream that it can seek, and then cannot go back: so it gets no more than it needs.
    plain: Any = SimpleNamespace(write=sink.write, flush=sink.flush)
    with tempfile.TemporaryFile() as labels, zipfile.ZipFile(plain, "w") as archive:
        with archive.open("X.npy", "w", force_zip64=True) as member:
            _write_header(member, (shape.rows, shape.width), shape.dtype)
            for X, y in _dense(blocks, shape.width, shape.dtype):
                member.write(np.ascontiguousarray(X).data)
                labels.write(y.astype(shape.label_dtype).data)
        labels.seek(0)
        with archive.open("y.npy", "w", force_zip64=True) as member:
            _write_header(member, (shape.rows,), shape.label_dtype)
            shutil.copyfileobj(labels, member)


def _write_npy(blocks: Iterable[LabelledBlock], shape: _Shape, sink: Any) -> None:
    if shape.has_words:
        raise ValueError("the labels are words, and a .npy file holds numbers only; write a .npz file instead")
    _write_header(sink, (shape.rows, shape.width + 1), np.dtype(np.float64))
    for X, y in _dense(blocks, shape.width, np.float64):
        sink.write(np.column_stack([X, y]).tobytes())


def _write_header(file: Any, shape: tuple[int | None, ...], dtype: np.dtype[Any]) -> None:
    header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(file, header)


def _schema(shape: _Shape, dtype: Any) -> Any:
    import pyarrow as pa

    features = [(f"f{feature}", pa.from_numpy_dtype(dtype)) for feature in range(shape.width)]
    return pa.schema([*features, ("label", pa.string() if shape.has_words else pa.float64())])


def _table(X: NDArray[Any], y: NDArray[Any], schema: Any) -> Any:
    import pyarrow as pa

    columns = [column_of(column) for column in np.ascontiguousarray(X.T)]
    return pa.Table.from_arrays([*columns, column_of(y)], schema=schema)


def _float(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def _text(array: NDArray[Any]) -> Any:
    """Words as they are, numbers as the shortest text that reads back as the same."""
    import pyarrow as pa

    return column_of(array).cast(pa.string())


def _check_labels(y: NDArray[Any], forbidden: re.Pattern[str], why: str) -> None:
    if y.dtype.kind != "U":
        return
    for label in np.unique(y).tolist():
        if forbidden.search(label):
            raise ValueError(f"the label {label!r} cannot be written: {why}; rename it, or write .npz or .parquet")
