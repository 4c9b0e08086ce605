"""Bodies that nobody would send on purpose: each is refused by name or taken; the process lives in bounded memory."""

import json
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from .fuzz import Models, _pick, _scratched
from .service_process import ARROW, Process, Reply

KINDS = ("arrow", "json", "models", "tensors")
UPLOADED = ("rbp", "fogd", "nogd", "bsgd-m", "bogd++", "projectron", "budget-perceptron", "polk", "avm", "forgetron")
PLAY = 256 * 2**20  # bytes that may be resident beyond those after the first tenth
_LENGTH = "Inference-Header-Content-Length"


def fault_of(reply: Reply) -> str | None:
    """What is wrong with an answer, whatever was asked: it is there, and an error says what it is."""
    if reply.status in (200, 201):
        return None
    if not 400 <= reply.status < 500:
        return f"status {reply.status}: {reply.body[:200]!r}"
    try:
        error = reply.json()["error"]
    except (ValueError, KeyError, TypeError):
        return f"status {reply.status} without an error: {reply.body[:200]!r}"
    return None if isinstance(error, str) and len(error) > 10 else f"the error says {error!r}"


def arrow_stream(rng: np.random.Generator) -> bytes:
    """A table of one of several kinds, as Arrow's bytes."""
    import pyarrow as pa

    n = int(rng.integers(1, 6))
    X = rng.normal(size=(n, 3))
    columns: dict[str, Any] = {
        "a": pa.array(X[:, 0]),
        "b": pa.array(X[:, 1], pa.float32()),
        "c": pa.array(["red", "blue", None, "green", "red"][:n]),
    }
    if rng.random() < 0.3:
        columns = {"x": pa.FixedSizeListArray.from_arrays(pa.array(X.reshape(-1)), 3)}
    if rng.random() < 0.3:
        columns["c"] = pa.array(["red", "blue", "red", "green", "red"][:n]).dictionary_encode()
    columns["label"] = pa.array((X[:, 2] > 0).astype(np.int64))
    return as_arrow(columns)


def as_arrow(columns: dict[str, Any]) -> bytes:
    """A table as Arrow's stream."""
    import pyarrow as pa

    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def json_text(rng: np.random.Generator) -> bytes:
    rows = [{"a": float(v), "b": "red"} for v in rng.normal(size=3)]
    return json.dumps({"rows": rows, "labels": [0, 1, 1], "weights": [1, 2, 0.5]}).encode()


def tensors(rng: np.random.Generator) -> bytes:
    shape = [int(v) for v in rng.integers(0, 4, size=int(rng.integers(1, 3)))]
    tensor = {"name": "x", "shape": shape, "datatype": _pick(rng, ["FP64", "BYTES", "INT8", "BOOL"])}
    if rng.random() < 0.5:
        return json.dumps({"inputs": [tensor | {"data": rng.normal(size=int(np.prod(shape))).tolist()}]}).encode()
    return json.dumps({"inputs": [tensor | {"parameters": {"binary_data_size": 8}}]}).encode() + rng.bytes(8)


def mutated(folder: Path, kind: str, n: int, *, seed: int) -> tuple[str, list[str]]:
    """Send so many mutated bodies; what was done, and what is wrong."""
    statuses: Counter[int] = Counter()
    faults: list[str] = []
    service = Process(folder, log_level="error")
    models = Models(folder) if kind == "models" else None
    for name in UPLOADED if models else ():
        models.file(name, "binary")  # made before the service waits for requests
    with service:
        service.wait_ready()
        at_rest, connection = 0, service.connection()
        for number in range(n):
            rng = np.random.default_rng([seed, KINDS.index(kind), number])
            if number % 500 == 0:  # what was taken may have made it wide
                service.ask("DELETE", "/v2/models/m")
                service.make(spec={"task": "multiclass", "classes": [0, 1], "algorithm": {"name": "rbp", "budget": 8}})
            if number == max(1, n // 10):
                at_rest = service.resident
            try:
                reply = _sent(service, connection, kind, rng, models)
            except OSError as error:
                faults.append(f"case {number}: no answer ({error!r})")
                if service.process.poll() is not None:
                    faults.append(f"the process ended with {service.process.returncode}")
                    break
                connection = service.connection()
                continue
            statuses[reply.status] += 1
            if fault := fault_of(reply):
                faults.append(f"case {number}: {fault}")
        grown = service.resident - at_rest if service.process.poll() is None else 0
        connection.close()
    if grown > PLAY:
        faults.append(f"{grown / 1e6:.0f} MB more are resident than after the first tenth")
    told = ", ".join(f"{count:,} x {status}" for status, count in sorted(statuses.items()))
    return f"{kind}: {n:,} mutated bodies: {told}, {grown / 1e6:+.0f} MB resident", faults


def _sent(service: Process, connection: Any, kind: str, rng: np.random.Generator, models: Models | None) -> Reply:
    if models is not None:
        with warnings.catch_warnings(action="ignore"):  # numbers that do not fit are wanted
            body = models.mutated(rng, models.file(_pick(rng, UPLOADED), "binary")[0])
        return service.ask("PUT", "/v2/models/file/file", body, connection=connection)
    if kind == "tensors":
        body = tensors(rng)
        at = body.rfind(b"}") + 1
        headers = {_LENGTH: str(at)} if rng.random() < 0.6 else {}
        return service.ask("POST", "/v2/models/m/infer", _scratched(rng, body), headers, connection=connection)
    body = _scratched(rng, arrow_stream(rng) if kind == "arrow" else json_text(rng))
    headers = {"Content-Type": ARROW if kind == "arrow" else "application/json"}
    return service.ask("POST", "/v2/models/m/learn", body, headers, connection=connection)
