"""Parquet and Arrow files as streams of blocks, a batch of rows at a time.

Their schema says what a column holds, so nothing is guessed. Features are float64, or float32 when all of them are.
Both formats are read by seeking: a compressed file is unpacked into a temporary one first.
"""

import contextlib
import copy
import os
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding.buffers import array_of, column_of, known_in
from ..encoding.tables import is_text
from ..encoding.values import is_dated, is_list
from .base import LabelledBlock, SourceError
from .columns import Encoder, Layout
from .tables import TableSource, missing_in, without_label

# How much of a column chunk is read at a time: a row group may be larger than memory.
_BUFFER_BYTES = 2**16
_OPTIONS: Any = {"buffer_size": _BUFFER_BYTES, "pre_buffer": False, "page_checksum_verification": True}


class BatchSource(TableSource):
    """What Parquet and Arrow have in common: a schema, then record batches."""

    _share = 0.0

    def _pass(self, earlier: Encoder | None) -> Iterator[LabelledBlock]:
        file = self._seekable_file()
        self._start_pass()
        self._encoder = earlier
        self._share = 0.0
        with self._damage_named(), self._batches(str(file)) as (schema, batches):
            layout = self._layout(schema)
            features = [schema.field(at).type for at in layout.used]
            dtype = np.float32 if all(str(kind) == "float" for kind in map(_element, features)) else np.float64
            encoder = self._new_encoder(layout, dtype, earlier)
            yield from self._blocks(self._readable(batches, layout), encoder)

    def progress(self) -> float | None:
        return self._share

    @abstractmethod
    def _batches(self, file: str) -> contextlib.AbstractContextManager[tuple[Any, Iterator[Any]]]:
        """The schema and the record batches of a file; they set `_share`."""

    @contextlib.contextmanager
    def _damage_named(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # a column's name may be no text
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise SourceError(
                f"the file is damaged or of another format ({error}); fetch it again", path=self.path
            ) from error

    def _layout(self, schema: Any) -> Layout:
        names = list(schema.names)
        if len(names) < (1 if self.label is None else 2):
            raise SourceError(f"the columns are {names}; a label and a feature are needed", path=self.path)
        label = self._label_position(names)
        dropped = self.columns.dropped(names, label, self.path)
        categorical = [
            at != label and at not in dropped and self._is_categorical(field, at) for at, field in enumerate(schema)
        ]
        dated = [at for at, field in enumerate(schema) if is_dated(field.type) and not categorical[at]]
        dates = frozenset(dated) - {label, *dropped}
        word_labels = label is not None and is_text(schema.field(label).type)
        if label is not None and not word_labels and not _is_number(schema.field(label).type):
            what = f"the label {names[label]!r} is {schema.field(label).type}; it must be numbers or text"
            raise SourceError(what, path=self.path, column=label + 1)
        return Layout(names, label, categorical, word_labels, dropped, dates)

    def _is_categorical(self, field: Any, position: int) -> bool:
        import pyarrow as pa

        options = self.columns
        words = is_text(field.type) or pa.types.is_boolean(field.type) or pa.types.is_dictionary(field.type)
        out = f"or leave it out: drop={field.name!r}"
        if words and options.categorical == "refuse":
            what = f"{field.name!r} holds categories ({field.type}); use categorical='onehot', {out}"
            raise SourceError(what, path=self.path, column=position + 1)
        if not (words or _is_number(_element(field.type)) or (is_dated(field.type) and options.dates)):
            what = f"{field.name!r} is {field.type}, which is no feature; make numbers of it, {out}"
            raise SourceError(what, path=self.path, column=position + 1)
        return words or field.name in options.categorical_columns

    def _readable(self, batches: Iterator[Any], layout: Layout) -> Iterator[Any]:
        """Tables without the rows that cannot be used: each of those goes to `_skip`. None where a stream pauses."""
        import pyarrow as pa

        rows_before = 0
        widths: dict[int, int] = {}
        for batch in batches:
            if batch is None:
                yield None
                continue
            usable = np.ones(batch.num_rows, bool)
            for at in [*layout.used, *([] if layout.label is None else [layout.label])]:
                column = batch.column(at)
                missing, what = self._unusable(column, at, layout, widths)
                for row in np.flatnonzero(missing & usable).tolist():
                    where = f"row {rows_before + row + 1}: {layout.names[at]!r} {what}"
                    self._skip(SourceError(where, path=self.path, column=at + 1))
                usable &= ~missing
            rows_before += batch.num_rows
            table = pa.Table.from_batches([batch])
            yield table if usable.all() else table.filter(column_of(usable))

    def _unusable(self, column: Any, at: int, layout: Layout, widths: dict[int, int]) -> tuple[NDArray[np.bool_], str]:
        """The rows whose value in a column cannot be used, and why."""
        if is_list(column.type):
            import pyarrow.compute as pc

            lengths = np.where(known_in(column), array_of(pc.list_value_length(column)), -1)
            if at not in widths and (lengths > 0).any():
                widths[at] = int(lengths[lengths > 0][0])
            width = widths.get(at, 1)
            wrong = lengths != width
            if self.columns.missing == "refuse":
                values = missing_in(column.filter(column_of(~wrong)).flatten())
                wrong[~wrong] = values.reshape(-1, width).any(axis=1)
            return wrong, f"is not a list of {width} numbers, like the first; fill it in or drop the row"
        infinite = _infinite(column)
        if infinite.any():
            return infinite, "is infinite; correct it or drop the row"
        if self.columns.missing == "mean":
            return np.zeros(len(column), bool), ""
        if at == layout.label:
            return without_label(column), "is the label and missing; fill it in or drop the row"
        return missing_in(column), "is missing; fill it in, drop the row, or use missing='mean'"


class ParquetSource(BatchSource):
    """A Parquet file. Row groups are read piece by piece, however large they are."""

    n_rows: int

    def __init__(self, path: str | os.PathLike[str], **options: Any):
        import pyarrow.parquet

        super().__init__(path, **options)
        self.row_groups: range | None = None  # those that are read; all
        with self._damage_named():
            self.n_rows = pyarrow.parquet.read_metadata(self._seekable_file()).num_rows

    def group_bytes(self) -> list[int]:
        """How large each row group is."""
        import pyarrow.parquet

        with self._damage_named():
            found = pyarrow.parquet.read_metadata(self._seekable_file())
            return [found.row_group(i).total_byte_size for i in range(found.num_row_groups)]

    def of_groups(self, groups: range) -> "ParquetSource":
        """The rows of some row groups."""
        import pyarrow.parquet

        part = copy.copy(self)
        with self._damage_named():
            found = pyarrow.parquet.read_metadata(self._seekable_file())
            part.n_rows = sum(found.row_group(i).num_rows for i in groups)
        part.row_groups = groups
        return part

    @contextlib.contextmanager
    def _batches(self, file: str) -> Iterator[tuple[Any, Iterator[Any]]]:
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(file, **_OPTIONS) as parquet:
            yield (
                parquet.schema_arrow,
                self._counted(
                    parquet.iter_batches(
                        self.block_rows,
                        row_groups=None if self.row_groups is None else list(self.row_groups),
                        use_threads=False,
                    )
                ),
            )

    def _counted(self, batches: Iterator[Any]) -> Iterator[Any]:
        read = 0
        for batch in batches:
            read += batch.num_rows
            self._share = read / max(self.n_rows, 1)
            yield batch
        self._share = 1.0


class ArrowSource(BatchSource):
    """An Arrow file, also called Feather version 2, or an Arrow stream.

    Its batches may hold the whole table, so the file is mapped: what is resident of it is the system's cache.
    """

    @contextlib.contextmanager
    def _batches(self, file: str) -> Iterator[tuple[Any, Iterator[Any]]]:
        import pyarrow as pa

        with pa.memory_map(file) as mapped:
            magic = mapped.read(6)
            mapped.seek(0)
            if magic.startswith(b"FEA1"):
                what = "this is Feather version 1; write it again with pyarrow.feather.write_feather"
                raise SourceError(what, path=self.path)
            if magic == b"ARROW1":
                with pa.ipc.open_file(mapped) as reader:
                    yield reader.schema, self._numbered(reader)
            else:
                with pa.ipc.open_stream(mapped) as reader:
                    yield reader.schema, self._streamed(reader, mapped)

    def _numbered(self, reader: Any) -> Iterator[Any]:
        for number in range(reader.num_record_batches):
            self._share = (number + 1) / reader.num_record_batches
            yield validated(reader.get_batch(number))
        self._share = 1.0

    def _streamed(self, reader: Any, mapped: Any) -> Iterator[Any]:
        for batch in reader:
            self._share = mapped.tell() / max(mapped.size(), 1)
            yield validated(batch)
        self._share = 1.0


def validated(batch: Any) -> Any:
    """A batch as the file has it: where words begin and end in it is believed only when it was looked at."""
    batch.validate(full=True)
    return batch


def _element(kind: Any) -> Any:
    """What a column of lists holds lists of; the type itself for others."""
    return kind.value_type if is_list(kind) else kind


def _is_number(kind: Any) -> bool:
    """Whether values are numbers; nothing but missing values are numbers too."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    are = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return any(is_one(kind) for is_one in are)


def _infinite(column: Any) -> NDArray[np.bool_]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return np.zeros(len(column), bool)
    return known_in(column) & array_of(pc.is_inf(column))
