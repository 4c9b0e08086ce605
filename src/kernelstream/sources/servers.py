"""Servers of messages behind one face: which URL names which, and what is read from one and sent to one."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from ..extras import require

# A text or Arrow data, or the named values of a row.
Payload: TypeAlias = bytes | Mapping[str, str]

# scheme: the module below this package, its class, and the package that it needs
_KINDS = {
    "redis": ("_redis", "RedisStreams", "redis"),
    "rediss": ("_redis", "RedisStreams", "redis"),
    "nats": ("_nats", "JetStream", "nats"),
    "kafka": ("_kafka", "KafkaPartition", "confluent_kafka"),
    "mqtt": ("_mqtt", "MqttTopic", "paho"),
}
# How long a server is asked for a first message before Python looks up, and how long an answer may take.
PATIENCE = 0.2
LONGEST_ANSWER = 30.0


class Message(NamedTuple):
    """`place` is what the server calls its place in the stream."""

    place: str
    payload: Payload


Arrivals: TypeAlias = Generator[list[Message], None, None]


class Address(NamedTuple):
    """What a URL says. `path` has no slash in front; `until_now`: the stream ends with what it holds at first."""

    scheme: str
    host: str
    port: int | None
    user: str | None
    password: str | None
    path: str
    until_now: bool

    @property
    def shown(self) -> str:
        """The URL without who asks, and when to end."""
        return f"{self.scheme}://{self.host}{'' if self.port is None else f':{self.port}'}/{self.path}"


class Server(ABC):
    """One stream of a server, which is asked when it is read from or sent to."""

    replays = True  # whether messages that came before can be read again

    def __init__(self, address: Address):
        self.address = address

    @abstractmethod
    def arrivals(self, start: str | None, most: int) -> Arrivals:
        """Messages as they come, at most so many at a time: from that at the place `start` on, or from the first."""

    @abstractmethod
    def send(self, texts: Sequence[bytes]) -> None:
        """Add messages to the stream; it has them when this returns."""

    @abstractmethod
    def close(self) -> None:
        """Let the connection go."""

    def _unreachable(self, error: Exception) -> OSError:
        reason = str(error) or type(error).__name__
        return OSError(f"{self.address.shown} does not answer ({reason}); is the server running, and the name right?")


def is_server(place: Any) -> bool:
    """Whether a name is the URL of a stream of messages."""
    return str(place).partition("://")[0] in _KINDS and "://" in str(place)


def shown(place: str) -> str:
    """A name as it may be told to anybody: a URL without its password."""
    return address_of(place).shown if is_server(place) else place


def address_of(url: str) -> Address:
    parts = urlsplit(url)
    path = unquote(parts.path.strip("/"))
    if not parts.hostname or not path:
        raise ValueError(
            f"{parts.scheme}://{parts.hostname or ''} names no stream; write {parts.scheme}://host/stream."
        )
    asked = dict(parse_qsl(parts.query, keep_blank_values=True))
    until = asked.pop("until", None)
    if asked or until not in (None, "now"):
        raise ValueError(f"{parts.query!r} is not known; behind the name of a stream there may be ?until=now.")
    user, password = (None if given is None else unquote(given) for given in (parts.username, parts.password))
    return Address(parts.scheme, parts.hostname, parts.port, user, password, path, until == "now")


def open_server(url: str) -> Server:
    """The stream that a URL names; MissingExtra when its package is not installed."""
    address = address_of(url)
    module, kind, package = _KINDS[address.scheme]
    require(package)
    return getattr(importlib.import_module(f".{module}", __package__), kind)(address)
