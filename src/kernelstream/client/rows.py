"""Rows as they go to a service, and what it says of them: JSON where they are few, Arrow where they are many."""

import contextlib
import datetime
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from ..encoding.tables import is_table
from ..extras import needing

with needing("httpx"):
    import httpx

_JSON, _ARROW = "application/json", "application/vnd.apache.arrow.stream"
# Numbers of a request that goes as JSON: a round trip of so many takes as long either way, one of 10,000 three times as
# long as JSON, one of 20 a fifth longer as Arrow (benchmarks/client_formats.py).
FEW = 500
_BYTES = 8 * 2**20  # of the numbers of a request; the service takes 32 MiB unless it is told otherwise
_NUMBER = 40  # bytes that a named value takes in JSON, at a guess


class Rows:
    """Rows on their way, with what stands beside each of them: label, id, weight."""

    def __init__(self, X: Any):
        X = [X] if isinstance(X, Mapping) else X
        self._table = self._matrix = self._named = None
        if hasattr(X, "collect"):
            raise ValueError(f"X is a {type(X).__name__}, which is not there yet; give X.collect().")
        if is_table(X):
            self._table = _as_arrow(X)
            self.n = self._table.num_rows
        elif isinstance(X, Sequence) and any(isinstance(row, Mapping) for row in X):
            self._named = _all_named(X)
            self.n = len(X)
        else:
            self._matrix = _as_matrix(X)
            self.n = len(self._matrix)
        if self.n == 0:
            raise ValueError("There are no rows; give one at least.")
        known = [] if self._table is None else self._table.column_names
        # A column of the table may have any of these names itself.
        self._names = {what: _unlike(known, what) for what in ("label", "id", "weight")}
        self._beside: dict[str, Any] = {}

    def add(self, **beside: Any) -> "Rows":
        """What stands beside the rows, None for nothing."""
        for what, given in beside.items():
            if given is not None:
                values = as_values(given, what)
                if len(values) != self.n:
                    raise ValueError(f"There are {self.n} rows and {len(values)} {what}s; give one for each row.")
                self._beside[what] = [str(value) for value in values] if what == "id" else values
        return self

    @property
    def query(self) -> str:
        """Which columns are no features, where the rows are a table."""
        if self._table is None:
            return ""
        return "?" + "&".join(f"{what}={quote(name, safe='')}" for what, name in self._names.items())

    def requests(self, most: int) -> Iterator[tuple[bytes, str]]:
        """Bodies and their types, of at most so many rows each."""
        most = max(1, min(most, self._most()))
        for start in range(0, self.n, most):
            yield self._body(start, min(self.n, start + most))

    def _most(self) -> int:
        if self._matrix is not None:
            return _BYTES // (8 * self._matrix.shape[1])
        if self._table is not None:
            return self.n * _BYTES // max(1, self._table.nbytes)
        assert self._named is not None
        return _BYTES // (_NUMBER * max(1, *map(len, self._named)))

    def _body(self, start: int, stop: int) -> tuple[bytes, str]:
        beside = {what: values[start:stop] for what, values in self._beside.items()}
        if self._table is not None:
            return self._arrow(self._table.slice(start, stop - start), beside), _ARROW
        apart = {f"{what}s": _listed(values) for what, values in beside.items()}
        if self._matrix is not None:
            part = self._matrix[start:stop]
            if part.size > FEW and _has_arrow():
                return self._arrow(_as_lists(part), beside), _ARROW
            return as_json({"rows": part.tolist(), **apart}), _JSON
        assert self._named is not None
        rows = self._named[start:stop]
        try:
            return as_json({"rows": rows, **apart}), _JSON
        except (TypeError, ValueError):
            return as_json({"rows": [_plain(row, start + t) for t, row in enumerate(rows)], **apart}), _JSON

    def _arrow(self, table: Any, beside: dict[str, Any]) -> bytes:
        import pyarrow as pa

        for what, values in beside.items():
            plain = values if isinstance(values, np.ndarray) and values.dtype.kind in "biuf" else _listed(values)
            try:
                table = table.append_column(self._names[what], pa.array(plain))
            except pa.ArrowException as error:
                raise ValueError(f"The {what}s are of several kinds ({error}); give them as one.") from None
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return sink.getvalue().to_pybytes()


class Said:
    """What a service says of rows."""

    def __init__(self, answer: httpx.Response):
        self._columns: dict[str, np.ndarray] | None = None
        self._told: dict[str, Any] = {}
        if answer.headers.get("Content-Type") == _ARROW:
            import pyarrow as pa

            table = pa.ipc.open_stream(answer.content).read_all()
            self._columns = {name: _as_array(table.column(name)) for name in table.column_names}
        else:
            self._told = answer.json()

    @property
    def predictions(self) -> np.ndarray:
        return np.array(self._told["predictions"]) if self._columns is None else self._columns["prediction"]

    @property
    def scores(self) -> Any:
        return np.array(self._told["scores"], np.float64) if self._columns is None else self._side_by_side("score")

    @property
    def probabilities(self) -> Any:
        """None where there are none."""
        if self._columns is not None:
            return self._side_by_side("probability.")
        return np.array(self._told["probabilities"], np.float64) if "probabilities" in self._told else None

    def _side_by_side(self, start: str) -> Any:
        assert self._columns is not None
        found = [column for name, column in self._columns.items() if name.startswith(start)]
        return np.column_stack(found).astype(np.float64) if found else None


