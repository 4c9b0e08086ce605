"""Which files a command reads and writes: none may be both, and no two outputs are the same."""

import contextlib
import fnmatch
import glob
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..engine import disk
from ..sources.base import STDIN
from ..sources.formats import SUFFIXES
from ..sources.servers import is_server, open_server, shown

STDOUT = "-"
_STANDARD_OUTPUT = "/dev/stdout"
_PATTERN = re.compile(r"[*?\[]")


def is_stdout(place: Any) -> bool:
    return str(place) in (STDOUT, _STANDARD_OUTPUT)


def check_places(reads: dict[str, Any], writes: dict[str, Any]) -> None:
    """Refuse now what could not be written after hours of learning, and what would destroy what is read.

    reads, writes: places by the words for them; None where there is none.
    """
    for option, place in reads.items():
        if isinstance(place, Path) and not place.exists():
            raise ValueError(f"{option}: there is no file {str(place)!r}; name one that is there.")
        if isinstance(place, Path) and place.is_dir():
            raise ValueError(f"{option}: {str(place)!r} is a directory; name a file in it.")
    before: dict[str, Any] = {}
    for option, place in ((option, place) for option, place in writes.items() if place is not None):
        for other, read in ((other, read) for other, read in reads.items() if read is not None):
            if _is_read(Path(place), str(read)):
                raise ValueError(f"{option} {place} is what {other} reads, and would be lost; name another file.")
        for other, written in before.items():
            if _same(place, written):
                raise ValueError(f"{option} and {other} both name {place}; only one of them can be there.")
        if is_server(place):
            check_sink(option, str(place), *map(str, filter(None, reads.values())))
        elif not is_stdout(place):
            try:
                disk.check(place)
            except OSError as error:
                raise ValueError(f"{option}: {error}") from None
        before[option] = place


def check_directory(option: str, place: Path) -> None:
    """Refuse now what can be no directory."""
    if place.exists() and not place.is_dir():
        raise ValueError(f"{option}: {str(place)!r} is a file; name a directory.")


def check_sink(option: str, url: str, *reads: str) -> None:
    """Refuse what is no stream of a server, and one that is read."""
    if not is_server(url):
        raise ValueError(f"{option} {url} is no stream of a server; write redis://host/stream or nats://host/subject.")
    if shown(url) in map(shown, reads):
        raise ValueError(f"{option} {shown(url)} is what is read, and would never end; name another stream.")
    open_server(url).close()  # which refuses what is not installed


def _same(one: Any, other: Any) -> bool:
    if is_stdout(one) or is_stdout(other):
        return is_stdout(one) and is_stdout(other)
    with contextlib.suppress(OSError):
        return os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)


def _is_read(place: Path, data: str) -> bool:
    """Whether a file is among those that DATA names, or would be the next time."""
    if is_stdout(place):
        return False
    if any(_same(place, file) for file in _files(data)):
        return True
    with contextlib.suppress(OSError):
        if Path(data).is_dir():
            listed = place.name.lower().endswith(SUFFIXES) and not place.name.startswith(".")
            return listed and os.path.samefile(place.parent, data)
    matches = fnmatch.fnmatchcase(os.path.abspath(place), os.path.abspath(data))
    return _PATTERN.search(data) is not None and matches


def _files(data: str) -> Iterator[str | Path]:
    """The files that are read for DATA, as far as they are at hand."""
    name, _, split = data.partition("/")
    if data == STDIN:
        with contextlib.suppress(OSError):
            if stat.S_ISREG(os.fstat(0).st_mode):
                yield "/dev/stdin"
    elif os.path.lexists(data):
        yield data
    elif _PATTERN.search(data) is not None:
        yield from glob.glob(data)
    else:
        from ..sources.datasets import DATASETS, find

        for one in split.split("+") if split else DATASETS[name].splits if name in DATASETS else ():
            with contextlib.suppress(ValueError):
                if (file := find(name, one)) is not None:
                    yield file
