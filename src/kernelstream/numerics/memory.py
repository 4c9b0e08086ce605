"""Where arrays lie in memory, and how many threads NumPy's BLAS takes to them."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

_LINE = 64  # bytes of a cache line


def aligned(array: np.ndarray) -> np.ndarray:
    """The same numbers from the start of a cache line on, a copy where the array does not lie so.

    NumPy puts arrays at multiples of 16 bytes: a SIMD load then often straddles two lines and takes twice as long.
    """
    if array.nbytes < _LINE or array.__array_interface__["data"][0] % _LINE == 0:
        return array
    moved = _within(np.empty(array.nbytes + _LINE, np.uint8), array.shape, array.dtype)
    moved[...] = array
    return moved


def zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """`np.zeros` from the start of a cache line on: large ones take memory only where they are written."""
    return _within(np.zeros(math.prod(shape) * np.dtype(dtype).itemsize + _LINE, np.uint8), shape, dtype)


def _within(room: np.ndarray, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    first = -room.__array_interface__["data"][0] % _LINE
    return room[first : first + len(room) - _LINE].view(dtype).reshape(shape)


@cache
def _blas() -> list[Any]:
    """Looking for libraries takes a fifth of the time of an eigen-decomposition of 400 points."""
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


_inside = 0
_counting = threading.Lock()
_limited: list[tuple[Any, int]] = []  # libraries, and how many threads they had


def _limit() -> None:
    for library in _blas():
        if library.num_threads != 1:
            _limited.append((library, library.num_threads))
            _set_threads(library, 1)


def _set_threads(library: Any, n: int) -> None:
    """Whichever thread asks: threadpoolctl listens, from 3.8 on, to the first thread alone until it lets go."""
    let_go = getattr(library, "clear_controlling_thread", lambda force=False: None)
    let_go(force=True)
    library.set_num_threads(n)
    let_go()


def look_for_blas() -> None:
    """A BLAS was loaded, which those who are in `one_blas_thread`, or come into it, mean too."""
    with _counting:
        _blas.cache_clear()
        if _inside > 0:
            _limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which NumPy's BLAS, and SciPy's, has one thread: more of them than idle cores make it many times
    slower, and a sum could depend on how many there are. Several threads may be in it; the last one out puts back what
    was.
    """
    global _inside
    with _counting:
        if _inside == 0:
            _limit()
        _inside += 1
    try:
        yield
    finally:
        with _counting:
            _inside -= 1
            while _inside == 0 and _limited:
                _set_threads(*_limited.pop())
