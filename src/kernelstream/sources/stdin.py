"""Standard input and named pipes as streams: they pass once, and rows are served as they arrive.

A thread reads the bytes, because only a thread can wait for a pipe on every system and still let the reader give up
waiting. Text is parsed when a good piece has come, or when the first of it is 0.2 seconds old and nothing more waits.
Then its rows are served, however few. What the first block decides for a file, whatever came by then decides here.
"""

import contextlib
import inspect
import io
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from .arff import ArffSource
from .base import _DECOMPRESSORS, DEFAULT_BLOCK_ROWS, FileSource, LabelledBlock, Source, SourceError, one_of, stem
from .columns import ColumnOptions
from .delimited import DelimitedSource
from .formats import delimiter_of, format_of, open_file
from .jsonl import JsonLinesSource
from .libsvm import LibsvmSource
from .tables import TableSource

_PLACE = Path("standard input")
_FORMATS = ("libsvm", "csv", "jsonl", "arff")
# The first bytes of compressed data; those of bz2 hold its level.
_MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\x00": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
_MAGIC |= {b"BZh%d1AY&SY" % level: ".bz2" for level in range(1, 10)}
_PATIENCE = 0.2
_CHUNK_BYTES = 2**16
_CHUNKS_AHEAD = 16


class PassingSource(Source):
    """Rows that pass once, read by the source of a file (`_text`) of what arrives instead."""

    restartable = False
    _text: FileSource
    _passed = False

    def __iter__(self) -> Iterator[LabelledBlock]:
        if self._passed:
            raise SourceError("it can be read only once; save it to a file and open that", path=self._text.path)
        self._passed = True
        return iter(self._text)

    @property
    def skipped(self) -> int:  # type: ignore[override]
        return self._text.skipped

    @property
    def notices(self) -> tuple[str, ...]:  # type: ignore[override]
        return self._text.notices

    @property
    def encoding(self) -> Any:
        return self._text.encoding

    @property
    def feature_names(self) -> list[str] | None:  # type: ignore[override]
        return self._text.feature_names

    def progress(self) -> float | None:
        return None


class StandardInput(PassingSource):
    """LIBSVM or CSV text from standard input, decompressed when its first bytes say so; options as for files."""

    def __init__(self, *, format: str = "libsvm", block_rows: int = DEFAULT_BLOCK_ROWS, **options: Any):
        self._begin(_PLACE, format, block_rows, options)

    def _begin(self, place: Path, form: str, block_rows: int, options: dict[str, Any]) -> None:
        one_of(form, _FORMATS, f"the format of {place}")
        options = known(options)
        if form != "libsvm":
            options.setdefault("delimiter", delimiter_of(place, options.get("decimal", ".")))
            columns = ColumnOptions(**asked_by(ColumnOptions, options))
            kind: Any = {"csv": _PipedDelimited, "jsonl": _PipedJsonLines, "arff": _PipedArff}[form]
            options = asked_by(DelimitedSource if form == "csv" else TableSource, options)
            self._text = kind(place, block_rows=block_rows, columns=columns, **options)
        else:
            self._text = _PipedLibsvm(place, block_rows=block_rows, **asked_by(LibsvmSource, options))
        self.name = str(place)


class NamedPipe(StandardInput):
    """The same from a named pipe, whose suffix says the format unless `format` does."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        block_rows: int = DEFAULT_BLOCK_ROWS,
        **options: Any,
    ):
        if options.get("delimiter") is None:
            options["delimiter"] = delimiter_of(path, options.get("decimal") or ".")
        self._begin(Path(path), format_of(path) if format is None else format, block_rows, options)
        self.name = stem(Path(path))


class _Piped(FileSource):
    """What makes the source of a file read standard input or a pipe instead."""

    def __init__(self, path: str | os.PathLike[str], **options: Any):
        super().__init__(path, **options)
        self._pipe = _Pipe(self.path)

    def _located(self, path: str | os.PathLike[str]) -> Path:
        return Path(path)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        self._start_pass()
        yield self._pipe  # type: ignore[misc]  # it has what is asked of it: read and readline

    def _whole_lines(self, stream: IO[bytes], chunk_bytes: int, start: bytes = b"") -> Iterator[bytes]:
        """As for a file, with an empty piece whenever it is time to serve the rows so far.

        Requires: `start` was read line by line.
        """
        text = start if not start or start.endswith(b"\n") else start + b"\n"
        due = time.monotonic() + _PATIENCE if start else None
        arriving = super()._whole_lines(stream, chunk_bytes)
        while True:
            paused = due is not None and not self._pipe.has_line_by(due)
            if text and (paused or len(text) >= chunk_bytes):
                yield text
                text = b""
            if paused:
                yield b""
                due = None
            more = next(arriving, None)
            if more is None:
                break
            text += more
            due = due or time.monotonic() + _PATIENCE
        if text:
            yield text


class _PipedLibsvm(_Piped, LibsvmSource):
    pass


class _PipedDelimited(_Piped, DelimitedSource):
    pass


class _PipedJsonLines(_Piped, JsonLinesSource):
    pass


class _PipedArff(_Piped, ArffSource):
    pass


def known(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, all of which `open_file` must have."""
    unknown = set(options) - set(inspect.signature(open_file).parameters)
    if unknown:
        raise TypeError(f"there is no option {', '.join(sorted(unknown))}")
    # None asks for the default, but of a label it says that there is none.
    return {name: value for name, value in options.items() if value is not None or name == "label"}


