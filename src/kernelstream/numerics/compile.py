"""The only file that knows Numba: compiled functions, pointers to them, dispatch, and the cache on disk.

Everything else is plain Python that runs interpreted too (``NUMBA_DISABLE_JIT=1``), with the same results.

Numba's own cache does not notice that a callee in another file changed, so the cache directory carries a digest of
the files that compiled code can come from. Without a writable directory nothing is cached and nothing fails.
``KERNELSTREAM_CACHE`` names another place.
"""

import contextlib
import copy
import functools
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, inline_closurecall
from numba.core.ccallback import CFunc
from numba.extending import intrinsic, overload
from numba.np.arrayobj import populate_array

INTERPRETED = bool(numba.config.DISABLE_JIT)
# Interpreted code never leaves the interpreter, so that threads would only get into each other's way.
MOST_THREADS = 1 if INTERPRETED else int(numba.config.NUMBA_NUM_THREADS)

# Contraction into fused multiply-adds is the only freedom that is given everywhere: it does not depend on how a
# stream is cut into blocks. Reductions may also be reordered, which is what lets LLVM vectorise a sum.
_CONTRACT = {"contract"}
_REASSOCIATE = {"contract", "reassoc", "nsz"}
_OPTIONS = {"fastmath": _CONTRACT, "error_model": "numpy", "_nrt": False}


# What compiled code can come from: files in which something is compiled, and whatever they import. The rest of the
# package can be edited without compiling anew; `tests/test_layers.py` holds the list.
SOURCES = (
    "algorithms",
    "engine/__init__.py",
    "engine/contract.py",
    "engine/inputs.py",
    "engine/loop.py",
    "engine/opening.py",
    "engine/single.py",
    "engine/state.py",
    "kernels.py",
    "laws/_loops.py",
    "losses.py",
    "metrics/_moments.py",
    "numerics",
    "parameters.py",
    "schedules.py",
    "sources/_decimals.py",
    "sources/_libsvm_parser.py",
    "sources/_zstd.py",
    "tasks.py",
)


def is_source(path: PurePath) -> bool:
    """Whether the digest covers a file of the package, named by its path in it."""
    return any(path.is_relative_to(source) for source in SOURCES)


def _source_digest() -> str:
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for source in SOURCES:
        for path in sorted((root / source).rglob("*.py")) or [root / source]:
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_directory() -> str | None:
    """A directory that can be written now, or None."""
    named = os.environ.get("KERNELSTREAM_CACHE") or os.environ.get("XDG_CACHE_HOME")
    try:
        base = Path(named) if named else Path.home() / ".cache"
        directory = base / "kernelstream" / _source_digest()
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return str(directory)
    except (OSError, RuntimeError):
        return None


CACHE_DIRECTORY = _cache_directory()
_numba_settings = threading.RLock()


@contextlib.contextmanager
def _our_cache() -> Iterator[bool]:
    """Point Numba at our directory while one function is declared, and put its setting back."""
    with _numba_settings:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = CACHE_DIRECTORY or before
        try:
            yield CACHE_DIRECTORY is not None
        finally:
            numba.config.CACHE_DIR = before


def _jit(function: Callable[..., Any], fastmath: set[str]) -> Any:
    with _our_cache() as cache:
        dispatcher = numba.njit(cache=cache, nogil=True, error_model="numpy", fastmath=fastmath, _nrt=False)(function)
    if cache and not INTERPRETED:
        _forgive(dispatcher._cache)
        keep = dispatcher._cache.save_overload
        dispatcher._cache.save_overload = lambda types, code: keep(types, code) if _ours(types) else None
    return dispatcher


def _forgive(cache: Any) -> None:
    """Have a cache take files that are damaged for absent, and a disk that is full for none: code is compiled anew."""
    file = cache._cache_file
    load_index, load_data, save = file._load_index, file._load_data, file.save

    def index() -> Any:
        try:
            return load_index()
        except Exception:  # a pickle that was cut short fails in any of many ways
            return {}

    def data(name: str) -> Any:
        try:
            return load_data(name)
        except Exception:
            raise FileNotFoundError(name) from None

    def saved(key: Any, code: Any) -> None:
        with contextlib.suppress(OSError):
            save(key, code)

    file._load_index, file._load_data, file.save = index, data, saved


