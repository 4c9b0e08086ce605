"""Long streams: memory and time a row stay what they were, and predictions stay finite.

    python -m benchmarks.soak [LEARNER ...] [--rows N]

The same million rows are learned again and again. After the first tenth, in which budgets fill and dictionaries grow,
what is resident may grow by no more than the allocator's play, a million rows may take no more than half as long again
as the median so far, and no more than 1.05 times as many mistakes are made, each before its row is learned. Seconds are
those of the processor, on one thread: what else runs beside it does not count.
"""

import argparse
import resource
import statistics
import sys
import time

import numpy as np

from kernelstream import Binary, Learner, make

LEARNERS = ("fogd", "nogd", "rbp", "forgetron", "budget-perceptron", "bogd", "bpa-s", "bsgd-m", "dualsgd", "avm")
ROWS = 100_000_000
_SIZES = {"budget": 200, "n_components": 400}
_PIECE = 1_000_000
_BLOCK = 4096
_PLAY = 16 * 2**20  # bytes
_SLOWER, _WORSE = 1.5, 1.05
_CHANCE = 4.0  # deviations of a number of mistakes that are none of the model's making


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("learners", nargs="*", default=LEARNERS, metavar="LEARNER")
    parser.add_argument("--rows", type=int, default=ROWS, help="for each learner")
    given = parser.parse_args()
    bad = 0
    for name in given.learners:
        faults = soaked(name, given.rows)
        for fault in faults:
            print(f"  {name}: {fault}")
        bad += len(faults)
    return 1 if bad else 0


def soaked(name: str, rows: int) -> list[str]:
    """Learn so many rows, print what they took, and give what is wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_PIECE, 8)).astype(np.float32)
    y = np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=_PIECE))
    sizes = {key: size for key, size in _SIZES.items() if getattr(make(name), key, None) is not None}
    learner = Learner(make(name, **sizes), Binary([-1, 1]), threads=1)
    probe, faults = X[:100], []
    begun = max(rows // 10, _PIECE)
    seconds: list[float] = []
    mistakes: list[int] = []
    resident = 0
    done = 0
    while done < rows:
        start, wrong = time.process_time(), 0
        for at in range(0, _PIECE, _BLOCK):
            scores = learner.learn(X[at : at + _BLOCK], y[at : at + _BLOCK])
            wrong += int((learner.task.decode(scores) != y[at : at + _BLOCK]).sum())
        done += _PIECE
        seconds.append(time.process_time() - start)
        mistakes.append(wrong)
        if done == begun:
            resident = _peak()
        if not np.isfinite(learner.scores(probe)).all():
            faults.append(f"scores are not finite after {done:,} rows")
            break
    first, last = (statistics.median(part) for part in (seconds[: len(seconds) // 2 + 1], seconds[-5:]))
    grown = _peak() - resident if resident else 0
    early, late = mistakes[min(begun // _PIECE, len(mistakes) - 1)], mistakes[-1]
    print(
        f"{name}: {done:,} rows in {sum(seconds):,.0f} s, {first:.3g} and then {last:.3g} s a million, "
        f"{learner.n_bytes / 1e6:.3g} MB, {grown / 1e6:+.1f} MB resident, "
        f"{early:,} mistakes in the million behind the first tenth, {late:,} in the last",
        flush=True,
    )
    if late > _WORSE * early + _CHANCE * early**0.5:
        faults.append(f"{late:,} mistakes are made in the last million, {early:,} in that behind the first tenth")
    if learner.n_seen != done:
        faults.append(f"{learner.n_seen:,} rows are counted, {done:,} were learned")
    if grown > _PLAY:
        faults.append(f"{grown / 1e6:.0f} MB more are resident than after {begun:,} rows")
    if last > _SLOWER * first:
        faults.append(f"a million rows take {last:.3g} s at the end, {first:.3g} before")
    return faults


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main())
