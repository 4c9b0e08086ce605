"""A real service for the tests: a process of its own with a store of its own, on a port that is free."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src")}


class Running:
    """`kernelstream serve` as a process: started, killed, started again at the same address."""

    def __init__(self, store, *options):
        self.store, self.options = Path(store), options
        self.port, self.process = 0, None
        self.start()

    def start(self):
        self.log = open(self.store.with_suffix(".log"), "ab")  # noqa: SIM115 - the process's, until it ends
        command = ("serve", "--store", self.store, "--port", self.port, *self.options)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kernelstream", *map(str, command)],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=self.log,
        )
        said = self.process.stdout.readline().decode()
        assert " at http" in said, self.logged()
        self.url = said.split(" at ")[1].strip()
        self.port = int(self.url.rpartition(":")[2])

    def kill(self):
        """As a loss of power would, for the process."""
        self.process.send_signal(signal.SIGKILL)
        self._ended()

    def stop(self):
        """As an operator does; the exit code."""
        self.process.terminate()
        return self._ended()

    def _ended(self):
        code = self.process.wait(60)
        self.process.stdout.close()
        self.log.close()
        return code

    def logged(self):
        return self.store.with_suffix(".log").read_text()


@contextlib.contextmanager
def serving(store, *options):
    """A service from when it listens until the end."""
    running = Running(store, *options)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    """One for all tests that do it no harm; each of them has models of its own."""
    with serving(tmp_path_factory.mktemp("service") / "store") as running:
        yield running


class Between:
    """A proxy before a service that does not carry out, or not answer, what is asked next: `faults` are LOST (carried
    out, and the answer thrown away) or (status, headers) to answer with instead.
    """

    LOST = "lost"

    def __init__(self, service):
        self.faults, self.asked = [], []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(handler):
                body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
                self.asked.append((time.monotonic(), handler.headers.get("Idempotency-Key"), body))
                fault = self.faults.pop(0) if self.faults else None
                if fault is not None and fault != self.LOST:
                    handler.answer(fault[0], fault[1], b'{"error": "Not now."}')
                    return
                forward = HTTPConnection("127.0.0.1", service.port)
                headers = {k: v for k, v in handler.headers.items() if k.lower() != "host"}
                forward.request(handler.command, handler.path, body, headers)
                answer = forward.getresponse()
                content, kind = answer.read(), answer.headers["Content-Type"]
                forward.close()
                if fault == self.LOST:
                    handler.close_connection = True
                    handler.connection.close()
                    return
                handler.answer(answer.status, {"Content-Type": kind}, content)

            do_GET = do_POST = do_PUT = do_DELETE = handle_one

            def answer(handler, status, headers, content):
                handler.send_response(status)
                for name, value in (headers | {"Content-Length": len(content)}).items():
                    handler.send_header(name, str(value))
                handler.end_headers()
                handler.wfile.write(content)

            def log_message(handler, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        self._server.handle_error = lambda *_: None
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
