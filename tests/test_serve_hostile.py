"""Bodies that nobody would send on purpose: refused by name, while the process lives and its memory is bounded."""

import gzip
import json
import socket
import time
import zlib

import numpy as np
import pytest
from benchmarks import serve_bodies, serve_kills
from benchmarks.service_process import ARROW, serving

from kernelstream import OnlineKernelRegressor

pytest.importorskip("fastapi", reason="pip install 'kernelstream[serve]' brings it")

SPEC = {"task": "regression", "algorithm": {"name": "rbp", "budget": 5}}
NDJSON = "application/x-ndjson"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("serve"), read_seconds=5.0) as running:
        running.make(spec={"task": "regression", "algorithm": {"name": "fogd", "n_components": 8}})
        assert running.learn([{"a": 1.0, "b": "red"}], [1.0]).status == 200
        yield running
        assert running.process.poll() is None


def learned(rows='[{"a": 1}]', labels="[1]", more=""):
    return f'{{"rows": {rows}, "labels": {labels}{more}}}'.encode()


DEEP = 100_000
BODIES = {
    "nothing": b"",
    "no object": b"[1, 2]",
    "a word": b'"rows"',
    "half of it": learned()[:-1],
    "two of them": learned() + learned(),
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep lists as rows": learned("[" * DEEP + "]" * DEEP),
    "deep objects as rows": learned('[{"a":' * DEEP + "1" + "}]" * DEEP),
    "a list as a value": learned('[{"a": [1]}]'),
    "an object as a value": learned('[{"a": {"b": 1}}]'),
    "a number beyond floats": learned('[{"a": 1e999}]'),
    "a number beyond limits": learned('[{"a": 1e300}]'),
    "a number of many digits": learned(f'[{{"a": {"9" * 50_000}}}]'),
    "a label of many digits": learned(labels=f"[{'9' * 50_000}]"),
    "a label beyond limits": learned(labels="[1e300]"),
    "NaN": learned('[{"a": NaN}]'),
    "Infinity": learned('[{"a": -Infinity}]'),
    "a label that is NaN": learned(labels="[NaN]"),
    "a label that is null": learned(labels="[null]"),
    "a label that is a list": learned(labels="[[1]]"),
    "a label that is a word": learned(labels='["word"]'),
    "labels that are a word": learned(labels='"1"'),
    "too few labels": learned('[{"a": 1}, {"a": 2}]'),
    "no label": b'{"rows": [{"a": 1}]}',
    "no row": learned("[]", "[]"),
    "a row without values": learned("[{}]"),
    "rows of both kinds": learned('[{"a": 1}, [1]]', "[1, 2]"),
    "rows without names": learned("[[1]]"),
    "rows of two lengths": learned("[[1], [1, 2]]", "[1, 2]"),
    "an id": learned(more=', "ids": ["a"]'),
    "something else": learned(more=', "lables": [1]'),
    "a weight below zero": learned(more=', "weights": [-1]'),
    "a weight that is a word": learned(more=', "weights": ["1"]'),
    "bytes that are no text": learned('[{"a": "X"}]').replace(b"X", b"\xff\xfe"),
    "half a letter": learned('[{"a": "X"}]').replace(b"X", b"\\ud800"),
    "UTF-16": learned().decode().encode("utf-16"),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_not_asked_for_is_refused_by_name(service, name):
    before = service.described()["rows_learned"]
    reply = service.ask("POST", "/v2/models/m/learn", BODIES[name], {"Content-Type": "application/json"})
    assert 400 <= reply.status < 500, reply.body[:300]
    assert len(reply.json()["error"]) > 10 and len(reply.body) < 2000
    assert service.described()["rows_learned"] == before


def test_a_name_that_stands_twice_in_a_row_has_its_last_value(service):
    reply = service.ask("POST", "/v2/models/m/learn", learned('[{"a": 1, "a": 2}]'))
    assert reply.status == 200  # what JSON leaves open; the log holds the same bytes, and is read by the same reader


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        (NDJSON, b'{"a": 1, "label": 1}\n{"a": 2}\n'),
        (NDJSON, b'{"a": 1, "label": [1]}\n'),
        (NDJSON, b"\xff\xfe\n"),
        (NDJSON, b"{" * 100_000),
        (NDJSON, b"\n\n"),
        (ARROW, b""),
        (ARROW, b"ARROW1\0\0"),
        (ARROW, b"\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes(64)),
        (ARROW, bytes(1000)),
    ],
)
def test_lines_and_tables_that_are_none_are_refused(service, type_, body):
    reply = service.ask("POST", "/v2/models/m/learn", body, {"Content-Type": type_})
    assert 400 <= reply.status < 500 and len(reply.json()["error"]) > 10


