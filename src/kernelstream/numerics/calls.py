"""Calls of compiled code that cost what a call in C costs: for one row at a time.

Handing over a model's records takes Numba longer than a row takes to be learned: here their numbers and addresses are
written down once, and a builtin function of no arguments reads them. A dictionary's values become a row the same way.
Both are some lines of LLVM's language around functions of Python's stable interface.
"""

import ctypes
import functools
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .compile import INTERPRETED, assembled, direct, native
from .rows import LARGEST

NO_ROW, SAME_ROW, NEW_ROW = range(3)

# What Python hands to a builtin function of none or one argument: what it is bound to, here a tuple that begins with
# bytes; and the argument.
_FUNCTION = """
define ptr @{name}(ptr %self, ptr %x) {attributes} {{
  %first = call ptr {PyTuple_GetItem}(ptr %self, i64 0)
  %place = call ptr {PyBytes_AsString}(ptr %first)
  {body}
}}
"""

# Numba's functions are called as status = f(where the value goes, where an error goes, ...); ours raise none. Other
# threads of Python run meanwhile.
_CALL = """
  %value = alloca i64
  %error = alloca ptr
  {loads}
  %thread = call ptr {PyEval_SaveThread}()
  %status = call i32 inttoptr (i64 {address} to ptr)(ptr %value, ptr %error{arguments})
  call void {PyEval_RestoreThread}(ptr %thread)
  %returned = load i64, ptr %value
  %found = call ptr {PyLong_FromLongLong}(i64 %returned)
  ret ptr %found
"""

# Optimised, a call with the thousand arguments of a large state would be compiled for a second.
_AS_WRITTEN = "noinline optnone"

# The bytes are: how many values there are, where they go, and the names' addresses.
_READ = """
  %n = load i64, ptr %place
  %at.row = getelementptr i64, ptr %place, i64 1
  %row = load ptr, ptr %at.row
  %names = getelementptr i64, ptr %place, i64 2
  %length = call i64 {PyDict_Size}(ptr %x)
  %fits = icmp eq i64 %length, %n
  br i1 %fits, label %next, label %other
next:
  %i = phi i64 [0, %0], [%i.next, %write]
  %changed = phi i1 [false, %0], [%changed.next, %write]
  %at.name = getelementptr ptr, ptr %names, i64 %i
  %name = load ptr, ptr %at.name
  %item = call ptr {PyDict_GetItemWithError}(ptr %x, ptr %name)
  %absent = icmp eq ptr %item, null
  br i1 %absent, label %other, label %convert
convert:
  %number = call double {PyFloat_AsDouble}(ptr %item)
  %size = call double @llvm.fabs.f64(double %number)
  %sound = fcmp ole double %size, {largest}
  br i1 %sound, label %look, label %other
look:
  %doubtful = fcmp oeq double %number, -1.0
  br i1 %doubtful, label %ask, label %write
ask:
  %error = call ptr {PyErr_Occurred}()
  %none = icmp eq ptr %error, null
  br i1 %none, label %write, label %other
write:
  %real = {convert}
  %at = getelementptr {real}, ptr %row, i64 %i
  %old = load {bits}, ptr %at
  %new = bitcast {real} %real to {bits}
  store {bits} %new, ptr %at
  %differs = icmp ne {bits} %old, %new
  %changed.next = or i1 %changed, %differs
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %n
  br i1 %more, label %next, label %done
done:
  %as.int = zext i1 %changed.next to i64
  %answer = add i64 %as.int, {same}
  %found = call ptr {PyLong_FromLongLong}(i64 %answer)
  ret ptr %found
other:
  call void {PyErr_Clear}()
  %refused = call ptr {PyLong_FromLongLong}(i64 {no})
  ret ptr %refused
"""

_REALS = {
    "float32": {"real": "float", "bits": "i32", "convert": "fptrunc double %number to float"},
    "float64": {"real": "double", "bits": "i64", "convert": "fadd double %number, -0.0"},
}
_LETTERS = {"ptr": "q", "i64": "q", "double": "d"}  # of eight bytes each
_METH_NOARGS, _METH_O = 4, 8
_BEGIN = "declare double @llvm.fabs.f64(double)\n"


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("help", ctypes.c_char_p),
    )


class _Interface(dict[str, str]):
    """Functions of Python's interface as LLVM calls them, by name."""

    def __missing__(self, name: str) -> str:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        return f"inttoptr (i64 {address} to ptr)"


_new_function: Any = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
_methods: dict[str, _Method] = {}  # which Python keeps pointers to
_making = threading.Lock()


def _builtin(method: _Method, place: bytes, *kept: Any) -> Callable[..., int]:
    """A function of Python's that is bound to a place, and to what must live as long as it does."""
    function: Callable[..., int] = _new_function(ctypes.addressof(method), (place, *kept), None)
    return function


def _method(name: str, flags: int, body: str, words: dict[str, Any]) -> _Method:
    """Made once for each name."""
    with _making:
        if name not in _methods:
            text = _BEGIN + _FUNCTION.format_map(
                _Interface(name=name, body=body.format_map(_Interface(words)), attributes=words.get("attributes", ""))
            )
            _methods[name] = _Method(name.encode(), assembled(text, name), flags, None)
        return _methods[name]


def bound(function: Any, *arguments: Any) -> Callable[[], int]:
    """A compiled function that returns an integer, with these very arguments: arrays as they lie, numbers as they are.

    Requires: the function was called with such arguments before.
    """
    if INTERPRETED:
        return functools.partial(function, *arguments)
    address, kinds = native(function, *arguments)
    try:
        place = struct.pack("".join(_LETTERS[kind] for kind in kinds), *_numbers(arguments))
    except (KeyError, struct.error):  # a user's record, of something else than numbers and arrays
        return functools.partial(direct(function, *arguments), *arguments)
    slots = [f"%s{i} = getelementptr i64, ptr %place, i64 {i}" for i in range(len(kinds))]
    loads = [f"%a{i} = load {kind}, ptr %s{i}" for i, kind in enumerate(kinds)]
    handed = "".join(f", {kind} %a{i}" for i, kind in enumerate(kinds))
    words = {"address": address, "loads": "\n  ".join(slots + loads), "arguments": handed, "attributes": _AS_WRITTEN}
    return _builtin(_method(f"bound_{address}", _METH_NOARGS, _CALL, words), place, arguments)


def _numbers(value: Any) -> Iterator[int | float]:
    """What compiled code gets for a value: of an array its owners (none), sizes, address, shape and strides."""
    if isinstance(value, tuple):
        for one in value:
            yield from _numbers(one)
    elif isinstance(value, np.ndarray):
        yield from (0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides)
    else:
        yield value


def reader(names: Sequence[Any], row: np.ndarray) -> Callable[[Any], int]:
    """A function of a dictionary that writes its values into the row, in the order of the names: NEW_ROW, or SAME_ROW
    where it holds them already. NO_ROW for whatever is not a dictionary of these names alone with finite numbers up to
    LARGEST; the row then holds nothing that counts.
    """
    dtype, names = row.dtype.name, tuple(names)
    largest = "0x" + struct.pack(">d", LARGEST).hex()  # as LLVM writes a number that must not be rounded
    words = {**_REALS[dtype], "largest": largest, "same": SAME_ROW, "no": NO_ROW}
    place = struct.pack(f"{2 + len(names)}q", len(names), row.ctypes.data, *map(id, names))
    return _builtin(_method(f"read_{dtype}", _METH_O, _READ, words), place, names, row)