def _ours(types: Any) -> bool:
    """Whether the digest covers all that code for these types runs: a user's record stands for a user's step."""
    package = __name__.partition(".")[0]
    for one in types:
        record = PurePath(*getattr(one, "instance_class", _ours).__module__.split("."))
        covered = record.is_relative_to(package) and is_source(record.relative_to(package).with_suffix(".py"))
        if not (covered and _ours(getattr(one, "types", ()))):
            return False
    return True


def compiled(function: Callable[..., Any]) -> Any:
    """Compile on first call."""
    return _jit(function, _CONTRACT)


def reduction(function: Callable[..., Any]) -> Any:
    """Compile on first call; sums in it may be reordered."""
    return _jit(function, _REASSOCIATE)


def _copier() -> Callable[[Any], Any]:
    """`copy.deepcopy` for the blocks of one function after the other, whose scope is copied once."""
    last: list[Any] = [None, None]  # a scope and its copy

    def copied(block: Any) -> Any:
        scope = getattr(block, "scope", None)
        known = {id(scope): last[1]} if scope is not None and scope is last[0] else {}
        found = copy.deepcopy(block, known)
        last[:] = scope, getattr(found, "scope", None)
        return found

    return copied


# To inline a function Numba copies it block by block, and with each block all variables of the function: a third of
# the time that compiling takes.
if getattr(inline_closurecall, "copy", None) is copy:
    inline_closurecall.copy = SimpleNamespace(deepcopy=_copier(), copy=copy.copy)


def inlined(function: Callable[..., Any]) -> Any:
    """A small function that becomes part of each compiled function that calls it."""
    return numba.njit(inline="always", **_OPTIONS)(function)


