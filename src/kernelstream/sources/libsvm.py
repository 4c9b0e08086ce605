"""LIBSVM text as a stream of sparse blocks: ``label index:value index:value ... # comment``.

Text is read in chunks that are cut at their last newline. A value reads as exactly the double that Python reads.

Blank lines and comments are passed over, and ``qid:`` too, with a notice. Indices start at 1 unless ``zero_based``
says otherwise: a stream cannot wait for a 0 to find out. Each block is as wide as the highest index so far (at least
1), so widths never decrease; `renumber` makes it as wide as there are features so far. Labels are words when one in
the first block is; where rows may be skipped, one in a hundred.
"""

import math
import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding.known import RENUMBERED
from ..teaching import explained
from ._libsvm_parser import FAULTS, HIGHEST_INDEX, OK, Buffers, parse
from .base import (
    DEFAULT_BLOCK_ROWS,
    FEW,
    MAX_FEATURES,
    FileSource,
    LabelledBlock,
    Source,
    SourceError,
    as_csr,
    positive,
    to_number,
)
from .renumbering import Renumbering

# The shortest pair is a separator and "1:1", so a text of n bytes holds at most n / 4 of them.
_SHORTEST_PAIR = 4
_TOKEN = re.compile(rb"[^\s#]*")
_QUOTED = 40
_QUERIES = "The file groups its rows by qid: (ranking); the groups are ignored, each row is learned by itself."


