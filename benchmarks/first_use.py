"""The first minute: `kernelstream run digits` where it never ran, from a wheel with compiled code and without.

    python -m benchmarks.first_use dist/kernelstream-....whl [LEARNER ...]

Seconds of whole processes, the least of some turns, and behind them those of the processor: with the wheel and an empty
compile cache (first), once more (again), the same with nothing shipped (compiling; compiled), which is this tree. The
wheel is installed into an environment of its own, with this one's other packages. What a row costs by shipped and by
native code follows, on the papers' cod-rna.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kernelstream.sources.datasets import fetch

ROOT = Path(__file__).parents[1]
LEARNERS = ("fogd", "rbp", "nogd", "auto")
TURNS = 3
DIGITS = ("-m", "kernelstream", "run", "digits", "--algorithm")
# The processor's seconds a row, of one thread.
SPEED = """
import sys, time
import numpy as np, scipy.sparse as sp
from kernelstream import Binary, Learner
from kernelstream.sources import open_source
X, y = zip(*open_source(sys.argv[1]))
X, y = sp.vstack(X).toarray()[:20000], np.concatenate(y)[:20000]
learner = Learner(sys.argv[2], Binary([-1, 1]), scaling="online", threads=1)
learner.learn(X, y)
def seconds():
    start = time.process_time()
    learner.learn(X, y)
    return time.process_time() - start
print(min(seconds() for _ in range(5)) / len(y))
"""


def installed(wheel: Path, directory: Path) -> Path:
    """The interpreter of a fresh environment with a wheel."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    python = directory / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    (site,) = (directory / "lib").glob("python*/site-packages")
    (site / "others.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    return python


def spent() -> float:
    """Seconds of the processor in commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def process(python: Path, cache: Path, *arguments: str) -> tuple[tuple[float, float], str]:
    """Seconds of a process, on the clock and of the processor, and what it said."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA_"))}
    env |= {"KERNELSTREAM_CACHE": str(cache)}
    if python == Path(sys.executable):
        env["PYTHONPATH"] = str(ROOT / "src")
    start, before = time.perf_counter(), spent()
    done = subprocess.run([str(python), *arguments], env=env, check=True, capture_output=True, text=True)
    return (time.perf_counter() - start, spent() - before), done.stdout


def main(wheel: Path, learners: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        shipped, here = installed(wheel, place / "env"), Path(sys.executable)
        process(shipped, place / "any", "-m", "kernelstream", "--version")
        print(
            "| learner | first, wheel | again, wheel | first, compiling | again, compiled |",
            "| --- | --- | --- | --- | --- |",
            sep="\n",
        )
        for name in learners:
            seconds: dict[str, list[tuple[float, float]]] = {
                who: [] for who in ("first", "again", "compiling", "compiled")
            }
            for turn in range(TURNS):
                for python, first, again in ((shipped, "first", "again"), (here, "compiling", "compiled")):
                    cache = place / f"{first}-{name}-{turn}"
                    for who in (first, again):
                        seconds[who].append(process(python, cache, *DIGITS, name)[0])
            least = [(min(wall for wall, _ in all), min(cpu for _, cpu in all)) for all in seconds.values()]
            print(f"| {name} | " + " | ".join(f"{wall:.2f} s ({cpu:.2f})" for wall, cpu in least) + " |", flush=True)
        rows = str(fetch("cod-rna", "train"))
        print("\n| learner | us a row, shipped | us a row, native | shipped / native |\n| --- | --- | --- | --- |")
        for name in learners:
            found: dict[str, list[float]] = {"shipped": [], "native": []}
            for _ in range(TURNS):
                for who, python, cache in (("shipped", shipped, "first"), ("native", here, "compiling")):
                    found[who].append(float(process(python, place / f"{cache}-{name}-0", "-c", SPEED, rows, name)[1]))
            ours, theirs = (1e6 * min(found[who]) for who in ("shipped", "native"))
            print(f"| {name} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), tuple(sys.argv[2:]) or LEARNERS)
