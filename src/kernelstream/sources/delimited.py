"""Comma-separated text as a stream of blocks, read by pyarrow.

pyarrow would guess types from what it sees first, a block at a time. Here the first mebibyte settles them for the file:
labels are numbers unless one of them is a word (one in a hundred where rows may be skipped), and features are float64
unless categories are asked for (`columns`) and the column has a field that is neither a number nor missing.
`categorical_columns` names such columns instead.

The first line is a header when a feature's field in it is neither a number nor empty. When only the label's field is
a word, it is a header if the second line's label is a number (``0,1,target`` above ``5.1,3.5,1``) and a row if that is
a word too (``5.1,3.5,setosa``). Where features may be words, a header is a word above a number. A label asked for by
name needs a header; ``header=True`` or ``False`` overrules. Below another table, the kinds of the columns are those
found there, a first line with the same names is a header, and without a header the names are the same.
"""

import csv
import itertools
import os
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np

from .base import DEFAULT_BLOCK_ROWS, FEW, ON_ERROR, LabelledBlock, SourceError, to_number
from .columns import ColumnOptions, Encoder, Layout
from .tables import TableSource

_MISSING = {"", "?", "NA", "N/A", "#N/A", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"}
# pyarrow looks for them before it trims a field.
_NULLS = [*_MISSING, *(f" {word}" for word in _MISSING)]
_CHUNK_BYTES = 2**20


class _Head(NamedTuple):
    """What the first lines say: the columns' names, the label's position, how many lines the header takes."""

    names: list[str]
    label: int | None
    skip: int


class DelimitedSource(TableSource):
    """A CSV file. `label` is a column's position (negative from the end) or name; None when there is none."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        block_rows: int = DEFAULT_BLOCK_ROWS,
        label: int | str | None = -1,
        header: bool | None = None,
        delimiter: str = ",",
        columns: ColumnOptions | None = None,
        on_error: str = ON_ERROR[0],
    ):
        super().__init__(path, block_rows=block_rows, label=label, columns=columns, on_error=on_error)
        self.header = header
        self.delimiter = delimiter

    def _pass(self, earlier: Encoder | None) -> Iterator[LabelledBlock]:
        with self._opened() as stream:
            self._encoder = earlier
            above = None if earlier is None else earlier.layout
            read: list[bytes] = []
            head = self._head(_recorded(stream, read), above)
            if head is None:
                return
            texts = self._whole_lines(stream, _CHUNK_BYTES, b"".join(read[head.skip :]))
            first = next(texts)
            layout = self._decided(head, first, above)
            tables = _Rows(self, layout).tables(itertools.chain([first], texts), head.skip + 1)
            yield from self._blocks(tables, self._new_encoder(layout, np.float64, earlier))

    def _head(self, lines: Iterator[str], above: Layout | None) -> _Head | None:
        """What the first two lines say; None when there is no row."""
        reader = csv.reader(lines, delimiter=self.delimiter)
        first = next(filter(None, reader), None)
        first_line = reader.line_num
        second = next(filter(None, reader), None)
        if first is None:
            return None
        if len(first) < 2 and self.label is not None:
            what = f"one column; a label and a feature are needed. Is the delimiter {self.delimiter!r} right?"
            raise SourceError(what, path=self.path, line=first_line)
        label = self._label_position(first, first_line)
        header = self.header
        if header is None:
            repeated = above is not None and first == above.names
            header = repeated or isinstance(self.label, str)
            header = header or self._looks_like_header(first, second, label, first_line)
        if header and second is None:
            return None
        names = [f"#{position + 1}" for position in range(len(first))]
        if header:
            names = first
        elif above is not None and len(above.names) == len(first):
            names = above.names
        return _Head(names, label, first_line if header else first_line - 1)

    def _label_position(self, first: list[str], line: int) -> int | None:
        if self.label is None:
            return None
        if isinstance(self.label, int):
            if not -len(first) <= self.label < len(first):
                what = f"label={self.label} is not one of the {len(first)} columns; -1 is the last, 0 the first"
                raise SourceError(what, path=self.path, line=line)
            return self.label % len(first)
        if self.label not in first or self.header is False:
            what = f"no header names a column {self.label!r}; name one of {', '.join(first)}, or give a position"
            raise SourceError(what, path=self.path, line=line)
        return first.index(self.label)

    def _looks_like_header(self, first: list[str], second: list[str] | None, label: int | None, line: int) -> bool:
        words = [not _is_number(field) and not _is_missing(field) for field in first]
        below = second if second is not None and len(second) == len(first) else []
        if any(word and _is_number(field) for word, field in zip(words, below, strict=False)):
            return True
        if self.columns.categorical == "refuse":
            return any(word for position, word in enumerate(words) if position != label)
        if all(words):
            what = "nothing but words in the first lines: are they a header? Say header=True or header=False"
            raise SourceError(what, path=self.path, line=line)
        return False

    def _decided(self, head: _Head, text: bytes, above: Layout | None) -> Layout:
        """The kinds of the columns, as the table above or else the first text shows them."""
        names, label, _ = head
        if above is not None:
            words = {above.names[at] for at in above.features(True)}
            return Layout(names, label, [name in words for name in names], above.word_labels)
        known = self.columns.categorical == "refuse" or bool(self.columns.categorical_columns)
        doubtful = [at for at in range(len(names)) if at == label or not known]
        wordy = _wordy_columns(text, self.delimiter, len(names), doubtful)
        if self.on_error == "skip" and wordy.get(label, 1.0) <= FEW:
            del wordy[label]
        words = (
            set(self.columns.categorical_columns) if known else {names[at] for at in range(len(names)) if at in wordy}
        )
        return Layout(names, label, [name in words for name in names], label in wordy)


class _Rows:
    """Turns text into tables without a faulty row: every one goes to the source's `_skip`."""

    def __init__(self, source: DelimitedSource, layout: Layout):
        import pyarrow as pa
        import pyarrow.csv

        self.source = source
        self.layout = layout
        self.impute = source.columns.missing == "mean"
        # Positions as names: a header may repeat a name, pyarrow may not.
        self.names = [str(position) for position in range(len(layout.names))]
        text = [*layout.features(True), *([layout.label] if layout.word_labels else [])]
        types = {name: pa.string() if at in text else pa.float64() for at, name in enumerate(self.names)}
        self.options = {
            "read_options": pyarrow.csv.ReadOptions(column_names=self.names, use_threads=False),
            "parse_options": pyarrow.csv.ParseOptions(delimiter=source.delimiter),
            "convert_options": pyarrow.csv.ConvertOptions(column_types=types, null_values=_NULLS),
        }

    def tables(self, texts: Iterator[bytes], line: int) -> Iterator[Any]:
        """Tables of the texts' rows, None for an empty text; `line` is the number of the first line."""
        # pyarrow's own streaming reader has read 34 MiB when it gives the first 1 MiB (measured, pyarrow 26), with or
        # without threads: `progress` would be wrong, and that much memory is not needed.
        for text in texts:
            if text:
                yield from self._readable(text, line)
                line += text.count(b"\n")
            else:
                yield None

    def _readable(self, text: bytes, line: int) -> Iterator[Any]:
        """The rows of a text that can be read."""
        import pyarrow as pa

        try:
            table = self._parsed(text)
            reason = "a value is missing" if self._lacks(table) else ""
        except pa.ArrowInvalid as error:
            reason = str(error)
        if not reason:
            yield table
            return
        rest = self._without_faults(text, line)
        if rest != text:
            yield from self._readable(rest, line)
            return
        # Only pyarrow sees what is wrong: halves, until the faulty line stands alone.
        cut = text.find(b"\n", len(text) // 2) + 1
        if cut == len(text):
            cut = text.rfind(b"\n", 0, len(text) - 1) + 1
        if cut > 0:
            yield from self._readable(text[:cut], line)
            yield from self._readable(text[cut:], line + text.count(b"\n", 0, cut))
        else:
            self.source._skip(SourceError(reason, path=self.source.path, line=line))

    def _without_faults(self, text: bytes, line: int) -> bytes:
        """The text with an empty line in place of each faulty one; what is wrong with those goes to `_skip`."""
        lines = [row + b"\n" for row in text.split(b"\n")[:-1]]
        for number, row in enumerate(lines):
            # Each line on its own: a quote that is never closed spoils no other.
            try:
                fields = next(csv.reader([row.decode("utf-8-sig", "replace")], delimiter=self.source.delimiter), [])
                position, what = self._first_fault(fields) if fields else (0, "")
            except csv.Error as error:
                position, what = 0, f"{error}; is the delimiter {self.source.delimiter!r} right?"
            if what:
                self.source._skip(SourceError(what, path=self.source.path, line=line + number, column=position + 1))
                lines[number] = b"\n"
        return b"".join(lines)

    def _parsed(self, text: bytes) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.csv

        table = pyarrow.csv.read_csv(pa.BufferReader(text), **self.options)
        for at in self.layout.features(True):
            column = table.column(at)
            missing = pc.is_in(pc.utf8_trim_whitespace(column), value_set=pa.array(list(_MISSING)))
            table = table.set_column(at, self.names[at], pc.if_else(missing, pa.scalar(None, pa.string()), column))
        return table

    def _lacks(self, table: Any) -> bool:
        """Whether a label is missing, or a feature that may not be."""
        import pyarrow.compute as pc

        if self.layout.label is not None:
            label = table.column(self.layout.label)
            if label.null_count > 0 or (self.layout.word_labels and pc.any(pc.equal(label, "")).as_py()):
                return True
        return not self.impute and any(column.null_count > 0 for column in table.columns)

    def _first_fault(self, fields: list[str]) -> tuple[int, str]:
        """Position and description of what is wrong with a line; an empty description when nothing is."""
        names, label, categorical, word_labels = self.layout
        if len(fields) != len(names):
            shorter = min(len(fields), len(names))
            return shorter, f"{len(fields)} fields, the first line has {len(names)}; complete or drop this one"
        for position, (field, name) in enumerate(zip(fields, names, strict=True)):
            if position == label:
                if field == "" or (not word_labels and _is_missing(field)):
                    return position, f"the label {name!r} is missing; fill it in or drop the row"
                if not word_labels and not _is_number(field):
                    what = f"the label {field!r} is not a number, unlike those in the first mebibyte"
                    return position, f"{what}; relabel it, or move such a row there"
            elif _is_missing(field):
                if not self.impute:
                    remedy = "fill it in, drop the row, or use missing='mean'"
                    return position, f"the value of {name!r} is missing ({field!r}); {remedy}"
            elif not categorical[position] and not _is_number(field):
                what = f"the value {field!r} of {name!r} is not a number"
                if self.source.columns.categorical != "refuse":
                    return position, f"{what}, unlike all in the first mebibyte; name it in categorical_columns"
                remedy = "encode the column as numbers or with categorical='onehot', drop it"
                return position, f"{what}; {remedy}, or name another label column"
        return 0, ""


def _recorded(stream: IO[bytes], read: list[bytes]) -> Iterator[str]:
    """The lines of a text; their bytes are kept in `read`."""
    while line := stream.readline():
        read.append(line)
        yield line.decode("utf-8-sig" if len(read) == 1 else "utf-8", "replace")


def _wordy_columns(text: bytes, delimiter: str, n_columns: int, doubtful: list[int]) -> dict[int | None, float]:
    """Those of the doubtful columns with a field that is neither a number nor missing, and the share of such fields.

    Odd lines do not count.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv

    if not doubtful:
        return {}
    names = [str(position) for position in range(n_columns)]
    table = pyarrow.csv.read_csv(
        pa.BufferReader(text),
        read_options=pyarrow.csv.ReadOptions(column_names=names, use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, invalid_row_handler=lambda row: "skip"),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            check_utf8=False,
            include_columns=[names[position] for position in doubtful],
        ),
    )
    wordy: dict[int | None, float] = {}
    for position in doubtful:
        fields = pc.utf8_trim_whitespace(table.column(names[position]))
        fields = fields.filter(pc.invert(pc.is_in(fields, value_set=pa.array(list(_MISSING)))))
        try:
            fields.cast(pa.float64())
        except pa.ArrowInvalid:
            wordy[position] = sum(not _is_number(field) for field in fields.to_pylist()) / len(fields)
    return wordy


def _is_missing(field: str) -> bool:
    return field.strip() in _MISSING


def _is_number(field: str) -> bool:
    try:
        to_number(field)
    except ValueError:
        return False
    return True
