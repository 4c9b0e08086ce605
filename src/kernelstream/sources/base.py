"""What every source of blocks has in common, and the source that serves arrays already in memory.

A source is a restartable stream: each ``iter(source)`` starts from the beginning. A block is a pair ``(X, y)``: X a
C-contiguous array or a CSR array with sorted indices, y a float64 array, or an array of str when labels are words.
"""

import bz2
import codecs
import contextlib
import difflib
import gzip
import io
import lzma
import os
import shutil
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..engine.disk import scratch
from ..extras import needing
from ..numerics.rows import as_csr as as_csr
from ..numerics.rows import as_matrix
from ..tasks import require_one_sort
from ..teaching import explained

# An ndarray or a csr_array; SciPy ships no types to say so.
Matrix: TypeAlias = Any
LabelledBlock: TypeAlias = tuple[Matrix, NDArray[Any]]

DEFAULT_BLOCK_ROWS = 4096
STDIN = "-"  # the name of standard input
# Of a LIBSVM file. A model's memory grows with the highest index, and one wrong digit should not ask for all there is.
MAX_FEATURES = 2**20
ON_ERROR = ("stop", "skip")
# What becomes of rows of tables whose label is missing.
UNLABELLED = ("skip", "keep")
# Where rows may be skipped, labels that are words are taken for errors while no more than this share of them is.
FEW = 0.01


def _zstd(raw: IO[bytes]) -> Any:
    with needing("pyarrow"):
        import pyarrow as pa

    # Closing pyarrow's stream would close `raw`, which is its opener's to close.
    return contextlib.nullcontext(io.BufferedReader(pa.CompressedInputStream(raw, "zstd")))


_DECOMPRESSORS: dict[str, Callable[[Any], Any]] = {
    ".xz": lzma.open,
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".zst": _zstd,
}
COMPRESSIONS = tuple(_DECOMPRESSORS)
_LONGEST_LINE = 2**28


class SourceError(ValueError):
    """A file that cannot be read as asked. Knows where: `path`, and `line` and `column` where they make sense.

    A column is a character of LIBSVM text and a field of a CSV file; both count from 1, like lines.
    """

    def __init__(self, what: str, *, path: Path, line: int | None = None, column: int | None = None):
        place = [str(path)]
        if line is not None:
            place.append(f"line {line}")
        if column is not None:
            place.append(f"column {column}")
        super().__init__(f"{', '.join(place)}: {what}")
        self.what, self.path, self.line, self.column = what, path, line, column

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions travel between processes by their positional arguments, and this one has keywords.
        return _rebuild, (self.what, self.path, self.line, self.column)


def _rebuild(what: str, path: Path, line: int | None, column: int | None) -> SourceError:
    return SourceError(what, path=path, line=line, column=column)


def placed(error: SourceError, source: "Source") -> SourceError:
    """The error of a source that is a piece of a text, whose lines are counted from where the piece begins."""
    span = getattr(source, "span", None)
    if error.line is None or span is None or span[0] == 0:
        return error
    return SourceError(f"{error.what} (line {error.line} behind byte {span[0]})", path=error.path, column=error.column)


class Notice(NamedTuple):
    """What a pass did that its reader should know of: a sentence, or the words behind a number of several (`many`) and
    of one.
    """

    many: str
    one: str = ""
    n: int = 0

    def __str__(self) -> str:
        return self.many if self.n == 0 else f"1 {self.one}" if self.n == 1 else f"{self.n:,} {self.many}"


def summed(passes: Iterable[Mapping[str, Notice]]) -> dict[str, Notice]:
    """What several passes had to tell, by what it is about: numbers are added up, and else the first one holds."""
    found: dict[str, Notice] = {}
    for told in passes:
        for about, notice in told.items():
            found[about] = found[about]._replace(n=found[about].n + notice.n) if about in found else notice
    return found


