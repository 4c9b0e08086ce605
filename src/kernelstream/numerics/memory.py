"""Where arrays lie in memory, and how many threads NumPy's BLAS takes to them."""

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
    room = np.empty(array.nbytes + _LINE, np.uint8)
    first = -room.__array_interface__["data"][0] % _LINE
    moved = room[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


@cache
def _blas() -> Any:
    """Looking for libraries takes a fifth of the time of an eigen-decomposition of 400 points."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


_inside = 0
_counting = threading.Lock()
_before: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which NumPy's BLAS has one thread: more of them than idle cores make it many times slower, and a sum
    could depend on how many there are. Several threads may be in it; the last one out puts back what was.
    """
    global _inside, _before
    with _counting:
        if _inside == 0:
            _before = _blas().limit(limits=1)
        _inside += 1
    try:
        yield
    finally:
        with _counting:
            _inside -= 1
            if _inside == 0:
                _before.restore_original_limits()
