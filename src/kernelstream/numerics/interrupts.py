"""Interrupts that wait until what they came into is whole."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class _Waiting:
    """Keeps interrupts that come."""

    def __init__(self) -> None:
        self.came: list[tuple[int, FrameType | None]] = []

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came.append((number, frame))


_holding: list[_Waiting] = []  # what keeps interrupts at the moment; of the main thread alone


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Inside, an interrupt waits until the end: it comes to the main thread alone, between two steps of Python, and
    might come between what is learned and what is noted of it, or into a compiler's call of Python.
    """
    # Python's `signal` takes long, and within a call this is asked ten times.
    if _holding or threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        yield
        return
    waiting = _Waiting()
    signal.signal(signal.SIGINT, waiting)
    try:
        _holding.append(waiting)
        yield
    finally:
        _holding.clear()
        signal.signal(signal.SIGINT, handler)
        if waiting.came:
            handler(*waiting.came[0])
