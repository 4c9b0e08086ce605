"""Compiled code on disk: what a wheel brings, and what was compiled here. Knows files and their names, not Numba.

A file holds one function for one signature. The directory's name is a digest of the sources, the file's name has the
function's name and a digest of all else that the code depends on: its place in the package, signature, processor,
versions. So neither the path of the package nor a file's date matters, and two copies of it share what either compiled.

Bits differ between code that a wheel brings and code for this very processor, so a machine chooses once for each
version of the sources, by its first use (`Shelves.choice`), and keeps to that until it is told otherwise. Code that a
wheel lacks is compiled here either way. Nothing here fails: a directory that cannot be written keeps nothing, a file
that is damaged is as good as none.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
SUFFIX = ".code"
SHIPPED, NATIVE = "shipped", "native"
_CHOICE = "choice"  # the file that says which of them this machine uses
_CHECK = 32  # bytes of a file's checksum
_PYTHON = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"

# What a wheel has code for, the best first: LLVM's name of such a processor, and what is changed about it. LLVM would
# keep to half of v4's registers, for the first processors that had them ran slower with all.
LEVELS = {"x86-64-v4": "-prefer-256-bit", "x86-64-v3": ""}
_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_NEEDS = {"x86-64-v3": _V3, "x86-64-v4": (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")}


def runs_on(level: str, has: Mapping[str, bool]) -> bool:
    """Whether a processor with these features runs the code of a level."""
    return all(has.get(name) for name in _NEEDS[level])


class Shelves:
    """The directories with code of one version of the sources.

    features: what the processor has, by LLVM's names; nothing, where Numba was told what to compile for.
    """

    def __init__(self, digest: str, features: Callable[[], Mapping[str, bool]]):
        self._digest, self._features = digest, features
        self._natively = False
        self.own = _user_directory(digest)

    def shipped(self, level: str) -> Path:
        """Where a wheel has code for processors of a level."""
        return PACKAGE / "compiled" / self._digest / level

    @functools.cached_property
    def _best(self) -> str | None:
        """The level of the code that came with the package and runs here."""
        there = [level for level in LEVELS if self.shipped(level).is_dir()]
        has = self._features() if there else {}
        return next((level for level in there if runs_on(level, has)), None)

    @functools.cached_property
    def choice(self) -> str:
        """What this machine uses for these sources; the first time, shipped code where there is some."""
        first = NATIVE if self._best is None else SHIPPED
        if self.own is not None:
            with contextlib.suppress(OSError):
                if (self.own / _CHOICE).exists():
                    found = (self.own / _CHOICE).read_text().strip()
                    return found if found in (SHIPPED, NATIVE) else first
                self._choose(first)
        return first

    def _choose(self, choice: str) -> None:
        assert self.own is not None
        self.own.mkdir(parents=True, exist_ok=True)
        _replace(self.own / _CHOICE, choice.encode())

    @property
    def level(self) -> str | None:
        """The level whose code is used, where it is there; None: all code is compiled here."""
        return self._best if self.choice == SHIPPED and not self._natively else None

    @property
    def is_empty(self) -> bool:
        """Whether all that is used will have to be compiled."""
        kept = self.own is not None and any(self.own.glob(f"*{SUFFIX}"))
        return self.level is None and not kept

    @contextlib.contextmanager
    def natively(self) -> Iterator[None]:
        """Meanwhile all code is compiled here, and this machine uses that from then on. OSError: it cannot be kept."""
        if self.own is None:
            raise OSError("there is no directory to keep compiled code in; name one by KERNELSTREAM_CACHE.")
        self.own.mkdir(parents=True, exist_ok=True)
        self._natively = True
        try:
            yield
            self._choose(NATIVE)
        except BaseException:
            self._natively = False
            raise


def _user_directory(digest: str) -> Path | None:
    """Where code is kept that was compiled here; None where there is no such place."""
    named = os.environ.get("KERNELSTREAM_CACHE") or os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(named) if named else Path.home() / ".cache") / "kernelstream" / digest
    except RuntimeError:  # a user without a home
        return None


def identity(function: Callable[..., Any]) -> tuple[str, str] | None:
    """A function's name, and all that tells it from others; None where its code has no place on disk."""
    code, where = function.__code__, Path(function.__code__.co_filename)
    if function.__closure__ is not None:
        return None
    if where.is_relative_to(PACKAGE):
        place = where.relative_to(PACKAGE).as_posix()
    else:
        try:
            place = f"{where.absolute()} {hashlib.sha256(where.read_bytes()).hexdigest()}"
        except OSError:  # a function of an interactive session
            return None
    name = f"{where.stem}.{function.__qualname__}".replace("<", "").replace(">", "")
    body = hashlib.sha256(code.co_code).hexdigest()
    return name, f"{place} {function.__qualname__} {code.co_firstlineno} {body} {_PYTHON}"


def file_name(name: str, *facts: str) -> str:
    """The name of the file for a function with everything that its code depends on."""
    return f"{name}-{hashlib.sha256(chr(0).join(facts).encode()).hexdigest()[:24]}{SUFFIX}"


def read(path: Path) -> Any:
    """What a file holds; None, where it is absent or damaged."""
    try:
        content = path.read_bytes()
        whole = hashlib.sha256(content[_CHECK:]).digest() == content[:_CHECK]
        return pickle.loads(content[_CHECK:]) if whole else None
    except Exception:  # what other versions pickled fails in any of many ways
        return None


def write(path: Path, content: bytes) -> None:
    """Keep what is pickled; where it cannot be kept, do without."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, hashlib.sha256(content).digest() + content)


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, beside others that do so."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        beside.write_bytes(content)
        os.replace(beside, path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
