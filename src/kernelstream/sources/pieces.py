"""Sources cut into pieces that several processes read apart: each piece is a source of its own, and small to send.

Parquet is cut between row groups, plain text (LIBSVM, CSV, JSON lines) between lines, arrays in memory between rows;
any other file is one piece. Nothing but the first rows and what a file says of itself is read for it. What the first
rows have shown, the names and kinds of columns, all pieces are told by the source that was looked at (`after`).
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from ..encoding.values import HASH
from .arrow import ParquetSource
from .base import COMPRESSIONS, ArraySource, FileSource, Notice, Source, is_nameless
from .columns import ColumnOptions
from .delimited import DelimitedSource
from .jsonl import JsonLinesSource
from .libsvm import LibsvmSource
from .streams import ChainedSource, Peekable
from .tables import TableSource

_LINES = (LibsvmSource, DelimitedSource, JsonLinesSource)
_LEAST_BYTES, _MOST_BYTES = 2**18, 2**26


def looked_at(source: Source) -> list[Source]:
    """The sources that a stream is made of, of which the first has shown its first rows."""
    parts = _parts(source)
    blocks = iter(parts[0])
    next(blocks, None)
    blocks.close()  # type: ignore[attr-defined]
    return parts


def cut(source: Source, workers: int) -> list[Source]:
    """The pieces of a source for so many workers, some for each of them. Requires: it was `looked_at`."""
    parts = _parts(source)
    total = sum(part.n_bytes or 0 for part in parts)
    size = min(max(total // (8 * workers), _LEAST_BYTES), _MOST_BYTES)
    return [piece for part in parts for piece in _cut(part, size, parts[0])]


def place_of(piece: Source) -> list[Any]:
    """What a piece is, as a JSON value, by which a later run knows it again."""
    where = getattr(piece, "span", None) or getattr(piece, "row_groups", None)
    return [piece.name, piece.n_bytes, None if where is None else [where[0], where[-1]]]


def words_of(head: Source) -> bool:
    """Whether words become features one after another, as they come: then all must be known before files are read
    apart.
    """
    encoder = head._encoder if isinstance(head, TableSource) else None
    if encoder is None or not encoder.categories:
        return False
    return encoder.growing and encoder.options.categorical != HASH


def told_first(head: Source) -> dict[str, Notice]:
    """What first rows had to tell that holds of all, with the words that were known before."""
    encoder = head._encoder if isinstance(head, TableSource) else None
    made = {} if encoder is None else encoder.made(None)
    return {about: notice for about, notice in head.told.items() if notice.n == 0} | made


def knowing(source: Source, encoding: dict[str, Any]) -> Source:
    """The source with words that are features already."""
    parts = []
    for part in _parts(source):
        assert isinstance(part, TableSource)
        known, old = copy.copy(part), part.columns
        known.columns = ColumnOptions(
            categorical=old.categorical, missing=old.missing, drop=old.drop, encoding=encoding
        )
        parts.append(known)
    return ChainedSource(parts, name=source.name)


def _parts(source: Source) -> list[Source]:
    while isinstance(source, Peekable):
        source = source.source
    if isinstance(source, ChainedSource):
        return [one for part in source.sources for one in _parts(part)]
    if not source.restartable or source.n_bytes is None:
        raise ValueError(
            f"{source.name} is not in files, and cannot be read by several workers; save it (kernelstream convert), or "
            "learn without workers."
        )
    if isinstance(source, LibsvmSource) and source.renumber:
        raise ValueError(
            f"{source.name} renumbers its features as they come, and workers would each do so; leave renumber out."
        )
    return [source]


def _cut(part: Source, size: int, head: Source) -> Iterator[Source]:
    if isinstance(part, ArraySource):
        yield from _row_ranges(part, size)
    elif isinstance(part, ParquetSource):
        yield from _group_ranges(part, size)
    elif isinstance(part, _LINES) and part.path.suffix.lower() not in COMPRESSIONS:
        yield from _spans(part, size, head)
    else:
        yield part


def _row_ranges(part: ArraySource, size: int) -> Iterator[Source]:
    rows = max(1, round(part.n_rows * min(1.0, size / max(part.n_bytes or 1, 1))))
    for start in range(0, part.n_rows, rows):
        some = slice(start, start + rows)
        yield ArraySource(part.X[some], part.y[some], name=f"{part.name}[{start}:]", block_rows=part.block_rows)


def _group_ranges(part: ParquetSource, size: int) -> Iterator[Source]:
    start, filled = 0, 0
    sizes = part.group_bytes()
    for group, held in enumerate(sizes):
        filled += held
        if filled >= size or group == len(sizes) - 1:
            yield part.of_groups(range(start, group + 1))
            start, filled = group + 1, 0


def _spans(part: FileSource, size: int, head: Source) -> Iterator[Source]:
    if isinstance(part, DelimitedSource) and _has_its_own_header(part, head):
        yield part
        return
    total = part.n_bytes
    for start in range(0, max(total, 1), size):
        piece = copy.copy(part)
        piece.span = start, min(start + size, total)
        if start > 0 and isinstance(piece, DelimitedSource) and isinstance(head, TableSource) and head._encoder:
            piece.header, piece.label = False, head._encoder.layout.label
        yield piece


def _has_its_own_header(part: DelimitedSource, head: Source) -> bool:
    """Whether columns may stand otherwise than in the file that was looked at, which only the first line says."""
    encoder = head._encoder if isinstance(head, TableSource) else None
    if part is head or encoder is None or all(map(is_nameless, encoder.layout.names)):
        return False
    with open(part.path, "rb") as mine, open(head.path, "rb") as theirs:  # type: ignore[attr-defined]
        return mine.readline().split() != theirs.readline().split()


def too_few(pieces: Sequence[Source], workers: int) -> tuple[str, ...]:
    """What a person should know who has more workers than pieces."""
    if len(pieces) >= workers:
        return ()
    return (
        f"the rows are in {len(pieces)} {'piece' if len(pieces) == 1 else 'pieces'}, so that no more of the {workers} "
        "workers learn at a time: compressed and small files are not cut, Parquet is between its row groups "
        "(kernelstream convert)",
    )
