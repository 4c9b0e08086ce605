"""The durable store: one SQLite file with the models' registry, their logs, answers and tokens; model files beside it.

What is written is asked of one thread, which commits whatever has come meanwhile as one transaction: a group costs one
flush of the disk. SQLite keeps it through a crash and a loss of power (WAL, ``synchronous=FULL``). One process has a
store at a time; tokens may be changed beside it.
"""

import contextlib
import errno
import queue
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

from ..engine import disk
from .records import Names, Record, encoded

FILE, MODELS, TEMPORARY = "store.db", "models", "temporary-"
LAYOUT = 1  # of the tables
_GROUP = 512  # requests in a transaction at the most
_GROUP_BYTES = 64 * 2**20
_CHECKPOINT = 4096  # pages of the write-ahead log after which they go into the file
_PATIENCE = 10.0  # seconds to wait for another process, such as one that makes a token

_TABLES = """
CREATE TABLE IF NOT EXISTS models (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL, made REAL NOT NULL,
    file TEXT, seq INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS log (
    model INTEGER NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, format TEXT NOT NULL,
    names TEXT NOT NULL, key TEXT, digest BLOB NOT NULL, body BLOB NOT NULL, PRIMARY KEY (model, seq));
CREATE TABLE IF NOT EXISTS answers (
    model INTEGER NOT NULL, key TEXT NOT NULL, at REAL NOT NULL, digest BLOB NOT NULL, status INTEGER NOT NULL,
    type TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (model, key));
CREATE TABLE IF NOT EXISTS snapshots (
    model INTEGER NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL, made REAL NOT NULL, rows INTEGER NOT NULL,
    PRIMARY KEY (model, name));
CREATE TABLE IF NOT EXISTS tokens (name TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, made REAL);
"""


class StoreError(OSError):
    """The store cannot be used; the message says why."""


class Full(StoreError):
    """Nothing could be written: the disk is full or fails. Nothing has changed."""


