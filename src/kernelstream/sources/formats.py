"""Which source reads a file: its suffix says, or the caller."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..encoding.values import AUTO, DEFAULT_HASH_FEATURES, FILE_DATES, MEAN
from .base import (
    COMPRESSIONS,
    DEFAULT_BLOCK_ROWS,
    MAX_FEATURES,
    ON_ERROR,
    UNLABELLED,
    Source,
    existing_file,
    format_suffix,
    one_of,
)

# The first suffix of a format is the usual one.
FORMATS = {
    "libsvm": (".libsvm", ".svm", ".svmlight", ".txt"),
    "csv": (".csv", ".tsv"),
    "jsonl": (".jsonl", ".ndjson"),
    "arff": (".arff",),
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather", ".ipc"),
    "npz": (".npz",),
    "npy": (".npy",),
}
SUFFIXES = tuple(
    suffix + compression for known in FORMATS.values() for suffix in known for compression in ("", *COMPRESSIONS)
)


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that a file's suffix names."""
    suffix = format_suffix(Path(path))
    for name, known in FORMATS.items():
        if suffix in known:
            return name
    names = "; ".join(f"{' '.join(known)} ({name})" for name, known in FORMATS.items())
    raise ValueError(
        f"{str(path)!r} has no known suffix; known are {names}, plain or with {' '.join(COMPRESSIONS)}: "
        "rename the file, or say which format it has, as in format='csv'"
    )


def delimiter_of(path: str | os.PathLike[str], decimal: str = ".") -> str:
    """What separates the fields of a CSV file, if its suffix is to be believed; a decimal comma leaves a semicolon."""
    if format_suffix(Path(path)) == ".tsv":
        return "\t"
    return ";" if decimal == "," else ","


def open_file(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    block_rows: int = DEFAULT_BLOCK_ROWS,
    label: int | str | None = -1,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    zero_based: bool = False,
    max_features: int = MAX_FEATURES,
    renumber: bool = False,
    drop: Sequence[str | int] = (),
    categorical: str = AUTO,
    categorical_columns: Sequence[str] = (),
    hash_features: int = DEFAULT_HASH_FEATURES,
    missing: str = MEAN,
    dates: str | Sequence[str] = FILE_DATES,
    encoding: dict[str, Any] | None = None,
    names: Sequence[str] | None = None,
    on_error: str = ON_ERROR[0],
    unlabelled: str = UNLABELLED[0],
) -> Source:
    """The source that a file's suffix asks for, or `format`: libsvm, csv, jsonl, arff, parquet, arrow, npz or npy.

    label: the label's column in a CSV, JSON, ARFF, Parquet, Arrow or .npy file, by position or name; None when there is
        none.
    header: whether a CSV file has one; None looks at the first lines.
    delimiter: of a CSV file; None is a tab for .tsv, a semicolon beside decimal commas, and else a comma.
    decimal: what stands before the fraction of a number in a CSV file, a point or a comma.
    zero_based: a LIBSVM file counts its features from 0.
    max_features: a LIBSVM file with a higher index is refused.
    renumber: features of a LIBSVM file get columns in the order in which they appear, whatever their indices.
    drop: columns of a CSV, JSON, ARFF, Parquet or Arrow file to leave out, by name or position.
    categorical: what becomes of words. "onehot": each is a feature, of every column with one; "auto": likewise of
        columns that are mostly words; "hash": they share features; "refuse": they are refused.
    categorical_columns: columns of words that do not show.
    hash_features: how many features "hash" makes; a power of two.
    missing: take the running "mean" for a missing value, or "refuse" it.
    dates: what a date becomes, some of "hour", "day", "week", "year" (where it stands in that cycle: sine and cosine,
        in UTC) and "trend" (days since the first); without them dates are words, or refused where they are none.
    encoding: another source's `encoding`, so that categories become the same features as there.
    names: another source's `feature_names`, where it has no `encoding`: columns of a table become features in that
        order, and other columns are refused; a CSV file without a header goes by position.
    on_error: "stop" at a row that cannot be read, or "skip" it.
    unlabelled: "skip" rows of tables whose label is missing, which are counted, or "keep" them to be predicted, with
        the label NaN or ""; where missing values are refused, these are.

    Formats without the question ignore the answer.
    """
    file = existing_file(path)
    kind = format_of(file) if format is None else one_of(format, tuple(FORMATS), "format")
    # A format is imported when a file has it.
    if kind == "libsvm":
        from .libsvm import LibsvmSource

        return LibsvmSource(
            file,
            block_rows=block_rows,
            zero_based=zero_based,
            max_features=max_features,
            renumber=renumber,
            encoding=encoding,
            on_error=on_error,
        )
    if kind in ("npz", "npy"):
        from .npz import NpySource, NpzSource

        if kind == "npz":
            return NpzSource(file, block_rows=block_rows)
        return NpySource(file, block_rows=block_rows, label=label)
    from .columns import ColumnOptions

    columns = ColumnOptions(
        categorical=categorical,
        hash_features=hash_features,
        missing=missing,
        categorical_columns=categorical_columns,
        dates=dates,
        drop=drop,
        encoding=encoding,
        names=names,
    )
    table: dict[str, Any] = {
        "block_rows": block_rows,
        "label": label,
        "columns": columns,
        "on_error": on_error,
        "unlabelled": unlabelled,
    }
    if kind == "csv":
        from .delimited import DelimitedSource

        delimiter = delimiter_of(file, decimal) if delimiter is None else delimiter
        return DelimitedSource(file, header=header, delimiter=delimiter, decimal=decimal, **table)
    if kind == "jsonl":
        from .jsonl import JsonLinesSource

        return JsonLinesSource(file, **table)
    if kind == "arff":
        from .arff import ArffSource

        return ArffSource(file, **table)
    from .arrow import ArrowSource, ParquetSource

    return (ParquetSource if kind == "parquet" else ArrowSource)(file, **table)
