"""The data sets of the papers by name: what they are, where their files lie, and how to get them.

A file is looked for in the mirror directory (``KERNELSTREAM_DATA``, as ``<name>/<file>``), then in the cache, and then
fetched from its address. An address is listed only together with the checksum of what it gives. The sites of origin
write and pack these files in other ways, so no data set has one yet: the error says where it comes from and belongs.
"""

import hashlib
import lzma
import os
import tomllib
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any

from .base import _DECOMPRESSORS, DEFAULT_BLOCK_ROWS, Source
from .formats import open_file
from .streams import ChainedSource

_CHUNK_BYTES = 2**18
_TIMEOUT_SECONDS = 30.0
MIRROR, CACHE, MISSING = "mirror", "cache", "missing"


@dataclass(frozen=True)
class Split:
    """A file of a data set; `rows` is 0 where it holds none.

    `sha256` is that of its content after decompression, `rows_sha256` that of its rows in any format (see `adding`);
    both are None where the data has not been at hand. `labels` are given where they are others than the data set's.
    """

    file: str
    sha256: str | None = None
    rows: int = 0
    url: str | None = None
    rows_sha256: str | None = None
    labels: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Dataset:
    """A data set. The first split is the one meant when none is named; `extras` are files beside the rows.

    Classes are coded by the numbers `labels`; targets lie within `target`. Of the files at its origin, `label` is the
    label's column in a table, and `words` are what stands there for each class.
    """

    task: str
    origin: str
    note: str
    n_features: int | None = None
    n_classes: int | None = None
    splits: dict[str, Split] = field(default_factory=dict)
    extras: dict[str, Split] = field(default_factory=dict)
    labels: tuple[float, ...] | None = None
    target: tuple[float, float] | None = None
    label: int | None = None
    words: dict[str, float] | None = None


def _registry() -> dict[str, Dataset]:
    table = tomllib.loads(Path(__file__).with_name("datasets.toml").read_text(encoding="utf-8"))
    for facts in table.values():
        for kind in ("splits", "extras"):
            facts[kind] = {name: Split(**_frozen(file)) for name, file in facts.get(kind, {}).items()}
    return {name: Dataset(**_frozen(facts)) for name, facts in table.items()}


def _frozen(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}


DATASETS = _registry()


def cache_directory() -> Path:
    """Where fetched files are kept: beside the compiled code."""
    named = os.environ.get("KERNELSTREAM_CACHE") or os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "kernelstream" / "data"


def mirror_directory() -> Path | None:
    """The directory that the user keeps data sets in, if one is named."""
    named = os.environ.get("KERNELSTREAM_DATA")
    return Path(named) if named else None


def find(name: str, split: str) -> Path | None:
    """The file of a split, or of an extra, if it is in the mirror directory or in the cache."""
    return _found(name, file_of(name, split))[1]


def fetch(
    name: str, split: str, *, on_progress: Callable[[int, int | None], None] | None = None, verify: bool = False
) -> Path:
    """The file of a split, or of an extra, downloaded when it is not at hand.

    `on_progress` is told the bytes that a download has, and all that there are if that is known. A download is always
    compared with its checksum; a file that is at hand is when `verify` says so.
    """
    file = file_of(name, split)
    path = _found(name, file)[1]
    if path is None:
        path = _download(name, split, on_progress or _ignore)
    elif verify and file.sha256 is not None and (got := _content_sha256(path)) != file.sha256:
        raise ValueError(f"{path} has SHA-256 {got} instead of {file.sha256}; replace it, or remove it to fetch it")
    return path


def open_dataset(
    name: str, split: str | None = None, *, block_rows: int = DEFAULT_BLOCK_ROWS, **options: Any
) -> Source:
    """The rows of a split, of several (``train+test``) one after the other, or of the first one."""
    splits = named(name).splits
    if not splits:
        raise ValueError(f"{name} has no rows to stream; its files are {', '.join(named(name).extras)}: see find")
    wanted = split.split("+") if split else [next(iter(splits))]
    for one in wanted:
        if one not in splits:
            raise ValueError(f"{name} has no split {one!r}; it has {', '.join(splits)}")
    sources = [open_file(fetch(name, one), block_rows=block_rows, **options) for one in wanted]
    return sources[0] if len(sources) == 1 else ChainedSource(sources, name=f"{name}/{split}")


