"""Guard: what stands before every request: how many at a time, from whom, how large, how slow; foreign pages; the log's
line.

It is plain ASGI, around the application. Who asks is looked at before anything of a body is read. Then the body is read
here, whole, and unpacked, so that nothing behind it waits for a slow client; what a client does not take in time ends
its connection.
"""

import asyncio
import ipaddress
import zlib
from functools import lru_cache
from typing import Any

from .operations import Asked, Operations
from .records import Refusal
from .service import Service
from .state import Answer, refused
from .telemetry import Telemetry
from .tokens import needed

_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
_WAIT, _CLOSE = (b"retry-after", b"1"), (b"connection", b"close")
_FURTHER = {
    401: [(b"www-authenticate", b"Bearer")],
    429: [_WAIT],
    503: [_WAIT],
    507: [_WAIT],
}
_SMALL = 65_536  # bytes of an answer that nobody need wait for
_LOOKED_AT = (b"host", b"origin", b"sec-fetch-site", b"authorization")
_SAFE = ("same-origin", "same-site", "none")


class Guard:
    """The application behind limits."""

    def __init__(self, app: Any, operations: Operations, service: Service, telemetry: Telemetry):
        """operations: those that are asked here, not by the application."""
        self._app, self._operations, self._service, self._telemetry = app, operations, service, telemetry
        self._settings = service.settings
        self._active, self._held = 0, 0  # requests, bytes of their bodies

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, told = self._telemetry.begin(), {"method": scope["method"], "path": scope["path"], "status": 500}
        scope["told"] = told  # what the application adds to the line
        asked, body = self._operations.find(scope), _Body(scope)
        if asked is not None:
            told |= {"operation": asked[0], "model": asked[1][:80]}
        self._active += 1

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                told["status"] = message["status"]
                headers = message["headers"] = list(message.get("headers", ()))
                given = {name.lower() for name, _ in headers}
                headers += [pair for pair in _HEADERS if pair[0] not in given]
            if len(message.get("body", b"")) <= _SMALL and not message.get("more_body", False):
                await send(message)  # there is room for it, whoever takes it
                return
            async with asyncio.timeout(self._settings.read_seconds):
                await send(message)

        try:
            self._check(scope)
            await self._receive(body, scope, receive)
            if asked is None:
                await self._app(scope, _handing(body.whole, receive), sending)
            else:
                await _send(sending, await self._operations.answer(*asked, Asked(scope, body.whole)))
        except Refusal as error:  # what was not read of a request is not for the next one
            await _send(sending, refused(error), closing=body.comes)
        except (TimeoutError, _Gone):
            told["status"] = 499 if told["status"] == 500 else told["status"]
        finally:
            self._active -= 1
            self._held -= body.size
            self._telemetry.end(began, told.pop("operation", "other"), told)

    def _check(self, scope: Any) -> None:
        """Refuse what the head of a request says enough about."""
        if self._active > self._settings.most_requests:
            raise Refusal(f"{self._settings.most_requests} requests are being answered; try again soon.", 503)
        headers = {name: value.decode("latin-1") for name, value in scope["headers"] if name in _LOOKED_AT}
        host = headers.get(b"host", "")
        if self._settings.is_local and not _is_local(host):
            raise Refusal(f"The host {host!r:.80} is not this machine.", 421)
        site, origin = headers.get(b"sec-fetch-site", "none"), headers.get(b"origin")
        foreign = origin is not None and origin.partition("://")[2] != host
        if scope["method"] != "GET" and (foreign or site not in _SAFE):
            raise Refusal("Pages of other sites may not ask for this.", 403)
        self._service.require(headers.get(b"authorization", ""), needed(scope["method"], scope["path"]), scope["told"])

    async def _receive(self, body: "_Body", scope: Any, receive: Any) -> None:
        """Have the body whole."""
        parts, more = [], True
        self._require_room(body.told, self._held)
        try:
            async with asyncio.timeout(self._settings.read_seconds):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise _Gone
                    parts.append(message.get("body", b""))
                    more = message.get("more_body", False)
                    body.size += len(parts[-1])
                    self._held += len(parts[-1])
                    self._require_room(body.size, self._held - body.size)
        except TimeoutError:
            raise Refusal(f"The request was not there after {self._settings.read_seconds:g} seconds.", 408) from None
        body.whole, body.comes = b"".join(parts), False
        if body.packed not in ("", "identity"):
            most, loop = self._settings.most_body, asyncio.get_running_loop()
            body.whole = await loop.run_in_executor(None, _unpacked, body.whole, body.packed, most)
            self._held += len(body.whole) - body.size
            body.size = len(body.whole)
            self._require_room(body.size, self._held - body.size)

    def _require_room(self, size: int, others: int) -> None:
        """Refuse a body of so many bytes beside others of so many."""
        most, most_of_all = self._settings.most_body, self._settings.most_bodies
        if size > most:
            raise Refusal(f"The body has more than {most:,} bytes, which are the most (most_body).", 413)
        if size + others > most_of_all:
            raise Refusal(
                f"Requests that are being answered have {others:,} bytes; {most_of_all:,} are the most (most_bodies); "
                "try again soon.",
                503,
            )


def _unpacked(body: bytes, encoding: str, most: int) -> bytes:
    """A body as it was before it was packed; Refusal for what is larger than a body may be."""
    if encoding not in ("gzip", "deflate"):
        raise Refusal(f"The Content-Encoding {encoding!r:.40} is not known; there are gzip and deflate.", 415)
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)  # either, as its first bytes say
    try:
        found = unpacking.decompress(body, most + 1)
    except zlib.error as error:
        raise Refusal(f"The body is not {encoding}: {error}.", 400) from None
    if len(found) > most:
        raise Refusal(f"The body, unpacked, has more than {most:,} bytes (most_body).", 413)
    if not unpacking.eof:
        raise Refusal(f"The body is not {encoding}: its end is missing.", 400)
    return found


class _Body:
    """What is there of a request's body."""

    def __init__(self, scope: Any):
        headers = dict(scope["headers"])
        told = headers.get(b"content-length", b"0")
        self.told = int(told) if told.isdigit() else 0  # bytes
        self.packed = headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()
        self.size, self.whole = 0, b""
        self.comes = self.told > 0 or b"transfer-encoding" in headers  # more of it


def _handing(body: bytes, receive: Any) -> Any:
    """What an application receives: the body, whole, and then what else comes."""
    given = False

    async def handed() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return handed


class _Gone(Exception):
    """The client has closed its connection."""


async def _send(send: Any, answer: Answer, *, closing: bool = False) -> None:
    headers = [(b"content-type", answer.type.encode()), (b"content-length", b"%d" % len(answer.body))]
    if answer.status >= 400:
        headers += _FURTHER.get(answer.status, [])
    if closing:
        headers.append(_CLOSE)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


@lru_cache(64)
def _is_local(host: str) -> bool:
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    if name == "localhost" or name == "":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
