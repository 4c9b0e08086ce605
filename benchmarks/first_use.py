"""The first minute: `kernelstream run digits` where it never ran, from a wheel with compiled code and without.

    python -m benchmarks.first_use dist/kernelstream-....whl [LEARNER ...]

Seconds of whole processes, in turns: with the wheel and an empty compile cache (first), once more (again), the same
with nothing shipped (compiling; compiled), which is this tree. The wheel is installed into an environment of its own,
with this one's other packages. Rows/s of the loops of a level and of native code follow, on the papers' cod-rna.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kernelstream.sources.datasets import fetch

ROOT = Path(__file__).parents[1]
LEARNERS = ("fogd", "rbp", "nogd", "auto")
TURNS = 3


def installed(wheel: Path, directory: Path) -> Path:
    """The interpreter of a fresh environment with a wheel."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    python = directory / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    (site,) = (directory / "lib").glob("python*/site-packages")
    (site / "others.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    return python


def run(python: Path, cache: Path, *arguments: str) -> tuple[float, str]:
    """Seconds of a command, and what it said."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA_"))}
    env |= {"KERNELSTREAM_CACHE": str(cache)}
    if python == Path(sys.executable):
        env["PYTHONPATH"] = str(ROOT / "src")
    start = time.perf_counter()
    command = [str(python), "-m", "kernelstream", *arguments]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout


def main(wheel: Path, learners: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        shipped, here = installed(wheel, place / "env"), Path(sys.executable)
        run(shipped, place / "any", "--version")
        print(
            "| learner | first, wheel | again, wheel | first, compiling | again, compiled |",
            "| --- | --- | --- | --- | --- |",
            sep="\n",
        )
        for name in learners:
            seconds: dict[str, list[float]] = {who: [] for who in ("first", "again", "compiling", "compiled")}
            for turn in range(TURNS):
                for python, first, again in ((shipped, "first", "again"), (here, "compiling", "compiled")):
                    cache = place / f"{first}-{name}-{turn}"
                    for who in (first, again):
                        seconds[who].append(run(python, cache, "run", "digits", "--algorithm", name)[0])
            print(f"| {name} | " + " | ".join(f"{statistics.median(all):.2f} s" for all in seconds.values()) + " |")
        rows = str(fetch("cod-rna", "train"))
        print("\n| learner | rows/s, shipped | rows/s, native | shipped / native |\n| --- | --- | --- | --- |")
        for name in learners:
            found: dict[str, list[float]] = {"shipped": [], "native": []}
            for _ in range(TURNS):
                for who, python, cache in (("shipped", shipped, "first"), ("native", here, "compiling")):
                    said = run(python, place / f"{cache}-{name}-0", "run", rows, "--algorithm", name, "--json", "-")[1]
                    found[who].append(json.loads(said)["rows_per_second"])
            ours, theirs = (max(found[who]) for who in ("shipped", "native"))
            print(f"| {name} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.2f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), tuple(sys.argv[2:]) or LEARNERS)
