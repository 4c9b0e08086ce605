"""Rows of comma-separated text whose quoted fields hold line breaks: where each ends, and what is never closed."""

import csv
import io
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_LONGEST_ROW = 2**20  # bytes, of a row that spans lines


def fields_of(row: bytes, delimiter: str, *, strict: bool = False) -> Iterator[list[str]]:
    """The fields of a row; those of several where they are several."""
    return csv.reader(io.StringIO(row.decode("utf-8-sig", "replace"), newline=""), delimiter=delimiter, strict=strict)


def ends_in_quotes(text: bytes, delimiter: str) -> bool:
    """Whether a quoted field goes on behind this text."""
    try:
        for _ in fields_of(text, delimiter, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _is_row(text: bytes, delimiter: str) -> bool:
    try:
        return len(list(fields_of(text, delimiter, strict=True))) == 1
    except csv.Error:
        return False


def open_lines(text: bytes) -> tuple[list[int], NDArray[np.int64]]:
    """The lines with an odd number of quotes: whatever spans lines begins and ends with one. And where lines end."""
    codes = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(codes == ord("\n")) + 1
    quotes = np.diff(np.searchsorted(np.flatnonzero(codes == ord('"')), ends), prepend=0)
    return np.flatnonzero(quotes % 2).tolist(), ends


def _spans(text: bytes, delimiter: str) -> tuple[list[tuple[int, int]], int]:
    """The rows that span lines, as first and last line, and where a row begins that is not finished (or the end)."""
    lines, ends = open_lines(text)
    spans: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        if spans and line <= spans[-1][1]:
            continue
        start = int(ends[line - 1]) if line > 0 else 0
        if at + 1 < len(lines) and _is_row(text[start : ends[lines[at + 1]]], delimiter):
            spans.append((line, lines[at + 1]))
        elif at + 1 == len(lines) and len(text) - start < _LONGEST_ROW and ends_in_quotes(text[start:], delimiter):
            return spans, start
    return spans, len(text)


def unfinished(text: bytes, delimiter: str) -> bytes:
    """The end of a text that belongs to a row which goes on behind it."""
    return text[_spans(text, delimiter)[1] :] if b'"' in text else b""


def has_open_quote(text: bytes, delimiter: str) -> bool:
    """Whether a line opens a quote that is not closed: pyarrow would take what follows for the same field."""
    if b'"' not in text:
        return False
    lines, ends = open_lines(text)
    spanned = {line for first, last in _spans(text, delimiter)[0] for line in range(first, last + 1)}
    return any(
        ends_in_quotes(text[int(ends[line - 1]) if line > 0 else 0 : ends[line]], delimiter)
        for line in lines
        if line not in spanned
    )


def rows_of(text: bytes, delimiter: str) -> list[bytes]:
    """The rows of a text, each with its line breaks."""
    rows = [line + b"\n" for line in text.split(b"\n")[:-1]]
    for first, last in reversed(_spans(text, delimiter)[0] if b'"' in text else []):
        rows[first : last + 1] = [b"".join(rows[first : last + 1])]
    return rows
