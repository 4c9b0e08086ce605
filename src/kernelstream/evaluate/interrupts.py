"""Ctrl-C that is never lost, and never comes between learning a row and counting it.

An interrupt that arrives while Numba compiles may be swallowed by a callback, or come out as some other error.
"""

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """A context that ends, instead of raising, when it is interrupted; `seen` says whether it was."""

    active: "Interrupts | None" = None

    def __init__(self) -> None:
        self.seen = False
        self.held = False

    def __enter__(self) -> Self:
        self.held = True  # an interrupt that comes in between is noted, here and at the end
        self._handler = signal.signal(signal.SIGINT, self._received)
        self._hook = sys.unraisablehook
        sys.unraisablehook = self._swallowed
        self._outer, Interrupts.active = Interrupts.active, self
        self.held = False
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        self.held = True
        Interrupts.active = self._outer
        signal.signal(signal.SIGINT, self._handler)
        sys.unraisablehook = self._hook
        return self.seen

    def check(self) -> None:
        """Raise the interrupt that was swallowed; to be called now and then."""
        if self.seen:
            raise KeyboardInterrupt

    def _received(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        if not self.held:
            raise KeyboardInterrupt

    def _swallowed(self, unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            self._hook(unraisable)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Inside, an interrupt that an active `Interrupts` receives waits until the end."""
    active = Interrupts.active
    if active is None:
        yield
        return
    active.held = True
    try:
        yield
    finally:
        active.held = False
    active.check()
