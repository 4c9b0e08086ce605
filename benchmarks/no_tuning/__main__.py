"""Learners that nobody tuned beside each other, on raw rows: `python -m benchmarks.no_tuning`.

Measures what is not in benchmarks/no_tuning.json yet and keeps each result as it comes; then writes docs/no-tuning.md,
its picture, and the table at the head of README.md. `--peers auto --anew` measures one learner again, `--sets` chooses
sets. Peers that are not installed are left out (`pip install '.[peers]'`; CapyMOA needs Java).
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse  # noqa: E402

from .measure import Results, cases, measured  # noqa: E402
from .page import write  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.no_tuning", description=__doc__)
    for some in ("sets", "peers", "delays"):
        parser.add_argument(f"--{some}", help="some of them, with commas between")
    parser.add_argument("--anew", action="store_true", help="measure also what was measured before")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    options = parser.parse_args()
    results = Results()
    wanted = [] if options.page else list(cases())
    for one, chosen in (("set", options.sets), ("peer", options.peers), ("delay", options.delays)):
        if chosen is not None:
            wanted = [case for case in wanted if str(getattr(case, one)) in chosen.split(",")]
    missing = set()
    for case in wanted:
        if (case in results.found and not options.anew) or case.peer in missing:
            continue
        try:
            found = measured(case)
        except ImportError as error:
            missing.add(case.peer)
            print(f"{case.peer} is left out: {error}", flush=True)
            continue
        results.keep(case, found)
        print(*case, found, flush=True)
    results.read()
    write(results)


if __name__ == "__main__":
    main()
