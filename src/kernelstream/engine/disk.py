"""The one way in which files are written: a file appears whole or not at all.

What is written goes to a hidden file beside its place, from there to the disk, and then takes the place in one step.
An error, a full disk or a crash at any moment leaves what was there. Links are followed, a file keeps its mode and its
owner, and a new one gets the mode that the umask says. Pipes, terminals and the process's own descriptors
(``/dev/stdout``) are written to as they are; no other thing that is not a file is touched.

A hidden file is locked while its process lives, so that whoever comes next can tell what a dead one has left, and
sweeps it.
"""

import contextlib
import errno
import hashlib
import io
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # without locks nothing is known to be left behind, and nothing is swept
    fcntl = None  # type: ignore[assignment]

_HIDDEN = ".kernelstream-"
_SCRATCH = "kernelstream-"
_LOCK = "lock"
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_DESCRIPTORS = {"/dev/stdout": 1, "/dev/stderr": 2}
_swept: set[str] = set()


class OutputError(OSError):
    """A file that cannot be written. The message says which, and why."""


def check(path: str | os.PathLike[str]) -> None:
    """Refuse a place where no file can be written: one without a directory, or where something else is."""
    if not _is_stream(path):
        _target(path)


@contextlib.contextmanager
def appearing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write into, which becomes `path` when the context ends, and nothing when it ends with an error."""
    if _is_stream(path):
        with _named(path):
            descriptor = _stream(path)
        with io.BufferedWriter(_Raw(descriptor, path)) as file:
            yield file
        return
    target = _target(path)
    with _named(path):
        descriptor, temporary = _new_beside(target)
    file = io.BufferedWriter(_Raw(descriptor, path))
    try:
        yield file
        with _named(path):
            file.flush()
            _take_after(target, descriptor)
            os.fsync(descriptor)
            os.replace(temporary, target)
            _sync_directory(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        with contextlib.suppress(OSError):
            file.close()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    with appearing(path) as file:
        file.write(text.encode())


@contextlib.contextmanager
def held(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep a place for this process. Raises BlockingIOError where another one has it."""
    target = Path(os.path.realpath(path))
    lock = target.with_name(f"{_HIDDEN}{hashlib.sha256(target.name.encode()).hexdigest()[:16]}")
    with _named(path):
        descriptor = _claimed(lock, os.O_CREAT | os.O_RDWR)
    if descriptor is None:
        raise BlockingIOError(errno.EAGAIN, "another process has it", str(path))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(lock)
        os.close(descriptor)


def scratch(owner: object) -> tuple[Path, Callable[[], Any]]:
    """A directory for what a process needs for a while, and how to remove it at once.

    It goes with its owner; what a killed process has left goes when the next one asks.
    """
    folder = tempfile.gettempdir()
    _sweep(folder, _SCRATCH)
    while True:
        path = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=folder))
        descriptor = _claimed(path / _LOCK, os.O_CREAT | os.O_RDWR)
        if descriptor is not None:
            return path, weakref.finalize(owner, _discard, path, descriptor)


def _discard(path: Path, descriptor: int) -> None:
    os.close(descriptor)
    shutil.rmtree(path, ignore_errors=True)


def _is_stream(path: str | os.PathLike[str]) -> bool:
    if _own_descriptor(path) is not None:
        return True
    with contextlib.suppress(OSError):
        mode = os.stat(path).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)
    return False


def _own_descriptor(path: str | os.PathLike[str]) -> int | None:
    name = os.fspath(path)
    found = _DESCRIPTOR.fullmatch(name)
    return int(found[1]) if found else _DESCRIPTORS.get(name)


def _stream(path: str | os.PathLike[str]) -> int:
    own = _own_descriptor(path)
    if own is None:
        return os.open(path, os.O_WRONLY)
    # What was printed before stands before it.
    sys.stdout.flush()
    return os.dup(own)


def _target(path: str | os.PathLike[str]) -> Path:
    """Where the file is, or will be."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"there is no directory {str(Path(path).parent)!r} to write {target.name!r} into; make it first."
        )
    if target.is_dir():
        raise OutputError(f"{str(path)!r} is a directory; name a file in it.")
    if target.exists() and not target.is_file():
        raise OutputError(f"{str(path)!r} is a device or a socket, not a file; name a file.")
    return target


def _new_beside(target: Path) -> tuple[int, Path]:
    """A new hidden file in the directory of another one, open and locked."""
    _sweep(str(target.parent), _HIDDEN)
    while True:
        path = target.with_name(f"{_HIDDEN}{secrets.token_hex(8)}")
        descriptor = _claimed(path, os.O_CREAT | os.O_EXCL | os.O_RDWR)
        if descriptor is not None:
            return descriptor, path


def _claimed(path: Path, flags: int) -> int | None:
    """A file opened and locked; None when another process has it."""
    descriptor = os.open(path, flags, 0o666)
    if fcntl is None:
        return descriptor
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    if os.fstat(descriptor).st_nlink == 0:  # swept before it was locked
        os.close(descriptor)
        return _claimed(path, flags)
    return descriptor


def _sweep(folder: str, prefix: str) -> None:
    """Remove what dead processes have left in a directory; once a process."""
    if fcntl is None or folder in _swept:
        return
    _swept.add(folder)
    with contextlib.suppress(OSError):
        for entry in [entry for entry in os.scandir(folder) if entry.name.startswith(prefix)]:
            with contextlib.suppress(OSError):
                directory = entry.is_dir(follow_symlinks=False)
                descriptor = _claimed(Path(entry.path, _LOCK) if directory else Path(entry.path), os.O_RDWR)
                if descriptor is None:
                    continue
                shutil.rmtree(entry.path) if directory else os.unlink(entry.path)
                os.close(descriptor)


def _take_after(target: Path, descriptor: int) -> None:
    """Give the new file mode and owner of the old one."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return
    if hasattr(os, "fchown"):
        with contextlib.suppress(PermissionError):  # only root gives files away
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _sync_directory(folder: Path) -> None:
    """A file that took a name is there after a crash only when its directory was written too."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _Raw(io.FileIO):
    """A descriptor whose errors name the file that it will be."""

    def __init__(self, descriptor: int, path: str | os.PathLike[str]):
        super().__init__(descriptor, "w")
        self._path = path

    def write(self, data: Any) -> int | None:  # type: ignore[override]
        with _named(self._path):
            return super().write(data)


@contextlib.contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except (OutputError, BrokenPipeError, BlockingIOError):
        raise
    except OSError as error:
        why = error.strerror or str(error)
        raise OutputError(f"{os.fspath(path)} cannot be written ({why}); nothing of it was.") from error
