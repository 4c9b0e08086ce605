"""Comma-separated text as a stream of blocks, read by pyarrow.

pyarrow would guess types from what it sees first, a block at a time. Here the first mebibyte decides them for the file:
labels are numbers unless one of them is a word (one in a hundred where rows may be skipped), and features are float64
unless most fields of a column that are not missing are words, or all of them dates. Where categories are asked for
(`columns`), one word is enough, and `categorical_columns` names such columns instead.

The first line is a header when it has a word above a number (``0,1,target`` above ``5.1,3.5,1``), and a row where words
stand above words alone (``5.1,3.5,setosa``). Where words are refused, any in a feature's field makes it a header. A
label asked for by name needs a header; ``header=True`` or ``False`` overrules. A quoted field may hold line breaks; a
quote that is opened and never closed spoils its own line alone. Below another table, the kinds of the columns are those
found there, a first line with the same names is a header, and without a header the names are the same.
"""

import csv
import itertools
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ..encoding.buffers import column_of
from ..encoding.values import AUTO, REFUSE, dates_of, moment_of
from .base import (
    DEFAULT_BLOCK_ROWS,
    FEW,
    ON_ERROR,
    UNLABELLED,
    LabelledBlock,
    SourceError,
    one_of,
    refuse_utf16,
    to_number,
)
from .columns import ColumnOptions, Encoder, Layout, Words
from .quoting import ends_in_quotes, fields_of, has_open_quote, open_lines, rows_of, unfinished
from .tables import TableSource, without_label

_MISSING = {"", "?", "NA", "N/A", "#N/A", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"}
# pyarrow looks for them before it trims a field.
_NULLS = [*_MISSING, *(f" {word}" for word in _MISSING)]
_CHUNK_BYTES = 2**20
_OPEN_QUOTE = "a quoted field is never closed; close it, or drop the row"
_NO_TEXT = "this is no UTF-8 text; save the file as UTF-8, as with: iconv -f LATIN1 -t UTF-8 FILE > NEW"
_DECIMALS = (".", ",")
_DELIMITERS = ";\t|, "
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}")
_AMOUNT = re.compile(r"[$€£¥]\s*[-+]?\d[\d.,\s]*|[-+]?\d[\d.,\s]*[%$€£¥]")
# Digits in groups of three, by the decimal sign.
_GROUPED = {
    ".": re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?"),
    ",": re.compile(r"[-+]?\d{1,3}(\.\d{3})+(,\d+)?"),
}
_FIRST_ROWS = 100  # that are looked at for a header while fields are missing
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")


class _Head(NamedTuple):
    """What the first lines say: the columns' names, the label's position, how many lines the header takes."""

    names: list[str]
    label: int | None
    skip: int


