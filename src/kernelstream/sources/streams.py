"""Several sources as one stream, one whose first rows can be looked at, and one that is read ahead of its consumer."""

import contextlib
import glob
import itertools
import lzma
import os
import re
import threading
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray
from scipy.sparse import issparse

from ..engine.cores import ask
from .base import (
    _DECOMPRESSORS,
    DEFAULT_BLOCK_ROWS,
    DerivedSource,
    LabelledBlock,
    Matrix,
    Source,
    SourceError,
    as_csr,
    format_suffix,
    positive,
)
from .formats import FORMATS, SUFFIXES, open_file

_PAIR = re.compile(rb"(\d+|qid):\S+")
_LINES_OF_A_NOTE = 100


class ChainedSource(Source):
    """The rows of several sources, one source after the other.

    All are dense with the same features, or all are sparse; a sparse block is as wide as the widest before it. Labels
    are numbers in all of them or words in all of them. Tables are read as if each stood below the one before: the same
    category is the same feature in all of them, and running means go on.
    """

    def __init__(self, sources: Sequence[Source], *, name: str | None = None):
        if not sources:
            raise ValueError("there is no source to chain; give at least one")
        self.sources = tuple(sources)
        self.name = name or "+".join(source.name for source in self.sources)
        self.restartable = all(source.restartable for source in self.sources)
        rows = [source.n_rows for source in self.sources]
        self.n_rows = None if None in rows else sum(n for n in rows if n is not None)
        self._weights = _sizes(self.sources) or [n or 1 for n in rows]
        self._current = 0

    def __iter__(self) -> Iterator[LabelledBlock]:
        self.skipped, self.notices = 0, ()
        form: tuple[str, str] | None = None
        width = 0
        for position, source in enumerate(self.sources):
            self._current = position
            try:
                for X, y in source.after(self.sources[position - 1]) if position > 0 else source:
                    form = form or _form(X, y)
                    if _form(X, y) != form:
                        raise self._disagreement(source, _form(X, y), form)
                    if issparse(X):
                        width = max(width, X.shape[1])
                        if X.shape[1] < width:
                            X = as_csr(X.data, X.indices, X.indptr, width)
                    self._collect()
                    yield X, y
            finally:
                self._collect()

    @property
    def encoding(self) -> Any:
        return self.sources[self._current].encoding

    @property
    def feature_names(self) -> list[str] | None:  # type: ignore[override]
        return self.sources[self._current].feature_names

    def progress(self) -> float | None:
        """Weighted by the sizes of the files; by rows, or equally, when not all are files."""
        before, current = sum(self._weights[: self._current]), self._weights[self._current]
        return (before + current * (self.sources[self._current].progress() or 0.0)) / sum(self._weights)

    def _collect(self) -> None:
        """Take over what this pass's sources have to tell; a sentence that several of them say is told once."""
        begun = self.sources[: self._current + 1]
        self.skipped = sum(source.skipped for source in begun)
        self.notices = tuple(dict.fromkeys(notice for source in begun for notice in source.notices))

    def _disagreement(self, source: Source, here: tuple[str, str], form: tuple[str, str]) -> SourceError:
        new, old = next((new, old) for new, old in zip(here, form, strict=True) if new != old)
        what = f"{new} come after {old} (from {self.sources[0].name} on); all parts of a stream must agree"
        return SourceError(f"{what}: read this one by itself", path=getattr(source, "path", Path(source.name)))


def _form(X: Matrix, y: NDArray[Any]) -> tuple[str, str]:
    """What all blocks of a stream have in common, in words."""
    rows = "sparse rows" if issparse(X) else f"rows of {X.shape[1]} features"
    return rows, "labels that are words" if y.dtype.kind == "U" else "labels that are numbers"


def _sizes(sources: Sequence[Source]) -> list[int]:
    """The sizes of the sources' files; nothing when one has no file."""
    files = [source for source in sources if hasattr(source, "path")]
    return [max(source.n_bytes or 0, 1) for source in files] if len(files) == len(sources) else []


def open_files(place: str | os.PathLike[str], *, block_rows: int = DEFAULT_BLOCK_ROWS, **options: Any) -> ChainedSource:
    """The files of a directory (not of those in it) that have a known suffix (a ``.txt`` when it begins with a row), or
    those that a pattern such as ``logs/2024-*.csv`` matches, in the order of their names.
    """
    directory = Path(place)
    if directory.is_dir():
        looked_for = f"file with a suffix of a known format ({', '.join(FORMATS)}) in the directory {str(place)!r}"
        paths = [path for path in directory.iterdir() if path.name.lower().endswith(SUFFIXES) and path.name[0] != "."]
        # A text beside the data is a note to its reader more often than not.
        paths = [path for path in paths if format_suffix(path) != ".txt" or _has_pairs(path)]
    else:
        looked_for = f"file that matches {str(place)!r}"
        paths = [Path(path) for path in glob.glob(str(place))]
    paths = sorted(path for path in paths if path.is_file())
    if not paths:
        raise FileNotFoundError(f"there is no {looked_for}")
    name = directory.resolve().name if directory.is_dir() else str(place)
    return ChainedSource([open_file(path, block_rows=block_rows, **options) for path in paths], name=name)


