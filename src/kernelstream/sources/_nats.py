"""Streams of NATS JetStream, read by a consumer that leaves no trace on the server.

What the client cannot hand over in turn (a message that was lost with a connection, a consumer that a server forgot)
is asked for again from the last place on.
"""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Sequence
from typing import Any

import nats
from nats.errors import TimeoutError as NoAnswer
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NoStreamResponseError, NotFoundError

from .servers import LONGEST_ANSWER, PATIENCE, Address, Arrivals, Message, Server

_FORGOTTEN_AFTER = 3600.0  # seconds in which nobody asks: a block may take long to learn


class JetStream(Server):
    """``nats://host/stream`` to read from, ``nats://host/subject`` to send to."""

    def __init__(self, address: Address):
        super().__init__(address)
        self._loop: Any = None
        self._thread: threading.Thread | None = None
        self._client: Any = None
        self._jetstream: Any = None
        self._broken = False  # since the consumer was made

    def arrivals(self, start: str | None, most: int) -> Arrivals:
        self._connect()
        newest = self._asked(self._newest())
        last = int(start) - 1 if start is not None else 0
        consumer: Any = None
        count = 0
        try:
            while not self.address.until_now or last < newest:
                if consumer is None:
                    self._broken = False
                    consumer, count = self._asked(self._consumer(last + 1)), 0
                some, count, whole = self._in_turn(self._asked(_fetched(consumer, most)), count)
                if some:
                    last = int(some[-1].place)
                    yield some
                if self._broken or not whole:
                    self._asked(self._dropped(consumer))
                    consumer = None
        finally:
            if consumer is not None and self._client.is_connected:
                self._asked(self._dropped(consumer))

    def _in_turn(self, found: list[Any] | None, count: int) -> tuple[list[Message], int, bool]:
        """The messages up to the first that is missing, how many there were, and whether none is."""
        some: list[Message] = []
        for message in found or ():
            place = message.metadata.sequence
            if place.consumer != count + 1:
                return some, count, False
            count += 1
            some.append(Message(str(place.stream), message.data))
        return some, count, found is not None

    def send(self, texts: Sequence[bytes]) -> None:
        self._connect()
        self._asked(self._sent(texts))

    def close(self) -> None:
        if self._thread is not None:
            if self._client is not None:
                with contextlib.suppress(OSError):
                    self._asked(self._client.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._thread = None

    async def _newest(self) -> int:
        try:
            return (await self._jetstream.stream_info(self.address.path)).state.last_seq
        except NotFoundError:
            known = ", ".join(one.config.name for one in await self._jetstream.streams_info()) or "none"
            what = f"{self.address.shown} has no stream {self.address.path!r}; there are: {known}."
            raise FileNotFoundError(what) from None

    async def _consumer(self, start: int) -> Any:
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=start,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=_FORGOTTEN_AFTER,
        )
        return await self._jetstream.pull_subscribe("", stream=self.address.path, config=config)

    async def _dropped(self, consumer: Any) -> None:
        with contextlib.suppress(nats.errors.Error):
            await self._jetstream.delete_consumer(self.address.path, (await consumer.consumer_info()).name)
            await consumer.unsubscribe()

    async def _sent(self, texts: Sequence[bytes]) -> None:
        subject = self.address.path.replace("/", ".")
        try:
            answers = [await self._jetstream.publish_async(subject, text) for text in texts]
            await asyncio.wait_for(asyncio.gather(*answers), LONGEST_ANSWER)
        except NoStreamResponseError:
            what = f"no stream of {self.address.shown} takes the subject {subject!r}; add one: nats stream add."
            raise FileNotFoundError(what) from None

    def _connect(self) -> None:
        if self._thread is None:
            # The client speaks when it is let: a thread of its own answers the server while rows are learned.
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="kernelstream-nats", daemon=True)
            self._thread.start()
            self._client = self._asked(self._connected())
            self._jetstream = self._client.jetstream()

    def _asked(self, question: Coroutine[Any, Any, Any]) -> Any:
        try:
            return asyncio.run_coroutine_threadsafe(question, self._loop).result()
        except (nats.errors.Error, TimeoutError) as error:
            raise self._unreachable(error) from None

    async def _reconnected(self) -> None:
        self._broken = True

    async def _connected(self) -> Any:
        where = self.address
        return await nats.connect(
            f"nats://{where.host}:{where.port or 4222}",
            user=where.user,
            password=where.password,
            connect_timeout=2,
            reconnect_time_wait=1,
            max_reconnect_attempts=5,
            reconnected_cb=self._reconnected,
            error_cb=_silent,
        )


async def _silent(error: Exception) -> None:
    """What goes wrong is told by what was asked."""


async def _fetched(consumer: Any, most: int) -> list[Any] | None:
    """What has come; None when the consumer has to be made anew."""
    try:
        return await consumer.fetch(most, timeout=PATIENCE)
    except (NoAnswer, TimeoutError):
        return []
    except (nats.js.errors.APIError, nats.errors.ConnectionReconnectingError):
        await asyncio.sleep(PATIENCE)
        return None