def by_record(declaration: Callable[..., Any], *, default: Callable[..., Any] | None = None) -> Any:
    """A function whose body is chosen by the record type of its first argument, at compile time.

    ``@declaration.register(Record)`` adds a body; `default` stands in where there is none.
    """
    bodies: dict[type | None, Callable[..., Any]] = {}

    @functools.wraps(declaration)
    def dispatch(first: Any, *rest: Any) -> Any:
        body = bodies.get(type(first), default)
        if body is None:
            raise TypeError(f"{declaration.__name__} has no body for {type(first).__name__}")
        return body(first, *rest)

    def register(record: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def add(body: Callable[..., Any]) -> Callable[..., Any]:
            bodies[record] = body
            return body

        return add

    def choose(first: Any, *rest: Any) -> Any:
        return bodies.get(getattr(first, "instance_class", None), default)

    dispatch.register = register  # type: ignore[attr-defined]
    # A body becomes part of its caller: handing over records of some hundred numbers cost a tenth of a microsecond.
    overload(dispatch, strict=False, jit_options={**_OPTIONS, "forceinline": True})(choose)
    return dispatch


def by_precision(single: Callable[..., Any], double: Callable[..., Any]) -> Any:
    """A function with one body for float32 and one for float64, chosen by its first argument (scalar or array)."""

    def dispatch(first: Any, *rest: Any) -> Any:
        return (single if first.dtype == np.float32 else double)(first, *rest)

    def choose(first: Any, *rest: Any) -> Any:
        return single if getattr(first, "dtype", first) == numba.float32 else double

    overload(dispatch, strict=False, jit_options=_OPTIONS)(choose)
    return dispatch


_interpreted_pointers: list[Callable[..., Any]] = []


class Pointer:
    """A function that compiled code calls through an address, so that new ones need no recompilation of the caller.

    It also keeps what is compiled small: Numba optimises a callee anew inside every caller, a pointer's target once.

    ``arguments`` spells the types, one letter each: ``r`` a vector of reals and ``m`` a matrix of them (of the dtype
    asked for), ``w`` a vector of float64, ``x`` a vector of integers, ``d`` one float64, ``i`` one integer. The
    function returns a float64 (``value=True``) or nothing; with ``sums`` its sums may be reordered. It is compiled
    when its address is first asked for.
    """

    def __init__(self, function: Callable[..., Any], arguments: str, *, value: bool, sums: bool = False):
        self.function = function
        self.arguments = arguments
        self.value = value
        self.fastmath = _REASSOCIATE if sums else _CONTRACT
        self._addresses: dict[str, int] = {}
        self._kept: list[Any] = []  # what lives at the addresses

    def address(self, dtype: Any) -> int:
        """Where the function lives in this process, for reals of ``dtype``."""
        name = np.dtype(dtype).name
        with _numba_settings:
            if name not in self._addresses:
                self._addresses[name] = self._lower(name)
        return self._addresses[name]

    def _lower(self, name: str) -> int:
        if INTERPRETED:
            _interpreted_pointers.append(self.function)
            return len(_interpreted_pointers) - 1
        real = getattr(numba, name)
        letters = {
            "r": real[::1],
            "m": real[:, ::1],
            "w": numba.float64[::1],
            "x": numba.int64[::1],
            "d": numba.float64,
            "i": numba.int64,
        }
        returns = numba.float64 if self.value else numba.void
        signature = tuple(letters[a] for a in self.arguments), returns
        with _our_cache() as cache:
            # A function made inside another one has no place in a cache.
            cacheable = cache and self.function.__closure__ is None and "<" not in self.function.__qualname__
            options = {"error_model": "numpy", "fastmath": self.fastmath, "_nrt": False}
            made: Any = CFunc(self.function, signature, locals={}, options=options)
            if cacheable:
                made.enable_caching()
                _forgive(made._cache)
            made.compile()
        self._kept.append(made)
        # The function itself: a callback is one more function around it, which hands all arguments over again.
        return int(made._library.get_pointer_to_function(made.native_name.removeprefix("cfunc.")))


def _caller(returns: Any) -> Any:
    """A function of compiled code that calls an address with the arguments given."""
    if INTERPRETED:
        return lambda address, *arguments: _interpreted_pointers[address](*arguments)

    @intrinsic
    def caller(typing_context: Any, address: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            # The way compiled functions call each other: status = f(where the value goes, where an error goes, ...).
            types = signature.args[1].types
            function = context.call_conv.get_function_type(returns, types)
            target = builder.inttoptr(values[0], function.as_pointer())
            places = [cgutils.alloca_once(builder, pointer.pointee) for pointer in function.args[:2]]
            parts = [builder.extract_value(values[1], i) for i in range(len(types))]
            builder.call(target, [*places, *context.get_arg_packer(types).as_arguments(builder, parts)])
            return builder.load(places[0]) if returns != numba.void else context.get_dummy_value()

        return returns(numba.int64, numba.types.BaseTuple.from_types(arguments)), generate

    return caller


call_for_value = _caller(numba.float64)
call_for_effect = _caller(numba.void)


def room_on_stack(rows: int, columns: int) -> Any:
    """A function of compiled code, `room(like)`: a matrix for intermediate results, of the type of the array `like`.

    It lives until its caller returns. What is in it at first is not defined, and every use in one caller is one matrix.
    """
    if INTERPRETED:
        return lambda like: np.zeros((rows, columns), like.dtype)

    @intrinsic
    def room(typing_context: Any, like: Any) -> Any:
        matrix = numba.types.Array(like.dtype, 2, "C")

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            real, length = context.get_data_type(like.dtype), context.get_constant(numba.intp, rows * columns)
            size = context.get_abi_sizeof(real)
            data = cgutils.alloca_once(builder, real, length)
            data.align = 64  # where vectors begin, and cache lines
            array = context.make_array(matrix)(context, builder)
            populate_array(
                array,
                data,
                shape=[context.get_constant(numba.intp, n) for n in (rows, columns)],
                strides=[context.get_constant(numba.intp, n * size) for n in (columns, 1)],
                itemsize=context.get_constant(numba.intp, size),
                meminfo=None,
            )
            return array._getvalue()

        return matrix(like), generate

    return room


def direct(function: Any, *arguments: Any) -> Callable[..., Any]:
    """What a compiled function runs for arguments of these types: calling it saves the choice by types, 6 us where
    records are among them. Requires: the function was called with such arguments before, and so it is from now on.
    """
    if INTERPRETED:
        return function
    return function.overloads[tuple(map(numba.typeof, arguments))].entry_point


def specialisations(function: Any) -> int:
    """How many times a compiled function was compiled in this process (0 when interpreted)."""
    return len(getattr(function, "signatures", ()))
