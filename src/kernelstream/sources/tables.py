"""What CSV, Parquet and Arrow files have in common: tables of named columns that become blocks."""

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding.buffers import array_of, column_of, known_in, word_of
from ..encoding.tables import is_text
from ..encoding.values import codes_of, numbers_of
from ..extras import require
from ..teaching import explained
from .base import DEFAULT_BLOCK_ROWS, ON_ERROR, UNLABELLED, FileSource, LabelledBlock, Source, SourceError, one_of, rows
from .columns import ColumnOptions, Encoder, Layout


@explained(earlier="whose newest pass ended above these rows")
class TableSource(FileSource):
    """A file of named columns. `label` is a column's position (negative from the end) or name, or None: then every
    column is a feature, and labels are NaN.

    A row whose label is missing cannot be learned: unless missing values are refused, it is left out ("skip"), which
    `skipped` counts and `notices` says, or kept with the label NaN or "", to be predicted ("keep").
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        block_rows: int = DEFAULT_BLOCK_ROWS,
        label: int | str | None = -1,
        columns: ColumnOptions | None = None,
        on_error: str = ON_ERROR[0],
        unlabelled: str = UNLABELLED[0],
    ):
        require("pyarrow")
        super().__init__(path, block_rows=block_rows, on_error=on_error)
        self.label = label
        self.columns = columns or ColumnOptions()
        self.unlabelled = one_of(unlabelled, UNLABELLED, "unlabelled")
        self._n_labelled = self._n_unlabelled = 0
        self._encoder: Encoder | None = None

    def __iter__(self) -> Iterator[LabelledBlock]:
        return self._pass(None)

    def after(self, earlier: Source) -> Iterator[LabelledBlock]:
        """Categories, means and the kinds of columns go on from the earlier table."""
        return self._pass(earlier._encoder if isinstance(earlier, TableSource) else None)

    @abstractmethod
    def _pass(self, earlier: Encoder | None) -> Iterator[LabelledBlock]:
        """A fresh pass below the tables that `earlier` has seen."""

    @property
    def encoding(self) -> dict[str, Any] | None:
        """A JSON value that tells which feature each category is, as the newest pass has seen it; None without any."""
        return None if self._encoder is None else self._encoder.encoding()

    @property
    def feature_names(self) -> list[str] | None:  # type: ignore[override]
        return None if self._encoder is None else self._encoder.feature_names()

    def _blocks(self, tables: Iterable[Any], encoder: Encoder) -> Iterator[LabelledBlock]:
        """The blocks of tables that have been checked for missing values."""
        self._encoder = encoder
        labelled = (self._with_labels(table, encoder.layout) for table in tables)
        for table in _in_blocks(labelled, self.block_rows):
            X = encoder.encode(table)
            for about, notice in encoder.told().items():
                self._tell(about, *notice)
            label = encoder.layout.label
            yield X, np.full(len(table), np.nan) if label is None else _labels(table.column(label))
        if self._n_unlabelled > 0 and self._n_labelled == 0 and not encoder.goes_on:
            names, at = encoder.layout.names, encoder.layout.used[0]
            name, other = names[encoder.layout.label or 0], at if names[at] == f"#{at + 1}" else names[at]
            if name == "":
                what = f"the column without a name has no values; do lines end in the delimiter? Say drop={name!r} and"
                raise SourceError(f"{what} which is the label, such as label={names[-2]!r}", path=self.path)
            what = f"none of {rows(self._n_unlabelled)} has a label, which is {name!r}; name another column"
            raise SourceError(f"{what}, such as label={other!r}", path=self.path)

    def _start_pass(self) -> None:
        super()._start_pass()
        self._n_labelled = self._n_unlabelled = 0

    def _with_labels(self, table: Any, layout: Layout) -> Any:
        """The rows of a table that have a label, where those without one are left out."""
        if table is None or layout.label is None or self.unlabelled == "keep":
            return table
        missing = without_label(table.column(layout.label))
        n = int(missing.sum())
        self._n_labelled += len(missing) - n
        if n == 0:
            return table
        self._n_unlabelled += n
        self.skipped += n
        name = layout.names[layout.label]
        one, many = f"row has no {name!r} and was left out", f"rows have no {name!r} and were left out"
        self._tell("unlabelled", many, one, self._n_unlabelled)
        return table.filter(column_of(~missing))

    def _label_position(self, names: list[str], line: int | None = None) -> int | None:
        """Where the label is among columns of these names, which stand in a line; None when there is none."""
        if self.label is None:
            return None
        if isinstance(self.label, str):
            if self.label in names:
                return names.index(self.label)
            what = f"there is no column {self.label!r}; name one of {', '.join(names)} as the label, or give a position"
        elif -len(names) <= self.label < len(names):
            return self.label % len(names)
        else:
            what = f"label={self.label} is not one of the {len(names)} columns; -1 is the last, 0 the first"
        raise SourceError(what, path=self.path, line=line)

    def _new_encoder(self, layout: Layout, dtype: type, earlier: Encoder | None) -> Encoder:
        features = [layout.names[at] for at in layout.used]
        if not features:
            raise SourceError("no column is left as a feature; keep one", path=self.path)
        absent = [name for name in self.columns.categorical_columns if name not in features]
        if absent:
            what = f"there is no feature column {absent[0]!r}; the columns are {', '.join(layout.names)}"
            raise SourceError(what, path=self.path)
        taken = [*layout.used, *([] if layout.label is None else [layout.label])]
        first: dict[str, int] = {}
        for at in taken:  # the label last
            other = first.setdefault(layout.names[at], at)
            if other != at:
                what = f"two columns are named {layout.names[at]!r}; rename one, or leave one out by its position"
                unused = other if at == layout.label else at
                raise SourceError(f"{what}, from 0: drop={unused}", path=self.path, column=max(at, other) + 1)
        encoder = Encoder(layout, self.columns, dtype, self.path)
        if self.columns.encoding is not None:
            given = self.columns.encoding
            encoder.expect("the encoding", given["numeric"], given["columns"], given["numbers"])
        elif self.columns.names is not None:
            encoder.expect("what was learned from", self.columns.names, [], len(self.columns.names))
        if earlier is not None:
            encoder.go_on_from(earlier)
        return encoder


def missing_in(column: Any) -> NDArray[np.bool_]:
    """Where a column has nothing: null, or a float that is NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count == 0 and not pa.types.is_floating(column.type):
        return np.zeros(len(column), bool)
    return array_of(pc.is_null(column, nan_is_null=pa.types.is_floating(column.type)))


