"""A copy of a data set that somebody has: compared with the registry, and written where sources look for it.

The registry says how many rows and features a split has, and which labels. Of splits whose rows were at hand once it
has their digest too, which does not depend on the file's format: labels, columns and values as doubles, zeros left out.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from . import datasets
from .base import _DECOMPRESSORS, DerivedSource, LabelledBlock, Source, existing_file, format_suffix
from .datasets import Dataset, Split
from .formats import FORMATS, open_file
from .writers import convert

_FEW_LABELS = 60  # that are told apart


class Added(NamedTuple):
    """What was written, and where. `known` says whether the registry has a digest, which is then this one."""

    name: str
    path: Path
    rows: int
    digest: str
    known: bool


def open_copy(path: str | os.PathLike[str], name: str, **options: Any) -> Source:
    """A file with rows of a data set. Where the caller does not say, the registry does which column is the label, and a
    text's first line which format it has.
    """
    file = existing_file(path)
    wanted = datasets.named(name.partition("/")[0])
    if options.get("format") is None and format_suffix(file) not in {s for known in FORMATS.values() for s in known} - {
        ".txt"
    }:
        options["format"] = _format_of_text(file)
    if wanted.label is not None:
        options.setdefault("label", wanted.label)
    return open_file(file, **options)


def _format_of_text(file: Path) -> str:
    """LIBSVM text has pairs, a table has none."""
    opener = _DECOMPRESSORS.get(file.suffix.lower())
    with open(file, "rb") as raw:
        line = (raw if opener is None else opener(raw)).readline()
    return "libsvm" if b":" in line or (len(line.split()) == 1 and b"," not in line) else "csv"


def add(
    source: Source,
    name: str,
    *,
    labels: Mapping[str, float] | None = None,
    on_block: Callable[[int], None] | None = None,
) -> Added:
    """Write a source's rows as a data set, ``ijcnn1`` or ``ijcnn1/test``, if they are its rows.

    The split is the one with as many rows, unless it is named. The file goes into the mirror directory, or into the
    cache where there is none that can be written.

    labels: which number stands for each label, where they are coded in another way than in the papers.
    on_block: told the number of rows read so far, in either pass.
    """
    data_set, _, split = name.partition("/")
    wanted = datasets.named(data_set)
    codes = dict(labels or {}) or wanted.words
    rows = Recoded(source, codes) if codes else source
    seen = Seen()
    for X, y in rows:
        if y.dtype.kind == "U":
            raise ValueError(
                f"{source.name} has words for labels, such as {str(y[0])!r}, and {data_set} has numbers "
                f"({_listed(wanted.labels)}): say which is which with labels, as in --labels yes=1,no=-1"
            )
        seen.take(X, y)
        if on_block is not None:
            on_block(seen.n)
    split = split or _split_of(data_set, wanted, seen)
    file = datasets.file_of(data_set, split)
    _check(source.name, f"{data_set}/{split}", wanted, file, seen)
    target = _directory() / data_set / file.file
    target.parent.mkdir(parents=True, exist_ok=True)
    convert(rows, target, on_block=on_block)
    return Added(f"{data_set}/{split}", target, seen.n, seen.digest, file.rows_sha256 is not None)


class Recoded(DerivedSource):
    """The blocks of a source with other labels; `codes` says which number stands for each."""

    def __init__(self, source: Source, codes: Mapping[str, float]):
        super().__init__(source)
        self.codes = codes

    def __iter__(self) -> Iterator[LabelledBlock]:
        numbers = sorted(set(self.codes.values()))
        for X, y in self.source:
            words = y.tolist() if y.dtype.kind == "U" else [f"{label:g}" for label in y]
            # A label that is its own number needs no code.
            new = sorted({word for word in words if word not in self.codes and _number(word) not in numbers})
            if new:
                known = ", ".join(f"{word}={number:g}" for word, number in self.codes.items())
                raise ValueError(
                    f"{self.name} has the label {new[0]!r}, which is none of {known}: name all with --labels"
                )
            yield X, np.array([self.codes.get(word, _number(word)) for word in words], np.float64)


class Seen:
    """What is seen of rows that pass: how many, how wide, which labels, and their digest, however they are cut."""

    def __init__(self) -> None:
        self.n, self.width, self.dense = 0, 0, False
        self.labels: set[float] = set()
        self.low, self.high = np.inf, -np.inf
        self._digests = [hashlib.sha256() for _ in range(4)]

    def take(self, X: Any, y: np.ndarray) -> None:
        """Look at a block, whose labels are numbers."""
        self.dense = isinstance(X, np.ndarray)
        csr = csr_array(X)
        if np.any(csr.data == 0):
            csr = csr.copy()
            csr.eliminate_zeros()
        self.n, self.width = self.n + len(y), max(self.width, csr.shape[1])
        if len(self.labels) <= _FEW_LABELS:
            self.labels |= set(np.unique(y).tolist())
        self.low, self.high = min(self.low, float(y.min())), max(self.high, float(y.max()))
        parts = (y.astype("<f8"), np.diff(csr.indptr).astype("<i8"), csr.indices.astype("<i8"), csr.data.astype("<f8"))
        for digest, part in zip(self._digests, parts, strict=True):
            digest.update(np.ascontiguousarray(part).tobytes())

    @property
    def digest(self) -> str:
        return hashlib.sha256(b"".join(one.digest() for one in self._digests)).hexdigest()


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return np.nan


def _split_of(name: str, wanted: Dataset, seen: Seen) -> str:
    fitting = [split for split, file in wanted.splits.items() if file.rows == seen.n]
    if len(fitting) == 1:
        return fitting[0]
    have = ", ".join(f"{name}/{split} with {file.rows:,}" for split, file in wanted.splits.items())
    what = "no split" if not fitting else "several splits"
    raise ValueError(f"{name} has {what} with {seen.n:,} rows; it has {have}: name one, or find another file")


def _check(file: str, name: str, wanted: Dataset, split: Split, seen: Seen) -> None:
    """Refuse rows that are not those of the split."""
    origin = f"; {name} comes from {wanted.origin}"
    if seen.n != split.rows:
        raise ValueError(f"{file} has {seen.n:,} rows, and {name} has {split.rows:,}{origin}")
    features = wanted.n_features
    # In LIBSVM text the last features may be 0 in all rows.
    if features is not None and (seen.width > features or (seen.dense and seen.width < features)):
        raise ValueError(
            f"{file} has {seen.width:,} features, and {name} has {features:,}{origin}. A column may be the label, or "
            "too much: --label names it, --drop leaves one out"
        )
    expected = split.labels or wanted.labels
    if expected and seen.labels != set(expected):
        raise ValueError(
            f"{file} has the labels {_listed(sorted(seen.labels))}, and {name} has {_listed(expected)}: give the "
            "numbers of its labels with labels, as in --labels 0=-1,1=1"
        )
    if wanted.target is not None and not (wanted.target[0] <= seen.low and seen.high <= wanted.target[1]):
        raise ValueError(
            f"{file} has targets from {seen.low:g} to {seen.high:g}, and those of {name} lie within "
            f"{wanted.target[0]:g} and {wanted.target[1]:g}: --label names another column"
        )
    if split.rows_sha256 is not None and seen.digest != split.rows_sha256:
        raise ValueError(
            f"{file} has the shape and the labels of {name}, but not its rows: their digest is {seen.digest} "
            f"instead of {split.rows_sha256}. They may be scaled or in another order{origin}"
        )


def _listed(labels: Any) -> str:
    shown = [f"{label:g}" for label in (labels or ())]
    return ", ".join(shown) if len(shown) <= 12 else f"{', '.join(shown[:6])}, ..., {shown[-1]}"


def _directory() -> Path:
    mirror = datasets.mirror_directory()
    return (
        mirror if mirror is not None and mirror.is_dir() and os.access(mirror, os.W_OK) else datasets.cache_directory()
    )
