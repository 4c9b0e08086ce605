"""Interrupts that wait until what they came into is whole."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_holds = False  # whether the main thread is inside


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Inside, an interrupt waits until the end: it comes to the main thread alone, between two steps of Python, and
    might come between what is learned and what is noted of it, or into a compiler's call of Python.
    """
    global _holds
    if _holds or threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        _holds = True
        yield
    finally:
        _holds = False
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])