def without_label(column: Any) -> NDArray[np.bool_]:
    """Where a column of labels has none: nothing, or a word without a letter."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = missing_in(column)
    if is_text(column.type):
        missing |= ~known_in(column) | array_of(pc.equal(column.cast(pa.string()), word_of("")))
    return missing


def _labels(column: Any) -> NDArray[Any]:
    """Labels as float64, or as str when they are words; NaN or "" where there is none."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if is_text(kind):
        codes, words = codes_of(column)
        return np.array(words, str)[codes]
    return numbers_of(column.cast(kind).cast(pa.float64(), safe=False))


def _in_blocks(tables: Iterable[Any], block_rows: int) -> Iterator[Any]:
    """Tables of `block_rows` rows; the last one may be shorter, and one where a live stream has paused (None)."""
    import pyarrow as pa

    pending: Any = None
    for table in tables:
        if table is None:
            if pending is not None and pending.num_rows > 0:
                yield pending
            pending = None
            continue
        pending = table if pending is None else pa.concat_tables([pending, table])
        whole = pending.num_rows - pending.num_rows % block_rows
        for start in range(0, whole, block_rows):
            yield pending.slice(start, block_rows)
        pending = pending.slice(whole)
    if pending is not None and pending.num_rows > 0:
        yield pending