def arrow(**columns):
    import pyarrow as pa

    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def tables():
    import datetime
    from decimal import Decimal

    import pyarrow as pa

    return {
        "a label missing": {"a": [1.0, 2.0], "label": [1.0, None]},
        "a label NaN": {"a": [1.0], "label": [np.nan]},
        "a label infinite": {"a": [1.0], "label": [np.inf]},
        "a value infinite": {"a": [np.inf], "label": [1.0]},
        "a value beyond limits": {"a": [1e300], "label": [1.0]},
        "labels of lists": {"a": [1.0], "label": [[1.0]]},
        "labels of dates": {"a": [1.0], "label": [datetime.date(2020, 1, 1)]},
        "labels of decimals": {"a": [1.0], "label": [Decimal("1.5")]},
        "values of lists": {"a": [[1.0]], "label": [1.0]},
        "values of structs": {"a": [{"b": 1}], "label": [1.0]},
        "values of bytes": {"a": [b"\xff"], "label": [1.0]},
        "a weight below zero": {"a": [1.0], "weight": [-1.0], "label": [1.0]},
        "a weight NaN": {"a": [1.0], "weight": [np.nan], "label": [1.0]},
        "no features": {"label": [1.0]},
        "no rows": {"a": pa.array([], pa.float64()), "label": pa.array([], pa.float64())},
    }


@pytest.mark.parametrize("name", tables())
def test_a_table_that_cannot_be_learned_is_refused(service, name):
    before = service.described()["rows_learned"]
    reply = service.ask("POST", "/v2/models/m/learn", arrow(**tables()[name]), {"Content-Type": ARROW})
    assert 400 <= reply.status < 500, (reply.status, reply.body[:300])
    assert len(reply.json()["error"]) > 10
    assert service.described()["rows_learned"] == before


@pytest.mark.parametrize(
    "path", ["/v2/models/x", "/v2/models/m/snapshots", "/v2/models/m/infer", "/v2/models/m/labels"]
)
@pytest.mark.parametrize(
    "name", ["nothing", "no object", "deep lists", "half of it", "UTF-16", "a number of many digits"]
)
def test_other_operations_refuse_them_too(service, path, name):
    reply = service.ask("PUT" if path.endswith("x") else "POST", path, BODIES[name])
    assert 400 <= reply.status < 500 and len(reply.json()["error"]) > 10 and len(reply.body) < 5000


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: -1",
        b"Content-Length: 5\r\nContent-Length: 6",
        b"Content-Length: 9" + 30 * b"9",
        b"Content-Length: x",
    ],
)
def test_a_length_that_is_none_is_refused(service, head):
    with socket.create_connection(("127.0.0.1", service.port), 30) as connection:
        connection.sendall(b"POST /v2/models/m/learn HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n\r\n{}{}{}")
        assert b" 4" in connection.recv(65_536).split(b"\r\n")[0][:13]


def test_rows_that_would_make_a_model_too_wide_are_refused(tmp_path):
    with serving(tmp_path, most_features=50) as service:
        service.make(spec={"task": "regression", "algorithm": {"name": "fogd", "n_components": 8}})
        before = service.resident
        for first, status in ((0, 200), (100_000, 413)):
            row = {f"name-{k}": 1.0 for k in range(first, first + 40 + first)}
            reply = service.learn([row], [1.0])
            assert reply.status == status
        assert "most_features" in reply.json()["error"]
        assert service.learn([{"name-0": 1.0, "word": f"w{t}"} for t in range(30)], [1.0] * 30).status == 413
        assert service.predict([{"word": f"w{t}"} for t in range(30)], [f"i{t}" for t in range(30)]).status == 413
        assert service.learn([{"name-0": 2.0}] * 60, [1.0] * 60).status == 200  # what it knows, it goes on learning
        assert service.described()["features"] == 40
        table = arrow(**{f"c{k}": [1.0] for k in range(30)}, label=[1.0])
        assert service.ask("POST", "/v2/models/m/learn", table, {"Content-Type": ARROW}).status == 413
        service.make("list", {"task": "regression", "algorithm": {"name": "fogd", "n_components": 8}})
        assert service.learn([[1.0] * 51], [1.0], "list").status == 413
        assert service.learn([[1.0] * 50], [1.0], "list").status == 200
        assert service.resident - before < 300 * 2**20


@pytest.mark.parametrize(("kind", "n"), [("arrow", 500), ("json", 150), ("tensors", 150), ("models", 60)])
def test_mutated_bodies_are_refused_or_taken(tmp_path, kind, n):
    done, faults = serve_bodies.mutated(tmp_path, kind, n, seed=0)
    assert not faults
    assert "x 2" in done and "x 4" in done  # some were taken, some were not


