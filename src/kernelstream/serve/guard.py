"""Guard: what stands before every request: how many at a time, how large, how slow; foreign pages; the log's line.

It is plain ASGI, around the application. What a client sends is read here, whole, so that nothing behind it waits for a
slow one; what a client does not take in time ends its connection.
"""

import asyncio
import ipaddress
from functools import lru_cache
from typing import Any

from .operations import Asked, Operations
from .records import Refusal
from .settings import Settings
from .state import Answer, refused
from .telemetry import Telemetry

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
# With 408 and 413 what was not read of a request is not for the next one.
_FURTHER = {
    401: [(b"www-authenticate", b"Bearer")],
    408: [_CLOSE],
    413: [_CLOSE],
    429: [_WAIT],
    503: [_WAIT],
    507: [_WAIT],
}
_SMALL = 65_536  # bytes of an answer that nobody need wait for
_SAFE = ("same-origin", "same-site", "none")


class Guard:
    """The application behind limits."""

    def __init__(self, app: Any, operations: Operations, settings: Settings, telemetry: Telemetry):
        """operations: those that are asked here, not by the application."""
        self._app, self._operations, self._settings, self._telemetry = app, operations, settings, telemetry
        self._active = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, told = self._telemetry.begin(), {"method": scope["method"], "path": scope["path"], "status": 500}
        scope["told"] = told  # what the application adds to the line
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
            body = await self._received(scope, receive)
            asked = self._operations.find(scope)
            if asked is None:
                await self._app(scope, _handing(body, receive), sending)
            else:
                await _send(sending, await self._operations.answer(*asked, Asked(scope, body)))
        except Refusal as error:
            await _send(sending, refused(error))
        except (TimeoutError, _Gone):
            told["status"] = 499 if told["status"] == 500 else told["status"]
        finally:
            self._active -= 1
            self._telemetry.end(began, told.pop("operation", "other"), told)

    def _check(self, scope: Any) -> None:
        if self._active > self._settings.most_requests:
            raise Refusal(f"{self._settings.most_requests} requests are being answered; try again soon.", 503)
        headers = {name: value for name, value in scope["headers"] if name in (b"host", b"origin", b"sec-fetch-site")}
        host = headers.get(b"host", b"").decode("latin-1")
        if self._settings.is_local and not _is_local(host):
            raise Refusal(f"The host {host!r:.80} is not this machine.", 421)
        site, origin = headers.get(b"sec-fetch-site", b"none"), headers.get(b"origin")
        foreign = origin is not None and origin.decode("latin-1").partition("://")[2] != host
        if scope["method"] != "GET" and (foreign or site.decode("latin-1") not in _SAFE):
            raise Refusal("Pages of other sites may not ask for this.", 403)

    async def _received(self, scope: Any, receive: Any) -> bytes:
        """The body, whole."""
        most = self._settings.most_body
        told = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if told.isdigit() and int(told) > most:
            raise Refusal(f"The body has {int(told):,} bytes; {most:,} are the most (most_body).", 413)
        parts, size, more = [], 0, True
        try:
            async with asyncio.timeout(self._settings.read_seconds):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise _Gone
                    parts.append(message.get("body", b""))
                    size, more = size + len(parts[-1]), message.get("more_body", False)
                    if size > most:
                        raise Refusal(f"The body has more than {most:,} bytes (most_body).", 413)
        except TimeoutError:
            raise Refusal(f"The request was not there after {self._settings.read_seconds:g} seconds.", 408) from None
        return b"".join(parts)


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


async def _send(send: Any, answer: Answer) -> None:
    headers = [(b"content-type", answer.type.encode()), (b"content-length", b"%d" % len(answer.body))]
    if answer.status >= 400:
        headers += _FURTHER.get(answer.status, [])
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
