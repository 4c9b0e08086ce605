"""Redis Streams. An entry of one field is a payload, an entry of several is a row with the fields' names."""

from collections.abc import Sequence
from typing import Any

import redis

from .servers import LONGEST_ANSWER, PATIENCE, Address, Arrivals, Message, Server

_FIRST = "0-0"
_FIELD = "data"


class RedisStreams(Server):
    """``redis://host/stream`` or ``redis://host/2/stream`` in database 2; ``rediss://`` is encrypted."""

    def __init__(self, address: Address):
        super().__init__(address)
        database, slash, key = address.path.partition("/")
        if not (slash and database.isdecimal()):
            database, key = "0", address.path
        self._key = key
        self._client: Any = redis.Redis(
            host=address.host,
            port=address.port or 6379,
            db=int(database),
            username=address.user,
            password=address.password,
            ssl=address.scheme == "rediss",
            socket_timeout=LONGEST_ANSWER,
        )

    def arrivals(self, start: str | None, most: int) -> Arrivals:
        place = _FIRST if start is None else start
        end = self._newest() if self.address.until_now else None
        found = self._asked(self._client.xrange, self._key, min=place, count=most)
        while True:
            if found:
                some = [Message(at.decode(), self._payload(fields)) for at, fields in found]
                place = some[-1].place
                yield some
            if end is not None and _order(place) >= _order(end):
                return
            answer = self._asked(self._client.xread, {self._key: place}, count=most, block=round(PATIENCE * 1000))
            found = dict(answer).get(self._key.encode(), []) if answer else []
            # redis-py wraps the entries of one stream in a list where it speaks RESP3.
            found = found[0] if found and isinstance(found[0], list) else found

    def send(self, texts: Sequence[bytes]) -> None:
        pipe = self._client.pipeline(transaction=False)
        for text in texts:
            pipe.xadd(self._key, {_FIELD: text})
        self._asked(pipe.execute)

    def close(self) -> None:
        self._client.close()

    def _newest(self) -> str:
        newest = self._asked(self._client.xrevrange, self._key, count=1)
        return newest[0][0].decode() if newest else _FIRST

    def _payload(self, fields: dict[bytes, bytes]) -> Any:
        if len(fields) == 1:
            return next(iter(fields.values()))
        return {name.decode(errors="replace"): value.decode(errors="replace") for name, value in fields.items()}

    def _asked(self, question: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return question(*arguments, **options)
        except redis.RedisError as error:
            raise self._unreachable(error) from None


def _order(place: str) -> tuple[int, int]:
    moment, _, number = place.partition("-")
    return int(moment), int(number)
