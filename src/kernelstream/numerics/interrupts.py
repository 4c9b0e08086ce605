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


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Inside, an interrupt waits until the end: it comes to the main thread alone, between two steps of Python, and
    might come between what is learned and what is noted of it, or into a compiler's call of Python.
    """
    handler = signal.getsignal(signal.SIGINT)
    elsewhere = threading.current_thread() is not threading.main_thread()
    if elsewhere or isinstance(handler, _Waiting) or not callable(handler):
        yield
        return
    waiting = _Waiting()
    signal.signal(signal.SIGINT, waiting)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if waiting.came:
            handler(*waiting.came[0])
