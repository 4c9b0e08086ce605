"""A service that is used for hours at a steady pace: memory, files, threads and latency stay what they were.

Each client learns rows, predicts rows with ids, tells their labels later and predicts rows that nobody labels, with
words and numbers, of auto and of FOGD. The log is cut and keys are given up all along, as over days. What a
service holds is looked at every few seconds; the first tenth of the time is left out of what is compared.
"""

import os
import random
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .service_process import Process

CLIENTS, PACE = 4, 20.0  # requests a second of each
MODELS: dict[str, dict[str, Any]] = {
    "auto": {"task": "binary", "classes": ["no", "yes"]},
    "fogd": {"task": "binary", "classes": ["no", "yes"], "algorithm": "fogd"},
}
SETTINGS = {"snapshot_seconds": 20.0, "keys_seconds": 60.0, "waiting_rows": 5000, "log_level": "warning"}
FIRST = 10_000  # rows in bulk before the clock starts: auto has settled then
ROWS = 20  # that are shown together: in the first tenth of two hours as many as a service remembers to have had labels
WAITING = 200  # rows of a client that wait for their labels at the same time

MEGABYTE = 2**20
GROWTH = 16 * MEGABYTE  # of memory, and of the store beyond twice what it was
LATER, MUCH_LATER = 1.5, 3.0  # times the milliseconds of before, of the median and of one in a hundred


class Look(NamedTuple):
    """What a service holds at some second."""

    at: float
    resident: int
    stored: int
    files: int
    threads: int


