"""Ahead: long work on the rows so far, whose result is for a row to come.

It is a function of what the state holds of those rows. A helper does it beside the stream, or the stream takes a few of
its steps now and then. What was not begun when the row comes (a model that was read from a file, or has grown) is done
then: so bits depend neither on time nor on threads.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from ..numerics.memory import one_blas_thread
from ..numerics.stepwise import Stepwise, all_steps, some_steps
from . import cores


class Ahead:
    def __init__(self, *, beside: bool):
        """beside: a helper does it."""
        self.beside = beside
        self._work: Stepwise[Any] | None = None
        self._done: tuple[Any] | None = None
        self._helper: Future[Any] | None = None
        self._parts: dict[int, Ahead] = {}

    def part(self, i: int) -> "Ahead":
        """For the i-th part of a model, which has work of its own."""
        return self._parts.setdefault(i, Ahead(beside=self.beside))

    def begin(self, work: Stepwise[Any]) -> None:
        self._work, self._done = work, None
        self._helper = cores.ask(_all_of, work) if self.beside else None

    def go_on(self, n: int) -> None:
        """Take n steps, if no helper does."""
        if self._work is not None and self._helper is None and self._done is None:
            self._done = some_steps(self._work, n)

    def result(self, anew: Callable[[], Stepwise[Any]]) -> Any:
        """What was begun comes to, or else `anew`."""
        work, done, helper = self._work, self._done, self._helper
        self._work = self._done = self._helper = None
        if done is not None:
            return done[0]
        if helper is not None and not helper.cancel():
            return helper.result()
        return _all_of(work or anew())


def _all_of(work: Stepwise[Any]) -> Any:
    with one_blas_thread():
        return all_steps(work)
