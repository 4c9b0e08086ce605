"""Learners on streams that change: `python -m benchmarks.drift --rows 20000`.

Measures what is not in benchmarks/drift.json yet and keeps each result as it comes; then writes docs/drift.md. `--sets`
and `--peers` choose some, `--anew` measures them again. River's are left out where it is not installed.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse  # noqa: E402
import time  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from ..no_tuning.errors import errors_of  # noqa: E402
from ..no_tuning.measure import Case, Record, Results  # noqa: E402
from ..no_tuning.peers import RIVER_TREES, Answer, Peer, Run, no_change, one_by_one, ours  # noqa: E402
from ..no_tuning.sets import Rows  # noqa: E402
from .page import write  # noqa: E402
from .streams import STREAMS  # noqa: E402

FILE = Path(__file__).parents[1] / "drift.json"
ROWS = 20_000


def river(kind: str, rows: Rows, delay: int, seed: int) -> Run:
    """An ensemble of River's with ten trees; ImportError where it is not there or does no regression."""
    from river import ensemble, forest, preprocessing, tree

    if rows.regression and kind == "leveraging bagging":
        raise ImportError("River's leveraging bagging does no regression")
    base: Any = tree.HoeffdingTreeRegressor() if rows.regression else tree.HoeffdingTreeClassifier()
    common = {"n_models": RIVER_TREES, "seed": seed}
    if kind == "arf":
        model: Any = (forest.ARFRegressor if rows.regression else forest.ARFClassifier)(**common)
    elif kind == "srp":
        model = (ensemble.SRPRegressor if rows.regression else ensemble.SRPClassifier)(model=base, **common)
    else:
        model = ensemble.LeveragingBaggingClassifier(model=base, **common)
    if rows.regression:
        model = preprocessing.StandardScaler() | model
    given = [dict(enumerate(x)) for x in rows.X.tolist()]
    return lambda: Answer(one_by_one(model.predict_one, model.learn_one, given, rows, delay))


PEERS: dict[str, Peer] = {
    "auto": partial(ours, "auto"),
    "no change": no_change,
    "arf": partial(river, "arf"),
    "leveraging bagging": partial(river, "leveraging bagging"),
    "srp": partial(river, "srp"),
}


def measured(case: Case) -> Record:
    rows = STREAMS[case.set](case.most)
    run = PEERS[case.peer](rows, case.delay, case.seed)
    began = time.process_time()
    shown = run().shown
    seconds = round(time.process_time() - began, 4)
    errors = errors_of(shown, rows.y, regression=rows.regression)
    return {"rows": len(rows.y), "features": rows.X.shape[1], "seconds": seconds, "errors": list(errors)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift", description=__doc__)
    for some in ("sets", "peers"):
        parser.add_argument(f"--{some}", help="some of them, with commas between")
    parser.add_argument("--rows", type=int, default=ROWS, help="of each stream, at most")
    parser.add_argument("--anew", action="store_true", help="measure also what was measured before")
    options = parser.parse_args()
    results = Results(FILE)
    for peer in PEERS if options.peers is None else options.peers.split(","):
        for name in STREAMS if options.sets is None else options.sets.split(","):
            case = Case(name, peer, most=options.rows)
            if case in results.found and not options.anew:
                continue
            try:
                found = measured(case)
            except ImportError as error:
                print(f"{peer} on {name} is left out: {error}", flush=True)
                continue
            results.keep(case, found)
            print(*case, found, flush=True)
    write(results, tuple(STREAMS), tuple(PEERS), options.rows)


if __name__ == "__main__":
    main()
