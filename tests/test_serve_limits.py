"""What a service takes, and from whom: sizes, numbers, times; tokens, hosts, origins; one process a store."""

import asyncio
import contextlib
import http.client
import json
import re
import socket
import sqlite3
import ssl
import subprocess
import threading
import time

import numpy as np
import pytest
from benchmarks.service_process import FOGD, Process, serving

from kernelstream import Binary, Regression, make
from kernelstream.engine import Shape
from kernelstream.engine.state import leaves
from kernelstream.numerics.rows import Sample
from kernelstream.serve.records import Record, Refusal, read
from kernelstream.serve.room import require_room
from kernelstream.serve.service import Service
from kernelstream.serve.settings import Settings
from kernelstream.serve.specs import ModelSpec
from kernelstream.serve.state import State

pytest.importorskip("fastapi", reason="pip install 'kernelstream[serve]' brings it")

SMALL = {
    "most_body": 20_000,
    "most_bodies": 50_000,
    "most_rows": 50,
    "most_requests": 6,
    "most_queued": 60,
    "most_streams": 2,
    "most_models": 3,
    "most_model_bytes": 1_000_000,
    "read_seconds": 1.0,
    "stop_seconds": 5.0,
    "publish_seconds": 0.01,
    "waiting_rows": 30,
}
ROW = [0.25, 0.5]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("serve"), **SMALL) as running:
        running.make()
        assert running.learn([ROW, [1.0, 0.0]], [1, 0]).status == 200
        yield running


@contextlib.contextmanager
def connected(service):
    with socket.create_connection(("127.0.0.1", service.port), 30) as connection:
        yield connection


def seconds_until_closed(connection, most=15.0):
    """How long the service leaves a connection open, and what it said."""
    began, said = time.monotonic(), b""
    connection.settimeout(most)
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65_536):
            said += part
    return time.monotonic() - began, said


def refused(reply, status, *words):
    assert reply.status == status, reply.body
    assert reply.type == "application/json"
    for word in words:
        assert word in reply.json()["error"]
    return True


# Sizes and numbers.


def test_a_body_that_is_too_large_is_refused(service):
    body = b'{"rows": [[' + b"1," * 20_000 + b"1]]}"
    assert refused(service.ask("POST", "/v2/models/m/predict", body), 413, "most_body")


