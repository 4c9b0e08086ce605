"""Measure how fast the learners are: `make bench` (all of it), or `python -m benchmarks fogd budgets` (some parts).

Results go to benchmarks/results.json, a part at a time; then docs/performance.md with its plots and the short table in
README.md are written anew from all results that there are. `--page` only writes them. `--quick` measures tiny cases in
seconds, to see that everything works; `--out DIRECTORY` then takes what is written.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

from . import machines, parallel, river_rows, serving, startup, sweeps, transforms, waits  # noqa: E402
from .measure import QUICK, Plan  # noqa: E402
from .page import write_page  # noqa: E402
from .readme import write_readme  # noqa: E402
from .results import Results  # noqa: E402

ROOT = Path(__file__).parents[1]
PARTS = {**sweeps.PARTS, **parallel.PARTS, **startup.PARTS, **transforms.PARTS, **waits.PARTS, **river_rows.PARTS}
PARTS |= serving.PARTS | machines.PARTS


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(PARTS)}")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page from the results")
    parser.add_argument("--quick", action="store_true", help="tiny cases, two turns; needs --out")
    parser.add_argument("--out", type=Path, help="directory for results, page and plots instead of this repository")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if options.quick and options.out is None:
        parser.error("--quick measures too little to be kept; name a directory with --out")
    results = Results(ROOT / "benchmarks" / "results.json" if options.out is None else options.out / "results.json")
    plan = QUICK if options.quick else Plan()
    for name in [] if options.page else options.parts or PARTS:
        start = time.perf_counter()
        results.keep(name, PARTS[name](plan))
        print(f"{name}: {len(results.parts[name])} figures in {time.perf_counter() - start:.0f} s", flush=True)
    write_page(results, (ROOT / "docs" if options.out is None else options.out) / "performance.md")
    if options.out is None:
        write_readme(results, ROOT / "README.md")
        machines.write_scale(results, ROOT / "docs" / "scale.md")


if __name__ == "__main__":
    main(sys.argv[1:])
