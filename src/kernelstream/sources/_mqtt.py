"""Topics of MQTT. A server hands messages to those who listen and keeps none: what is sent meanwhile is not learned."""

import contextlib
import itertools
import queue
from collections.abc import Sequence
from typing import Any

from paho.mqtt import client as mqtt

from .servers import LONGEST_ANSWER, Address, Arrivals, Message, Server

_MOST_WAITING = 2**16
_AT_LEAST_ONCE = 1


class MqttTopic(Server):
    """``mqtt://host/topic``; a topic to read from may have the wildcards + and # (``%23``)."""

    replays = False

    def __init__(self, address: Address):
        super().__init__(address)
        if address.until_now:
            raise ValueError(f"{address.shown}: until=now is for servers that keep messages, and MQTT keeps none.")
        self._came: queue.Queue[bytes] = queue.Queue(_MOST_WAITING)
        self._client: Any = None
        self._answer: queue.Queue[Any] = queue.Queue()

    def arrivals(self, start: str | None, most: int) -> Arrivals:
        self._connect(listening=True)
        numbers = itertools.count(1)
        while True:
            found = [self._came.get()]
            with contextlib.suppress(queue.Empty):
                while len(found) < most:
                    found.append(self._came.get_nowait())
            yield [Message(str(next(numbers)), payload) for payload in found]

    def send(self, texts: Sequence[bytes]) -> None:
        self._connect(listening=False)
        sent = [self._client.publish(self.address.path, text, _AT_LEAST_ONCE) for text in texts]
        for one in sent:
            try:
                one.wait_for_publish(LONGEST_ANSWER)
            except (RuntimeError, ValueError) as error:
                raise self._unreachable(error) from None
            if not one.is_published():
                raise self._unreachable(TimeoutError("a message was not taken"))

    def close(self) -> None:
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
            self._client = None

    def _connect(self, *, listening: bool) -> None:
        if self._client is not None:
            return
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        # A piece of predictions is sent whole before it is waited for.
        self._client.max_queued_messages_set(0)
        where = self.address
        if where.user is not None:
            self._client.username_pw_set(where.user, where.password)

        def connected(client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
            # Also when a connection was lost and is there again.
            if listening and not reason.is_failure:
                client.subscribe(where.path, _AT_LEAST_ONCE)
            else:
                self._answer.put(reason)

        self._client.on_connect = connected
        self._client.on_subscribe = lambda client, data, number, reasons, properties: self._answer.put(reasons[0])
        self._client.on_message = lambda client, data, message: self._came.put(message.payload)
        try:
            self._client.connect(where.host, where.port or 1883)
            self._client.loop_start()
            answer = self._answer.get(timeout=LONGEST_ANSWER)
        except (OSError, queue.Empty) as error:
            self.close()
            raise self._unreachable(error) from None
        if answer.is_failure:
            self.close()
            raise self._unreachable(ConnectionError(str(answer)))