@explained(earlier="whose newest pass ended above these rows")
class LibsvmSource(FileSource):
    """A LIBSVM / SVMlight text file: sparse rows.

    Parameters
    ----------
    path : of the file, plain, or packed as .gz, .bz2, .xz or .zst
    block_rows : how many rows a block has at most
    zero_based : whether the first feature is number 0, and not 1
    max_features : a higher index is refused, or with `renumber` more features than that
    renumber : whether features get columns in the order in which they appear, so that width grows with those seen
    encoding : another source's `encoding`; where that renumbered, features get the same columns, and others count as 0
    on_error : "stop" at a row that cannot be read, or "skip" it, which `skipped` counts
    chunk_bytes : how much text is read and parsed at a time

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelstream.sources import LibsvmSource
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "rows.libsvm")
    ...     written = path.write_text("+1 1:0.5 3:2\\n-1 2:1\\n")
    ...     ((X, y),) = LibsvmSource(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        block_rows: int = DEFAULT_BLOCK_ROWS,
        zero_based: bool = False,
        max_features: int = MAX_FEATURES,
        renumber: bool = False,
        encoding: Any = None,
        on_error: str = "stop",
        chunk_bytes: int = 2**18,
    ):
        super().__init__(path, block_rows=block_rows, on_error=on_error)
        self.zero_based = zero_based
        self.max_features = min(positive(max_features, "max_features"), HIGHEST_INDEX)
        self.chunk_bytes = positive(chunk_bytes, "chunk_bytes")
        given = encoding if isinstance(encoding, dict) and RENUMBERED in encoding else None
        self.renumber, self._given = renumber or given is not None, given
        self._columns: Renumbering | None = None

    @property
    def encoding(self) -> Any:
        """A JSON value that tells which feature is which column, where that is not its index."""
        return None if self._columns is None else self._columns.to_json()

    @property
    def highest(self) -> int:
        """The largest index that is read."""
        return HIGHEST_INDEX if self.renumber else self.max_features + (0 if self.zero_based else 1) - 1

    def __iter__(self) -> Iterator[LabelledBlock]:
        known = None if self._given is None else Renumbering.from_json(self._given)
        return self._pass((known or Renumbering()) if self.renumber else None)

    def after(self, earlier: Source) -> Iterator[LabelledBlock]:
        """Columns go on from the earlier file."""
        known = earlier._columns if isinstance(earlier, LibsvmSource) else None
        return iter(self) if known is None else self._pass(known)

    def _pass(self, columns: Renumbering | None) -> Iterator[LabelledBlock]:
        self._columns = columns
        with self._opened() as stream:
            reading = _Reading(self, columns)
            for text in self._whole_lines(stream, self.chunk_bytes):
                if text:
                    yield from reading.blocks(text)
                # With an empty piece a live stream says that it has paused.
                elif reading.row > 0:
                    yield reading.take_block()
            if reading.row > 0:
                yield reading.take_block()


class _Reading:
    """One pass over a file: the block being filled, and what the file has shown so far."""

    def __init__(self, source: LibsvmSource, columns: Renumbering | None):
        self.source = source
        self.columns = columns
        self.base = 0 if source.zero_based else 1
        self.lines = 0
        self.width = 1
        self.row = 0
        self.words: list[str] = []
        # Labels are numbers until the first block shows a word; from the second block on this is decided.
        self.numeric = True
        self.decided = False
        # The first block's rows with words for labels, and what is wrong with them should they be too few to count.
        self.strays: list[tuple[int, SourceError]] = []
        self.most_strays = int(FEW * source.block_rows) if source.on_error == "skip" else 0
        rows = min(source.block_rows, DEFAULT_BLOCK_ROWS)
        self.buffers = Buffers(
            labels=np.empty(rows),
            spans=np.empty((rows, 2), np.int64),
            indptr=np.zeros(rows + 1, np.int64),
            indices=np.empty(0, np.int32),
            values=np.empty(0),
            odd=np.empty((0, 3), np.int64),
        )

    def blocks(self, text: bytes) -> Iterator[LabelledBlock]:
        """Parse whole lines and give the blocks that they complete."""
        if self.lines == 0:
            text = text.removeprefix(b"\xef\xbb\xbf")
        codes = np.frombuffer(text, np.uint8)
        at = lines = 0
        while at < len(text):
            self._reserve(len(text) - at)
            first = self.row
            fault, at, self.row, n_lines, n_odd, n_queries = parse(
                codes, self.buffers, at, first, self.base, self.source.highest
            )
            lines += n_lines
            if n_queries > 0:
                self.source._tell("queries", _QUERIES)
            # The line at fault has its label read already.
            labelled = slice(first, self.row + (fault != OK))
            worded: list[int] = []
            faults = [*self._convert_values(text, n_odd), *self._convert_labels(text, labelled, worded)]
            if fault != OK:
                most = self.source.max_features
                faults.append((at, FAULTS[fault].format(token=_token(text, at), most=most)))
                at = text.index(b"\n", at) + 1
                lines += 1
            if faults:
                self._skip(text, labelled, faults)
            self._keep_words(text, first, worded)
            if self.row == self.source.block_rows:
                yield self.take_block()
        self.lines += lines

    def take_block(self) -> LabelledBlock:
        """The rows read since the last block."""
        if not self.decided and 0 < len(self.strays) <= min(FEW * self.row, self.most_strays):
            self._drop_strays()
        rows, entries = self.row, self.buffers.indptr[self.row]
        indices, values = self.buffers.indices[:entries].copy(), self.buffers.values[:entries].copy()
        indptr = self.buffers.indptr[: rows + 1].copy()
        if self.columns is None:
            self.width = max(self.width, int(indices.max(initial=0)) + 1)
        else:
            indices, values, indptr = self._renumbered(self.columns, indices, values, indptr)
            self.width = max(self.width, len(self.columns.columns))
        X = as_csr(values, indices, indptr, self.width)
        y: NDArray[Any] = self.buffers.labels[:rows].copy() if self.numeric else np.array(self.words)
        self.row, self.words, self.decided = 0, [], True
        return X, y

    def _renumbered(self, columns: Renumbering, *rows: Any) -> Any:
        found = columns.renumber(*rows)
        n, most = len(columns.columns), self.source.max_features
        if n > most:
            what = f"{n} different features are above the limit of {most}, which max_features raises"
            raise SourceError(f"{what}: a model's memory grows with it", path=self.source.path, line=self.lines + 1)
        if columns.unknown:
            self.source._tell("unknown", "Some features are not among those that the model knows, and count as 0.")
        return found

    def _reserve(self, n_bytes: int) -> None:
        """Make room for one more row, and for every pair that so much text can hold."""
        out = self.buffers
        pairs = n_bytes // _SHORTEST_PAIR + 1
        entries = int(out.indptr[self.row]) + pairs
        if len(out.odd) < pairs:
            out = out._replace(odd=np.empty((pairs, 3), np.int64))
        if len(out.values) < entries:
            size = max(entries, 2 * len(out.values))
            out = out._replace(indices=_grown(out.indices, size), values=_grown(out.values, size))
        if len(out.labels) == self.row:
            size = min(2 * self.row, self.source.block_rows)
            labels, spans, indptr = _grown(out.labels, size), _grown(out.spans, size), _grown(out.indptr, size + 1)
            out = out._replace(labels=labels, spans=spans, indptr=indptr)
        self.buffers = out

    def _convert_values(self, text: bytes, n_odd: int) -> Iterator[tuple[int, str]]:
        """Convert the values that the parser left over. Gives place and description of those that are wrong."""
        for entry, start, stop in self.buffers.odd[:n_odd].tolist():
            try:
                self.buffers.values[entry] = value = to_number(text[start:stop])
            except ValueError:
                yield start, f"the value {_token(text, start)!r} is not a number"
                continue
            if not math.isfinite(value):
                yield start, f"the value {_token(text, start)!r} is not finite; correct it or drop the row"

    def _convert_labels(self, text: bytes, rows: slice, worded: list[int]) -> Iterator[tuple[int, str]]:
        """Convert the labels that the parser left over, likewise. `worded` gets the places of those that are words."""
        labels, spans = self.buffers.labels[rows], self.buffers.spans[rows]
        for row in np.flatnonzero(np.isnan(labels)).tolist():
            start, stop = spans[row].tolist()
            try:
                labels[row] = to_number(text[start:stop])
                if math.isinf(labels[row]):
                    yield start, f"the label {_token(text, start)!r} is not finite; correct it or drop the row"
            except ValueError:
                token = _token(text, start)
                if ":" in token:
                    yield start, f"the line starts with {token!r} and has no label; put one first"
                elif "," in token:
                    other = "; if the file is comma-separated, say format='csv'" if text.find(b":") < 0 else ""
                    yield start, f"{token!r} is several labels; one label a row is supported, so keep one{other}"
                elif self.decided and self.numeric:
                    yield start, _stray(token)
                else:
                    worded.append(start)

    def _keep_words(self, text: bytes, first: int, worded: list[int]) -> None:
        """Keep the labels of the rows from `first` on as words, for as long as labels can be words."""
        if self.decided and self.numeric:
            return
        spans = self.buffers.spans[first : self.row]
        rows = np.flatnonzero(np.isin(spans[:, 0], worded))
        self.numeric = self.numeric and len(rows) == 0
        for row in rows[: self.most_strays + 1 - len(self.strays)].tolist():
            start = int(spans[row, 0])
            self.strays.append((first + row, self._error(text, start, _stray(_token(text, start)))))
        self.words += [text[start:stop].decode(errors="replace") for start, stop in spans.tolist()]

    def _skip(self, text: bytes, rows: slice, faults: list[tuple[int, str]]) -> None:
        """Report the first fault of each line that has one, and take its row out of the block.

        Requires: `rows` are those that were parsed from `text`, with the line that stopped the parser.
        """
        out = self.buffers
        reported = np.zeros(rows.stop - rows.start, bool)
        for at, what in sorted(faults):
            row = int(np.searchsorted(out.spans[rows, 0], at, side="right")) - 1
            if not reported[row]:
                reported[row] = True
                self.source._skip(self._error(text, at, what))
        self._keep(rows.start, ~reported[: self.row - rows.start])

    def _drop_strays(self) -> None:
        """Take the rows with words for labels out of the first block, for the others' labels are numbers."""
        kept = np.ones(self.row, bool)
        for row, error in self.strays:
            self.source._skip(error)
            kept[row] = False
        self._keep(0, kept)
        self.numeric = True

    def _keep(self, first: int, kept: NDArray[np.bool_]) -> None:
        """Of the rows from `first` on only those that are to be kept."""
        if kept.all():
            return
        out, last = self.buffers, self.row
        begin, end = out.indptr[first], out.indptr[last]
        lengths = np.diff(out.indptr[first : last + 1])
        entries = np.repeat(kept, lengths)
        self.row = first + int(kept.sum())
        out.labels[first : self.row] = out.labels[first:last][kept]
        out.spans[first : self.row] = out.spans[first:last][kept]
        out.indptr[first + 1 : self.row + 1] = begin + np.cumsum(lengths[kept])
        stop = begin + int(entries.sum())
        out.indices[begin:stop] = out.indices[begin:end][entries]
        out.values[begin:stop] = out.values[begin:end][entries]

    def _error(self, text: bytes, at: int, what: str) -> SourceError:
        line = self.lines + text.count(b"\n", 0, at) + 1
        line_start = text.rfind(b"\n", 0, at) + 1
        column = len(text[line_start:at].decode(errors="replace")) + 1
        return SourceError(what, path=self.source.path, line=line, column=column)


def _stray(token: str) -> str:
    return f"the label {token!r} is not a number, unlike the first block's; relabel it, or enlarge block_rows"


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.empty((size, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def _token(text: bytes, at: int) -> str:
    """What is written at a place, cut short for a message."""
    found = _TOKEN.match(text, at)
    token = found[0].decode(errors="replace") if found else ""
    return token if len(token) <= _QUOTED else token[:_QUOTED] + "..."
