"""More than one core for one learner: several threads lift rows at once and learn from them in turn, or score them.

A row has the same bits in whatever chunk it is lifted or scored, so the number of threads changes no result. A call
begins in its own thread and is joined by helpers as they become free; one that has nothing to do sleeps.
"""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from queue import SimpleQueue
from typing import Any
from weakref import WeakSet

from ..numerics.compile import MOST_THREADS
from ..numerics.interrupts import held

# Blocks of fewer chunks are run in one go.
FEWEST_CHUNKS = 4
# Seconds saved from which on it does not matter that a helper takes 0.05 ms to join.
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


Work = Callable[[Any, int, int], Any]  # with a scratch (an algorithm's scratch), of the rows start .. stop-1


def in_pieces(work: Work, scratches: list[Any], start: int, stop: int) -> None:
    """Do the work on all rows, a piece at a time, in as many threads as there are scratches."""
    height = max(scratches[0].common.chunk, -(-(stop - start) // (_PIECES * len(scratches))))
    pieces = iter(range(start, stop, height))  # whichever thread is free takes the next one

    def take(i: int) -> None:
        for first in pieces:
            work(scratches[i], first, min(first + height, stop))

    _in_threads(take, len(scratches))


def in_turn(lift: Work, learn: Work, scratches: list[Any], start: int, stop: int) -> None:
    """Lift the rows, chunk by chunk in as many threads as there are scratches, and learn from them in their order.

    The thread that has lifted a chunk learns from it when its turn comes: so it is the model that goes from one core's
    cache to another's, once a chunk, and not the lifted rows, which are far larger.

    learn: False ends it; no later row is learned from.
    """
    height = scratches[0].common.chunk
    chunks = range(start, stop, height)
    turns: list[SimpleQueue[bool]] = [SimpleQueue() for _ in range(len(chunks) + 1)]  # a chunk's, or (False) it is over
    turns[0].put(True)
    pending = iter(enumerate(chunks))  # whichever thread is free takes the next one

    def take(i: int) -> None:
        try:
            for c, first in pending:
                goes_on = False
                try:
                    end = min(first + height, stop)
                    lift(scratches[i], first, end)
                    goes_on = turns[c].get() and learn(scratches[i], first, end)
                finally:
                    turns[c + 1].put(goes_on)
                if not goes_on:
                    return
        except BaseException:
            deque(pending, maxlen=0)  # an interrupt may come between two chunks: no one begins another
            raise

    _in_threads(take, len(scratches))


@cache
def _helpers() -> ThreadPoolExecutor:
    """The threads besides those that call: one a core that is left."""
    return ThreadPoolExecutor(max(1, available() - 1), "kernelstream")


_asked: WeakSet[Future[Any]] = WeakSet()  # what helpers do or are to do


if hasattr(os, "register_at_fork"):
    # Threads do not live on in a fork: what they do ends before it, and the fork has helpers of its own.
    os.register_at_fork(before=lambda: wait(set(_asked)), after_in_child=_helpers.cache_clear)


def ask(work: Callable[..., Any], *args: Any) -> Future[Any]:
    """Have a helper do `work(*args)` when one is free; who cannot wait cancels it and does it alone.

    What reads ahead and what lifts ahead share the helpers, first come, first served: no more threads than cores work.
    """
    asked: Future[Any] = Future()

    def do() -> None:
        if asked.set_running_or_notify_cancel():
            try:
                asked.set_result(work(*args))
            except BaseException as error:
                asked.set_exception(error)

    try:
        with held():  # a thread that has begun is noted as one to be told of the end
            _helpers().submit(
                do
            )  # which may keep it for later, though it fails: who cancels it is sure that it is not done
        _asked.add(asked)
    except (RuntimeError, MemoryError):  # the interpreter is about to end, or there is no memory for a thread
        pass
    return asked


def _in_threads(take: Callable[[int], None], n: int) -> None:
    """Call take(0) in this thread, and take(1) .. take(n - 1) in helpers as soon as there are any, if this has not come
    to an end by then; raise what one of them raised. Requires: any of them does what the others leave.
    """
    others: list[Future[None]] = []
    try:
        others += [ask(take, i) for i in range(1, n)]
        take(0)
    finally:
        working = [other for other in others if not other.cancel()]
        wait(working)
    for other in working:
        other.result()
