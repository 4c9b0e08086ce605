"""Served: one model of the service, with the thread that owns it, the state that predictions see, its log and files.

The way of a record: `submit` numbers it, the store makes it durable, the model's thread applies it in the order of the
numbers, and only then its client is answered. Predictions read a published copy of the model, which its thread renews
after `publish_seconds` at the earliest, and so seldom that copying takes a tenth of its time at the most; who has
learned and wants to see it asks for a fresh one. A model file is written from a published copy, beside the learning;
when it is there, the log is cut behind it.
"""

import asyncio
import contextlib
import logging
import queue
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..engine import disk
from ..engine.state import ModelFileError
from ..learner import Learner
from .records import BECOME, Record, Refusal, Rows, read
from .settings import Settings
from .specs import ModelSpec
from .state import Answer, State, refused
from .store import Kept, Made, Store, Write, append, cut, take_back

logger = logging.getLogger("kernelstream.serve")

_SHARE = 0.1  # of a model's time that may go into copies of it
_BYTES_OF_ANSWER = 1024  # that is kept, beside its body: its key, its digest, Python's objects
_FEW, _TOGETHER = 16, 64  # rows of a record that is soon applied; answers that are handed on at once
_NO_ROOM = (
    "There is not enough memory for this model; nothing was learned. Make a smaller one (budget, n_components, fewer "
    "features), or serve it where there is more."
)
_RETRY = 5.0  # seconds after which a model file is tried again that could not be written


class Published:
    """A model as it was at one place of its log."""

    def __init__(self, learner: Learner | None, seq: int, beside: dict[str, Any] | None = None):
        """beside: what else a file of it needs; only asked for where one is written."""
        self.learner, self.seq, self.beside = learner, seq, beside
        self.size = 0 if learner is None else learner.n_bytes
        self.at = time.time()
        self.readers = 0


class Item(NamedTuple):
    """A record that is durable, or something else for the model's thread to do in its turn."""

    seq: int
    record: Record | None
    rows: Rows | None
    answer: "asyncio.Future[Answer]"
    do: Callable[[], Answer] | None = None


