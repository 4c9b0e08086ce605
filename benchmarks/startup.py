"""Start-up, memory: measured in processes of their own."""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from kernelstream.sources import open_source
from kernelstream.sources.writers import convert

from .measure import Figure, data_directory, in_turns, ratio, seconds


def process(*arguments: str, **environment: str) -> str:
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, *arguments], env=env, check=True, capture_output=True, text=True).stdout


def imports() -> list[Figure]:
    ours, theirs = in_turns(
        lambda: process("-c", "import kernelstream"), lambda: process("-c", "import numba, sklearn"), repeats=7
    )
    over, shown = ratio(ours, theirs)
    return [Figure("import kernelstream over import numba, sklearn", shown, "<= 1.5x", over <= 1.5)]


def first_result() -> list[Figure]:
    command = ("-m", "kernelstream", "run", "digits", "--algorithm", "fogd")
    cold, warm = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(seconds(lambda cache=cache: process(*command, KERNELSTREAM_CACHE=cache)))
            warm.append(seconds(lambda cache=cache: process(*command, KERNELSTREAM_CACHE=cache)))
    a, b = statistics.median(cold), statistics.median(warm)
    return [
        Figure("`kernelstream run digits`, whole command, cold compile cache", f"**{a:.2f} s**", "< 5 s", a < 5),
        Figure("... warm", f"**{b:.2f} s**", "< 2.5 s", b < 2.5),
    ]


MEMORY = """
import re, sys
import kernelstream, kernelstream.evaluate, kernelstream.sources as sources
from kernelstream import Learner, Regression
def kilobytes(field):  # getrusage would give the parent's peak where that is higher
    return int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
before = kilobytes("VmRSS")
source = sources.open_source(sys.argv[1])
learner = Learner(kernelstream.make("fogd", n_components=100), Regression())
source = sources.Scaled(source, sources.fit_scaling(source, "standard"))
trace = kernelstream.evaluate.prequential(learner, source)
print(learner.n_seen, (kilobytes("VmHWM") - before) / 1024)
"""


def memory() -> list[Figure]:
    path = data_directory() / "flights-2001h1-3m" / "flights-2001h1-3m.all.npz"
    figures = []
    with tempfile.TemporaryDirectory() as directory:
        for suffix in (".npz", ".parquet", ".libsvm"):
            file = path
            if suffix != path.suffix:
                file = Path(directory) / f"flights{suffix}"
                convert(open_source(path), file)
            rows, megabytes = process("-c", MEMORY, str(file)).split()
            used = float(megabytes)
            what = f"peak memory above the imports, {int(rows):,} rows streamed from {suffix}"
            figures.append(Figure(what, f"**{used:.0f} MB**", "< 300 MB", used < 300))
    return figures


BENCHMARKS = {"imports": imports, "first-result": first_result, "memory": memory}
