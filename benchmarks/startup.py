"""Start-up, compilation, memory: measured in processes of their own."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kernelstream import ALGORITHMS
from kernelstream.numerics.gram import backward, forward
from kernelstream.numerics.lifts.fourier import SINCOS
from kernelstream.sources import open_source
from kernelstream.sources.datasets import fetch
from kernelstream.sources.writers import convert

from . import bare
from .measure import Plan, in_turns

Record = dict[str, Any]


def process(*arguments: str, **environment: str) -> str:
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, *arguments], env=env, check=True, capture_output=True, text=True).stdout


def _running(*arguments: str, **environment: str) -> Callable[[], Callable[[], str]]:
    return lambda: lambda: process(*arguments, **environment)


def imports(plan: Plan) -> list[Record]:
    """`from kernelstream import Learner` beside the imports that it stands on."""
    works = {
        "ours": _running("-c", "from kernelstream import Learner"),
        "theirs": _running("-c", "import numba, sklearn"),
    }
    return [in_turns(plan, works, yardstick="theirs", clock=time.perf_counter).as_json()]


def command(plan: Plan) -> list[Record]:
    """`kernelstream run digits`, whole, with an empty compile cache and with a full one."""
    arguments = ("-m", "kernelstream", "run", "digits", "--algorithm", "fogd")
    with tempfile.TemporaryDirectory() as caches:
        count = iter(range(10**6))

        def cold() -> Callable[[], str]:
            cache = str(Path(caches) / str(next(count)))
            return lambda: process(*arguments, KERNELSTREAM_CACHE=cache)

        works = {"cold": cold, "warm": _running(*arguments, KERNELSTREAM_CACHE=str(Path(caches) / "warm"))}
        return [in_turns(plan, works, yardstick="warm", clock=time.perf_counter).as_json()]


COMPILING = """
import sys, time
import numpy as np
from kernelstream import Binary, Learner, make
X, y = np.linspace(-1, 1, 32).reshape(4, 8), [-1, 1, -1, 1]
def seconds():
    start = time.process_time()
    Learner(make(sys.argv[1]), Binary([-1, 1])).learn(X, y)
    return time.process_time() - start
print(seconds(), seconds())
"""


def compiling(plan: Plan) -> list[Record]:
    """CPU seconds until the first rows are learned: with an empty compile cache, with a full one, and after that."""
    records = []
    for name in list(ALGORITHMS)[: plan.points if plan.points > 2 else 1]:
        with tempfile.TemporaryDirectory() as cache:
            cold, again = map(float, process("-c", COMPILING, name, KERNELSTREAM_CACHE=cache).split())
            warm, _ = map(float, process("-c", COMPILING, name, KERNELSTREAM_CACHE=cache).split())
        records.append({"learner": name, "cold": round(cold, 3), "warm": round(warm, 3), "again": round(again, 5)})
    return records


MEMORY = """
import re, sys, time
import kernelstream, kernelstream.evaluate, kernelstream.sources as sources
from kernelstream import Learner, Regression
def kilobytes(field):  # getrusage would give the parent's peak where that is higher
    return int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
before = kilobytes("VmRSS")
source = sources.open_source(sys.argv[1])
learner = Learner(kernelstream.make("fogd", n_components=100), Regression())
source = sources.Scaled(source, sources.fit_scaling(source, "standard"))
trace = kernelstream.evaluate.prequential(learner, source)
peak = (kilobytes("VmHWM") - before) / 1024
start, rows = time.perf_counter(), sum(len(y) for _, y in sources.open_source(sys.argv[1]))
print(rows, peak, (time.perf_counter() - start) / rows)
"""


def memory(plan: Plan) -> list[Record]:
    """Peak memory above the imports of a run over 3,000,000 rows from a file, scaled in a pass of its own; seconds a
    row of reading alone.
    """
    name, split = ("flights-2001h1-3m", "all") if plan.points > 2 else ("abalone", "scaled")
    path = fetch(name, split)
    records = []
    with tempfile.TemporaryDirectory() as directory:
        for suffix in (".npz", ".parquet", ".libsvm"):
            file = path
            if suffix != path.suffix:
                file = Path(directory) / f"{name}{suffix}"
                convert(open_source(path), file)
            rows, megabytes, reading = map(float, process("-c", MEMORY, str(file)).split())
            found = {"rows": int(rows), "megabytes": round(megabytes, 1), "reading": float(f"{reading:.4g}")}
            records.append({"format": suffix, **found})
    return records


def pieces(plan: Plan) -> list[Record]:
    """The library's pieces that floors are made of, beside NumPy's and OpenBLAS's."""
    from scipy.linalg.blas import dtrsv

    P = np.linspace(-30, 30, 64 * 400).reshape(64, 400).astype(np.float32)
    Z, address = np.zeros((64, 800), np.float32), SINCOS.address(np.float32)
    L, k, half = bare.lower_factor(400), np.ones(400), np.zeros(400)
    upper = np.asfortranarray(L.T)  # in column-major order what L is in row-major order
    E = np.zeros_like(P)

    def many(run: Callable[[], Any]) -> Callable[[], Callable[[], None]]:
        def repeat() -> None:
            for _ in range(200):
                run()

        return lambda: repeat

    def numpy_sincos() -> None:
        np.sin(P, out=Z[:, :400])
        np.cos(P, out=Z[:, 400:])

    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "sin and cos of 64 x 400, float32": (lambda: bare.sines_and_cosines(address, P, 64, Z), numpy_sincos),
        "exp of 64 x 400, float32": (lambda: bare.exponentials(P, E), lambda: np.exp(P, out=E)),
        "forward solve, 400 x 400": (lambda: forward(L, 400, k, half), lambda: dtrsv(upper, k, trans=1)),
        "backward solve, 400 x 400": (lambda: backward(L, 400, k, half), lambda: dtrsv(upper, k)),
    }
    records = []
    for what, (ours, theirs) in pairs.items():
        turns = in_turns(plan, {"ours": many(ours), "theirs": many(theirs)}, yardstick="theirs")
        records.append({"what": what, **turns.as_json()})
    return records


PARTS: dict[str, Callable[[Plan], list[Record]]] = {
    "pieces": pieces,
    "imports": imports,
    "command": command,
    "compiling": compiling,
    "memory": memory,
}
