"""Messages of a server as a stream of blocks: each holds a row or several, as JSON, CSV text or Arrow data.

They are learned as they come, an arrival at a time. Every arrival has a place: which messages it holds, the number of
its first row, and what the columns had shown before it. A run that goes on begins with the same arrival and passes over
the rows of it that were learned, so that each is learned once, whatever is asked of columns (means, categories).
"""

import contextlib
import io
import json
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..teaching import explained
from .arrow import BatchSource, validated
from .base import DEFAULT_BLOCK_ROWS, LabelledBlock, SourceError, one_of, to_number
from .columns import ColumnOptions, Encoder, Seen
from .delimited import DelimitedSource
from .jsonl import JsonLinesSource
from .servers import Arrivals, Message, open_server, shown
from .stdin import PassingSource, asked_by, known
from .tables import TableSource

FORMATS = ("jsonl", "csv", "arrow")


class _Place(NamedTuple):
    """An arrival: the number of its first row, its messages, and what the columns had shown before it."""

    row: int
    first: str
    last: str
    messages: int
    before: Seen | None


@explained(row="its number in the newest pass", place="what `place_of` gave")
class MessageSource(PassingSource):
    """A stream of a server: ``redis://host/stream``, ``nats://host/stream``, ``kafka://host/topic``, ``mqtt://host/topic``.

    It goes on for ever, or with ``?until=now`` ends behind the message that is the newest when reading begins.

    Parameters
    ----------
    url : of the stream
    format : of each message, "jsonl" (objects, the default), "csv" (rows without a header) or "arrow" (an Arrow stream)
    block_rows : how many messages are asked for at once, and rows a block has, at most
    options : as of files: label, missing, dates, on_error, ...

    Examples
    --------
    >>> import redis
    >>> from kernelstream.sources import MessageSource
    >>> with redis.from_url("redis://127.0.0.1:6379") as server:
    ...     sent = server.xadd("rooms", {"data": '{"warmth": 20.5, "people": 0, "busy": "no"}'})
    ...     sent = server.xadd("rooms", {"data": '{"warmth": 23.0, "people": 4, "busy": "yes"}'})
    >>> ((X, y),) = MessageSource("redis://127.0.0.1:6379/rooms?until=now", label="busy")
    >>> X.tolist(), y.tolist()
    ([[20.5, 0.0], [23.0, 4.0]], ['no', 'yes'])
    """

    def __init__(self, url: str, *, format: str | None = None, block_rows: int = DEFAULT_BLOCK_ROWS, **options: Any):
        form = one_of(format or FORMATS[0], FORMATS, "the format of messages")
        options = known(options)
        if options.get("header"):
            raise ValueError(
                "header=True is for files; a message of CSV text has rows alone, with columns by position."
            )
        self.name = shown(url)
        self._server = open_server(url)
        self._most = block_rows
        columns = ColumnOptions(**asked_by(ColumnOptions, options))
        kind = {"jsonl": _JsonMessages, "csv": _CsvMessages, "arrow": _ArrowMessages}[form]
        options = asked_by(DelimitedSource if form == "csv" else TableSource, options) | {"columns": columns}
        if form == "csv":
            options["header"] = False
        self._text: _Messages = kind(self._server.address.path, block_rows=block_rows, **options)
        self._places: deque[_Place] = deque()
        self._row = 0
        self._start: dict[str, Any] | None = None

    def __iter__(self) -> Iterator[LabelledBlock]:
        if self._passed:
            return super().__iter__()
        self._passed = True
        return self._blocks()

    def _blocks(self) -> Iterator[LabelledBlock]:
        self._row = self.first_row
        arrivals = self._arrivals()
        self._text._arriving = arrivals
        earlier = None
        if self._start is not None and self._start["columns"] is not None:
            earlier = Encoder.from_json(self._start["columns"], self._text.columns, self._text.path)
        self._text._encoder = earlier
        with contextlib.closing(self._server), contextlib.closing(arrivals):
            for X, y in self._text._pass(earlier):
                self._row += len(y)
                yield X, y

    def begin_at(self, place: Any) -> None:
        self._start, self.first_row = place, place["row"]

    def place_of(self, row: int) -> Any:
        """That of the arrival with the row before, which is there as long as the server keeps messages.

        Where it keeps none, a later pass begins with whatever comes then.
        """
        encoder = self._text._encoder
        if not self._server.replays:
            columns = None if encoder is None else encoder.to_json(encoder.moment())
            return {"row": row, "columns": columns}
        found = next((place for place in reversed(self._places) if place.row < row), None)
        found = found or (self._places[0] if self._places else None)
        if found is None:
            return self._start
        written = found._asdict() | {"columns": None}
        del written["before"]
        if found.before is not None and encoder is not None:
            written["columns"] = encoder.to_json(found.before)
        return written

    def forget_before(self, row: int) -> None:
        while len(self._places) > 1 and self._places[1].row < row:
            self._places.popleft()

    def _arrivals(self) -> Arrivals:
        for arrival in self._same_again(self._start):
            encoder = self._text._encoder
            before = None if encoder is None else encoder.moment()
            self._places.append(_Place(self._row, arrival[0].place, arrival[-1].place, len(arrival), before))
            yield arrival

    def _same_again(self, start: dict[str, Any] | None) -> Arrivals:
        """What the server has, first of all the arrival from which a run goes on."""
        if start is not None and not self._server.replays:
            lost = f"{self.name} keeps no messages: those that came before the run went on are not learned"
            self._text._tell("lost", lost)
            start = None
        arrivals = self._server.arrivals(None if start is None else start["first"], self._most)
        with contextlib.closing(arrivals):
            if start is not None:
                again: list[Message] = []
                while len(again) < start["messages"] and (arrival := next(arrivals, None)) is not None:
                    again += arrival
                    if again[0].place != start["first"]:
                        break
                first, rest = again[: start["messages"]], again[start["messages"] :]
                found = (len(first), *(one.place for one in (*first[:1], *first[-1:])))
                if found != (start["messages"], start["first"], start["last"]):
                    raise ValueError(
                        f"{self.name} no longer has all messages from {start['first']} to {start['last']}, from which "
                        "the run would go on, and may lack later ones; let the server keep messages for longer, and "
                        "begin anew."
                    )
                yield first
                if rest:
                    yield rest
            yield from arrivals