def asked_by(kind: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """As for files, a format without the question ignores the answer."""
    asked = inspect.signature(kind).parameters
    return {name: value for name, value in options.items() if name in asked}


class _Pipe:
    """The bytes of standard input or of a named pipe, which a thread reads a little ahead."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._chunks: queue.Queue[bytes | Exception] = queue.Queue(_CHUNKS_AHEAD)
        self._thread: threading.Thread | None = None
        self._text = b""
        self._ended = False

    def read(self, size: int) -> bytes:
        """What has arrived, at most so much and at least one byte; nothing at the end."""
        while not self._text and not self._ended:
            self._arrives(None)
        return self._take(size)

    def readline(self) -> bytes:
        while b"\n" not in self._text and not self._ended:
            self._arrives(None)
        end = self._text.find(b"\n") + 1
        return self._take(end or len(self._text))

    def _take(self, size: int) -> bytes:
        text, self._text = self._text[:size], self._text[size:]
        return text

    def has_line_by(self, due: float) -> bool:
        """Whether a line, or the end, has come until then."""
        while b"\n" not in self._text and not self._ended:
            if not self._arrives(due):
                return False
        return True

    def _arrives(self, due: float | None) -> bool:
        if self._thread is None:
            self._thread = threading.Thread(target=self._receive, name="kernelstream-stdin", daemon=True)
            self._thread.start()
        try:
            chunk = self._chunks.get(timeout=None if due is None else max(due - time.monotonic(), 0.0))
        except queue.Empty:
            return False
        if isinstance(chunk, Exception):
            self._ended = True
            raise chunk
        self._ended = chunk == b""
        self._text += chunk
        return True

    def _receive(self) -> None:
        """The thread."""
        try:
            with _raw(self._place) as raw, _decompressed(raw) as stream:
                while chunk := stream.read1(_CHUNK_BYTES):
                    self._chunks.put(chunk)
            self._chunks.put(b"")
        except Exception as error:
            what = f"it cannot be read ({error}); if it is compressed, it is damaged"
            self._chunks.put(SourceError(what, path=self._place))


def _raw(place: Path) -> Any:
    """A pipe, or standard input without its buffer, whose lock a waiting thread would hold when the process ends."""
    if place != _PLACE:
        return open(place, "rb", buffering=0)
    try:
        return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    except (AttributeError, OSError, ValueError):
        # Somebody has put an object in its place.
        return contextlib.nullcontext(sys.stdin.buffer)


class _Prefixed(io.RawIOBase):
    """A stream of which the first bytes were read already."""

    def __init__(self, first: bytes, stream: Any):
        self._first, self._stream = first, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        text = self._first[: len(buffer)] or self._stream.read(len(buffer))
        self._first = self._first[len(text) :]
        buffer[: len(text)] = text
        return len(text)


def _decompressed(stream: Any) -> Any:
    first = b""
    # No byte more than it takes: a short line may be all that comes for a while.
    while any(magic.startswith(first) and magic != first for magic in _MAGIC) and (more := stream.read(1)):
        first += more
    prefixed = _Prefixed(first, stream)
    suffix = _MAGIC.get(first)
    return io.BufferedReader(prefixed, _CHUNK_BYTES) if suffix is None else _DECOMPRESSORS[suffix](prefixed)