class DelimitedSource(TableSource):
    """A CSV file.

    Parameters
    ----------
    path : of the file, plain, or packed as .gz, .bz2, .xz or .zst
    block_rows : how many rows a block has at most
    label : a column's position (negative from the end) or name; None when there is none
    header : whether the first row has names; by default it has where its fields are no numbers
    delimiter, decimal : what stands between fields, and between a number's whole and its fraction
    columns : `ColumnOptions`, which say what words, dates and missing values become; `open_source` takes each by name
    on_error : "stop" at a row that cannot be read, or "skip" it, which `skipped` counts
    unlabelled : "skip" rows whose label is missing, or "keep" them, to be predicted

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelstream.sources import DelimitedSource
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "rooms.csv")
    ...     written = path.write_text("warmth;people;busy\\n20,5;0;no\\n23,0;4;yes\\n")
    ...     source = DelimitedSource(path, label="busy", delimiter=";", decimal=",")
    ...     ((X, y),) = source
    >>> X.tolist(), y.tolist(), source.feature_names
    ([[20.5, 0.0], [23.0, 4.0]], ['no', 'yes'], ['warmth', 'people'])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        block_rows: int = DEFAULT_BLOCK_ROWS,
        label: int | str | None = -1,
        header: bool | None = None,
        delimiter: str = ",",
        decimal: str = ".",
        columns: ColumnOptions | None = None,
        on_error: str = ON_ERROR[0],
        unlabelled: str = UNLABELLED[0],
    ):
        super().__init__(
            path, block_rows=block_rows, label=label, columns=columns, on_error=on_error, unlabelled=unlabelled
        )
        if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
            raise ValueError(f"the delimiter is {delimiter!r}; it must be one character, such as ';'")
        if one_of(decimal, _DECIMALS, "decimal") == delimiter:
            raise ValueError(f"{decimal!r} cannot be the delimiter and the decimal sign; give another delimiter=';'")
        self.header = header
        self.delimiter = delimiter
        self.decimal = decimal

    def _is_number(self, field: str) -> bool:
        try:
            self._number(field)
        except ValueError:
            return False
        return True

    def _is_word(self, field: str) -> bool:
        """Whether a field is neither a number nor one that is written in another way, nor a date, nor damage."""
        written = (_DECIMAL_COMMA, _AMOUNT, _GROUPED[self.decimal])
        odd = any(pattern.fullmatch(field) for pattern in written) or _DATE.match(field)
        return not (odd or _CONTROL.search(field) or self._is_number(field))

    def _number(self, field: str) -> float:
        if self.decimal == ".":
            return to_number(field)
        if "." in field:
            raise ValueError(f"{field!r} is not a number with a decimal {self.decimal!r}")
        return to_number(field.replace(self.decimal, "."))

    def _pass(self, earlier: Encoder | None) -> Iterator[LabelledBlock]:
        with self._opened() as stream:
            self._encoder = earlier
            above = None if earlier is None else earlier.layout
            read: list[bytes] = []
            head = self._head(_recorded(stream, read, self.path), above)
            if head is None:
                return
            texts = self._whole_lines(stream, _CHUNK_BYTES, b"".join(read[head.skip :]))
            first = next(texts)
            layout = self._decided(head, first, above)
            tables = _Rows(self, layout).tables(itertools.chain([first], texts), head.skip + 1)
            yield from self._blocks(tables, self._new_encoder(layout, np.float64, earlier))

    def _whole_lines(self, stream: IO[bytes], chunk_bytes: int, start: bytes = b"") -> Iterator[bytes]:
        """Pieces that end where a row does."""
        rest = b""
        for piece in super()._whole_lines(stream, chunk_bytes, start):
            if not piece:
                yield piece
                continue
            if self.span is not None and b'"' in piece and open_lines(piece)[0]:
                what = "a quoted field holds a line break, and lines are read apart; convert the file to Parquet first"
                raise SourceError(what, path=self.path)
            text = rest + piece
            rest = unfinished(text, self.delimiter)
            if len(text) > len(rest):
                yield text[: len(text) - len(rest)]
        if rest:
            yield rest

    def _head(self, lines: Iterator[str], above: Layout | None) -> _Head | None:
        """What the first two lines say; None when there is no row."""
        reader = csv.reader(lines, delimiter=self.delimiter)
        following = filter(None, reader)
        try:
            first = next(following, None)
            first_line = reader.line_num
            second = next(following, None)
            if first is None:
                return None
            if len(first) < 2 and self.label is not None:
                raise SourceError(self._one_column(first[0], second or []), path=self.path, line=first_line)
            if isinstance(self.label, str) and (self.label not in first or self.header is False):
                what = f"no header names a column {self.label!r}; name one of {', '.join(first)}, or give a position"
                raise SourceError(what, path=self.path, line=first_line)
            label = self._label_position(first, first_line)
            header = self.header
            if header is None:
                repeated = above is not None and first == above.names
                header = repeated or isinstance(self.label, str)
                below = itertools.islice(itertools.chain([second or []], following), _FIRST_ROWS)
                header = header or self._looks_like_header(first, below, label, first_line)
        except csv.Error as error:
            what = f"this is no CSV text ({error}); is the format right?"
            if "new-line character" in str(error):
                what = "lines end in a carriage return alone; write line feeds, as with: tr '\\r' '\\n' < FILE > NEW"
            raise SourceError(what, path=self.path, line=reader.line_num or 1) from None
        if header and second is None:
            return None
        names = [f"#{position + 1}" for position in range(len(first))]
        if header:
            names = first
            if any("\ufffd" in name for name in names):
                raise SourceError(_NO_TEXT, path=self.path, line=first_line)
        elif above is not None and len(above.names) == len(first):
            names = above.names
        return _Head(names, label, first_line if header else first_line - 1)

    def _one_column(self, first: str, second: list[str]) -> str:
        """What is wrong with a first line of one field."""
        if first.lstrip().startswith("<"):
            return f"this is a page ({first.strip()[:40]!r}) and no table; fetch the data that it shows"
        other = next((sign for sign in _DELIMITERS if sign != self.delimiter and sign in first), " ")
        if len(second) > 1 and other == " ":
            return f"one field, and {len(second)} below it; if it is a title or a comment, remove the line"
        hint = f"is it another one? Say delimiter={other!r}" if other in first else "is it the right one?"
        if other == ";" and self.decimal == "." and _DECIMAL_COMMA.search(self.delimiter.join(second)):
            hint = "are there semicolons and decimal commas? Say decimal=','"
        return f"one column, where the delimiter is {self.delimiter!r}; a label and a feature are needed: {hint}"

    def _looks_like_header(self, first: list[str], rows: Iterator[list[str]], label: int | None, line: int) -> bool:
        """Whether the first line is one, from the rows below it: the next, and others while fields are missing."""
        words = [not self._is_number(field) and not _is_missing(field) for field in first]
        second = next(rows)
        below = second
        while below and len(below) == len(first):
            if any(word and self._is_number(field) for word, field in zip(words, below, strict=True)):
                return True
            if not any(word and _is_missing(field) for word, field in zip(words, below, strict=True)):
                break
            below = next(rows, [])
        if self.columns.categorical == REFUSE:
            return any(word for position, word in enumerate(words) if position != label)
        if all(words) and len(second) in (0, len(first)):
            if not second:
                return True
            what = "nothing but words in the first lines: are they a header? Say header=True or header=False"
            raise SourceError(what, path=self.path, line=line)
        wordy = second and all(not self._is_number(field) and not _is_missing(field) for field in second)
        if wordy and any(self._is_number(field) for field in next(rows, [])):
            raise SourceError("the header seems to come below; remove this line", path=self.path, line=line)
        if all(words):
            what = f"{len(first)} fields, and {len(second)} below them; give each column its name, and no row more"
            raise SourceError(what, path=self.path, line=line)
        return False

    def _decided(self, head: _Head, text: bytes, above: Layout | None) -> Layout:
        """The kinds of the columns, as the table above or else the first text shows them."""
        import pyarrow as pa

        names, label, _ = head
        dropped = self.columns.dropped(names, label, self.path)
        if above is not None:
            words, dates = ({above.names[at] for at in some} for some in (above.features(True), above.dates))
            word_labels = above.word_labels
        else:
            known = self.columns.knows_words
            doubtful = [at for at in range(len(names)) if at == label or not (known or at in dropped)]
            try:
                wordy = self._wordy_columns(text, len(names), doubtful)
            except (pa.ArrowException, UnicodeDecodeError) as error:
                raise SourceError(f"this is no CSV text ({error}); is the format right?", path=self.path) from None
            if self.on_error == "skip" and label in wordy and wordy[label].share <= FEW:
                del wordy[label]
            word_labels = label in wordy
            words, dates = self.columns.kinds({names[at]: wordy[at] for at in doubtful if at in wordy and at != label})
        dated = {at for at, name in enumerate(names) if name in dates} - {label, *dropped}
        return Layout(names, label, [name in words for name in names], word_labels, dropped, frozenset(dated))

    def _wordy_columns(self, text: bytes, n_columns: int, doubtful: list[int]) -> dict[int | None, Words]:
        """Those of the doubtful columns with a field that is neither a number nor missing. Odd lines do not count."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.csv

        if not doubtful:
            return {}
        names = [str(position) for position in range(n_columns)]
        text = text.decode(
            errors="replace"
        ).encode()  # pyarrow complains on the terminal about odd lines that are no text
        parsing = _parsing(text, self.delimiter)
        parsing.invalid_row_handler = lambda row: "skip"
        table = pyarrow.csv.read_csv(
            pa.BufferReader(text),
            read_options=pyarrow.csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=parsing,
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                check_utf8=False,
                include_columns=[names[position] for position in doubtful],
            ),
        )
        wordy: dict[int | None, Words] = {}
        for position in doubtful:
            fields = pc.utf8_trim_whitespace(table.column(names[position]))
            fields = fields.filter(pc.invert(pc.is_in(fields, value_set=column_of(np.array(list(_MISSING))))))
            try:
                (fields if self.decimal == "." else pc.replace_substring(fields, self.decimal, ".")).cast(pa.float64())
            except pa.ArrowInvalid:
                share = sum(map(self._is_word, fields.to_pylist())) / len(fields)
                wordy[position] = Words(share, _are_dates(fields))
        return wordy


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
        labels = [layout.label] if layout.word_labels else []
        text = [*layout.features(True), *layout.dates, *layout.dropped, *labels]
        self.numeric = [at for at in [*layout.used, layout.label] if at is not None and at not in text]
        types = {name: pa.string() if at in text else pa.float64() for at, name in enumerate(self.names)}
        self.options = {
            "read_options": pyarrow.csv.ReadOptions(column_names=self.names, use_threads=False),
            "convert_options": pyarrow.csv.ConvertOptions(
                column_types=types, null_values=_NULLS, decimal_point=source.decimal
            ),
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
            if not reason and self._overflows(table):
                reason = "a value is infinite"
            if not reason and has_open_quote(text, self.source.delimiter):
                reason = _OPEN_QUOTE
        except pa.ArrowInvalid as error:
            reason = _NO_TEXT if "invalid UTF8" in str(error) else str(error)
        if not reason:
            yield table
            return
        rest = self._without_faults(text, line)
        if rest != text:
            yield from self._readable(rest, line)
            return
        # Only pyarrow sees what is wrong: halves, until the faulty row stands alone.
        rows = rows_of(text, self.source.delimiter)
        cut = sum(map(len, rows[: len(rows) // 2]))
        if cut > 0:
            yield from self._readable(text[:cut], line)
            yield from self._readable(text[cut:], line + text.count(b"\n", 0, cut))
        else:
            self.source._skip(SourceError(reason, path=self.source.path, line=line))

    def _without_faults(self, text: bytes, line: int) -> bytes:
        """The text with empty lines in place of each faulty row; what is wrong with those goes to `_skip`."""
        rows = rows_of(text, self.source.delimiter)
        for number, row in enumerate(rows):
            # Each row on its own: a quote that is never closed spoils no other.
            try:
                fields = next(fields_of(row, self.source.delimiter), [])
                position, what = self._first_fault(fields) if fields else (0, "")
                if row.count(b'"') % 2 and ends_in_quotes(row, self.source.delimiter):
                    what = _OPEN_QUOTE
            except csv.Error as error:
                position, what = 0, f"{error}; is the delimiter {self.source.delimiter!r} right?"
            if what:
                self.source._skip(SourceError(what, path=self.source.path, line=line, column=position + 1))
                rows[number] = b"\n" * row.count(b"\n")
            line += row.count(b"\n")
        return b"".join(rows)

    def _parsed(self, text: bytes) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.csv

        parsing = _parsing(text, self.source.delimiter)
        table = pyarrow.csv.read_csv(pa.BufferReader(text), parse_options=parsing, **self.options)
        for at in [*self.layout.features(True), *self.layout.dates]:
            column = table.column(at)
            missing = pc.is_in(pc.utf8_trim_whitespace(column), value_set=column_of(np.array(list(_MISSING))))
            column = pc.if_else(missing, pa.NULL, column)
            table = table.set_column(at, self.names[at], dates_of(column) if at in self.layout.dates else column)
        return table

    def _lacks(self, table: Any) -> bool:
        """Whether a label or a feature is missing that may not be."""
        if self.impute:
            return False
        if self.layout.label is not None and without_label(table.column(self.layout.label)).any():
            return True
        return any(table.column(at).null_count > 0 for at in self.layout.used)

    def _overflows(self, table: Any) -> bool:
        import pyarrow.compute as pc

        return any(pc.any(pc.is_inf(table.column(at))).as_py() for at in self.numeric)

    def _first_fault(self, fields: list[str]) -> tuple[int, str]:
        """Position and description of what is wrong with a line; an empty description when nothing is."""
        names, label, categorical, word_labels, dropped, dates = self.layout
        if len(fields) != len(names):
            shorter = min(len(fields), len(names))
            return shorter, f"{len(fields)} fields, the first line has {len(names)}; complete or drop this one"
        for position, (field, name) in enumerate(zip(fields, names, strict=True)):
            if position in dropped:
                continue
            if position in self.numeric and self.source._is_number(field) and math.isinf(self.source._number(field)):
                return position, f"the value {field!r} of {name!r} is not finite; correct it or drop the row"
            if position == label:
                if field == "" or (not word_labels and _is_missing(field)):
                    if not self.impute:
                        return position, f"the label {name!r} is missing; fill it in or drop the row"
                elif not word_labels and not self.source._is_number(field):
                    what = f"the label {field!r} is not a number, unlike those in the first mebibyte"
                    return position, f"{what}; relabel it, or move such a row there"
            elif _is_missing(field):
                if not self.impute:
                    remedy = "fill it in, drop the row, or use missing='mean'"
                    return position, f"the value of {name!r} is missing ({field!r}); {remedy}"
            elif position in dates:
                if moment_of(field) is None:
                    what = f"the value {field!r} of {name!r} is not a date, unlike all in the first mebibyte"
                    return position, f"{what}; write it as 2026-01-25 or 2026-01-25 12:30:00, or drop the row"
            elif not categorical[position] and not self.source._is_number(field):
                return position, f"the value {field!r} of {name!r} is not a number{self._remedy(field, name)}"
        return 0, ""

    def _remedy(self, field: str, name: str) -> str:
        """What to do about a field that is not a number."""
        drop = f"leave the column out: drop={name!r}"
        if _DECIMAL_COMMA.fullmatch(field.strip()) and self.source.decimal == ".":
            return " with a decimal point; say that commas stand there: decimal=','"
        if _GROUPED[self.source.decimal].fullmatch(field.strip()):
            return " while signs part its digits; write it without them"
        if _DATE.match(field.strip()):
            return f" but a date; make numbers of it (days since a day, the hour), or {drop}"
        if self.source.columns.categorical == AUTO:
            words = f"say that it holds words: categorical_columns={name!r}"
            return f", unlike most in the first mebibyte; correct it, {words}, or {drop}"
        if self.source.columns.categorical != REFUSE:
            return f", unlike all in the first mebibyte; name it in categorical_columns, or {drop}"
        return f"; make features of words: categorical='onehot', or {drop}"


def _parsing(text: bytes, delimiter: str) -> Any:
    import pyarrow.csv

    return pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in text)


def _recorded(stream: IO[bytes], read: list[bytes], path: Path) -> Iterator[str]:
    """The lines of a text; their bytes are kept in `read`."""
    while line := stream.readline():
        if not read:
            refuse_utf16(line, path)
        read.append(line)
        yield line.decode("utf-8-sig" if len(read) == 1 else "utf-8", "replace")


def _are_dates(fields: Any) -> bool:
    import pyarrow as pa

    try:
        dates_of(fields)
    except pa.ArrowInvalid:
        return False
    return True


def _is_missing(field: str) -> bool:
    return field.strip() in _MISSING
