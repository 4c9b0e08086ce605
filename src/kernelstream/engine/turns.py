"""Who may work on a model: one who changes it, or several who read it; and interrupts that wait until it is whole."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

# Readers take one of these locks each, so that so many read at the same time; who changes the model takes them all.
READERS = 4


class Lock:
    """A lock that a thread may take again. Locks are of this process: a copy has its own."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> Any:
        return Lock, ()


class Turns:
    """Locks of one model. A thread may read or change what it is changing already."""

    def __init__(self) -> None:
        self._locks = [Lock() for _ in range(READERS)]

    def reading(self) -> Any:
        """A context in which nobody changes the model."""
        return self._locks[threading.get_native_id() % READERS]

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """A context in which nobody else reads or changes the model."""
        a, b, c, d = self._locks
        with a, b, c, d:
            yield


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Inside, an interrupt waits until the end: it comes to the main thread alone, between two steps of Python, and
    might come between what is learned and what is noted of it.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])
