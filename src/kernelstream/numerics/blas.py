"""Products and solutions by SciPy's BLAS and LAPACK, in place and without Python's lock, which `scipy.linalg` keeps: so
they can go on beside other threads.

Matrices lie row after row, as NumPy has them; Fortran sees their transposes.
"""

import ctypes
import functools
from typing import Any

import numpy as np

from .memory import look_for_blas

_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.restype, _get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


@functools.cache
def _modules() -> tuple[Any, Any]:
    """SciPy's, which most learners do without; it has a BLAS of its own."""
    from scipy.linalg import cython_blas, cython_lapack

    look_for_blas()
    return cython_blas, cython_lapack


@functools.cache
def _routine(name: str, dtype: np.dtype[Any], n_arguments: int) -> Any:
    """A Fortran routine, whose arguments are all pointers."""
    cython_blas, cython_lapack = _modules()
    capsules = cython_blas.__pyx_capi__ | cython_lapack.__pyx_capi__
    capsule = capsules[f"{'s' if dtype == np.float32 else 'd'}{name}"]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(_get_pointer(capsule, _get_name(capsule)))


def _given(value: Any) -> Any:
    """What points at a letter, a whole number, or an array."""
    if isinstance(value, np.ndarray):
        return value.ctypes.data
    return value if isinstance(value, bytes) else ctypes.addressof(value)


def _call(routine: Any, *arguments: Any) -> None:
    kept = [ctypes.c_int(value) if isinstance(value, int) else value for value in arguments]
    routine(*map(_given, kept))


def _pitch(matrix: np.ndarray) -> int:
    """From one row to the next. Requires: a row's numbers lie beside each other."""
    return int(matrix.strides[0] // matrix.itemsize) if len(matrix) > 1 else max(1, matrix.shape[1])


def add_products(sums: np.ndarray, Z: np.ndarray, fade: float = 1.0) -> None:
    """sums = fade * sums + Z'Z, its lower triangle. Requires: of one dtype."""
    one, fade_ = np.ones(1, Z.dtype), np.full(1, fade, Z.dtype)
    _call(_routine("syrk", Z.dtype, 10), b"U", b"N", Z.shape[1], len(Z), one, Z, _pitch(Z), fade_, sums, _pitch(sums))


def solve_lower(L: np.ndarray, B: np.ndarray, *, transposed: bool = False) -> None:
    """B <- B (L')^-1, or with `transposed` B L^-1: each row b becomes what L x = b, or L'x = b, has for x.

    Requires: of one dtype.
    """
    one, way = np.ones(1, L.dtype), b"N" if transposed else b"T"
    _call(_routine("trsm", L.dtype, 11), b"L", b"U", way, b"N", len(L), len(B), one, L, _pitch(L), B, _pitch(B))


def solve_positive(A: np.ndarray, B: np.ndarray) -> bool:
    """B <- B A^-1, from the upper triangle of A, which becomes its factor; False, where A is not positive definite.

    The other triangle would take a third longer: LAPACK sees the transpose, of whose lower triangle it is faster.
    Requires: of one dtype.
    """
    failed = ctypes.c_int()
    _call(_routine("posv", A.dtype, 8), b"L", len(A), len(B), A, _pitch(A), B, _pitch(B), failed)
    return failed.value == 0


def solve_factored(A: np.ndarray, B: np.ndarray) -> None:
    """B <- B A^-1, from the factor that `solve_positive` left in A. Requires: of one dtype."""
    failed = ctypes.c_int()
    _call(_routine("potrs", A.dtype, 8), b"L", len(A), len(B), A, _pitch(A), B, _pitch(B), failed)