@contextlib.contextmanager
def on_disk() -> Iterator[None]:
    """What the disk refuses is Full."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise Full(errno.ENOSPC, f"Nothing was written: {error}.") from error


class Made(NamedTuple):
    """A model of the registry."""

    id: int
    name: str
    spec: str
    made: float
    file: str | None  # the model as it was at `seq`
    seq: int


class Kept(NamedTuple):
    """The answer to a request that carried a key."""

    key: str
    at: float
    digest: bytes
    status: int
    type: str
    body: bytes


class Snapshot(NamedTuple):
    """A state of a model that was given a name."""

    name: str
    file: str
    made: float
    rows: int


class Write(NamedTuple):
    """Something to be written, who is told when it is durable, and who is told when it could not be."""

    run: Callable[[sqlite3.Connection], Any]
    done: Callable[[], None]
    failed: Callable[[Exception], None]
    size: int = 0


def connected(path: Path) -> sqlite3.Connection:
    """A connection that commits when it is told to."""
    try:
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT}")
        layout = connection.execute("PRAGMA user_version").fetchone()[0]
        if layout not in (0, LAYOUT):
            raise StoreError(f"{path} has layout {layout}; this release knows {LAYOUT}. Serve it with a newer release.")
        if layout == 0:
            connection.executescript(f"PRAGMA auto_vacuum=INCREMENTAL; VACUUM; {_TABLES} PRAGMA user_version={LAYOUT};")
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be used as a store: {error}.") from None
    return connection


class Store:
    """The tables, and the thread that writes them."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        (self.folder / MODELS).mkdir(parents=True, exist_ok=True)
        self._held = contextlib.ExitStack()
        try:
            self._held.enter_context(disk.held(self.folder / FILE))
        except BlockingIOError:
            raise StoreError(f"{folder} is served by another process; a store has one at a time.") from None
        for path in self.folder.glob(f"{TEMPORARY}*"):  # what a process that was killed has left
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self._writing = connected(self.folder / FILE)
        self._reading = connected(self.folder / FILE)
        self._one_reads = threading.Lock()
        self._queue: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)
        self._thread.start()

    # What stands in it.

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._one_reads:
            return self._reading.execute(query, values).fetchall()

    def models(self) -> list[Made]:
        return [Made(*row) for row in self._rows("SELECT id, name, spec, made, file, seq FROM models ORDER BY id")]

    def log(self, model: int, after: int) -> Iterable[tuple[int, Record]]:
        """The records of a model behind one, in order."""
        query = (
            "SELECT seq, kind, format, body, at, names, key, digest FROM log WHERE model=? AND seq>? "
            "ORDER BY seq LIMIT 64"
        )
        while found := self._rows(query, model, after):
            for seq, *rest in found:
                kind, form, body, at, names, key, digest = rest
                yield seq, Record(kind, form, body, at, Names(*names.split("\0")), key, digest)
            after = found[-1][0]

    def answer(self, model: int, key: str) -> Kept | None:
        query = "SELECT key, at, digest, status, type, body FROM answers WHERE model=? AND key=?"
        return next((Kept(*row) for row in self._rows(query, model, key)), None)

    def snapshots(self, model: int) -> list[Snapshot]:
        query = "SELECT name, file, made, rows FROM snapshots WHERE model=? ORDER BY made"
        return [Snapshot(*row) for row in self._rows(query, model)]

    def tokens(self) -> dict[str, tuple[str, str]]:
        """(name, scope) by hash."""
        return {row[0]: (row[1], row[2]) for row in self._rows("SELECT hash, name, scope FROM tokens")}

    def model_folder(self, model: int) -> Path:
        folder = self.folder / MODELS / str(model)
        folder.mkdir(exist_ok=True)
        return folder

    # What is written.

    def ask(self, write: Write) -> None:
        """Have something written with the next group."""
        self._queue.put(write)

    def wait(self, run: Callable[[sqlite3.Connection], Any]) -> Any:
        """Have something written, and wait until it is durable."""
        found: list[Any] = []
        outcome: Future[None] = Future()
        self.ask(Write(lambda c: found.append(run(c)), lambda: outcome.set_result(None), outcome.set_exception))
        outcome.result()
        return found[-1]

    def close(self) -> None:
        """Write what was asked for, and let the store go."""
        self._queue.put(None)
        self._thread.join()
        for connection in (self._reading, self._writing):
            with contextlib.suppress(sqlite3.Error):
                connection.close()
        self._held.close()

    def _work(self) -> None:
        while True:
            group, size = [self._queue.get()], 0
            with contextlib.suppress(queue.Empty):
                while group[-1] is not None and len(group) < _GROUP and size < _GROUP_BYTES:
                    size += group[-1].size
                    group.append(self._queue.get_nowait())
            asked = [write for write in group if write is not None]
            self._commit(asked)
            if len(asked) < len(group):
                return

    def _commit(self, group: list[Write]) -> None:
        try:
            if group:
                self._transact(group)
        except Exception as error:  # whatever it is, the thread goes on: nobody else answers
            if len(group) > 1:  # one that is too large for the room there is takes no other with it
                for write in group:
                    self._commit([write])
            else:
                group[0].failed(Full(errno.ENOSPC, f"Nothing was written: {error}."))
            return
        for write in group:
            write.done()

    def _transact(self, group: list[Write]) -> None:
        connection = self._writing
        connection.execute("BEGIN IMMEDIATE")
        try:
            for write in group:
                write.run(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def append(connection: sqlite3.Connection, model: int, seq: int, record: Record) -> None:
    """A record at the end of a model's log."""
    names = "\0".join((record.names.label, record.names.id, record.names.weight))
    values = (model, seq, record.at, record.kind, record.format, names, record.key, record.digest, record.body)
    connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)


def take_back(connection: sqlite3.Connection, model: int, seq: int) -> None:
    """Remove a record that was not applied."""
    connection.execute("DELETE FROM log WHERE model=? AND seq=?", (model, seq))


def cut(
    connection: sqlite3.Connection, model: int, seq: int, file: str | None, answers: Iterable[Kept], oldest: float
) -> None:
    """From now on the model is what a file says and the log behind `seq`; answers whose requests go are kept."""
    if connection.execute("UPDATE models SET file=?, seq=? WHERE id=?", (file, seq, model)).rowcount == 0:
        return  # it was deleted meanwhile
    connection.execute("DELETE FROM log WHERE model=? AND seq<=?", (model, seq))
    connection.executemany(
        "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", [(model, *kept) for kept in answers]
    )
    connection.execute("DELETE FROM answers WHERE model=? AND at<?", (model, oldest))
    connection.execute("PRAGMA incremental_vacuum(1024)")


def make_model(connection: sqlite3.Connection, name: str, spec: dict[str, Any], file: str | None) -> int:
    query = "INSERT INTO models (name, spec, made, file) VALUES (?, ?, ?, ?)"
    return connection.execute(query, (name, encoded(spec).decode(), time.time(), file)).lastrowid or 0


def drop_model(connection: sqlite3.Connection, model: int) -> None:
    connection.execute("DELETE FROM models WHERE id=?", (model,))
    for table in ("log", "answers", "snapshots"):
        connection.execute(f"DELETE FROM {table} WHERE model=?", (model,))
