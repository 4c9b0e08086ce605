"""Ahead: long work on the rows so far, whose result is for a row to come.

It is a function of what the state holds of those rows. A helper does it beside the stream, which waits for it a little
now and then, or takes its steps itself. What was not begun when the row comes (a model that was read from a file, or
has grown) is done then: so bits depend neither on time nor on threads.
"""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Semaphore
from typing import Any

from ..numerics.memory import one_blas_thread
from ..numerics.stepwise import Stepwise, some_steps
from . import cores


class Ahead:
    def __init__(self, *, beside: bool):
        """beside: a helper does it."""
        self.beside = beside
        self._work: Stepwise[Any] | None = None
        self._done: tuple[Any] | None = None
        self._helper: Future[Any] | None = None
        self._taken = Semaphore(0)  # steps by the helper that nobody has waited for
        self._parts: dict[int, Ahead] = {}

    def part(self, i: int) -> "Ahead":
        """For the i-th part of a model, which has work of its own."""
        return self._parts.setdefault(i, Ahead(beside=self.beside))

    def begin(self, work: Stepwise[Any]) -> None:
        self._work, self._done, self._taken = work, None, Semaphore(0)
        self._helper = cores.ask(_all_of, work, self._taken) if self.beside else None

    def go_on(self, n: int) -> None:
        """See that n steps more are taken, so that what is left for the last row is not too much."""
        if self._helper is not None and self._helper.cancel():
            self._helper = None  # all helpers are busy
        for _ in range(n if self._helper is not None else 0):
            self._taken.acquire()
        if self._helper is None and self._work is not None and self._done is None:
            self._done = some_steps(self._work, n)

    def result(self, anew: Callable[[], Stepwise[Any]]) -> Any:
        """What was begun comes to, or else `anew`."""
        work, done, helper = self._work, self._done, self._helper
        self._work = self._done = self._helper = None
        if done is not None:
            return done[0]
        if helper is not None and not helper.cancel():
            return helper.result()
        return _all_of(work or anew(), Semaphore(0))


def _all_of(work: Stepwise[Any], taken: Semaphore) -> Any:
    """All steps; each of them is noted, and those that never come."""
    try:
        with one_blas_thread():
            while (result := some_steps(work, 1)) is None:
                taken.release()
        return result[0]
    finally:
        taken.release(1 << 20)
