"""The only file that knows Numba: compiled functions, pointers to them, dispatch, and what becomes of the code.

Everything else is plain Python that runs interpreted too (``NUMBA_DISABLE_JIT=1``), with the same results.

Numba's own cache goes by the path of the file and does not notice that a callee in another file changed. Ours (`cache`)
goes by a digest of the files that compiled code can come from, and takes code that a wheel brings.
``KERNELSTREAM_CACHE`` names another place than the user's own.
"""

import contextlib
import copy
import functools
import gc
import hashlib
import itertools
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core import cgutils
from numba.core.bytecode import FunctionIdentity
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.serialize import dumps
from numba.extending import intrinsic, overload

from . import cache
from .interrupts import held

INTERPRETED = bool(numba.config.DISABLE_JIT)
# Interpreted code never leaves the interpreter, so that threads would only get into each other's way.
MOST_THREADS = 1 if INTERPRETED else int(numba.config.NUMBA_NUM_THREADS)

# Contraction into fused multiply-adds is the only freedom that is given everywhere: it does not depend on how a
# stream is cut into blocks. Reductions may also be reordered, which is what lets LLVM vectorise a sum.
_CONTRACT = {"contract"}
_REASSOCIATE = {"contract", "reassoc", "nsz"}
_OPTIONS = {"fastmath": _CONTRACT, "error_model": "numpy", "_nrt": False}
_UNCALLED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # by Python


# What compiled code can come from: files in which something is compiled, and whatever they import. The rest of the
# package can be edited without compiling anew; `tests/test_layers.py` holds the list.
SOURCES = (
    "algorithms",
    "engine/__init__.py",
    "engine/contract.py",
    "engine/loop.py",
    "engine/single.py",
    "engine/state.py",
    "forms.py",
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
    "teaching.py",
)


def is_source(path: PurePath) -> bool:
    """Whether the digest covers a file of the package, named by its path in it."""
    return any(path.is_relative_to(source) for source in SOURCES)


def _source_digest() -> str:
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for source in SOURCES:
        # A walk, as globbing takes several times as long.
        walk = [Path(folder, name) for folder, _, names in os.walk(root / source) for name in names]
        for path in sorted(path for path in walk if path.suffix == ".py") or [root / source]:
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _features() -> Mapping[str, bool]:
    told = numba.config.CPU_NAME is not None or numba.config.CPU_FEATURES is not None
    if told or INTERPRETED or not numba.config.ENABLE_AVX:
        return {}
    try:
        return llvm.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know this processor
        return {}


SHELVES = cache.Shelves(_source_digest(), _features)
_lowering = threading.RLock()

# A process that compiles for another processor than its own makes code for a wheel. Its functions get numbers in their
# symbols that those of no process beside which the code will run come near.
if numba.config.CPU_NAME is not None:
    FunctionIdentity._unique_ids = itertools.count(zlib.crc32(str(numba.config.CPU_NAME).encode()) << 16)


@functools.cache
def _target(level: str | None) -> str:
    """What code is for, and who made it; of shipped code Numba's minor version, which its wheel asks for."""
    minor = ".".join(numba.__version__.split(".")[:2])
    if level is not None:
        return f"{(llvm.get_process_triple(), level, cache.LEVELS[level])} {minor}"
    built = numba.config.CPU_NAME in cache.LEVELS
    return f"{cpu_target.target_context.codegen().magic_tuple()} {minor if built else numba.__version__}"


