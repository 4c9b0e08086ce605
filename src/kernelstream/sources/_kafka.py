"""A partition of a topic of Kafka. Several have no common order, and a run could not go on where it was in them."""

from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from .servers import LONGEST_ANSWER, PATIENCE, Address, Arrivals, Message, Server

_METADATA_SECONDS = 5.0


class KafkaPartition(Server):
    """``kafka://host/topic``, or ``kafka://host/topic/3`` where it has several partitions. No group is joined."""

    def __init__(self, address: Address):
        super().__init__(address)
        topic, slash, partition = address.path.partition("/")
        if slash and not partition.isdecimal():
            raise ValueError(f"{address.shown} names no partition; write kafka://host/topic/0.")
        self._topic, self._partition = topic, int(partition) if slash else None
        self._client: Any = None

    def arrivals(self, start: str | None, most: int) -> Arrivals:
        alone = {"group.id": "kernelstream", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        consumer = Consumer(self._settings() | alone)
        self._client = consumer
        partition = self._found(consumer)
        oldest, newest = self._asked(consumer.get_watermark_offsets, TopicPartition(self._topic, partition))
        at = TopicPartition(self._topic, partition, oldest if start is None else int(start))
        consumer.assign([at])
        # An offset may be one of a message that is for the servers, and never comes.
        while not self.address.until_now or max(at.offset, consumer.position([at])[0].offset) < newest:
            found = self._asked(consumer.consume, most, PATIENCE)
            failed = next((message.error() for message in found if message.error() is not None), None)
            if failed is not None:
                raise self._unreachable(KafkaException(failed))
            if found:
                yield [Message(str(message.offset()), message.value() or b"") for message in found]

    def send(self, texts: Sequence[bytes]) -> None:
        if self._client is None:
            self._client = Producer(self._settings() | {"enable.idempotence": True})
        errors: list[Any] = []
        where = {} if self._partition is None else {"partition": self._partition}
        for text in texts:
            self._client.produce(
                self._topic, text, on_delivery=lambda error, _: errors.append(error) if error else None, **where
            )
            self._client.poll(0)
        unsent = self._client.flush(LONGEST_ANSWER)
        if errors or unsent:
            raise self._unreachable(KafkaException(errors[0]) if errors else TimeoutError(f"{unsent} messages unsent"))

    def close(self) -> None:
        if isinstance(self._client, Consumer):
            self._client.close()
        self._client = None

    def _settings(self) -> dict[str, Any]:
        where = self.address
        settings: dict[str, Any] = {"bootstrap.servers": f"{where.host}:{where.port or 9092}", "log_level": 0}
        if where.user is not None:
            settings |= {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": where.user}
            settings["sasl.password"] = where.password or ""
        return settings

    def _found(self, consumer: Any) -> int:
        """The partition, which must be named where there are several."""
        topic = self._asked(consumer.list_topics, self._topic, timeout=_METADATA_SECONDS).topics[self._topic]
        if topic.error is not None or not topic.partitions:
            raise FileNotFoundError(f"{self.address.shown}: there is no topic {self._topic!r} ({topic.error}).")
        known = sorted(topic.partitions)
        partition = known[0] if self._partition is None and len(known) == 1 else self._partition
        if partition is None or partition not in known:
            named = f"kafka://{self.address.host}/{self._topic}/{known[0]}"
            raise ValueError(f"{self.address.shown} has the partitions {known}; name one of them: {named}.")
        return partition

    def _asked(self, question: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return question(*arguments, **options)
        except KafkaException as error:
            raise self._unreachable(error) from None