def _has_pairs(path: Path) -> bool:
    """Whether the first line of a text that is neither empty nor a comment is a row of LIBSVM text."""
    if not path.is_file():
        return False
    try:
        decompress = _DECOMPRESSORS.get(path.suffix.lower(), contextlib.nullcontext)
        with open(path, "rb") as raw, decompress(raw) as text:
            lines = (line.partition(b"#")[0].split() for line in itertools.islice(text, _LINES_OF_A_NOTE))
            first: list[bytes] = next((line for line in lines if line), [])
    except (OSError, EOFError, lzma.LZMAError, zlib.error):
        return True  # reading it tells what is wrong with it
    return all(_PAIR.fullmatch(pair) for pair in first[1:]) and len(first) > 1


class Peekable(DerivedSource):
    """The same blocks, of which the first can be looked at before they pass: the next pass goes on from there."""

    def __init__(self, source: Source):
        super().__init__(source)
        self._peeked: list[LabelledBlock] = []
        self._blocks: Iterator[LabelledBlock] | None = None

    def peek(self, n_rows: int) -> list[LabelledBlock]:
        """The first blocks, as many as hold `n_rows` rows; all of them when there are fewer rows."""
        if self._blocks is None:
            self._blocks = iter(self.source)
        while sum(len(y) for _, y in self._peeked) < n_rows and (block := next(self._blocks, None)) is not None:
            self._peeked.append(block)
        return list(self._peeked)

    def close(self) -> None:
        """End the pass that was begun to look at it."""
        if self._blocks is not None:
            _close(self._blocks)
        self._peeked, self._blocks = [], None

    def __iter__(self) -> Iterator[LabelledBlock]:
        peeked, blocks = self._peeked, self._blocks
        self._peeked, self._blocks = [], None
        return iter(self.source) if blocks is None else _going_on(peeked, blocks)


def _going_on(peeked: list[LabelledBlock], blocks: Iterator[LabelledBlock]) -> Iterator[LabelledBlock]:
    """The blocks that were looked at, and those behind them."""
    try:
        while peeked:
            yield peeked.pop(0)
        yield from blocks
    finally:
        _close(blocks)


def _close(blocks: Iterator[LabelledBlock]) -> None:
    """End a pass: a generator holds its file open until it is closed."""
    if hasattr(blocks, "close"):
        blocks.close()


class ReadAhead(DerivedSource):
    """The same blocks, of which up to `depth` are read ahead of the consumer by a helper (`cores.ask`).

    Reading overlaps with the consumer's work as far as both leave the interpreter: compiled code and decompression do.
    A consumer that finds no helper free reads by itself. An error comes where its block would have come. A source that
    cannot be restarted is served as it is: it waits for its writer, and a thread that waits cannot be stopped.
    `encoding` has the categories of the blocks ahead too.
    """

    def __init__(self, source: Source, depth: int = 2):
        super().__init__(source)
        self.depth = positive(depth, "depth")
        self._served = self._told()

    def __iter__(self) -> Iterator[LabelledBlock]:
        self._served = _Told(0.0, 0, ())
        if not self.restartable:
            for block in self.source:
                self._served = self._told()
                yield block
            self._served = self._told()
            return
        blocks = iter(self.source)
        ready: deque[tuple[Any, _Told]] = deque()
        one_at_a_time = threading.Lock()
        left = False

        def read() -> None:
            with one_at_a_time:
                if not left:
                    ready.append((_caught(blocks), self._told()))

        jobs = deque(ask(read) for _ in range(self.depth))
        try:
            while True:
                job = jobs.popleft()
                if job.cancel():
                    read()
                else:
                    job.result()
                block, self._served = ready.popleft()
                if isinstance(block, BaseException):
                    raise block
                if block is None:
                    return
                jobs.append(ask(read))
                yield block
        finally:
            left = True
            wait([job for job in jobs if not job.cancel()])
            _close(blocks)

    def progress(self) -> float | None:
        return self._served.progress

    @property
    def skipped(self) -> int:  # type: ignore[override]
        return self._served.skipped

    @property
    def notices(self) -> tuple[str, ...]:  # type: ignore[override]
        return self._served.notices

    def _told(self) -> "_Told":
        return _Told(self.source.progress(), self.source.skipped, self.source.notices)


def _caught(blocks: Iterator[LabelledBlock]) -> LabelledBlock | BaseException | None:
    """The next block, what went wrong with it, or None at the end."""
    try:
        return next(blocks, None)
    except BaseException as error:
        return error


class _Told(NamedTuple):
    """What the source said right after a block: by the time the block is served it has read on."""

    progress: float | None
    skipped: int
    notices: tuple[str, ...]
