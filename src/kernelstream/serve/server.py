"""The process: uvicorn around the application, with connections that are cut off when nothing comes."""

import asyncio
import logging
import socket
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .app import make_app
from .settings import Settings
from .telemetry import log_to_stderr

logger = logging.getLogger("kernelstream.serve")

_MOST_HEAD = 65_536  # bytes of a request before its body


def serve(settings: Settings, *, said: Any = print) -> None:
    """Serve until a signal says to stop; `said` is told the address once it listens."""
    log_to_stderr(settings)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, said))


def _loop_factory() -> Any:
    """uvloop's, which comes with uvicorn[standard] where there is one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(settings: Settings, said: Any) -> None:
    app, state = make_app(settings)
    service = state.service
    if not settings.is_local and not service.tokens():
        service.stop()
        raise ValueError(
            f"{settings.host} can be reached from other machines, and the store has no tokens: make one first, "
            f"kernelstream token make NAME --scope admin --store {settings.store}, or serve on 127.0.0.1."
        )
    try:
        listening = _listening(settings)
    except OSError as error:
        service.stop()
        raise ValueError(f"{settings.host}:{settings.port} cannot be listened on: {error.strerror}.") from None
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=_protocol(settings.read_seconds),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            ssl_certfile=settings.tls_certificate,
            ssl_keyfile=settings.tls_key,
            timeout_graceful_shutdown=int(settings.stop_seconds) or 1,
        )
    )
    host, port = listening.getsockname()[:2]
    scheme = "https" if settings.tls_certificate else "http"
    shown = f"[{host}]" if ":" in host else host
    following = asyncio.ensure_future(_follow(server, partial(said, f"{scheme}://{shown}:{port}"), state))
    try:
        await server.serve(sockets=[listening])
    finally:
        following.cancel()


async def _follow(server: uvicorn.Server, listens: Any, state: Any) -> None:
    """Say when it listens, and tell those who watch when it stops: uvicorn waits for them."""
    while not server.started:
        await asyncio.sleep(0.01)
    listens()
    while not server.should_exit:
        await asyncio.sleep(0.1)
    state.stopping.set()


def _listening(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # By the protocol's number asyncio knows that answers are not to wait for the client's acknowledgements (Nagle).
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((settings.host, settings.port))
    except OSError:
        found.close()
        raise
    return found


def _protocol(seconds: float) -> type[HttpToolsProtocol]:
    class Patient(HttpToolsProtocol):
        """HTTP, for clients that say what they want, and take what they get, within so many seconds."""

        _asked: asyncio.TimerHandle | None = None  # while a request's head is not there
        _taken: asyncio.TimerHandle | None = None  # while an answer is not taken
        _head = 0  # bytes of a head that is not there yet

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._asked = self.loop.call_later(seconds, transport.abort)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._head = 0 if self._asked is None else self._head + len(data)
            if self._head > _MOST_HEAD:
                self.transport.abort()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self._asked is None:
                self._asked = self.loop.call_later(seconds, self.transport.abort)

        def on_headers_complete(self) -> None:
            _cancel(self._asked)
            self._asked = None
            super().on_headers_complete()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._give_up_later()

        def resume_writing(self) -> None:
            _cancel(self._taken)
            self._taken = None
            super().resume_writing()

        def timeout_keep_alive_handler(self) -> None:
            super().timeout_keep_alive_handler()
            self._give_up_later()

        def _give_up_later(self) -> None:
            """Closing a connection would wait for its client to take what was answered, as long as it likes."""
            if self._taken is None:
                self._taken = self.loop.call_later(seconds, self.transport.abort)

        def connection_lost(self, exc: Exception | None) -> None:
            _cancel(self._asked)
            _cancel(self._taken)
            super().connection_lost(exc)

    return Patient


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
