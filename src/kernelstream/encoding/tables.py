"""Tables of pandas, polars and Arrow as columns of numbers, of words and of dates."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..extras import needing
from .values import codes_of, is_dated, is_list, numbers_of, seconds_in

NUMBER, WORD, DATE = "number", "word", "date"


class Given(NamedTuple):
    """A column of a table: its numbers, or the seconds of its dates, NaN where one is missing; or for each row the
    number of its word, -1 where it is missing.
    """

    name: Any
    kind: str
    values: NDArray[Any]
    words: list[str]


class Table(NamedTuple):
    """A table whose columns are known."""

    given: list[Given]


def is_table(rows: Any) -> bool:
    """Whether these are the rows of a table with named columns."""
    if isinstance(rows, Table):
        return True
    return hasattr(rows, "columns") and (hasattr(rows, "iloc") or hasattr(rows, "schema"))


def given_columns(table: Any) -> list[Given]:
    """The columns of a table, or ValueError for one that holds something else."""
    if isinstance(table, Table):
        return table.given
    names, columns = _columns(table)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"Two columns are named {twice[0]!r}; rename one of them.")
    if len(columns) == 0 or len(columns[0]) == 0:
        raise ValueError(f"The table of {len(columns)} columns is empty; give rows, with a column at least.")
    return [_given(name, column) for name, column in zip(names, columns, strict=True)]


def is_text(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def numbers_alone(table: Any) -> NDArray[np.float64] | None:
    """A copy of the numbers of a table of pandas' that has nothing else; None of others."""
    found = table.to_numpy()  # looking at the type of each column takes ten times as long
    return np.array(found, np.float64, order="C") if found.dtype.kind in "biuf" and len(found) > 0 else None


def _columns(table: Any) -> tuple[list[Any], list[Any]]:
    if hasattr(table, "iloc"):  # pandas, whose names need not be text
        plain = all(getattr(kind, "kind", "O") in "biuf" and not hasattr(kind, "na_value") for kind in table.dtypes)
        if plain:
            return table.columns.tolist(), list(table.to_numpy(np.float64).T)
    with needing("pyarrow"):
        import pyarrow as pa
    if hasattr(table, "iloc"):
        names = table.columns.tolist()
        return names, [_of_pandas(name, table.iloc[:, at]) for at, name in enumerate(names)]
    if hasattr(table, "to_arrow"):
        table = table.to_arrow()
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    return table.column_names, table.columns


def _of_pandas(name: Any, column: Any) -> Any:
    import pyarrow as pa

    try:
        found = pa.Array.from_pandas(column)
    except pa.ArrowException:
        remedy = "make them one kind, or give the rows as dictionaries"
        raise ValueError(f"The column {name!r} holds values of several kinds; {remedy}.") from None
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])


def _given(name: Any, column: Any) -> Given:
    if isinstance(column, np.ndarray):
        return Given(name, NUMBER, column, [])
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if is_text(kind):
        return Given(name, WORD, *codes_of(column, missing=None))
    column = column.cast(kind) if pa.types.is_dictionary(column.type) else column
    if is_dated(kind):
        return Given(name, DATE, seconds_in(column), [])
    if is_list(kind) or not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        if pa.types.is_null(kind):
            return Given(name, NUMBER, np.full(len(column), np.nan), [])
        raise ValueError(f"The column {name!r} holds {kind}, which is neither numbers nor words nor dates.")
    return Given(name, NUMBER, np.asarray(numbers_of(column), np.float64), [])
