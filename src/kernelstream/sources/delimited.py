"""Comma-separated text as a stream of dense blocks, read by pyarrow.

pyarrow would guess types from what it sees first; here features are always float64 and the label is text until a
block's labels all turn out to be numbers. The first block settles that for the file.

The first line is a header when a feature's field in it is neither a number nor empty. When only the label's field is
a word, it is a header if the second line's label is a number (``0,1,target`` above ``5.1,3.5,1``) and a row if that is
a word too (``5.1,3.5,setosa``). A label asked for by name needs a header; ``header=True`` or ``False`` overrules.
"""

import contextlib
import csv
import io
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import DEFAULT_BLOCK_ROWS, FileSource, LabelledBlock, SourceError, to_number

_MISSING = ("", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None")
_CHUNK_BYTES = 2**20


class _Layout(NamedTuple):
    """What the first lines say: the columns' names, the label's position, how many lines the header takes."""

    columns: list[str]
    label: int
    skip: int


class DelimitedSource(FileSource):
    """A CSV file. `label` is a column's position (negative from the end) or name."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        block_rows: int = DEFAULT_BLOCK_ROWS,
        label: int | str = -1,
        header: bool | None = None,
        delimiter: str = ",",
    ):
        super().__init__(path, block_rows=block_rows)
        self.label = label
        self.header = header
        self.delimiter = delimiter

    def __iter__(self) -> Iterator[LabelledBlock]:
        layout = self._layout()
        if layout is None:
            return
        features = [name for position, name in enumerate(_arrow_names(layout)) if position != layout.label]
        numeric: bool | None = None
        for table in self._tables(layout):
            X = np.empty((table.num_rows, len(features)))
            for position, name in enumerate(features):
                column = table.column(name)
                if column.null_count > 0:
                    raise self._fault(layout, otherwise="a value is missing")
                X[:, position] = column.to_numpy()
            words = table.column(str(layout.label)).to_numpy()
            y = _as_numbers(words) if numeric is not False else None
            if y is None and numeric:
                raise self._fault(layout, otherwise="a label is not a number", numeric_label=True)
            if "" in words:
                raise self._fault(layout, otherwise="a label is missing")
            numeric = y is not None
            yield X, words.astype(str) if y is None else y

    def _tables(self, layout: _Layout) -> Iterator[Any]:
        """Arrow tables of `block_rows` rows; the last one may be shorter."""
        import pyarrow as pa

        pending: Any = None
        with self._opened() as stream:
            for _ in range(layout.skip):
                stream.readline()
            for text in self._whole_lines(stream, _CHUNK_BYTES):
                table = self._parsed(text, layout)
                pending = table if pending is None else pa.concat_tables([pending, table])
                whole = pending.num_rows - pending.num_rows % self.block_rows
                for start in range(0, whole, self.block_rows):
                    yield pending.slice(start, self.block_rows)
                pending = pending.slice(whole)
            if pending is not None and pending.num_rows > 0:
                yield pending

    def _parsed(self, text: bytes, layout: _Layout) -> Any:
        import pyarrow as pa
        import pyarrow.csv

        names = _arrow_names(layout)
        types = {name: pa.string() if name == str(layout.label) else pa.float64() for name in names}
        # pyarrow's own streaming reader has read 34 MiB when it gives the first 1 MiB (measured, pyarrow 26), with or
        # without threads: `progress` would be wrong, and that much memory is not needed.
        try:
            return pyarrow.csv.read_csv(
                pa.BufferReader(text),
                read_options=pyarrow.csv.ReadOptions(column_names=names, use_threads=False),
                parse_options=pyarrow.csv.ParseOptions(delimiter=self.delimiter),
                convert_options=pyarrow.csv.ConvertOptions(column_types=types, null_values=_MISSING),
            )
        except pa.ArrowInvalid as error:
            raise self._fault(layout, otherwise=str(error)) from None

    def _layout(self) -> _Layout | None:
        """What the first two lines say; None when there is no row."""
        with self._python_reader() as lines:
            first = next(filter(None, lines), None)
            first_line = lines.line_num
            second = next(filter(None, lines), None)
        if first is None:
            return None
        if len(first) < 2:
            what = f"one column; a label and a feature are needed. Is the delimiter {self.delimiter!r} right?"
            raise SourceError(what, path=self.path, line=first_line)
        label = self._label_position(first, first_line)
        header = self.header
        if header is None:
            header = isinstance(self.label, str) or _looks_like_header(first, second, label)
        if header and second is None:
            return None
        names = first if header else [f"#{position + 1}" for position in range(len(first))]
        return _Layout(names, label, first_line if header else first_line - 1)

    def _label_position(self, first: list[str], line: int) -> int:
        if isinstance(self.label, int):
            if not -len(first) <= self.label < len(first):
                what = f"label={self.label} is not one of the {len(first)} columns; -1 is the last, 0 the first"
                raise SourceError(what, path=self.path, line=line)
            return self.label % len(first)
        if self.label not in first or self.header is False:
            what = f"no header names a column {self.label!r}; name one of {', '.join(first)}, or give a position"
            raise SourceError(what, path=self.path, line=line)
        return first.index(self.label)

    @contextlib.contextmanager
    def _python_reader(self) -> Iterator[Any]:
        """The standard library's reader: slow, but it knows line numbers."""
        with self._opened() as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
            try:
                yield csv.reader(text, delimiter=self.delimiter)
            finally:
                # The stream is not the wrapper's to close.
                text.detach()

    def _fault(self, layout: _Layout, *, otherwise: str, numeric_label: bool = False) -> SourceError:
        """The error to raise: the file is read again, slowly, up to the first line that has something wrong."""
        with self._python_reader() as lines, contextlib.suppress(csv.Error):
            for fields in lines:
                if fields and lines.line_num > layout.skip:
                    position, what = _first_fault(fields, layout, numeric_label)
                    if what:
                        return SourceError(what, path=self.path, line=lines.line_num, column=position + 1)
        return SourceError(otherwise, path=self.path)


def _arrow_names(layout: _Layout) -> list[str]:
    """Positions as names: a header may repeat a name, pyarrow may not."""
    return [str(position) for position in range(len(layout.columns))]


def _looks_like_header(first: list[str], second: list[str] | None, label: int) -> bool:
    if any(not _is_number(field) and not _is_missing(field) for field in first[:label] + first[label + 1 :]):
        return True
    if _is_number(first[label]) or second is None or len(second) != len(first):
        return False
    return _is_number(second[label])


def _first_fault(fields: list[str], layout: _Layout, numeric_label: bool) -> tuple[int, str]:
    """Position and description of what is wrong with a line; an empty description when nothing is."""
    if len(fields) != len(layout.columns):
        shorter = min(len(fields), len(layout.columns))
        return shorter, f"{len(fields)} fields, the first line has {len(layout.columns)}; complete or drop this one"
    for position, (field, name) in enumerate(zip(fields, layout.columns, strict=True)):
        if position == layout.label:
            if field == "":
                return position, f"the label {name!r} is missing; fill it in or drop the row"
            if numeric_label and not _is_number(field):
                what = f"the label {field!r} is not a number, unlike all of the first block's"
                return position, f"{what}; relabel it, or enlarge block_rows"
        elif _is_missing(field):
            return position, f"the value of {name!r} is missing ({field!r}); fill it in or drop the row"
        elif not _is_number(field):
            what = f"the value {field!r} of {name!r} is not a number"
            return position, f"{what}; encode the column as numbers or drop it, or name another label column"
    return 0, ""


def _is_missing(field: str) -> bool:
    return field.strip() in _MISSING


def _is_number(field: str) -> bool:
    try:
        to_number(field)
    except ValueError:
        return False
    return True


def _as_numbers(words: NDArray[Any]) -> NDArray[np.float64] | None:
    """The labels as numbers, or None when one of them is a word."""
    try:
        return np.array([to_number(word) for word in words.tolist()])
    except ValueError:
        return None
