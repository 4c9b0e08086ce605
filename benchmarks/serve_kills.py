"""A service that is killed at random moments under load: what it acknowledged is there, once, in the log's order.

Eight clients learn, predict with ids and tell labels, each request under a key, again and again until it is answered.
In the end the model is compared, bit for bit, with a `Learner` that gets the same records: in the order of the log
where it is never cut, and in the order that the answers tell (`rows_learned`) where it is cut all the time.
"""

import contextlib
import http.client
import json
import random
import sqlite3
import threading
import time
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernelstream import Binary, Learner, make

from .service_process import Process, differences

CLIENTS = 8
_COMPONENTS = 16
SPEC = {
    "task": "binary",
    "classes": [0, 1],
    "algorithm": {"name": "fogd", "n_components": _COMPONENTS},
    "waiting_rows": 10**6,
}
KEPT = {"snapshot_seconds": 1e9, "snapshot_bytes": 2**60, "log_level": "warning"}
CUT = {"snapshot_seconds": 0.2, "log_level": "warning"}


class Said(NamedTuple):
    """A request and its answer."""

    kind: str
    key: str
    body: dict[str, Any]
    answer: dict[str, Any]


class Client(threading.Thread):
    """Asks until it is told to stop, and then until its last request is answered."""

    def __init__(self, number: int, seed: int, service: Process):
        super().__init__(daemon=True)
        self.number, self.service = number, service
        self.rng = random.Random(seed * 1000 + number)
        self.rows = 0
        self.waiting: list[str] = []
        self.said: list[Said] = []
        self.faults: list[str] = []
        self.retries = 0
        self.ends = threading.Event()
        self._connection: http.client.HTTPConnection | None = None

    def run(self) -> None:
        while not self.ends.is_set() and not self.faults:
            self.one()
        if self._connection is not None:
            self._connection.close()

    def row(self) -> list[float]:
        """No two rows are equal, whoever sends them."""
        self.rows += 1
        return [self.number / 8, self.rows / 1000, self.rng.uniform(-1, 1)]

    def one(self) -> None:
        kind = self.rng.choice(("learn", "learn", "predict", "labels"))
        if kind == "labels" and not self.waiting:
            kind = "predict"
        if kind == "learn":
            n = self.rng.choice((1, 1, 2, self.rng.randint(1, 50)))
            rows = [self.row() for _ in range(n)]
            body: dict[str, Any] = {"rows": rows, "labels": [int(row[2] > 0) for row in rows]}
        elif kind == "predict":
            rows = [self.row() for _ in range(self.rng.randint(1, 5))]
            body = {"rows": rows, "ids": [f"{self.number}-{row[1]}" for row in rows]}
            self.waiting += body["ids"]
        else:
            n = self.rng.randint(1, len(self.waiting))
            told, self.waiting = self.waiting[:n], self.waiting[n:]
            body = {"labels": {id: self.rng.randint(0, 1) for id in told}}
        key = str(uuid.UUID(int=self.rng.getrandbits(128)))
        answer = self.answered(kind, body, key)
        if answer is None:
            return
        self.said.append(Said(kind, key, body, answer))
        if kind == "labels" and set(answer["labels"].values()) != {"learned"}:
            self.faults.append(f"labels of rows that waited were {answer['labels']}")
        if self.rng.random() < 0.1:  # a client that has not heard the answer
            self.check_again(kind, body, key, answer)

    def check_again(self, kind: str, body: dict[str, Any], key: str, answer: dict[str, Any]) -> None:
        again = self.answered(kind, body, key)
        if again is not None and again != answer:
            self.faults.append(f"the same {kind} was answered {answer} and then {again}")
        if kind == "labels":
            other = self.answered(kind, body, str(uuid.UUID(int=self.rng.getrandbits(128))))
            if other is not None and set(other["labels"].values()) != {"repeated"}:
                self.faults.append(f"labels that were told before were {other['labels']}")

    def answered(self, kind: str, body: dict[str, Any], key: str) -> dict[str, Any] | None:
        data, end = json.dumps(body).encode(), time.monotonic() + 300.0
        while time.monotonic() < end:
            try:
                if self._connection is None:
                    self._connection = self.service.connection()
                headers = {"Idempotency-Key": key}
                reply = self.service.ask("POST", f"/v2/models/m/{kind}", data, headers, connection=self._connection)
                if reply.status == 200:
                    return reply.json()
                if reply.status not in (429, 503):
                    self.faults.append(f"{kind}: {reply.status} {reply.body[:200]!r}")
                    return None
            except (OSError, http.client.HTTPException):
                if self._connection is not None:
                    self._connection.close()
                self._connection = None
            self.retries += 1
            time.sleep(0.02)
        self.faults.append(f"{kind} was not answered for five minutes")
        return None