@pytest.mark.parametrize("path", ["learn", "predict", "labels", "infer"])
def test_bodies_may_be_packed_and_have_a_type(service, path):
    bodies = {
        "learn": learned(),
        "predict": b'{"rows": [{"a": 1, "b": "red"}]}',
        "labels": b'{"labels": {"nobody": 1}}',
        "infer": b'{"inputs": [{"name": "a", "shape": [1], "datatype": "FP64", "data": [1]}]}',
    }
    address, body = f"/v2/models/m/{path}", bodies[path]
    for encoding, pack in (("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)):
        reply = service.ask("POST", address, pack(body), {"Content-Encoding": encoding})
        assert reply.status == 200, reply.body
    bomb = gzip.compress(b" " * 2**26)
    for packed, encoding, status, words in (
        (body, "gzip", 400, "is not gzip"),
        (bomb, "gzip", 413, "most_body"),
        (body, "br", 415, "there are gzip and deflate"),
    ):
        reply = service.ask("POST", address, packed, {"Content-Encoding": encoding})
        assert reply.status == status and words in reply.json()["error"]
    for kind, status in (("application/x-www-form-urlencoded", 200), ("application/json; charset=utf-8", 200)):
        assert service.ask("POST", address, body, {"Content-Type": kind}).status == status
    for kind in ("text/csv", "text/plain", "application/xml"):
        reply = service.ask("POST", address, body, {"Content-Type": kind})
        assert reply.status == 415 and f"{kind!r} is not taken here; send application/json" in reply.json()["error"]
    for method, other in (("PUT", "/v2/models/new"), ("POST", "/v2/models/m/snapshots"), ("PUT", "/v2/models/m/file")):
        assert service.ask(method, other, b"{}", {"Content-Type": "text/csv"}).status == 415


def test_an_algorithm_that_is_none_is_refused_in_one_sentence(service):
    for algorithm in ({"name": ["fogd"]}, {"name": None}, [1], 3):
        reply = service.ask("PUT", "/v2/models/new", {"task": "regression", "algorithm": algorithm})
        error = reply.json()["error"]
        assert (
            reply.status == 422 and error.count("algorithm") == 1 and '{"name": "fogd", "kernel.gamma": 0.1}' in error
        )


def test_a_file_of_several_targets_says_what_it_is(service, tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    OnlineKernelRegressor("rbp").fit(X, X).save(tmp_path / "two.ks")
    reply = service.ask("PUT", "/v2/models/two/file", (tmp_path / "two.ks").read_bytes())
    assert reply.status == 422
    assert "a learner for each of 2 targets, where one is asked for" in reply.json()["error"]
    assert "damaged" not in reply.json()["error"]


def test_keys_are_kept_in_bounded_memory(tmp_path):
    """The log is cut, and answers go from memory to the store, by the bytes that they need."""
    with serving(tmp_path, snapshot_bytes=200_000, snapshot_seconds=1e9) as service:
        service.make(spec=serve_kills.SPEC)
        connection = service.connection()
        body = json.dumps({"rows": [[1.0, 2.0, 3.0]], "labels": [1]}).encode()
        first = service.ask("POST", "/v2/models/m/learn", body, {"Idempotency-Key": "k0"}, connection=connection)
        for number in range(1, 600):
            service.ask("POST", "/v2/models/m/learn", body, {"Idempotency-Key": f"k{number}"}, connection=connection)
        end = time.monotonic() + 20
        while service.described()["log"]["records"] > 400 and time.monotonic() < end:
            time.sleep(0.1)
        assert service.described()["log"]["records"] <= 400
        again = service.ask("POST", "/v2/models/m/learn", body, {"Idempotency-Key": "k0"}, connection=connection)
        connection.close()
        assert again.body == first.body and service.described()["rows_learned"] == 600


def test_requests_that_are_refused_do_not_grow_the_log_of_a_model_that_has_learned_nothing(tmp_path):
    with serving(tmp_path, snapshot_seconds=0.2) as service:
        service.make(spec=serve_kills.SPEC)
        for number in range(20):
            key = {"Idempotency-Key": f"k{number}"}
            assert service.learn([[1.0]], [7], **key).status == 422
        end = time.monotonic() + 20
        while service.described()["log"]["records"] and time.monotonic() < end:
            time.sleep(0.1)
        assert service.described()["log"]["records"] == 0
        service.kill()
        service.start().wait_ready()
        assert service.learn([[1.0]], [7], **{"Idempotency-Key": "k3"}).status == 422
        assert service.learn([[1.0]], [1]).json()["rows_learned"] == 1