def test_a_body_of_chunks_that_does_not_end_is_refused_at_the_same_size(service):
    with connected(service) as connection:
        connection.sendall(
            b"POST /v2/models/m/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        with contextlib.suppress(OSError):
            for _ in range(40):
                connection.sendall(b"400\r\n" + 1024 * b"1" + b"\r\n")
        _, said = seconds_until_closed(connection)
    assert b" 413 " in said.split(b"\r\n")[0] and b"most_body" in said


def test_too_many_rows_are_refused(service):
    assert service.predict([ROW] * 50).status == 200
    assert refused(service.predict([ROW] * 51), 413, "51", "most_rows")
    assert refused(service.learn([ROW] * 51, [1] * 51), 413, "51", "most_rows")


def test_a_head_without_end_is_cut_off(service):
    with connected(service) as connection:
        connection.sendall(b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n")
        with pytest.raises(OSError):
            for _ in range(10_000):
                connection.sendall(b"X-More: " + 1000 * b"a" + b"\r\n")


def test_more_models_than_may_be_are_refused(service):
    for name in ("one", "two"):
        assert service.ask("PUT", f"/v2/models/{name}", FOGD).status == 201
    assert refused(service.ask("PUT", "/v2/models/three", FOGD), 409, "most_models")
    for name in ("one", "two"):
        assert service.ask("DELETE", f"/v2/models/{name}").status == 204


def test_a_model_that_would_take_too_many_bytes_is_not_made(service):
    for sizes, name in (
        ({"n_components": 2_000_000_000}, "n_components"),
        ({"n_components": 30_000_000}, "30,000,000"),
    ):
        asked = {"task": "regression", "algorithm": {"name": "fogd", **sizes}}
        reply = service.ask("PUT", "/v2/models/large", asked)
        assert refused(reply, 422, "most_model_bytes", "1,000,000", name)
    assert service.ask("GET", "/v2/models/large").status == 404


def test_rows_that_would_make_a_model_too_large_are_refused_before_it_is(service):
    spec = {"task": "regression", "algorithm": {"name": "fogd", "n_components": 2000}}
    service.make("wide", spec)
    try:
        assert refused(service.learn([[1.0] * 200], [1], "wide"), 422, "200 features", "most_model_bytes")
        row = {f"n{k}": 1.0 for k in range(200)}
        assert refused(service.learn([row], [1], "wide"), 422, "200 features", "n_components than 2,000")
        assert refused(service.predict([row], ["a"], "wide"), 422, "200 features")
        assert service.learn([{"a": 1.0, "b": 2.0}], [1], "wide").status == 200
        assert service.ask("POST", "/v2/models/wide/predict?fresh=1", {"rows": [{"a": 1.0}]}).status == 200
        assert refused(service.learn([{"a": 1.0, **row}], [1], "wide"), 422, "202 features")
        assert service.learn([{"a": 1.0, "b": 3.0}], [1], "wide").status == 200
    finally:
        service.ask("DELETE", "/v2/models/wide")


def test_a_model_that_has_grown_too_large_learns_no_more(service):
    service.make("growing", {"task": "regression", "algorithm": {"name": "klms"}})
    try:
        rng = np.random.default_rng(0)
        for _ in range(300):
            reply = service.learn(rng.normal(size=(50, 20)).round(3).tolist(), [1.0] * 50, "growing")
            if reply.status != 200:
                break
        assert refused(reply, 422, "most_model_bytes", "budget")
        assert service.predict([[0.0] * 20], name="growing").status == 200
    finally:
        service.ask("DELETE", "/v2/models/growing")


@pytest.mark.parametrize("name", ["fogd", "ridge", "nogd", "krls-t", "rbp", "stack"])
def test_what_a_model_takes_is_known_from_smaller_ones(name):
    spec = make(name)
    sizes = {k: 1500 for k in ("n_components", "budget") if hasattr(spec, k)}
    task, spec = Regression() if "regression" in spec.tasks else Binary([0, 1]), make(name, **sizes)
    shape = Shape(900, task.n_outputs, 0, np.dtype("float32"))
    state = spec.settle(task.name, Sample(1.0, 1)).init(shape)
    took = sum(array.nbytes for array in leaves(state, derived=True).values())
    require_room(spec, task, "float32", 900, int(1.02 * took))
    with pytest.raises(Refusal, match="most_model_bytes"):
        require_room(spec, task, "float32", 900, int(0.98 * took))


def test_a_first_row_for_which_there_is_no_memory_is_no_matter_of_time(tmp_path, monkeypatch):
    async def run():
        service = Service(Settings(store=str(tmp_path)))
        service.start()
        model, _ = await service.make("m", ModelSpec(task="regression", algorithm="rbp"))
        monkeypatch.setattr(State, "apply", lambda *_: (_ for _ in ()).throw(MemoryError))
        record = Record("learn", "json", b'{"rows": [[1.0]], "labels": [1.0]}', 0.0)
        answer = await model.submit(record, read(record))
        await asyncio.to_thread(service.stop)
        return answer

    answer = asyncio.run(run())
    assert answer.status == 422 and b"not enough memory for this model" in answer.body


def test_settings_are_refused_in_the_words_of_their_file(tmp_path):
    path = tmp_path / "serve.toml"
    for text, words in (
        ('port = "5"', "port='5' must be a whole number"),
        ("most_rows = 1.5", "most_rows=1.5 must be a whole number"),
        ("log_share = true", "log_share=True must be a number"),
        ("tls_key = 5", "tls_key=5 must be text, in quotes"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            Settings.read(path)


def test_more_requests_at_a_time_than_may_be_are_told_to_come_again(service):
    with contextlib.ExitStack() as stack:
        for _ in range(SMALL["most_requests"]):
            connection = stack.enter_context(connected(service))
            connection.sendall(b"POST /v2/models/m/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
        time.sleep(0.3)
        reply = service.ask("GET", "/v2/health/live")
        assert refused(reply, 503, "6 requests")
        assert int(reply.headers["retry-after"]) >= 1
    time.sleep(0.3)
    assert service.ask("GET", "/v2/health/live").status == 200


def test_bodies_at_a_time_are_bounded(service):
    """Those that are there already are answered; one more is told to come again, whether or not it says its length."""
    body = json.dumps({"rows": [ROW]}).encode().ljust(20_000)
    head = b"POST /v2/models/m/predict HTTP/1.1\r\nHost: localhost\r\n"
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connected(service)) for _ in range(2)]
        for connection in connections:
            connection.sendall(head + b"Content-Length: 20000\r\n\r\n" + body[:-1])
        time.sleep(0.3)
        assert service.ask("POST", "/v2/models/m/predict", body[:10_000]).status == 200
        reply = service.ask("POST", "/v2/models/m/predict", body[:10_003])
        assert refused(reply, 503, "50,000", "most_bodies") and reply.headers["retry-after"]
        chunked = stack.enter_context(connected(service))
        chunked.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n4E20\r\n" + body + b"\r\n")
        _, said = seconds_until_closed(chunked)
        assert b" 503 " in said.split(b"\r\n")[0] and b"most_bodies" in said
        for connection in connections:
            connection.sendall(body[-1:])
            assert b" 200 " in connection.recv(65_536).split(b"\r\n")[0]
    assert service.ask("POST", "/v2/models/m/predict", body).status == 200


def test_bodies_at_a_time_have_room_for_one():
    with pytest.raises(ValueError, match=r"most_bodies=10.*most_body=20"):
        Settings(most_body=20, most_bodies=10)


def test_rows_that_wait_to_be_learned_are_bounded(service):
    """Clients that learn at the same time: some are told to come again, nothing of theirs is learned."""
    before, replies = service.described()["rows_learned"], []

    def learn():
        for _ in range(30):
            replies.append(service.learn([ROW] * 40, [1] * 40))

    threads = [threading.Thread(target=learn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [reply for reply in replies if reply.status == 429]
    assert found and {reply.status for reply in replies} == {200, 429}
    assert all("60 may" in reply.json()["error"] and reply.headers["retry-after"] for reply in found)
    assert service.described()["rows_learned"] == before + 40 * (len(replies) - len(found))


def test_pages_that_watch_are_bounded(service):
    with contextlib.ExitStack() as stack:
        for _ in range(SMALL["most_streams"]):
            connection = stack.enter_context(connected(service))
            connection.sendall(b"GET /v2/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"text/event-stream" in connection.recv(65_536)
        reply = service.ask("GET", "/v2/events")
        assert refused(reply, 503, "most_streams") and reply.headers["retry-after"]
    for _ in range(50):
        with connected(service) as connection:
            connection.sendall(b"GET /v2/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            if b" 200 " in connection.recv(65_536).split(b"\r\n")[0]:
                break
        time.sleep(0.1)
    else:
        raise AssertionError("places of those who are gone are not free again")


def test_rows_that_wait_for_labels_are_bounded_and_counted(service):
    service.make("waits")
    for first in range(0, 80, 20):
        ids = [f"w{k}" for k in range(first, first + 20)]
        assert service.predict([ROW] * 20, ids, "waits").status == 200
    told = service.described("waits")
    assert (told["rows_waiting"], told["rows_given_up"]) == (30, 50)
    said = service.labels({"w0": 1, "w49": 1, "w50": 1}, "waits").json()["labels"]
    assert said == {"w0": "unknown", "w49": "unknown", "w50": "learned"}
    assert service.ask("DELETE", "/v2/models/waits").status == 204


def test_rows_that_wait_too_long_are_given_up(service):
    service.make("ages", FOGD | {"waiting_seconds": 0.5})
    service.predict([ROW], ["old"], "ages")
    time.sleep(0.7)
    service.predict([ROW], ["new"], "ages")
    told = service.described("ages")
    assert (told["rows_waiting"], told["rows_given_up"]) == (1, 1)
    assert service.ask("DELETE", "/v2/models/ages").status == 204


# Times.


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /v2 HT",
        b"GET /v2 HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        b"POST /v2/models/m/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
    ],
    ids=["nothing", "half a line", "half a head", "half a body"],
)
def test_who_is_slow_to_ask_is_cut_off(service, sent):
    with connected(service) as connection:
        connection.sendall(sent)
        took, said = seconds_until_closed(connection)
    assert 0.5 < took < 5.0
    assert said == b"" or b" 408 " in said.split(b"\r\n")[0]


def test_who_drips_a_head_is_cut_off(service):
    with connected(service) as connection:
        began = time.monotonic()
        with contextlib.suppress(OSError):
            for letter in b"GET /v2 HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + 200 * b"a":
                connection.sendall(bytes([letter]))
                time.sleep(0.05)
        assert time.monotonic() - began < 6.0


def test_who_does_not_take_an_answer_is_cut_off(tmp_path):
    """Memory that holds answers nobody takes is given back."""
    with serving(tmp_path, read_seconds=1.0) as service:
        service.make()
        rows = json.dumps({"rows": [ROW] * 100_000}).encode()
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                connection = stack.enter_context(socket.socket())
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.connect(("127.0.0.1", service.port))
                connection.settimeout(60)
                head = f"POST /v2/models/m/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(rows)}\r\n\r\n"
                connection.sendall(head.encode() + rows)
                connection.recv(1)  # the answer is there
            end = time.monotonic() + 20.0
            while open_connections(service) > 0 and time.monotonic() < end:
                time.sleep(0.2)
            assert open_connections(service) == 0
        assert service.ask("GET", "/v2/health/live").status == 200


def open_connections(service):
    """Connections that the process has to clients."""
    with open(f"/proc/{service.process.pid}/net/tcp") as table:
        lines = [line.split() for line in table][1:]
    mine = f":{service.port:04X}"
    return sum(line[1].endswith(mine) and line[3] == "01" and line[9] != "0" for line in lines)


# Names, hosts, origins.


@pytest.mark.parametrize(
    "name", ["..%2fx", "%2e%2e", "..", ".hidden", "a" * 65, "a%00b", "a%0a", "%c3%a9", "a b".replace(" ", "%20")]
)
def test_a_name_that_is_none_is_refused(service, name):
    reply = service.ask("PUT", f"/v2/models/{name}", FOGD)
    assert reply.status in (404, 405, 422) and reply.json()["error"]
    assert service.ask("GET", f"/v2/models/{name}").status in (404, 200 if name == ".." else 404)
    assert sorted(path.name for path in service.store.parent.iterdir()) == ["log.jsonl", "serve.toml", "store"]


@pytest.mark.parametrize(
    "path", ["/page/../app.py", "/page/%2e%2e/app.py", "/page/..%2f..%2fserve/app.py", "/docs/files/../x"]
)
def test_no_file_beside_the_pages_is_served(service, path):
    assert service.ask("GET", path).status == 404


def test_a_local_service_answers_this_machine_alone(service):
    for host in ("localhost", "127.0.0.1", f"localhost:{service.port}", "[::1]:80"):
        assert service.ask("GET", "/v2", headers={"Host": host}).status == 200
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "10.0.0.1"):
        assert refused(service.ask("GET", "/v2", headers={"Host": host}), 421, "not this machine")


def test_pages_of_other_sites_may_not_change_anything(service):
    own = f"http://127.0.0.1:{service.port}"
    host = {"Host": f"127.0.0.1:{service.port}"}
    body = json.dumps({"rows": [ROW]}).encode()
    ask = lambda **more: service.ask("POST", "/v2/models/m/predict", body, host | more)  # noqa: E731
    assert ask().status == ask(Origin=own).status == 200
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{service.port + 1}"):
        assert refused(ask(Origin=origin), 403, "other sites")
    assert refused(ask(**{"Sec-Fetch-Site": "cross-site"}), 403)


# Who may.

TABLE = {
    ("GET", "/v2"): None,
    ("GET", "/v2/health/live"): None,
    ("GET", "/v2/health/ready"): None,
    ("GET", "/v2/models"): "predict",
    ("GET", "/v2/models/{name}"): "predict",
    ("GET", "/v2/models/{name}/ready"): "predict",
    ("GET", "/v2/models/{name}/history"): "predict",
    ("GET", "/v2/models/{name}/file"): "predict",
    ("GET", "/metrics"): "predict",
    ("GET", "/v2/events"): "predict",
    ("POST", "/v2/models/{name}/predict"): "predict",
    ("POST", "/v2/models/{name}/infer"): "predict",
    ("GET", "/v2/models/{name}/versions/{version}"): "predict",
    ("GET", "/v2/models/{name}/versions/{version}/ready"): "predict",
    ("POST", "/v2/models/{name}/versions/{version}/infer"): "predict",
    ("POST", "/v2/models/{name}/learn"): "learn",
    ("POST", "/v2/models/{name}/labels"): "learn",
    ("PUT", "/v2/models/{name}"): "admin",
    ("DELETE", "/v2/models/{name}"): "admin",
    ("PUT", "/v2/models/{name}/file"): "admin",
    ("POST", "/v2/models/{name}/snapshots"): "admin",
    ("POST", "/v2/models/{name}/snapshots/{kept}/restore"): "admin",
    ("DELETE", "/v2/models/{name}/snapshots/{kept}"): "admin",
}
SCOPES = ("predict", "learn", "admin")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    from kernelstream.serve import tokens

    process = Process(tmp_path_factory.mktemp("tokens"), read_seconds=2.0)
    process.tokens = {scope: tokens.make_token(process.store, f"a {scope}", scope) for scope in SCOPES}
    process.make_token = lambda name, scope: tokens.make_token(process.store, name, scope)
    process.revoke = lambda name: tokens.revoke(process.store, name)
    with process:
        yield process.wait_ready()


def status_of(service, method, path, token):
    """The status alone: events have no end."""
    connection = service.connection()
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        connection.request(method, re.sub(r"{\w+}", "none", path), headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_every_operation_stands_in_the_table(guarded):
    paths = guarded.ask("GET", "/openapi.json").json()["paths"]
    assert {(method.upper(), path) for path, methods in paths.items() for method in methods} == set(TABLE)


@pytest.mark.parametrize(("method", "path"), TABLE)
def test_an_operation_needs_its_scope(guarded, method, path):
    needed = TABLE[method, path]
    refusals = {}
    for token in (None, "ks_wrong", *SCOPES):
        refusals[token] = status_of(guarded, method, path, guarded.tokens.get(token, token))
    for token, status in refusals.items():
        if needed is None:
            assert status == 200
        elif token not in SCOPES:
            assert status == 401
        elif SCOPES.index(token) < SCOPES.index(needed):
            assert status == 403
        else:
            assert status not in (401, 403) and status < 500


@pytest.mark.parametrize(
    ("method", "path", "token", "status"),
    [
        ("POST", "/v2/models/m/predict", None, 401),
        ("POST", "/v2/models/m/infer", "ks_wrong", 401),
        ("POST", "/v2/models/m/learn", "predict", 403),
        ("PUT", "/v2/models/m/file", "learn", 403),
        ("GET", "/v2/models", None, 401),
        ("PUT", "/v2/models/m/nothing", None, 401),
    ],
)
def test_the_body_of_who_may_not_is_not_read(guarded, method, path, token, status):
    """It is answered by the head alone; of what is sent all the same no more is taken than sockets hold."""
    size, taken, before = 31 * 2**20, [], guarded.resident
    shown = f"Authorization: Bearer {guarded.tokens.get(token, token)}\r\n" if token else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{shown}Content-Length: {size}\r\n\r\n".encode()
    with connected(guarded) as connection:
        connection.sendall(head)
        took, said = seconds_until_closed(connection)
        assert f" {status} ".encode() in said.split(b"\r\n")[0] and took < 1.5  # of the 2 that a body may take
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            connection = stack.enter_context(connected(guarded))
            connection.settimeout(5.0)
            taken.append(0)
            with contextlib.suppress(OSError):
                connection.sendall(head)
                while taken[-1] < size:
                    taken[-1] += connection.send(bytes(65_536))
            assert f" {status} ".encode() in seconds_until_closed(connection)[1].split(b"\r\n")[0]
        assert guarded.resident - before < 8 * 2**20
    assert max(taken) < size / 2


def test_a_token_is_revoked_within_a_second(guarded):
    token = guarded.make_token("short", "predict")
    time.sleep(1.1)
    assert status_of(guarded, "GET", "/v2/models", token) == 200
    guarded.revoke("short")
    time.sleep(1.1)
    assert status_of(guarded, "GET", "/v2/models", token) == 401


def test_where_tokens_cannot_be_read_nobody_is_let_in(tmp_path, monkeypatch):
    service = Service(Settings(store=str(tmp_path)))

    def fails():
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(service.store, "tokens", fails)
    with pytest.raises(Refusal, match="disk I/O error") as refusal:
        service.require("", "predict", {})
    assert refusal.value.status == 503
    service.stop()


def test_the_store_does_not_hold_tokens_and_the_log_neither(guarded):
    held = b"".join(path.read_bytes() for path in guarded.store.iterdir() if path.is_file()) + guarded.log.read_bytes()
    assert b"a predict" in held
    for token in guarded.tokens.values():
        assert token.encode() not in held


def run_to_end(process, *more):
    return subprocess.run([*process.command, *more], capture_output=True, text=True, timeout=120)


def test_a_service_for_other_machines_needs_a_token(tmp_path):
    from kernelstream.serve import tokens

    process = Process(tmp_path)
    ended = run_to_end(process, "--host", "0.0.0.0")
    assert ended.returncode != 0 and "kernelstream token make" in ended.stderr
    token = tokens.make_token(process.store, "only", "admin")
    process.config.write_text('host = "0.0.0.0"\n')
    with process:
        assert status_of(process, "GET", "/v2/models", token) == 200
        tokens.revoke(process.store, "only")  # without any, nobody may
        time.sleep(1.1)
        assert status_of(process, "GET", "/v2/models", token) == status_of(process, "GET", "/v2/models", None) == 401


def test_a_store_has_one_process(service):
    ended = run_to_end(Process(service.folder / "second", store=service.store))
    assert ended.returncode != 0 and "served by another process" in ended.stderr
    assert service.predict([ROW]).status == 200


def test_tls_by_files(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    with Process(tmp_path / "serve", tls_certificate=str(certificate), tls_key=str(key), read_seconds=1.0) as service:
        context = ssl.create_default_context(cafile=str(certificate))
        connection = http.client.HTTPSConnection("localhost", service.port, timeout=60, context=context)
        with contextlib.closing(connection):
            connection.request("GET", "/v2")
            assert connection.getresponse().read().startswith(b'{"name":"kernelstream"')
        with connected(service) as plain:
            plain.sendall(b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200" not in seconds_until_closed(plain)[1]


# The end.


def test_a_service_that_is_told_to_stop_keeps_what_it_acknowledged(tmp_path):
    with serving(tmp_path, stop_seconds=5.0) as service:
        service.make()
        acknowledged, going = [0] * 4, True

        def learn(number):
            while going:
                try:
                    if service.learn([ROW] * 3, [1] * 3).status == 200:
                        acknowledged[number] += 3
                except (OSError, http.client.HTTPException):
                    return

        threads = [threading.Thread(target=learn, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        while min(acknowledged) < 6:
            time.sleep(0.01)
        took, _ = service.stop()
        going = False
        for thread in threads:
            thread.join()
        assert took < 5.0 + 3.0
        service.start().wait_ready()
        assert service.described()["rows_learned"] >= sum(acknowledged) > 0
        assert service.described()["log"]["records"] == 0  # all of it stands in the model's file


def test_who_deletes_a_model_leaves_no_request_unanswered(tmp_path):
    with serving(tmp_path) as service:
        statuses = []

        def learn():
            while 404 not in statuses:
                statuses.append(service.learn([ROW] * 5, [1] * 5).status)

        for _ in range(3):
            service.make()
            service.learn([ROW], [1])
            statuses.clear()
            threads = [threading.Thread(target=learn, daemon=True) for _ in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(0.1)
            assert service.ask("DELETE", "/v2/models/m").status == 204
            for thread in threads:
                thread.join(30)
                assert not thread.is_alive()
            assert set(statuses) <= {200, 404}


def test_records_beside_a_restore_are_applied_in_the_order_of_the_log(tmp_path):
    """What was learned while a snapshot was restored is there, or not, after a restart as before it."""
    with serving(tmp_path, snapshot_seconds=1e9, snapshot_bytes=2**60) as service:
        service.make()
        service.learn([ROW], [1])
        assert service.ask("POST", "/v2/models/m/snapshots", {"name": "early"}).status == 201
        ends = threading.Event()

        def learn():
            while not ends.is_set():
                service.learn([ROW], [1])

        threads = [threading.Thread(target=learn) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            assert service.ask("POST", "/v2/models/m/snapshots/early/restore").status == 200
        ends.set()
        for thread in threads:
            thread.join()
        before = service.download(tmp_path / "before.ks")
        service.kill()
        service.start().wait_ready()
        after = service.download(tmp_path / "after.ks")
        assert before.n_seen == after.n_seen
        assert before.scores([ROW]).tobytes() == after.scores([ROW]).tobytes()


def test_neither_labels_nor_features_are_logged(tmp_path):
    spec = {"task": "multiclass", "algorithm": {"name": "rbp", "budget": 5}}
    with serving(tmp_path, log_level="debug") as service:
        service.make(spec=spec)
        secret = {"height-column": 1234.5678, "city-column": "Quixeramobim"}
        service.learn([secret], ["wordy-label"])
        service.predict([secret], ["tx-77"])
        service.labels({"tx-77": "wordy-label"})
        service.learn([secret | {"height-column": "Quixeramobim"}], ["wordy-label"])  # refused
        service.ask("POST", "/v2/models/m/learn", b'{"rows": [{"height-column": 1234.5678}], "labels": ["wordy-label"')
        service.ask("POST", "/v2/models/m/learn?label=wordy-label", b"{}", {"Content-Type": "application/x-ndjson"})
        service.stop()
        log = service.log.read_text()
    assert log.count('"operation":"learn"') == 4
    for word in ("1234.5", "Quixeramobim", "wordy-label", "height-column", "tx-77"):
        assert word not in log
