"""What a service costs: requests beside an empty endpoint of the same framework, rows beside a learner in memory."""

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kernelstream import FOGD, Binary, Learner

from .measure import Plan
from .results import Record
from .serve_bodies import as_arrow
from .service_process import ARROW, Process
from .tables import table

WIDTH, BULK, CLIENTS = 8, 20_000, 16
TARGETS = {"predict": 0.6, "learn": 0.4, "bulk": 0.5}
_JSON = "application/json"


def serve(plan: Plan) -> list[Record]:
    """One-row predictions, durable one-row learning, learning in bulk by Arrow: in turns, with the floors between."""
    seconds = 0.3 if plan.most_rows < 10_000 else 3.0
    rng = np.random.default_rng(0)
    X = rng.normal(size=(min(BULK, plan.most_rows), WIDTH))
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)
    row = X[0].tolist()
    predict, learn = ({"rows": [row]} | more for more in ({}, {"labels": [1]}))
    table = as_arrow({**{f"f{j}": X[:, j] for j in range(WIDTH)}, "label": y})
    found: dict[str, list[dict[str, float]]] = {}
    spec = {"task": "binary", "classes": [0, 1], "algorithm": "fogd"}
    with tempfile.TemporaryDirectory() as folder, _echo() as echo, Process(Path(folder), log_share=0.0) as service:
        service.wait_ready().make(spec=spec)
        service.make("bulk", spec)
        service.learn([row], [1])
        service.ask("POST", "/v2/models/bulk/learn", table, {"Content-Type": ARROW})
        offline = Learner(FOGD(), Binary([0, 1]))
        offline.learn(X, y)
        for _ in range(plan.turns):
            for name, port, path, type_, clients, body in (
                ("echo", echo, "/echo", _JSON, CLIENTS, json.dumps(predict).encode()),
                ("predict", service.port, "/v2/models/m/predict", _JSON, CLIENTS, json.dumps(predict).encode()),
                ("learn", service.port, "/v2/models/m/learn", _JSON, CLIENTS, json.dumps(learn).encode()),
                ("bulk", service.port, "/v2/models/bulk/learn", ARROW, 2, table),
            ):
                found.setdefault(name, []).append(_load(port, path, type_, clients, seconds, body))
            began, n = time.perf_counter(), 0
            while time.perf_counter() - began < seconds:
                offline.learn(X, y)
                n += 1
            found.setdefault("memory", []).append({"a_second": n * len(X) / (time.perf_counter() - began)})
    for one in found["bulk"]:
        one["a_second"] *= len(X)
    floors = {"predict": "echo", "learn": "echo", "bulk": "memory"}
    return [_record(name, found[name], found[floor]) for name, floor in floors.items()]


def _record(name: str, ours: list[dict[str, float]], floor: list[dict[str, float]]) -> Record:
    ratios = [one["a_second"] / other["a_second"] for one, other in zip(ours, floor, strict=True)]
    middle = {key: statistics.median(one[key] for one in ours) for key in ("a_second", "p50", "p99")}
    record = {"what": name, **middle, "floor": statistics.median(one["a_second"] for one in floor)}
    record |= {"ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios), "target": TARGETS[name]}
    told = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in record.items()}
    print("  " + ", ".join(f"{key} {value}" for key, value in told.items()), flush=True)
    return record


def _load(port: int, path: str, type_: str, clients: int, seconds: float, body: bytes) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.serve_load", str(port), path, type_, str(clients), str(seconds)]
    ended = subprocess.run(command, input=body, capture_output=True, check=True)
    told: dict[str, Any] = json.loads(ended.stdout)
    times = told["times"]
    p50, p99 = (times[min(len(times) - 1, int(share * len(times)))] for share in (0.5, 0.99))
    return {"a_second": told["n"] / told["seconds"], "p50": p50, "p99": p99}


@contextlib.contextmanager
def _echo() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.serve_echo"], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        time.sleep(1.0)
        yield port
    finally:
        process.kill()
        process.wait()


def section(records: list[Record]) -> str:
    """The part of the page."""
    words = {
        "predict": "predict, one row a request, 16 clients",
        "learn": "learn, durable, one row a request, 16 clients",
        "bulk": f"learn, durable, {BULK:,} rows a request by Arrow, 2 clients; rows",
    }
    rows = [
        [
            words[r["what"]],
            f"{r['a_second']:,.0f}",
            f"{r['p50']:.1f}, {r['p99']:.1f} ms",
            f"{r['ratio']:.2f} ({r['least']:.2f} to {r['most']:.2f})",
            f"{r['target']:g}",
        ]
        for r in records
    ]
    text = (
        "## The service\n\n`kernelstream serve` with FOGD on 8 features, in turns with an empty FastAPI endpoint that "
        "parses the same body and sends it back (for one row), and with `Learner.learn` in memory (for many).\n\n"
    )
    return text + table(("what", "a second", "p50, p99", "times the other", "wanted"), rows) if rows else ""


PARTS = {"serve": serve}
