"""A stranger's path with a clock: from a fresh clone to a service that answers for a model of one's own file.

    python -m benchmarks.stranger [DIRECTORY]

What is committed is cloned into DIRECTORY (or one that is removed), with an environment and a compile cache of its own.
Each step is a command that docs/start.md shows; its seconds on the clock and of the processor are printed, as the table
that stands there. Packages come from wherever pip takes them here.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from kernelstream.report.machine import machine

from .first_use import spent

ROOT = Path(__file__).parents[1]
ROWS, NEW = 5_000, 500
ADDRESS = "http://127.0.0.1:8123"
BODY = b'{"rows": [{"a": 0.3, "b": -1.2, "c": 0.5, "d": 0.1}]}'


class Walk:
    """A clone, in which steps are walked."""

    def __init__(self, where: Path):
        self.where, self.bin = where / "kernelstream", where / "kernelstream" / ".venv" / "bin"
        self.log = (where / "log.txt").open("w")
        hidden = ("PYTHON", "NUMBA_", "KERNELSTREAM_", "VIRTUAL_ENV")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        self.env |= {"KERNELSTREAM_CACHE": str(where / "cache")}

    def run(self, *command: str) -> None:
        """OSError: it went wrong; the log says how."""
        done = subprocess.run(command, cwd=self.where, env=self.env, stdout=self.log, stderr=self.log)
        if done.returncode:
            raise OSError(f"{' '.join(command)} ended with {done.returncode}; see {self.log.name}")

    def step(self, name: str, walk: Callable[[], object]) -> None:
        start, before = time.perf_counter(), spent()
        walk()
        clock, processor = time.perf_counter() - start, spent() - before
        # What a service takes that still runs is not known.
        print(f"| {name} | {_seconds(clock)} | {_seconds(processor) if processor else '-'} |", flush=True)


def _seconds(number: float) -> str:
    return f"{number:.1f} s" if number >= 0.1 else "< 0.1 s"


def write_rows(path: Path, n: int, seed: int, *, labels: bool) -> None:
    """A file of one's own: whether a point lies in a ring."""
    draw = random.Random(seed)
    with path.open("w") as file:
        file.write("a,b,c,d" + (",inside\n" if labels else "\n"))
        for _ in range(n):
            x = [draw.gauss(0, 1) for _ in range(4)]
            label = "yes" if 0.5 < x[0] ** 2 + x[1] ** 2 < 2.5 else "no"
            file.write(",".join(f"{value:.4f}" for value in x) + (f",{label}\n" if labels else "\n"))


def answers(path: str, data: bytes | None = None, method: str | None = None) -> str:
    """What the service says, as soon as it says anything."""
    end = time.monotonic() + 300
    while True:
        try:
            asked = urllib.request.Request(ADDRESS + path, data, method=method)
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise OSError(f"{path}: {error.code} {error.read().decode()}") from None
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def main(place: Path) -> None:
    path = Walk(place)
    print(f"{machine()}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start\n")
    print("| step | on the clock | of the processor |\n| --- | ---: | ---: |")
    clone = ["git", "clone", "-q", str(ROOT), str(path.where)]
    path.step("`git clone`", lambda: subprocess.run(clone, check=True))
    make = ["make", f"PYTHON={sys.executable}"]
    path.step("`make demo`: the packages", lambda: path.run(*make, ".venv/.demo"))
    path.step("`make demo`: everything compiled, run and drawn", lambda: path.run(*make, "demo"))
    path.step("`make demo`, again", lambda: path.run(*make, "demo"))
    own_file(path)


def own_file(path: Walk) -> None:
    """From a file of one's own to a service that answers."""
    pip = (
        str(path.bin / "python"),
        "-m",
        "pip",
        "install",
        "--no-compile",
        "--disable-pip-version-check",
        "-e",
        ".[all,serve]",
    )
    path.step("`pip install '.[all,serve]'`", lambda: path.run(*pip))
    write_rows(path.where / "my.csv", ROWS, 0, labels=True)
    write_rows(path.where / "new.csv", NEW, 1, labels=False)
    command = str(path.bin / "kernelstream")
    learn = (command, "run", "my.csv", "--save", "m.ks")
    path.step(f"`kernelstream run my.csv --save m.ks`, {ROWS:,} rows", lambda: path.run(*learn))
    path.step("the same, again", lambda: path.run(*learn))
    say = (command, "predict", "m.ks", "new.csv", "--label", "none", "--out", "said.csv")
    path.step(f"`kernelstream predict m.ks new.csv`, {NEW} rows", lambda: path.run(*say))
    serve = (command, "serve", "--store", "store", "--port", ADDRESS.rpartition(":")[2])
    service = subprocess.Popen(serve, cwd=path.where, env=path.env, stdout=path.log, stderr=path.log)
    try:
        path.step("`kernelstream serve`, until it answers", lambda: answers("/v2/health/ready"))
        model = (path.where / "m.ks").read_bytes()
        path.step("`curl -T m.ks`: the service has the model", lambda: answers("/v2/models/m/file", model, "PUT"))
        path.step("`curl` for a first prediction", lambda: answers("/v2/models/m/predict", BODY))
        path.step("`curl` for a second one", lambda: answers("/v2/models/m/predict", BODY))
    finally:
        service.terminate()
        service.wait()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch))