class _Messages(TableSource):
    """What makes the source of a file read messages instead."""

    _line = 0  # before the newest arrival
    _ends: tuple[list[int], list[str]] = ([], [])  # the last line of each of its messages, and their places

    _arriving: Iterator[list[Message]]

    def _located(self, path: Any) -> Path:
        return Path(path)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """The first arrival."""
        self._start_pass()
        arrival = next(self._arriving, None)
        yield io.BytesIO(b"" if arrival is None else self._lines_of(arrival))

    def _whole_lines(self, stream: IO[bytes], chunk_bytes: int, start: bytes = b"") -> Iterator[bytes]:
        """An arrival at a time, and then an empty piece: all its rows are served before the next one is asked for."""
        yield start + stream.read()
        yield b""
        for arrival in self._arriving:
            yield self._lines_of(arrival)
            yield b""

    def _lines_of(self, arrival: list[Message]) -> bytes:
        texts = [self._line_of(message) for message in arrival]
        ends, line = [], self._line
        for text in texts:
            line += text.count(b"\n")
            ends.append(line)
        self._line, self._ends = line, (ends, [message.place for message in arrival])
        return b"".join(texts)

    def _line_of(self, message: Message) -> bytes:
        """The rows of a message, a line each."""
        if not isinstance(message.payload, bytes):
            self._skip(self._fault(message, "it has several fields, which are read as JSON objects: format='jsonl'"))
            return b""
        return message.payload.rstrip(b"\r\n") + b"\n"

    def _skip(self, error: SourceError) -> None:
        """The same, with the place of the message that the line is from."""
        if error.line is not None:
            ends, places = self._ends
            place = places[min(bisect_left(ends, error.line), len(places) - 1)]
            error = SourceError(f"message {place}: {error.what}", path=self.path, column=error.column)
        super()._skip(error)

    def _fault(self, message: Message, what: str) -> SourceError:
        return SourceError(f"message {message.place}: {what}", path=self.path)


class _JsonMessages(_Messages, JsonLinesSource):
    def _line_of(self, message: Message) -> bytes:
        if not isinstance(message.payload, bytes):
            return json.dumps({name: _value(text) for name, text in message.payload.items()}).encode() + b"\n"
        text = message.payload.strip()
        with contextlib.suppress(ValueError, RecursionError):
            if b"\n" in text and isinstance(json.loads(text), dict):  # one object, on several lines
                text = text.replace(b"\n", b" ")
        return text + b"\n"


class _CsvMessages(_Messages, DelimitedSource):
    pass


class _ArrowMessages(_Messages, BatchSource):
    def _seekable_file(self) -> Path:
        return self.path

    def progress(self) -> float | None:
        return None

    @contextlib.contextmanager
    def _batches(self, file: str) -> Iterator[tuple[Any, Iterator[Any]]]:
        tables = self._tables()
        schema = next(tables, None)
        if schema is None:
            raise SourceError("it has no messages; there is nothing to read", path=self.path)
        yield schema, tables

    def _tables(self) -> Iterator[Any]:
        """The schema, and the record batches, which all have it; None behind those of an arrival."""
        import pyarrow as pa

        schema: Any = None
        for arrival in self._arriving:
            for message in arrival:
                try:
                    if not isinstance(message.payload, bytes):
                        raise ValueError("it has several fields")
                    with pa.ipc.open_stream(message.payload) as reader:
                        found = [validated(one) for one in reader]
                    if schema is not None and not reader.schema.equals(schema):
                        raise ValueError(f"its columns are {_told(reader.schema)}, those before {_told(schema)}")
                except (pa.ArrowException, OSError, ValueError) as error:
                    self._skip(self._fault(message, f"it is no Arrow stream like the others ({error})"))
                    continue
                if schema is None:
                    schema = reader.schema
                    yield schema
                yield from found
            if schema is not None:
                yield None


def _told(schema: Any) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def _value(text: str) -> Any:
    """The number that a field's text is, or the text."""
    try:
        return to_number(text)
    except ValueError:
        return text
