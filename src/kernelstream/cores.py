"""More than one core for one learner: several threads lift rows at once and learn from them in turn, or score them.

A row has the same bits in whatever chunk it is lifted or scored, so the number of threads changes no result. Threads
live for one call, in compiled code that leaves the interpreter; one that has nothing to do sleeps.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from ._compile import MOST_THREADS

# Blocks of fewer chunks are run in one go.
FEWEST_CHUNKS = 4
# Seconds saved from which on it does not matter that starting a thread takes 0.1 ms.
_WORTH_SECONDS = 1e-3
# Of a thread's share of the rows to score, so that threads end at about the same time.
_PIECES = 8


def available() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Two where there are two cores; fewer where NUMBA_NUM_THREADS says so, which joblib sets in its workers.
DEFAULT_THREADS = min(2, available(), MOST_THREADS)


def worth(lifting: float, learning: float, chunks: float) -> bool:
    """Whether a second thread pays, from the seconds that a chunk takes: lifting can be shared, learning cannot."""
    saved = min(lifting, (lifting + learning) / 2.0)
    return saved * chunks >= _WORTH_SECONDS and 4.0 * lifting >= learning


Work = Callable[[Any, int, int], Any]  # with a desk (an algorithm's scratch), of the rows start .. stop-1


def in_pieces(work: Work, desks: list[Any], start: int, stop: int) -> None:
    """Do the work on all rows, a piece at a time, in as many threads as there are desks."""
    height = max(desks[0].common.chunk, -(-(stop - start) // (_PIECES * len(desks))))
    pieces = iter(range(start, stop, height))  # whichever thread is free takes the next one

    def take(i: int) -> None:
        for first in pieces:
            work(desks[i], first, min(first + height, stop))

    _in_threads(take, len(desks))


def in_turn(lift: Work, learn: Work, desks: list[Any], start: int, stop: int) -> None:
    """Lift the rows, chunk by chunk in as many threads as there are desks, and learn from them in their order.

    The thread that has lifted a chunk learns from it when its turn comes: so it is the model that goes from one core's
    cache to another's, once a chunk, and not the lifted rows, which are far larger.

    learn: False ends it; no later row is learned from.
    """
    n, height = len(desks), desks[0].common.chunk
    turns: list[SimpleQueue[bool]] = [SimpleQueue() for _ in desks]  # a thread's turn has come, or (False) it is over
    turns[0].put(True)

    def take(i: int) -> None:
        following = turns[(i + 1) % n]
        try:
            for first in range(start + i * height, stop, n * height):
                end = min(first + height, stop)
                lift(desks[i], first, end)
                if not (turns[i].get() and learn(desks[i], first, end)):
                    return
                following.put(True)
        finally:
            following.put(False)

    _in_threads(take, n)


def _in_threads(take: Callable[[int], None], n: int) -> None:
    """Call take(0) .. take(n - 1) at the same time, the first in this thread; raise what one of them raised."""
    with ThreadPoolExecutor(n - 1, "kernelstream") as pool:
        others = [pool.submit(take, i) for i in range(1, n)]
        take(0)
    for other in others:
        other.result()
