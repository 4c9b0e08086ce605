"""What `kernelstream serve` promises, longer than a test may take: kills, hostile bodies, a full disk, the
interface, hours of steady use.

    python -m benchmarks.soak_serve [kills bodies disk interface steady] [--kills N] [--cases N] [--examples N]

Each part prints what was done and what is wrong; one that finds something fails.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from . import serve_bodies, serve_disk, serve_interface, serve_kills, serve_steady

Outcome = tuple[str, list[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--kills", type=int, default=100, help="half of them while the log is cut all the time")
    parser.add_argument("--cases", type=int, default=10_000, help="mutated bodies of each kind")
    parser.add_argument("--examples", type=int, default=300, help="requests to each operation of the interface")
    parser.add_argument("--minutes", type=float, default=120.0, help="of steady use")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if unknown := [part for part in given.parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    bad = 0
    for part in given.parts:
        for run in PARTS[part](given):
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                done, faults = run(Path(folder))
            print(f"{part}: {done}, {time.monotonic() - began:.0f} s: {len(faults)} faults", flush=True)
            for fault in faults[:20]:
                print(f"  {fault}", flush=True)
            bad += len(faults)
    return 1 if bad else 0


def _kills(given: Any) -> list[Callable[[Path], Outcome]]:
    half = given.kills // 2
    return [
        lambda folder: serve_kills.kills(folder, given.kills - half, seed=given.seed, cut=False),
        lambda folder: serve_kills.kills(folder, half, seed=given.seed + 1, cut=True),
    ]


def _bodies(given: Any) -> list[Callable[[Path], Outcome]]:
    return [partial(serve_bodies.mutated, kind=kind, n=given.cases, seed=given.seed) for kind in serve_bodies.KINDS]


def _disk(given: Any) -> list[Callable[[Path], Outcome]]:
    if reason := serve_disk.why_not():
        return [lambda folder: (f"left out, as {reason}", [])]
    return [partial(serve_disk.full, rounds=10, snapshots=snapshots) for snapshots in (False, True)]


def _interface(given: Any) -> list[Callable[[Path], Outcome]]:
    return [partial(serve_interface.conforms, examples=given.examples, seed=given.seed)]


def _steady(given: Any) -> list[Callable[[Path], Outcome]]:
    return [partial(serve_steady.steady, minutes=given.minutes)]


PARTS: dict[str, Callable[[Any], list[Callable[[Path], Outcome]]]] = {
    "kills": _kills,
    "bodies": _bodies,
    "disk": _disk,
    "interface": _interface,
    "steady": _steady,
}


if __name__ == "__main__":
    sys.exit(main())