def at_hand() -> list[dict[str, Any]]:
    """Every split in a row of its own: what it is, and ``where``: in the mirror, in the cache, or missing."""
    return [
        {
            "name": name,
            "split": split,
            "task": dataset.task,
            "rows": file.rows,
            "features": dataset.n_features,
            "classes": dataset.n_classes,
            "where": _found(name, file)[0],
        }
        for name, dataset in DATASETS.items()
        for split, file in dataset.splits.items()
    ]


def named(name: str) -> Dataset:
    """What the registry has under a name."""
    if name not in DATASETS:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(DATASETS)}")
    return DATASETS[name]


def file_of(name: str, split: str) -> Split:
    """A split of a data set, or an extra."""
    dataset = named(name)
    files = dataset.splits | dataset.extras
    if split not in files:
        raise ValueError(f"{name} has no file {split!r}; it has {', '.join(files)}")
    return files[split]


def _found(name: str, file: Split) -> tuple[str, Path | None]:
    mirror = mirror_directory()
    for where, directory in ((MIRROR, mirror), (CACHE, cache_directory())):
        if directory is not None and (path := directory / name / file.file).is_file():
            return where, path
    return MISSING, None


def _ignore(done: int, total: int | None) -> None:
    pass


def _download(name: str, split: str, on_progress: Callable[[int, int | None], None]) -> Path:
    """Fetch a file into the cache. What came before a break is kept beside it and not fetched again."""
    file = file_of(name, split)
    target = cache_directory() / name / file.file
    by_hand = (
        f"put {file.file} into {target.parent}, or into {name} in the directory that KERNELSTREAM_DATA names, or let "
        f"`kernelstream datasets add FILE --as {name}/{split}` check and convert what you have"
    )
    if file.url is None:
        raise FileNotFoundError(
            f"{name}/{split} is not at hand, and no address with a known checksum is listed for it. It comes from "
            f"{DATASETS[name].origin}: {by_hand}"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    complete = False
    while not complete:
        before = part.stat().st_size if part.exists() else 0
        try:
            complete = _continue(file.url, part, before, on_progress)
            reason = "the connection broke"
        except OSError as error:
            reason = str(error)
        after = part.stat().st_size if part.exists() else 0
        if not complete and after <= before:
            raise ConnectionError(
                f"{file.url} cannot be fetched: {reason}. Try again later, which goes on after the {after:,} bytes "
                f"that are there, or {by_hand}"
            )
    got = _content_sha256(part, compression=target.suffix)
    if got != file.sha256:
        part.unlink()
        raise ValueError(
            f"{file.url} gave other content than expected: SHA-256 {file.sha256} expected, {got} got. "
            f"It was deleted; try again, or {by_hand}"
        )
    os.replace(part, target)
    return target


def _continue(url: str, part: Path, have: int, on_progress: Callable[[int, int | None], None]) -> bool:
    """Fetch what is missing of a file. Says whether it is complete as far as the server told."""
    # Most who open a data set have it, and need not wait for these.
    import http.client
    import urllib.error
    import urllib.request

    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        with error:
            # Nothing lies beyond what is there: the checksum will tell whether it is right.
            if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and have:
                return True
            raise
    except http.client.HTTPException as error:
        raise ConnectionError(f"the answer is not HTTP ({error!r})") from error
    with response:
        if response.status != HTTPStatus.PARTIAL_CONTENT:
            have = 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length is not None else None
        with open(part, "ab" if have else "wb") as file:
            try:
                while chunk := response.read(_CHUNK_BYTES):
                    file.write(chunk)
                    have += len(chunk)
                    on_progress(have, total)
            except http.client.IncompleteRead:
                return False
    return total is None or have >= total


def _content_sha256(path: Path, *, compression: str | None = None) -> str:
    """The checksum of a file's content; in words, when the file is damaged."""
    decompress = _DECOMPRESSORS.get((path.suffix if compression is None else compression).lower())
    try:
        with open(path, "rb") as raw:
            if decompress is None:
                return _sha256(raw)
            with decompress(raw) as stream:
                return _sha256(stream)
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        return f"none, it is damaged ({error}),"


def _sha256(stream: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()