@explained(
    earlier="whose newest pass ended above these rows",
    row="its number in the newest pass",
    place="what `place_of` gave",
)
class Source(ABC):
    """A restartable stream of labelled blocks."""

    name: str
    n_rows: int | None = None
    restartable: bool = True  # whether there can be a second pass
    skipped: int = 0  # rows that the newest pass left out: they could not be read, or have no label
    encoding: Any = None  # how the newest pass made features of words, as a JSON value
    feature_names: list[str] | None = None  # as far as the newest pass has seen; None where they have none
    notices: tuple[str, ...] = ()  # what the newest pass did that its reader should know of, a sentence each
    told: Mapping[str, Notice] = MappingProxyType({})  # the same of one file, by what it is about
    first_row: int = 0  # the number of the row with which the newest pass began
    n_bytes: int | None = None  # where another process can read it by itself, how large it is

    @abstractmethod
    def __iter__(self) -> Iterator[LabelledBlock]:
        """A fresh pass, from the first row."""

    def after(self, earlier: "Source") -> Iterator[LabelledBlock]:
        """A fresh pass, as if these rows came below those of another source's newest pass."""
        return iter(self)

    @abstractmethod
    def progress(self) -> float | None:
        """The share of the input that the newest pass has consumed, in [0, 1]; None when unknown."""

    def place_of(self, row: int) -> Any:
        """Where a later pass can begin to serve a row of this one again, as a JSON value; None: with the first row."""
        return None

    def begin_at(self, place: Any) -> None:
        """Let the next pass begin at a place that was kept."""
        raise ValueError(f"{self.name} is read from its first row on, and not from a place in it.")

    def forget_before(self, row: int) -> None:
        """Nobody will ask for the place of an earlier row."""
        return

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class DerivedSource(Source):
    """A source made from another one, whose rows it has; it tells what that one has to tell."""

    def __init__(self, source: Source):
        self.source = source
        self.name, self.n_rows, self.restartable = source.name, source.n_rows, source.restartable

    @property
    def skipped(self) -> int:  # type: ignore[override]
        return self.source.skipped

    @property
    def notices(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.source.notices

    @property
    def encoding(self) -> Any:
        return self.source.encoding

    @property
    def feature_names(self) -> list[str] | None:  # type: ignore[override]
        return self.source.feature_names

    @property
    def first_row(self) -> int:  # type: ignore[override]
        return self.source.first_row

    def progress(self) -> float | None:
        return self.source.progress()

    def place_of(self, row: int) -> Any:
        return self.source.place_of(row)

    def begin_at(self, place: Any) -> None:
        self.source.begin_at(place)

    def forget_before(self, row: int) -> None:
        self.source.forget_before(row)


class FileSource(Source):
    """A source that reads one file, decompressed on the way when its suffix says so.

    `on_error` says what a row that cannot be read does: "stop" the pass with an error, or be left out ("skip"), which
    `skipped` counts and `notices` reports.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, block_rows: int = DEFAULT_BLOCK_ROWS, on_error: str = ON_ERROR[0]
    ):
        self.path = self._located(path)
        self.block_rows = positive(block_rows, "block_rows")
        self.on_error = one_of(on_error, ON_ERROR, "on_error")
        self.name = stem(self.path)
        self.span: tuple[int, int] | None = None  # of plain text: only the lines that begin at these bytes
        self._raw: IO[bytes] | None = None
        self._consumed = 0
        self._unreadable, self._first_skipped = 0, ""
        self.told: dict[str, Notice] = {}
        self._plain: Path | None = None

    @property
    def n_bytes(self) -> int:  # type: ignore[override]
        return self.path.stat().st_size

    def _located(self, path: str | os.PathLike[str]) -> Path:
        """The path, which must be that of a file; standard input has none."""
        return existing_file(path)

    def progress(self) -> float | None:
        if self._raw is not None and not self._raw.closed:
            self._consumed = self._raw.tell()
        start, stop = (0, self.n_bytes) if self.span is None else self.span
        return min(1.0, max(0, self._consumed - start) / max(stop - start, 1))

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        """A new pass over the decompressed bytes of the file. Damage in compressed data becomes a `SourceError`."""
        self._start_pass()
        with open(self.path, "rb") as raw:
            self._raw, self._consumed = raw, 0
            try:
                decompress = _DECOMPRESSORS.get(self.path.suffix.lower())
                if self.span is not None:
                    yield Span(raw, *self.span)
                elif decompress is None:
                    yield raw
                else:
                    with decompress(raw) as stream:
                        yield stream
            except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
                # bz2, gzip and zstd report damage as an OSError too, but without an error number.
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                what = f"the compressed data is damaged ({error}); fetch it again"
                raise SourceError(what, path=self.path) from error
            finally:
                if self._raw is raw:
                    # What is over is let go: a source must be able to travel to another process. A pass that nobody
                    # ended may find its file closed by the collector.
                    self._consumed, self._raw = self._consumed if raw.closed else raw.tell(), None

    def _start_pass(self) -> None:
        self.skipped, self._unreadable, self.notices = 0, 0, ()
        self.told = {}

    def _tell(self, about: str, many: str, one: str = "", n: int = 0) -> None:
        """Put a notice among the pass's, in place of an earlier one about the same."""
        self.told[about] = Notice(many, one, n)
        self.notices = tuple(map(str, self.told.values()))

    def _skip(self, error: SourceError) -> None:
        """What becomes of a row that cannot be read: raise its error, or count it and remember the first one."""
        error = placed(error, self)
        if self.on_error == "stop":
            raise error
        if self._unreadable == 0:
            self._first_skipped = str(error)
        self.skipped += 1
        self._unreadable += 1
        what = f"could not be read and left out; the first: {self._first_skipped}"
        self._tell("skipped", f"rows {what}", f"row {what}", self._unreadable)

    def _seekable_file(self) -> Path:
        """The file, or a decompressed copy that lives as long as this source: for formats that are read by seeking."""
        if self.path.suffix.lower() not in COMPRESSIONS:
            return self.path
        if self._plain is None:
            plain = scratch(self)[0] / f"plain{format_suffix(self.path)}"
            with open(plain, "wb") as copy, self._opened() as stream:
                shutil.copyfileobj(stream, copy)
            self._plain = plain
        return self._plain

    def _whole_lines(self, stream: IO[bytes], chunk_bytes: int, start: bytes = b"") -> Iterator[bytes]:
        """`start` and the rest of a text, in pieces that end with a newline."""
        pieces = [start]
        begins = not start and (self.span is None or self.span[0] == 0)
        while chunk := stream.read(chunk_bytes):
            if begins:
                refuse_utf16(chunk, self.path)
                begins = False
            cut = chunk.rfind(b"\n") + 1
            if cut > 0:
                yield b"".join([*pieces, chunk[:cut]])
                pieces = [chunk[cut:]]
            else:
                pieces.append(chunk)
                if len(pieces) * chunk_bytes > _LONGEST_LINE:
                    what = f"a line is longer than the limit of {_LONGEST_LINE} bytes; is the file text?"
                    raise SourceError(what, path=self.path)
        rest = b"".join(pieces)
        if rest:
            yield rest + b"\n"


def refuse_utf16(text: bytes, path: Path) -> None:
    """Refuse a file whose letters take two bytes each; `text` is what it begins with."""
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or 0 in text[:2]:
        what = f"this is UTF-16, or no text; save it as UTF-8, as with: iconv -f UTF-16 -t UTF-8 {path.name} > new"
        raise SourceError(f"{what}{path.suffix}", path=path)


def rows(n: int) -> str:
    """So many, in words."""
    return "1 row" if n == 1 else f"{n:,} rows"


class Span:
    """The lines of a text that begin at bytes from `start` up to `stop`; every line is in one of the spans of a cut."""

    def __init__(self, raw: IO[bytes], start: int, stop: int):
        self._raw, self._stop = raw, stop
        raw.seek(max(start - 1, 0))
        if start > 0:
            raw.readline()  # a line that began before, or the end of one

    def read(self, size: int) -> bytes:
        """At most so many bytes, or the end of a line more than that."""
        left = self._stop - self._raw.tell()
        if left <= 0:
            return b""
        read = self._raw.read(min(size, left))
        return read if size < left or read.endswith(b"\n") else read + self._raw.readline()

    def readline(self) -> bytes:
        return self._raw.readline() if self._raw.tell() < self._stop else b""


class ArraySource(Source):
    """Arrays in memory, served in blocks.

    Parameters
    ----------
    X : rows, (n, features): an array or a sparse matrix of SciPy
    y : labels or values, (n,): numbers or words
    name : what the source is called in traces
    block_rows : how many rows a block has at most

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream.sources import ArraySource
    >>> source = ArraySource(np.eye(5), [0, 1, 0, 1, 0], block_rows=2)
    >>> [X.shape for X, y in source], source.progress()
    ([(2, 5), (2, 5), (1, 5)], 1.0)
    """

    def __init__(self, X: Any, y: Any, *, name: str = "array", block_rows: int = DEFAULT_BLOCK_ROWS):
        if issparse(X):
            self.X = as_matrix(X)
        else:
            self.X = np.ascontiguousarray(X)
        self.y = as_labels(y)
        if self.X.ndim != 2 or self.X.shape[0] != len(self.y):
            raise ValueError(
                f"X of shape {self.X.shape} does not go with {len(self.y)} labels: X must be 2-D, with one label a row"
            )
        self.name = name
        self.n_rows: int = len(self.y)
        self.block_rows = positive(block_rows, "block_rows")
        self.n_bytes = int((self.X.data if issparse(self.X) else self.X).nbytes)
        self._served = 0

    def __iter__(self) -> Iterator[LabelledBlock]:
        self._served = 0
        for start in range(0, self.n_rows, self.block_rows):
            stop = min(start + self.block_rows, self.n_rows)
            self._served = stop
            yield self.X[start:stop], self.y[start:stop]

    def progress(self) -> float | None:
        return self._served / max(self.n_rows, 1)


def as_labels(y: Any) -> NDArray[Any]:
    """Labels as one of the two kinds that a block holds: float64 or str."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"labels have shape {labels.shape}; one label a row is needed: use y.ravel()")
    if labels.dtype.kind in "biuf":
        return labels.astype(np.float64)
    if isinstance(y, list) and labels.dtype.kind in "UO":
        require_one_sort(y)
    if labels.dtype.kind in "USO" and all(isinstance(label, str | bytes) for label in labels[:1].tolist()):
        return labels.astype(str)
    raise ValueError(f"labels have dtype {labels.dtype}; give real numbers or str")


def to_number(text: str | bytes) -> float:
    """The correctly rounded double that a decimal text names. Raises ValueError on anything else."""
    # Python also reads 1_000, which no data format means as a number.
    if (b"_" if isinstance(text, bytes) else "_") in text:  # type: ignore[operator]
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def existing_file(path: str | os.PathLike[str]) -> Path:
    found = Path(path)
    if not found.is_file():
        raise FileNotFoundError(f"there is no file {str(found)!r}")
    return found


def is_nameless(name: str) -> bool:
    """Whether it stands for the position from 1 of a column in a file without a header."""
    return name[:1] == "#" and name[1:].isdecimal()


def positive(value: int, name: str) -> int:
    if value < 1:
        raise ValueError(f"{name} is {value}; it must be at least 1")
    return int(value)


def one_of(value: str, known: tuple[str, ...], name: str) -> str:
    if value not in known:
        said = f"{name}={value!r}" if name.isidentifier() else f"{name} is {value!r}; it"
        raise ValueError(f"{said} must be one of {', '.join(known)}.{meant(value, known)}")
    return value


def meant(word: str, known: Iterable[str]) -> str:
    """A question about the known word that is nearest, to stand behind a sentence; nothing where none is near."""
    near = difflib.get_close_matches(word.lower(), list(known), 1)
    return f" Did you mean {near[0]}?" if near else ""


def format_suffix(path: Path) -> str:
    """The suffix that names the format, whatever compression comes after it."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def stem(path: Path) -> str:
    """The file's name without compression and format: ``a9a.train`` for ``a9a.train.libsvm.xz``."""
    name = path.name
    if path.suffix.lower() in COMPRESSIONS:
        name = name[: -len(path.suffix)]
    return Path(name).stem
