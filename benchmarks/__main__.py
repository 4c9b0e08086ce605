"""Measure the numbers in README: `make bench` (all), or `python -m benchmarks fogd nogd` (some).

One thread. What is compared is measured in turns within one run, several times, and the figure is the median of the
ratios of neighbours, with their range: these machines are noisy, their ratios less so. Results go to
benchmarks/results.json and into the table between the markers in README.md.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import json  # noqa: E402
import platform  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

from . import speed, startup  # noqa: E402
from .measure import Figure  # noqa: E402

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
BEGIN, END = "<!-- bench begins -->", "<!-- bench ends -->"

BENCHMARKS = {**speed.BENCHMARKS, **startup.BENCHMARKS}


def table(figures: list[Figure]) -> str:
    lines = ["| what | measured | wanted |", "| --- | --- | --- |"]
    lines += [f"| {f.what} | {f.shown} | {f.wanted}{'' if f.met else ' (not met)'} |" for f in figures]
    return "\n".join(lines)


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    results = HERE / "results.json"
    kept = json.loads(results.read_text())["figures"] if results.exists() else {}
    for name in names or BENCHMARKS:
        print(f"{name} ...", flush=True)
        figures = BENCHMARKS[name]()
        for figure in figures:
            print(f"  {figure.what}: {figure.shown} (wanted {figure.wanted})", flush=True)
        kept[name] = [figure._asdict() for figure in figures]
    machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    results.write_text(json.dumps({"machine": machine, "figures": kept}, indent=1) + "\n")
    ordered = [Figure(**f) for name in BENCHMARKS for f in kept.get(name, [])]
    text = README.read_text()
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    README.write_text(f"{head}{BEGIN}\n{table(ordered)}\n{END}{tail}")
    print(f"written: {results}, {README}")


main(sys.argv[1:])