# JSON.


def as_json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, default=_of_numpy).encode()


def _of_numpy(value: Any) -> Any:
    if _is_plain(value):
        return value.tolist()
    raise TypeError(f"{value!r:.80} is a {type(value).__name__}; JSON has words, numbers and truth values.")


def _is_plain(value: Any) -> bool:
    """Whether a value of NumPy's is in JSON what it is here; of dates and durations it may make whole numbers."""
    return isinstance(value, np.generic | np.ndarray) and value.dtype.kind not in "mM"


def _plain(row: Mapping[Any, Any], number: int) -> dict[str, Any]:
    """A row as JSON has it: a value that is missing is null, and a date is text."""
    found = {}
    for name, given in row.items():
        value: Any = _text_of(given) if isinstance(given, np.datetime64 | datetime.date) else given
        value = value.item() if _is_plain(value) else value
        if isinstance(value, float) and math.isinf(value):
            raise ValueError(f"Row {number}: {name!r} is {value}; give a finite number, or leave it out.")
        if not (value is None or isinstance(value, str | int | float)):
            raise ValueError(
                f"Row {number}: {name!r} is a {type(value).__name__}; dictionaries hold words, numbers, truth values, "
                "dates and None."
            )
        found[str(name)] = None if isinstance(value, float) and math.isnan(value) else value
    return found


def _text_of(date: Any) -> str | None:
    """A date as text; None for one that is "not a time"."""
    if date != date:
        return None
    if isinstance(date, datetime.datetime):
        return date.isoformat(timespec="microseconds")
    return str(date.astype("datetime64[us]")) if isinstance(date, np.datetime64) else date.isoformat()


def _all_named(rows: Sequence[Any]) -> Sequence[Mapping[Any, Any]]:
    for t, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(f"Row {t} is a {type(row).__name__} among dictionaries; give all rows as one kind.")
    return rows


def as_values(given: Any, what: str) -> Any:
    """Labels, ids or weights as a list or an array; one alone is one row's."""
    if isinstance(given, str | bytes | int | float | np.generic):
        given = [given]
    for name in ("to_pylist", "to_numpy"):
        if hasattr(given, name):
            given = getattr(given, name)()
            break
    found = given if isinstance(given, np.ndarray) else list(given)
    if isinstance(found, np.ndarray) and (found.ndim != 1 or found.dtype.kind not in "biufUO"):
        raise ValueError(
            f"The {what}s are {found.dtype} of shape {found.shape}; give one word, number or truth value for each row."
        )
    plain = _listed(found)
    for t, value in enumerate(plain):
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(f"Row {t} has the {what} {value}; give one that is finite, or leave the row out.")
        if what != "id" and isinstance(value, str) != isinstance(plain[0], str):
            raise ValueError(f"Row {t} has the {what} {value!r}, row 0 has {plain[0]!r}; give words or numbers alone.")
    return found


def _listed(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


# Matrices.


def _as_matrix(X: Any) -> np.ndarray:
    if hasattr(X, "tocsr"):
        raise ValueError(f"X is a sparse {type(X).__name__}; a service takes dense rows: X.toarray().")
    try:
        found = np.asarray(X)
        if found.dtype.kind in "OUS" and any(isinstance(value, str | bytes) for value in found.flat):
            raise ValueError("text")
        found = found if found.dtype.kind in "iuf" else found.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "X holds what is no number, or rows of several lengths; rows with words are dictionaries, or a table."
        ) from None
    if found.ndim != 2 or found.shape[1] == 0:
        raise ValueError(f"X has shape {found.shape}; give (rows, features), of one row X.reshape(1, -1).")
    if not np.isfinite(found).all():
        t, feature = np.argwhere(~np.isfinite(found))[0]
        raise ValueError(
            f"Row {t}: feature {feature} is {found[t, feature]}; give a finite number. Only rows with names, which are "
            "dictionaries or a table, may miss values."
        )
    return found


# Arrow.


def _has_arrow() -> bool:
    with contextlib.suppress(ImportError):
        import pyarrow

        return pyarrow is not None
    return False


def _as_arrow(table: Any) -> Any:
    with needing("pyarrow"):
        import pyarrow as pa
    try:
        if hasattr(table, "iloc"):
            return pa.Table.from_pandas(table.rename(columns=str), preserve_index=False).replace_schema_metadata()
        found = table.to_arrow() if hasattr(table, "to_arrow") else table
        found = pa.Table.from_batches([found]) if isinstance(found, pa.RecordBatch) else found
    except pa.ArrowException as error:
        raise ValueError(f"A column holds several kinds ({error}); make them one, or give dictionaries.") from None
    if not isinstance(found, pa.Table):
        raise ValueError(f"X is a {type(table).__name__}; give a table of pandas, polars or Arrow.")
    return found


def _as_lists(part: np.ndarray) -> Any:
    """A matrix as one column of lists, whose features have no names."""
    import pyarrow as pa

    values = pa.array(np.ascontiguousarray(part).reshape(-1))
    return pa.table({"x": pa.FixedSizeListArray.from_arrays(values, part.shape[1])})


def _as_array(column: Any) -> np.ndarray:
    import pyarrow as pa

    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return np.array(column.to_pylist()) if text else column.to_numpy()


def _unlike(names: Sequence[str], word: str) -> str:
    while word in names:
        word += "_"
    return word