class _Whole(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function, optimised once, with all that it calls. Numba would optimise each function before, and
    all of it twice so that counts of references meet, of which there are none here: an eighth of the time.
    """

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class _Part(_Whole):
    """Code that becomes part of its callers, and is optimised there. By itself it cannot be run."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """What Numba tells of code that can be run."""
        return SimpleNamespace(set_env=lambda name, env: None)


class _WholeCompiler(Compiler):  # type: ignore[misc]
    library = _Whole

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any):
        made = self.library(target.codegen(), "kernelstream")
        made.enable_object_caching()
        super().__init__(typing, target, made, *rest)


class _PartCompiler(_WholeCompiler):
    library = _Part


_ANNOTATION = 5  # the place, behind the code, of what Numba would show of a function's types


class _Cache:
    """What Numba asks about code on disk, for one function.

    outermost: no compiled function calls it. Then all but its machine code is left out, three quarters.
    """

    def __init__(self, function: Callable[..., Any], *, outermost: bool):
        self._function, self._outermost = function, outermost

    @functools.cached_property
    def _identity(self) -> tuple[str, str] | None:
        return cache.identity(self._function)

    @property
    def cache_path(self) -> str:
        return str(SHELVES.own)

    def _file(self, types: Any, level: str | None) -> str:
        assert self._identity is not None
        return cache.file_name(*self._identity, _spelled(types), _target(level))

    def load_overload(self, types: Any, context: Any) -> Any:
        """The code for these types, or None. Numba's own cache has all declared first that could be compiled, which
        takes a quarter of a second.
        """
        places = []
        if self._identity is not None and SHELVES.level is not None:
            places.append(SHELVES.shipped(SHELVES.level) / self._file(types, SHELVES.level))
        if self._identity is not None and SHELVES.own is not None:
            places.append(SHELVES.own / self._file(types, None))
        for place in places:
            kept = cache.read(place)
            if kept is not None:
                with contextlib.suppress(Exception):  # made by another version, although it says otherwise
                    symbols, parts = kept
                    context.codegen()._engine._defined_symbols |= symbols
                    return CompileResult._rebuild(context, *parts)
        _begin_compiling()
        return None

    def save_overload(self, types: Any, code: Any) -> None:
        fits = not code.lifted and not code.library.has_dynamic_globals and _ours(getattr(types, "args", types))
        if fits and self._identity is not None and SHELVES.own is not None:
            (name, kind, (machine, linked)), *parts = code._reduce()
            parts[_ANNOTATION] = ""
            symbols: set[str] = set()
            if self._outermost:
                module, linked = llvm.parse_bitcode(linked), llvm.parse_assembly("").as_bitcode()
                named = itertools.chain(module.functions, module.global_variables)
                symbols = {one.name for one in named if not one.is_declaration}
            kept = symbols, ((name, kind, (machine, linked)), *parts)
            cache.write(SHELVES.own / self._file(types, None), dumps(kept))

    def flush(self) -> None:
        """Nothing is held back."""

    enable = disable = flush


def _spelled(types: Any) -> str:
    """The types of a signature in words. Numba's own leave out which class a tuple with names is of."""
    if hasattr(types, "args"):
        return f"{_spelled(types.args)} -> {types.return_type}"
    found = []
    for one in types:
        parts, kind = getattr(one, "types", None), getattr(one, "instance_class", None)
        word = str(one) if parts is None else f"({_spelled(parts)})"
        found.append(word if kind is None else f"{kind.__module__}.{kind.__qualname__}{kind._fields}{word}")
    return ", ".join(found)


def _jit(function: Callable[..., Any], fastmath: set[str], *, outermost: bool = False) -> Any:
    options = {**_OPTIONS, "fastmath": fastmath}
    dispatcher = numba.njit(nogil=True, pipeline_class=_WholeCompiler, **options)(function)
    if not INTERPRETED:
        dispatcher._cache = _Cache(function, outermost=outermost)
        dispatcher._compile_for_args = _undisturbed()(dispatcher._compile_for_args)
        dispatcher._compilation_chain_init_hook = _nothing  # but where something is compiled
    return dispatcher


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """LLVM calls Python while it loads code, and dies of an interrupt that comes there. Looking for garbage among the
    many objects that Numba makes, hardly any of which is garbage yet, takes a tenth of its time.
    """
    collects = gc.isenabled()
    with held():
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()


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


def outermost(function: Callable[..., Any]) -> Any:
    """Compile on first call, for Python to call and no compiled function."""
    dispatcher = _jit(function, _CONTRACT, outermost=True)

    def refuse(*arguments: Any) -> Any:
        raise TypeError(f"{function.__name__} is called by Python alone; compiled code is to call what it calls.")

    if not INTERPRETED:
        dispatcher.get_call_template = refuse
    return dispatcher


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


_inlined: dict[Callable[..., Any], Any] = {}  # each of those functions, and how Numba reads it, once it has


def _read_once(read: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's way to read a function that is inlined, gone once for each of ours; Numba copies what it then changes."""

    @functools.wraps(read)
    def found(worker: Any, function: Callable[..., Any], enable_ssa: bool = False) -> Any:
        if function not in _inlined or enable_ssa:
            return read(worker, function, enable_ssa)
        if _inlined[function] is None:
            _inlined[function] = read(worker, function)
        worker.flags.enable_ssa = False  # as reading leaves it
        return _inlined[function]

    return found


def _nothing() -> None:
    pass


@functools.cache
def _begin_compiling() -> None:
    """What is needed when something is compiled, and not to load code.

    Numba looks through all packages for extensions of it. To inline a function it copies that block by block, and with
    each block all variables of the function: a third of the time that compiling takes. And it reads the function anew
    wherever it is called.
    """
    from numba.core import entrypoints, inline_closurecall

    entrypoints.init_all()
    if getattr(inline_closurecall, "copy", None) is copy:
        inline_closurecall.copy = SimpleNamespace(deepcopy=_copier(), copy=copy.copy)
        worker = inline_closurecall.InlineWorker
        worker.run_untyped_passes = _read_once(worker.run_untyped_passes)


def inlined(function: Callable[..., Any]) -> Any:
    """A small function that becomes part of each compiled function that calls it."""
    _inlined[function] = None
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
    options = {**_OPTIONS, **_UNCALLED, "forceinline": True, "pipeline_class": _PartCompiler}
    overload(dispatch, strict=False, jit_options=options)(choose)
    return dispatch


def by_precision(single: Callable[..., Any], double: Callable[..., Any]) -> Any:
    """A function with one body for float32 and one for float64, chosen by its first argument (scalar or array)."""

    def dispatch(first: Any, *rest: Any) -> Any:
        return (single if first.dtype == np.float32 else double)(first, *rest)

    def choose(first: Any, *rest: Any) -> Any:
        return single if getattr(first, "dtype", first) == numba.float32 else double

    options = {**_OPTIONS, **_UNCALLED, "pipeline_class": _PartCompiler}
    overload(dispatch, strict=False, jit_options=options)(choose)
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
        with _lowering:
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
        options = {**_OPTIONS, "fastmath": self.fastmath}
        made: Any = CFunc(self.function, signature, locals={}, options=options, pipeline_class=_WholeCompiler)
        made._cache = _Cache(self.function, outermost=True)
        with _undisturbed():
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
        from numba.np.arrayobj import populate_array

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


def native(function: Any, *arguments: Any) -> tuple[int, list[str]]:
    """(address, kinds): where the code of a compiled function for such arguments is, and what it takes behind the
    addresses for its value and an error, in LLVM's words: ptr, i64, double. Requires: as of `direct`.
    """
    code = function.overloads[tuple(map(numba.typeof, arguments))]
    taken = cpu_target.target_context.call_conv.get_function_type(code.signature.return_type, code.signature.args).args
    address = code.library.get_pointer_to_function(code.fndesc.llvm_func_name)
    return int(address), ["ptr" if kind.is_pointer else str(kind) for kind in taken[2:]]


class _Plain(_Whole):
    """Code that is run as it is written."""

    def _optimize_final_module(self) -> None:
        pass


_assembled: list[Any] = []


def assembled(text: str, name: str) -> int:
    """Where the function of this name lives that is written in LLVM's language."""
    with _lowering, global_compiler_lock, _undisturbed():
        library = _Plain(cpu_target.target_context.codegen(), name)
        library.add_llvm_module(llvm.parse_assembly(text))
        library.finalize()
        _assembled.append(library)
        return int(library.get_pointer_to_function(name))


def specialisations(function: Any) -> int:
    """How many times a compiled function was compiled in this process (0 when interpreted)."""
    return len(getattr(function, "signatures", ()))