class Served:
    """A model and its thread."""

    def __init__(self, made: Made, store: Store, settings: Settings, savers: Executor):
        self.id, self.name, self.made = made.id, made.name, made.made
        self.spec = ModelSpec.model_validate_json(made.spec)
        self._store, self._settings, self._savers = store, settings, savers
        self._loop = asyncio.get_running_loop()
        self.state = State(self.spec)
        self.ready, self.failed = asyncio.Event(), ""
        self.closed, self._last_file = False, True
        self.queued = 0  # rows that were submitted and not answered
        self._seq = made.seq  # of the newest record that was submitted
        self._applied = made.seq
        self._cut, self._file = made.seq, made.file
        self._cut_at, self._saving = time.monotonic(), False
        self._sizes: deque[tuple[int, int]] = deque()  # of the records in the log, with their numbers
        self.log_bytes, self._cut_now, self._not_before = 0, False, 0.0
        self._answer_bytes = 0  # memory that a cut of the log sets free
        self._answers: dict[str, tuple[int, Kept]] = {}  # of records that are in the log
        self._becoming: dict[str, int] = {}  # files that records in the log name, and the records' numbers
        self._pending: dict[str, tuple[bytes, asyncio.Future[Answer]]] = {}
        self._queue: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._answered: list[tuple[asyncio.Future[Answer], Answer]] = []  # not handed on yet
        self._switch = threading.Lock()  # of what is published, and of who reads it
        self._published = Published(None, made.seq)
        self._spare: Published | None = None
        self._due = 0.0  # when the next copy may be published
        self._thread = threading.Thread(target=self._work, name=f"model {made.name}", daemon=True)
        self._thread.start()

    # What clients ask for, in the event loop.

    async def submit(self, record: Record, rows: Rows) -> Answer:
        """Make a record durable, apply it, and give the answer; a key that was used before gives the first answer."""
        self.require_open()
        if record.key is not None and (before := await self._before(record.key, record.digest)) is not None:
            return before
        if self.queued + rows.n > self._settings.most_queued and self.queued:
            raise Refusal(f"{self.queued:,} rows wait to be learned; {self._settings.most_queued:,} may.", 429)
        answer: asyncio.Future[Answer] = self._loop.create_future()
        if record.key is not None:
            self._pending[record.key] = record.digest, answer
        self._seq += 1
        self.queued += rows.n
        item = Item(self._seq, record, rows, answer)
        self._log(item)
        try:
            return await asyncio.shield(answer)
        finally:
            if answer.done():
                self._let_go(record, rows.n)
            else:  # the client is gone; what it asked for goes on
                answer.add_done_callback(lambda _: self._let_go(record, rows.n))

    def _let_go(self, record: Record, n: int) -> None:
        self.queued -= n
        if record.key is not None:
            self._pending.pop(record.key, None)

    def _log(self, item: Item) -> None:
        assert item.record is not None
        run = partial(append, model=self.id, seq=item.seq, record=item.record)
        full = Answer.of({"error": "The store cannot write, as its disk is full or fails: nothing was learned."}, 507)
        refuse = partial(self._tell, [(item.answer, full)])
        self._store.ask(Write(run, lambda: self._queue.put(item), lambda _: refuse(), len(item.record.body)))

    async def _before(self, key: str, digest: bytes) -> Answer | None:
        """The answer that a request with this key has had, or is about to have."""
        if key in self._pending:
            known, answer = self._pending[key]
            _require_same(known, digest)
            return await asyncio.shield(answer)
        found = self._answers.get(key)  # they go from here when they are in the store
        kept = self._store.answer(self.id, key) if found is None else found[1]
        if kept is None:
            return None
        _require_same(kept.digest, digest)
        return Answer(kept.status, kept.type, kept.body)

    def _tell(self, answers: list[tuple["asyncio.Future[Answer]", Answer]]) -> None:
        """Hand answers from another thread to the event loop."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(_resolve, answers)

    async def do(self, work: Callable[[], Answer]) -> Answer:
        """Have the model's thread do something behind all that it was given before."""
        self.require_open()
        answer: asyncio.Future[Answer] = self._loop.create_future()
        self._queue.put(Item(0, None, None, answer, work))
        return await answer

    async def fresh(self) -> None:
        """Have published what was acknowledged."""
        await self.do(self._publish)

    async def to_save(self) -> Published:
        """What was acknowledged, with all that a file needs; who is through with it calls `leave`."""
        found: list[Published] = []

        def work() -> Answer:
            answer = self._publish(to_save=True)
            found.append(self._published)
            return answer

        await self.do(work)
        return found[0]

    async def go_back(self, file: Path, record: Record) -> Answer:
        """Go on with the model of a file, which is kept until the log no longer needs it."""
        self.require_open()
        kept = self._store.model_folder(self.id) / f"become-{secrets.token_hex(8)}.ks"
        await self._loop.run_in_executor(None, copied, file, kept)
        self.require_open()
        answer: asyncio.Future[Answer] = self._loop.create_future()
        record = record._replace(body=kept.name.encode())
        self._seq += 1  # numbers are taken in the order in which records are logged
        self._log(Item(self._seq, record, None, answer))
        return await answer

    def require_open(self) -> None:
        if self.closed:
            raise Refusal(f"There is no model {self.name!r}.", 404)
        if self.failed:
            raise Refusal(self.failed, 503)
        if not self.ready.is_set():
            raise Refusal(f"The model {self.name!r} is being read from the store; try again soon.", 503)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Published]:
        """The newest published state, which stays as it is meanwhile."""
        with self._switch:
            published = self._published
            published.readers += 1
        try:
            yield published
        finally:
            self.leave(published)

    def leave(self, published: Published) -> None:
        with self._switch:
            published.readers -= 1

    @property
    def log_records(self) -> int:
        return len(self._sizes)

    @property
    def applied(self) -> int:
        """The number of the newest record that was applied."""
        return self._applied

    # The model's own thread.

    def _work(self) -> None:
        try:
            self._recover()
        except Exception as error:  # one model that cannot be read does not end the others
            logger.exception("model %s cannot be read", self.name)
            self.failed = f"The model {self.name!r} cannot be read from the store: {error}"
        self._loop.call_soon_threadsafe(self.ready.set)
        while (item := self._next()) is not None:
            if not self.failed:
                self._answered.append((item.answer, self._handle(item)))
            few = item.rows is not None and item.rows.n <= _FEW
            if not few or len(self._answered) >= _TOGETHER or self._queue.empty():
                self._tell(self._answered)
                self._answered = []
                self._keep_up()
        self._tell(self._answered)
        while self._saving:
            time.sleep(0.01)
        if self._last_file and not self.failed and self._applied > self._cut:
            self._publish(to_save=True)
            self._save(self._published)

    def _next(self) -> Item | None:
        while True:
            dirty = self._published.seq < self._applied
            try:
                return self._queue.get(timeout=max(0.0, self._due - time.monotonic()) if dirty else 1.0)
            except queue.Empty:
                self._keep_up()

    def _handle(self, item: Item) -> Answer:
        try:
            if item.do is not None:
                return item.do()
            assert item.record is not None
            return self._apply(item.seq, item.record, item.rows)
        except MemoryError:  # which might not come again when the log is read: the record is taken back first
            self._store.wait(lambda c: take_back(c, self.id, item.seq))
            if self.state.rows_learned == 0:  # it is the model that needs so much
                return refused(Refusal(_NO_ROOM))
            return Answer.of({"error": "There is not enough memory; nothing was learned."}, 503)
        except Exception as error:
            logger.exception("model %s, record %d", self.name, item.seq)
            return Answer.of({"error": f"{type(error).__name__}: {error}"}, 500)

    def _apply(self, seq: int, record: Record, rows: Rows | None) -> Answer:
        if record.kind == BECOME:
            self._becoming[record.body.decode()] = seq
            answer = self._become(record.body.decode())
        else:
            assert rows is not None
            answer = self.state.apply(record, rows)
        self._applied = seq
        self._sizes.append((seq, len(record.body)))
        self.log_bytes += len(record.body)
        if record.key is not None:
            self._answers[record.key] = seq, Kept(record.key, record.at, record.digest, *answer)
            self._answer_bytes += len(answer.body) + _BYTES_OF_ANSWER
        return answer

    def _become(self, name: str) -> Answer:
        try:
            learner, header = Learner.load_with_header(self._store.model_folder(self.id) / name)
            self.state.become(learner, header.get("serve"))
        except (ModelFileError, ValueError) as error:
            return refused(error)
        self._cut_now = True  # a file of its own soon
        return Answer.of({"rows_learned": learner.rows_learned})

    def _recover(self) -> None:
        folder = self._store.model_folder(self.id)
        if self._file is not None:
            learner, header = Learner.load_with_header(folder / self._file)
            self.state.become(learner, header.get("serve"))
        needed = {self._file, *(snapshot.file for snapshot in self._store.snapshots(self.id))}
        for seq, record in self._store.log(self.id, self._cut):
            if record.kind == BECOME:
                needed.add(record.body.decode())
            self._seq = seq
            try:
                self._apply(seq, record, None if record.kind == BECOME else read(record))
            except (Refusal, TypeError, ArithmeticError) as error:
                logger.warning("model %s, record %d of the log: %s", self.name, seq, error)
        for path in folder.iterdir():
            if path.name not in needed:
                path.unlink()
        self._publish()

    def _keep_up(self) -> None:
        """Publish and save when it is time."""
        now = time.monotonic()
        if self.failed:
            return
        if self._published.seq < self._applied and now >= self._due:
            self._publish()
        grown = self.log_bytes + self._answer_bytes >= self._settings.snapshot_bytes
        late = self._cut_now or grown or now - self._cut_at > self._settings.snapshot_seconds
        if late and now >= self._not_before and self._applied > self._cut and not self._saving:
            self._publish(to_save=True)
            self._saving = True
            self._savers.submit(self._save, self._published)

    def _publish(self, *, to_save: bool = False) -> Answer:
        began = time.monotonic()
        learner, spare = self.state.learner, self._spare
        with self._switch:
            free = spare is not None and spare.readers == 0
        reuse = spare.learner if spare is not None and free else None
        copy = None if learner is None else learner.snapshot(reuse)
        if copy is not None and copy is not reuse and copy.width:
            for n in (1, 2):  # what predictions run is compiled here, not where others wait for it
                with contextlib.suppress(FloatingPointError):
                    copy.scores(np.zeros((n, copy.width)))
        fresh = Published(copy, self._applied, self.state.beside() if to_save else None)
        fresh.readers = int(to_save)  # who saves it reads it
        with self._switch:
            self._spare, self._published = self._published, fresh
        took = time.monotonic() - began
        self._due = began + took + max(self._settings.publish_seconds, took * (1.0 / _SHARE - 1.0))
        return Answer.of({})

    def _save(self, published: Published) -> None:
        """Write a published state to a file of its own, and cut the log behind it; in any thread."""
        file = None if published.learner is None else f"{published.seq}.ks"  # what has learned nothing needs none
        try:
            if published.learner is not None:
                published.learner.save(self._store.model_folder(self.id) / str(file), serve=published.beside)
            old, oldest = self._file, time.time() - self._settings.keys_seconds
            kept = {key: one for key, (seq, one) in list(self._answers.items()) if seq <= published.seq}
            self._store.wait(lambda c: cut(c, self.id, published.seq, file, kept.values(), oldest))
            for key, one in kept.items():
                self._answers.pop(key, None)
                self._answer_bytes -= len(one.body) + _BYTES_OF_ANSWER
            self._file, self._cut, self._cut_now = file, published.seq, False
            while self._sizes and self._sizes[0][0] <= published.seq:
                self.log_bytes -= self._sizes.popleft()[1]
            self._sweep(old, published.seq)
        except Exception as error:
            logger.warning("model %s: no file could be written (%s); its log grows on", self.name, error)
            self._not_before = time.monotonic() + _RETRY
        finally:
            self._cut_at, self._saving = time.monotonic(), False
            self.leave(published)

    def _sweep(self, old: str | None, seq: int) -> None:
        """Remove files that the log no longer needs."""
        folder = self._store.model_folder(self.id)
        named = {snapshot.file for snapshot in self._store.snapshots(self.id)}
        with contextlib.suppress(OSError):
            for name in [name for name, at in list(self._becoming.items()) if at <= seq]:
                del self._becoming[name]
                (folder / name).unlink()
            if old is not None and old != self._file and old not in named:
                (folder / old).unlink()

    def stop(self, *, save: bool = True) -> None:
        """Let the thread end behind all that was submitted, and write the model."""
        self.closed, self._last_file = True, save
        end = partial(self._queue.put, None)
        self._store.ask(Write(lambda c: None, end, lambda _: end()))

    def join(self) -> None:
        self._thread.join()


def copied(source: Path, target: Path) -> None:
    """A file that is there whole or not at all."""
    with disk.appearing(target) as file:
        file.write(source.read_bytes())


def _resolve(answers: "list[tuple[asyncio.Future[Answer], Answer]]") -> None:
    for future, answer in answers:
        if not future.done():
            future.set_result(answer)


def _require_same(known: bytes, digest: bytes) -> None:
    if known != digest:
        raise Refusal("The Idempotency-Key was used for another request; use a new one.", 422)
