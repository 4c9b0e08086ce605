"""Ctrl-C that is never lost.

An interrupt that arrives while Numba compiles may be swallowed by a callback, or come out as some other error.
"""

import signal
import sys
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """A context that ends, instead of raising, when it is interrupted; `seen` says whether it was."""

    def __init__(self) -> None:
        self.seen = False

    def __enter__(self) -> Self:
        self._handler = signal.signal(signal.SIGINT, self._received)
        self._hook = sys.unraisablehook
        sys.unraisablehook = self._swallowed
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        signal.signal(signal.SIGINT, self._handler)
        sys.unraisablehook = self._hook
        return self.seen

    def check(self) -> None:
        """Raise the interrupt that was swallowed; to be called now and then."""
        if self.seen:
            raise KeyboardInterrupt

    def _received(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        raise KeyboardInterrupt

    def _swallowed(self, unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            self._hook(unraisable)
