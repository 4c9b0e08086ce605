"""Ahead: long work on the rows so far, whose result is for a row to come.

It is a function of what the state holds of those rows. A helper does it beside the stream, which waits for it a little
now and then, or takes its steps itself. What was not begun when the row comes (a model that was read from a file, or
has grown) is done then: so bits depend neither on time nor on threads.
"""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition
from typing import Any

from ..numerics.memory import one_blas_thread
from ..numerics.stepwise import Stepwise, some_steps
from . import cores


class Taken:
    """Counts the steps that a helper has taken, for those who wait for some of them."""

    def __init__(self) -> None:
        self._changed, self._n, self._asked, self._over = Condition(), 0, 0, False

    def note(self) -> None:
        with self._changed:
            self._n += 1
            self._changed.notify()

    def end(self) -> None:
        """No more will come, and nobody need wait for any."""
        with self._changed:
            self._over = True
            self._changed.notify()

    def wait(self, n: int) -> None:
        """For n steps more than were waited for before."""
        with self._changed:
            self._asked += n
            self._changed.wait_for(lambda: self._over or self._n >= self._asked)


class Ahead:
    def __init__(self, runner: Callable[..., Any], *, beside: bool):
        """runner: for a spec, a task and a shape, what runs a model of them that has learned nothing; for work that
        learns rows again. beside: a helper does it.
        """
        self.beside, self.runner = beside, runner
        self._work: Stepwise[Any] | None = None
        self._done: tuple[Any] | None = None
        self._helper: Future[Any] | None = None
        self._taken = Taken()
        self._parts: dict[int, Ahead] = {}

    def part(self, i: int) -> "Ahead":
        """For the i-th part of a model, which has work of its own."""
        return self._parts.setdefault(i, Ahead(self.runner, beside=self.beside))

    def begin(self, work: Stepwise[Any]) -> None:
        taken = Taken()
        helper = cores.ask(_all_of, work, taken) if self.beside else None
        self._work, self._done, self._helper, self._taken = work, None, helper, taken

    def go_on(self, n: int) -> None:
        """See that n steps more are taken, so that what is left for the last row is not too much."""
        if self._helper is not None and self._helper.cancel():
            self._helper = None  # all helpers are busy
        if self._helper is not None:
            self._taken.wait(n)
        elif self._work is not None and self._done is None:
            work, self._work = self._work, None  # where a step fails, all of it is done anew
            self._done = some_steps(work, n)
            self._work = work

    def result(self, anew: Callable[[], Stepwise[Any]]) -> Any:
        """What was begun comes to, or else `anew`."""
        work, done, helper = self._work, self._done, self._helper
        self._work = self._done = self._helper = None
        if done is not None:
            return done[0]
        if helper is not None and not helper.cancel():
            return helper.result()
        return _all_of(work or anew(), Taken())


def _all_of(work: Stepwise[Any], taken: Taken) -> Any:
    """All steps, each of them noted."""
    try:
        with one_blas_thread():
            while (result := some_steps(work, 1)) is None:
                taken.note()
        return result[0]
    finally:
        taken.end()