class Client(threading.Thread):
    """Asks at its pace until the end."""

    def __init__(self, number: int, service: Process, end: float):
        super().__init__(daemon=True)
        self.number, self.service, self.end = number, service, end
        self.rng = random.Random(number)
        self.waiting: dict[str, deque[tuple[str, str]]] = {name: deque() for name in MODELS}
        self.learned = dict.fromkeys(MODELS, 0)
        self.times: list[tuple[float, str, float]] = []  # when, what, milliseconds
        self.faults: list[str] = []
        self.n = 0

    def run(self) -> None:
        connection, due = self.service.connection(), time.monotonic()
        while (due := due + 1.0 / PACE) < self.end and not self.faults:
            time.sleep(max(0.0, due - time.monotonic()))
            kind, name, body = self.request()
            began = time.monotonic()
            try:
                headers = {"Idempotency-Key": f"{self.number}-{self.n}"}
                reply = self.service.ask("POST", f"/v2/models/{name}/{kind}", body, headers, connection=connection)
            except OSError as error:
                self.faults.append(f"{kind}: {error!r}")
                break
            self.times.append((began, kind, 1e3 * (time.monotonic() - began)))
            if reply.status != 200:
                self.faults.append(f"{kind}: {reply.status} {reply.body[:200]!r}")
        connection.close()

    def request(self) -> tuple[str, str, dict[str, Any]]:
        self.n += 1
        name = self.rng.choice(list(MODELS))
        waiting = self.waiting[name]
        if len(waiting) >= WAITING:
            told = dict(waiting.popleft() for _ in range(WAITING // 2))
            self.learned[name] += len(told)
            return "labels", name, {"labels": told}
        row, label = row_of(self.rng)
        kind = self.rng.choice(("learn", "predict", "predict with an id"))
        if kind == "learn":
            self.learned[name] += 1
            return kind, name, {"rows": [row], "labels": [label]}
        if kind == "predict":
            return kind, name, {"rows": [row]}
        rows, labels = zip(*(row_of(self.rng) for _ in range(ROWS)), strict=True)
        ids = [f"{self.number}-{self.n}-{i}" for i in range(ROWS)]
        waiting.extend(zip(ids, labels, strict=True))
        return "predict", name, {"rows": rows, "ids": ids}


def row_of(rng: random.Random) -> tuple[dict[str, Any], str]:
    amount, hour, country = rng.expovariate(0.01), rng.uniform(0.0, 24.0), rng.choice(("PT", "DE", "JP"))
    odd = amount > 150 or (country == "JP" and hour < 6)
    return {"amount": amount, "hour": hour, "country": country}, "yes" if odd != (rng.random() < 0.05) else "no"


def look(service: Process) -> Look:
    assert service.process is not None
    process = Path(f"/proc/{service.process.pid}")
    stored = 0
    for path in service.store.rglob("*"):
        try:
            stored += path.stat().st_size if path.is_file() else 0
        except OSError:  # it went away meanwhile
            continue
    files, threads = len(os.listdir(process / "fd")), len(os.listdir(process / "task"))
    return Look(time.monotonic(), service.resident, stored, files, threads)


def steady(folder: Path, *, minutes: float, seconds_a_look: float = 5.0) -> tuple[str, list[str]]:
    """Use a service for so many minutes; what was done, and what is wrong."""
    with Process(folder, **SETTINGS) as service:
        service.wait_ready()
        rng = random.Random(-1)
        for name, spec in MODELS.items():
            service.make(name, spec)
            pairs = [row_of(rng) for _ in range(FIRST)]
            for start in range(0, FIRST, 1000):
                rows, labels = zip(*pairs[start : start + 1000], strict=True)
                assert service.learn(rows, labels, name).status == 200
        began = time.monotonic()
        end = began + 60.0 * minutes
        clients = [Client(number, service, end) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        looks = [look(service)]
        while time.monotonic() < end and any(client.is_alive() for client in clients):
            time.sleep(min(seconds_a_look, max(0.0, end - time.monotonic())))
            looks.append(look(service))
        for client in clients:
            client.join(60)
        faults = [f"client {client.number}: {fault}" for client in clients for fault in client.faults]
        for name in MODELS:
            told = FIRST + sum(client.learned[name] for client in clients)
            if (learned := service.described(name)["rows_learned"]) != told:
                faults.append(f"{name} has learned {learned} rows of {told}")
    times = [one for client in clients for one in client.times]
    bounds = np.linspace(began + 0.1 * (end - began), end, 4)  # of three thirds, the first tenth left out
    done, worse = compared(looks, times, bounds)
    return f"{len(times):,} requests in {minutes:g} minutes, {done}", faults + worse


def compared(looks: list[Look], times: list[tuple[float, str, float]], bounds: np.ndarray) -> tuple[str, list[str]]:
    """The first third beside the last."""
    faults, told = [], []
    first, last = (
        [one for one in looks if bounds[i] <= one.at <= bounds[i + 1]] or [looks[-1]] for i in (0, len(bounds) - 2)
    )
    for field, unit, room in (
        ("resident", MEGABYTE, GROWTH),
        ("stored", MEGABYTE, GROWTH + max(one.stored for one in first)),
        ("files", 1, 4),
        ("threads", 1, 2),
    ):
        pair = [max(getattr(one, field) for one in looks) for looks in (first, last)]
        told.append(f"{field} {pair[0] / unit:.0f} -> {pair[1] / unit:.0f}{' MB' if unit > 1 else ''}")
        if pair[1] > pair[0] + room:
            faults.append(f"{field} grew from {pair[0]:,} to {pair[1]:,}")
    for kind in sorted({kind for _, kind, _ in times}):
        parts = [
            [ms for at, other, ms in times if other == kind and bounds[i] <= at <= bounds[i + 1]]
            for i in (0, len(bounds) - 2)
        ]
        if min(len(part) for part in parts) < 100:
            continue
        for word, share, most in (("p50", 0.5, LATER), ("p99", 0.99, MUCH_LATER)):
            pair = [float(np.quantile(part, share)) for part in parts]
            told.append(f"{kind} {word} {pair[0]:.1f} -> {pair[1]:.1f} ms")
            if pair[1] > most * pair[0]:
                faults.append(f"{word} of {kind} rose from {pair[0]:.1f} to {pair[1]:.1f} ms")
    return ", ".join(told), faults
