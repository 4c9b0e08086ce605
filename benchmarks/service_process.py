"""A service in a process of its own, on a free port: started, asked, killed, started again."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOGD = {"task": "binary", "classes": [0, 1], "algorithm": {"name": "fogd", "n_components": 16}}
ARROW = "application/vnd.apache.arrow.stream"


class Reply:
    """What the service answered."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def type(self):
        return self.headers.get("content-type", "")

    def json(self):
        return json.loads(self.body)


class Process:
    """`kernelstream serve` of a store; settings are those of its TOML."""

    def __init__(self, folder, *, tls=False, **settings):
        self.folder, self.tls = Path(folder), tls
        self.folder.mkdir(parents=True, exist_ok=True)
        self.store = Path(settings.pop("store", self.folder / "store"))
        self.config, self.log = self.folder / "serve.toml", self.folder / "log.jsonl"
        self.config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items()))
        self.port = 0
        self.process = None

    @property
    def command(self):
        command = [sys.executable, "-m", "kernelstream", "serve", "--store", str(self.store)]
        return command + ["--port", str(self.port), "--config", str(self.config)]

    def start(self, seconds=120.0):
        """Start it, or start it again at the same address, and wait until it listens."""
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=log, env=environment)
        watch = threading.Timer(seconds, self.process.kill)
        watch.start()
        said = self.process.stdout.readline().decode()
        watch.cancel()
        found = re.search(r" at https?://\S+:(\d+)$", said.strip())
        assert found, f"it did not start: {said!r} {self.log.read_text()[-3000:]}"
        self.port = int(found[1])
        return self

    def wait_ready(self, seconds=60.0):
        end = time.monotonic() + seconds
        while self.ask("GET", "/v2/health/ready").status != 200:
            assert time.monotonic() < end, "it is not ready"
            time.sleep(0.02)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self, seconds=60.0):
        """SIGTERM; how long it took to end, and with what status."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(seconds)
        self.process.stdout.close()
        return time.monotonic() - began, status

    def __enter__(self):
        return self.start()

    def __exit__(self, *error):
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def connection(self, seconds=60.0):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)

    def ask(self, method, path, body=None, headers=None, *, connection=None):
        """One request; a body that is no bytes goes as JSON."""
        own = connection is None
        connection = connection or self.connection()
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers = {"Content-Type": "application/json"} | (headers or {})
        try:
            connection.request(method, path, body, headers or {})
            found = connection.getresponse()
            return Reply(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())
        finally:
            if own:
                connection.close()

    def make(self, name="m", spec=None):
        reply = self.ask("PUT", f"/v2/models/{name}", spec or FOGD)
        assert reply.status in (200, 201), reply.body
        return reply

    def learn(self, rows, labels, name="m", **headers):
        return self.ask("POST", f"/v2/models/{name}/learn", {"rows": rows, "labels": labels}, headers)

    def predict(self, rows, ids=None, name="m", **headers):
        body = {"rows": rows} | ({} if ids is None else {"ids": ids})
        return self.ask("POST", f"/v2/models/{name}/predict", body, headers)

    def labels(self, labels, name="m", **headers):
        return self.ask("POST", f"/v2/models/{name}/labels", {"labels": labels}, headers)

    def described(self, name="m"):
        return self.ask("GET", f"/v2/models/{name}").json()

    def download(self, path, name="m"):
        from kernelstream import Learner

        reply = self.ask("GET", f"/v2/models/{name}/file")
        assert reply.status == 200, reply.body
        Path(path).write_bytes(reply.body)
        return Learner.load(path)

    @property
    def resident(self):
        """Bytes of its memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


def differences(one: Any, other: Any, *, waiting: bool = True) -> list[str]:
    """Names of what two learners do not have in common, bit for bit; rows that wait may be left out."""
    (head, arrays), (other_head, other_arrays) = one.to_parts(), other.to_parts()
    names = (set(head) | set(other_head)) - (set() if waiting else {"waiting"})
    found = [name for name in names if head.get(name) != other_head.get(name)]
    for name in set(arrays) | set(other_arrays):
        if waiting or not name.startswith("waiting"):
            pair = arrays.get(name), other_arrays.get(name)
            told = [None if array is None else (array.dtype, array.shape, array.tobytes()) for array in pair]
            if told[0] != told[1]:
                found.append(name)
    return sorted(found)


@contextlib.contextmanager
def serving(folder: Path | str, **settings: Any) -> Iterator["Process"]:
    """A service that is ready; it is killed at the end if it still runs."""
    process = Process(folder, **settings)
    with process:
        yield process.wait_ready()
