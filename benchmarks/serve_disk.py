"""A service whose disk is full: it says so, goes on predicting, and goes on learning when there is room."""

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .serve_kills import SPEC, learner
from .service_process import Process, differences

MEGABYTES = 8
_ROWS = [[0.25, 0.5, 1.0]] * 40


def why_not() -> str | None:
    """Why a small disk cannot be had here, if so."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "a small tmpfs takes root to mount"
    with tempfile.TemporaryDirectory() as folder:
        try:
            with small_disk(Path(folder)):
                return None
        except (OSError, subprocess.CalledProcessError):
            return "a tmpfs cannot be mounted here"


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A directory that holds so many megabytes."""
    options = ["-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder)]
    subprocess.run(["mount", *options], check=True, capture_output=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, capture_output=True)


def fill(path: Path) -> None:
    """Take all the room there is."""
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
        for size in (65_536, 4096, 512):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))


def full(folder: Path, *, rounds: int, snapshots: bool) -> tuple[str, list[str]]:
    """Fill the disk of a service and make room again, some times; what was done, and what is wrong."""
    faults: list[str] = []
    acknowledged, refusals = 0, 0
    mounted = folder / "disk"
    mounted.mkdir()
    settings = {"snapshot_seconds": 0.2 if snapshots else 1e9, "snapshot_bytes": 2**60, "log_level": "error"}
    with small_disk(mounted), Process(folder / "serve", store=mounted / "store", **settings) as service:
        service.wait_ready().make(spec=SPEC)
        body = json.dumps({"rows": _ROWS, "labels": [0, 1] * 20}).encode()

        def learn() -> int:
            return service.ask("POST", "/v2/models/m/learn", body).status

        for _ in range(rounds):
            acknowledged += learn() == 200
            fill(mounted / "filler")
            statuses = [learn() for _ in range(400)]
            refusals += statuses.count(507)
            acknowledged += statuses.count(200)
            if 507 not in statuses or set(statuses) - {200, 507}:
                faults.append(f"with a full disk learning was answered {sorted(set(statuses))}")
            if service.predict([_ROWS[0]]).status != 200:
                faults.append("with a full disk nothing is predicted")
            faults += _others(service)
            time.sleep(0.5)  # model files are tried, and cannot be written
            (mounted / "filler").unlink()
            if (status := learn()) != 200:
                faults.append(f"with room again learning was answered {status}")
            acknowledged += status == 200
        faults += _kept(folder, service, acknowledged)
        service.kill()
        service.start().wait_ready()
        faults += _kept(folder, service, acknowledged)
    words = "model files are written all the time" if snapshots else "the log is never cut"
    return f"{rounds} times full ({words}): {acknowledged:,} acknowledged, {refusals:,} x 507", faults


def _others(service: Process) -> list[str]:
    """What else writes: it says that it cannot, and changes nothing."""
    found = []
    for method, path, body in (
        ("PUT", "/v2/models/other", SPEC),
        ("POST", "/v2/models/m/snapshots", {"name": "full"}),
        ("GET", "/v2/models/m/file", None),
        ("DELETE", "/v2/models/m/snapshots/none", None),
    ):
        reply = service.ask(method, path, body)
        if reply.status not in (507, 404, 200, 201):
            found.append(f"with a full disk {method} {path} was answered {reply.status} {reply.body[:100]!r}")
        if reply.status == 507 and "error" not in reply.json():
            found.append(f"{method} {path} does not say what is wrong")
        if reply.status == 201:
            service.ask("DELETE", path if method == "PUT" else f"{path}/full")
    return found


def _kept(folder: Path, service: Process, acknowledged: int) -> list[str]:
    offline = learner()
    for _ in range(acknowledged):
        offline.learn(np.array(_ROWS), [0, 1] * 20)
    served = service.download(folder / "served.ks")
    unlike = differences(served, offline)
    if served.n_seen != offline.n_seen:
        return [f"{offline.n_seen:,} rows were acknowledged, {served.n_seen:,} are learned"]
    return [f"the model differs from the one learned offline in {', '.join(unlike)}"] if unlike else []