def kills(
    folder: Path, n: int, *, seed: int, cut: bool, most_seconds: float = 1.5, **drift: Any
) -> tuple[str, list[str]]:
    """Kill a service so many times; what was done, and what is wrong. drift: what its model looks out for."""
    rng = random.Random(seed)
    service = Process(folder, **(CUT if cut else KEPT))
    with service:
        service.wait_ready().make(spec=SPEC | drift)
        clients = [Client(number, seed, service) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        for number in range(n + 1):
            if number % 5:  # and now and then while it reads its log
                _until_answered(clients)
            time.sleep(rng.uniform(0.0, most_seconds))
            if number < n:
                service.kill()
                service.start()
        for client in clients:
            client.ends.set()
        for client in clients:
            client.join(600)
        faults = [f"client {client.number}: {fault}" for client in clients for fault in client.faults]
        said = [one for client in clients for one in client.said]
        service.wait_ready()
        faults += _faults(folder, service, said, cut, learner(**drift))
    done = (
        f"{n} kills, {len(said):,} requests acknowledged, {learned(said):,} rows learned, "
        f"{sum(client.retries for client in clients):,} retries"
    )
    return done, faults


def _until_answered(clients: list[Client]) -> None:
    """Wait until a request is acknowledged, or a client has found a fault."""
    before = sum(len(client.said) for client in clients)
    while sum(len(client.said) + len(client.faults) for client in clients) <= before:
        time.sleep(0.005)


def learned(said: list[Said]) -> int:
    """How many rows the answers say were learned."""
    return sum(_learned(one) for one in said)


def _learned(one: Said) -> int:
    if one.kind == "labels":
        return sum(outcome == "learned" for outcome in one.answer["labels"].values())
    return len(one.body["rows"]) if one.kind == "learn" else 0


def _faults(folder: Path, service: Process, said: list[Said], cut: bool, fresh: Learner) -> list[str]:
    """fresh: of the same kind as the service's, before its first row."""
    faults = _tiles(said)
    served = service.download(folder / "served.ks")
    told = service.described()
    if not served.rows_learned == told["rows_learned"] == learned(said):
        faults.append(f"{learned(said):,} rows were acknowledged, {told['rows_learned']:,} are learned")
    shown = sum(len(one.body["ids"]) for one in said if one.kind == "predict")
    labelled = sum(_learned(one) for one in said if one.kind == "labels")
    if told["rows_waiting"] != shown - labelled:
        faults.append(f"{shown - labelled:,} rows should wait for labels, {told['rows_waiting']:,} do")
    if not cut:
        faults += _against_log(service.store, served, said, fresh.snapshot())
    records = sorted((one for one in said if _learned(one)), key=lambda one: one.answer["rows_learned"])
    unlike = differences(served, _offline_by_answers(records, said, fresh), waiting=False)
    if unlike:
        faults.append(f"the model differs from the one learned offline in {', '.join(unlike)}")
    service.stop()
    service.start().wait_ready()
    unlike = differences(served, service.download(folder / "again.ks"))
    if unlike:
        faults.append(f"the model differs after a stop and a start in {', '.join(unlike)}")
    return faults


def _tiles(said: list[Said]) -> list[str]:
    """Counts of rows before and after each answer lie one behind the other: nothing was lost, nothing twice."""
    at, faults = 0, []
    for one in sorted((one for one in said if _learned(one)), key=lambda one: one.answer["rows_learned"]):
        if one.answer["rows_learned"] - _learned(one) != at:
            faults.append(f"a {one.kind} of {_learned(one)} rows ended at {one.answer['rows_learned']}, begun at {at}")
        at = one.answer["rows_learned"]
    return faults[:5]


def _against_log(store: Path, served: Learner, said: list[Said], offline: Learner) -> list[str]:
    with contextlib.closing(sqlite3.connect(store / "store.db")) as connection:
        log = connection.execute("SELECT kind, key, body FROM log ORDER BY seq").fetchall()
    faults, by_key = [], {one.key: one for one in said}
    keys = [key for _, key, _ in log]
    if len(set(keys)) != len(keys):
        faults.append("a key stands in the log twice")
    if lost := set(by_key) - set(keys):
        faults.append(f"{len(lost)} acknowledged requests are not in the log")
    if differs := [key for _, key, body in log if key in by_key and json.loads(body) != by_key[key].body]:
        faults.append(f"{len(differs)} records are not what their requests said")
    for kind, key, body in log:
        given = json.loads(body)
        if kind == "show":
            for id, row in zip(given["ids"], given["rows"], strict=True):
                offline.show_waiting(np.array(row), id)
        elif kind == "learn":
            scores = offline.learn(np.array(given["rows"]), given["labels"])
            if offline.task.decode(scores).tolist() != by_key[key].answer["predictions"]:
                faults.append("predictions were not those of the model at its place in the log")
        else:
            waiting = set(offline.waiting.ids)
            for id in [id for id in given["labels"] if id in waiting]:  # a label that was told before is not learned
                offline.label(id, given["labels"][id])
    unlike = differences(served, offline)
    if unlike:
        faults.append(f"the model differs from the log's in {', '.join(unlike)}")
    return faults


def _offline_by_answers(records: list[Said], said: list[Said], offline: Learner) -> Learner:
    shown = {
        id: row
        for one in said
        if one.kind == "predict"
        for id, row in zip(one.body["ids"], one.body["rows"], strict=True)
    }
    for one in records:
        if one.kind == "learn":
            offline.learn(np.array(one.body["rows"]), one.body["labels"])
        else:
            for id, label in one.body["labels"].items():
                offline.learn_one(np.array(shown[id]), label)
    return offline


def learner(**drift: Any) -> Learner:
    """What the service makes of SPEC."""
    return Learner(make("fogd", n_components=_COMPONENTS), Binary([0, 1]), waiting=SPEC["waiting_rows"], **drift)
